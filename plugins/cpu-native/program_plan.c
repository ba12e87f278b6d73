/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_plan.c: items become steps over an arena. A block of the arena lives from the item that
 * makes it to the last that reads it; an item that works in place gives its input's block to its
 * output.
 */
#include "program_bf16.h"
#include "program_integer.h"
#include "program_segments.h"

#include <stdlib.h>
#include <string.h>

#include "constants.h"

/* ---- memory ---- */

uint64_t native_bytes_of(const native_planner *p, const native_value *v)
{
    uint64_t n = (uint64_t)native_count(p, v);

    if (v->blocked && n > 0) { /* with the channels last less of it is used */
        uint64_t lanes = (uint64_t)p->isa->lanes, c = (uint64_t)v->dims[1];
        n = n / c * ((c + lanes - 1) / lanes * lanes);
    }
    return (n * tfr_dtype_bits(v->dtype) + 7) / 8;
}

/* The input whose memory the output may take, or -1. */
static int in_place(const native_item *item, int nth)
{
    switch (item->kind) {
    case NATIVE_ITEM_ACT:
    case NATIVE_ITEM_SOFTMAX:
    case NATIVE_ITEM_LAYER_NORM:
        return nth == 0 ? item->inputs[0] : -1;
    case NATIVE_ITEM_BINARY:
        return nth < 2 ? item->inputs[nth] : -1;
    case NATIVE_ITEM_CONV: /* groups may be computed again from the residual */
        return nth == 0 && item->groups <= 1 ? item->residual : -1;
    case NATIVE_ITEM_DEPTHWISE:
    case NATIVE_ITEM_PRODUCT:
        return nth == 0 ? item->residual : -1;
    default:
        return -1;
    }
}

typedef struct lives {
    tfr_arena_block *blocks; /* of each root; bytes 0 = none */
    int *shares;             /* whose block a root has, itself mostly */
} lives;

/* The number of a root that several segments touch, or -1. */
static int crossing_of(const native_planner *p, int root)
{
    return p->plan->segments ? p->plan->segments->crossing_of[root] : -1;
}

static const native_segment *segment_of(const native_planner *p, int item)
{
    return &p->plan->segments->all[p->plan->segments->of_item[item]];
}

/* What is planned from here on is for the samples of the item's segment. */
static void enter_item(native_planner *p, int item)
{
    if (p->plan->segments)
        p->samples = segment_of(p, item)->samples;
}

static void touch(const native_planner *p, lives *l, int value, int step)
{
    int root;

    if (value < 0)
        return;
    root = l->shares[p->ir->values[value].root];
    if (crossing_of(p, root) >= 0) /* the items before read it again for the next part */
        step = segment_of(p, step)->last_item;
    if (l->blocks[root].last < (uint32_t)step)
        l->blocks[root].last = (uint32_t)step;
}

/* For every value that an item reads or writes. */
static void touch_all(const native_planner *p, lives *l, const native_item *item, int step)
{
    int k;

    for (k = 0; k < item->n_inputs; k++)
        touch(p, l, item->inputs[k], step);
    touch(p, l, item->residual, step);
    touch(p, l, item->output, step);
    for (k = 0; k < NATIVE_ITEM_MORE; k++)
        touch(p, l, item->more[k], step);
}

static bool needs_block(const native_value *v, int number)
{
    return v->root == number && v->arg < 0 && !v->known;
}

static void begin_life(native_planner *p, lives *l, int value, int step)
{
    const native_value *v = &p->ir->values[value];

    if (!needs_block(v, value) || l->blocks[value].bytes > 0)
        return;
    if (crossing_of(p, value) >= 0) {
        step = segment_of(p, step)->first_item;
        p->samples = p->plan->samples;
    }
    l->blocks[value].bytes = native_bytes_of(p, v);
    l->blocks[value].first = (uint32_t)step;
    enter_item(p, step);
}

