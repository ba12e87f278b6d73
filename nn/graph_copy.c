/* SPDX-License-Identifier: Apache-2.0 */
/* graph_copy.c: see graph_copy.h. */
#include "graph_copy.h"

#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

enum { MOST_OUTPUTS = 64 };

/* Passes give a new value the name of one that it is like, which may still be there. */
static const char *name_of(const tfr__copy *copy, tfr_value v)
{
    const char *name = tfr_graph_value_name(copy->from, v);
    if (copy->unnamed || (name[0] == '%' && !copy->all_names))
        return NULL;
    return tfr_graph_find_value(copy->to, name) == TFR_VALUE_NONE ? name : NULL;
}

tfr_status tfr__copy_type(const tfr__copy *copy, const tfr_value_type *from, tfr_value_type *to,
                          tfr_err *err)
{
    tfr_status status = TFR_OK;
    *to = *from;
    for (int32_t i = 0; !status && from->rank_known && i < from->rank; i++) {
        const char *name =
            from->dims[i] < -1 ? tfr_graph_symbol_name(copy->from, from->dims[i]) : NULL;
        if (name)
            status = tfr_graph_add_symbol(copy->to, name, &to->dims[i], err);
    }
    return status;
}

static tfr_status copy_value(tfr__copy *copy, tfr_value v, tfr_err *err)
{
    const char *name = name_of(copy, v);
    tfr_value_view view = {.size = sizeof view};
    tfr_status status = tfr_graph_value(copy->from, v, &view, err);
    if (!status && view.role == TFR_ROLE_CAPTURE)
        return tfr_graph_add_capture(copy->to,
                                     copy->outer ? copy->outer[view.of_parent] : view.of_parent,
                                     &copy->map[v], err);
    if (status || (view.role != TFR_ROLE_CONSTANT && view.role != TFR_ROLE_VARIABLE))
        return status;
    if (copy->value)
        status = copy->value(copy, v, &view, &copy->map[v], err);
    if (status || copy->map[v] != TFR_VALUE_NONE)
        return status;
    if (view.role == TFR_ROLE_CONSTANT)
        return tfr_graph_add_constant(copy->to, name, view.tensor, &copy->map[v], err);
    return tfr_graph_add_variable(copy->to, name, view.tensor, &copy->map[v], err);
}

static tfr_status copy_inputs(tfr__copy *copy, tfr_err *err)
{
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < tfr_graph_n_inputs(copy->from); i++) {
        tfr_value v = tfr_graph_input(copy->from, i);
        tfr_value_type type;
        status = tfr__copy_type(copy, tfr_graph_value_type(copy->from, v), &type, err);
        if (!status)
            status = tfr_graph_add_input(copy->to, name_of(copy, v), &type, &copy->map[v], err);
    }
    return status;
}

static tfr_status make_map(tfr__copy *copy, tfr_err *err)
{
    const uint32_t n = tfr_graph_n_values(copy->from);
    copy->map = malloc(((size_t)n + 1) * sizeof *copy->map);
    if (!copy->map)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for a copy of graph \"%s\"",
                        tfr_graph_name(copy->from));
    for (uint32_t i = 0; i < n; i++)
        copy->map[i] = TFR_VALUE_NONE;
    return TFR_OK;
}

static tfr_status copy_values(tfr__copy *copy, tfr_err *err)
{
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < tfr_graph_n_values(copy->from); i++)
        status = copy_value(copy, (tfr_value)i, err);
    return status;
}

tfr_status tfr__copy_begin(tfr__copy *copy, tfr_err *err)
{
    tfr_status status = tfr_graph_create(tfr_graph_name(copy->from), &copy->to, err);
    if (!status)
        status = make_map(copy, err);
    if (!status)
        status = copy_inputs(copy, err);
    return status ? status : copy_values(copy, err);
}

tfr_status tfr__copy_enter(tfr__copy *copy, tfr_err *err)
{
    tfr_status status = make_map(copy, err);
    return status ? status : copy_values(copy, err);
}

static tfr_status add_node(tfr__copy *copy, const tfr_node_view *view, const tfr_value *inputs,
                           uint32_t n_inputs, const tfr_attr *attrs, uint32_t n_attrs,
                           const tfr_subgraph *subgraphs, uint32_t n_subgraphs, tfr_value *outputs,
                           uint32_t n_outputs, tfr_err *err)
{
    const char *names[MOST_OUTPUTS];
    tfr_node_desc desc = {.size = sizeof desc,
                          .domain = view->domain,
                          .op = view->op,
                          .name = view->name,
                          .device = view->device,
                          .inputs = inputs,
                          .n_inputs = n_inputs,
                          .n_outputs = n_outputs,
                          .output_names = names,
                          .attrs = attrs,
                          .n_attrs = n_attrs,
                          .subgraphs = subgraphs,
                          .n_subgraphs = n_subgraphs};
    if (n_outputs > MOST_OUTPUTS)
        return tfr_fail(err, TFR_ELIMIT, "node \"%s\" (%s) has %u outputs, more than %d",
                        view->name, view->op, n_outputs, MOST_OUTPUTS);
    for (uint32_t i = 0; i < n_outputs; i++) {
        tfr_value v = i < view->n_outputs ? view->outputs[i] : TFR_VALUE_NONE;
        names[i] = v != TFR_VALUE_NONE ? name_of(copy, v) : i < view->n_outputs ? "" : NULL;
    }
    return tfr_graph_add_node(copy->to, &desc, outputs, err);
}

