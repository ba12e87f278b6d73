/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c: tight limits for two results, and whether a spread covers one. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/compare.h>

#include "way.h"

static double step_of(tfr_dtype dtype)
{
    switch ((int)dtype) {
    case TFR_DTYPE_F64:
    case TFR_DTYPE_C128:
        return DBL_EPSILON;
    case TFR_DTYPE_F32:
    case TFR_DTYPE_C64:
        return FLT_EPSILON;
    case TFR_DTYPE_F16:
        return 0x1p-10;
    case TFR_DTYPE_BF16:
        return 0x1p-7;
    default:
        return 0;
    }
}

/* ---- elements as doubles --------------------------------------------------------------------- */

static int64_t count_numbers(const tfr_tensor *t)
{
    int64_t n = 0;
    if (tfr_tensor_kind(t) == TFR_KIND_TENSOR)
        return tfr_tensor_elements(t);
    for (size_t i = 0; i < tfr_sequence_length(t); i++)
        n += count_numbers(tfr_sequence_at(t, i));
    return n;
}

static bool put_numbers(const tfr_tensor *t, double **at)
{
    bool good = true;
    if (tfr_tensor_kind(t) == TFR_KIND_TENSOR) {
        const int64_t n = tfr_tensor_elements(t);
        good = n == 0 || tfr_dtype_convert(TFR_DTYPE_F64, *at, tfr_tensor_dtype(t),
                                           tfr_tensor_data(t), n, NULL) == TFR_OK;
        *at += n;
        return good;
    }
    for (size_t i = 0; i < tfr_sequence_length(t) && good; i++)
        good = put_numbers(tfr_sequence_at(t, i), at);
    return good;
}

double *fuzz_numbers(const tfr_tensor *t, int64_t *n)
{
    *n = count_numbers(t);
    double *numbers = calloc((size_t)*n + 1, sizeof *numbers), *at = numbers;
    if (numbers && !put_numbers(t, &at)) {
        free(numbers);
        return NULL;
    }
    return numbers;
}

static double largest(const tfr_tensor *t)
{
    int64_t n;
    double *numbers = fuzz_numbers(t, &n), most = 0;
    for (int64_t i = 0; numbers && i < n; i++)
        if (isfinite(numbers[i]) && fabs(numbers[i]) > most)
            most = fabs(numbers[i]);
    free(numbers);
    return most;
}

/* ---- two results ----------------------------------------------------------------------------- */

bool fuzz_close(const tfr_tensor *expected, const tfr_tensor *obtained, char *text, size_t n)
{
    tfr_compare_report report = {.size = sizeof report};
    double step = step_of(tfr_tensor_dtype(expected)), rtol = 0, atol = 0;
    if (step > 0) {
        rtol = 16 * step;
        atol = 2 * step * largest(expected) + FLT_MIN;
    }
    if (tfr_tensor_compare(expected, obtained, rtol, atol, &report))
        return true;
    snprintf(text, n, "%s; %lld of %lld elements differ", report.text,
             (long long)report.n_different, (long long)report.n_elements);
    return false;
}

bool fuzz_same_bits(const tfr_tensor *expected, const tfr_tensor *obtained, char *text, size_t n)
{
    tfr_compare_report report = {.size = sizeof report};
    if (!tfr_tensor_compare(expected, obtained, 0, 0, &report)) {
        snprintf(text, n, "%s; %lld of %lld elements differ", report.text,
                 (long long)report.n_different, (long long)report.n_elements);
        return false;
    }
    if (tfr_tensor_kind(expected) != TFR_KIND_TENSOR ||
        tfr_tensor_dtype(expected) == TFR_DTYPE_STRING || tfr_tensor_bytes(expected) == 0 ||
        memcmp(tfr_tensor_data(expected), tfr_tensor_data(obtained), tfr_tensor_bytes(expected)) ==
            0)
        return true;
    snprintf(text, n, "equal values with different bits (a zero's or a NaN's sign)");
    return false;
}

/* ---- spreads --------------------------------------------------------------------------------- */

void fuzz_spread_finish(fuzz_spread *s)
{
    for (uint32_t i = 0; i < s->n_outputs; i++) {
        free(s->low ? s->low[i] : NULL);
        free(s->high ? s->high[i] : NULL);
    }
    free(s->low);
    free(s->high);
    free(s->anything);
    free(s->n_elements);
    *s = (fuzz_spread){0};
}

/* The widest interval of the output: errors of one element are like those of its neighbours. */
static double widest(const fuzz_spread *s, uint32_t i)
{
    double most = 0;
    for (int64_t k = 0; k < s->n_elements[i]; k++) {
        double width = s->high[i][k] - s->low[i][k];
        if (isfinite(width) && width > most)
            most = width;
    }
    return most;
}

static bool within(double low, double high, double margin, double x)
{
    if (isnan(low) || isnan(high))
        return true; /* in one of the runs, so it may be anything */
    double width = isfinite(high - low) ? high - low : 0;
    return x >= low - 2 * width - margin && x <= high + 2 * width + margin;
}

/* Types, and shapes or lengths. */
static bool same_form(const tfr_tensor *a, const tfr_tensor *b)
{
    if (tfr_tensor_kind(a) != tfr_tensor_kind(b) || tfr_tensor_dtype(a) != tfr_tensor_dtype(b) ||
        tfr_sequence_length(a) != tfr_sequence_length(b))
        return false;
    for (size_t i = 0; i < tfr_sequence_length(a); i++)
        if (!same_form(tfr_sequence_at(a, i), tfr_sequence_at(b, i)))
            return false;
    return tfr_shape_equal(tfr_tensor_shape(a), tfr_tensor_shape(b));
}

bool fuzz_spread_covers(const fuzz_spread *s, uint32_t i, const tfr_tensor *expected,
                        const tfr_tensor *obtained, char *text, size_t n)
{
    int64_t count;
    if (s->anything[i])
        return true;
    if (!s->low[i] || !same_form(expected, obtained))
        return false;
    double *numbers = fuzz_numbers(obtained, &count);
    double step = step_of(tfr_tensor_dtype(expected)), margin = widest(s, i) / 8;
    bool good = numbers && s->n_elements[i] == count;
    for (int64_t k = 0; k < count && good; k++) {
        double low = s->low[i][k], high = s->high[i][k], x = numbers[k];
        double capacity =
            margin + 16 * step * fmax(fabs(low), fabs(high)) + (step > 0 ? FLT_MIN : 0);
        bool all = isinf(low) && isinf(high) && low < high; /* with 0, and infinity by 0 is NaN */
        good = isnan(x) ? isnan(low) || isnan(high) || all
               : isinf(low) || isinf(high)
                   ? x >= fmin(low, DBL_MAX) - capacity && x <= fmax(high, -DBL_MAX) + capacity
                   : within(low, high, capacity, x);
        if (!good)
            snprintf(text, n, "element %lld is %.9g, and roundings explain %.9g to %.9g",
                     (long long)k, x, low, high);
    }
    free(numbers);
    return good;
}
