/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_program.c: which nodes become programs, and the order in which programs and the remaining
 * nodes run. Backends name groups (plan_compile.c asks them); here the groups are cut so that the
 * graph in which each is one node has no cycle, and views that only cost at the border are let go.
 *
 * Nodes join groups in topological order. A node may join a group if no path leads from the group
 * through others to it, where a path that enters another group may leave it from any of its
 * members. Nodes after it are in no group yet, so this alone keeps the condensed graph acyclic.
 *
 * To know that takes a walk back from each node. In a graph where these grow long, the nodes are
 * cut in windows: once the walks of one have taken WINDOW_STEPS, no group of it takes nodes any
 * more, and walks end where the next window begins. So the time stays linear in the nodes.
 */
#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "plan/plan_view.h"

#define NO_READ      UINT32_MAX
#define WINDOW_STEPS (1u << 20)
#define LET_GO       (-2) /* instead of a group, while groups are cut again */

/* Something that a group reads from outside: a node or a group, by its first node. */
typedef struct outside {
    uint32_t unit, next; /* next: number of the group's next one, or NO_READ */
} outside;

typedef struct walk {
    tfr__build *b;
    uint32_t *stack; /* units still to be left backwards */
    uint32_t *mark;  /* by unit: number of the last walk that put it on the stack */
    uint32_t *met;   /* by group: number of the last walk that found a path through others to it */
    uint32_t n, walk;
    uint32_t window, window_group, steps; /* first node and group of the window, what it took */
    outside *reads;
    uint32_t n_reads;
    uint32_t *first_read; /* by group: a number in reads, or NO_READ */
    uint32_t *noted;      /* by unit: the last group, plus one, that has it in its reads */
} walk;

static uint32_t n_nodes(const tfr__build *b)
{
    return b->end - b->first;
}

/* What stands for a node: the first one of its group, or itself. */
static uint32_t unit_of(const tfr__build *b, int64_t node)
{
    int32_t group = b->nodes[node].group;
    return group < 0 ? (uint32_t)node : b->groups[group].first;
}

static void walk_to(walk *w, uint32_t unit)
{
    w->steps++;
    if (w->mark[unit] == w->walk || unit < w->window)
        return;
    w->mark[unit] = w->walk;
    w->stack[w->n++] = unit;
}

/* The walk has come from a unit to what that one reads. */
static void walk_meet(walk *w, uint32_t unit)
{
    if (w->b->nodes[unit].group >= 0)
        w->met[w->b->nodes[unit].group] = w->walk;
    walk_to(w, unit);
}

/* Meets all groups from which a path leads through others to node i, which is in none. */
static void walk_back(walk *w, uint32_t i)
{
    const tfr__build *b = w->b;
    const tfr__node *node = tfr__build_node_at(b, i);
    w->n = 0;
    w->walk++;
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        int64_t maker = tfr__build_maker(b, node->inputs[k]);
        if (maker >= 0)
            walk_to(w, unit_of(b, maker));
    }
    while (w->n) {
        uint32_t unit = w->stack[--w->n];
        int32_t group = b->nodes[unit].group;
        if (group >= 0) {
            for (uint32_t r = w->first_read[group]; r != NO_READ; r = w->reads[r].next)
                walk_meet(w, w->reads[r].unit);
            continue;
        }
        node = tfr__build_node_at(b, unit);
        for (uint32_t k = 0; k < node->n_inputs; k++) {
            int64_t maker = tfr__build_maker(b, node->inputs[k]);
            if (maker >= 0)
                walk_meet(w, unit_of(b, maker));
        }
    }
}

/* Node i joins the group, and with it what it reads. */
static void group_join(walk *w, uint32_t group, uint32_t i)
{
    tfr__build *b = w->b;
    const tfr__node *node = tfr__build_node_at(b, i);
    b->nodes[i].group = (int32_t)group;
    b->groups[group].last = i;
    b->groups[group].program.n_nodes++;
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        int64_t maker = tfr__build_maker(b, node->inputs[k]);
        uint32_t unit;
        if (maker < 0 || b->nodes[maker].group == (int32_t)group)
            continue;
        unit = unit_of(b, maker);
        if (w->noted[unit] == group + 1)
            continue;
        w->noted[unit] = group + 1;
        w->reads[w->n_reads] = (outside){unit, w->first_read[group]};
        w->first_read[group] = w->n_reads++;
    }
}

