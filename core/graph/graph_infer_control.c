/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_infer_control.c: types through If, Loop and Scan. What a loop carries keeps of its type
 * what one pass through the body leaves as it was; a second look proves it.
 */
#include <string.h>

#include "base/alloc.h"
#include "graph/graph_infer.h"

/* Loops inside each other that are looked at twice; deeper ones carry anything. */
#define MOST_DEPTH 3

typedef struct control {
    tfr_graph_types *types;
    tfr__scope *scope;
    const tfr__node *node;
    tfr_err *err;
} control;

static const tfr__type any = {.kind = TFR__KIND_ANY};

static tfr__type input_of(const control *c, uint32_t k)
{
    tfr_value v = k < c->node->n_inputs ? c->node->inputs[k] : TFR_VALUE_NONE;
    tfr__type type = v == TFR_VALUE_NONE ? any : c->scope->types[v];
    return type.kind ? type : any;
}

/* A type that both have, dims that differ being new ones. */
static tfr__type join(const control *c, const tfr__type *a, const tfr__type *b)
{
    tfr__type t = *a;
    if (a->kind != b->kind || a->kind == TFR__KIND_ANY)
        return any;
    if (a->dtype != b->dtype)
        t.dtype = 0;
    if (a->elem_kind != b->elem_kind)
        return any;
    t.shape_known = a->shape_known && b->shape_known && a->rank == b->rank;
    for (int32_t i = 0; t.shape_known && i < t.rank; i++)
        if (a->dims[i] != b->dims[i])
            t.dims[i] = tfr__symbol_new(&c->types->symbols);
    return t;
}

/* Does a type say no more than known, which says what weak leaves open? */
static bool is_within(const tfr__type *weak, const tfr__type *first, const tfr__type *known)
{
    bool fits = weak->kind == TFR__KIND_ANY ||
                (weak->kind == known->kind && (!weak->dtype || weak->dtype == known->dtype) &&
                 weak->elem_kind == known->elem_kind);
    if (!fits || weak->kind == TFR__KIND_ANY || !weak->shape_known)
        return fits;
    fits = known->shape_known && known->rank == weak->rank;
    for (int32_t i = 0; fits && i < weak->rank; i++)
        fits = weak->dims[i] != first->dims[i] || weak->dims[i] == known->dims[i];
    return fits;
}

static tfr__scope *body_scope(const control *c, const char *name)
{
    tfr_graph *graph = tfr__attr_graph(&c->node->attrs, name);
    return graph ? tfr__scope_inner(c->scope, graph) : NULL;
}

/* Types of the body's values for these inputs, afresh. */
static tfr_status infer_body(const control *c, tfr__scope *body, const tfr__type *inputs,
                             uint32_t n)
{
    tfr_status status = TFR_OK;
    tfr__scope_reset(body);
    status = tfr__scope_start(body, c->err);
    for (uint32_t i = 0; !status && i < body->graph->n_inputs; i++)
        body->types[body->graph->inputs[i]] = i < n ? inputs[i] : any;
    return status ? status : tfr__scope_infer(c->types, body, c->err);
}

static tfr__type output_of(const tfr__scope *body, uint32_t i)
{
    const tfr__type *t = i < body->graph->n_outputs ? &body->types[body->graph->outputs[i]] : &any;
    return t->kind ? *t : any;
}

/* ---- If -------------------------------------------------------------------------------------- */

static tfr_status infer_if(const control *c, tfr__type *outputs)
{
    tfr__scope *then = body_scope(c, "then_branch"), *otherwise = body_scope(c, "else_branch");
    if (!then || !otherwise)
        return TFR_OK;
    tfr_status status = infer_body(c, then, NULL, 0);
    if (!status)
        status = infer_body(c, otherwise, NULL, 0);
    for (uint32_t i = 0; !status && i < c->node->n_outputs; i++) {
        tfr__type a = output_of(then, i), b = output_of(otherwise, i);
        if (outputs[i].kind)
            outputs[i] = join(c, &a, &b);
    }
    return status;
}

/* ---- Loop and Scan --------------------------------------------------------------------------- */

/* Inputs of the body: n_fixed, then carried ones, then n_last that are slices. */
typedef struct loop {
    tfr__scope *body;
    uint32_t first_carried, n_carried, n_inputs;
    uint32_t first_result; /* the output of the body that is the first carried value's next */
    tfr__type *inputs, *start;
} loop;

/* Weakens what is carried to what a pass keeps. */
static tfr_status settle(const control *c, loop *l)
{
    tfr__type *carried = l->inputs + l->first_carried;
    bool stable = true;
    size_t bytes = l->n_carried * sizeof *carried;
    if (c->scope->depth < MOST_DEPTH) {
        tfr_status status = infer_body(c, l->body, l->inputs, l->n_inputs);
        if (status)
            return status;
        for (uint32_t i = 0; i < l->n_carried; i++) {
            tfr__type next = output_of(l->body, l->first_result + i);
            carried[i] = join(c, &l->start[i], &next);
            carried[i].elements = NULL;
            stable = stable && is_within(&l->start[i], &l->start[i], &next);
        }
        if (!stable)
            status = infer_body(c, l->body, l->inputs, l->n_inputs);
        if (status)
            return status;
        bool proved = true;
        for (uint32_t i = 0; i < l->n_carried; i++) {
            tfr__type next = output_of(l->body, l->first_result + i);
            proved = proved && is_within(&carried[i], &l->start[i], &next);
        }
        if (proved)
            return TFR_OK;
    }
    for (uint32_t i = 0; i < l->n_carried; i++)
        carried[i] = any;
    memcpy(l->start, carried, bytes);
    return infer_body(c, l->body, l->inputs, l->n_inputs);
}

