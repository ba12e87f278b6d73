/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.c: building graphs; nodes are in graph_nodes.c, looking at graphs is graph_view.c. What a
 * builder can get wrong is refused here, so that the planner may trust every frozen graph: names,
 * value numbers, ops, counts, attribute names and types. Shapes are not looked at: they depend on a
 * run's inputs.
 */
#include "graph/graph.h"

#include <stdio.h>
#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "value/tensor.h"

#define MAX_VALUES  (1u << 28)
#define MAX_NESTING 64

tfr_status tfr__graph_reserve(void *array_pointer, uint32_t n, uint32_t *capacity, size_t size,
                              tfr_err *err)
{
    if (n >= MAX_VALUES)
        return tfr_fail(err, TFR_ELIMIT, "a graph cannot hold more than %u items of a kind", n);
    return tfr__reserve(array_pointer, n + 1, capacity, size) ? TFR_OK : tfr__no_memory(err);
}

tfr_status tfr__graph_can_change(const tfr_graph *graph, tfr_err *err)
{
    if (!graph)
        return tfr_fail(err, TFR_EINVAL, "the graph is NULL");
    if (atomic_load(&graph->frozen))
        return tfr_fail(err, TFR_EBUSY,
                        "graph \"%s\" is used by a session and cannot be changed any more",
                        graph->name);
    return TFR_OK;
}

tfr_status tfr__value_check(const tfr_graph *graph, tfr_value value, const char *what, tfr_err *err)
{
    if (value < 0 || (uint32_t)value >= graph->n_values)
        return tfr_fail(err, TFR_EINVAL, "%s: there is no value %d, graph \"%s\" has %u", what,
                        (int)value, graph->name, graph->n_values);
    if (graph->values[value].role == TFR__ROLE_NODE && graph->values[value].node < 0)
        return tfr_fail(err, TFR_EINVAL, "%s: the node of value \"%s\" could not be added", what,
                        graph->values[value].name);
    return TFR_OK;
}

static tfr_status type_check(const tfr_graph *graph, const char *name, const tfr_value_type *type,
                             tfr_err *err)
{
    int32_t kind =
        type->kind < 0 || type->kind > TFR_KIND_OPTIONAL ? type->kind : type->element_kind;
    if (kind < 0 || kind > TFR_KIND_OPTIONAL)
        return tfr_fail(err, TFR_EINVAL, "value \"%s\": %d is no kind", name, (int)kind);
    if (type->dtype < 0 || type->dtype >= TFR_DTYPE_END)
        return tfr_fail(err, TFR_EDTYPE, "value \"%s\": %d is no element type", name,
                        (int)type->dtype);
    if (!type->rank_known)
        return TFR_OK;
    if (type->rank < 0 || type->rank > TFR_MAX_RANK)
        return tfr_fail(err, TFR_ESHAPE, "value \"%s\": rank %d is not in 0...%d", name,
                        (int)type->rank, TFR_MAX_RANK);
    for (int32_t i = 0; i < type->rank; i++)
        if (type->dims[i] < -1 && !tfr_graph_symbol_name(graph, type->dims[i]))
            return tfr_fail(err, TFR_ESHAPE, "value \"%s\": dim %d is %lld", name, (int)i,
                            (long long)type->dims[i]);
    return TFR_OK;
}

/* ---- life ------------------------------------------------------------------------------------ */

static tfr_status graph_new(const char *name, tfr_graph *parent, tfr_graph **out, tfr_err *err)
{
    tfr_graph *graph = tfr__calloc(1, sizeof *graph);
    if (graph)
        graph->name = tfr__strdup(name ? name : "");
    if (!graph || !graph->name) {
        tfr__free(graph);
        return tfr__no_memory(err);
    }
    atomic_init(&graph->refs, 1);
    atomic_init(&graph->frozen, false);
    graph->parent = parent;
    graph->number = parent ? parent->n_children++ : 0;
    *out = graph;
    return TFR_OK;
}

tfr_status tfr_graph_create(const char *name, tfr_graph **out, tfr_err *err)
{
    return graph_new(name, NULL, out, err);
}

