/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_portable.c: strict products in vectors of four, which every compiler turns into what the
 * architecture has: SSE2 on any x86-64, NEON on arm64, plain arithmetic elsewhere.
 *
 * A tile of 4 x 8 has 8 sums and 2 vectors of B: 16 registers are enough. A panel of A, 4 x 512
 * floats, is 8 KiB.
 */
#include "gemm_isa.h"

#if defined(__GNUC__)
#define LANES 4
#define NV    2
#define MR    4
typedef float vf __attribute__((vector_size(16)));

static inline __attribute__((always_inline)) vf vf_load(const float *p)
{
    vf x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}

static inline __attribute__((always_inline)) void vf_store(float *p, vf x)
{
    __builtin_memcpy(p, &x, sizeof x);
}

static inline __attribute__((always_inline)) vf vf_splat(float x)
{
    return (vf){x, x, x, x};
}

static inline __attribute__((always_inline)) vf vf_fma(vf a, vf b, vf c)
{
    return a * b + c;
}

#include "gemm_epilogue.h"

TILE(1)
TILE(2)
TILE(3)
TILE(4)

static void portable_tile(const tfr_dnn_gemm_tile *t)
{
    static const tile_fn tiles[2][MR] = {{narrow_1, narrow_2, narrow_3, narrow_4},
                                         {tile_1, tile_2, tile_3, tile_4}};

    tiles[t->cols > LANES][t->rows - 1](t);
}

static bool portable_pack_a(void *to, const tfr_dnn_source *a)
{
    if (a->k_step == 1)
        pack_a_rows(to, a);
    else
        pack_a_any(to, a);
    return true;
}

static bool portable_pack_b(void *to, const tfr_dnn_source *b)
{
    if (b->major_step == 1)
        pack_b_rows(to, b);
    else
        pack_b_any(to, b);
    return true;
}

const tfr_dnn_gemm_isa tfr_dnn_gemm_portable = {
    .name = "portable",
    .mr = MR,
    .nr = NR,
    .kc = 512,
    .can_read_b = true,
    .a_bytes = panel_a_bytes,
    .b_bytes = panel_b_bytes,
    .pack_a = portable_pack_a,
    .pack_b = portable_pack_b,
    .tile = portable_tile,
    .finish = finish_tile,
};
#else
#error "this compiler has no vector types"
#endif
