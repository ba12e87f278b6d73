/* SPDX-License-Identifier: Apache-2.0 */
/* plan_move.c: launches of transpose.cu: what moves elements and computes nothing. */
#include "plan_kit.h"

#include <string.h>

static const char *const copies[] = {"copy_8", "copy_16", "copy_32", "copy_64"};
static const char *const swaps[] = {"swap_8", "swap_16", "swap_32", "swap_64"};

/* Strides and offsets of the two sides of a copy. */
typedef struct move {
    int64_t strides[2][TFR_MAX_RANK];
    int64_t offsets[2];
} move;

/* A copy of dims from operand `from` to operand `to`. */
static void plan_copy(const cuda_chip *chip, int32_t rank, const int64_t *dims, const move *m,
                      int size, uint32_t from, uint32_t to, tfr_answer *answer, cuda_plan *plan)
{
    cuda_step *step;
    tfr_walk walk;

    if (!cuda_walk(rank, dims, 2, m->strides, m->offsets, &walk, answer) || walk.n == 0)
        return;
    step = cuda_plan_add(plan, copies[size], cuda_blocks(chip, walk.n, 1024), 256);
    cuda_step_operand(plan, step, from);
    cuda_step_operand(plan, step, to);
    cuda_step_bytes(plan, step, &walk, sizeof walk);
}

void cuda_copy_all(const cuda_chip *chip, const tfr_call *call, cuda_plan *plan)
{
    const int32_t bits = tfr_dtype_bits(tfr_call_input(call, 0)->dtype);
    const int64_t n = tfr_operand_elements(tfr_call_output(call, 0));
    const tfr_walk walk = {.n = (int32_t)n};
    cuda_step *step = n ? cuda_plan_add(plan,
                                        copies[bits == 8    ? 0
                                               : bits == 16 ? 1
                                               : bits == 32 ? 2
                                                            : 3],
                                        cuda_blocks(chip, n, 1024), 256)
                        : NULL;

    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, &walk, sizeof walk);
}

/* Reshape, Flatten, Identity and others that keep the order of the elements. */
CUDA_FAMILY(cuda_same)
{
    const tfr_operand *y = tfr_call_output(call, 0);
    const int size = cuda_movable(call, answer);
    move m = {{{0}}, {0, 0}};

    if (size < 0)
        return;
    cuda_dims_to_strides(y->rank, y->dims, m.strides[0]);
    cuda_dims_to_strides(y->rank, y->dims, m.strides[1]);
    cuda_may_share(answer, 0, 0);
    plan_copy(chip, y->rank, y->dims, &m, size, 0, call->n_inputs, answer, plan);
}

CUDA_FAMILY(cuda_expand)
{
    const tfr_operand *y = tfr_call_output(call, 0);
    const int size = cuda_movable(call, answer);
    move m = {{{0}}, {0, 0}};

    if (size < 0)
        return;
    cuda_broadcast(tfr_call_input(call, 0), y->rank, m.strides[0]);
    cuda_dims_to_strides(y->rank, y->dims, m.strides[1]);
    plan_copy(chip, y->rank, y->dims, &m, size, 0, call->n_inputs, answer, plan);
}

/* Each axis is one of the repeats and one of x behind it. */
CUDA_FAMILY(cuda_tile)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const int size = cuda_movable(call, answer);
    int64_t dims[2 * TFR_MAX_RANK], strides[2 * TFR_MAX_RANK], from[TFR_MAX_RANK];
    move m = {{{0}}, {0, 0}};
    int32_t rank = 0, d;

    if (size < 0 || tfr_operand_elements(y) == 0)
        return;
    cuda_dims_to_strides(x->rank, x->dims, from);
    for (d = 0; d < x->rank; d++) {
        if (y->dims[d] != x->dims[d]) {
            dims[rank] = y->dims[d] / x->dims[d];
            strides[rank++] = 0;
        }
        if (x->dims[d] != 1) {
            dims[rank] = x->dims[d];
            strides[rank++] = from[d];
        }
    }
    if (rank > TFR_MAX_RANK) {
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "%d dims and repeats of them", rank);
        return;
    }
    memcpy(m.strides[0], strides, (size_t)rank * sizeof strides[0]);
    cuda_dims_to_strides(rank, dims, m.strides[1]);
    plan_copy(chip, rank, dims, &m, size, 0, call->n_inputs, answer, plan);
}

/*
 * DepthToSpace and SpaceToDepth: a copy over what channels and places are made of, in the order of
 * the destination, so that it is written in rows.
 */
CUDA_FAMILY(cuda_depth)
{
    enum { N, C, H, I, W, J, PARTS };
    static const int orders[3][PARTS] = {
        {N, C, H, I, W, J}, {N, I, J, C, H, W}, {N, C, I, J, H, W}};
    const bool to_space = strcmp(call->name, "DepthToSpace") == 0;
    const bool is_crd = strcmp(tfr_call_string(call, "mode", "DCR"), "CRD") == 0;
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const int64_t *deep = to_space ? x->dims : y->dims, b = tfr_call_int(call, "blocksize", 1);
    const int64_t c = (to_space ? y->dims : x->dims)[1], h = deep[2], w = deep[3];
    const int64_t sizes[PARTS] = {deep[0], c, h, b, w, b};
    const int64_t in_wide[PARTS] = {c * h * b * w * b, h * b * w * b, b * w * b, w * b, b, 1};
    const int64_t in_deep[PARTS] = {c * b * b * h * w,
                                    is_crd ? b * b * h * w : h * w,
                                    w,
                                    is_crd ? b * h * w : b * c * h * w,
                                    1,
                                    is_crd ? h * w : c * h * w};
    const int *order = orders[to_space ? 0 : is_crd ? 2 : 1];
    const int size = cuda_movable(call, answer);
    int64_t dims[PARTS];
    move m = {{{0}}, {0, 0}};

    if (size < 0)
        return;
    for (int k = 0; k < PARTS; k++) {
        dims[k] = sizes[order[k]];
        m.strides[to_space ? 1 : 0][k] = in_wide[order[k]];
        m.strides[to_space ? 0 : 1][k] = in_deep[order[k]];
    }
    plan_copy(chip, PARTS, dims, &m, size, 0, call->n_inputs, answer, plan);
}

