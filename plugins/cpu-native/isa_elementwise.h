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

enum { SPAN_BLOCK = 64, SUM_BLOCK = 256, SUM_GROUP = 16 };

#if defined(__clang__)
#define EACH_ALONE
#else
#define EACH_ALONE _Pragma("GCC ivdep")
#endif

/* `count` times, most of them in loops of known length. */
#define SPAN_LOOP_OF(length, count, ...)                                                           \
    do {                                                                                           \
        int64_t block = 0, j;                                                                      \
        for (; block + (length) <= (count); block += (length)) {                                   \
            EACH_ALONE for (int k = 0; k < (length); k++)                                          \
            {                                                                                      \
                j = block + k;                                                                     \
                __VA_ARGS__;                                                                       \
            }                                                                                      \
        }                                                                                          \
        for (j = block; j < (count); j++) {                                                        \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
    } while (0)
#define SPAN_LOOP(...)      SPAN_LOOP_OF(SPAN_BLOCK, s->n, __VA_ARGS__)
#define SPAN_GROUPS(n, ...) SPAN_LOOP_OF(SUM_GROUP, n, __VA_ARGS__)

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

/* IsInf: of the signs that the mode says. */
#define INFINITE(op, from, in_type, result, out_type, infinity)                                    \
    static void span_##op##_##from(const native_span *s)                                           \
    {                                                                                              \
        const in_type above = s->mode & 2 ? (infinity) : (in_type)NAN;                             \
        const in_type below = s->mode & 1 ? -(infinity) : (in_type)NAN;                            \
        const in_type *p = s->in[0];                                                               \
        out_type *to = s->to;                                                                      \
                                                                                                   \
        SPAN_LOOP(const in_type x = p[j]; to[j] = (out_type)((x == above) | (x == below)));        \
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
    static void span_##op##_two_##from(const native_span *s)                                       \
    {                                                                                              \
        const in_type *p = s->in[s->step[0] == 0], *q = s->in[s->step[0] != 0];                    \
        const double by = 0.5, second = (double)*q;                                                \
        out_type *to = s->to;                                                                      \
                                                                                                   \
        (void)by;                                                                                  \
        if (s->step[0] && s->step[1])                                                              \
            SPAN_LOOP(const double x = (double)p[j] + (double)q[j]; to[j] = (out_type)(value));    \
        else                                                                                       \
            SPAN_LOOP(const double x = (double)p[j] + second; to[j] = (out_type)(value));          \
    }                                                                                              \
                                                                                                   \
    static void span_##op##_##from(const native_span *s)                                           \
    {                                                                                              \
        const double by = 1.0 / s->n_in;                                                           \
        double sums[SUM_BLOCK];                                                                    \
        out_type values[SUM_BLOCK], *to = s->to;                                                   \
        int64_t at, n;                                                                             \
        int i;                                                                                     \
                                                                                                   \
        (void)by;                                                                                  \
        if (s->n_in == 2 && (s->step[0] || s->step[1])) {                                          \
            span_##op##_two_##from(s);                                                             \
            return;                                                                                \
        }                                                                                          \
        for (at = 0; at < s->n; at += n) {                                                         \
            n = s->n - at < SUM_BLOCK ? s->n - at : SUM_BLOCK;                                     \
            memset(sums, 0, sizeof sums);                                                          \
            for (i = 0; i + 1 < s->n_in; i += 2)                                                   \
                add_two_##from(sums, (const in_type *)s->in[i] + at * s->step[i], s->step[i],      \
                               (const in_type *)s->in[i + 1] + at * s->step[i + 1],                \
                               s->step[i + 1], n);                                                 \
            if (i < s->n_in)                                                                       \
                add_to_##from(sums, (const in_type *)s->in[i] + at * s->step[i], s->step[i], n);   \
            SPAN_GROUPS(n, const double x = sums[j]; values[j] = (out_type)(value));               \
            memcpy(to + at, values, (size_t)n * sizeof *to);                                       \
        }                                                                                          \
    }

#define ADD_TO(from, in_type)                                                                      \
    static void add_to_##from(double *sums, const in_type *p, int step, int64_t n)                 \
    {                                                                                              \
        const double x = *p;                                                                       \
                                                                                                   \
        if (step)                                                                                  \
            SPAN_GROUPS(n, sums[j] += p[j]);                                                       \
        else                                                                                       \
            SPAN_GROUPS(n, sums[j] += x);                                                          \
    }                                                                                              \
                                                                                                   \
    static void add_two_##from(double *sums, const in_type *p, int p_step, const in_type *q,       \
                               int q_step, int64_t n)                                              \
    {                                                                                              \
        if (p_step && q_step) {                                                                    \
            SPAN_GROUPS(n, sums[j] = sums[j] + p[j] + q[j]);                                       \
        } else {                                                                                   \
            add_to_##from(sums, p, p_step, n);                                                     \
            add_to_##from(sums, q, q_step, n);                                                     \
        }                                                                                          \
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

/* Less 1 by its bits, as a choice would be a jump. */
#define FLOOR(name, type, word, one, round, sign)                                                  \
    static inline type floor_##name(type x)                                                        \
    {                                                                                              \
        const type whole = round(x);                                                               \
        const word bits = ((word)0 - (word)(whole > x)) & (one);                                   \
        type less;                                                                                 \
                                                                                                   \
        memcpy(&less, &bits, sizeof less);                                                         \
        return sign(whole - less, x);                                                              \
    }
FLOOR(F32, float, uint32_t, UINT32_C(0x3f800000), rintf, copysignf)
FLOOR(F64, double, uint64_t, UINT64_C(0x3ff0000000000000), rint, copysign)

DIVIDE(I32, int32_t, uint32_t)
DIVIDE(I64, int64_t, uint64_t)

/* Of numbers that int32 holds double has the quotient with enough digits to drop the fraction. */
#define IS_FAR_I32(x) 0
#define IS_FAR_I64(x) (((uint64_t)(x) + UINT64_C(0x80000000)) >> 32)

static inline int32_t near_Div(int32_t a, int32_t b, bool fmod)
{
    (void)fmod;
    return (int32_t)((double)a / (double)b);
}

static inline int32_t near_Mod(int32_t a, int32_t b, bool fmod)
{
    const int32_t r = a - near_Div(a, b, fmod) * b;
    const uint32_t turns = (uint32_t)!fmod & (uint32_t)(r != 0) & ((uint32_t)(r ^ b) >> 31);

    return r + (b & (int32_t)(0 - turns));
}

/* Blocks of numbers that int32 holds, none of them divided by 0 or -1. */
#define QUOTIENT(op, from, in_type, result, out_type, value)                                       \
    BINARY(op##_each, from, in_type, result, out_type, value)                                      \
    static void span_##op##_##from(const native_span *s)                                           \
    {                                                                                              \
        const in_type *p = s->in[0], *q = s->in[1];                                                \
        const bool fmod = s->mode != 0;                                                            \
        native_span part = *s;                                                                     \
        out_type *to = s->to;                                                                      \
        int32_t a[SPAN_BLOCK], b[SPAN_BLOCK];                                                      \
        int64_t left = s->n;                                                                       \
        int k;                                                                                     \
                                                                                                   \
        for (; left >= SPAN_BLOCK; left -= SPAN_BLOCK, to += SPAN_BLOCK) {                         \
            uint64_t far = 0;                                                                      \
            for (k = 0; s->step[0] && k < SPAN_BLOCK; k++) {                                       \
                far |= IS_FAR_##from(p[k]);                                                        \
                a[k] = (int32_t)p[k];                                                              \
            }                                                                                      \
            for (k = 0; !s->step[0] && k < SPAN_BLOCK; k++)                                        \
                a[k] = (int32_t)*p;                                                                \
            for (k = 0; s->step[1] && k < SPAN_BLOCK; k++) {                                       \
                far |= IS_FAR_##from(q[k]) | ((uint64_t)(q[k] == 0) | (uint64_t)(q[k] == -1));     \
                b[k] = (int32_t)q[k];                                                              \
            }                                                                                      \
            for (k = 0; !s->step[1] && k < SPAN_BLOCK; k++)                                        \
                b[k] = (int32_t)*q;                                                                \
            far |= IS_FAR_##from(*p) | IS_FAR_##from(*q) | (*q == 0) | (*q == -1);                 \
            if (far) {                                                                             \
                part.in[0] = p;                                                                    \
                part.in[1] = q;                                                                    \
                part.to = to;                                                                      \
                part.n = SPAN_BLOCK;                                                               \
                span_##op##_each_##from(&part);                                                    \
            } else {                                                                               \
                for (k = 0; k < SPAN_BLOCK; k++)                                                   \
                    a[k] = near_##op(a[k], b[k], fmod);                                            \
                for (k = 0; k < SPAN_BLOCK; k++)                                                   \
                    to[k] = a[k];                                                                  \
            }                                                                                      \
            p += s->step[0] * SPAN_BLOCK;                                                          \
            q += s->step[1] * SPAN_BLOCK;                                                          \
        }                                                                                          \
        part.in[0] = p;                                                                            \
        part.in[1] = q;                                                                            \
        part.to = to;                                                                              \
        part.n = left;                                                                             \
        if (left > 0)                                                                              \
            span_##op##_each_##from(&part);                                                        \
    }

/* The rest has the sign of x with fmod, else that of y. */
static inline double rest_F64(double x, double y, bool fmods)
{
    const double r = fmod(x, y);

    if (fmods)
        return r;
    if (r == 0)
        return copysign(0, y);
    return (r < 0) != (y < 0) ? r + y : r;
}

/* Blocks whose quotients are below 2^26 and what is subtracted has no more bits than a double. */
#define REST(op, from, in_type, result, out_type, value)                                           \
    BINARY(op##_each, from, in_type, result, out_type, value)                                      \
    static void span_##op##_##from(const native_span *s)                                           \
    {                                                                                              \
        const in_type *p = s->in[0], *q = s->in[1];                                                \
        native_span part = *s;                                                                     \
        out_type *to = s->to;                                                                      \
        in_type x[SPAN_BLOCK], y[SPAN_BLOCK];                                                      \
        int64_t left = s->mode ? s->n : 0;                                                         \
        int k;                                                                                     \
                                                                                                   \
        for (; left >= SPAN_BLOCK; left -= SPAN_BLOCK, to += SPAN_BLOCK) {                         \
            int far = 0;                                                                           \
            for (k = 0; k < SPAN_BLOCK; k++)                                                       \
                x[k] = p[k * s->step[0]];                                                          \
            for (k = 0; k < SPAN_BLOCK; k++)                                                       \
                y[k] = q[k * s->step[1]];                                                          \
            for (k = 0; k < SPAN_BLOCK; k++)                                                       \
                far |= !(fabsf(x[k] / y[k]) < 0x1p26f) | !(fabsf(y[k]) < INFINITY);                \
            part.in[0] = p;                                                                        \
            part.in[1] = q;                                                                        \
            part.to = to;                                                                          \
            part.n = SPAN_BLOCK;                                                                   \
            if (far) {                                                                             \
                span_##op##_each_##from(&part);                                                    \
            } else {                                                                               \
                for (k = 0; k < SPAN_BLOCK; k++) {                                                 \
                    const double a = x[k], b = y[k], n = (int32_t)(a / b);                         \
                    to[k] = (out_type)copysign(a - n * b, a);                                      \
                }                                                                                  \
            }                                                                                      \
            p += s->step[0] * SPAN_BLOCK;                                                          \
            q += s->step[1] * SPAN_BLOCK;                                                          \
        }                                                                                          \
        part.in[0] = p;                                                                            \
        part.in[1] = q;                                                                            \
        part.to = to;                                                                              \
        part.n = s->mode ? left : s->n;                                                            \
        span_##op##_each_##from(&part);                                                            \
    }

/* `left` has all bits or none; no choice, which compilers would make a jump. */
#define SHIFTED(bits)                                                                              \
    static inline uint##bits##_t shifted_##bits(uint##bits##_t x, uint##bits##_t y,                \
                                                uint##bits##_t left)                               \
    {                                                                                              \
        const uint##bits##_t by = y & (bits - 1), any = (uint##bits##_t)(0 - (y < bits));          \
        return ((uint##bits##_t)(x << by) & left & any) |                                          \
               ((uint##bits##_t)(x >> by) & ~left & any);                                          \
    }
SHIFTED(8)
SHIFTED(16)
SHIFTED(32)
SHIFTED(64)

/* Small whole exponents are what models have. */
static inline float power(float x, float y)
{
    return y == 2.0f ? x * x : y == 1.0f ? x : y == 0.5f && x > 0.0f ? sqrtf(x) : powf(x, y);
}

/*
 * In double, rounded once, of 64 numbers at a time; where one of them is beyond what the formula is
 * for, by the C library.
 */
typedef struct function_of {
    double (*exactly)(double x);
    float most;
} function_of;

static const function_of sine_of = {sin, 0x1p19f}, cosine_of = {cos, 0x1p19f};

/* r - r^3 / 3! + ... up to a quarter of a turn, below 1e-11 of it */
static inline double sine_near(double r)
{
    const double q = r * r;
    double p = -1.0 / 1307674368000.0;

    p = p * q + 1.0 / 6227020800.0;
    p = p * q - 1.0 / 39916800.0;
    p = p * q + 1.0 / 362880.0;
    p = p * q - 1.0 / 5040.0;
    p = p * q + 1.0 / 120.0;
    p = p * q - 1.0 / 6.0;
    return r + r * q * p;
}

#define HALF_TURN      3.14159265160560607910 /* 33 bits of pi, and the rest */
#define HALF_TURN_REST 1.98418714791870343106e-9

/* x - n pi, turned about for odd n. Adding 1.5 2^52 leaves n in the low bits. */
static inline double sine(double x)
{
    const double shifted = x * 0.31830988618379067154 + 0x1.8p52, n = shifted - 0x1.8p52;
    uint64_t bits;
    double r = sine_near(x - n * HALF_TURN - n * HALF_TURN_REST);

    memcpy(&bits, &shifted, sizeof bits);
    return bits & 1 ? -r : r;
}

static inline double cosine(double x)
{
    const double shifted = x * 0.31830988618379067154 - 0.5 + 0x1.8p52;
    const double n = shifted - 0x1.8p52 + 0.5;
    uint64_t bits;
    double r = sine_near(x - n * HALF_TURN - n * HALF_TURN_REST);

    memcpy(&bits, &shifted, sizeof bits);
    return bits & 1 ? r : -r;
}

/* x = 2^e m, m within a root of 2 of 1; log m = 2 (f + f^3 / 3 + ...), f = (m - 1) / (m + 1) */
static inline double logarithm(double x)
{
    uint64_t bits, high;
    double e, m, half, f, q, p, infinite, zero, below;

    memcpy(&bits, &x, sizeof bits);
    high = bits >> 52 | 0x4330000000000000u;
    memcpy(&e, &high, sizeof e);
    bits = (bits & 0xfffffffffffffu) | 0x3ff0000000000000u;
    memcpy(&m, &bits, sizeof m);
    e -= 0x1p52 + 1023.0;
    half = m > 1.41421356237309504880 ? 0.5 : 0.0; /* no sum in a choice: it might trap */
    e += 2.0 * half;
    m -= half * m;
    f = (m - 1.0) / (m + 1.0);
    q = f * f;
    p = 2.0 / 13.0;
    p = p * q + 2.0 / 11.0;
    p = p * q + 2.0 / 9.0;
    p = p * q + 2.0 / 7.0;
    p = p * q + 2.0 / 5.0;
    p = p * q + 2.0 / 3.0;
    p = e * 0.69314718055994530942 + (2.0 * f + f * q * p);
    /* sums of choices between numbers, one by one: of a chain of them compilers make jumps */
    infinite = x == (double)INFINITY ? (double)INFINITY : 0.0;
    zero = x == 0.0 ? -(double)INFINITY : 0.0;
    below = x >= 0.0 ? 0.0 : (double)NAN;
    return p + infinite + zero + below;
}

#include "isa_functions.h"

#define CALCULATED(op, from, in_type, result, out_type, function)                                  \
    static void span_##op##_##from(const native_span *s)                                           \
    {                                                                                              \
        const in_type *p = s->in[0];                                                               \
        out_type *to = s->to;                                                                      \
        in_type block[SPAN_BLOCK];                                                                 \
        int64_t at, n;                                                                             \
        int k, beyond;                                                                             \
                                                                                                   \
        for (at = 0; at < s->n; at += n) {                                                         \
            n = s->n - at < SPAN_BLOCK ? s->n - at : SPAN_BLOCK;                                   \
            for (k = 0; k < SPAN_BLOCK; k++)                                                       \
                block[k] = 1;                                                                      \
            memcpy(block, p + at, (size_t)n * sizeof *p);                                          \
            for (beyond = 0, k = 0; k < SPAN_BLOCK; k++)                                           \
                beyond |= fabsf(block[k]) > function##_of.most;                                    \
            if (beyond) {                                                                          \
                for (k = 0; k < SPAN_BLOCK; k++)                                                   \
                    block[k] = (out_type)function##_of.exactly(block[k]);                          \
            } else {                                                                               \
                for (k = 0; k < SPAN_BLOCK; k++)                                                   \
                    block[k] = (out_type)function(block[k]);                                       \
            }                                                                                      \
            memcpy(to + at, block, (size_t)n * sizeof *to);                                        \
        }                                                                                          \
    }

/* By vectors of floats. */
#define VECTORS(op, from, in_type, result, out_type, function)                                     \
    static void span_##op##_##from(const native_span *s)                                           \
    {                                                                                              \
        const float *x = s->in[0];                                                                 \
        float *to = s->to;                                                                         \
        int64_t i;                                                                                 \
                                                                                                   \
        for (i = 0; i + LANES <= s->n; i += LANES)                                                 \
            V_STORE(to + i, function(V_LOAD(x + i)));                                              \
        if (i < s->n)                                                                              \
            V_STORE_SOME(to + i, s->n - i, function(V_LOAD_SOME(x + i, s->n - i)));                \
    }

/* By vectors of float64. */
#define ROOTS(op, from, in_type, result, out_type, function)                                       \
    static void span_##op##_##from(const native_span *s)                                           \
    {                                                                                              \
        const in_type *x = s->in[0];                                                               \
        out_type *to = s->to;                                                                      \
        int64_t i;                                                                                 \
                                                                                                   \
        for (i = 0; i + LANES / 2 <= s->n; i += LANES / 2)                                         \
            V_ROOTS(to + i, x + i);                                                                \
        for (; i < s->n; i++)                                                                      \
            to[i] = function(x[i]);                                                                \
    }

/* Exponents that need no logarithm, and none at all. */
static inline bool is_easy(float y)
{
    return y == 2.0f || y == 1.0f || y == 0.5f || !(fabsf(y) < INFINITY);
}

/* Of 64 at a time, one of each operand or all different. */
static void powers_of(const float *x, int x_step, const float *y, int y_step, int64_t n, float *to)
{
    float block[SPAN_BLOCK], exponents[SPAN_BLOCK];
    int64_t at, some;
    int k, beyond;

    for (at = 0; at < n; at += some) {
        some = n - at < SPAN_BLOCK ? n - at : SPAN_BLOCK;
        for (k = 0; k < SPAN_BLOCK; k++) {
            block[k] = *x;
            exponents[k] = *y;
        }
        if (x_step)
            memcpy(block, x + at, (size_t)some * sizeof *x);
        if (y_step)
            memcpy(exponents, y + at, (size_t)some * sizeof *y);
        for (beyond = 0, k = 0; k < SPAN_BLOCK; k++)
            beyond |=
                !(block[k] > 0.0f) | !(block[k] < INFINITY) | !(fabsf(exponents[k]) < INFINITY);
        if (!y_step && *y == 3.0f)
            for (k = 0; k < SPAN_BLOCK; k++)
                block[k] = (float)((double)block[k] * block[k] * block[k]);
        else if (!beyond)
            for (k = 0; k < SPAN_BLOCK; k++)
                block[k] = (float)power_of(block[k], exponents[k]);
        else
            for (k = 0; k < SPAN_BLOCK; k++)
                block[k] = power(block[k], exponents[k]);
        memcpy(to + at, block, (size_t)some * sizeof *to);
    }
}

#define POWERS(op, from, in_type, result, out_type, value)                                         \
    BINARY(op##_each, from, in_type, result, out_type, value)                                      \
    static void span_##op##_##from(const native_span *s)                                           \
    {                                                                                              \
        const in_type *y = s->in[1];                                                               \
                                                                                                   \
        if (s->step[1] || !is_easy(*y))                                                            \
            powers_of(s->in[0], s->step[0], y, s->step[1], s->n, s->to);                           \
        else                                                                                       \
            span_##op##_each_##from(s);                                                            \
    }

#include "isa_elementwise_list.h"

#define SPAN_FUNCTION(kind, op, from, in_type, result, out_type, value)                            \
    kind(op, from, in_type, result, out_type, value)
NATIVE_ELEMENTWISE_LIST(SPAN_FUNCTION)

#include "isa_cast.h"

#define FOLDS_UNARY      false
#define FOLDS_BINARY     false
#define FOLDS_FOLD       true
#define FOLDS_CHOICE     false
#define FOLDS_BOUNDED    false
#define FOLDS_INFINITE   false
#define FOLDS_SUM        false
#define FOLDS_CALCULATED false
#define FOLDS_VECTORS    false
#define FOLDS_POWERS     false
#define FOLDS_QUOTIENT   false
#define FOLDS_REST       false
#define FOLDS_PRECISE    false
#define FOLDS_ROOTS      false
#define SPAN_ROW(kind, op, from, in_type, result, out_type, value)                                 \
    {#op, TFR_DTYPE_##from, TFR_DTYPE_##result, FOLDS_##kind, span_##op##_##from},

static const native_elementwise elementwise_rows[] = {
    NATIVE_ELEMENTWISE_LIST(SPAN_ROW) CAST_ROWS{NULL, 0, 0, false, NULL},
};
