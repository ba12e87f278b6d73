/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staging.h: copies between ordinary host memory and a device go through a ring of pinned memory,
 * if the device has such, since drivers make the host wait for copies of ordinary memory.
 */
#ifndef TFR_CORE_STAGING_H
#define TFR_CORE_STAGING_H

#include "device/stream.h"

/* Does the stream stage its copies? Makes the ring when first asked. */
bool tfr__staging_begin(tfr__stream *stream);
/* To or from a place on the device. From the device, the host has the bytes after the next sync. */
tfr_status tfr__staging_copy(tfr__stream *stream, bool to_device, tfr_arg place, void *host,
                             uint64_t bytes, tfr_err *err);
/* The host has waited for all that is on the queue: what came from the device goes where it was
 * to go. */
void tfr__staging_land(tfr__stream *stream);
/* Nobody wants any more what comes from the device. The queue is waited for, or replaced, next. */
void tfr__staging_forget(tfr__stream *stream);
/* The queue is idle. */
void tfr__staging_finish(tfr__stream *stream);

#endif
