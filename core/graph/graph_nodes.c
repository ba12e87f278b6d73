/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_nodes.c: adding nodes to graphs: the op, its counts of operands, names and types of
 * attributes, and subgraphs are checked; graph.c has the rest of building.
 */
#include "graph/graph.h"

#include <stdio.h>
#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"

#define MAX_OPERANDS (1u << 20)

void tfr__node_finish(tfr__node *node)
{
    tfr__free(node->name);
    tfr__free(node->device);
    tfr__free(node->inputs);
    tfr__free(node->outputs);
    tfr__free(node->captures);
    tfr__attr_free(&node->attrs);
    for (uint32_t i = 0; i < node->n_subgraphs; i++)
        tfr_graph_release(node->subgraphs[i]);
    tfr__free(node->subgraphs);
}

static tfr_status node_count_check(const tfr__node *node, const char *what, const char *formals,
                                   uint32_t n, tfr_err *err)
{
    uint32_t least, most;
    tfr__op_arity(formals, &least, &most);
    if (n >= least && n <= most)
        return TFR_OK;
    return tfr_fail(err, TFR_EMODEL, "node \"%s\" (%s) has %u %s, the op takes %s%u: %s",
                    node->name, node->op->name, n, what, n < least ? "at least " : "at most ",
                    n < least ? least : most, formals);
}

/* Attributes of names and types that the op has; the values are looked at by the inference. */
static tfr_status node_attrs_check(const tfr__node *node, tfr_err *err)
{
    for (uint32_t i = 0; i < node->attrs.n; i++) {
        const tfr_attr *attr = &node->attrs.items[i].pub;
        const char *cursor = node->op->attrs;
        tfr__attr_formal formal;
        bool found = false;
        while (!found && tfr__op_next_attr(&cursor, &formal))
            found = strlen(attr->name) == formal.name_bytes &&
                    memcmp(attr->name, formal.name, formal.name_bytes) == 0;
        if (!found)
            return tfr_fail(err, TFR_EMODEL,
                            "node \"%s\" (%s) has no attribute \"%s\", there is: %s", node->name,
                            node->op->name, attr->name, node->op->attrs);
        if (formal.type != attr->type)
            return tfr_fail(
                err, TFR_EMODEL, "attribute \"%s\" of node \"%s\" (%s) has type %d, it must be %d",
                attr->name, node->name, node->op->name, (int)attr->type, (int)formal.type);
    }
    return TFR_OK;
}

/* Takes inputs, attributes, subgraphs and what they capture into node; on failure tfr__node_finish.
 */
static tfr_status node_fill(tfr_graph *graph, const tfr_node_desc *desc, tfr__node *node,
                            tfr_err *err)
{
    tfr_status status = TFR_OK;
    const char *device = desc->device;
    uint32_t n_captures = 0;
    char made_up[32];
    if (desc->n_inputs > MAX_OPERANDS || desc->n_outputs > MAX_OPERANDS)
        return tfr_fail(err, TFR_ELIMIT, "node \"%s\" has more than %u operands",
                        desc->name ? desc->name : "", MAX_OPERANDS);
    snprintf(made_up, sizeof made_up, "%s_%u", node->op->name, graph->n_nodes);
    if (!device && graph->n_scopes && graph->scopes[graph->n_scopes - 1][0])
        device = graph->scopes[graph->n_scopes - 1];
    node->name = tfr__strdup(desc->name && *desc->name ? desc->name : made_up);
    if (device)
        node->device = tfr__strdup(device);
    node->inputs = tfr__calloc((size_t)desc->n_inputs + 1, sizeof *node->inputs);
    node->outputs = tfr__calloc((size_t)desc->n_outputs + 1, sizeof *node->outputs);
    node->subgraphs = tfr__calloc((size_t)desc->n_subgraphs + 1, sizeof *node->subgraphs);
    for (uint32_t i = 0; i < desc->n_subgraphs; i++)
        n_captures += desc->subgraphs[i].graph ? desc->subgraphs[i].graph->n_values : 0;
    node->captures = tfr__calloc((size_t)n_captures + 1, sizeof *node->captures);
    if (!node->name || (device && !node->device) || !node->inputs || !node->outputs ||
        !node->subgraphs || !node->captures)
        return tfr__no_memory(err);
    for (uint32_t i = 0; i < desc->n_inputs; i++) {
        if (desc->inputs[i] != TFR_VALUE_NONE)
            status = tfr__value_check(graph, desc->inputs[i], node->name, err);
        if (status)
            return status;
        node->inputs[i] = desc->inputs[i];
    }
    node->n_inputs = desc->n_inputs;
    for (uint32_t i = 0; !status && i < desc->n_attrs; i++)
        status = tfr__attr_set(&node->attrs, &desc->attrs[i], NULL, err);
    for (uint32_t i = 0; !status && i < desc->n_subgraphs; i++) {
        tfr_graph *child = desc->subgraphs[i].graph;
        uint32_t before = 0;
        while (desc->subgraphs[before].graph != child)
            before++;
        if (!child || child->parent != graph || child->adopted || before < i)
            return tfr_fail(err, TFR_EINVAL,
                            "subgraph \"%s\" of node \"%s\" is not a free child of graph \"%s\"",
                            desc->subgraphs[i].name, node->name, graph->name);
        status = tfr__attr_set_graph(&node->attrs, desc->subgraphs[i].name, child, err);
        for (uint32_t v = 0; v < child->n_values; v++)
            if (child->values[v].role == TFR__ROLE_CAPTURE)
                node->captures[node->n_captures++] = child->values[v].outer;
    }
    return status;
}

