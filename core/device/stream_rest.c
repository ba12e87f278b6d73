/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_rest.c: queues of sessions that are kept and mostly idle, as immediate calls have one for
 * each op. Drivers allow few queues, so between runs a backend keeps some for all of them.
 */
#include "device/stream.h"

/* A queue carries nothing over: it is idle, and its fence only counts. */
void tfr__streams_rest(tfr__streams *streams)
{
    for (uint32_t i = 0; i < streams->n; i++) {
        tfr__stream *e = &streams->items[i];
        tfr__backend *b = e->backend;
        bool kept = false;
        if (!e->queue || e->is_native || e->trace_asked || tfr__stream_sync(e, NULL))
            continue;
        pthread_mutex_lock(&b->lock);
        if (b->n_resting < TFR__MOST_RESTING) {
            b->resting[b->n_resting++] = (tfr__resting){e->queue, e->fence, e->fence_value};
            kept = true;
        }
        pthread_mutex_unlock(&b->lock);
        if (!kept)
            tfr__stream_close(b, e->queue, e->fence);
        e->queue = NULL;
        e->fence = NULL;
        e->rests = streams->rest = true;
        streams->generation++; /* plans have the old one in their steps */
    }
}

tfr_status tfr__streams_wake(tfr__streams *streams, tfr_err *err)
{
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < streams->n; i++) {
        tfr__stream *e = &streams->items[i];
        if (!e->rests)
            continue;
        e->fence_value = 0;
        status = tfr__stream_open(e, err);
        e->rests = status != TFR_OK;
        streams->generation++;
    }
    streams->rest = status != TFR_OK;
    return status;
}
