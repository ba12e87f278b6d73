/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staging.c: the ring consists of segments. A copy takes slices of the segment at hand, so larger
 * ones are cut, and the host fills one segment while the queue empties those before. Who leaves a
 * segment puts a signal behind it on the queue; who comes back waits for that. So no copy of any
 * size blocks in the driver, and pinned memory, of which systems have little, stays bounded.
 *
 * The ring is small until a copy comes that is larger, for there is one for each session.
 */
#include "device/staging.h"

#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"

enum { SEGMENTS = 4, SMALL = 16 << 10, LARGE = 1 << 20, ALIGNMENT = 64 };

/* Bytes that came from the device, on their way to where the host wants them. */
typedef struct landing {
    void *dst;
    const void *src;
    size_t bytes;
    uint64_t fence; /* they are there when it is reached; 0 = the segment is not left yet */
} landing;

struct tfr__staging {
    char *ring; /* NULL = there was no memory: copies are direct */
    size_t segment_bytes, used;
    uint32_t segment;          /* at hand */
    uint64_t fences[SEGMENTS]; /* the queue has passed the segment when it is reached; 0 = free */
    landing *landings;         /* in the order of the queue */
    uint32_t n_landings, capacity;
};

static tfr_status ring_make(tfr__stream *e, size_t segment_bytes, tfr_err *err)
{
    tfr__staging *s = e->staging;
    void *ring;
    tfr_status status =
        tfr__backend_alloc(e->backend, e->backend->pinned_space, (uint64_t)segment_bytes * SEGMENTS,
                           TFR_ALLOC_STAGING, &ring, err);
    if (status)
        return status;
    tfr__backend_free(e->backend, e->backend->pinned_space, s->ring);
    s->ring = ring;
    s->segment_bytes = segment_bytes;
    return TFR_OK;
}

bool tfr__staging_begin(tfr__stream *e)
{
    if (!e->queue || e->backend->pinned_space == TFR_SPACE_HOST)
        return false;
    if (!e->staging) {
        e->staging = tfr__calloc(1, sizeof *e->staging);
        if (e->staging)
            (void)ring_make(e, SMALL, NULL); /* without, copies block, and are right */
    }
    return e->staging && e->staging->ring;
}

/* Copies out what the queue has passed. */
static void land_until(tfr__staging *s, uint64_t fence)
{
    uint32_t n = 0;
    while (n < s->n_landings && s->landings[n].fence && s->landings[n].fence <= fence) {
        memcpy(s->landings[n].dst, s->landings[n].src, s->landings[n].bytes);
        n++;
    }
    s->n_landings -= n;
    if (s->n_landings)
        memmove(s->landings, s->landings + n, s->n_landings * sizeof *s->landings);
}

static void ring_reset(tfr__staging *s)
{
    s->n_landings = 0;
    s->used = 0;
    memset(s->fences, 0, sizeof s->fences);
}

void tfr__staging_land(tfr__stream *e)
{
    tfr__staging *s = e->staging;
    if (!s)
        return;
    for (uint32_t i = 0; i < s->n_landings; i++)
        memcpy(s->landings[i].dst, s->landings[i].src, s->landings[i].bytes);
    ring_reset(s);
}

void tfr__staging_forget(tfr__stream *e)
{
    if (e->staging)
        e->staging->n_landings = 0;
}

void tfr__staging_finish(tfr__stream *e)
{
    if (!e->staging)
        return;
    tfr__backend_free(e->backend, e->backend->pinned_space, e->staging->ring);
    tfr__free(e->staging->landings);
    tfr__free(e->staging);
    e->staging = NULL;
}

static tfr_status next_segment(tfr__stream *e, tfr_err *err)
{
    tfr__staging *s = e->staging;
    uint32_t next = (s->segment + 1) % SEGMENTS;
    tfr_status status = tfr__stream_signal(e, err);
    if (status)
        return status;
    s->fences[s->segment] = e->fence_value;
    for (uint32_t i = s->n_landings; i-- > 0 && !s->landings[i].fence;)
        s->landings[i].fence = e->fence_value;
    if (s->fences[next]) {
        status = tfr__stream_wait(e, s->fences[next], *e->deadline, err);
        if (status)
            return status;
        land_until(s, s->fences[next]);
        s->fences[next] = 0;
    }
    s->segment = next;
    s->used = 0;
    return TFR_OK;
}

/* Room for up to *bytes of a copy; *bytes is how many. */
static tfr_status slice_take(tfr__stream *e, size_t *bytes, char **slice, tfr_err *err)
{
    tfr__staging *s = e->staging;
    if (s->used && *bytes > s->segment_bytes - s->used) {
        tfr_status status = next_segment(e, err);
        if (status)
            return status;
    }
    if (*bytes > s->segment_bytes)
        *bytes = s->segment_bytes;
    *slice = s->ring + s->segment * s->segment_bytes + s->used;
    s->used += (*bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return TFR_OK;
}

/* Does the host memory wait for bytes from the device? No plan reads it before a sync; this is for
 * those that might. */
static bool is_awaited(const tfr__staging *s, const char *host, uint64_t bytes)
{
    for (uint32_t i = 0; i < s->n_landings; i++)
        if ((uintptr_t)s->landings[i].dst < (uintptr_t)host + bytes &&
            (uintptr_t)host < (uintptr_t)s->landings[i].dst + s->landings[i].bytes)
            return true;
    return false;
}

static tfr_status stage(tfr__stream *e, bool to_device, tfr_arg place, char *host, size_t bytes,
                        char *slice, tfr_err *err)
{
    tfr__staging *s = e->staging;
    const uint32_t pinned = e->backend->pinned_space;
    const tfr_copy in = {.size = sizeof in,
                         .src_space = pinned,
                         .src = slice,
                         .dst = place.address,
                         .dst_offset = place.offset,
                         .bytes = bytes};
    const tfr_copy out = {.size = sizeof out,
                          .dst_space = pinned,
                          .dst = slice,
                          .src = place.address,
                          .src_offset = place.offset,
                          .bytes = bytes};
    tfr_status status;
    if (to_device) {
        memcpy(slice, host, bytes);
        return tfr__stream_enqueue(e, &in, err);
    }
    if (!tfr__reserve(&s->landings, s->n_landings + 1, &s->capacity, sizeof *s->landings))
        return tfr__no_memory(err);
    status = tfr__stream_enqueue(e, &out, err);
    if (!status)
        s->landings[s->n_landings++] = (landing){host, slice, bytes, 0};
    return status;
}

tfr_status tfr__staging_copy(tfr__stream *e, bool to_device, tfr_arg place, void *host,
                             uint64_t bytes, tfr_err *err)
{
    tfr__staging *s = e->staging;
    const bool grows = bytes > SMALL * SEGMENTS && s->segment_bytes == SMALL;
    tfr_status status = TFR_OK;
    if (grows || (to_device && is_awaited(s, host, bytes)))
        status = tfr__stream_sync(e, err);
    if (!status && grows)
        (void)ring_make(e, LARGE, NULL); /* the small one does it, too */
    for (uint64_t done = 0; !status && done < bytes;) {
        const uint64_t left = bytes - done;
        size_t n = left < LARGE ? (size_t)left : LARGE;
        char *slice = NULL;
        status = slice_take(e, &n, &slice, err);
        if (!status)
            status = stage(e, to_device, place, (char *)host + done, n, slice, err);
        done += n;
        if (e->backend->space.flags & TFR_SPACE_HANDLES)
            place.offset += n;
        else
            place.address = (char *)place.address + n;
    }
    return status;
}
