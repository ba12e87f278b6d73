/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec.c: runs a plan: what comes before its walk and after, and walks that look after something
 * (walk.c is the one that does not). The caller holds the session's lock, or the plan is a
 * binding's that has no queue (binding.c). Nothing is looked up here; addresses that change from
 * run to run are patched into the prepared arguments first.
 */
#include <tfrun/fail.h>

#include "run/exec.h"
#include "base/alloc.h"
#include "base/port/clock.h"
#include "run/trace.h"

/* ---- binding --------------------------------------------------------------------------------- */

/* Memory for what this run gives out, and the addresses of what it takes. */
static tfr_status run_bind(tfr__plan *p, tfr__frame *frame, tfr_err *err)
{
    for (uint32_t i = 0; i < p->n_moving; i++) {
        tfr__buffer *b = &p->buffers[p->moving[i]];
        tfr_status status;
        if (b->kind == TFR__BUFFER_LIVE_IN) {
            b->address = frame->values[b->value]->data;
            continue;
        }
        if (b->unwanted)
            continue;
        if (!b->tensor) {
            status = tfr__tensor_create_unset((tfr_dtype)b->dtype, &b->shape, &b->tensor, err);
            if (status)
                return status;
        }
        b->address = b->tensor->data;
    }
    tfr__plan_patch(p);
    return TFR_OK;
}

/* The states of variables come where this plan reads and writes them. */
static tfr_status run_variables(tfr_session *session, tfr__plan *p, tfr_err *err)
{
    for (uint32_t i = 0; i < p->n_variables; i++) {
        const tfr__plan_variable *v = &p->variables[i];
        void *now = NULL, *beside = NULL;
        tfr_status status =
            v->now == UINT32_MAX
                ? TFR_OK
                : tfr__variable_to_home(&session->variables, v->variable, &v->home, &now,
                                        v->beside == UINT32_MAX ? NULL : &beside, err);
        if (status)
            return status;
        if (v->now != UINT32_MAX)
            p->buffers[v->now].address = now;
        if (v->beside != UINT32_MAX)
            p->buffers[v->beside].address = beside;
    }
    return TFR_OK;
}

static void run_unbind(tfr__plan *p)
{
    for (uint32_t i = 0; i < p->n_moving; i++) {
        tfr__buffer *b = &p->buffers[p->moving[i]];
        if (b->stays && b->tensor && atomic_load(&b->tensor->refs) == 1)
            continue;
        tfr_tensor_release(b->tensor);
        b->tensor = NULL;
    }
}

/* Dims of the run before are not to be taken for those of this one. */
static void forget_dims(const tfr__plan *p)
{
    for (uint32_t i = 0; i < p->n_live_outs; i++)
        for (int32_t d = 0; p->live_outs[i].dims && d < p->live_outs[i].type.rank; d++)
            p->live_outs[i].dims[d] = -1;
}

/* A dynamic output's true dims must stay within the bounds that were planned. */
static tfr_status true_shape(const tfr__live_out *out, tfr_shape *shape, const tfr__frame *frame,
                             tfr_err *err)
{
    for (int32_t i = 0; out->dims && i < out->type.rank; i++)
        if (out->dims[i] < 0 || out->dims[i] > out->type.dims[i])
            return tfr_fail(err, TFR_EPLUGIN,
                            "value \"%s\": the kernel gave dim %d as %lld, the bound is %lld",
                            frame->subgraph->graph->values[out->value].name, (int)i,
                            (long long)out->dims[i], (long long)out->type.dims[i]);
    return tfr_shape_make(out->type.rank, out->dims ? out->dims : out->type.dims, shape, err);
}

/* A copy or a view of what the buffer holds, with its true shape. */
static tfr_status take_out(tfr__plan *p, const tfr__live_out *out, const tfr__frame *frame,
                           tfr_tensor **t, tfr_err *err)
{
    tfr__buffer *b = &p->buffers[out->buffer];
    tfr_tensor *alias;
    tfr_shape shape;
    tfr_status status = true_shape(out, &shape, frame, err);
    if (status)
        return status;
    if (!out->copy)
        return tfr_tensor_view(b->tensor, 0, &shape, NULL, t, err);
    status = tfr_tensor_wrap((tfr_dtype)out->type.dtype, &shape, NULL, b->address, NULL, NULL,
                             &alias, err);
    if (status)
        return status;
    status = tfr_tensor_copy(alias, t, err);
    tfr_tensor_release(alias);
    return status;
}

