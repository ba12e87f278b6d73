/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_again.c: a plan for other shapes from what another was made from. A model that meets ever
 * new shapes (the cache of a language model grows with each token) is planned as often, and nearly
 * all of that finds out once more what it knew: which backend takes which node, which nodes become
 * a program, and most shapes. So a build stays with its plan. Types and known values are inferred
 * from what has changed alone, backends are asked about those nodes, and programs are compiled.
 *
 * The new plan is one that planning from nothing could give, with the placement of the one before.
 * Where anything but sizes differs, all is done from nothing: values that are known or not, kinds,
 * dynamic shapes, a backend that has another wish.
 */
#include <string.h>

#include "base/alloc.h"
#include "plan/plan_build.h"

/* ---- which builds stay ----------------------------------------------------------------------- */

/* May the shape of a value that comes from outside change from run to run? */
static bool is_open(const tfr__value *v)
{
    if (v->role != TFR__ROLE_INPUT || !v->type.rank_known)
        return true;
    for (int32_t i = 0; i < v->type.rank; i++)
        if (v->type.dims[i] < 0)
            return true;
    return false;
}

/* May something be appended to the value from outside? */
static bool may_grow(const tfr__build *b, tfr_value v)
{
    for (uint32_t k = 0; b->section->appends && k < b->graph->n_values; k++)
        if (b->section->appends[k] == v)
            return true;
    return false;
}

bool tfr__build_can_stay(const tfr__build *b)
{
    const tfr__plan *p = b->plan;
    bool open = false;
    if (b->section->variables && b->section->variables->n)
        return false;
    for (uint32_t i = 0; i < p->n_live_ins; i++) {
        const tfr__live_in *in = &p->live_ins[i];
        if (!(in->plain || may_grow(b, in->value)) || !in->aligned)
            return false;
        open = open || is_open(&b->graph->values[p->live_ins[i].value]);
    }
    return open;
}

/* ---- what comes from outside ----------------------------------------------------------------- */

/* Takes the new dims of what comes in; false: it differs by more. */
static bool take_live_ins(tfr__build *b, const tfr__plan *like, bool *changed)
{
    for (uint32_t i = 0; i < like->n_live_ins; i++) {
        const tfr__live_in *was = &like->live_ins[i];
        const tfr_tensor *t = b->section->values[was->value];
        tfr__type *type = &b->types[was->value];
        if (!t || t->kind != TFR_KIND_TENSOR || t->dtype != was->dtype || t->plain != was->plain ||
            !tfr__tensor_is_aligned(t) || t->shape.rank != was->shape.rank ||
            ((!t->plain || was->grows) && !tfr__live_in_lies(was, t)))
            return false;
        if (tfr_shape_equal(&t->shape, &was->shape)) {
            if (was->grows) /* its program stays, and there may not be the room for it now */
                return false;
            continue;
        }
        memcpy(type->dims, t->shape.dims, sizeof type->dims);
        changed[was->value] = true;
    }
    return true;
}

/* The values from outside that decide shapes. */
static bool take_shape_inputs(tfr__build *b, const tfr__plan *like, bool *changed)
{
    for (uint32_t i = 0; i < like->n_shape_inputs; i++) {
        const tfr_value v = like->shape_inputs[i].value;
        const tfr_tensor *t = b->section->values[v];
        tfr_tensor *before = b->known[v];
        if (!t || t->kind != TFR_KIND_TENSOR || !before || like->shape_inputs[i].strings ||
            t->dtype != before->dtype || !t->plain)
            return false;
        if (tfr__same_bytes(t, before)) {
            if (tfr__build_shape_input(b, v, before))
                return false;
            continue;
        }
        b->known[v] = NULL;
        tfr_tensor_release(before);
        if (!tfr__build_resolve(b, v))
            return false;
        changed[v] = true;
    }
    return true;
}

/* ---- what follows ---------------------------------------------------------------------------- */

enum { MOST_OUTPUTS = 64 };

