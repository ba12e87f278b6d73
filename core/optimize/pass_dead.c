/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass_dead.c: nodes that nobody reads, and nodes that give back what they get: Identity, Dropout
 * outside of training, Cast to the type that it is.
 */
#include "optimize/passes.h"

static bool is_read(const tfr__rewrite *rw, const tfr__node *node, uint32_t first)
{
    for (uint32_t k = first; k < node->n_outputs; k++)
        if (node->outputs[k] != TFR_VALUE_NONE && rw->uses[node->outputs[k]])
            return true;
    return false;
}

static bool does_nothing(tfr__rewrite *rw, const tfr__node *node)
{
    const tfr_tensor *training;
    const tfr_value_type *type;
    if (node->device || tfr__rewrite_input(rw, node, 0) == TFR_VALUE_NONE || !node->n_outputs ||
        node->outputs[0] == TFR_VALUE_NONE)
        return false;
    if (tfr__rewrite_is(node, "Identity"))
        return true;
    type = tfr__rewrite_type(rw, tfr__rewrite_input(rw, node, 0));
    if (tfr__rewrite_is(node, "Cast"))
        return type->kind == TFR_KIND_TENSOR && type->dtype &&
               type->dtype == tfr__attr_int(&node->attrs, "to", 0);
    if (!tfr__rewrite_is(node, "Dropout") || is_read(rw, node, 1))
        return false;
    if (tfr__rewrite_input(rw, node, 2) == TFR_VALUE_NONE)
        return true;
    training = tfr__rewrite_tensor(rw, node->inputs[2]);
    return training && training->n_elements == 1 && !*(const uint8_t *)training->data;
}

uint32_t tfr__rewrite_drop_unread(tfr__rewrite *rw)
{
    tfr_graph *g = rw->graph;
    uint32_t n = 0;
    for (uint32_t i = g->n_nodes; i-- > 0;) {
        tfr__node *node = &g->nodes[i];
        if (node->op && !is_read(rw, node, 0)) {
            tfr__rewrite_kill(rw, node);
            n++;
        }
    }
    return n;
}

uint32_t tfr__pass_dead(tfr__rewrite *rw)
{
    tfr_graph *g = rw->graph;
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const tfr__node *node = &g->nodes[i];
        if (node->op && does_nothing(rw, node)) {
            tfr__rewrite_replace(rw, node->outputs[0], tfr__rewrite_input(rw, node, 0));
            n++;
        }
    }
    return n + tfr__rewrite_drop_unread(rw);
}
