/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Det (ONNX 22) of the M x M matrices in the last two dims: Gaussian elimination with partial
 * pivoting in double (Golub and Van Loan, Matrix Computations, 3.4), the product of the pivots,
 * rounded once. The determinant of a 0 x 0 matrix is 1.
 */
#include "naive.h"

#include <math.h>
#include <stdlib.h>

static void swap_rows(double *a, int64_t m, int64_t i, int64_t j)
{
    int64_t c;

    for (c = 0; c < m; c++) {
        double t = a[i * m + c];
        a[i * m + c] = a[j * m + c];
        a[j * m + c] = t;
    }
}

static double determinant(double *a, int64_t m)
{
    double det = 1;
    int64_t i, j, c, pivot;

    for (i = 0; i < m; i++) {
        for (pivot = i, j = i + 1; j < m; j++)
            if (fabs(a[j * m + i]) > fabs(a[pivot * m + i]))
                pivot = j;
        if (pivot != i) {
            swap_rows(a, m, i, pivot);
            det = -det;
        }
        det *= a[i * m + i];
        if (a[i * m + i] == 0)
            return 0;
        for (j = i + 1; j < m; j++) {
            double factor = a[j * m + i] / a[i * m + i];
            for (c = i; c < m; c++)
                a[j * m + c] -= factor * a[i * m + c];
        }
    }
    return det;
}

static int32_t run_det(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0), *y = tfr_call_output(&k->call, 0);
    const void *px = naive_in(k, launch, 0);
    void *py = naive_out(k, launch, 0);
    int64_t m = x->dims[x->rank - 1], n = tfr_operand_elements(y), b, i;
    double *a = launch->workspace;

    (void)err;
    for (b = 0; b < n; b++) {
        for (i = 0; i < m * m; i++)
            a[i] = naive_get(x->dtype, px, b * m * m + i);
        naive_set(y->dtype, py, b, determinant(a, m));
    }
    return TFR_OK;
}

static uint64_t det_workspace(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    uint64_t m = (uint64_t)x->dims[x->rank - 1];

    return m * m * sizeof(double);
}

const naive_op naive_det_ops[] = {
    {"", "Det", 22, NULL, run_det, det_workspace, 0, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
