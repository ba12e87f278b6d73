/* SPDX-License-Identifier: Apache-2.0 */
/* infer_symbols.c: the table of symbols; infer_symbols.h says what they are. */
#include "op/infer_symbols.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/hash.h"

void tfr__symbols_free(tfr__symbols *table)
{
    tfr__free(table->items);
    tfr__free(table->slots);
    memset(table, 0, sizeof *table);
}

const tfr__expression *tfr__symbol_at(const tfr__symbols *table, int64_t symbol)
{
    uint64_t i = (uint64_t)(-1 - symbol);
    if (symbol >= 0 || i >= table->n_items || table->items[i].kind == TFR__PLAIN)
        return NULL;
    return &table->items[i];
}

/* The next symbol. Once an expression could not be noted, later ones are not either, so that
 * places in the list stay those of the symbols. */
static int64_t append(tfr__symbols *table, const tfr__expression *e)
{
    if (table->n_items == table->n &&
        tfr__reserve(&table->items, table->n + 1, &table->capacity, sizeof *e))
        table->items[table->n_items++] = *e;
    return -++table->n;
}

int64_t tfr__symbol_new(tfr__symbols *table)
{
    static const tfr__expression plain;
    return append(table, &plain);
}

/* ---- the same expression, the same symbol ---------------------------------------------------- */

static uint64_t hash_of(const tfr__expression *e)
{
    uint64_t h = tfr__hash(TFR__HASH_SEED, &e->kind, sizeof e->kind);
    h = tfr__hash(h, &e->constant, sizeof e->constant);
    return tfr__hash(h, e->terms, e->n_terms * sizeof *e->terms);
}

static bool is_same(const tfr__expression *a, const tfr__expression *b)
{
    return a->kind == b->kind && a->n_terms == b->n_terms && a->constant == b->constant &&
           memcmp(a->terms, b->terms, a->n_terms * sizeof *a->terms) == 0;
}

/* The slot of the expression, or the free one where it belongs. */
static uint32_t *find_slot(const tfr__symbols *table, const tfr__expression *e)
{
    uint32_t at = (uint32_t)hash_of(e) & (table->n_slots - 1);
    while (table->slots[at] && !is_same(&table->items[table->slots[at] - 1], e))
        at = (at + 1) & (table->n_slots - 1);
    return &table->slots[at];
}

static bool symbols_reserve(tfr__symbols *table)
{
    tfr__symbols more = *table;
    if (table->n_hashed * 2 < table->n_slots)
        return true;
    more.n_slots = table->n_slots ? table->n_slots * 2 : 64;
    more.slots = tfr__calloc(more.n_slots, sizeof *more.slots);
    if (!more.slots)
        return false;
    for (uint32_t i = 0; i < table->n_items; i++)
        if (table->items[i].kind != TFR__PLAIN)
            *find_slot(&more, &table->items[i]) = i + 1;
    tfr__free(table->slots);
    *table = more;
    return true;
}

static bool may_be_negative(const tfr__symbols *table, int64_t symbol)
{
    const tfr__expression *e = tfr__symbol_at(table, symbol);
    return e && e->negative;
}

static int64_t intern(tfr__symbols *table, tfr__expression *e)
{
    uint32_t *slot;
    uint32_t before = table->n_items;
    e->negative = e->constant < 0;
    for (uint32_t i = 0; i < e->n_terms; i++)
        e->negative |= may_be_negative(table, e->terms[i]);
    if (!symbols_reserve(table))
        return -++table->n; /* without an item, as in append */
    slot = find_slot(table, e);
    if (*slot)
        return -(int64_t)*slot;
    int64_t symbol = append(table, e);
    if (table->n_items > before) {
        *slot = table->n_items;
        table->n_hashed++;
    }
    return symbol;
}

/* ---- sums and products ----------------------------------------------------------------------- */

/* The number as a sum or product, which a known number is by its constant. */
static tfr__expression as(const tfr__symbols *table, tfr__expression_kind kind, tfr__number a)
{
    tfr__expression e = {.kind = (uint8_t)kind, .constant = kind == TFR__PRODUCT};
    const tfr__expression *own = a.what == TFR__SYMBOL ? tfr__symbol_at(table, a.v) : NULL;
    if (a.what == TFR__KNOWN) {
        e.constant = a.v;
    } else if (own && own->kind == kind) {
        e = *own;
    } else {
        e.n_terms = 1;
        e.terms[0] = a.v;
    }
    return e;
}

static tfr__number number_of(tfr__symbols *table, tfr__expression *e)
{
    int64_t neutral = e->kind == TFR__PRODUCT;
    if (e->kind == TFR__PRODUCT && e->constant == 0)
        e->n_terms = 0;
    if (!e->n_terms)
        return tfr__number_of(e->constant);
    if (e->n_terms == 1 && e->constant == neutral)
        return (tfr__number){TFR__SYMBOL, e->terms[0]};
    return (tfr__number){TFR__SYMBOL, intern(table, e)};
}

