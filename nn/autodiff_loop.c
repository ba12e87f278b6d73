/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autodiff_loop.c: the gradient of Loop and Scan. One more loop as the node scans out the states
 * that each pass began with, and a Scan goes backwards over them:
 *
 *   state     the gradients of the states, and of the values that the body captures, as sums
 *   scanned   what each pass began with, slices of the scanned inputs, gradients of the scanned
 *             outputs
 *   body      the node's, which computes again what its gradients read, and its gradients
 *   results   the gradients of the slices of the scanned inputs
 *
 * So it needs memory for the states of all passes and for the values of one. States must have one
 * shape in all passes.
 */
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

#include "autodiff_inside.h"

typedef struct loop {
    tfr__diff *d;
    tfr__loop_form form;
    const tfr_graph *body;
    bool *flows;         /* by value of the body */
    uint32_t n_captures; /* those with gradients */
    tfr_value *captures, *history, *inputs, *outputs, *ys, *gs, *xs, *found;
    int64_t *axes, *directions, *out_axes, *out_directions;
    void *block;
    uint32_t n_inputs, n_scanned, n_outputs; /* of the Scan */
} loop;

static int64_t entry(const loop *l, const char *name, uint32_t i)
{
    const tfr_attr *attr = tfr_node_attr(&l->d->node, name);
    return attr && attr->type == TFR_ATTR_INTS && i < attr->n ? attr->ints[i] : 0;
}

static tfr_value state_in(const loop *l, uint32_t i)
{
    return tfr_graph_input(l->body, l->form.first_in + i);
}

static tfr_value slice_in(const loop *l, uint32_t i)
{
    return state_in(l, l->form.n_state + i);
}

static tfr_value state_out(const loop *l, uint32_t i)
{
    return tfr_graph_output(l->body, l->form.first_out + i);
}

static bool loop_init(loop *l, tfr__diff *d)
{
    size_t n;
    l->d = d;
    l->body = tfr_node_subgraph(&d->node, "body");
    d->status = tfr__inside_flows(d, &d->node, "body", d->flows, &l->flows);
    if (d->status || !tfr__loop_form_of(&d->node, &l->form))
        return false;
    n = (size_t)d->node.n_inputs + d->node.n_outputs + d->node.n_captures + 2;
    l->block = calloc(2 * n, 8 * sizeof(tfr_value) + 4 * sizeof(int64_t));
    if (!l->block) {
        d->status = tfr_fail(d->err, TFR_ENOMEM, "out of memory for the gradient of node \"%s\"",
                             d->node.name);
        return false;
    }
    l->axes = l->block;
    l->directions = l->axes + 2 * n;
    l->out_axes = l->directions + 2 * n;
    l->out_directions = l->out_axes + 2 * n;
    l->captures = (tfr_value *)(l->out_directions + 2 * n);
    l->history = l->captures + 2 * n;
    l->inputs = l->history + 2 * n;
    l->outputs = l->inputs + 2 * n;
    l->ys = l->outputs + 2 * n;
    l->gs = l->ys + 2 * n;
    l->xs = l->gs + 2 * n;
    l->found = l->xs + 2 * n;
    for (uint32_t i = 0; i < d->node.n_captures; i++)
        if (d->flows[d->node.captures[i]])
            l->captures[l->n_captures++] = d->node.captures[i];
    return true;
}

/* ---- the passes again ------------------------------------------------------------------------ */

static tfr_attr list_attr(const char *name, const int64_t *ints, uint32_t n)
{
    return (tfr_attr){
        .size = sizeof(tfr_attr), .type = TFR_ATTR_INTS, .name = name, .n = n, .ints = ints};
}

/* The node once more, with the states at the beginning of each pass as its scanned outputs; behind
 * them the numbers of the passes of a Loop. */
static void scan_history(loop *l)
{
    tfr__diff *d = l->d;
    const uint32_t n = l->form.n_state + !l->form.is_scan;
    const tfr_attr *number = tfr_node_attr(&d->node, "num_scan_inputs");
    tfr_attr attrs[3];
    uint32_t n_attrs = 0, n_inputs = d->node.n_inputs;
    tfr__inside in;
    static const char *const name = "body";
    if (!n)
        return;
    tfr__inside_open(&in, d, name);
    for (uint32_t i = 0; !d->status && i < n_inputs; i++) {
        tfr_value v = tfr_graph_input(l->body, i);
        tfr__inside_set(&in, v, tfr__inside_input(&in, l->body, v));
    }
    tfr__inside_nodes(&in);
    for (uint32_t i = 0; !d->status && i < l->form.first_out + l->form.n_state; i++)
        tfr__inside_output(&in, tfr__inside_map(&in, tfr_graph_output(l->body, i)), l->body,
                           tfr_graph_output(l->body, i));
    for (uint32_t i = 0; !d->status && i < n; i++) {
        tfr_value v = i < l->form.n_state ? state_in(l, i) : tfr_graph_input(l->body, 0);
        tfr__inside_output(&in, tfr__inside_map(&in, v), l->body, v);
    }
    if (number) {
        attrs[n_attrs++] = *number;
        for (uint32_t i = 0; i < l->form.n_scan_in; i++) {
            l->axes[i] = entry(l, "scan_input_axes", i);
            l->directions[i] = entry(l, "scan_input_directions", i);
        }
        attrs[n_attrs++] = list_attr("scan_input_axes", l->axes, l->form.n_scan_in);
        attrs[n_attrs++] = list_attr("scan_input_directions", l->directions, l->form.n_scan_in);
    }
    tfr__inside_node(d, d->node.op, d->node.inputs, n_inputs, attrs, n_attrs,
                     (tfr__inside *const[]){&in}, &name, 1, l->outputs, l->form.n_state + n);
    for (uint32_t i = 0; i < n; i++)
        l->history[i] = l->outputs[l->form.n_state + i];
    tfr__inside_close(&in);
}