/* The output moves into the block of an input that dies here. */
static void share_block(native_planner *p, lives *l, const native_item *item, int step,
                        const uint32_t *last)
{
    const native_ir *ir = p->ir;
    int nth, out = item->output;

    for (nth = 0; nth < 2; nth++) {
        int in = in_place(item, nth), root, owner;
        if (in < 0 || !needs_block(&ir->values[out], out))
            continue;
        root = ir->values[in].root;
        if (crossing_of(p, root) >= 0 || crossing_of(p, out) >= 0)
            continue;
        owner = l->shares[root];
        if (l->blocks[owner].bytes == 0 || last[root] != (uint32_t)step ||
            l->blocks[owner].bytes != native_bytes_of(p, &ir->values[out]))
            continue;
        if (item->residual == in && item->n_inputs > 0 && ir->values[item->inputs[0]].root == root)
            continue;
        l->shares[out] = owner;
        return;
    }
}

/* The last reader of each root, views and all. */
static void find_last(native_planner *p, lives *l, uint32_t *last)
{
    int i;

    for (i = 0; i < p->ir->n_values; i++)
        l->shares[i] = i;
    for (i = 0; i < p->ir->n_items; i++)
        touch_all(p, l, &p->ir->items[i], i);
    for (i = 0; i < p->ir->n_values; i++)
        last[i] = l->blocks[i].last;
    memset(l->blocks, 0, (size_t)p->ir->n_values * sizeof *l->blocks);
}

static void find_lives(native_planner *p, lives *l, uint32_t *last)
{
    int i, k;

    find_last(p, l, last);
    for (i = 0; i < p->ir->n_items; i++) {
        const native_item *item = &p->ir->items[i];
        enter_item(p, i);
        share_block(p, l, item, i, last);
        if (l->shares[item->output] == item->output)
            begin_life(p, l, item->output, i);
        for (k = 0; k < NATIVE_ITEM_MORE; k++) {
            if (item->more[k] >= 0)
                begin_life(p, l, item->more[k], i);
        }
        touch_all(p, l, item, i);
    }
}

int32_t native_place(native_planner *p, tfr_arena_block *blocks, uint32_t n)
{
    const tfr_host_arena *arena = p->ir->device->arena;
    uint64_t at = 0;
    uint32_t i;

    if (arena && arena->plan && n > 1)
        return arena->plan(blocks, sizeof *blocks, n, NATIVE_ALIGNMENT, &p->plan->arena_bytes,
                           &p->plan->lower_bound, p->err);
    for (i = 0; i < n; i++) {
        blocks[i].offset = at;
        at += native_aligned(blocks[i].bytes);
    }
    p->plan->arena_bytes = p->plan->lower_bound = at;
    return TFR_OK;
}

/* Of values that several segments touch, which have a base each. */
static void set_crossings(native_planner *p, const tfr_arena_block *placed)
{
    native_segments *s = p->plan->segments;
    int i;

    p->samples = p->plan->samples;
    for (i = 0; i < p->ir->n_values; i++) {
        const int crossing = s->crossing_of[i];
        if (crossing >= 0)
            s->crossings[crossing] =
                (native_crossing){(int64_t)placed[i].offset,
                                  (int64_t)native_bytes_of(p, &p->ir->values[i]) / p->samples};
    }
}

static void set_refs(native_planner *p, const lives *l, const tfr_arena_block *placed)
{
    const int args = (int)(p->ir->graph->n_inputs + p->ir->graph->n_outputs);
    int i;

    if (p->plan->segments)
        set_crossings(p, placed);
    for (i = 0; i < p->ir->n_values; i++) {
        int root = p->ir->values[i].root;
        const native_value *v = &p->ir->values[root];
        native_ref *ref = &p->refs[i];
        memset(ref, 0, sizeof *ref);
        if (v->known)
            ref->known = v->known;
        else if (v->arg >= 0)
            ref->base = 1 + v->arg;
        else if (crossing_of(p, root) >= 0)
            ref->base = 1 + args + crossing_of(p, root);
        else
            ref->offset = (int64_t)placed[l->shares[root]].offset;
    }
}

