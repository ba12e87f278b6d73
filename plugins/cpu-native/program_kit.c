/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_kit.c: what the makers of steps ask of the planner: memory, steps, where values lie and
 * how large they are for the samples of this plan.
 */
#include "program.h"

#include <stdlib.h>
#include <string.h>

const char *const native_item_names[] = {
    [NATIVE_ITEM_COPY] = "copy",
    [NATIVE_ITEM_REORDER] = "reorder",
    [NATIVE_ITEM_PAD] = "pad",
    [NATIVE_ITEM_CONV] = "conv",
    [NATIVE_ITEM_DEPTHWISE] = "depthwise conv",
    [NATIVE_ITEM_POOL] = "pool",
    [NATIVE_ITEM_RESIZE] = "resize",
    [NATIVE_ITEM_MEAN] = "mean",
    [NATIVE_ITEM_ACT] = "activation",
    [NATIVE_ITEM_BINARY] = "binary",
    [NATIVE_ITEM_PRODUCT] = "product",
    [NATIVE_ITEM_BATCHED_PRODUCT] = "batched product",
    [NATIVE_ITEM_MIX] = "mix",
    [NATIVE_ITEM_SOFTMAX] = "softmax",
    [NATIVE_ITEM_COLUMN_SOFTMAX] = "softmax",
    [NATIVE_ITEM_LAYER_NORM] = "layer norm",
    [NATIVE_ITEM_TRANSPOSE] = "transpose",
    [NATIVE_ITEM_CONCAT] = "concat",
    [NATIVE_ITEM_GATHER] = "gather",
    [NATIVE_ITEM_CAST] = "cast",
    [NATIVE_ITEM_ATTENTION] = "attention",
    [NATIVE_ITEM_COMPARE] = "compare",
    [NATIVE_ITEM_SELECT] = "select",
    [NATIVE_ITEM_LOG_SOFTMAX] = "log softmax",
    [NATIVE_ITEM_LOSS] = "loss",
    [NATIVE_ITEM_LOSS_GRAD] = "loss gradient",
    [NATIVE_ITEM_SUM] = "sum",
    [NATIVE_ITEM_INDICES] = "pool indices",
    [NATIVE_ITEM_SCATTER] = "pool gradient",
    [NATIVE_ITEM_POOL_GRAD] = "pool gradient",
    [NATIVE_ITEM_CONV_GRAD_INPUT] = "conv gradient",
    [NATIVE_ITEM_CONV_GRAD_FILTER] = "conv weights gradient",
    [NATIVE_ITEM_PRODUCT_GRAD] = "product weights gradient",
    [NATIVE_ITEM_CHAIN] = "chain",
    [NATIVE_ITEM_STRIDED] = "move",
    [NATIVE_ITEM_PADDED] = "padding",
    [NATIVE_ITEM_SOFTMAX_GRAD] = "softmax gradient",
    [NATIVE_ITEM_LAYER_NORM_GRAD] = "layer norm gradient",
    [NATIVE_ITEM_LAYER_NORM_SUMS] = "layer norm scale gradient",
    [NATIVE_ITEM_REDUCE] = "reduction",
    [NATIVE_ITEM_FOLD] = "reduction",
    [NATIVE_ITEM_ARG] = "arg",
    [NATIVE_ITEM_RANGE] = "range",
    [NATIVE_ITEM_TOP_K] = "top k",
    [NATIVE_ITEM_GROUP_NORM] = "group normalization",
    [NATIVE_ITEM_ELEMENTWISE] = "elementwise",
    [NATIVE_ITEM_MOMENTS] = "batch moments",
    [NATIVE_ITEM_BATCH_NORM] = "batch norm",
    [NATIVE_ITEM_BATCH_NORM_SUMS] = "batch norm sums",
    [NATIVE_ITEM_BLOCKS] = "dequantize blocks",
    [NATIVE_ITEM_BATCH_NORM_GRAD] = "batch norm gradient",
    [NATIVE_ITEM_QUANTIZE] = "quantize",
    [NATIVE_ITEM_DEQUANTIZE] = "dequantize",
    [NATIVE_ITEM_DYNAMIC_QUANTIZE] = "quantize dynamic",
};

enum { FIRST = 8 /* blocks, and steps, that there is room for at first */ };

/* The C library has small blocks at hand for malloc, but not for calloc. */
void *native_zeroed(size_t bytes)
{
    void *block = bytes > 1024 ? calloc(1, bytes) : malloc(bytes);

    return block && bytes <= 1024 ? memset(block, 0, bytes) : block;
}

static void *new_block(native_planner *p, size_t bytes)
{
    native_plan *plan = p->plan;
    const size_t n = (size_t)plan->n_blocks;
    void **more = plan->blocks, *block;

    if ((n & (n - 1)) == 0 && (n == 0 || n >= FIRST))
        more = realloc(plan->blocks, (n ? 2 * n : FIRST) * sizeof *more);
    if (more)
        plan->blocks = more;
    block = more ? native_zeroed(bytes) : NULL;
    if (block)
        plan->blocks[plan->n_blocks++] = block;
    else
        p->status = tfr_fail(p->err, TFR_ENOMEM, "no memory for %zu bytes of a program", bytes);
    return block;
}

/*
 * What is small lies in blocks that are shared: each length of a cache has a program of its own.
 * Not where AddressSanitizer looks for what reaches beyond its end.
 */
#ifdef __SANITIZE_ADDRESS__
enum { SMALL = 0, SHARED = 16 };
#else
enum { SMALL = 512, SHARED = 1024 };
#endif

