/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nbits.h: products with a constant right side [K, N] of integers of 4 or 8 bits, in which a block
 * of K of each column has a scale and a zero point:
 *
 *   C[m, n] = sum over k of A[m, k] (q[k, n] - zero[k / block, n]) scale[k / block, n]
 *
 * The right side is packed once and never becomes float32 as a whole. Few rows read it where it
 * lies, so that what counts is the bandwidth of the memory; many rows have gemm.h compute with
 * blocks that are unpacked into its panels. nbits_avx512.c, nbits_vnni.c, nbits_avx2.c and
 * nbits_portable.c have the inner loops; nbits.c says how the packed form looks.
 */
#ifndef NATIVE_NBITS_H
#define NATIVE_NBITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NATIVE_NBITS_COLUMNS = 16, /* of a panel */
    NATIVE_NBITS_LINE = 8,     /* k of a line of 64 bytes, with 4 bits */
    NATIVE_NBITS_BLOCK = 256,  /* the longest packed one */
    NATIVE_NBITS_PARTS = 4,    /* bytes of an exact activation */
    NATIVE_NBITS_ROWS = 4      /* that are multiplied at a time in float32 */
};

typedef enum native_nbits_zeros {
    NATIVE_NBITS_NO_ZEROS,   /* one for all */
    NATIVE_NBITS_CODE_ZEROS, /* integers like the elements */
    NATIVE_NBITS_FLOAT_ZEROS
} native_nbits_zeros;

/*
 * The right side as a model has it. Steps count elements: of k and n in codes, of blocks and n in
 * scales and zeros. Two elements of 4 bits share a byte, the first has the low bits. Nothing need
 * be aligned.
 */
typedef struct native_nbits_source {
    int64_t k, n, block;
    int bits; /* 4 or 8 */
    bool is_signed;
    const void *codes, *scales, *zeros;
    int64_t code_k, code_n, scale_k, scale_n, zero_k, zero_n;
    native_nbits_zeros zero_kind;
    float zero; /* of all, without zeros */
} native_nbits_source;

/* The packed form: plain data. */
typedef struct native_nbits {
    int64_t k, n, block, n_blocks, n_panels;
    int bits;
    native_nbits_zeros zero_kind;
    float zero;
    int64_t zeros_at, block_bytes, panel_bytes; /* zeros_at: in a block */
    size_t bytes;
} native_nbits;

/* A block of a row of A as fixed-point numbers; its digits follow, see nbits_digits.h. */
typedef struct native_nbits_x {
    float factor[NATIVE_NBITS_PARTS], sum[NATIVE_NBITS_PARTS]; /* of each part */
    int32_t plain; /* it has Inf or NaN, which no digits are */
    int32_t parts;
    int32_t unused[6];
} native_nbits_x;

typedef struct native_nbits_isa {
    const char *name;
    /* A row as digits of so many parts, 1 or 4: the blocks [begin, end). */
    void (*digits)(const native_nbits *q, int parts, const float *x, void *to, int64_t begin,
                   int64_t end);
    /* 4 bits, fastest for one or two rows: 16 results of a row as digits; x is the row itself. */
    void (*dot)(const native_nbits *q, int parts, const char *panel, const void *digits,
                const float *x, float *to);
    /* 16 results of each of up to 4 rows, which lie ldx apart. */
    void (*rows)(const native_nbits *q, const char *panel, const float *x, int64_t ldx, int n_rows,
                 float *to);
    /* n k from `from`, which is a multiple of 8, of a block as rows of 16, so many floats apart. */
    void (*unpack)(const native_nbits *q, const char *block, int64_t from, int64_t n, float *to,
                   int64_t step);
} native_nbits_isa;

extern const native_nbits_isa native_nbits_portable;
#if defined(__x86_64__)
extern const native_nbits_isa native_nbits_avx2, native_nbits_avx512, native_nbits_vnni;
#endif
/* The best that the processor has and the user allows. */
const native_nbits_isa *native_choose_nbits(const char *features);

/* NULL = the source can be packed; else why not, as a sentence. */
const char *native_nbits_refuses(const native_nbits_source *s);
void native_nbits_plan(native_nbits *q, const native_nbits_source *s);
/* The panels [begin, end). */
void native_nbits_pack(const native_nbits *q, const native_nbits_source *s, void *packed,
                       int64_t begin, int64_t end);
/* Bytes of a row as digits. */
size_t native_nbits_digits_bytes(const native_nbits *q, int parts);
/*
 * What gemm.h wants of B: n columns from `column`, a multiple of nr, and n_k from k0, a multiple of
 * 8, in panels of nr columns, [n_k][nr] each, with zeros behind; nr divides 16 or 16 divides it.
 */
void native_nbits_fill(const native_nbits *q, const native_nbits_isa *isa, const void *packed,
                       int64_t column, int64_t n, int64_t k0, int64_t n_k, int nr, float *to);

#endif