/* Values of all passes side by side. After no pass their type is what the body declares, so only
 * what that agrees with is known, and no length. */
static tfr__type stacked(const control *c, const tfr__scope *body, uint32_t output)
{
    const tfr_graph *g = body->graph;
    tfr__type one = output_of(body, output), t = {.kind = TFR_KIND_TENSOR};
    const tfr_value_type *declared = output < g->n_declared ? &g->output_types[output] : NULL;
    if (one.kind != TFR_KIND_TENSOR || !declared || !declared->dtype)
        return t;
    t.dtype = declared->dtype == one.dtype ? one.dtype : 0;
    t.shape_known = one.shape_known && declared->rank_known && declared->rank == one.rank &&
                    one.rank < TFR_MAX_RANK;
    t.rank = t.shape_known ? one.rank + 1 : 0;
    for (int32_t i = 0; i < t.rank; i++)
        t.dims[i] = tfr__symbol_new(&c->types->symbols);
    return t;
}

/* One step of a scanned input: its axis is gone. */
static tfr__type slice_of(const control *c, const tfr__type *t, uint32_t i)
{
    uint64_t n;
    const int64_t *axes = tfr__attr_ints(&c->node->attrs, "scan_input_axes", &n);
    int64_t axis = axes && i < n ? axes[i] : 0;
    tfr__type out = *t;
    out.elements = NULL;
    if (t->kind != TFR_KIND_TENSOR || !t->shape_known)
        return out;
    axis += axis < 0 ? t->rank : 0;
    if (axis < 0 || axis >= t->rank)
        return any;
    out.rank--;
    memmove(out.dims + axis, out.dims + axis + 1, (size_t)(out.rank - axis) * sizeof *out.dims);
    return out;
}

static tfr_status infer_loop(const control *c, loop *l, tfr__type *outputs)
{
    memcpy(l->start, l->inputs + l->first_carried, l->n_carried * sizeof *l->start);
    tfr_status status = settle(c, l);
    for (uint32_t i = 0; !status && i < c->node->n_outputs; i++) {
        tfr__type fresh = any;
        if (!outputs[i].kind)
            continue;
        if (i < l->n_carried) {
            /* Dims that vary from pass to pass are others in the end. */
            fresh = join(c, &l->start[i], &l->inputs[l->first_carried + i]);
            outputs[i] = fresh;
        } else {
            outputs[i] = stacked(c, l->body, l->first_result + i);
        }
    }
    return status;
}

tfr_status tfr__control_infer(tfr_graph_types *types, tfr__scope *scope, const tfr__node *node,
                              tfr__type *outputs, tfr_err *err)
{
    control c = {types, scope, node, err};
    loop l = {.body = body_scope(&c, "body")};
    bool is_loop = strcmp(node->op->name, "Loop") == 0,
         is_scan = strcmp(node->op->name, "Scan") == 0;
    int64_t n_scanned = tfr__attr_int(&node->attrs, "num_scan_inputs", 0);
    if (strcmp(node->op->name, "If") == 0)
        return infer_if(&c, outputs);
    if (!l.body)
        return TFR_OK;
    l.n_inputs = l.body->graph->n_inputs;
    l.inputs = tfr__calloc((size_t)l.n_inputs * 2 + 1, sizeof *l.inputs);
    if (!l.inputs)
        return tfr__no_memory(err);
    l.start = l.inputs + l.n_inputs;
    for (uint32_t i = 0; i < l.n_inputs; i++)
        l.inputs[i] = any;
    bool fits = l.n_inputs == node->n_inputs && n_scanned >= 0 && n_scanned <= l.n_inputs;
    tfr_status status;
    if (is_loop && fits && l.n_inputs >= 2 && l.body->graph->n_outputs == node->n_outputs + 1) {
        l.inputs[0] =
            (tfr__type){.kind = TFR_KIND_TENSOR, .dtype = TFR_DTYPE_I64, .shape_known = true};
        l.inputs[1] = (tfr__type){.kind = TFR_KIND_TENSOR, .dtype = TFR_DTYPE_BOOL};
        l.first_carried = 2;
        l.n_carried = l.n_inputs - 2;
        l.first_result = 1;
    } else if (is_scan && fits && l.body->graph->n_outputs == node->n_outputs) {
        l.n_carried = l.n_inputs - (uint32_t)n_scanned;
    } else {
        status = infer_body(&c, l.body, l.inputs, l.n_inputs);
        tfr__free(l.inputs);
        return status;
    }
    for (uint32_t i = 0; i < l.n_carried; i++)
        l.inputs[l.first_carried + i] = input_of(&c, l.first_carried + i);
    for (uint32_t i = l.first_carried + l.n_carried; i < l.n_inputs; i++) {
        tfr__type whole = input_of(&c, i);
        l.inputs[i] = slice_of(&c, &whole, i - l.n_carried);
    }
    status = infer_loop(&c, &l, outputs);
    tfr__free(l.inputs);
    return status;
}
