/* SPDX-License-Identifier: Apache-2.0 */
/* passes.c: the list of passes, its switch, and the rounds in which they run. */
#include "optimize/passes.h"

#include <stdio.h>
#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "base/port/clock.h"

#define MAX_ROUNDS 4

static const struct pass {
    const char *name, *text;
    uint32_t (*run)(tfr__rewrite *rw);
} passes[] = {
#define PASS_ROW(name, text) {#name, text, tfr__pass_##name},
    TFR__PASSES(PASS_ROW)
#undef PASS_ROW
};

/* ---- the switch ------------------------------------------------------------------------------ */

tfr_status tfr__passes_parse(const char *list, uint32_t *mask, tfr_err *err)
{
    const char *p = list ? list : "";
    *mask = *p && *p != '-' ? 0 : (1u << TFR__N_PASSES) - 1;
    while (*p) {
        bool minus = *p == '-';
        size_t n = strcspn(p += minus, ",");
        uint32_t bits = 0;
        for (uint32_t i = 0; i < TFR__N_PASSES; i++)
            if ((n == 3 && !memcmp(p, "all", 3)) ||
                (strlen(passes[i].name) == n && !memcmp(p, passes[i].name, n)))
                bits |= 1u << i;
        if (!bits && (n != 4 || memcmp(p, "none", 4) != 0))
#define PASS_NAME(name, text) " " #name
            return tfr_fail(err, TFR_EINVAL,
                            "there is no pass \"%.*s\"; there is: all none" TFR__PASSES(PASS_NAME),
                            (int)n, p);
#undef PASS_NAME
        *mask = minus ? *mask & ~bits : *mask | bits;
        p += n + (p[n] == ',');
    }
    return TFR_OK;
}

tfr_pass tfr__pass_view(const tfr__pass_row *row)
{
    return (tfr_pass){.size = sizeof(tfr_pass),
                      .name = row->name,
                      .text = row->text,
                      .rounds = row->rounds,
                      .n_changes = row->n_changes,
                      .nodes_before = row->nodes_before,
                      .nodes_removed = row->nodes_removed,
                      .ns = row->ns};
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* The graph and all graphs inside it, outer ones first. */
typedef struct graphs {
    const tfr__kernel_env *env;
    bool loose_shapes;
    tfr__rewrite **items;
    uint32_t n, capacity;
    uint32_t n_constants; /* captured ones, which subgraphs have as their own now */
} graphs;

/* What is known of inputs holds only where a run checks it. */
static void forget_types(tfr__rewrite *rw, bool loose_shapes)
{
    const tfr_graph *g = rw->graph;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        tfr_value_type *type = &g->values[g->inputs[i]].type;
        if (rw->parent)
            *type = (tfr_value_type){.size = sizeof *type};
        else if (loose_shapes)
            type->rank_known = 0;
    }
}

static tfr_status add_graph(graphs *list, tfr_graph *graph, tfr__rewrite *parent)
{
    tfr__rewrite *rw = tfr__calloc(1, sizeof *rw);
    tfr_status status = rw ? TFR_OK : TFR_ENOMEM;
    if (list->n == list->capacity) {
        tfr__rewrite **more = tfr__realloc(list->items, (list->capacity * 2 + 4) * sizeof *more);
        if (more) {
            list->items = more;
            list->capacity = list->capacity * 2 + 4;
        } else {
            status = TFR_ENOMEM;
        }
    }
    if (status) {
        tfr__free(rw);
        return status;
    }
    list->items[list->n++] = rw;
    rw->env = list->env;
    rw->graph = tfr_graph_retain(graph);
    rw->parent = parent;
    forget_types(rw, list->loose_shapes);
    tfr__rewrite_count(rw);
    status = rw->status;
    for (uint32_t i = 0; !status && i < graph->n_nodes; i++)
        for (uint32_t k = 0; !status && k < graph->nodes[i].n_subgraphs; k++)
            status = add_graph(list, graph->nodes[i].subgraphs[k], rw);
    return status;
}

/* Has the node died that the graph belonged to? Then only the list holds it. */
static bool is_dead(const tfr__rewrite *rw)
{
    for (; rw->parent; rw = rw->parent)
        if (atomic_load(&rw->graph->refs) == 1)
            return true;
    return false;
}

static uint32_t n_nodes(const graphs *list)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < list->n; i++)
        if (!is_dead(list->items[i]))
            n += list->items[i]->graph->n_nodes;
    return n;
}

