/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite.c: the editing of a graph's copy. Replacing is a forest with path halving
 * (Tarjan and van Leeuwen), so that a pass is linear however much it replaces.
 */
#include "optimize/rewrite.h"

#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "kernel/call.h"

#define TFR__MAX_COMPOSED 4 /* inputs of a composite op */
#define GUESSED_DIM       64
#define MAX_CASCADE       100 /* nodes that die one after the other; the rest is dead code's */

void tfr__rewrite_finish(tfr__rewrite *rw)
{
    tfr__free(rw->uses);
    tfr__free(rw->alias);
    tfr_graph_release(rw->graph);
}

/* ---- looking --------------------------------------------------------------------------------- */

tfr_value tfr__rewrite_find(tfr__rewrite *rw, tfr_value v)
{
    while (v != TFR_VALUE_NONE && rw->alias[v] != v)
        v = rw->alias[v] = rw->alias[rw->alias[v]];
    return v;
}

tfr_value tfr__rewrite_input(tfr__rewrite *rw, const tfr__node *node, uint32_t k)
{
    return k < node->n_inputs ? tfr__rewrite_find(rw, node->inputs[k]) : TFR_VALUE_NONE;
}

/* Any node that makes it, as whatever output. */
static tfr__node *maker(tfr__rewrite *rw, tfr_value v)
{
    const tfr__value *value = v == TFR_VALUE_NONE ? NULL : &rw->graph->values[v];
    return value && value->role == TFR__ROLE_NODE && value->node >= 0
               ? &rw->graph->nodes[value->node]
               : NULL;
}

tfr__node *tfr__rewrite_producer(tfr__rewrite *rw, tfr_value v)
{
    tfr__node *node;
    v = tfr__rewrite_find(rw, v);
    node = maker(rw, v);
    return node && node->op && !node->device && node->n_outputs && node->outputs[0] == v ? node
                                                                                         : NULL;
}

tfr_tensor *tfr__rewrite_tensor(tfr__rewrite *rw, tfr_value v)
{
    const tfr__value *value;
    v = tfr__rewrite_find(rw, v);
    value = v == TFR_VALUE_NONE ? NULL : &rw->graph->values[v];
    if (!value || value->role != TFR__ROLE_CONSTANT || value->tensor->kind != TFR_KIND_TENSOR ||
        value->tensor->dtype == TFR_DTYPE_STRING || !value->tensor->plain)
        return NULL;
    return value->tensor;
}

bool tfr__rewrite_ints(tfr__rewrite *rw, tfr_value v, int64_t *out, uint32_t most, uint32_t *n)
{
    const tfr_tensor *t = tfr__rewrite_tensor(rw, v);
    if (!t || t->dtype != TFR_DTYPE_I64 || t->n_elements > most)
        return false;
    *n = (uint32_t)t->n_elements;
    if (*n)
        memcpy(out, t->data, *n * sizeof *out);
    return true;
}

bool tfr__rewrite_number(tfr__rewrite *rw, tfr_value v, double *out)
{
    const tfr_tensor *t = tfr__rewrite_tensor(rw, v);
    const void *data = t && t->n_elements == 1 ? tfr__tensor_data(t) : NULL;
    return data && !tfr_dtype_convert(TFR_DTYPE_F64, out, (tfr_dtype)t->dtype, data, 1, NULL);
}

const tfr_value_type tfr__type_unknown;

bool tfr__rewrite_is(const tfr__node *node, const char *op)
{
    return node && node->op && !*node->op->domain && strcmp(node->op->name, op) == 0;
}

bool tfr__rewrite_claimed(const tfr__rewrite *rw, const char *op)
{
    return tfr__kernel_claimed(rw->env, tfr__op_number(tfr__op_find("", op)));
}

/* ---- changing -------------------------------------------------------------------------------- */

