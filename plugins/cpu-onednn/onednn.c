/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onednn.c: the tables of the oneDNN backend: plugin, memory facet, kernel facet. The device is the
 * host's CPU, synchronous, with the host's memory as its only space.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/host_device.h>
#include <tfrun/op_digests.h>

#include "library.h"
#include "records.h"
#include "kernel.h"

TFR_PLUGIN_NOTE("onednn", TFR_PLUGIN_BACKEND, 100, "");

static const tfr_host *the_host;
static char build_info[128];

/* ---- kernels ---- */

static int32_t onednn_ops(const tfr_device_info *device, tfr_op_claim *out, uint32_t stride,
                          uint32_t *n, tfr_err *err)
{
    uint32_t i;

    (void)device;
    (void)err;
    for (i = 0; i < onednn_n_op_rows && i < *n; i++) {
        const onednn_op *op = &onednn_op_rows[i];
        tfr_op_claim claim = {
            .size = sizeof claim,
            .since_version = op->since_version,
            .domain = op->domain,
            .name = op->name,
            .digest = tfr_op_digest(op->domain, op->name),
            .dtypes = op->types | onednn_types_claimed(the_host, op->types_if),
            .dtypes_if = op->types_if,
        };
        tfr_list_put(out, stride, *n, i, &claim, sizeof claim);
    }
    *n = onednn_n_op_rows;
    return TFR_OK;
}

static const tfr_kernel_facet kernel_facet = {
    .size = sizeof kernel_facet,
    .flags = TFR_KERNEL_TAKES_UNALIGNED | TFR_KERNEL_PREPARE_ANY,
    .ops = onednn_ops,
    .supports = onednn_supports,
    .prepare = onednn_prepare,
    .launch = onednn_launch,
    .drop = onednn_drop,
};

/* ---- the plugin ---- */

static int32_t onednn_open(const tfr_device_info *info, const tfr_open_options *options,
                           tfr_plugin_device **out, tfr_err *err)
{
    return onednn_device_open(the_host, info, options, out, err);
}

static const void *onednn_facet(const char *id)
{
    if (strcmp(id, TFR_MEMORY_V1) == 0)
        return &tfr_host_device_memory;
    if (strcmp(id, TFR_KERNEL_V1) == 0)
        return &kernel_facet;
    if (strcmp(id, TFR_PROFILE_V1) == 0)
        return &onednn_profile_facet;
    return NULL;
}

static const tfr_plugin plugin = {
    .size = sizeof plugin,
    .abi_minor = TFR_ABI_MINOR,
    .name = "onednn",
    .version = "0.1.0",
    .vendor = "oneDNN",
    .build_info = build_info,
    .enumerate = tfr_host_device_enumerate,
    .open = onednn_open,
    .close = onednn_device_close,
    .facet = onednn_facet,
};

int32_t tfrun_plugin_v0(const tfr_host *host, const tfr_plugin **out, tfr_err *err)
{
    the_host = host;
    /* Where the library would be opened later, a broken one must show, and its version is told. */
    if (host->facet && host->facet(TFR_HOST_PROBE_V1)) {
        const dnnl_version_t *loaded;
        int32_t status = onednn_library_open(host, err);
        if (status != TFR_OK)
            return status;
        loaded = dnnl_version();
        snprintf(build_info, sizeof build_info,
                 "onednn_built=%d.%d.%d\nonednn_loaded=%d.%d.%d\nruntime=%s", DNNL_VERSION_MAJOR,
                 DNNL_VERSION_MINOR, DNNL_VERSION_PATCH, loaded->major, loaded->minor,
                 loaded->patch,
                 loaded->cpu_runtime == DNNL_RUNTIME_OMP   ? "omp"
                 : loaded->cpu_runtime == DNNL_RUNTIME_SEQ ? "seq"
                 : loaded->cpu_runtime == DNNL_RUNTIME_TBB ? "tbb"
                                                           : "other");
    }
    *out = &plugin;
    return TFR_OK;
}
