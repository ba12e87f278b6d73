/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_tile.h: the register tile of the strict products and the packing for it, written once for
 * every vector length. An ISA's file includes its vec_X.h, defines MR and NV, the rows and vectors
 * of the tile, and then includes this; NR = NV * LANES.
 *
 * A packed panel of A is [K / 16][rows][16]: a row of 16 is one line of the cache, copied as it is,
 * and an element is at a constant distance from a pointer that moves by one element for each k. A
 * packed panel of B is [K][NR], padded with zeros.
 *
 * The tile keeps MR x NV accumulators in registers, takes NV vectors of B and one broadcast element
 * of A after the other: NV + MR loads for MR * NV multiplications. It is bound by the latter while
 * A lies in the first cache and B in the second.
 */
#ifndef NATIVE_GEMM_TILE_H
#define NATIVE_GEMM_TILE_H

#include <string.h>

#include "gemm_isa.h"

#define NR    (NV * LANES)
#define K_ROW 16 /* k of a row of a packed panel of A */

#if defined(__clang__)
#define UNROLL_ALL _Pragma("clang loop unroll(full)")
#define UNROLL_TWO _Pragma("clang loop unroll_count(2)")
#else
#define UNROLL_ALL _Pragma("GCC unroll 16")
#define UNROLL_TWO _Pragma("GCC unroll 2")
#endif
#ifndef UNROLL_K /* of the 16 k between fetches */
#define UNROLL_K UNROLL_TWO
#endif

/* Far enough for the second cache: B comes 24 k ahead of its use. */
#define B_AHEAD 24

/*
 * With LEAN, tiles of packed B leave to the processor what it fetches by itself: panels that are
 * read from front to back. Where instructions are what a core has least of, as when it runs those
 * of another thread in between, each of them costs; see gemm_avx2.c.
 */
#ifndef LEAN
#define LEAN false
#endif
#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE void prefetch_row_of_c(const float *c)
{
    int i;

    UNROLL_ALL
    for (i = 0; i < NR; i += 16)
        __builtin_prefetch(c + i, 1, 3);
    __builtin_prefetch(c + NR - 1, 1, 3); /* rows may begin inside of a line */
}

ALWAYS_INLINE void prefetch_lines(native_prefetch *p)
{
    int i;

    for (i = 0; i < p->n; i++)
        __builtin_prefetch(p->at + i * p->step, 0, 2);
    p->at += 64;
}

ALWAYS_INLINE void prefetch_next(const native_gemm_tile *t, const bool lean, native_prefetch *a,
                                 native_prefetch *b, const float **c, const float *c_end)
{
    if (!lean && *c < c_end) {
        prefetch_row_of_c(*c);
        *c += t->ldc;
    }
    if (!lean)
        prefetch_lines(a);
    if (!lean || b->n > 0)
        prefetch_lines(b);
}

/* Lines of 16 k of rows of A, which lie lda apart, as they come in a packed panel. */
ALWAYS_INLINE void copy_lines(const int rows, const float *from, int64_t lda, float *to)
{
    int i;

    UNROLL_ALL
    for (i = 0; i < rows; i++)
        memcpy(to + i * K_ROW, from + i * lda, K_ROW * sizeof(float));
}

/* The last k of rows, fewer than 16, and zeros. */
static inline void copy_rest(int rows, const float *from, int64_t lda, int n, float *to)
{
    int i;

    for (i = 0; i < rows; i++) {
        memset(to + i * K_ROW, 0, K_ROW * sizeof(float));
        memcpy(to + i * K_ROW, from + i * lda, (size_t)n * sizeof(float));
    }
}

/* n rows of a panel of B. */
ALWAYS_INLINE void copy_b(const int nv, const float *from, int64_t step, int n, float *to)
{
    int j, k;

    for (k = 0; k < n; k++) {
        UNROLL_ALL
        for (j = 0; j < nv; j++)
            V_STORE(to + k * NR + j * LANES, V_LOAD(from + k * step + j * LANES));
    }
}

/* One k. rows, nv and lean are constants where it is inlined. */
ALWAYS_INLINE void step_of(const int rows, const int nv, const bool lean, const float *a,
                           const float *b, int64_t ahead, vec sum[MR][NV])
{
    vec y[NV];
    int i, j;

    UNROLL_ALL
    for (j = 0; j < nv; j++) {
        y[j] = V_LOAD(b + j * LANES);
        if (!lean && j * LANES % 16 == 0) /* once for each line */
            __builtin_prefetch(b + ahead + j * LANES, 0, 3);
    }
    UNROLL_ALL
    for (i = 0; i < rows; i++) {
        const vec x = V_ALL(a[i * K_ROW]);
        UNROLL_ALL
        for (j = 0; j < nv; j++)
            sum[i][j] = V_FMA(x, y[j], sum[i][j]);
    }
}

