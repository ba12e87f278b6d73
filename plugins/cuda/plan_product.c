/* SPDX-License-Identifier: Apache-2.0 */
/* plan_product.c: launches of matmul.cu. */
#include "plan_kit.h"

#include <stddef.h>
#include <string.h>

void cuda_add_slabs(const tfr_call *call, const tfr_product *p, uint32_t bias, cuda_plan *plan)
{
    static cuda_names names = {CUDA_FLOATS("matmul_add_")};
    const uint64_t n = (uint64_t)p->M * (uint64_t)p->N * (uint64_t)p->batch.n;
    cuda_step *step =
        cuda_plan_add(plan, names[tfr_call_output(call, 0)->dtype], (n + 31) / 32, 256);

    cuda_step_workspace(plan, step, 0);
    cuda_step_operand(plan, step, bias);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, p, sizeof *p);
}

static void plan_product(const cuda_chip *chip, const tfr_call *call, tfr_product *p,
                         tfr_answer *answer, cuda_plan *plan)
{
    static cuda_names names[CUDA_TILES] = {{CUDA_FLOATS("matmul_64_")},
                                           {[TFR_DTYPE_F32] = "matmul_32_f32"},
                                           {CUDA_FLOATS("matmul_16_")},
                                           {[TFR_DTYPE_F32] = "matmul_tf32"}};
    const cuda_sums sums = {p->M, p->N, p->K, p->batch.n, true, cuda_tiles_of(chip, call)};
    /* with beta 0 an addend does not count, be it NaN */
    const uint32_t bias = p->beta != 0 ? cuda_input_or_none(call, 2) : CUDA_NO_OPERAND;
    cuda_tiles tiles;
    cuda_step *step;

    if (!cuda_pick_input(names[0], call, answer) || sums.M * sums.N * sums.outer == 0)
        return;
    tiles = cuda_choose_tiles(chip, &sums);
    p->tiling = tiles.tiling;
    cuda_mark_mode(&tiles, answer, plan);
    step = cuda_plan_add(plan, names[tiles.which][tfr_call_input(call, 0)->dtype], tiles.blocks,
                         tiles.threads);
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, 1);
    cuda_step_operand(plan, step, bias);
    cuda_step_operand(plan, step, call->n_inputs);
    if (p->tiling.splits > 1) {
        answer->workspace_bytes = (uint64_t)p->tiling.splits * (uint64_t)sums.M * (uint64_t)sums.N *
                                  (uint64_t)sums.outer * sizeof(float);
        cuda_step_workspace(plan, step, 0);
        cuda_step_bytes(plan, step, p, sizeof *p);
        cuda_add_slabs(call, p, bias, plan);
        step = plan ? &plan->steps[plan->n_steps - 1] : NULL;
    } else {
        cuda_step_operand(plan, step, CUDA_NO_OPERAND);
        cuda_step_bytes(plan, step, p, sizeof *p);
    }
    cuda_mark_relu(plan, step, sizeof *p, offsetof(tfr_product, relu));
}

/*
 * The product as cuBLASLt takes it, if it does: one batch with a stride for each operand, a bias
 * along the rows of y or an addend that is as large as y. Opening the library takes 55 ms and 150
 * MB, so that small products are ours: the first one of 500 x 500 is there before the library would
 * be. The rule is of the shapes alone, so that bits depend on nothing that was computed before.
 */
