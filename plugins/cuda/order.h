/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.h: which launches of a capture wait for which. A stream would put them one behind the
 * other; here a launch is behind those whose memory it shares, as far as one of the two writes
 * there, so that the GPU may run the others at once. All that comes to the stream by other ways
 * (copies, waits for other queues) is behind everything that was captured before, and in front of
 * everything that follows.
 */
#ifndef CUDA_ORDER_H
#define CUDA_ORDER_H

#include "kernel.h"

typedef struct cuda_order cuda_order;

/* Of a capture that has begun. NULL: the driver or the memory is not there, and launches stay one
 * behind the other. */
cuda_order *cuda_order_new(void);
void cuda_order_drop(cuda_order *order); /* NULL is fine */

/* Around what a launch puts on the queue's stream; without an order nothing happens. */
int32_t cuda_order_before(tfr_plugin_device *device, tfr_queue *queue, const tfr_kernel *kernel,
                          const tfr_launch *launch, tfr_err *err);
int32_t cuda_order_after(tfr_plugin_device *device, tfr_queue *queue, tfr_err *err);
/* Whether a launch or one of these has failed, so that the capture is not to be used. NULL: no. */
bool cuda_order_has_failed(const cuda_order *order);

#endif