/* Makes room for one more item. */
static bool grow(tfr__rewrite *rw, void *array_pointer, uint32_t n, uint32_t *capacity, size_t size)
{
    if (tfr__reserve(array_pointer, n + 1, capacity, size))
        return true;
    rw->status = TFR_ENOMEM;
    return false;
}

static void unuse(tfr__rewrite *rw, tfr_value v, int depth)
{
    tfr__node *node;
    if (v == TFR_VALUE_NONE || !rw->uses[v] || --rw->uses[v])
        return;
    node = maker(rw, v);
    if (!node || !node->op || node->n_subgraphs || depth > MAX_CASCADE)
        return;
    for (uint32_t k = 0; k < node->n_outputs; k++)
        if (node->outputs[k] != TFR_VALUE_NONE && rw->uses[node->outputs[k]])
            return;
    node->op = NULL;
    for (uint32_t k = 0; k < node->n_inputs; k++)
        unuse(rw, tfr__rewrite_input(rw, node, k), depth + 1);
}

void tfr__rewrite_kill(tfr__rewrite *rw, tfr__node *node)
{
    node->op = NULL;
    for (uint32_t k = 0; k < node->n_inputs; k++)
        unuse(rw, tfr__rewrite_input(rw, node, k), 0);
}

void tfr__rewrite_replace(tfr__rewrite *rw, tfr_value old, tfr_value now)
{
    uint32_t n = rw->uses[old];
    if (old == now)
        return;
    rw->alias[old] = now;
    rw->uses[now] += n;
    rw->uses[old] = n ? 1 : 0;
    unuse(rw, old, 0);
}

/* The value's node does not make it any more. */
static void take_away(tfr__rewrite *rw, tfr_value v)
{
    tfr__node *node = maker(rw, v);
    bool more = false;
    for (uint32_t k = 0; node && node->op && k < node->n_outputs; k++) {
        if (node->outputs[k] == v)
            node->outputs[k] = TFR_VALUE_NONE;
        more = more || node->outputs[k] != TFR_VALUE_NONE;
    }
    if (node && node->op && !more)
        tfr__rewrite_kill(rw, node);
}

static void type_of_tensor(const tfr_tensor *t, tfr_value_type *type)
{
    type->kind = t->kind;
    type->dtype = t->dtype;
    type->rank_known = t->kind == TFR_KIND_TENSOR;
    type->rank = t->shape.rank;
    memcpy(type->dims, t->shape.dims, sizeof type->dims);
}

void tfr__rewrite_set_constant(tfr__rewrite *rw, tfr_value v, tfr_tensor *tensor)
{
    tfr__value *value = &rw->graph->values[v];
    take_away(rw, v);
    value->role = TFR__ROLE_CONSTANT;
    value->node = -1;
    value->tensor = tensor;
    tfr__tensor_protect(tensor);
    type_of_tensor(tensor, &value->type);
}

tfr_value tfr__rewrite_value(tfr__rewrite *rw, tfr_value like)
{
    tfr_graph *g = rw->graph;
    uint32_t capacity = rw->capacity, n = g->n_values;
    tfr__value *value;
    if (!grow(rw, &rw->uses, n, &capacity, sizeof *rw->uses) ||
        !grow(rw, &rw->alias, n, &rw->capacity, sizeof *rw->alias) ||
        !grow(rw, &g->values, n, &g->values_capacity, sizeof *g->values))
        return TFR_VALUE_NONE;
    value = &g->values[n];
    *value = (tfr__value){.name = g->values[like].name,
                          .role = TFR__ROLE_NODE,
                          .node = -1,
                          .outer = TFR_VALUE_NONE,
                          .update = TFR_VALUE_NONE,
                          .type = g->values[like].type};
    rw->uses[n] = 0;
    rw->alias[n] = (tfr_value)n;
    g->n_values++;
    return (tfr_value)n;
}

