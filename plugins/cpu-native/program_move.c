/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_move.c: the steps that move elements of any type: rows by indices (gather.c), numbers to
 * another type (isa_cast.h).
 */
#include "cast.h"
#include "program.h"

typedef struct gather {
    native_gather gather;
    native_ref from, indices, to;
    int64_t unit_indices; /* of one unit of samples; 0 = they are the same for all */
    int step;
} gather;

/* Of the earliest step, the first index. */
static void note_fault(const gather *g, const native_bases *bases, const native_bad_index *bad)
{
    native_fault *fault = bases->fault;
    const int64_t position = bad->position + bases->unit * g->unit_indices;

    pthread_mutex_lock(&fault->lock);
    if (!fault->there || g->step < fault->step ||
        (g->step == fault->step && position < fault->bad.position)) {
        fault->there = true;
        fault->label = false;
        fault->step = g->step;
        fault->bad = *bad;
        fault->bad.position = position;
    }
    pthread_mutex_unlock(&fault->lock);
}

/* Numbers count rows of the output. */
static void run_gather(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const gather *g = params;
    native_bad_index bad;

    if (!native_gather_rows(&g->gather, native_at(bases, &g->from), native_at(bases, &g->indices),
                            native_at(bases, &g->to), begin, end, &bad))
        note_fault(g, bases, &bad);
}

/* The same with a last row for indices that are none of the others'. */
static void run_pick(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const gather *g = params;
    const size_t bytes = (size_t)g->gather.inner;
    const char *from = (const char *)native_at(bases, &g->from);
    const void *indices = native_at(bases, &g->indices);
    char *to = (char *)native_at(bases, &g->to);

    for (; begin < end; begin++) {
        const int64_t given =
            g->gather.wide ? ((const int64_t *)indices)[begin] : ((const int32_t *)indices)[begin];
        const int64_t last = g->gather.dim - 1, row = given < 0 || given > last ? last : given;
        memcpy(to + (size_t)begin * bytes, from + (size_t)row * bytes, bytes);
    }
}

void native_plan_gather(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]];
    const native_value *indices = &p->ir->values[item->inputs[1]];
    gather *g = native_keep(p, sizeof *g);
    int64_t outer = 1;
    int d;

    if (!g)
        return;
    g->from = native_ref_of(p, item->inputs[0]);
    g->indices = native_ref_of(p, item->inputs[1]);
    g->to = native_ref_of(p, item->output);
    g->gather.n_indices = native_count(p, indices);
    g->gather.wide = indices->dtype == TFR_DTYPE_I64;
    g->gather.dim = x->dims[item->axis];
    g->gather.inner = tfr_dtype_bits(x->dtype) / 8;
    for (d = 0; d < x->rank; d++) {
        if (d < item->axis)
            outer *= d == 0 ? native_first_dim(p, x) : x->dims[d];
        else if (d > item->axis)
            g->gather.inner *= x->dims[d];
    }
    g->step = p->plan->n_runs;
    g->unit_indices = indices->batched ? g->gather.n_indices : 0;
    native_add_run(p, item->zero_rows ? run_pick : run_gather, g, outer * g->gather.n_indices,
                   (double)(outer * g->gather.n_indices * g->gather.inner) * 0.05);
}

typedef struct cast {
    native_span_fn cast;
    native_ref from, to;
    int64_t from_bytes, to_bytes;
} cast;

static void run_cast(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const cast *c = params;

    c->cast(&(native_span){.in = {(const char *)native_at(bases, &c->from) + begin * c->from_bytes},
                           .step = {1},
                           .n_in = 1,
                           .to = (char *)native_at(bases, &c->to) + begin * c->to_bytes,
                           .n = end - begin});
}

void native_plan_cast(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    cast *c = native_keep(p, sizeof *c);

    if (!c)
        return;
    c->cast = native_find_cast(p->isa, x->dtype, y->dtype);
    c->from = native_ref_of(p, item->inputs[0]);
    c->to = native_ref_of(p, item->output);
    c->from_bytes = tfr_dtype_bits(x->dtype) / 8;
    c->to_bytes = tfr_dtype_bits(y->dtype) / 8;
    native_add_run(p, run_cast, c, native_count(p, x), (double)native_count(p, x) * 0.3);
}
