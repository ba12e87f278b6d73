/* SPDX-License-Identifier: Apache-2.0 */
/*
 * smallfloat.c: one parameterized conversion for all small floating-point formats, in integer
 * arithmetic, so that neither the rounding mode nor excess precision plays a part. Formats: IEEE
 * 754-2008 (f16), its upper half (bf16), "FP8 Formats for Deep Learning" (arXiv 2209.05433), "8-bit
 * Numerical Formats for Deep Neural Networks" (arXiv 2206.02915, the fnuz ones), OCP Microscaling
 * Formats v1.0 (f4e2m1, e8m0). Overflow, infinities and NaN are ONNX's Cast with saturate = 1.
 */
#include "value/smallfloat.h"

#include <string.h>

#define DOUBLE_MAN_BITS 52
#define DOUBLE_BIAS     1023
#define DOUBLE_MAN_MASK ((UINT64_C(1) << DOUBLE_MAN_BITS) - 1)
#define DOUBLE_HIDDEN   (UINT64_C(1) << DOUBLE_MAN_BITS)
#define DOUBLE_INFINITY (UINT64_C(0x7ff) << DOUBLE_MAN_BITS)

static const tfr__small_float f16 = {
    .bits = 16,
    .man_bits = 10,
    .bias = 15,
    .max_finite = 0x7bff,
    .overflow = 0x7c00,
    .infinity = 0x7c00,
    .nan = 0x7e00,
    .has_infinity = true,
    .has_nan = true,
};

static const tfr__small_float bf16 = {
    .bits = 16,
    .man_bits = 7,
    .bias = 127,
    .max_finite = 0x7f7f,
    .overflow = 0x7f80,
    .infinity = 0x7f80,
    .nan = 0x7fc0,
    .has_infinity = true,
    .has_nan = true,
};

static const tfr__small_float e4m3fn = {
    .bits = 8,
    .man_bits = 3,
    .bias = 7,
    .max_finite = 0x7e,
    .overflow = 0x7e,
    .infinity = 0x7e,
    .nan = 0x7f,
    .has_nan = true,
};

static const tfr__small_float e4m3fnuz = {
    .bits = 8,
    .man_bits = 3,
    .bias = 8,
    .max_finite = 0x7f,
    .overflow = 0x7f,
    .infinity = 0x7f,
    .nan = 0x80,
    .has_nan = true,
    .is_fnuz = true,
};

static const tfr__small_float e5m2 = {
    .bits = 8,
    .man_bits = 2,
    .bias = 15,
    .max_finite = 0x7b,
    .overflow = 0x7b,
    .infinity = 0x7b,
    .nan = 0x7e,
    .has_infinity = true,
    .has_nan = true,
};

static const tfr__small_float e5m2fnuz = {
    .bits = 8,
    .man_bits = 2,
    .bias = 16,
    .max_finite = 0x7f,
    .overflow = 0x7f,
    .infinity = 0x7f,
    .nan = 0x80,
    .has_nan = true,
    .is_fnuz = true,
};

static const tfr__small_float e2m1 = {
    .bits = 4,
    .man_bits = 1,
    .bias = 1,
    .max_finite = 0x7,
    .overflow = 0x7,
    .infinity = 0x7,
    .nan = 0x7,
};

const tfr__small_float *tfr__small_float_of(tfr_dtype dtype)
{
    switch ((int)dtype) {
    case TFR_DTYPE_F16:
        return &f16;
    case TFR_DTYPE_BF16:
        return &bf16;
    case TFR_DTYPE_F8E4M3FN:
        return &e4m3fn;
    case TFR_DTYPE_F8E4M3FNUZ:
        return &e4m3fnuz;
    case TFR_DTYPE_F8E5M2:
        return &e5m2;
    case TFR_DTYPE_F8E5M2FNUZ:
        return &e5m2fnuz;
    case TFR_DTYPE_F4E2M1:
        return &e2m1;
    default:
        return NULL;
    }
}

static uint32_t nan_from_double(const tfr__small_float *f, uint64_t bits, uint32_t sign)
{
    if (f->is_fnuz || !f->has_nan)
        return f->nan;
    /* A 16-bit NaN keeps the top of its payload, and is made quiet. */
    if (f->bits == 16)
        return sign | f->nan |
               (uint32_t)((bits & DOUBLE_MAN_MASK) >> (DOUBLE_MAN_BITS - f->man_bits));
    return sign | f->nan;
}

