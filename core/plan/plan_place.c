/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_place.c: the second pass: which nodes have to run at all (nobody launches what is known or
 * unread), and a backend with a prepared kernel for each of them. A backend that fails to prepare
 * what it said yes to loses that op for this process and the node is placed again.
 */
#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "kernel/call.h"
#include "plan/plan_build.h"
#include "plan/plan_cost.h"

/* A kernel may read the bytes of known inputs until it is dropped. */
static tfr_status keep_inputs(tfr__build *b, const tfr__node *node, tfr_err *err)
{
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        tfr_value v = node->inputs[k];
        tfr_status status =
            v != TFR_VALUE_NONE && b->known[v] ? tfr__build_keep(b, b->known[v], err) : TFR_OK;
        if (status)
            return status;
    }
    return TFR_OK;
}

static void quarantine(tfr__build *b, const tfr__node *node, tfr__backend *backend,
                       const char *text)
{
    tfr__log(b->streams->runtime, TFR_LOG_WARNING, backend->plugin_name,
             "said yes to node \"%s\" (%s), then could not prepare it: %s; %s is not asked about "
             "%s again in this process",
             node->name, node->op->name, text, backend->name, node->op->name);
    tfr__backend_quarantine(backend, (int32_t)tfr__op_number(node->op), text);
}

/* One question; *again = the operands have to be plain, so ask anew. */
static tfr_status choose_try(tfr__build *b, uint32_t i, bool *again, tfr_err *err)
{
    const tfr__node *node = tfr__build_node_at(b, i);
    tfr__build_node *state = &b->nodes[i];
    tfr__call call;
    tfr_status status = tfr__build_call(b, i, false, &call, err);
    *again = false;
    if (status)
        return status;
    tfr__free(state->choice.text);
    memset(&state->choice, 0, sizeof state->choice);
    status = tfr__place(&b->env->kernel, node, b->section->pins[b->first + i], b->env->no_fallback,
                        &call, &state->choice, err);
    if (!status && state->choice.answer.verdict == TFR_VERDICT_REORDER) {
        if (state->plain == UINT64_MAX) {
            quarantine(b, node, state->choice.backend,
                       "it wants plain operands where all are plain");
        } else {
            state->plain = UINT64_MAX;
        }
        *again = true;
    } else if (!status && !state->choice.device->is_host && tfr__build_any_strided(b, i)) {
        state->plain = UINT64_MAX; /* copies between memories are plain */
        *again = true;
    } else {
        state->work = tfr__cost(&call.call);
        state->key = TFR__TUNING_KEY;
        tfr__key_add_call(&state->key, &call.call);
    }
    tfr__call_finish(&call);
    return status;
}

static tfr_status choose(tfr__build *b, uint32_t i, tfr_err *err)
{
    tfr_status status = TFR_OK;
    bool again = true;
    while (!status && again)
        status = choose_try(b, i, &again, err);
    b->nodes[i].first = b->nodes[i].choice.backend;
    return status;
}

/* What prepare says of its kernel takes the place of what supports answered. */
static tfr_status info_take(tfr__build_node *state, const tfr_call *call,
                            const tfr_kernel_info *info, tfr_err *err)
{
    if (info->workspace_bytes > INT64_MAX / 4)
        return tfr_fail(err, TFR_EPLUGIN, "it wants a workspace of %llu bytes",
                        (unsigned long long)info->workspace_bytes);
    if (tfr__is_unsteady(call->flags, info->flags))
        return tfr_fail(err, TFR_EPLUGIN, "%s", TFR__UNSTEADY);
    for (uint32_t i = 0; i < 64; i++)
        if (info->consumed_inputs >> i & 1 &&
            (i >= call->n_inputs || !tfr_call_input(call, i) || !tfr_call_input(call, i)->data))
            return tfr_fail(err, TFR_EPLUGIN, "it consumed input %u, which is known at launch only",
                            i);
    state->choice.answer.flags = info->flags;
    state->choice.answer.workspace_bytes = info->workspace_bytes;
    state->consumed = info->consumed_inputs;
    return TFR_OK;
}

