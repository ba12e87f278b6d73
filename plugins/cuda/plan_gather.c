/* SPDX-License-Identifier: Apache-2.0 */
/* plan_gather.c: launches of gather.cu, and what they say of an index outside of its axis. */
#include "plan_kit.h"

#include <string.h>

#define BY_INDEX(prefix)                                                                           \
    {                                                                                              \
        {prefix "8_i32", prefix "8_i64"}, {prefix "16_i32", prefix "16_i64"},                      \
            {prefix "32_i32", prefix "32_i64"}, {prefix "64_i32", prefix "64_i64"},                \
    }

/* Dims that indices have been told to keep to, n of them; plan may be NULL. */
static void expect_within(cuda_plan *plan, const tfr_operand *index, const int64_t *dims, int32_t n)
{
    if (!plan)
        return;
    plan->mistake = (cuda_mistake){.kind = CUDA_MISTAKE_INDEX,
                                   .what = "gather",
                                   .is_wide = index->dtype == TFR_DTYPE_I64,
                                   .n_dims = n};
    memcpy(plan->mistake.dims, dims, (size_t)n * sizeof *dims);
}

/* A kernel of x, the index, y, where it tells, and how. */
static void plan_picking(const cuda_chip *chip, const tfr_call *call, const char *kernel,
                         const void *how, uint32_t bytes, cuda_plan *plan)
{
    const int64_t n = tfr_operand_elements(tfr_call_output(call, 0));
    cuda_step *step = n ? cuda_plan_add(plan, kernel, cuda_blocks(chip, n, 256), 256) : NULL;

    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, 1);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_found(plan, step);
    cuda_step_bytes(plan, step, how, bytes);
}

CUDA_FAMILY(cuda_gather)
{
    static const char *const kernels[4][2] = BY_INDEX("gather_");
    const tfr_operand *x = tfr_call_input(call, 0), *index = tfr_call_input(call, 1);
    const int size = cuda_movable(call, answer);
    const int32_t axis = (int32_t)tfr_call_int(call, "axis", 0);
    tfr_gathering g;

    if (size < 0)
        return;
    g = (tfr_gathering){.outer = (int32_t)tfr_operand_span(x, 0, axis),
                        .dim = (int32_t)x->dims[axis],
                        .n_index = (int32_t)tfr_operand_elements(index),
                        .inner = (int32_t)tfr_operand_span(x, axis + 1, x->rank)};
    g.inner_d = cuda_divisor(g.inner);
    g.index_d = cuda_divisor(g.n_index);
    plan_picking(chip, call, kernels[size][index->dtype == TFR_DTYPE_I64], &g, sizeof g, plan);
    expect_within(plan, index, &x->dims[axis], 1);
}

CUDA_FAMILY(cuda_gather_elements)
{
    static const char *const kernels[4][2] = BY_INDEX("gather_elements_");
    const tfr_operand *x = tfr_call_input(call, 0), *index = tfr_call_input(call, 1);
    const int size = cuda_movable(call, answer);
    const int32_t axis = (int32_t)tfr_call_int(call, "axis", 0);
    int64_t strides[1][TFR_MAX_RANK];
    tfr_picking p;

    if (size < 0)
        return;
    for (int32_t d = 0; d < x->rank; d++)
        if (d != axis && index->dims[d] > x->dims[d]) {
            tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "indices of more than the data in dim %d",
                        d);
            return;
        }
    memset(&p, 0, sizeof p);
    cuda_dims_to_strides(x->rank, x->dims, strides[0]);
    p.dim = (int32_t)x->dims[axis];
    p.stride = (int32_t)strides[0][axis];
    strides[0][axis] = 0;
    if (!cuda_walk(x->rank, index->dims, 1, (const int64_t(*)[TFR_MAX_RANK])strides, NULL, &p.walk,
                   answer))
        return;
    plan_picking(chip, call, kernels[size][index->dtype == TFR_DTYPE_I64], &p, sizeof p, plan);
    expect_within(plan, index, &x->dims[axis], 1);
}

CUDA_FAMILY(cuda_gather_nd)
{
    static const char *const kernels[] = {"gather_nd_8", "gather_nd_16", "gather_nd_32",
                                          "gather_nd_64"};
    const tfr_operand *x = tfr_call_input(call, 0), *index = tfr_call_input(call, 1);
    const int size = cuda_movable(call, answer);
    const int32_t b = (int32_t)tfr_call_int(call, "batch_dims", 0);
    const int64_t depth = index->dims[index->rank - 1];
    tfr_tuples t;

    if (size < 0)
        return;
    if (depth > TFR_WALK_DIMS) {
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "tuples of more than %d indices", TFR_WALK_DIMS);
        return;
    }
    memset(&t, 0, sizeof t);
    t.n = (int32_t)tfr_operand_elements(tfr_call_output(call, 0));
    t.depth = (int32_t)depth;
    t.tuples = (int32_t)tfr_operand_span(index, b, index->rank - 1);
    t.batch_rows = (int32_t)tfr_operand_span(x, b, b + t.depth);
    t.inner = cuda_divisor(tfr_operand_span(x, b + t.depth, x->rank));
    t.tuples_d = cuda_divisor(t.tuples);
    for (int32_t d = 0; d < t.depth; d++)
        t.dims[d] = (int32_t)x->dims[b + d];
    plan_picking(chip, call, kernels[size], &t, sizeof t, plan);
    expect_within(plan, index, &x->dims[b], t.depth);
}
