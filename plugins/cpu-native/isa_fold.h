/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_fold.h: the loops of fold.h, a part of isa_kernels.h: plain C that compilers turn into
 * vectors. Four rows at a time, as each round loads and stores the results so far; the order of
 * additions does not depend on the instructions.
 */
#include "fold.h"

/* As many columns from `at` on as there are whole groups of lanes. */
#define FOLD_LANES_OF(lanes, type, sum_type, value)                                                \
    for (; at + (lanes) <= f->n; at += (lanes)) {                                                  \
        const double *top = f->top ? f->top + at : NULL;                                           \
        const type *x = (const type *)f->x + at;                                                   \
        sum_type *sums = (sum_type *)f->to + at;                                                   \
        (void)top;                                                                                 \
        for (r = 0; r + 4 <= f->rows; r += 4, x += 4 * f->step) {                                  \
            const type *x1 = x + f->step, *x2 = x1 + f->step, *x3 = x2 + f->step;                  \
            EACH_ALONE for (k = 0; k < (lanes); k++)                                               \
            {                                                                                      \
                sum_type a = sums[k];                                                              \
                type v = x[k];                                                                     \
                a = (sum_type)(value);                                                             \
                v = x1[k];                                                                         \
                a = (sum_type)(value);                                                             \
                v = x2[k];                                                                         \
                a = (sum_type)(value);                                                             \
                v = x3[k];                                                                         \
                sums[k] = (sum_type)(value);                                                       \
            }                                                                                      \
        }                                                                                          \
        for (; r < f->rows; r++, x += f->step) {                                                   \
            EACH_ALONE for (k = 0; k < (lanes); k++)                                               \
            {                                                                                      \
                const sum_type a = sums[k];                                                        \
                const type v = x[k];                                                               \
                sums[k] = (sum_type)(value);                                                       \
            }                                                                                      \
        }                                                                                          \
    }

/* The value is an expression of a, the result so far, v, an element, and for EXP of top[k]. */
#define FOLD_ROWS(kind, name, type, sum_type, value)                                               \
    static void fold_rows_##kind##_##name(const native_fold *f)                                    \
    {                                                                                              \
        int64_t at = 0, r, k;                                                                      \
                                                                                                   \
        FOLD_LANES_OF(NATIVE_FOLD_LANES, type, sum_type, value)                                    \
        FOLD_LANES_OF(8, type, sum_type, value)                                                    \
        FOLD_LANES_OF(1, type, sum_type, value)                                                    \
    }

/* Sums of one row beside each other, to be added up in the end. */
enum { FOLD_BESIDE = 32 };

#define MERGE_SUM(value)      a + other
#define MERGE_ABS(value)      a + other
#define MERGE_SQUARE(value)   a + other
#define MERGE_PRODUCT(value)  a *other
#define MERGE_GREATEST(value) value
#define MERGE_LEAST(value)    value

