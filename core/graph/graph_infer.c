/* SPDX-License-Identifier: Apache-2.0 */
/* graph_infer.c: inference of nodes and graphs whose inputs are known in part; see graph_infer.h.
 */
#include "graph/graph_infer.h"

#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "value/tensor.h"

/* ---- types ----------------------------------------------------------------------------------- */

const void *tfr__constant_data(const tfr_tensor *tensor)
{
    static const char nothing[1];
    if (tensor->kind != TFR_KIND_TENSOR || tensor->dtype == TFR_DTYPE_STRING || !tensor->plain)
        return NULL;
    return tensor->bytes ? tensor->data : nothing;
}

void tfr__type_of_public(const tfr_value_type *type, tfr__type *out)
{
    memset(out, 0, sizeof *out);
    out->kind = type->kind ? type->kind : TFR__KIND_ANY;
    out->dtype = type->dtype;
    out->elem_kind = type->element_kind;
    if (out->kind != TFR_KIND_TENSOR || !type->rank_known)
        return;
    out->shape_known = true;
    out->rank = type->rank;
    for (int32_t i = 0; i < type->rank; i++)
        out->dims[i] = type->dims[i] < 0 ? -1 : type->dims[i];
}

void tfr__type_to_public(const tfr__type *type, tfr_value_type *out)
{
    memset(out, 0, sizeof *out);
    out->size = sizeof *out;
    if (type->kind == TFR__KIND_ANY)
        return;
    out->kind = type->kind;
    out->dtype = type->dtype;
    out->element_kind = type->kind == TFR_KIND_TENSOR ? TFR_KIND_NONE : type->elem_kind;
    out->rank_known = type->kind == TFR_KIND_TENSOR && type->shape_known;
    if (!out->rank_known)
        return;
    out->rank = type->rank;
    memcpy(out->dims, type->dims, (size_t)type->rank * sizeof *out->dims);
}

static void type_of_tensor(const tfr_tensor *t, tfr__type *out)
{
    memset(out, 0, sizeof *out);
    out->kind = (int32_t)t->kind;
    out->dtype = (int32_t)t->dtype;
    out->shape_known = t->kind == TFR_KIND_TENSOR;
    out->elem_kind = out->shape_known ? 0 : TFR_KIND_TENSOR;
    out->rank = t->shape.rank;
    memcpy(out->dims, t->shape.dims, sizeof out->dims);
}

/* ---- one node -------------------------------------------------------------------------------- */

static const void *value_of(tfr__infer *in, uint32_t input)
{
    (void)in;
    (void)input;
    return NULL; /* what is known stands in the types */
}

tfr_status tfr__node_infer(const tfr__node *node, tfr__symbols *symbols, tfr__input_type *type_of,
                           void *user, tfr__node_types *out, tfr_err *err)
{
    tfr__infer infer = {.op = node->op,
                        .node = node->name,
                        .n_inputs = node->n_inputs,
                        .n_outputs = node->n_outputs,
                        .attrs = &out->attrs,
                        .value = value_of,
                        .symbols = symbols};
    memset(out, 0, sizeof *out);
    out->inputs = tfr__calloc((size_t)node->n_inputs + node->n_outputs + 1, sizeof *out->inputs);
    if (!out->inputs)
        return tfr__no_memory(err);
    out->outputs = out->inputs + node->n_inputs;
    infer.inputs = out->inputs;
    infer.outputs = out->outputs;
    for (uint32_t k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] != TFR_VALUE_NONE)
            type_of(user, node, k, &out->inputs[k]);
    for (uint32_t k = 0; k < node->n_outputs; k++)
        out->outputs[k].kind = node->outputs[k] == TFR_VALUE_NONE ? TFR_KIND_NONE : TFR_KIND_TENSOR;
    tfr_status status = tfr__attr_copy(&node->attrs, &out->attrs, err);
    if (!status)
        status = tfr__infer_node(&infer, err);
    if (!status && symbols)
        out->has_elements = tfr__infer_elements(&infer, &out->elements);
    return status;
}

