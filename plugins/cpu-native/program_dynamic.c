/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_dynamic.c: values that are quantized by what they hold in a run: DynamicQuantizeLinear,
 * and MatMulInteger and ConvInteger by constant weights. What makes float32 of their sums is done
 * to each where it is made, as quantizers write it:
 *
 *   Mul(Cast(MatMulInteger(q, W, zero, w_zero)), Mul(scale, w_scale))
 *
 * and behind ConvInteger an Add of a bias. Inputs 3 and 4 of such an item are the scale, or -1
 * where the sums stay int32, and the zero point, or -1.
 */
#include "program_integer.h"

#include <stdlib.h>
#include <string.h>

#include "int8.h"

/* ---- forms and reading ---- */

static bool is_byte(const tfr_operand *o)
{
    return o->dtype == TFR_DTYPE_U8 || o->dtype == TFR_DTYPE_I8;
}

bool native_dynamic_quantize_form(const tfr_call *call)
{
    return tfr_call_input(call, 0)->dtype == TFR_DTYPE_F32 && tfr_call_output(call, 0) &&
           tfr_call_output(call, 1) && tfr_call_output(call, 2) &&
           tfr_operand_elements(tfr_call_input(call, 0)) > 0;
}

bool native_has_integer_zeros(const tfr_call *call, int64_t n)
{
    const tfr_operand *a = tfr_call_input(call, 0), *b = tfr_call_input(call, 1);
    const tfr_operand *a_zero = tfr_call_input(call, 2), *b_zero = tfr_call_input(call, 3);

    return is_byte(a) && is_byte(b) && (!a_zero || tfr_operand_elements(a_zero) == 1) &&
           (!b_zero || (b_zero->data && b_zero->rank < 2 &&
                        (tfr_operand_elements(b_zero) == 1 || tfr_operand_elements(b_zero) == n)));
}

bool native_matmul_integer_form(const tfr_call *call)
{
    const tfr_operand *a = tfr_call_input(call, 0), *b = tfr_call_input(call, 1);

    return a->rank > 1 && b->rank == 2 && b->data && b->dims[0] > 0 &&
           tfr_operand_elements(tfr_call_output(call, 0)) > 0 &&
           native_has_integer_zeros(call, b->dims[1]);
}

void native_read_integer_sums(native_ir *ir, int at)
{
    native_item *item = &ir->items[at];
    const int a_zero = item->n_inputs > 2 ? item->inputs[2] : -1;
    const int b_zero = item->n_inputs > 3 ? item->inputs[3] : -1;
    const native_quant x = {.dtype = ir->values[item->inputs[0]].dtype, .n = 1};
    native_quant w = {.dtype = ir->values[item->inputs[1]].dtype,
                      .n = 1,
                      .axis = item->kind == NATIVE_ITEM_PRODUCT};

    if (b_zero >= 0) {
        w.zero = ir->values[b_zero].known;
        w.n = native_elements(&ir->values[b_zero]);
    }
    item->integer = native_new_integer(ir, &x, &w);
    item->inputs[2] = item->inputs[3] = -1;
    item->inputs[4] = a_zero;
    item->n_inputs = 5;
}

/* ---- sums become float32 ---- */

/* Known, one number or one for each output: of images those are channels. */
static bool is_for_outputs(const native_ir *ir, int value, int64_t outputs, bool images)
{
    const native_value *v = &ir->values[value];
    const int64_t n = native_elements(v);

    if (!v->known || v->dtype != TFR_DTYPE_F32)
        return false;
    if (v->rank < 2)
        return n == 1 || (n == outputs && !images);
    return images && n == outputs && v->rank > 2 && v->dims[v->rank - 3] == n;
}

/* Of a product of one number that is computed and known ones. */
static bool is_scale(const native_ir *ir, const native_item *item, int64_t outputs, bool images,
                     int *number, int *known)
{
    int k;

    if (!item || item->kind != NATIVE_ITEM_BINARY || item->binary != NATIVE_MUL ||
        item->act.kind != NATIVE_ACT_NONE)
        return false;
    for (k = 0; k < 2; k++) {
        const native_value *a = &ir->values[item->inputs[k]];
        *number = item->inputs[k];
        *known = item->inputs[!k];
        if (!a->known && native_elements(a) == 1 && a->rank < 2 &&
            is_for_outputs(ir, *known, outputs, images))
            return true;
    }
    return false;
}

/* What is added to each channel of a convolution; products take it where others do. */
static void take_bias(native_ir *ir, int i, int64_t outputs)
{
    native_item *item = &ir->items[i], *add = native_reader_of(ir, i, item->output);
    int bias;

    if (!add || add->kind != NATIVE_ITEM_BINARY || add->binary != NATIVE_ADD ||
        add->act.kind != NATIVE_ACT_NONE)
        return;
    bias = add->inputs[add->inputs[0] == item->output];
    if (native_elements(&ir->values[bias]) != outputs || !is_for_outputs(ir, bias, outputs, true) ||
        ir->values[add->output].rank != ir->values[item->output].rank)
        return;
    item->inputs[2] = bias;
    item->output = add->output;
    add->kind = NATIVE_ITEM_NONE;
    ir->n_fused++;
}

