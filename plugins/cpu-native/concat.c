/* SPDX-License-Identifier: Apache-2.0 */
/*
 * concat.c: Concat, Split and Slice of what programs do not hold: elements of any whole bytes,
 * and any number of parts. A part is a box that lies in steps on both sides; dims that lie
 * alike there become one, so that most boxes are a few lines, which are copied as bytes. Threads
 * share the lines of all parts.
 */
#include "concat.h"

#include <string.h>

#include "copy_rows.h"
#include "program_half.h"

enum { PART_BYTES = 16 * 1024 /* that a thread copies at once, at least */ };

typedef struct part {
    int rank; /* at least 1 */
    int64_t dims[TFR_MAX_RANK];
    int64_t from[TFR_MAX_RANK], to[TFR_MAX_RANK]; /* steps in bytes */
    int64_t from_at, to_at;                       /* in bytes */
    int64_t first;                                /* line, counted over all parts */
    int from_arg, to_arg;
    const void *known;
} part;

typedef struct state {
    int n_parts, width;
    int64_t lines, bytes; /* of all parts */
    part *parts;
} state;

typedef struct work {
    const state *s;
    const tfr_launch *launch;
} work;

/* ---- running ---- */

#define COPY(type)                                                                                 \
    static void copy_##type(const char *from, int64_t from_step, char *to, int64_t to_step,        \
                            int64_t n)                                                             \
    {                                                                                              \
        for (; n > 0; n--, from += from_step, to += to_step)                                       \
            *(type *)(void *)to = *(const type *)(const void *)from;                               \
    }
typedef struct pair {
    uint64_t half[2];
} pair;
COPY(uint8_t)
COPY(uint16_t)
COPY(uint32_t)
COPY(uint64_t)
COPY(pair)

static void copy_line(int width, const char *from, int64_t from_step, char *to, int64_t to_step,
                      int64_t n)
{
    if (width == 1)
        copy_uint8_t(from, from_step, to, to_step, n);
    else if (width == 2)
        copy_uint16_t(from, from_step, to, to_step, n);
    else if (width == 4)
        copy_uint32_t(from, from_step, to, to_step, n);
    else if (width == 8)
        copy_uint64_t(from, from_step, to, to_step, n);
    else
        copy_pair(from, from_step, to, to_step, n);
}

/* n lines of a part along its last dim but one. */
static void copy_some(const work *w, const part *p, const char *from, char *to, int64_t n)
{
    const int last = p->rank - 1;
    const int64_t from_step = last > 0 ? p->from[last - 1] : 0;
    const int64_t to_step = last > 0 ? p->to[last - 1] : 0;
    const int width = w->s->width;

    if (p->from[last] == width && p->to[last] == width) {
        native_copy_rows(from, from_step, to, to_step, p->dims[last] * width, n);
        return;
    }
    for (; n > 0; n--, from += from_step, to += to_step)
        copy_line(width, from, p->from[last], to, p->to[last], p->dims[last]);
}

/* Lines [begin, end) of a part, counted from its first. */
static void copy_lines(const work *w, const part *p, int64_t begin, int64_t end)
{
    const void *given = w->launch->args[p->from_arg].address;
    const char *from = (const char *)(given ? given : p->known) + p->from_at;
    char *to = (char *)w->launch->args[p->to_arg].address + p->to_at;
    const int last = p->rank - 1;
    const int64_t row = last > 0 ? p->dims[last - 1] : 1;
    int64_t n;
    int d;

    for (; begin < end; begin += n) {
        const int64_t left = row - begin % row;
        int64_t rest = begin, from_at = 0, to_at = 0;
        for (d = last - 1; d >= 0; rest /= p->dims[d--]) {
            from_at += rest % p->dims[d] * p->from[d];
            to_at += rest % p->dims[d] * p->to[d];
        }
        n = end - begin < left ? end - begin : left;
        copy_some(w, p, from + from_at, to + to_at, n);
    }
}

static void run_lines(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->s;
    int low = 0, high = s->n_parts - 1;

    while (low < high) { /* the last part that begins at or before `begin` */
        const int middle = (low + high + 1) / 2;
        if (s->parts[middle].first <= begin)
            low = middle;
        else
            high = middle - 1;
    }
    for (; begin < end; low++) {
        const part *p = &s->parts[low];
        const int64_t next = low + 1 < s->n_parts ? p[1].first : s->lines;
        const int64_t stop = end < next ? end : next;
        copy_lines(w, p, begin - p->first, stop - p->first);
        begin = stop;
    }
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    work w = {s, launch};

    (void)err;
    if (s->bytes <= 2 * PART_BYTES)
        run_lines(&w, 0, s->lines);
    else
        device->host->parallel_for(run_lines, &w, s->lines,
                                   PART_BYTES / (s->bytes / s->lines + 1) + 1);
    return TFR_OK;
}

/* ---- preparing ---- */

