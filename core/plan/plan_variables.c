/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_variables.c: variables in a plan. A new state that a launch makes is written where the
 * variable lives, which is where that launch runs; so a step of a training copies none. What else
 * becomes the state of a variable (an input, the result of a loop, a state that a later section
 * must not see yet) leaves the section as a tensor, as outputs of the graph do.
 */

#include "base/alloc.h"
#include "plan/plan_steps.h"

static const tfr_tensor *tensor_of(const tfr__build *b, int32_t variable)
{
    return b->section->variables->items[variable].plain;
}

void tfr__build_updates(tfr__build *b)
{
    for (uint32_t i = 0; b->section->variables && i < b->end - b->first; i++) {
        const tfr__node *node = tfr__build_node_at(b, i);
        for (uint32_t k = 0; b->nodes[i].needed && k < node->n_outputs; k++) {
            const tfr_value u = node->outputs[k];
            const int32_t n = u == TFR_VALUE_NONE ? -1 : tfr__build_update_of(b, u);
            const tfr__type *type = &b->types[u];
            const tfr_tensor *t;
            if (n < 0 || node->op->kind != TFR__OP_KERNEL || b->known[u] || b->dynamic[u] ||
                tfr__build_variable(b, b->graph->variables[n]) != n ||
                b->section->last_use[b->graph->variables[n]] >= (int32_t)b->end)
                continue;
            t = tensor_of(b, n);
            b->updates[u] = type->dtype == t->dtype && type->rank == t->shape.rank;
            for (int32_t d = 0; d < t->shape.rank; d++)
                b->updates[u] = b->updates[u] && type->dims[d] == t->shape.dims[d];
        }
    }
}

/* ---- homes ----------------------------------------------------------------------------------- */

static tfr_status add(tfr__steps *s, uint32_t variable, const tfr__home *home, tfr_err *err)
{
    tfr__plan_variable *more = tfr__grow(s->p->variables, s->p->n_variables, sizeof *more);
    if (!more)
        return tfr__no_memory(err);
    s->p->variables = more;
    more[s->p->n_variables] = (tfr__plan_variable){.variable = variable,
                                                   .now = TFR__NO_BUFFER,
                                                   .beside = TFR__NO_BUFFER,
                                                   .written = UINT32_MAX,
                                                   .home = *home};
    s->variable[variable] = s->p->n_variables++;
    return TFR_OK;
}

/* Where node i runs, which is launched. */
static tfr__home home_at(const tfr__steps *s, uint32_t i, int32_t variable)
{
    const tfr__build_node *state = &s->b->nodes[i];
    const uint32_t stream = state->group < 0 ? state->stream : s->b->groups[state->group].stream;
    tfr__home home = {.memory = s->b->streams->items[stream].memory,
                      .stream = stream,
                      .bytes = tensor_of(s->b, variable)->bytes};
    if (home.memory == TFR__MEMORY_HOST)
        home.stream = 0;
    return home;
}

static bool is_launched(const tfr__build *b, uint32_t i)
{
    return b->nodes[i].kernel || (b->nodes[i].group >= 0 && b->nodes[i].needed);
}

/* Who writes the state decides, in whose layout; else who reads it first, unless it has a home. */
static tfr_status home_of_updates(tfr__steps *s, uint32_t i, tfr_err *err)
{
    const tfr__build *b = s->b;
    const tfr__node *node = tfr__build_node_at(b, i);
    tfr_status status = TFR_OK;
    for (uint32_t k = 0; !status && k < node->n_outputs; k++) {
        const tfr_value u = node->outputs[k];
        const int32_t n = u == TFR_VALUE_NONE || !b->updates[u] ? -1 : tfr__build_update_of(b, u);
        tfr__home home;
        if (n < 0)
            continue;
        home = home_at(s, i, n);
        if (b->nodes[i].group >= 0 && b->layouts[u].layout) {
            home.stream = b->groups[b->nodes[i].group].stream;
            home.layout = b->layouts[u].layout;
            home.bytes = b->layouts[u].bytes;
        } else if (b->nodes[i].group < 0 && tfr__build_on_host(&b->nodes[i], k)) {
            home.memory = TFR__MEMORY_HOST;
            home.stream = 0;
        }
        status = add(s, (uint32_t)n, &home, err);
    }
    return status;
}

