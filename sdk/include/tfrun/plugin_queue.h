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
    uint32_t flags;   /* none yet */
    int32_t priority; /* higher runs first, where the device can; 0 = usual */
    uint32_t reserved;
    /*
     * A queue of the driver that belongs to somebody else, as one of the import_kinds of
     * tfr.native/1: work is put on that one, behind what is there already. Its owner may put work
     * on it, too, while nothing calls this queue; signals count that work and carry its failures,
     * and no launch is named for them. destroy leaves the owner's queue as it is, and abort is
     * never called. It stays until destroy. NULL = a new one.
     */
    const char *native_kind;
    void *native;
} tfr_queue_options;

/* How a fence is wanted; NULL = zeros. The core sets size. */
typedef struct tfr_fence_options {
    uint32_t size;
    uint32_t flags; /* none yet */
} tfr_fence_options;

/*
 * A queue runs what is put on it in order. A fence is a 64-bit timeline that only grows: signal(v)
 * on a queue makes it v when all earlier work of that queue is done.
 *
 * What the core keeps to, so that an event of CUDA or a marker of OpenCL is enough for a value:
 *
 * - One queue signals a fence, one of the fence's own device, and each value is greater than the
 *   one before.
 * - A wait for a value comes only after the signal of that value, or of a greater one, has been put
 *   on its queue. No wait can be the first to name a value.
 * - Any queue of the plugin may wait for a fence, a queue of another of its devices, too: `device`
 *   is the queue's then. Another plugin's fences are never given: there the core waits on the host.
 * - signal and wait are calls of the queue that they name. While one thread puts a wait for a fence
 *   on a queue, another may signal that fence on its own queue, or wait for it on the host.
 * - A queue is destroyed when host_wait has returned for a value signalled after all its work, with
 *   an error or not; a fence, when that holds for its queue and for every queue that waits for it.
 *
 * What the plugin keeps to:
 *
 * - signal and wait only enqueue: neither waits for work of the device.
 * - When work fails, the queue skips all work after it, for as long as it lives. Its signals are
 *   done none the less, so that nobody waits for ever, and the fences carry the failure: host_wait
 *   for values signalled after it returns it. Launches and copies may return it, too, but a queue
 *   that is not lost still takes signals and waits.
 * - Whoever returns the error of earlier work puts the id of the launch that failed into
 *   tfr_err.launch, if it is known: the core then says which node that was. The run fails; no
 *   kernel is given up for it, as it is for a launch that fails at once.
 * - A queue that waits for a fence which carries a failure takes that over: it skips its later
 *   work, and its own fences carry the same status, text and launch on. Only TFR_ELOST of another
 *   device is carried on as TFR_EDEVICE: the device of the waiting queue is not lost.
 * - A lost device ends the work of its queues by itself. create, fence_create, signal and wait may
 *   return TFR_ELOST then; host_wait returns it, for values that were never signalled, too; both
 *   destroy functions do their work.
 */
typedef struct tfr_queue_facet {
    uint32_t size;
    uint32_t reserved;
    /* required [device] */
    int32_t (*create)(tfr_plugin_device *device, const tfr_queue_options *options, tfr_queue **out,
                      tfr_err *err);
    void (*destroy)(tfr_plugin_device *device, tfr_queue *queue); /* required [device], idle */
    /* required [device]. It is at 0. */
    int32_t (*fence_create)(tfr_plugin_device *device, const tfr_fence_options *options,
                            tfr_fence **out, tfr_err *err);
    void (*fence_destroy)(tfr_plugin_device *device, tfr_fence *fence); /* required [device] */
    /* required [queue]: enqueue; returns at once. */
    int32_t (*signal)(tfr_plugin_device *device, tfr_queue *queue, tfr_fence *fence, uint64_t value,
                      tfr_err *err);
    /*
     * required [queue]: later work of this queue waits until fence >= value; returns at once. The
     * fence may be one of another device of the plugin.
     */
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
