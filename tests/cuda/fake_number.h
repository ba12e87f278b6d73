/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of tensors for the stand-ins of libraries: read and written as double, one at a time. */
#ifndef FAKE_NUMBER_H
#define FAKE_NUMBER_H

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef enum fake_type { FAKE_F32, FAKE_F64, FAKE_F16, FAKE_BF16, FAKE_NO_TYPE } fake_type;

static inline size_t fake_size(fake_type type)
{
    return type == FAKE_F64 ? 8 : type == FAKE_F32 ? 4 : 2;
}

/* To a float with this many bits of mantissa, half to even. */
static inline float fake_round(float x, int bits)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    if ((u & 0x7f800000) == 0x7f800000)
        return x;
    const int drop = 23 - bits;
    u += ((u >> drop) & 1) + (((uint32_t)1 << (drop - 1)) - 1);
    u &= ~(((uint32_t)1 << drop) - 1);
    memcpy(&x, &u, 4);
    return x;
}

static inline double fake_half(uint16_t h)
{
    int exponent = h >> 10 & 31, mantissa = h & 1023;
    double x = exponent == 31  ? (mantissa ? NAN : INFINITY)
               : exponent == 0 ? ldexp(mantissa, -24)
                               : ldexp(1024 + mantissa, exponent - 25);
    return h & 0x8000 ? -x : x;
}

static inline uint16_t fake_to_half(double x)
{
    const uint16_t sign = signbit(x) ? 0x8000 : 0;
    const double a = fabs(x);
    if (isnan(x))
        return 0x7e00;
    if (a == 0)
        return sign;
    if (a >= 65520)
        return (uint16_t)(sign | 0x7c00);
    int exponent = 0;
    frexp(a, &exponent);
    exponent = exponent < -13 ? -13 : exponent;
    /* In units of the last place; what rounds up to the next power is right by itself. */
    uint32_t units = (uint32_t)rint(ldexp(a, 11 - exponent));
    return (uint16_t)(sign | (units + ((uint32_t)(exponent + 13) << 10)));
}

static inline double fake_load(const void *p, fake_type type, size_t i)
{
    if (type == FAKE_F64)
        return ((const double *)p)[i];
    if (type == FAKE_F32)
        return ((const float *)p)[i];
    uint16_t h = ((const uint16_t *)p)[i];
    if (type == FAKE_F16)
        return fake_half(h);
    uint32_t u = (uint32_t)h << 16;
    float x;
    memcpy(&x, &u, 4);
    return x;
}

static inline void fake_store(void *p, fake_type type, size_t i, double x)
{
    if (type == FAKE_F64) {
        ((double *)p)[i] = x;
    } else if (type == FAKE_F32) {
        ((float *)p)[i] = (float)x;
    } else if (type == FAKE_F16) {
        ((uint16_t *)p)[i] = fake_to_half(x);
    } else {
        float f = isnan(x) ? NAN : fake_round((float)x, 7);
        uint32_t u;
        memcpy(&u, &f, 4);
        ((uint16_t *)p)[i] = (uint16_t)(u >> 16);
    }
}

#endif
