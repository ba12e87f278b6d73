/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec.c: walks a plan. The caller holds the session's lock, or the plan is a binding's that has
 * no queue (binding.c). Nothing is looked up here; addresses that change from run to run are
 * patched into the prepared arguments first.
 */
#include <stdio.h>
#include <tfrun/fail.h>

#include "alloc.h"
#include "plan_cost.h"
#include "trace.h"

/* ---- steps that are no launch: object is the tfr__step ----------------------------------------
 */

static int32_t call_copy(tfr_plugin_device *device, tfr_queue *queue, void *object,
                         const tfr_launch *launch, tfr_err *err)
{
    const tfr__step *step = object;
    const tfr__plan *p = step->plan;
    (void)device;
    (void)queue;
    (void)launch;
    return tfr__engine_copy(&p->session->engines[step->engine], step->to_device,
                            p->buffers[step->dst].address, p->buffers[step->src].address,
                            step->bytes, err);
}

static int32_t call_reorder(tfr_plugin_device *device, tfr_queue *queue, void *object,
                            const tfr_launch *launch, tfr_err *err)
{
    const tfr__step *step = object;
    const tfr__plan *p = step->plan;
    const tfr__live_in *from = &p->live_ins[step->live_in];
    (void)device;
    (void)queue;
    (void)launch;
    return tfr__strided_copy((tfr_dtype)from->dtype, &from->shape, p->buffers[step->dst].address,
                             NULL, p->buffers[step->src].address, from->strides, err);
}

static int32_t call_layout(tfr_plugin_device *device, tfr_queue *queue, void *object,
                           const tfr_launch *launch, tfr_err *err)
{
    const tfr__step *step = object;
    const tfr__buffer *dst = &step->plan->buffers[step->dst];
    const tfr_operand plain = {.size = sizeof plain,
                               .dtype = dst->dtype,
                               .rank = dst->shape.rank,
                               .dims = dst->shape.dims};
    (void)launch;
    return step->backend->layout.reorder(device, queue, &plain, step->layout,
                                         step->plan->buffers[step->src].address, TFR_LAYOUT_PLAIN,
                                         dst->address, err);
}

static int32_t call_sync(tfr_plugin_device *device, tfr_queue *queue, void *object,
                         const tfr_launch *launch, tfr_err *err)
{
    const tfr__step *step = object;
    (void)device;
    (void)queue;
    (void)launch;
    return tfr__engine_sync(&step->plan->session->engines[step->engine], err);
}

static int32_t call_without_queue(tfr_plugin_device *device, tfr_queue *queue, void *object,
                                  const tfr_launch *launch, tfr_err *err)
{
    (void)device;
    (void)queue;
    (void)object;
    (void)launch;
    return tfr_fail(err, TFR_EDEVICE, "it has no queue any more: it failed earlier");
}

/* ---- binding --------------------------------------------------------------------------------- */

static tfr__launch_fn *step_call(const tfr__step *step, const tfr_queue *queue)
{
    switch (step->kind) {
    case TFR__STEP_COPY:
        return call_copy;
    case TFR__STEP_REORDER:
        return call_reorder;
    case TFR__STEP_SYNC:
        return call_sync;
    default: {
        tfr__launch_fn *call = step->kind == TFR__STEP_LAYOUT ? call_layout : step->call;
        return step->backend->has_queue && !queue ? call_without_queue : call;
    }
    }
}

/* What is said of a step while it runs. */
static void announce_step(const tfr__plan *p, const tfr__step *step, tfr__where *out)
{
    static const char *const slots[] = {
        [TFR__STEP_LAUNCH] = "launch",  [TFR__STEP_COPY] = "copy",      [TFR__STEP_REORDER] = NULL,
        [TFR__STEP_SYNC] = "host_wait", [TFR__STEP_LAYOUT] = "reorder",
    };
    const bool is_program = step->kind == TFR__STEP_LAUNCH && step->program >= 0;
    const int32_t number = is_program ? p->programs[step->program].node : step->node;
    const tfr__node *node = number < 0 ? NULL : &p->graph->nodes[number];
    atomic_init(&out->plugin, slots[step->kind] ? step->backend->plugin_name : NULL);
    atomic_init(&out->slot, slots[step->kind]);
    atomic_init(&out->node, node ? node->name : NULL);
    atomic_init(&out->op, node && !is_program ? node->op->name : NULL);
}

