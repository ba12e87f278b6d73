/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autodiff_facts.c: element types and ranks of a graph's values, as far as they follow without
 * running. They save casts of constants, and tell a matrix from a batch of them.
 */
#include <string.h>
#include <tfrun/op.h>

#include "autodiff.h"

tfr__diff_fact tfr__diff_fact_of(const tfr__diff *d, tfr_value v)
{
    tfr__diff_fact none = {0, -1};
    return v >= 0 && (uint32_t)v < d->n_values ? d->facts[v] : none;
}

/* The type of item i of "X:T W:T B?:T" into name; false if there is none. */
static bool formal_type(const char *formals, uint32_t i, char *name, size_t room)
{
    for (uint32_t k = 0; *formals; k++) {
        size_t n = strcspn(formals, " ");
        const char *colon = memchr(formals, ':', n);
        bool variadic =
            colon && colon - formals > 3 && memchr(formals, '.', (size_t)(colon - formals));
        if (colon && (k == i || variadic)) {
            size_t length = n - (size_t)(colon - formals) - 1;
            if (length >= room)
                return false;
            memcpy(name, colon + 1, length);
            name[length] = '\0';
            return true;
        }
        formals += n + (formals[n] == ' ');
    }
    return false;
}

/* The first output has the type of the first input of the same name of a type. */
static int32_t output_dtype(const tfr__diff *d, const tfr_node_view *node)
{
    const tfr_attr *to = tfr_node_attr(node, "to");
    tfr_op_desc op = {.size = sizeof op};
    char wanted[16], given[16];
    int32_t number = tfr_op_find(node->domain, node->op);
    if (to && to->type == TFR_ATTR_INT)
        return (int32_t)to->ints[0];
    if (number < 0 || tfr_op_describe((uint32_t)number, &op, NULL) ||
        !formal_type(op.outputs, 0, wanted, sizeof wanted))
        return 0;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i] != TFR_VALUE_NONE && formal_type(op.inputs, i, given, sizeof given) &&
            strcmp(wanted, given) == 0)
            return tfr__diff_fact_of(d, node->inputs[i]).dtype;
    return (int32_t)tfr_dtype_parse(wanted); /* 0 if it names a set */
}

/* How many elements the list at input 1 has, -1 = not known. */
static int64_t length_of_second(const tfr__diff *d, const tfr_node_view *node)
{
    const tfr_value_type *type =
        node->n_inputs > 1 ? tfr_graph_value_type(d->graph, node->inputs[1]) : NULL;
    return type && type->rank_known && type->rank == 1 ? type->dims[0] : -1;
}

static int32_t reduced_rank(const tfr__diff *d, const tfr_node_view *node, int32_t rank)
{
    const tfr_attr *keep = tfr_node_attr(node, "keepdims");
    int64_t n = length_of_second(d, node);
    if (!keep || keep->ints[0])
        return rank;
    if (rank < 0 || n <= 0 || n > rank)
        return -1;
    return rank - (int32_t)n;
}

static int32_t output_rank(const tfr__diff *d, const tfr_node_view *node, int32_t how)
{
    int32_t ranks[2] = {-1, -1}, widest = 0;
    int64_t n = length_of_second(d, node);
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        int32_t rank = tfr__diff_fact_of(d, node->inputs[i]).rank;
        if (i < 2)
            ranks[i] = rank;
        widest = rank < 0 || widest < 0 ? -1 : rank > widest ? rank : widest;
    }
    n = n < 0 || n > TFR_MAX_RANK ? -1 : n;
    switch (how) {
    case TFR__RANK_SAME:
        return ranks[0];
    case TFR__RANK_WIDEST:
        return widest;
    case TFR__RANK_MATMUL:
        if (ranks[0] < 1 || ranks[1] < 1)
            return -1;
        return (ranks[0] > 1 && ranks[1] > 1) ? (ranks[0] > ranks[1] ? ranks[0] : ranks[1])
                                              : ranks[0] + ranks[1] - 2;
    case TFR__RANK_TWO:
        return 2;
    case TFR__RANK_SHAPE:
        return (int32_t)n;
    case TFR__RANK_SQUEEZE:
        return ranks[0] < 0 || n < 0 || n > ranks[0] ? -1 : ranks[0] - (int32_t)n;
    case TFR__RANK_UNSQUEEZE:
        return ranks[0] < 0 || n < 0 ? -1 : ranks[0] + (int32_t)n;
    case TFR__RANK_REDUCE:
        return reduced_rank(d, node, ranks[0]);
    case TFR__RANK_EXPAND:
        return ranks[0] < 0 || n < 0 ? -1 : ranks[0] > (int32_t)n ? ranks[0] : (int32_t)n;
    default:
        return -1;
    }
}

void tfr__diff_learn(tfr__diff *d)
{
    tfr_node_view node = {.size = sizeof node};
    for (uint32_t v = 0; v < d->n_values; v++) {
        const tfr_value_type *type = tfr_graph_value_type(d->graph, (tfr_value)v);
        d->facts[v].dtype = type ? type->dtype : 0;
        d->facts[v].rank = type && type->rank_known ? type->rank : -1;
    }
    for (uint32_t i = 0; !tfr_graph_node(d->graph, i, &node, NULL); i++) {
        const tfr__diff_rule *rule = tfr__diff_find(node.op);
        if (!node.n_outputs || node.outputs[0] == TFR_VALUE_NONE)
            continue;
        d->facts[node.outputs[0]].dtype = output_dtype(d, &node);
        d->facts[node.outputs[0]].rank =
            output_rank(d, &node, rule ? rule->rank : TFR__RANK_UNKNOWN);
    }
}
