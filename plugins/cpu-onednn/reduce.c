/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce.c: ReduceSum, ReduceMean, ReduceProd, the norms made of a sum, and GlobalAveragePool,
 * which is a mean.
 *
 * Neighbouring dims that are kept or reduced alike are merged. A sum over what is left, [outer, R,
 * inner], is a matrix product with a vector of ones (of 1/R for a mean), which oneDNN does several
 * times faster than its own reduction. Other orders are first gathered as [kept, R] by a
 * transposing copy; so is a product, whose fast code reduces the last dimension only. Not claimed:
 * ReduceMax and ReduceMin, which lose a NaN, and those with a log. Sums of what cannot cancel are
 * left to others where they are long: on processors with AVX2 oneDNN adds one term after the other
 * in float32, and 83521 squares were 3e-4 off.
 */
#include <string.h>

#include "families.h"

enum { MOST_TERMS = 4096 }; /* of a sum of squares or amounts: 1e-5 off */

static const struct op {
    const char *name;
    dnnl_alg_kind_t before, alg, after; /* eltwise, reduction, eltwise; undef = nothing */
} ops[] = {
    {"GlobalAveragePool", dnnl_alg_kind_undef, dnnl_reduction_mean, dnnl_alg_kind_undef},
    {"ReduceL1", dnnl_eltwise_abs, dnnl_reduction_sum, dnnl_alg_kind_undef},
    {"ReduceL2", dnnl_eltwise_square, dnnl_reduction_sum, dnnl_eltwise_sqrt},
    {"ReduceMean", dnnl_alg_kind_undef, dnnl_reduction_mean, dnnl_alg_kind_undef},
    {"ReduceProd", dnnl_alg_kind_undef, dnnl_reduction_mul, dnnl_alg_kind_undef},
    {"ReduceSum", dnnl_alg_kind_undef, dnnl_reduction_sum, dnnl_alg_kind_undef},
    {"ReduceSumSquare", dnnl_eltwise_square, dnnl_reduction_sum, dnnl_alg_kind_undef},
};

/* x as [outer, reduced, inner], in x itself or in a copy where the kept dims come first. */
typedef struct gathered {
    int64_t outer, reduced, inner;
    int rank;                                          /* of the copy; 0 = none is needed */
    int64_t dims[TFR_MAX_RANK], strides[TFR_MAX_RANK]; /* of x in the copy's order */
} gathered;

static const struct op *find_reduction(const tfr_call *call)
{
    size_t i;
    for (i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (strcmp(ops[i].name, call->name) == 0)
            return &ops[i];
    }
    return NULL;
}

static bool is_global_pool(const tfr_call *call)
{
    return call->name[0] == 'G';
}

/* Which axes go. */
static void read_axes(const tfr_call *call, bool gone[TFR_MAX_RANK])
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const tfr_attr *axes = tfr_call_attr(call, "axes");
    uint64_t i;

    memset(gone, 0, TFR_MAX_RANK * sizeof gone[0]);
    for (i = 2; is_global_pool(call) && i < (uint64_t)x->rank; i++)
        gone[i] = true;
    for (i = 0; axes && i < axes->n; i++)
        gone[axes->ints[i]] = true;
}

/* Appends the dims whose axes are kept (or go), neighbours merged. */
static void collect(const tfr_operand *x, const bool *gone, bool which, gathered *g)
{
    int64_t stride = tfr_operand_elements(x);
    int first = g->rank, i;

    for (i = 0; i < x->rank; i++) {
        stride /= x->dims[i];
        if (gone[i] != which || x->dims[i] == 1)
            continue;
        if (g->rank > first && g->strides[g->rank - 1] == stride * x->dims[i]) {
            g->dims[g->rank - 1] *= x->dims[i];
            g->strides[g->rank - 1] = stride;
        } else {
            g->dims[g->rank] = x->dims[i];
            g->strides[g->rank++] = stride;
        }
    }
}

