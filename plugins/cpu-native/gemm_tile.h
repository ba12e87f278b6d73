/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_tile.h: the register tile of the strict products and the packing for it, written once for
 * every vector length. An ISA's file includes its vec_X.h, defines MR and NV, the rows and vectors
 * of the tile, and then includes this; NR = NV * LANES.
 *
 * A packed panel of A is [K / K_ROW][rows][K_ROW]: with 16 a row is one line of the cache, copied
 * as it is, and an element is at a constant distance from a pointer that moves by one element for
 * each k. A packed panel of B is [K][NR], padded with zeros.
 *
 * The tile keeps MR x NV accumulators in registers, takes NV vectors of B and one broadcast element
 * of A after the other: NV + MR loads for MR * NV multiplications. It is bound by the latter while
 * A lies in the first cache and B in the second.
 */
#ifndef NATIVE_GEMM_TILE_H
#define NATIVE_GEMM_TILE_H

#include <string.h>

#include "gemm_isa.h"

#define NR (NV * LANES)
#ifndef K_ROW
#define K_ROW 16 /* k of a row of a packed panel of A, which divide PREFETCH_K */
#endif
#define PREFETCH_K 16 /* k between fetches */

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
/* Packing takes so many rows of B at a time, and fetches those that come so much later. */
#define B_ROWS       4
#define B_ROWS_AHEAD 16

/*
 * With SUM_PACKED, tiles of packed panels leave to the processor what it fetches by itself: panels
 * that are read from front to back. Where instructions are what a core has least of, as when it
 * runs those of another thread in between, each of them costs; see gemm_avx2.c. The next panel of A
 * comes from the third cache or from memory, and is fetched a line at a time, between
 * multiplications: all at once it would take the places of lines that this tile waits for.
 *
 * bool SUM_PACKED(rows, nv, a, b, n, at, by, sum) adds n > 0 times K_ROW k to sum and for each
 * fetches the line at `at`, which moves on by so many bytes; or says that it has no code for such a
 * tile.
 */
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

/* Lines of K_ROW k of rows of A, which lie lda apart, as they come in a packed panel. */
ALWAYS_INLINE void copy_lines(const int rows, const float *from, int64_t lda, float *to)
{
    int i;

    UNROLL_ALL
    for (i = 0; i < rows; i++)
        memcpy(to + i * K_ROW, from + i * lda, K_ROW * sizeof(float));
}

/* The last k of rows, fewer than K_ROW, and zeros. */
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

/*
 * The rows of the panel of B beside this one. A row of a panel that is packed is a line or two, and
 * the processor fetches nothing of rows that are far apart by itself, so each of them would be
 * waited for. With the rows 24 k ahead alone, packing took a sixth of a product of 500 x 500.
 */
ALWAYS_INLINE void prefetch_next_panel(const float *b, int64_t step)
{
    int j, k;

    for (k = 0; k < K_ROW; k++) {
        UNROLL_ALL
        for (j = 2 * NR - 1; j >= NR; j -= 16)
            __builtin_prefetch(b + k * step + j, 0, 2);
    }
}

