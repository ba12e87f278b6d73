/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LayerNormalization (ONNX 17; Ba et al., arXiv:1607.06450) and RMSNormalization (ONNX 23; Zhang,
 * Sennrich, arXiv:1910.07467), over the dims from axis on (L elements, O such rows):
 *
 *   Layer  Mean[o] = mean of X[o,:];  InvStdDev[o] = 1 / sqrt(mean of (X[o,:] - Mean)^2 + epsilon)
 *          Y[o,l] = (X[o,l] - Mean[o]) * InvStdDev[o] * Scale[o,l] + B[o,l]
 *   RMS    Y[o,l] = X[o,l] / sqrt(mean of X[o,:]^2 + epsilon) * Scale[o,l]
 *
 * Scale and B broadcast to X. In double, rounded once whatever stash_type says; NaN spreads.
 */
#include "tensor.h"

#include <math.h>

static void row_statistics(const naive_tensor *x, int64_t begin, int64_t n, bool center,
                           double epsilon, double *mean, double *inverse)
{
    double sum = 0, squares = 0;
    int64_t i;

    for (i = 0; center && i < n; i++)
        sum += naive_read(x, begin + i);
    *mean = sum / (double)n;
    for (i = 0; i < n; i++)
        squares += (naive_read(x, begin + i) - *mean) * (naive_read(x, begin + i) - *mean);
    *inverse = 1 / sqrt(squares / (double)n + epsilon);
}

static void normalize_rows(const naive_kernel *k, const tfr_launch *launch, bool center)
{
    naive_tensor x = naive_input(k, launch, 0), scale = naive_input(k, launch, 1),
                 bias = naive_input(k, launch, 2), y = naive_output(k, launch, 0),
                 means = naive_output(k, launch, 1), inverses = naive_output(k, launch, 2);
    double epsilon = tfr_call_float(&k->call, "epsilon", 1e-5f), mean = 0, inverse = 0;
    int32_t axis = naive_axis(tfr_call_int(&k->call, "axis", -1), x.rank);
    int64_t L = naive_product(x.dims, axis, x.rank), i = 0;
    naive_iter it;

    /* Of no elements the mean is 0 / 0. */
    for (i = 0; L == 0 && means.operand && i < naive_product(means.dims, 0, means.rank); i++)
        naive_write(&means, i, NAN);
    for (i = 0; L == 0 && inverses.operand && i < naive_product(inverses.dims, 0, inverses.rank);
         i++)
        naive_write(&inverses, i, NAN);
    i = 0;
    naive_iter_init(&it, x.rank, x.dims);
    naive_iter_add(&it, scale.operand);
    if (bias.operand)
        naive_iter_add(&it, bias.operand);
    for (; it.left > 0; naive_iter_next(&it), i++) {
        if (i % L == 0) {
            row_statistics(&x, i, L, center, epsilon, &mean, &inverse);
            if (means.operand)
                naive_write(&means, i / L, mean);
            if (inverses.operand)
                naive_write(&inverses, i / L, inverse);
        }
        naive_write(&y, i,
                    (naive_read(&x, i) - mean) * inverse * naive_read(&scale, it.at[0]) +
                        (bias.operand ? naive_read(&bias, it.at[1]) : 0));
    }
}

static int32_t run_layer_norm(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    (void)err;
    normalize_rows(k, launch, true);
    return TFR_OK;
}

static int32_t run_rms_norm(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    (void)err;
    normalize_rows(k, launch, false);
    return TFR_OK;
}

const naive_op naive_layer_norm_ops[] = {
    {.domain = "", .name = "LayerNormalization", .since_version = 17, .run = run_layer_norm},
    {.domain = "", .name = "RMSNormalization", .since_version = 23, .run = run_rms_norm},
    {.name = NULL},
};