/* The kernel of the backend that was chosen; *again = it broke its word, so choose anew. */
static tfr_status prepare_try(tfr__build *b, uint32_t i, bool *again, tfr_err *err)
{
    const tfr__node *node = tfr__build_node_at(b, i);
    tfr__build_node *state = &b->nodes[i];
    tfr__backend *backend = state->choice.backend;
    const tfr_answer *answer = &state->choice.answer;
    const bool is_any = backend->kernel.flags & TFR_KERNEL_PREPARE_ANY;
    tfr_kernel_info info = {.size = sizeof info,
                            .flags = answer->flags,
                            .time_ns = answer->time_ns,
                            .workspace_bytes = answer->workspace_bytes};
    tfr_err own = TFR_ERR_INIT;
    tfr__call call;
    tfr_status status =
        tfr__stream_get(b->streams, state->choice.device, backend, &state->stream, err);
    *again = false;
    if (!status)
        status = tfr__build_call(b, i, false, &call, err);
    if (status)
        return status;
    status = tfr__call_align(&call, err); /* kernels read known inputs where they lie */
    if (status) {
        tfr__call_finish(&call);
        return status;
    }
    tfr__lock_unless(backend, is_any);
    TFR__SLOT(backend, "prepare", node->name, node->op->name,
              status = (tfr_status)backend->kernel.prepare(backend->device, &call.call, NULL,
                                                           &state->kernel, &info, &own));
    tfr__unlock_unless(backend, is_any);
    if (!status && !state->kernel)
        status = tfr_fail(&own, TFR_EPLUGIN, "it gave no kernel");
    if (!status)
        status = info_take(state, &call.call, &info, &own);
    tfr__call_finish(&call);
    if (!status && !atomic_load(&backend->quarantined))
        return TFR_OK;
    if (state->kernel)
        tfr__kernel_drop(b->streams, backend, state->kernel);
    state->kernel = NULL;
    if (!status) { /* another session has lost the device meanwhile */
        *again = true;
        return TFR_OK;
    }
    if (status == TFR_ELOST)
        tfr__backend_quarantine(backend, -1, tfr__said(&own));
    if (status != TFR_ENOMEM) {
        quarantine(b, node, backend, tfr__said(&own));
        *again = backend->op_quarantined != NULL;
        status = *again ? TFR_OK : TFR_EPLUGIN;
    }
    return status ? tfr_fail(err, status, "node \"%s\" (%s) on %s: %s", node->name, node->op->name,
                             backend->name, tfr__said(&own))
                  : TFR_OK;
}

static bool is_quarantined(const tfr__build *b, uint32_t i)
{
    const tfr__backend *backend = b->nodes[i].choice.backend;
    const uint32_t op = tfr__op_number(tfr__build_node_at(b, i)->op);
    return atomic_load(&backend->quarantined) ||
           (backend->op_quarantined && atomic_load(&backend->op_quarantined[op]));
}

tfr_status tfr__build_prepare(tfr__build *b, uint32_t i, tfr_err *err)
{
    tfr_status status = TFR_OK;
    bool again = is_quarantined(b, i); /* since the choice */
    do {
        if (again) {
            status = choose(b, i, err);
            if (!status)
                tfr__build_time(b, i);
        }
        if (!status)
            status = prepare_try(b, i, &again, err);
    } while (!status && again);
    return status;
}

/* ---- what is needed -------------------------------------------------------------------------- */

/* Backwards from what leaves the section: nodes whose values somebody reads and nobody knows. */
static void find_needed(tfr__build *b)
{
    for (uint32_t i = b->end - b->first; i-- > 0;) {
        const tfr__node *node = tfr__build_node_at(b, i);
        tfr__build_node *state = &b->nodes[i];
        for (uint32_t k = 0; k < node->n_outputs; k++) {
            tfr_value v = node->outputs[k];
            if (v != TFR_VALUE_NONE && !b->known[v] && (b->wanted[v] || tfr__build_leaves(b, v)))
                state->needed = true;
        }
        for (uint32_t k = 0; state->needed && k < node->n_inputs; k++)
            if (node->inputs[k] != TFR_VALUE_NONE)
                b->wanted[node->inputs[k]] = true;
    }
}

/*
 * Follows views to the value that owns the bytes. A value that is known has its own; views inside a
 * program are the program's business.
 */
static void find_roots(tfr__build *b)
{
    for (uint32_t v = 0; v < b->graph->n_values; v++) {
        b->root[v] = (tfr_value)v;
        b->live_out[v] = TFR_VALUE_NONE;
    }
    for (uint32_t i = 0; i < b->end - b->first; i++) {
        const tfr__node *node = tfr__build_node_at(b, i);
        tfr_value out = node->n_outputs ? node->outputs[0] : TFR_VALUE_NONE;
        if (node->op->kind == TFR__OP_VIEW && out != TFR_VALUE_NONE && !b->known[out] &&
            b->nodes[i].group < 0)
            b->root[out] = b->root[node->inputs[0]];
    }
}

static void count_use(tfr__build *b, tfr_value v)
{
    if (v != TFR_VALUE_NONE && !b->known[v])
        b->uses[b->root[v]]++;
}

