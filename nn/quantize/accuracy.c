/* SPDX-License-Identifier: Apache-2.0 */
/* accuracy.c: how far the outputs of a quantized model are from those of the old one. */
#include <math.h>
#include <stdlib.h>
#include <tfrun/dtype.h>
#include <tfrun/fail.h>
#include <tfrun/quantize.h>

static tfr_status as_doubles(const tfr_tensor *tensor, double **out, tfr_err *err)
{
    const int64_t n = tfr_tensor_elements(tensor);
    tfr_tensor *plain = NULL;
    tfr_status status = tfr_tensor_copy(tensor, &plain, err);
    *out = status ? NULL : malloc(((size_t)n + 1) * sizeof **out);
    if (!status && !*out)
        status = tfr_fail(err, TFR_ENOMEM, "out of memory for %lld elements", (long long)n);
    if (!status && n)
        status = tfr_dtype_convert(TFR_DTYPE_F64, *out, tfr_tensor_dtype(plain),
                                   tfr_tensor_data(plain), n, err);
    tfr_tensor_release(plain);
    return status;
}

static void add_elements(tfr_accuracy *a, const double *x, const double *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double e = x[i] - y[i];
        if (!isfinite(x[i]) || !isfinite(y[i])) {
            a->n_other += x[i] != y[i] && !(isnan(x[i]) && isnan(y[i]));
            continue;
        }
        a->n_elements++;
        a->max_abs_error = fmax(a->max_abs_error, fabs(e));
        a->signal += x[i] * x[i];
        a->noise += e * e;
        a->other += y[i] * y[i];
        a->product += x[i] * y[i];
    }
}

static int64_t place_of_greatest(const double *x, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}

static void add_rows(tfr_accuracy *a, const double *x, const double *y, const tfr_shape *shape,
                     int64_t all)
{
    const int64_t n = shape->rank ? shape->dims[shape->rank - 1] : 1;
    for (int64_t at = 0; n > 1 && at < all; at += n) {
        a->n_rows++;
        a->n_rows_same += place_of_greatest(x + at, n) == place_of_greatest(y + at, n);
    }
}

tfr_status tfr_accuracy_add(tfr_accuracy *accuracy, const tfr_tensor *expected,
                            const tfr_tensor *obtained, tfr_err *err)
{
    const tfr_shape *shape = tfr_tensor_shape(expected);
    double *x = NULL, *y = NULL;
    tfr_status status;
    if (tfr_tensor_kind(expected) != TFR_KIND_TENSOR ||
        tfr_tensor_kind(obtained) != TFR_KIND_TENSOR ||
        tfr_tensor_dtype(expected) == TFR_DTYPE_STRING ||
        tfr_tensor_dtype(obtained) == TFR_DTYPE_STRING)
        return tfr_fail(err, TFR_EDTYPE, "only tensors of numbers can be compared");
    if (!tfr_shape_equal(shape, tfr_tensor_shape(obtained)))
        return tfr_fail(err, TFR_ESHAPE, "the new model gives another shape");
    status = as_doubles(expected, &x, err);
    if (!status)
        status = as_doubles(obtained, &y, err);
    if (!status) {
        add_elements(accuracy, x, y, tfr_tensor_elements(expected));
        add_rows(accuracy, x, y, shape, tfr_tensor_elements(expected));
    }
    free(x);
    free(y);
    return status;
}

double tfr_accuracy_sqnr(const tfr_accuracy *a)
{
    return !a->n_elements ? (double)NAN
           : a->noise > 0 ? 10 * log10(a->signal / a->noise)
                          : (double)INFINITY;
}

double tfr_accuracy_relative(const tfr_accuracy *a)
{
    return !a->n_elements ? (double)NAN : a->noise > 0 ? sqrt(a->noise / a->signal) : 0;
}

double tfr_accuracy_cosine(const tfr_accuracy *a)
{
    if (!a->n_elements)
        return (double)NAN;
    return a->signal > 0 && a->other > 0 ? a->product / sqrt(a->signal * a->other)
           : a->noise > 0                ? 0
                                         : 1;
}
