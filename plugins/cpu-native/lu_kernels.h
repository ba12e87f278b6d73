/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lu_kernels.h: the inner loops of lu.h, written once for every length of vectors. A file defines
 * DLANES, a power of 2 up to 8, dvec, which has so many doubles, D_LOAD, D_STORE, D_ALL, D_MUL,
 * D_FNMA(x, y, z), which is z - x y, and LU_ISA, and includes this.
 *
 * The tile of 6 x 2 vectors has 12 sums, 2 vectors of B and one number of A, which 16 registers
 * hold.
 */
#include <math.h>
#include <string.h>

#include "lu.h"

#define LU_NR (2 * DLANES)
#define ROWS  NATIVE_LU_ROWS
#define STRIP NATIVE_LU_STRIP
#if defined(__clang__)
#define LU_UNROLL _Pragma("clang loop unroll(full)")
#else
#define LU_UNROLL _Pragma("GCC unroll 16")
#endif

static void whole_tile(const double *a, const double *b, int64_t k, double *c, int64_t ldc)
{
    dvec sum[ROWS][2];
    int r;

    LU_UNROLL
    for (r = 0; r < ROWS; r++) {
        sum[r][0] = D_LOAD(c + r * ldc);
        sum[r][1] = D_LOAD(c + r * ldc + DLANES);
    }
    for (; k > 0; k--, a += ROWS, b += LU_NR) {
        const dvec b0 = D_LOAD(b), b1 = D_LOAD(b + DLANES);
        LU_UNROLL
        for (r = 0; r < ROWS; r++) {
            const dvec x = D_ALL(a[r]);
            sum[r][0] = D_FNMA(x, b0, sum[r][0]);
            sum[r][1] = D_FNMA(x, b1, sum[r][1]);
        }
    }
    LU_UNROLL
    for (r = 0; r < ROWS; r++) {
        D_STORE(c + r * ldc, sum[r][0]);
        D_STORE(c + r * ldc + DLANES, sum[r][1]);
    }
}

static void tile(const double *a, const double *b, int64_t k, double *c, int64_t ldc, int rows,
                 int columns)
{
    double part[ROWS * LU_NR] = {0};
    int r;

    if (rows == ROWS && columns == LU_NR) {
        whole_tile(a, b, k, c, ldc);
        return;
    }
    for (r = 0; r < rows; r++)
        memcpy(part + r * LU_NR, c + r * ldc, (size_t)columns * sizeof *c);
    whole_tile(a, b, k, part, LU_NR);
    for (r = 0; r < rows; r++)
        memcpy(c + r * ldc, part + r * LU_NR, (size_t)columns * sizeof *c);
}

/* to -= factor from, of n doubles, a multiple of DLANES. */
static inline void subtract(double *to, double factor, const double *from, const int n)
{
    int i;

    LU_UNROLL
    for (i = 0; i < n; i += DLANES)
        D_STORE(to + i, D_FNMA(D_ALL(factor), D_LOAD(from + i), D_LOAD(to + i)));
}

static void swap_rows(double *x, double *y)
{
    double keep[STRIP];

    memcpy(keep, x, sizeof keep);
    memcpy(x, y, sizeof keep);
    memcpy(y, keep, sizeof keep);
}

/* The row with the greatest number in column 0. */
static int64_t find_greatest(const double *strip, int64_t m)
{
    int64_t r, best = 0;

    for (r = 1; r < m; r++)
        best = fabs(strip[r * STRIP]) > fabs(strip[best * STRIP]) ? r : best;
    return best;
}

/* Rows are subtracted as a whole, from zeros where they are done; on its way it finds the greatest
 * number of the next column. */
static bool strip(double *strip, int64_t m, int width, double least, int64_t *pivots)
{
    int64_t best = find_greatest(strip, m), r;
    int j;

    for (j = 0; j < width; j++) {
        double *top = strip + j * STRIP, row[STRIP], greatest = -1;
        const int next = j + 1 < width ? j + 1 : j;
        double inverse;
        pivots[j] = best;
        if (best != j)
            swap_rows(top, strip + best * STRIP);
        if (!(fabs(top[j]) > least && fabs(top[j]) <= 0x1p1000))
            return false;
        inverse = 1 / top[j];
        best = j + 1;
        memset(row, 0, sizeof row);
        memcpy(row + j + 1, top + j + 1, (size_t)(STRIP - 1 - j) * sizeof *row);
        for (r = j + 1; r < m; r++) {
            double *line = strip + r * STRIP;
            const double factor = line[j] * inverse;
            subtract(line, factor, row, STRIP);
            line[j] = factor;
            if (fabs(line[next]) > greatest) {
                greatest = fabs(line[next]);
                best = r;
            }
        }
    }
    return true;
}

static void lower(const double *triangle, double *c, int rows)
{
    int r, s;

    for (s = 0; s < rows; s++)
        for (r = s + 1; r < rows; r++)
            subtract(c + r * LU_NR, triangle[s * ROWS + r], c + s * LU_NR, LU_NR);
}

static void upper(const double *triangle, double *c, int rows)
{
    int r, s, i;

    for (s = rows - 1; s >= 0; s--) {
        double *row = c + s * LU_NR;
        for (i = 0; i < LU_NR; i += DLANES)
            D_STORE(row + i, D_MUL(D_LOAD(row + i), D_ALL(triangle[s * ROWS + s])));
        for (r = 0; r < s; r++)
            subtract(c + r * LU_NR, triangle[s * ROWS + r], row, LU_NR);
    }
}

const native_lu_isa LU_ISA = {
    .nr = LU_NR, .tile = tile, .strip = strip, .lower = lower, .upper = upper};
