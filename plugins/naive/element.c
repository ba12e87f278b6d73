/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of every type as double and as 64-bit integer. The narrow float formats are described by
 * a table (IEEE 754-2008 binary16; bfloat16; OCP 8-bit Floating Point Specification 1.0; the FNUZ
 * types of arXiv:2206.02915; OCP Microscaling Formats 1.0 for F4E2M1 and F8E8M0) and share one
 * rounding routine, so that double reaches each of them with a single rounding.
 */
#include "naive.h"

#include <math.h>
#include <string.h>

/* What the codes beyond the largest finite one mean. */
enum { KIND_IEEE, KIND_FN, KIND_FNUZ, KIND_FINITE };

typedef struct narrow_format {
    int man, bias; /* mantissa bits, exponent bias */
    uint32_t sign; /* the sign bit's code */
    uint32_t max;  /* code of the largest finite value */
    uint32_t inf;  /* KIND_IEEE: code of infinity */
    uint32_t nan;  /* code of the NaN we write */
    int kind;
} narrow_format;

static const narrow_format format_f16 = {10, 15, 0x8000, 0x7bff, 0x7c00, 0x7e00, KIND_IEEE};
static const narrow_format format_bf16 = {7, 127, 0x8000, 0x7f7f, 0x7f80, 0x7fc0, KIND_IEEE};
static const narrow_format format_e4m3fn = {3, 7, 0x80, 0x7e, 0, 0x7f, KIND_FN};
static const narrow_format format_e4m3fnuz = {3, 8, 0x80, 0x7f, 0, 0x80, KIND_FNUZ};
static const narrow_format format_e5m2 = {2, 15, 0x80, 0x7b, 0x7c, 0x7e, KIND_IEEE};
static const narrow_format format_e5m2fnuz = {2, 16, 0x80, 0x7f, 0, 0x80, KIND_FNUZ};
static const narrow_format format_e2m1 = {1, 1, 0x8, 0x7, 0, 0x8, KIND_FINITE};

static const narrow_format *find_format(int32_t dtype)
{
    switch (dtype) {
    case TFR_DTYPE_F16:
        return &format_f16;
    case TFR_DTYPE_BF16:
        return &format_bf16;
    case TFR_DTYPE_F8E4M3FN:
        return &format_e4m3fn;
    case TFR_DTYPE_F8E4M3FNUZ:
        return &format_e4m3fnuz;
    case TFR_DTYPE_F8E5M2:
        return &format_e5m2;
    case TFR_DTYPE_F8E5M2FNUZ:
        return &format_e5m2fnuz;
    case TFR_DTYPE_F4E2M1:
        return &format_e2m1;
    default:
        return NULL;
    }
}

static double decode(const narrow_format *f, uint32_t code)
{
    uint32_t magnitude = code & (f->sign - 1);
    int exponent = (int)(magnitude >> f->man);
    double v;

    if (f->kind == KIND_FNUZ && code == f->nan)
        return NAN;
    if (magnitude > f->max)
        return f->kind == KIND_IEEE && magnitude == f->inf ? (code & f->sign ? -INFINITY : INFINITY)
                                                           : NAN;
    v = magnitude & ((1u << f->man) - 1);
    if (exponent > 0)
        v += 1u << f->man;
    else
        exponent = 1;
    v = ldexp(v, exponent - f->bias - f->man);
    return code & f->sign ? -v : v;
}

/*
 * Rounds to the nearest code, ties to even. The magnitude is counted in units of the last mantissa
 * bit at its exponent (at the smallest normal exponent for subnormals); the scaling is exact and
 * rint rounds once. The codes of one sign are consecutive, so a carry into the exponent is a plain
 * addition. What lies beyond max becomes max when saturate is set, else infinity or NaN.
 */
