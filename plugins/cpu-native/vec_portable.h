/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vec_portable.h: vectors of four, which every compiler turns into what the architecture has: SSE2
 * on any x86-64, NEON on arm64, plain arithmetic elsewhere. vec.h says what it defines.
 */
#if !defined(__GNUC__)
#error "this compiler has no vector types"
#endif

#include <math.h>

#define LANES 4
typedef float vec __attribute__((vector_size(16)));
typedef int32_t vec_bits __attribute__((vector_size(16)));
typedef uint32_t vec_shifted __attribute__((vector_size(16)));

static inline vec v_all(float x)
{
    return (vec){x, x, x, x};
}

static inline vec v_load(const float *p)
{
    vec x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}

static inline void v_store(float *p, vec x)
{
    __builtin_memcpy(p, &x, sizeof x);
}

static inline vec v_select(vec_bits mask, vec yes, vec no)
{
    return (vec)(((vec_bits)yes & mask) | ((vec_bits)no & ~mask));
}

static inline vec_bits v_load_halves(const uint16_t *p)
{
    uint16_t q[LANES];
    __builtin_memcpy(q, p, sizeof q);
    return (vec_bits){q[0], q[1], q[2], q[3]};
}

/* The product moves the exponent, and makes normal numbers of subnormal ones. */
static inline vec v_load_f16(const uint16_t *p)
{
    const vec_bits half = v_load_halves(p), magnitude = (half & 0x7fff) << 13;
    const vec x =
        v_select(magnitude >= 0x0f800000, (vec)(magnitude | 0x7f800000), (vec)magnitude * 0x1p112f);
    return (vec)((vec_bits)x | (half & 0x8000) << 16);
}

static inline vec v_load_bf16(const uint16_t *p)
{
    return (vec)(v_load_halves(p) << 16);
}

static inline vec v_sign(vec x, vec y)
{
    return (vec)(((vec_bits)x & 0x7fffffff) | ((vec_bits)y & (vec_bits)v_all(-0.0f)));
}

/* Adding 1.5 * 2^23 rounds to an integer. */
static inline vec v_round(vec x)
{
    const vec magic = v_all(12582912.0f);
    return x + magic - magic;
}

static inline vec v_power_of_2(vec_bits n)
{
    return (vec)((n + 127) << 23);
}

/* In two steps, so that results may be subnormal. */
static inline vec v_scale(vec x, vec n)
{
    const vec_bits whole = __builtin_convertvector(n, vec_bits), half = whole >> 1;
    return x * v_power_of_2(half) * v_power_of_2(whole - half);
}

static inline vec v_parts(vec x, vec *n)
{
    const vec_shifted bits = (vec_shifted)x;
    const vec_bits whole = (vec_bits)(bits - 0x3f3504f3) >> 23;

    *n = __builtin_convertvector(whole, vec);
    return (vec)(bits - ((vec_shifted)whole << 23));
}

static inline vec v_sqrt(vec x)
{
    return (vec){__builtin_sqrtf(x[0]), __builtin_sqrtf(x[1]), __builtin_sqrtf(x[2]),
                 __builtin_sqrtf(x[3])};
}

static inline void v_roots(double *to, const double *from)
{
    int i;

    for (i = 0; i < LANES / 2; i++)
        to[i] = sqrt(from[i]);
}

static inline float v_greatest(vec v)
{
    const float a = v[0] > v[2] ? v[0] : v[2], b = v[1] > v[3] ? v[1] : v[3];
    return a > b ? a : b;
}

static inline bool v_has_nan(vec v)
{
    const vec_bits nan = v != v;
    return nan[0] || nan[1] || nan[2] || nan[3];
}

/* n is from 1 to 3 where parts of vectors are asked for. */
static inline vec v_load_some(const float *p, int64_t n)
{
    return (vec){p[0], n > 1 ? p[1] : 0.0f, n > 2 ? p[2] : 0.0f, 0.0f};
}

static inline void v_store_some(float *p, int64_t n, vec v)
{
    p[0] = v[0];
    if (n > 1)
        p[1] = v[1];
    if (n > 2)
        p[2] = v[2];
}

static inline vec v_some_or(vec v, int64_t n, float x)
{
    return (vec){v[0], n > 1 ? v[1] : x, n > 2 ? v[2] : x, x};
}

#define V_ZERO()              v_all(0.0f)
#define V_ALL(x)              v_all(x)
#define V_LOAD(p)             v_load(p)
#define V_STORE(p, v)         v_store(p, v)
#define V_LOAD_F16(p)         v_load_f16(p)
#define V_LOAD_BF16(p)        v_load_bf16(p)
#define V_FMA(x, y, z)        ((x) * (y) + (z))
#define V_FNMA(x, y, z)       ((z) - (x) * (y))
#define V_ADD(x, y)           ((x) + (y))
#define V_SUB(x, y)           ((x) - (y))
#define V_MUL(x, y)           ((x) * (y))
#define V_DIV(x, y)           ((x) / (y))
#define V_MAX(x, y)           v_select((vec_bits)((x) > (y)), x, y)
#define V_MIN(x, y)           v_select((vec_bits)((x) < (y)), x, y)
#define V_ABS(x)              ((vec)((vec_bits)(x)&0x7fffffff))
#define V_ROUND(x)            v_round(x)
#define V_LESS(x, y, a, b)    v_select((vec_bits)((x) < (y)), a, b)
#define V_NAN_OF(a, b, x)     ((vec)((vec_bits)(x) | ((a) != (a)) | ((b) != (b))))
#define V_SIGN(x, y)          v_sign(x, y)
#define V_POWER_OF_SHIFTED(x) ((vec)(((vec_shifted)(x) << 23) + 0x3f800000u))
#define V_SCALE(x, n)         v_scale(x, n)
#define V_SCALE_NORMAL(x, n)  ((x)*v_power_of_2(__builtin_convertvector(n, vec_bits)))
#define V_PARTS(x, n)         v_parts(x, n)
#define V_SQRT(x)             v_sqrt(x)
#define V_ROOTS(to, p)        v_roots(to, p)
#define V_SUM(v)              (((v)[0] + (v)[2]) + ((v)[1] + (v)[3]))
#define V_GREATEST(v)         v_greatest(v)
#define V_HAS_NAN(v)          v_has_nan(v)
#define V_LOAD_SOME(p, n)     v_load_some(p, n)
#define V_STORE_SOME(p, n, v) v_store_some(p, n, v)
/* the first n lanes of v, and zeros or others */
#define V_SOME_OR(v, n, x)   v_some_or(v, n, x)
#define V_LOAD_SOME_OF(v, n) v_some_or(v, n, 0.0f)
