/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_elementwise.c: the walk over operands that broadcast, for every op and type of
 * elementwise.h. Dims over which each operand goes on evenly, or stays, come together, so that the
 * innermost is as long as it can be, and in it an operand has its elements beside each other or one
 * for all. Where that is short, as for the coordinates of boxes, several rows are one: operands
 * that do not go on evenly over them are written out first, some hundred elements at a time.
 */
#include "program.h"

#include <pthread.h>
#include <string.h>

enum {
    PART = 4096, /* results of one number of work, at most */
    SHORT = 32,  /* of a row, whose call would take longer than its elements */
    TILE = 256   /* results of rows together */
};

typedef struct walk {
    native_span_fn run;
    native_ref in[NATIVE_SPAN_INPUTS], to;
    bool absent[NATIVE_SPAN_INPUTS], folds;
    int n_in, mode, rank;
    int64_t dims[TFR_MAX_RANK];                      /* from outside inwards */
    int64_t steps[NATIVE_SPAN_INPUTS][TFR_MAX_RANK]; /* elements */
    int64_t bytes[NATIVE_SPAN_INPUTS], to_bytes;     /* of an element */
    int64_t parts;                                   /* of the innermost dim */
    int64_t tile; /* rows of the innermost dim that go together */
} walk;

/* ---- forms ---- */

static bool is_op(const tfr_call *call, const char *name)
{
    return call->name[0] == name[0] && strcmp(call->name, name) == 0;
}

/* Whose second operand tells a type, and is not read. */
static bool is_cast(const tfr_call *call)
{
    return is_op(call, "Cast") || is_op(call, "CastLike");
}

/* Where moves elements of some bytes, whatever they are. */
static bool has_types(const native_elementwise *row, const tfr_call *call)
{
    const tfr_operand *y = tfr_call_output(call, 0);
    const bool chooses = is_op(call, "Where");
    const uint32_t n = is_cast(call) ? 1 : call->n_inputs;
    uint32_t i;

    for (i = chooses ? 1 : 0; i < n; i++) {
        const tfr_operand *x = tfr_call_input(call, i);
        if (x && chooses ? x->dtype == TFR_DTYPE_STRING ||
                               tfr_dtype_bits(x->dtype) != tfr_dtype_bits(row->inputs)
                         : x && x->dtype != row->inputs)
            return false;
    }
    return chooses || y->dtype == row->output;
}

static bool has_form(const tfr_call *call)
{
    const tfr_operand *y = tfr_call_output(call, 0);
    const uint32_t n = is_cast(call) ? 1 : call->n_inputs;
    uint32_t i;

    for (i = 0; i < n; i++) {
        const tfr_operand *x = tfr_call_input(call, i);
        if (!x && !is_op(call, "Clip"))
            return false;
        if (x && (x->rank > y->rank || tfr_operand_elements(x) == 0))
            return false;
    }
    return call->n_inputs <= NATIVE_SPAN_INPUTS && tfr_operand_elements(y) > 0;
}

/* Rows by the first letter of their op, counted from 1: the first one, and the next one of each. A
 * group that is compiled for each length of a cache would look at the names of all. */
enum { MOST_ROWS = 1024 };
static uint16_t first_row[128], next_row[MOST_ROWS];
static pthread_once_t rows_linked = PTHREAD_ONCE_INIT;

static void link_rows(void)
{
    const native_elementwise *rows = native_portable.elementwise;
    int i = 0;

    while (rows[i].op && i < MOST_ROWS)
        i++;
    while (i-- > 0) {
        uint16_t *first = &first_row[rows[i].op[0] & 127];
        next_row[i] = *first;
        *first = (uint16_t)(i + 1);
    }
}

/* The number of the row, which is the same for all instruction sets, or -1. */
static int row_of(const tfr_call *call)
{
    const native_elementwise *rows = native_portable.elementwise;
    const char *name = is_cast(call) ? "Cast" : call->name;
    int i;

    if (call->domain[0] || call->n_outputs != 1 || call->n_inputs == 0 ||
        !tfr_call_input(call, 0) || !tfr_call_output(call, 0))
        return -1;
    pthread_once(&rows_linked, link_rows);
    for (i = first_row[name[0] & 127] - 1; i >= 0; i = next_row[i] - 1) {
        if (strcmp(rows[i].op, name) == 0 && has_types(&rows[i], call))
            return has_form(call) ? i : -1;
    }
    return -1;
}

