/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.c: puts the nodes of a graph into an order in which each comes after those whose
 * values it uses. ONNX demands such files; others exist, and are accepted as long as there is no
 * cycle. A file that is in order stays as it is. Depth-first search without recursion, in linear
 * time; what a node's subgraphs take from outside counts as used by the node.
 */
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

#include "onnx/model.h"

/* The subgraphs around a use, innermost first. */
typedef struct chain {
    const tfr__onnx_graph *graph;
    const struct chain *outer;
} chain;

/* The producers that nodes depend on: of node i, items[starts[i]...starts[i + 1]). */
typedef struct edges {
    const tfr__onnx_graph *graph;
    uint32_t *starts, *items;
    uint32_t n, capacity;
} edges;

static tfr_status add_edge(edges *e, tfr__text name, const chain *inside, tfr_err *err)
{
    uint32_t label;
    if (!name.bytes)
        return TFR_OK;
    for (const chain *c = inside; c; c = c->outer)
        if (tfr__labels_find(&c->graph->labels, name) != TFR__LABEL_NONE)
            return TFR_OK; /* made in the subgraph itself */
    label = tfr__labels_find(&e->graph->labels, name);
    if (label == TFR__LABEL_NONE || e->graph->makers[label].origin != TFR__ONNX_NODE)
        return TFR_OK;
    if (e->n == e->capacity) {
        uint32_t capacity = e->capacity ? 2 * e->capacity : 64;
        uint32_t *items =
            capacity < UINT32_MAX / 8 ? realloc(e->items, capacity * sizeof *items) : NULL;
        if (!items)
            return tfr_fail(err, TFR_ENOMEM, "out of memory for %u edges", capacity);
        e->items = items;
        e->capacity = capacity;
    }
    e->items[e->n++] = e->graph->makers[label].index;
    return TFR_OK;
}

/* Recursion is as deep as subgraphs are nested, which the wire reader limits. */
static tfr_status add_node_edges(edges *e, const tfr__onnx_node *node, const chain *inside,
                                 tfr_err *err)
{
    tfr_status status = TFR_OK;

    for (uint32_t i = 0; !status && i < node->n_inputs; i++)
        status = add_edge(e, node->inputs[i], inside, err);
    for (uint32_t i = 0; !status && i < node->n_attrs; i++) {
        const tfr__onnx_graph *sub = node->attrs[i].graph;
        chain here = {sub, inside};
        for (uint32_t k = 0; sub && !status && k < sub->n_nodes; k++)
            status = add_node_edges(e, &sub->nodes[k], &here, err);
        for (uint32_t k = 0; sub && !status && k < sub->n_outputs; k++)
            status = add_edge(e, sub->outputs[k].name, &here, err);
    }
    return status;
}

/* stack[from...n) is the path from a node back to itself. */
static tfr_status fail_cycle(const edges *e, const uint32_t *stack, uint32_t from, uint32_t n,
                             tfr_err *err)
{
    char text[360], title[TFR__TITLE_BYTES];
    size_t used = 0;

    for (uint32_t i = from; i < n && i < from + 4; i++) {
        tfr__onnx_node_title(&e->graph->nodes[stack[i]], title);
        title[80] = 0;
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > from ? ", " : "", title);
    }
    if (n - from > 4)
        snprintf(text + used, sizeof text - used, ", ...");
    return tfr_fail(err, TFR_EMODEL, "the graph has a cycle of %u nodes, each uses the next: %s",
                    n - from, text);
}

/* States of a node: not seen, on the stack, placed. */
enum { FRESH, OPEN, DONE };

static tfr_status search(const edges *e, uint32_t *order, tfr_err *err)
{
    uint32_t n = e->graph->n_nodes, n_order = 0, depth;
    uint32_t *stack = calloc(n, sizeof *stack), *next = calloc(n, sizeof *next);
    unsigned char *state = calloc(n, 1);
    tfr_status status = TFR_OK;

    if (!stack || !next || !state)
        status = tfr_fail(err, TFR_ENOMEM, "out of memory to sort %u nodes", n);
    for (uint32_t root = 0; !status && root < n; root++) {
        depth = 0;
        if (state[root] == FRESH) {
            stack[depth++] = root;
            state[root] = OPEN;
        }
        while (depth && !status) {
            uint32_t node = stack[depth - 1], at = e->starts[node] + next[node]++;
            if (at == e->starts[node + 1]) {
                state[node] = DONE;
                order[n_order++] = node;
                depth--;
            } else if (state[e->items[at]] == FRESH) {
                state[e->items[at]] = OPEN;
                stack[depth++] = e->items[at];
            } else if (state[e->items[at]] == OPEN) {
                uint32_t from = depth - 1;
                while (stack[from] != e->items[at])
                    from--;
                status = fail_cycle(e, stack, from, depth, err);
            }
        }
    }
    free(stack);
    free(next);
    free(state);
    return status;
}

tfr_status tfr__onnx_order(tfr__onnx_graph *graph, tfr__scratch *scratch, tfr_err *err)
{
    edges e = {.graph = graph};
    bool sorted = true;
    tfr_status status = TFR_OK;

    e.starts = calloc((size_t)graph->n_nodes + 1, sizeof *e.starts);
    if (!e.starts)
        return tfr_fail(err, TFR_ENOMEM, "out of memory to sort %u nodes", graph->n_nodes);
    for (uint32_t i = 0; !status && i < graph->n_nodes; i++) {
        status = add_node_edges(&e, &graph->nodes[i], NULL, err);
        e.starts[i + 1] = e.n;
        for (uint32_t k = e.starts[i]; k < e.n; k++)
            sorted = sorted && e.items[k] < i;
    }
    if (!status && !sorted) {
        graph->order = tfr__scratch_take(scratch, graph->n_nodes, sizeof *graph->order);
        status = graph->order
                     ? search(&e, graph->order, err)
                     : tfr_fail(err, TFR_ENOMEM, "out of memory to sort %u nodes", graph->n_nodes);
    }
    free(e.starts);
    free(e.items);
    return status;
}