/* Blocks of 0 bytes are left out for the planner, then offsets go back to their roots. */
static void plan_memory(native_planner *p)
{
    const size_t n = (size_t)p->ir->n_values;
    tfr_arena_block *dense = native_zeroed(
        (n + 1) * (2 * sizeof *dense + sizeof(int) + sizeof(uint32_t))); /* all there is */
    lives l = {dense ? dense + n : NULL, dense ? (int *)(void *)(dense + 2 * n) : NULL};
    uint32_t *last = dense ? (uint32_t *)(void *)(l.shares + n) : NULL, count = 0;
    size_t i;

    if (!dense) {
        p->status = tfr_fail(p->err, TFR_ENOMEM, "no memory to plan that of a program");
    } else {
        find_lives(p, &l, last);
        for (i = 0; i < n; i++) {
            if (l.blocks[i].bytes > 0)
                dense[count++] = l.blocks[i];
        }
        p->status = native_place(p, dense, count);
        for (i = 0, count = 0; i < n; i++) {
            if (l.blocks[i].bytes > 0)
                l.blocks[i].offset = dense[count++].offset;
        }
        if (p->status == TFR_OK)
            set_refs(p, &l, l.blocks);
    }
    p->blocks = dense;
    p->n_blocks = count;
}

/* Where `bytes` from `at` on meet a block that lives at the step: behind it; else at. */
static uint64_t behind_block(const native_planner *p, uint32_t step, uint64_t at, uint64_t bytes)
{
    uint32_t i;

    for (i = 0; i < p->n_blocks; i++) {
        const tfr_arena_block *b = &p->blocks[i];
        if (b->first <= step && step <= b->last && b->offset < at + bytes &&
            at < b->offset + b->bytes)
            return native_aligned(b->offset + b->bytes);
    }
    return at;
}

/*
 * Scratch memory of the threads and what they share for the steps of an item: the first hole of the
 * arena among what lives then, for it is written and read by this item alone.
 */
void native_place_scratch(native_planner *p, int item, int first_run)
{
    const uint64_t bytes = p->shared + p->scratch * (uint64_t)p->lanes;
    uint64_t at = 0, before, live = bytes;
    uint32_t i;

    do {
        before = at;
        at = behind_block(p, (uint32_t)item, at, bytes);
    } while (at != before);
    for (i = 0; i < p->n_blocks; i++) {
        if (p->blocks[i].first <= (uint32_t)item && (uint32_t)item <= p->blocks[i].last)
            live += native_aligned(p->blocks[i].bytes);
    }
    if (p->plan->arena_bytes < at + bytes)
        p->plan->arena_bytes = at + bytes;
    if (p->plan->lower_bound < live)
        p->plan->lower_bound = live;
    for (; first_run < p->plan->n_runs; first_run++) {
        p->plan->runs[first_run].shared = at;
        p->plan->runs[first_run].scratch = at + p->shared;
        p->plan->runs[first_run].scratch_bytes = p->scratch;
    }
}

/* ---- the plan ---- */

static bool is_product(const native_item *item)
{
    return item->integer < 0 && !item->quantized &&
           (item->kind == NATIVE_ITEM_PRODUCT || item->kind == NATIVE_ITEM_BATCHED_PRODUCT);
}

static void plan_product(native_planner *p, const native_item *item)
{
    if (item->quantized)
        native_plan_nbits(p, item);
    else if (native_takes_bf16(p, item))
        native_plan_bf16_product(p, item);
    else if (item->is_big)
        native_plan_big_product(p, item);
    else if (item->has_few_rows)
        native_plan_few_rows(p, item);
    else if (item->kind == NATIVE_ITEM_PRODUCT)
        native_plan_product(p, item);
    else
        native_plan_batched_product(p, item);
}

/*
 * The gradient of what a convolution reads is one of the gradient of what it makes, by the same
 * weights with inputs and outputs exchanged.
 */
static void plan_conv(native_planner *p, const native_item *item)
{
    const int form = native_winograd_form(p, item);

    if (item->few_outs)
        native_plan_few_outs(p, item);
    else if (native_is_turned_depthwise(p, item))
        native_plan_turned_depthwise(p, item);
    else if (native_takes_bf16(p, item))
        native_plan_bf16_conv(p, item);
    else if (form >= 0)
        native_plan_winograd(p, item, form);
    else
        native_plan_conv(p, item);
}

static void plan_conv_grad_filter(native_planner *p, const native_item *item)
{
    if (!native_takes_bf16(p, item) && p->ir->device->winograd && native_is_winograd_grad(p, item))
        native_plan_winograd_grad(p, item);
    else
        native_plan_conv_grad_filter(p, item);
}

