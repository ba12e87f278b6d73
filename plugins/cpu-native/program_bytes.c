/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_bytes.c: items that read and write values of 8 bits where a model dequantizes what they
 * read and quantizes what they make: functions of one value are a table of all 256 (x * sigmoid(x)
 * is one, too, with a quantization in between or not, and so are several one after the other),
 * those of two are computed in float32, some elements at a time, and what only moves or compares
 * elements does so with the integers, if both sides have the same scale and zero point.
 * Dequantizing and quantizing a number again gives the same one, for both round by far less than
 * half a step.
 */
#include "program_integer.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- looking ---- */

static native_item *maker_of(const native_ir *ir, const int *makers, int value)
{
    return value < 0 || makers[value] < 0 ? NULL : &ir->items[makers[value]];
}

/* What dequantizes the value by one scale, in the program. */
static native_item *dequantizer(const native_ir *ir, const int *makers, int value)
{
    native_item *item = maker_of(ir, makers, value);

    return item && item->kind == NATIVE_ITEM_DEQUANTIZE && item->quant.n == 1 &&
                   !ir->values[item->inputs[0]].known
               ? item
               : NULL;
}

/* What alone reads the item's output, and quantizes it by one scale. */
static native_item *quantizer(const native_ir *ir, int i)
{
    native_item *item = native_reader_of(ir, i, ir->items[i].output);

    return item && item->kind == NATIVE_ITEM_QUANTIZE && item->quant.n == 1 ? item : NULL;
}

/* A number survives the way to float32 and back. */
bool native_same_grid(const native_quant *a, const native_quant *b)
{
    const float scale = native_quant_scale(a, 0);

    return a->dtype == b->dtype && scale == native_quant_scale(b, 0) && scale > FLT_MIN &&
           scale < FLT_MAX / 512 && native_quant_zero(a, 0) == native_quant_zero(b, 0);
}

/* ---- what becomes such an item ---- */

static bool moves(const native_item *item)
{
    switch (item->kind) {
    case NATIVE_ITEM_POOL:
        return !item->average && !item->depth.size;
    case NATIVE_ITEM_TRANSPOSE:
    case NATIVE_ITEM_VIEW:
        return true;
    case NATIVE_ITEM_STRIDED:
        return item->n_inputs == 1;
    default:
        return false;
    }
}

static void take(native_ir *ir, native_item *item, native_item *q)
{
    item->output = q->output;
    q->kind = NATIVE_ITEM_NONE;
    ir->n_fused++;
}

static void find_move(native_ir *ir, const int *makers, int i)
{
    native_item *item = &ir->items[i], *q = quantizer(ir, i);
    int k;

    if (!q)
        return;
    for (k = 0; k < item->n_inputs; k++) {
        const native_item *from = dequantizer(ir, makers, item->inputs[k]);
        if (!from || !native_same_grid(&from->quant, &q->quant))
            return;
    }
    for (k = 0; k < item->n_inputs; k++)
        item->inputs[k] = dequantizer(ir, makers, item->inputs[k])->inputs[0];
    take(ir, item, q);
}

/* Parts that are put together in another grid than theirs; each has an entry of its own. */
static void find_concat(native_ir *ir, const int *makers, int i)
{
    native_item *item = &ir->items[i], *q = quantizer(ir, i);
    int k, at, first = -1;

    for (k = 0; k < item->n_inputs; k++) {
        if (!dequantizer(ir, makers, item->inputs[k]))
            return;
    }
    if (!q)
        return;
    for (k = 0; k < item->n_inputs; k++) {
        const native_item *from = dequantizer(ir, makers, item->inputs[k]);
        at = native_new_integer(ir, &from->quant, &from->quant);
        if (at < 0)
            return;
        ir->integers[at].y = q->quant;
        first = k == 0 ? at : first;
    }
    for (k = 0; k < item->n_inputs; k++)
        item->inputs[k] = dequantizer(ir, makers, item->inputs[k])->inputs[0];
    item->integer = first;
    take(ir, item, q);
}

