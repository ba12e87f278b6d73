/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_rows_grad.c: the gradients of softmax and of layer normalization, row by row.
 */
#include "program.h"

#include <string.h>

/* ---- rows ---- */

typedef struct rows {
    const native_isa *isa;
    native_ref dy, x, scale, to, sums;
    bool is_norm, rms;
    int shards;
    int64_t n, n_rows; /* elements of a row; rows */
    float epsilon, factor;
} rows;

static rows *new_rows(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[1]];
    rows *r = native_keep(p, sizeof *r);

    if (!r)
        return NULL;
    r->isa = p->isa;
    r->dy = native_ref_of(p, item->inputs[0]);
    r->x = native_ref_of(p, item->inputs[1]);
    r->to = native_ref_of(p, item->output);
    r->is_norm = item->kind != NATIVE_ITEM_SOFTMAX_GRAD;
    if (r->is_norm)
        r->scale = native_ref_of(p, item->inputs[2]);
    r->rms = item->rms;
    r->epsilon = item->epsilon;
    r->factor = item->alpha;
    r->n = x->dims[x->rank - 1];
    r->n_rows = native_count(p, x) / r->n;
    return r;
}

static void run_rows(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const rows *r = params;
    const float *dy = native_at(bases, &r->dy), *x = native_at(bases, &r->x);
    float *to = native_at(bases, &r->to);
    int64_t i;

    for (i = begin; i < end; i++) {
        const native_norm_row row = {.dy = dy + i * r->n,
                                     .x = x + i * r->n,
                                     .scale = r->is_norm ? native_at(bases, &r->scale) : NULL,
                                     .to = to + i * r->n,
                                     .epsilon = r->epsilon,
                                     .rms = r->rms,
                                     .n = r->n};
        if (r->is_norm)
            r->isa->layer_norm_grad(&row);
        else
            r->isa->softmax_grad(row.dy, row.x, r->factor, row.to, r->n);
    }
}

void native_plan_rows_grad(native_planner *p, const native_item *item)
{
    rows *r = new_rows(p, item);

    if (r)
        native_add_run(p, run_rows, r, r->n_rows, (double)(r->n_rows * r->n) * 0.5);
}

/* In the order of rows, so all of them by one thread. */
static void run_sums(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const rows *r = params;
    int64_t i;

    (void)begin, (void)end;
    for (i = 0; i < r->n_rows; i++) {
        const native_norm_row row = {.dy = native_at(bases, &r->dy) + i * r->n,
                                     .x = native_at(bases, &r->x) + i * r->n,
                                     .sums = native_at(bases, &r->sums),
                                     .epsilon = r->epsilon,
                                     .rms = r->rms,
                                     .n = r->n};
        r->isa->layer_norm_grad(&row);
    }
}

static void finish_sums(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const rows *r = params;
    float *to = native_at(bases, &r->to);
    int i;

    memcpy(to + begin, native_shard_at(bases, &r->sums, 0) + begin,
           (size_t)(end - begin) * sizeof *to);
    for (i = 1; i < r->shards; i++)
        r->isa->binary(NATIVE_ADD, to + begin, 1, native_shard_at(bases, &r->sums, i) + begin, 1,
                       to + begin, end - begin);
}

void native_plan_layer_norm_sums(native_planner *p, const native_item *item)
{
    rows *r = new_rows(p, item);

    if (!r)
        return;
    r->shards = native_shards(p);
    r->sums = native_sums(p, (uint64_t)r->n * sizeof(float));
    native_add_run(p, run_sums, r, 1, (double)(r->n_rows * r->n) * 0.3)->alone = true;
    native_in_order(p, native_finish(p, finish_sums, r, r->n, (double)(r->n * r->shards) * 0.2), 1,
                    1);
}
