/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_out.c: nodes of ops that plugins bring (tfrun/plugin_ops.h) and that no backend has a
 * kernel for become the nodes of their decomposition. Not a pass that can be switched off: without
 * it the graph could not run. The reader of functions, which is not in this library, makes a graph
 * of one; its nodes are taken over into the copy.
 */
#include <stdatomic.h>
#include <string.h>
#include <tfrun/fail.h>
#include <tfrun/op.h>

#include "base/alloc.h"
#include "op/op_foreign.h"
#include "optimize/passes.h"

enum { MOST_NODES = 1 << 16, MOST_DEPTH = 16 };

static _Atomic(tfr_function_reader *) reader;

void tfr_op_set_function_reader(tfr_function_reader *read)
{
    atomic_store(&reader, read);
}

tfr_status tfr_op_function(const char *domain, const char *name, uint32_t which, const void **bytes,
                           uint64_t *n, tfr_err *err)
{
    const tfr__op *op = tfr__op_find(domain, name);
    const tfr__op_foreign *row = op ? tfr__op_foreign_of(op) : NULL;
    *bytes = NULL;
    *n = 0;
    return row && row->functions >> which & 1 ? row->function(row, which, bytes, n, err) : TFR_OK;
}

/* ---- the function as a graph ----------------------------------------------------------------- */

typedef struct writing {
    tfr__rewrite *rw;
    uint32_t node; /* that is written out: its number, for nodes move */
    const char *why;
    tfr_graph *body;
    tfr_value *map; /* values of the body in the copy */
} writing;

static tfr_status make_body(writing *w, tfr_err *err)
{
    tfr__rewrite *rw = w->rw;
    const tfr__node *node = &rw->graph->nodes[w->node];
    const uint32_t n = node->n_inputs;
    tfr_value *values = tfr__calloc((size_t)n + node->n_outputs, sizeof *values);
    tfr_node_view view = {.size = sizeof view,
                          .domain = node->op->domain,
                          .op = node->op->name,
                          .name = node->name,
                          .n_attrs = node->attrs.n,
                          .attrs = node->attrs.n ? &node->attrs.items[0].pub : NULL,
                          .attr_stride = sizeof *node->attrs.items};
    tfr_function_reader *read = atomic_load(&reader);
    const void *bytes;
    uint64_t n_bytes;
    tfr_status status = values ? tfr_graph_create(node->name, &w->body, err) : TFR_ENOMEM;
    for (uint32_t i = 0; !status && i < n; i++) {
        tfr_value v = tfr__rewrite_input(rw, node, i);
        tfr_value_type type = *tfr__rewrite_type(rw, v);
        type.size = sizeof type;
        values[i] = TFR_VALUE_NONE;
        for (int32_t k = 0; k < type.rank; k++) /* symbols are the other graph's */
            type.dims[k] = type.dims[k] < 0 ? -1 : type.dims[k];
        if (v != TFR_VALUE_NONE)
            status = tfr_graph_add_input(w->body, NULL, &type, &values[i], err);
    }
    if (!status && !read)
        status = tfr_fail(err, TFR_EUNSUPPORTED,
                          "this program lacks libtfrun-nn, which reads decompositions");
    if (!status)
        status =
            tfr_op_function(view.domain, view.op, TFR__OP_DECOMPOSITION, &bytes, &n_bytes, err);
    if (!status)
        status = read(w->body, bytes, n_bytes, &view, values, n, values + n, node->n_outputs, err);
    for (uint32_t i = 0; !status && i < node->n_outputs; i++)
        status = tfr_graph_add_output(w->body, values[n + i], NULL, err);
    tfr__free(values);
    return status;
}

