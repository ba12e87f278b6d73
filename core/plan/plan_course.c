/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_course.c: one renewal of a plan does what the one before did. The nodes that have changed
 * are the same, and so are those that have the types of others: where these are equal because what
 * they are made from is, not by chance, they are equal for all shapes. So a plan that was renewed
 * notes what there was to do: which nodes to infer, which values are copies, which groups to
 * compile and which have their programs. The next renewal goes by that list, looks at nothing else,
 * and compares nothing but what it infers: if other values change than did, the plan is given up.
 */
#include <string.h>

#include "base/alloc.h"
#include "plan/plan_formula.h"
#include "plan/plan_view.h"

/* A node to infer, or the value that takes the type of another; a node to ask about; a group to
 * compile, or one that takes the program of another. */
typedef struct item {
    int32_t what; /* -1: the value of formula `from` */
    int32_t from; /* -1: infer it, compile it; less: of -2 - from also what is known */
} item;

struct tfr__course {
    uint64_t most_bytes; /* of all that comes in: what runs where holds for a size like that */
    uint32_t n_quarantines;
    uint32_t n_values, n_asked, n_groups;
    tfr__formulas formulas;
    item items[]; /* those of values, then nodes, then those of groups */
};

static uint64_t live_bytes(const tfr__build *b)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < b->plan->n_live_ins; i++)
        bytes += b->section->values[b->plan->live_ins[i].value]->bytes;
    return bytes;
}

/* The items of node i, one of whose inputs has changed. */
static void learn_node(tfr__build *b, uint32_t i)
{
    const tfr__build_node *state = &b->nodes[i];
    const tfr__node *node = tfr__build_node_at(b, i);
    const uint32_t twin = state->twin - 1;
    tfr__course *c = b->course;
    if (!state->is_copied || state->by_chance || b->nodes[twin].varies) {
        uint32_t at = c->formulas.n;
        if (!tfr__formulas_find(&c->formulas, b, i))
            c->items[c->n_values++] = (item){(int32_t)i, -1};
        for (; at < c->formulas.n; at++)
            if (!at || c->formulas.items[at - 1].value != c->formulas.items[at].value)
                c->items[c->n_values++] = (item){-1, (int32_t)at};
        return;
    }
    for (uint32_t k = 0; k < node->n_outputs; k++) {
        const tfr_value v = node->outputs[k], from = tfr__build_node_at(b, twin)->outputs[k];
        if (v == TFR_VALUE_NONE || b->follows[v] == TFR_VALUE_NONE)
            continue;
        c->items[c->n_values++] =
            (item){v, b->known[v] && b->known[v] == b->known[from] ? -2 - from : from};
        tfr__formulas_copy(&c->formulas, v, from);
    }
}

void tfr__course_free(tfr__build *b)
{
    if (b->course)
        tfr__formulas_free(&b->course->formulas);
    tfr__free(b->course);
    b->course = NULL;
}

void tfr__course_learn(tfr__build *b)
{
    const size_t n = (size_t)b->graph->n_values + 2 * (size_t)b->n_node_states + b->n_groups;
    bool can = !tfr__build_wants_to_be_asked(b);
    tfr__course *c;
    item *at;
    tfr__course_free(b);
    b->course = c = tfr__calloc(1, sizeof *c + n * sizeof *c->items);
    if (!c)
        return;
    can = tfr__formulas_begin(&c->formulas, b) && can;
    c->n_quarantines = atomic_load(&tfr__n_quarantines);
    c->most_bytes = live_bytes(b) + live_bytes(b) / 8;
    for (uint32_t i = 0; can && i < b->end - b->first; i++)
        if (tfr__build_reads_changed(b, i))
            learn_node(b, i);
    tfr__formulas_end(&c->formulas, b);
    at = &c->items[c->n_values];
    for (uint32_t i = 0; i < b->end - b->first; i++)
        if (b->nodes[i].changed && !tfr__build_goes_along(b, i)) {
            *at++ = (item){(int32_t)i, -1};
            c->n_asked++;
        }
    for (uint32_t k = 0; can && k < b->n_order; k++) {
        const int32_t group = b->nodes[b->order[k]].group;
        if (group >= 0 && b->groups[group].changed) {
            *at++ = (item){group, b->groups[group].like};
            c->n_groups++;
        }
        can = group < 0 || !b->groups[group].backend->has_layout;
    }
    if (!can)
        tfr__course_free(b);
}

