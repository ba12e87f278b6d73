/* SPDX-License-Identifier: Apache-2.0 */
/* program_bf16.c: see program_bf16.h. */
#include "program_bf16.h"

#include <string.h>

enum {
    FEW = 16,                 /* channels: less fill no tile */
    MOST_BYTES = 1024 * 1024, /* of an image in bfloat16: units stay in the second cache */
    DENSE_AREA = 4,           /* of windows: with more zeros between maxima leave them out */
    GROUP = 2                 /* blocks of outputs */
};

/* ---- which calls ---- */

/* Of a convolution x * k = y. */
static const char *no_conv(const tfr_call *call, const tfr_operand *x, const tfr_operand *k,
                           const tfr_operand *y)
{
    const int64_t *strides = tfr_call_ints(call, "strides", 2);
    const int64_t *dilations = tfr_call_ints(call, "dilations", 2);
    const int64_t *pads = tfr_call_ints(call, "pads", 4);
    double pixels = 1.0;
    int i;

    if (k->data)
        return "convolutions with constant weights are strict";
    if (tfr_call_int(call, "group", 1) != 1)
        return "convolutions of groups are strict";
    if (x->dims[1] < FEW || y->dims[1] < FEW)
        return "convolutions of fewer than 16 channels are strict";
    if (strides && strides[0] != strides[1])
        return "convolutions with other steps along each axis are strict";
    for (i = 0; i < 2; i++) {
        const int64_t reach = (k->dims[2 + i] - 1) * (dilations ? dilations[i] : 1);
        if (pads && pads[i] > reach)
            return "convolutions whose windows begin outside are strict";
        pixels *= (double)(y->dims[2 + i] * (strides ? strides[i] : 1) + 2 * reach +
                           x->dims[2 + i] % (strides ? strides[i] : 1));
    }
    if (pixels * (double)((x->dims[1] > y->dims[1] ? x->dims[1] : y->dims[1]) + 31) * 2.0 >
        (double)MOST_BYTES)
        return "convolutions of images of more than 1 MiB are strict";
    return NULL;
}

static const char *no_form(const tfr_call *call)
{
    const tfr_operand *a = tfr_call_input(call, 0), *b = tfr_call_input(call, 1);
    const tfr_operand *y = tfr_call_output(call, 0);

    if (strcmp(call->name, "Conv") == 0)
        return no_conv(call, a, b, y);
    if (strcmp(call->name, "ConvGradInput") == 0)
        return no_conv(call, y, b, a);
    if (strcmp(call->name, "ConvGradFilter") == 0)
        return no_conv(call, b, y, a);
    return "it has no products";
}

const char *native_bf16_no_mode(const tfr_plugin_device *device, const tfr_call *call)
{
    if (call->math_mode < TFR_MATH_BF16)
        return "convolutions are strict but in bf16";
    if (!device->bf16)
        return "this processor has no amx_bf16, so that convolutions are strict";
    if (!native_bf16_is_permitted())
        return "the system refuses the use of AMX, so that convolutions are strict";
    return no_form(call);
}

/* A product with a matrix, whose rows are counted for all samples. */
static bool takes_product(const native_planner *p, const native_item *item)
{
    const native_value *y = &p->ir->values[item->output];
    const native_value *x = &p->ir->values[item->inputs[0]];
    const int64_t depth = x->dims[x->rank - 1], outs = y->dims[y->rank - 1];

    return item->alpha == 1.0f && depth >= FEW && outs >= FEW && native_elements(y) / outs >= FEW &&
           depth * NATIVE_BF16_ROW <= MOST_BYTES;
}

/* Gradients behind a pool leave out all products with zeros in float32. */
static bool is_better_sparse(const native_item *item)
{
    return item->kind == NATIVE_ITEM_CONV_GRAD_FILTER ||
           (item->kind == NATIVE_ITEM_CONV_GRAD_INPUT &&
            item->pool[0] * item->pool[1] > DENSE_AREA);
}

bool native_takes_bf16(const native_planner *p, const native_item *item)
{
    const tfr_plugin_device *device = p->ir->device;

    if (!p->staging || !item->call || item->call->math_mode < TFR_MATH_BF16 || !device->bf16 ||
        p->isa->lanes != NATIVE_BF16_LANES || !native_bf16_is_permitted())
        return false;
    switch (item->kind) {
    case NATIVE_ITEM_PRODUCT:
        return takes_product(p, item);
    case NATIVE_ITEM_CONV:
    case NATIVE_ITEM_CONV_GRAD_INPUT:
    case NATIVE_ITEM_CONV_GRAD_FILTER:
        if (item->codes >= 0 && is_better_sparse(item))
            return false;
        return !item->plain_source && !item->pooled && !item->depth.kernel && !no_form(item->call);
    default:
        return false;
    }
}

