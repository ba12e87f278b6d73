/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failure.c: a step of a plan has failed: the error that names the node, and what the backend loses
 * by it. A queue tells of work that failed later, at a step that has nothing to do with it: the
 * error's launch says whose it was.
 */
#include <stdio.h>
#include <tfrun/fail.h>

#include "run/exec.h"
#include "run/session.h"

tfr_status tfr__run_timed_out(const tfr_session *session, uint64_t deadline, const char *doing,
                              const tfr__node *node, const tfr__stream *stream, tfr_err *err)
{
    const double limit = (double)session->timeout_ns / 1e9;
    const double took = limit + ((double)tfr__now_ns() - (double)deadline) / 1e9;
    return tfr_fail(err, TFR_ETIMEOUT,
                    "the run was to take %.3g s at most: after %.3g s %s%s%.200s%s%s%s%s%s%s%s%s",
                    limit, took, doing, node ? " node \"" : "", node ? node->name : "",
                    node ? "\" (" : "", node ? node->op->name : "", node ? ")" : "",
                    stream && node ? " on "
                    : stream       ? " "
                                   : "",
                    stream ? stream->device : "", stream ? " (" : "",
                    stream ? stream->backend->name : "", stream ? ")" : "");
}

typedef struct failure {
    tfr_session *session;
    tfr__plan *plan;
    const tfr__step *step;
    tfr_status status;
    /* Told by a later call: what the run did meanwhile may be gone, so it is not done again, and
     * the kernel stays: devices fail such work for reasons of their own, too. */
    bool late;
    const char *text;
} failure;

/* EINVAL: the data are wrong (an index out of range), not the kernel. */
static bool breaks_a_yes(const failure *f)
{
    return !f->late && f->status != TFR_EINVAL && f->status != TFR_ENOMEM &&
           f->status != TFR_EMODEL;
}

/* Says where; a backend whose program failed compiles none any more. */
static tfr_status program_failed(const failure *f, tfr_err *err)
{
    const tfr__program *program = &f->plan->programs[f->step->program];
    const char *first = f->plan->graph->nodes[program->node].name;
    const char *backend = program->backend->name;
    if (breaks_a_yes(f)) {
        tfr__log(f->session->runtime, TFR_LOG_WARNING, program->backend->plugin_name,
                 "the program of %u nodes from \"%s\" failed: %s; %s compiles no programs any more "
                 "in this process",
                 program->n_nodes, first, f->text, backend);
        tfr__backend_quarantine(program->backend, TFR__PROGRAMS, f->text);
        f->plan->stale = true;
    }
    return tfr_fail(err, f->status, "program of %u nodes from \"%s\" on %s: %.400s",
                    program->n_nodes, first, backend, f->text);
}

/* What a queue that had its time is at: the launch that it names, else the last one. Without a
 * queue it is the step that has just ended. */
static tfr_status step_timed_out(const failure *f, tfr_err *err)
{
    const tfr__plan *p = f->plan;
    const tfr__step *step = f->step;
    const bool waited = f->late || step->kind == TFR__STEP_SYNC;
    const tfr__step *at = f->late            ? step
                          : waited           ? tfr__plan_waited_for(p, step)
                          : step == p->steps ? step
                                             : step - 1;
    const tfr__node *node = tfr__plan_node(p, at);
    const char *doing = !waited            ? "it had just done"
                        : f->late || !node ? "it still waits for"
                                           : "it still waits for what ends with";
    if (!waited && step == p->steps)
        return tfr__run_timed_out(f->session, p->deadline, "its planning had just ended", NULL,
                                  NULL, err);
    return tfr__run_timed_out(f->session, p->deadline, doing, node,
                              at->backend ? &p->streams->items[at->stream] : NULL, err);
}

/* What failed in a launch: says where, and takes the op from a backend that broke its yes. */
static tfr_status step_failed(const failure *f, tfr_err *err)
{
    const tfr__step *step = f->step;
    const tfr__node *node = step->node < 0 ? NULL : &f->plan->graph->nodes[step->node];
    if (f->status == TFR_ETIMEOUT && f->plan->deadline && tfr__now_ns() >= f->plan->deadline)
        return step_timed_out(f, err);
    if (f->status == TFR_ELOST && step->backend) {
        tfr__backend_quarantine(step->backend, -1, f->text);
        f->plan->stale = true;
        return tfr_fail(err, TFR_ELOST, "%s is lost%s%s%s: %.400s", step->backend->name,
                        node ? " at node \"" : "", node ? node->name : "", node ? "\"" : "",
                        f->text);
    }
    if (step->program >= 0)
        return program_failed(f, err);
    if (!node && step->backend) /* work that failed on a queue, without saying whose it was */
        return tfr_fail(err, f->status, "%s: %.400s", step->backend->name, f->text);
    if (!node)
        return f->status;
    if (breaks_a_yes(f)) {
        tfr__log(f->session->runtime, TFR_LOG_WARNING, step->backend->plugin_name,
                 "node \"%s\" (%s) failed after a yes: %s; %s is not asked about %s again in this "
                 "process",
                 node->name, node->op->name, f->text, step->backend->name, node->op->name);
        tfr__backend_quarantine(step->backend, (int32_t)tfr__op_number(node->op), f->text);
        f->plan->stale = true;
    }
    return tfr_fail(err, f->status, "node \"%s\" (%s) on %s: %.400s", node->name, node->op->name,
                    step->backend->name, f->text);
}

