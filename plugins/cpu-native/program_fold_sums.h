/* SPDX-License-Identifier: Apache-2.0 */
/* program_fold_sums.h: what a step of a reduction knows, and its results so far. */
#ifndef NATIVE_PROGRAM_FOLD_SUMS_H
#define NATIVE_PROGRAM_FOLD_SUMS_H

#include "program_fold.h"

enum { NATIVE_FOLD_COLUMNS = 512 }; /* of results at a time: they stay near */

typedef struct native_fold_group {
    int64_t dim, step;
} native_fold_group;

typedef struct native_reduction_step {
    const native_isa *isa;
    native_ref from, to, parts_at;
    bool shared; /* parts lie in memory that the steps of the item share */
    native_reduction kind;
    native_fold_type type, sum_type;
    /* Outermost first: what is walked, and what is reduced in the sums of columns. */
    native_fold_group kept[TFR_MAX_RANK], over[TFR_MAX_RANK], inside[TFR_MAX_RANK];
    int n_kept, n_over, n_inside;
    int64_t rows, step, inner; /* of the innermost groups */
    int64_t steps;             /* rows of each result in all */
    int64_t terms;             /* of each result: the same */
    int64_t together;          /* rows that are one */
    int64_t columns, blocks;   /* of a unit; units of each place of the kept groups */
    int64_t outer;             /* such places */
    int64_t period;            /* columns that units may end at */
    int64_t within;            /* columns of a result */
    int64_t parts, part;       /* of the rows of a unit; rows of each */
} native_reduction_step;

/* Results so far; the type is that of sums. */
typedef union native_totals {
    double f64[NATIVE_FOLD_COLUMNS + NATIVE_FOLD_LANES];
    float f32[NATIVE_FOLD_COLUMNS + NATIVE_FOLD_LANES];
    uint64_t i64[NATIVE_FOLD_COLUMNS + NATIVE_FOLD_LANES];
    int32_t i32[NATIVE_FOLD_COLUMNS + NATIVE_FOLD_LANES];
    uint8_t u8[NATIVE_FOLD_COLUMNS + NATIVE_FOLD_LANES];
    int8_t i8[NATIVE_FOLD_COLUMNS + NATIVE_FOLD_LANES];
} native_totals;

extern const int8_t native_fold_bytes[NATIVE_FOLD_TYPES];

/* The kind that rows are added with: sums of many float32 begin by fours. */
native_fold_kind native_totals_adding(const native_reduction_step *r);
/* With what changes nothing. */
void native_totals_begin(native_fold_kind kind, native_fold_type type, native_totals *s, int64_t n);
/* How sums of a kind are added to each other. */
native_fold_fn native_totals_merge(const native_reduction_step *r, native_fold_kind kind);
/* `groups` rows of sums of n become one. */
void native_totals_fold_together(const native_reduction_step *r, native_fold_kind kind,
                                 native_totals *s, int64_t groups, int64_t n);
/* What is reduced inside of columns: n sums become n / r->within. */
void native_totals_fold_inside(const native_reduction_step *r, native_fold_kind kind,
                               native_totals *s, int64_t n);
/* Sums of fours that are not may have been too great for float32 alone. */
bool native_totals_finite(const double *s, int64_t n);
/* One of the numbers of a type, as a double. */
double native_totals_number(const void *p, native_fold_type type, int64_t i);
/* n results, of which `to` is the first. */
void native_totals_end(const native_reduction_step *r, const native_totals *s, const double *top,
                       void *to, int64_t n);

#endif