static bool add_term(tfr__expression *e, int64_t term)
{
    uint32_t i = e->n_terms;
    if (i == TFR__TERMS)
        return false;
    for (; i && e->terms[i - 1] > term; i--)
        e->terms[i] = e->terms[i - 1];
    e->terms[i] = term;
    e->n_terms++;
    return true;
}

static bool remove_term(tfr__expression *e, int64_t term)
{
    uint32_t i = 0;
    while (i < e->n_terms && e->terms[i] != term)
        i++;
    if (i == e->n_terms)
        return false;
    for (e->n_terms--; i < e->n_terms; i++)
        e->terms[i] = e->terms[i + 1];
    return true;
}

/* a and b joined by + or *. */
static tfr__number join(tfr__symbols *table, tfr__expression_kind kind, tfr__number a,
                        tfr__number b)
{
    static const tfr__number unknown;
    tfr__expression e, other;
    if (kind == TFR__PRODUCT && ((a.what == TFR__KNOWN && !a.v) || (b.what == TFR__KNOWN && !b.v)))
        return tfr__number_of(0);
    if (!a.what || !b.what)
        return unknown;
    e = as(table, kind, a);
    other = as(table, kind, b);
    if (!(kind == TFR__SUM ? tfr__add64(e.constant, other.constant, &e.constant)
                           : tfr__mul64(e.constant, other.constant, &e.constant)))
        return unknown;
    for (uint32_t i = 0; i < other.n_terms; i++)
        if (!add_term(&e, other.terms[i]))
            return unknown;
    return number_of(table, &e);
}

tfr__number tfr__number_add(tfr__symbols *table, tfr__number a, tfr__number b)
{
    return join(table, TFR__SUM, a, b);
}

tfr__number tfr__number_mul(tfr__symbols *table, tfr__number a, tfr__number b)
{
    return join(table, TFR__PRODUCT, a, b);
}

tfr__number tfr__number_sub(tfr__symbols *table, tfr__number a, tfr__number b)
{
    static const tfr__number unknown;
    tfr__expression e, other;
    if (!a.what || !b.what)
        return unknown;
    e = as(table, TFR__SUM, a);
    other = as(table, TFR__SUM, b);
    if (other.constant == INT64_MIN || !tfr__add64(e.constant, -other.constant, &e.constant))
        return unknown;
    for (uint32_t i = 0; i < other.n_terms; i++)
        if (!remove_term(&e, other.terms[i]))
            return unknown;
    return number_of(table, &e);
}

tfr__number tfr__number_div(tfr__symbols *table, tfr__number a, tfr__number b)
{
    static const tfr__number unknown;
    tfr__expression e, other;
    if (!a.what || !b.what || (b.what == TFR__KNOWN && b.v < 1))
        return unknown;
    if (a.what == TFR__KNOWN && b.what == TFR__KNOWN)
        return tfr__number_of(a.v / b.v);
    e = as(table, TFR__PRODUCT, a);
    other = as(table, TFR__PRODUCT, b);
    bool exact = other.constant && e.constant % other.constant == 0;
    for (uint32_t i = 0; exact && i < other.n_terms; i++)
        exact = remove_term(&e, other.terms[i]);
    if (exact) {
        e.constant /= other.constant;
        return number_of(table, &e);
    }
    if (a.what != TFR__SYMBOL || b.what != TFR__KNOWN)
        return unknown;
    e = (tfr__expression){.kind = TFR__QUOTIENT, .n_terms = 1, .constant = b.v, .terms = {a.v}};
    return (tfr__number){TFR__SYMBOL, intern(table, &e)};
}

int64_t tfr__number_dim(tfr__symbols *table, tfr__number a)
{
    if (a.what == TFR__KNOWN && a.v >= 0)
        return a.v;
    return a.what == TFR__SYMBOL && !may_be_negative(table, a.v) ? a.v : tfr__symbol_new(table);
}

bool tfr__symbol_zeroes(const tfr__symbols *table, int64_t symbol, int64_t dim)
{
    const tfr__expression *e = tfr__symbol_at(table, dim), *own = tfr__symbol_at(table, symbol);
    if (dim == 0 || dim == symbol)
        return true;
    for (uint32_t i = 0; e && e->kind == TFR__PRODUCT && i < e->n_terms; i++)
        if (e->terms[i] == symbol)
            return true;
    if (!own || own->kind != TFR__PRODUCT)
        return false;
    for (uint32_t i = 0; i < own->n_terms; i++) /* whichever factor it is */
        if (!tfr__symbol_zeroes(table, own->terms[i], dim))
            return false;
    return true;
}
