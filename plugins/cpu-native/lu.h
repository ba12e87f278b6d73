/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lu.h: A = P' L U of one matrix of doubles, by blocks, and X with A X = B from it.
 *
 * L and U are found by halves of the columns (Toledo, Locality of Reference in LU Decomposition
 * with Partial Pivoting, 1997): the left half, then the right one's rows above by substitution, the
 * rest by a product, and the right half. Down at eight columns rows are subtracted one by one. So
 * nearly all is a product of packed panels, and substitution for a panel of columns is one, too:
 * six rows of unknowns at a time less what is known, then a triangle of six.
 */
#ifndef NATIVE_LU_H
#define NATIVE_LU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"

enum {
    NATIVE_LU_ROWS = 6,   /* of a panel of A */
    NATIVE_LU_STRIP = 8,  /* columns that are eliminated row by row */
    NATIVE_LU_MAX_NR = 16 /* columns of a panel of B, at most */
};

/* What is done in vectors. A panel of A is [k][NATIVE_LU_ROWS], one of B is [k][nr]. */
typedef struct native_lu_isa {
    int nr;
    /* c[rows][columns] -= a b */
    void (*tile)(const double *a, const double *b, int64_t k, double *c, int64_t ldc, int rows,
                 int columns);
    /*
     * Eliminates the first `width` columns of strip [m][NATIVE_LU_STRIP] with rows changing places:
     * pivots[j] is the row that row j was exchanged with. False: a pivot is not larger than
     * `least`, or not a finite number.
     */
    bool (*strip)(double *strip, int64_t m, int width, double least, int64_t *pivots);
    /* c [rows][nr] by a triangle [column][NATIVE_LU_ROWS]: the lower one with a diagonal of 1 from
     * the first row on, the upper one with a diagonal of inverses from the last row on. */
    void (*lower)(const double *triangle, double *c, int rows);
    void (*upper)(const double *triangle, double *c, int rows);
} native_lu_isa;

extern const native_lu_isa native_lu_portable, native_lu_avx2, native_lu_avx512;

typedef struct native_lu {
    const tfr_plugin_device *device;
    const native_lu_isa *isa;
    int64_t n, lda;
    double *a;      /* [n][lda]: in, A; out, L below the diagonal and U */
    int64_t *order; /* row i of P A is row order[i] of A */
    double sign;    /* of the permutation */
    double least;   /* pivots below may be 0 but for rounding */
    double *left;   /* packed panels: of L while it is found, then of L and U */
    double *right;  /* packed panels of columns */
} native_lu;

/* Memory for it, and for `lanes` chunks of columns of X; a multiple of 64. */
size_t native_lu_bytes(const tfr_plugin_device *device, int64_t n, int64_t lanes);
/* Splits that memory, aligned to 64; then the caller writes A to lu->a. */
void native_lu_begin(native_lu *lu, const tfr_plugin_device *device, int64_t n, void *memory);
/* False: a pivot is so small that only plain elimination tells whether it is 0, or something is
 * not finite; a is of no use then. */
bool native_lu_factor(native_lu *lu);
/* Packs L and U; then columns may be solved for. */
void native_lu_pack(native_lu *lu);

/* The next columns of B and X, at most native_lu_chunk: panels of isa->nr columns, [n][nr] each. */
int64_t native_lu_chunk(const native_lu *lu);
double *native_lu_columns(const native_lu *lu, int64_t lane);
/* In place: rows of B are in order already, and those before `first` are 0. */
void native_lu_solve(const native_lu *lu, double *panels, int64_t columns, int64_t first);

#endif
