/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_split.h: float32 products by bfloat16 parts, and the packing for them, written once for the
 * instructions that do it and for the portable emulation. An ISA's file defines, and then includes
 * this:
 *
 *   SPLIT_ROW(to, x, parts)      32 floats become parts of 32 bfloat16; true = one does not fit
 *   SPLIT_PAIR(to, x, y, parts)  16 floats of x and of y, side by side; the same
 *
 * where a part goes STEP bytes after the one before. x = hi + mid + lo, each the nearest bfloat16
 * of what is left: 3 parts hold all 24 bits. Of the products of two such sums the six largest are
 * taken (those left out are below 2^-26 of the whole); of two parts each, the three largest: see G.
 * Henry, P. Tang, A. Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype for
 * Higher-Precision Computations" (2019).
 *
 * A panel of A is [K / 32][part][2][16 rows][32 k], one of B [K / 32][part][2][16 pairs of k]
 * [16 columns][2 k]: tiles of 1 KiB as the instruction wants them. What is beyond is zero.
 */
#ifndef NATIVE_GEMM_SPLIT_H
#define NATIVE_GEMM_SPLIT_H

#include <string.h>

#include "gemm_isa.h"

enum {
    HALF = 16,   /* rows or columns of a tile */
    BLOCK = 32,  /* rows or columns of a panel; k of a tile */
    TILE = 1024, /* bytes */
    STEP = 2 * TILE
};

/*
 * What a part can hold. Products of larger numbers could be infinite in one part and not in
 * another; of smaller ones the last part could be below the normal numbers, which the instruction
 * takes for zero. A single part behaves as float32 does.
 */
#define SPLIT_LOW_1  0x00800000u /* 2^-126 */
#define SPLIT_HIGH_1 0x7f7f8000u /* is rounded to infinity */
#define SPLIT_LOW_2  0x09000000u /* 2^-109 */
#define SPLIT_HIGH_2 0x5b800000u /* 2^56 */
#define SPLIT_LOW_3  0x0d800000u /* 2^-100 */
#define SPLIT_HIGH_3 SPLIT_HIGH_2

static const struct split_range {
    uint32_t low, high; /* as in native_gemm_isa */
} split_ranges[] = {
    {SPLIT_LOW_1, SPLIT_HIGH_1}, {SPLIT_LOW_2, SPLIT_HIGH_2}, {SPLIT_LOW_3, SPLIT_HIGH_3}};

#define SPLIT_INLINE static inline __attribute__((always_inline))

SPLIT_INLINE size_t split_bytes(int64_t k, int parts)
{
    return (size_t)((k + BLOCK - 1) / BLOCK) * (size_t)parts * STEP;
}

SPLIT_INLINE int at_most(int64_t n, int most)
{
    return n < most ? (int)n : most;
}

/* n floats that lie step apart, and zeros up to room. */
SPLIT_INLINE void gather(float *to, const float *from, int64_t step, int n, int room)
{
    int i;

    for (i = 0; i < n; i++)
        to[i] = from[i * step];
    for (; i < room; i++)
        to[i] = 0.0f;
}

#endif

#ifdef SPLIT_ROW

SPLIT_INLINE bool pack_split_a(void *panel, const native_source *a, const int parts)
{
    float row[BLOCK];
    int64_t i, k;
    bool bad = false;

    for (k = 0; k < a->k; k += BLOCK) {
        char *to = (char *)panel + split_bytes(k, parts);
        const int n = at_most(a->k - k, BLOCK);
        for (i = 0; i < a->n; i++) {
            const float *from = a->at + i * a->major_step + k * a->k_step;
            if (a->k_step != 1 || n < BLOCK) {
                gather(row, from, a->k_step, n, BLOCK);
                from = row;
            }
            bad |= SPLIT_ROW(to + i * (TILE / HALF), from, parts);
        }
        for (; i < BLOCK; i++) {
            int p;
            for (p = 0; p < parts; p++)
                memset(to + i * (TILE / HALF) + p * STEP, 0, TILE / HALF);
        }
    }
    return !bad;
}

