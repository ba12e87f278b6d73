/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native.c: the tables of the native backend: plugin, memory facet, kernel facet. The device is the
 * host's CPU, synchronous, with the host's memory as its only space. It uses no library: products,
 * convolutions, attention and what stands around them in float32, alone or compiled into programs.
 */
#include <stdlib.h>
#include <string.h>
#include <tfrun/host_device.h>
#include <tfrun/op_digests.h>

#include "profile.h"
#include "program.h"

TFR_PLUGIN_NOTE("native", TFR_PLUGIN_BACKEND, 110, "");

static const tfr_host *the_host;

/* ---- kernels ---- */

static int32_t native_ops(const tfr_device_info *device, tfr_op_claim *out, uint32_t stride,
                          uint32_t *n, tfr_err *err)
{
    uint32_t i;

    (void)device, (void)err;
    for (i = 0; i < native_n_op_rows && i < *n; i++) {
        const native_op *op = &native_op_rows[i];
        tfr_op_claim claim = {
            .size = sizeof claim,
            .since_version = op->since_version,
            .domain = op->domain,
            .name = op->name,
            .digest = tfr_op_digest(op->domain, op->name),
            .dtypes = op->types,
        };
        tfr_list_put(out, stride, *n, i, &claim, sizeof claim);
    }
    *n = native_n_op_rows;
    return TFR_OK;
}

static const tfr_kernel_facet kernel_facet = {
    .size = sizeof kernel_facet,
    .flags = TFR_KERNEL_TAKES_UNALIGNED | TFR_KERNEL_PREPARE_ANY,
    .ops = native_ops,
    .supports = native_supports,
    .prepare = native_prepare,
    .launch = native_launch,
    .drop = native_drop,
};

/* ---- the plugin ---- */

static int32_t native_open(const tfr_device_info *info, const tfr_open_options *options,
                           tfr_plugin_device **out, tfr_err *err)
{
    (void)info;
    return native_device_open(the_host, options, out, err);
}

static const void *native_facet(const char *id)
{
    if (strcmp(id, TFR_MEMORY_V1) == 0)
        return &tfr_host_device_memory;
    if (strcmp(id, TFR_KERNEL_V1) == 0)
        return &kernel_facet;
    if (strcmp(id, TFR_PROFILE_V1) == 0)
        return &native_profile_facet;
    if (strcmp(id, TFR_PROGRAM_V1) == 0)
        return &native_program_facet;
    return NULL;
}

static const tfr_plugin plugin = {
    .size = sizeof plugin,
    .abi_minor = TFR_ABI_MINOR,
    .name = "native",
    .version = "0.1.0",
    .vendor = "tfrun",
    .build_info = "",
    .enumerate = tfr_host_device_enumerate,
    .open = native_open,
    .close = native_device_close,
    .facet = native_facet,
};

int32_t tfrun_plugin_v0(const tfr_host *host, const tfr_plugin **out, tfr_err *err)
{
    (void)err;
    the_host = host;
    *out = &plugin;
    return TFR_OK;
}
