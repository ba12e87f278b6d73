/* SPDX-License-Identifier: Apache-2.0 */
/*
 * constant.c: nobody waits for an upload of somebody else, which may take as long as his deadline:
 * a copy is in the list when its elements have arrived, and not before. Two who upload the same at
 * the same time have two for so long.
 */
#include "device/constant.h"

#include <tfrun/fail.h>

#include "base/alloc.h"

static tfr__constant **list_of(tfr__backend *b, const tfr_tensor *tensor)
{
    return &b->constants[(uintptr_t)tensor / 64 % TFR__CONSTANT_LISTS];
}

/* One more user of the backend's, or NULL. Under its lock. */
static tfr__constant *find(tfr__backend *b, const tfr_tensor *tensor)
{
    tfr__constant *c = *list_of(b, tensor);
    while (c && c->tensor != tensor)
        c = c->next;
    if (c)
        c->refs++;
    return c;
}

tfr_status tfr__constant_get(tfr__streams *streams, uint32_t memory, const tfr_tensor *tensor,
                             bool is_shared, const char *name, tfr__constant **out, tfr_err *err)
{
    tfr__stream *stream = tfr__memory_stream(streams, memory);
    tfr__constant *c = NULL;
    tfr_status status;
    if (is_shared) {
        pthread_mutex_lock(&stream->backend->lock);
        c = find(stream->backend, tensor);
        pthread_mutex_unlock(&stream->backend->lock);
    }
    *out = c;
    if (c)
        return TFR_OK;
    *out = c = tfr__calloc(1, sizeof *c);
    if (!c)
        return tfr__no_memory(err);
    c->refs = 1;
    status = tfr__stream_alloc(streams, memory, tensor->bytes, TFR_ALLOC_CONSTANTS, "constant",
                               name, &c->address, err);
    return status ? status
                  : tfr__stream_copy(stream, true, (tfr_arg){.address = c->address},
                                     (tfr_arg){.address = tensor->data}, tensor->bytes, err);
}

tfr__constant *tfr__constant_share(tfr__streams *streams, uint32_t memory, tfr_tensor *tensor,
                                   tfr__constant *c)
{
    tfr__backend *b = tfr__memory_stream(streams, memory)->backend;
    tfr__constant *other;
    if (c->tensor) /* it is */
        return c;
    pthread_mutex_lock(&b->lock);
    other = find(b, tensor);
    if (!other) {
        c->tensor = tfr_tensor_retain(tensor);
        c->next = *list_of(b, tensor);
        *list_of(b, tensor) = c;
    }
    pthread_mutex_unlock(&b->lock);
    if (!other)
        return c;
    tfr__constant_release(streams, memory, c);
    return other;
}

void tfr__constant_release(tfr__streams *streams, uint32_t memory, tfr__constant *c)
{
    tfr__backend *b = c ? tfr__memory_stream(streams, memory)->backend : NULL;
    bool is_last;
    if (!c || tfr__stream_is_stuck(streams, b))
        return;
    pthread_mutex_lock(&b->lock);
    is_last = --c->refs == 0;
    if (is_last && c->tensor) {
        tfr__constant **at = list_of(b, c->tensor);
        while (*at != c)
            at = &(*at)->next;
        *at = c->next;
    }
    pthread_mutex_unlock(&b->lock);
    if (!is_last)
        return;
    tfr__backend_free(b, 0, c->address);
    tfr_tensor_release(c->tensor);
    tfr__free(c);
}
