/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fold.h: what all reductions are made of: rows of numbers go one after the other into a row of
 * results so far. isa_fold.h has the loops; program_fold.c has what becomes of an op.
 *
 * Floats are summed and multiplied in double, but for fours of NATIVE_FOLD_NEAR, and integers in
 * 64 bits, where they wrap. The greatest and the least have the type of the elements, and NaN
 * stays.
 */
#ifndef NATIVE_FOLD_H
#define NATIVE_FOLD_H

#include <stdint.h>

typedef enum native_fold_kind {
    NATIVE_FOLD_SUM,
    NATIVE_FOLD_NEAR,   /* of float32: a sum of sums of four in float32, which may be too great */
    NATIVE_FOLD_ABS,    /* of absolute values */
    NATIVE_FOLD_SQUARE, /* of squares */
    NATIVE_FOLD_EXP,    /* of e^(x - top) */
    NATIVE_FOLD_PRODUCT,
    NATIVE_FOLD_GREATEST,
    NATIVE_FOLD_LEAST,
    NATIVE_FOLD_KINDS
} native_fold_kind;

/* The types of elements, as rows of tables. */
typedef enum native_fold_type {
    NATIVE_FOLD_F32,
    NATIVE_FOLD_F64,
    NATIVE_FOLD_I32,
    NATIVE_FOLD_I64,
    NATIVE_FOLD_U8,
    NATIVE_FOLD_I8,
    NATIVE_FOLD_TYPES
} native_fold_type;

enum { NATIVE_FOLD_LANES = 32 }; /* that loops take at once: a row should have a multiple */

typedef struct native_fold {
    const void *x; /* rows of n numbers, step numbers apart */
    int64_t rows, step, n;
    void *to;          /* n */
    const double *top; /* n, of EXP */
} native_fold;

typedef void (*native_fold_fn)(const native_fold *fold);

/* NULL = no such loop. */
typedef struct native_fold_table {
    native_fold_fn rows[NATIVE_FOLD_KINDS][NATIVE_FOLD_TYPES]; /* to[i] takes x[row][i] */
    native_fold_fn ones[NATIVE_FOLD_KINDS][NATIVE_FOLD_TYPES]; /* to[0] takes all of x[0] */
    /*
     * The first place, or the last one, of the greatest or least of each column; NaN beats all.
     * to: int64.
     */
    native_fold_fn places[2][2][NATIVE_FOLD_TYPES]; /* [least][last] */
} native_fold_table;

#endif
