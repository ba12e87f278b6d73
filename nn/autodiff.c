/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autodiff.c: reverse-mode differentiation of a graph (Griewank and Walther, Evaluating
 * Derivatives, 2nd ed., chapter 3.2). Forwards: which values depend on xs. Then backwards from y: a
 * node whose output has its gradient complete hands shares to its inputs. The rules are in the
 * other files.
 */
#include "autodiff.h"

#include <stdlib.h>
#include <string.h>
#include <formats/onnx/gradient.h>
#include <tfrun/dtype.h>
#include <tfrun/fail.h>

static tfr_status view_node(const tfr__diff *d, uint32_t i, tfr_node_view *out)
{
    memset(out, 0, sizeof *out);
    out->size = sizeof *out;
    return tfr_graph_node(d->graph, i, out, d->err);
}

static bool any_flows(const bool *flows, const tfr_value *values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (values[i] != TFR_VALUE_NONE && flows[values[i]])
            return true;
    return false;
}

/* Ops of other domains have no rules, but may have functions. */
static const tfr__diff_rule *rule_of(const tfr_node_view *node)
{
    bool ours = !node->domain[0] || strcmp(node->domain, "tfrun") == 0;
    return ours ? tfr__diff_find(node->op) : NULL;
}

/* Integers and bools do not change little by little: nothing flows through them. */
bool tfr__diff_discrete(const tfr__diff *d, const tfr_graph *graph, tfr_value v)
{
    tfr_value_type type = {.size = sizeof type};
    if (tfr_graph_types_get(d->types, graph, v, &type, NULL) || !type.dtype)
        return false;
    return !tfr_dtype_is_float((tfr_dtype)type.dtype);
}

/* Which outputs of a node depend on what flows. */
static tfr_status spread_node(const tfr__diff *d, const tfr_graph *graph, uint32_t i, bool *flows)
{
    tfr_node_view node = {.size = sizeof node};
    const tfr__diff_rule *rule;
    tfr_status status = tfr_graph_node(graph, i, &node, d->err);
    if (status)
        return status;
    rule = rule_of(&node);
    if ((rule && !rule->run && !rule->why) || (!any_flows(flows, node.inputs, node.n_inputs) &&
                                               !any_flows(flows, node.captures, node.n_captures)))
        return TFR_OK;
    if (node.n_subgraphs)
        return tfr__diff_spread_control(d, graph, &node, flows);
    for (uint32_t k = 0; k < node.n_outputs; k++)
        if (node.outputs[k] != TFR_VALUE_NONE && !tfr__diff_discrete(d, graph, node.outputs[k]))
            flows[node.outputs[k]] = true;
    return TFR_OK;
}

tfr_status tfr__diff_spread(const tfr__diff *d, const tfr_graph *graph, uint32_t first, bool *flows)
{
    const uint32_t n = tfr_graph_n_nodes(graph);
    tfr_status status = TFR_OK;
    for (uint32_t i = first; !status && i < n; i++)
        status = spread_node(d, graph, i, flows);
    return status;
}

static tfr_status refuse(const tfr__diff *d, const char *why)
{
    return tfr_fail(d->err, TFR_EUNSUPPORTED,
                    "node \"%s\" (%s) cannot be differentiated: %s; write it with ops that have "
                    "rules, or freeze what it is made of, so that it is not between xs and y",
                    d->node.name, d->node.op, why);
}

void tfr__diff_refuse(tfr__diff *d, const char *why)
{
    if (!d->status)
        d->status = refuse(d, why);
}

/* By the function that the plugin of the op brings; *known is false if there is none. */
static tfr_status pull_foreign(tfr__diff *d, bool *known)
{
    const tfr_node_view *node = &d->node;
    const uint32_t n_inputs = node->n_inputs + 2 * node->n_outputs;
    tfr_value *values;
    const void *bytes;
    uint64_t n;
    tfr_status status = tfr_op_function(node->domain, node->op, 1, &bytes, &n, d->err);
    *known = status || n;
    if (!*known || status)
        return status;
    values = malloc(((size_t)n_inputs + node->n_inputs) * sizeof *values);
    if (!values)
        return tfr_fail(d->err, TFR_ENOMEM, "out of memory for node \"%s\"", node->name);
    memcpy(values, node->inputs, node->n_inputs * sizeof *values);
    memcpy(values + node->n_inputs, node->outputs, node->n_outputs * sizeof *values);
    for (uint32_t k = 0; k < node->n_outputs; k++) {
        tfr_value v = node->outputs[k], g = v == TFR_VALUE_NONE ? v : tfr__diff_gradient(d, k);
        if (v != TFR_VALUE_NONE && g == TFR_VALUE_NONE)
            g = tfr__diff_filled_like(d, 0, v);
        values[node->n_inputs + node->n_outputs + k] = g;
    }
    if (!d->status)
        d->status = tfr_graph_push_device(d->graph, node->device, d->err);
    if (!d->status) {
        d->status = tfr__onnx_call_function(d->graph, bytes, n, node, values, n_inputs,
                                            values + n_inputs, node->n_inputs, d->err);
        tfr_graph_pop_device(d->graph);
    }
    for (uint32_t i = 0; !d->status && i < node->n_inputs; i++)
        if (tfr__diff_wants(d, i) && values[n_inputs + i] != TFR_VALUE_NONE)
            tfr__diff_give(d, i, values[n_inputs + i]);
    free(values);
    return d->status;
}

