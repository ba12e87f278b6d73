/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert.c: conversion between any two element types.
 *
 * It goes chunk by chunk through one of two wide forms: integers and bools through 64-bit integers,
 * floats through double. Both hold every value of their side exactly, so that there is one
 * rounding, at the end. An integer on its way to a float narrower than double is first rounded to
 * odd (Boldo and Melquiond, "When double rounding is odd"), which keeps the second rounding right.
 */
#include <tfrun/dtype.h>
#include <tfrun/fail.h>
#include <string.h>

#include "value/smallfloat.h"
#include "value/bits.h"

/* Elements in a chunk; a multiple of the elements in a byte of any packed type. */
#define CHUNK 256

static bool is_complex(tfr_dtype dtype)
{
    return dtype == TFR_DTYPE_C64 || dtype == TFR_DTYPE_C128;
}

static bool is_signed(tfr_dtype dtype)
{
    return dtype == TFR_DTYPE_I2 || dtype == TFR_DTYPE_I4 || dtype == TFR_DTYPE_I8 ||
           dtype == TFR_DTYPE_I16 || dtype == TFR_DTYPE_I32 || dtype == TFR_DTYPE_I64;
}

/* ---- loading: elements to their wide form --------------------------------------------------- */

/* Moves n elements of a whole number of bytes between their memory and 64-bit patterns. */
#define LOAD_EACH(type)                                                                            \
    for (int64_t i = 0; i < n; i++) {                                                              \
        type x;                                                                                    \
        memcpy(&x, p + i * (int64_t)sizeof x, sizeof x);                                           \
        out[i] = x;                                                                                \
    }
#define STORE_EACH(type)                                                                           \
    for (int64_t i = 0; i < n; i++) {                                                              \
        type x = (type)patterns[i];                                                                \
        memcpy(p + i * (int64_t)sizeof x, &x, sizeof x);                                           \
    }

/* Unsigned bit patterns of n elements. first is a multiple of the elements in a byte. */
static void load_patterns(uint64_t *out, uint32_t bits, const void *src, int64_t first, int64_t n)
{
    const unsigned char *p = (const unsigned char *)src + (first / 8 * bits + first % 8 * bits / 8);
    switch (bits) {
    case 64:
        LOAD_EACH(uint64_t)
        break;
    case 32:
        LOAD_EACH(uint32_t)
        break;
    case 16:
        LOAD_EACH(uint16_t)
        break;
    case 8:
        LOAD_EACH(uint8_t)
        break;
    case 4:
        for (int64_t i = 0; i < n; i++)
            out[i] = p[i / 2] >> (i % 2 * 4) & 0xf;
        break;
    default:
        for (int64_t i = 0; i < n; i++)
            out[i] = p[i / 4] >> (i % 4 * 2) & 0x3;
        break;
    }
}

/* Patterns may have bits above those of the type. Unused bits of a last packed byte become 0. */
static void store_patterns(const uint64_t *patterns, uint32_t bits, void *dst, int64_t first,
                           int64_t n)
{
    unsigned char *p = (unsigned char *)dst + (first / 8 * bits + first % 8 * bits / 8);
    switch (bits) {
    case 64:
        STORE_EACH(uint64_t)
        break;
    case 32:
        STORE_EACH(uint32_t)
        break;
    case 16:
        STORE_EACH(uint16_t)
        break;
    case 8:
        STORE_EACH(uint8_t)
        break;
    case 4:
        for (int64_t i = 0; i < n; i++) {
            const unsigned before = i % 2 ? p[i / 2] : 0;
            p[i / 2] = (unsigned char)(before | (unsigned)(patterns[i] & 0xf) << (i % 2 * 4));
        }
        break;
    default:
        for (int64_t i = 0; i < n; i++) {
            const unsigned before = i % 4 ? p[i / 4] : 0;
            p[i / 4] = (unsigned char)(before | (unsigned)(patterns[i] & 0x3) << (i % 4 * 2));
        }
        break;
    }
}

/* Integers and bools: sign-extended to 64 bits, as the pattern of an int64_t or uint64_t. */
static void load_integers(uint64_t *out, tfr_dtype dtype, const void *src, int64_t first, int64_t n)
{
    const uint32_t bits = tfr__dtype_bits((int32_t)dtype);
    load_patterns(out, bits, src, first, n);
    if (is_signed(dtype) && bits < 64) {
        const uint64_t sign = UINT64_C(1) << (bits - 1);
        for (int64_t i = 0; i < n; i++)
            out[i] = (out[i] ^ sign) - sign;
    } else if (dtype == TFR_DTYPE_BOOL) {
        for (int64_t i = 0; i < n; i++)
            out[i] = out[i] != 0;
    }
}