/* ---- backwards ------------------------------------------------------------------------------- */

/* An input of the Scan that is cut along an axis, backwards or not. */
static tfr_value add_scanned(loop *l, tfr__inside *in, tfr_value v, int64_t axis, bool back,
                             tfr_value like)
{
    l->axes[l->n_scanned] = axis;
    l->directions[l->n_scanned++] = back;
    l->inputs[l->n_inputs++] = v;
    return tfr__inside_input(in, l->body, like);
}

/* The states of the Scan and, as inputs of its body, what ys get. */
static uint32_t add_states(loop *l, tfr__inside *in)
{
    tfr__diff *d = l->d;
    uint32_t n = 0;
    for (uint32_t i = 0; !d->status && i < l->form.n_state; i++) {
        tfr_value start = tfr__diff_in(d, l->form.first_in + i), g = tfr__diff_gradient(d, i);
        if (!l->flows[state_in(l, i)])
            continue;
        l->inputs[l->n_inputs++] = g != TFR_VALUE_NONE ? g : tfr__diff_filled_like(d, 0, start);
        l->gs[n++] = tfr__inside_input(in, l->body, state_in(l, i));
    }
    for (uint32_t i = 0; !d->status && i < l->n_captures; i++) {
        l->inputs[l->n_inputs++] = tfr__diff_filled_like(d, 0, l->captures[i]);
        l->found[i] = tfr__inside_input(in, d->graph, l->captures[i]);
    }
    return n;
}

/* What each pass had, and the gradients of what it gave. */
static uint32_t add_slices(loop *l, tfr__inside *in, uint32_t n)
{
    tfr__diff *d = l->d;
    uint32_t k;
    if (!l->form.is_scan) {
        tfr_value number = tfr_graph_input(l->body, 0);
        tfr__inside_set(in, number,
                        add_scanned(l, in, l->history[l->form.n_state], 0, true, number));
    }
    for (uint32_t i = 0; !d->status && i < l->form.n_state; i++)
        tfr__inside_set(in, state_in(l, i),
                        add_scanned(l, in, l->history[i], 0, true, state_in(l, i)));
    for (uint32_t i = 0; !d->status && i < l->form.n_scan_in; i++)
        tfr__inside_set(in, slice_in(l, i),
                        add_scanned(l, in, tfr__diff_in(d, l->form.n_state + i),
                                    entry(l, "scan_input_axes", i),
                                    !entry(l, "scan_input_directions", i), slice_in(l, i)));
    for (uint32_t i = 0; !d->status && i < l->form.n_scan_out; i++) {
        tfr_value g = tfr__diff_gradient(d, l->form.n_state + i);
        k = l->form.n_state + i;
        if (g != TFR_VALUE_NONE)
            l->gs[n++] = add_scanned(l, in, g, entry(l, "scan_output_axes", i),
                                     !entry(l, "scan_output_directions", i), state_out(l, k));
    }
    return n;
}

/* A Loop makes a pass only if its condition holds. */
static void set_condition(const loop *l, tfr__inside *in)
{
    const int64_t yes = 1;
    const tfr_attr to[] = {TFR_SET_INT("to", TFR_DTYPE_BOOL)};
    tfr_value v;
    in->diff.status = l->d->status;
    v = tfr__diff_int_scalar(&in->diff, yes);
    v = tfr__diff_node(&in->diff, "Cast", &v, 1, to, 1);
    l->d->status = in->diff.status;
    tfr__inside_set(in, tfr_graph_input(l->body, 1), v);
}

/* The copies of the values of ys and xs, in the order of gs and of the results. */
static uint32_t list_values(const loop *l, const tfr__inside *in)
{
    uint32_t n = 0, n_xs = 0;
    for (uint32_t i = 0; i < l->form.n_state; i++)
        if (l->flows[state_in(l, i)]) {
            l->ys[n++] = tfr__inside_map(in, state_out(l, i));
            l->xs[n_xs++] = tfr__inside_map(in, state_in(l, i));
        }
    for (uint32_t i = 0; i < l->form.n_scan_out; i++)
        if (tfr__diff_gradient(l->d, l->form.n_state + i) != TFR_VALUE_NONE)
            l->ys[n++] = tfr__inside_map(in, state_out(l, l->form.n_state + i));
    return n_xs;
}

