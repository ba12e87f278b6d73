/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_avx2.c: strict products with AVX2 and FMA.
 *
 * A tile of 6 x 16 takes 12 of the 16 registers for sums, two for B, one for an element of A: 12
 * multiplications of 6 cycles against 8 loads of 4. A panel of A, 6 x 512 floats, is 12 KiB.
 */
#include "gemm_isa.h"

#if TFR_DNN_X86

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif

#include <immintrin.h>

enum { LANES = 8, NV = 2, MR = 6 };
typedef float vf __attribute__((vector_size(32)));

static inline __attribute__((always_inline)) vf vf_load(const float *p)
{
    return _mm256_loadu_ps(p);
}

static inline __attribute__((always_inline)) void vf_store(float *p, vf x)
{
    _mm256_storeu_ps(p, x);
}

static inline __attribute__((always_inline)) vf vf_splat(float x)
{
    return _mm256_set1_ps(x);
}

static inline __attribute__((always_inline)) vf vf_fma(vf a, vf b, vf c)
{
    return _mm256_fmadd_ps(a, b, c);
}

#include "gemm_epilogue.h"

TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)

static void avx2_tile(const tfr_dnn_gemm_tile *t)
{
    static const tile_fn tiles[2][MR] = {
        {narrow_1, narrow_2, narrow_3, narrow_4, narrow_5, narrow_6},
        {tile_1, tile_2, tile_3, tile_4, tile_5, tile_6}};

    tiles[t->cols > LANES][t->rows - 1](t);
}

static bool avx2_pack_a(void *to, const tfr_dnn_source *a)
{
    if (a->k_step == 1)
        pack_a_rows(to, a);
    else
        pack_a_any(to, a);
    return true;
}

static bool avx2_pack_b(void *to, const tfr_dnn_source *b)
{
    if (b->major_step == 1)
        pack_b_rows(to, b);
    else
        pack_b_any(to, b);
    return true;
}

const tfr_dnn_gemm_isa tfr_dnn_gemm_avx2 = {
    .name = "avx2",
    .mr = MR,
    .nr = NR,
    .kc = 512,
    .can_read_b = true,
    .a_bytes = panel_a_bytes,
    .b_bytes = panel_b_bytes,
    .pack_a = avx2_pack_a,
    .pack_b = avx2_pack_b,
    .tile = avx2_tile,
    .finish = finish_tile,
};

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