static tfr_status group_add(tfr__build *b, uint32_t i, tfr_err *err)
{
    tfr__group *more = tfr__grow(b->groups, b->n_groups, sizeof *more);
    if (!more)
        return tfr__no_memory(err);
    b->groups = more;
    more += b->n_groups;
    memset(more, 0, sizeof *more);
    more->backend = b->nodes[i].claim;
    more->label = b->nodes[i].label;
    more->changed = b->nodes[i].changed;
    more->first = i;
    b->n_groups++;
    return TFR_OK;
}

/* Puts a claimed node into the oldest part of its group that stays without a cycle. */
static tfr_status node_cut(walk *w, uint32_t i, tfr_err *err)
{
    tfr__build *b = w->b;
    const tfr__build_node *state = &b->nodes[i];
    uint32_t g;
    if (w->steps >= WINDOW_STEPS) {
        w->steps = 0;
        w->window = i;
        w->window_group = b->n_groups;
    }
    walk_back(w, i);
    g = w->window_group;
    while (g < b->n_groups &&
           (b->groups[g].backend != state->claim || b->groups[g].label != state->label ||
            b->groups[g].changed != state->changed || w->met[g] == w->walk))
        g++;
    w->steps += g - w->window_group;
    if (g == b->n_groups) {
        tfr_status status = group_add(b, i, err);
        if (status)
            return status;
        w->first_read[g] = NO_READ;
    }
    group_join(w, g, i);
    return TFR_OK;
}

/* Has a backend claimed it, and was it not let go since? */
static bool is_free(const tfr__build_node *state)
{
    return state->claim && state->group != LET_GO;
}

static tfr_status groups_cut(walk *w, tfr_err *err)
{
    const tfr__build *b = w->b;
    size_t n = 0, n_inputs = 0;
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; i < n_nodes(b); i++) {
        n += is_free(&b->nodes[i]);
        n_inputs += is_free(&b->nodes[i]) ? tfr__build_node_at(b, i)->n_inputs : 0;
    }
    if (!n)
        return TFR_OK;
    w->reads =
        tfr__calloc(1, (n_inputs + 1) * sizeof *w->reads + (2 * n + n_nodes(b)) * sizeof *w->met);
    if (!w->reads)
        return tfr__no_memory(err);
    w->met = (uint32_t *)(w->reads + n_inputs);
    w->first_read = w->met + n;
    w->noted = w->first_read + n;
    for (uint32_t i = 0; !status && i < n_nodes(b); i++)
        if (is_free(&b->nodes[i]))
            status = node_cut(w, i, err);
    tfr__free(w->reads);
    return status;
}

static tfr_status walk_init(walk *w, tfr_err *err)
{
    const size_t n = (size_t)n_nodes(w->b) + 1;
    w->stack = tfr__calloc(2 * n, sizeof *w->stack);
    if (!w->stack)
        return tfr__no_memory(err);
    w->mark = w->stack + n;
    return TFR_OK;
}

static void walk_finish(walk *w)
{
    tfr__free(w->stack);
}

/* Adds to the count of each value that node i reads, once for each. */
static void count_reads(tfr__build *b, uint32_t i, uint32_t *counts, int32_t add)
{
    const tfr__node *node = tfr__build_node_at(b, i);
    tfr__build_look(b);
    for (uint32_t k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] != TFR_VALUE_NONE && tfr__build_meet(b, node->inputs[k]))
            counts[node->inputs[k]] += (uint32_t)add;
}

/* The same for all members of a group. */
static void count_group(tfr__build *b, uint32_t group, uint32_t *counts, int32_t add)
{
    for (uint32_t i = b->groups[group].first; i <= b->groups[group].last; i++)
        if (b->nodes[i].group == (int32_t)group)
            count_reads(b, i, counts, add);
}

/*
 * A view at the end of a group is let go if it is a view of what the group gives out anyway, or of
 * what it takes in: outside it costs nothing. A group of views alone is no program. inside: by
 * value, all 0 before and after; in between its readers in the group.
 */
