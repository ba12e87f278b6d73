/* SPDX-License-Identifier: Apache-2.0 */
/* native.c: who knows a kind of the driver's objects, and how to get one. */
#include "device/native.h"

#include <stdio.h>
#include <string.h>
#include <tfrun/fail.h>

#include "base/port/cpu.h"

static const char *kinds_of(const tfr__backend *b, tfr__native_of of)
{
    const char *kinds = !b->has_native             ? NULL
                        : of == TFR__NATIVE_DEVICE ? b->native.device_kinds
                        : of == TFR__NATIVE_QUEUE  ? b->native.queue_kinds
                                                   : b->native.import_kinds;
    if (!kinds || (of != TFR__NATIVE_DEVICE && !b->has_queue))
        return "";
    return kinds;
}

tfr_status tfr__native_find(tfr_runtime *runtime, const char *name, tfr__native_of of,
                            const char *kind, uint32_t *device, uint64_t *backends, tfr_err *err)
{
    static const char *const what[] = {"a handle of a device", "a handle of a queue", "a queue"};
    char text[256] = "";
    size_t used = 0;
    int32_t one;
    tfr__device *d;
    tfr_status status = tfr_runtime_find(runtime, name, device, &one, err);
    if (status)
        return status;
    d = &runtime->devices[*device];
    *backends = 0;
    for (uint32_t i = 0; i < d->n_backends && i < 64; i++) {
        tfr_err why = TFR_ERR_INIT;
        const char *kinds = "";
        bool known;
        if (one >= 0 && (uint32_t)one != i)
            continue;
        if (!tfr__backend_open(runtime, &d->backends[i], &why))
            kinds = kinds_of(&d->backends[i], of);
        known = strlen(kind) && tfr__words_have(kinds, kind, strlen(kind));
        *backends |= (uint64_t)known << i;
        if (used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "; %s has %s",
                                     d->backends[i].name,
                                     *kinds        ? kinds
                                     : why.text[0] ? why.text
                                                   : "none");
    }
    if (*backends)
        return TFR_OK;
    return tfr_fail(err, TFR_EUNSUPPORTED, "%s has no kind \"%.64s\" of %s%s", name, kind, what[of],
                    text);
}

tfr_status tfr__native_get(tfr__backend *b, tfr_queue *queue, const char *kind, void **out,
                           tfr_err *err)
{
    void *handle = NULL;
    tfr_status status;
    TFR__SLOT(b, "native get", NULL, NULL,
              status =
                  tfr__plugin_status(b->native.get(b->device, queue, kind, &handle, err), err));
    if (!status)
        *out = handle;
    return status;
}