const native_form *native_find_elementwise(const tfr_call *call)
{
    static const native_form form = {"", NULL, NATIVE_ITEM_ELEMENTWISE, 0, NULL};

    return row_of(call) >= 0 ? &form : NULL;
}

static int mode_of(const tfr_call *call)
{
    if (is_op(call, "IsInf"))
        return (tfr_call_int(call, "detect_negative", 1) != 0) +
               2 * (tfr_call_int(call, "detect_positive", 1) != 0);
    if (is_op(call, "BitShift"))
        return strcmp(tfr_call_string(call, "direction", ""), "LEFT") == 0;
    return tfr_call_int(call, "fmod", 0) != 0;
}

/* ---- the step ---- */

static void run_span(const walk *w, native_span *s)
{
    int i;

    if (w->folds && w->n_in == 1) {
        s->in[1] = s->in[0];
        s->step[1] = s->step[0];
    }
    s->n_in = w->folds ? 2 : w->n_in;
    w->run(s);
    for (i = 2; w->folds && i < w->n_in; i++) {
        s->in[0] = s->to;
        s->step[0] = 1;
        s->in[1] = s->in[i];
        s->step[1] = s->step[i];
        w->run(s);
    }
}

/* Where operands are in the dims outside of `inner`, at this combination of them. */
static void find_place(const walk *w, int64_t rest, int inner, int64_t *at)
{
    int k, d;

    for (d = inner - 1; d >= 0; d--) {
        const int64_t place = rest % w->dims[d];
        rest /= w->dims[d];
        for (k = 0; k < w->n_in; k++)
            at[k] += place * w->steps[k][d];
    }
}

/* Numbers count parts of rows of the innermost dim. */
static void run_walk(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const walk *w = params;
    const int last = w->rank - 1;
    const int64_t length = w->dims[last];
    int64_t i;
    int k;

    for (i = begin; i < end; i++) {
        const int64_t row = i / w->parts, first = i % w->parts * length / w->parts;
        int64_t at[NATIVE_SPAN_INPUTS] = {0};
        native_span s = {.mode = w->mode};
        s.n = (i % w->parts + 1) * length / w->parts - first;
        find_place(w, row, last, at);
        for (k = 0; k < w->n_in; k++) {
            s.step[k] = (int)w->steps[k][last];
            s.in[k] = w->absent[k] ? NULL
                                   : (const char *)native_at(bases, &w->in[k]) +
                                         (at[k] + first * s.step[k]) * w->bytes[k];
        }
        s.to = (char *)native_at(bases, &w->to) + (row * length + first) * w->to_bytes;
        run_span(w, &s);
    }
}