void tfr__node_types_finish(tfr__node_types *types)
{
    tfr__attr_free(&types->attrs);
    tfr__free(types->inputs);
}

/* ---- scopes ---------------------------------------------------------------------------------- */

void tfr__scope_reset(tfr__scope *scope)
{
    for (uint32_t v = 0; v < scope->n_values; v++) {
        tfr__free(scope->elements[v]);
        scope->elements[v] = NULL;
    }
    if (scope->types)
        memset(scope->types, 0, scope->capacity * sizeof *scope->types);
    scope->n_values = scope->n_nodes = 0;
}

static void scope_finish(tfr__scope *scope)
{
    tfr__scope_reset(scope);
    for (uint32_t i = 0; i < scope->n_inner; i++)
        if (scope->inner[i]) {
            scope_finish(scope->inner[i]);
            tfr__free(scope->inner[i]);
        }
    tfr__free(scope->inner);
    tfr__free(scope->types);
    tfr__free(scope->elements);
}

tfr__scope *tfr__scope_inner(tfr__scope *scope, const tfr_graph *graph)
{
    tfr__scope *inner;
    if (!tfr__reserve(&scope->inner, graph->number + 1, &scope->n_inner, sizeof(tfr__scope *)))
        return NULL;
    if (scope->inner[graph->number])
        return scope->inner[graph->number];
    inner = tfr__calloc(1, sizeof *inner);
    if (!inner)
        return NULL;
    inner->graph = graph;
    inner->outer = scope;
    inner->depth = scope->depth + 1;
    return scope->inner[graph->number] = inner;
}

tfr_status tfr__scope_start(tfr__scope *scope, tfr_err *err)
{
    uint32_t n = scope->graph->n_values, capacity = scope->capacity;
    if (!tfr__reserve(&scope->types, n, &capacity, sizeof *scope->types) ||
        !tfr__reserve(&scope->elements, n, &scope->capacity, sizeof(tfr__elements *)))
        return tfr__no_memory(err);
    return TFR_OK;
}

/* ---- values that no node makes --------------------------------------------------------------- */

/* Memory is out: a symbol without an item in the table tells of it. */
static void lose(tfr_graph_types *types)
{
    types->symbols.n++;
}

static bool note_elements(tfr__scope *scope, tfr_value v, const tfr__elements *known)
{
    tfr__free(scope->elements[v]);
    scope->elements[v] = tfr__alloc(sizeof *known);
    if (scope->elements[v])
        *scope->elements[v] = *known;
    return scope->elements[v] != NULL;
}

/* The symbol of a dim of the graph's: one for each name, a new one for -1. */
static int64_t declared_dim(tfr_graph_types *types, int64_t dim)
{
    uint64_t number = (uint64_t)(-2 - dim);
    if (dim >= 0)
        return dim;
    if (dim < -1 && number >= types->n_named && number < 1u << 30) {
        uint32_t n = (uint32_t)number * 2 + 8;
        int64_t *more = tfr__realloc(types->named, n * sizeof *more);
        if (more) {
            memset(more + types->n_named, 0, (n - types->n_named) * sizeof *more);
            types->named = more;
            types->n_named = n;
        } else {
            lose(types);
        }
    }
    if (dim == -1 || number >= types->n_named)
        return tfr__symbol_new(&types->symbols);
    if (!types->named[number] && types->symbols.n < 1 << 30) {
        int64_t symbol = types->named[number] = tfr__symbol_new(&types->symbols);
        if (tfr__reserve(&types->names_of, (uint32_t)-symbol, &types->symbols_capacity,
                         sizeof *types->names_of))
            types->names_of[-1 - symbol] = (uint32_t)number + 1;
        else
            lose(types);
    }
    return types->named[number];
}

