/* SPDX-License-Identifier: Apache-2.0 */
/* plan_scan.c: launches of cum_sum.cu, top_k.cu and range.cu: what counts, adds up and sorts. */
#include "plan_kit.h"

#include <string.h>

enum {
    SHORT_LANE = 32,   /* elements that one thread adds up */
    LONG_LANE = 4096,  /* from so many on several blocks do */
    CHUNK = 1024,      /* what their chunks are a multiple of */
    MOST_CHUNKS = 1024 /* of a lane, which each block adds up */
};

#define CUMULATE(prefix)                                                                           \
    {                                                                                              \
        CUDA_FLOATS(prefix), CUDA_WIDE(prefix), [TFR_DTYPE_F64] = prefix "f64"                     \
    }

/* Chunks of a lane, where there are too few lanes for the chip. */
static void cut_lane(const cuda_chip *chip, tfr_cumulating *c)
{
    int64_t wanted = 4 * (int64_t)chip->multiprocessors / c->lanes;

    wanted = wanted > MOST_CHUNKS ? MOST_CHUNKS : wanted < 1 ? 1 : wanted;
    if (c->n < LONG_LANE)
        wanted = 1;
    c->chunk = (int32_t)(((c->n + wanted - 1) / wanted + CHUNK - 1) / CHUNK * CHUNK);
    c->chunks = (c->n + c->chunk - 1) / c->chunk;
}

CUDA_FAMILY(cuda_cumulate)
{
    static cuda_names names[2][3] = {
        {CUMULATE("cum_sum_lanes_"), CUMULATE("cum_sum_totals_"), CUMULATE("cum_sum_")},
        {CUMULATE("cum_prod_lanes_"), CUMULATE("cum_prod_totals_"), CUMULATE("cum_prod_")}};
    const tfr_operand *x = tfr_call_input(call, 0);
    const int is_product = strcmp(call->name, "CumProd") == 0;
    const tfr_lanes l = cuda_lanes(x, tfr_call_int(call, "axis", 0));
    tfr_cumulating c = {.lanes = l.outer * l.inner,
                        .n = l.n,
                        .exclusive = tfr_call_int(call, "exclusive", 0) != 0,
                        .reverse = tfr_call_int(call, "reverse", 0) != 0,
                        .inner = cuda_divisor(l.inner)};
    bool by_lane;
    cuda_step *step;

    if (!cuda_pick_input(names[0][0], call, answer) || c.lanes == 0 || c.n == 0)
        return;
    by_lane = c.n <= SHORT_LANE || cuda_sums_by_thread(chip, c.lanes, c.n);
    if (!by_lane)
        cut_lane(chip, &c);
    if (c.chunks > 1) {
        answer->workspace_bytes = (uint64_t)c.lanes * (uint64_t)c.chunks * 8;
        step = cuda_plan_add(plan, names[is_product][1][x->dtype],
                             cuda_blocks(chip, (int64_t)c.lanes * c.chunks, 1), 256);
        cuda_step_operand(plan, step, 0);
        cuda_step_workspace(plan, step, 0);
        cuda_step_bytes(plan, step, &c, sizeof c);
    }
    step = cuda_plan_add(plan, names[is_product][by_lane ? 0 : 2][x->dtype],
                         by_lane ? cuda_blocks(chip, c.lanes, 256)
                                 : cuda_blocks(chip, (int64_t)c.lanes * c.chunks, 1),
                         256);
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, call->n_inputs);
    if (c.chunks > 1)
        cuda_step_workspace(plan, step, 0);
    else if (!by_lane)
        cuda_step_operand(plan, step, CUDA_NO_OPERAND);
    cuda_step_bytes(plan, step, &c, sizeof c);
}

CUDA_FAMILY(cuda_top_k)
{
    static cuda_names names = {CUDA_FLOATS("top_k_"), CUDA_BYTES("top_k_"),
                               CUDA_WIDE("top_k_"), [TFR_DTYPE_F64] = "top_k_f64"};
    const tfr_operand *x = tfr_call_input(call, 0);
    const tfr_operand *values = tfr_call_output(call, 0), *indices = tfr_call_output(call, 1);
    const char *kernel = cuda_pick_input(names, call, answer);
    const int64_t given = tfr_call_int(call, "axis", -1);
    const int32_t axis = (int32_t)(given < 0 ? given + x->rank : given);
    const tfr_lanes l = cuda_lanes(x, axis);
    const int64_t k = (values ? values : indices)->dims[axis];
    tfr_top p = {.rows = l.outer * l.inner,
                 .n = l.n,
                 .k = (int32_t)k,
                 .sorted = 1,
                 .largest = tfr_call_int(call, "largest", 1) != 0,
                 .inner = cuda_divisor(l.inner)};
    cuda_step *step;

    if (!kernel)
        return;
    if (k > TFR_TOP_K || k > l.n) {
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "the first %lld of %d elements, at most %d",
                    (long long)k, l.n, TFR_TOP_K);
        return;
    }
    if (p.rows == 0 || k == 0)
        return;
    while (p.sorted < p.k)
        p.sorted *= 2;
    step = cuda_plan_add(plan, kernel, cuda_blocks(chip, p.rows, 1), 256);
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, values ? call->n_inputs : (uint32_t)CUDA_NO_OPERAND);
    cuda_step_operand(plan, step, indices ? call->n_inputs + 1 : (uint32_t)CUDA_NO_OPERAND);
    cuda_step_bytes(plan, step, &p, sizeof p);
}

CUDA_FAMILY(cuda_range)
{
    static cuda_names names = {CUDA_FLOATS("range_"),
                               CUDA_WIDE("range_"), [TFR_DTYPE_F64] = "range_f64"};
    const char *kernel = cuda_pick_input(names, call, answer);
    const int64_t n = tfr_operand_elements(tfr_call_output(call, 0));
    cuda_step *step;

    if (!kernel)
        return;
    step = n ? cuda_plan_add(plan, kernel, cuda_blocks(chip, n, 256), 256) : NULL;
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, 2);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_int(plan, step, (int32_t)n);
}

/* The bits of 1; 0: not of a type that is moved. */
static int64_t one_of(int32_t dtype)
{
    switch (dtype) {
    case TFR_DTYPE_F32:
        return 0x3f800000;
    case TFR_DTYPE_F64:
        return 0x3ff0000000000000;
    case TFR_DTYPE_F16:
        return 0x3c00;
    case TFR_DTYPE_BF16:
        return 0x3f80;
    default:
        return 1;
    }
}

CUDA_FAMILY(cuda_eye_like)
{
    static const char *const kernels[] = {"eye_like_8", "eye_like_16", "eye_like_32",
                                          "eye_like_64"};
    const tfr_operand *y = tfr_call_output(call, 0);
    const int size = cuda_call_fits(call, answer) ? cuda_size_index(y, answer) : -1;
    const int64_t k = tfr_call_int(call, "k", 0), n = tfr_operand_elements(y);
    const int64_t rows = y->dims[0], columns = y->dims[1];
    const tfr_divisor d = cuda_divisor(columns);
    cuda_step *step;

    if (size < 0)
        return;
    step = n ? cuda_plan_add(plan, kernels[size], cuda_blocks(chip, n, 256), 256) : NULL;
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_long(plan, step, one_of(y->dtype));
    cuda_step_int(plan, step, (int32_t)n);
    cuda_step_bytes(plan, step, &d, sizeof d);
    cuda_step_int(plan, step, (int32_t)(k < -rows ? -rows : k > columns ? columns : k));
}