/* The part that a replaced queue changes. */
static void bind_calls(tfr_session *session, tfr__plan *p)
{
    for (uint32_t i = 0; i < p->n_steps; i++) {
        tfr__step *step = &p->steps[i];
        tfr__bound *bound = &p->bound[i];
        bound->queue = step->backend ? session->engines[step->engine].queue : NULL;
        bound->call = step_call(step, bound->queue);
        if (bound->queue)
            p->watch |= TFR__WATCH_QUEUES;
    }
    p->queues = session->queues;
}

tfr_status tfr__plan_bind(tfr_session *session, tfr__plan *p, tfr_err *err)
{
    p->bound = tfr__calloc((size_t)p->n_steps + 1, sizeof *p->bound);
    p->where = tfr__calloc((size_t)p->n_steps + 1, sizeof *p->where);
    if (!p->bound || !p->where)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for %u steps", p->n_steps);
    for (uint32_t i = 0; i < p->n_steps; i++) {
        tfr__step *step = &p->steps[i];
        tfr__bound *bound = &p->bound[i];
        if (step->kind != TFR__STEP_LAUNCH)
            bound->object = step;
        else
            bound->object = step->program < 0 ? (void *)step->kernel
                                              : (void *)p->programs[step->program].program;
        announce_step(p, step, &p->where[i]);
        bound->device = step->backend ? step->backend->device : NULL;
        bound->launch.size = sizeof bound->launch;
        bound->launch.n_args = step->n_args;
        bound->launch.args = step->args;
        if (step->workspace != UINT32_MAX)
            bound->launch.workspace = p->buffers[step->workspace].address;
    }
    bind_calls(session, p);
    if (session->runtime->checks_launches)
        p->watch |= TFR__WATCH_MODES;
    return TFR_OK;
}

void tfr__plan_patch(tfr__plan *p)
{
    for (uint32_t i = 0; i < p->n_patches; i++)
        p->patches[i].arg->address = p->buffers[p->patches[i].buffer].address;
}

/* Memory for what this run gives out, and the addresses of what it takes. */
static tfr_status run_bind(tfr__plan *p, tfr__env *env, tfr_err *err)
{
    for (uint32_t i = 0; i < p->n_moving; i++) {
        tfr__buffer *b = &p->buffers[p->moving[i]];
        tfr_status status;
        if (b->kind == TFR__BUFFER_LIVE_IN) {
            b->address = env->values[b->value]->data;
            continue;
        }
        status = tfr__tensor_create_unset((tfr_dtype)b->dtype, &b->shape, &b->tensor, err);
        if (status)
            return status;
        b->address = b->tensor->data;
    }
    tfr__plan_patch(p);
    return TFR_OK;
}

static void run_unbind(tfr__plan *p)
{
    for (uint32_t i = 0; i < p->n_moving; i++) {
        tfr__buffer *b = &p->buffers[p->moving[i]];
        tfr_tensor_release(b->tensor);
        b->tensor = NULL;
    }
}

/* A dynamic output's true dims must stay within the bounds that were planned. */
static tfr_status true_shape(const tfr__live_out *out, tfr_shape *shape, const tfr__env *env,
                             tfr_err *err)
{
    for (int32_t i = 0; out->dims && i < out->type.rank; i++)
        if (out->dims[i] < 0 || out->dims[i] > out->type.dims[i])
            return tfr_fail(err, TFR_EPLUGIN,
                            "value \"%s\": the kernel gave dim %d as %lld, the bound is %lld",
                            env->body->graph->values[out->value].name, (int)i,
                            (long long)out->dims[i], (long long)out->type.dims[i]);
    return tfr_shape_make(out->type.rank, out->dims ? out->dims : out->type.dims, shape, err);
}

