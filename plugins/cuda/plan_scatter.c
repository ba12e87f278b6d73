/* SPDX-License-Identifier: Apache-2.0 */
/* plan_scatter.c: launches of scatter.cu, one_hot.cu and reverse_sequence.cu. */
#include "plan_kit.h"

#include <string.h>

enum {
    FEW_UPDATES = 64 /* of a lane, for which a block would look longer than a thread */
};

static int32_t read_op(const tfr_call *call)
{
    static const char *const names[] = {"none", "add", "mul", "min", "max"};
    const char *given = tfr_call_string(call, "reduction", "none");
    int32_t op = TFR_SCATTER_MAX;

    while (op > 0 && strcmp(given, names[op]) != 0)
        op--;
    return op;
}

/* The kernel for the elements, or NULL and a no. */
static const char *pick_kernel(const tfr_call *call, int32_t op, bool by_lane, tfr_answer *answer)
{
    static const char *const replacing[2][4] = {
        {"scatter_8", "scatter_16", "scatter_32", "scatter_64"},
        {"scatter_lanes_8", "scatter_lanes_16", "scatter_lanes_32", "scatter_lanes_64"}};
    static cuda_names ranges = {CUDA_FLOATS("scatter_"), CUDA_BYTES("scatter_"),
                                CUDA_WIDE("scatter_"), [TFR_DTYPE_F64] = "scatter_f64"};
    static cuda_names lanes = {CUDA_FLOATS("scatter_lanes_"), CUDA_BYTES("scatter_lanes_"),
                               CUDA_WIDE("scatter_lanes_"), [TFR_DTYPE_F64] = "scatter_lanes_f64"};
    const int size = cuda_movable(call, answer);

    if (size < 0)
        return NULL;
    return op == TFR_SCATTER_NONE
               ? replacing[by_lane][size]
               : cuda_pick(by_lane ? lanes : ranges, tfr_call_input(call, 0), 0, answer);
}

/* How many rows a block has: as few as make blocks enough for the chip. */
static uint64_t cut_rows(const cuda_chip *chip, tfr_scattering *s)
{
    const int64_t wanted = 4 * (int64_t)chip->multiprocessors;
    int64_t ranges;

    s->columns = 1;
    while (s->columns < 256 && s->columns < s->inner)
        s->columns *= 2;
    s->tiles = (s->inner + s->columns - 1) / s->columns;
    ranges = wanted / ((int64_t)s->tiles * s->lanes.n) + 1;
    ranges = ranges < s->rows ? ranges : s->rows;
    s->rows_each = (int32_t)((s->rows + ranges - 1) / ranges);
    s->ranges = (s->rows + s->rows_each - 1) / s->rows_each;
    return (uint64_t)s->lanes.n * (uint64_t)s->ranges * (uint64_t)s->tiles;
}

/* A copy of the data, and the updates into it. */
static void plan_scattering(const cuda_chip *chip, const tfr_call *call, tfr_scattering *s,
                            bool by_lane, tfr_answer *answer, cuda_plan *plan)
{
    const tfr_operand *index = tfr_call_input(call, 1);
    const char *kernel = pick_kernel(call, s->op, by_lane, answer);
    uint64_t blocks;
    cuda_step *step;

    if (!kernel)
        return;
    s->is_wide = index->dtype == TFR_DTYPE_I64;
    cuda_may_share(answer, 0, 0);
    cuda_copy_all(chip, call, plan);
    if (s->n == 0 || s->rows == 0 || s->inner == 0 || s->lanes.n == 0)
        return;
    blocks = by_lane ? (uint64_t)s->lanes.n : cut_rows(chip, s);
    step = cuda_plan_add(plan, kernel, cuda_blocks(chip, (int64_t)blocks, by_lane ? 256 : 1), 256);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_operand(plan, step, s->is_wide ? (uint32_t)CUDA_NO_OPERAND : 1);
    cuda_step_operand(plan, step, s->is_wide ? 1 : (uint32_t)CUDA_NO_OPERAND);
    cuda_step_operand(plan, step, 2);
    cuda_step_found(plan, step);
    cuda_step_bytes(plan, step, s, sizeof *s);
    if (plan) {
        plan->mistake = (cuda_mistake){.kind = CUDA_MISTAKE_INDEX,
                                       .what = "scatter",
                                       .is_wide = s->is_wide != 0,
                                       .n_dims = s->depth};
        for (int32_t d = 0; d < s->depth; d++)
            plan->mistake.dims[d] = s->dims[d];
    }
}

/* Lanes are all that the indices have along axis. */
CUDA_FAMILY(cuda_scatter_elements)
{
    const tfr_operand *x = tfr_call_input(call, 0), *updates = tfr_call_input(call, 2);
    const int32_t axis = (int32_t)tfr_call_int(call, "axis", 0);
    int64_t all[2][TFR_MAX_RANK], strides[2][TFR_MAX_RANK], dims[TFR_MAX_RANK];
    int32_t rank = 0;
    tfr_scattering s;

    memset(&s, 0, sizeof s);
    cuda_dims_to_strides(x->rank, x->dims, all[0]);
    cuda_dims_to_strides(x->rank, updates->dims, all[1]);
    for (int32_t d = 0; d < x->rank; d++) {
        if (d == axis)
            continue;
        if (updates->dims[d] > x->dims[d]) {
            tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "updates of more than the data in dim %d",
                        d);
            return;
        }
        dims[rank] = updates->dims[d];
        strides[0][rank] = all[0][d];
        strides[1][rank++] = all[1][d];
    }
    s.op = read_op(call);
    s.depth = s.inner = 1;
    s.n = (int32_t)updates->dims[axis];
    s.rows = s.dims[0] = (int32_t)x->dims[axis];
    s.row_stride = (int32_t)all[0][axis];
    s.update_stride = s.index_stride = (int32_t)all[1][axis];
    if (cuda_walk(rank, dims, 2, (const int64_t(*)[TFR_MAX_RANK])strides, NULL, &s.lanes, answer))
        plan_scattering(chip, call, &s,
                        s.n <= FEW_UPDATES ||
                            cuda_sums_by_thread(chip, s.lanes.n, s.n <= 1024 ? s.n : 1024),
                        answer, plan);
}

