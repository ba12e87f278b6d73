/* SPDX-License-Identifier: Apache-2.0 */
/* tfrun/plugin_profile.h: facet tfr.profile/1, optional; included by tfrun/plugin.h. */
#ifndef TFRUN_PLUGIN_PROFILE_H
#define TFRUN_PLUGIN_PROFILE_H

#include <tfrun/plugin_device.h>

#define TFR_PROFILE_V1 "tfr.profile/1"

typedef enum tfr_profile_kind {
    TFR_PROFILE_KERNEL = 1,
    TFR_PROFILE_COPY = 2,
    TFR_PROFILE_REORDER = 3,
    TFR_PROFILE_WAIT = 4
} tfr_profile_kind;

/* Something that took time inside a launch. Times are CLOCK_MONOTONIC, in ns. */
typedef struct tfr_profile_record {
    uint32_t size;
    int32_t kind;  /* tfr_profile_kind */
    uint64_t id;   /* tfr_launch.id; 0 = of a copy or reorder that the core asked for, in order */
    uint32_t lane; /* thread or queue of the device, from 0 */
    int32_t node;  /* number of the node in the program's graph, -1 = several or none */
    uint64_t begin_ns, end_ns;
    uint64_t bytes; /* moved at least; 0 = unspecified */
    uint64_t flops; /* 0 = unspecified */
    char name[64];  /* what ran: "jit:avx512_core conv+relu" */
} tfr_profile_record;

typedef struct tfr_profile_facet {
    uint32_t size;
    uint32_t reserved;
    /* required [device]. on not 0: launches with an id are recorded from now on. */
    int32_t (*start)(tfr_plugin_device *device, int32_t on, tfr_err *err);
    /*
     * required [device], with nothing under way. Takes up to *n records, oldest first, and sets *n
     * to their number; 0 = no more. A plugin may drop the newest ones when its buffer is full.
     */
    int32_t (*drain)(tfr_plugin_device *device, tfr_profile_record *out, uint32_t stride,
                     uint32_t *n, tfr_err *err);
} tfr_profile_facet;
#define TFR_PROFILE_MIN_SIZE ((uint32_t)(offsetof(tfr_profile_facet, drain) + sizeof(void *)))

#endif