static tfr_status home_of_inputs(tfr__steps *s, uint32_t i, tfr_err *err)
{
    const tfr__build *b = s->b;
    const tfr__node *node = tfr__build_node_at(b, i);
    tfr_status status = TFR_OK;
    for (uint32_t k = 0; !status && k < node->n_inputs; k++) {
        const tfr_value v = node->inputs[k];
        const int32_t n = v == TFR_VALUE_NONE ? -1 : tfr__build_variable(b, b->root[v]);
        const tfr__variable *variable = n < 0 ? NULL : &b->section->variables->items[n];
        if (n < 0 || s->variable[n] != UINT32_MAX)
            continue;
        if (variable->is_home && variable->home.layout == TFR_LAYOUT_PLAIN) {
            status = add(s, (uint32_t)n, &variable->home, err);
        } else {
            const tfr__home home = home_at(s, i, n);
            status = add(s, (uint32_t)n, &home, err);
        }
    }
    return status;
}

tfr_status tfr__steps_homes(tfr__steps *s, tfr_err *err)
{
    const tfr__build *b = s->b;
    const uint32_t n = b->section->variables ? b->section->variables->n : 0;
    tfr_status status = TFR_OK;
    s->variable = tfr__alloc(((size_t)n + 1) * sizeof *s->variable);
    if (!s->variable)
        return tfr__no_memory(err);
    for (uint32_t i = 0; i < n; i++)
        s->variable[i] = UINT32_MAX;
    for (uint32_t i = 0; n && !status && i < b->end - b->first; i++)
        if (is_launched(b, i))
            status = home_of_updates(s, i, err);
    for (uint32_t i = 0; n && !status && i < b->end - b->first; i++)
        if (is_launched(b, i))
            status = home_of_inputs(s, i, err);
    for (uint32_t i = 0; !status && i < n; i++) { /* read by views alone */
        const tfr__home host = {.memory = TFR__MEMORY_HOST,
                                .bytes = tensor_of(b, (int32_t)i)->bytes};
        if (s->variable[i] == UINT32_MAX)
            status = add(s, i, &host, err);
    }
    return status;
}

/* ---- buffers --------------------------------------------------------------------------------- */

static tfr__plan_variable *planned(const tfr__steps *s, uint32_t variable)
{
    return &s->p->variables[s->variable[variable]];
}

const tfr__home *tfr__steps_home(const tfr__steps *s, tfr_value v)
{
    return &planned(s, (uint32_t)tfr__build_variable(s->b, v))->home;
}

static tfr_status buffer_of(tfr__steps *s, uint32_t variable, uint32_t *out, tfr_err *err)
{
    const tfr__home *home = &planned(s, variable)->home;
    tfr_status status = TFR_OK;
    if (*out == TFR__NO_BUFFER)
        status = tfr__steps_buffer(s, TFR__BUFFER_VARIABLE, home->memory, home->bytes, out, err);
    if (!status)
        s->p->buffers[*out].value = s->b->graph->variables[variable];
    return status;
}

tfr_status tfr__steps_state(tfr__steps *s, tfr_value v, uint32_t *out, tfr_err *err)
{
    const uint32_t n = (uint32_t)tfr__build_variable(s->b, v);
    tfr_status status = buffer_of(s, n, &planned(s, n)->now, err);
    *out = planned(s, n)->now;
    if (!status && planned(s, n)->home.layout == TFR_LAYOUT_PLAIN)
        *tfr__steps_where(s, planned(s, n)->home.memory, v) = *out;
    return status;
}

/* May the step to come write over the state? */
static bool may_overwrite(const tfr__steps *s, uint32_t variable, const uint32_t *inputs,
                          uint32_t n_inputs, const bool *in_place)
{
    const tfr__build *b = s->b;
    const tfr_value v = b->graph->variables[variable];
    const uint32_t now = planned(s, variable)->now;
    uint32_t times = 0;
    if (b->uses[b->root[v]])
        return false;
    if (now == TFR__NO_BUFFER)
        return true;
    for (uint32_t i = 0; i < n_inputs; i++) {
        times += inputs[i] == now;
        if (inputs[i] == now && !in_place[i])
            return false;
    }
    return times <= 1 && !tfr__steps_pending(s, now) && !s->pending[now].is_shared;
}

tfr_status tfr__steps_update(tfr__steps *s, tfr_value u, const uint32_t *inputs, uint32_t n_inputs,
                             const bool *in_place, uint32_t *out, tfr_err *err)
{
    const uint32_t n = (uint32_t)tfr__build_update_of(s->b, u);
    tfr__plan_variable *v = planned(s, n);
    const bool over = may_overwrite(s, n, inputs, n_inputs, in_place);
    tfr_status status = buffer_of(s, n, over ? &v->now : &v->beside, err);
    if (!status && !over) /* a run asks for the state along with what lies beside it */
        status = buffer_of(s, n, &v->now, err);
    *out = over ? v->now : v->beside;
    v->written = s->p->n_steps;
    return status;
}
