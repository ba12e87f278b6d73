/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autodiff_control.c: what depends on what through If, Loop and Scan, and the gradient of If: an If
 * on the same condition, whose branches are those of the node followed by their gradients. What the
 * branches capture are its outputs, zeros from a branch that does not use it.
 */
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

#include "autodiff_inside.h"

/* ---- what flows ------------------------------------------------------------------------------ */

bool tfr__loop_form_of(const tfr_node_view *node, tfr__loop_form *out)
{
    const tfr_graph *body = tfr_node_subgraph(node, "body");
    const tfr_attr *scanned = tfr_node_attr(node, "num_scan_inputs");
    const uint32_t n_in = body ? tfr_graph_n_inputs(body) : 0,
                   n_out = body ? tfr_graph_n_outputs(body) : 0;
    int64_t n = scanned && scanned->type == TFR_ATTR_INT ? scanned->ints[0] : 0;
    memset(out, 0, sizeof *out);
    out->is_scan = strcmp(node->op, "Scan") == 0;
    out->first_in = out->is_scan ? 0 : 2;
    out->first_out = out->is_scan ? 0 : 1;
    if (!body || n_in != node->n_inputs || n < 0 || n > n_in || n_in < out->first_in ||
        n_out != node->n_outputs + out->first_out)
        return false;
    out->n_scan_in = out->is_scan ? (uint32_t)n : 0;
    out->n_state = n_in - out->first_in - out->n_scan_in;
    out->n_scan_out = n_out - out->first_out - out->n_state;
    return n_out >= out->first_out + out->n_state;
}

/* States that depend on others do so in the next pass; false = no more of them. */
static bool carry(const tfr__diff *d, const tfr__loop_form *form, const tfr_graph *body,
                  bool *inside)
{
    bool more = false;
    for (uint32_t i = 0; i < form->n_state; i++) {
        tfr_value in = tfr_graph_input(body, form->first_in + i);
        if (!inside[tfr_graph_output(body, form->first_out + i)] || inside[in] ||
            tfr__diff_discrete(d, body, in))
            continue;
        more = inside[in] = true;
    }
    return more;
}

tfr_status tfr__inside_flows(const tfr__diff *d, const tfr_node_view *node, const char *name,
                             const bool *flows, bool **out)
{
    const tfr_graph *graph = tfr_node_subgraph(node, name);
    const uint32_t n = graph ? tfr_graph_n_values(graph) : 0;
    const bool loops = strcmp(node->op, "Loop") == 0 || strcmp(node->op, "Scan") == 0;
    tfr__loop_form form = {0};
    tfr_status status = TFR_OK;
    bool *inside = *out = calloc((size_t)n + 1, sizeof *inside);
    if (!inside)
        return tfr_fail(d->err, TFR_ENOMEM, "out of memory for the gradient of node \"%s\"",
                        node->name);
    if (!graph || (loops && !tfr__loop_form_of(node, &form)))
        return tfr_fail(d->err, TFR_EMODEL,
                        "node \"%s\" (%s): its graph and the node have different numbers of values",
                        node->name, node->op);
    for (uint32_t v = 0; !status && v < n; v++) {
        tfr_value_view view = {.size = sizeof view};
        status = tfr_graph_value(graph, (tfr_value)v, &view, d->err);
        inside[v] = !status && view.role == TFR_ROLE_CAPTURE && flows[view.of_parent];
    }
    for (uint32_t i = 0; loops && i < node->n_inputs; i++)
        if (node->inputs[i] != TFR_VALUE_NONE)
            inside[tfr_graph_input(graph, i)] = flows[node->inputs[i]];
    do {
        if (!status)
            status = tfr__diff_spread(d, graph, 0, inside);
    } while (!status && loops && carry(d, &form, graph, inside));
    return status;
}

