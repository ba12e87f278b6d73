/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MatMul (ONNX 13), MatMulInteger (ONNX 10), QLinearMatMul (ONNX 21), shapes as numpy.matmul.
 *
 *   S[b,m,n] = sum over k of A[b,m,k] * B[b,k,n]
 *   MatMul         Y = S
 *   MatMulInteger  Y = S of A - a_zero_point and B - b_zero_point, the low 32 bits
 *   QLinearMatMul  Y = saturate(round(S * a_scale * b_scale / y_scale) + y_zero_point)
 *
 * A [b... M K], B [b... K N], Y [b... M N]; b... broadcast; a vector A is [1 K] and a vector B is
 * [K 1], their axis of 1 is not in Y. Zero points and scales are one number, one for each row of A
 * (M, or b... M 1) or for each column of B (N, or b... 1 N). Floats add in double and round once,
 * integers add in 64 wrapping bits; ties round to even; NaN spreads.
 */
#include "tensor.h"

#include <math.h>

typedef struct matmul {
    naive_tensor a, b, y;
    int64_t M, N, K;
    naive_iter batch; /* over b..., at[0] and at[1] count the matrices of A and B */
} matmul;

/* Adds a tensor's batch dims to the walk, so that the slot counts its matrices. */
static void add_batch(naive_iter *it, const naive_tensor *t)
{
    int32_t rank = t->rank > 2 ? t->rank - 2 : 0;
    tfr_operand outer = {.size = sizeof(outer), .dtype = t->dtype, .rank = rank, .dims = t->dims};

    naive_iter_add(it, &outer);
}

static void matmul_init(matmul *m, naive_tensor a, naive_tensor b, naive_tensor y)
{
    int32_t batch_rank = y.rank - (a.rank > 1) - (b.rank > 1);

    m->a = a;
    m->b = b;
    m->y = y;
    m->M = a.rank > 1 ? a.dims[a.rank - 2] : 1;
    m->K = a.dims[a.rank - 1];
    m->N = b.rank > 1 ? b.dims[b.rank - 1] : 1;
    naive_iter_init(&m->batch, batch_rank, y.dims);
    add_batch(&m->batch, &a);
    add_batch(&m->batch, &b);
}

/* Element of A at (row, 0) and of B at (0, column) in the current matrices. */
static int64_t a_begin(const matmul *m, int64_t row)
{
    return (m->batch.at[0] * m->M + row) * m->K;
}

static int64_t b_begin(const matmul *m, int64_t column)
{
    return m->batch.at[1] * m->K * m->N + column;
}

static double sum_float(const matmul *m, int64_t row, int64_t column, double a_zero, double b_zero)
{
    int64_t a = a_begin(m, row), b = b_begin(m, column), k;
    double sum = 0;

    for (k = 0; k < m->K; k++)
        sum += (naive_read(&m->a, a + k) - a_zero) * (naive_read(&m->b, b + k * m->N) - b_zero);
    return sum;
}

static int64_t sum_integer(const matmul *m, int64_t row, int64_t column, int64_t a_zero,
                           int64_t b_zero)
{
    int64_t a = a_begin(m, row), b = b_begin(m, column), sum = 0, k;

    for (k = 0; k < m->K; k++)
        sum = naive_wrap_add(
            sum, naive_wrap_mul(naive_wrap_sub(naive_read_int(&m->a, a + k), a_zero),
                                naive_wrap_sub(naive_read_int(&m->b, b + k * m->N), b_zero)));
    return sum;
}

/* A zero point or scale: one number, n numbers, or n for each matrix. */
static double parameter(const naive_tensor *t, int64_t matrix, int64_t n, int64_t i, double absent)
{
    if (t->n == 0)
        return absent;
    if (t->n == 1)
        return naive_read(t, 0);
    return naive_read(t, t->n == n ? i : matrix * n + i);
}

static int32_t run_matmul(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    bool integer = naive_is_integer(tfr_call_input(&k->call, 0)->dtype);
    int64_t i = 0, row, column;
    matmul m;

    (void)err;
    matmul_init(&m, naive_input(k, launch, 0), naive_input(k, launch, 1),
                naive_output(k, launch, 0));
    for (; m.batch.left > 0; naive_iter_next(&m.batch)) {
        for (row = 0; row < m.M; row++) {
            for (column = 0; column < m.N; column++, i++) {
                if (integer)
                    naive_write_int(&m.y, i, sum_integer(&m, row, column, 0, 0));
                else
                    naive_write(&m.y, i, sum_float(&m, row, column, 0, 0));
            }
        }
    }
    return TFR_OK;
}

static int32_t run_matmul_integer(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor az = naive_input(k, launch, 2), bz = naive_input(k, launch, 3);
    int64_t i = 0, row, column;
    matmul m;

    (void)err;
    matmul_init(&m, naive_input(k, launch, 0), naive_input(k, launch, 1),
                naive_output(k, launch, 0));
    for (; m.batch.left > 0; naive_iter_next(&m.batch))
        for (row = 0; row < m.M; row++)
            for (column = 0; column < m.N; column++, i++)
                naive_write_int(
                    &m.y, i,
                    sum_integer(&m, row, column,
                                (int64_t)parameter(&az, m.batch.at[0], m.M, row, 0),
                                (int64_t)parameter(&bz, m.batch.at[1], m.N, column, 0)));
    return TFR_OK;
}

static int32_t run_qlinear_matmul(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor as = naive_input(k, launch, 1), az = naive_input(k, launch, 2),
                 bs = naive_input(k, launch, 4), bz = naive_input(k, launch, 5),
                 ys = naive_input(k, launch, 6), yz = naive_input(k, launch, 7);
    int64_t i = 0, row, column;
    matmul m;

    (void)err;
    matmul_init(&m, naive_input(k, launch, 0), naive_input(k, launch, 3),
                naive_output(k, launch, 0));
    for (; m.batch.left > 0; naive_iter_next(&m.batch)) {
        for (row = 0; row < m.M; row++) {
            for (column = 0; column < m.N; column++, i++) {
                int64_t a = m.batch.at[0], b = m.batch.at[1], y = i / (m.M * m.N);
                double scale = parameter(&as, a, m.M, row, 1) * parameter(&bs, b, m.N, column, 1) /
                               parameter(&ys, y, m.M, row, 1);
                double v = scale * sum_float(&m, row, column, parameter(&az, a, m.M, row, 0),
                                             parameter(&bz, b, m.N, column, 0));
                naive_write(&m.y, i,
                            (naive_is_integer(m.y.dtype) ? nearbyint(v) : v) +
                                parameter(&yz, y, m.M, row, 0));
            }
        }
    }
    return TFR_OK;
}

const naive_op naive_matmul_ops[] = {
    {.domain = "", .name = "MatMul", .since_version = 13, .run = run_matmul},
    {.domain = "", .name = "MatMulInteger", .since_version = 10, .run = run_matmul_integer},
    {.domain = "", .name = "QLinearMatMul", .since_version = 21, .run = run_qlinear_matmul},
    {.name = NULL},
};