static void plan_pool(native_planner *p, const native_item *item)
{
    if (p->ir->values[item->output].dtype == TFR_DTYPE_F32)
        native_plan_pool(p, item);
    else
        native_plan_byte_pool(p, item);
}

static void plan_reorder(native_planner *p, const native_item *item)
{
    if (item->transposed)
        native_plan_turn(p, item);
    else if (p->ir->values[item->output].dtype == TFR_DTYPE_F32)
        native_plan_reorder(p, item);
    else
        native_plan_reorder_bytes(p, item);
}

static void (*const makers[])(native_planner *p, const native_item *item) = {
    [NATIVE_ITEM_COPY] = native_plan_copy,
    [NATIVE_ITEM_REORDER] = plan_reorder,
    [NATIVE_ITEM_PAD] = native_plan_pad,
    [NATIVE_ITEM_CONV] = plan_conv,
    [NATIVE_ITEM_DEPTHWISE] = native_plan_depthwise,
    [NATIVE_ITEM_POOL] = plan_pool,
    [NATIVE_ITEM_RESIZE] = native_plan_resize,
    [NATIVE_ITEM_MEAN] = native_plan_mean,
    [NATIVE_ITEM_ACT] = native_plan_act,
    [NATIVE_ITEM_BINARY] = native_plan_binary,
    [NATIVE_ITEM_PRODUCT] = plan_product,
    [NATIVE_ITEM_BATCHED_PRODUCT] = plan_product,
    [NATIVE_ITEM_MIX] = native_plan_mix,
    [NATIVE_ITEM_SOFTMAX] = native_plan_rows,
    [NATIVE_ITEM_COLUMN_SOFTMAX] = native_plan_columns,
    [NATIVE_ITEM_LAYER_NORM] = native_plan_rows,
    [NATIVE_ITEM_TRANSPOSE] = native_plan_transpose,
    [NATIVE_ITEM_CONCAT] = native_plan_concat,
    [NATIVE_ITEM_GATHER] = native_plan_gather,
    [NATIVE_ITEM_CAST] = native_plan_cast,
    [NATIVE_ITEM_ATTENTION] = native_plan_attention,
    [NATIVE_ITEM_COMPARE] = native_plan_elementwise,
    [NATIVE_ITEM_SELECT] = native_plan_elementwise,
    [NATIVE_ITEM_ELEMENTWISE] = native_plan_elementwise,
    [NATIVE_ITEM_LOG_SOFTMAX] = native_plan_log_softmax,
    [NATIVE_ITEM_LOSS] = native_plan_loss,
    [NATIVE_ITEM_LOSS_GRAD] = native_plan_loss_grad,
    [NATIVE_ITEM_SUM] = native_plan_sum,
    [NATIVE_ITEM_INDICES] = native_plan_indices,
    [NATIVE_ITEM_SCATTER] = native_plan_scatter,
    [NATIVE_ITEM_POOL_GRAD] = native_plan_pool_grad,
    [NATIVE_ITEM_CONV_GRAD_INPUT] = plan_conv,
    [NATIVE_ITEM_CONV_GRAD_FILTER] = plan_conv_grad_filter,
    [NATIVE_ITEM_PRODUCT_GRAD] = native_plan_product_grad,
    [NATIVE_ITEM_CHAIN] = native_plan_chain,
    [NATIVE_ITEM_STRIDED] = native_plan_strided,
    [NATIVE_ITEM_PADDED] = native_plan_padded,
    [NATIVE_ITEM_SOFTMAX_GRAD] = native_plan_rows_grad,
    [NATIVE_ITEM_LAYER_NORM_GRAD] = native_plan_rows_grad,
    [NATIVE_ITEM_LAYER_NORM_SUMS] = native_plan_layer_norm_sums,
    [NATIVE_ITEM_REDUCE] = native_plan_fold,
    [NATIVE_ITEM_FOLD] = native_plan_fold,
    [NATIVE_ITEM_ARG] = native_plan_arg,
    [NATIVE_ITEM_RANGE] = native_plan_range,
    [NATIVE_ITEM_TOP_K] = native_plan_top_k,
    [NATIVE_ITEM_GROUP_NORM] = native_plan_group_norm,
    [NATIVE_ITEM_MOMENTS] = native_plan_moments,
    [NATIVE_ITEM_BATCH_NORM] = native_plan_batch_norm,
    [NATIVE_ITEM_BATCH_NORM_SUMS] = native_plan_batch_norm_sums,
    [NATIVE_ITEM_BATCH_NORM_GRAD] = native_plan_batch_norm_grad,
    [NATIVE_ITEM_QUANTIZE] = native_plan_quantize,
    [NATIVE_ITEM_DEQUANTIZE] = native_plan_quantize,
    [NATIVE_ITEM_DYNAMIC_QUANTIZE] = native_plan_dynamic_quantize,
};