tfr_status tfr__diff_spread_control(const tfr__diff *d, const tfr_graph *graph,
                                    const tfr_node_view *node, bool *flows)
{
    const bool is_if = strcmp(node->op, "If") == 0;
    const char *const names[] = {is_if ? "then_branch" : "body", "else_branch"};
    const uint32_t less = strcmp(node->op, "Loop") == 0;
    tfr_status status = TFR_OK;
    if (strcmp(node->op, "SequenceMap") == 0) { /* has no rule, and sequences no gradients */
        for (uint32_t k = 0; k < node->n_outputs; k++)
            if (node->outputs[k] != TFR_VALUE_NONE)
                flows[node->outputs[k]] = true;
        return TFR_OK;
    }
    for (int i = 0; !status && i <= is_if; i++) {
        const tfr_graph *inside = tfr_node_subgraph(node, names[i]);
        bool *found = NULL;
        status = tfr__inside_flows(d, node, names[i], flows, &found);
        for (uint32_t k = 0; !status && k < node->n_outputs; k++) {
            tfr_value v = node->outputs[k], from = tfr_graph_output(inside, less + k);
            if (v != TFR_VALUE_NONE && from != TFR_VALUE_NONE && found[from] &&
                !tfr__diff_discrete(d, graph, v))
                flows[v] = true;
        }
        free(found);
    }
    return status;
}

/* ---- If -------------------------------------------------------------------------------------- */

typedef struct branches {
    tfr_value *xs, *inner, *out; /* captured values; inside of a branch, and their gradients */
    tfr_value *ys, *gs;          /* outputs of a branch */
    uint32_t n;
} branches;

static bool branches_init(branches *b, tfr__diff *d)
{
    const size_t n = d->node.n_captures, m = d->node.n_outputs;
    b->xs = calloc(3 * n + 2 * m + 1, sizeof *b->xs);
    if (!b->xs) {
        d->status = tfr_fail(d->err, TFR_ENOMEM, "out of memory for the gradient of node \"%s\"",
                             d->node.name);
        return false;
    }
    b->inner = b->xs + n;
    b->out = b->inner + n;
    b->ys = b->out + n;
    b->gs = b->ys + m;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t before = 0;
        while (before < b->n && b->xs[before] != d->node.captures[i])
            before++;
        if (before == b->n && d->flows[d->node.captures[i]])
            b->xs[b->n++] = d->node.captures[i];
    }
    return true;
}

static void differentiate_branch(tfr__inside *in, tfr__diff *d, branches *b, const char *name)
{
    uint32_t n = 0;
    tfr__inside_open(in, d, name);
    tfr__inside_nodes(in);
    for (uint32_t k = 0; !d->status && k < d->node.n_outputs; k++) {
        tfr_value g = tfr__diff_gradient(d, k);
        if (g == TFR_VALUE_NONE)
            continue;
        b->ys[n] = tfr__inside_map(in, tfr_graph_output(in->from, k));
        b->gs[n++] = tfr__inside_capture(in, g);
    }
    for (uint32_t i = 0; i < b->n; i++)
        b->inner[i] = tfr__inside_capture(in, b->xs[i]);
    tfr__inside_gradients(in, b->ys, b->gs, n, b->inner, b->n, b->out);
    for (uint32_t i = 0; !d->status && i < b->n; i++) {
        if (b->out[i] == TFR_VALUE_NONE)
            b->out[i] = tfr__diff_filled_like(&in->diff, 0, b->inner[i]);
        tfr__inside_output(in, b->out[i], d->graph, b->xs[i]);
    }
}

void tfr__diff_if(tfr__diff *d, tfr_value g)
{
    static const char *const names[] = {"then_branch", "else_branch"};
    tfr_value condition = tfr__diff_in(d, 0);
    tfr__inside then = {0}, otherwise = {0};
    branches b = {0};
    (void)g;
    if (branches_init(&b, d)) {
        differentiate_branch(&then, d, &b, names[0]);
        differentiate_branch(&otherwise, d, &b, names[1]);
        tfr__inside_node(d, "If", &condition, 1, NULL, 0, (tfr__inside *const[]){&then, &otherwise},
                         names, 2, b.out, b.n);
        for (uint32_t i = 0; !d->status && i < b.n; i++)
            tfr__diff_seed(d, b.xs[i], b.out[i]);
    }
    tfr__inside_close(&then);
    tfr__inside_close(&otherwise);
    free(b.xs);
}