static uint32_t encode(const narrow_format *f, double v, bool saturate)
{
    uint32_t sign = signbit(v) ? f->sign : 0;
    int exponent, lowest = 1 - f->bias;
    double code;

    if (isnan(v))
        return f->kind == KIND_FNUZ || f->kind == KIND_FINITE ? f->nan : f->nan | sign;
    v = fabs(v);
    if (isinf(v)) {
        code = INFINITY;
    } else {
        frexp(v, &exponent);
        exponent = exponent - 1 < lowest || v == 0 ? lowest : exponent - 1;
        code = ldexp((double)(exponent - lowest), f->man) + rint(ldexp(v, f->man - exponent));
    }
    if (code > f->max) {
        if (saturate)
            return f->max | sign;
        return f->kind == KIND_FNUZ ? f->nan : (f->kind == KIND_IEEE ? f->inf : f->nan) | sign;
    }
    if (code == 0 && f->kind == KIND_FNUZ)
        return 0; /* these types have no negative zero */
    return (uint32_t)code | sign;
}

/*
 * F8E8M0 holds 2^(code-127): no sign, no zero; 255 is NaN. What is not positive counts as below the
 * smallest power. mode is 'u' (to the next power up), 'd' (down) or 'n' (nearest, ties up).
 */
static uint32_t encode_e8m0(double v, char mode, bool saturate)
{
    double m;
    int e;

    if (isnan(v))
        return 255;
    if (isinf(v) || v <= 0)
        return saturate ? (v > 0 ? 254 : 0) : 255;
    m = frexp(v, &e); /* v = m * 2^e, m in [0.5, 1) */
    e += 126;
    if ((mode == 'u' && m > 0.5) || (mode == 'n' && m >= 0.75))
        e++;
    if (e >= 0 && e <= 254)
        return (uint32_t)e;
    return saturate ? (e < 0 ? 0 : 254) : 255;
}

/* Packed types: element i of bits each, the first in the low bits. */
static uint32_t get_bits(const void *p, int64_t i, int bits)
{
    int64_t per_byte = 8 / bits;
    const uint8_t *byte = (const uint8_t *)p + (i >> (bits == 4 ? 1 : 2));

    return (uint32_t)(*byte >> ((i & (per_byte - 1)) * bits)) & ((1u << bits) - 1);
}

static void set_bits(void *p, int64_t i, int bits, uint32_t v)
{
    int64_t per_byte = 8 / bits;
    uint8_t *byte = (uint8_t *)p + (i >> (bits == 4 ? 1 : 2));
    int shift = (int)(i & (per_byte - 1)) * bits;
    uint32_t mask = ((1u << bits) - 1) << shift;

    *byte = (uint8_t)((*byte & ~mask) | ((v << shift) & mask));
}

bool naive_is_float(int32_t dtype)
{
    return dtype == TFR_DTYPE_F32 || dtype == TFR_DTYPE_F64 || dtype == TFR_DTYPE_F8E8M0 ||
           find_format(dtype);
}

bool naive_is_unsigned(int32_t dtype)
{
    return dtype == TFR_DTYPE_U8 || dtype == TFR_DTYPE_U16 || dtype == TFR_DTYPE_U32 ||
           dtype == TFR_DTYPE_U64 || dtype == TFR_DTYPE_U4 || dtype == TFR_DTYPE_U2;
}

bool naive_is_integer(int32_t dtype)
{
    return naive_is_unsigned(dtype) || dtype == TFR_DTYPE_I8 || dtype == TFR_DTYPE_I16 ||
           dtype == TFR_DTYPE_I32 || dtype == TFR_DTYPE_I64 || dtype == TFR_DTYPE_I4 ||
           dtype == TFR_DTYPE_I2;
}

bool naive_is_number(int32_t dtype)
{
    return naive_is_float(dtype) || naive_is_integer(dtype);
}

int64_t naive_int_min(int32_t dtype)
{
    if (naive_is_unsigned(dtype) || dtype == TFR_DTYPE_BOOL)
        return 0;
    return tfr_dtype_bits(dtype) == 64 ? INT64_MIN : -((int64_t)1 << (tfr_dtype_bits(dtype) - 1));
}

