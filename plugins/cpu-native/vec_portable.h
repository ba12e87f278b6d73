/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vec_portable.h: vectors of four, which every compiler turns into what the architecture has: SSE2
 * on any x86-64, NEON on arm64, plain arithmetic elsewhere. vec.h says what it defines; it has no
 * parts of vectors, as only products use it.
 */
#if !defined(__GNUC__)
#error "this compiler has no vector types"
#endif

#define LANES 4
typedef float vec __attribute__((vector_size(16)));
typedef int32_t vec_bits __attribute__((vector_size(16)));

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

#define V_ZERO()           v_all(0.0f)
#define V_ALL(x)           v_all(x)
#define V_LOAD(p)          v_load(p)
#define V_STORE(p, v)      v_store(p, v)
#define V_FMA(x, y, z)     ((x) * (y) + (z))
#define V_FNMA(x, y, z)    ((z) - (x) * (y))
#define V_ADD(x, y)        ((x) + (y))
#define V_SUB(x, y)        ((x) - (y))
#define V_MUL(x, y)        ((x) * (y))
#define V_DIV(x, y)        ((x) / (y))
#define V_MAX(x, y)        v_select((vec_bits)((x) > (y)), x, y)
#define V_MIN(x, y)        v_select((vec_bits)((x) < (y)), x, y)
#define V_ABS(x)           ((vec)((vec_bits)(x)&0x7fffffff))
#define V_ROUND(x)         v_round(x)
#define V_LESS(x, y, a, b) v_select((vec_bits)((x) < (y)), a, b)
#define V_SIGN(x, y)       v_sign(x, y)
#define V_SCALE(x, n)      v_scale(x, n)