tfr_status tfr_graph_create_child(tfr_graph *parent, const char *name, tfr_graph **out,
                                  tfr_err *err)
{
    tfr_status status = tfr__graph_can_change(parent, err);
    uint32_t depth = 0;
    if (status)
        return status;
    for (const tfr_graph *g = parent; g; g = g->parent)
        depth++;
    if (depth > MAX_NESTING)
        return tfr_fail(err, TFR_ELIMIT, "graph \"%s\": more than %d graphs inside each other",
                        parent->name, MAX_NESTING);
    if (parent->n_children == MAX_VALUES)
        return tfr_fail(err, TFR_ELIMIT, "graph \"%s\": more than %u graphs inside it",
                        parent->name, MAX_VALUES);
    return graph_new(name, parent, out, err);
}

tfr_graph *tfr_graph_retain(tfr_graph *graph)
{
    atomic_fetch_add(&graph->refs, 1);
    return graph;
}

void tfr_graph_set_check(tfr_graph *graph, tfr_status (*check)(void *user, tfr_err *err),
                         void (*release)(void *user), void *user)
{
    if (graph->release_check)
        graph->release_check(graph->check_user);
    graph->check = check;
    graph->release_check = release;
    graph->check_user = user;
}

void tfr__node_copy_finish(tfr__node *node)
{
    if (node->attrs.capacity)
        tfr__attr_free(&node->attrs);
    for (uint32_t i = 0; i < node->n_subgraphs; i++)
        tfr_graph_release(node->subgraphs[i]);
    node->n_subgraphs = 0;
}

static void graph_copy_finish(tfr_graph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++)
        tfr__node_copy_finish(&g->nodes[i]);
    for (uint32_t v = 0; v < g->n_values; v++)
        tfr_tensor_release(g->values[v].tensor);
    tfr__free(g->values);
    tfr__free(g->nodes);
    tfr__region_free(&g->region);
    tfr_graph_release(g->source);
    tfr__free(g);
}

void tfr_graph_release(tfr_graph *graph)
{
    if (!graph || atomic_fetch_sub(&graph->refs, 1) != 1)
        return;
    if (graph->source) {
        graph_copy_finish(graph);
        return;
    }
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        tfr__node_finish(&graph->nodes[i]);
    for (uint32_t i = 0; i < graph->n_values; i++) {
        tfr__free(graph->values[i].name);
        tfr_tensor_release(graph->values[i].tensor);
    }
    for (uint32_t i = 0; i < graph->n_outputs; i++)
        tfr__free(graph->output_names[i]);
    for (uint32_t i = 0; i < graph->n_scopes; i++)
        tfr__free(graph->scopes[i]);
    for (uint32_t i = 0; i < graph->n_symbols; i++)
        tfr__free(graph->symbols[i]);
    tfr__free(graph->symbols);
    tfr__names_finish(&graph->symbol_names);
    if (graph->release_check) /* after the tensors that it speaks of */
        graph->release_check(graph->check_user);
    tfr__names_finish(&graph->names);
    tfr__captures_finish(&graph->captures);
    tfr__free(graph->values);
    tfr__free(graph->nodes);
    tfr__free(graph->inputs);
    tfr__free(graph->outputs);
    tfr__free(graph->output_names);
    tfr__free(graph->output_types);
    tfr__free(graph->variables);
    tfr__free(graph->scopes);
    tfr__free(graph->name);
    tfr__free(graph);
}