static void take_value(tfr_graph_types *types, tfr__scope *scope, tfr_value v)
{
    const tfr__value *value = &scope->graph->values[v];
    tfr__type *type = &scope->types[v];
    if (type->kind) /* somebody knows it already */
        return;
    if (value->role == TFR__ROLE_NODE)
        return;
    if (value->role == TFR__ROLE_CAPTURE && scope->outer) {
        const tfr__elements *known = scope->outer->elements[value->outer];
        *type = scope->outer->types[value->outer];
        if (known && !note_elements(scope, v, known))
            lose(types);
    } else if (value->tensor) {
        type_of_tensor(value->tensor, type);
    } else {
        tfr__type_of_public(&value->type, type);
        for (int32_t i = 0; i < type->rank; i++)
            type->dims[i] = declared_dim(types, value->type.dims[i]);
    }
    if (!type->kind)
        type->kind = TFR__KIND_ANY;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void input_type(void *user, const tfr__node *node, uint32_t k, tfr__type *out)
{
    const tfr__scope *scope = user;
    tfr_value v = node->inputs[k];
    const tfr__value *value = &scope->graph->values[v];
    *out = scope->types[v];
    if (!out->kind)
        out->kind = TFR__KIND_ANY;
    out->elements = scope->elements[v];
    for (; value->role == TFR__ROLE_CAPTURE && scope->outer; scope = scope->outer)
        value = &scope->outer->graph->values[value->outer];
    if (value->role == TFR__ROLE_CONSTANT)
        out->data = tfr__constant_data(value->tensor);
}

/* What somebody set counts where inference finds nothing. */
static tfr__type known_better(const tfr__type *found, const tfr__type *set)
{
    tfr__type t = found->kind == TFR__KIND_ANY && set->kind ? *set : *found;
    if (set->kind != TFR_KIND_TENSOR || t.kind != TFR_KIND_TENSOR)
        return t;
    t.dtype = t.dtype ? t.dtype : set->dtype;
    if (t.shape_known)
        return t;
    t.shape_known = set->shape_known;
    t.rank = set->rank;
    memcpy(t.dims, set->dims, sizeof t.dims);
    return t;
}

static tfr_status infer_node(tfr_graph_types *types, tfr__scope *scope, const tfr__node *node,
                             tfr_err *err)
{
    tfr__node_types found;
    tfr_status status = tfr__node_infer(node, &types->symbols, input_type, scope, &found, err);
    if (!status && node->n_subgraphs) {
        bool lenient = types->lenient;
        types->lenient = true; /* what is wrong inside may never run */
        status = tfr__control_infer(types, scope, node, found.outputs, err);
        types->lenient = lenient;
    }
    if (status && status != TFR_ENOMEM && types->lenient) {
        status = TFR_OK;
        for (uint32_t k = 0; k < node->n_outputs; k++)
            found.outputs[k] = (tfr__type){.kind = TFR__KIND_ANY};
        found.has_elements = false;
    }
    for (uint32_t k = 0; !status && k < node->n_outputs; k++) {
        tfr_value v = node->outputs[k];
        if (v == TFR_VALUE_NONE)
            continue;
        scope->types[v] = known_better(&found.outputs[k], &scope->types[v]);
        if (k || !found.has_elements)
            continue;
        if (!note_elements(scope, v, &found.elements))
            lose(types);
    }
    tfr__node_types_finish(&found);
    return status;
}

tfr_status tfr__scope_infer(tfr_graph_types *types, tfr__scope *scope, tfr_err *err)
{
    tfr_status status = tfr__scope_start(scope, err);
    if (status)
        return status;
    for (; scope->n_values < scope->graph->n_values; scope->n_values++)
        take_value(types, scope, (tfr_value)scope->n_values);
    for (; !status && scope->n_nodes < scope->graph->n_nodes; scope->n_nodes++)
        status = infer_node(types, scope, &scope->graph->nodes[scope->n_nodes], err);
    if (!status && types->symbols.n != types->symbols.n_items)
        status = tfr__no_memory(err);
    return status;
}

/* ---- the public side ------------------------------------------------------------------------- */

tfr_status tfr_graph_types_create(tfr_graph *graph, tfr_graph_types **out, tfr_err *err)
{
    tfr_graph_types *types = graph ? tfr__calloc(1, sizeof *types) : NULL;
    if (!graph)
        return tfr_fail(err, TFR_EINVAL, "the graph is NULL");
    if (!types)
        return tfr__no_memory(err);
    types->graph = tfr_graph_retain(graph);
    types->top.graph = graph;
    types->lenient = true;
    *out = types;
    return TFR_OK;
}

tfr_status tfr_graph_types_update(tfr_graph_types *types, tfr_err *err)
{
    return tfr__scope_infer(types, &types->top, err);
}

tfr_status tfr_graph_infer(tfr_graph *graph, tfr_graph_types **out, tfr_err *err)
{
    tfr_graph_types *types;
    tfr_status status = tfr_graph_types_create(graph, &types, err);
    if (status)
        return status;
    types->lenient = false;
    status = tfr__scope_infer(types, &types->top, err);
    if (status)
        tfr_graph_types_release(types);
    else
        *out = types;
    return status;
}

void tfr_graph_types_release(tfr_graph_types *types)
{
    if (!types)
        return;
    scope_finish(&types->top);
    tfr__symbols_free(&types->symbols);
    tfr__free(types->named);
    tfr__free(types->names_of);
    tfr_graph_release(types->graph);
    tfr__free(types);
}

const tfr__scope *tfr__scope_of(const tfr_graph_types *types, const tfr_graph *graph)
{
    const tfr__scope *outer;
    if (!graph || graph == types->graph)
        return &types->top;
    outer = graph->parent ? tfr__scope_of(types, graph->parent) : NULL;
    return outer && graph->number < outer->n_inner ? outer->inner[graph->number] : NULL;
}

tfr_status tfr_graph_types_get(const tfr_graph_types *types, const tfr_graph *graph,
                               tfr_value value, tfr_value_type *out, tfr_err *err)
{
    const tfr__scope *scope = tfr__scope_of(types, graph);
    tfr_value_type type = {.size = sizeof type};
    uint32_t size = out->size < sizeof type ? out->size : (uint32_t)sizeof type;
    if (!scope)
        return tfr_fail(err, TFR_EINVAL, "graph \"%s\" is not the one of these types, nor inside",
                        graph->name);
    if (value < 0 || (uint32_t)value >= scope->graph->n_values)
        return tfr_fail(err, TFR_EINVAL, "there is no value %d, graph \"%s\" has %u", (int)value,
                        scope->graph->name, scope->graph->n_values);
    if ((uint32_t)value < scope->n_values)
        tfr__type_to_public(&scope->types[value], &type);
    memcpy(out, &type, size);
    out->size = size;
    return TFR_OK;
}

tfr_status tfr_graph_types_set(tfr_graph_types *types, tfr_value value, const tfr_value_type *type,
                               tfr_err *err)
{
    tfr__scope *scope = &types->top;
    tfr_value_type known = {0};
    tfr_status status = tfr__scope_start(scope, err);
    if (status)
        return status;
    if (value < 0 || (uint32_t)value >= scope->graph->n_values)
        return tfr_fail(err, TFR_EINVAL, "there is no value %d, graph \"%s\" has %u", (int)value,
                        scope->graph->name, scope->graph->n_values);
    memcpy(&known, type, type->size < sizeof known ? type->size : sizeof known);
    tfr__type_of_public(&known, &scope->types[value]);
    for (int32_t i = 0; i < scope->types[value].rank; i++)
        scope->types[value].dims[i] = declared_dim(types, known.dims[i]);
    if (types->symbols.n != types->symbols.n_items)
        status = tfr__no_memory(err);
    return status;
}
