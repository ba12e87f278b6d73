/* SPDX-License-Identifier: Apache-2.0 */
/* native.h: the driver's own objects of devices and queues, by kinds that plugins list. */
#ifndef TFR_CORE_NATIVE_H
#define TFR_CORE_NATIVE_H

#include "device/stream.h"

typedef enum tfr__native_of {
    TFR__NATIVE_DEVICE,
    TFR__NATIVE_QUEUE,
    TFR__NATIVE_IMPORT /* what a queue may be made of */
} tfr__native_of;

/* The backends that the name means and that know the kind, opened: bit b for backend b of *device.
 * TFR_EUNSUPPORTED says what there is instead. */
tfr_status tfr__native_find(tfr_runtime *runtime, const char *name, tfr__native_of of,
                            const char *kind, uint32_t *device, uint64_t *backends, tfr_err *err);
/* Of the device with queue NULL. */
tfr_status tfr__native_get(tfr__backend *backend, tfr_queue *queue, const char *kind, void **out,
                           tfr_err *err);

#endif