tfr_value tfr__rewrite_constant(tfr__rewrite *rw, tfr_value like, tfr_tensor *tensor)
{
    tfr_value v = tfr__rewrite_value(rw, like);
    if (v == TFR_VALUE_NONE)
        tfr_tensor_release(tensor);
    else
        tfr__rewrite_set_constant(rw, v, tensor);
    return v;
}

/* A node behind the others, with these operands, inputs before outputs. NULL without memory. */
static tfr__node *append(tfr__rewrite *rw, const tfr__op *op, char *name, tfr_value *operands,
                         uint32_t n_inputs, uint32_t n_outputs)
{
    tfr_graph *g = rw->graph;
    tfr__node *node;
    if (!grow(rw, &g->nodes, g->n_nodes, &g->nodes_capacity, sizeof *node))
        return NULL;
    for (uint32_t k = 0; k < n_inputs; k++) {
        operands[k] = tfr__rewrite_find(rw, operands[k]);
        if (operands[k] != TFR_VALUE_NONE)
            rw->uses[operands[k]]++;
    }
    for (uint32_t k = n_inputs; k < n_inputs + n_outputs; k++) {
        if (operands[k] == TFR_VALUE_NONE)
            continue;
        take_away(rw, operands[k]);
        g->values[operands[k]].role = TFR__ROLE_NODE;
        g->values[operands[k]].node = (int32_t)g->n_nodes;
    }
    node = &g->nodes[g->n_nodes++];
    *node = (tfr__node){.op = op,
                        .name = name,
                        .n_inputs = n_inputs,
                        .n_outputs = n_outputs,
                        .inputs = operands,
                        .outputs = operands + n_inputs};
    return node;
}

tfr__node *tfr__rewrite_node(tfr__rewrite *rw, const char *op, const tfr_value *inputs, uint32_t n,
                             tfr_value out)
{
    tfr_value *operands = tfr__region_alloc(&rw->graph->region, (size_t)n + 1, sizeof *operands);
    tfr__node *node = maker(rw, out);
    for (uint32_t k = 0; k < n; k++)
        if (inputs[k] == TFR_VALUE_NONE)
            rw->status = TFR_ENOMEM; /* a constant that could not be made */
    if (!operands)
        rw->status = TFR_ENOMEM;
    if (rw->status)
        return NULL;
    if (n)
        memcpy(operands, inputs, n * sizeof *operands);
    operands[n] = out;
    return append(rw, tfr__op_find("", op), node ? node->name : rw->graph->values[out].name,
                  operands, n, 1);
}

tfr__node *tfr__rewrite_append(tfr__rewrite *rw, const tfr__node *like, tfr_value *map,
                               tfr_value outer)
{
    const uint32_t n = like->n_inputs, n_all = n + like->n_outputs;
    tfr_value *operands =
        tfr__region_alloc(&rw->graph->region, (size_t)n_all + 1, sizeof *operands);
    char *name = tfr__region_copy(&rw->graph->region, like->name);
    tfr__attr_list attrs = {0};
    tfr__node *node;
    if (!operands || !name || tfr__attr_copy(&like->attrs, &attrs, NULL)) {
        rw->status = TFR_ENOMEM;
        return NULL;
    }
    for (uint32_t k = 0; k < n; k++)
        operands[k] = like->inputs[k] == TFR_VALUE_NONE ? TFR_VALUE_NONE : map[like->inputs[k]];
    for (uint32_t k = n; k < n_all; k++) {
        operands[k] =
            like->outputs[k - n] == TFR_VALUE_NONE ? TFR_VALUE_NONE : tfr__rewrite_value(rw, outer);
        if (operands[k] != TFR_VALUE_NONE) {
            map[like->outputs[k - n]] = operands[k];
            rw->graph->values[operands[k]].type = (tfr_value_type){.size = sizeof(tfr_value_type)};
        }
    }
    node = rw->status ? NULL : append(rw, like->op, name, operands, n, like->n_outputs);
    if (node)
        node->attrs = attrs;
    else
        tfr__attr_free(&attrs);
    return node;
}