void tfr__graph_freeze(tfr_graph *graph)
{
    atomic_store(&graph->frozen, true);
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        for (uint32_t k = 0; k < graph->nodes[i].n_subgraphs; k++)
            tfr__graph_freeze(graph->nodes[i].subgraphs[k]);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A name that no value has; the same is never made up twice. */
static char *name_make_up(tfr_graph *graph)
{
    char name[32];
    if (graph->next_name < graph->n_values)
        graph->next_name = graph->n_values;
    do
        snprintf(name, sizeof name, "%%%u", graph->next_name++);
    while (tfr__names_find(&graph->names, name) >= 0);
    return tfr__strdup(name);
}

/*
 * A copy of a name that is given from outside. What the graph has made up so far may be the same,
 * as files have names like %7, too: the older value then gets another one.
 */
static tfr_status name_claim(tfr_graph *graph, const char *name, char **out, tfr_err *err)
{
    int32_t v = tfr__names_find(&graph->names, name);
    char *other;
    tfr_status status;
    if (v < 0) {
        *out = tfr__strdup(name);
        return *out ? TFR_OK : tfr__no_memory(err);
    }
    if (!graph->values[v].made_up)
        return tfr_fail(err, TFR_EMODEL, "graph \"%s\" has two values of the name \"%s\"",
                        graph->name, name);
    other = name_make_up(graph);
    if (!other)
        return tfr__no_memory(err);
    status = tfr__names_set(&graph->names, other, v, err);
    if (status) {
        tfr__free(other);
        return status;
    }
    *out = graph->values[v].name;
    graph->values[v].name = other;
    return TFR_OK;
}

tfr_status tfr__value_add(tfr_graph *graph, const char *name, tfr__role role, tfr_value *out,
                          tfr_err *err)
{
    tfr__value value = {.made_up = !name || !*name};
    tfr_status status = tfr__graph_reserve(&graph->values, graph->n_values, &graph->values_capacity,
                                           sizeof value, err);
    if (!status && value.made_up) {
        value.name = name_make_up(graph);
        if (!value.name)
            status = tfr__no_memory(err);
    } else if (!status) {
        status = name_claim(graph, name, &value.name, err);
    }
    if (status)
        return status;
    value.role = role;
    value.node = -1;
    value.outer = value.update = TFR_VALUE_NONE;
    value.type.size = sizeof value.type;
    status = tfr__names_set(&graph->names, value.name, (int32_t)graph->n_values, err);
    if (status) {
        tfr__free(value.name);
        return status;
    }
    *out = (tfr_value)graph->n_values;
    graph->values[graph->n_values++] = value;
    return TFR_OK;
}

tfr_status tfr_graph_add_input(tfr_graph *graph, const char *name, const tfr_value_type *type,
                               tfr_value *out, tfr_err *err)
{
    tfr_value_type known = {0};
    tfr_value value;
    tfr_status status = tfr__graph_can_change(graph, err);
    if (status)
        return status;
    if (type)
        memcpy(&known, type, type->size < sizeof known ? type->size : sizeof known);
    known.size = sizeof known;
    if (!known.kind)
        known.kind = TFR_KIND_TENSOR;
    status = type_check(graph, name ? name : "", &known, err);
    if (!status)
        status = tfr__graph_reserve(&graph->inputs, graph->n_inputs, &graph->inputs_capacity,
                                    sizeof value, err);
    if (!status)
        status = tfr__value_add(graph, name, TFR__ROLE_INPUT, &value, err);
    if (status)
        return status;
    graph->values[value].type = known;
    graph->inputs[graph->n_inputs++] = value;
    *out = value;
    return TFR_OK;
}

/* A dim that has a name is now known, wherever the graph declares it. */
static void symbol_fix(tfr_graph *graph, int64_t symbol, int64_t dim)
{
    for (uint32_t i = 0; i < graph->n_inputs + graph->n_declared; i++) {
        tfr_value_type *type = i < graph->n_inputs ? &graph->values[graph->inputs[i]].type
                                                   : &graph->output_types[i - graph->n_inputs];
        for (int32_t k = 0; type->rank_known && k < type->rank; k++)
            if (type->dims[k] == symbol)
                type->dims[k] = dim;
    }
}

tfr_status tfr_graph_set_input_shape(tfr_graph *graph, uint32_t i, const tfr_shape *shape,
                                     tfr_err *err)
{
    tfr_status status = tfr__graph_can_change(graph, err);
    char text[400];
    tfr_value_type *type;
    bool fits;
    if (!status && i >= graph->n_inputs)
        status = tfr_fail(err, TFR_EINVAL, "graph \"%s\" has no input %u, it has %u", graph->name,
                          i, graph->n_inputs);
    if (status)
        return status;
    type = &graph->values[graph->inputs[i]].type;
    fits = type->kind == TFR_KIND_TENSOR && (!type->rank_known || type->rank == shape->rank);
    for (int32_t k = 0; fits && type->rank_known && k < shape->rank; k++) {
        fits = type->dims[k] < 0 || type->dims[k] == shape->dims[k];
        for (int32_t j = 0; fits && j < k; j++) /* [N,N] is square */
            fits = type->dims[k] >= -1 || type->dims[j] != type->dims[k] ||
                   shape->dims[j] == shape->dims[k];
    }
    if (!fits)
        return tfr_fail(
            err, TFR_ESHAPE, "input \"%s\" is declared as something else than a tensor of shape %s",
            graph->values[graph->inputs[i]].name, tfr_shape_format(shape, text, sizeof text));
    for (int32_t k = 0; type->rank_known && k < shape->rank; k++)
        if (type->dims[k] < -1)
            symbol_fix(graph, type->dims[k], shape->dims[k]);
    type->rank_known = 1;
    type->rank = shape->rank;
    memcpy(type->dims, shape->dims, (size_t)shape->rank * sizeof type->dims[0]);
    return TFR_OK;
}

static void type_of_tensor(const tfr_tensor *tensor, tfr_value_type *out)
{
    const tfr_shape *shape = tfr_tensor_shape(tensor);
    out->kind = tfr_tensor_kind(tensor);
    out->dtype = tfr_tensor_dtype(tensor);
    out->rank_known = out->kind == TFR_KIND_TENSOR;
    out->rank = shape->rank;
    memcpy(out->dims, shape->dims, sizeof out->dims);
}

static tfr_status tensor_value_add(tfr_graph *graph, const char *name, tfr__role role,
                                   tfr_tensor *tensor, tfr_value *out, tfr_err *err)
{
    tfr_status status = tfr__graph_can_change(graph, err);
    if (status)
        return status;
    if (!tensor)
        return tfr_fail(err, TFR_EINVAL, "value \"%s\" has no tensor", name ? name : "");
    status = tfr__value_add(graph, name, role, out, err);
    if (status)
        return status;
    graph->values[*out].tensor = tfr_tensor_retain(tensor);
    if (role == TFR__ROLE_CONSTANT)
        tfr__tensor_protect(tensor);
    type_of_tensor(tensor, &graph->values[*out].type);
    return TFR_OK;
}

tfr_status tfr_graph_add_constant(tfr_graph *graph, const char *name, tfr_tensor *tensor,
                                  tfr_value *out, tfr_err *err)
{
    return tensor_value_add(graph, name, TFR__ROLE_CONSTANT, tensor, out, err);
}

tfr_status tfr_graph_add_variable(tfr_graph *graph, const char *name, tfr_tensor *initial,
                                  tfr_value *out, tfr_err *err)
{
    tfr_status status = tfr__graph_can_change(graph, err);
    if (!status && graph->parent)
        status = tfr_fail(err, TFR_EINVAL, "variable \"%s\": only an outermost graph has variables",
                          name ? name : "");
    if (!status && initial && tfr_tensor_kind(initial) != TFR_KIND_TENSOR)
        status = tfr_fail(err, TFR_EINVAL, "variable \"%s\" must be a tensor, not a sequence",
                          name ? name : "");
    if (!status)
        status = tfr__graph_reserve(&graph->variables, graph->n_variables,
                                    &graph->variables_capacity, sizeof *graph->variables, err);
    if (!status)
        status = tensor_value_add(graph, name, TFR__ROLE_VARIABLE, initial, out, err);
    if (!status)
        graph->variables[graph->n_variables++] = *out;
    return status;
}

tfr_status tfr_graph_set_update(tfr_graph *graph, tfr_value variable, tfr_value update,
                                tfr_err *err)
{
    tfr_status status = tfr__graph_can_change(graph, err);
    if (!status)
        status = tfr__value_check(graph, variable, "update of a variable", err);
    if (!status)
        status = tfr__value_check(graph, update, "update of a variable", err);
    if (status)
        return status;
    if (graph->values[variable].role != TFR__ROLE_VARIABLE)
        return tfr_fail(err, TFR_EINVAL, "value \"%s\" is not a variable",
                        graph->values[variable].name);
    graph->values[variable].update = update;
    return TFR_OK;
}

tfr_status tfr_graph_add_capture(tfr_graph *child, tfr_value of_parent, tfr_value *out,
                                 tfr_err *err)
{
    tfr_status status = tfr__graph_can_change(child, err);
    if (status)
        return status;
    if (!child->parent)
        return tfr_fail(err, TFR_EINVAL, "graph \"%s\" has no parent to capture from", child->name);
    status = tfr__value_check(child->parent, of_parent, "captured value", err);
    if (status)
        return status;
    *out = tfr__captures_find(&child->captures, of_parent);
    if (*out != TFR_VALUE_NONE)
        return TFR_OK;
    status = tfr__captures_reserve(&child->captures, err);
    /* Captures get made-up names: an inner value may have the name of an outer one. */
    if (!status)
        status = tfr__value_add(child, NULL, TFR__ROLE_CAPTURE, out, err);
    if (status)
        return status;
    tfr__captures_add(&child->captures, of_parent, *out);
    child->values[*out].outer = of_parent;
    child->values[*out].type = child->parent->values[of_parent].type;
    return TFR_OK;
}

tfr_status tfr_graph_add_output(tfr_graph *graph, tfr_value value, const char *name, tfr_err *err)
{
    char *own = NULL;
    tfr_status status = tfr__graph_can_change(graph, err);
    if (!status)
        status = tfr__value_check(graph, value, "output", err);
    if (!status)
        status = tfr__graph_reserve(&graph->outputs, graph->n_outputs, &graph->outputs_capacity,
                                    sizeof value, err);
    if (!status)
        status = tfr__graph_reserve(&graph->output_names, graph->n_outputs, &graph->names_capacity,
                                    sizeof *graph->output_names, err);
    if (status)
        return status;
    if (name) {
        own = tfr__strdup(name);
        if (!own)
            return tfr__no_memory(err);
    }
    graph->output_names[graph->n_outputs] = own;
    graph->outputs[graph->n_outputs++] = value;
    return TFR_OK;
}

tfr_status tfr_graph_declare_output(tfr_graph *graph, uint32_t i, const tfr_value_type *type,
                                    tfr_err *err)
{
    tfr_value_type known = {0};
    tfr_status status = tfr__graph_can_change(graph, err);
    if (!status && i >= graph->n_outputs)
        status = tfr_fail(err, TFR_EINVAL, "graph \"%s\" has no output %u, it has %u", graph->name,
                          i, graph->n_outputs);
    memcpy(&known, type, type->size < sizeof known ? type->size : sizeof known);
    known.size = sizeof known;
    if (!status)
        status = type_check(graph, "an output", &known, err);
    while (!status && graph->n_declared <= i) {
        status = tfr__graph_reserve(&graph->output_types, graph->n_declared,
                                    &graph->declared_capacity, sizeof *graph->output_types, err);
        if (!status)
            graph->output_types[graph->n_declared++] = (tfr_value_type){.size = sizeof known};
    }
    if (!status)
        graph->output_types[i] = known;
    return status;
}

/* ---- device scopes --------------------------------------------------------------------------- */

tfr_status tfr_graph_push_device(tfr_graph *graph, const char *device, tfr_err *err)
{
    tfr_status status = tfr__graph_can_change(graph, err);
    char *own;
    if (!status)
        status = tfr__graph_reserve(&graph->scopes, graph->n_scopes, &graph->scopes_capacity,
                                    sizeof *graph->scopes, err);
    if (status)
        return status;
    own = tfr__strdup(device ? device : "");
    if (!own)
        return tfr__no_memory(err);
    graph->scopes[graph->n_scopes++] = own;
    return TFR_OK;
}

void tfr_graph_pop_device(tfr_graph *graph)
{
    if (graph && graph->n_scopes)
        tfr__free(graph->scopes[--graph->n_scopes]);
}
