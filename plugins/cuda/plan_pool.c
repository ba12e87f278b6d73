/* SPDX-License-Identifier: Apache-2.0 */
/* plan_pool.c: launches of pool.cu, and of reduce.cu for global pools. */
#include "plan_kit.h"

#include <string.h>

/* Kernels of MaxPool and AveragePool, for plain images and for others. */
static cuda_names pools[2][2] = {
    {{CUDA_FLOATS("average_pool_")}, {CUDA_FLOATS("average_pool_last_")}},
    {{CUDA_FLOATS("max_pool_"), CUDA_BYTES("max_pool_")},
     {CUDA_FLOATS("max_pool_last_"), CUDA_BYTES("max_pool_last_")}},
};
static cuda_names cell_grads = {CUDA_FLOATS("max_pool_grad_cells_")};
static cuda_names pool_grads[2][2] = {
    {{CUDA_FLOATS("average_pool_grad_")}, {CUDA_FLOATS("average_pool_grad_last_")}},
    {{CUDA_FLOATS("max_pool_grad_")}, {CUDA_FLOATS("max_pool_grad_last_")}},
};

/* How many strides cover an axis of x and the padding in front of it. */
static int32_t cells_of(const tfr_window *w, int32_t d)
{
    return (w->x[d] + w->pad[d] + w->stride[d] - 1) / w->stride[d];
}

/* The last parameters of a kernel of pool.cu. */
static void step_window(cuda_plan *plan, cuda_step *step, const tfr_window *w)
{
    tfr_window_divisors by = {.channels = cuda_divisor(w->channels),
                              .cells = cuda_divisor(cells_of(w, 1))};

    for (int32_t d = 0; d < 2; d++) {
        by.x[d] = cuda_divisor(w->x[d]);
        by.y[d] = cuda_divisor(w->y[d]);
        by.stride[d] = cuda_divisor(w->stride[d]);
    }
    cuda_step_bytes(plan, step, w, sizeof *w);
    cuda_step_bytes(plan, step, &by, sizeof by);
}

CUDA_FAMILY(cuda_pool)
{
    const bool is_max = call->name[0] == 'M';
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const char *kernel = cuda_pick_input(pools[is_max][plan && plan->last], call, answer);
    const int64_t n = tfr_operand_elements(y);
    cuda_step *step;
    tfr_window w;

    if (!kernel || !cuda_fill_window(call, x, y, NULL, &w, answer))
        return;
    w.include_pad = tfr_call_int(call, "count_include_pad", 0) != 0;
    w.columns = tfr_call_int(call, "storage_order", 0) != 0;
    w.channels = (int32_t)x->dims[1];
    w.x_last = cuda_is_last(plan, 0);
    w.y_last = cuda_is_last(plan, call->n_inputs);
    w.indices_last = cuda_is_last(plan, call->n_inputs + 1);
    step = n ? cuda_plan_add(plan, kernel, cuda_blocks(chip, n, 256), 256) : NULL;
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, call->n_inputs);
    if (is_max)
        cuda_step_operand(plan, step,
                          tfr_call_output(call, 1) ? call->n_inputs + 1 : CUDA_NO_OPERAND);
    step_window(plan, step, &w);
}

static void plan_lp_pool(const cuda_chip *chip, const tfr_call *call, const char *kernel,
                         tfr_window *w, cuda_plan *plan)
{
    const int64_t n = tfr_operand_elements(tfr_call_output(call, 0));
    cuda_step *step;

    w->power = (int32_t)tfr_call_int(call, "p", 2);
    step = n ? cuda_plan_add(plan, kernel, cuda_blocks(chip, n, 256), 256) : NULL;
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, call->n_inputs);
    step_window(plan, step, w);
}

static cuda_names lp_pools = {CUDA_FLOATS("lp_pool_")};

CUDA_FAMILY(cuda_lp_pool)
{
    const char *kernel = cuda_pick_input(lp_pools, call, answer);
    tfr_window w;

    if (kernel &&
        cuda_fill_window(call, tfr_call_input(call, 0), tfr_call_output(call, 0), NULL, &w, answer))
        plan_lp_pool(chip, call, kernel, &w, plan);
}

/* Of a block with so many elements: many where there are few blocks. */
static uint32_t grad_threads(const cuda_chip *chip, int64_t blocks, int64_t each)
{
    uint32_t threads = 256;

    while (threads < 512 && blocks * threads < (int64_t)chip->multiprocessors * 2048 &&
           each > 2 * (int64_t)threads)
        threads *= 2;
    return threads;
}

/* Whether no element of x is under two windows, and each window begins in a cell. */
static bool is_apart(const tfr_window *w)
{
    for (int32_t d = 0; d < 2; d++)
        if (w->kernel[d] > w->stride[d] || w->dilation[d] > 1 || w->pad[d] < 0 ||
            w->pad[d] >= w->kernel[d] || w->y[d] > cells_of(w, d))
            return false;
    return true;
}