/* ---- images ---- */

static void stage_rows(const native_bf16_image *m, const float *from, float *to)
{
    const int64_t lanes = NATIVE_BF16_LANES;
    int64_t y, x;

    for (y = 0; y < m->rows; y++, from += m->columns * lanes) {
        float *row = to + ((m->top + y * m->step) * m->width + m->left) * lanes;
        if (m->step == 1) {
            memcpy(row, from, (size_t)(m->columns * lanes) * sizeof *to);
            continue;
        }
        for (x = 0; x < m->columns; x++)
            memcpy(row + x * m->step * lanes, from + x * lanes, (size_t)lanes * sizeof *to);
    }
}

const float *native_bf16_plane(const native_bf16_image *m, const native_bases *bases,
                               int64_t sample, int64_t block, float *staged)
{
    const int64_t at = (sample * m->blocks + block) * m->rows * m->columns * NATIVE_BF16_LANES;
    const float *from = native_at(bases, &m->from) + at;

    if (m->as_is)
        return from;
    memset(staged, 0, (size_t)native_bf16_staged_bytes(m));
    stage_rows(m, from, staged);
    return staged;
}

void native_bf16_set_image(native_planner *p, native_bf16_image *m, const native_item *item,
                           int input, const int64_t *top_left, int64_t step)
{
    const native_value *v = &p->ir->values[item->inputs[input]];

    m->from = native_ref_of(p, item->inputs[input]);
    m->blocks = (v->dims[1] + NATIVE_BF16_LANES - 1) / NATIVE_BF16_LANES;
    m->samples = native_first_dim(p, v);
    m->rows = v->dims[2];
    m->columns = v->dims[3];
    m->top = top_left[0];
    m->left = top_left[1];
    m->step = step;
}

/* ---- weights ---- */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Numbers count groups, in them steps. */
static void run_weights(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const native_bf16_weights *w = params;
    const float *from = native_at(bases, &w->from);
    char *to = (char *)native_at(bases, &w->to);
    int64_t i, c;

    for (i = begin; i < end; i++) {
        const int64_t step = i % w->steps, in = step / w->taps * NATIVE_BF16_TERMS;
        for (c = 0; c < GROUP; c++) {
            const int64_t out = (i / w->steps * GROUP + c) * NATIVE_BF16_LANES;
            if (out < w->outs)
                w->isa->pack_tile(from + out * w->out_step + in * w->in_step + step % w->taps,
                                  w->in_step, (int)least(w->ins - in, NATIVE_BF16_TERMS),
                                  w->out_step, (int)least(w->outs - out, NATIVE_BF16_LANES),
                                  to + (i * GROUP + c) * NATIVE_BF16_TILE);
        }
    }
}

native_ref native_bf16_pack_weights(native_planner *p, native_bf16_weights *from, int value)
{
    native_bf16_weights *w = native_keep(p, sizeof *w);
    const native_ref none = {0};
    int64_t n;

    if (!w)
        return none;
    *w = *from;
    w->isa = p->ir->device->bf16;
    w->steps = (w->ins + NATIVE_BF16_TERMS - 1) / NATIVE_BF16_TERMS * w->taps;
    n = (w->outs + GROUP * NATIVE_BF16_LANES - 1) / (GROUP * NATIVE_BF16_LANES) * w->steps;
    w->from = native_ref_of(p, value);
    w->to = native_derived(p, (uint64_t)n * GROUP * NATIVE_BF16_TILE);
    native_derive(p, value, run_weights, w, n, (double)n * 500.0);
    return w->to;
}

typedef struct bias_form {
    native_ref from, to;
    int64_t n, wide;
    float factor;
} bias_form;

static void run_bias(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const bias_form *b = params;
    const float *from = native_at(bases, &b->from);
    float *to = native_at(bases, &b->to);
    int64_t i;

    (void)begin, (void)end;
    for (i = 0; i < b->wide; i++)
        to[i] = i < b->n ? b->factor * from[i] : 0.0f;
}

native_ref native_bf16_pack_bias(native_planner *p, int value, float factor, int64_t n,
                                 int64_t wide)
{
    bias_form *b = native_keep(p, sizeof *b);
    const native_ref none = {0};

    if (!b)
        return none;
    b->from = native_ref_of(p, value);
    b->to = native_derived(p, (uint64_t)wide * sizeof(float));
    b->n = n;
    b->wide = wide;
    b->factor = factor;
    native_derive(p, value, run_bias, b, 1, (double)wide);
    return b->to;
}