/* The pair of rows k, k + 1 of all columns. */
SPLIT_INLINE bool pack_split_pair(char *panels, const native_source *b, int64_t k, const int parts)
{
    const size_t panel = split_bytes(b->k, parts);
    float x[HALF], y[HALF];
    int64_t j;
    bool bad = false;

    for (j = 0; j < (b->n + BLOCK - 1) / BLOCK * BLOCK; j += HALF) {
        char *to = panels + (size_t)(j / BLOCK) * panel + split_bytes(k / BLOCK * BLOCK, parts) +
                   j % BLOCK / HALF * TILE + k % BLOCK / 2 * (TILE / HALF);
        const int n = b->n > j ? at_most(b->n - j, HALF) : 0;
        const float *from = n ? b->at + j * b->major_step + k * b->k_step : x;
        if (n == HALF && b->major_step == 1 && k + 1 < b->k) {
            bad |= SPLIT_PAIR(to, from, from + b->k_step, parts);
        } else {
            gather(x, from, b->major_step, n, HALF);
            gather(y, from + (k + 1 < b->k ? b->k_step : 0), b->major_step, k + 1 < b->k ? n : 0,
                   HALF);
            bad |= SPLIT_PAIR(to, x, y, parts);
        }
    }
    return bad;
}

/* Dense rows are read one after the other. */
SPLIT_INLINE bool pack_split_b(void *panels, const native_source *b, const int parts)
{
    const int64_t n_panels = (b->n + BLOCK - 1) / BLOCK;
    bool bad = false;
    int64_t k, p;

    for (k = 0; k < b->k; k += 2)
        bad |= pack_split_pair(panels, b, k, parts);
    if (b->k % BLOCK) /* the pairs beyond */
        for (p = 0; p < n_panels; p++)
            for (k = (b->k + 1) / 2 * 2; k % BLOCK; k += 2) {
                char *to = (char *)panels + (size_t)p * split_bytes(b->k, parts) +
                           split_bytes(k / BLOCK * BLOCK, parts) + k % BLOCK / 2 * (TILE / HALF);
                int i;
                for (i = 0; i < 2 * parts; i++)
                    memset(to + i * TILE, 0, TILE / HALF);
            }
    return !bad;
}

/* [k][BLOCK] floats, the sums of the parts. */
static void unpack_split_b(float *to, const void *panel, int64_t k, const int parts)
{
    int64_t i;
    int j, p;

    for (i = 0; i < k; i++)
        for (j = 0; j < BLOCK; j++) {
            const char *from = (const char *)panel + split_bytes(i / BLOCK * BLOCK, parts) +
                               j / HALF * TILE + i % BLOCK / 2 * (TILE / HALF) +
                               (j % HALF * 2 + i % 2) * 2;
            float sum = 0.0f;
            for (p = 0; p < parts; p++) {
                uint32_t bits = 0;
                float x;
                memcpy((char *)&bits + NATIVE_HIGH_HALF, from + p * STEP, 2);
                memcpy(&x, &bits, sizeof x);
                sum += x;
            }
            to[i * BLOCK + j] = sum;
        }
}

static size_t bytes_1(int64_t k)
{
    return split_bytes(k, 1);
}

static size_t bytes_2(int64_t k)
{
    return split_bytes(k, 2);
}

static size_t bytes_3(int64_t k)
{
    return split_bytes(k, 3);
}

#define SPLIT_PACKING(parts)                                                                       \
    static bool pack_a_##parts(void *to, const native_source *a)                                   \
    {                                                                                              \
        return pack_split_a(to, a, parts);                                                         \
    }                                                                                              \
    static bool pack_b_##parts(void *to, const native_source *b)                                   \
    {                                                                                              \
        return pack_split_b(to, b, parts);                                                         \
    }                                                                                              \
    static void unpack_b_##parts(float *to, const void *panel, int64_t k)                          \
    {                                                                                              \
        unpack_split_b(to, panel, k, parts);                                                       \
    }

SPLIT_PACKING(1)
SPLIT_PACKING(2)
SPLIT_PACKING(3)

/* A row of the table by math mode - 1. */
#define SPLIT_ISA(isa_name, parts, longest, tile_fn)                                               \
    {                                                                                              \
        .name = isa_name, .mr = BLOCK, .nr = BLOCK, .kc = longest, .l2_quarters = 3,               \
        .whole_panels = true, .low = SPLIT_LOW_##parts, .high = SPLIT_HIGH_##parts,                \
        .a_bytes = bytes_##parts, .b_bytes = bytes_##parts, .pack_a = pack_a_##parts,              \
        .pack_b = pack_b_##parts, .unpack_b = unpack_b_##parts, .tile = tile_fn,                   \
        .begin = SPLIT_BEGIN, .end = SPLIT_END                                                     \
    }

#endif
