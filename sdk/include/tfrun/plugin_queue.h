/* SPDX-License-Identifier: Apache-2.0 */
/* tfrun/plugin_queue.h: facet tfr.queue/1; without it the device is synchronous. Included by
 * tfrun/plugin.h. */
#ifndef TFRUN_PLUGIN_QUEUE_H
#define TFRUN_PLUGIN_QUEUE_H

#include <tfrun/plugin_device.h>

#define TFR_QUEUE_V1     "tfr.queue/1"
#define TFR_WAIT_FOREVER UINT64_MAX

/*
 * A queue runs what is put on it in order. A fence is a 64-bit timeline that only grows: signal(v)
 * on a queue makes it v when all earlier work of that queue is done. Work that fails puts its error
 * on the fences signalled after it; every later wait on them returns that error.
 */
typedef struct tfr_queue_facet {
    uint32_t size;
    uint32_t reserved;
    int32_t (*create)(tfr_plugin_device *device, tfr_queue **out,
                      tfr_err *err);                              /* required [device] */
    void (*destroy)(tfr_plugin_device *device, tfr_queue *queue); /* required [device], idle */
    int32_t (*fence_create)(tfr_plugin_device *device, tfr_fence **out,
                            tfr_err *err); /* required [device], at 0 */
    void (*fence_destroy)(tfr_plugin_device *device, tfr_fence *fence); /* required [device] */
    /* required [queue]: enqueue; returns at once. */
    int32_t (*signal)(tfr_plugin_device *device, tfr_queue *queue, tfr_fence *fence, uint64_t value,
                      tfr_err *err);
    /* required [queue]: later work of this queue waits until fence >= value; returns at once. */
    int32_t (*wait)(tfr_plugin_device *device, tfr_queue *queue, tfr_fence *fence, uint64_t value,
                    tfr_err *err);
    /* required [any]: blocks until fence >= value; TFR_ETIMEOUT, or the error that the fence
     * carries. */
    int32_t (*host_wait)(tfr_plugin_device *device, tfr_fence *fence, uint64_t value,
                         uint64_t timeout_ns, tfr_err *err);
} tfr_queue_facet;
#define TFR_QUEUE_MIN_SIZE ((uint32_t)(offsetof(tfr_queue_facet, host_wait) + sizeof(void *)))

#endif
