/* SPDX-License-Identifier: Apache-2.0 */
/* graph_view.c: what a program can ask of a graph. Nothing here changes one. */
#include <string.h>
#include <tfrun/fail.h>

#include "graph/graph.h"

const char *tfr_graph_name(const tfr_graph *graph)
{
    return graph->name;
}

uint32_t tfr_graph_n_inputs(const tfr_graph *graph)
{
    return graph->n_inputs;
}

uint32_t tfr_graph_n_outputs(const tfr_graph *graph)
{
    return graph->n_outputs;
}

uint32_t tfr_graph_n_nodes(const tfr_graph *graph)
{
    return graph->n_nodes;
}

tfr_value tfr_graph_input(const tfr_graph *graph, uint32_t i)
{
    return i < graph->n_inputs ? graph->inputs[i] : TFR_VALUE_NONE;
}

tfr_value tfr_graph_output(const tfr_graph *graph, uint32_t i)
{
    return i < graph->n_outputs ? graph->outputs[i] : TFR_VALUE_NONE;
}

const char *tfr_graph_output_name(const tfr_graph *graph, uint32_t i)
{
    if (i >= graph->n_outputs)
        return NULL;
    return graph->output_names[i] ? graph->output_names[i] : graph->values[graph->outputs[i]].name;
}

const char *tfr_graph_value_name(const tfr_graph *graph, tfr_value value)
{
    return value >= 0 && (uint32_t)value < graph->n_values ? graph->values[value].name : NULL;
}

const tfr_value_type *tfr_graph_value_type(const tfr_graph *graph, tfr_value value)
{
    return value >= 0 && (uint32_t)value < graph->n_values ? &graph->values[value].type : NULL;
}

tfr_value tfr_graph_find_value(const tfr_graph *graph, const char *name)
{
    return tfr__names_find(&graph->names, name);
}

uint32_t tfr_graph_n_values(const tfr_graph *graph)
{
    return graph->n_values;
}

const tfr_value_type *tfr_graph_output_type(const tfr_graph *graph, uint32_t i)
{
    const tfr_value_type *type = i < graph->n_declared ? &graph->output_types[i] : NULL;
    return type && (type->kind || type->dtype || type->rank_known) ? type : NULL;
}

static int32_t role_of(const tfr__value *value)
{
    switch ((tfr__role)value->role) {
    case TFR__ROLE_INPUT:
        return TFR_ROLE_INPUT;
    case TFR__ROLE_CONSTANT:
        return TFR_ROLE_CONSTANT;
    case TFR__ROLE_VARIABLE:
        return TFR_ROLE_VARIABLE;
    case TFR__ROLE_CAPTURE:
        return TFR_ROLE_CAPTURE;
    case TFR__ROLE_NODE:
        return value->node < 0 ? TFR_ROLE_NONE : TFR_ROLE_NODE;
    }
    return TFR_ROLE_NONE;
}

tfr_status tfr_graph_value(const tfr_graph *graph, tfr_value value, tfr_value_view *out,
                           tfr_err *err)
{
    tfr_value_view view = {0};
    const tfr__value *v;
    if (!out || out->size < sizeof out->size)
        return tfr_fail(err, TFR_EINVAL, "the value's view has no size");
    if (value < 0 || (uint32_t)value >= graph->n_values)
        return tfr_fail(err, TFR_EINVAL, "there is no value %d, graph \"%s\" has %u", (int)value,
                        graph->name, graph->n_values);
    v = &graph->values[value];
    view.role = role_of(v);
    view.tensor = v->tensor;
    view.update = v->update;
    view.of_parent = v->outer;
    view.size = out->size < sizeof view ? out->size : (uint32_t)sizeof view;
    memcpy(out, &view, view.size);
    return TFR_OK;
}

tfr_status tfr_graph_check(const tfr_graph *graph, tfr_err *err)
{
    return tfr__graph_check(tfr__graph_source(graph), err);
}

tfr_status tfr_graph_node(const tfr_graph *graph, uint32_t i, tfr_node_view *out, tfr_err *err)
{
    tfr_node_view view = {0};
    const tfr__node *node;
    if (!out || out->size < sizeof out->size)
        return tfr_fail(err, TFR_EINVAL, "the node's view has no size");
    if (i >= graph->n_nodes)
        return tfr_fail(err, TFR_EINVAL, "there is no node %u, graph \"%s\" has %u", i, graph->name,
                        graph->n_nodes);
    node = &graph->nodes[i];
    view.n_inputs = node->n_inputs;
    view.n_outputs = node->n_outputs;
    view.n_attrs = node->attrs.n;
    view.n_subgraphs = node->n_subgraphs;
    view.attr_stride = sizeof(tfr__attr);
    view.domain = node->op->domain;
    view.op = node->op->name;
    view.name = node->name;
    view.device = node->device;
    view.inputs = node->inputs;
    view.outputs = node->outputs;
    view.attrs = node->attrs.n ? &node->attrs.items[0].pub : NULL;
    view.n_captures = node->n_captures;
    view.captures = node->captures;
    view.size = out->size < sizeof view ? out->size : (uint32_t)sizeof view;
    memcpy(out, &view, view.size);
    return TFR_OK;
}

const tfr_attr *tfr_node_attr(const tfr_node_view *node, const char *name)
{
    for (uint32_t i = 0; i < node->n_attrs; i++) {
        const void *item = (const char *)node->attrs + (size_t)i * node->attr_stride;
        const tfr_attr *attr = item;
        if (strcmp(attr->name, name) == 0)
            return attr;
    }
    return NULL;
}

const tfr_graph *tfr_node_subgraph(const tfr_node_view *node, const char *name)
{
    const tfr_attr *attr = tfr_node_attr(node, name);
    const void *item = attr; /* pub is the first member */
    return attr && attr->type == TFR_ATTR_GRAPH ? ((const tfr__attr *)item)->graph : NULL;
}
