/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduction.c: ReduceSum, ReduceMean, ReduceProd and the norms made of a sum, and
 * GlobalAveragePool, which is a mean.
 *
 * oneDNN's fast code reduces the last dimension of two. So the axes are gathered at the end, by a
 * transposing copy if they are not there, and merged. Not claimed: ReduceMax and ReduceMin, which
 * lose a NaN, and ReduceLogSumExp.
 */
#include <string.h>

#include "families.h"

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

/* Kept dims first, then the reduced ones, each with its stride in x. */
typedef struct gathered {
    int rank;
    int64_t dims[TFR_MAX_RANK], strides[TFR_MAX_RANK];
    int64_t kept, reduced; /* elements */
    bool moved;            /* a transposing copy is needed */
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

static void gather(const tfr_operand *x, const bool *gone, gathered *g)
{
    int64_t strides[TFR_MAX_RANK], n = 1;
    int i, pass;

    for (i = x->rank - 1; i >= 0; i--) {
        strides[i] = n;
        n *= x->dims[i];
    }
    g->rank = 0;
    g->kept = g->reduced = 1;
    for (pass = 0; pass < 2; pass++) {
        int first = g->rank;
        for (i = 0; i < x->rank; i++) {
            if (gone[i] != (pass == 1) || x->dims[i] == 1)
                continue;
            if (pass == 1)
                g->reduced *= x->dims[i];
            else
                g->kept *= x->dims[i];
            if (g->rank > first && g->strides[g->rank - 1] == strides[i] * x->dims[i]) {
                g->dims[g->rank - 1] *= x->dims[i];
                g->strides[g->rank - 1] = strides[i];
                continue;
            }
            g->dims[g->rank] = x->dims[i];
            g->strides[g->rank++] = strides[i];
        }
    }
    g->moved = false;
    for (i = 0, n = 1; i < g->rank; i++) {
        g->moved = g->moved || g->strides[g->rank - 1 - i] != n;
        n *= g->dims[g->rank - 1 - i];
    }
}

void tfr_dnn_reduction_supports(const tfr_plugin_device *device, const tfr_call *call,
                                tfr_answer *answer)
{
    bool gone[TFR_MAX_RANK];
    gathered g;

    if (!tfr_dnn_want_float(device, call, answer, 2, false))
        return;
    read_axes(call, gone);
    gather(tfr_call_input(call, 0), gone, &g);
    if (g.reduced == 1)
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "there is 1 element to reduce, 2 are needed");
}

void tfr_dnn_reduction_prepare(tfr_dnn_build *b, const tfr_call *call)
{
    const struct op *op = find_reduction(call);
    bool gone[TFR_MAX_RANK];
    gathered g;
    int64_t rows[2], row[2];
    tfr_dnn_cmd rows_md;
    int x, y;

    read_axes(call, gone);
    gather(tfr_call_input(call, 0), gone, &g);
    row[0] = rows[0] = g.kept;
    rows[1] = g.reduced;
    row[1] = 1;
    rows_md = tfr_dnn_plain(b, dnnl_f32, 2, rows);
    if (g.moved) {
        int t = tfr_dnn_temporary(b, tfr_dnn_plain(b, dnnl_f32, g.rank, g.dims));
        int from = tfr_dnn_input(b, 0, tfr_dnn_strided(b, dnnl_f32, g.rank, g.dims, g.strides));
        tfr_dnn_add_reorder(b, from, t);
        x = tfr_dnn_view(b, t, rows_md);
        if (op->before != dnnl_alg_kind_undef)
            tfr_dnn_add_eltwise(b, op->before, 0.0f, 0.0f, x, x);
    } else {
        x = tfr_dnn_input(b, 0, rows_md);
        if (op->before != dnnl_alg_kind_undef) {
            int t = tfr_dnn_temporary(b, rows_md);
            tfr_dnn_add_eltwise(b, op->before, 0.0f, 0.0f, x, t);
            x = t;
        }
    }
    y = tfr_dnn_output(b, 0, tfr_dnn_plain(b, dnnl_f32, 2, row));
    tfr_dnn_add_reduction(b, op->alg, x, y);
    if (op->after != dnnl_alg_kind_undef)
        tfr_dnn_add_eltwise(b, op->after, 0.0f, 0.0f, y, y);
}
