/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_cast.h: casts as rows of elementwise.h. Each rounds once, to the nearest, ties to even; from
 * floats to integers the fraction is dropped, what is out of range saturates and NaN is 0; between
 * integers the low bits stay; bool is "not 0". Choices need no branch, so that compilers turn them
 * into vectors.
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

/* What float16 has for infinity becomes that. */
static inline float get_I64_of_F16(int64_t x)
{
    const int64_t high = x < 0x10000 ? x : 0x10000, in = high > -0x10000 ? high : -0x10000;

    return (float)(int32_t)in;
}

/* Finite ones are less than 2^16. */
static inline int64_t put_I64_of_F16(uint16_t x)
{
    const int32_t a = x & 0x7fff, sign = -(int32_t)(x >> 15);
    const int32_t whole = (int32_t)of_bits(choose(a < 0x7c00, bits_of(get_F16(x)), 0));
    const uint64_t infinite = (uint64_t)0 - (uint64_t)(a == 0x7c00);

    return (int64_t)((uint64_t)(int64_t)whole |
                     (infinite & ((uint64_t)INT64_MAX ^ (uint64_t)(int64_t)sign)));
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

/* What is not below `past`, a power of two, is taken for 0 and then for `most`. */
#define PUT_INTEGER(name, type, least, most, past)                                                 \
    static inline type put_##name(double x)                                                        \
    {                                                                                              \
        const double below = x < (past) ? x : 0.0, in = below > (least) ? below : (least);         \
        return (type)((int32_t)in | (x >= (past) ? (most) : 0));                                   \
    }                                                                                              \
    static inline type put_##name##_of_float(float x)                                              \
    {                                                                                              \
        const float below = x < (float)(past) ? x : 0.0f;                                          \
        const float in = below > (float)(least) ? below : (float)(least);                          \
        return (type)((int32_t)in | (x >= (float)(past) ? (most) : 0));                            \
    }
PUT_INTEGER(I32, int32_t, -0x1p31, INT32_MAX, 0x1p31)
PUT_INTEGER(U8, uint8_t, 0.0, UINT8_MAX, 0x1p8)
PUT_INTEGER(I8, int8_t, -0x1p7, INT8_MAX, 0x1p7)

static inline int64_t put_I64(double x)
{
    return x >= 0x1p63 ? INT64_MAX : x > -0x1p63 ? (int64_t)x : x == x ? INT64_MIN : 0;
}
#define put_I64_of_float  put_I64
#define put_BOOL_of_float put_BOOL

#define CAST_TO_NARROW(X, from, in_type, suffix)                                                   \
    X(from, in_type, F16, uint16_t, put_F16##suffix)                                               \
    X(from, in_type, BF16, uint16_t, put_BF16##suffix)

#define CAST_FROM_NARROW(X, from)                                                                  \
    X(from, uint16_t, F32, float, put_F32)                                                         \
    X(from, uint16_t, F64, double, put_F64)                                                        \
    CAST_TO_NARROW(X, from, uint16_t, _of_float)                                                   \
    X(from, uint16_t, I32, int32_t, put_I32_of_float)                                              \
    X(from, uint16_t, U8, uint8_t, put_U8_of_float)                                                \
    X(from, uint16_t, I8, int8_t, put_I8_of_float)                                                 \
    X(from, uint16_t, BOOL, uint8_t, put_BOOL_of_float)

#define NATIVE_CAST_LIST(X)                                                                        \
    CAST_FROM_NARROW(X, F16)                                                                       \
    CAST_FROM_NARROW(X, BF16)                                                                      \
    X(BF16, uint16_t, I64, int64_t, put_I64_of_float)                                              \
    X(F64, double, I32, int32_t, put_I32)                                                          \
    X(F64, double, I64, int64_t, put_I64)                                                          \
    X(F64, double, BOOL, uint8_t, put_BOOL)                                                        \
    CAST_TO_NARROW(X, F64, double, )                                                               \
    X(F32, float, BF16, uint16_t, put_BF16_of_float)                                               \
    CAST_TO_NARROW(X, I32, int32_t, )                                                              \
    X(I64, int64_t, BF16, uint16_t, put_BF16)                                                      \
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

#if defined(V_STORE_F16)
static void span_Cast_F32_F16(const native_span *s)
{
    const float *x = s->in[0];
    uint16_t *to = s->to;
    int64_t i;

    for (i = 0; i + LANES <= s->n; i += LANES)
        V_STORE_F16(to + i, V_LOAD(x + i));
    for (; i < s->n; i++)
        to[i] = put_F16_of_float(x[i]);
}
#else
CAST_FUNCTION(F32, float, F16, uint16_t, put_F16_of_float)
#endif

/* ---- float32, bool and integers, and what of them becomes float64 ---- */

#define CAST_OF_INTEGER(X, from, in_type)                                                          \
    X(from, in_type, I32, int32_t, (uint32_t)x)                                                    \
    X(from, in_type, I64, int64_t, x)                                                              \
    X(from, in_type, U8, uint8_t, x)                                                               \
    X(from, in_type, I8, int8_t, (uint8_t)x)                                                       \
    X(from, in_type, BOOL, uint8_t, x != 0)

#define CAST_OF_SHORT_INTEGER(X, from, in_type)                                                    \
    CAST_OF_INTEGER(X, from, in_type)                                                              \
    X(from, in_type, F32, float, x)                                                                \
    X(from, in_type, F64, double, x)

/* The bits of 1, where compilers would jump to one of two numbers. */
#define CAST_OF_BOOL(X)                                                                            \
    X(BOOL, uint8_t, F32, uint32_t, (x != 0) * UINT32_C(0x3f800000))                               \
    X(BOOL, uint8_t, F64, uint64_t, (x != 0) * UINT64_C(0x3ff0000000000000))                       \
    X(BOOL, uint8_t, I32, int32_t, x != 0)                                                         \
    X(BOOL, uint8_t, I64, int64_t, x != 0)                                                         \
    X(BOOL, uint8_t, U8, uint8_t, x != 0)                                                          \
    X(BOOL, uint8_t, I8, int8_t, x != 0)                                                           \
    X(BOOL, uint8_t, BOOL, uint8_t, x != 0)

#define NATIVE_PLAIN_CAST_LIST(X)                                                                  \
    X(I64, int64_t, F16, uint16_t, put_F16_of_float(get_I64_of_F16(x)))                            \
    X(F16, uint16_t, I64, int64_t, put_I64_of_F16(x))                                              \
    CAST_OF_SHORT_INTEGER(X, I32, int32_t)                                                         \
    CAST_OF_SHORT_INTEGER(X, U8, uint8_t)                                                          \
    CAST_OF_SHORT_INTEGER(X, I8, int8_t)                                                           \
    CAST_OF_INTEGER(X, I64, int64_t)                                                               \
    CAST_OF_BOOL(X)                                                                                \
    X(F32, float, F32, float, x)                                                                   \
    X(F32, float, F64, double, x)                                                                  \
    X(F64, double, F32, float, x)                                                                  \
    X(F64, double, F64, double, x)                                                                 \
    X(F32, float, BOOL, uint8_t, x != 0.0f)                                                        \
    X(F32, float, I32, int32_t, put_I32_of_float(x))                                               \
    X(F32, float, U8, uint8_t, put_U8_of_float(x))                                                 \
    X(F32, float, I8, int8_t, put_I8_of_float(x))

#define PLAIN_CAST(from, in_type, result, out_type, value)                                         \
    UNARY(Cast_##from, result, in_type, result, out_type, value)
NATIVE_PLAIN_CAST_LIST(PLAIN_CAST)

/* Few processors have instructions for int64: most of its numbers have 52 bits, which a sum puts
 * into a double as they are, or come of floats that int32 holds. */
static inline double double_of(int64_t x)
{
    const uint64_t bits = (uint64_t)x + UINT64_C(0x4338000000000000);
    double sum;

    memcpy(&sum, &bits, sizeof sum);
    return sum - 0x1.8p52;
}

#define is_large_I64(x) (((uint64_t)(x) + (UINT64_C(1) << 51)) >> 52)
#define is_large_F32(x) ((bits_of(x) & 0x7fffffff) >= 0x4f000000)

/* From 2^31 on the sum carries to the top bit. */
static inline uint64_t is_large_F64(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return ((bits & 0x7fffffffffffffffu) + (0x8000000000000000u - 0x41e0000000000000u)) >> 63;
}

static inline int32_t byte_U8(double x)
{
    const int32_t whole = (int32_t)x, low = whole > 0 ? whole : 0;

    return low < UINT8_MAX ? low : UINT8_MAX;
}

static inline int32_t byte_I8(double x)
{
    const int32_t whole = (int32_t)x, low = whole > INT8_MIN ? whole : INT8_MIN;

    return low < INT8_MAX ? low : INT8_MAX;
}

/* Blocks by the short way where no number is large. */
#define CAST_OF_BLOCKS(from, in_type, result, out_type, shortly, exactly)                          \
    static void span_Cast_##from##_##result(const native_span *s)                                  \
    {                                                                                              \
        const in_type *x = s->in[0];                                                               \
        out_type *to = s->to;                                                                      \
        int64_t left = s->n;                                                                       \
        int k;                                                                                     \
                                                                                                   \
        for (; left >= SPAN_BLOCK; left -= SPAN_BLOCK, x += SPAN_BLOCK, to += SPAN_BLOCK) {        \
            uint64_t large = 0;                                                                    \
            for (k = 0; k < SPAN_BLOCK; k++)                                                       \
                large |= is_large_##from(x[k]);                                                    \
            if (large) {                                                                           \
                for (k = 0; k < SPAN_BLOCK; k++)                                                   \
                    to[k] = exactly(x[k]);                                                         \
            } else {                                                                               \
                EACH_ALONE for (k = 0; k < SPAN_BLOCK; k++) to[k] = (out_type)shortly(x[k]);       \
            }                                                                                      \
        }                                                                                          \
        for (k = 0; k < left; k++)                                                                 \
            to[k] = exactly(x[k]);                                                                 \
    }

#define NATIVE_BLOCK_CAST_LIST(X)                                                                  \
    X(I64, int64_t, F32, float, double_of, (float))                                                \
    X(I64, int64_t, F64, double, double_of, (double))                                              \
    X(F32, float, I64, int64_t, (int32_t), put_I64)                                                \
    X(F64, double, U8, uint8_t, byte_U8, put_U8)                                                   \
    X(F64, double, I8, int8_t, byte_I8, put_I8)
NATIVE_BLOCK_CAST_LIST(CAST_OF_BLOCKS)

#define CAST_ROW(from, in_type, result, ...)                                                       \
    {"Cast", TFR_DTYPE_##from, TFR_DTYPE_##result, false, span_Cast_##from##_##result},
#define CAST_ROWS                                                                                  \
    NATIVE_CAST_LIST(CAST_ROW)                                                                     \
    NATIVE_PLAIN_CAST_LIST(CAST_ROW)                                                               \
    NATIVE_BLOCK_CAST_LIST(CAST_ROW)                                                               \
    CAST_ROW(F32, float, F16, uint16_t)
