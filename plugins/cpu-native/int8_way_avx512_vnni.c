/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_way_avx512_vnni.c: products of 8-bit integers with AVX512_VNNI: 64 products of uint8 by int8
 * a step, whose sums of 4 are exact in 32 bits. All but the tile's instructions is what other ways
 * share.
 */
#include "int8_way.h"

#if NATIVE_VNNI

#if defined(__clang__)
#include <immintrin.h>
#pragma clang attribute push(                                                                      \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,fma"))),                  \
    apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,fma")
#include <immintrin.h>
#endif

#define NR 32
#define HAS_BYTES
#define SUM_AVX2
#include "int8_finish.h"

typedef __m512i ivec;
#define MR             12
#define NV             2
#define LANES          16
#define GROUP_BYTES    64
#define I_ZERO()       _mm512_setzero_si512()
#define I_STORE(p, v)  _mm512_storeu_si512((__m512i *)(void *)(p), v)
#define I_GROUP(p)     _mm512_loadu_si512((const __m512i *)(const void *)(p))
#define I_DOT(s, a, b) _mm512_dpbusd_epi32(s, a, b)
#define I_KEEP(x)      __asm__("" : "+v"(x))

static inline __m512i all_of(const uint8_t *p)
{
    int32_t group;

    memcpy(&group, p, sizeof group);
    return _mm512_set1_epi32(group);
}
#define I_ALL(p) all_of(p)

#include "int8_tile.h"

const native_int8_way native_int8_way_avx512_vnni = {
    .name = "avx512 vnni",
    .mr = MR,
    .nr = NR,
    .tile = tile,
    .finish = finish,
    .take = take_bytes,
    .sum = sum_bytes,
};

#include "vec_end.h"
#else
typedef int native_no_int8_way_avx512_vnni; /* C wants one declaration in a file */
#endif
