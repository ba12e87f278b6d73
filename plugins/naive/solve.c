/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inverse and Solve (domain tfrun, 1): the X with A X = B, for Inverse with B = I. A [... N N],
 * B [... N K] with batches that broadcast, or one vector B [N], which gives X [... N].
 *
 * Gaussian elimination with partial pivoting and back substitution in double (Golub and Van Loan,
 * Matrix Computations, 3.1 and 3.4), rounded once. A pivot that is exactly 0 makes the matrix
 * singular: TFR_EINVAL, and the message counts matrix and pivot from 0. A matrix that is singular
 * but for rounding passes and gives large numbers. NaN spreads. The inverse of a 0 x 0 matrix is
 * one.
 */
#include "tensor.h"

#include <math.h>

/* A [N N] and B [N K] of one matrix, solved in place: B becomes X. */
typedef struct equations {
    double *a, *b;
    int64_t N, K;
} equations;

static void swap_rows(double *m, int64_t columns, int64_t i, int64_t j)
{
    int64_t c;

    for (c = 0; c < columns; c++) {
        double t = m[i * columns + c];
        m[i * columns + c] = m[j * columns + c];
        m[j * columns + c] = t;
    }
}

/* Row j minus factor times row i, in both matrices; a's columns before i are zero already. */
static void subtract_row(equations *e, int64_t j, int64_t i, double factor)
{
    int64_t c;

    for (c = i; c < e->N; c++)
        e->a[j * e->N + c] -= factor * e->a[i * e->N + c];
    for (c = 0; c < e->K; c++)
        e->b[j * e->K + c] -= factor * e->b[i * e->K + c];
}

/* Returns the number of the pivot that is zero, or -1. */
static int64_t eliminate(equations *e)
{
    int64_t i, j, pivot;

    for (i = 0; i < e->N; i++) {
        for (pivot = i, j = i + 1; j < e->N; j++)
            if (fabs(e->a[j * e->N + i]) > fabs(e->a[pivot * e->N + i]))
                pivot = j;
        if (e->a[pivot * e->N + i] == 0)
            return i;
        if (pivot != i) {
            swap_rows(e->a, e->N, i, pivot);
            swap_rows(e->b, e->K, i, pivot);
        }
        for (j = i + 1; j < e->N; j++)
            subtract_row(e, j, i, e->a[j * e->N + i] / e->a[i * e->N + i]);
    }
    return -1;
}

static void substitute_back(equations *e)
{
    int64_t i, j, c;

    for (i = e->N - 1; i >= 0; i--) {
        for (c = 0; c < e->K; c++) {
            double sum = e->b[i * e->K + c];
            for (j = i + 1; j < e->N; j++)
                sum -= e->a[i * e->N + j] * e->b[j * e->K + c];
            e->b[i * e->K + c] = sum / e->a[i * e->N + i];
        }
    }
}

/* Reads matrix number at of t, or the unit matrix if t has no operand. */
static void read_matrix(double *m, int64_t rows, int64_t columns, const naive_tensor *t, int64_t at)
{
    int64_t i;

    for (i = 0; i < rows * columns; i++)
        m[i] = t->operand ? naive_read(t, at * rows * columns + i) : i / columns == i % columns;
}

/* X number at, from matrix a_at of A and b_at of B. */
static int32_t solve_one(equations *e, const naive_tensor *a, int64_t a_at, const naive_tensor *b,
                         int64_t b_at, const naive_tensor *x, int64_t at, tfr_err *err)
{
    int64_t pivot, i;

    read_matrix(e->a, e->N, e->N, a, a_at);
    read_matrix(e->b, e->N, e->K, b, b_at);
    pivot = eliminate(e);
    if (pivot >= 0)
        return tfr_fail(err, TFR_EINVAL, "matrix %lld is singular: pivot %lld of %lld is 0",
                        (long long)a_at, (long long)pivot, (long long)e->N);
    substitute_back(e);
    for (i = 0; i < e->N * e->K; i++)
        naive_write(x, at * e->N * e->K + i, e->b[i]);
    return TFR_OK;
}

/* Where B lies in the workspace, which there is none of for matrices without elements. */
static double *right_side(const tfr_launch *launch, int64_t N)
{
    return N ? (double *)launch->workspace + N * N : NULL;
}

static int32_t run_inverse(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor a = naive_input(k, launch, 0), x = naive_output(k, launch, 0);
    naive_tensor unit = naive_tensor_of(NULL, NULL, NULL);
    int64_t N = a.dims[a.rank - 1], batch = naive_product(a.dims, 0, a.rank - 2), m;
    equations e = {launch->workspace, right_side(launch, N), N, N};
    int32_t status = TFR_OK;

    for (m = 0; N && m < batch && !status; m++)
        status = solve_one(&e, &a, m, &unit, 0, &x, m, err);
    return status;
}

/* Strides in matrices for batch dims of t, aligned right to a batch of the given rank. */
static void batch_strides(const naive_tensor *t, int32_t matrix_rank, int32_t rank,
                          int64_t *strides)
{
    int32_t own = t->rank > matrix_rank ? t->rank - matrix_rank : 0, i;
    int64_t step = 1;

    for (i = 0; i < rank; i++)
        strides[i] = 0;
    for (i = own - 1; i >= 0; i--) {
        strides[rank - own + i] = t->dims[i] == 1 ? 0 : step;
        step *= t->dims[i];
    }
}

static int32_t run_solve(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor a = naive_input(k, launch, 0), b = naive_input(k, launch, 1),
                 x = naive_output(k, launch, 0);
    int32_t matrix = b.rank > 1 ? 2 : 1, rank = x.rank - matrix, status = TFR_OK;
    int64_t N = a.dims[a.rank - 1], strides[TFR_MAX_RANK], m = 0;
    equations e = {launch->workspace, right_side(launch, N), N,
                   matrix == 2 ? b.dims[b.rank - 1] : 1};
    naive_iter it;

    naive_iter_init(&it, rank, x.dims);
    batch_strides(&a, 2, rank, strides);
    naive_iter_add_strides(&it, strides, 0);
    batch_strides(&b, matrix, rank, strides);
    naive_iter_add_strides(&it, strides, 0);
    for (; N > 0 && it.left > 0 && !status; naive_iter_next(&it), m++)
        status = solve_one(&e, &a, it.at[0], &b, it.at[1], &x, m, err);
    return status;
}

static uint64_t solve_workspace(const tfr_call *call)
{
    const tfr_operand *a = tfr_call_input(call, 0), *b = tfr_call_input(call, 1);
    uint64_t N = (uint64_t)a->dims[a->rank - 1];
    uint64_t K = !b ? N : b->rank > 1 ? (uint64_t)b->dims[b->rank - 1] : 1;

    /* A is a tensor, so N N fits; with an empty batch nothing says so of the sum. */
    return N * N > UINT64_MAX / 16 || (N && K > UINT64_MAX / 16 / N)
               ? UINT64_MAX
               : (N * N + N * K) * sizeof(double);
}

const naive_op naive_solve_ops[] = {
    {.domain = "tfrun",
     .name = "Inverse",
     .since_version = 1,
     .run = run_inverse,
     .workspace = solve_workspace},
    {.domain = "tfrun",
     .name = "Solve",
     .since_version = 1,
     .run = run_solve,
     .workspace = solve_workspace},
    {.name = NULL},
};
