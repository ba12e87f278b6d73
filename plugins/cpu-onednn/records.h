/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records.h: what primitives took inside of launches: facet tfr.profile/1. The launching thread
 * writes, without locks and without taking memory; a full buffer drops the newest.
 */
#ifndef ONEDNN_RECORDS_H
#define ONEDNN_RECORDS_H

#include <time.h>

#include "onednn.h"

extern const tfr_profile_facet onednn_profile_facet;

static inline uint64_t onednn_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Only while the device is profiling. */
void onednn_add_record(tfr_plugin_device *device, const tfr_profile_record *record);

#endif
