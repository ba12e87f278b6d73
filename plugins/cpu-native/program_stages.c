/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_stages.c: which items of a training step go by samples, which sum over them, and in which
 * stage each runs. program_stages.h says what stages are.
 */
#include "program.h"

#include <stdlib.h>
#include <string.h>

/* Whether something of the item is computed that inference has as a constant. */
static bool wants_stages(const native_ir *ir, const native_item *item)
{
    int k;

    if (item->integer >= 0)
        return false;
    switch (item->kind) {
    case NATIVE_ITEM_CONV:
    case NATIVE_ITEM_CONV_GRAD_INPUT:
    case NATIVE_ITEM_PRODUCT:
        for (k = 1; k < item->n_inputs; k++) {
            if (item->inputs[k] >= 0 && !ir->values[item->inputs[k]].known)
                return true;
        }
        return false;
    case NATIVE_ITEM_BATCH_NORM:
        return !item->of_variance;
    case NATIVE_ITEM_CONV_GRAD_FILTER:
    case NATIVE_ITEM_PRODUCT_GRAD:
    case NATIVE_ITEM_SUM:
    case NATIVE_ITEM_LAYER_NORM_SUMS:
    case NATIVE_ITEM_LOSS:
    case NATIVE_ITEM_MOMENTS:
    case NATIVE_ITEM_BATCH_NORM_SUMS:
    case NATIVE_ITEM_BATCH_NORM_GRAD:
        return true;
    default:
        return false;
    }
}

bool native_wants_stages(const native_ir *ir)
{
    int i;

    for (i = 0; i < ir->n_items; i++) {
        if (wants_stages(ir, &ir->items[i]))
            return true;
    }
    return false;
}

/* MatMul of two matrices that are both computed, or of known ones and one that is. */
static bool is_free_product(const native_ir *ir, const native_item *item)
{
    const native_value *left, *right;

    if (item->kind != NATIVE_ITEM_PRODUCT || strcmp(item->call->name, "MatMul") != 0 ||
        item->n_inputs != 2)
        return false;
    left = &ir->values[item->inputs[0]];
    right = &ir->values[item->inputs[1]];
    return !right->known && right->rank == 2 && (left->rank == 2 || left->known);
}

void native_free_products(native_ir *ir)
{
    int i;

    for (i = 0; i < ir->n_items; i++) {
        if (wants_stages(ir, &ir->items[i]) && !is_free_product(ir, &ir->items[i]))
            return;
    }
    for (i = 0; i < ir->n_items; i++) {
        if (is_free_product(ir, &ir->items[i]))
            ir->items[i].kind = NATIVE_ITEM_BATCHED_PRODUCT;
    }
}

/* ---- classes ---- */

/* The first operand that is a weight or the like. */
static int first_weight(const native_ir *ir, const native_item *item)
{
    switch (item->kind) {
    case NATIVE_ITEM_CONV_GRAD_FILTER:
    case NATIVE_ITEM_PRODUCT_GRAD:
    case NATIVE_ITEM_LAYER_NORM_SUMS:
    case NATIVE_ITEM_LOSS:
        return item->n_inputs;
    case NATIVE_ITEM_BATCH_NORM_SUMS:
    case NATIVE_ITEM_BATCH_NORM_GRAD:
        return 2;
    case NATIVE_ITEM_CONV_GRAD_INPUT:
        return 1;
    default:
        return wants_stages(ir, item) ? 1 : item->n_inputs;
    }
}

/* State of the program, and what items read as weights, are no samples. */
static void exclude_weights(const native_ir *ir, bool *excluded)
{
    const tfr_program_graph *g = ir->graph;
    uint32_t v;
    int i, k;

    for (v = 0; v < g->n_values; v++) {
        const tfr_program_value *value = native_graph_value(g, (int)v);
        if (value->flags & TFR_VALUE_UPDATE && value->variable >= 0)
            excluded[value->variable] = true;
    }
    for (i = 0; i < ir->n_items; i++) {
        const native_item *item = &ir->items[i];
        for (k = first_weight(ir, item); k < item->n_inputs; k++) {
            if (item->inputs[k] >= 0)
                excluded[item->inputs[k]] = excluded[ir->values[item->inputs[k]].root] = true;
        }
    }
}

static void find_batch(native_ir *ir, const bool *excluded)
{
    int i;

    ir->samples = 0;
    for (i = 0; i < ir->n_values; i++) {
        native_value *v = &ir->values[i];
        if (v->arg < 0 || v->output || v->known || v->rank == 0 || excluded[i])
            continue;
        if (ir->samples == 0)
            ir->samples = v->dims[0];
        v->batched = v->dims[0] == ir->samples;
    }
    if (ir->samples < 1)
        ir->samples = 1;
}

static bool is_batched(const native_ir *ir, int value)
{
    return value >= 0 && ir->values[value].batched;
}

static bool reduces(const native_ir *ir, const native_item *item)
{
    switch (item->kind) {
    case NATIVE_ITEM_CONV_GRAD_FILTER:
    case NATIVE_ITEM_PRODUCT_GRAD:
    case NATIVE_ITEM_LAYER_NORM_SUMS:
    case NATIVE_ITEM_LOSS:
    case NATIVE_ITEM_BATCH_NORM_SUMS:
        return is_batched(ir, item->inputs[0]) && is_batched(ir, item->inputs[1]);
    case NATIVE_ITEM_MOMENTS:
        return is_batched(ir, item->inputs[0]);
    case NATIVE_ITEM_SUM:
        return item->axes & 1 && is_batched(ir, item->inputs[0]);
    default:
        return false;
    }
}

