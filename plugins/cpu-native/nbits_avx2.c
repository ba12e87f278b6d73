/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nbits_avx2.c: nbits_loops.h for AVX2.
 *
 * A product of two bytes is at most 15 x 128 in absolute value, two of them are added in 16 bits,
 * so that sums of 8 such pairs, of 4 lines, still fit.
 */
#include "nbits.h"

#if defined(__x86_64__)
#include "vec_avx2.h"

typedef __m256i ivec;
#define I_ZERO()      _mm256_setzero_si256()
#define I_LOAD(p)     _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define I_SPLAT(p)    splat(p)
#define I_LOW(w)      _mm256_and_si256(w, _mm256_set1_epi8(15))
#define I_HIGH(w)     _mm256_and_si256(_mm256_srli_epi16(w, 4), _mm256_set1_epi8(15))
#define I_FLOATS(v)   _mm256_cvtepi32_ps(v)
#define I_BYTES(p)    _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(p)))
#define DOT(s, w, x)  dot_bytes(s, w, x)
#define DOT_END(t, s) _mm256_add_epi32(t, _mm256_madd_epi16(s, _mm256_set1_epi16(1)))
#define PART(w, i)    _mm256_and_si256(_mm256_srli_epi32(w, 4 * (i)), _mm256_set1_epi32(15))

static inline ivec splat(const void *p)
{
    int32_t x;

    __builtin_memcpy(&x, p, sizeof x);
    return _mm256_set1_epi32(x);
}

/* Compilers would add up products in another order, and keep all of them in memory for it. */
static inline ivec dot_bytes(ivec s, ivec w, ivec x)
{
    s = _mm256_add_epi16(s, _mm256_maddubs_epi16(w, x));
    __asm__("" : "+x"(s));
    return s;
}

#include "nbits_x86.h"

#define ISA_TABLE native_nbits_avx2
#define ISA_NAME  "avx2"

#include "nbits_loops.h"

#include "vec_end.h"
#else
typedef int native_no_nbits_avx2; /* C wants one declaration in a file */
#endif
