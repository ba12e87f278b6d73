/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gradient.c: Gradient of ai.onnx.preview.training becomes the nodes that compute it.
 * Attributes xs and zs name the values that y depends on, y names the value to differentiate, and
 * the inputs are where: mostly the same values, else the part of the graph between is made again
 * for the others.
 */
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

#include "onnx/gradient.h"
#include "onnx/import.h"

/*
 * A file of a few lines can ask for gradients of gradients, each many times the one before. What
 * one may make is taken to be GROWTH nodes for each node of the graph, and the sum over all is
 * limited.
 */
enum { GROWTH = 8, MOST_NODES = 1 << 20 };

typedef struct gradient {
    tfr__onnx_scope *scope;
    tfr__onnx_call *call;
    uint32_t n_xs, n_all; /* xs, then zs */
    tfr_value *named;     /* the values that xs and zs name */
    tfr_value *points;    /* the values to evaluate at */
    tfr_value y;
} gradient;

static tfr_status resolve_names(gradient *g, const tfr_attr *attr, tfr_value *out, tfr_err *err)
{
    for (uint64_t i = 0; i < attr->n; i++) {
        tfr__text name = {attr->strings[i].data, (size_t)attr->strings[i].bytes};
        tfr_status status = tfr__onnx_resolve(g->scope, name, &out[i], err);
        if (!status && out[i] == TFR_VALUE_NONE)
            status = tfr_fail(err, TFR_EMODEL, "value \"%s\" of attribute \"%s\" is absent",
                              attr->strings[i].data, attr->name);
        if (status)
            return status;
    }
    return TFR_OK;
}

static const tfr_attr *find_attr(const tfr__onnx_call *call, const char *name, int32_t type)
{
    for (uint32_t i = 0; i < call->n_attrs; i++)
        if (strcmp(call->attrs[i].name, name) == 0 && call->attrs[i].type == type)
            return &call->attrs[i];
    return NULL;
}

static tfr_status read_call(gradient *g, tfr_err *err)
{
    tfr__onnx_call *call = g->call;
    const tfr_attr *xs = find_attr(call, "xs", TFR_ATTR_STRINGS);
    const tfr_attr *zs = find_attr(call, "zs", TFR_ATTR_STRINGS);
    const tfr_attr *y = find_attr(call, "y", TFR_ATTR_STRING);
    tfr_status status;
    if (!xs || !xs->n || !y)
        return tfr_fail(err, TFR_EMODEL, "it has no attribute \"%s\"", y ? "xs" : "y");
    if (xs->n != call->n_outputs || xs->n + (zs ? zs->n : 0) != call->n_inputs)
        return tfr_fail(
            err, TFR_EMODEL,
            "it has %u inputs and %u outputs, but attribute \"xs\" names %llu values and "
            "\"zs\" %llu",
            call->n_inputs, call->n_outputs, (unsigned long long)xs->n,
            (unsigned long long)(zs ? zs->n : 0));
    g->n_xs = call->n_outputs;
    g->n_all = call->n_inputs;
    g->named = tfr__scratch_take(&call->import->scratch, g->n_all, sizeof *g->named);
    g->points = tfr__scratch_take(&call->import->scratch, g->n_all, sizeof *g->points);
    if (!g->named || !g->points)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for %u values", g->n_all);
    status = resolve_names(g, xs, g->named, err);
    if (!status && zs)
        status = resolve_names(g, zs, g->named + g->n_xs, err);
    for (uint32_t i = 0; !status && i < g->n_all; i++) {
        g->points[i] = call->inputs[i];
        if (g->points[i] == TFR_VALUE_NONE)
            status = tfr_fail(err, TFR_EMODEL, "input %u is absent", i);
    }
    return status ? status : resolve_names(g, y, &g->y, err);
}

/* ---- another point --------------------------------------------------------------------------- */

