/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c: queues, fences and memory of the backends that a session uses. */
#include "device/stream.h"

#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "base/port/clock.h"
#include "device/staging.h"

static void queue_destroy(tfr__backend *b, tfr_queue *queue)
{
    TFR__SLOT(b, "queue destroy", NULL, NULL, b->queue.destroy(b->device, queue));
}

static void fence_destroy(tfr__backend *b, tfr_fence *fence)
{
    TFR__SLOT(b, "fence_destroy", NULL, NULL, b->queue.fence_destroy(b->device, fence));
}

/* One of the queues that the backend keeps; false = it has none. Its lock is held. */
static bool take_resting(tfr__stream *e)
{
    tfr__backend *b = e->backend;
    if (e->is_native || !b->n_resting)
        return false;
    const tfr__resting *r = &b->resting[--b->n_resting];
    e->queue = r->queue;
    e->fence = r->fence;
    e->fence_value = r->value;
    return true;
}

tfr_status tfr__stream_open(tfr__stream *stream, tfr_err *err)
{
    tfr__backend *b = stream->backend;
    const tfr_queue_options options = {
        .size = sizeof options, .native_kind = stream->native_kind, .native = stream->native};
    const tfr_queue_options *given = stream->is_native ? &options : NULL;
    tfr_status status;
    if (!b->has_queue)
        return TFR_OK;
    pthread_mutex_lock(&b->lock);
    if (take_resting(stream)) {
        pthread_mutex_unlock(&b->lock);
        return TFR_OK;
    }
    TFR__SLOT(b, "queue create", NULL, NULL,
              status =
                  tfr__plugin_status(b->queue.create(b->device, given, &stream->queue, err), err));
    if (!status && !stream->queue)
        status = tfr_fail(err, TFR_EPLUGIN, "the slot create of %s returned TFR_OK and no queue",
                          b->name);
    if (!status) {
        TFR__SLOT(b, "fence_create", NULL, NULL,
                  status = tfr__plugin_status(
                      b->queue.fence_create(b->device, NULL, &stream->fence, err), err));
        if (!status && !stream->fence)
            status = tfr_fail(err, TFR_EPLUGIN,
                              "the slot fence_create of %s returned TFR_OK and no fence", b->name);
        if (status)
            queue_destroy(b, stream->queue);
    }
    pthread_mutex_unlock(&b->lock);
    return status;
}

void tfr__stream_close(tfr__backend *b, tfr_queue *queue, tfr_fence *fence)
{
    pthread_mutex_lock(&b->lock);
    fence_destroy(b, fence);
    queue_destroy(b, queue);
    pthread_mutex_unlock(&b->lock);
}

tfr_status tfr__stream_gone(const tfr__backend *b, tfr_err *err)
{
    return tfr_fail(err, TFR_EDEVICE, "%s has no queue any more: it failed earlier", b->name);
}

tfr_status tfr__stream_reopen(tfr__streams *streams, tfr__stream *e, const char *kind, void *native,
                              tfr_err *err)
{
    tfr__stream was;
    tfr_status status;
    if (kind && strlen(kind) >= sizeof e->native_kind)
        return tfr_fail(err, TFR_ELIMIT, "the kind \"%.64s\" is too long", kind);
    status = tfr__stream_sync(e, err);
    if (status == TFR_ETIMEOUT)
        return status;
    tfr__staging_forget(e); /* what failed was reported by the run */
    tfr__staging_land(e);
    was = *e;
    e->fence_value = 0;
    e->queue = NULL;
    e->fence = NULL;
    e->is_native = kind != NULL;
    e->native = native;
    memcpy(e->native_kind, kind ? kind : "", kind ? strlen(kind) + 1 : 1);
    status = tfr__stream_open(e, err);
    if (status) {
        *e = was;
        return status;
    }
    streams->generation++; /* plans have the old one in their steps */
    if (was.queue)
        tfr__stream_close(e->backend, was.queue, was.fence);
    return TFR_OK;
}

static uint32_t count_backends(const tfr_runtime *runtime)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < runtime->n_devices; i++)
        n += runtime->devices[i].n_backends;
    return n;
}

void tfr__streams_init(tfr__streams *streams, tfr_runtime *runtime)
{
    *streams = (tfr__streams){.runtime = runtime, .n_memories = 1};
}

tfr_status tfr__stream_get(tfr__streams *streams, tfr__device *device, tfr__backend *backend,
                           uint32_t *out, tfr_err *err)
{
    tfr__stream stream = {0};
    tfr_status status;
    for (uint32_t i = 0; i < streams->n; i++) {
        if (streams->items[i].backend == backend) {
            *out = i;
            return TFR_OK;
        }
    }
    if (!streams->items)
        streams->items = tfr__calloc(count_backends(streams->runtime), sizeof stream);
    if (!streams->items)
        return tfr__no_memory(err);
    stream.backend = backend;
    stream.device = device->name;
    stream.deadline = &streams->deadline;
    stream.memory = device->is_host ? TFR__MEMORY_HOST : streams->n_memories;
    status = tfr__stream_open(&stream, err);
    if (status)
        return status;
    if (!device->is_host)
        streams->n_memories++;
    *out = streams->n;
    streams->items[streams->n++] = stream;
    return TFR_OK;
}