CUDA_FAMILY(cuda_scatter_nd)
{
    const tfr_operand *x = tfr_call_input(call, 0), *index = tfr_call_input(call, 1);
    const int64_t depth = index->dims[index->rank - 1];
    tfr_scattering s;

    if (depth > TFR_WALK_DIMS) {
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "tuples of more than %d indices", TFR_WALK_DIMS);
        return;
    }
    memset(&s, 0, sizeof s);
    s.op = read_op(call);
    s.depth = s.index_stride = (int32_t)depth;
    s.n = (int32_t)tfr_operand_span(index, 0, index->rank - 1);
    s.rows = (int32_t)tfr_operand_span(x, 0, s.depth);
    s.inner = s.row_stride = s.update_stride = (int32_t)tfr_operand_span(x, s.depth, x->rank);
    for (int32_t d = 0; d < s.depth; d++)
        s.dims[d] = (int32_t)x->dims[d];
    (void)cuda_walk(0, x->dims, 2, (const int64_t(*)[TFR_MAX_RANK])(int64_t[2][TFR_MAX_RANK]){{0}},
                    NULL, &s.lanes, answer);
    plan_scattering(chip, call, &s, false, answer, plan);
}

/* Indices of other types become int64 first, without their fractions. */
static void plan_index(const cuda_chip *chip, const tfr_call *call, const char *cast, int64_t n,
                       cuda_plan *plan)
{
    cuda_step *step = cuda_plan_add(plan, cast, cuda_blocks(chip, n, 256), 256);

    cuda_step_operand(plan, step, 0);
    for (int k = 0; k < 4; k++)
        cuda_step_workspace(plan, step, 0);
    cuda_step_int(plan, step, (int32_t)n);
    cuda_step_int(plan, step, TFR_DTYPE_I64);
    (void)call;
}

CUDA_FAMILY(cuda_one_hot)
{
    static const char *const kernels[] = {"one_hot_8", "one_hot_16", "one_hot_32", "one_hot_64"};
    static cuda_names casts = {CUDA_FLOATS("cast_"), CUDA_BYTES("cast_"),
                               CUDA_WIDE("cast_"), [TFR_DTYPE_F64] = "cast_f64"};
    const tfr_operand *index = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const char *cast = cuda_pick_input(casts, call, answer);
    const int size = cast ? cuda_size_index(y, answer) : -1;
    const int64_t given = tfr_call_int(call, "axis", -1), n = tfr_operand_elements(index);
    const int32_t axis = (int32_t)(given < 0 ? given + y->rank : given);
    const bool is_cast = index->dtype != TFR_DTYPE_I64;
    tfr_one_hot h = {.n = (int32_t)tfr_operand_elements(y)};
    cuda_step *step;

    if (size < 0 || h.n == 0)
        return;
    if (is_cast) {
        answer->workspace_bytes = (uint64_t)n * sizeof(int64_t);
        plan_index(chip, call, cast, n, plan);
    }
    h.depth = cuda_divisor(y->dims[axis]);
    h.inner = cuda_divisor(tfr_operand_span(y, axis + 1, y->rank));
    step = cuda_plan_add(plan, kernels[size], cuda_blocks(chip, h.n, 256), 256);
    if (is_cast)
        cuda_step_workspace(plan, step, 0);
    else
        cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, 2);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, &h, sizeof h);
}

CUDA_FAMILY(cuda_reverse_sequence)
{
    static const char *const kernels[] = {"reverse_sequence_8", "reverse_sequence_16",
                                          "reverse_sequence_32", "reverse_sequence_64"};
    const tfr_operand *x = tfr_call_input(call, 0);
    const int32_t time = (int32_t)tfr_call_int(call, "time_axis", 0);
    const int32_t batch = (int32_t)tfr_call_int(call, "batch_axis", 1);
    const int size = cuda_movable(call, answer);
    const tfr_reversing r = {.n = (int32_t)tfr_operand_elements(x),
                             .time_stride = cuda_divisor(tfr_operand_span(x, time + 1, x->rank)),
                             .times = cuda_divisor(x->dims[time]),
                             .batch_stride = cuda_divisor(tfr_operand_span(x, batch + 1, x->rank)),
                             .samples = cuda_divisor(x->dims[batch])};
    cuda_step *step;

    if (size < 0 || r.n == 0)
        return;
    step = cuda_plan_add(plan, kernels[size], cuda_blocks(chip, r.n, 256), 256);
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, 1);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_found(plan, step);
    cuda_step_bytes(plan, step, &r, sizeof r);
    if (plan)
        plan->mistake = (cuda_mistake){
            .kind = CUDA_MISTAKE_LENGTH, .is_wide = true, .n_dims = 1, .dims = {x->dims[time]}};
}
