/* SPDX-License-Identifier: Apache-2.0 */
/* plan_norm.c: launches of group_norm.cu and norm.cu. */
#include "plan_kit.h"

#include <string.h>

enum {
    PART = 2048,     /* elements of a group that are worth a block of their own */
    MOST_PARTS = 32, /* which each block joins */
    WARP_LANE = 1024 /* elements that one warp normalizes */
};

/* Parts for each of so many groups of n elements: all multiprocessors have two blocks. */
static int32_t count_parts(const cuda_chip *chip, int64_t groups, int64_t n)
{
    const int64_t wanted = groups ? 2 * (int64_t)chip->multiprocessors / groups : 1;
    int64_t parts = n / PART < MOST_PARTS ? n / PART : MOST_PARTS;

    parts = parts < wanted ? parts : wanted;
    return parts < 1 ? 1 : (int32_t)parts;
}

CUDA_FAMILY(cuda_group_norm)
{
    static cuda_names whole = {CUDA_FLOATS("group_norm_")};
    static cuda_names part = {CUDA_FLOATS("group_norm_part_")};
    static cuda_names apply = {CUDA_FLOATS("group_norm_apply_")};
    const tfr_operand *x = tfr_call_input(call, 0);
    const int64_t plane = tfr_operand_span(x, 2, x->rank), channels = x->dims[1];
    const bool is_instance = call->name[0] == 'I';
    const int64_t of_sample = is_instance ? channels : tfr_call_int(call, "num_groups", 1);
    const char *kernel = cuda_pick_input(whole, call, answer);
    const int64_t n = of_sample ? channels / of_sample * plane : 0;
    tfr_groups g;
    cuda_step *step;
    uint64_t blocks;
    uint32_t i;

    if (!kernel || !cuda_same_types(call, answer) || tfr_operand_elements(x) == 0)
        return;
    g = (tfr_groups){.groups = (int32_t)(x->dims[0] * of_sample),
                     .of_sample = (int32_t)of_sample,
                     .channels = (int32_t)(channels / of_sample),
                     .n = (int32_t)n,
                     .epsilon = tfr_call_float(call, "epsilon", 1e-5f),
                     .plane = cuda_divisor(plane)};
    g.parts = count_parts(chip, g.groups, n);
    g.part = (int32_t)((n + g.parts - 1) / g.parts);
    blocks = cuda_blocks(chip, (int64_t)g.groups * g.parts, 1);
    if (g.parts > 1) {
        answer->workspace_bytes = (uint64_t)g.groups * (uint64_t)g.parts * 2 * sizeof(float);
        step = cuda_plan_add(plan, part[x->dtype], blocks, 256);
        cuda_step_operand(plan, step, 0);
        cuda_step_workspace(plan, step, 0);
        cuda_step_bytes(plan, step, &g, sizeof g);
    }
    step = cuda_plan_add(plan, g.parts > 1 ? apply[x->dtype] : kernel, blocks, n > 128 ? 256 : 64);
    for (i = 0; i < 3; i++)
        cuda_step_operand(plan, step, i);
    if (g.parts > 1)
        cuda_step_workspace(plan, step, 0);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, &g, sizeof g);
}

CUDA_FAMILY(cuda_lp_normalization)
{
    static cuda_names threads = {CUDA_FLOATS("lp_normalization_thread_")};
    static cuda_names warps = {CUDA_FLOATS("lp_normalization_warp_")};
    static cuda_names whole = {CUDA_FLOATS("lp_normalization_")};
    const tfr_operand *x = tfr_call_input(call, 0);
    const tfr_lanes l = cuda_lanes(x, tfr_call_int(call, "axis", x->rank - 1));
    const int64_t lanes = (int64_t)l.outer * l.inner;
    const bool by_thread = l.inner >= 32, by_warp = !by_thread && l.n <= WARP_LANE;
    const char *kernel = cuda_pick_input(by_thread ? threads
                                         : by_warp ? warps
                                                   : whole,
                                         call, answer);
    cuda_step *step;

    if (!kernel)
        return;
    cuda_may_share(answer, 0, 0);
    if (l.n == 0 || lanes == 0)
        return;
    step = cuda_plan_add(plan, kernel,
                         cuda_blocks(chip, lanes,
                                     by_thread ? 256
                                     : by_warp ? 8
                                               : 1),
                         256);
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, &l, sizeof l);
    cuda_step_int(plan, step, (int32_t)tfr_call_int(call, "p", 2));
}

CUDA_FAMILY(cuda_lrn)
{
    static cuda_names names = {CUDA_FLOATS("lrn_")};
    const tfr_operand *x = tfr_call_input(call, 0);
    const char *kernel = cuda_pick_input(names, call, answer);
    const int64_t n = tfr_operand_elements(x), size = tfr_call_int(call, "size", 1);
    const int64_t most = INT32_MAX / 2;
    tfr_lrn r;
    cuda_step *step;

    if (!kernel || n == 0)
        return;
    r = (tfr_lrn){.n = (int32_t)n,
                  .before = (int32_t)((size < most ? size - 1 : most) / 2),
                  .after = (int32_t)((size < most ? size : most) / 2),
                  .scale = tfr_call_float(call, "alpha", 1e-4f) / (float)size,
                  .beta = tfr_call_float(call, "beta", 0.75f),
                  .bias = tfr_call_float(call, "bias", 1),
                  .plane = cuda_divisor(tfr_operand_span(x, 2, x->rank)),
                  .channels = cuda_divisor(x->dims[1])};
    step = cuda_plan_add(plan, kernel, cuda_blocks(chip, n, 256), 256);
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, &r, sizeof r);
}

/* The sets are along the axes; an axis that x does not have does not count, as in naive. */
CUDA_FAMILY(cuda_mean_variance)
{
    static cuda_names names = {CUDA_FLOATS("mean_variance_")};
    const tfr_operand *x = tfr_call_input(call, 0);
    const char *kernel = cuda_pick_input(names, call, answer);
    int64_t dims[2][TFR_MAX_RANK], strides[2][1][TFR_MAX_RANK], all[TFR_MAX_RANK];
    int32_t rank[2] = {0, 0}, d;
    uint64_t n_axes, i;
    const int64_t *given = cuda_ints(call, "axes", &n_axes);
    uint32_t axes = 0;
    tfr_reducing r;
    cuda_step *step;

    if (!kernel || tfr_operand_elements(x) == 0)
        return;
    for (i = 0; i < n_axes; i++)
        axes |= given[i] >= 0 && given[i] < x->rank ? (uint32_t)1 << given[i] : 0;
    cuda_dims_to_strides(x->rank, x->dims, all);
    for (d = 0; d < x->rank; d++) {
        const int reduced = (int)(axes >> d & 1);
        dims[reduced][rank[reduced]] = x->dims[d];
        strides[reduced][0][rank[reduced]++] = all[d];
    }
    memset(&r, 0, sizeof r);
    if (!cuda_walk(rank[0], dims[0], 1, (const int64_t(*)[TFR_MAX_RANK])strides[0], NULL, &r.kept,
                   answer) ||
        !cuda_walk(rank[1], dims[1], 1, (const int64_t(*)[TFR_MAX_RANK])strides[1], NULL,
                   &r.reduced, answer))
        return;
    r.scale = 1 / (float)r.reduced.n;
    step =
        cuda_plan_add(plan, kernel, cuda_blocks(chip, r.kept.n, 1), r.reduced.n > 128 ? 256 : 64);
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, &r, sizeof r);
}