static tfr_status give_out(tfr__plan *p, const tfr__live_out *out, tfr__frame *frame, tfr_err *err)
{
    tfr_tensor *t = NULL;
    tfr_status status = TFR_OK;
    if (out->known) { /* the caller may write into what it gets */
        status = tfr_tensor_copy(out->known, &t, err);
    } else if (out->grown) {
        t = tfr__tensor_grow(frame->values[p->buffers[out->buffer].value], out->type.rank,
                             out->type.dims);
        status = t ? TFR_OK : tfr__no_memory(err);
    } else if (out->copy || out->dims) {
        status = take_out(p, out, frame, &t, err);
    } else { /* the one that the buffer is for */
        t = p->buffers[out->buffer].tensor;
        p->buffers[out->buffer].tensor = NULL;
    }
    if (!status)
        tfr__frame_put(frame, out->value, t);
    return status;
}

TFR__ANY_OBJECT
static int32_t timed_step(tfr_session *session, tfr__plan *p, uint32_t i, tfr_err *err)
{
    tfr__bound *b = &p->bound[i];
    uint64_t began = tfr__now_ns(), ns;
    int32_t status;
    status = tfr__plan_step(p, i, err);
    if (!status && b->queue && p->steps[i].kind == TFR__STEP_LAUNCH) {
        status = (int32_t)tfr__stream_sync(&session->streams.items[p->steps[i].stream], err);
        if (status)
            tfr_err_set_launch(err, b->launch.id);
    }
    ns = tfr__now_ns() - began;
    if (p->sampling < TFR__SAMPLED_RUNS && (!p->sample_ns[i] || ns < p->sample_ns[i]))
        p->sample_ns[i] = ns;
    return status;
}

/* The walk with a clock; the last one keeps what it found. */
static tfr_status sample_walk(tfr_session *session, tfr__plan *p, tfr_err *err)
{
    for (uint32_t i = 0; i < p->n_steps; i++) {
        int32_t status = timed_step(session, p, i, err);
        if (status)
            return tfr__plan_failed(session, p, i, status, err);
    }
    if (!--p->sampling)
        tfr__sample_end(p);
    return TFR_OK;
}

/* The walk that looks at the clock before each step, and after it at the floating-point mode. */
static tfr_status watched_walk(tfr_session *session, tfr__plan *p, tfr_err *err)
{
    for (uint32_t i = 0; i < p->n_steps; i++) {
        int32_t status = tfr__plan_step(p, i, err);
        if (status)
            return tfr__plan_failed(session, p, i, status, err);
    }
    return TFR_OK;
}

bool tfr__plan_walk_special(tfr_session *session, tfr__plan *p, uint64_t run, tfr_err *err,
                            tfr_status *status)
{
    const bool traced = tfr__is_traced(session);
    if (p->watch && p->queues != session->streams.generation)
        tfr__plan_rebind(p);
    if (p->watch & TFR__WATCH_CAPTURES)
        tfr__captures_ready(p, session->variables.n_left, traced || p->watch & TFR__WATCH_SAMPLES);
    if (traced)
        *status = tfr__trace_walk(session, p, run, err);
    else if (p->watch & TFR__WATCH_SAMPLES)
        *status = sample_walk(session, p, err);
    else if (p->watch & (TFR__WATCH_MODES | TFR__WATCH_DEADLINE))
        *status = watched_walk(session, p, err);
    else
        return false;
    return true;
}

void tfr__plan_hold(tfr__plan *p, const tfr__frame *frame)
{
    for (uint32_t i = 0; i < p->n_moving; i++) {
        const tfr__buffer *b = &p->buffers[p->moving[i]];
        tfr__plan_keep(p, b->kind == TFR__BUFFER_LIVE_IN ? frame->values[b->value] : b->tensor);
    }
}

tfr_status tfr__plan_run(tfr_session *session, tfr__plan *p, tfr__frame *frame, tfr_err *err)
{
    tfr_err own;
    tfr_status status;
    if (!err) {
        own = (tfr_err)TFR_ERR_INIT; /* 0.5 KB, for nothing where the caller has one */
        err = &own;
    }
    p->deadline = session->streams.deadline;
    if (p->deadline)
        p->watch |= TFR__WATCH_DEADLINE;
    if (p->random)
        *p->random = session->plans.kernel.random;
    if (session->fetch || p->n_skipped)
        tfr__plan_fetch(p, session->fetch);
    session->plan_runs = true;
    p->most = p->graph == session->graph && p->end - p->first == p->graph->n_nodes
                  ? session->most_repeats
                  : 1;
    p->made = 1;
    status = run_variables(session, p, err);
    if (!status)
        status = run_bind(p, frame, err);
    if (p->n_dims)
        forget_dims(p);
    if (!status)
        status = tfr__plan_walk(session, p, session->plans.kernel.run, err);
    session->repeats = p->made;
    if (!status)
        tfr__plan_wrote(session, p, false, UINT32_MAX);
    if (status && session->streams.n_stuck)
        tfr__plan_hold(p, frame);
    for (uint32_t i = 0; !status && i < p->n_live_outs; i++)
        if (!p->live_outs[i].skipped)
            status = give_out(p, &p->live_outs[i], frame, err);
    run_unbind(p);
    session->plan_runs = false;
    return status;
}
