/* SPDX-License-Identifier: Apache-2.0 */
/* queues.h: a device of the direct host with two queues and work for them, and a kernel. */
#ifndef TFR_CERTIFY_QUEUES_H
#define TFR_CERTIFY_QUEUES_H

#include "direct.h"

enum { QUEUES_N_BUFFERS = 5 };

/* All zero but the device where that is synchronous. Each queue signals its own fence. */
typedef struct queues {
    direct_device device;
    tfr_queue *queue[2];
    tfr_fence *fence[2];
    uint64_t value[2];
    direct_buffer buffer[QUEUES_N_BUFFERS]; /* the first two are for work */
} queues;

/* Has the core load the plugin, for its tables; false = it takes no call, so there is nothing to
 * do. */
bool queues_load(certify_subject *subject);
tfr_status queues_open(certify_subject *subject, const tfr_option *options, uint32_t n, queues *out,
                       tfr_err *err);
/* Waits for both queues. What does not end is left alone. */
void queues_close(queues *q);
/*
 * Opens it for a check. False with a verdict if that cannot be, or, where queues are needed, the
 * plugin has none.
 */
bool queues_begin(certify_subject *subject, bool needs_queues, const tfr_option *options,
                  uint32_t n_options, queues *out, certify_verdict *v);

/* Queue i signals its fence with the next value; the host, or queue i, waits for the last one. */
tfr_status queues_signal(queues *q, int i, tfr_err *err);
tfr_status queues_wait(queues *q, int i, uint64_t timeout_ns, tfr_err *err);
tfr_status queues_wait_for(queues *q, int i, uint64_t value, uint64_t timeout_ns, tfr_err *err);
tfr_status queues_follow(queues *q, int i, int other, tfr_err *err);
/* Copies, on queue i. */
tfr_status queues_work(queues *q, int i, uint32_t n, tfr_err *err);

/* A call that the plugin takes, prepared on the device, and memory for its launches. */
typedef struct queues_kernel {
    certify_found found;
    direct_call call;
    direct_kernel kernel;
    direct_launch launch;
} queues_kernel;

/* False with a verdict. */
bool queues_prepare(certify_subject *subject, queues *q, queues_kernel *out, certify_verdict *v);
/* The device is idle. */
void queues_drop(queues *q, queues_kernel *k);

#endif
