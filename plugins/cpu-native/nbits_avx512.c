/* SPDX-License-Identifier: Apache-2.0 */
/* nbits_avx512.c: nbits_loops.h for AVX-512 without VNNI: the products of nbits_avx2.c. */
#include "nbits.h"

#if defined(__x86_64__)
#include "vec_avx512.h"

#include "nbits_avx512.h"

#define DOT(s, w, x)  dot_bytes(s, w, x)
#define DOT_END(t, s) _mm512_add_epi32(t, _mm512_madd_epi16(s, _mm512_set1_epi16(1)))

/* Compilers would add up products in another order, and keep all of them in memory for it. */
static inline ivec dot_bytes(ivec s, ivec w, ivec x)
{
    s = _mm512_add_epi16(s, _mm512_maddubs_epi16(w, x));
    __asm__("" : "+v"(s));
    return s;
}

#include "nbits_x86.h"

#define ISA_TABLE native_nbits_avx512
#define ISA_NAME  "avx512"

#include "nbits_loops.h"

#include "vec_end.h"
#else
typedef int native_no_nbits_avx512; /* C wants one declaration in a file */
#endif
