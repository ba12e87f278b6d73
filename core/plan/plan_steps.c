/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_steps.c: the third pass: steps that launch kernels and programs, the buffers of their
 * arguments, and what leaves the section.
 */
#include <string.h>

#include "base/alloc.h"
#include "plan/plan_steps.h"

/* ---- one node -------------------------------------------------------------------------------- */

static tfr_status arg_add(tfr__steps *s, uint32_t buffer, tfr_err *err)
{
    uint32_t capacity = s->args_capacity;
    tfr_status status =
        tfr__steps_reserve(&s->p->args, s->n_args + 1, &s->args_capacity, sizeof *s->p->args, err);
    if (!status)
        status = tfr__steps_reserve(&s->arg_buffers, s->n_args + 1, &capacity,
                                    sizeof *s->arg_buffers, err);
    if (status)
        return status;
    memset(&s->p->args[s->n_args], 0, sizeof *s->p->args);
    s->arg_buffers[s->n_args++] = buffer;
    return TFR_OK;
}

/* The buffer of an input that output k may take over, or TFR__NO_BUFFER. */
static uint32_t in_place(tfr__steps *s, const tfr__node *node, const tfr__build_node *state,
                         bool on_host, const uint32_t *inputs, uint32_t k)
{
    tfr__build *b = s->b;
    tfr_value out = node->outputs[k];
    uint32_t memory = on_host ? TFR__MEMORY_HOST : b->streams->items[state->stream].memory;
    if (b->types[out].dtype == TFR_DTYPE_STRING)
        return TFR__NO_BUFFER;
    for (uint32_t j = 0; j < state->choice.answer.n_in_place; j++) {
        uint32_t i = (uint32_t)state->choice.answer.in_place[j].input;
        uint32_t buffer = inputs[i], times = 0;
        if ((uint32_t)state->choice.answer.in_place[j].output != k)
            continue;
        for (uint32_t a = 0; a < k; a++) /* another output may have it already */
            if (buffer == s->arg_buffers[s->n_args - 1 - a])
                buffer = TFR__NO_BUFFER;
        if (buffer == TFR__NO_BUFFER)
            continue;
        for (uint32_t x = 0; x < node->n_inputs; x++)
            times += inputs[x] == buffer;
        if (times == 1 && s->p->buffers[buffer].kind == TFR__BUFFER_ARENA &&
            s->p->buffers[buffer].memory == memory && !s->pending[buffer].is_shared &&
            s->plain[node->inputs[i]] == TFR__NO_BUFFER && b->uses[b->root[node->inputs[i]]] == 0 &&
            s->p->buffers[buffer].bytes == tfr__steps_value_bytes(b, out) &&
            (!tfr__steps_pending(s, buffer) ||
             (!on_host && tfr__steps_pending(s, buffer) == state->stream + 1)))
            return buffer;
    }
    return TFR__NO_BUFFER;
}

/*
 * Buffer holds v from now on. If v leaves the section from here, it is the tensor that the caller
 * gets, and so it is for what was in it before.
 */
static tfr_status leave_in(tfr__steps *s, uint32_t buffer, tfr_value v, tfr_err *err)
{
    tfr_value leaves = s->b->live_out[s->b->root[v]];
    if (leaves == TFR_VALUE_NONE || s->p->buffers[buffer].memory != TFR__MEMORY_HOST)
        return TFR_OK;
    s->p->buffers[buffer].kind = TFR__BUFFER_TENSOR;
    return tfr__steps_becomes_tensor(s, buffer, leaves, err);
}

/* The buffer of what comes from outside, as it lies. */
static tfr_status as_it_lies(tfr__steps *s, tfr_value v, uint32_t *out, tfr_err *err)
{
    uint32_t *at = tfr__steps_where(s, TFR__MEMORY_HOST, v);
    tfr_status status = *at == TFR__NO_BUFFER ? tfr__steps_live_in(s, v, at, err) : TFR_OK;
    *out = *at;
    return status;
}