/* Whether perm swaps two neighbouring runs of axes behind `batch` others, in rows and columns. */
static bool swaps_two(const tfr_operand *x, const int64_t *perm, int64_t *batch, int64_t *rows,
                      int64_t *columns)
{
    int32_t same = 0, cut, d;

    while (same < x->rank && perm[same] == same)
        same++;
    cut = same < x->rank ? (int32_t)perm[same] : same;
    for (d = same; d < x->rank; d++)
        if (perm[d] != (d - same < x->rank - cut ? cut + d - same : d - (x->rank - cut)))
            return false;
    *batch = tfr_operand_span(x, 0, same);
    *rows = tfr_operand_span(x, same, cut);
    *columns = tfr_operand_span(x, cut, x->rank);
    return *rows >= 8 && *columns >= 8;
}

CUDA_FAMILY(cuda_transpose)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const int size = cuda_movable(call, answer);
    int64_t strides[TFR_MAX_RANK], batch, rows, columns, down, across;
    uint64_t n;
    const int64_t *perm = cuda_ints(call, "perm", &n);
    move m = {{{0}}, {0, 0}};
    cuda_step *step;
    int32_t d;

    if (size < 0)
        return;
    if (perm && swaps_two(x, perm, &batch, &rows, &columns)) {
        down = (rows + 31) / 32;
        across = (columns + 31) / 32;
        step =
            batch ? cuda_plan_add(plan, swaps[size], (uint64_t)(batch * down * across), 256) : NULL;
        cuda_step_operand(plan, step, 0);
        cuda_step_operand(plan, step, call->n_inputs);
        cuda_step_int(plan, step, (int32_t)rows);
        cuda_step_int(plan, step, (int32_t)columns);
        cuda_step_int(plan, step, (int32_t)down);
        cuda_step_int(plan, step, (int32_t)across);
        return;
    }
    cuda_dims_to_strides(x->rank, x->dims, strides);
    for (d = 0; d < x->rank; d++)
        m.strides[0][d] = strides[perm ? perm[d] : x->rank - 1 - d];
    cuda_dims_to_strides(y->rank, y->dims, m.strides[1]);
    plan_copy(chip, y->rank, y->dims, &m, size, 0, call->n_inputs, answer, plan);
}

/* Concat and Split: a copy for each part of the whole along axis; absent ones are left out. */
static void plan_parts(const cuda_chip *chip, const tfr_call *call, bool joins, tfr_answer *answer,
                       cuda_plan *plan)
{
    const tfr_operand *whole = joins ? tfr_call_output(call, 0) : tfr_call_input(call, 0);
    const int64_t axis = tfr_call_int(call, "axis", 0);
    const uint32_t n = joins ? call->n_inputs : call->n_outputs;
    uint64_t n_lengths;
    const int64_t *lengths = cuda_ints(call, "split", &n_lengths); /* Split's */
    const int size = cuda_movable(call, answer), whole_side = joins ? 1 : 0;
    move m = {{{0}}, {0, 0}};
    uint32_t i;

    if (size < 0)
        return;
    if (n > CUDA_PLAN_STEPS) {
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "%u parts are more than %d", n, CUDA_PLAN_STEPS);
        return;
    }
    cuda_dims_to_strides(whole->rank, whole->dims, m.strides[whole_side]);
    for (i = 0; i < n; i++) {
        const tfr_operand *part = joins ? tfr_call_input(call, i) : tfr_call_output(call, i);
        if (part) {
            cuda_dims_to_strides(part->rank, part->dims, m.strides[1 - whole_side]);
            plan_copy(chip, part->rank, part->dims, &m, size, joins ? i : 0,
                      joins ? call->n_inputs : call->n_inputs + i, answer, plan);
        }
        m.offsets[whole_side] +=
            (joins ? part->dims[axis] : lengths[i]) * m.strides[whole_side][axis];
    }
}

CUDA_FAMILY(cuda_concat)
{
    plan_parts(chip, call, true, answer, plan);
}

CUDA_FAMILY(cuda_split)
{
    plan_parts(chip, call, false, answer, plan);
}

CUDA_FAMILY(cuda_slice)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const int size = cuda_movable(call, answer);
    int64_t strides[TFR_MAX_RANK];
    uint64_t n;
    const int64_t *starts = cuda_ints(call, "starts", &n), *steps = cuda_ints(call, "steps", &n);
    move m = {{{0}}, {0, 0}};
    int32_t d;

    if (size < 0)
        return;
    cuda_dims_to_strides(x->rank, x->dims, strides);
    for (d = 0; d < x->rank; d++) {
        if (y->dims[d] == 0)
            return;
        m.offsets[0] += starts[d] * strides[d];
        m.strides[0][d] = y->dims[d] == 1 ? 0 : steps[d] * strides[d];
    }
    cuda_dims_to_strides(y->rank, y->dims, m.strides[1]);
    plan_copy(chip, y->rank, y->dims, &m, size, 0, call->n_inputs, answer, plan);
}
