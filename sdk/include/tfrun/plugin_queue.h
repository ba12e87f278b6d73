/* SPDX-License-Identifier: Apache-2.0 */
/* tfrun/plugin_queue.h: facet tfr.queue/1; without it the device is synchronous. Included by
 * tfrun/plugin.h. */
#ifndef TFRUN_PLUGIN_QUEUE_H
#define TFRUN_PLUGIN_QUEUE_H

#include <tfrun/plugin_device.h>

#define TFR_QUEUE_V1     "tfr.queue/1"
#define TFR_WAIT_FOREVER UINT64_MAX

/* How a queue is wanted; NULL = zeros. The core sets size. */
typedef struct tfr_queue_options {
    uint32_t size;
    uint32_t flags;   /* TFR_QUEUE_... */
    int32_t priority; /* higher runs first, where the device can; 0 = usual */
    uint32_t reserved;
    /*
     * A queue of the driver that belongs to somebody else, by the kind that native gives its own
     * by: work is put on that one, and it is not destroyed. NULL = a new one. TFR_EUNSUPPORTED for
     * a kind that the plugin does not know.
     */
    const char *native_kind;
    void *native;
} tfr_queue_options;

enum {
    TFR_QUEUE_COPIES = 1u << 0 /* will get copies alone: a copy engine's, if there is one */
};

/* How a fence is wanted; NULL = zeros. The core sets size. */
typedef struct tfr_fence_options {
    uint32_t size;
    uint32_t flags; /* none yet */
} tfr_fence_options;

/*
 * A queue runs what is put on it in order. A fence is a 64-bit timeline that only grows: signal(v)
 * on a queue makes it v when all earlier work of that queue is done. Work that fails puts its error
 * on the fences signalled after it; every later wait on them returns that error. Launches and
 * copies may return it, too, but a queue that is not lost still takes signals. Whoever returns the
 * error of earlier work puts the id of the launch that failed into tfr_err.launch, if it is known:
 * the core then says which node that was. The run fails; no kernel is given up for it, as it is for
 * a launch that fails at once.
 */
typedef struct tfr_queue_facet {
    uint32_t size;
    uint32_t reserved;
    /* required [device] */
    int32_t (*create)(tfr_plugin_device *device, const tfr_queue_options *options, tfr_queue **out,
                      tfr_err *err);
    void (*destroy)(tfr_plugin_device *device, tfr_queue *queue); /* required [device], idle */
    /* required [device], at 0 */
    int32_t (*fence_create)(tfr_plugin_device *device, const tfr_fence_options *options,
                            tfr_fence **out, tfr_err *err);
    void (*fence_destroy)(tfr_plugin_device *device, tfr_fence *fence); /* required [device] */
    /* required [queue]: enqueue; returns at once. */
    int32_t (*signal)(tfr_plugin_device *device, tfr_queue *queue, tfr_fence *fence, uint64_t value,
                      tfr_err *err);
    /* required [queue]: later work of this queue waits until fence >= value; returns at once. */
    int32_t (*wait)(tfr_plugin_device *device, tfr_queue *queue, tfr_fence *fence, uint64_t value,
                    tfr_err *err);
    /*
     * required [any]: blocks until fence >= value; the error that the fence carries, or
     * TFR_ETIMEOUT when it is not there after timeout_ns, with the launch that the queue is at in
     * tfr_err.launch, if it is known.
     */
    int32_t (*host_wait)(tfr_plugin_device *device, tfr_fence *fence, uint64_t value,
                         uint64_t timeout_ns, tfr_err *err);
    /*
     * optional [any]: gives up what is on the queue, at once or as soon as the driver can, and
     * returns without waiting for that. The fences signalled after it then get their values, and
     * carry a failure. The core calls it when a run has had its time, and waits about a second. A
     * queue that is not through with its work then is left alone with all that its work may use,
     * and so is the device: neither is destroyed or closed, unless the work ends later.
     */
    int32_t (*abort)(tfr_plugin_device *device, tfr_queue *queue, tfr_err *err);
} tfr_queue_facet;
#define TFR_QUEUE_MIN_SIZE ((uint32_t)(offsetof(tfr_queue_facet, host_wait) + sizeof(void *)))

#endif