/* One more than the greatest number of a value that nodes or the call know. */
static uint32_t count_values(const gradient *g)
{
    const tfr_graph *graph = g->scope->builder->graph;
    tfr_node_view node = {.size = sizeof node};
    tfr_value most = g->y;
    for (uint32_t i = 0; i < g->n_all; i++) {
        most = g->named[i] > most ? g->named[i] : most;
        most = g->points[i] > most ? g->points[i] : most;
    }
    for (uint32_t i = 0; !tfr_graph_node(graph, i, &node, NULL); i++) {
        for (uint32_t k = 0; k < node.n_inputs; k++)
            most = node.inputs[k] > most ? node.inputs[k] : most;
        for (uint32_t k = 0; k < node.n_captures; k++)
            most = node.captures[k] > most ? node.captures[k] : most;
        for (uint32_t k = 0; k < node.n_outputs; k++)
            most = node.outputs[k] > most ? node.outputs[k] : most;
    }
    return (uint32_t)most + 1;
}

/* Which values y needs, back to those that are replaced. */
static void mark_needed(const gradient *g, uint32_t n_nodes, const tfr_value *now, bool *needed)
{
    const tfr_graph *graph = g->scope->builder->graph;
    tfr_node_view node = {.size = sizeof node};
    needed[g->y] = true;
    for (uint32_t i = n_nodes; i-- > 0;) {
        bool wanted = false;
        if (tfr_graph_node(graph, i, &node, NULL))
            return;
        for (uint32_t k = 0; k < node.n_outputs; k++)
            wanted = wanted || (node.outputs[k] != TFR_VALUE_NONE && needed[node.outputs[k]] &&
                                now[node.outputs[k]] == node.outputs[k]);
        for (uint32_t k = 0; wanted && k < node.n_inputs; k++)
            if (node.inputs[k] != TFR_VALUE_NONE)
                needed[node.inputs[k]] = true;
    }
}

/* A node again, of what its inputs are now. */
static tfr_status copy_node(gradient *g, const tfr_node_view *node, tfr_value *now, tfr_err *err)
{
    tfr__scratch *scratch = &g->call->import->scratch;
    tfr_node_desc desc = {.size = sizeof desc,
                          .n_inputs = node->n_inputs,
                          .n_outputs = node->n_outputs,
                          .n_attrs = node->n_attrs,
                          .domain = node->domain,
                          .op = node->op,
                          .name = node->name,
                          .device = node->device};
    tfr_value *inputs = tfr__scratch_take(scratch, node->n_inputs, sizeof *inputs);
    tfr_value *outputs = tfr__scratch_take(scratch, node->n_outputs, sizeof *outputs);
    const char **names = tfr__scratch_take(scratch, node->n_outputs, sizeof *names);
    tfr_attr *attrs = tfr__scratch_take(scratch, node->n_attrs, sizeof *attrs);
    tfr_status status;
    if (!inputs || !outputs || !names || !attrs)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for a copy of node \"%s\"", node->name);
    if (node->n_subgraphs)
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "node \"%s\" (%s) has a graph of its own, and its gradient is wanted at "
                        "another point than its inputs",
                        node->name, node->op);
    for (uint32_t i = 0; i < node->n_inputs; i++)
        inputs[i] = node->inputs[i] == TFR_VALUE_NONE ? TFR_VALUE_NONE : now[node->inputs[i]];
    for (uint32_t i = 0; i < node->n_outputs; i++)
        names[i] = node->outputs[i] == TFR_VALUE_NONE ? "" : NULL;
    for (uint32_t i = 0; i < node->n_attrs; i++) {
        const void *attr = (const char *)node->attrs + (size_t)i * node->attr_stride;
        memcpy(&attrs[i], attr, sizeof *attrs);
    }
    desc.inputs = inputs;
    desc.output_names = names;
    desc.attrs = attrs;
    status = tfr_graph_add_node(g->scope->builder->graph, &desc, outputs, err);
    for (uint32_t i = 0; !status && i < node->n_outputs; i++)
        if (node->outputs[i] != TFR_VALUE_NONE && now[node->outputs[i]] == node->outputs[i])
            now[node->outputs[i]] = outputs[i];
    return status;
}

static bool any_moved(const tfr_value *values, uint32_t n, const tfr_value *now)
{
    for (uint32_t i = 0; i < n; i++)
        if (values[i] != TFR_VALUE_NONE && now[values[i]] != values[i])
            return true;
    return false;
}