static void describe_product(const cuda_chip *chip, const tfr_call *call, const tfr_product *p,
                             tfr_answer *answer, cuda_plan *plan)
{
    const tfr_walk *batch = &p->batch;
    const bool adds = p->beta != 0 && tfr_call_input(call, 2);
    const bool has_bias = adds && p->beta == 1 && p->bias_row == 0 && p->bias_column == 1;
    const bool has_addend = adds && p->bias_row == p->N && p->bias_column == 1;
    const double work = (double)p->M * p->N * p->K * batch->n;
    cuda_product *out;

    if (p->alpha == 0 || work == 0 || work < (double)chip->library_from || batch->rank > 1 ||
        (batch->n > 1 && batch->rank == 0) || (adds && !has_bias && !has_addend))
        return;
    if (tfr_call_input(call, 0)->dtype == TFR_DTYPE_F32 && call->math_mode >= TFR_MATH_TF32)
        answer->flags |= TFR_ANSWER_MATH_MODE;
    if (!plan)
        return;
    out = &plan->product;
    *out = (cuda_product){
        .is_set = true,
        .a_swapped = p->a_column != 1,
        .b_swapped = p->b_column != 1,
        .m = p->M,
        .n = p->N,
        .k = p->K,
        .batch = batch->n,
        .a_stride = batch->n > 1 ? batch->strides[0][0] : 0,
        .b_stride = batch->n > 1 ? batch->strides[1][0] : 0,
        .a = 0,
        .b = 1,
        .y = (uint16_t)call->n_inputs,
        .bias = has_bias ? 2 : CUDA_NO_OPERAND,
        .addend = has_addend && !has_bias ? 2 : CUDA_NO_OPERAND,
        .alpha = p->alpha,
        .beta = has_addend && !has_bias ? p->beta : 0,
    };
    /* Matrices that lie behind each other and meet the same b are the rows of one. */
    if (out->batch > 1 && !out->a_swapped && out->b_stride == 0 &&
        out->a_stride == out->m * out->k) {
        out->m *= out->batch;
        out->batch = 1;
    }
}

bool cuda_fill_product(const tfr_call *call, const tfr_operand *a, const tfr_operand *b,
                       tfr_product *p, tfr_answer *answer)
{
    const tfr_operand *y = tfr_call_output(call, 0);
    const int32_t rank = y->rank - (a->rank > 1) - (b->rank > 1);
    const tfr_operand *both[2];
    int64_t strides[2][TFR_MAX_RANK];
    int32_t k, d;

    memset(p, 0, sizeof *p);
    both[0] = a;
    both[1] = b;
    p->K = (int32_t)a->dims[a->rank - 1];
    p->M = a->rank > 1 ? (int32_t)a->dims[a->rank - 2] : 1;
    p->N = b->rank > 1 ? (int32_t)b->dims[b->rank - 1] : 1;
    p->a_row = p->K;
    p->a_column = 1;
    p->b_row = p->N;
    p->b_column = 1;
    p->alpha = 1;
    for (k = 0; k < 2; k++) {
        tfr_operand outer = *both[k];
        outer.rank = outer.rank > 2 ? outer.rank - 2 : 0;
        cuda_broadcast(&outer, rank, strides[k]);
        for (d = 0; d < rank; d++)
            strides[k][d] *= k == 0 ? (int64_t)p->M * p->K : (int64_t)p->K * p->N;
    }
    return cuda_call_fits(call, answer) &&
           cuda_walk(rank, y->dims, 2, (const int64_t(*)[TFR_MAX_RANK])strides, NULL, &p->batch,
                     answer);
}

CUDA_FAMILY(cuda_matmul)
{
    tfr_product p;

    if (!cuda_fill_product(call, tfr_call_input(call, 0), tfr_call_input(call, 1), &p, answer))
        return;
    plan_product(chip, call, &p, answer, plan);
    describe_product(chip, call, &p, answer, plan);
}

CUDA_FAMILY(cuda_gemm)
{
    const tfr_operand *a = tfr_call_input(call, 0), *b = tfr_call_input(call, 1);
    const tfr_operand *c = tfr_call_input(call, 2), *y = tfr_call_output(call, 0);
    const bool a_swapped = tfr_call_int(call, "transA", 0) != 0;
    const bool b_swapped = tfr_call_int(call, "transB", 0) != 0;
    int64_t strides[TFR_MAX_RANK] = {0, 0};
    tfr_product p = {.alpha = tfr_call_float(call, "alpha", 1),
                     .beta = tfr_call_float(call, "beta", 1)};

    p.M = (int32_t)y->dims[0];
    p.N = (int32_t)y->dims[1];
    p.K = (int32_t)a->dims[a_swapped ? 0 : 1];
    p.a_row = a_swapped ? 1 : p.K;
    p.a_column = a_swapped ? p.M : 1;
    p.b_row = b_swapped ? 1 : p.N;
    p.b_column = b_swapped ? (int32_t)b->dims[1] : 1;
    if (c)
        cuda_broadcast(c, 2, strides);
    p.bias_row = (int32_t)strides[0];
    p.bias_column = (int32_t)strides[1];
    p.batch.n = 1;
    plan_product(chip, call, &p, answer, plan);
    describe_product(chip, call, &p, answer, plan);
}