ALWAYS_INLINE void tile_of_step(const int rows, const int nv, const native_gemm_tile *t,
                                const int64_t step, const bool lean)
{
    const float *a = t->a, *b = t->b, *raw = t->raw_a, *next_c = t->next_c;
    float *packed_b = t->packed_b;
    const float *c_end = next_c ? next_c + MR * t->ldc : NULL;
    native_prefetch next_a = t->next_a, next_b = t->next_b;
    float edge[MR * NR];
    float *c = t->c;
    int64_t ldc = t->ldc, left;
    const int64_t ahead = B_AHEAD * step;
    vec sum[MR][NV];
    int i, j, kk;

    UNROLL_ALL
    for (i = 0; i < rows; i++) {
        UNROLL_ALL
        for (j = 0; j < nv; j++)
            sum[i][j] = V_ALL(0.0f);
    }
    for (i = 0; lean && next_c && i < MR; i++)
        prefetch_row_of_c(next_c + i * t->ldc);
    if (raw && t->k >= K_ROW)
        copy_lines(rows, raw, t->lda, (float *)a);
    for (left = t->k; left >= K_ROW; left -= K_ROW, a += rows * K_ROW) {
        prefetch_next(t, lean, &next_a, &next_b, &next_c, c_end);
        if (raw && left >= 2 * K_ROW) /* a round ahead of its use */
            copy_lines(rows, raw += K_ROW, t->lda, (float *)a + rows * K_ROW);
        if (packed_b) {
            copy_b(nv, b, step, K_ROW, packed_b);
            packed_b += K_ROW * NR;
        }
        UNROLL_K
        for (kk = 0; kk < K_ROW; kk++, b += step)
            step_of(rows, nv, lean, a + kk, b, ahead, sum);
    }
    if (raw && left > 0)
        copy_rest(rows, t->raw_a + t->k - left, t->lda, (int)left, (float *)a);
    if (packed_b)
        copy_b(nv, b, step, (int)left, packed_b);
    for (kk = 0; kk < left; kk++, b += step)
        step_of(rows, nv, lean, a + kk, b, ahead, sum);
    if (t->cols < nv * LANES) { /* computed in a tile of its own */
        c = edge;
        ldc = NR;
        if (t->accumulate)
            for (i = 0; i < rows; i++)
                memcpy(edge + i * NR, t->c + i * t->ldc, (size_t)t->cols * sizeof(float));
    }
    if (t->accumulate) {
        UNROLL_ALL
        for (i = 0; i < rows; i++) {
            UNROLL_ALL
            for (j = 0; j < nv; j++)
                sum[i][j] = V_ADD(sum[i][j], V_LOAD(c + i * ldc + j * LANES));
        }
    }
    UNROLL_ALL
    for (i = 0; i < rows; i++) {
        UNROLL_ALL
        for (j = 0; j < nv; j++)
            V_STORE(c + i * ldc + j * LANES, sum[i][j]);
    }
    if (c == edge)
        for (i = 0; i < rows; i++)
            memcpy(t->c + i * t->ldc, edge + i * NR, (size_t)t->cols * sizeof(float));
}

/* Packed B is at constant distances. */
ALWAYS_INLINE void tile_of(const int rows, const int nv, const native_gemm_tile *t)
{
    if (LEAN && t->b_step == NR)
        tile_of_step(rows, nv, t, NR, true);
    else
        tile_of_step(rows, nv, t, t->b_step, false);
}

/* ---- packing ---- */

static size_t panel_a_bytes(int64_t k)
{
    return (size_t)((k + K_ROW - 1) / K_ROW * K_ROW) * MR * sizeof(float);
}

static size_t panel_b_bytes(int64_t k)
{
    return (size_t)k * NR * sizeof(float);
}

/* A row that is dense is copied line by line. */
static void pack_a_rows(float *to, const native_source *a)
{
    const int64_t whole = a->k / K_ROW;
    int64_t i, line;

    for (line = 0; line < whole; line++)
        for (i = 0; i < a->n; i++)
            memcpy(to + (line * a->n + i) * K_ROW, a->at + i * a->major_step + line * K_ROW,
                   K_ROW * sizeof(float));
    for (i = 0; i < a->n && a->k % K_ROW; i++) {
        float *row = to + (whole * a->n + i) * K_ROW;
        memset(row, 0, K_ROW * sizeof(float));
        memcpy(row, a->at + i * a->major_step + whole * K_ROW,
               (size_t)(a->k % K_ROW) * sizeof(float));
    }
}

static void pack_a_any(float *to, const native_source *a)
{
    int64_t i, k;

    for (k = 0; k < a->k; k++)
        for (i = 0; i < a->n; i++)
            to[(k / K_ROW * a->n + i) * K_ROW + k % K_ROW] =
                a->at[i * a->major_step + k * a->k_step];
}

/* Dense rows of B, read one after the other. */
static void pack_b_rows(float *to, const native_source *b)
{
    const int64_t panel = b->k * NR, whole = b->n / NR, rest = b->n % NR;
    int64_t k, p;

    for (k = 0; k < b->k; k++) {
        const float *from = b->at + k * b->k_step;
        for (p = 0; p < whole; p++) {
            float *x = to + p * panel + k * NR;
            int j;
            UNROLL_ALL
            for (j = 0; j < NV; j++)
                V_STORE(x + j * LANES, V_LOAD(from + p * NR + j * LANES));
        }
        if (rest) {
            float *x = to + whole * panel + k * NR;
            memcpy(x, from + whole * NR, (size_t)rest * sizeof(float));
            memset(x + rest, 0, (size_t)(NR - rest) * sizeof(float));
        }
    }
}

static void pack_b_any(float *to, const native_source *b)
{
    int64_t j, k;

    for (j = 0; j < b->n; j += NR, to += b->k * NR) {
        const int64_t n = b->n - j < NR ? b->n - j : NR;
        const float *from = b->at + j * b->major_step;
        int64_t i;
        for (k = 0; k < b->k; k++) {
            for (i = 0; i < n; i++)
                to[k * NR + i] = from[i * b->major_step + k * b->k_step];
            for (; i < NR; i++)
                to[k * NR + i] = 0.0f;
        }
    }
}

#endif
