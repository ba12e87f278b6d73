/* SPDX-License-Identifier: Apache-2.0 */
/* backend_memory.c: memory in one space of a backend, as its plugin gives it, and whose it is, too.
 */
#include <inttypes.h>
#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "device/account.h"
#include "device/stream.h"

tfr_status tfr__backend_alloc(tfr__backend *b, uint32_t space, uint64_t bytes, uint32_t use,
                              void **out, tfr_err *err)
{
    const tfr_alloc_options options = {
        .size = sizeof options, .flags = use, .align = space ? 0 : b->space.alignment};
    tfr_status status;
    *out = NULL;
    if (space == TFR_SPACE_HOST) {
        if (bytes <= SIZE_MAX / 2)
            *out = tfr__alloc_aligned((size_t)bytes, 64);
        return *out ? TFR_OK
                    : tfr_fail(err, TFR_ENOMEM, "no host memory for %" PRIu64 " bytes", bytes);
    }
    if (space == 0 && b->space.max_alloc && bytes > b->space.max_alloc)
        return tfr_fail(err, TFR_ENOMEM, "%s gives at most %" PRIu64 " bytes at once", b->name,
                        b->space.max_alloc);
    status = space ? TFR_OK : tfr__account_may(b->device, bytes, err);
    if (status)
        return status;
    pthread_mutex_lock(&b->lock);
    TFR__SLOT(b, "alloc", NULL, NULL,
              status = tfr__plugin_status(
                  b->memory.alloc(b->device, space, bytes, &options, out, err), err));
    pthread_mutex_unlock(&b->lock);
    if (status)
        *out = NULL;
    else if (!*out)
        status = tfr_fail(err, TFR_EPLUGIN, "the slot alloc of %s returned TFR_OK and no memory",
                          b->name);
    else if (!space)
        tfr__account_add(b->device, *out, bytes);
    return status;
}

void tfr__backend_free(tfr__backend *b, uint32_t space, void *address)
{
    if (!address)
        return;
    if (space == TFR_SPACE_HOST) {
        tfr__free(address);
        return;
    }
    if (!space)
        tfr__account_remove(b->device, address);
    pthread_mutex_lock(&b->lock);
    TFR__SLOT(b, "free", NULL, NULL, b->memory.free(b->device, space, address));
    pthread_mutex_unlock(&b->lock);
}

bool tfr__backend_shares(const tfr__backend *a, const tfr__backend *b)
{
    return a->space.domain[0] && !strcmp(a->space.domain, b->space.domain) &&
           a->space.flags == b->space.flags;
}
