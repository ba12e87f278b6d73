/* SPDX-License-Identifier: Apache-2.0 */
/* tfrun/plugin_native.h: facet tfr.native/1, optional; included by tfrun/plugin.h. */
#ifndef TFRUN_PLUGIN_NATIVE_H
#define TFRUN_PLUGIN_NATIVE_H

#include <tfrun/plugin_device.h>

#define TFR_NATIVE_V1 "tfr.native/1"

/*
 * The driver's own objects, for users who work with the driver and with tfrun: what get gives of a
 * device or a queue, and what create of tfr.queue/1 takes (tfr_queue_options). A kind is a word of
 * the plugin, first the name of the interface: "cuda.stream", "opencl.context". Lists of kinds have
 * blanks between; NULL = none. The core asks for kinds that are listed and no others, and it looks
 * into no handle. A handle that is no pointer is converted to one by way of uintptr_t.
 */
typedef struct tfr_native_facet {
    uint32_t size;
    uint32_t reserved;
    const char *device_kinds; /* that get knows without a queue */
    const char *queue_kinds;  /* that get knows of a queue */
    const char *import_kinds; /* that create of a queue takes as native_kind */
    /*
     * required [any] without a queue, else [queue]. The handle stays the plugin's, which promises
     * it until the device is closed or the queue destroyed, and the user destroys nothing by it. A
     * lost device still gives it, for it is only passed on. An imported queue gives what was
     * imported.
     */
    int32_t (*get)(tfr_plugin_device *device, tfr_queue *queue, const char *kind, void **out,
                   tfr_err *err);
} tfr_native_facet;
#define TFR_NATIVE_MIN_SIZE ((uint32_t)(offsetof(tfr_native_facet, get) + sizeof(void *)))

#endif