/* The body's outputs: gradients of states, sums of captures, gradients of slices. */
static void add_results(loop *l, tfr__inside *in, uint32_t n_gs)
{
    tfr__diff *d = l->d;
    uint32_t n_states = list_values(l, in), n = n_states, k = 0;
    tfr_value *sums = l->outputs; /* not in use yet */
    for (uint32_t i = 0; i < l->n_captures; i++) {
        sums[i] = l->found[i];
        l->xs[n++] = tfr__inside_capture(in, l->captures[i]);
    }
    for (uint32_t i = 0; i < l->form.n_scan_in; i++)
        if (l->flows[slice_in(l, i)])
            l->xs[n++] = tfr__inside_map(in, slice_in(l, i));
    tfr__inside_gradients(in, l->ys, l->gs, n_gs, l->xs, n, l->found);
    for (uint32_t i = 0; !d->status && i < n; i++) {
        const bool sum = i >= n_states && i < n_states + l->n_captures;
        tfr_value v = l->found[i], like = TFR_VALUE_NONE;
        const tfr_graph *of = l->body;
        if (sum) {
            of = d->graph;
            like = l->captures[i - n_states];
            v = v == TFR_VALUE_NONE ? sums[i - n_states]
                                    : tfr__diff_op2(&in->diff, "Add", sums[i - n_states], v);
        } else if (v == TFR_VALUE_NONE) {
            v = tfr__diff_filled_like(&in->diff, 0, l->xs[i]);
        }
        while (!sum && k < l->form.n_state + l->form.n_scan_in && like == TFR_VALUE_NONE) {
            tfr_value at = state_in(l, k++);
            like = l->flows[at] ? at : TFR_VALUE_NONE;
        }
        tfr__inside_output(in, v, of, like);
    }
    l->n_outputs = n;
}

/* The results of the Scan go to the inputs of the node and to what it captured. */
static void give_results(loop *l)
{
    tfr__diff *d = l->d;
    uint32_t k = 0;
    for (uint32_t i = 0; !d->status && i < l->form.n_state; i++)
        if (l->flows[state_in(l, i)]) {
            if (tfr__diff_wants(d, l->form.first_in + i))
                tfr__diff_give(d, l->form.first_in + i, l->outputs[k]);
            k++;
        }
    for (uint32_t i = 0; !d->status && i < l->n_captures; i++)
        tfr__diff_seed(d, l->captures[i], l->outputs[k++]);
    for (uint32_t i = 0; !d->status && i < l->form.n_scan_in; i++) {
        tfr_value x = tfr__diff_in(d, l->form.n_state + i), share;
        if (!l->flows[slice_in(l, i)])
            continue;
        /* After no pass at all it has neither the shape nor, where it is not known, the type. */
        share = tfr__diff_reshape_like(d, l->outputs[k++], x);
        if (!tfr__diff_fact_of(d, x).dtype)
            share = tfr__diff_op2(d, "CastLike", share, x);
        tfr__diff_give(d, l->form.n_state + i, share);
    }
}

static void scan_back(loop *l)
{
    static const char *const name = "body";
    tfr__diff *d = l->d;
    uint32_t n_gs, n_slices = 0;
    tfr_attr attrs[5];
    tfr__inside in;
    tfr__inside_open(&in, d, name);
    n_gs = add_slices(l, &in, add_states(l, &in));
    if (!l->form.is_scan)
        set_condition(l, &in);
    tfr__inside_nodes(&in);
    if (!d->status)
        add_results(l, &in, n_gs);
    for (uint32_t i = 0; i < l->form.n_scan_in; i++)
        if (l->flows[slice_in(l, i)]) {
            l->out_axes[n_slices] = entry(l, "scan_input_axes", i);
            l->out_directions[n_slices++] = !entry(l, "scan_input_directions", i);
        }
    attrs[0] = (tfr_attr)TFR_SET_INT("num_scan_inputs", l->n_scanned);
    attrs[1] = list_attr("scan_input_axes", l->axes, l->n_scanned);
    attrs[2] = list_attr("scan_input_directions", l->directions, l->n_scanned);
    attrs[3] = list_attr("scan_output_axes", l->out_axes, n_slices);
    attrs[4] = list_attr("scan_output_directions", l->out_directions, n_slices);
    tfr__inside_node(d, "Scan", l->inputs, l->n_inputs, attrs, n_slices ? 5 : 3,
                     (tfr__inside *const[]){&in}, &name, 1, l->outputs, l->n_outputs);
    tfr__inside_close(&in);
    give_results(l);
}

void tfr__diff_loop(tfr__diff *d, tfr_value g)
{
    loop l = {0};
    (void)g;
    if (loop_init(&l, d)) {
        scan_history(&l);
        scan_back(&l);
    }
    free(l.block);
    free(l.flows);
}