/* A copy or a view of what the buffer holds, with its true shape. */
static tfr_status take_out(tfr__plan *p, const tfr__live_out *out, const tfr__env *env,
                           tfr_tensor **t, tfr_err *err)
{
    tfr__buffer *b = &p->buffers[out->buffer];
    tfr_tensor *alias;
    tfr_shape shape;
    tfr_status status = true_shape(out, &shape, env, err);
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

static tfr_status give_out(tfr__plan *p, const tfr__live_out *out, tfr__env *env, tfr_err *err)
{
    tfr_tensor *t = NULL;
    tfr_status status = TFR_OK;
    if (out->known) { /* the caller may write into what it gets */
        status = tfr_tensor_copy(out->known, &t, err);
    } else if (out->copy || out->dims) {
        status = take_out(p, out, env, &t, err);
    } else { /* the one that the buffer is for */
        t = p->buffers[out->buffer].tensor;
        p->buffers[out->buffer].tensor = NULL;
    }
    if (!status)
        tfr__env_put(env, out->value, t);
    return status;
}

/* Says where; a backend whose program failed compiles none any more. */
static tfr_status program_failed(tfr_session *session, tfr__plan *p, const tfr__program *program,
                                 tfr_status status, const char *text, tfr_err *err)
{
    const char *first = p->graph->nodes[program->node].name, *backend = program->backend->name;
    if (status != TFR_EINVAL && status != TFR_ENOMEM && status != TFR_EMODEL) {
        tfr__log(session->runtime, TFR_LOG_WARNING, program->backend->plugin_name,
                 "the program of %u nodes from \"%s\" failed: %s; %s compiles no programs any more "
                 "in this process",
                 program->n_nodes, first, text, backend);
        tfr__backend_quarantine(program->backend, TFR__PROGRAMS, text);
        p->stale = true;
    }
    return tfr_fail(err, status, "program of %u nodes from \"%s\" on %s: %.400s", program->n_nodes,
                    first, backend, text);
}

/* What failed in a launch: says where, and takes the op from a backend that broke its yes. */
static tfr_status step_failed(tfr_session *session, tfr__plan *p, const tfr__step *step,
                              tfr_status status, tfr_err *err)
{
    const tfr__node *node = step->node < 0 ? NULL : &p->graph->nodes[step->node];
    tfr_err copy = TFR_ERR_INIT;
    if (err)
        snprintf(copy.text, sizeof copy.text, "%s", tfr__said(err));
    if (status == TFR_ELOST && step->backend) {
        tfr__backend_quarantine(step->backend, -1, copy.text);
        p->stale = true;
        return tfr_fail(err, TFR_ELOST, "%s is lost%s%s%s: %.400s", step->backend->name,
                        node ? " at node \"" : "", node ? node->name : "", node ? "\"" : "",
                        copy.text);
    }
    if (step->program >= 0)
        return program_failed(session, p, &p->programs[step->program], status, copy.text, err);
    if (!node && step->backend) /* work that failed on a queue, without saying whose it was */
        return tfr_fail(err, status, "%s: %.400s", step->backend->name, copy.text);
    if (!node)
        return status;
    /* EINVAL: the data are wrong (an index out of range), not the kernel. */
    if (status != TFR_EINVAL && status != TFR_ENOMEM && status != TFR_EMODEL) {
        tfr__log(session->runtime, TFR_LOG_WARNING, step->backend->plugin_name,
                 "node \"%s\" (%s) failed after a yes: %s; %s is not asked about %s again in this "
                 "process",
                 node->name, node->op->name, copy.text, step->backend->name, node->op->name);
        tfr__backend_quarantine(step->backend, (int32_t)tfr__op_number(node->op), copy.text);
        p->stale = true;
    }
    return tfr_fail(err, status, "node \"%s\" (%s) on %s: %.400s", node->name, node->op->name,
                    step->backend->name, copy.text);
}

tfr_status tfr__plan_failed(tfr_session *session, tfr__plan *p, uint32_t step, int32_t status,
                            tfr_err *err)
{
    tfr_status known = tfr__plugin_status(status, err);
    tfr_status named = step_failed(session, p, &p->steps[step], known, err);
    if (p->watch & TFR__WATCH_QUEUES) /* nothing may still run when memory is taken back */
        tfr__engines_settle(session);
    return named;
}

TFR__ANY_OBJECT
int32_t tfr__plan_step(tfr__plan *p, uint32_t i, tfr_err *err)
{
    tfr__thread *thread = tfr__thread_self();
    const tfr__where *was = tfr__slot_where(thread);
    const uint64_t mode = tfr__fp_mode();
    tfr__bound *b = &p->bound[i];
    int32_t status;
    tfr__slot_announce(thread, &p->where[i]);
    status = b->call(b->device, b->queue, b->object, &b->launch, err);
    tfr__slot_over(thread, was);
    if (!tfr__mode_is(thread, mode)) {
        const char *what = tfr__mode_restore(thread, mode);
        if (p->steps[i].backend)
            tfr__mode_tell(p->steps[i].backend->plugin, &p->where[i], what);
    }
    return status;
}

/* The walk that says after each launch whether it left the floating-point mode as it was. */
static tfr_status watched_walk(tfr_session *session, tfr__plan *p, uint64_t run, tfr_err *err)
{
    for (uint32_t i = 0; i < p->n_steps; i++) {
        int32_t status;
        p->bound[i].launch.run = run;
        status = tfr__plan_step(p, i, err);
        if (status)
            return tfr__plan_failed(session, p, i, status, err);
    }
    return TFR_OK;
}

/* Some launch of the walk did it. Whose it was is found out by the next walk, if it does it again.
 */
static void modes_changed(tfr_session *session, tfr__plan *p, tfr__thread *thread, uint64_t mode)
{
    const char *what = tfr__mode_restore(thread, mode);
    p->watch |= TFR__WATCH_MODES;
    tfr__log(session->runtime, TFR_LOG_WARNING, "floating-point",
             "a kernel changed %s, which it must not; it was set back, but results of this run may "
             "be wrong; the next run looks for the plugin, and so does TFRUN_CHECK_LAUNCHES=1",
             what);
}

/* Only what a run needs: all else is bound, and what failed is found out elsewhere. */
TFR__ANY_OBJECT
tfr_status tfr__plan_walk(tfr_session *session, tfr__plan *p, uint64_t run, tfr_err *err)
{
    tfr__bound *b = p->bound, *const end = b + p->n_steps;
    const tfr__where *where = p->where;
    tfr__thread *const thread = tfr__thread_self();
    const tfr__where *const was = tfr__slot_where(thread);
    const uint64_t mode = tfr__fp_mode();
    int32_t status = TFR_OK;
    if (err && err->size > offsetof(tfr_err, text))
        err->text[0] = '\0'; /* what is said of a failure is said by who failed */
    if (p->watch) {
        if (p->queues != session->queues)
            bind_calls(session, p);
        if (p->watch & TFR__WATCH_SAMPLES && !tfr__is_traced(session))
            return tfr__sample_walk(session, p, run, err);
        if (p->watch & TFR__WATCH_MODES && !tfr__is_traced(session))
            return watched_walk(session, p, run, err);
    }
    if (tfr__is_traced(session))
        return tfr__trace_walk(session, p, run, err);
    for (; b < end; b++, where++) {
        b->launch.run = run;
        tfr__slot_announce(thread, where);
        status = b->call(b->device, b->queue, b->object, &b->launch, err);
        if (__builtin_expect(status, 0))
            break;
    }
    tfr__slot_over(thread, was);
    if (__builtin_expect(!tfr__mode_is(thread, mode), 0))
        modes_changed(session, p, thread, mode);
    return status ? tfr__plan_failed(session, p, (uint32_t)(b - p->bound), status, err) : TFR_OK;
}

tfr_status tfr__plan_run(tfr_session *session, tfr__plan *p, tfr__env *env, tfr_err *err)
{
    tfr_err own;
    tfr_status status;
    if (!err) {
        own = (tfr_err)TFR_ERR_INIT; /* 0.5 KB, for nothing where the caller has one */
        err = &own;
    }
    status = run_bind(p, env, err);
    if (!status)
        status = tfr__plan_walk(session, p, session->n_runs, err);
    for (uint32_t i = 0; !status && i < p->n_live_outs; i++)
        status = give_out(p, &p->live_outs[i], env, err);
    run_unbind(p);
    return status;
}