/*
 * Rounds the 53-bit significand to the format's quantum at this exponent, to nearest even. Adding
 * the exponent field to the rounded significand (less its hidden bit) lets a carry run into the
 * exponent, which is right for subnormal and normal numbers alike.
 */
uint32_t tfr__small_from_double(const tfr__small_float *f, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t sign = (uint32_t)(bits >> 63) << (f->bits - 1);
    const uint64_t magnitude = bits & ~(UINT64_C(1) << 63);
    const int e = (int)(magnitude >> DOUBLE_MAN_BITS) - DOUBLE_BIAS;
    uint32_t out = 0;

    if (magnitude > DOUBLE_INFINITY)
        return nan_from_double(f, bits, sign);
    if (magnitude == DOUBLE_INFINITY)
        return sign | f->infinity;
    const int e_min = 1 - f->bias;
    const int e_used = e < e_min ? e_min : e;
    const int shift = DOUBLE_MAN_BITS - f->man_bits + (e_used - e);
    /* With a shift of 54 even the largest significand is under half a quantum. Subnormal doubles
     * are far below that in every format, so that their missing hidden bit does not matter. */
    if (shift < 54) {
        const uint64_t significand = (bits & DOUBLE_MAN_MASK) | DOUBLE_HIDDEN;
        const uint64_t half = UINT64_C(1) << (shift - 1);
        const uint64_t rest = significand & ((half << 1) - 1);
        uint64_t rounded = significand >> shift;
        rounded += rest > half || (rest == half && (rounded & 1));
        rounded += (uint64_t)(e_used - e_min) << f->man_bits;
        out = rounded > f->max_finite ? f->overflow : (uint32_t)rounded;
    }
    return out == 0 && f->is_fnuz ? 0 : sign | out;
}

double tfr__small_to_double(const tfr__small_float *f, uint32_t pattern)
{
    const uint32_t sign_bit = UINT32_C(1) << (f->bits - 1);
    const uint32_t magnitude = pattern & (sign_bit - 1);
    const int e = (int)(magnitude >> f->man_bits);
    uint64_t man = magnitude & ((UINT32_C(1) << f->man_bits) - 1);
    uint64_t bits;
    double x;

    if (f->is_fnuz ? pattern == f->nan : f->has_nan && magnitude > f->max_finite) {
        /* Infinity is the only magnitude between the finite ones and NaN. */
        const bool is_infinite = f->has_infinity && man == 0;
        const uint64_t quiet = is_infinite ? 0 : UINT64_C(1) << (DOUBLE_MAN_BITS - 1);
        bits = DOUBLE_INFINITY | quiet;
        if (f->has_infinity)
            bits |= man << (DOUBLE_MAN_BITS - f->man_bits);
    } else if (e > 0) {
        bits = (uint64_t)(e - f->bias + DOUBLE_BIAS) << DOUBLE_MAN_BITS |
               man << (DOUBLE_MAN_BITS - f->man_bits);
    } else {
        /* Subnormal: man quanta of 2^(1 - bias - man_bits), exact as a product of doubles. */
        const uint64_t quantum = (uint64_t)(1 - f->bias - f->man_bits + DOUBLE_BIAS)
                                 << DOUBLE_MAN_BITS;
        memcpy(&x, &quantum, sizeof x);
        x *= (double)man;
        memcpy(&bits, &x, sizeof bits);
    }
    bits |= (uint64_t)((pattern & sign_bit) != 0) << 63;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/*
 * Up to the next power of two, which is Cast's default for this type. The format has no sign and no
 * zero: a negative number and NaN are NaN, 0 and what is below the smallest power are the smallest.
 */
uint8_t tfr__e8m0_from_double(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (x != x || x < 0)
        return 0xff;
    int e = (int)(bits >> DOUBLE_MAN_BITS & 0x7ff) - DOUBLE_BIAS + 127;
    if (bits & DOUBLE_MAN_MASK)
        e++;
    return (uint8_t)(e < 0 ? 0 : e > 0xfe ? 0xfe : e);
}

double tfr__e8m0_to_double(uint8_t pattern)
{
    uint64_t bits = pattern == 0xff ? DOUBLE_INFINITY | UINT64_C(1) << (DOUBLE_MAN_BITS - 1)
                                    : (uint64_t)(pattern - 127 + DOUBLE_BIAS) << DOUBLE_MAN_BITS;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