/* Buffers of the inputs where the kernel reads them, with copies and syncs before. */
static tfr_status node_inputs(tfr__steps *s, const tfr__node *node, const tfr__build_node *state,
                              uint32_t *inputs, tfr_err *err)
{
    uint32_t memory = s->b->streams->items[state->stream].memory;
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < node->n_inputs; i++) {
        tfr_value v = node->inputs[i];
        bool on_host = i < 64 && (state->choice.answer.host_inputs >> i & 1);
        uint32_t m = on_host ? TFR__MEMORY_HOST : memory;
        inputs[i] = TFR__NO_BUFFER;
        if (v == TFR_VALUE_NONE || (i < 64 && state->consumed >> i & 1))
            continue;
        if (tfr__build_strides(s->b, state, v, i)) {
            /* The kernel took the strides as they are. */
            status = as_it_lies(s, v, &inputs[i], err);
        } else {
            status = tfr__steps_bring(s, v, m, &inputs[i], err);
        }
        if (!status && m == TFR__MEMORY_HOST) /* a host input is read by launch, not by the queue */
            status = tfr__steps_settle(s, inputs[i], state->stream,
                                       on_host || !tfr__steps_is_queued(s, state->stream), err);
    }
    for (uint32_t i = 0; !status && i < node->n_inputs; i++)
        if (node->inputs[i] != TFR_VALUE_NONE && s->b->uses[s->b->root[node->inputs[i]]])
            s->b->uses[s->b->root[node->inputs[i]]]--;
    return status;
}

/* The step of a launch whose arguments stand at the end of the array; inputs come first. */
static tfr_status launch_add(tfr__steps *s, uint32_t stream, uint32_t first_arg, uint32_t n_inputs,
                             uint64_t workspace_bytes, bool draws, tfr__step **step, tfr_err *err)
{
    uint32_t memory = s->b->streams->items[stream].memory, workspace = TFR__NO_BUFFER;
    uint32_t random = TFR__NO_BUFFER;
    tfr_status status = TFR_OK;
    if (draws)
        status = tfr__steps_random(s, memory, &random, err);
    if (!status && workspace_bytes)
        status = tfr__steps_buffer(s, TFR__BUFFER_ARENA, memory, workspace_bytes, &workspace, err);
    if (!status)
        status = tfr__steps_add(s, TFR__STEP_LAUNCH, stream, step, err);
    if (status)
        return status;
    (*step)->n_args = s->n_args - first_arg;
    (*step)->dst = first_arg; /* until the arguments have their final place */
    (*step)->workspace = workspace;
    (*step)->random = random;
    s->p->n_launches++;
    for (uint32_t i = 0; i < n_inputs; i++)
        if (s->arg_buffers[first_arg + i] != TFR__NO_BUFFER)
            tfr__steps_touch(s, s->arg_buffers[first_arg + i], stream);
    return TFR_OK;
}

/* The buffer of output k of a node, which is made from these inputs. */
static tfr_status node_output(tfr__steps *s, const tfr__node *node, const tfr__build_node *state,
                              bool on_host, const uint32_t *inputs, uint32_t k, uint32_t *out,
                              tfr_err *err)
{
    const tfr_value v = node->outputs[k];
    const uint32_t memory = on_host ? TFR__MEMORY_HOST : s->b->streams->items[state->stream].memory;
    if (s->b->updates[v]) {
        const tfr_answer *answer = &state->choice.answer;
        bool *over = tfr__calloc((size_t)node->n_inputs + 1, sizeof *over);
        tfr_status status;
        if (!over)
            return tfr__no_memory(err);
        for (uint32_t j = 0; j < answer->n_in_place; j++)
            if ((uint32_t)answer->in_place[j].output == k)
                over[answer->in_place[j].input] = true;
        status = tfr__steps_update(s, v, inputs, node->n_inputs, over, out, err);
        tfr__free(over);
        return status;
    }
    *out = in_place(s, node, state, on_host, inputs, k);
    return *out == TFR__NO_BUFFER ? tfr__steps_result(s, v, memory, out, err)
                                  : leave_in(s, *out, v, err);
}

