/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vec_avx2.h: AVX2 with FMA and F16C: 16 registers of 8 lanes. vec.h says what these headers
 * define. It begins code for these instructions, which ends where the file that includes it has
 * vec_end.h.
 */
#if defined(__clang__)
#include <immintrin.h>
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c")
#include <immintrin.h>
#endif

#define LANES 8
typedef __m256 vec;

#define V_ZERO()      _mm256_setzero_ps()
#define V_ALL(x)      _mm256_set1_ps(x)
#define V_LOAD(p)     _mm256_loadu_ps(p)
#define V_STORE(p, v) _mm256_storeu_ps(p, v)
/* of float16 and bfloat16 */
#define V_LOAD_F16(p) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define V_STORE_F16(p, v)                                                                          \
    _mm_storeu_si128((__m128i *)(void *)(p), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT))
#define V_LOAD_BF16(p)  v_load_bf16(p)
#define V_FMA(x, y, z)  _mm256_fmadd_ps(x, y, z)
#define V_FNMA(x, y, z) _mm256_fnmadd_ps(x, y, z)
#define V_ADD(x, y)     _mm256_add_ps(x, y)
#define V_SUB(x, y)     _mm256_sub_ps(x, y)
#define V_MUL(x, y)     _mm256_mul_ps(x, y)
#define V_DIV(x, y)     _mm256_div_ps(x, y)
#define V_SQRT(x)       _mm256_sqrt_ps(x)
#define V_ROOTS(to, p)  _mm256_storeu_pd(to, _mm256_sqrt_pd(_mm256_loadu_pd(p)))
/* a NaN in the second operand stays */
#define V_MAX(x, y) _mm256_max_ps(x, y)
#define V_MIN(x, y) _mm256_min_ps(x, y)
#define V_ABS(x)    _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x)
#define V_ROUND(x)  _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
/* x < y ? a : b */
#define V_LESS(x, y, a, b) _mm256_blendv_ps(b, a, _mm256_cmp_ps(x, y, _CMP_LT_OQ))
/* x, but NaN where a or b is */
#define V_NAN_OF(a, b, x) _mm256_or_ps(x, _mm256_cmp_ps(a, b, _CMP_UNORD_Q))
/* x with the sign of y */
#define V_SIGN(x, y) _mm256_or_ps(_mm256_and_ps(_mm256_set1_ps(-0.0f), y), V_ABS(x))

static inline vec v_load_bf16(const uint16_t *p)
{
    const __m128i bits = _mm_loadu_si128((const __m128i *)(const void *)p);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}

static const int32_t some_lanes[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

static inline __m256i some_mask(int64_t n)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)(some_lanes + 8 - n));
}

/* 2^n for whole n in [-126, 127], infinity for 128 */
static inline vec power_of_2(__m256i n)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}

/* x * 2^n for whole n in [-252, 254], in two steps, so that results may be subnormal. */
static inline vec v_scale(vec x, vec n)
{
    __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1);
    return V_MUL(V_MUL(x, power_of_2(half)), power_of_2(_mm256_sub_epi32(whole, half)));
}
static inline vec v_power_of_shifted(vec x)
{
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_slli_epi32(_mm256_castps_si256(x), 23),
                                                _mm256_set1_epi32(0x3f800000)));
}
#define V_POWER_OF_SHIFTED(x) v_power_of_shifted(x)
#define V_SCALE(x, n)         v_scale(x, n)
#define V_SCALE_NORMAL(x, n)  V_MUL(x, power_of_2(_mm256_cvtps_epi32(n)))

static inline vec v_parts(vec x, vec *n)
{
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i whole =
        _mm256_srai_epi32(_mm256_sub_epi32(bits, _mm256_set1_epi32(0x3f3504f3)), 23);

    *n = _mm256_cvtepi32_ps(whole);
    return _mm256_castsi256_ps(_mm256_sub_epi32(bits, _mm256_slli_epi32(whole, 23)));
}
#define V_PARTS(x, n) v_parts(x, n)

static inline float v_sum(vec v)
{
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}

static inline float v_greatest(vec v)
{
    __m128 x = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
}
/* The first n lanes, up to all: in parts, as processors of AMD write masked ones slowly. */
static inline void v_store_some(float *p, int64_t n, vec v)
{
    __m128 part = _mm256_castps256_ps128(v);

    if (n >= LANES) {
        V_STORE(p, v);
        return;
    }
    if (n & 4) {
        _mm_storeu_ps(p, part);
        part = _mm256_extractf128_ps(v, 1);
        p += 4;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)(void *)p, part);
        part = _mm_movehl_ps(part, part);
        p += 2;
    }
    if (n & 1)
        _mm_store_ss(p, part);
}
#define V_SUM(v)              v_sum(v)
#define V_GREATEST(v)         v_greatest(v)
#define V_HAS_NAN(v)          (_mm256_movemask_ps(_mm256_cmp_ps(v, v, _CMP_UNORD_Q)) != 0)
#define V_LOAD_SOME(p, n)     _mm256_maskload_ps(p, some_mask(n))
#define V_STORE_SOME(p, n, v) v_store_some(p, n, v)
/* the first n lanes of v, and zeros or others */
#define V_SOME_OR(v, n, x) _mm256_blendv_ps(_mm256_set1_ps(x), v, _mm256_castsi256_ps(some_mask(n)))
#define V_LOAD_SOME_OF(v, n) V_SOME_OR(v, n, 0.0f)
