/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_train.c: items of gradients that become one: a comparison with 0 and the choice by it are
 * a mask, what MaxPool's Indices would tell is found anew where it is wanted, and a mask goes
 * through the gradient of a maximum or of a batch normalization.
 */
#include "program.h"

#include <math.h>
#include <string.h>

static bool same_dims(const native_ir *ir, int a, int b)
{
    const native_value *x = &ir->values[a], *y = &ir->values[b];
    return x->rank == y->rank && memcmp(x->dims, y->dims, (size_t)x->rank * sizeof *x->dims) == 0;
}

static bool is_zero(const native_ir *ir, int value)
{
    const native_value *v = &ir->values[value];
    float number;

    if (!v->known || v->dtype != TFR_DTYPE_F32 || native_elements(v) != 1)
        return false;
    memcpy(&number, v->known, sizeof number);
    return number == 0.0f;
}

/* Where(x > 0, y, 0) */
static void make_mask(native_ir *ir, native_item *item)
{
    const native_item *test = native_maker(ir, item->inputs[0]);

    if (!test || test->kind != NATIVE_ITEM_COMPARE || !is_zero(ir, test->inputs[1]) ||
        !is_zero(ir, item->inputs[2]) || !same_dims(ir, test->inputs[0], item->output) ||
        !same_dims(ir, item->inputs[1], item->output))
        return;
    item->kind = NATIVE_ITEM_BINARY;
    item->binary = NATIVE_MASK;
    item->inputs[0] = test->inputs[0];
    item->n_inputs = 2;
    ir->n_fused++;
}

/* Where Relu's result is above 0 its operand is. */
static void mask_by_result(const native_ir *ir, native_item *item)
{
    int i;

    for (i = 0; &ir->items[i] != item; i++) {
        const native_item *act = &ir->items[i];
        if (act->kind == NATIVE_ITEM_ACT && native_is_relu(&act->act) &&
            act->inputs[0] == item->inputs[0]) {
            item->inputs[0] = act->output;
            return;
        }
    }
}

/* MaxPoolGrad by what the pool has read. */
static void read_source(native_ir *ir, native_item *item)
{
    const native_item *indices = native_maker(ir, item->inputs[1]);
    int i;

    if (!indices || indices->kind != NATIVE_ITEM_INDICES ||
        !same_dims(ir, indices->inputs[0], item->output))
        return;
    item->kind = NATIVE_ITEM_POOL_GRAD;
    item->inputs[1] = indices->inputs[0];
    for (i = 0; i < 2; i++) {
        item->kernel[i] = indices->kernel[i];
        item->stride[i] = indices->stride[i];
        item->dilation[i] = indices->dilation[i];
        item->pad[i] = indices->pad[i];
    }
    ir->n_fused++;
}

/* A mask by what the pool has read. */
static void mask_pool(native_ir *ir, native_item *item)
{
    native_item *pool = native_maker(ir, item->inputs[1]);

    if (!pool || pool->kind != NATIVE_ITEM_POOL_GRAD || pool->masked ||
        pool->inputs[1] != item->inputs[0] || ir->values[pool->output].readers != 1 ||
        ir->values[pool->output].output)
        return;
    pool->masked = true;
    pool->output = item->output;
    item->kind = NATIVE_ITEM_NONE;
    ir->n_fused++;
}

static bool is_binary(const native_item *item, native_binary_kind kind)
{
    return item && item->kind == NATIVE_ITEM_BINARY && item->binary == kind &&
           item->act.kind == NATIVE_ACT_NONE;
}

static bool reads(const native_item *item, int a, int b)
{
    return (item->inputs[0] == a && item->inputs[1] == b) ||
           (item->inputs[0] == b && item->inputs[1] == a);
}

/* y (g - sum(g y)) along the last dim, y = input k of the last product. */
static bool make_softmax_grad(native_ir *ir, native_item *item, int k)
{
    const int y = item->inputs[k];
    native_item *difference = native_only_maker(ir, item->inputs[1 - k]), *sum, *product;
    int g;

    if (!is_binary(difference, NATIVE_SUB))
        return false;
    g = difference->inputs[0];
    sum = native_only_maker(ir, difference->inputs[1]);
    if (!sum || sum->kind != NATIVE_ITEM_REDUCE || sum->mean || ir->values[y].rank < 2 ||
        sum->axes != 1u << (ir->values[y].rank - 1))
        return false;
    product = native_only_maker(ir, sum->inputs[0]);
    if (!is_binary(product, NATIVE_MUL) || !reads(product, g, y) || !same_dims(ir, g, y) ||
        !same_dims(ir, y, item->output) || ir->values[sum->output].rank != ir->values[y].rank)
        return false;
    item->kind = NATIVE_ITEM_SOFTMAX_GRAD;
    item->inputs[0] = g;
    item->inputs[1] = y;
    product->kind = sum->kind = difference->kind = NATIVE_ITEM_NONE;
    ir->n_fused += 3;
    return true;
}

