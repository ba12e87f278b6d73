/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.c: queues on streams. A stream of ours never waits for the legacy default stream. Work that
 * fails without killing the context failed before it was put on the stream, so that a queue knows
 * on the host that it is to skip what follows, and its fences are told at their signals.
 */
#include "fence.h"
#include "finding.h"

#include <stdlib.h>
#include <string.h>

#define STREAM_KIND  "cuda.stream"
#define CONTEXT_KIND "cuda.context"

/* ---- failures -------------------------------------------------------------------------------- */

void cuda_queue_fail(tfr_queue *queue, const cuda_failure *failure)
{
    pthread_mutex_lock(&queue->lock);
    if (!atomic_load(&queue->has_failed)) {
        queue->failure = *failure;
        atomic_store(&queue->has_failed, true);
    }
    pthread_mutex_unlock(&queue->lock);
}

int32_t cuda_queue_tell(tfr_queue *queue, tfr_err *err)
{
    int32_t status;

    pthread_mutex_lock(&queue->lock);
    status = cuda_failure_tell(&queue->failure, err);
    pthread_mutex_unlock(&queue->lock);
    return status;
}

/* ---- the slots ------------------------------------------------------------------------------- */

/* The context is current. */
static int32_t make_stream(tfr_plugin_device *device, const tfr_queue_options *options,
                           tfr_queue *queue, tfr_err *err)
{
    const char *kind =
        options && TFR_HAS(options, tfr_queue_options, native) ? options->native_kind : NULL;
    int least = 0, greatest = 0, priority = options ? -options->priority : 0;
    tfr_cu_context *context = NULL;
    int32_t status;

    if (kind && strcmp(kind, STREAM_KIND) != 0)
        return tfr_fail(err, TFR_EUNSUPPORTED, "a queue cannot be made of a %s", kind);
    if (kind) {
        queue->stream = options->native;
        queue->is_imported = true;
        status = cuda_check(device, cuda_driver.cuStreamGetCtx(queue->stream, &context), err,
                            "a stream of the user's");
        if (status == TFR_OK && context != device->context)
            status = tfr_fail(err, TFR_EINVAL,
                              "the stream is not of the primary context of %s, whose memory it "
                              "would work on",
                              device->facts.name);
        return status;
    }
    /* The driver counts down: 0 is usual, the least number the most urgent. */
    (void)cuda_driver.cuCtxGetStreamPriorityRange(&least, &greatest);
    priority = priority < greatest ? greatest : priority > least ? least : priority;
    return cuda_check(device,
                      cuda_driver.cuStreamCreateWithPriority(&queue->stream,
                                                             TFR_CU_STREAM_NON_BLOCKING, priority),
                      err, "a stream of %s", device->facts.name);
}

static int32_t cuda_queue_create(tfr_plugin_device *device, const tfr_queue_options *options,
                                 tfr_queue **out, tfr_err *err)
{
    tfr_queue *queue;
    int32_t status;

    if (options && options->flags & TFR_MUST_UNDERSTAND)
        return tfr_fail(err, TFR_EUNSUPPORTED, "a queue with flags 0x%x", (unsigned)options->flags);
    queue = calloc(1, sizeof *queue);
    if (!queue)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a queue");
    queue->device = device;
    queue->lane = atomic_fetch_add(&device->n_queues, 1);
    status = cuda_enter(device, err);
    if (status == TFR_OK) {
        status = make_stream(device, options, queue, err);
        cuda_leave(device);
    }
    if (status != TFR_OK) {
        free(queue);
        return status;
    }
    pthread_mutex_init(&queue->lock, NULL);
    *out = queue;
    return TFR_OK;
}

static void cuda_queue_destroy(tfr_plugin_device *device, tfr_queue *queue)
{
    if (!queue->is_imported && !device->is_dead &&
        cuda_driver.cuCtxPushCurrent_v2(device->context) == TFR_CU_SUCCESS) {
        (void)cuda_driver.cuStreamDestroy_v2(queue->stream);
        cuda_leave(device);
    }
    cuda_findings_leave(queue->findings);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

/* No kernel that runs can be stopped: what is on the stream comes to its end, nothing follows. */
static int32_t cuda_abort(tfr_plugin_device *device, tfr_queue *queue, tfr_err *err)
{
    cuda_failure failure = {.code = TFR_EDEVICE, .text = "the queue was given up"};

    (void)device, (void)err;
    cuda_queue_fail(queue, &failure);
    return TFR_OK;
}

const tfr_queue_facet cuda_queue_facet = {
    .size = sizeof cuda_queue_facet,
    .create = cuda_queue_create,
    .destroy = cuda_queue_destroy,
    .fence_create = cuda_fence_create,
    .fence_destroy = cuda_fence_destroy,
    .signal = cuda_signal,
    .wait = cuda_wait,
    .host_wait = cuda_host_wait,
    .abort = cuda_abort,
};

/* ---- native ---------------------------------------------------------------------------------- */

static int32_t cuda_native(tfr_plugin_device *device, tfr_queue *queue, const char *kind,
                           void **out, tfr_err *err)
{
    if (queue && strcmp(kind, STREAM_KIND) == 0)
        *out = queue->stream;
    else if (!queue && strcmp(kind, CONTEXT_KIND) == 0)
        *out = device->context;
    else
        return tfr_fail(err, TFR_EUNSUPPORTED, "no handle of the kind %s", kind);
    return TFR_OK;
}

const tfr_native_facet cuda_native_facet = {
    .size = sizeof cuda_native_facet,
    .device_kinds = CONTEXT_KIND,
    .queue_kinds = STREAM_KIND,
    .import_kinds = STREAM_KIND,
    .get = cuda_native,
};
