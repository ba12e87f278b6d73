/* SPDX-License-Identifier: Apache-2.0 */
/* graph_symbols.c: dims that have a name, and the text of a dim that was inferred. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "graph/graph_infer.h"

#define MAX_SYMBOLS (1u << 24)
#define MAX_NESTED  8
#define MOST_TEXT   40 /* of an expression; a longer one is as good as a number */

static const tfr_graph *outermost(const tfr_graph *graph)
{
    while (graph->parent)
        graph = graph->parent;
    return graph;
}

tfr_status tfr_graph_add_symbol(tfr_graph *graph, const char *name, int64_t *out, tfr_err *err)
{
    tfr_graph *whole = (tfr_graph *)outermost(graph);
    int32_t number;
    char **more, *own;
    if (!name || !*name)
        return tfr_fail(err, TFR_EINVAL, "a symbol of graph \"%s\" has no name", graph->name);
    if (atomic_load(&whole->frozen))
        return tfr_fail(err, TFR_EBUSY,
                        "graph \"%s\" is used by a session and cannot be changed any more",
                        whole->name);
    number = tfr__names_find(&whole->symbol_names, name);
    if (number < 0) {
        if (whole->n_symbols == MAX_SYMBOLS)
            return tfr_fail(err, TFR_ELIMIT, "a graph cannot have more than %u symbols",
                            MAX_SYMBOLS);
        more = tfr__grow(whole->symbols, whole->n_symbols, sizeof *more);
        if (more)
            whole->symbols = more;
        own = more ? tfr__strdup(name) : NULL;
        if (!own || tfr__names_set(&whole->symbol_names, own, (int32_t)whole->n_symbols, NULL)) {
            tfr__free(own);
            return tfr__no_memory(err);
        }
        number = (int32_t)whole->n_symbols;
        whole->symbols[whole->n_symbols++] = own;
    }
    *out = -2 - (int64_t)number;
    return TFR_OK;
}

const char *tfr_graph_symbol_name(const tfr_graph *graph, int64_t dim)
{
    const tfr_graph *whole = outermost(graph);
    uint64_t number = (uint64_t)(-2 - dim);
    while (whole->source) /* a copy borrows them */
        whole = whole->source;
    return dim < -1 && number < whole->n_symbols ? whole->symbols[number] : NULL;
}

/* ---- the text of a dim ----------------------------------------------------------------------- */

typedef struct writer {
    const tfr_graph_types *types;
    char text[MOST_TEXT + 1];
    size_t n;
    bool full;
} writer;

static void put(writer *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = w->full ? 0 : vsnprintf(w->text + w->n, sizeof w->text - w->n, format, args);
    va_end(args);
    w->full = w->full || n < 0 || w->n + (size_t)n >= sizeof w->text;
    w->n += w->full ? 0 : (size_t)n;
}

static void put_symbol(writer *w, int64_t symbol, int outside, int depth);

/* Joined by sign; the constant first in products and last in sums. */
static void put_terms(writer *w, const tfr__expression *e, int depth)
{
    bool product = e->kind == TFR__PRODUCT;
    if (product && e->constant != 1)
        put(w, "%lld*", (long long)e->constant);
    for (uint32_t i = e->n_terms; i-- > 0;) {
        put_symbol(w, e->terms[i], e->kind, depth + 1);
        if (i)
            put(w, product ? "*" : "+");
    }
    if (e->kind == TFR__SUM && e->constant)
        put(w, "%+lld", (long long)e->constant);
    if (e->kind == TFR__QUOTIENT)
        put(w, "/%lld", (long long)e->constant);
}

static void put_symbol(writer *w, int64_t symbol, int outside, int depth)
{
    const tfr_graph_types *t = w->types;
    const tfr__expression *e = tfr__symbol_at(&t->symbols, symbol);
    uint64_t i = (uint64_t)(-1 - symbol);
    const char *name = NULL;
    if (i < t->symbols_capacity && t->names_of[i])
        name = tfr_graph_symbol_name(t->graph, -1 - (int64_t)t->names_of[i]);
    if (name) {
        put(w, "%s", name);
    } else if (!e) {
        put(w, "?%llu", (unsigned long long)i + 1);
    } else if (depth == MAX_NESTED) {
        w->full = true;
    } else {
        bool brackets = outside == TFR__QUOTIENT || (outside == TFR__PRODUCT && e->kind != outside);
        put(w, brackets ? "(" : "");
        put_terms(w, e, depth);
        put(w, brackets ? ")" : "");
    }
}

const char *tfr_graph_types_dim(const tfr_graph_types *types, int64_t dim, char *text, size_t n)
{
    writer w = {.types = types};
    if (dim >= 0) {
        snprintf(text, n, "%lld", (long long)dim);
        return text;
    }
    put_symbol(&w, dim, TFR__PLAIN, 0);
    if (w.full)
        snprintf(text, n, "?%lld", (long long)-dim);
    else
        snprintf(text, n, "%s", w.text);
    return text;
}
