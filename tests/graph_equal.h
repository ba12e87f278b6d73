/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_equal.h: whether two graphs are the same: inputs and outputs by name and declared type,
 * nodes in their order with attributes, constants by their elements, subgraphs likewise. Names of
 * other values do not matter, nor do constants that nothing reads.
 */
#ifndef TFR_GRAPH_EQUAL_H
#define TFR_GRAPH_EQUAL_H

#include <stdlib.h>
#include <string.h>
#include <tfrun/compare.h>
#include <tfrun/fail.h>
#include <tfrun/graph.h>

/* The value of the other graph that each of a's stands for, -2 = none yet. */
typedef struct twin {
    const tfr_graph *a, *b;
    const struct twin *outer;
    tfr_value *of;
} twin;

static inline bool twins(twin *t, tfr_err *err);

static inline tfr_value_view twin_look(const tfr_graph *graph, tfr_value v)
{
    tfr_value_view view = {.size = sizeof view};
    if (tfr_graph_value(graph, v, &view, NULL))
        view.role = -1;
    return view;
}

static inline bool twin_types(const tfr_value_type *a, const tfr_value_type *b)
{
    if (!a || !b)
        return a == b;
    return a->kind == b->kind && a->dtype == b->dtype && a->rank_known == b->rank_known &&
           a->element_kind == b->element_kind &&
           (!a->rank_known || (a->rank == b->rank &&
                               memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0));
}

/* Is v of a what w is of b? Constants and captures become twins when they are first met. */
static inline bool twin_values(twin *t, tfr_value v, tfr_value w)
{
    tfr_value_view a, b;
    if (v == TFR_VALUE_NONE || w == TFR_VALUE_NONE)
        return v == w;
    if (t->of[v] != -2)
        return t->of[v] == w;
    a = twin_look(t->a, v);
    b = twin_look(t->b, w);
    if (a.role != b.role)
        return false;
    if (a.role == TFR_ROLE_CONSTANT && !tfr_tensor_compare(a.tensor, b.tensor, 0, 0, NULL))
        return false;
    if (a.role == TFR_ROLE_CAPTURE &&
        !twin_values((twin *)(uintptr_t)t->outer, a.of_parent, b.of_parent))
        return false;
    t->of[v] = w;
    return a.role == TFR_ROLE_CONSTANT || a.role == TFR_ROLE_CAPTURE;
}

static inline const tfr_attr *twin_attr(const tfr_node_view *node, uint32_t i)
{
    const void *item = (const char *)node->attrs + (size_t)i * node->attr_stride;
    return item;
}

static inline bool twin_operands(const tfr_operand *a, const tfr_operand *b)
{
    tfr_tensor *t[2] = {NULL, NULL};
    const tfr_operand *o[2] = {a, b};
    bool same = true;
    for (int i = 0; i < 2; i++) {
        tfr_shape shape = {o[i]->rank, {0}};
        memcpy(shape.dims, o[i]->dims, (size_t)shape.rank * sizeof shape.dims[0]);
        same = same && !tfr_tensor_wrap((tfr_dtype)o[i]->dtype, &shape, NULL,
                                        (void *)(uintptr_t)o[i]->data, NULL, NULL, &t[i], NULL);
    }
    same = same && tfr_tensor_compare(t[0], t[1], 0, 0, NULL);
    tfr_tensor_release(t[0]);
    tfr_tensor_release(t[1]);
    return same;
}

static inline bool twin_attrs(const tfr_attr *a, const tfr_attr *b)
{
    bool same = a->type == b->type && a->n == b->n;
    if (same && a->ints)
        same = memcmp(a->ints, b->ints, a->n * sizeof *a->ints) == 0;
    if (same && a->floats)
        same = memcmp(a->floats, b->floats, a->n * sizeof *a->floats) == 0;
    for (uint64_t i = 0; same && a->strings && i < a->n; i++)
        same = a->strings[i].bytes == b->strings[i].bytes &&
               memcmp(a->strings[i].data, b->strings[i].data, a->strings[i].bytes) == 0;
    return same && (!a->tensor || twin_operands(a->tensor, b->tensor));
}

/* The same name; or with a number behind it, which the writer gives to nodes that share theirs with
 * an earlier one. */
static inline bool twin_names(const twin *t, uint32_t i, const char *a, const char *b)
{
    const size_t n = strlen(a);
    tfr_node_view node = {.size = sizeof node};
    if (strcmp(a, b) == 0)
        return true;
    if (strncmp(a, b, n) != 0 || b[n] != '_' ||
        strspn(b + n + 1, "0123456789") != strlen(b + n + 1))
        return false;
    for (uint32_t k = 0; k < i; k++)
        if (!tfr_graph_node(t->a, k, &node, NULL) && strcmp(node.name, a) == 0)
            return true;
    return false;
}

