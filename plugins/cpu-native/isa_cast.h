/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_cast.h: casts from and to float16, bfloat16 and float64, beside those of cast.c: as rows of
 * elementwise.h. Each rounds once, to the nearest, ties to even; to integers the fraction is
 * dropped, what is out of range saturates and NaN is 0. Narrow floats are made of integers by
 * choices that need no branch, so that compilers turn them into vectors.
 */

static inline float of_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* By bits: compilers do not compute what may trap, such as a sum, for a choice that is none. */
static inline uint32_t choose(bool which, uint32_t x, uint32_t y)
{
    const uint32_t mask = 0 - (uint32_t)which;

    return (x & mask) | (y & ~mask);
}

/* The product moves the exponent, and makes normal numbers of subnormal ones. */
static inline float get_F16(uint16_t x)
{
    const uint32_t magnitude = (uint32_t)(x & 0x7fff) << 13, sign = (uint32_t)(x & 0x8000) << 16;
    const uint32_t finite = bits_of(of_bits(magnitude) * 0x1p112f);

    return of_bits(choose(magnitude >= 0x0f800000, magnitude | 0x7f800000, finite) | sign);
}

static inline float get_BF16(uint16_t x)
{
    return of_bits((uint32_t)x << 16);
}

#define get_F32(x)  (x)
#define get_F64(x)  (x)
#define get_I32(x)  ((double)(x))
#define get_U8(x)   ((float)(x))
#define get_I8(x)   ((float)(x))
#define get_BOOL(x) ((x) != 0 ? 1.0f : 0.0f)

/* Beyond 2^53 one bit stands for the low ones, so that double holds it and rounds later. */
static inline double get_I64(int64_t x)
{
    const int64_t large = (x >= (int64_t)1 << 53) | (x <= -((int64_t)1 << 53));
    const int64_t odd = (x & ~(int64_t)0x7ff) | ((x & 0x7ff) != 0 ? 0x800 : 0);

    return (double)((odd & -large) | (x & ~-large));
}

/* Below 2^-14 a sum with 0.5 rounds at the last bit of float16, which is its own then. */
static inline uint16_t put_F16_of_float(float x)
{
    const uint32_t bits = bits_of(x), sign = bits >> 16 & 0x8000, a = bits & 0x7fffffff;
    const uint32_t least = bits_of(of_bits(a) + 0.5f) - 0x3f000000;
    const uint32_t normal = (a - 0x38000000 + 0xfff + (a >> 13 & 1)) >> 13;
    uint32_t y = choose(a < 0x38800000, least, normal);

    y = choose(a >= 0x47800000, 0x7c00, y);
    y = choose(a > 0x7f800000, 0x7e00, y);
    return (uint16_t)(y | sign);
}

static inline uint16_t put_BF16_of_float(float x)
{
    const uint32_t bits = bits_of(x), y = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;

    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 | (bits >> 16 & 0x8000) : y);
}

/* With the last bit odd where something was lost: rounding once more rounds as at once. */
static inline float odd_float(double x)
{
    const float nearest = (float)x;
    const double back = nearest;
    const uint32_t bits = bits_of(nearest);
    const uint32_t lost = (uint32_t)(back < x) | (uint32_t)(back > x); /* not if it is NaN */
    const uint32_t beyond = (uint32_t)(fabs(back) > fabs(x));

    return of_bits(bits + (lost & ~bits & 1) - 2 * (beyond & lost & ~bits & 1));
}

static inline uint16_t put_F16(double x)
{
    return put_F16_of_float(odd_float(x));
}

static inline uint16_t put_BF16(double x)
{
    return put_BF16_of_float(odd_float(x));
}

#define put_F32(x)  ((float)(x))
#define put_F64(x)  ((double)(x))
#define put_BOOL(x) ((x) != 0)

#define PUT_INTEGER(name, type, least, most, past)                                                 \
    static inline type put_##name(double x)                                                        \
    {                                                                                              \
        return x >= (past) ? (most) : x > (double)(least) ? (type)x : x == x ? (least) : 0;        \
    }
PUT_INTEGER(I32, int32_t, INT32_MIN, INT32_MAX, 0x1p31)
PUT_INTEGER(I64, int64_t, INT64_MIN, INT64_MAX, 0x1p63)
PUT_INTEGER(U8, uint8_t, 0, UINT8_MAX, 0x1p8)
PUT_INTEGER(I8, int8_t, INT8_MIN, INT8_MAX, 0x1p7)

#define CAST_TO_INTEGERS(X, from, in_type)                                                         \
    X(from, in_type, I32, int32_t, put_I32)                                                        \
    X(from, in_type, I64, int64_t, put_I64)                                                        \
    X(from, in_type, U8, uint8_t, put_U8)                                                          \
    X(from, in_type, I8, int8_t, put_I8)                                                           \
    X(from, in_type, BOOL, uint8_t, put_BOOL)

#define CAST_TO_NARROW(X, from, in_type, suffix)                                                   \
    X(from, in_type, F16, uint16_t, put_F16##suffix)                                               \
    X(from, in_type, BF16, uint16_t, put_BF16##suffix)

#define CAST_FROM_NARROW(X, from)                                                                  \
    X(from, uint16_t, F32, float, put_F32)                                                         \
    X(from, uint16_t, F64, double, put_F64)                                                        \
    CAST_TO_NARROW(X, from, uint16_t, _of_float)                                                   \
    CAST_TO_INTEGERS(X, from, uint16_t)

#define NATIVE_CAST_LIST(X)                                                                        \
    CAST_FROM_NARROW(X, F16)                                                                       \
    CAST_FROM_NARROW(X, BF16)                                                                      \
    CAST_TO_INTEGERS(X, F64, double)                                                               \
    CAST_TO_NARROW(X, F64, double, )                                                               \
    CAST_TO_NARROW(X, F32, float, _of_float)                                                       \
    CAST_TO_NARROW(X, I32, int32_t, )                                                              \
    CAST_TO_NARROW(X, I64, int64_t, )                                                              \
    CAST_TO_NARROW(X, U8, uint8_t, _of_float)                                                      \
    CAST_TO_NARROW(X, I8, int8_t, _of_float)                                                       \
    CAST_TO_NARROW(X, BOOL, uint8_t, _of_float)

#define CAST_FUNCTION(from, in_type, result, out_type, put)                                        \
    static void span_Cast_##from##_##result(const native_span *s)                                  \
    {                                                                                              \
        const in_type *p = s->in[0];                                                               \
        out_type *to = s->to;                                                                      \
                                                                                                   \
        SPAN_LOOP(const in_type x = p[j]; to[j] = (out_type)put(get_##from(x)));                   \
    }
NATIVE_CAST_LIST(CAST_FUNCTION)

#define CAST_ROW(from, in_type, result, out_type, put)                                             \
    {"Cast", TFR_DTYPE_##from, TFR_DTYPE_##result, false, span_Cast_##from##_##result},