void native_take_scales(native_ir *ir, const int *makers, int i)
{
    native_item *item = &ir->items[i], *cast, *mul;
    native_integer *in = &ir->integers[item->integer];
    const bool images = item->kind != NATIVE_ITEM_PRODUCT;
    const int64_t outputs = ir->values[item->inputs[1]].dims[!images];
    int scale, number, known;

    cast = native_reader_of(ir, i, item->output);
    if (in->x.scale || !cast || cast->kind != NATIVE_ITEM_CAST ||
        ir->values[cast->output].dtype != TFR_DTYPE_F32)
        return;
    mul = native_reader_of(ir, (int)(cast - ir->items), cast->output);
    if (!mul || mul->kind != NATIVE_ITEM_BINARY || mul->binary != NATIVE_MUL)
        return;
    scale = mul->inputs[mul->inputs[0] == cast->output];
    if (makers[scale] < 0 || ir->values[mul->output].rank != ir->values[item->output].rank ||
        !is_scale(ir, &ir->items[makers[scale]], outputs, images, &number, &known))
        return;
    if (makers[number] >= i)
        return;
    in->w.scale = ir->values[known].known;
    in->scales = native_elements(&ir->values[known]);
    item->inputs[3] = number;
    item->output = mul->output;
    if (ir->values[scale].readers == 1 && !ir->values[scale].output)
        ir->items[makers[scale]].kind = NATIVE_ITEM_NONE;
    cast->kind = mul->kind = NATIVE_ITEM_NONE;
    ir->n_fused += 2;
    if (images)
        take_bias(ir, i, outputs);
}

/* ---- DynamicQuantizeLinear ---- */

enum { PART = 4096, MOST_PARTS = 64, MOST_LANES = 16 };

/* Parts of what is read: of blocked values a block of channels of a sample each. */
typedef struct dynamic {
    const native_int8_isa *isa;
    native_ref from, scale, zero;
    int64_t n, parts;
    int64_t channels, blocks, lanes; /* blocks: 0 = not blocked */
} dynamic;

/* Of the first `some` lanes; others hold anything. */
static void range_of_lanes(const dynamic *d, const float *from, int64_t n, int64_t some,
                           float *range)
{
    float row[MOST_LANES];

    range[0] = range[1] = 0;
    for (; n > 0; n -= d->lanes, from += d->lanes) {
        float low, high;
        memcpy(row, from, (size_t)some * sizeof *row);
        d->isa->range(row, some, &low, &high);
        range[0] = low < range[0] ? low : range[0];
        range[1] = high > range[1] ? high : range[1];
    }
}

/* Numbers count parts, whose ranges wait in shared memory. */
static void run_ranges(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const dynamic *d = params;
    const float *from = native_at(bases, &d->from);
    float *range = (float *)(void *)bases->shared + 2 * begin;

    for (; begin < end; begin++, range += 2) {
        const int64_t first = begin * d->n / d->parts, last = (begin + 1) * d->n / d->parts;
        const int64_t some = d->blocks ? d->channels - begin % d->blocks * d->lanes : d->lanes;
        if (some < d->lanes)
            range_of_lanes(d, from + first, last - first, some, range);
        else
            d->isa->range(from + first, last - first, &range[0], &range[1]);
    }
}

/* As plugins/naive/quantize.c says it. */
static void run_scale(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const dynamic *d = params;
    const float *ranges = (const float *)(const void *)bases->shared;
    float low = 0, high = 0, scale;
    int64_t i;

    (void)begin, (void)end;
    for (i = 0; i < d->parts; i++) {
        low = ranges[2 * i] < low ? ranges[2 * i] : low;
        high = ranges[2 * i + 1] > high ? ranges[2 * i + 1] : high;
    }
    scale = (high == low ? 1 : high - low) / 255;
    *native_at(bases, &d->scale) = scale;
    *(uint8_t *)native_at(bases, &d->zero) = (uint8_t)rintf(fminf(255, fmaxf(0, -low / scale)));
}

void native_plan_dynamic_quantize(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]];
    dynamic *d = native_keep(p, sizeof *d);

    if (!d)
        return;
    d->isa = p->ir->device->int8;
    d->from = native_ref_of(p, item->inputs[0]);
    d->scale = native_ref_of(p, item->more[0]);
    d->zero = native_ref_of(p, item->more[1]);
    d->n = native_count(p, x);
    d->parts = d->n / PART + 1 < MOST_PARTS ? d->n / PART + 1 : MOST_PARTS;
    d->lanes = p->isa->lanes;
    if (x->blocked) {
        d->channels = x->dims[1];
        d->blocks = (d->channels + d->lanes - 1) / d->lanes;
        d->parts = native_first_dim(p, x) * d->blocks;
        d->n = d->parts * d->lanes * x->dims[2] * x->dims[3];
    }
    native_need_shared(p, (uint64_t)d->parts * 2 * sizeof(float));
    native_add_run(p, run_ranges, d, d->parts, (double)d->n * 0.1);
    native_add_run(p, run_scale, d, 1, 100.0)->alone = true;
    native_plan_quantize(p, item);
}
