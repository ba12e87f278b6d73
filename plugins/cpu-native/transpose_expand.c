/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transpose_expand.c: Expand of any type of whole bytes, for float32 is an item of programs, and
 * ConstantOfShape. Dims of Expand that are next to each other and both repeated, or both not,
 * become one. A line along the last one is a copy, or one element many times; threads share out the
 * lines.
 */
#include "elements.h"

#include <string.h>

#include "program.h"

enum { PART_BYTES = 16 * 1024 /* that a thread writes at once, at least */ };

typedef struct expand {
    int rank;
    int64_t dims[TFR_MAX_RANK];    /* of the output, merged */
    int64_t strides[TFR_MAX_RANK]; /* of the input, in elements; 0 = repeated */
    int64_t lines, line;           /* and elements of one */
    int width;
    const void *known;
} expand;

typedef struct work {
    const expand *e;
    const char *from;
    char *to;
} work;

/* One element many times: a line of the cache of them, as often as there is room. */
static void repeat(int width, const void *from, void *to, int64_t n)
{
    enum { BYTES = 64 };
    const int64_t bytes = n * width;
    char line[BYTES];
    int64_t i;

    memcpy(line, from, (size_t)width);
    for (i = width; i < BYTES; i *= 2)
        memcpy(line + i, line, (size_t)i);
    for (i = 0; i + BYTES <= bytes; i += BYTES)
        memcpy((char *)to + i, line, BYTES);
    memcpy((char *)to + i, line, (size_t)(bytes - i));
}

static void run_lines(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const expand *e = w->e;

    for (; begin < end; begin++) {
        char *to = w->to + begin * e->line * e->width;
        int64_t rest = begin, at = 0;
        int d;
        for (d = e->rank - 2; d >= 0; rest /= e->dims[d--])
            at += rest % e->dims[d] * e->strides[d];
        if (e->strides[e->rank - 1])
            memcpy(to, w->from + at * e->width, (size_t)(e->line * e->width));
        else
            repeat(e->width, w->from + at * e->width, to, e->line);
    }
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const expand *e = user;
    work w = {.e = e, .from = launch->args[0].address, .to = launch->args[2].address};

    (void)err;
    if (!w.from)
        w.from = e->known;
    if (e->lines * e->line * e->width <= PART_BYTES)
        run_lines(&w, 0, e->lines);
    else
        device->host->parallel_for(run_lines, &w, e->lines, PART_BYTES / (e->line * e->width) + 1);
    return TFR_OK;
}

void native_expand_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0);

    if (x->dtype == TFR_DTYPE_F32)
        native_item_supports(device, call, answer);
    else if (x->dtype == TFR_DTYPE_STRING || tfr_dtype_bits(x->dtype) % 8 != 0)
        tfr_decline(answer, TFR_REASON_DTYPE, "only elements of whole bytes are done here");
}

/* One more dim of the output, in front of those there are. */
static void add_dim(expand *e, int64_t dim, int64_t stride)
{
    const int first = TFR_MAX_RANK - e->rank;
    const int64_t span = e->rank ? e->strides[first] * e->dims[first] : 0;

    if (dim == 1)
        return;
    if (e->rank &&
        ((!stride && !e->strides[first]) || (stride && e->strides[first] && stride == span))) {
        e->dims[first] *= dim;
        return;
    }
    e->rank++;
    e->dims[first - 1] = dim;
    e->strides[first - 1] = stride;
}

void native_expand_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    int64_t stride = 1;
    expand *e;
    int d;

    if (x->dtype == TFR_DTYPE_F32) {
        native_item_prepare(b, call);
        return;
    }
    e = native_set_function(b, run, NULL, sizeof *e, "expand");
    if (!e)
        return;
    for (d = y->rank - 1; d >= 0; d--) {
        const int of_x = d - (y->rank - x->rank);
        const int64_t dim = of_x < 0 ? 1 : x->dims[of_x];
        add_dim(e, y->dims[d], dim == 1 ? 0 : stride);
        stride *= dim;
    }
    if (!e->rank) { /* one element */
        e->rank = 1;
        e->dims[TFR_MAX_RANK - 1] = 1;
    }
    memmove(e->dims, e->dims + TFR_MAX_RANK - e->rank, (size_t)e->rank * sizeof *e->dims);
    memmove(e->strides, e->strides + TFR_MAX_RANK - e->rank, (size_t)e->rank * sizeof *e->strides);
    e->width = (int)(tfr_dtype_bits(x->dtype) / 8);
    e->line = e->dims[e->rank - 1];
    e->lines = tfr_operand_elements(y) / e->line;
    e->known = x->data;
}

/* ---- ConstantOfShape: a piece is filled with the element, and doubled --------------------- */

enum { PIECE = 64 * 1024 }; /* bytes that a thread fills at once */

typedef struct fill {
    size_t bytes;
    size_t width; /* of an element, at most 16 */
    unsigned char element[16];
    bool same; /* all its bytes are one */
} fill;

typedef struct filling {
    const fill *f;
    char *to;
} filling;

static void run_pieces(void *user, int64_t begin, int64_t end)
{
    const filling *w = user;
    const fill *f = w->f;

    for (; begin < end; begin++) {
        char *to = w->to + (size_t)begin * PIECE;
        const size_t left = f->bytes - (size_t)begin * PIECE, n = left < PIECE ? left : PIECE;
        size_t done = f->width;
        if (f->same) {
            memset(to, f->element[0], n);
            continue;
        }
        memcpy(to, f->element, f->width);
        for (; done < n; done *= 2)
            memcpy(to + done, to, done < n - done ? done : n - done);
    }
}

static int32_t run_fill(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                        tfr_err *err)
{
    const fill *f = user;
    filling w = {.f = f, .to = launch->args[1].address};

    (void)err;
    if (f->bytes <= PIECE)
        run_pieces(&w, 0, 1);
    else
        device->host->parallel_for(run_pieces, &w, (int64_t)((f->bytes + PIECE - 1) / PIECE), 1);
    return TFR_OK;
}

void native_fill_supports(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer)
{
    const tfr_operand *y = tfr_call_output(call, 0);

    (void)device;
    if (y->dtype == TFR_DTYPE_STRING || tfr_dtype_bits(y->dtype) % 8 != 0)
        tfr_decline(answer, TFR_REASON_DTYPE, "only elements of whole bytes are done here");
}

void native_fill_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *y = tfr_call_output(call, 0);
    const tfr_attr *value = tfr_call_attr(call, "value");
    fill *f = native_set_function(b, run_fill, NULL, sizeof *f, "fill");
    size_t i;

    if (!f)
        return;
    f->width = (size_t)tfr_dtype_bits(y->dtype) / 8;
    f->bytes = (size_t)tfr_operand_elements(y) * f->width;
    if (value && value->tensor && value->tensor->data)
        memcpy(f->element, value->tensor->data, f->width);
    f->same = true;
    for (i = 1; i < f->width; i++)
        f->same = f->same && f->element[i] == f->element[0];
}
