/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_course.c: one renewal of a plan does what the one before did. The nodes that have changed
 * are the same, and so are those that have the types of others: where these are equal because what
 * they are made from is, not by chance, they are equal for all shapes. So a plan that was renewed
 * notes what there was to do: which nodes to infer, which values are copies, which groups to
 * compile and which have their programs. The next renewal goes by that list, looks at nothing else,
 * and compares nothing but what it infers: if other values change than did, the plan is given up.
 *
 * Where formulas tell all that programs depend on, those of the next lengths are compiled, too, and
 * wait until these come. They hold for the dims that all inputs have when they have grown as they
 * did the last time; when these grow otherwise, or the list is written anew, they are dropped.
 */
#include <string.h>

#include "base/alloc.h"
#include "plan/plan_formula.h"
#include "plan/plan_view.h"

/* For how many lengths programs are compiled at once, and of how many nodes of each at most. */
enum { MOST_AHEAD = 8, MOST_NODES = 64 };

/* A node to infer, or the value that takes the type of another; a node to ask about; a group to
 * compile, or one that takes the program of another. */
typedef struct item {
    int32_t what; /* -1: the value of formula `from` */
    int32_t from; /* -1: infer it, compile it; less: of -2 - from also what is known */
    bool is_needed;
} item;

struct tfr__course {
    uint64_t most_bytes; /* of all that comes in, until it is seen how much there is to do */
    uint32_t n_quarantines;
    uint32_t n_values, n_asked, n_groups;
    const tfr__plan *needed_by;   /* of which the items know whether it needs them */
    bool is_behind;               /* what it does not need is of shapes before */
    uint32_t n_compiled, n_nodes; /* groups that do not take the program of another; their nodes */
    bool is_known;                /* what comes in tells all about these, without inference */
    uint32_t n_ahead, n_taken;
    tfr__program *ahead; /* [n_ahead + 1][n_compiled]: of the shapes at hand, then of next ones */
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

/* What all dims that are not those of the plan before have grown by, or 0. */
static int64_t growth(const tfr__build *b, const tfr__plan *like)
{
    int64_t by = 0;
    for (uint32_t i = 0; i < like->n_live_ins; i++) {
        const tfr_shape *was = &like->live_ins[i].shape;
        const int64_t *now = b->section->values[like->live_ins[i].value]->shape.dims;
        for (int32_t k = 0; k < was->rank; k++) {
            if (now[k] == was->dims[k])
                continue;
            if (by && now[k] - was->dims[k] != by)
                return 0;
            by = now[k] - was->dims[k];
        }
    }
    return by;
}

void tfr__build_note_growth(tfr__build *b, const tfr__plan *like)
{
    const int64_t by = growth(b, like);
    b->n_alike = by && by == b->grown_by && by < INT32_MAX ? b->n_alike + 1 : 0;
    b->grown_by = by;
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
        if (!tfr__formulas_find(&c->formulas, b, i)) {
            c->items[c->n_values++] = (item){.what = (int32_t)i, .from = -1};
            c->is_known = false;
        }
        for (; at < c->formulas.n; at++)
            if (!at || c->formulas.items[at - 1].value != c->formulas.items[at].value)
                c->items[c->n_values++] = (item){.what = -1, .from = (int32_t)at};
        return;
    }
    for (uint32_t k = 0; k < node->n_outputs; k++) {
        const tfr_value v = node->outputs[k], from = tfr__build_node_at(b, twin)->outputs[k];
        if (v == TFR_VALUE_NONE || b->follows[v] == TFR_VALUE_NONE)
            continue;
        c->items[c->n_values++] = (item){
            .what = v, .from = b->known[v] && b->known[v] == b->known[from] ? -2 - from : from};
        tfr__formulas_copy(&c->formulas, v, from);
    }
}

static void drop_ahead(tfr__course *c)
{
    for (uint32_t i = 0; c->ahead && i < (c->n_ahead + 1) * c->n_compiled; i++)
        tfr__program_drop(&c->ahead[i]);
    tfr__free(c->ahead);
    c->ahead = NULL;
    c->n_ahead = c->n_taken = 0;
}

