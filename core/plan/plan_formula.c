/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_formula.c: what inference would find, without it. Between a cache that has grown by a token
 * and a product that reads it, exporters put nodes that compute shapes; what these and most others
 * make has dims that are sums and products of those of their inputs. Symbolic inference tells
 * which, where the op's row says that this is all there is to it: nothing may have been guessed, no
 * attribute may depend on a dim, and each number has to be the one that exact inference has found.
 * Then a renewal fills in the dims alone. Nodes of which that is not so are inferred each time, and
 * their dims are numbers that formulas of others begin with.
 */
#include "plan/plan_formula.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "graph/graph_infer.h"

static bool has_changed(const tfr__build *b, tfr_value v)
{
    return b->follows[v] != TFR_VALUE_NONE;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* What the expression is now, of which all terms are; false: it does not fit. A number that is 0 is
 * left to inference, too, for quotients take it that nothing is divided by 0. */
static bool compute(const int64_t *now, const tfr__build *b, const tfr__expression *e, int64_t *out)
{
    bool fits = e->kind != TFR__PLAIN || e->n_terms;
    *out = e->constant;
    if (e->kind == TFR__PLAIN && fits)
        *out = b->types[e->terms[0]].dims[e->terms[1]];
    for (uint32_t i = 0; e->kind != TFR__PLAIN && fits && i < e->n_terms; i++) {
        const int64_t term = now[-1 - e->terms[i]];
        fits = term != 0;
        if (e->kind == TFR__QUOTIENT)
            *out = term / e->constant;
        else if (fits)
            fits = e->kind == TFR__SUM ? tfr__add64(*out, term, out) : tfr__mul64(*out, term, out);
    }
    return fits && *out != 0;
}

/*
 * What the number is now; false: nobody knows, or it does not fit. Symbols are computed in the
 * order in which they were found, each once, up to the one that is asked for: those of nodes that
 * are inferred were found when these were, and are asked for after them.
 */
static bool evaluate(tfr__formulas *f, const tfr__build *b, tfr__number number, int64_t *out)
{
    const int64_t at = -1 - number.v;
    *out = number.v;
    if (number.what != TFR__SYMBOL || at >= f->symbols.n_items)
        return number.what == TFR__KNOWN;
    if (!tfr__reserve(&f->now, f->symbols.n_items, &f->now_capacity, sizeof *f->now))
        return false;
    for (; f->n_now <= at; f->n_now++)
        if (!compute(f->now, b, &f->symbols.items[f->n_now], &f->now[f->n_now]))
            f->now[f->n_now] = 0;
    *out = f->now[at];
    return *out != 0;
}

/* A dim of the value is a number of its own from here on. */
static void make_symbol(tfr__formulas *f, tfr_value v, int32_t place)
{
    const int64_t symbol = f->types[v].dims[place] = tfr__symbol_new(&f->symbols);
    if (-symbol > f->symbols.n_items)
        return;
    f->symbols.items[-1 - symbol].n_terms = 2;
    f->symbols.items[-1 - symbol].terms[0] = v;
    f->symbols.items[-1 - symbol].terms[1] = place;
}

/* ---- finding --------------------------------------------------------------------------------- */

bool tfr__formulas_begin(tfr__formulas *f, const tfr__build *b)
{
    const size_t n = (size_t)b->graph->n_values + 1;
    const tfr__plan *p = b->plan;
    *f = (tfr__formulas){.types = tfr__calloc(n, sizeof *f->types),
                         .elements = tfr__calloc(n, sizeof *f->elements),
                         .moved = tfr__calloc((size_t)p->n_live_ins + 1, sizeof *f->moved)};
    if (!f->types || !f->elements || !f->moved)
        return false;
    for (uint32_t i = 0; i < p->n_live_ins; i++) {
        const tfr_value v = p->live_ins[i].value, like = b->follows[v];
        if (like == TFR_VALUE_NONE)
            continue;
        f->types[v] = b->types[v];
        if (like != v)
            f->types[v] = f->types[like];
        for (int32_t k = 0; like == v && k < b->types[v].rank; k++)
            if (b->types[v].dims[k] != p->live_ins[i].shape.dims[k]) {
                f->moved[i] |= UINT32_C(1) << k;
                make_symbol(f, v, k);
            }
    }
    return true;
}

typedef struct asking {
    const tfr__formulas *f;
    const tfr__build *b;
} asking;

static void input_type(void *user, const tfr__node *node, uint32_t k, tfr__type *out)
{
    const asking *a = user;
    const tfr_value v = node->inputs[k];
    *out = has_changed(a->b, v) ? a->f->types[v] : a->b->types[v];
    out->elements = a->f->elements[v];
    if (!has_changed(a->b, v) && a->b->known[v])
        out->data = tfr__constant_data(a->b->known[v]);
}

/* Has what the node makes formulas, if symbolic inference finds them? Where only values have
 * changed that decide no shape, all that it finds are values. */
static bool may_have_formulas(const tfr__formulas *f, const tfr__build *b, const tfr__node *node)
{
    if (*node->op->domain || node->op->traits & (TFR__TRAIT_ELEMENTWISE | TFR__TRAIT_FORMULA))
        return !*node->op->domain;
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        const tfr_value v = node->inputs[k];
        if (v == TFR_VALUE_NONE || !has_changed(b, v))
            continue;
        if (node->op->shape_args >> k & 1 || !f->types[v].kind)
            return false;
        for (int32_t i = 0; i < f->types[v].rank; i++)
            if (f->types[v].dims[i] < 0)
                return false;
    }
    return true;
}

