/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_integer.c: convolutions and products between DequantizeLinear and QuantizeLinear.
 *
 * A dequantized value is (q - zero) * scale. Sums of products of two such are the sum of integers,
 * which int32 holds exactly, times both scales: what a model computes in float32, rounding after
 * each step, with fewer roundings. So the item reads the integers themselves, and DequantizeLinear
 * goes if nobody else reads what it makes. A QuantizeLinear behind it, a Relu or Clip in between,
 * and an addition of another dequantized value with a QuantizeLinear of its own are done to each
 * sum where it is made.
 *
 * A bias of float32 becomes one of int32 in units of both scales; quantizers have made it of that.
 * Where it is none, the item's result stays float32.
 */
#include "program_integer.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "int8_product.h"

static int *find_makers(const native_ir *ir)
{
    int *makers = malloc(((size_t)ir->n_values + 1) * sizeof *makers), i, k;

    if (!makers)
        return NULL;
    for (i = 0; i < ir->n_values; i++)
        makers[i] = -1;
    for (i = 0; i < ir->n_items; i++) {
        const native_item *item = &ir->items[i];
        if (item->kind == NATIVE_ITEM_NONE)
            continue;
        makers[item->output] = i;
        for (k = 0; k < NATIVE_ITEM_MORE; k++) {
            if (item->more[k] >= 0)
                makers[item->more[k]] = i;
        }
    }
    return makers;
}

/* The item that dequantizes the value from 8 bits, or NULL. */
static native_item *dequantizer(const native_ir *ir, const int *makers, int value)
{
    native_item *item = value < 0 || makers[value] < 0 ? NULL : &ir->items[makers[value]];

    return item && item->kind == NATIVE_ITEM_DEQUANTIZE && item->quant.dtype != TFR_DTYPE_I32
               ? item
               : NULL;
}

/* ---- which items ---- */

/* A matrix that is turned first. */
static const native_item *turned(const native_ir *ir, const int *makers, const native_item *item)
{
    const int maker = makers[item->inputs[1]];
    const native_item *turn = maker < 0 ? NULL : &ir->items[maker];

    return item->kind == NATIVE_ITEM_PRODUCT && turn && turn->kind == NATIVE_ITEM_TRANSPOSE &&
                   turn->perm[0] == 1
               ? turn
               : NULL;
}

static bool is_kind(const native_ir *ir, const native_item *item)
{
    return (item->kind == NATIVE_ITEM_CONV && !item->whole[0]) ||
           item->kind == NATIVE_ITEM_DEPTHWISE ||
           (item->kind == NATIVE_ITEM_CONV_GRAD_INPUT && native_can_turn(ir, item)) ||
           (item->kind == NATIVE_ITEM_PRODUCT && item->alpha == 1.0f);
}

/* Scales of weights: one, or one for each output. */
static bool has_scales(const native_item *item, const native_quant *w)
{
    if (w->n == 1)
        return true;
    return w->axis == ((item->kind == NATIVE_ITEM_PRODUCT && !item->transposed) ||
                       item->kind == NATIVE_ITEM_CONV_GRAD_INPUT);
}

static int64_t terms_of(const native_item *item, const native_value *w)
{
    if (item->kind == NATIVE_ITEM_PRODUCT)
        return w->dims[item->transposed];
    if (item->kind == NATIVE_ITEM_CONV_GRAD_INPUT)
        return native_elements(w) / w->dims[1];
    return native_elements(w) / w->dims[0];
}

/* Known now, or once constants are unpacked. */
static bool will_be_known(const native_ir *ir, const int *makers, int value)
{
    const native_item *maker = value < 0 || makers[value] < 0 ? NULL : &ir->items[makers[value]];

    return value < 0 || ir->values[value].known ||
           (maker && maker->kind == NATIVE_ITEM_DEQUANTIZE && ir->values[maker->inputs[0]].known);
}

int native_new_integer(native_ir *ir, const native_quant *x, const native_quant *w)
{
    const size_t n = (size_t)ir->n_integers;
    native_integer *more = ir->integers;

    if ((n & (n - 1)) == 0) /* full: there is room for a power of two */
        more = realloc(more, (n ? 2 * n : 1) * sizeof *more);
    if (!more) {
        ir->failed = true;
        return -1;
    }
    ir->integers = more;
    memset(&more[n], 0, sizeof *more);
    more[n].gate = more[n].before = -1;
    more[n].x = *x;
    more[n].w = *w;
    return ir->n_integers++;
}

