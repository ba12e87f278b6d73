/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_copy.c: the copy of a graph that passes may change. Nodes, values, lists of operands and,
 * inside of a node, types of outputs are its own; names, attributes and tensors are borrowed from
 * the graph that it was made of.
 */
#include <string.h>

#include "base/alloc.h"
#include "graph/graph.h"

/* Operands and subgraphs of one node; *block has room for the operands. */
static tfr_status node_copy(tfr_graph *g, tfr__node *node, tfr_value **block, tfr_err *err)
{
    tfr_value **lists[] = {&node->inputs, &node->outputs, &node->captures};
    const uint32_t n[] = {node->n_inputs, node->n_outputs, node->n_captures};
    tfr_graph **children = node->subgraphs;
    uint32_t n_children = node->n_subgraphs;
    tfr__attr *items;
    node->attrs.capacity = 0; /* borrowed */
    node->n_subgraphs = 0;
    for (int k = 0; k < 3; k++) {
        if (n[k])
            memcpy(*block, *lists[k], n[k] * sizeof **block);
        *lists[k] = *block;
        *block += n[k];
    }
    if (!n_children)
        return TFR_OK;
    *block += node->n_inputs; /* which may become captures */
    items = tfr__region_alloc(&g->region, node->attrs.n, sizeof *items);
    node->subgraphs = tfr__region_alloc(&g->region, n_children, sizeof *node->subgraphs);
    if (!items || !node->subgraphs)
        return TFR_ENOMEM;
    memcpy(items, node->attrs.items, node->attrs.n * sizeof *items);
    node->attrs.items = items;
    for (uint32_t k = 0; k < n_children; k++) {
        tfr_status status = tfr__graph_copy(children[k], g, &node->subgraphs[k], err);
        if (status)
            return status;
        node->n_subgraphs = k + 1;
        for (uint32_t a = 0; a < node->attrs.n; a++)
            if (items[a].graph == children[k])
                items[a].graph = node->subgraphs[k];
    }
    return TFR_OK;
}

/* What the model declares of an output, else what is known of it before any pass. */
static const tfr_value_type *output_type(const tfr_graph *graph, uint32_t i)
{
    return i < graph->n_declared && graph->output_types[i].dtype
               ? &graph->output_types[i]
               : &graph->values[graph->outputs[i]].type;
}

tfr_status tfr__graph_copy(tfr_graph *graph, tfr_graph *parent, tfr_graph **out, tfr_err *err)
{
    tfr_graph *g = tfr__calloc(1, sizeof *g);
    size_t n_operands = (size_t)graph->n_outputs + graph->n_inputs;
    tfr_value *block;
    tfr_status status = TFR_OK;
    if (!g)
        return tfr__no_memory(err);
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const tfr__node *node = &graph->nodes[i];
        n_operands += (size_t)node->n_inputs * 2 + node->n_outputs + node->n_captures;
    }
    atomic_init(&g->refs, 1);
    atomic_init(&g->frozen, true);
    g->source = tfr_graph_retain(graph);
    g->name = graph->name;
    g->parent = parent;
    g->number = parent ? parent->n_children++ : 0;
    g->variables = graph->variables;
    g->output_types = graph->output_types;
    g->n_declared = graph->n_declared;
    g->n_inputs = graph->n_inputs;
    g->n_variables = graph->n_variables;
    g->values_capacity = graph->n_values + 1;
    g->nodes_capacity = graph->n_nodes + 1;
    g->values = tfr__calloc(g->values_capacity, sizeof *g->values);
    g->nodes = tfr__calloc(g->nodes_capacity, sizeof *g->nodes);
    block = tfr__region_alloc(&g->region, n_operands + 1, sizeof *block);
    g->output_names = tfr__region_alloc(&g->region, (size_t)graph->n_outputs + 1, sizeof(char *));
    if (parent) {
        g->n_declared = graph->n_outputs;
        g->output_types =
            tfr__region_alloc(&g->region, (size_t)graph->n_outputs + 1, sizeof *g->output_types);
    }
    if (!g->values || !g->nodes || !block || !g->output_names || (parent && !g->output_types)) {
        status = TFR_ENOMEM;
    } else {
        g->n_values = graph->n_values;
        memcpy(g->values, graph->values, g->n_values * sizeof *g->values);
        for (uint32_t v = 0; v < g->n_values; v++)
            if (g->values[v].tensor)
                tfr_tensor_retain(g->values[v].tensor);
        g->outputs = block;
        g->n_outputs = graph->n_outputs;
        for (uint32_t i = 0; i < g->n_outputs; i++) {
            *block++ = graph->outputs[i];
            g->output_names[i] = (char *)tfr_graph_output_name(graph, i);
            if (parent)
                g->output_types[i] = *output_type(graph, i);
        }
        g->inputs = block;
        for (uint32_t i = 0; i < g->n_inputs; i++)
            *block++ = graph->inputs[i];
    }
    for (uint32_t i = 0; !status && i < graph->n_nodes; i++) {
        g->nodes[i] = graph->nodes[i];
        g->n_nodes = i + 1;
        status = node_copy(g, &g->nodes[i], &block, err);
    }
    if (!status) {
        *out = g;
        return TFR_OK;
    }
    tfr_graph_release(g);
    return tfr__no_memory(err);
}
