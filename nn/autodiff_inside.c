/* SPDX-License-Identifier: Apache-2.0 */
/* autodiff_inside.c: see autodiff_inside.h. */
#include "autodiff_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

/* Ops that give other numbers each time, so that they cannot be computed again. */
static const char *random_op(const tfr_graph *graph)
{
    static const char *const ops[] = {"Bernoulli",        "Dropout",       "Multinomial",
                                      "RandomNormal",     "RandomUniform", "RandomNormalLike",
                                      "RandomUniformLike"};
    for (uint32_t i = 0; i < tfr_graph_n_nodes(graph); i++) {
        tfr_node_view node = {.size = sizeof node};
        if (tfr_graph_node(graph, i, &node, NULL))
            return NULL;
        for (size_t k = 0; k < sizeof ops / sizeof ops[0]; k++)
            if (strcmp(node.op, ops[k]) == 0 && (node.op[0] != 'D' || node.n_inputs > 2))
                return ops[k];
        for (uint32_t k = 0; k < node.n_attrs; k++) {
            const tfr_attr *attr =
                (const tfr_attr *)((const char *)node.attrs + (size_t)k * node.attr_stride);
            const tfr_graph *inside = tfr_node_subgraph(&node, attr->name);
            const char *found = inside ? random_op(inside) : NULL;
            if (found)
                return found;
        }
    }
    return NULL;
}

void tfr__inside_open(tfr__inside *in, tfr__diff *d, const char *name)
{
    const char *op;
    char text[160];
    memset(in, 0, sizeof *in);
    in->outer = d;
    in->from = tfr_node_subgraph(&d->node, name);
    if (d->status)
        return;
    if (!in->from) {
        tfr__diff_refuse(d, "it lacks a graph");
        return;
    }
    op = random_op(in->from);
    if (op) {
        snprintf(text, sizeof text,
                 "there is a %s inside, and what is inside is computed again for the gradient", op);
        tfr__diff_refuse(d, text);
        return;
    }
    d->status = tfr_graph_create_child(d->graph, "gradient", &in->graph, d->err);
    if (d->status)
        return;
    in->copy = (tfr__copy){.from = in->from, .unnamed = true, .to = in->graph};
    in->diff = (tfr__diff){.graph = in->graph, .err = d->err};
    d->status = tfr__copy_enter(&in->copy, d->err);
}

void tfr__inside_close(tfr__inside *in)
{
    tfr__diff_finish(&in->diff);
    tfr_graph_types_release(in->diff.types);
    tfr__copy_leave(&in->copy);
    tfr_graph_release(in->graph);
    memset(in, 0, sizeof *in);
}

/* What the outer state knows of a value, with no symbols of its own. */
static tfr_value_type type_of(const tfr__inside *in, const tfr_graph *of, tfr_value v)
{
    tfr_value_type type = {.size = sizeof type};
    const tfr__diff *d = in->outer;
    if (of == d->graph && (uint32_t)v >= d->n_values)
        return type;
    if (tfr_graph_types_get(d->types, of == d->graph ? NULL : of, v, &type, NULL))
        return (tfr_value_type){.size = sizeof type};
    for (int32_t i = 0; type.rank_known && i < type.rank; i++)
        if (type.dims[i] < 0)
            type.dims[i] = -1;
    if (type.kind == TFR_KIND_SEQUENCE || type.kind == TFR_KIND_OPTIONAL)
        tfr__diff_refuse(in->outer, "a sequence or optional goes from pass to pass");
    return type;
}

tfr_value tfr__inside_input(tfr__inside *in, const tfr_graph *of, tfr_value like)
{
    tfr_value out = TFR_VALUE_NONE;
    tfr_value_type type;
    tfr__diff *d = in->outer;
    if (d->status)
        return out;
    type = type_of(in, of, like);
    if (!d->status)
        d->status = tfr_graph_add_input(in->graph, NULL, &type, &out, d->err);
    return out;
}

tfr_value tfr__inside_capture(tfr__inside *in, tfr_value v)
{
    tfr_value out = TFR_VALUE_NONE;
    if (!in->outer->status)
        in->outer->status = tfr_graph_add_capture(in->graph, v, &out, in->outer->err);
    return out;
}

tfr_value tfr__inside_map(const tfr__inside *in, tfr_value v)
{
    return in->copy.map && v != TFR_VALUE_NONE ? in->copy.map[v] : TFR_VALUE_NONE;
}