/* MaxPoolGrad of windows that are apart: a thread for each cell of a plane. */
static void plan_cells(const cuda_chip *chip, const tfr_call *call, const tfr_window *w,
                       tfr_answer *answer, cuda_plan *plan)
{
    const char *kernel = cuda_pick_input(cell_grads, call, answer);
    const int64_t cells = (int64_t)cells_of(w, 0) * cells_of(w, 1);
    cuda_step *step = cuda_plan_add(plan, kernel, cuda_blocks(chip, w->planes, 1),
                                    cells < 512 ? (uint32_t)(cells + 31) / 32 * 32 : 512);

    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, 1);
    cuda_step_operand(plan, step, call->n_inputs);
    step_window(plan, step, w);
    cuda_step_int(plan, step, (int32_t)cells);
}

CUDA_FAMILY(cuda_pool_grad)
{
    const bool is_max = call->name[0] == 'M', has_last = plan && plan->last;
    const tfr_operand *dy = tfr_call_input(call, 0), *dx = tfr_call_output(call, 0);
    const char *kernel = cuda_pick_input(pool_grads[is_max][has_last], call, answer);
    const int64_t n = tfr_operand_elements(dx);
    int64_t blocks;
    cuda_step *step;
    tfr_window w;

    if (!kernel || !cuda_fill_window(call, dx, dy, NULL, &w, answer))
        return;
    w.include_pad = tfr_call_int(call, "count_include_pad", 0) != 0;
    w.channels = (int32_t)dx->dims[1];
    w.x_last = cuda_is_last(plan, call->n_inputs);
    w.y_last = cuda_is_last(plan, 0);
    w.indices_last = is_max && cuda_is_last(plan, 1);
    if (n && is_max && !has_last && is_apart(&w)) {
        plan_cells(chip, call, &w, answer, plan);
        return;
    }
    blocks = is_max && has_last ? dx->dims[0] * ((w.channels + 7) / 8) : w.planes;
    if (n && is_max)
        step = cuda_plan_add(plan, kernel, cuda_blocks(chip, blocks, 1),
                             grad_threads(chip, blocks, n / blocks));
    else
        step = n ? cuda_plan_add(plan, kernel, cuda_blocks(chip, n, 256), 256) : NULL;
    cuda_step_operand(plan, step, 0);
    if (is_max)
        cuda_step_operand(plan, step, 1);
    cuda_step_operand(plan, step, call->n_inputs);
    step_window(plan, step, &w);
}

/*
 * A global average is a mean over all axes but two: one window of the whole plane. With the
 * channels last neighbours are of other windows, so that a thread has one, unless these are large.
 */
CUDA_FAMILY(cuda_global_pool)
{
    static cuda_names by_block = {CUDA_FLOATS("reduce_")};
    static cuda_names by_thread = {CUDA_FLOATS("reduce_thread_")};
    const tfr_operand *x = tfr_call_input(call, 0);
    const int64_t planes = tfr_operand_span(x, 0, 2), plane = tfr_operand_span(x, 2, x->rank);
    const bool is_last = cuda_is_last(plan, 0),
               is_by_thread = is_last && cuda_sums_by_thread(chip, planes, plane);
    const char *kernel = cuda_pick_input(is_by_thread ? by_thread : by_block, call, answer);
    const int64_t channels = x->rank > 1 ? x->dims[1] : 1;
    const int64_t strides[2][1][TFR_MAX_RANK] = {{{plane * channels, 1}}, {{channels}}};
    const int64_t plain[2][1][TFR_MAX_RANK] = {{{plane * channels, plane}}, {{1}}};
    const int64_t counts[2][2] = {{x->dims[0], channels}, {plane}};
    const bool is_lp = strcmp(call->name, "GlobalLpPool") == 0;
    const int64_t power = is_lp ? tfr_call_int(call, "p", 2) : 0;
    cuda_step *step;
    tfr_reducing r;

    if (!kernel)
        return;
    if (plane == 0) {
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "planes of 0 elements");
        return;
    }
    if (is_lp && power != 1 && power != 2) {
        tfr_window w = {.planes = (int32_t)planes,
                        .x = {1, (int32_t)plane},
                        .y = {1, 1},
                        .kernel = {1, (int32_t)plane},
                        .stride = {1, 1},
                        .dilation = {1, 1}};
        plan_lp_pool(chip, call, lp_pools[x->dtype], &w, plan);
        return;
    }
    cuda_walk(2, counts[0], 1, is_last ? strides[0] : plain[0], NULL, &r.kept, answer);
    cuda_walk(1, counts[1], 1, is_last ? strides[1] : plain[1], NULL, &r.reduced, answer);
    r.op = is_lp ? (power == 1 ? TFR_FN_ReduceL1 : TFR_FN_ReduceL2)
           : strcmp(call->name, "GlobalMaxPool") == 0 ? TFR_FN_ReduceMax
                                                      : TFR_FN_ReduceMean;
    r.scale = 1 / (float)plane;
    step = planes
               ? cuda_plan_add(plan, kernel, cuda_blocks(chip, planes, is_by_thread ? 256 : 1), 256)
               : NULL;
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, &r, sizeof r);
}
