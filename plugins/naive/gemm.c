/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gemm (ONNX 13):  Y = alpha * A' * B' + beta * C
 *
 * A' [M K] is A or, with transA, its transpose; B' [K N] likewise; C broadcasts to Y [M N]. With
 * beta 0 C is not read, as in ONNX's reference and in BLAS: its infinities and NaN leave no trace.
 * Floats: in double, rounded once. Integers: the sum has 64 wrapping bits; if alpha and beta are 1,
 * so has all of it, else alpha and beta apply in double and the fraction is dropped. NaN spreads.
 */
#include "tensor.h"

typedef struct gemm {
    naive_tensor a, b;
    int64_t K;
    int64_t a_row, a_k, b_k, b_column; /* strides */
} gemm;

static double sum_float(const gemm *g, int64_t row, int64_t column)
{
    double sum = 0;
    int64_t k;

    for (k = 0; k < g->K; k++)
        sum += naive_read(&g->a, row * g->a_row + k * g->a_k) *
               naive_read(&g->b, k * g->b_k + column * g->b_column);
    return sum;
}

static int64_t sum_integer(const gemm *g, int64_t row, int64_t column)
{
    int64_t sum = 0, k;

    for (k = 0; k < g->K; k++)
        sum = naive_wrap_add(
            sum, naive_wrap_mul(naive_read_int(&g->a, row * g->a_row + k * g->a_k),
                                naive_read_int(&g->b, k * g->b_k + column * g->b_column)));
    return sum;
}

static int32_t run_gemm(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_call *call = &k->call;
    naive_tensor c = naive_input(k, launch, 2), y = naive_output(k, launch, 0);
    double alpha = tfr_call_float(call, "alpha", 1), beta = tfr_call_float(call, "beta", 1);
    bool transA = tfr_call_int(call, "transA", 0) != 0, transB = tfr_call_int(call, "transB", 0);
    gemm g = {naive_input(k, launch, 0), naive_input(k, launch, 1), 0, 0, 0, 0, 0};
    bool integer = naive_is_integer(y.dtype);
    naive_iter it;
    int64_t i = 0;

    (void)err;
    g.K = g.a.dims[transA ? 0 : 1];
    g.a_row = transA ? 1 : g.K;
    g.a_k = transA ? y.dims[0] : 1;
    g.b_k = transB ? 1 : y.dims[1];
    g.b_column = transB ? g.K : 1;
    if (beta == 0)
        c.operand = NULL;
    naive_iter_init(&it, y.rank, y.dims);
    if (c.operand)
        naive_iter_add(&it, c.operand);
    for (; it.left > 0; naive_iter_next(&it), i++) {
        int64_t row = it.index[0], column = it.index[1];
        if (integer && alpha == 1 && beta == 1)
            naive_write_int(&y, i,
                            naive_wrap_add(sum_integer(&g, row, column),
                                           c.operand ? naive_read_int(&c, it.at[0]) : 0));
        else
            naive_write(&y, i,
                        alpha * (integer ? (double)sum_integer(&g, row, column)
                                         : sum_float(&g, row, column)) +
                            (c.operand ? beta * naive_read(&c, it.at[0]) : 0));
    }
    return TFR_OK;
}

const naive_op naive_gemm_ops[] = {
    {.domain = "", .name = "Gemm", .since_version = 13, .run = run_gemm},
    {.name = NULL},
};