#define FOLD_HALF(half, kind, type, sum_type, value)                                               \
    EACH_ALONE for (k = 0; k < (half); k++)                                                        \
    {                                                                                              \
        const sum_type a = sums[k], other = sums[(half) + k];                                      \
        const type v = (type)other;                                                                \
        (void)v;                                                                                   \
        sums[k] = (sum_type)(MERGE_##kind(value));                                                 \
    }

/* The n numbers of one row; `to` is what changes nothing. */
#define FOLD_ONE(kind, name, type, sum_type, value)                                                \
    static void fold_one_##kind##_##name(const native_fold *f)                                     \
    {                                                                                              \
        sum_type sums[FOLD_BESIDE];                                                                \
        const sum_type nothing = *(const sum_type *)f->to;                                         \
        const type *x = f->x, *const end = x + f->n;                                               \
        int k;                                                                                     \
                                                                                                   \
        for (k = 0; k < FOLD_BESIDE; k++)                                                          \
            sums[k] = nothing;                                                                     \
        for (; end - x >= 4 * FOLD_BESIDE; x += 4 * FOLD_BESIDE) {                                 \
            EACH_ALONE for (k = 0; k < FOLD_BESIDE; k++)                                           \
            {                                                                                      \
                sum_type a = sums[k];                                                              \
                type v = x[k];                                                                     \
                a = (sum_type)(value);                                                             \
                v = x[FOLD_BESIDE + k];                                                            \
                a = (sum_type)(value);                                                             \
                v = x[2 * FOLD_BESIDE + k];                                                        \
                a = (sum_type)(value);                                                             \
                v = x[3 * FOLD_BESIDE + k];                                                        \
                sums[k] = (sum_type)(value);                                                       \
            }                                                                                      \
        }                                                                                          \
        for (; end - x >= FOLD_BESIDE; x += FOLD_BESIDE) {                                         \
            EACH_ALONE for (k = 0; k < FOLD_BESIDE; k++)                                           \
            {                                                                                      \
                const sum_type a = sums[k];                                                        \
                const type v = x[k];                                                               \
                sums[k] = (sum_type)(value);                                                       \
            }                                                                                      \
        }                                                                                          \
        for (; end - x >= 8; x += 8) {                                                             \
            EACH_ALONE for (k = 0; k < 8; k++)                                                     \
            {                                                                                      \
                const sum_type a = sums[k];                                                        \
                const type v = x[k];                                                               \
                sums[k] = (sum_type)(value);                                                       \
            }                                                                                      \
        }                                                                                          \
        for (k = 0; k < end - x; k++) {                                                            \
            const sum_type a = sums[k];                                                            \
            const type v = x[k];                                                                   \
            sums[k] = (sum_type)(value);                                                           \
        }                                                                                          \
        FOLD_HALF(16, kind, type, sum_type, value)                                                 \
        FOLD_HALF(8, kind, type, sum_type, value)                                                  \
        FOLD_HALF(4, kind, type, sum_type, value)                                                  \
        FOLD_HALF(2, kind, type, sum_type, value)                                                  \
        FOLD_HALF(1, kind, type, sum_type, value)                                                  \
        *(sum_type *)f->to = sums[0];                                                              \
    }

#define FOLD_OF_FLOATS(X, name, type)                                                              \
    X(SUM, name, type, double, a + (double)v)                                                      \
    X(ABS, name, type, double, a + fabs((double)v))                                                \
    X(SQUARE, name, type, double, a + (double)v * (double)v)                                       \
    X(PRODUCT, name, type, double, a *(double)v)                                                   \
    X(GREATEST, name, type, type, ((v > a) | (v != v)) ? v : a)                                    \
    X(LEAST, name, type, type, ((v < a) | (v != v)) ? v : a)

#define FOLD_OF_INTEGERS(X, name, type)                                                            \
    X(SUM, name, type, uint64_t, a + (uint64_t)(int64_t)v)                                         \
    X(ABS, name, type, uint64_t, a + (v < 0 ? 0 - (uint64_t)(int64_t)v : (uint64_t)(int64_t)v))    \
    X(SQUARE, name, type, uint64_t, a + (uint64_t)(int64_t)v * (uint64_t)(int64_t)v)               \
    X(PRODUCT, name, type, uint64_t, a *(uint64_t)(int64_t)v)                                      \
    FOLD_OF_BYTES(X, name, type)

#define FOLD_OF_BYTES(X, name, type)                                                               \
    X(GREATEST, name, type, type, v > a ? v : a)                                                   \
    X(LEAST, name, type, type, v < a ? v : a)

#define FOLD_LIST(X)                                                                               \
    FOLD_OF_FLOATS(X, F32, float)                                                                  \
    FOLD_OF_FLOATS(X, F64, double)                                                                 \
    FOLD_OF_INTEGERS(X, I32, int32_t)                                                              \
    FOLD_OF_INTEGERS(X, I64, int64_t)                                                              \
    FOLD_OF_BYTES(X, U8, uint8_t)                                                                  \
    FOLD_OF_BYTES(X, I8, int8_t)

/* Its tops are there once for each column. */
#define FOLD_EXP_LIST(X)                                                                           \
    X(EXP, F32, float, double, a + exponential((double)v - top[k], false))                         \
    X(EXP, F64, double, double, a + exponential(v - top[k], true))

FOLD_LIST(FOLD_ROWS)
FOLD_LIST(FOLD_ONE)
FOLD_EXP_LIST(FOLD_ROWS)

/* ---- sums of fours: half the conversions are what sums in double wait for ---- */

#define FOUR_AT(x, step, k)                                                                        \
    ((double)(((x)[k] + (x)[(step) + (k)]) + ((x)[2 * (step) + (k)] + (x)[3 * (step) + (k)])))

/* Rows of n lanes, of which each is added by `value`. */
#define NEAR_LANES(lanes, value)                                                                   \
    for (; at + (lanes) <= n; at += (lanes)) {                                                     \
        EACH_ALONE for (int k = 0; k < (lanes); k++) to[at + k] += (value);                        \
    }
#define NEAR_ROWS_OF(name, value)                                                                  \
    static void near_##name(const float *x, int64_t step, int64_t n, double *to)                   \
    {                                                                                              \
        int64_t at = 0;                                                                            \
                                                                                                   \
        (void)step;                                                                                \
        NEAR_LANES(NATIVE_FOLD_LANES, value)                                                       \
        NEAR_LANES(8, value)                                                                       \
        NEAR_LANES(1, value)                                                                       \
    }

NEAR_ROWS_OF(eight, FOUR_AT(x + at, step, k) + FOUR_AT(x + at + 4 * step, step, k))
NEAR_ROWS_OF(four, FOUR_AT(x + at, step, k))
NEAR_ROWS_OF(one, (double)x[at + k])

/* Few rows at a time, which lie in memory as they are read. */
static void fold_rows_NEAR_F32(const native_fold *f)
{
    const float *x = f->x;
    int64_t r = 0;

    for (; r + 8 <= f->rows; r += 8, x += 8 * f->step)
        near_eight(x, f->step, f->n, f->to);
    for (; r + 4 <= f->rows; r += 4, x += 4 * f->step)
        near_four(x, f->step, f->n, f->to);
    for (; r < f->rows; r++, x += f->step)
        near_one(x, f->step, f->n, f->to);
}

static void fold_one_NEAR_F32(const native_fold *f)
{
    double sums[FOLD_BESIDE] = {0.0};
    const float *x = f->x, *const end = x + f->n;
    native_fold rest = {.to = f->to};
    int k, half;

    for (; end - x >= 4 * FOLD_BESIDE; x += 4 * FOLD_BESIDE) {
        EACH_ALONE for (k = 0; k < FOLD_BESIDE; k++) sums[k] += FOUR_AT(x, FOLD_BESIDE, k);
    }
    rest.x = x;
    rest.n = end - x;
    fold_one_SUM_F32(&rest);
    for (half = FOLD_BESIDE / 2; half > 0; half /= 2) {
        EACH_ALONE for (k = 0; k < half; k++) sums[k] += sums[half + k];
    }
    *(double *)f->to += sums[0];
}

/* ---- places ---- */

/* Words are as wide as elements, for masks of both. */
#define PLACE_COLUMNS_OF(lanes, type, word, beats)                                                 \
    for (; at + (lanes) <= f->n; at += (lanes)) {                                                  \
        const type *x = (const type *)f->x + at;                                                   \
        type best[lanes];                                                                          \
        word place[lanes];                                                                         \
        for (k = 0; k < (lanes); k++) {                                                            \
            best[k] = x[k];                                                                        \
            place[k] = 0;                                                                          \
        }                                                                                          \
        for (r = 1; r < f->rows; r++) {                                                            \
            x += f->step;                                                                          \
            for (k = 0; k < (lanes); k++) {                                                        \
                const type v = x[k], b = best[k];                                                  \
                place[k] = (beats) ? (word)r : place[k];                                           \
                best[k] = (beats) ? v : b;                                                         \
            }                                                                                      \
        }                                                                                          \
        for (k = 0; k < (lanes); k++)                                                              \
            ((int64_t *)f->to)[at + k] = place[k];                                                 \
    }

#define PLACES(least, last, name, type, word, beats)                                               \
    static void places_##least##_##last##_##name(const native_fold *f)                             \
    {                                                                                              \
        int64_t at = 0, r, k;                                                                      \
                                                                                                   \
        PLACE_COLUMNS_OF(64, type, word, beats)                                                    \
        PLACE_COLUMNS_OF(8, type, word, beats)                                                     \
        PLACE_COLUMNS_OF(1, type, word, beats)                                                     \
    }

#define PLACES_LIST(X, name, type, word)                                                           \
    X(0, 0, name, type, word, b == b && !(v <= b))                                                 \
    X(0, 1, name, type, word, !(v < b) && (b == b || v != v))                                      \
    X(1, 0, name, type, word, b == b && !(v >= b))                                                 \
    X(1, 1, name, type, word, !(v > b) && (b == b || v != v))

PLACES_LIST(PLACES, F32, float, int32_t)
PLACES_LIST(PLACES, F64, double, int64_t)
PLACES_LIST(PLACES, I32, int32_t, int32_t)
PLACES_LIST(PLACES, I64, int64_t, int64_t)

#define ROW_OF_FOLDS(kind, name, type, sum_type, value)                                            \
    [NATIVE_FOLD_##kind][NATIVE_FOLD_##name] = fold_rows_##kind##_##name,
#define ROW_OF_PLACES(least, last, name, type, word, beats)                                        \
    [least][last][NATIVE_FOLD_##name] = places_##least##_##last##_##name,

#define ROW_OF_ONES(kind, name, type, sum_type, value)                                             \
    [NATIVE_FOLD_##kind][NATIVE_FOLD_##name] = fold_one_##kind##_##name,

static const native_fold_table fold_table = {
    .ones = {FOLD_LIST(ROW_OF_ONES)[NATIVE_FOLD_NEAR] = {fold_one_NEAR_F32}},
    .rows = {FOLD_LIST(ROW_OF_FOLDS)
                 FOLD_EXP_LIST(ROW_OF_FOLDS)[NATIVE_FOLD_NEAR] = {fold_rows_NEAR_F32}},
    .places = {PLACES_LIST(ROW_OF_PLACES, F32, float, int32_t) PLACES_LIST(
        ROW_OF_PLACES, F64, double, int64_t) PLACES_LIST(ROW_OF_PLACES, I32, int32_t, int32_t)
                   PLACES_LIST(ROW_OF_PLACES, I64, int64_t, int64_t)},
};