/* One number, which is `is`; *some: it has a formula, which is noted. */
static bool take_number(tfr__formulas *f, const tfr__build *b, tfr_value v, uint32_t place,
                        tfr__number number, int64_t is, bool *some)
{
    int64_t now;
    if (!evaluate(f, b, number, &now) || now != is)
        return false;
    if (number.what != TFR__SYMBOL)
        return true;
    *some = true;
    if (!tfr__reserve(&f->items, f->n + 1, &f->capacity, sizeof *f->items))
        return false;
    f->items[f->n++] = (tfr__formula){v, place, number.v};
    return true;
}

/* Value v, of which inference has found this; known: NULL, or what it found of its elements. */
static bool take_value(tfr__formulas *f, const tfr__build *b, tfr_value v, const tfr__type *type,
                       const tfr__elements *known)
{
    const tfr__type *is = &b->types[v];
    const tfr_tensor *t = b->known[v];
    bool open = false, some = false;
    if (type->kind != TFR_KIND_TENSOR || is->kind != type->kind || !type->shape_known ||
        type->rank != is->rank || type->dtype != is->dtype || b->dynamic[v])
        return false;
    for (int32_t i = 0; i < is->rank; i++)
        if (!take_number(f, b, v, (uint32_t)i, tfr__number_of_dim(type->dims[i]), is->dims[i],
                         &open))
            return false;
    if (t && (open || !known || t->dtype != TFR_DTYPE_I64 || t->n_elements != known->n))
        return false;
    for (uint32_t i = 0; t && i < known->n; i++)
        if (!take_number(f, b, v, TFR_MAX_RANK + i, known->v[i], ((const int64_t *)t->data)[i],
                         &some))
            return false;
    return (open || some) == has_changed(b, v);
}

bool tfr__formulas_find(tfr__formulas *f, const tfr__build *b, uint32_t i)
{
    const tfr__node *node = tfr__build_node_at(b, i);
    const uint32_t n = f->n;
    asking ask = {f, b};
    tfr__node_types found = {0};
    bool finds = may_have_formulas(f, b, node);
    f->symbols.guessed = false;
    if (finds)
        finds = !tfr__node_infer(node, &f->symbols, input_type, &ask, &found, NULL) &&
                !f->symbols.guessed;
    for (uint32_t k = 0; finds && k < node->n_outputs; k++)
        finds = node->outputs[k] == TFR_VALUE_NONE ||
                take_value(f, b, node->outputs[k], &found.outputs[k],
                           !k && found.has_elements ? &found.elements : NULL);
    for (uint32_t k = 0; k < node->n_outputs; k++) {
        const tfr_value v = node->outputs[k];
        if (v == TFR_VALUE_NONE || !has_changed(b, v))
            continue;
        f->types[v] = finds ? found.outputs[k] : b->types[v];
        for (int32_t d = 0; !finds && d < b->types[v].rank; d++)
            make_symbol(f, v, d);
        if (finds && !k && found.has_elements && !f->elements[v]) {
            f->elements[v] = tfr__alloc(sizeof found.elements);
            if (f->elements[v])
                *f->elements[v] = found.elements;
        }
    }
    if (!finds)
        f->n = n;
    tfr__node_types_finish(&found);
    return finds;
}

void tfr__formulas_copy(tfr__formulas *f, tfr_value v, tfr_value from)
{
    f->types[v] = f->types[from];
}

void tfr__formulas_end(tfr__formulas *f, const tfr__build *b)
{
    for (uint32_t v = 0; f->elements && v < b->graph->n_values; v++)
        tfr__free(f->elements[v]);
    tfr__free(f->types);
    tfr__free(f->elements);
    f->types = NULL;
    f->elements = NULL;
}

void tfr__formulas_free(tfr__formulas *f)
{
    tfr__symbols_free(&f->symbols);
    tfr__free(f->items);
    tfr__free(f->moved);
    tfr__free(f->now);
}

/* ---- taking ---------------------------------------------------------------------------------- */

bool tfr__formulas_take(tfr__formulas *f, tfr__build *b, uint32_t at)
{
    const tfr_value v = f->items[at].value;
    const tfr_tensor *was = b->known[v];
    tfr_tensor *list = NULL;
    bool fits = true;
    for (; fits && at < f->n && f->items[at].value == v; at++) {
        const uint32_t place = f->items[at].place;
        int64_t now;
        fits = evaluate(f, b, (tfr__number){TFR__SYMBOL, f->items[at].symbol}, &now);
        if (place < TFR_MAX_RANK) {
            b->types[v].dims[place] = now;
            fits = fits && now >= 0;
            continue;
        }
        if (fits && !list) {
            fits = !tfr__tensor_create_unset(TFR_DTYPE_I64, &was->shape, &list, NULL);
            if (fits)
                memcpy(list->data, was->data, was->bytes);
        }
        if (fits)
            ((int64_t *)list->data)[place - TFR_MAX_RANK] = now;
    }
    if (list) {
        tfr__plan_keep(b->plan, b->known[v]);
        tfr_tensor_release(b->known[v]);
        b->known[v] = list;
    }
    return fits;
}
