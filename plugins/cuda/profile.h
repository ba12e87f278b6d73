/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h: what takes time on the device, for those who launch it. The context is current. */
#ifndef CUDA_PROFILE_H
#define CUDA_PROFILE_H

#include "host.h"

/* An event in front of what is launched next, or NULL: nobody asks. */
tfr_cu_event *cuda_span_begin(tfr_plugin_device *device, const tfr_queue *queue);
/* Takes over the event. */
void cuda_span_end(tfr_plugin_device *device, const tfr_queue *queue, tfr_cu_event *begin,
                   const tfr_profile_record *what);

/* Ranges of NVTX, if a tool of NVIDIA's has started the process or the option nvtx is 1. */
void cuda_ranges_open(void);
void cuda_range_begin(const char *name);
void cuda_range_end(void);

#endif