void tfr__course_free(tfr__build *b)
{
    if (b->course) {
        tfr__formulas_free(&b->course->formulas);
        drop_ahead(b->course);
    }
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
    c->is_known = true;
    can = tfr__formulas_begin(&c->formulas, b) && can;
    c->n_quarantines = atomic_load(&tfr__n_quarantines);
    c->most_bytes = live_bytes(b) / 8 * 9;
    for (uint32_t i = 0; can && i < b->end - b->first; i++)
        if (tfr__build_reads_changed(b, i))
            learn_node(b, i);
    tfr__formulas_end(&c->formulas, b);
    at = &c->items[c->n_values];
    for (uint32_t i = 0; i < b->end - b->first; i++)
        if (b->nodes[i].changed && !tfr__build_goes_along(b, i)) {
            *at++ = (item){.what = (int32_t)i, .from = -1};
            c->n_asked++;
        }
    for (uint32_t k = 0; can && k < b->n_order; k++) {
        const int32_t group = b->nodes[b->order[k]].group;
        if (group >= 0 && b->groups[group].changed) {
            *at++ = (item){.what = group, .from = b->groups[group].like};
            c->n_groups++;
            c->n_compiled += b->groups[group].like < 0;
            c->n_nodes += b->groups[group].like < 0 ? b->groups[group].program.n_nodes : 0;
        }
        can = group < 0 || !b->groups[group].backend->has_layout;
    }
    if (!can)
        tfr__course_free(b);
}

/* What runs where was found for about as much to do as there is. */
static bool is_placed(tfr__build *b)
{
    const uint64_t bytes = live_bytes(b);
    if (bytes <= b->course->most_bytes)
        return true;
    b->course->most_bytes = bytes / 8 * 9;
    return tfr__build_count(b) && tfr__build_does_as_much(b);
}