/* The gradient goes through one node. */
static tfr_status pull(tfr__diff *d, uint32_t i)
{
    const tfr__diff_rule *rule;
    bool known = false;
    uint32_t n = 0; /* outputs up to the last one with a gradient */
    tfr_status status = view_node(d, i, &d->node);
    for (uint32_t k = 0; !status && k < d->node.n_outputs; k++)
        if (tfr__diff_gradient(d, k) != TFR_VALUE_NONE)
            n = k + 1;
    if (status || !n ||
        (!any_flows(d->flows, d->node.inputs, d->node.n_inputs) &&
         !any_flows(d->flows, d->node.captures, d->node.n_captures)))
        return status;
    rule = rule_of(&d->node);
    if (!rule)
        status = pull_foreign(d, &known);
    if (status || known)
        return status;
    if (!rule || !rule->run) {
        const char *why;
        tfr_op_gradient(d->node.domain, d->node.op, &why);
        return refuse(d, why);
    }
    if (n > (rule->outputs ? rule->outputs : 1))
        return refuse(d, "there is no rule for that output of it which y depends on");
    d->rule = rule;
    rule->run(d, rule->outputs ? TFR_VALUE_NONE : tfr__diff_gradient(d, 0));
    return d->status;
}

tfr_status tfr__diff_start(tfr__diff *d, uint32_t first, const tfr_value *xs, uint32_t n_xs)
{
    tfr_status status = TFR_OK;
    d->n_values = tfr_graph_n_values(d->graph);
    d->gradients = malloc(((size_t)d->n_values + 1) * sizeof *d->gradients);
    d->flows = calloc((size_t)d->n_values + 1, sizeof *d->flows);
    if (!d->gradients || !d->flows)
        return tfr_fail(d->err, TFR_ENOMEM, "out of memory for the gradients of %u values",
                        d->n_values);
    for (uint32_t v = 0; v < d->n_values; v++)
        d->gradients[v] = TFR_VALUE_NONE;
    for (uint32_t i = 0; i < n_xs; i++)
        d->flows[xs[i]] = true;
    if (!d->types)
        status = tfr_graph_types_create(d->graph, &d->types, d->err);
    if (!status)
        status = tfr_graph_types_update(d->types, d->err);
    return status ? status : tfr__diff_spread(d, d->graph, first, d->flows);
}

void tfr__diff_seed(tfr__diff *d, tfr_value y, tfr_value g)
{
    if (d->status)
        return;
    if (d->gradients[y] != TFR_VALUE_NONE)
        g = tfr__diff_op2(d, "Add", d->gradients[y], g);
    d->gradients[y] = g;
}

tfr_status tfr__diff_backwards(tfr__diff *d, uint32_t first, uint32_t end)
{
    for (uint32_t i = end; !d->status && i-- > first;)
        d->status = pull(d, i);
    memset(&d->node, 0, sizeof d->node);
    return d->status;
}

void tfr__diff_finish(tfr__diff *d)
{
    free(d->gradients);
    free(d->flows);
    d->gradients = NULL;
    d->flows = NULL;
}

tfr_status tfr_graph_gradient(tfr_graph *graph, tfr_value y, const tfr_value *xs, uint32_t n_xs,
                              tfr_value *out_gradients, tfr_err *err)
{
    tfr__diff d = {.graph = graph, .err = err};
    uint32_t n_nodes;
    tfr_status status = TFR_OK;
    if (!graph || !n_xs || !xs || !out_gradients)
        return tfr_fail(err, TFR_EINVAL, "a gradient needs a graph and values to differentiate by");
    for (uint32_t i = 0; i <= n_xs; i++) {
        tfr_value v = i < n_xs ? xs[i] : y;
        if (!tfr_graph_value_type(graph, v))
            return tfr_fail(err, TFR_EINVAL, "the graph has no value %d to differentiate", (int)v);
    }
    n_nodes = tfr_graph_n_nodes(graph);
    status = tfr__diff_start(&d, 0, xs, n_xs);
    if (!status) {
        tfr__diff_seed(&d, y, tfr__diff_filled_like(&d, 1, y));
        status = tfr__diff_backwards(&d, 0, n_nodes);
    }
    for (uint32_t i = 0; !status && i < n_xs; i++) {
        if (d.gradients[xs[i]] == TFR_VALUE_NONE)
            d.gradients[xs[i]] = tfr__diff_filled_like(&d, 0, xs[i]);
        status = d.status;
    }
    for (uint32_t i = 0; !status && i < n_xs; i++)
        out_gradients[i] = d.gradients[xs[i]];
    tfr__diff_finish(&d);
    tfr_graph_types_release(d.types);
    return status;
}