/* By the codes of maxima. */
static void plan_coded(native_planner *p, const native_item *item)
{
    const int form = item->kind == NATIVE_ITEM_CONV ? native_winograd_form(p, item) : -1;

    if (native_takes_bf16(p, item))
        native_plan_bf16_conv(p, item);
    else if (form >= 0)
        native_plan_winograd(p, item, form);
    else if (item->kind == NATIVE_ITEM_CONV)
        native_plan_pooled_conv(p, item);
    else if (item->kind == NATIVE_ITEM_CONV_GRAD_FILTER)
        native_plan_sparse_grad_filter(p, item);
    else
        native_plan_sparse_grad_input(p, item);
}

void native_plan_item(native_planner *p, int i)
{
    p->item = &p->ir->items[i];
    p->scratch = p->shared = 0;
    if (p->item->integer >= 0)
        native_plan_integer(p, p->item);
    else if (p->item->codes >= 0)
        plan_coded(p, p->item);
    else if (makers[p->item->kind])
        makers[p->item->kind](p, p->item);
}

static void plan_item(native_planner *p, int i)
{
    const int first_run = p->plan->n_runs;

    enter_item(p, i);
    native_plan_item(p, i);
    if (p->scratch + p->shared > 0 && p->status == TFR_OK)
        native_place_scratch(p, i, first_run);
    if (p->plan->segments)
        native_end_item_of_segment(p->plan, i, first_run);
}

int32_t native_make_plan(native_ir *ir, int64_t samples, bool segmented, int lanes,
                         native_plan *plan, uint64_t *constant_bytes, tfr_err *err)
{
    native_planner p = {0};
    int i;

    memset(plan, 0, sizeof *plan);
    p.ir = ir;
    p.isa = ir->device->isa;
    p.plan = plan;
    p.samples = plan->samples = samples;
    p.lanes = lanes;
    p.err = err;
    p.item = ir->items;
    p.refs = native_zeroed(((size_t)ir->n_values + 1) * sizeof *p.refs);
    if (!p.refs)
        return tfr_fail(err, TFR_ENOMEM, "no memory for the values of a program");
    if (segmented)
        native_find_segments(&p);
    for (i = 0; i < ir->n_items; i++) {
        native_item *item = &ir->items[i];
        enter_item(&p, i);
        item->is_big = is_product(item) && native_is_big_product(&p, item);
        item->has_few_rows = is_product(item) && !item->is_big && native_has_few_rows(&p, item);
    }
    native_align_known(&p);
    if (p.status == TFR_OK)
        plan_memory(&p);
    for (i = 0; i < ir->n_items && p.status == TFR_OK; i++)
        plan_item(&p, i);
    native_fill_packed(&p);
    free(p.blocks);
    free(p.refs);
    *constant_bytes += p.constant_bytes;
    if (p.status != TFR_OK)
        native_drop_plan(ir->device, plan);
    return p.status;
}

void native_drop_plan(tfr_plugin_device *device, native_plan *plan)
{
    int i;

    for (i = 0; i < plan->n_constants; i++)
        native_leave_constant(device, plan->constants[i]);
    for (i = 0; i < plan->n_blocks; i++)
        free(plan->blocks[i]);
    free(plan->constants);
    free(plan->blocks);
    free(plan->runs);
    native_end_stages(plan);
    memset(plan, 0, sizeof *plan);
}
