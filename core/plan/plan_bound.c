/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_bound.c: the steps of a plan with everything that a walk needs in place: what is called with
 * which object and arguments. Compiled for speed, as the walk is (exec.c).
 */
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "base/port/clock.h"
#include "plan/plan.h"
#include "device/slot.h"

/* ---- steps that are no launch: object is the tfr__step --------------------------------------- */

static tfr_arg place_of(const tfr__buffer *buffer)
{
    return (tfr_arg){.address = buffer->address, .offset = buffer->behind};
}

static int32_t call_copy(tfr_plugin_device *device, tfr_queue *queue, void *object,
                         const tfr_launch *launch, tfr_err *err)
{
    const tfr__step *step = object;
    const tfr__plan *p = step->plan;
    (void)device;
    (void)queue;
    (void)launch;
    if (step->from != UINT32_MAX)
        return tfr__stream_copy_peer(
            &p->streams->items[step->stream], &p->streams->items[step->from],
            place_of(&p->buffers[step->dst]), place_of(&p->buffers[step->src]), step->bytes, err);
    return tfr__stream_copy(&p->streams->items[step->stream], step->to_device,
                            place_of(&p->buffers[step->dst]), place_of(&p->buffers[step->src]),
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
    const tfr_arg from = place_of(&step->plan->buffers[step->src]), to = place_of(dst);
    (void)launch;
    return step->backend->layout.reorder(device, queue, &plain, step->layout, &from,
                                         TFR_LAYOUT_PLAIN, &to, err);
}

static int32_t call_sync(tfr_plugin_device *device, tfr_queue *queue, void *object,
                         const tfr_launch *launch, tfr_err *err)
{
    const tfr__step *step = object;
    (void)device;
    (void)queue;
    (void)launch;
    return tfr__stream_sync(&step->plan->streams->items[step->stream], err);
}

static int32_t call_order(tfr_plugin_device *device, tfr_queue *queue, void *object,
                          const tfr_launch *launch, tfr_err *err)
{
    const tfr__step *step = object;
    tfr__stream *items = step->plan->streams->items;
    (void)device;
    (void)queue;
    (void)launch;
    return tfr__stream_order(&items[step->stream], &items[step->from], err);
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

static tfr__launch_fn *step_call(const tfr__step *step, const tfr_queue *queue)
{
    switch (step->kind) {
    case TFR__STEP_COPY:
        return call_copy;
    case TFR__STEP_REORDER:
        return call_reorder;
    case TFR__STEP_SYNC:
        return call_sync;
    case TFR__STEP_ORDER:
        return call_order;
    default: {
        tfr__launch_fn *call = step->kind == TFR__STEP_LAYOUT ? call_layout : step->call;
        return step->backend->has_queue && !queue ? call_without_queue : call;
    }
    }
}

const tfr__step *tfr__plan_waited_for(const tfr__plan *p, const tfr__step *wait)
{
    for (const tfr__step *step = wait; step-- > p->steps;)
        if (step->kind == TFR__STEP_LAUNCH && step->stream == wait->stream)
            return step;
    return wait;
}

const tfr__node *tfr__plan_node(const tfr__plan *p, const tfr__step *step)
{
    const bool is_program = step->kind == TFR__STEP_LAUNCH && step->program >= 0;
    const int32_t node = is_program ? p->programs[step->program].node : step->node;
    return node < 0 ? NULL : &p->graph->nodes[node];
}

/* What is said of a step while it runs; of a wait the last launch that it waits for. */
static void announce_step(const tfr__plan *p, const tfr__step *step, tfr__where *out)
{
    static const char *const slots[] = {
        [TFR__STEP_LAUNCH] = "launch",  [TFR__STEP_COPY] = "copy",      [TFR__STEP_REORDER] = NULL,
        [TFR__STEP_SYNC] = "host_wait", [TFR__STEP_LAYOUT] = "reorder", [TFR__STEP_ORDER] = "wait",
    };
    const tfr__step *work = step->kind == TFR__STEP_SYNC ? tfr__plan_waited_for(p, step) : step;
    const bool is_program = work->kind == TFR__STEP_LAUNCH && work->program >= 0;
    const tfr__node *node = tfr__plan_node(p, work);
    atomic_init(&out->plugin, slots[step->kind] ? step->backend->plugin_name : NULL);
    atomic_init(&out->slot, slots[step->kind]);
    atomic_init(&out->node, node ? node->name : NULL);
    atomic_init(&out->op, node && !is_program ? node->op->name : NULL);
}

void tfr__step_bind(tfr__plan *p, uint32_t i, tfr__bound *bound)
{
    tfr__step *step = &p->steps[i];
    bound->call = step_call(step, bound->queue);
    if (step->kind != TFR__STEP_LAUNCH)
        bound->object = step;
    else
        bound->object =
            step->program < 0 ? (void *)step->kernel : (void *)p->programs[step->program].program;
}

void tfr__plan_rebind(tfr__plan *p)
{
    for (uint32_t i = 0; i < p->n_steps; i++) {
        const tfr__step *step = &p->steps[i];
        tfr__bound *bound = &p->bound[i];
        bound->queue = step->backend ? p->streams->items[step->stream].queue : NULL;
        tfr__step_bind(p, i, bound);
        if (bound->queue)
            p->watch |= TFR__WATCH_QUEUES;
    }
    p->queues = p->streams->generation;
    tfr__plan_bind_skipped(p);
    tfr__captures_bind(p);
}

uint64_t tfr__launch_ids(uint32_t n)
{
    static atomic_uint_fast64_t taken;
    return atomic_fetch_add(&taken, n) + 1;
}

tfr_status tfr__plan_bind(tfr__plan *p, tfr_err *err)
{
    const uint64_t id = tfr__launch_ids(p->n_steps);
    p->bound = tfr__calloc((size_t)p->n_steps + 1, sizeof *p->bound);
    p->where = tfr__calloc((size_t)p->n_steps + 1, sizeof *p->where);
    if (!p->bound || !p->where)
        return tfr__no_memory(err);
    for (uint32_t i = 0; i < p->n_steps; i++) {
        tfr__step *step = &p->steps[i];
        tfr__bound *bound = &p->bound[i];
        announce_step(p, step, &p->where[i]);
        bound->device = step->backend ? step->backend->device : NULL;
        bound->launch.size = sizeof bound->launch;
        bound->launch.id = step->backend && step->backend->has_queue ? id + i : 0;
        bound->launch.n_args = step->n_args;
        bound->launch.args = step->args;
        if (step->workspace != UINT32_MAX) {
            bound->launch.workspace = p->buffers[step->workspace].address;
            bound->launch.workspace_offset = p->buffers[step->workspace].behind;
        }
        if (step->random != UINT32_MAX) {
            bound->launch.random = p->buffers[step->random].address;
            bound->launch.random_offset = p->buffers[step->random].behind;
        }
    }
    tfr__plan_rebind(p);
    if (p->streams->runtime->checks_launches)
        p->watch |= TFR__WATCH_MODES;
    return TFR_OK;
}

void tfr__plan_patch(tfr__plan *p)
{
    /* Locals, for the compiler cannot know that the writes do not change p. */
    const tfr__patch *patch = p->patches, *end = patch + p->n_patches;
    const tfr__buffer *buffers = p->buffers;
    for (; patch < end; patch++)
        patch->arg->address = buffers[patch->buffer].address;
}

TFR__ANY_OBJECT
int32_t tfr__plan_step(tfr__plan *p, uint32_t i, tfr_err *err)
{
    tfr__thread *thread = tfr__thread_self();
    const tfr__where *was = tfr__thread_where(thread);
    const uint64_t mode = tfr__fp_mode();
    tfr__bound *b = &p->bound[i];
    int32_t status;
    if (p->deadline && tfr__now_ns() > p->deadline)
        return TFR_ETIMEOUT;
    tfr__thread_begin(thread);
    tfr__thread_enter(thread, &p->where[i]);
    status = b->call(b->device, b->queue, b->object, &b->launch, err);
    tfr__thread_leave(thread, was);
    if (!tfr__mode_is(thread, mode)) {
        const char *what = tfr__mode_restore(thread, mode);
        if (p->steps[i].backend)
            tfr__mode_tell(p->steps[i].backend->plugin, &p->where[i], what);
    }
    return status;
}