/* Views of samples that are no samples, as [1, N] of [N], cannot be read by those who get a part.
 */
static bool is_whole_view(const native_ir *ir, int value)
{
    return value >= 0 && !ir->values[value].batched && ir->values[ir->values[value].root].batched;
}

static void classify(native_ir *ir)
{
    int i, k;

    for (i = 0; i < ir->n_items; i++) {
        native_item *item = &ir->items[i];
        native_value *y = &ir->values[item->output];
        bool any = is_batched(ir, item->residual), whole = is_whole_view(ir, item->residual);
        for (k = 0; k < item->n_inputs; k++) {
            any = any || is_batched(ir, item->inputs[k]);
            whole = whole || is_whole_view(ir, item->inputs[k]);
        }
        any = any && !whole;
        item->reduces = any && reduces(ir, item);
        item->by_samples = item->reduces || (any && native_is_separable(ir, item));
        y->batched = item->by_samples && !item->reduces;
        if (item->codes >= 0 && item->kind == NATIVE_ITEM_CONV)
            ir->values[item->codes].batched = y->batched;
        for (k = 0; k < NATIVE_ITEM_MORE; k++) {
            if (item->more[k] >= 0)
                ir->values[item->more[k]].reduced = item->reduces;
        }
        y->reduced = item->reduces || (item->kind == NATIVE_ITEM_VIEW && item->inputs[0] >= 0 &&
                                       ir->values[item->inputs[0]].reduced);
    }
}

/* ---- stages ---- */

/* stages[v]: of the item that made value v; -1 = it is always there. */
static int earliest(const native_ir *ir, const native_item *item, const int *stages, int value)
{
    const native_value *v;
    int s;

    if (value < 0 || stages[value] < 0)
        return item->by_samples ? 1 : 0;
    v = &ir->values[value];
    s = stages[value];
    if (item->by_samples)
        return v->batched ? s : v->reduced ? s + 2 : s + 1;
    return s % 2 == 0 ? s : s + 1;
}

static int greatest(int a, int b)
{
    return a > b ? a : b;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* The same for each value that an item reads; chains come later. */
static int find_earliest(const native_ir *ir, const native_item *item, const int *stages)
{
    int s = earliest(ir, item, stages, item->residual), k;

    for (k = 0; k < item->n_inputs; k++)
        s = greatest(s, earliest(ir, item, stages, item->inputs[k]));
    return s;
}

/* A view is where what it looks at is. */
static void find_all_earliest(native_ir *ir, int *stages, int *last)
{
    int i, k;

    for (i = 0; i < ir->n_values; i++)
        stages[i] = -1;
    *last = 0;
    for (i = 0; i < ir->n_items; i++) {
        native_item *item = &ir->items[i];
        item->stage = find_earliest(ir, item, stages);
        stages[item->output] =
            item->kind == NATIVE_ITEM_VIEW ? stages[item->inputs[0]] : item->stage;
        for (k = 0; k < NATIVE_ITEM_MORE; k++) {
            if (item->more[k] >= 0)
                stages[item->more[k]] = item->stage;
        }
        *last = greatest(*last, item->by_samples ? item->stage + 1 : item->stage);
    }
}

/* What readers of a value in stage s allow it to be made in. */
static void allow(const native_ir *ir, int *allowed, int value, const native_item *reader)
{
    int root;

    if (value < 0)
        return;
    root = ir->values[value].root;
    allowed[root] = least(allowed[root], reader->by_samples ? reader->stage - 1 : reader->stage);
    allowed[value] = least(allowed[value], allowed[root]);
}

/* Shared items run as late as they can, so that state is written at the end. */
static void delay(native_ir *ir, int *allowed, int last)
{
    int i, k;

    for (i = 0; i < ir->n_values; i++)
        allowed[i] = last;
    for (i = ir->n_items - 1; i >= 0; i--) {
        native_item *item = &ir->items[i];
        if (!item->by_samples) {
            int to = least(allowed[item->output], allowed[ir->values[item->output].root]);
            for (k = 0; k < NATIVE_ITEM_MORE; k++)
                to = item->more[k] >= 0 ? least(to, allowed[item->more[k]]) : to;
            item->stage = greatest(item->stage, to);
        }
        for (k = 0; k < item->n_inputs; k++)
            allow(ir, allowed, item->inputs[k], item);
        allow(ir, allowed, item->residual, item);
    }
}

bool native_find_stages(native_ir *ir)
{
    bool *excluded = calloc((size_t)ir->n_values + 1, sizeof *excluded);
    int *stages = calloc((size_t)ir->n_values + 1, sizeof *stages), last;

    if (excluded && stages) {
        exclude_weights(ir, excluded);
        find_batch(ir, excluded);
        classify(ir);
        find_all_earliest(ir, stages, &last);
        delay(ir, stages, last);
        native_make_chains(ir);
    }
    free(excluded);
    free(stages);
    return excluded && stages && !ir->failed;
}