/* Adds the values that the node makes. After a failure they stay, but no node can use them. */
static tfr_status node_add_outputs(tfr_graph *graph, const tfr_node_desc *desc, tfr__node *node,
                                   tfr_err *err)
{
    for (uint32_t i = 0; i < desc->n_outputs; i++) {
        const char *name = desc->output_names ? desc->output_names[i] : NULL;
        node->outputs[i] = TFR_VALUE_NONE;
        node->n_outputs = i + 1;
        if (name && !*name)
            continue;
        tfr_status status = tfr__value_add(graph, name, TFR__ROLE_NODE, &node->outputs[i], err);
        if (status)
            return status;
        graph->values[node->outputs[i]].node = (int32_t)graph->n_nodes;
    }
    return TFR_OK;
}

tfr_status tfr_graph_add_node(tfr_graph *graph, const tfr_node_desc *given, tfr_value *outputs,
                              tfr_err *err)
{
    tfr_node_desc desc = {0};
    tfr__node node = {0};
    tfr_status status = tfr__graph_can_change(graph, err);
    if (status)
        return status;
    if (!given || given->size < offsetof(tfr_node_desc, attrs))
        return tfr_fail(err, TFR_EINVAL, "the node's description has no size");
    memcpy(&desc, given, given->size < sizeof desc ? given->size : sizeof desc);
    node.op = desc.op ? tfr__op_find(desc.domain ? desc.domain : "", desc.op) : NULL;
    if (!node.op)
        return tfr_fail(err, TFR_EMODEL,
                        "node \"%s\": there is no op \"%s\" in domain \"%s\"; `tfrun ops` lists "
                        "them",
                        desc.name ? desc.name : "", desc.op ? desc.op : "",
                        desc.domain ? desc.domain : "");
    status =
        tfr__graph_reserve(&graph->nodes, graph->n_nodes, &graph->nodes_capacity, sizeof node, err);
    if (!status)
        status = node_fill(graph, &desc, &node, err);
    if (!status)
        status = node_count_check(&node, "inputs", node.op->inputs, desc.n_inputs, err);
    if (!status)
        status = node_count_check(&node, "outputs", node.op->outputs, desc.n_outputs, err);
    if (!status)
        status = node_attrs_check(&node, err);
    if (!status)
        status = node_add_outputs(graph, &desc, &node, err);
    if (status) {
        for (uint32_t i = 0; i < node.n_outputs; i++)
            if (node.outputs[i] != TFR_VALUE_NONE)
                graph->values[node.outputs[i]].node = -1;
        tfr__node_finish(&node);
        return status;
    }
    for (uint32_t i = 0; i < desc.n_subgraphs; i++) {
        node.subgraphs[i] = desc.subgraphs[i].graph;
        node.subgraphs[i]->adopted = true;
    }
    node.n_subgraphs = desc.n_subgraphs;
    graph->nodes[graph->n_nodes++] = node;
    if (outputs)
        memcpy(outputs, node.outputs, node.n_outputs * sizeof *outputs);
    return TFR_OK;
}
