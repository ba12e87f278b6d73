/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_kit.c: what the makers of steps ask of the planner: memory, steps, where values lie and
 * how large they are for the samples of this plan.
 */
#include "program.h"

#include <stdlib.h>

const char *const tfr_dnn_item_names[] = {
    [TFR_DNN_ITEM_COPY] = "copy",
    [TFR_DNN_ITEM_REORDER] = "reorder",
    [TFR_DNN_ITEM_PAD] = "pad",
    [TFR_DNN_ITEM_CONV] = "conv",
    [TFR_DNN_ITEM_DEPTHWISE] = "depthwise conv",
    [TFR_DNN_ITEM_POOL] = "pool",
    [TFR_DNN_ITEM_MEAN] = "mean",
    [TFR_DNN_ITEM_ACT] = "activation",
    [TFR_DNN_ITEM_BINARY] = "binary",
    [TFR_DNN_ITEM_PRODUCT] = "product",
    [TFR_DNN_ITEM_BATCHED_PRODUCT] = "batched product",
    [TFR_DNN_ITEM_SOFTMAX] = "softmax",
    [TFR_DNN_ITEM_LAYER_NORM] = "layer norm",
    [TFR_DNN_ITEM_TRANSPOSE] = "transpose",
    [TFR_DNN_ITEM_CONCAT] = "concat",
    [TFR_DNN_ITEM_GATHER] = "gather",
    [TFR_DNN_ITEM_CAST] = "cast",
    [TFR_DNN_ITEM_ATTENTION] = "attention",
};

void *tfr_dnn_keep(tfr_dnn_planner *p, size_t bytes)
{
    tfr_dnn_plan *plan = p->plan;
    void **more, *block;

    if (p->status != TFR_OK)
        return NULL;
    more = realloc(plan->blocks, ((size_t)plan->n_blocks + 1) * sizeof *more);
    if (more)
        plan->blocks = more;
    block = more ? calloc(1, bytes ? bytes : 1) : NULL;
    if (!block) {
        p->status = tfr_fail(p->err, TFR_ENOMEM, "no memory for %zu bytes of a program", bytes);
        return NULL;
    }
    plan->blocks[plan->n_blocks++] = block;
    return block;
}

int64_t tfr_dnn_first_dim(const tfr_dnn_planner *p, const tfr_dnn_value *v)
{
    if (v->rank == 0)
        return 1;
    return v->batched ? v->dims[0] / p->ir->samples * p->samples : v->dims[0];
}

int64_t tfr_dnn_count(const tfr_dnn_planner *p, const tfr_dnn_value *v)
{
    int64_t n = tfr_dnn_elements(v);
    return v->batched ? n / p->ir->samples * p->samples : n;
}

tfr_dnn_ref tfr_dnn_ref_of(const tfr_dnn_planner *p, int value)
{
    const tfr_dnn_ref none = {0};
    return value < 0 || p->status != TFR_OK ? none : p->refs[value];
}

tfr_dnn_run *tfr_dnn_add_run(tfr_dnn_planner *p,
                             void (*run)(const void *, const tfr_dnn_bases *, int64_t, int64_t),
                             const void *params, int64_t n, double cost)
{
    static tfr_dnn_run nowhere; /* for writes after a failure; never read */
    tfr_dnn_plan *plan = p->plan;
    tfr_dnn_run *more;

    if (p->status != TFR_OK)
        return &nowhere;
    more = realloc(plan->runs, ((size_t)plan->n_runs + 1) * sizeof *more);
    if (!more) {
        p->status = tfr_fail(p->err, TFR_ENOMEM, "no memory for a step of a program");
        return &nowhere;
    }
    plan->runs = more;
    more = &plan->runs[plan->n_runs++];
    more->run = run;
    more->params = params;
    more->n = n;
    more->cost = cost;
    more->flops = more->bytes = 0.0;
    more->node = p->item->node;
    more->name = tfr_dnn_item_names[p->item->kind];
    more->alone = cost < 1500.0 || n < 2;
    more->scratch = more->scratch_bytes = more->shared = 0;
    return more;
}

void tfr_dnn_need_scratch(tfr_dnn_planner *p, uint64_t bytes)
{
    if (p->scratch < tfr_dnn_aligned(bytes))
        p->scratch = tfr_dnn_aligned(bytes);
}

void tfr_dnn_need_shared(tfr_dnn_planner *p, uint64_t bytes)
{
    if (p->shared < tfr_dnn_aligned(bytes))
        p->shared = tfr_dnn_aligned(bytes);
}

/* Of a thread, where parts pay: smaller images cost less to fetch than what their edges cost. */
enum { LEAST_PIXELS = 384 };

int tfr_dnn_parts(const tfr_dnn_planner *p, int64_t pixels)
{
    const int threads = p->ir->device->threads;

    return p->lanes > 1 && threads > 1 && pixels >= (int64_t)LEAST_PIXELS * threads ? threads : 1;
}