tfr__node *tfr__rewrite_become(tfr__rewrite *rw, tfr_value out, const tfr__node *like,
                               const tfr_value *inputs, uint32_t n)
{
    const tfr__op *op = like->op;
    char *name = like->name;
    tfr__attr_list attrs = {0};
    tfr__node *node;
    if (tfr__attr_copy(&like->attrs, &attrs, NULL)) {
        rw->status = TFR_ENOMEM;
        return NULL;
    }
    node = tfr__rewrite_node(rw, op->name, inputs, n, out);
    if (!node) {
        tfr__attr_free(&attrs);
        return NULL;
    }
    node->name = name;
    node->attrs = attrs;
    return node;
}

/* A type as it is known, with guesses for the rest. */
static tfr__type guess(const tfr_value_type *type)
{
    tfr__type t = {.kind = TFR_KIND_TENSOR,
                   .dtype = type->dtype ? type->dtype : (int32_t)TFR_DTYPE_F32,
                   .shape_known = true,
                   .rank = type->rank_known ? type->rank : 2};
    for (int32_t i = 0; i < t.rank; i++)
        t.dims[i] = type->rank_known && type->dims[i] > 0 ? type->dims[i] : GUESSED_DIM;
    return t;
}

/* Who would get the node? TFR_OK, with *choice, whose text is the caller's. */
static tfr_status try_place(tfr__rewrite *rw, const tfr__node *node, tfr__choice *choice,
                            tfr_err *err)
{
    const uint32_t n = node->n_inputs + node->n_outputs;
    tfr__type *types = tfr__calloc(n, sizeof *types);
    tfr__attr_list attrs = {0};
    tfr__infer infer = {.op = node->op,
                        .node = node->name,
                        .n_inputs = node->n_inputs,
                        .n_outputs = node->n_outputs,
                        .inputs = types,
                        .outputs = types + node->n_inputs,
                        .attrs = &attrs};
    tfr__call call = {0};
    tfr_status status = types ? TFR_OK : TFR_ENOMEM;
    for (uint32_t k = 0; !status && k < node->n_inputs; k++)
        if (node->inputs[k] != TFR_VALUE_NONE)
            types[k] = guess(tfr__rewrite_type(rw, tfr__rewrite_input(rw, node, k)));
    for (uint32_t k = 0; !status && k < node->n_outputs; k++)
        if (node->outputs[k] != TFR_VALUE_NONE)
            types[node->n_inputs + k].kind = TFR_KIND_TENSOR;
    if (!status)
        status = tfr__attr_copy(&node->attrs, &attrs, err);
    if (!status)
        status = tfr__infer_node(&infer, err);
    if (!status)
        status = tfr__call_init(&call, node, &attrs, err);
    for (uint32_t k = 0; !status && k < n; k++)
        tfr__operand_set(&call.operands[k], &types[k], NULL, NULL);
    if (!status && !rw->env->opset)
        status = tfr__place(rw->env, node, (tfr__pin){-1, -1}, false, &call, choice, err);
    tfr__call_finish(&call);
    tfr__attr_free(&attrs);
    tfr__free(types);
    return status;
}

static bool runs_fast(tfr__rewrite *rw, const tfr__node *node)
{
    tfr__choice choice = {0};
    bool fast =
        !try_place(rw, node, &choice, NULL) && (rw->env->opset || choice.backend->priority > 0);
    tfr__free(choice.text);
    return fast;
}

