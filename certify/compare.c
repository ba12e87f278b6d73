/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare.c: whether two results agree. An elementwise op may be off by some units in the last
 * place; a sum of many terms by some of single precision times the largest result, because terms
 * cancel. What single precision cannot hold (denormals) may become 0.
 */
#include "engine.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/compare.h>

/* Bits of a float type's significand, the hidden one among them; 0 for other types. */
static int significand_bits(tfr_dtype dtype)
{
    switch ((int)dtype) {
    case TFR_DTYPE_F64:
    case TFR_DTYPE_C128:
        return 53;
    case TFR_DTYPE_F32:
    case TFR_DTYPE_C64:
        return 24;
    case TFR_DTYPE_F16:
        return 11;
    case TFR_DTYPE_BF16:
        return 8;
    case TFR_DTYPE_F8E4M3FN:
    case TFR_DTYPE_F8E4M3FNUZ:
        return 4;
    case TFR_DTYPE_F8E5M2:
    case TFR_DTYPE_F8E5M2FNUZ:
        return 3;
    default:
        return 0;
    }
}

static double ulps(tfr_dtype dtype, double expected, double obtained)
{
    int exponent = 0;
    double larger = fmax(fabs(expected), fabs(obtained));
    if (!isfinite(expected) || !isfinite(obtained))
        return INFINITY;
    frexp(larger > FLT_MIN ? larger : FLT_MIN, &exponent);
    return fabs(expected - obtained) / ldexp(1, exponent - significand_bits(dtype));
}

/* The largest finite magnitude. */
static double largest(tfr_tensor *t)
{
    const int64_t n = tfr_tensor_elements(t);
    double *numbers = calloc((size_t)n + 1, sizeof *numbers), most = 0;
    if (numbers && !tfr_dtype_convert(TFR_DTYPE_F64, numbers, tfr_tensor_dtype(t),
                                      tfr_tensor_data(t), n, NULL))
        for (int64_t i = 0; i < n; i++)
            if (isfinite(numbers[i]) && fabs(numbers[i]) > most)
                most = fabs(numbers[i]);
    free(numbers);
    return most;
}

static void allowance(ops_tolerance tolerance, tfr_tensor *expected, double *rtol, double *atol)
{
    const int bits = significand_bits(tfr_tensor_dtype(expected));
    const double step = ldexp(1, 1 - bits);
    *rtol = *atol = 0;
    if (bits == 0 || tolerance == OPS_EXACT)
        return;
    *atol = FLT_MIN;
    *rtol = 2 * step;
    if (tolerance == OPS_MATH) {
        *rtol = bits <= 11 ? 2 * step : 32 * step;
        *atol = 4 * ldexp(1, bits < 24 ? -23 : 1 - bits);
    }
    if (tolerance == OPS_SUM || tolerance == OPS_NORM) {
        *rtol = bits <= 11 ? 4 * step : 256 * step;
        *atol = (tolerance == OPS_NORM ? 2048 : 64) * ldexp(1, bits < 24 ? -23 : 1 - bits) *
                (1 + largest(expected));
    }
}

bool ops_compare(ops_tolerance tolerance, tfr_tensor *expected, tfr_tensor *obtained, char *text,
                 size_t n)
{
    tfr_compare_report report = {.size = sizeof report};
    double rtol, atol;
    allowance(tolerance, expected, &rtol, &atol);
    if (tfr_tensor_compare(expected, obtained, rtol, atol, &report))
        return true;
    if (report.n_different > 0 && significand_bits(tfr_tensor_dtype(expected)))
        snprintf(text, n, "%s, %.3g ulps; %lld of %lld differ", report.text,
                 ulps(tfr_tensor_dtype(expected), report.first_expected, report.first_obtained),
                 (long long)report.n_different, (long long)report.n_elements);
    else
        snprintf(text, n, "%s; %lld of %lld differ", report.text, (long long)report.n_different,
                 (long long)report.n_elements);
    return false;
}

bool ops_compare_bits(tfr_tensor *expected, tfr_tensor *obtained, char *text, size_t n)
{
    if (!ops_compare(OPS_EXACT, expected, obtained, text, n))
        return false;
    if (tfr_tensor_kind(expected) != TFR_KIND_TENSOR ||
        tfr_tensor_dtype(expected) == TFR_DTYPE_STRING || tfr_tensor_bytes(expected) == 0 ||
        memcmp(tfr_tensor_data(expected), tfr_tensor_data(obtained), tfr_tensor_bytes(expected)) ==
            0)
        return true;
    snprintf(text, n, "equal values with different bits (a zero's or a NaN's sign)");
    return false;
}