/* The step whose launch has this id, or NULL. */
static const tfr__step *launch_step(const tfr__plan *p, uint64_t id)
{
    for (uint32_t i = 0; id && i < p->n_steps; i++)
        if (p->steps[i].kind == TFR__STEP_LAUNCH && p->bound[i].launch.id == id)
            return &p->steps[i];
    return NULL;
}

/* Where the plan waits for a stream; there is such a step if it put work on it. */
static const tfr__step *sync_of(const tfr__plan *p, uint32_t stream, const tfr__step *otherwise)
{
    for (uint32_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].kind == TFR__STEP_SYNC && p->steps[i].stream == stream)
            return &p->steps[i];
    return otherwise;
}

/*
 * A queue carries on the failure of one that it has waited for: the step, status and words as if
 * the host had heard of it from that one.
 */
static const tfr__step *find_origin(tfr_session *session, const tfr__plan *p, const tfr__step *step,
                                    tfr_status *status, tfr_err *err)
{
    uint32_t n_left = session->streams.n; /* two may have waited for each other */
    for (uint32_t i = 0; i < p->n_steps && n_left; i++) {
        const tfr__step *order = &p->steps[i];
        tfr_err own = TFR_ERR_INIT;
        tfr_status found;
        if (order->kind != TFR__STEP_ORDER || order->stream != step->stream)
            continue;
        if (*status == TFR_ELOST && step->kind != TFR__STEP_ORDER)
            break; /* nobody carries this one on */
        found = tfr__stream_sync(&session->streams.items[order->from], &own);
        if (!found || found == TFR_ETIMEOUT)
            continue;
        *status = tfr_fail(err, found, "%s", tfr__said(&own));
        tfr_err_set_launch(err, own.launch);
        if (err && TFR_HAS(err, tfr_err, native))
            err->native = own.native;
        step = sync_of(p, order->from, step);
        i = UINT32_MAX; /* from the first step again */
        n_left--;
    }
    return step;
}

void tfr__plan_wrote(tfr_session *session, const tfr__plan *p, bool failed, uint32_t end)
{
    for (uint32_t i = 0; i < p->n_variables; i++) {
        const tfr__plan_variable *v = &p->variables[i];
        /* After an even number of runs a state is where it was. */
        const bool over = v->beside == UINT32_MAX || p->made > 1;
        if (v->written < end && (over || !failed))
            session->variables.items[v->variable].written =
                over ? TFR__WRITTEN_OVER : TFR__WRITTEN_BESIDE;
    }
}

tfr_status tfr__plan_failed(tfr_session *session, tfr__plan *p, uint32_t step, int32_t status,
                            tfr_err *err)
{
    tfr_status known = tfr__plugin_status(status, err);
    step = tfr__captures_at(p, step);
    const tfr__step *told = &p->steps[step];
    if (told->node < 0 && told->program < 0 && known != TFR_ETIMEOUT)
        told = find_origin(session, p, told, &known, err);
    const uint64_t launch = err && TFR_HAS(err, tfr_err, launch) ? err->launch : 0;
    const int64_t native = err && TFR_HAS(err, tfr_err, native) ? err->native : 0;
    const tfr__step *named = launch_step(p, launch);
    tfr_err copy = TFR_ERR_INIT;
    failure f = {.session = session,
                 .plan = p,
                 .step = named ? named : told,
                 .status = known,
                 .late = named != NULL,
                 .text = copy.text};
    if (err)
        snprintf(copy.text, sizeof copy.text, "%s", tfr__said(err));
    step_failed(&f, err);
    tfr__plan_wrote(session, p, true, step + 1);
    if (err && TFR_HAS(err, tfr_err, native))
        err->native = native;
    tfr_err_set_launch(err, launch);
    if (p->watch & TFR__WATCH_QUEUES) /* nothing may still run when memory is taken back */
        tfr__streams_settle(&session->streams);
    for (uint32_t i = 0; i < p->n_steps; i++)
        p->stale |= p->steps[i].backend && atomic_load(&p->steps[i].backend->quarantined);
    return known;
}