/* What cannot be inferred with guesses is for the plan to find out, if there is any kernel. */
bool tfr__rewrite_runs(tfr__rewrite *rw, const tfr__node *node, tfr_err *err)
{
    const tfr_runtime *rt = rw->env->streams->runtime;
    tfr__choice choice = {0};
    tfr_status status = try_place(rw, node, &choice, err);
    tfr__free(choice.text);
    for (uint32_t d = 0; status && status != TFR_EUNSUPPORTED && d < rt->n_devices; d++)
        for (uint32_t b = 0; b < rt->devices[d].n_backends; b++)
            if (tfr__backend_claim(&rt->devices[d].backends[b], tfr__op_number(node->op)))
                return true;
    return !status;
}

uint32_t tfr__rewrite_compose(tfr__rewrite *rw, const char *op, const tfr_value *inputs, uint32_t n,
                              tfr__attr_list *attrs, tfr_value out)
{
    tfr_value operands[TFR__MAX_COMPOSED];
    tfr__node trial = {.op = tfr__op_find("", op),
                       .name = rw->graph->values[out].name,
                       .n_inputs = n,
                       .n_outputs = 1,
                       .inputs = operands,
                       .outputs = &out,
                       .attrs = *attrs};
    tfr__node *node = NULL;
    for (uint32_t k = 0; k < n; k++)
        operands[k] = tfr__rewrite_find(rw, inputs[k]);
    if (!rw->status && runs_fast(rw, &trial))
        node = tfr__rewrite_node(rw, op, operands, n, out);
    if (node)
        node->attrs = *attrs;
    else
        tfr__attr_free(attrs);
    return node != NULL;
}

void tfr__rewrite_set_input(tfr__rewrite *rw, tfr__node *node, uint32_t k, tfr_value v)
{
    tfr_value old = tfr__rewrite_input(rw, node, k);
    node->inputs[k] = tfr__rewrite_find(rw, v);
    rw->uses[node->inputs[k]]++;
    unuse(rw, old, 0);
}

tfr__attr_list *tfr__rewrite_attrs(tfr__rewrite *rw, tfr__node *node)
{
    tfr__attr_list own = {0};
    if (!node->attrs.capacity && node->attrs.n) {
        if (tfr__attr_copy(&node->attrs, &own, NULL))
            rw->status = TFR_ENOMEM; /* and node->attrs becomes empty: nobody runs it */
        node->attrs = own;
    }
    return &node->attrs;
}

/* ---- order ----------------------------------------------------------------------------------- */

static void use(tfr__rewrite *rw, tfr_value *v)
{
    *v = tfr__rewrite_find(rw, *v);
    if (*v != TFR_VALUE_NONE)
        rw->uses[*v]++;
}

void tfr__rewrite_count(tfr__rewrite *rw)
{
    tfr_graph *g = rw->graph;
    uint32_t capacity = g->n_values + g->n_nodes + 16;
    if (!rw->alias) {
        rw->uses = tfr__calloc(capacity, sizeof *rw->uses);
        rw->alias = tfr__calloc(capacity, sizeof *rw->alias);
        if (!rw->uses || !rw->alias) {
            rw->status = TFR_ENOMEM;
            return;
        }
        rw->capacity = capacity;
        for (uint32_t v = 0; v < g->n_values; v++)
            rw->alias[v] = (tfr_value)v;
    }
    memset(rw->uses, 0, g->n_values * sizeof *rw->uses);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        tfr__node *node = &g->nodes[i];
        if (!node->op)
            continue;
        for (uint32_t k = 0; k < node->n_inputs; k++)
            use(rw, &node->inputs[k]);
        for (uint32_t k = 0; k < node->n_captures; k++)
            use(rw, &node->captures[k]);
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        use(rw, &g->outputs[i]);
    for (uint32_t i = 0; i < g->n_variables; i++)
        use(rw, &g->values[g->variables[i]].update);
}