int64_t naive_int_max(int32_t dtype)
{
    uint32_t bits = tfr_dtype_bits(dtype);

    if (dtype == TFR_DTYPE_BOOL)
        return 1;
    if (bits == 64)
        return dtype == TFR_DTYPE_U64 ? (int64_t)UINT64_MAX : INT64_MAX;
    return ((int64_t)1 << (naive_is_unsigned(dtype) ? bits : bits - 1)) - 1;
}

/* The code of a narrow float element. */
static uint32_t get_code(int32_t dtype, const void *p, int64_t i)
{
    switch (tfr_dtype_bits(dtype)) {
    case 16:
        return ((const uint16_t *)p)[i];
    case 8:
        return ((const uint8_t *)p)[i];
    default:
        return get_bits(p, i, 4);
    }
}

static void set_code(int32_t dtype, void *p, int64_t i, uint32_t code)
{
    switch (tfr_dtype_bits(dtype)) {
    case 16:
        ((uint16_t *)p)[i] = (uint16_t)code;
        break;
    case 8:
        ((uint8_t *)p)[i] = (uint8_t)code;
        break;
    default:
        set_bits(p, i, 4, code);
    }
}

double naive_get(int32_t dtype, const void *p, int64_t i)
{
    uint32_t code;

    switch (dtype) {
    case TFR_DTYPE_F32:
        return ((const float *)p)[i];
    case TFR_DTYPE_F64:
        return ((const double *)p)[i];
    case TFR_DTYPE_U64:
        return (double)((const uint64_t *)p)[i];
    case TFR_DTYPE_F8E8M0:
        code = ((const uint8_t *)p)[i];
        return code == 255 ? NAN : ldexp(1, (int)code - 127);
    default:
        if (find_format(dtype))
            return decode(find_format(dtype), get_code(dtype, p, i));
        return (double)naive_get_int(dtype, p, i);
    }
}

/* Drops the fraction, saturates to [min, max] of an integer type; NaN is 0. */
static int64_t saturate_int(int32_t dtype, double v)
{
    if (isnan(v))
        return 0;
    if (dtype == TFR_DTYPE_U64) {
        if (v <= 0)
            return 0;
        return (int64_t)(v >= 0x1p64 ? UINT64_MAX : (uint64_t)v);
    }
    if (v >= 0x1p63 || v >= (double)naive_int_max(dtype))
        return naive_int_max(dtype);
    if (v <= (double)naive_int_min(dtype))
        return naive_int_min(dtype);
    return (int64_t)v;
}

static void set_number(int32_t dtype, void *p, int64_t i, double v, bool saturate)
{
    switch (dtype) {
    case TFR_DTYPE_F32:
        ((float *)p)[i] = (float)v;
        break;
    case TFR_DTYPE_F64:
        ((double *)p)[i] = v;
        break;
    case TFR_DTYPE_BOOL:
        ((uint8_t *)p)[i] = v != 0;
        break;
    case TFR_DTYPE_F8E8M0:
        ((uint8_t *)p)[i] = (uint8_t)encode_e8m0(v, 'u', saturate);
        break;
    case TFR_DTYPE_F16:
    case TFR_DTYPE_BF16:
        set_code(dtype, p, i, encode(find_format(dtype), v, false));
        break;
    default:
        if (find_format(dtype))
            set_code(dtype, p, i,
                     encode(find_format(dtype), v, saturate || dtype == TFR_DTYPE_F4E2M1));
        else
            naive_set_int(dtype, p, i, saturate_int(dtype, v));
    }
}

void naive_set_e8m0(void *p, int64_t i, double v, char mode, bool saturate)
{
    ((uint8_t *)p)[i] = (uint8_t)encode_e8m0(v, mode, saturate);
}

void naive_set(int32_t dtype, void *p, int64_t i, double v)
{
    set_number(dtype, p, i, v, true);
}

void naive_set_overflow(int32_t dtype, void *p, int64_t i, double v)
{
    set_number(dtype, p, i, v, false);
}