static bool same_dims(const native_value *a, const native_value *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

/* Whether v has an element for each plane of y. */
static bool has_planes(const native_value *v, const native_value *y)
{
    return y->rank == 4 && v->rank == 4 && v->dims[0] == y->dims[0] && v->dims[1] == y->dims[1] &&
           v->dims[2] == 1 && v->dims[3] == 1;
}

static void find_function(native_ir *ir, const int *makers, int i)
{
    native_item *item = &ir->items[i], *q = quantizer(ir, i);
    const native_value *y = &ir->values[item->output];
    native_item *from[2];
    int k, at;

    for (k = 0; k < item->n_inputs && k < 2; k++) {
        from[k] = dequantizer(ir, makers, item->inputs[k]);
        if (!from[k] ||
            (item->kind == NATIVE_ITEM_BINARY && !same_dims(&ir->values[item->inputs[k]], y) &&
             !(k == 1 && has_planes(&ir->values[item->inputs[k]], y))))
            return;
    }
    if (item->n_inputs > 2 || (!q && item->kind != NATIVE_ITEM_MEAN))
        return;
    at = native_new_integer(ir, &from[0]->quant, &from[item->n_inputs - 1]->quant);
    if (at < 0)
        return;
    item->integer = at;
    for (k = 0; k < item->n_inputs; k++)
        item->inputs[k] = from[k]->inputs[0];
    if (!q)
        return;
    ir->integers[at].y = q->quant;
    take(ir, item, q);
}

void native_byte_norm(const native_ir *ir, const native_item *item, const native_quant *x,
                      const native_quant *y, int64_t c, double *factor, double *term)
{
    const double mean = (double)native_float_at(ir->values[item->inputs[1]].known, c);
    const double variance = (double)native_float_at(ir->values[item->inputs[2]].known, c);
    const double scale = (double)native_float_at(ir->values[item->inputs[3]].known, c);
    const double shift = (double)native_float_at(ir->values[item->inputs[4]].known, c);
    const double f = scale / sqrt(variance + (double)item->epsilon);
    const double from = native_quant_scale(x, 0), to = native_quant_scale(y, 0);

    *factor = f * from / to;
    *term = (shift - f * mean - f * from * native_quant_zero(x, 0)) / to;
}

/* Whether all are numbers that leave float32 exact enough. */
static bool has_factors(const native_ir *ir, const native_item *item, const native_quant *x,
                        const native_quant *y)
{
    const double most = 1e6;
    double factor, term;
    int64_t c;
    int k;

    for (k = 1; k < 5; k++)
        if (!ir->values[item->inputs[k]].known)
            return false;
    for (c = 0; c < ir->values[item->output].dims[1]; c++) {
        native_byte_norm(ir, item, x, y, c, &factor, &term);
        if (!(fabs(factor) < most && fabs(term) < most))
            return false;
    }
    return true;
}

/* The item reads the integers of a DEQUANTIZE, and writes those of a QUANTIZE. */
static void read_integers(native_ir *ir, native_item *item, const native_item *from, native_item *q)
{
    const int at = native_new_integer(ir, &from->quant, &from->quant);

    if (at < 0)
        return;
    ir->integers[at].y = q->quant;
    item->integer = at;
    item->inputs[0] = from->inputs[0];
    take(ir, item, q);
}

/* A batch norm whose numbers are known: a factor and a term for each channel. */
static void find_norm(native_ir *ir, const int *makers, int i)
{
    native_item *item = &ir->items[i], *q = quantizer(ir, i);
    const native_item *from = dequantizer(ir, makers, item->inputs[0]);

    if (!q || !from || !item->of_variance || item->residual >= 0 || item->masked ||
        !native_is_limit(&item->act) || ir->values[item->output].rank != 4 ||
        !has_factors(ir, item, &from->quant, &q->quant))
        return;
    read_integers(ir, item, from, q);
}

/* Of the item's operand `of` a number makes a number by itself. */
static bool is_step(const native_ir *ir, const native_item *item, int of, native_byte_step *step)
{
    const native_value *known, *y = &ir->values[item->output];

    memset(step, 0, sizeof *step);
    step->act = item->act;
    step->is_act = item->kind == NATIVE_ITEM_ACT;
    if (step->is_act)
        return true;
    if (item->kind != NATIVE_ITEM_BINARY || item->binary == NATIVE_MASK ||
        item->binary == NATIVE_PRELU || item->integer >= 0 || item->inputs[0] == item->inputs[1])
        return false;
    step->second = item->inputs[1] == of;
    step->binary = item->binary;
    known = &ir->values[item->inputs[!step->second]];
    if (!known->known || native_elements(known) != 1 || !same_dims(&ir->values[of], y))
        return false;
    memcpy(&step->number, known->known, sizeof step->number);
    return true;
}

/* The item that is a table and makes the value, or NULL. */
static native_item *table_of(const native_ir *ir, int value)
{
    native_item *item = native_maker(ir, value);

    return item && item->kind == NATIVE_ITEM_ACT && item->integer >= 0 ? item : NULL;
}

static bool is_read_once(const native_ir *ir, int value)
{
    return ir->values[value].readers == 1 && !ir->values[value].output;
}

/* A table of what another one made, which nobody else reads, is one of what that read. */
static void take_table(native_ir *ir, native_item *item, const native_item *from)
{
    native_item *first = table_of(ir, item->inputs[0]);
    native_integer *in = &ir->integers[item->integer];

    if (!first || !is_read_once(ir, first->output) || !is_read_once(ir, from->output) ||
        ir->integers[first->integer].tables == NATIVE_BYTE_TABLES)
        return;
    in->before = first->integer;
    in->tables = ir->integers[first->integer].tables + 1;
    item->inputs[0] = first->inputs[0];
    first->kind = NATIVE_ITEM_NONE;
    ir->n_fused++;
}

/* How a table reads its value. */
static const native_quant *grid_of_table(const native_ir *ir, const native_item *item)
{
    const native_integer *in = &ir->integers[item->integer];

    while (in->before >= 0)
        in = &ir->integers[in->before];
    return &in->x;
}

/* Whether the value is but dequantized, for an output of the program. */
static bool leaves(const native_ir *ir, int value)
{
    const native_value *v = &ir->values[value];
    const native_item *reader = v->readers == 1 ? &ir->items[v->reader] : NULL;

    return v->output ||
           (reader && reader->kind == NATIVE_ITEM_DEQUANTIZE && ir->values[reader->output].output);
}

/* Averages over windows, and resized images, if nobody wants these with the channels in front. */
static void find_weighing(native_ir *ir, const int *makers, int i)
{
    native_item *item = &ir->items[i], *q = quantizer(ir, i);
    const native_item *from = dequantizer(ir, makers, item->inputs[0]);

    if (!q || !from || (item->kind == NATIVE_ITEM_RESIZE && leaves(ir, q->output)) ||
        !native_can_weigh(ir, item, &from->quant, &q->quant))
        return;
    read_integers(ir, item, from, q);
}

/* One after the other until they are quantized: a table. */
static void find_table(native_ir *ir, const int *makers, int i)
{
    native_byte_step steps[NATIVE_BYTE_STEPS];
    native_item *item = &ir->items[i], *chain[NATIVE_BYTE_STEPS], *from, *last = item;
    int of = item->inputs[0], n = 0, at;

    if (!dequantizer(ir, makers, of) && item->kind == NATIVE_ITEM_BINARY)
        of = item->inputs[1];
    from = dequantizer(ir, makers, of);
    while (from && last && n < NATIVE_BYTE_STEPS && is_step(ir, last, of, &steps[n])) {
        chain[n++] = last;
        of = last->output;
        last = native_reader_of(ir, (int)(last - ir->items), last->output);
    }
    if (n == 0 || !last || last->kind != NATIVE_ITEM_QUANTIZE || last->quant.n != 1)
        return;
    at = native_new_integer(ir, &from->quant, &from->quant);
    if (at < 0)
        return;
    memcpy(ir->integers[at].steps, steps, sizeof steps);
    ir->integers[at].n_steps = n;
    ir->integers[at].y = last->quant;
    item->integer = at;
    item->kind = NATIVE_ITEM_ACT;
    item->n_inputs = 1;
    item->inputs[0] = from->inputs[0];
    take_table(ir, item, from);
    while (--n > 0)
        chain[n]->kind = NATIVE_ITEM_NONE;
    take(ir, item, last);
}

/* x * f(x) and the like, where f(x) is a table: one of x alone. */
static bool find_gate(native_ir *ir, const int *makers, int i)
{
    native_item *item = &ir->items[i], *q = quantizer(ir, i), *gate = NULL;
    const native_item *from[2];
    int k, at;

    if (!q || item->n_inputs != 2)
        return false;
    for (k = 0; k < 2; k++) {
        from[k] = dequantizer(ir, makers, item->inputs[k]);
        if (!from[k])
            return false;
    }
    for (k = 0; k < 2 && !gate; k++) {
        gate = table_of(ir, from[k]->inputs[0]);
        if (gate && (gate->inputs[0] != from[!k]->inputs[0] ||
                     ir->integers[gate->integer].tables == NATIVE_BYTE_TABLES ||
                     !native_same_grid(grid_of_table(ir, gate), &from[!k]->quant)))
            gate = NULL;
    }
    if (!gate)
        return false;
    k--;
    at = native_new_integer(ir, &from[!k]->quant, &from[k]->quant);
    if (at < 0)
        return true;
    ir->integers[at].y = q->quant;
    ir->integers[at].gate = gate->integer;
    ir->integers[at].tables = ir->integers[gate->integer].tables + 1;
    ir->integers[at].gate_first = k == 0;
    ir->integers[at].gated = item->binary;
    ir->integers[at].act = item->act;
    if (is_read_once(ir, gate->output) && is_read_once(ir, from[k]->output))
        gate->kind = NATIVE_ITEM_NONE;
    item->kind = NATIVE_ITEM_ACT;
    item->n_inputs = 1;
    item->inputs[0] = from[!k]->inputs[0];
    item->integer = at;
    take(ir, item, q);
    return true;
}

/* The operand that is spread is the second one. */
static void turn_around(const native_ir *ir, native_item *item)
{
    const int first = item->inputs[0];

    if ((item->binary != NATIVE_ADD && item->binary != NATIVE_MUL) ||
        !has_planes(&ir->values[first], &ir->values[item->output]))
        return;
    item->inputs[0] = item->inputs[1];
    item->inputs[1] = first;
}

/* ReduceMean over all pixels is a mean, too. */
static void find_mean(native_ir *ir, const int *makers, int i)
{
    native_item *item = &ir->items[i], old = *item;

    if (item->kind == NATIVE_ITEM_REDUCE) {
        if (!item->mean || item->axes != 12 || ir->values[item->inputs[0]].rank != 4)
            return;
        item->kind = NATIVE_ITEM_MEAN;
        item->n_inputs = 1;
    }
    find_function(ir, makers, i);
    if (item->integer < 0)
        *item = old;
}

void native_find_bytes(native_ir *ir, const int *makers)
{
    int i;

    for (i = 0; i < ir->n_items && !ir->failed; i++) {
        native_item *item = &ir->items[i];
        if (item->integer >= 0)
            continue;
        if (item->kind == NATIVE_ITEM_CONCAT)
            find_concat(ir, makers, i);
        else if (item->kind == NATIVE_ITEM_BATCH_NORM)
            find_norm(ir, makers, i);
        else if (item->kind == NATIVE_ITEM_RESIZE ||
                 (item->kind == NATIVE_ITEM_POOL && item->average))
            find_weighing(ir, makers, i);
        else if (moves(item))
            find_move(ir, makers, i);
        if (item->kind == NATIVE_ITEM_ACT || item->kind == NATIVE_ITEM_BINARY)
            find_table(ir, makers, i);
        if (item->kind == NATIVE_ITEM_BINARY && !find_gate(ir, makers, i))
            turn_around(ir, item);
        if (item->integer < 0 && item->kind == NATIVE_ITEM_BINARY)
            find_function(ir, makers, i);
        else if (item->kind == NATIVE_ITEM_MEAN || item->kind == NATIVE_ITEM_REDUCE)
            find_mean(ir, makers, i);
    }
}