static void load_floats(double *out, tfr_dtype dtype, const void *src, int64_t first, int64_t n)
{
    if (dtype == TFR_DTYPE_F64) {
        memcpy(out, (const char *)src + first * 8, (size_t)n * 8);
    } else if (dtype == TFR_DTYPE_F32) {
        for (int64_t i = 0; i < n; i++) {
            float x;
            memcpy(&x, (const char *)src + (first + i) * 4, 4);
            out[i] = x;
        }
    } else {
        const tfr__small_float *format = tfr__small_float_of(dtype);
        uint64_t patterns[CHUNK];
        load_patterns(patterns, tfr__dtype_bits((int32_t)dtype), src, first, n);
        for (int64_t i = 0; i < n; i++)
            out[i] = format ? tfr__small_to_double(format, (uint32_t)patterns[i])
                            : tfr__e8m0_to_double((uint8_t)patterns[i]);
    }
}

/* ---- storing: the wide form to elements ------------------------------------------------------ */

static void store_floats(const double *x, tfr_dtype dtype, void *dst, int64_t first, int64_t n)
{
    if (dtype == TFR_DTYPE_F64) {
        memcpy((char *)dst + first * 8, x, (size_t)n * 8);
    } else if (dtype == TFR_DTYPE_F32) {
        for (int64_t i = 0; i < n; i++) {
            float y = (float)x[i];
            memcpy((char *)dst + (first + i) * 4, &y, 4);
        }
    } else {
        const tfr__small_float *format = tfr__small_float_of(dtype);
        uint64_t patterns[CHUNK];
        for (int64_t i = 0; i < n; i++)
            patterns[i] =
                format ? tfr__small_from_double(format, x[i]) : tfr__e8m0_from_double(x[i]);
        store_patterns(patterns, tfr__dtype_bits((int32_t)dtype), dst, first, n);
    }
}

/* Truncates and saturates; NaN is 0. The limits of 64 bits are no doubles, hence the powers. */
static uint64_t integer_from_double(double x, tfr_dtype dtype, uint32_t bits)
{
    const double two_63 = 9223372036854775808.0;
    if (x != x)
        return 0;
    if (!is_signed(dtype)) {
        const uint64_t max = UINT64_MAX >> (64 - bits);
        if (x <= 0)
            return 0;
        return x >= (bits == 64 ? 2 * two_63 : (double)max) ? max : (uint64_t)x;
    }
    const int64_t max = (int64_t)(UINT64_MAX >> (65 - bits));
    if (x >= (bits == 64 ? two_63 : (double)max))
        return (uint64_t)max;
    if (x <= -(double)max - 1)
        return (uint64_t)(-max - 1);
    return (uint64_t)(int64_t)x;
}

static void store_integers_from_floats(const double *x, tfr_dtype dtype, void *dst, int64_t first,
                                       int64_t n)
{
    const uint32_t bits = tfr__dtype_bits((int32_t)dtype);
    uint64_t patterns[CHUNK];
    for (int64_t i = 0; i < n; i++)
        patterns[i] = dtype == TFR_DTYPE_BOOL ? x[i] != 0 : integer_from_double(x[i], dtype, bits);
    store_patterns(patterns, bits, dst, first, n);
}

/*
 * To double, rounded to odd: the low bits of a large number are cut off, and if they were not 0 the
 * last bit that stays is set. At least 41 bits stay; 26 are enough for what follows, a rounding to
 * the 24 bits of f32 or fewer.
 */
static double double_odd(uint64_t pattern, bool has_sign)
{
    const bool negative = has_sign && pattern >> 63;
    uint64_t x = negative ? 0 - pattern : pattern;
    if (x >> 53)
        x = (x & ~UINT64_C(0xfff)) | (uint64_t)((x & 0xfff) != 0) << 12;
    return negative ? -(double)x : (double)x;
}

static void store_floats_from_integers(const uint64_t *x, bool has_sign, tfr_dtype dtype, void *dst,
                                       int64_t first, int64_t n)
{
    double wide[CHUNK];
    for (int64_t i = 0; i < n; i++)
        wide[i] = dtype != TFR_DTYPE_F64 ? double_odd(x[i], has_sign)
                  : has_sign             ? (double)(int64_t)x[i]
                                         : (double)x[i];
    store_floats(wide, dtype, dst, first, n);
}