static void group_trim(tfr__build *b, uint32_t group, uint32_t *inside)
{
    tfr__group *g = &b->groups[group];
    bool kernels = false;
    count_group(b, group, inside, 1);
    for (uint32_t i = g->last + 1; i-- > g->first;) {
        const tfr__node *node = tfr__build_node_at(b, i);
        tfr_value in = node->inputs[0];
        int64_t maker = tfr__build_maker(b, in);
        if (b->nodes[i].group != (int32_t)group)
            continue;
        if (node->op->kind == TFR__OP_KERNEL) {
            kernels = true;
        } else if (!inside[node->outputs[0]] &&
                   (maker < 0 || b->nodes[maker].group != (int32_t)group ||
                    tfr__build_remains(b, in) || b->readers[in] > inside[in])) {
            b->nodes[i].group = -1;
            count_reads(b, i, inside, -1);
            g->program.n_nodes--;
        }
    }
    count_group(b, group, inside, -1);
    while (kernels && b->nodes[g->last].group != (int32_t)group)
        g->last--;
    while (kernels && b->nodes[g->first].group != (int32_t)group)
        g->first++;
    if (!kernels)
        tfr__group_dissolve(b, group, NULL);
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Has everything run that node i reads from outside its group? mark = has run. */
static bool is_ready(const walk *w, uint32_t i)
{
    const tfr__build *b = w->b;
    const tfr__node *node = tfr__build_node_at(b, i);
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        int64_t maker = tfr__build_maker(b, node->inputs[k]);
        if (maker >= 0 && !w->mark[maker] &&
            (b->nodes[i].group < 0 || b->nodes[maker].group != b->nodes[i].group))
            return false;
    }
    return true;
}

static bool group_is_ready(const walk *w, int32_t group)
{
    const tfr__group *g = &w->b->groups[group];
    for (uint32_t i = g->first; i <= g->last; i++)
        if (w->b->nodes[i].group == group && !is_ready(w, i))
            return false;
    return true;
}