/* A product of computed sides, or the gradient of softmax, times a number. */
static void take_factor(native_ir *ir, native_item *item)
{
    int k;

    for (k = 0; k < 2; k++) {
        const native_value *v = &ir->values[item->inputs[k]];
        native_item *of = native_only_maker(ir, item->inputs[1 - k]);
        float number;
        if (!of || !v->known || v->dtype != TFR_DTYPE_F32 || native_elements(v) != 1 ||
            (of->kind != NATIVE_ITEM_BATCHED_PRODUCT && of->kind != NATIVE_ITEM_SOFTMAX_GRAD) ||
            !same_dims(ir, of->output, item->output))
            continue;
        memcpy(&number, v->known, sizeof number);
        of->alpha *= number;
        of->output = item->output;
        item->kind = NATIVE_ITEM_NONE;
        ir->n_fused++;
        return;
    }
}

void native_fuse_rows(native_ir *ir)
{
    int i;

    native_count_readers(ir);
    for (i = 0; i < ir->n_items; i++) {
        native_item *item = &ir->items[i];
        if (is_binary(item, NATIVE_MUL) && !make_softmax_grad(ir, item, 0))
            make_softmax_grad(ir, item, 1);
    }
    native_count_readers(ir);
    for (i = 0; i < ir->n_items; i++) {
        if (is_binary(&ir->items[i], NATIVE_MUL))
            take_factor(ir, &ir->items[i]);
    }
}

/* The item whose sums go over what the mask makes, and the one that reads both; or false. */
static bool find_norm_readers(native_ir *ir, int value, native_item **sums, native_item **grad)
{
    int i;

    *sums = *grad = NULL;
    for (i = 0; i < ir->n_items; i++) {
        native_item *item = &ir->items[i];
        if (item->n_inputs < 1 || item->inputs[0] != value)
            continue;
        if (item->kind == NATIVE_ITEM_BATCH_NORM_SUMS)
            *sums = item;
        else if (item->kind == NATIVE_ITEM_BATCH_NORM_GRAD)
            *grad = item;
    }
    return ir->values[value].readers == 2 && !ir->values[value].output && *sums && *grad;
}

/*
 * A mask by the Relu of a batch normalization, before the gradient of that: what the Relu cut is
 * found anew from what was normalized.
 */
static void mask_norm(native_ir *ir, native_item *item)
{
    native_item *relu = native_maker(ir, item->inputs[0]), *norm, *sums, *grad;
    int k;

    norm = relu && relu->kind == NATIVE_ITEM_ACT && native_is_relu(&relu->act)
               ? native_maker(ir, relu->inputs[0])
               : NULL;
    if (!norm || norm->kind != NATIVE_ITEM_BATCH_NORM || norm->residual >= 0 ||
        !find_norm_readers(ir, item->output, &sums, &grad))
        return;
    for (k = 1; k < 5; k++) {
        const int with[5] = {0, norm->inputs[0], norm->inputs[1], norm->inputs[2], norm->inputs[3]};
        if (sums->inputs[k] != with[k] || grad->inputs[k] != with[k])
            return;
    }
    sums->masked = grad->masked = true;
    sums->inputs[0] = grad->inputs[0] = item->inputs[1];
    sums->inputs[5] = grad->inputs[5] = norm->inputs[4];
    item->kind = NATIVE_ITEM_NONE;
    ir->n_fused++;
}

/* The item is gone, and does not read any more. */
static void remove_item(native_ir *ir, native_item *item)
{
    int k;

    item->kind = NATIVE_ITEM_NONE;
    for (k = 0; k < item->n_inputs; k++) {
        if (item->inputs[k] >= 0)
            ir->values[item->inputs[k]].readers--;
    }
    if (item->residual >= 0)
        ir->values[item->residual].readers--;
}

static void remove_unread(native_ir *ir)
{
    int i;

    native_count_readers(ir);
    for (i = ir->n_items - 1; i >= 0; i--) {
        native_item *item = &ir->items[i];
        if ((item->kind == NATIVE_ITEM_COMPARE || item->kind == NATIVE_ITEM_INDICES ||
             item->kind == NATIVE_ITEM_POOL) &&
            ir->values[item->output].readers == 0)
            remove_item(ir, item);
    }
}

void native_fuse_gradients(native_ir *ir)
{
    const int n_fused = ir->n_fused;
    bool masks = false;
    int i;

    for (i = 0; i < ir->n_items; i++) {
        if (ir->items[i].kind == NATIVE_ITEM_SELECT)
            make_mask(ir, &ir->items[i]);
        else if (ir->items[i].kind == NATIVE_ITEM_SCATTER)
            read_source(ir, &ir->items[i]);
        if (ir->items[i].kind == NATIVE_ITEM_BINARY && ir->items[i].binary == NATIVE_MASK)
            mask_by_result(ir, &ir->items[i]);
        masks = masks ||
                (ir->items[i].kind == NATIVE_ITEM_BINARY && ir->items[i].binary == NATIVE_MASK);
    }
    if (!masks && ir->n_fused == n_fused)
        return;
    native_count_readers(ir);
    for (i = 0; i < ir->n_items; i++) {
        if (ir->items[i].kind == NATIVE_ITEM_BINARY && ir->items[i].binary == NATIVE_MASK)
            mask_pool(ir, &ir->items[i]);
        if (ir->items[i].kind == NATIVE_ITEM_BINARY && ir->items[i].binary == NATIVE_MASK)
            mask_norm(ir, &ir->items[i]);
    }
    remove_unread(ir);
}
