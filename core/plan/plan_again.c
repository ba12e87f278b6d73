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

static bool same_dims(const tfr__type *a, const tfr__type *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

/* ---- what comes from outside ----------------------------------------------------------------- */

/* Takes the new dims of what comes in; false: it differs by more. */
static bool take_live_ins(tfr__build *b, const tfr__plan *like)
{
    tfr_value last = TFR_VALUE_NONE;
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
        /* Caches are as long as the one before, or that will be found out. */
        if (last == TFR_VALUE_NONE || !same_dims(type, &b->types[last]))
            last = was->value;
        b->follows[was->value] = last;
    }
    return true;
}

/* The values from outside that decide shapes. */
static bool take_shape_inputs(tfr__build *b, const tfr__plan *like)
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
        b->follows[v] = v;
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

/* The value, equal to which for all shapes output k of node i is if it has changed. */
static tfr_value followed(const tfr__build *b, uint32_t i, uint32_t k)
{
    const tfr__build_node *state = &b->nodes[i];
    if (state->is_copied && !state->by_chance)
        return b->follows[tfr__build_node_at(b, state->twin - 1)->outputs[k]];
    return tfr__build_node_at(b, i)->outputs[k];
}

/* What node i has made against what it had; false: what was found for others holds no more. */
static bool compare(tfr__build *b, uint32_t i, made *before, bool anew)
{
    const tfr__node *node = tfr__build_node_at(b, i);
    for (uint32_t k = 0; k < node->n_outputs; k++) {
        const tfr_value v = node->outputs[k];
        bool changed;
        if (v == TFR_VALUE_NONE)
            continue;
        if (!compare_output(b, v, before, k, &changed) ||
            (anew && changed != (b->follows[v] != TFR_VALUE_NONE)))
            return false;
        if (anew)
            continue;
        b->follows[v] = changed ? followed(b, i, k) : TFR_VALUE_NONE;
        if (changed && b->follows[v] == TFR_VALUE_NONE) { /* what it is copied from has not */
            b->nodes[i].by_chance = true;
            b->follows[v] = v;
        }
    }
    return true;
}

tfr_status tfr__build_infer_changed(tfr__build *b, uint32_t i, bool anew, bool *holds, tfr_err *err)
{
    const tfr__node *node = tfr__build_node_at(b, i);
    tfr__build_node *state = &b->nodes[i];
    made before;
    bool ends = false;
    tfr_status status = TFR_OK;
    *holds = node->n_outputs <= MOST_OUTPUTS;
    if (!*holds)
        return TFR_OK;
    for (uint32_t k = 0; k < node->n_outputs; k++) {
        const tfr_value v = node->outputs[k];
        before.known[k] = NULL;
        if (v == TFR_VALUE_NONE)
            continue;
        before.types[k] = b->types[v];
        before.dynamic[k] = b->dynamic[v];
        before.known[k] = b->known[v];
        b->known[v] = NULL;
    }
    if (anew || !tfr__twin_types(b, i, before.known)) {
        tfr__attr_list attrs = state->attrs;
        bool varied = state->varies;
        state->attrs = (tfr__attr_list){0};
        status = tfr__build_infer_node(b, i, &ends, err);
        state->varies = !tfr__attrs_same(&attrs, &state->attrs);
        ends = ends || (anew && state->varies && !varied);
        tfr__attr_free(&attrs);
    }
    *holds = !status && !ends && compare(b, i, &before, anew);
    for (uint32_t k = 0; k < node->n_outputs; k++) {
        if (b->renews) /* programs that are there yet were given it */
            tfr__plan_keep(b->plan, before.known[k]);
        tfr_tensor_release(before.known[k]);
    }
    state->changed = true;
    return status;
}

bool tfr__build_reads_changed(const tfr__build *b, uint32_t i)
{
    const tfr__node *node = tfr__build_node_at(b, i);
    for (uint32_t k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] != TFR_VALUE_NONE && b->follows[node->inputs[k]] != TFR_VALUE_NONE)
            return true;
    return false;
}

tfr_status tfr__build_infer_again(tfr__build *b, const tfr__plan *like, bool *same, tfr_err *err)
{
    const size_t n = (size_t)b->graph->n_values + 1;
    tfr_status status = b->is_again ? TFR_OK : tfr__twins_begin(b, err);
    b->is_again = !status;
    if (status)
        return status;
    memset(b->follows, 0xff, n * sizeof *b->follows); /* TFR_VALUE_NONE */
    tfr__course_free(b);
    *same = take_live_ins(b, like) && take_shape_inputs(b, like);
    for (uint32_t i = 0; !status && *same && i < b->end - b->first; i++) {
        b->nodes[i].changed = false;
        if (tfr__build_reads_changed(b, i))
            status = tfr__build_infer_changed(b, i, false, same, err);
    }
    return status;
}
