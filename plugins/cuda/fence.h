/* SPDX-License-Identifier: Apache-2.0 */
/* fence.h: fences, between fence.c and queue.c, which has the table of the facet. */
#ifndef CUDA_FENCE_H
#define CUDA_FENCE_H

#include "host.h"

typedef struct cuda_point {
    uint64_t value;
    tfr_cu_event *event;
    uint64_t launch;     /* the only one since the signal before; 0 = none or several */
    uint64_t n_findings; /* of the signaller's queue before it */
} cuda_point;

struct tfr_fence {
    tfr_plugin_device *device;
    pthread_mutex_t lock; /* of all that follows; taken before a queue's and the device's */
    tfr_queue *signaller;
    cuda_findings *findings; /* of the signaller, once it has some */
    uint64_t value;
    cuda_point *points; /* the oldest first */
    size_t n_points, capacity;
    cuda_failure failure; /* of values from failed_at on */
    uint64_t failed_at;
};

int32_t cuda_fence_create(tfr_plugin_device *device, const tfr_fence_options *options,
                          tfr_fence **out, tfr_err *err);
void cuda_fence_destroy(tfr_plugin_device *device, tfr_fence *fence);
int32_t cuda_signal(tfr_plugin_device *device, tfr_queue *queue, tfr_fence *fence, uint64_t value,
                    tfr_err *err);
int32_t cuda_wait(tfr_plugin_device *device, tfr_queue *queue, tfr_fence *fence, uint64_t value,
                  tfr_err *err);
int32_t cuda_host_wait(tfr_plugin_device *device, tfr_fence *fence, uint64_t value,
                       uint64_t timeout_ns, tfr_err *err);

#endif
