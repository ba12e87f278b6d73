/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_one_pixel.c: a transposed convolution of an image of one pixel, with which generators and
 * decoders begin, becomes a product. Each output reads one tap of that pixel, so that the taps of
 * all outputs are the columns of a matrix [channels, outputs]: the weights as they lie, where no
 * padding cuts taps off. Tiles of convolutions would compute every tap for every output.
 */
#include "program_quantized.h"

#include <stdlib.h>

typedef struct pass {
    native_ir *ir;
    native_unpacked *kept;
    uint64_t *constant_bytes;
} pass;

/* ---- what is one ---- */

/* The tap that an output reads the pixel by, along an axis, or -1. */
static int64_t tap_of(const native_item *conv, int axis, int64_t at)
{
    at += conv->pad[axis];
    return at % conv->dilation[axis] == 0 && at / conv->dilation[axis] < conv->kernel[axis]
               ? at / conv->dilation[axis]
               : -1;
}

/* An output that reads nothing is its bias, even where the pixel is not finite. */
static bool all_read_it(const native_item *conv, const native_value *y)
{
    int64_t at;
    int axis;

    for (axis = 0; axis < 2; axis++) {
        for (at = 0; at < y->dims[2 + axis]; at++) {
            if (tap_of(conv, axis, at) < 0)
                return false;
        }
    }
    return true;
}

static bool is_known(const native_value *v)
{
    return v->known && v->dtype == TFR_DTYPE_F32;
}

static int bias_of(const native_item *conv)
{
    return conv->n_inputs > 2 ? conv->inputs[2] : -1;
}

static bool has_one_pixel(const native_ir *ir, const native_item *conv)
{
    const native_value *x, *y, *w;

    if (conv->kind != NATIVE_ITEM_CONV_GRAD_INPUT || conv->integer >= 0 || conv->codes >= 0 ||
        conv->pooled || conv->masked || conv->groups > 1 || conv->depth.kernel || !conv->call ||
        conv->call->math_mode != TFR_MATH_STRICT) /* reports say that it has no other mode */
        return false;
    x = &ir->values[conv->inputs[0]];
    y = &ir->values[conv->output];
    w = &ir->values[conv->inputs[1]];
    return x->rank == 4 && x->dims[2] == 1 && x->dims[3] == 1 && y->rank == 4 && is_known(w) &&
           w->rank == 4 && native_elements(x) > 0 && native_elements(y) > 0 &&
           (bias_of(conv) < 0 || is_known(&ir->values[bias_of(conv)])) && all_read_it(conv, y);
}

/* ---- the matrix and its bias ---- */

static float *keep(pass *p, const native_constant_key *key, int64_t n, bool *made)
{
    float *to = native_keep_unpacked(p->ir, p->kept, key, n, p->constant_bytes, made);

    p->ir->failed = p->ir->failed || !to;
    return to;
}

/* Of all planes of weights the taps that outputs read. */
static void copy_taps(float *to, const native_item *conv, const native_value *y, const void *from,
                      int64_t planes)
{
    const int64_t taps = conv->kernel[0] * conv->kernel[1];
    int64_t plane, row, column;

    for (plane = 0; plane < planes; plane++) {
        for (row = 0; row < y->dims[2]; row++) {
            const int64_t at = plane * taps + tap_of(conv, 0, row) * conv->kernel[1];
            for (column = 0; column < y->dims[3]; column++)
                *to++ = native_float_at(from, at + tap_of(conv, 1, column));
        }
    }
}