static inline bool twin_nodes(twin *t, uint32_t i, tfr_err *err)
{
    tfr_node_view a = {.size = sizeof a}, b = {.size = sizeof b};
    bool same;
    if (tfr_graph_node(t->a, i, &a, err) || tfr_graph_node(t->b, i, &b, err))
        return false;
    same = strcmp(a.domain, b.domain) == 0 && strcmp(a.op, b.op) == 0 &&
           twin_names(t, i, a.name, b.name) && a.n_inputs == b.n_inputs &&
           a.n_outputs == b.n_outputs && a.n_attrs == b.n_attrs;
    for (uint32_t k = 0; same && k < a.n_inputs; k++)
        same = twin_values(t, a.inputs[k], b.inputs[k]);
    for (uint32_t k = 0; same && k < a.n_attrs; k++) {
        const char *name = twin_attr(&a, k)->name;
        const tfr_attr *other = tfr_node_attr(&b, name);
        twin inner = {tfr_node_subgraph(&a, name), tfr_node_subgraph(&b, name), t, NULL};
        same = other && twin_attrs(twin_attr(&a, k), other);
        if (same && inner.a && !twins(&inner, err))
            return false;
    }
    for (uint32_t k = 0; same && k < a.n_outputs; k++) {
        same = (a.outputs[k] == TFR_VALUE_NONE) == (b.outputs[k] == TFR_VALUE_NONE);
        if (same && a.outputs[k] != TFR_VALUE_NONE)
            t->of[a.outputs[k]] = b.outputs[k];
    }
    if (!same)
        (void)tfr_fail(err, TFR_EMODEL, "graph \"%s\": node %u, \"%s\" (%s), is not \"%s\" (%s)",
                       tfr_graph_name(t->a), i, a.name, a.op, b.name, b.op);
    return same;
}

static inline bool twin_inputs(twin *t)
{
    bool same = tfr_graph_n_inputs(t->a) == tfr_graph_n_inputs(t->b);
    for (uint32_t i = 0; same && i < tfr_graph_n_inputs(t->a); i++) {
        tfr_value v = tfr_graph_input(t->a, i), w = tfr_graph_input(t->b, i);
        t->of[v] = w;
        same =
            twin_types(tfr_graph_value_type(t->a, v), tfr_graph_value_type(t->b, w)) &&
            (t->outer || strcmp(tfr_graph_value_name(t->a, v), tfr_graph_value_name(t->b, w)) == 0);
    }
    return same;
}

static inline bool twin_outputs(twin *t)
{
    bool same = tfr_graph_n_outputs(t->a) == tfr_graph_n_outputs(t->b);
    for (uint32_t i = 0; same && i < tfr_graph_n_outputs(t->a); i++)
        same = twin_values(t, tfr_graph_output(t->a, i), tfr_graph_output(t->b, i)) &&
               (!tfr_graph_output_type(t->a, i) ||
                twin_types(tfr_graph_output_type(t->a, i), tfr_graph_output_type(t->b, i))) &&
               (t->outer ||
                strcmp(tfr_graph_output_name(t->a, i), tfr_graph_output_name(t->b, i)) == 0);
    return same;
}

static inline bool twins(twin *t, tfr_err *err)
{
    uint32_t n = tfr_graph_n_values(t->a);
    bool same;
    t->of = malloc((n + 1) * sizeof *t->of);
    for (uint32_t v = 0; t->of && v < n; v++)
        t->of[v] = -2;
    same = t->of && twin_inputs(t);
    if (!same)
        (void)tfr_fail(err, TFR_EMODEL, "graph \"%s\": the inputs differ", tfr_graph_name(t->a));
    if (same && tfr_graph_n_nodes(t->a) != tfr_graph_n_nodes(t->b)) {
        (void)tfr_fail(err, TFR_EMODEL, "graph \"%s\" has %u nodes, not %u", tfr_graph_name(t->a),
                       tfr_graph_n_nodes(t->a), tfr_graph_n_nodes(t->b));
        same = false;
    }
    for (uint32_t i = 0; same && i < tfr_graph_n_nodes(t->a); i++)
        same = twin_nodes(t, i, err);
    if (same && !twin_outputs(t)) {
        (void)tfr_fail(err, TFR_EMODEL, "graph \"%s\": the outputs differ", tfr_graph_name(t->a));
        same = false;
    }
    free(t->of);
    return same;
}

/* False with a sentence in err. */
static inline bool graphs_equal(const tfr_graph *a, const tfr_graph *b, tfr_err *err)
{
    twin t = {a, b, NULL, NULL};
    return twins(&t, err);
}

#endif
