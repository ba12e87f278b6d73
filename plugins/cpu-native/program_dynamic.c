/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_dynamic.c: values that are quantized by what they hold in a run: DynamicQuantizeLinear,
 * and MatMulInteger by a constant matrix. What makes float32 of its sums is done to each where it
 * is made, as quantizers write it:
 *
 *   Mul(Cast(MatMulInteger(q, W, zero, w_zero)), Mul(scale, w_scale))
 *
 * Inputs 3 and 4 of such a PRODUCT are the scale, or -1 where the sums stay int32, and the zero
 * point, or -1.
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

bool native_matmul_integer_form(const tfr_call *call)
{
    const tfr_operand *a = tfr_call_input(call, 0), *b = tfr_call_input(call, 1);
    const tfr_operand *a_zero = tfr_call_input(call, 2), *b_zero = tfr_call_input(call, 3);

    return a->rank > 1 && b->rank == 2 && b->data && is_byte(a) && is_byte(b) && b->dims[0] > 0 &&
           tfr_operand_elements(tfr_call_output(call, 0)) > 0 &&
           (!a_zero || tfr_operand_elements(a_zero) == 1) &&
           (!b_zero ||
            (b_zero->data && b_zero->rank < 2 &&
             (tfr_operand_elements(b_zero) == 1 || tfr_operand_elements(b_zero) == b->dims[1])));
}

void native_read_matmul_integer(native_ir *ir, int at)
{
    native_item *item = &ir->items[at];
    const int a_zero = item->n_inputs > 2 ? item->inputs[2] : -1;
    const int b_zero = item->n_inputs > 3 ? item->inputs[3] : -1;
    const native_quant x = {.dtype = ir->values[item->inputs[0]].dtype, .n = 1};
    native_quant w = {.dtype = ir->values[item->inputs[1]].dtype, .n = 1, .axis = 1};

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

/* Of a product of one number that is computed and known ones, one or one for each column. */
static bool is_scale(const native_ir *ir, const native_item *item, int64_t columns, int *number,
                     int *known)
{
    int k;

    if (!item || item->kind != NATIVE_ITEM_BINARY || item->binary != NATIVE_MUL ||
        item->act.kind != NATIVE_ACT_NONE)
        return false;
    for (k = 0; k < 2; k++) {
        const native_value *a = &ir->values[item->inputs[k]], *b = &ir->values[item->inputs[!k]];
        const int64_t n = native_elements(b);
        *number = item->inputs[k];
        *known = item->inputs[!k];
        if (!a->known && native_elements(a) == 1 && a->rank < 2 && b->known && b->rank < 2 &&
            (n == 1 || n == columns))
            return true;
    }
    return false;
}

void native_take_scales(native_ir *ir, const int *makers, int i)
{
    native_item *item = &ir->items[i], *cast, *mul;
    native_integer *in = &ir->integers[item->integer];
    const int64_t columns = ir->values[item->inputs[1]].dims[1];
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
        !is_scale(ir, &ir->items[makers[scale]], columns, &number, &known))
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
}

/* ---- DynamicQuantizeLinear ---- */

enum { PART = 4096, MOST_PARTS = 64 };

typedef struct dynamic {
    const native_int8_isa *isa;
    native_ref from, to, scale, zero;
    int64_t n, parts;
} dynamic;

/* Numbers count parts, whose ranges wait in shared memory. */
static void run_ranges(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const dynamic *d = params;
    const float *from = native_at(bases, &d->from);
    float *ranges = (float *)(void *)bases->shared;

    for (; begin < end; begin++) {
        const int64_t first = begin * d->n / d->parts, last = (begin + 1) * d->n / d->parts;
        d->isa->range(from + first, last - first, &ranges[2 * begin], &ranges[2 * begin + 1]);
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

/* Numbers count parts of PART. */
static void run_quantize(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const dynamic *d = params;
    const float *scale = native_at(bases, &d->scale);
    const float zero = *(const uint8_t *)native_at(bases, &d->zero);
    const int64_t first = begin * PART, last = end * PART < d->n ? end * PART : d->n;
    const native_quantized_span span = {
        .scale = scale, .zero = &zero, .high = UINT8_MAX, .n = last - first};

    d->isa->quantize(&span, native_at(bases, &d->from) + first,
                     (uint8_t *)native_at(bases, &d->to) + first);
}

void native_plan_dynamic_quantize(native_planner *p, const native_item *item)
{
    dynamic *d = native_keep(p, sizeof *d);

    if (!d)
        return;
    d->isa = p->ir->device->int8;
    d->from = native_ref_of(p, item->inputs[0]);
    d->to = native_ref_of(p, item->output);
    d->scale = native_ref_of(p, item->more[0]);
    d->zero = native_ref_of(p, item->more[1]);
    d->n = native_count(p, &p->ir->values[item->output]);
    d->parts = d->n / PART + 1 < MOST_PARTS ? d->n / PART + 1 : MOST_PARTS;
    native_need_shared(p, (uint64_t)d->parts * 2 * sizeof(float));
    native_add_run(p, run_ranges, d, d->parts, (double)d->n * 0.1);
    native_add_run(p, run_scale, d, 1, 100.0)->alone = true;
    native_add_run(p, run_quantize, d, (d->n + PART - 1) / PART, (double)d->n * 0.2);
}