void *native_keep(native_planner *p, size_t bytes)
{
    native_plan *plan = p->plan;
    char *at;

    if (p->status != TFR_OK)
        return NULL;
    if (bytes > SMALL)
        return new_block(p, bytes);
    bytes = bytes ? (bytes + 15) & ~(size_t)15 : 16;
    if (plan->left < bytes) {
        plan->room = new_block(p, SHARED);
        plan->left = plan->room ? SHARED : 0;
    }
    if (!plan->room)
        return NULL;
    at = plan->room;
    plan->room += bytes;
    plan->left -= bytes;
    return at;
}

int64_t native_first_dim(const native_planner *p, const native_value *v)
{
    if (v->rank == 0)
        return 1;
    return v->batched ? v->dims[0] / p->ir->samples * p->samples : v->dims[0];
}

int64_t native_count(const native_planner *p, const native_value *v)
{
    int64_t n = native_elements(v);
    return v->batched ? n / p->ir->samples * p->samples : n;
}

native_ref native_ref_of(const native_planner *p, int value)
{
    const native_ref none = {0};
    return value < 0 || p->status != TFR_OK ? none : p->refs[value];
}

native_run *native_add_run(native_planner *p,
                           void (*run)(const void *, const native_bases *, int64_t, int64_t),
                           const void *params, int64_t n, double cost)
{
    static native_run nowhere; /* for writes after a failure; never read */
    native_plan *plan = p->plan;
    native_run *more;

    if (p->status != TFR_OK)
        return &nowhere;
    more = plan->runs;
    if (plan->n_runs == 0 || (plan->n_runs >= FIRST && (plan->n_runs & (plan->n_runs - 1)) == 0))
        more =
            realloc(plan->runs, (plan->n_runs ? 2 * (size_t)plan->n_runs : FIRST) * sizeof *more);
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
    more->name = native_item_names[p->item->kind];
    more->alone = cost < 1500.0 || n < 2;
    more->scratch = more->scratch_bytes = more->shared = 0;
    more->stage = p->stage;
    more->wave = p->wave;
    more->made = -1;
    more->elements = more->numbers = 0;
    more->together = 1;
    if (p->staging && p->stage % 2 == 0)
        p->wave++;
    return more;
}

void native_need_scratch(native_planner *p, uint64_t bytes)
{
    if (p->scratch < native_aligned(bytes))
        p->scratch = native_aligned(bytes);
}

void native_need_shared(native_planner *p, uint64_t bytes)
{
    if (p->shared < native_aligned(bytes))
        p->shared = native_aligned(bytes);
}

/* Of a thread, where parts pay: smaller images cost less to fetch than what their edges cost. */
enum { LEAST_PIXELS = 384 };

int native_parts(const native_planner *p, int64_t pixels)
{
    const int threads = p->ir->device->threads;

    return p->lanes > 1 && threads > 1 && pixels >= (int64_t)LEAST_PIXELS * threads ? threads : 1;
}

/* ---- stages ---- */

native_ref native_derived(native_planner *p, uint64_t bytes)
{
    const native_ref ref = {NULL, (int64_t)p->staging->derived,
                            p->plan->stages->n_args + NATIVE_BASE_DERIVED};

    p->staging->derived += native_aligned(bytes);
    return ref;
}

void native_derive(native_planner *p, int of,
                   void (*run)(const void *, const native_bases *, int64_t, int64_t),
                   const void *params, int64_t n, double cost)
{
    const native_staging *s = p->staging;
    const int stage = p->item->by_samples ? p->item->stage - 1 : p->item->stage;
    const int root = p->ir->values[of].root;
    native_run *added = native_add_run(p, run, params, n, cost);

    if (p->stage % 2 == 0)
        p->wave--;
    added->name = "form of weights";
    added->stage = stage;
    added->wave = s->ready[root] == stage ? s->wave[root] + 1 : 0;
    if (stage == p->stage && p->wave <= added->wave)
        p->wave = added->wave + 1;
}

typedef struct zeros {
    native_ref to;
    uint64_t bytes;
} zeros;

static void run_zeros(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const zeros *z = params;

    (void)begin, (void)end;
    memset(native_at(bases, &z->to), 0, (size_t)z->bytes);
}

int native_shards(const native_planner *p)
{
    return p->item->reduces ? p->staging->shards : 1;
}

native_ref native_sums(native_planner *p, uint64_t bytes)
{
    native_staging *s = p->staging;
    native_ref ref = {NULL, 0, p->plan->stages->n_args + NATIVE_BASE_SUMS};
    zeros *z;

    if (p->item->reduces) {
        ref.offset = (int64_t)s->sums[p->item->stage];
        s->sums[p->item->stage] += native_aligned(bytes);
        return ref;
    }
    ref = native_derived(p, bytes);
    z = native_keep(p, sizeof *z);
    if (!z)
        return ref;
    *z = (zeros){ref, bytes};
    native_add_run(p, run_zeros, z, 1, (double)bytes / 20.0)->alone = true;
    return ref;
}

native_run *native_finish(native_planner *p,
                          void (*run)(const void *, const native_bases *, int64_t, int64_t),
                          const void *params, int64_t n, double cost)
{
    native_run *added = native_add_run(p, run, params, n, cost);

    added->name = "sum of shards";
    if (p->item->reduces) {
        added->stage = p->item->stage + 1;
        added->wave = 0;
    }
    return added;
}
