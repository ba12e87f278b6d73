/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vec_avx512.h: AVX-512: 32 registers of 16 lanes. vec.h says what all of these headers define. It
 * begins code for these instructions, which ends where the file that includes it has vec_end.h.
 */
#if defined(__clang__)
#include <immintrin.h>
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,fma"))),    \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,fma")
#include <immintrin.h>
#endif

#define LANES 16
typedef __m512 vec;

#define V_ZERO()      _mm512_setzero_ps()
#define V_ALL(x)      _mm512_set1_ps(x)
#define V_LOAD(p)     _mm512_loadu_ps(p)
#define V_STORE(p, v) _mm512_storeu_ps(p, v)
/* of float16 and bfloat16 */
#define V_HALVES(p)   _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define V_LOAD_F16(p) _mm512_cvtph_ps(V_HALVES(p))
#define V_STORE_F16(p, v)                                                                          \
    _mm256_storeu_si256((__m256i *)(void *)(p), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT))
#define V_LOAD_BF16(p)                                                                             \
    _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(V_HALVES(p)), 16))
#define V_FMA(x, y, z)  _mm512_fmadd_ps(x, y, z)
#define V_FNMA(x, y, z) _mm512_fnmadd_ps(x, y, z)
#define V_ADD(x, y)     _mm512_add_ps(x, y)
#define V_SUB(x, y)     _mm512_sub_ps(x, y)
#define V_MUL(x, y)     _mm512_mul_ps(x, y)
#define V_DIV(x, y)     _mm512_div_ps(x, y)
#define V_SQRT(x)       _mm512_sqrt_ps(x)
#define V_ROOTS(to, p)  _mm512_storeu_pd(to, _mm512_sqrt_pd(_mm512_loadu_pd(p)))
/* a NaN in the second operand stays */
#define V_MAX(x, y) _mm512_max_ps(x, y)
#define V_MIN(x, y) _mm512_min_ps(x, y)
#define V_ABS(x)    _mm512_abs_ps(x)
#define V_ROUND(x)  _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
/* x < y ? a : b */
#define V_LESS(x, y, a, b) _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, y, _CMP_LT_OQ), b, a)
/* x, but NaN where a or b is */
#define V_NAN_OF(a, b, x) _mm512_mask_add_ps(x, _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q), a, b)
/* x with the sign of y */
#define V_SIGN(x, y)                                                                               \
    _mm512_castsi512_ps(_mm512_ternarylogic_epi32(_mm512_set1_epi32((int)0x80000000u),             \
                                                  _mm512_castps_si512(y), _mm512_castps_si512(x),  \
                                                  0xca))
/* x * 2^n for whole n */
#define V_POWER_OF_SHIFTED(x)                                                                      \
    _mm512_castsi512_ps(_mm512_add_epi32(_mm512_slli_epi32(_mm512_castps_si512(x), 23),            \
                                         _mm512_set1_epi32(0x3f800000)))
#define V_SCALE(x, n)         _mm512_scalef_ps(x, n)
#define V_SCALE_NORMAL(x, n)  _mm512_scalef_ps(x, n)
#define V_PARTS(x, n)         v_parts(x, n)
#define V_SUM(v)              _mm512_reduce_add_ps(v)
#define V_GREATEST(v)         _mm512_reduce_max_ps(v)
#define V_HAS_NAN(v)          (_mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q) != 0)
#define V_LOAD_SOME(p, n)     _mm512_maskz_loadu_ps((__mmask16)((1u << (n)) - 1), p)
#define V_STORE_SOME(p, n, v) _mm512_mask_storeu_ps(p, (__mmask16)((1u << (n)) - 1), v)
/* the first n lanes of v, and zeros or others */
#define V_SOME_OR(v, n, x) _mm512_mask_blend_ps((__mmask16)((1u << (n)) - 1), _mm512_set1_ps(x), v)
#define V_LOAD_SOME_OF(v, n) _mm512_maskz_mov_ps((__mmask16)((1u << (n)) - 1), v)

static inline vec v_parts(vec x, vec *n)
{
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i whole =
        _mm512_srai_epi32(_mm512_sub_epi32(bits, _mm512_set1_epi32(0x3f3504f3)), 23);

    *n = _mm512_cvtepi32_ps(whole);
    return _mm512_castsi512_ps(_mm512_sub_epi32(bits, _mm512_slli_epi32(whole, 23)));
}