bool tfr__course_fits(tfr__build *b)
{
    const tfr__plan *p = b->plan;
    bool fits =
        b->course && b->course->n_quarantines == atomic_load(&tfr__n_quarantines) && is_placed(b);
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

/* ahead: where its program is, or is noted, if it has one of its own; or NULL. */
static tfr_status take_group(tfr__build *b, const item *at, tfr__program *ahead, bool *same,
                             tfr_err *err)
{
    const tfr__group *like = at->from < 0 ? NULL : &b->groups[at->from];
    tfr__group *g = &b->groups[at->what];
    tfr__program *to = &g->program;
    const uint32_t n_append_changes = b->n_append_changes;
    tfr_status status;
    if (like) {
        tfr__program_take(to, &like->program);
        for (uint32_t k = g->n_inputs; k < g->n_inputs + g->n_outputs; k++)
            b->layouts[g->args[k]].appends = b->layouts[like->args[k]].appends;
        return TFR_OK;
    }
    if (ahead && ahead->program) {
        tfr__program_take(to, ahead);
        return TFR_OK;
    }
    status = tfr__group_compile_again(b, (uint32_t)at->what, NULL, err);
    *same = to->program && b->renews;
    if (ahead && to->program && b->n_append_changes == n_append_changes) {
        ahead->backend = to->backend;
        tfr__program_take(ahead, to);
    } else {
        drop_ahead(b->course);
    }
    return status;
}

/* Which items of values: those that the plan needs, the rest, or both. */
static tfr_status take_items(tfr__build *b, bool needed, bool rest, bool *same, tfr_err *err)
{
    tfr__course *c = b->course;
    const item *at = c->items;
    tfr_status status = TFR_OK;
    for (uint32_t n = c->n_values; !status && *same && n; n--, at++) {
        if (!(at->is_needed ? needed : rest))
            continue;
        if (at->what < 0)
            *same = tfr__formulas_take(&c->formulas, b, (uint32_t)at->from);
        else if (at->from == -1)
            status = tfr__build_infer_changed(b, (uint32_t)at->what, true, same, err);
        else
            copy_value(b, at);
    }
    return status;
}

/* Types and values for the section's shapes, or for those that follow after `steps` more like the
 * last one; then no node is inferred. */
static tfr_status take_values(tfr__build *b, int64_t steps, bool rest, bool *same, tfr_err *err)
{
    tfr__course *c = b->course;
    const tfr__plan *p = b->plan;
    c->formulas.n_now = 0;
    c->is_behind = !rest;
    for (uint32_t i = 0; i < p->n_live_ins; i++) {
        const tfr_value v = p->live_ins[i].value;
        const int64_t *now = b->section->values[v]->shape.dims;
        for (int32_t k = 0; k < p->live_ins[i].shape.rank; k++)
            b->types[v].dims[k] = now[k] + steps * (now[k] - p->live_ins[i].shape.dims[k]);
    }
    return take_items(b, true, rest, same, err);
}

bool tfr__course_catch_up(tfr__build *b)
{
    bool same = true;
    if (!b->course || !b->course->is_behind)
        return true;
    b->course->is_behind = take_items(b, false, true, &same, NULL) || !same;
    return same;
}

static void want(tfr__build *b, tfr_value v)
{
    if (v != TFR_VALUE_NONE)
        (void)tfr__build_meet(b, v);
}

/*
 * Programs of most lengths are there, so nobody looks at types of what is inside them: what the
 * plan has buffers for or gives out is needed each time, and the rest is left until it is wanted.
 */
static void find_needed(tfr__build *b)
{
    tfr__course *c = b->course;
    const tfr__plan *p = b->plan;
    c->needed_by = p;
    tfr__build_look(b);
    for (uint32_t i = 0; i < p->n_buffers; i++)
        want(b, p->buffers[i].value);
    for (uint32_t i = 0; i < p->n_live_outs; i++)
        want(b, p->live_outs[i].value);
    for (uint32_t i = c->n_values; i-- > 0;) {
        item *at = &c->items[i];
        const tfr_value v = at->what < 0 ? c->formulas.items[at->from].value : at->what;
        at->is_needed = b->seen[v] == b->n_looks;
        if (at->is_needed && at->what >= 0)
            want(b, at->from < 0 ? -2 - at->from : at->from);
    }
}

/*
 * What grew by a token will grow by one more, and while a compiler's code is in the caches it takes
 * a quarter of the time. So programs of the next shapes are compiled with those at hand, for as
 * many as have grown alike in a row: what is made for nothing is no more than what was needed.
 */
static void compile_ahead(tfr__build *b)
{
    tfr__course *c = b->course;
    const uint32_t n = b->n_alike < MOST_AHEAD ? b->n_alike : MOST_AHEAD;
    bool same = n && c->is_known && c->n_nodes - 1 < MOST_NODES; /* there are some */
    drop_ahead(c);
    c->needed_by = NULL; /* another plan may come to lie where that one was */
    if (same)
        c->ahead = tfr__calloc((n + 1) * c->n_compiled, sizeof *c->ahead);
    if (!c->ahead)
        return;
    c->n_ahead = n;
    for (uint32_t k = n; same && k; k--) {
        const item *at = c->items + c->n_values + c->n_asked;
        tfr__program *to = &c->ahead[k * c->n_compiled];
        same = !take_values(b, k, true, &same, NULL) && same;
        for (uint32_t i = c->n_groups; same && i; i--, at++)
            if (at->from < 0)
                same = tfr__group_compile_ahead(b, (uint32_t)at->what, to++);
    }
    if (!same) {
        drop_ahead(c);
        b->n_alike = 0;
    }
}

tfr_status tfr__course_take(tfr__build *b, bool *same, tfr_err *err)
{
    tfr__course *c = b->course;
    const item *at = c->items + c->n_values;
    tfr__program *ahead;
    tfr_status status;
    b->is_late = true;
    tfr__build_note_growth(b, b->plan);
    if (b->n_alike && c->n_taken < c->n_ahead)
        c->n_taken++;
    else
        compile_ahead(b);
    if (c->n_taken && c->needed_by != b->plan)
        find_needed(b);
    status = take_values(b, 0, !c->n_taken || c->n_asked, same, err);
    for (uint32_t n = c->n_asked; !status && *same && n; n--, at++)
        status = tfr__build_choose_again(b, (uint32_t)at->what, same, err);
    ahead = c->ahead ? &c->ahead[c->n_taken * c->n_compiled] : NULL;
    for (uint32_t n = c->n_groups; !status && *same && n; n--, at++) {
        status = take_group(b, at, c->ahead ? ahead : NULL, same, err);
        ahead += c->ahead && at->from < 0;
    }
    return status;
}