/* Reads by launches and by the section's caller. */
static void count_uses(tfr__build *b)
{
    for (uint32_t i = b->end - b->first; i-- > 0;) {
        const tfr__node *node = tfr__build_node_at(b, i);
        for (uint32_t k = 0; k < node->n_outputs; k++) {
            tfr_value v = node->outputs[k];
            if (v == TFR_VALUE_NONE || b->known[v] || !tfr__build_leaves(b, v))
                continue;
            count_use(b, v);
            if (b->live_out[b->root[v]] == TFR_VALUE_NONE)
                b->live_out[b->root[v]] = v;
        }
        for (uint32_t k = 0; b->nodes[i].kernel && k < node->n_inputs; k++)
            count_use(b, node->inputs[k]);
    }
    for (uint32_t g = 0; g < b->n_groups; g++)
        for (uint32_t k = 0; b->groups[g].program.program && k < b->groups[g].n_inputs; k++)
            count_use(b, b->groups[g].args[k]);
}

/* A text for the plan; a build that stays keeps its own. Without memory there is none. */
static char *hand_over(const tfr__build *b, char **text)
{
    char *given = b->stays && *text ? tfr__strdup(*text) : *text;
    if (!b->stays)
        *text = NULL;
    return given;
}

static void report(tfr__build *b, uint32_t i, tfr__placed *out)
{
    tfr__build_node *state = &b->nodes[i];
    out->node = (int32_t)(b->first + i);
    out->device = "";
    out->backend = "core";
    out->wanted = "";
    out->program = -1;
    if (state->group >= 0) /* a view: its program's number follows with its step */
        out->backend = b->groups[state->group].backend->name;
    out->alone = hand_over(b, &state->alone);
    if (!state->choice.backend)
        return;
    out->device = state->choice.device->name;
    out->backend = state->choice.backend->name;
    out->wanted = state->choice.wanted;
    out->reason = state->choice.reason;
    out->fallback = state->choice.fallback;
    out->work = state->work;
    out->time_ns = state->time_ns;
    out->measured = state->measured;
    out->key = state->priced;
    out->math_mode = (state->choice.answer.flags & TFR_ANSWER_MATH_MODE) && b->env->math_mode;
    if (state->choice.answer.verdict == TFR_VERDICT_YES && state->choice.answer.text[0])
        out->note = tfr__strdup(state->choice.answer.text); /* without memory there is none */
    out->nondeterministic = (state->choice.answer.flags & TFR_ANSWER_NONDETERMINISTIC) != 0;
    out->random = (state->choice.answer.flags & TFR_ANSWER_RANDOM) != 0;
    out->text = hand_over(b, &state->choice.text);
    if (tfr__build_node_at(b, i)->instead) {
        out->fallback = true;
        tfr__free(out->text);
        out->text = tfr__strdup(tfr__build_node_at(b, i)->instead);
    }
    b->plan->n_fallbacks += out->fallback;
}

static bool is_launched(const tfr__build *b, uint32_t i)
{
    return b->nodes[i].needed && tfr__build_node_at(b, i)->op->kind == TFR__OP_KERNEL;
}

tfr_status tfr__build_placed(tfr__build *b, tfr_err *err)
{
    const uint32_t n = b->end - b->first;
    tfr_status status = TFR_OK;
    b->plan->placed = tfr__calloc((size_t)n + 1, sizeof *b->plan->placed);
    if (!b->plan->placed)
        return tfr__no_memory(err);
    for (uint32_t i = 0; !status && i < n; i++) {
        if (!is_launched(b, i))
            continue;
        status = keep_inputs(b, tfr__build_node_at(b, i), err);
        if (!status && b->nodes[i].group < 0 && !b->nodes[i].kernel)
            status = tfr__build_prepare(b, i, err);
    }
    if (status)
        return status;
    memset(b->uses, 0, b->graph->n_values * sizeof *b->uses);
    find_roots(b);
    count_uses(b);
    for (uint32_t i = 0; i < n; i++)
        report(b, i, &b->plan->placed[b->plan->n_placed++]);
    return TFR_OK;
}

tfr_status tfr__build_place(tfr__build *b, tfr_err *err)
{
    uint32_t n = b->end - b->first;
    tfr_status status = TFR_OK;
    find_needed(b);
    for (uint32_t i = 0; !status && i < n; i++) {
        if (!is_launched(b, i))
            continue;
        status = choose(b, i, err);
        b->decided_ns += tfr__neutral_ns(&b->nodes[i].work);
    }
    tfr__build_updates(b);
    if (!status)
        status = tfr__build_cheapest(b, err);
    if (!status)
        status = tfr__build_programs(b, err);
    return status ? status : tfr__build_placed(b, err);
}

