/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_formula.h: dims and short lists of integers as formulas of the dims that change from renewal
 * to renewal, found by symbolic inference once, so that the nodes between are not inferred again.
 */
#ifndef TFR_CORE_PLAN_FORMULA_H
#define TFR_CORE_PLAN_FORMULA_H

#include "plan/plan_build.h"

/* A dim of a value, or behind TFR_MAX_RANK an element of it, is what the symbol stands for. */
typedef struct tfr__formula {
    tfr_value value;
    uint32_t place;
    int64_t symbol;
} tfr__formula;

typedef struct tfr__formulas {
    tfr__symbols
        symbols; /* one without an expression: terms are a value and the place of its dim */
    tfr__formula *items;
    uint32_t n, capacity;
    int64_t *now; /* what symbols are in this renewal, the first n_now; 0: to be inferred */
    uint32_t n_now, now_capacity;
    uint32_t *moved; /* bit k by number of what comes in: its dim k is such a number */
    /* While they are looked for, by value: with symbols, and what is known of lists. */
    tfr__type *types;
    tfr__elements **elements;
} tfr__formulas;

/* Begins with the dims of what comes in that differ from those of the build's plan. False: there is
 * no memory to find any. */
bool tfr__formulas_begin(tfr__formulas *f, const tfr__build *b);
/* Node i, which has changed: true = all that has in its outputs has formulas now. */
bool tfr__formulas_find(tfr__formulas *f, const tfr__build *b, uint32_t i);
/* A value whose type is that of another, in all shapes. */
void tfr__formulas_copy(tfr__formulas *f, tfr_value v, tfr_value from);
/* No more are looked for. */
void tfr__formulas_end(tfr__formulas *f, const tfr__build *b);
void tfr__formulas_free(tfr__formulas *f);
/* Sets the value that item `at` is of from its formulas; false: a number does not fit, or there is
 * no memory. */
bool tfr__formulas_take(tfr__formulas *f, tfr__build *b, uint32_t at);

#endif