static void gather(const tfr_operand *x, const bool *gone, bool inner_ok, gathered *g)
{
    int kept;

    g->rank = 0;
    collect(x, gone, false, g);
    kept = g->rank;
    collect(x, gone, true, g);
    g->outer = g->reduced = g->inner = 1;
    if (g->rank - kept == 1 && kept <= 2) {
        int64_t below = g->strides[kept]; /* elements of x behind one step of the reduced dim */
        g->reduced = g->dims[kept];
        g->inner = below;
        g->outer = tfr_operand_elements(x) / (below * g->reduced);
    } else if (g->rank == kept) {
        g->outer = tfr_operand_elements(x);
    } else {
        int i;
        for (i = 0; i < g->rank; i++)
            *(i < kept ? &g->outer : &g->reduced) *= g->dims[i];
        return;
    }
    if (g->inner == 1 || inner_ok) {
        g->rank = 0;
    } else {
        g->outer *= g->inner;
        g->inner = 1;
    }
}

static bool is_product(const struct op *op)
{
    return op->alg == dnnl_reduction_mul;
}

void onednn_reduce_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer)
{
    const struct op *op = find_reduction(call);
    bool gone[TFR_MAX_RANK];
    gathered g;

    if (!onednn_want_float(device, call, answer, 2, true))
        return;
    read_axes(call, gone);
    gather(tfr_call_input(call, 0), gone, !is_product(op), &g);
    if (is_product(op) && g.reduced == 1)
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "there is 1 element to reduce, 2 are needed");
    if (op->before != dnnl_alg_kind_undef && g.reduced > MOST_TERMS)
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT,
                    "%lld squares or amounts are added up in float32, %d at most are done",
                    (long long)g.reduced, MOST_TERMS);
}

/* The sum of [outer, reduced, inner] as a product with a constant vector. */
static void add_sum(onednn_build *b, const gathered *g, int x, float factor, int y)
{
    const int64_t left[3] = {1, 1, g->reduced}, right[2] = {g->reduced, 1};
    onednn_cmd md =
        g->inner == 1 ? onednn_plain(b, dnnl_f32, 2, right) : onednn_plain(b, dnnl_f32, 3, left);
    void *data;
    int ones = onednn_constant(b, md, &data);
    int64_t i;

    for (i = 0; data && i < g->reduced; i++)
        ((float *)data)[i] = factor;
    if (g->inner == 1)
        onednn_add_matmul(b, x, ones, y);
    else
        onednn_add_matmul(b, ones, x, y);
}

/* x as the primitives want it, with the function before the sum applied. */
static int add_gathering(onednn_build *b, const struct op *op, const gathered *g, onednn_cmd view)
{
    int x, t;

    if (g->rank > 0) {
        t = onednn_temporary(b, onednn_plain(b, dnnl_f32, g->rank, g->dims));
        x = onednn_input(b, 0, onednn_strided(b, dnnl_f32, g->rank, g->dims, g->strides));
        onednn_add_reorder(b, x, t);
        x = t = onednn_view(b, t, view);
    } else {
        x = onednn_input(b, 0, view);
        t = op->before == dnnl_alg_kind_undef ? x : onednn_temporary(b, view);
    }
    if (op->before != dnnl_alg_kind_undef)
        onednn_add_eltwise(b, op->before, 0.0f, 0.0f, x, t);
    return t;
}

void onednn_reduce_prepare(onednn_build *b, const tfr_call *call)
{
    const struct op *op = find_reduction(call);
    bool gone[TFR_MAX_RANK];
    gathered g;
    int64_t from[3], to[3];
    int rank, x, y;

    read_axes(call, gone);
    gather(tfr_call_input(call, 0), gone, !is_product(op), &g);
    rank = g.inner == 1 ? 2 : 3;
    from[0] = to[0] = g.outer;
    from[1] = g.reduced;
    to[1] = 1;
    from[2] = to[2] = g.inner;
    x = add_gathering(b, op, &g, onednn_plain(b, dnnl_f32, rank, from));
    y = onednn_output(b, 0, onednn_plain(b, dnnl_f32, rank, to));
    if (is_product(op))
        onednn_add_reduction(b, op->alg, x, y);
    else
        add_sum(b, &g, x, op->alg == dnnl_reduction_mean ? 1.0f / (float)g.reduced : 1.0f, y);
    if (op->after != dnnl_alg_kind_undef)
        onednn_add_eltwise(b, op->after, 0.0f, 0.0f, y, y);
}