static tfr_status run_pass(graphs *list, uint32_t p, bool on, tfr__pass_row *row)
{
    uint32_t changes = 0, before = on ? n_nodes(list) : 0;
    uint64_t began = tfr__now_ns();
    for (uint32_t i = 0; i < list->n; i++) {
        tfr__rewrite *rw = list->items[i];
        uint32_t n;
        if (is_dead(rw))
            continue;
        list->n_constants += tfr__rewrite_captures(rw);
        n = on ? passes[p].run(rw) : tfr__rewrite_types(rw, NULL);
        if (on && n && !rw->status)
            tfr__rewrite_tidy(rw);
        if (rw->status)
            return rw->status;
        changes += on ? n : 0;
    }
    if (!on)
        return TFR_OK;
    if (!row->rounds++)
        row->nodes_before = before;
    row->nodes_removed += (int32_t)before - (int32_t)n_nodes(list);
    row->n_changes += changes;
    row->ns += tfr__now_ns() - began;
    return TFR_OK;
}

/* Inner graphs first: what they captured may be unread then. */
static tfr_status drop_unread(graphs *list, uint32_t *changes)
{
    for (uint32_t i = list->n; i-- > 0;) {
        tfr__rewrite *rw = list->items[i];
        uint32_t n;
        list->n_constants += tfr__rewrite_captures(rw);
        n = tfr__rewrite_drop_unread(rw);
        if (n && !rw->status)
            tfr__rewrite_tidy(rw);
        if (rw->status)
            return rw->status;
        *changes += n;
    }
    return TFR_OK;
}

static tfr_status run_rounds(graphs *list, uint32_t mask, tfr__pass_row *rows)
{
    tfr_status status = TFR_OK;
    uint32_t changed = 1;
    for (int round = 0; !status && changed && round < MAX_ROUNDS; round++) {
        changed = 0;
        for (uint32_t p = 0; !status && p < TFR__N_PASSES; p++) {
            tfr__pass_row *row = &rows[p];
            uint32_t before = row->n_changes;
            bool on = mask >> p & 1;
            if (on || p == TFR__PASS_fold) /* which finds the types */
                status = run_pass(list, p, on, row);
            changed += row->n_changes - before;
        }
        /* Subgraphs may have stopped to use what they captured. */
        for (uint32_t i = list->n; !status && i-- > 0;) {
            if (!is_dead(list->items[i])) {
                (void)tfr__rewrite_captures(list->items[i]);
                tfr__rewrite_tidy(list->items[i]);
                status = list->items[i]->status;
            }
        }
    }
    return status;
}

static bool has_foreign(const graphs *list)
{
    for (uint32_t i = 0; i < list->n; i++)
        for (uint32_t k = 0; k < list->items[i]->graph->n_nodes; k++)
            if (list->items[i]->graph->nodes[k].op->traits & TFR__TRAIT_FOREIGN)
                return true;
    return false;
}

/* Ops that no backend has, by their decompositions, until there are no more. */
static tfr_status write_out(graphs *list, uint32_t *changes, tfr_err *err)
{
    tfr_status status = TFR_OK;
    uint32_t n = 1, n_nodes = 0;
    if (list->env->opset || !has_foreign(list))
        return TFR_OK;
    for (uint32_t round = 0; !status && n; round++) {
        n = 0;
        for (uint32_t i = 0; !status && i < list->n; i++) {
            tfr__rewrite *rw = list->items[i];
            (void)tfr__rewrite_captures(rw);
            (void)tfr__rewrite_types(rw, NULL);
            status = tfr__rewrite_write_out(rw, round, &n, &n_nodes, err);
            if (!status && n)
                tfr__rewrite_tidy(rw);
            if (!status)
                status = rw->status;
        }
        *changes += n;
    }
    return status;
}

tfr_status tfr__passes_run(const tfr__kernel_env *env, bool loose_shapes, uint32_t mask,
                           tfr_graph **graph, tfr__pass_row *rows, tfr_err *err)
{
    graphs list = {.env = env, .loose_shapes = loose_shapes};
    tfr_graph *copy;
    uint32_t changes = 0;
    tfr_status status = tfr__graph_copy(*graph, NULL, &copy, err);
    if (status)
        return status;
    status = add_graph(&list, copy, NULL);
    if (!status)
        status = drop_unread(&list, &changes);
    if (!status)
        status = write_out(&list, &changes, err);
    if (!status)
        status = run_rounds(&list, mask, rows);
    for (uint32_t p = 0; p < TFR__N_PASSES; p++) {
        changes += rows[p].n_changes;
        rows[p].name = passes[p].name;
        snprintf(rows[p].text, sizeof rows[p].text, passes[p].text, rows[p].n_changes);
    }
    for (uint32_t i = 0; i < list.n; i++) {
        tfr__rewrite_finish(list.items[i]);
        tfr__free(list.items[i]);
    }
    tfr__free(list.items);
    if (status == TFR_ENOMEM)
        status =
            tfr_fail(err, status, "out of memory for passes over graph \"%s\"", (*graph)->name);
    if (status || !(changes + (mask ? list.n_constants : 0))) {
        tfr_graph_release(copy);
    } else {
        tfr_graph_release(*graph); /* the copy holds it */
        *graph = copy;
    }
    return status;
}
