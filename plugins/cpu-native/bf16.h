/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bf16.h: the inner loops of products whose operands are rounded to bfloat16, as a table for each
 * instruction set that has them. program_bf16.h says what they are used for.
 *
 * A product is made of steps of 32 terms. A row of the left side has its terms of a step beside
 * each other, 64 bytes; a step of the right side is a tile for each 16 columns: [16 pairs of
 * terms][16 columns][2 terms]. Sums are float32.
 */
#ifndef NATIVE_BF16_H
#define NATIVE_BF16_H

#include <stdbool.h>
#include <stdint.h>

enum {
    NATIVE_BF16_TERMS = 32,
    NATIVE_BF16_LANES = 16, /* of float32, as in the blocked layout of isa.h */
    NATIVE_BF16_ROW = 64,   /* bytes */
    NATIVE_BF16_TILE = 1024 /* bytes */
};

/* to[rows of two tiles][columns of two tiles] = or += the sum over all steps. */
typedef struct native_bf16_product {
    const char *a[2]; /* 16 rows each; the second may be NULL */
    int64_t a_row;    /* bytes from row to row */
    const char *b;    /* rows are 64 bytes from each other */
    int64_t b_column; /* bytes from tile to tile */
    int columns;      /* tiles: 1 or 2 */
    int64_t n_steps;
    const int32_t *a_offsets, *b_offsets; /* bytes from a, from b to each step */
    float *to[2];
    int64_t to_row, to_column; /* floats from row to row, from tile to tile */
    bool add;
} native_bf16_product;

/* Rows of sums become rows of a result. */
typedef struct native_bf16_end {
    const float *sums; /* [row][lane] */
    float *to;
    int64_t n, to_row;     /* rows; floats from row to row */
    int lanes;             /* that there are */
    const float *bias;     /* lanes, or NULL */
    const float *residual; /* lies as `to`, or NULL */
    bool clip;
    float low, high;
} native_bf16_end;

typedef struct native_bf16_isa native_bf16_isa;
struct native_bf16_isa {
    const char *name;
    void (*begin)(void); /* before products, on their thread; and after them */
    void (*end)(void);
    void (*product)(const native_bf16_product *product);
    void (*finish)(const native_bf16_end *end);
    /*
     * Rows of the left side: of row i the numbers at from + i step, 16 of them, and 16 more at
     * half from there; of `terms`, up to 32, those beyond are 0.
     */
    void (*pack_rows)(const float *from, int64_t step, int64_t half, int terms, int64_t n,
                      char *to);
    /* A tile of the right side, zeros where there is nothing. Steps in floats. */
    void (*pack_tile)(const float *from, int64_t term_step, int terms, int64_t column_step,
                      int columns, char *to);
    /* A tile for every 32 of n rows of 16 floats, `step` bytes from each other. */
    void (*pack_columns)(const float *from, int64_t n, int64_t step, char *to);
    /* to[lane][row], `row` bytes from lane to lane, of n rows of 16 floats; 32 divides n. */
    void (*pack_turned)(const float *from, int64_t n, int64_t row, char *to);
    /*
     * Of n windows 16 maxima, and 16 more at half from there (0 = none), become rows of the left
     * side: each goes where its code says, to one of `area` places, 0 to the others. Windows begin
     * at bytes `places`.
     */
    void (*expand)(const float *from, const uint8_t *codes, int64_t half, int64_t n,
                   const int32_t *places, int area, const int32_t *inside, char *to);
};

/* NULL = this processor, or what of it is allowed, has none. */
const native_bf16_isa *native_find_bf16(const char *features);
/* Whether the system lets us use it; asked once. */
bool native_bf16_is_permitted(void);

#endif