void tfr__streams_finish(tfr__streams *streams)
{
    streams->deadline = 0;
    /* All queues must be idle before one goes; their errors were reported by the run. */
    for (uint32_t i = 0; i < streams->n; i++)
        tfr__stream_sync(&streams->items[i], NULL);
    for (uint32_t i = 0; i < streams->n; i++) {
        tfr__stream *e = &streams->items[i];
        if (e->stuck) {
            tfr__stream_leave(streams, e);
            continue;
        }
        tfr__staging_finish(e);
        if (e->queue)
            tfr__stream_close(e->backend, e->queue, e->fence);
    }
    tfr__free(streams->items);
    streams->items = NULL;
    streams->n = 0;
}

tfr__stream *tfr__memory_stream(const tfr__streams *streams, uint32_t memory)
{
    for (uint32_t i = 0; i < streams->n; i++)
        if (streams->items[i].memory == memory)
            return &streams->items[i];
    return NULL;
}

void tfr__stream_free(tfr__streams *streams, uint32_t memory, void *address)
{
    tfr__stream *e;
    if (!address)
        return;
    if (memory == TFR__MEMORY_HOST) {
        tfr__free(address);
        return;
    }
    e = tfr__memory_stream(streams, memory);
    if (tfr__stream_is_stuck(streams, e->backend))
        return; /* its work may use it */
    tfr__backend_free(e->backend, 0, address);
}

bool tfr__stream_has_handles(const tfr__streams *streams, uint32_t memory)
{
    return memory != TFR__MEMORY_HOST &&
           tfr__memory_stream(streams, memory)->backend->space.flags & TFR_SPACE_HANDLES;
}

tfr_status tfr__stream_copy(tfr__stream *e, bool to_device, tfr_arg dst, tfr_arg src,
                            uint64_t bytes, tfr_err *err)
{
    tfr__backend *b = e->backend;
    tfr_copy copy = {.size = sizeof copy,
                     .dst = dst.address,
                     .dst_offset = dst.offset,
                     .src = src.address,
                     .src_offset = src.offset,
                     .bytes = bytes};
    tfr_status status;
    if (!bytes)
        return TFR_OK;
    copy.dst_space = to_device ? 0 : TFR_SPACE_HOST;
    copy.src_space = to_device ? TFR_SPACE_HOST : 0;
    if (!b->memory.copy) { /* every space is the host's own */
        status = tfr__stream_sync(e, err);
        if (!status)
            memcpy(dst.address, src.address, (size_t)bytes);
        return status;
    }
    if (tfr__staging_begin(e))
        return to_device ? tfr__staging_copy(e, true, dst, src.address, bytes, err)
                         : tfr__staging_copy(e, false, src, dst.address, bytes, err);
    return tfr__stream_enqueue(e, &copy, err);
}

tfr_status tfr__stream_enqueue(tfr__stream *e, const tfr_copy *copy, tfr_err *err)
{
    tfr__backend *b = e->backend;
    tfr_status status;
    if (b->has_queue && !e->queue)
        return tfr__stream_gone(b, err);
    if (!e->queue)
        pthread_mutex_lock(&b->lock);
    TFR__SLOT(b, "copy", NULL, NULL,
              status = (tfr_status)b->memory.copy(b->device, e->queue, copy, 1, sizeof *copy, err));
    if (!e->queue)
        pthread_mutex_unlock(&b->lock);
    return status;
}

tfr_status tfr__stream_wait(tfr__stream *e, uint64_t value, uint64_t deadline, tfr_err *err)
{
    tfr__backend *b = e->backend;
    tfr_status status;
    uint64_t left;
    do {
        const uint64_t now = deadline ? tfr__now_ns() : 0;
        left = !deadline ? TFR_WAIT_FOREVER : now < deadline ? deadline - now : 0;
        TFR__SLOT(b, "host_wait", NULL, NULL,
                  status = (tfr_status)b->queue.host_wait(b->device, e->fence, value, left, err));
    } while (status == TFR_ETIMEOUT && deadline && left); /* it may end early */
    if (status == TFR_ETIMEOUT && !deadline)
        return tfr_fail(err, TFR_EPLUGIN,
                        "the slot host_wait of %s timed out, it was to wait for ever", b->name);
    return status;
}

tfr_status tfr__stream_signal(tfr__stream *e, tfr_err *err)
{
    tfr__backend *b = e->backend;
    tfr_status status;
    TFR__SLOT(b, "signal", NULL, NULL,
              status = (tfr_status)b->queue.signal(b->device, e->queue, e->fence,
                                                   e->fence_value + 1, err));
    if (!status)
        e->fence_value++;
    return status;
}

tfr_status tfr__stream_sync(tfr__stream *e, tfr_err *err)
{
    tfr_status status;
    if (!e->queue)
        return TFR_OK;
    status = tfr__stream_signal(e, err);
    if (!status)
        status = tfr__stream_wait(e, e->fence_value, *e->deadline, err);
    if (!status)
        tfr__staging_land(e);
    return status;
}