/* Of the first n_nodes: what comes after them is new and not in the arrays. */
static tfr_status copy_nodes(gradient *g, uint32_t n_nodes, tfr_value *now, bool *needed,
                             tfr_err *err)
{
    tfr_graph *graph = g->scope->builder->graph;
    tfr_node_view node = {.size = sizeof node};
    tfr_status status = TFR_OK;
    mark_needed(g, n_nodes, now, needed);
    for (uint32_t i = 0; !status && i < n_nodes; i++) {
        bool wanted = false;
        status = tfr_graph_node(graph, i, &node, err);
        for (uint32_t k = 0; !status && k < node.n_outputs; k++)
            wanted = wanted || (node.outputs[k] != TFR_VALUE_NONE && needed[node.outputs[k]]);
        if (wanted && (any_moved(node.inputs, node.n_inputs, now) ||
                       any_moved(node.captures, node.n_captures, now)))
            status = copy_node(g, &node, now, err);
    }
    return status;
}

/*
 * y as a function of the points. Each point gets a value of its own by an Identity: two of them may
 * be one value, whose gradients must not be added up.
 */
static tfr_status move_to_points(gradient *g, tfr_err *err)
{
    tfr_graph *graph = g->scope->builder->graph;
    uint32_t n = count_values(g), n_nodes = tfr_graph_n_nodes(graph);
    tfr_value *now = malloc(n * sizeof *now);
    bool *needed = calloc(n, sizeof *needed);
    tfr_status status = TFR_OK;
    if (!now || !needed)
        status = tfr_fail(err, TFR_ENOMEM, "out of memory for %u values", n);
    for (uint32_t v = 0; !status && v < n; v++)
        now[v] = (tfr_value)v;
    for (uint32_t i = 0; !status && i < g->n_all; i++) {
        tfr_node_desc desc = {.size = sizeof desc, .op = "Identity", .n_inputs = 1, .n_outputs = 1};
        desc.inputs = &g->points[i];
        status = tfr_graph_add_node(graph, &desc, &now[g->named[i]], err);
    }
    if (!status)
        status = copy_nodes(g, n_nodes, now, needed, err);
    if (!status) {
        g->y = now[g->y];
        for (uint32_t i = 0; i < g->n_all; i++)
            g->named[i] = now[g->named[i]];
    }
    free(now);
    free(needed);
    return status;
}

/* Weak: where nn/ is linked, its definition takes the place of this one. */
__attribute__((weak)) tfr_status tfr__onnx_differentiate(tfr_graph *graph, tfr_value y,
                                                         const tfr_value *xs, uint32_t n_xs,
                                                         tfr_value *out_gradients, tfr_err *err)
{
    (void)graph, (void)y, (void)xs, (void)n_xs, (void)out_gradients;
    return tfr_fail(err, TFR_EUNSUPPORTED,
                    "this program is linked without the part of libtfrun-nn that differentiates; "
                    "link the whole library");
}

static tfr_status check_limit(tfr__onnx_scope *scope, tfr_err *err)
{
    uint64_t n = tfr_graph_n_nodes(scope->builder->graph);
    scope->import->n_differentiated += GROWTH * n;
    if (scope->import->n_differentiated <= MOST_NODES)
        return TFR_OK;
    return tfr_fail(
        err, TFR_ELIMIT,
        "the gradients of this model may take %llu nodes (%d for each node of a graph of "
        "%llu), the limit is %d",
        (unsigned long long)scope->import->n_differentiated, GROWTH, (unsigned long long)n,
        MOST_NODES);
}

tfr_status tfr__onnx_import_gradient(tfr__onnx_scope *scope, tfr__onnx_call *call, tfr_err *err)
{
    gradient g = {.scope = scope, .call = call};
    tfr_status status = check_limit(scope, err);
    if (!status)
        status = read_call(&g, err);
    if (!status && memcmp(g.named, g.points, g.n_all * sizeof *g.named) != 0)
        status = move_to_points(&g, err);
    if (!status)
        status = tfr__onnx_differentiate(scope->builder->graph, g.y, g.named, g.n_xs, call->results,
                                         err);
    for (uint32_t i = 0; !status && i < g.n_xs; i++) {
        tfr_value_type type = tfr__onnx_known_type(scope->builder, g.points[i]);
        for (int32_t k = 0; k < type.rank; k++)
            type.dims[k] = type.dims[k] < 0 ? -1 : type.dims[k];
        status = tfr__onnx_set_type(scope->builder, call->results[i], &type, err);
    }
    call->done = true;
    return status;
}
