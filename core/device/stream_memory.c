/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_memory.c: memory for plans. When a device has none left, what could be used later goes
 * first: plans of other shapes, then what the plugin itself keeps.
 */
#include <inttypes.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "device/stream.h"

/* In front of what the plugin says. */
static tfr_status tell_full(const tfr__stream *e, uint64_t bytes, const char *what,
                            const char *whose, const tfr_err *why, tfr_err *err)
{
    static const char *const units[] = {"bytes", "KiB", "MiB"};
    const int unit = bytes >= UINT64_C(10) << 20 ? 2 : bytes >= UINT64_C(10) << 10 ? 1 : 0;
    tfr_fail(err, TFR_ENOMEM, "%s has no memory for %" PRIu64 " %s of %s \"%s\" (%.300s)",
             e ? e->device : "the host", bytes >> (10 * unit), units[unit], what, whose, why->text);
    if (err && TFR_HAS(err, tfr_err, native))
        err->native = why->native;
    return TFR_ENOMEM;
}

tfr_status tfr__stream_alloc(tfr__streams *streams, uint32_t memory, uint64_t bytes, uint32_t use,
                             const char *what, const char *whose, void **out, tfr_err *err)
{
    tfr_err why = TFR_ERR_INIT;
    tfr__stream *e;
    tfr__backend *b;
    tfr_status status;
    bool can_help;
    *out = NULL;
    if (!bytes)
        return TFR_OK;
    if (memory == TFR__MEMORY_HOST) {
        /* What is half a huge page or more gets whole ones: one comes in a tenth of the time that
         * the page faults of its half take, which the first run would wait for. */
        const uint64_t page = bytes < TFR__HUGE_PAGE / 2 ? 1 : TFR__HUGE_PAGE;
        if (bytes <= SIZE_MAX / 2)
            *out = tfr__alloc_aligned((size_t)((bytes + page - 1) & ~(page - 1)), 64);
        if (*out)
            return TFR_OK;
        tfr_fail(&why, TFR_ENOMEM, "%" PRIu64 " bytes", bytes);
        return tell_full(NULL, bytes, what, whose, &why, err);
    }
    e = tfr__memory_stream(streams, memory);
    b = e->backend;
    can_help = !b->space.max_alloc || bytes <= b->space.max_alloc;
    do
        status = tfr__backend_alloc(b, 0, bytes, use, out, &why);
    while (status == TFR_ENOMEM && can_help && streams->make_room &&
           streams->make_room(streams->user, memory));
    if (status == TFR_ENOMEM && can_help && b->memory.trim) {
        pthread_mutex_lock(&b->lock);
        TFR__SLOT(b, "trim", NULL, NULL, b->memory.trim(b->device));
        pthread_mutex_unlock(&b->lock);
        status = tfr__backend_alloc(b, 0, bytes, use, out, &why);
    }
    if (!status)
        return TFR_OK;
    tfr__said(&why);
    if (status == TFR_ENOMEM)
        return tell_full(e, bytes, what, whose, &why, err);
    return tfr_fail(err, status, "%s: %s", b->name, why.text);
}
