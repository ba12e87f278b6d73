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

static bool any_flows(const tfr__diff *d, const tfr_value *values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (values[i] != TFR_VALUE_NONE && d->flows[values[i]])
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
static bool is_discrete(const tfr__diff *d, tfr_value v)
{
    int32_t dtype = tfr__diff_fact_of(d, v).dtype;
    return dtype && !tfr_dtype_is_float((tfr_dtype)dtype);
}

static tfr_status spread(tfr__diff *d, uint32_t n_nodes)
{
    for (uint32_t i = 0; i < n_nodes; i++) {
        tfr_node_view node;
        const tfr__diff_rule *rule;
        tfr_status status = view_node(d, i, &node);
        if (status)
            return status;
        rule = rule_of(&node);
        if (rule && !rule->run)
            continue;
        if (any_flows(d, node.inputs, node.n_inputs) ||
            any_flows(d, node.captures, node.n_captures))
            for (uint32_t k = 0; k < node.n_outputs; k++)
                if (node.outputs[k] != TFR_VALUE_NONE && !is_discrete(d, node.outputs[k]))
                    d->flows[node.outputs[k]] = true;
    }
    return TFR_OK;
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

static tfr_value filled_like(tfr__diff *d, double value, tfr_value like)
{
    return tfr__diff_expand_like(d, tfr__diff_scalar(d, value, like), like);
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
            g = filled_like(d, 0, v);
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
        (!any_flows(d, d->node.inputs, d->node.n_inputs) &&
         !any_flows(d, d->node.captures, d->node.n_captures)))
        return status;
    rule = rule_of(&d->node);
    if (!rule)
        status = pull_foreign(d, &known);
    if (status || known)
        return status;
    if (!rule || !rule->run)
        return refuse(d, "its op has no rule");
    if (n > (rule->outputs ? rule->outputs : 1))
        return refuse(d, "there is no rule for that output of it which y depends on");
    d->rule = rule;
    rule->run(d, rule->outputs ? TFR_VALUE_NONE : tfr__diff_gradient(d, 0));
    return d->status;
}

/* One more than the greatest number of a value that counts. */
static tfr_status count_values(tfr__diff *d, uint32_t n_nodes, const tfr_value *xs, uint32_t n_xs,
                               tfr_value y)
{
    tfr_value most = y;
    for (uint32_t i = 0; i < n_xs; i++)
        most = xs[i] > most ? xs[i] : most;
    for (uint32_t i = 0; i < n_nodes; i++) {
        tfr_node_view node;
        tfr_status status = view_node(d, i, &node);
        if (status)
            return status;
        for (uint32_t k = 0; k < node.n_inputs; k++)
            most = node.inputs[k] > most ? node.inputs[k] : most;
        for (uint32_t k = 0; k < node.n_outputs; k++)
            most = node.outputs[k] > most ? node.outputs[k] : most;
        for (uint32_t k = 0; k < node.n_captures; k++)
            most = node.captures[k] > most ? node.captures[k] : most;
    }
    d->n_values = (uint32_t)most + 1;
    return TFR_OK;
}

static tfr_status start(tfr__diff *d, uint32_t n_nodes, const tfr_value *xs, uint32_t n_xs,
                        tfr_value y)
{
    tfr_status status;
    for (uint32_t i = 0; i <= n_xs; i++) {
        tfr_value v = i < n_xs ? xs[i] : y;
        if (!tfr_graph_value_type(d->graph, v))
            return tfr_fail(d->err, TFR_EINVAL, "the graph has no value %d to differentiate",
                            (int)v);
    }
    status = count_values(d, n_nodes, xs, n_xs, y);
    if (status)
        return status;
    d->gradients = malloc(d->n_values * sizeof *d->gradients);
    d->flows = calloc(d->n_values, sizeof *d->flows);
    if (!d->gradients || !d->flows)
        return tfr_fail(d->err, TFR_ENOMEM, "out of memory for the gradients of %u values",
                        d->n_values);
    for (uint32_t v = 0; v < d->n_values; v++)
        d->gradients[v] = TFR_VALUE_NONE;
    for (uint32_t i = 0; i < n_xs; i++)
        d->flows[xs[i]] = true;
    status = tfr_graph_types_create(d->graph, &d->types, d->err);
    if (!status)
        status = tfr_graph_types_update(d->types, d->err);
    return status ? status : spread(d, n_nodes);
}

tfr_status tfr_graph_gradient(tfr_graph *graph, tfr_value y, const tfr_value *xs, uint32_t n_xs,
                              tfr_value *out_gradients, tfr_err *err)
{
    tfr__diff d = {.graph = graph, .err = err};
    uint32_t n_nodes;
    tfr_status status;
    if (!graph || !n_xs || !xs || !out_gradients)
        return tfr_fail(err, TFR_EINVAL, "a gradient needs a graph and values to differentiate by");
    n_nodes = tfr_graph_n_nodes(graph);
    status = start(&d, n_nodes, xs, n_xs, y);
    if (!status) {
        d.gradients[y] = filled_like(&d, 1, y);
        status = d.status;
    }
    for (uint32_t i = n_nodes; !status && i-- > 0;)
        status = pull(&d, i);
    memset(&d.node, 0, sizeof d.node);
    for (uint32_t i = 0; !status && i < n_xs; i++) {
        if (d.gradients[xs[i]] == TFR_VALUE_NONE)
            d.gradients[xs[i]] = filled_like(&d, 0, xs[i]);
        status = d.status;
    }
    for (uint32_t i = 0; !status && i < n_xs; i++)
        out_gradients[i] = d.gradients[xs[i]];
    free(d.gradients);
    free(d.flows);
    tfr_graph_types_release(d.types);
    return status;
}
