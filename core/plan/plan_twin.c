/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_twin.c: models are made of layers, so what a plan for other shapes has found for one layer
 * holds for the others. A node whose inputs have the types of those of an earlier node that is
 * called alike makes what that one makes; a group that is equal to one that was compiled before has
 * its program.
 */
#include <string.h>

#include "base/alloc.h"
#include "plan/plan_view.h"

/* How many nodes that are called alike are looked at, and how many bytes of their values. */
enum { MOST_TRIES = 16, MOST_BYTES = 1 << 15 };

static bool same_type(tfr__build *b, tfr_value v, tfr_value w)
{
    const tfr__type *a = &b->types[v], *c = &b->types[w];
    b->chance = b->chance || b->follows[v] != b->follows[w];
    return a->kind == TFR_KIND_TENSOR && c->kind == a->kind && a->dtype == c->dtype &&
           a->rank == c->rank && b->dynamic[v] == b->dynamic[w] &&
           memcmp(a->dims, c->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

bool tfr__same_bytes(const tfr_tensor *a, const tfr_tensor *b)
{
    return a->dtype == b->dtype && a->dtype != TFR_DTYPE_STRING && a->bytes == b->bytes &&
           tfr_shape_equal(&a->shape, &b->shape) &&
           (!a->bytes || memcmp(a->data, b->data, a->bytes) == 0);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

tfr_status tfr__twins_begin(tfr__build *b, tfr_err *err)
{
    uint32_t *last = tfr__calloc((size_t)tfr__op_count() + 1, sizeof *last);
    if (!last)
        return tfr__no_memory(err);
    for (uint32_t i = 0; i < b->end - b->first; i++) {
        uint32_t *at = &last[tfr__op_number(tfr__build_node_at(b, i)->op)];
        b->nodes[i].before = *at;
        *at = i + 1;
    }
    tfr__free(last);
    return TFR_OK;
}

static bool is_called_alike(const tfr__node *a, const tfr__node *b)
{
    if (a->op != b->op || a->n_inputs != b->n_inputs || a->n_outputs != b->n_outputs ||
        !tfr__attrs_same(&a->attrs, &b->attrs))
        return false;
    for (uint32_t k = 0; k < a->n_outputs; k++)
        if ((a->outputs[k] == TFR_VALUE_NONE) != (b->outputs[k] == TFR_VALUE_NONE))
            return false;
    return true;
}

/* The inputs of nodes that are called alike; values: of all count. */
static bool same_inputs(tfr__build *b, const tfr__node *a, const tfr__node *c, bool values)
{
    for (uint32_t k = 0; k < a->n_inputs; k++) {
        const tfr_value v = a->inputs[k], w = c->inputs[k];
        const bool counts = values || k >= 32 || a->op->shape_args >> k & 1;
        const tfr_tensor *of_a = v == TFR_VALUE_NONE ? NULL : b->known[v], *of_c;
        if (v == w)
            continue;
        if (v == TFR_VALUE_NONE || w == TFR_VALUE_NONE || !same_type(b, v, w))
            return false;
        if (!counts)
            continue;
        of_c = of_a ? tfr__build_resolve(b, w) : NULL;
        if (of_a ? !of_c ||
                       (of_a != of_c && (of_a->bytes > MOST_BYTES || !tfr__same_bytes(of_a, of_c)))
                 : b->known[w] != NULL || values)
            return false;
    }
    return true;
}

static bool copy_types(tfr__build *b, uint32_t twin, uint32_t i, tfr_tensor *const *known)
{
    const tfr__node *from = tfr__build_node_at(b, twin), *to = tfr__build_node_at(b, i);
    tfr__attr_list *attrs = &b->nodes[i].attrs;
    for (uint32_t k = 0; k < to->n_outputs; k++)
        if (to->outputs[k] != TFR_VALUE_NONE && known[k] &&
            !tfr__build_resolve(b, from->outputs[k]))
            return false;
    if (!tfr__attrs_same(&b->nodes[twin].attrs, attrs)) {
        tfr__attr_free(attrs);
        if (tfr__attr_copy(&b->nodes[twin].attrs, attrs, NULL))
            return false;
    }
    for (uint32_t k = 0; k < to->n_outputs; k++) {
        const tfr_value v = to->outputs[k], w = from->outputs[k];
        if (v == TFR_VALUE_NONE)
            continue;
        b->types[v] = b->types[w];
        b->dynamic[v] = b->dynamic[w];
        if (known[k])
            b->known[v] = tfr_tensor_retain(b->known[w]);
    }
    return true;
}

bool tfr__twin_types(tfr__build *b, uint32_t i, tfr_tensor *const *known)
{
    const tfr__node *node = tfr__build_node_at(b, i);
    tfr__build_node *state = &b->nodes[i];
    uint32_t at = state->twin ? state->twin : state->before;
    bool values = false, found = false;
    state->is_copied = state->by_chance = false;
    /* What Shape gives is in the type of its input. */
    for (uint32_t k = 0; k < node->n_outputs && node->op->kind != TFR__OP_CONST; k++)
        values = values || (node->outputs[k] != TFR_VALUE_NONE && known[k]);
    if (node->op->traits & TFR__TRAIT_RANDOM || state->twin == TFR__NO_TWIN)
        return false;
    for (uint32_t n = state->twin ? 1 : MOST_TRIES; n && at && !found; n--) {
        const tfr__node *other = tfr__build_node_at(b, at - 1);
        b->chance = false;
        found = (state->twin || is_called_alike(other, node)) &&
                same_inputs(b, other, node, values) && copy_types(b, at - 1, i, known);
        if (found)
            state->twin = at;
        at = b->nodes[at - 1].before;
    }
    if (!state->twin)
        state->twin = TFR__NO_TWIN;
    state->is_copied = found;
    state->by_chance = b->chance;
    return found;
}

/* ---- groups ---------------------------------------------------------------------------------- */

void tfr__views_add(tfr__views *seen, tfr__view *w, uint32_t group)
{
    tfr__view *at = &seen->items[seen->n % TFR__VIEWS];
    if (seen->n >= TFR__VIEWS)
        tfr__view_finish(at);
    for (uint32_t v = 0; v < w->pub.n_values; v++)
        w->number[w->value_of[v]] = -1;
    w->number = NULL;
    *at = *w;
    seen->groups[seen->n++ % TFR__VIEWS] = group;
}

void tfr__views_finish(tfr__views *seen)
{
    for (uint32_t i = 0; i < seen->n && i < TFR__VIEWS; i++)
        tfr__view_finish(&seen->items[i]);
}

/* Is v appended as value r of the view is, which its node makes? map: by value of the view. */
static bool same_append(const tfr__view *w, const tfr__build *b, uint32_t r, tfr_value v,
                        const tfr_value *map)
{
    const tfr_program_value *like = &w->values[r];
    const tfr_value old = like->flags & TFR_VALUE_INPUT ? TFR_VALUE_NONE : tfr__build_appends(b, v);
    if (!(like->flags & TFR_VALUE_APPEND) || like->flags & TFR_VALUE_INPUT)
        return old == TFR_VALUE_NONE;
    return old != TFR_VALUE_NONE && map[like->variable] == old &&
           memcmp(like->strides, b->section->values[old]->strides,
                  (size_t)like->operand->rank * sizeof *like->strides) == 0;
}

/* Is v to its group what value r of the view is to that? */
static bool same_value(const tfr__view *w, tfr__build *b, uint32_t r, tfr_value v)
{
    const tfr_program_value *like = &w->values[r];
    const bool leaves = tfr__build_remains(b, v) || b->readers[v] != like->n_readers;
    return same_type(b, w->value_of[r], v) && b->known[w->value_of[r]] == b->known[v] &&
           (like->flags & TFR_VALUE_INPUT || leaves == !!(like->flags & TFR_VALUE_OUTPUT));
}

/* The operands of a node of the group against those of one of the view. map: by value of that. */
static bool same_operands(const tfr__view *w, tfr__build *b, uint32_t n, const tfr__node *node,
                          tfr_value *map)
{
    for (uint32_t k = 0; k < node->n_inputs + node->n_outputs; k++) {
        const bool made = k >= node->n_inputs;
        const tfr_value v = made ? node->outputs[k - node->n_inputs] : node->inputs[k];
        const int32_t r = w->nodes[n].inputs[k]; /* outputs follow */
        if (r < 0 || v == TFR_VALUE_NONE) {
            if (r >= 0 || v != TFR_VALUE_NONE)
                return false;
        } else if (map[r] != TFR_VALUE_NONE || b->number[v] >= 0) {
            if (map[r] != v)
                return false;
        } else {
            map[r] = v;
            b->number[v] = r;
            if (!same_value(w, b, (uint32_t)r, v) || !same_append(w, b, (uint32_t)r, v, map))
                return false;
        }
    }
    return true;
}

static bool is_equal(const tfr__view *w, tfr__build *b, uint32_t group, tfr_value *map)
{
    const tfr__group *g = &b->groups[group];
    uint32_t n = 0;
    for (uint32_t i = g->first; i <= g->last; i++) {
        const tfr__node *node = tfr__build_node_at(b, i);
        const uint32_t other = n < w->pub.n_nodes ? w->which[n] : i;
        if (!b->nodes[i].needed || b->nodes[i].group != (int32_t)group)
            continue;
        if (n == w->pub.n_nodes || node->op->traits & TFR__TRAIT_RANDOM ||
            !is_called_alike(tfr__build_node_at(b, other), node) ||
            !tfr__attrs_same(&b->nodes[other].attrs, &b->nodes[i].attrs) ||
            !same_operands(w, b, n, node, map))
            return false;
        n++;
    }
    return n == w->pub.n_nodes;
}

/* Whether the group is equal to that of the view; then its arguments go by the map. */
static bool take_program(const tfr__view *w, tfr__build *b, uint32_t like, uint32_t group)
{
    const tfr__group *from = &b->groups[like];
    tfr__group *g = &b->groups[group];
    tfr_value *map = tfr__alloc(((size_t)w->pub.n_values + 1) * sizeof *map);
    bool equal = map != NULL;
    for (uint32_t v = 0; map && v < w->pub.n_values; v++)
        map[v] = TFR_VALUE_NONE;
    b->chance = false;
    equal = equal && from->backend == g->backend && !g->backend->has_layout &&
            is_equal(w, b, group, map);
    for (uint32_t v = 0; map && v < w->pub.n_values; v++)
        if (map[v] != TFR_VALUE_NONE)
            b->number[map[v]] = -1;
    if (equal) {
        const size_t n_args = (size_t)from->n_inputs + from->n_outputs;
        equal = tfr__group_arguments(g, from->n_inputs, from->n_outputs);
        for (size_t k = 0; equal && k < n_args; k++)
            g->args[k] = map[w->args[k]];
        for (size_t k = from->n_inputs; equal && k < n_args; k++)
            b->layouts[g->args[k]].appends = b->layouts[from->args[k]].appends;
    }
    if (equal) {
        g->stream = from->stream;
        g->like = b->chance ? -1 : (int32_t)like;
        g->program.node = (int32_t)(b->first + g->first);
        g->program.backend = g->backend;
        tfr__program_take(&g->program, &from->program);
    } else {
        tfr__group_free(g); /* there may have been memory for some of it */
    }
    tfr__free(map);
    return equal;
}

bool tfr__views_share(const tfr__views *seen, tfr__build *b, uint32_t group)
{
    for (uint32_t i = 0; i < seen->n && i < TFR__VIEWS; i++)
        if (seen->items[i].pub.n_nodes == b->groups[group].program.n_nodes &&
            take_program(&seen->items[i], b, seen->groups[i], group))
            return true;
    return false;
}
