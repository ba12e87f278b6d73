/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec.c: walks a plan. The caller holds the session's lock. Nothing is looked up here; addresses
 * that change from run to run are patched into the prepared arguments first.
 */
#include <string.h>
#include <tfrun/fail.h>

#include "alloc.h"
#include "plan.h"

void tfr__plan_patch(tfr__plan *p)
{
    for (uint32_t i = 0; i < p->n_patches; i++)
        p->steps[p->patches[i].step].args[p->patches[i].arg].address =
            p->buffers[p->patches[i].buffer].address;
}

/* Memory for what this run gives out, and the addresses of what it takes. */
static tfr_status run_bind(tfr__plan *p, tfr__env *env, tfr_err *err)
{
    for (uint32_t i = 0; i < p->n_buffers; i++) {
        tfr__buffer *b = &p->buffers[i];
        if (b->kind == TFR__BUFFER_LIVE_IN) {
            b->address = env->values[b->value]->data;
        } else if (b->kind == TFR__BUFFER_TENSOR) {
            tfr_status status = tfr_tensor_create((tfr_dtype)b->dtype, &b->shape, &b->tensor, err);
            if (status)
                return status;
            b->address = b->tensor->data;
        }
    }
    tfr__plan_patch(p);
    return TFR_OK;
}

static void run_unbind(tfr__plan *p)
{
    for (uint32_t i = 0; i < p->n_buffers; i++) {
        if (p->buffers[i].kind == TFR__BUFFER_TENSOR) {
            tfr_tensor_release(p->buffers[i].tensor);
            p->buffers[i].tensor = NULL;
        }
    }
}

static tfr_status step_reorder(const tfr__plan *p, const tfr__step *step, const tfr__env *env,
                               tfr_err *err)
{
    const tfr_tensor *t = env->values[step->value];
    int64_t plain[TFR_MAX_RANK];
    tfr_shape_strides(&t->shape, plain);
    return tfr__strided_copy((tfr_dtype)t->dtype, &t->shape, p->buffers[step->dst].address, plain,
                             p->buffers[step->src].address, t->strides, err);
}

static tfr_status step_run(tfr_session *session, tfr__plan *p, tfr__step *step, const tfr__env *env,
                           tfr_err *err)
{
    tfr__engine *engine;
    if (step->kind == TFR__STEP_REORDER)
        return step_reorder(p, step, env, err);
    engine = &session->engines[step->engine];
    switch (step->kind) {
    case TFR__STEP_LAUNCH:
        if (step->backend->has_queue && !engine->queue)
            return tfr_fail(err, TFR_EDEVICE, "it has no queue any more: it failed earlier");
        step->launch.run = session->n_runs;
        return (tfr_status)step->backend->kernel.launch(step->backend->device, engine->queue,
                                                        step->kernel, &step->launch, err);
    case TFR__STEP_COPY:
        return tfr__engine_copy(engine, step->to_device, p->buffers[step->dst].address,
                                p->buffers[step->src].address, step->bytes, err);
    default:
        return tfr__engine_sync(engine, err);
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

static tfr_status give_out(tfr__plan *p, const tfr__live_out *out, tfr__env *env, tfr_err *err)
{
    tfr_tensor *t = NULL;
    tfr_shape shape;
    tfr_status status;
    if (out->known) { /* the caller may write into what it gets */
        status = tfr_tensor_copy(out->known, &t, err);
    } else if (!(status = true_shape(out, &shape, env, err))) {
        tfr__buffer *b = &p->buffers[out->buffer];
        if (!out->copy && !out->dims) {
            t = tfr_tensor_retain(b->tensor);
        } else if (!out->copy) {
            status = tfr_tensor_view(b->tensor, 0, &shape, NULL, &t, err);
        } else {
            tfr_tensor *alias;
            status = tfr_tensor_wrap((tfr_dtype)out->type.dtype, &shape, NULL, b->address, NULL,
                                     NULL, &alias, err);
            if (!status) {
                status = tfr_tensor_copy(alias, &t, err);
                tfr_tensor_release(alias);
            }
        }
    }
    if (status)
        return status;
    tfr_tensor_release(env->values[out->value]);
    env->values[out->value] = t;
    return TFR_OK;
}

/* What failed in a launch: says where, and takes the op from a backend that broke its yes. */
static tfr_status step_failed(tfr_session *session, tfr__plan *p, const tfr__step *step,
                              tfr_status status, const tfr__env *env, tfr_err *err)
{
    const tfr__node *node = step->node < 0 ? NULL : &env->body->graph->nodes[step->node];
    tfr_err copy = TFR_ERR_INIT;
    if (err)
        memcpy(copy.text, err->text, sizeof copy.text);
    if (status == TFR_ELOST && step->backend) {
        tfr__backend_quarantine(step->backend, -1, copy.text);
        p->stale = true;
        return tfr_fail(err, TFR_ELOST, "%s is lost%s%s%s: %.400s", step->backend->name,
                        node ? " at node \"" : "", node ? node->name : "", node ? "\"" : "",
                        copy.text);
    }
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

tfr_status tfr__plan_walk(tfr_session *session, tfr__plan *p, const tfr__env *env, tfr_err *err)
{
    for (uint32_t i = 0; i < p->n_steps; i++) {
        tfr_status status = step_run(session, p, &p->steps[i], env, err);
        if (status) {
            status = step_failed(session, p, &p->steps[i], status, env, err);
            tfr__engines_settle(
                session); /* nothing may still run when the caller takes memory back */
            return status;
        }
    }
    return TFR_OK;
}

tfr_status tfr__plan_run(tfr_session *session, tfr__plan *p, tfr__env *env, tfr_err *err)
{
    tfr_err own = TFR_ERR_INIT;
    tfr_status status;
    if (!err)
        err = &own;
    status = run_bind(p, env, err);
    if (!status)
        status = tfr__plan_walk(session, p, env, err);
    for (uint32_t i = 0; !status && i < p->n_live_outs; i++)
        status = give_out(p, &p->live_outs[i], env, err);
    run_unbind(p);
    return status;
}