int64_t naive_get_int(int32_t dtype, const void *p, int64_t i)
{
    uint32_t code;

    switch (dtype) {
    case TFR_DTYPE_U8:
        return ((const uint8_t *)p)[i];
    case TFR_DTYPE_BOOL:
        return ((const uint8_t *)p)[i] != 0;
    case TFR_DTYPE_I8:
        return ((const int8_t *)p)[i];
    case TFR_DTYPE_U16:
        return ((const uint16_t *)p)[i];
    case TFR_DTYPE_I16:
        return ((const int16_t *)p)[i];
    case TFR_DTYPE_U32:
        return ((const uint32_t *)p)[i];
    case TFR_DTYPE_I32:
        return ((const int32_t *)p)[i];
    case TFR_DTYPE_U64:
    case TFR_DTYPE_I64:
        return ((const int64_t *)p)[i];
    case TFR_DTYPE_U4:
        return get_bits(p, i, 4);
    case TFR_DTYPE_I4:
        code = get_bits(p, i, 4);
        return code < 8 ? (int64_t)code : (int64_t)code - 16;
    case TFR_DTYPE_U2:
        return get_bits(p, i, 2);
    case TFR_DTYPE_I2:
        code = get_bits(p, i, 2);
        return code < 2 ? (int64_t)code : (int64_t)code - 4;
    default:
        return naive_is_float(dtype) ? saturate_int(TFR_DTYPE_I64, naive_get(dtype, p, i)) : 0;
    }
}

void naive_set_int(int32_t dtype, void *p, int64_t i, int64_t v)
{
    switch (dtype) {
    case TFR_DTYPE_U8:
    case TFR_DTYPE_I8:
        ((uint8_t *)p)[i] = (uint8_t)v;
        break;
    case TFR_DTYPE_BOOL:
        ((uint8_t *)p)[i] = v != 0;
        break;
    case TFR_DTYPE_U16:
    case TFR_DTYPE_I16:
        ((uint16_t *)p)[i] = (uint16_t)v;
        break;
    case TFR_DTYPE_U32:
    case TFR_DTYPE_I32:
        ((uint32_t *)p)[i] = (uint32_t)v;
        break;
    case TFR_DTYPE_U64:
    case TFR_DTYPE_I64:
        ((int64_t *)p)[i] = v;
        break;
    case TFR_DTYPE_U4:
    case TFR_DTYPE_I4:
        set_bits(p, i, 4, (uint32_t)v);
        break;
    case TFR_DTYPE_U2:
    case TFR_DTYPE_I2:
        set_bits(p, i, 2, (uint32_t)v);
        break;
    case TFR_DTYPE_F32:
        ((float *)p)[i] = (float)v;
        break;
    case TFR_DTYPE_F64:
        ((double *)p)[i] = (double)v;
        break;
    default:
        /* Beyond 2^53 a low bit set for the ones dropped (round to odd) keeps double exact, so that
         * the narrow type is rounded to once. */
        if (v >= (int64_t)1 << 53 || v <= -((int64_t)1 << 53))
            v = (v & ~(int64_t)0x7ff) | ((v & 0x7ff) ? 0x800 : 0);
        if (naive_is_float(dtype))
            naive_set(dtype, p, i, (double)v);
    }
}

double naive_round_to(int32_t dtype, double v)
{
    uint64_t element = 0;

    naive_set(dtype, &element, 0, v);
    return naive_get(dtype, &element, 0);
}

void naive_copy(int32_t dtype, void *dst, int64_t dst_i, const void *src, int64_t src_i)
{
    int bits = (int)tfr_dtype_bits(dtype);

    if (bits < 8)
        set_bits(dst, dst_i, bits, get_bits(src, src_i, bits));
    else
        memcpy((char *)dst + dst_i * (bits / 8), (const char *)src + src_i * (bits / 8),
               (size_t)bits / 8);
}

int32_t naive_copy_any(int32_t dtype, void *dst, int64_t dst_i, const void *src, int64_t src_i,
                       tfr_err *err)
{
    const tfr_string *s = (const tfr_string *)src + src_i;

    if (dtype == TFR_DTYPE_STRING)
        return naive_set_string((tfr_string *)dst + dst_i, s->data, s->bytes, err);
    naive_copy(dtype, dst, dst_i, src, src_i);
    return TFR_OK;
}