/* What a node had made before. */
typedef struct made {
    tfr__type types[MOST_OUTPUTS];
    tfr_tensor *known[MOST_OUTPUTS];
    bool dynamic[MOST_OUTPUTS];
} made;

static bool same_dims(const tfr__type *a, const tfr__type *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

/* Value v, which was as in `before`, place k: false = it is known now or not, unlike before. */
static bool compare_output(tfr__build *b, tfr_value v, made *before, uint32_t k, bool *changed)
{
    const tfr__type *now = &b->types[v], *was = &before->types[k];
    tfr_tensor *known = before->known[k];
    if (now->kind != was->kind || now->dtype != was->dtype ||
        now->shape_known != was->shape_known || b->dynamic[v] != before->dynamic[k])
        return false;
    *changed = !same_dims(now, was);
    if (!known)
        return b->known[v] == NULL;
    if (!tfr__build_resolve(b, v))
        return false;
    if (*changed || !tfr__same_bytes(b->known[v], known)) {
        *changed = true;
        return true;
    }
    tfr_tensor_release(b->known[v]); /* what was packed from the old one is found by its address */
    b->known[v] = known;
    before->known[k] = NULL;
    return true;
}

/* Node i, one of whose inputs has changed; *holds = what was found of others, too, can be kept. */
static tfr_status infer_again(tfr__build *b, uint32_t i, made *before, bool *changed, bool *holds,
                              tfr_err *err)
{
    const tfr__node *node = tfr__build_node_at(b, i);
    bool ends = false;
    tfr_status status = TFR_OK;
    *holds = node->n_outputs <= MOST_OUTPUTS;
    if (!*holds)
        return TFR_OK;
    for (uint32_t k = 0; k < node->n_outputs; k++) {
        const tfr_value v = node->outputs[k];
        before->known[k] = NULL;
        if (v == TFR_VALUE_NONE)
            continue;
        before->types[k] = b->types[v];
        before->dynamic[k] = b->dynamic[v];
        before->known[k] = b->known[v];
        b->known[v] = NULL;
    }
    if (!tfr__twin_types(b, i, before->known)) {
        tfr__attr_free(&b->nodes[i].attrs);
        b->nodes[i].attrs = (tfr__attr_list){0};
        status = tfr__build_infer_node(b, i, &ends, err);
    }
    *holds = !status && !ends;
    for (uint32_t k = 0; k < node->n_outputs; k++) {
        const tfr_value v = node->outputs[k];
        if (v != TFR_VALUE_NONE && *holds)
            *holds = compare_output(b, v, before, k, &changed[v]);
        if (b->renews) /* programs that are there yet were given it */
            tfr__plan_keep(b->plan, before->known[k]);
        tfr_tensor_release(before->known[k]);
    }
    b->nodes[i].changed = true;
    return status;
}

static bool reads_changed(const tfr__node *node, const bool *changed)
{
    for (uint32_t k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] != TFR_VALUE_NONE && changed[node->inputs[k]])
            return true;
    return false;
}

tfr_status tfr__build_infer_again(tfr__build *b, const tfr__plan *like, bool *same, tfr_err *err)
{
    bool *changed = tfr__calloc((size_t)b->graph->n_values + 1, sizeof *changed);
    made *before = tfr__alloc(sizeof *before);
    tfr_status status = TFR_OK;
    if (!changed || !before)
        status = tfr__no_memory(err);
    else if (!b->is_again)
        status = tfr__twins_begin(b, err);
    b->is_again = !status;
    if (!status)
        *same = take_live_ins(b, like, changed) && take_shape_inputs(b, like, changed);
    for (uint32_t i = 0; !status && *same && i < b->end - b->first; i++) {
        b->nodes[i].changed = false;
        if (reads_changed(tfr__build_node_at(b, i), changed))
            status = infer_again(b, i, before, changed, same, err);
    }
    tfr__free(before);
    tfr__free(changed);
    return status;
}