static tfr_status ask_again(tfr__build *b, uint32_t i, bool *same, tfr_err *err)
{
    tfr__build_node *state = &b->nodes[i];
    const tfr__choice before = state->choice;
    tfr__backend *first = state->first;
    const bool moved = before.backend != first;
    const uint64_t plain = state->plain;
    tfr__call call;
    tfr_status status;
    state->choice = (tfr__choice){0};
    status = choose(b, i, err);
    *same = !status && state->first == first && state->plain == plain;
    if (status || !*same || !moved) {
        tfr__free(before.text);
        return status;
    }
    tfr__free(state->choice.text); /* by price it is elsewhere */
    state->choice = before;
    status = tfr__build_call(b, i, !before.device->is_host, &call, err);
    if (status)
        return status;
    status =
        tfr__ask(b->streams->runtime, before.backend, tfr__op_number(tfr__build_node_at(b, i)->op),
                 &call, &state->choice.answer, err);
    tfr__call_finish(&call);
    *same = !status && state->choice.answer.verdict == TFR_VERDICT_YES;
    return status;
}

/* Whether arguments that stand for what a kernel wanted are what it wants now. */
static bool same_arguments(const tfr_answer *was, const tfr_answer *now)
{
    return was->host_inputs == now->host_inputs && was->host_outputs == now->host_outputs &&
           !was->n_in_place && !now->n_in_place && !((was->flags ^ now->flags) & TFR_ANSWER_RANDOM);
}

tfr_status tfr__build_choose_again(tfr__build *b, uint32_t i, bool *same, tfr_err *err)
{
    const tfr_answer was = b->nodes[i].choice.answer;
    tfr_status status = ask_again(b, i, same, err);
    b->renews =
        b->renews && !b->nodes[i].consumed && same_arguments(&was, &b->nodes[i].choice.answer);
    return status;
}

bool tfr__build_goes_along(const tfr__build *b, uint32_t i)
{
    const int32_t group = b->nodes[i].group;
    return !is_launched(b, i) ||
           (group >= 0 && b->groups[group].backend->program.flags & TFR_PROGRAM_ANY_DIMS);
}

/* Then only how much there is to do is found out. */
static tfr_status work_again(tfr__build *b, uint32_t i, tfr_err *err)
{
    tfr__build_node *state = &b->nodes[i];
    tfr__call call;
    tfr_status status;
    if (state->is_copied && is_launched(b, state->twin - 1)) {
        state->work = b->nodes[state->twin - 1].work;
        return TFR_OK;
    }
    status = tfr__build_call(b, i, true, &call, err);
    if (status)
        return status;
    state->work = tfr__cost(&call.call);
    tfr__call_finish(&call);
    return TFR_OK;
}

bool tfr__build_count(tfr__build *b)
{
    if (!tfr__course_catch_up(b))
        return false;
    for (uint32_t i = 0; b->is_late && i < b->end - b->first; i++) {
        if (!b->nodes[i].changed || !is_launched(b, i))
            continue;
        if (!work_again(b, i, NULL))
            b->plan->placed[i].work = b->nodes[i].work;
    }
    b->is_late = false;
    return true;
}

void tfr__plan_count(const tfr__plan *p)
{
    if (p->build)
        tfr__build_count(p->build);
}

bool tfr__build_does_as_much(const tfr__build *b)
{
    uint64_t ns = 0;
    for (uint32_t i = 0; i < b->end - b->first; i++)
        ns += is_launched(b, i) ? tfr__neutral_ns(&b->nodes[i].work) : 0;
    return ns / 2 <= b->decided_ns && b->decided_ns / 2 <= ns;
}

/* Prices are not asked for: placements hold as long as there is about as much to do. */
tfr_status tfr__build_place_again(tfr__build *b, bool *same, tfr_err *err)
{
    tfr_status status = TFR_OK;
    *same = true;
    for (uint32_t i = 0; !status && *same && i < b->end - b->first; i++) {
        if (!is_launched(b, i))
            continue;
        *same = !is_quarantined(b, i);
        if (*same && b->nodes[i].changed)
            status = tfr__build_goes_along(b, i) ? work_again(b, i, err)
                                                 : tfr__build_choose_again(b, i, same, err);
        if (b->renews)
            b->plan->placed[i].work = b->nodes[i].work;
    }
    *same = *same && tfr__build_does_as_much(b);
    if (!status && *same)
        status = tfr__build_programs_again(b, same, err);
    return status;
}