void tfr__inside_set(tfr__inside *in, tfr_value v, tfr_value copy)
{
    if (in->copy.map)
        in->copy.map[v] = copy;
}

void tfr__inside_nodes(tfr__inside *in)
{
    if (!in->outer->status)
        in->outer->status = tfr__copy_nodes(&in->copy, in->outer->err);
}

/* What is known of captured values goes inside. */
static tfr_status know_captures(tfr__inside *in)
{
    tfr_status status = tfr_graph_types_create(in->graph, &in->diff.types, in->outer->err);
    for (uint32_t v = 0; !status && v < tfr_graph_n_values(in->graph); v++) {
        tfr_value_view view = {.size = sizeof view};
        tfr_value_type type;
        status = tfr_graph_value(in->graph, (tfr_value)v, &view, in->outer->err);
        if (status || view.role != TFR_ROLE_CAPTURE)
            continue;
        type = type_of(in, in->outer->graph, view.of_parent);
        if (type.kind)
            status = tfr_graph_types_set(in->diff.types, (tfr_value)v, &type, in->outer->err);
    }
    return status;
}

void tfr__inside_gradients(tfr__inside *in, const tfr_value *ys, const tfr_value *gs, uint32_t n,
                           const tfr_value *xs, uint32_t n_xs, tfr_value *out)
{
    tfr__diff *d = in->outer;
    uint32_t n_nodes;
    for (uint32_t i = 0; i < n_xs; i++)
        out[i] = TFR_VALUE_NONE;
    if (d->status)
        return;
    n_nodes = tfr_graph_n_nodes(in->graph);
    d->status = know_captures(in);
    if (!d->status)
        d->status = tfr__diff_start(&in->diff, 0, xs, n_xs);
    for (uint32_t i = 0; !d->status && i < n; i++)
        tfr__diff_seed(&in->diff, ys[i], gs[i]);
    if (!d->status)
        d->status = tfr__diff_backwards(&in->diff, 0, n_nodes);
    for (uint32_t i = 0; !d->status && i < n_xs; i++)
        out[i] = in->diff.gradients[xs[i]];
}

void tfr__inside_output(tfr__inside *in, tfr_value v, const tfr_graph *of, tfr_value like)
{
    tfr__diff *d = in->outer;
    tfr_value_view view = {.size = sizeof view};
    tfr_value_type type;
    if (!d->status)
        d->status = in->diff.status;
    if (d->status)
        return;
    d->status = tfr_graph_value(in->graph, v, &view, d->err);
    if (!d->status && view.role != TFR_ROLE_NODE) {
        v = tfr__diff_op1(&in->diff, "Identity", v);
        d->status = in->diff.status;
    }
    if (!d->status)
        d->status = tfr_graph_add_output(in->graph, v, NULL, d->err);
    if (d->status || like == TFR_VALUE_NONE)
        return;
    type = type_of(in, of, like);
    if (!d->status && type.dtype)
        d->status =
            tfr_graph_declare_output(in->graph, tfr_graph_n_outputs(in->graph) - 1, &type, d->err);
}

void tfr__inside_node(tfr__diff *d, const char *op, const tfr_value *inputs, uint32_t n_inputs,
                      const tfr_attr *attrs, uint32_t n_attrs, tfr__inside *const *graphs,
                      const char *const *names, uint32_t n, tfr_value *outputs, uint32_t n_outputs)
{
    tfr_subgraph inside[2];
    char name[128];
    tfr_node_desc desc = {.size = sizeof desc,
                          .op = op,
                          .name = name,
                          .device = d->node.device,
                          .inputs = inputs,
                          .n_inputs = n_inputs,
                          .n_outputs = n_outputs,
                          .attrs = attrs,
                          .n_attrs = n_attrs,
                          .subgraphs = inside,
                          .n_subgraphs = n};
    for (uint32_t i = 0; i < n_outputs; i++)
        outputs[i] = TFR_VALUE_NONE;
    for (uint32_t i = 0; i < n; i++)
        inside[i] = (tfr_subgraph){names[i], graphs[i]->graph};
    if (d->status)
        return;
    snprintf(name, sizeof name, "gradient/%.100s/%s", d->node.name, op);
    d->status = tfr_graph_add_node(d->graph, &desc, outputs, d->err);
    for (uint32_t i = 0; !d->status && i < n; i++)
        graphs[i]->graph = NULL;
}
