/* SPDX-License-Identifier: Apache-2.0 */
/* element.c: floats of 16 and 32 bits as numbers. */
#include <math.h>
#include <string.h>

#include "contrib.h"

static double half_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
    const double sign = bits >> 15 ? -1.0 : 1.0;
    if (exponent == 31)
        return fraction ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent ? ldexp(fraction + 1024, exponent - 25) : ldexp(fraction, -24));
}

/* Ties to even; what is not finite as float16 becomes an infinity. */
static uint16_t half_bits(double value)
{
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent;
    double scaled;
    if (isnan(value))
        return 0x7e00;
    value = fabs(value);
    if (value >= 65520.0)
        return sign | 0x7c00;
    if (value == 0)
        return sign;
    (void)frexp(value, &exponent); /* value is in [2^(exponent - 1), 2^exponent) */
    exponent = exponent < -13 ? -13 : exponent;
    scaled = nearbyint(ldexp(value, 11 - exponent)); /* 1024 to 2048, less if subnormal */
    return (uint16_t)(sign | ((exponent + 13) * 1024 + (int)scaled));
}

static double brain_value(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof(value));
    return (double)value;
}

static uint16_t brain_bits(double value)
{
    const float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof(bits));
    if (isnan(narrow))
        return 0x7fc0;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

double contrib_load(const void *data, int32_t dtype, int64_t i)
{
    if (dtype == TFR_DTYPE_F16)
        return half_value(((const uint16_t *)data)[i]);
    if (dtype == TFR_DTYPE_BF16)
        return brain_value(((const uint16_t *)data)[i]);
    return (double)((const float *)data)[i];
}

void contrib_store(void *data, int32_t dtype, int64_t i, double value)
{
    if (dtype == TFR_DTYPE_F16)
        ((uint16_t *)data)[i] = half_bits(value);
    else if (dtype == TFR_DTYPE_BF16)
        ((uint16_t *)data)[i] = brain_bits(value);
    else
        ((float *)data)[i] = (float)value;
}