static tfr_status node_launch(tfr__steps *s, uint32_t n, tfr_err *err)
{
    tfr__build *b = s->b;
    const tfr__node *node = tfr__build_node_at(b, n);
    tfr__build_node *state = &b->nodes[n];
    const uint32_t own = b->streams->items[state->stream].memory;
    uint32_t first_arg;
    uint32_t *inputs = tfr__calloc((size_t)node->n_inputs + 1, sizeof *inputs);
    tfr__step *step;
    tfr_status status;
    if (!inputs)
        return tfr__no_memory(err);
    s->placed = &s->p->placed[n];
    status = node_inputs(s, node, state, inputs, err);
    s->placed = NULL;
    first_arg = s->n_args;
    for (uint32_t i = 0; !status && i < node->n_inputs; i++)
        status = arg_add(s, inputs[i], err);
    for (uint32_t k = 0; !status && k < node->n_outputs; k++) {
        tfr_value v = node->outputs[k];
        const bool on_host = tfr__build_on_host(state, k);
        const uint32_t memory = on_host ? TFR__MEMORY_HOST : own;
        uint32_t buffer = TFR__NO_BUFFER;
        if (v != TFR_VALUE_NONE) {
            status = node_output(s, node, state, on_host, inputs, k, &buffer, err);
            if (!status && !b->known[v])
                *tfr__steps_where(s, memory, v) = buffer;
        }
        if (!status)
            status = arg_add(s, buffer, err);
        if (!status && v != TFR_VALUE_NONE && !on_host) /* launch itself writes the others */
            tfr__steps_touch(s, buffer, state->stream);
    }
    if (!status)
        status = launch_add(s, state->stream, first_arg, node->n_inputs,
                            state->choice.answer.workspace_bytes,
                            state->choice.answer.flags & TFR_ANSWER_RANDOM, &step, err);
    if (!status) {
        step->node = (int32_t)(b->first + n);
        step->call = (tfr__launch_fn *)step->backend->kernel.launch;
        step->kernel = state->kernel;
        state->kernel = NULL; /* the plan owns it now */
    }
    tfr__free(inputs);
    return status;
}

/* Is an output of the program written behind the input? */
static bool is_appended_to(const tfr__steps *s, const tfr__group *g, tfr_value input)
{
    for (uint32_t k = g->n_inputs; k < g->n_inputs + g->n_outputs; k++)
        if (s->b->layouts[g->args[k]].appends && s->b->section->appends[g->args[k]] == input)
            return true;
    return false;
}

/* Buffers of what goes into a program: as its compiler was told that it lies. */
static tfr_status group_inputs(tfr__steps *s, const tfr__group *g, uint32_t *inputs, tfr_err *err)
{
    tfr__build *b = s->b;
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < g->n_inputs; i++) {
        tfr_value v = g->args[i];
        const tfr__group *maker = tfr__steps_laid_by(s, v);
        uint32_t memory = b->streams->items[g->stream].memory;
        if (maker && maker->backend == g->backend)
            inputs[i] = s->in_layout[v];
        else if (tfr__build_variable(b, v) >= 0 && tfr__steps_home(s, v)->layout)
            status = tfr__steps_state(s, v, &inputs[i], err);
        else if (is_appended_to(s, g, v))
            status = as_it_lies(s, v, &inputs[i], err);
        else
            status = tfr__steps_bring(s, v, memory, &inputs[i], err);
        if (!status && memory == TFR__MEMORY_HOST)
            status = tfr__steps_settle(s, inputs[i], g->stream, !tfr__steps_is_queued(s, g->stream),
                                       err);
    }
    for (uint32_t i = 0; !status && i < g->n_inputs; i++)
        if (b->uses[b->root[g->args[i]]])
            b->uses[b->root[g->args[i]]]--;
    return status;
}

static tfr_status group_output(tfr__steps *s, const tfr__group *g, uint32_t k,
                               const uint32_t *inputs, tfr_err *err)
{
    const tfr_value v = g->args[g->n_inputs + k];
    uint32_t memory = s->b->streams->items[g->stream].memory, buffer;
    tfr_status status;
    if (s->b->updates[v])
        status = tfr__steps_update(s, v, inputs, g->n_inputs, g->in_place + (size_t)k * g->n_inputs,
                                   &buffer, err);
    else if (s->b->layouts[v].appends)
        status = as_it_lies(s, s->b->section->appends[v], &buffer, err);
    else if (s->b->layouts[v].layout)
        status =
            tfr__steps_buffer(s, TFR__BUFFER_ARENA, memory, s->b->layouts[v].bytes, &buffer, err);
    else
        status = tfr__steps_result(s, v, memory, &buffer, err);
    if (s->b->layouts[v].layout)
        s->in_layout[v] = buffer;
    else
        *tfr__steps_where(s, memory, v) = buffer;
    if (!status)
        status = arg_add(s, buffer, err);
    if (!status)
        tfr__steps_touch(s, buffer, g->stream);
    return status;
}

