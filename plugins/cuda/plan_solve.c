/* SPDX-License-Identifier: Apache-2.0 */
/* plan_solve.c: launches of solve.cu. */
#include "plan_kit.h"

#include <string.h>

enum {
    MAX_ELEMENTS = 1 << 30,  /* of A and B together */
    MAX_WORKSPACE = 1 << 28, /* bytes, unless one matrix takes more */
    BLOCK_OF_LIBRARY = 32    /* the part of a GPU that a block is reckoned to be */
};

/* Strides in matrices of the operand's batch. */
static void batch_of(const tfr_operand *operand, int32_t matrix_rank, int32_t rank,
                     int64_t *strides)
{
    tfr_operand outer = *operand;

    outer.rank = outer.rank > matrix_rank ? outer.rank - matrix_rank : 0;
    cuda_broadcast(&outer, rank, strides);
}

/* b is NULL for Inverse. False: a no. */
static bool fill_solving(const tfr_call *call, const tfr_operand *b, tfr_solving *out,
                         tfr_answer *answer)
{
    const tfr_operand *a = tfr_call_input(call, 0), *x = tfr_call_output(call, 0);
    const int32_t matrix_rank = b && b->rank == 1 ? 1 : 2, rank = x->rank - matrix_rank;
    const int64_t n = a->dims[a->rank - 1];
    const int64_t k = matrix_rank == 1 ? 1 : x->dims[x->rank - 1];
    int64_t strides[2][TFR_MAX_RANK];

    memset(out, 0, sizeof *out);
    if (n * (n + k) > MAX_ELEMENTS) {
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "matrices of %lld elements, kernels count %d",
                    (long long)(n * (n + k)), MAX_ELEMENTS);
        return false;
    }
    memset(strides, 0, sizeof strides);
    batch_of(a, 2, rank, strides[0]);
    if (b)
        batch_of(b, matrix_rank, rank, strides[1]);
    out->n = (int32_t)n;
    out->k = (int32_t)k;
    out->has_b = b != NULL;
    return cuda_walk(rank, x->dims, 2, (const int64_t(*)[TFR_MAX_RANK])strides, NULL, &out->batch,
                     answer);
}

static uint64_t round_up(uint64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* The kernel has a block for each matrix, as many as the workspace may be large for. */
static void plan_steps(const cuda_chip *chip, const char *kernel, const tfr_call *call,
                       const tfr_solving *s, tfr_answer *answer, cuda_plan *plan)
{
    const uint64_t each = (uint64_t)s->n * (uint64_t)(s->n + s->k) * sizeof(double);
    const uint64_t infos = CUDA_SOLUTION_INFO + round_up((uint64_t)s->batch.n * sizeof(int32_t));
    const uint64_t most = MAX_WORKSPACE / each ? MAX_WORKSPACE / each : 1;
    uint64_t blocks = cuda_blocks(chip, s->batch.n, 1);
    cuda_step *step;

    blocks = blocks < most ? blocks : most;
    answer->workspace_bytes = infos + blocks * each;
    step = cuda_plan_add(plan, kernel, blocks, s->n < 32 ? 64 : 256);
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, s->has_b ? 1 : CUDA_NO_OPERAND);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_workspace(plan, step, (uint32_t)infos);
    cuda_step_workspace(plan, step, CUDA_SOLUTION_INFO);
    cuda_step_bytes(plan, step, s, sizeof *s);
    step = cuda_plan_add(plan, "solve_found", 1, 256);
    cuda_step_workspace(plan, step, CUDA_SOLUTION_INFO);
    cuda_step_workspace(plan, step, CUDA_SOLUTION_FOUND);
    cuda_step_int(plan, step, s->batch.n);
}

/*
 * From so many multiplications on a matrix is cuSOLVER's, which has the whole GPU for it: a rule of
 * the shapes alone, as that of products. 128 x 128 are inverted by it unless told otherwise.
 */
static bool is_large(const cuda_chip *chip, const tfr_solving *s)
{
    const double work = (double)s->n * s->n * (s->n + s->k);

    return work * BLOCK_OF_LIBRARY >= (double)chip->library_from;
}

CUDA_FAMILY(cuda_solve)
{
    static cuda_names names = {CUDA_FLOATS("solve_"), [TFR_DTYPE_F64] = "solve_f64"};
    const bool is_inverse = strcmp(call->name, "Inverse") == 0;
    const char *kernel = cuda_pick_input(names, call, answer);
    tfr_solving s;

    if (!kernel || !fill_solving(call, is_inverse ? NULL : tfr_call_input(call, 1), &s, answer) ||
        s.n == 0 || s.batch.n == 0)
        return;
    answer->flags &= ~(uint32_t)TFR_ANSWER_CAPTURABLE; /* what was found is told of each launch */
    plan_steps(chip, kernel, call, &s, answer, plan);
    if (!plan)
        return;
    plan->mistake = (cuda_mistake){.kind = CUDA_MISTAKE_SINGULAR, .solving = s};
    plan->solution = (cuda_solution){.is_set = true,
                                         .is_large = is_large(chip, &s),
                                         .dtype = tfr_call_input(call, 0)->dtype,
                                         .what = s};
}
