/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_elementwise.h: the loops of elementwise.h. They are plain C that compilers turn into vectors
 * for the instructions of the file that includes this: blocks of a constant length need neither
 * checks nor remainders.
 *
 * Formulas are those of the reference: integers wrap, a quotient by zero is 0, and what is rounded
 * once there is computed in float32 where that rounds to the same.
 */
#include "elementwise.h"

enum { SPAN_BLOCK = 64, SUM_BLOCK = 256 };

#if defined(__clang__)
#define EACH_ALONE
#else
#define EACH_ALONE _Pragma("GCC ivdep")
#endif

#define SPAN_LOOP(...)                                                                             \
    do {                                                                                           \
        int64_t block = 0, j;                                                                      \
        for (; block + SPAN_BLOCK <= s->n; block += SPAN_BLOCK) {                                  \
            EACH_ALONE for (int k = 0; k < SPAN_BLOCK; k++)                                        \
            {                                                                                      \
                j = block + k;                                                                     \
                __VA_ARGS__;                                                                       \
            }                                                                                      \
        }                                                                                          \
        for (j = block; j < s->n; j++) {                                                           \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
    } while (0)

/* ---- kinds of rows: the value is an expression of x, y ---- */

#define UNARY(op, from, in_type, result, out_type, value)                                          \
    static void span_##op##_##from(const native_span *s)                                           \
    {                                                                                              \
        const in_type *p = s->in[0];                                                               \
        out_type *to = s->to;                                                                      \
                                                                                                   \
        SPAN_LOOP(const in_type x = p[j]; to[j] = (out_type)(value));                              \
    }

#define BINARY(op, from, in_type, result, out_type, value)                                         \
    static void span_##op##_##from(const native_span *s)                                           \
    {                                                                                              \
        const in_type *p = s->in[0], *q = s->in[1];                                                \
        const in_type first = *p, second = *q;                                                     \
        out_type *to = s->to;                                                                      \
                                                                                                   \
        if (s->step[0] && s->step[1])                                                              \
            SPAN_LOOP(const in_type x = p[j]; const in_type y = q[j]; to[j] = (out_type)(value));  \
        else if (s->step[0])                                                                       \
            SPAN_LOOP(const in_type x = p[j]; const in_type y = second;                            \
                      to[j] = (out_type)(value));                                                  \
        else if (s->step[1])                                                                       \
            SPAN_LOOP(const in_type x = first; const in_type y = q[j]; to[j] = (out_type)(value)); \
        else                                                                                       \
            SPAN_LOOP(const in_type x = first; const in_type y = second;                           \
                      to[j] = (out_type)(value));                                                  \
    }
#define FOLD(...) BINARY(__VA_ARGS__)

/* Where, of elements of some bytes. */
#define CHOICE(op, from, in_type, result, out_type, value)                                         \
    static void span_##op##_##from(const native_span *s)                                           \
    {                                                                                              \
        const uint8_t *which = s->in[0];                                                           \
        const in_type *p = s->in[1], *q = s->in[2];                                                \
        const in_type first = *p, second = *q;                                                     \
        in_type *to = s->to;                                                                       \
                                                                                                   \
        if (!s->step[0] && s->step[*which ? 1 : 2])                                                \
            memmove(to, *which ? p : q, (size_t)s->n * sizeof *to);                                \
        else if (!s->step[0])                                                                      \
            SPAN_LOOP(to[j] = *which ? first : second);                                            \
        else if (s->step[1] && s->step[2])                                                         \
            SPAN_LOOP(const in_type x = p[j]; const in_type y = q[j]; to[j] = which[j] ? x : y);   \
        else if (s->step[1])                                                                       \
            SPAN_LOOP(const in_type x = p[j]; to[j] = which[j] ? x : second);                      \
        else if (s->step[2])                                                                       \
            SPAN_LOOP(const in_type y = q[j]; to[j] = which[j] ? first : y);                       \
        else                                                                                       \
            SPAN_LOOP(to[j] = which[j] ? first : second);                                          \
    }

/* Clip: bounds are numbers, which may be absent. */
#define BOUNDED(op, from, in_type, result, out_type, value)                                        \
    static void span_##op##_##from(const native_span *s)                                           \
    {                                                                                              \
        const in_type *p = s->in[0];                                                               \
        const in_type low = s->in[1] ? *(const in_type *)s->in[1] : 0;                             \
        const in_type high = s->in[2] ? *(const in_type *)s->in[2] : 0;                            \
        const bool has_low = s->in[1] != NULL, has_high = s->in[2] != NULL;                        \
        in_type *to = s->to;                                                                       \
                                                                                                   \
        SPAN_LOOP(in_type x = p[j]; x = has_low && x < low ? low : x;                              \
                  to[j] = has_high && x > high ? high : x);                                        \
    }

/* Sum and Mean, in double from the first operand to the last. */
#define SUM(op, from, in_type, result, out_type, value)                                            \
    static void span_##op##_##from(const native_span *s)                                           \
    {                                                                                              \
        double sums[SUM_BLOCK];                                                                    \
        out_type *to = s->to;                                                                      \
        int64_t at, k, n;                                                                          \
        int i;                                                                                     \
                                                                                                   \
        for (at = 0; at < s->n; at += n) {                                                         \
            n = s->n - at < SUM_BLOCK ? s->n - at : SUM_BLOCK;                                     \
            for (k = 0; k < SUM_BLOCK; k++)                                                        \
                sums[k] = 0.0;                                                                     \
            for (i = 0; i < s->n_in; i++)                                                          \
                add_to_##from(sums, (const in_type *)s->in[i] + at * s->step[i], s->step[i], n);   \
            for (k = 0; k < n; k++) {                                                              \
                const double x = sums[k];                                                          \
                to[at + k] = (out_type)(value);                                                    \
            }                                                                                      \
        }                                                                                          \
    }

#define ADD_TO(from, in_type)                                                                      \
    static void add_to_##from(double *sums, const in_type *p, int step, int64_t n)                 \
    {                                                                                              \
        int64_t k;                                                                                 \
                                                                                                   \
        if (step == 1 && n == SUM_BLOCK) {                                                         \
            for (k = 0; k < SUM_BLOCK; k++)                                                        \
                sums[k] += p[k];                                                                   \
            return;                                                                                \
        }                                                                                          \
        for (k = 0; k < n; k++)                                                                    \
            sums[k] += p[k * step];                                                                \
    }

ADD_TO(F32, float)
ADD_TO(F64, double)

/* ---- functions ---- */

#define DIVIDE(name, type, most)                                                                   \
    static inline type divide_##name(type x, type y)                                               \
    {                                                                                              \
        if (y == -1)                                                                               \
            return (type)(0 - (most)x);                                                            \
        return y == 0 ? 0 : x / y;                                                                 \
    }                                                                                              \
                                                                                                   \
    /* the rest has the sign of x with fmod, else that of y */                                     \
    static inline type rest_##name(type x, type y, bool fmod)                                      \
    {                                                                                              \
        const type r = y == 0 || y == -1 ? 0 : x % y;                                              \
        return !fmod && r != 0 && (r < 0) != (y < 0) ? r + y : r;                                  \
    }

DIVIDE(I32, int32_t, uint32_t)
DIVIDE(I64, int64_t, uint64_t)

/* Small whole exponents are what models have. */
static inline float power(float x, float y)
{
    return y == 2.0f ? x * x : y == 1.0f ? x : y == 0.5f && x > 0.0f ? sqrtf(x) : powf(x, y);
}

/* ---- the list: kind, op, type of the inputs, type of the output, value ---- */

#define ARITHMETIC(X, op, value)                                                                   \
    X(BINARY, op, F32, float, F32, float, value)                                                   \
    X(BINARY, op, F64, double, F64, double, value)                                                 \
    X(BINARY, op, I32, uint32_t, I32, uint32_t, value)                                             \
    X(BINARY, op, I64, uint64_t, I64, uint64_t, value)

#define COMPARISON(X, op, value)                                                                   \
    X(BINARY, op, F32, float, BOOL, uint8_t, value)                                                \
    X(BINARY, op, F64, double, BOOL, uint8_t, value)                                               \
    X(BINARY, op, I32, int32_t, BOOL, uint8_t, value)                                              \
    X(BINARY, op, I64, int64_t, BOOL, uint8_t, value)

#define INTEGERS(X, kind, op, value)                                                               \
    X(kind, op, I32, int32_t, I32, int32_t, value)                                                 \
    X(kind, op, I64, int64_t, I64, int64_t, value)

#define FLOATS(X, kind, op, value)                                                                 \
    X(kind, op, F32, float, F32, float, value)                                                     \
    X(kind, op, F64, double, F64, double, value)

#define LOGIC(X, op, value) X(BINARY, op, BOOL, uint8_t, BOOL, uint8_t, value)

#define BITS(X, kind, op, value)                                                                   \
    X(kind, op, U8, uint8_t, U8, uint8_t, value)                                                   \
    INTEGERS(X, kind, op, value)

/* NaN in an operand stays; of zeros the first. */
#define NATIVE_ELEMENTWISE_LIST(X)                                                                 \
    INTEGERS(X, UNARY, Abs, x < 0 ? 0 - (uint64_t)x : (uint64_t)x)                                 \
    ARITHMETIC(X, Add, x + y)                                                                      \
    LOGIC(X, And, (x != 0) & (y != 0))                                                             \
    BITS(X, BINARY, BitwiseAnd, x &y)                                                              \
    BITS(X, UNARY, BitwiseNot, ~x)                                                                 \
    BITS(X, BINARY, BitwiseOr, x | y)                                                              \
    BITS(X, BINARY, BitwiseXor, x ^ y)                                                             \
    FLOATS(X, BOUNDED, Clip, x)                                                                    \
    INTEGERS(X, BOUNDED, Clip, x)                                                                  \
    FLOATS(X, BINARY, Div, x / y)                                                                  \
    X(BINARY, Div, I32, int32_t, I32, int32_t, divide_I32(x, y))                                   \
    X(BINARY, Div, I64, int64_t, I64, int64_t, divide_I64(x, y))                                   \
    COMPARISON(X, Equal, x == y)                                                                   \
    X(BINARY, Equal, U8, uint8_t, BOOL, uint8_t, x == y)                                           \
    X(BINARY, Equal, BOOL, uint8_t, BOOL, uint8_t, (x != 0) == (y != 0))                           \
    COMPARISON(X, Greater, x > y)                                                                  \
    COMPARISON(X, GreaterOrEqual, x >= y)                                                          \
    X(UNARY, IsInf, F32, float, BOOL, uint8_t,                                                     \
      ((x == INFINITY) & (s->mode >> 1)) | ((x == -INFINITY) & s->mode))                           \
    X(UNARY, IsInf, F64, double, BOOL, uint8_t,                                                    \
      ((x == (double)INFINITY) & (s->mode >> 1)) | ((x == -(double)INFINITY) & s->mode))           \
    X(UNARY, IsNaN, F32, float, BOOL, uint8_t, x != x)                                             \
    X(UNARY, IsNaN, F64, double, BOOL, uint8_t, x != x)                                            \
    X(UNARY, IsNaN, F16, uint16_t, BOOL, uint8_t, (x & 0x7fff) > 0x7c00)                           \
    X(UNARY, IsNaN, BF16, uint16_t, BOOL, uint8_t, (x & 0x7fff) > 0x7f80)                          \
    COMPARISON(X, Less, x < y)                                                                     \
    COMPARISON(X, LessOrEqual, x <= y)                                                             \
    FLOATS(X, FOLD, Max, (y > x) | (y != y) ? y : x)                                               \
    INTEGERS(X, FOLD, Max, y > x ? y : x)                                                          \
    FLOATS(X, SUM, Mean, x / s->n_in)                                                              \
    FLOATS(X, FOLD, Min, (y < x) | (y != y) ? y : x)                                               \
    INTEGERS(X, FOLD, Min, y < x ? y : x)                                                          \
    X(BINARY, Mod, I32, int32_t, I32, int32_t, rest_I32(x, y, s->mode != 0))                       \
    X(BINARY, Mod, I64, int64_t, I64, int64_t, rest_I64(x, y, s->mode != 0))                       \
    ARITHMETIC(X, Mul, x *y)                                                                       \
    INTEGERS(X, UNARY, Neg, 0 - (uint64_t)x)                                                       \
    X(UNARY, Not, BOOL, uint8_t, BOOL, uint8_t, x == 0)                                            \
    LOGIC(X, Or, (x != 0) | (y != 0))                                                              \
    X(BINARY, PRelu, F32, float, F32, float, x < 0.0f ? x * y : x)                                 \
    X(BINARY, Pow, F32, float, F32, float, power(x, y))                                            \
    X(BINARY, Pow, F64, double, F64, double, pow(x, y))                                            \
    INTEGERS(X, UNARY, Relu, x > 0 ? x : 0)                                                        \
    INTEGERS(X, UNARY, Sign, (x > 0) - (x < 0))                                                    \
    X(UNARY, Sign, F32, float, F32, float, x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x)                 \
    X(UNARY, Sqrt, F64, double, F64, double, sqrt(x))                                              \
    ARITHMETIC(X, Sub, x - y)                                                                      \
    FLOATS(X, SUM, Sum, x)                                                                         \
    X(CHOICE, Where, U8, uint8_t, U8, uint8_t, x)                                                  \
    X(CHOICE, Where, F16, uint16_t, F16, uint16_t, x)                                              \
    X(CHOICE, Where, F32, uint32_t, F32, uint32_t, x)                                              \
    X(CHOICE, Where, F64, uint64_t, F64, uint64_t, x)                                              \
    LOGIC(X, Xor, (x != 0) != (y != 0))

#define SPAN_FUNCTION(kind, op, from, in_type, result, out_type, value)                            \
    kind(op, from, in_type, result, out_type, value)
NATIVE_ELEMENTWISE_LIST(SPAN_FUNCTION)

#define FOLDS_UNARY   false
#define FOLDS_BINARY  false
#define FOLDS_FOLD    true
#define FOLDS_CHOICE  false
#define FOLDS_BOUNDED false
#define FOLDS_SUM     false
#define SPAN_ROW(kind, op, from, in_type, result, out_type, value)                                 \
    {#op, TFR_DTYPE_##from, TFR_DTYPE_##result, FOLDS_##kind, span_##op##_##from},

static const native_elementwise elementwise_rows[] = {
    NATIVE_ELEMENTWISE_LIST(SPAN_ROW){NULL, 0, 0, false, NULL},
};