/* One k. rows, nv and whether B is fetched are constants where it is inlined. */
ALWAYS_INLINE void step_of(const int rows, const int nv, const float *a, const float *b,
                           const bool fetch, int64_t ahead, vec sum[MR][NV])
{
    vec y[NV];
    int i, j;

    UNROLL_ALL
    for (j = 0; j < nv; j++) {
        y[j] = V_LOAD(b + j * LANES);
        if (fetch && j * LANES % 16 == 0) /* once for each line */
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

/* The sums of a tile that fetches, and packs if it has to, on its way. */
ALWAYS_INLINE void sum_on_the_way(const int rows, const int nv, const native_gemm_tile *t,
                                  const int64_t step, vec sum[MR][NV])
{
    const float *a = t->a, *b = t->b, *raw = t->raw_a, *next_c = t->next_c;
    const float *c_end = next_c ? next_c + MR * t->ldc : NULL;
    native_prefetch next_a = t->next_a, next_b = t->next_b;
    float *packed_b = t->packed_b;
    const int64_t ahead = B_AHEAD * step;
    int64_t left;
    int kk;

    if (raw && t->k >= K_ROW)
        copy_lines(rows, raw, t->lda, (float *)a);
    for (left = t->k; left >= K_ROW; left -= K_ROW, a += rows * K_ROW) {
        if (K_ROW == PREFETCH_K || (t->k - left) % PREFETCH_K == 0) {
            if (next_c < c_end) {
                prefetch_row_of_c(next_c);
                next_c += t->ldc;
            }
            prefetch_lines(&next_a);
            prefetch_lines(&next_b);
        }
        if (raw && left >= 2 * K_ROW) /* a round ahead of its use */
            copy_lines(rows, raw += K_ROW, t->lda, (float *)a + rows * K_ROW);
        if (packed_b) {
            copy_b(nv, b, step, K_ROW, packed_b);
            prefetch_next_panel(b + ahead, step);
            packed_b += K_ROW * NR;
        }
        UNROLL_K
        for (kk = 0; kk < K_ROW; kk++, b += step)
            step_of(rows, nv, a + kk, b, true, ahead, sum);
    }
    if (raw && left > 0)
        copy_rest(rows, t->raw_a + t->k - left, t->lda, (int)left, (float *)a);
    if (packed_b)
        copy_b(nv, b, step, (int)left, packed_b);
    for (kk = 0; kk < left; kk++, b += step)
        step_of(rows, nv, a + kk, b, true, ahead, sum);
}

#ifdef SUM_PACKED
/* Bytes between what is fetched for each K_ROW k. Rows that lie apart: only the first of them. */
ALWAYS_INLINE int64_t bytes_ahead(const native_prefetch *p, int64_t k)
{
    const int64_t row = (k + PREFETCH_K - 1) / PREFETCH_K * 64;
    const int64_t n = p->step == row ? p->n : p->n > 0;

    return n * 64 * K_ROW / PREFETCH_K;
}

/* The sums of a tile of packed panels. */
ALWAYS_INLINE void sum_packed(const int rows, const int nv, const native_gemm_tile *t,
                              vec sum[MR][NV])
{
    const float *a = t->a, *b = t->b;
    const int64_t by = bytes_ahead(&t->next_a, t->k);
    const char *at = t->next_a.n > 0 ? t->next_a.at : t->a;
    native_prefetch next_b = t->next_b;
    int64_t left = t->k / K_ROW, n = next_b.n > 0 ? PREFETCH_K / K_ROW : left, i;
    int kk;

    for (i = 0; t->next_c && i < MR; i++)
        prefetch_row_of_c(t->next_c + i * t->ldc);
    for (; left > 0; left -= n, a += n * rows * K_ROW, b += n * K_ROW * NR, at += n * by) {
        n = n < left ? n : left;
        prefetch_lines(&next_b);
        if (SUM_PACKED(rows, nv, a, b, n, at, by, sum))
            continue;
        for (i = 0; i < n; i++) {
            UNROLL_ALL
            for (kk = 0; kk < K_ROW; kk++)
                step_of(rows, nv, a + i * rows * K_ROW + kk, b + (i * K_ROW + kk) * NR, false, 0,
                        sum);
        }
    }
    for (kk = 0; kk < t->k % K_ROW; kk++, b += NR)
        step_of(rows, nv, a + kk, b, false, 0, sum);
}
#endif

/* Adds sums to C or puts them there. */
ALWAYS_INLINE void store_sums(const int rows, const int nv, const bool accumulate, float *c,
                              int64_t ldc, vec sum[MR][NV])
{
    int i, j;

    if (accumulate) {
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
}

ALWAYS_INLINE void tile_of(const int rows, const int nv, const native_gemm_tile *t)
{
    float edge[MR * NR];
    vec sum[MR][NV];
    int i, j;

    UNROLL_ALL
    for (i = 0; i < rows; i++) {
        UNROLL_ALL
        for (j = 0; j < nv; j++)
            sum[i][j] = V_ALL(0.0f);
    }
#ifdef SUM_PACKED
    if (t->b_step == NR && !t->raw_a && !t->packed_b)
        sum_packed(rows, nv, t, sum);
    else
#endif
        sum_on_the_way(rows, nv, t, t->b_step, sum);
    if (t->cols >= nv * LANES) {
        store_sums(rows, nv, t->accumulate, t->c, t->ldc, sum);
        return;
    }
    for (i = 0; t->accumulate && i < rows; i++) /* computed in a tile of its own */
        memcpy(edge + i * NR, t->c + i * t->ldc, (size_t)t->cols * sizeof(float));
    store_sums(rows, nv, t->accumulate, edge, NR, sum);
    for (i = 0; i < rows; i++)
        memcpy(t->c + i * t->ldc, edge + i * NR, (size_t)t->cols * sizeof(float));
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

/* Dense rows of B, some at a time: what is read and what is written is a few lines that follow. */
static void pack_b_rows(float *to, const native_source *b)
{
    int64_t i, j, k, rows;

    for (k = 0; k < b->k; k += rows) {
        rows = b->k - k < B_ROWS ? b->k - k : B_ROWS;
        for (j = 0; j < b->n; j += NR) {
            const int64_t n = b->n - j < NR ? b->n - j : NR;
            const float *from = b->at + k * b->k_step + j;
            float *x = to + j * b->k + k * NR;
            for (i = 0; i < rows; i++, from += b->k_step, x += NR) {
                __builtin_prefetch(from + B_ROWS_AHEAD * b->k_step, 0, 3);
                if (n == NR) {
                    copy_b(NV, from, 0, 1, x);
                } else {
                    memcpy(x, from, (size_t)n * sizeof(float));
                    memset(x + n, 0, (size_t)(NR - n) * sizeof(float));
                }
            }
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
