/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The normalizations without parameters of their own, X and Y of equal dims:
 *
 *   LpNormalization (ONNX 22)            y = x / (sum of |x|^p along axis)^(1/p), 0 where that is 0
 *   LRN (ONNX 13; Krizhevsky et al., 2012)
 *       y[n,c,i] = x[n,c,i] / (bias + alpha / size * sum of x[n,j,i]^2)^beta
 *       over j from max(0, c - floor((size-1)/2)) to min(C-1, c + ceil((size-1)/2))
 *   MeanVarianceNormalization (ONNX 13)  y = (x - mean) / (sqrt(var) + 1e-9), mean and var = mean
 *       of x^2 - mean^2 over axes; the 1e-9 is in the op's function body
 *
 * In double, rounded once; NaN spreads.
 */
#include "tensor.h"

#include <math.h>

static int32_t run_lp_normalization(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), y = naive_output(k, launch, 0);
    int32_t axis = naive_axis(tfr_call_int(&k->call, "axis", -1), x.rank);
    double p = (double)tfr_call_int(&k->call, "p", 2);
    int64_t A = x.dims[axis], inner = naive_product(x.dims, axis + 1, x.rank), row, a;

    (void)err;
    if (x.n == 0)
        return TFR_OK;
    for (row = 0; row < x.n / A; row++) {
        int64_t begin = row / inner * A * inner + row % inner;
        double sum = 0, norm;
        for (a = 0; a < A; a++)
            sum += pow(fabs(naive_read(&x, begin + a * inner)), p);
        norm = pow(sum, 1 / p);
        for (a = 0; a < A; a++)
            naive_write(&y, begin + a * inner,
                        norm == 0 ? 0 : naive_read(&x, begin + a * inner) / norm);
    }
    return TFR_OK;
}

static int32_t run_lrn(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), y = naive_output(k, launch, 0);
    double alpha = tfr_call_float(&k->call, "alpha", 1e-4f),
           beta = tfr_call_float(&k->call, "beta", 0.75f),
           bias = tfr_call_float(&k->call, "bias", 1);
    int64_t size = tfr_call_int(&k->call, "size", 1), C = x.dims[1], i, j;
    int64_t plane = naive_product(x.dims, 2, x.rank), before = (size - 1) / 2, after = size / 2;

    (void)err;
    for (i = 0; i < x.n; i++) {
        int64_t c = i / plane % C, last = c + after < C ? c + after : C - 1;
        double sum = 0;
        for (j = c > before ? c - before : 0; j <= last; j++) {
            double v = naive_read(&x, i + (j - c) * plane);
            sum += v * v;
        }
        naive_write(&y, i, naive_read(&x, i) / pow(bias + alpha / (double)size * sum, beta));
    }
    return TFR_OK;
}

/* mean and population variance of x over `reduced` dims, starting at element begin. */
static void statistics(const naive_tensor *x, const int64_t *reduced, const int64_t *strides,
                       int64_t begin, double *mean, double *deviation)
{
    double sum = 0, squares = 0, count = 0;
    naive_iter it;
    int pass;

    for (pass = 0; pass < 2; pass++) {
        naive_iter_init(&it, x->rank, reduced);
        naive_iter_add_strides(&it, strides, begin);
        for (; it.left > 0; naive_iter_next(&it)) {
            double v = naive_read(x, it.at[0]);
            if (pass == 0) {
                sum += v;
                count++;
            } else {
                squares += (v - *mean) * (v - *mean);
            }
        }
        *mean = sum / count;
    }
    *deviation = sqrt(squares / count);
}

static int32_t run_mean_variance(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    static const int64_t usual[] = {0, 2, 3};
    naive_tensor x = naive_input(k, launch, 0), y = naive_output(k, launch, 0);
    int64_t kept[TFR_MAX_RANK], reduced[TFR_MAX_RANK], strides[TFR_MAX_RANK];
    uint64_t n_axes, i;
    const int64_t *axes = naive_attr_ints(&k->call, "axes", &n_axes);
    naive_iter outer, inner;
    double mean, deviation;
    int32_t d;

    (void)err;
    if (!tfr_call_attr(&k->call, "axes")) {
        axes = usual;
        n_axes = 3;
    }
    naive_dims_to_strides(x.rank, x.dims, strides);
    for (d = 0; d < x.rank; d++) {
        kept[d] = x.dims[d];
        reduced[d] = 1;
    }
    for (i = 0; i < n_axes; i++) {
        d = naive_axis(axes[i], x.rank);
        if (d < 0 || d >= x.rank)
            continue;
        kept[d] = 1;
        reduced[d] = x.dims[d];
    }
    if (x.n == 0)
        return TFR_OK;
    naive_iter_init(&outer, x.rank, kept);
    naive_iter_add_strides(&outer, strides, 0);
    for (; outer.left > 0; naive_iter_next(&outer)) {
        statistics(&x, reduced, strides, outer.at[0], &mean, &deviation);
        naive_iter_init(&inner, x.rank, reduced);
        naive_iter_add_strides(&inner, strides, outer.at[0]);
        for (; inner.left > 0; naive_iter_next(&inner))
            naive_write(&y, inner.at[0], (naive_read(&x, inner.at[0]) - mean) / (deviation + 1e-9));
    }
    return TFR_OK;
}

const naive_op naive_norm_ops[] = {
    {.domain = "", .name = "LpNormalization", .since_version = 22, .run = run_lp_normalization},
    {.domain = "", .name = "LRN", .since_version = 13, .run = run_lrn},
    {.domain = "",
     .name = "MeanVarianceNormalization",
     .since_version = 13,
     .run = run_mean_variance},
    {.name = NULL},
};