/* Its constants and nodes become the copy's; what it gives replaces what the node gave. */
static void take_over(writing *w)
{
    tfr__rewrite *rw = w->rw;
    const tfr_graph *body = w->body;
    tfr__node *node = &rw->graph->nodes[w->node];
    const tfr_value *outputs = node->outputs; /* the list stays where it is */
    const uint32_t n_outputs = node->n_outputs;
    char *device = node->device;
    tfr_value named = TFR_VALUE_NONE; /* new values are called as this one */
    uint32_t input = 0;
    for (uint32_t i = n_outputs; i-- > 0;)
        named = outputs[i] != TFR_VALUE_NONE ? outputs[i] : named;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        tfr_value v = tfr__rewrite_input(rw, node, i);
        if (v != TFR_VALUE_NONE)
            w->map[body->inputs[input++]] = v;
    }
    for (uint32_t v = 0; !rw->status && v < body->n_values; v++)
        if (body->values[v].role == TFR__ROLE_CONSTANT)
            w->map[v] = tfr__rewrite_constant(rw, named, tfr_tensor_retain(body->values[v].tensor));
    for (uint32_t i = 0; !rw->status && i < body->n_nodes; i++) {
        tfr__node *made = tfr__rewrite_append(rw, &body->nodes[i], w->map, named);
        if (made) {
            made->device = device;
            made->instead = w->why;
        }
    }
    for (uint32_t i = 0; !rw->status && i < n_outputs; i++)
        if (outputs[i] != TFR_VALUE_NONE)
            tfr__rewrite_replace(rw, outputs[i], w->map[body->outputs[i]]);
    node = &rw->graph->nodes[w->node];
    if (!rw->status && node->op)
        tfr__rewrite_kill(rw, node);
}

static tfr_status write_node(tfr__rewrite *rw, uint32_t i, const char *why, uint32_t *n_nodes,
                             tfr_err *err)
{
    const tfr__node *node = &rw->graph->nodes[i];
    writing w = {.rw = rw, .node = i, .why = why};
    tfr_status status = make_body(&w, err);
    for (uint32_t k = 0; !status && k < w.body->n_nodes; k++)
        if (w.body->nodes[k].n_subgraphs)
            status = tfr_fail(err, TFR_EUNSUPPORTED,
                              "the decomposition of %s of domain %s has a graph inside",
                              node->op->name, node->op->domain);
    if (!status && (*n_nodes += w.body->n_nodes) > MOST_NODES)
        status = tfr_fail(err, TFR_ELIMIT, "decompositions have more than %d nodes", MOST_NODES);
    if (!status) {
        w.map = tfr__calloc((size_t)w.body->n_values + 1, sizeof *w.map);
        for (uint32_t v = 0; w.map && v < w.body->n_values; v++)
            w.map[v] = TFR_VALUE_NONE;
        if (w.map)
            take_over(&w);
        status = w.map ? rw->status : TFR_ENOMEM;
    }
    tfr__free(w.map);
    tfr_graph_release(w.body);
    return status;
}

/* ---- which ones ------------------------------------------------------------------------------ */

tfr_status tfr__rewrite_write_out(tfr__rewrite *rw, uint32_t round, uint32_t *n, uint32_t *n_nodes,
                                  tfr_err *err)
{
    const uint32_t end = rw->graph->n_nodes;
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < end; i++) {
        const tfr__node *node = &rw->graph->nodes[i];
        const tfr__op_foreign *row = node->op ? tfr__op_foreign_of(node->op) : NULL;
        tfr_err own = TFR_ERR_INIT;
        char *why;
        if (!row || tfr__rewrite_runs(rw, node, &own) ||
            !(row->functions >> TFR__OP_DECOMPOSITION & 1))
            continue;
        why = tfr__region_print(&rw->graph->region,
                                "it is of the decomposition of %s of domain %s: %s", node->op->name,
                                node->op->domain, own.text);
        if (!why)
            return TFR_ENOMEM;
        if (rw->env->strict)
            status =
                tfr_fail(err, TFR_EFALLBACK,
                         "%s; its decomposition could, which fallback \"error\" forbids", own.text);
        else if (round == MOST_DEPTH)
            status = tfr_fail(err, TFR_EPLUGIN,
                              "decompositions are more than %d deep; does %s of domain %s, by "
                              "plugin %s, contain itself?",
                              MOST_DEPTH, node->op->name, node->op->domain, row->plugin);
        else
            status = write_node(rw, i, why, n_nodes, err);
        if (!status)
            tfr__log(rw->env->streams->runtime, TFR_LOG_INFO, "placement",
                     "%s, which plugin %s brings, is written out: %s", row->op.name, row->plugin,
                     own.text);
        ++*n;
    }
    return status;
}
