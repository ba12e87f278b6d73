/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops of ai.onnx.ml that prepare features. Lists with one value hold for every feature of the last
 * dim, others have one a feature.
 *
 *   Binarizer              y = x > threshold
 *   Imputer                y = the imputed value where x is the replaced one (NaN: any NaN), else x
 *   Scaler                 y = (x - offset) * scale
 *   Normalizer             y = x / d for each row of the last dim; d = max |x|, sum |x| or the root
 *                          of sum x x, and y = x where d is 0
 *   FeatureVectorizer      rows of all inputs side by side, each cut or filled with zeros to its
 *                          inputdimensions; [C] is one row
 *   ArrayFeatureExtractor  z[...,j] = x[...,y[j]]
 *
 * In double, rounded once; NaN spreads, and is not above a threshold.
 */
#include "ml.h"

#include <math.h>

static int32_t run_binarizer(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), y = naive_output(k, launch, 0);
    double threshold = (double)tfr_call_float(&k->call, "threshold", 0);
    int64_t i;

    (void)err;
    for (i = 0; i < x.n; i++)
        naive_write(&y, i, naive_read(&x, i) > threshold ? 1 : 0);
    return TFR_OK;
}

/* Value i of a list for features, `absent` if there is none. */
static double per_feature(const float *values, uint64_t n, int64_t i, double absent)
{
    return n ? (double)values[n == 1 ? 0 : (uint64_t)i % n] : absent;
}

static int32_t run_imputer(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), y = naive_output(k, launch, 0);
    uint64_t n_floats, n_ints;
    const float *floats = naive_attr_floats(&k->call, "imputed_value_floats", &n_floats);
    const int64_t *ints = naive_attr_ints(&k->call, "imputed_value_int64s", &n_ints);
    double old = (double)tfr_call_float(&k->call, "replaced_value_float", 0);
    int64_t old_int = tfr_call_int(&k->call, "replaced_value_int64", 0), i;

    (void)err;
    for (i = 0; i < x.n; i++) {
        naive_copy(y.dtype, y.out, i, x.in, i);
        if (naive_is_integer(x.dtype)) {
            if (naive_read_int(&x, i) == old_int)
                naive_write_int(&y, i, ints[n_ints == 1 ? 0 : (uint64_t)i % n_ints]);
        } else {
            double v = naive_read(&x, i);
            if (v == old || (isnan(v) && isnan(old)))
                naive_write(&y, i, per_feature(floats, n_floats, i, v));
        }
    }
    return TFR_OK;
}

static int32_t run_scaler(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), y = naive_output(k, launch, 0);
    uint64_t n_offset, n_scale;
    const float *offset = naive_attr_floats(&k->call, "offset", &n_offset);
    const float *scale = naive_attr_floats(&k->call, "scale", &n_scale);
    int64_t i;

    (void)err;
    for (i = 0; i < x.n; i++)
        naive_write(&y, i,
                    (naive_read(&x, i) - per_feature(offset, n_offset, i, 0)) *
                        per_feature(scale, n_scale, i, 1));
    return TFR_OK;
}

static int32_t run_normalizer(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), y = naive_output(k, launch, 0);
    const char *norm = tfr_call_string(&k->call, "norm", "MAX");
    int64_t F = naive_features(&x), row, f;

    (void)err;
    for (row = 0; x.n && row < x.n / F; row++) {
        double d = 0;
        for (f = 0; f < F; f++) {
            double v = fabs(naive_read(&x, row * F + f));
            if (*norm == 'M')
                d = v <= d ? d : v;
            else
                d += norm[1] == '1' ? v : v * v;
        }
        if (strcmp(norm, "L2") == 0)
            d = sqrt(d);
        for (f = 0; f < F; f++)
            naive_write(&y, row * F + f, naive_read(&x, row * F + f) / (d == 0 ? 1 : d));
    }
    return TFR_OK;
}

static int32_t run_vectorizer(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor y = naive_output(k, launch, 0);
    uint64_t n_widths;
    const int64_t *widths = naive_attr_ints(&k->call, "inputdimensions", &n_widths);
    int64_t columns = y.dims[1], begin = 0, row, c;
    uint32_t i;

    (void)err;
    for (i = 0; i < k->call.n_inputs; i++) {
        naive_tensor x = naive_input(k, launch, i);
        int64_t own = naive_features(&x), width = n_widths ? widths[i] : own;
        for (row = 0; row < y.dims[0]; row++)
            for (c = 0; c < width; c++)
                naive_write(&y, row * columns + begin + c,
                            c < own ? naive_read(&x, row * own + c) : 0);
        begin += width;
    }
    return TFR_OK;
}

static int32_t run_extractor(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), indices = naive_input(k, launch, 1),
                 z = naive_output(k, launch, 0);
    int64_t F = naive_features(&x), i;
    int32_t status = TFR_OK;

    for (i = 0; i < z.n && !status; i++) {
        int64_t given = naive_read_int(&indices, i % indices.n), at = naive_index(given, F);
        if (at < 0)
            return tfr_fail(err, TFR_EINVAL, "index %lld at position %lld is outside [-%lld, %lld)",
                            (long long)given, (long long)(i % indices.n), (long long)F,
                            (long long)F);
        status = naive_move(&z, i, &x, i / indices.n * F + at, err);
    }
    return status;
}

#define ROW(op, function)                                                                          \
    {                                                                                              \
        .domain = "ai.onnx.ml", .name = op, .since_version = 1, .run = function                    \
    }

const naive_op naive_features_ops[] = {
    ROW("ArrayFeatureExtractor", run_extractor),
    ROW("Binarizer", run_binarizer),
    ROW("FeatureVectorizer", run_vectorizer),
    ROW("Imputer", run_imputer),
    ROW("Normalizer", run_normalizer),
    ROW("Scaler", run_scaler),
    {.name = NULL},
};