tfr_status tfr__copy_node(tfr__copy *copy, const tfr_node_view *view, const tfr_value *inputs,
                          uint32_t n_inputs, const tfr_attr *attrs, uint32_t n_attrs,
                          tfr_value *outputs, uint32_t n_outputs, tfr_err *err)
{
    return add_node(copy, view, inputs, n_inputs, attrs, n_attrs, NULL, 0, outputs, n_outputs, err);
}

/* A graph inside of a node, for a node of the copy. */
static tfr_status copy_inside(tfr__copy *copy, const tfr_graph *graph, tfr_graph **out,
                              tfr_err *err)
{
    tfr__copy inside = {.from = graph, .unnamed = copy->unnamed, .outer = copy->map};
    tfr_status status = tfr_graph_create_child(copy->to, tfr_graph_name(graph), &inside.to, err);
    if (status)
        return status;
    status = make_map(&inside, err);
    if (!status)
        status = copy_inputs(&inside, err);
    if (!status)
        status = copy_values(&inside, err);
    if (!status)
        status = tfr__copy_nodes(&inside, err);
    for (uint32_t i = 0; !status && i < tfr_graph_n_outputs(graph); i++) {
        const tfr_value_type *declared = tfr_graph_output_type(graph, i);
        tfr_value_type type;
        const char *name = copy->unnamed ? NULL : tfr_graph_output_name(graph, i);
        status = tfr_graph_add_output(inside.to, inside.map[tfr_graph_output(graph, i)], name, err);
        if (!status && declared)
            status = tfr__copy_type(&inside, declared, &type, err);
        if (!status && declared)
            status = tfr_graph_declare_output(inside.to, i, &type, err);
    }
    tfr__copy_finish(&inside, status ? NULL : out);
    return status;
}

/* Attributes and graphs of a node. */
static tfr_status copy_attrs(tfr__copy *copy, const tfr_node_view *view, tfr_attr *attrs,
                             uint32_t *n_attrs, tfr_subgraph *graphs, uint32_t *n_graphs,
                             tfr_err *err)
{
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < view->n_attrs; i++) {
        const tfr_attr *attr =
            (const tfr_attr *)((const char *)view->attrs + (size_t)i * view->attr_stride);
        if (attr->type != TFR_ATTR_GRAPH) {
            attrs[(*n_attrs)++] = *attr;
            continue;
        }
        graphs[*n_graphs].name = attr->name;
        status =
            copy_inside(copy, tfr_node_subgraph(view, attr->name), &graphs[*n_graphs].graph, err);
        *n_graphs += !status;
    }
    return status;
}

/* The node as it is. */
tfr_status tfr__copy_plain(tfr__copy *copy, const tfr_node_view *view, uint32_t n_outputs,
                           tfr_err *err)
{
    tfr_value outputs[MOST_OUTPUTS];
    tfr_value *inputs = malloc(((size_t)view->n_inputs + 1) * sizeof *inputs);
    tfr_attr *attrs = calloc((size_t)view->n_attrs + 1, sizeof *attrs);
    tfr_subgraph *graphs = calloc((size_t)view->n_subgraphs + 1, sizeof *graphs);
    uint32_t n_attrs = 0, n_graphs = 0;
    tfr_status status = TFR_OK;
    if (!inputs || !attrs || !graphs)
        status = tfr_fail(err, TFR_ENOMEM, "out of memory for node \"%s\"", view->name);
    for (uint32_t i = 0; !status && i < view->n_inputs; i++)
        inputs[i] = view->inputs[i] == TFR_VALUE_NONE ? TFR_VALUE_NONE : copy->map[view->inputs[i]];
    if (!status)
        status = copy_attrs(copy, view, attrs, &n_attrs, graphs, &n_graphs, err);
    if (!status)
        status = add_node(copy, view, inputs, view->n_inputs, attrs, n_attrs, graphs, n_graphs,
                          outputs, n_outputs, err);
    for (uint32_t i = 0; status && i < n_graphs; i++)
        tfr_graph_release(graphs[i].graph);
    for (uint32_t i = 0; !status && i < view->n_outputs; i++)
        if (view->outputs[i] != TFR_VALUE_NONE)
            copy->map[view->outputs[i]] = outputs[i];
    free(inputs);
    free(attrs);
    free(graphs);
    return status;
}

tfr_status tfr__copy_nodes(tfr__copy *copy, tfr_err *err)
{
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < tfr_graph_n_nodes(copy->from); i++) {
        tfr_node_view view = {.size = sizeof view};
        bool done = false;
        status = tfr_graph_node(copy->from, i, &view, err);
        if (!status && copy->node)
            status = copy->node(copy, i, &view, &done, err);
        if (!status && !done)
            status = tfr__copy_plain(copy, &view, view.n_outputs, err);
    }
    return status;
}

void tfr__copy_leave(tfr__copy *copy)
{
    free(copy->map);
    copy->map = NULL;
}

void tfr__copy_finish(tfr__copy *copy, tfr_graph **out)
{
    if (out)
        *out = copy->to;
    else
        tfr_graph_release(copy->to);
    tfr__copy_leave(copy);
}