uint32_t tfr__rewrite_captures(tfr__rewrite *rw)
{
    tfr_graph *g = rw->graph;
    uint32_t n = 0;
    for (uint32_t v = 0; rw->parent && v < g->n_values; v++) {
        tfr__value *value = &g->values[v];
        const tfr__value *outer;
        if (value->role != TFR__ROLE_CAPTURE)
            continue;
        value->outer = tfr__rewrite_find(rw->parent, value->outer);
        outer = &rw->parent->graph->values[value->outer];
        value->type = outer->type;
        if (outer->role == TFR__ROLE_CONSTANT) {
            value->role = TFR__ROLE_CONSTANT;
            value->tensor = tfr_tensor_retain(outer->tensor);
            n++;
        }
    }
    return n;
}

/* The captures that a node's subgraphs still have; there are never more than at first. */
static void node_captures(tfr__node *node)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < node->n_subgraphs; k++)
        for (uint32_t v = 0; v < node->subgraphs[k]->n_values; v++)
            if (node->subgraphs[k]->values[v].role == TFR__ROLE_CAPTURE)
                node->captures[n++] = node->subgraphs[k]->values[v].outer;
    node->n_captures = n;
}

/* A node on the stack, and the operand that is looked at next. */
typedef struct visit {
    uint32_t node, operand;
} visit;

/* A node that must stand before the visited one and does not yet; UINT32_MAX = none. */
static uint32_t unplaced(tfr__rewrite *rw, visit *at, const bool *placed)
{
    tfr__node *node = &rw->graph->nodes[at->node];
    uint32_t n = node->n_inputs + node->n_captures;
    while (at->operand < n) {
        const uint32_t k = at->operand++;
        tfr_value *v = k < node->n_inputs ? &node->inputs[k] : &node->captures[k - node->n_inputs];
        const tfr__value *value;
        *v = tfr__rewrite_find(rw, *v);
        value = *v == TFR_VALUE_NONE ? NULL : &rw->graph->values[*v];
        if (value && value->role == TFR__ROLE_NODE && value->node >= 0 && !placed[value->node])
            return (uint32_t)value->node;
    }
    return UINT32_MAX;
}

void tfr__rewrite_tidy(tfr__rewrite *rw)
{
    tfr_graph *g = rw->graph;
    tfr__node *nodes = tfr__calloc((size_t)g->n_nodes + 1, sizeof *nodes);
    bool *placed = tfr__calloc((size_t)g->n_nodes + 1, sizeof *placed);
    visit *stack = tfr__calloc((size_t)g->n_nodes + 1, sizeof *stack);
    uint32_t n = 0;
    if (!nodes || !placed || !stack) {
        rw->status = TFR_ENOMEM;
        tfr__free(nodes);
        nodes = NULL;
    }
    for (uint32_t i = 0; nodes && i < g->n_nodes; i++) {
        uint32_t depth = 0;
        if (g->nodes[i].n_subgraphs)
            node_captures(&g->nodes[i]);
        if (g->nodes[i].op && !placed[i])
            stack[depth++] = (visit){i, 0};
        while (depth) {
            uint32_t before = unplaced(rw, &stack[depth - 1], placed);
            if (before != UINT32_MAX && depth < g->n_nodes) {
                stack[depth++] = (visit){before, 0};
                continue;
            }
            placed[stack[--depth].node] = true;
            nodes[n++] = g->nodes[stack[depth].node];
        }
    }
    if (nodes) {
        for (uint32_t i = 0; i < g->n_nodes; i++)
            if (!g->nodes[i].op)
                tfr__node_copy_finish(&g->nodes[i]);
        tfr__free(g->nodes);
        g->nodes_capacity = g->n_nodes + 1;
        g->nodes = nodes;
        g->n_nodes = n;
        for (uint32_t v = 0; v < g->n_values; v++)
            g->values[v].node = -1;
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t k = 0; k < nodes[i].n_outputs; k++)
                if (nodes[i].outputs[k] != TFR_VALUE_NONE)
                    g->values[nodes[i].outputs[k]].node = (int32_t)i;
        tfr__rewrite_count(rw);
    }
    tfr__free(placed);
    tfr__free(stack);
}
