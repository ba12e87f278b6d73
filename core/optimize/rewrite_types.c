/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite_types.c: types of values before any run, by the ops' own inference with what is known. A
 * node whose inputs are known to the last dim is inferred as a run would, and may be folded then;
 * for the others a dim that is not known is a symbol while the graph is gone through, and -1 in the
 * types that passes see. Declared names of dims do not count: no session checks them.
 */
#include <string.h>

#include "base/alloc.h"
#include "graph/graph_infer.h"
#include "optimize/rewrite.h"

typedef struct scene {
    tfr__rewrite *rw;
    tfr__symbols symbols;
    tfr__type *types;         /* by value; kind TFR_KIND_NONE = as the graph has it */
    tfr__elements **elements; /* by value, NULL = nothing is known */
} scene;

/* ---- what is known of a value ---------------------------------------------------------------- */

static const tfr__type *type_of(scene *s, tfr_value v)
{
    tfr__type *type = &s->types[v];
    if (type->kind)
        return type;
    tfr__type_of_public(&s->rw->graph->values[v].type, type);
    for (int32_t i = 0; i < type->rank; i++)
        if (type->dims[i] < 0)
            type->dims[i] = tfr__symbol_new(&s->symbols);
    return type;
}

static void input_type(void *user, const tfr__node *node, uint32_t k, tfr__type *out)
{
    scene *s = user;
    tfr_value v = tfr__rewrite_find(s->rw, node->inputs[k]);
    const tfr_tensor *t = tfr__rewrite_tensor(s->rw, v);
    *out = *type_of(s, v);
    out->elements = s->elements[v];
    if (t)
        out->data = tfr__constant_data(t);
}

static bool is_exact(const tfr__type *type)
{
    if (type->kind != TFR_KIND_TENSOR || !type->dtype || !type->shape_known)
        return false;
    for (int32_t i = 0; i < type->rank; i++)
        if (type->dims[i] < 0)
            return false;
    return true;
}

/* Takes a node's output over. Where its rank does not follow, what was known before holds. */
static void put(scene *s, tfr_value v, const tfr__type *type)
{
    tfr_value_type *public = &s->rw->graph->values[v].type, found;
    if (type->kind == TFR__KIND_ANY)
        return;
    tfr__type_to_public(type, &found);
    for (int32_t i = 0; i < found.rank; i++)
        found.dims[i] = found.dims[i] < 0 ? -1 : found.dims[i];
    if (found.rank_known || !public->rank_known) {
        *public = found;
        s->types[v] = *type;
        s->types[v].data = NULL;
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* As a run would; false if that takes a value that only the run has. */
static bool infer_exactly(scene *s, uint32_t i, tfr__rewrite_fold *fold, uint32_t *folded)
{
    const tfr__node *node = &s->rw->graph->nodes[i];
    tfr__node_types found;
    tfr_status status = tfr__node_infer(node, NULL, input_type, s, &found, NULL);
    bool done = !status;
    if (status == TFR_ENOMEM)
        s->rw->status = status;
    for (uint32_t k = 0; done && k < node->n_outputs; k++)
        done = !found.outputs[k].dynamic;
    for (uint32_t k = 0; done && k < node->n_outputs; k++)
        if (node->outputs[k] != TFR_VALUE_NONE)
            put(s, node->outputs[k], &found.outputs[k]);
    if (done && fold)
        *folded += fold(s->rw, i, &found.attrs, found.outputs);
    tfr__node_types_finish(&found);
    return done;
}

static void infer_partly(scene *s, const tfr__node *node)
{
    tfr__node_types found;
    tfr_status status = tfr__node_infer(node, &s->symbols, input_type, s, &found, NULL);
    if (status == TFR_ENOMEM)
        s->rw->status = status;
    for (uint32_t k = 0; !status && k < node->n_outputs; k++)
        if (node->outputs[k] != TFR_VALUE_NONE)
            put(s, node->outputs[k], &found.outputs[k]);
    if (!status && found.has_elements) {
        tfr__elements *e = tfr__alloc(sizeof *e);
        if (e)
            *e = found.elements;
        tfr__free(s->elements[node->outputs[0]]);
        s->elements[node->outputs[0]] = e;
    }
    tfr__node_types_finish(&found);
}

uint32_t tfr__rewrite_types(tfr__rewrite *rw, tfr__rewrite_fold *fold)
{
    uint32_t folded = 0, n = rw->graph->n_values;
    scene s = {.rw = rw};
    s.types = tfr__calloc((size_t)n + 1, sizeof *s.types);
    s.elements = tfr__calloc((size_t)n + 1, sizeof *s.elements);
    if (!s.types || !s.elements)
        rw->status = TFR_ENOMEM;
    for (uint32_t i = 0; !rw->status && i < rw->graph->n_nodes; i++) {
        const tfr__node *node = &rw->graph->nodes[i];
        bool exact = true;
        if (!node->op || node->op->kind == TFR__OP_CONTROL || node->op->kind == TFR__OP_SEQUENCE)
            continue;
        for (uint32_t k = 0; exact && k < node->n_inputs; k++)
            exact = node->inputs[k] == TFR_VALUE_NONE ||
                    is_exact(type_of(&s, tfr__rewrite_find(rw, node->inputs[k])));
        if (!(exact && infer_exactly(&s, i, fold, &folded)) && !rw->status)
            infer_partly(&s, &rw->graph->nodes[i]);
    }
    for (uint32_t v = 0; s.elements && v < n; v++)
        tfr__free(s.elements[v]);
    tfr__free(s.types);
    tfr__free(s.elements);
    tfr__symbols_free(&s.symbols);
    return folded;
}