/* Gives the program to the plan, and to the rows of its nodes. */
static tfr_status program_add(tfr__steps *s, tfr__group *g, tfr__step *step, tfr_err *err)
{
    tfr__plan *p = s->p;
    tfr__program *more = tfr__grow(p->programs, p->n_programs, sizeof *more);
    if (!more)
        return tfr__no_memory(err);
    p->programs = more;
    p->programs[p->n_programs] = g->program;
    step->program = (int32_t)p->n_programs++;
    step->call = (tfr__launch_fn *)g->backend->program.launch;
    if (s->b->stays) /* for the plan of other shapes that do not change it */
        ++*g->program.refs;
    else
        g->program.program = NULL;
    p->programs[step->program].first_row = g->first;
    p->programs[step->program].last_row = g->last;
    for (uint32_t i = g->first; i <= g->last; i++)
        if (s->b->nodes[i].group == (int32_t)(g - s->b->groups))
            p->placed[i].program = step->program;
    return TFR_OK;
}

static bool group_draws(const tfr__build *b, const tfr__group *g)
{
    for (uint32_t i = g->first; i <= g->last; i++)
        if (b->nodes[i].group == (int32_t)(g - b->groups) &&
            b->nodes[i].choice.answer.flags & TFR_ANSWER_RANDOM)
            return true;
    return false;
}

static tfr_status group_launch(tfr__steps *s, tfr__group *g, tfr_err *err)
{
    uint32_t *inputs = tfr__calloc((size_t)g->n_inputs + 1, sizeof *inputs);
    const tfr_program_info *info = &g->program.info;
    uint32_t first_arg;
    tfr__step *step;
    tfr_status status;
    if (!inputs)
        return tfr__no_memory(err);
    s->placed = &s->p->placed[g->first];
    status = group_inputs(s, g, inputs, err);
    s->placed = NULL;
    first_arg = s->n_args;
    for (uint32_t i = 0; !status && i < g->n_inputs; i++)
        status = arg_add(s, inputs[i], err);
    for (uint32_t k = 0; !status && k < g->n_outputs; k++)
        status = group_output(s, g, k, inputs, err);
    if (!status)
        status = launch_add(s, g->stream, first_arg, g->n_inputs, info->workspace_bytes,
                            group_draws(s->b, g), &step, err);
    if (!status && step->workspace != TFR__NO_BUFFER)
        s->p->buffers[step->workspace].slack = info->workspace_bytes - info->lower_bound;
    if (!status)
        status = program_add(s, g, step, err);
    tfr__free(inputs);
    return status;
}

/* A view has its input's buffers, wherever they are; what comes from outside is made present first.
 */
static tfr_status node_view(tfr__steps *s, const tfr__node *node, tfr_err *err)
{
    tfr_value in = node->inputs[0], out = node->outputs[0];
    uint32_t buffer;
    tfr_status status = TFR_OK;
    const tfr__group *maker = tfr__steps_laid_by(s, in);
    if (out == TFR_VALUE_NONE || s->b->known[out])
        return TFR_OK;
    if (maker)
        status = tfr__steps_bring(s, in, s->b->streams->items[maker->stream].memory, &buffer, err);
    else if (tfr__build_variable(s->b, in) >= 0)
        status = tfr__steps_state(s, in, &buffer, err);
    for (uint32_t m = 0; m < s->n_memories; m++)
        *tfr__steps_where(s, m, out) = *tfr__steps_where(s, m, in);
    if (!status && tfr__build_variable(s->b, in) < 0 &&
        (s->b->known[in] || tfr__build_live_in(s->b, in))) {
        status = tfr__steps_bring(s, in, TFR__MEMORY_HOST, &buffer, err);
        if (!status)
            *tfr__steps_where(s, TFR__MEMORY_HOST, out) = buffer;
    }
    return status;
}

/* ---- what leaves the section ----------------------------------------------------------------- */

/* Does nobody but the caller of the graph read v, which leaves the section? */
static bool is_on_demand(const tfr__build *b, tfr_value v)
{
    if (b->graph->parent || (tfr__build_update_of(b, v) >= 0 && !b->updates[v]))
        return false;
    for (uint32_t i = b->end; i < b->graph->n_nodes; i++) {
        const tfr__node *node = &b->graph->nodes[i];
        for (uint32_t k = 0; k < node->n_inputs; k++)
            if (node->inputs[k] == v)
                return false;
        for (uint32_t k = 0; k < node->n_captures; k++)
            if (node->captures[k] == v)
                return false;
    }
    return true;
}

