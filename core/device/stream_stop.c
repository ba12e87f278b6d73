/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_stop.c: queues after an error, and those that do not end. Nothing that a queue may use is
 * freed before it is idle. One that a run's deadline finds busy is asked to give up; if it does not
 * in a while, it is stuck: the session runs nothing more until it has ended, and if that is never,
 * the queue, its device and all that its work may use are left to the process.
 */
#include <tfrun/fail.h>

#include "base/port/clock.h"
#include "device/staging.h"

#define GIVE_UP_NS UINT64_C(1000000000)

/* A failure stays on a fence for ever, so a queue that saw one is replaced. */
static void stream_replace(tfr__streams *streams, tfr__stream *e, tfr_queue *queue)
{
    streams->generation++; /* plans have the old one in their steps */
    tfr__stream_close(e->backend, queue, e->fence);
    e->queue = NULL;
    e->fence = NULL;
    e->fence_value = 0;
    e->failed = false;
    tfr__staging_land(e);            /* nothing is awaited; all of it is free */
    if (tfr__stream_open(e, NULL)) { /* nothing can be put on it any more */
        e->queue = NULL;
        if (!e->is_native) /* else the user may give another one */
            atomic_store(&e->backend->quarantined, true);
    }
}

/* The deadline is over, and the queue at work: is it idle now? Else it is stuck. */
static tfr_status stream_give_up(tfr__streams *streams, tfr__stream *e)
{
    tfr__backend *b = e->backend;
    tfr_status status;
    if (b->queue.abort && !e->is_native) /* what is not ours goes on */
        TFR__SLOT(b, "abort", NULL, NULL, b->queue.abort(b->device, e->queue, NULL));
    status = tfr__stream_wait(e, e->fence_value, tfr__now_ns() + GIVE_UP_NS, NULL);
    if (status == TFR_ETIMEOUT) {
        streams->generation++;
        streams->n_stuck++;
        e->stuck = e->queue;
        e->queue = NULL;
    }
    return status;
}

void tfr__streams_settle(tfr__streams *streams)
{
    for (uint32_t i = 0; i < streams->n; i++) { /* all, before one goes that others wait for */
        tfr__stream *e = &streams->items[i];
        tfr_err err = TFR_ERR_INIT;
        tfr_status status;
        tfr__staging_forget(e);
        status = tfr__stream_sync(e, &err);
        if (status == TFR_ETIMEOUT)
            status = stream_give_up(streams, e);
        e->failed = status && status != TFR_ETIMEOUT;
        if (status == TFR_ELOST) /* which another device may have told of as a failure */
            tfr__backend_quarantine(e->backend, -1, tfr__said(&err));
    }
    for (uint32_t i = 0; i < streams->n; i++)
        if (streams->items[i].failed)
            stream_replace(streams, &streams->items[i], streams->items[i].queue);
}

tfr_status tfr__streams_recover(tfr__streams *streams, tfr_err *err)
{
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; streams->n_stuck && i < streams->n; i++) {
        tfr__stream *e = &streams->items[i];
        if (e->stuck &&
            tfr__stream_wait(e, e->fence_value, 1, NULL) == TFR_ETIMEOUT) { /* at once */
            status = tfr_fail(err, TFR_EDEVICE,
                              "%s (%s) still has not ended work of a run that timed out, and the "
                              "session cannot run before; ask for another device",
                              e->device, e->backend->name);
        } else if (e->stuck) {
            tfr_queue *queue = e->stuck;
            e->stuck = NULL;
            streams->n_stuck--;
            stream_replace(streams, e, queue);
        }
    }
    return status;
}

bool tfr__stream_is_stuck(const tfr__streams *streams, const tfr__backend *backend)
{
    for (uint32_t i = 0; streams->n_stuck && i < streams->n; i++)
        if (streams->items[i].stuck && (streams->items[i].backend->plugin == backend->plugin ||
                                        tfr__backend_shares(streams->items[i].backend, backend)))
            return true;
    return false;
}

void tfr__stream_leave(tfr__streams *streams, tfr__stream *e)
{
    for (uint32_t i = 0; i < streams->n; i++) /* its work may use what others have allocated */
        if (streams->items[i].backend != e->backend &&
            tfr__backend_shares(streams->items[i].backend, e->backend))
            atomic_store(&streams->items[i].backend->left, true);
    if (!atomic_exchange(&e->backend->left, true))
        tfr__log(streams->runtime, TFR_LOG_WARNING, e->backend->plugin_name,
                 "%s (%s) has not ended work of a run that timed out; the device stays open, and "
                 "what its work may use is not freed, until the process ends",
                 e->device, e->backend->name);
}
