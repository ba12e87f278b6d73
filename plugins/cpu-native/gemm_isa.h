/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_isa.h: what one way to compute gives to gemm.c: the formats of packed operands and the
 * product of two panels. Only gemm*.c include it.
 *
 * A panel of A is up to mr rows, a panel of B nr columns, both of one block of K.
 */
#ifndef NATIVE_GEMM_ISA_H
#define NATIVE_GEMM_ISA_H

#include "gemm.h"

#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
#define NATIVE_X86 1
#else
#define NATIVE_X86 0
#endif

/* AMX: what the compilers know, and a system that gives it. */
#if defined(__x86_64__) && defined(__linux__) &&                                                   \
    ((defined(__clang__) && __clang_major__ >= 12) || (!defined(__clang__) && __GNUC__ >= 11))
#define NATIVE_AMX 1
#else
#define NATIVE_AMX 0
#endif

/* Lines that a tile fetches on its way for those who come after it: n lines for each 16 of k. */
typedef struct native_prefetch {
    const char *at;
    int64_t step; /* bytes between the n lines */
    int n;
} native_prefetch;

/*
 * C[rows, cols] (+)= panel of A x panel of B. A tile of an ISA with packs_on_its_way also packs
 * what its successors read: with raw_a it fills a itself, line by line in front of its use, and
 * with packed_b it leaves a copy of the rows of B that it reads.
 */
typedef struct native_gemm_tile {
    const void *a;
    const void *b;
    int64_t b_step;     /* floats from one k to the next: nr, or the step of B where it lies */
    const float *raw_a; /* dense rows, lda apart; NULL = a is packed */
    int64_t lda;
    float *packed_b; /* NULL = no copy */
    int64_t k;
    float *c;
    int64_t ldc;
    int rows, cols;
    bool accumulate;
    const float *next_c; /* the tile that comes next, or NULL */
    native_prefetch next_a, next_b;
} native_gemm_tile;

/* A matrix as it lies in memory, read as [major, k]: rows of A, columns of B. */
typedef struct native_source {
    const float *at;
    int64_t major_step, k_step;
    int64_t n; /* majors */
    int64_t k;
} native_source;

struct native_gemm_isa {
    const char *name;
    int mr, nr;
    int kc;                /* the longest block of K that it likes, for a first cache of 48 KiB */
    int l2_quarters;       /* of the second cache for a block of B, 0 = 2 */
    bool packs_on_its_way; /* b_step may be anything, raw_a and packed_b may be there */
    bool packs_far_rows;   /* of B before its tiles, all the same, where caches take few of them */
    bool whole_panels;     /* rows are cut at multiples of mr; else in panels of equal height */
    /* What packing takes: bits of the least absolute value but 0, and of the first that is too
     * large. high 0 = everything. */
    uint32_t low, high;
    /* Bytes of a whole panel. */
    size_t (*a_bytes)(int64_t k);
    size_t (*b_bytes)(int64_t k);
    /* One panel of A; all panels of a block of B. False: it has values that the format cannot hold,
     * and what was written is of no use. */
    bool (*pack_a)(void *to, const native_source *a);
    bool (*pack_b)(void *to, const native_source *b);
    /* What a panel holds as [k][nr] floats, for a strict step; NULL if pack never fails. */
    void (*unpack_b)(float *to, const void *panel, int64_t k);
    void (*tile)(const native_gemm_tile *tile);
    /* optional: of each call of run */
    void (*begin)(void);
    void (*end)(void);
    /* Of a strict one: the epilogue of C[rows, cols], whose first element is [row, column] of the
     * whole. */
    void (*finish)(const native_epilogue *e, const native_gemm_args *args, float *c, int64_t ldc,
                   int64_t row, int64_t column, int rows, int cols);
};

extern const native_gemm_isa native_gemm_portable;
#if NATIVE_X86
extern const native_gemm_isa native_gemm_avx2, native_gemm_avx512;
#endif
/* By math mode - 1. */
extern const native_gemm_isa native_gemm_emulated[3], native_gemm_amx[3];
/* Whether this build and this processor have AMX for bfloat16. */
bool native_gemm_amx_exists(void);
/* Asks the system for the right to use the tiles, once. */
bool native_gemm_amx_permit(void);

#endif