static tfr_status live_out_add(tfr__steps *s, tfr_value v, tfr_err *err)
{
    tfr__plan *p = s->p;
    tfr__build *b = s->b;
    tfr__live_out *more = tfr__grow(p->live_outs, p->n_live_outs, sizeof *more);
    tfr_status status;
    if (!more)
        return tfr__no_memory(err);
    p->live_outs = more;
    more += p->n_live_outs++;
    memset(more, 0, sizeof *more);
    more->value = v;
    more->type = b->types[v];
    more->buffer = TFR__NO_BUFFER;
    more->on_demand = is_on_demand(b, v);
    more->first_step = more->end_step = p->n_steps;
    if (b->known[v]) {
        more->known = tfr_tensor_retain(b->known[v]);
        return TFR_OK;
    }
    status = tfr__steps_bring(s, v, TFR__MEMORY_HOST, &more->buffer, err);
    more->end_step = p->n_steps;
    if (!status)
        more->copy = p->buffers[more->buffer].kind != TFR__BUFFER_TENSOR ||
                     p->buffers[more->buffer].value != v;
    if (!status && b->layouts[v].appends && p->buffers[more->buffer].kind == TFR__BUFFER_LIVE_IN) {
        more->grown = true;
        p->live_ins[b->live_in[p->buffers[more->buffer].value] - 1].grows = true;
    }
    return status;
}

static tfr_status leave(tfr__steps *s, tfr_err *err)
{
    tfr__build *b = s->b;
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < b->end - b->first; i++) {
        const tfr__node *node = tfr__build_node_at(b, i);
        for (uint32_t k = 0; !status && k < node->n_outputs; k++) {
            tfr_value v = node->outputs[k];
            if (v != TFR_VALUE_NONE && tfr__build_leaves(b, v))
                status = live_out_add(s, v, err);
        }
    }
    for (uint32_t i = 0; !status && i < s->p->n_buffers; i++)
        status = tfr__steps_settle(s, i, 0, true, err);
    for (uint32_t e = 0; !status && e < b->streams->n; e++) {
        tfr__step *step; /* work on a device whose results nobody reads must end, too */
        bool busy = false;
        for (uint32_t i = 0; i < s->p->n_steps; i++) {
            if (s->p->steps[i].stream == e && s->p->steps[i].kind != TFR__STEP_REORDER)
                busy = s->p->steps[i].kind != TFR__STEP_SYNC;
        }
        if (busy && tfr__steps_is_queued(s, e)) {
            status = tfr__steps_add(s, TFR__STEP_SYNC, e, &step, err);
            s->p->n_syncs += !status;
        }
    }
    return status;
}

tfr_status tfr__build_steps(tfr__build *b, tfr_err *err)
{
    tfr__steps s = {.b = b, .p = b->plan, .n_memories = b->streams->n_memories};
    const size_t n = b->graph->n_values, n_streams = b->streams->n;
    const size_t n_none = n * (s.n_memories + 2) + s.n_memories; /* TFR__NO_BUFFER at first */
    tfr_status status;
    s.dims = tfr__calloc(1, (n + 1) * sizeof *s.dims +
                                (n_none + n_streams * (n_streams + 2)) * sizeof *s.where);
    if (!s.dims)
        return tfr__no_memory(err);
    s.where = (uint32_t *)(s.dims + n);
    s.plain = s.where + n * s.n_memories;
    s.in_layout = s.plain + n;
    s.random = s.in_layout + n;
    s.n_syncs = s.random + s.n_memories;
    s.n_put = s.n_syncs + n_streams;
    s.ordered = s.n_put + n_streams;
    memset(s.where, 0xff, n_none * sizeof *s.where);
    status = tfr__steps_homes(&s, err);
    for (uint32_t at = 0; !status && at < b->n_order; at++) {
        uint32_t i = b->order[at];
        const tfr__node *node = tfr__build_node_at(b, i);
        if (b->nodes[i].group >= 0)
            status = group_launch(&s, &b->groups[b->nodes[i].group], err);
        else if (b->nodes[i].kernel)
            status = node_launch(&s, i, err);
        else if (node->op->kind == TFR__OP_VIEW)
            status = node_view(&s, node, err);
    }
    if (!status)
        status = leave(&s, err);
    if (!status)
        status = tfr__steps_hoist(&s, err);
    if (!status)
        status = tfr__steps_upload(&s, err);
    if (!status)
        status = tfr__steps_bind(&s, err);
    if (!status)
        status = tfr__steps_capture(&s, err);
    tfr__free(s.variable);
    tfr__free(s.dims);
    tfr__free(s.pending);
    tfr__free(s.arg_buffers);
    return status;
}
