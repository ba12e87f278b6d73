/* SPDX-License-Identifier: Apache-2.0 */
/* nbits_avx512.h: what nbits_loops.h wants with AVX-512, but for DOT and DOT_END. */
typedef __m512i ivec;
#define I_ZERO()    _mm512_setzero_si512()
#define I_LOAD(p)   _mm512_loadu_si512((const void *)(p))
#define I_SPLAT(p)  splat(p)
#define I_LOW(w)    _mm512_and_si512(w, _mm512_set1_epi8(15))
#define I_HIGH(w)   _mm512_and_si512(_mm512_srli_epi16(w, 4), _mm512_set1_epi8(15))
#define I_FLOATS(v) _mm512_cvtepi32_ps(v)
#define I_BYTES(p)  _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define NIBBLE      _mm512_set1_epi32(15)
#define PART(w, i)  _mm512_and_si512(_mm512_srli_epi32(w, 4u * (unsigned)(i)), NIBBLE)

static inline ivec splat(const void *p)
{
    int32_t x;

    __builtin_memcpy(&x, p, sizeof x);
    return _mm512_set1_epi32(x);
}
