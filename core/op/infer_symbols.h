/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer_symbols.h: numbers that are not known before a run. A symbol is a negative number; equal
 * symbols of one table are equal numbers in every run. A sum, product or quotient is a symbol, too,
 * and the same one whenever the same numbers go into it, so that two branches that halve an image
 * in the same way keep one height. There is no more algebra than that: what is not seen to be equal
 * gets a symbol of its own. One thread at a time.
 */
#ifndef TFR__INFER_SYMBOLS_H
#define TFR__INFER_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

enum { TFR__TERMS = 4 };

typedef enum tfr__expression_kind {
    TFR__PLAIN,   /* a number on its own */
    TFR__SUM,     /* constant + terms */
    TFR__PRODUCT, /* constant * terms */
    TFR__QUOTIENT /* the only term / constant, rounded towards 0 */
} tfr__expression_kind;

typedef struct tfr__expression {
    uint8_t kind, n_terms;
    bool negative; /* may be less than 0: a difference that nothing has checked */
    int64_t constant;
    int64_t terms[TFR__TERMS]; /* symbols, sorted */
} tfr__expression;

/* Zero is an empty table. Out of memory makes it know less. */
typedef struct tfr__symbols {
    int64_t n;              /* symbols so far: -1 to -n */
    tfr__expression *items; /* of symbol -1 - i; the first n_items have one */
    uint32_t *slots;        /* hash table of the items that are no plain ones, 0 = free, i + 1 */
    uint32_t n_items, capacity, n_slots, n_hashed;
    bool guessed; /* inference took numbers for equal that are not seen to be: others would fail */
} tfr__symbols;

void tfr__symbols_free(tfr__symbols *table);
/* The expression of a symbol, NULL if it is a number on its own. */
const tfr__expression *tfr__symbol_at(const tfr__symbols *table, int64_t symbol);
int64_t tfr__symbol_new(tfr__symbols *table);

/* An integer of which much, little or nothing is known. */
typedef struct tfr__number {
    enum { TFR__UNKNOWN, TFR__KNOWN, TFR__SYMBOL } what;
    int64_t v;
} tfr__number;

static inline tfr__number tfr__number_of(int64_t v)
{
    return (tfr__number){TFR__KNOWN, v};
}

/* A dim, which is known or a symbol. */
static inline tfr__number tfr__number_of_dim(int64_t dim)
{
    return (tfr__number){dim < 0 ? TFR__SYMBOL : TFR__KNOWN, dim};
}

/* Unknown if a known result does not fit. */
tfr__number tfr__number_add(tfr__symbols *table, tfr__number a, tfr__number b);
tfr__number tfr__number_sub(tfr__symbols *table, tfr__number a, tfr__number b);
tfr__number tfr__number_mul(tfr__symbols *table, tfr__number a, tfr__number b);
/* Rounded towards 0. Where a product is divided by its own factor, that is taken for not 0. */
tfr__number tfr__number_div(tfr__symbols *table, tfr__number a, tfr__number b);
/* The number as a dim: a known one, its symbol, or if it may be negative a new symbol. */
int64_t tfr__number_dim(tfr__symbols *table, tfr__number a);
/* Is dim 0 whenever symbol is? */
bool tfr__symbol_zeroes(const tfr__symbols *table, int64_t symbol, int64_t dim);

#endif
