/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_append.c: keys and values of a decoder, whose new rows are written behind the past ones
 * where those lie, in heads that have room for more rows. Attention reads them there, so what was
 * put together by a copy of all becomes a move of what is new. Who else reads the result would need
 * it plain; then it is made as ever.
 */
#include "program.h"

#include <string.h>

/* The item that makes a value, if it does so by putting what is new behind `past`; else NULL. */
static native_item *maker_of(const native_ir *ir, int value, int past)
{
    native_item *maker = NULL;
    int i;

    for (i = 0; i < ir->n_items; i++) {
        native_item *item = &ir->items[i];
        if (item->kind != NATIVE_ITEM_NONE && item->output == value)
            maker = item;
    }
    if (!maker || maker->n_inputs != 2 || maker->inputs[0] != past || maker->inputs[1] == past ||
        (maker->kind != NATIVE_ITEM_CONCAT && maker->kind != NATIVE_ITEM_STRIDED))
        return NULL;
    return maker;
}

/* The axis along which a value of [B, heads, rows, depth] or [B, rows, heads, depth] is longer than
 * the past; -1: it is none of these. */
static int axis_of(const native_value *now, const native_value *past)
{
    const int axis = now->rank == 4 && now->dims[2] == past->dims[2] ? 1 : 2;
    int d;

    if (now->dtype != TFR_DTYPE_F32 || past->dtype != TFR_DTYPE_F32 || now->rank != 4 ||
        past->rank != 4)
        return -1;
    for (d = 0; d < 4; d++) {
        if (d != axis && now->dims[d] != past->dims[d])
            return -1;
    }
    return axis;
}

/* Whether all who read the value are attentions that read it as keys or values, row by row. */
static bool only_heads(const native_ir *ir, int value)
{
    int i, k;

    for (i = 0; i < ir->n_items; i++) {
        const native_item *item = &ir->items[i];
        if (item->kind == NATIVE_ITEM_NONE)
            continue;
        for (k = 0; k < item->n_inputs; k++) {
            if (item->inputs[k] == value &&
                (item->kind != NATIVE_ITEM_ATTENTION || (k != 1 && k != 2) ||
                 (k == 1 && item->heads.k_term != 1)))
                return false;
        }
        if (item->residual == value)
            return false;
    }
    return true;
}

static void read_heads(native_ir *ir, int value, int axis, const int64_t *strides)
{
    const int64_t steps[] = {strides[0], strides[3 - axis], strides[axis]};
    int i;

    for (i = 0; i < ir->n_items; i++) {
        native_item *item = &ir->items[i];
        if (item->kind != NATIVE_ITEM_ATTENTION)
            continue;
        if (item->inputs[1] == value)
            memcpy(item->heads.k, steps, sizeof steps);
        if (item->inputs[2] == value)
            memcpy(item->heads.v, steps, sizeof steps);
    }
}

/* The item moves its second input alone. */
static bool move_new(native_ir *ir, native_item *item, int axis, const int64_t *strides)
{
    const int64_t rows = ir->values[item->inputs[0]].dims[axis];
    int at = item->strided + 1;

    if (item->kind == NATIVE_ITEM_CONCAT) {
        at = native_new_strided(ir, 1);
        if (at < 0)
            return false;
        native_lies_plain(&ir->values[item->inputs[1]], &ir->strided[at]);
    }
    memcpy(ir->strided[at].to_steps, strides, 4 * sizeof *strides);
    ir->strided[at].to_offset = rows * strides[axis];
    item->kind = NATIVE_ITEM_STRIDED;
    item->strided = at;
    item->inputs[0] = item->inputs[1];
    item->n_inputs = 1;
    return true;
}

static void append(native_ir *ir, int value, const tfr_program_value *given)
{
    const int past = given->variable;
    const int axis = axis_of(&ir->values[value], &ir->values[past]);
    native_item *item = maker_of(ir, value, past);

    if (axis < 0 || !item || ir->values[past].readers != 1 || ir->values[past].output ||
        (item->kind == NATIVE_ITEM_CONCAT && (item->axis + 4) % 4 != axis) || item->integer >= 0 ||
        !only_heads(ir, value) || !move_new(ir, item, axis, given->strides))
        return;
    read_heads(ir, value, axis, given->strides);
    ir->values[value].appended = true;
    ir->values[past].readers = 0;
    ir->n_fused++;
}

void native_append(native_ir *ir)
{
    bool counted = false;
    uint32_t i;

    for (i = 0; i < ir->graph->n_outputs && !ir->failed; i++) {
        const int value = ir->graph->outputs[i];
        const tfr_program_value *given = native_graph_value(ir->graph, value);
        if (!TFR_HAS(given, tfr_program_value, strides) || !(given->flags & TFR_VALUE_APPEND))
            continue;
        if (!counted && native_wants_stages(ir))
            return;
        if (!counted)
            native_count_readers(ir);
        counted = true;
        append(ir, value, given);
    }
}