bool tfr__course_fits(const tfr__build *b)
{
    const tfr__plan *p = b->plan;
    bool fits = b->course && b->course->n_quarantines == atomic_load(&tfr__n_quarantines) &&
                live_bytes(b) <= b->course->most_bytes;
    for (uint32_t i = 0; fits && i < p->n_live_ins; i++) {
        const tfr__live_in *was = &p->live_ins[i];
        const tfr_shape *shape = &b->section->values[was->value]->shape;
        const tfr_value like = b->follows[was->value];
        fits = tfr_shape_equal(shape, like == TFR_VALUE_NONE ? &was->shape
                                                             : &b->section->values[like]->shape);
        for (int32_t k = 0; fits && like == was->value && k < shape->rank; k++)
            fits =
                (shape->dims[k] != was->shape.dims[k]) == (b->course->formulas.moved[i] >> k & 1);
    }
    return fits;
}

/* Asks for memory that is read soon. */
static void fetch(const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 64)
        __builtin_prefetch((const char *)from + i);
    atomic_signal_fence(memory_order_seq_cst); /* or gcc thinks that it does nothing */
}

static void copy_value(tfr__build *b, const item *at)
{
    const tfr_value v = at->what, from = at->from < 0 ? -2 - at->from : at->from;
    tfr__type *type = &b->types[v];
    type->rank = b->types[from].rank; /* all else is as it was */
    memcpy(type->dims, b->types[from].dims, (size_t)type->rank * sizeof *type->dims);
    if (b->known[v] || at->from < 0) {
        tfr__plan_keep(b->plan, b->known[v]);
        tfr_tensor_release(b->known[v]);
        b->known[v] = at->from < 0 ? tfr_tensor_retain(b->known[from]) : NULL;
    }
}

static tfr_status take_group(tfr__build *b, const item *at, bool *same, tfr_err *err)
{
    const tfr__group *like = at->from < 0 ? NULL : &b->groups[at->from];
    tfr__group *g = &b->groups[at->what];
    tfr__program *to = &g->program;
    tfr_status status;
    if (like) {
        tfr__program_drop(to);
        to->info = like->program.info;
        to->program = like->program.program;
        to->refs = like->program.refs;
        ++*to->refs;
        for (uint32_t k = g->n_inputs; k < g->n_inputs + g->n_outputs; k++)
            b->layouts[g->args[k]].appends = b->layouts[like->args[k]].appends;
        return TFR_OK;
    }
    status = tfr__group_compile_again(b, (uint32_t)at->what, NULL, err);
    *same = to->program && b->renews;
    return status;
}

/* Asks for what inferring node i reads, most of which a run has put out of the caches. */
static void fetch_node(const tfr__build *b, uint32_t i)
{
    const tfr__node *node = tfr__build_node_at(b, i);
    fetch(&b->nodes[i], offsetof(tfr__build_node, choice));
    fetch(node->op, 1);
    fetch(node->attrs.items, node->attrs.n * sizeof *node->attrs.items);
    fetch(b->nodes[i].attrs.items, b->nodes[i].attrs.n * sizeof *node->attrs.items);
    for (uint32_t k = 0; k < node->n_inputs + node->n_outputs; k++) {
        const tfr_value v =
            k < node->n_inputs ? node->inputs[k] : node->outputs[k - node->n_inputs];
        if (v == TFR_VALUE_NONE)
            continue;
        fetch(&b->types[v], sizeof b->types[v]);
        fetch(&b->graph->values[v], offsetof(tfr__value, type));
        fetch(b->known[v], offsetof(tfr_tensor, apart));
    }
}

tfr_status tfr__course_take(tfr__build *b, bool *same, tfr_err *err)
{
    tfr__course *c = b->course;
    const tfr__plan *p = b->plan;
    const item *at = c->items;
    tfr_status status = TFR_OK;
    b->is_late = true;
    c->formulas.n_now = 0;
    for (uint32_t k = 0; k < c->n_values; k++)
        if (at[k].from == -1)
            fetch_node(b, (uint32_t)at[k].what);
    fetch(p->buffers, p->n_buffers * sizeof *p->buffers);
    fetch(b->rooms, p->n_buffers * sizeof *b->rooms);
    fetch(p->steps, p->n_steps * sizeof *p->steps);
    fetch(p->bound, p->n_steps * sizeof *p->bound);
    fetch(p->programs, p->n_programs * sizeof *p->programs);
    for (uint32_t i = 0; i < p->n_live_ins; i++) {
        const tfr_value v = p->live_ins[i].value;
        memcpy(b->types[v].dims, b->section->values[v]->shape.dims, sizeof b->types[v].dims);
    }
    for (uint32_t n = c->n_values; !status && *same && n; n--, at++)
        if (at->what < 0)
            *same = tfr__formulas_take(&c->formulas, b, (uint32_t)at->from);
        else if (at->from == -1)
            status = tfr__build_infer_changed(b, (uint32_t)at->what, true, same, err);
        else
            copy_value(b, at);
    for (uint32_t n = c->n_asked; !status && *same && n; n--, at++)
        status = tfr__build_choose_again(b, (uint32_t)at->what, same, err);
    for (uint32_t n = c->n_groups; !status && *same && n; n--, at++)
        status = take_group(b, at, same, err);
    return status;
}