#define WRITE_OUT(bits)                                                                            \
    case bits / 8:                                                                                 \
        for (i = 0; i < rows; i++)                                                                 \
            for (j = 0; j < n; j++)                                                                \
                ((uint##bits##_t *)to)[i * n + j] =                                                \
                    ((const uint##bits##_t *)from)[i * outer + j * inner];                         \
        break;

/* Rows of n elements, which begin `outer` apart and whose elements are `inner` apart. */
static void write_out(void *to, const void *from, int64_t bytes, int64_t rows, int64_t n,
                      int64_t outer, int64_t inner)
{
    int64_t i, j;

    switch (bytes) {
        WRITE_OUT(8)
        WRITE_OUT(16)
        WRITE_OUT(32)
        WRITE_OUT(64)
    }
}

/* Numbers count tiles of the two innermost dims. */
static void run_tiles(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const walk *w = params;
    const int row = w->rank - 2, last = w->rank - 1;
    const int64_t length = w->dims[last], groups = (w->dims[row] + w->tile - 1) / w->tile;
    uint64_t room[NATIVE_SPAN_INPUTS][TILE];
    int64_t i;
    int k;

    for (i = begin; i < end; i++) {
        const int64_t first = i % groups * w->tile, left = w->dims[row] - first;
        const int64_t rows = left < w->tile ? left : w->tile;
        int64_t at[NATIVE_SPAN_INPUTS] = {0};
        native_span s = {.n = rows * length, .mode = w->mode};
        find_place(w, i / groups, row, at);
        for (k = 0; k < w->n_in; k++) {
            const int64_t outer = w->steps[k][row], inner = w->steps[k][last];
            if (w->absent[k])
                continue;
            s.in[k] =
                (const char *)native_at(bases, &w->in[k]) + (at[k] + first * outer) * w->bytes[k];
            s.step[k] = outer || inner;
            if (outer == inner * length)
                continue;
            write_out(room[k], s.in[k], w->bytes[k], rows, length, outer, inner);
            s.in[k] = room[k];
        }
        s.to = (char *)native_at(bases, &w->to) +
               (i / groups * w->dims[row] + first) * length * w->to_bytes;
        run_span(w, &s);
    }
}

/* ---- plan ---- */

/* The steps of an operand over the dims of the result. */
static void spread(const native_planner *p, const native_value *v, int rank, int64_t *steps)
{
    int64_t step = 1;
    int d;

    for (d = v->rank - 1; d >= 0; d--) {
        const int64_t n = d == 0 ? native_first_dim(p, v) : v->dims[d];
        steps[rank - v->rank + d] = n == 1 ? 0 : step;
        step *= n;
    }
}

/* Whether every operand goes from one to the next of dim `outer` as over the whole of `inner`. */
static bool go_together(const walk *w, int outer, int inner, int64_t n)
{
    int k;

    for (k = 0; k < w->n_in; k++) {
        if (w->steps[k][outer] != w->steps[k][inner] * n)
            return false;
    }
    return true;
}

/* Dims of one element go. */
static void collapse(walk *w, int rank, const int64_t *dims)
{
    int d, k;

    for (d = 0; d < rank; d++) {
        const bool joins = w->rank > 0 && go_together(w, w->rank - 1, d, dims[d]);
        if (dims[d] == 1)
            continue;
        if (joins)
            w->dims[w->rank - 1] *= dims[d];
        else
            w->dims[w->rank++] = dims[d];
        for (k = 0; k < w->n_in; k++)
            w->steps[k][w->rank - 1] = w->steps[k][d];
    }
    if (w->rank > 0)
        return;
    w->rank = 1;
    w->dims[0] = 1;
    for (k = 0; k < w->n_in; k++)
        w->steps[k][0] = 0;
}

static bool goes_in_tiles(const walk *w)
{
    int k;

    for (k = 0; k < w->n_in; k++) {
        if (w->bytes[k] > (int64_t)sizeof(uint64_t))
            return false;
    }
    return w->rank >= 2 && w->dims[w->rank - 1] < SHORT && w->dims[w->rank - 2] > 1;
}

void native_plan_elementwise(native_planner *p, const native_item *item)
{
    const native_value *y = &p->ir->values[item->output];
    const int number = row_of(item->call);
    walk *w = native_keep(p, sizeof *w);
    int64_t dims[TFR_MAX_RANK], n = native_count(p, y);
    int k;

    if (!w || number < 0)
        return;
    w->run = p->isa->elementwise[number].run;
    w->folds = p->isa->elementwise[number].folds;
    w->mode = mode_of(item->call);
    w->to = native_ref_of(p, item->output);
    w->to_bytes = tfr_dtype_bits(y->dtype) / 8;
    w->n_in = item->n_inputs;
    memcpy(dims, y->dims, sizeof dims);
    if (y->rank > 0)
        dims[0] = native_first_dim(p, y);
    for (k = 0; k < w->n_in; k++) {
        const native_value *v = item->inputs[k] < 0 ? NULL : &p->ir->values[item->inputs[k]];
        w->absent[k] = !v;
        if (!v)
            continue;
        w->in[k] = native_ref_of(p, item->inputs[k]);
        w->bytes[k] = tfr_dtype_bits(v->dtype) / 8;
        spread(p, v, y->rank, w->steps[k]);
    }
    collapse(w, y->rank, dims);
    if (goes_in_tiles(w)) {
        const int64_t rows = w->dims[w->rank - 2], length = w->dims[w->rank - 1];
        w->tile = TILE / length;
        native_add_run(p, run_tiles, w, n / (rows * length) * ((rows + w->tile - 1) / w->tile),
                       (double)n * 0.6);
        return;
    }
    w->parts = (w->dims[w->rank - 1] + PART - 1) / PART;
    native_add_run(p, run_walk, w, n / w->dims[w->rank - 1] * w->parts,
                   (double)n * 0.3 + (double)(n / w->dims[w->rank - 1]) * 5.0);
}