/* ---- whole conversions ----------------------------------------------------------------------- */

static void convert_chunk(tfr_dtype dst_dtype, void *dst, tfr_dtype src_dtype, const void *src,
                          int64_t first, int64_t n)
{
    const bool to_float = tfr_dtype_is_float(dst_dtype);
    if (tfr_dtype_is_float(src_dtype)) {
        double wide[CHUNK];
        load_floats(wide, src_dtype, src, first, n);
        if (to_float)
            store_floats(wide, dst_dtype, dst, first, n);
        else
            store_integers_from_floats(wide, dst_dtype, dst, first, n);
        return;
    }
    uint64_t wide[CHUNK];
    load_integers(wide, src_dtype, src, first, n);
    if (to_float) {
        store_floats_from_integers(wide, is_signed(src_dtype), dst_dtype, dst, first, n);
        return;
    }
    /* Integer to integer keeps the low bits, as ONNX says; only bool looks at them all. */
    if (dst_dtype == TFR_DTYPE_BOOL)
        for (int64_t i = 0; i < n; i++)
            wide[i] = wide[i] != 0;
    store_patterns(wide, tfr__dtype_bits((int32_t)dst_dtype), dst, first, n);
}

static void convert_real(tfr_dtype dst_dtype, void *dst, tfr_dtype src_dtype, const void *src,
                         int64_t n)
{
    for (int64_t first = 0; first < n; first += CHUNK)
        convert_chunk(dst_dtype, dst, src_dtype, src, first, n - first < CHUNK ? n - first : CHUNK);
}

/* A real number gets an imaginary part of 0. */
static void convert_real_to_complex(tfr_dtype part_dtype, char *dst, tfr_dtype src_dtype,
                                    const void *src, int64_t n)
{
    const size_t part = part_dtype == TFR_DTYPE_F32 ? 4 : 8;
    double wide[CHUNK];
    for (int64_t first = 0; first < n; first += CHUNK) {
        const int64_t m = n - first < CHUNK ? n - first : CHUNK;
        convert_chunk(part_dtype, wide, src_dtype,
                      (const char *)src + first / 8 * tfr__dtype_bits((int32_t)src_dtype), 0, m);
        for (int64_t i = 0; i < m; i++) {
            char *element = dst + (size_t)(first + i) * 2 * part;
            memcpy(element, (const char *)wide + (size_t)i * part, part);
            memset(element + part, 0, part);
        }
    }
}

tfr_status tfr_dtype_convert(tfr_dtype dst_dtype, void *dst, tfr_dtype src_dtype, const void *src,
                             int64_t n, tfr_err *err)
{
    const tfr_dtype dtypes[2] = {dst_dtype, src_dtype};
    const tfr_dtype dst_part = dst_dtype == TFR_DTYPE_C64 ? TFR_DTYPE_F32 : TFR_DTYPE_F64;
    const tfr_dtype src_part = src_dtype == TFR_DTYPE_C64 ? TFR_DTYPE_F32 : TFR_DTYPE_F64;
    for (int i = 0; i < 2; i++) {
        if (tfr__dtype_bits((int32_t)dtypes[i]) == 0)
            return tfr_fail(err, TFR_EDTYPE, "number %d is no element type", (int)dtypes[i]);
        if (dtypes[i] == TFR_DTYPE_STRING)
            return tfr_fail(err, TFR_EUNSUPPORTED, "%s to %s is not converted here",
                            tfr_dtype_name(src_dtype), tfr_dtype_name(dst_dtype));
    }
    if (is_complex(src_dtype) && !is_complex(dst_dtype))
        return tfr_fail(err, TFR_EUNSUPPORTED, "%s to %s would drop the imaginary part",
                        tfr_dtype_name(src_dtype), tfr_dtype_name(dst_dtype));
    if (n < 0)
        return tfr_fail(err, TFR_EINVAL, "%lld elements to convert", (long long)n);
    if (n == 0)
        return TFR_OK;
    if (!dst || !src)
        return tfr_fail(err, TFR_EINVAL, "no memory given for %lld elements", (long long)n);
    if (is_complex(src_dtype))
        convert_real(dst_part, dst, src_part, src, n * 2);
    else if (is_complex(dst_dtype))
        convert_real_to_complex(dst_part, dst, src_dtype, src, n);
    else
        convert_real(dst_dtype, dst, src_dtype, src, n);
    return TFR_OK;
}