static bool is_done(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const uint64_t rank = (uint64_t)x->rank;
    uint32_t i;

    for (i = 0; i < call->n_outputs; i++) /* one that nobody reads has no length here */
        if (!tfr_call_output(call, i))
            return false;
    return x->dtype != TFR_DTYPE_STRING && tfr_dtype_bits(x->dtype) % 8 == 0 && rank > 0 &&
           (strcmp(call->name, "Slice") != 0 ||
            (tfr_call_ints(call, "starts", rank) && tfr_call_ints(call, "steps", rank)));
}

/* Elements of half that only move stay as they are. */
static bool is_item(const tfr_call *call)
{
    return native_find_any_form(call) && !(native_has_half(call) && is_done(call));
}

void native_concat_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer)
{
    if (is_item(call))
        native_item_supports(device, call, answer);
    else if (!is_done(call))
        tfr_decline(answer, TFR_REASON_DTYPE,
                    "elements of whole bytes, and places that are known, are done here");
}

static void steps_of(const tfr_operand *o, int64_t width, int64_t *steps)
{
    int d;

    for (d = o->rank - 1; d >= 0; d--) {
        steps[d] = width;
        width *= o->dims[d];
    }
}

/* Dims of one element go, and neighbours that lie alike become one. */
static void merge(part *p)
{
    int d, n = 0;

    for (d = 0; d < p->rank; d++) {
        if (p->dims[d] == 1)
            continue;
        if (n > 0 && p->from[n - 1] == p->from[d] * p->dims[d] &&
            p->to[n - 1] == p->to[d] * p->dims[d]) {
            p->dims[n - 1] *= p->dims[d];
        } else {
            p->dims[n++] = p->dims[d];
        }
        p->from[n - 1] = p->from[d];
        p->to[n - 1] = p->to[d];
    }
    if (n == 0) {
        p->dims[n++] = 1;
        p->from[0] = p->to[0] = 0;
    }
    p->rank = n;
}

/* A box of these dims, from argument i of the launch to argument k; NULL = it is empty. */
static part *add_part(state *s, const tfr_operand *box, const tfr_operand *x, const tfr_operand *y,
                      int i, int k)
{
    part *p = &s->parts[s->n_parts];

    if (tfr_operand_elements(box) == 0)
        return NULL;
    s->n_parts++;
    p->rank = box->rank;
    memcpy(p->dims, box->dims, (size_t)box->rank * sizeof *p->dims);
    steps_of(x, s->width, p->from);
    steps_of(y, s->width, p->to);
    p->from_arg = i;
    p->to_arg = k;
    p->known = x->data;
    return p;
}

static int axis_of(const tfr_call *call)
{
    const int64_t axis = tfr_call_int(call, "axis", 0);

    return (int)(axis < 0 ? axis + tfr_call_input(call, 0)->rank : axis);
}

static void join(state *s, const tfr_call *call)
{
    const tfr_operand *y = tfr_call_output(call, 0);
    const int axis = axis_of(call);
    int64_t begin = 0;
    uint32_t i;

    for (i = 0; i < call->n_inputs; i++) {
        const tfr_operand *x = tfr_call_input(call, i);
        part *p = add_part(s, x, x, y, (int)i, (int)call->n_inputs);
        if (p)
            p->to_at = begin * p->to[axis];
        begin += x->dims[axis];
    }
}

static void split(state *s, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const int axis = axis_of(call);
    int64_t begin = 0;
    uint32_t i;

    for (i = 0; i < call->n_outputs; i++) {
        const tfr_operand *y = tfr_call_output(call, i);
        part *p = add_part(s, y, x, y, 0, (int)(call->n_inputs + i));
        if (p)
            p->from_at = begin * p->from[axis];
        begin += y->dims[axis];
    }
}

static void slice(state *s, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const int64_t *starts = tfr_call_ints(call, "starts", (uint64_t)x->rank);
    const int64_t *steps = tfr_call_ints(call, "steps", (uint64_t)x->rank);
    part *p = add_part(s, y, x, y, 0, (int)call->n_inputs);
    int d;

    for (d = 0; p && d < x->rank; d++) {
        p->from_at += starts[d] * p->from[d];
        p->from[d] *= steps[d];
    }
}

void native_concat_prepare(native_build *b, const tfr_call *call)
{
    const uint32_t most = call->n_inputs > call->n_outputs ? call->n_inputs : call->n_outputs;
    state *s;
    int i;

    if (is_item(call)) {
        native_item_prepare(b, call);
        return;
    }
    s = native_set_function(b, run, NULL, sizeof *s, "copy");
    if (!s || !(s->parts = native_add_block(b, most * sizeof *s->parts)))
        return;
    memset(s->parts, 0, most * sizeof *s->parts);
    s->width = (int)(tfr_dtype_bits(tfr_call_input(call, 0)->dtype) / 8);
    if (strcmp(call->name, "Concat") == 0)
        join(s, call);
    else if (strcmp(call->name, "Split") == 0)
        split(s, call);
    else
        slice(s, call);
    for (i = 0; i < s->n_parts; i++) {
        part *p = &s->parts[i];
        int64_t n = 1;
        int d;
        merge(p);
        for (d = 0; d < p->rank - 1; d++)
            n *= p->dims[d];
        p->first = s->lines;
        s->lines += n;
        s->bytes += n * p->dims[p->rank - 1] * s->width;
    }
}
