/* SPDX-License-Identifier: Apache-2.0 */
/* native.c: handles of devices and queues for their user, and the user's own queues. */
#include <string.h>
#include <tfrun/fail.h>
#include <tfrun/native.h>

#include "device/native.h"
#include "run/session.h"

tfr_status tfr_runtime_native(tfr_runtime *runtime, const char *name, const char *kind, void **out,
                              tfr_err *err)
{
    uint64_t backends;
    uint32_t device;
    tfr_status status =
        tfr__native_find(runtime, name, TFR__NATIVE_DEVICE, kind, &device, &backends, err);
    if (status)
        return status;
    return tfr__native_get(&runtime->devices[device].backends[__builtin_ctzll(backends)], NULL,
                           kind, out, err);
}

/* The stream of the first of the backends, and it is not one of them any more. */
static tfr_status next_stream(tfr_session *session, uint32_t device, uint64_t *backends,
                              tfr__stream **out, tfr_err *err)
{
    tfr__device *d = &session->runtime->devices[device];
    uint32_t i;
    tfr_status status =
        tfr__stream_get(&session->streams, d, &d->backends[__builtin_ctzll(*backends)], &i, err);
    *backends &= *backends - 1;
    if (!status)
        *out = &session->streams.items[i];
    return status;
}

tfr_status tfr_session_native(tfr_session *session, const char *name, const char *kind, void **out,
                              tfr_err *err)
{
    tfr__stream *stream = NULL;
    uint64_t backends;
    uint32_t device;
    tfr_status status =
        tfr__native_find(session->runtime, name, TFR__NATIVE_QUEUE, kind, &device, &backends, err);
    if (status)
        return status;
    pthread_mutex_lock(&session->lock);
    status = tfr__session_begin(session, err);
    if (!status)
        status = next_stream(session, device, &backends, &stream, err);
    if (!status && !stream->queue)
        status = tfr__stream_gone(stream->backend, err);
    if (!status)
        status = tfr__native_get(stream->backend, stream->queue, kind, out, err);
    session->streams.deadline = 0;
    pthread_mutex_unlock(&session->lock);
    return status;
}

tfr_status tfr_session_set_queue(tfr_session *session, const char *name, const char *kind,
                                 void *queue, tfr_err *err)
{
    tfr__stream *stream = NULL;
    uint64_t backends;
    uint32_t device;
    int32_t one;
    tfr_status status;
    if (kind) {
        status = tfr__native_find(session->runtime, name, TFR__NATIVE_IMPORT, kind, &device,
                                  &backends, err);
    } else { /* all that have one of the user's */
        status = tfr_runtime_find(session->runtime, name, &device, &one, err);
        backends = one < 0 ? UINT64_MAX : UINT64_C(1) << one;
    }
    if (status)
        return status;
    pthread_mutex_lock(&session->lock);
    status = tfr__session_begin(session, err);
    for (uint32_t i = 0; !status && !kind && i < session->streams.n; i++) {
        tfr__stream *s = &session->streams.items[i];
        const tfr__device *d = &session->runtime->devices[device];
        if (s->backend >= d->backends && s->backend < d->backends + d->n_backends &&
            backends >> (s->backend - d->backends) & 1 && s->is_native)
            status = tfr__stream_reopen(&session->streams, s, NULL, NULL, err);
    }
    while (!status && kind && backends) {
        status = next_stream(session, device, &backends, &stream, err);
        if (!status)
            status = tfr__stream_reopen(&session->streams, stream, kind, queue, err);
    }
    session->streams.deadline = 0;
    pthread_mutex_unlock(&session->lock);
    return status;
}