/* As the nodes stand, but each program as a whole once all that it reads is there. */
static tfr_status find_order(walk *w, tfr_err *err)
{
    tfr__build *b = w->b;
    uint32_t n_left = 0;
    bool moved = true;
    b->n_order = 0;
    for (uint32_t i = 0; i < n_nodes(b); i++) {
        w->mark[i] = 0;
        n_left += b->nodes[i].needed;
    }
    while (n_left && moved) {
        moved = false;
        for (uint32_t i = 0; i < n_nodes(b); i++) {
            int32_t group = b->nodes[i].group;
            if (!b->nodes[i].needed || w->mark[i])
                continue;
            if (group < 0 ? !is_ready(w, i)
                          : i != b->groups[group].last || !group_is_ready(w, group))
                continue;
            b->order[b->n_order++] = i;
            moved = true;
            if (group < 0) {
                w->mark[i] = 1;
                n_left--;
                continue;
            }
            for (uint32_t m = b->groups[group].first; m <= b->groups[group].last; m++) {
                n_left -= b->nodes[m].group == group;
                w->mark[m] |= b->nodes[m].group == group;
            }
            i = b->groups[group].first; /* what waited for it comes next */
        }
    }
    return n_left ? tfr_fail(err, TFR_EINTERNAL, "%u nodes wait for each other", n_left) : TFR_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static tfr_status groups_trim(tfr__build *b, tfr_err *err)
{
    uint32_t *inside;
    if (!b->n_groups)
        return TFR_OK;
    inside = tfr__calloc(b->graph->n_values, sizeof *inside);
    if (!inside)
        return tfr__no_memory(err);
    for (uint32_t g = 0; g < b->n_groups; g++)
        group_trim(b, g, inside);
    tfr__free(inside);
    return TFR_OK;
}

/* Producers before consumers, so that these know how their inputs lie. */
static tfr_status compile_all(walk *w, tfr_err *err)
{
    tfr__build *b = w->b;
    tfr_status status = find_order(w, err);
    for (uint32_t at = 0; !status && at < b->n_order; at++) {
        int32_t group = b->nodes[b->order[at]].group;
        if (group < 0 || b->groups[group].program.program)
            continue;
        status = tfr__group_compile(b, (uint32_t)group, NULL, err);
        if (!status && !b->groups[group].program.n_nodes) {
            status = find_order(w, err); /* its nodes run one by one now */
            at = UINT32_MAX;
        }
    }
    return status;
}

/* Asks all backends that are open and compile. */
static tfr_status propose_all(tfr__build *b, tfr_err *err)
{
    tfr_runtime *rt = b->streams->runtime;
    tfr_status status = TFR_OK;
    for (uint32_t d = 0; !b->env->no_programs && d < rt->n_devices; d++) {
        for (uint32_t k = 0; !status && k < rt->devices[d].n_backends; k++) {
            tfr__backend *backend = &rt->devices[d].backends[k];
            if (atomic_load(&backend->is_open) && backend->has_program &&
                !atomic_load(&backend->program_off))
                status = tfr__group_propose(b, backend, err);
        }
    }
    return status;
}

tfr_status tfr__build_programs(tfr__build *b, tfr_err *err)
{
    walk w = {.b = b};
    tfr_status status = walk_init(&w, err);
    memset(b->number, 0xff, b->graph->n_values * sizeof *b->number);
    for (uint32_t i = 0; i < n_nodes(b); i++)
        b->nodes[i].group = -1;
    for (uint32_t i = 0; !status && i < n_nodes(b); i++)
        if (b->nodes[i].needed)
            count_reads(b, i, b->readers, 1);
    if (!status)
        status = propose_all(b, err);
    if (!status)
        status = groups_cut(&w, err);
    if (!status)
        status = groups_trim(b, err);
    if (!status)
        status = compile_all(&w, err);
    if (b->n_groups)
        tfr__tuning_checkpoint(&b->streams->runtime->tuning);
    walk_finish(&w);
    return status;
}

/* ---- once more, for other shapes ------------------------------------------------------------- */

/* What a backend has said of a node. */
typedef struct claim {
    const tfr__backend *backend;
    int32_t label;
} claim;

/* Proposes anew: *same = all nodes are wanted by whom they were, in the same groups. */
static tfr_status propose_again(tfr__build *b, bool *same, tfr_err *err)
{
    claim *before = tfr__calloc((size_t)n_nodes(b) + 1, sizeof *before);
    tfr_status status;
    if (!before)
        return tfr__no_memory(err);
    for (uint32_t i = 0; i < n_nodes(b); i++) {
        tfr__build_node *state = &b->nodes[i];
        before[i] = (claim){state->claim, state->label};
        state->claim = NULL;
        tfr__free(state->alone);
        state->alone = NULL;
    }
    status = propose_all(b, err);
    for (uint32_t i = 0; !status && *same && i < n_nodes(b); i++)
        *same = b->nodes[i].claim == before[i].backend &&
                (!before[i].backend || b->nodes[i].label == before[i].label);
    tfr__free(before);
    return status;
}

/* Whether a backend that compiles wants to be asked about other sizes. */
bool tfr__build_wants_to_be_asked(const tfr__build *b)
{
    const tfr_runtime *rt = b->streams->runtime;
    for (uint32_t d = 0; !b->env->no_programs && d < rt->n_devices; d++)
        for (uint32_t k = 0; k < rt->devices[d].n_backends; k++) {
            const tfr__backend *backend = &rt->devices[d].backends[k];
            if (atomic_load(&backend->is_open) && backend->has_program &&
                !(backend->program.flags & TFR_PROGRAM_ANY_DIMS))
                return true;
        }
    return false;
}

/*
 * What is made of constants alone goes where it is read: a compiler may make something of it that
 * its reader needs, such as weights of other types. In seen: 1 = made of constants, 2 = a node that
 * has changed reads it.
 */
static tfr_status constants_follow(tfr__build *b, tfr_err *err)
{
    uint8_t *seen = tfr__calloc((size_t)b->graph->n_values + 1, 1);
    if (!seen)
        return tfr__no_memory(err);
    for (uint32_t i = 0; i < n_nodes(b); i++) {
        const tfr__node *node = tfr__build_node_at(b, i);
        bool constant = node->n_inputs && !(node->op->traits & TFR__TRAIT_RANDOM);
        for (uint32_t k = 0; constant && k < node->n_inputs; k++)
            constant = node->inputs[k] == TFR_VALUE_NONE || b->known[node->inputs[k]] ||
                       seen[node->inputs[k]];
        for (uint32_t k = 0; constant && k < node->n_outputs; k++)
            if (node->outputs[k] != TFR_VALUE_NONE)
                seen[node->outputs[k]] = 1;
    }
    for (uint32_t i = n_nodes(b); i-- > 0;) {
        const tfr__node *node = tfr__build_node_at(b, i);
        for (uint32_t k = 0; k < node->n_outputs; k++)
            if (node->outputs[k] != TFR_VALUE_NONE && seen[node->outputs[k]] == 3)
                b->nodes[i].changed = true;
        for (uint32_t k = 0; b->nodes[i].changed && k < node->n_inputs; k++)
            if (node->inputs[k] != TFR_VALUE_NONE)
                seen[node->inputs[k]] |= 2;
    }
    tfr__free(seen);
    return TFR_OK;
}

/* Notes which groups have changed; false: of one only some nodes have. */
static bool mark_changed(tfr__build *b)
{
    bool whole = true;
    for (uint32_t g = 0; g < b->n_groups; g++)
        b->groups[g].changed = b->nodes[b->groups[g].first].changed;
    for (uint32_t i = 0; i < n_nodes(b); i++)
        whole = whole && (b->nodes[i].group < 0 ||
                          b->groups[b->nodes[i].group].changed == b->nodes[i].changed);
    return whole;
}

/*
 * Cuts the groups anew, so that what has changed is in other groups than what has not: programs of
 * these can be kept, now and for the shapes to come.
 */
static tfr_status cut_by_change(tfr__build *b, tfr_err *err)
{
    walk w = {.b = b};
    tfr_status status = walk_init(&w, err);
    for (uint32_t g = 0; g < b->n_groups; g++)
        tfr__group_free(&b->groups[g]);
    tfr__free(b->groups);
    b->groups = NULL;
    b->n_groups = 0;
    for (uint32_t i = 0; i < n_nodes(b); i++)
        b->nodes[i].group = b->nodes[i].group < 0 ? LET_GO : -1;
    if (!status)
        status = groups_cut(&w, err);
    for (uint32_t i = 0; i < n_nodes(b); i++)
        b->nodes[i].group = b->nodes[i].group == LET_GO ? -1 : b->nodes[i].group;
    if (!status)
        status = groups_trim(b, err);
    if (!status)
        status = find_order(&w, err);
    walk_finish(&w);
    return status;
}

tfr_status tfr__group_compile_again(tfr__build *b, uint32_t group, tfr__views *seen, tfr_err *err)
{
    tfr__group *g = &b->groups[group];
    const uint32_t n_inputs = g->n_inputs, n_outputs = g->n_outputs;
    tfr_value *args = g->args;
    tfr_status status;
    g->args = NULL;
    g->like = -1;
    status = tfr__group_compile(b, group, seen, err);
    b->renews = b->renews && args && g->args && !g->backend->has_layout &&
                g->n_inputs == n_inputs && g->n_outputs == n_outputs &&
                memcmp(args, g->args, ((size_t)n_inputs + n_outputs) * sizeof *args) == 0;
    tfr__free(args);
    return status;
}

tfr_status tfr__build_programs_again(tfr__build *b, bool *same, tfr_err *err)
{
    tfr__views seen = {.n = 0};
    tfr_status status = tfr__build_wants_to_be_asked(b) ? propose_again(b, same, err) : TFR_OK;
    memset(b->layouts, 0, b->graph->n_values * sizeof *b->layouts);
    if (!status && *same)
        status = constants_follow(b, err);
    if (!status && *same && !mark_changed(b)) {
        b->renews = false; /* its programs are others */
        status = cut_by_change(b, err);
    }
    for (uint32_t at = 0; !status && *same && at < b->n_order; at++) {
        const int32_t number = b->nodes[b->order[at]].group;
        tfr__group *group = number < 0 ? NULL : &b->groups[number];
        if (!group || (group->program.program && !group->changed && !group->backend->has_layout))
            continue;
        status = tfr__group_compile_again(b, (uint32_t)number, &seen, err);
        *same = group->program.n_nodes > 0;
    }
    tfr__views_finish(&seen);
    return status;
}