static void find_integer(native_ir *ir, const int *makers, native_item *item)
{
    const native_item *turn = turned(ir, makers, item), *x, *w;
    const int64_t most =
        item->kind == NATIVE_ITEM_DEPTHWISE ? NATIVE_INT8_MOST_TAPS : NATIVE_INTEGER_TERMS;
    const native_value *v;

    x = dequantizer(ir, makers, item->inputs[0]);
    w = dequantizer(ir, makers, turn ? turn->inputs[0] : item->inputs[1]);
    if (!x || !w || x->quant.n != 1 || ir->values[x->inputs[0]].known ||
        !ir->values[w->inputs[0]].known ||
        (item->n_inputs > 2 && !will_be_known(ir, makers, item->inputs[2])))
        return;
    v = &ir->values[w->inputs[0]];
    item->transposed ^= turn != NULL;
    if (!has_scales(item, &w->quant) || terms_of(item, v) > most || terms_of(item, v) < 1) {
        item->transposed ^= turn != NULL;
        return;
    }
    item->integer = native_new_integer(ir, &x->quant, &w->quant);
    if (item->integer < 0)
        return;
    item->inputs[0] = x->inputs[0];
    item->inputs[1] = w->inputs[0];
}

/* ---- ops of integers ---- */

bool native_qlinear_matmul_form(const tfr_call *call)
{
    const tfr_operand *a = tfr_call_input(call, 0), *b = tfr_call_input(call, 3);
    const tfr_operand *y = tfr_call_output(call, 0);

    return a->rank > 1 && b->rank == 2 && b->data && b->dims[0] > 0 &&
           b->dims[0] <= NATIVE_INTEGER_TERMS && tfr_operand_elements(y) > 0 &&
           native_known_quant(call, 1, a, 1) && native_known_quant(call, 4, b, b->dims[1]) &&
           native_known_quant(call, 6, y, 1);
}

/* The pair at inputs `at` and the next one. */
static native_quant quant_of(const native_ir *ir, const native_item *item, int at, int32_t dtype,
                             int axis)
{
    const native_value *scale = &ir->values[item->inputs[at]];

    return (native_quant){.scale = scale->known,
                          .zero = ir->values[item->inputs[at + 1]].known,
                          .dtype = dtype,
                          .n = native_elements(scale),
                          .axis = axis};
}

void native_read_qlinear(native_ir *ir, int at)
{
    native_item *item = &ir->items[at];
    const int bias = item->n_inputs > 8 ? item->inputs[8] : -1;
    const native_quant x = quant_of(ir, item, 1, ir->values[item->inputs[0]].dtype, 0);
    const native_quant w =
        quant_of(ir, item, 4, ir->values[item->inputs[3]].dtype, item->kind == NATIVE_ITEM_PRODUCT);
    const native_quant y = quant_of(ir, item, 6, ir->values[item->output].dtype, 0);

    item->integer = native_new_integer(ir, &x, &w);
    if (item->integer < 0)
        return;
    ir->integers[item->integer].y = y;
    item->inputs[1] = item->inputs[3];
    item->inputs[2] = bias;
    item->n_inputs = 3;
}

/* What only was dequantized, or turned, for items that do without. */
static void drop_unread(native_ir *ir)
{
    int i;

    native_count_readers(ir);
    for (i = ir->n_items - 1; i >= 0; i--) {
        native_item *item = &ir->items[i];
        if ((item->kind != NATIVE_ITEM_DEQUANTIZE && item->kind != NATIVE_ITEM_TRANSPOSE) ||
            ir->values[item->output].readers > 0)
            continue;
        item->kind = NATIVE_ITEM_NONE;
        ir->values[item->inputs[0]].readers--;
    }
}

void native_find_integers(native_ir *ir)
{
    int *makers, i;

    if (!ir->n_integers && !(native_kinds(ir) & native_kind_bit(NATIVE_ITEM_DEQUANTIZE)))
        return;
    makers = find_makers(ir);
    if (!makers) {
        ir->failed = true;
        return;
    }
    native_count_readers(ir);
    for (i = 0; i < ir->n_items && !ir->failed; i++) {
        if (is_kind(ir, &ir->items[i]) && ir->items[i].integer < 0)
            find_integer(ir, makers, &ir->items[i]);
        else if (is_kind(ir, &ir->items[i]))
            native_take_scales(ir, makers, i);
    }
    free(makers);
    drop_unread(ir);
}

/* ---- what they take over ---- */

native_item *native_reader_of(const native_ir *ir, int from, int value)
{
    int j, k;

    if (ir->values[value].readers != 1 || ir->values[value].output)
        return NULL;
    for (j = from + 1; j < ir->n_items; j++) {
        native_item *item = &ir->items[j];
        for (k = 0; k < item->n_inputs && item->kind != NATIVE_ITEM_NONE; k++) {
            if (item->inputs[k] == value)
                return item;
        }
    }
    return NULL;
}

