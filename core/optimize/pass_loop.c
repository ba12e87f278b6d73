/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass_loop.c: what Loop and Scan carry without need. A carried value that the body hands on as it
 * came is a captured one, so that a weight is a constant inside; after the loop, and after no
 * iteration too, it is what it was before. A carried value whose only reader is its own next value,
 * and a stacked output that nobody reads, go.
 */
#include "base/alloc.h"
#include "optimize/passes.h"

/* By value of the body. */
typedef struct mark {
    uint32_t carried; /* 1 + which one it is */
    bool needed;
    tfr_value stacked; /* item of the stack */
} mark;

typedef struct loop {
    tfr__rewrite *rw;
    tfr__node *node;
    tfr_graph *body;
    uint32_t n_carried;
    uint32_t first_in;  /* of the node's and the body's inputs */
    uint32_t first_out; /* of the body's outputs: that of the node's first; 1 = it is a Loop */
    mark *marks;
    uint32_t depth;
} loop;

static bool find_loop(tfr__rewrite *rw, tfr__node *node, loop *l)
{
    const bool is_loop = tfr__rewrite_is(node, "Loop");
    const int64_t n_scanned =
        is_loop ? 0 : tfr__attr_int(&node->attrs, "num_scan_inputs", node->n_inputs);
    *l = (loop){.rw = rw, .node = node, .first_in = 2 * is_loop, .first_out = is_loop};
    if (!is_loop && !tfr__rewrite_is(node, "Scan"))
        return false;
    l->body = tfr__attr_graph(&node->attrs, "body");
    l->n_carried = node->n_inputs - l->first_in - (uint32_t)n_scanned;
    return l->body && l->body->source && l->body->n_inputs == node->n_inputs &&
           l->body->n_outputs == node->n_outputs + l->first_out && n_scanned >= 0 &&
           n_scanned <= (int64_t)node->n_inputs - l->first_in && l->n_carried <= node->n_outputs;
}

static bool is_read(const loop *l, uint32_t output)
{
    const tfr_value v = l->node->outputs[output];
    return v != TFR_VALUE_NONE && l->rw->uses[v];
}

/* Is an output of a pass looked at, if only the node's outputs count? An attribute of Scan may
 * count those that are stacked, so they stay. */
static bool is_wanted(const loop *l, uint32_t i)
{
    return is_read(l, i) || (i >= l->n_carried && !l->first_out);
}

static void need(loop *l, const tfr_value *list, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        if (list[k] == TFR_VALUE_NONE || l->marks[list[k]].needed)
            continue;
        l->marks[list[k]].needed = true;
        l->marks[l->depth++].stacked = list[k];
    }
}

/* From the condition and what the node gives backwards, round the loop. */
static void find_needed(loop *l)
{
    const tfr_graph *g = l->body;
    const tfr_value *outputs = g->outputs + l->first_out;
    for (uint32_t i = 0; i < l->n_carried; i++)
        l->marks[g->inputs[l->first_in + i]].carried = i + 1;
    need(l, g->outputs, l->first_out);
    for (uint32_t i = 0; i < l->node->n_outputs; i++)
        need(l, outputs + i, is_wanted(l, i));
    while (l->depth) {
        const tfr_value v = l->marks[--l->depth].stacked;
        const tfr__value *value = &g->values[v];
        const tfr__node *node;
        need(l, outputs + l->marks[v].carried - 1, l->marks[v].carried != 0);
        if (value->role != TFR__ROLE_NODE || value->node < 0)
            continue;
        node = &g->nodes[value->node];
        need(l, node->inputs, node->n_inputs);
        need(l, node->captures, node->n_captures);
    }
}

/* Output i of the node, and input if it is carried, is none any more; false = it has to stay. */
static bool take_out(loop *l, uint32_t i)
{
    tfr_value in, before;
    tfr__value *inside;
    if (i >= l->n_carried)
        return !is_wanted(l, i);
    in = l->body->inputs[l->first_in + i];
    inside = &l->body->values[in];
    before = tfr__rewrite_input(l->rw, l->node, l->first_in + i);
    if (before != TFR_VALUE_NONE && l->body->outputs[l->first_out + i] == in) {
        inside->role = TFR__ROLE_CAPTURE;
        inside->outer = before;
        if (l->node->outputs[i] != TFR_VALUE_NONE)
            tfr__rewrite_replace(l->rw, l->node->outputs[i], before);
        return true;
    }
    if (is_wanted(l, i) || l->marks[in].needed)
        return false;
    inside->role = TFR__ROLE_NODE; /* of none; who reads it goes in the body's turn */
    return true;
}

/* Returns how many are taken out of the lists. */
static uint32_t shorten(loop *l)
{
    tfr__node *node = l->node;
    tfr_graph *g = l->body;
    const uint32_t n = node->n_outputs;
    uint32_t in = l->first_in, out = l->first_out;
    for (uint32_t i = 0; i < node->n_inputs - l->first_in || i < n; i++) {
        const uint32_t from = l->first_in + i, made = l->first_out + i;
        const bool stays = i >= n || !take_out(l, i);
        if (from < node->n_inputs && (stays || i >= l->n_carried)) {
            node->inputs[in] = node->inputs[from];
            g->inputs[in++] = g->inputs[from];
        }
        if (i < n && stays) {
            node->outputs[out - l->first_out] = node->outputs[i];
            g->outputs[out] = g->outputs[made];
            g->output_names[out] = g->output_names[made];
            g->output_types[out++] = g->output_types[made];
        }
    }
    node->n_inputs = g->n_inputs = in;
    node->n_outputs = out - l->first_out;
    g->n_outputs = g->n_declared = out;
    return n - node->n_outputs;
}

uint32_t tfr__pass_loop(tfr__rewrite *rw)
{
    uint32_t n = 0;
    if (rw->parent) {
        tfr__rewrite_count(rw);
        if (tfr__rewrite_drop_unread(rw))
            tfr__rewrite_tidy(rw);
    }
    for (uint32_t i = 0; !rw->status && i < rw->graph->n_nodes; i++) {
        loop l;
        if (!find_loop(rw, &rw->graph->nodes[i], &l))
            continue;
        l.marks = tfr__calloc((size_t)l.body->n_values + 1, sizeof *l.marks);
        if (!l.marks) {
            rw->status = TFR_ENOMEM;
            break;
        }
        find_needed(&l);
        n += shorten(&l);
        if (!l.node->n_outputs)
            tfr__rewrite_kill(rw, l.node);
        tfr__free(l.marks);
    }
    return n;
}
