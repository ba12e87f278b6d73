/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_way_avx_vnni.c: products of 8-bit integers with AVX-VNNI: 32 products of uint8 by int8 a
 * step, whose sums of 4 are exact in 32 bits. All but the tile's instructions is what other ways
 * share.
 */
#include "int8_way.h"

#if NATIVE_VNNI

#if defined(__clang__)
#include <immintrin.h>
#pragma clang attribute push(__attribute__((target("avx2,fma,avxvnni"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,avxvnni")
#include <immintrin.h>
#endif

#define NR 16
#define HAS_BYTES
#define SUM_AVX2
#define FINISH_AVX2
#include "int8_finish.h"

typedef __m256i ivec;
#define MR             6
#define NV             2
#define LANES          8
#define GROUP_BYTES    32
#define I_ZERO()       _mm256_setzero_si256()
#define I_STORE(p, v)  _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define I_GROUP(p)     _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define I_DOT(s, a, b) _mm256_dpbusd_avx_epi32(s, a, b)
#define I_KEEP(x)      __asm__("" : "+x"(x))

static inline __m256i all_of(const uint8_t *p)
{
    int32_t group;

    memcpy(&group, p, sizeof group);
    return _mm256_set1_epi32(group);
}
#define I_ALL(p) all_of(p)

#include "int8_tile.h"

const native_int8_way native_int8_way_avx_vnni = {
    .name = "avx vnni",
    .mr = MR,
    .nr = NR,
    .tile = tile,
    .finish = finish,
    .take = take_bytes,
    .sum = sum_bytes,
};

#include "vec_end.h"
#else
typedef int native_no_int8_way_avx_vnni; /* C wants one declaration in a file */
#endif
