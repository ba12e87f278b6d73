/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass_cse.c: common subexpressions. Nodes of one op with the same inputs and attributes compute
 * the same; the later ones are replaced. Small constants of the same bytes count as the same input.
 * Two draws of random numbers are not the same, and neither is what has graphs inside.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "optimize/passes.h"

#define SMALL_BYTES 1024

static bool same_node(const tfr__node *a, const tfr__node *b)
{
    if (a->op != b->op || a->n_inputs != b->n_inputs || a->n_outputs != b->n_outputs ||
        !a->device != !b->device || (a->device && strcmp(a->device, b->device) != 0) ||
        memcmp(a->inputs, b->inputs, a->n_inputs * sizeof *a->inputs) != 0)
        return false;
    return tfr__attrs_same(&a->attrs, &b->attrs);
}

static uint64_t node_hash(const tfr__node *node)
{
    uint64_t hash =
        tfr__hash(tfr__op_number(node->op), node->inputs, node->n_inputs * sizeof(tfr_value));
    for (uint32_t i = 0; i < node->attrs.n; i++) {
        const tfr_attr *a = &node->attrs.items[i].pub;
        if (a->type == TFR_ATTR_INT || a->type == TFR_ATTR_INTS)
            hash = tfr__hash(hash, a->ints, (size_t)a->n * sizeof *a->ints);
    }
    return hash ^ hash >> 32;
}

static const tfr_tensor *small_constant(tfr__rewrite *rw, uint32_t v)
{
    const tfr_tensor *t = rw->uses[v] && rw->graph->values[v].role == TFR__ROLE_CONSTANT
                              ? tfr__rewrite_tensor(rw, (tfr_value)v)
                              : NULL;
    return t && t->bytes <= SMALL_BYTES ? t : NULL;
}

static bool same_constant(const tfr_tensor *a, const tfr_tensor *b)
{
    return a->dtype == b->dtype && tfr_shape_equal(&a->shape, &b->shape) &&
           (!a->bytes || memcmp(a->data, b->data, a->bytes) == 0);
}

static void merge_constants(tfr__rewrite *rw, uint32_t *table, uint32_t mask)
{
    for (uint32_t v = 0; v < rw->graph->n_values; v++) {
        const tfr_tensor *t = small_constant(rw, v);
        uint32_t at;
        if (!t)
            continue;
        at = (uint32_t)tfr__hash((uint64_t)t->dtype, t->data, t->bytes) & mask;
        while (table[at] && !same_constant(t, rw->graph->values[table[at] - 1].tensor))
            at = (at + 1) & mask;
        if (table[at])
            tfr__rewrite_replace(rw, (tfr_value)v, (tfr_value)(table[at] - 1));
        else
            table[at] = v + 1;
    }
}

/* The first node takes over what the second makes. */
static void merge_nodes(tfr__rewrite *rw, tfr__node *first, uint32_t number, tfr__node *second)
{
    for (uint32_t k = 0; k < first->n_outputs; k++) {
        tfr_value v = second->outputs[k];
        if (v == TFR_VALUE_NONE)
            continue;
        if (first->outputs[k] == TFR_VALUE_NONE) {
            first->outputs[k] = v;
            rw->graph->values[v].node = (int32_t)number;
        } else {
            tfr__rewrite_replace(rw, v, first->outputs[k]);
        }
    }
    if (second->op)
        tfr__rewrite_kill(rw, second);
}

uint32_t tfr__pass_cse(tfr__rewrite *rw)
{
    tfr_graph *g = rw->graph;
    uint32_t capacity = 64, n = 0, *table;
    while (capacity < 2 * g->n_values + 2 * g->n_nodes)
        capacity *= 2;
    table = tfr__calloc(capacity, sizeof *table);
    if (!table) {
        rw->status = TFR_ENOMEM;
        return 0;
    }
    merge_constants(rw, table, capacity - 1);
    memset(table, 0, capacity * sizeof *table);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        tfr__node *node = &g->nodes[i];
        uint32_t at;
        if (!node->op ||
            (node->op->kind != TFR__OP_KERNEL && node->op->kind != TFR__OP_VIEW &&
             node->op->kind != TFR__OP_CONST) ||
            node->op->traits & TFR__TRAIT_RANDOM)
            continue;
        for (uint32_t k = 0; k < node->n_inputs; k++)
            node->inputs[k] = tfr__rewrite_input(rw, node, k);
        at = (uint32_t)node_hash(node) & (capacity - 1);
        while (table[at] && !same_node(node, &g->nodes[table[at] - 1]))
            at = (at + 1) & (capacity - 1);
        if (table[at]) {
            merge_nodes(rw, &g->nodes[table[at] - 1], table[at] - 1, node);
            n++;
        } else {
            table[at] = i + 1;
        }
    }
    tfr__free(table);
    return n;
}
