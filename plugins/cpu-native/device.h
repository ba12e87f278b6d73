/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.h: the one device of this backend, the host's processor, and what of it is used.
 */
#ifndef NATIVE_DEVICE_H
#define NATIVE_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tfrun/fail.h>
#include <tfrun/plugin.h>

#include "gemm.h"
#include "int8_product.h"

struct tfr_plugin_device {
    const tfr_host *host;
    const tfr_host_pool *pool;   /* NULL = the host has none */
    const tfr_host_arena *arena; /* NULL = the host has none */
    int threads;                 /* for each launch, at least 1 */
    int lanes;                   /* that the host's loops may have */
    native_gemm_cpu gemm;        /* how products are computed here */
    const struct native_isa *isa;
    const struct native_int8_isa *int8;
    native_int8_cpu int8_cpu;           /* and how those of 8 bits are */
    bool qdq;                           /* items may compute in integers what models dequantize */
    const struct native_nbits_isa *nbits;
    const struct native_bf16_isa *bf16; /* NULL = none */
    bool winograd;                      /* items may compute convolutions so */
    struct native_constant *constants;  /* that programs have packed */
    struct native_chunk *chunks;        /* their memory, the newest first */
    atomic_bool profiling;              /* somebody wants records of launches */
    struct native_profile *profile;     /* profile.c; NULL = nobody ever wanted any */
};

int32_t native_device_open(const tfr_host *host, const tfr_open_options *options,
                           tfr_plugin_device **out, tfr_err *err);
void native_device_close(tfr_plugin_device *device);

#endif
