/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h: records of what took time inside launches: facet tfr.profile/1. Kernels and programs
 * mark a stretch of work like this, on any thread, without locks and without taking memory:
 *
 *     uint64_t began = native_profile_begin(device, launch->id);   one branch when nobody asks
 *     ... the work ...
 *     if (began)
 *         native_profile_end(device, began, &(native_stretch){.id = launch->id, .node = 3, ...});
 *
 * Each lane has its own buffer of records; a full one drops the newest.
 */
#ifndef NATIVE_PROFILE_H
#define NATIVE_PROFILE_H

#include <time.h>

#include "device.h"

typedef struct native_stretch {
    uint64_t id;      /* of the launch */
    int32_t kind;     /* tfr_profile_kind */
    int32_t node;     /* of the program's graph; -1 = several or none */
    uint32_t lane;    /* thread of the pool (tfr_host_pool.lane), or 0 */
    const char *name; /* copied, cut after 63 bytes */
    uint64_t flops, bytes;
} native_stretch;

extern const tfr_profile_facet native_profile_facet;

static inline uint64_t native_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* The time, or 0 = do not record: nobody asks about this launch. */
static inline uint64_t native_profile_begin(const tfr_plugin_device *device, uint64_t id)
{
    return id && atomic_load_explicit(&device->profiling, memory_order_acquire) ? native_now_ns()
                                                                                : 0;
}

void native_profile_end(tfr_plugin_device *device, uint64_t began, const native_stretch *what);
/* With the device. */
void native_profile_free(tfr_plugin_device *device);

#endif