/* [channels, outputs of each sample] */
static int matrix_of(pass *p, const native_item *conv, int64_t ins, int64_t outs)
{
    const native_value w = p->ir->values[conv->inputs[1]], y = p->ir->values[conv->output];
    const native_value m = {.rank = 2, .dims = {ins, outs}, .dtype = TFR_DTYPE_F32};
    const native_constant_key key = {{w.known},
                                     {-10, ins, outs, conv->kernel[0], conv->kernel[1],
                                      conv->pad[0], conv->pad[1], conv->dilation[0],
                                      conv->dilation[1], y.dims[3]}};
    const bool whole = native_elements(&w) == ins * outs; /* each output has a tap of its own */
    const int matrix = native_new_value(p->ir, &m);
    bool made = false;
    float *to;

    if (p->ir->failed)
        return matrix;
    p->ir->values[matrix].known = w.known;
    p->ir->values[matrix].unaligned = w.unaligned;
    if (whole)
        return matrix;
    to = keep(p, &key, ins * outs, &made);
    if (to && made)
        copy_taps(to, conv, &y, w.known, ins * y.dims[1]);
    p->ir->values[matrix].known = to;
    p->ir->values[matrix].unaligned = NULL;
    return matrix;
}

/* The bias of a channel for each of its pixels. */
static int spread_bias(pass *p, int bias, int64_t outs)
{
    const native_value v = {.rank = 1, .dims = {outs}, .dtype = TFR_DTYPE_F32};
    const int64_t pixels = outs / native_elements(&p->ir->values[bias]);
    const void *from = p->ir->values[bias].known;
    const native_constant_key key = {{from}, {-11, outs, pixels}};
    bool made = false;
    float *to = keep(p, &key, outs, &made);
    int64_t i;
    int spread;

    for (i = 0; to && made && i < outs; i++)
        to[i] = native_float_at(from, i / pixels);
    spread = native_new_value(p->ir, &v);
    if (!p->ir->failed)
        p->ir->values[spread].known = to;
    return spread;
}

/* ---- the items ---- */

static native_item *add_item(pass *p, const native_item *of, native_item_kind kind, int input)
{
    native_item *item = native_new_item(p->ir, kind);

    item->node = of->node;
    item->call = of->call;
    item->n_inputs = 1;
    item->inputs[0] = input;
    return item;
}

static int new_rows(pass *p, int like, int64_t n)
{
    native_value v = p->ir->values[like];

    v.rank = 2;
    v.dims[1] = n;
    return native_new_value(p->ir, &v);
}

/* All of each sample as a row. */
static int rows_of(pass *p, const native_item *of, int value)
{
    const native_value *v = &p->ir->values[value];
    const int rows = new_rows(p, value, native_elements(v) / v->dims[0]);

    add_item(p, of, NATIVE_ITEM_VIEW, value)->output = rows;
    return rows;
}

static void multiply(pass *p, const native_item *conv)
{
    const native_value y = p->ir->values[conv->output];
    const int64_t ins = p->ir->values[conv->inputs[0]].dims[1];
    const int64_t outs = native_elements(&y) / y.dims[0];
    const int matrix = matrix_of(p, conv, ins, outs);
    const int bias = bias_of(conv) < 0 ? -1 : spread_bias(p, bias_of(conv), outs);
    const int from = rows_of(p, conv, conv->inputs[0]);
    const int residual = conv->residual < 0 ? -1 : rows_of(p, conv, conv->residual);
    const int to = new_rows(p, conv->output, outs);
    native_item *item = add_item(p, conv, NATIVE_ITEM_PRODUCT, from);

    item->inputs[1] = matrix;
    item->inputs[2] = bias;
    item->n_inputs = 3;
    item->residual = residual;
    item->act = conv->act;
    item->output = to;
    add_item(p, conv, NATIVE_ITEM_VIEW, to)->output = conv->output;
}

void native_multiply_pixels(native_ir *ir, native_unpacked *kept, uint64_t *constant_bytes)
{
    pass p = {ir, kept, constant_bytes};
    native_item *old = ir->items;
    const int n = ir->n_items;
    bool any = false;
    int i;

    for (i = 0; i < n; i++)
        any = any || has_one_pixel(ir, &old[i]);
    if (!any || native_wants_stages(ir))
        return;
    ir->items = NULL;
    ir->n_items = ir->room_items = 0;
    for (i = 0; i < n && !ir->failed; i++) {
        if (has_one_pixel(ir, &old[i]))
            multiply(&p, &old[i]);
        else
            *native_new_item(ir, old[i].kind) = old[i];
    }
    free(old);
}
