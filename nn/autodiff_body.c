/* SPDX-License-Identifier: Apache-2.0 */
/* autodiff_body.c: the bodies of the Scans that rules make of a node, which are differentiated. */
#include "autodiff.h"

void tfr__diff_body_open(tfr__diff_body *b, tfr__diff *d)
{
    *b = (tfr__diff_body){.outer = d, .in = {.err = d->err, .status = d->status}};
    if (!b->in.status)
        b->in.status = tfr_graph_create_child(d->graph, "step", &b->in.graph, d->err);
}

tfr_value tfr__diff_body_input(tfr__diff_body *b)
{
    tfr_value v = TFR_VALUE_NONE;
    if (!b->in.status)
        b->in.status = tfr_graph_add_input(b->in.graph, NULL, NULL, &v, b->in.err);
    return v;
}

tfr_value tfr__diff_body_capture(tfr__diff_body *b, tfr_value v)
{
    tfr_value out = TFR_VALUE_NONE;
    if (!b->outer->status && !b->in.status)
        b->in.status = tfr_graph_add_capture(b->in.graph, v, &out, b->in.err);
    return out;
}

void tfr__diff_body_output(tfr__diff_body *b, tfr_value v)
{
    if (!b->in.status)
        b->in.status = tfr_graph_add_output(b->in.graph, v, NULL, b->in.err);
}

void tfr__diff_body_scan(tfr__diff_body *b, const tfr_value *inputs, uint32_t n_inputs,
                         const tfr_attr *attrs, uint32_t n_attrs, tfr_value *outputs,
                         uint32_t n_outputs)
{
    tfr__diff *d = b->outer;
    const tfr_subgraph inside = {"body", b->in.graph};
    const tfr_node_desc node = {.size = sizeof node,
                                .op = "Scan",
                                .name = d->node.name,
                                .device = d->node.device,
                                .inputs = inputs,
                                .n_inputs = n_inputs,
                                .n_outputs = n_outputs,
                                .attrs = attrs,
                                .n_attrs = n_attrs,
                                .subgraphs = &inside,
                                .n_subgraphs = 1};
    if (!d->status)
        d->status = b->in.status;
    if (!d->status)
        d->status = tfr_graph_add_node(d->graph, &node, outputs, d->err);
    if (d->status)
        tfr_graph_release(b->in.graph);
}