bool native_is_limit(const native_act *act)
{
    return act->kind == NATIVE_ACT_NONE || act->kind == NATIVE_ACT_CLIP;
}

/* Whether a bias is integers in units of the scales, but for the roundings of float32. */
static bool has_integer_bias(const native_ir *ir, const native_item *item)
{
    const native_integer *in = &ir->integers[item->integer];
    const native_value *v;
    int64_t i, n;

    if (item->n_inputs < 3 || item->inputs[2] < 0)
        return true;
    v = &ir->values[item->inputs[2]];
    n = native_elements(v);
    for (i = 0; i < n; i++) {
        const double unit = (double)native_quant_scale(&in->x, 0) * native_quant_scale(&in->w, i);
        float bias;
        double units;
        memcpy(&bias, (const float *)v->known + i, sizeof bias);
        units = (double)bias * item->beta / unit;
        if (!(fabs(units) < INT_MAX / 4) ||
            !(fabs(units - rint(units)) <= 1e-6 * fabs(units) + 1e-3))
            return false;
    }
    return true;
}

/* Whether the output is of 8 bits. */
static bool take_quantize(native_ir *ir, int i)
{
    native_item *item = &ir->items[i], *next = native_reader_of(ir, i, item->output);

    if (ir->integers[item->integer].y.scale)
        return true;
    if (!next || next->kind != NATIVE_ITEM_QUANTIZE || next->quant.n != 1 ||
        !native_is_limit(&item->act) || item->residual >= 0 || !has_integer_bias(ir, item))
        return false;
    ir->integers[item->integer].y = next->quant;
    item->output = next->output;
    next->kind = NATIVE_ITEM_NONE;
    ir->n_fused++;
    return true;
}

static bool same_dims(const native_value *a, const native_value *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

/* Dequantized again, added to something dequantized that is there already, quantized. */
static bool take_addition(native_ir *ir, const int *makers, int i)
{
    native_item *item = &ir->items[i], *from = native_reader_of(ir, i, item->output), *sum, *act,
                *last;
    native_integer *in = &ir->integers[item->integer];
    const native_item *with;

    if (item->kind == NATIVE_ITEM_CONV_GRAD_INPUT || !from ||
        from->kind != NATIVE_ITEM_DEQUANTIZE || from->quant.n != 1)
        return false;
    sum = native_reader_of(ir, (int)(from - ir->items), from->output);
    if (!sum || sum->kind != NATIVE_ITEM_BINARY || sum->binary != NATIVE_ADD ||
        !native_is_limit(&sum->act))
        return false;
    with = dequantizer(ir, makers, sum->inputs[sum->inputs[0] == from->output]);
    if (!with || with == from || with->quant.n != 1 || ir->values[with->inputs[0]].known ||
        makers[with->inputs[0]] > i ||
        !same_dims(&ir->values[with->inputs[0]], &ir->values[item->output]))
        return false;
    act = native_reader_of(ir, (int)(sum - ir->items), sum->output);
    last = act && act->kind == NATIVE_ITEM_ACT && native_is_limit(&act->act) &&
                   sum->act.kind == NATIVE_ACT_NONE
               ? native_reader_of(ir, (int)(act - ir->items), act->output)
               : act;
    if (!last || last->kind != NATIVE_ITEM_QUANTIZE || last->quant.n != 1)
        return false;
    in->limits = last == act ? sum->act : act->act;
    in->with = with->quant;
    in->sum = last->quant;
    item->residual = with->inputs[0];
    item->output = last->output;
    from->kind = sum->kind = act->kind = last->kind = NATIVE_ITEM_NONE;
    ir->n_fused += 2;
    return true;
}

void native_fuse_integers(native_ir *ir)
{
    const uint64_t bytes =
        native_kind_bit(NATIVE_ITEM_QUANTIZE) | native_kind_bit(NATIVE_ITEM_DEQUANTIZE);
    int *makers, i;

    if (ir->failed || !ir->device->qdq || (!ir->n_integers && !(native_kinds(ir) & bytes)))
        return;
    native_count_readers(ir);
    makers = find_makers(ir);
    for (i = 0; i < ir->n_items && makers; i++) {
        if (ir->items[i].integer < 0 || !is_kind(ir, &ir->items[i]) ||
            !ir->integers[ir->items[i].integer].x.scale)
            continue;
        if (take_quantize(ir, i) && take_addition(ir, makers, i))
            native_count_readers(ir);
        makers[ir->items[i].output] = i;
    }
    native_count_readers(ir);
    if (makers)
        native_find_bytes(ir, makers);
    ir->failed = ir->failed || !makers;
    free(makers);
    drop_unread(ir);
    native_join_channels(ir);
}
