/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.c: the tables of the CUDA backend. Options, "cuda.NAME" to the user (docs/cuda.md):
 *   library-path     a folder where CUDA's libraries are looked for first
 *   open-libraries   1 = open all of them and tell in build_info what was found (0)
 *   library-from     multiplications of a product from which on cuBLASLt computes it
 *                    (2^27, 512 x 512 x 512)
 *   logical-devices  of each GPU (1), each with the limit below for itself
 *   tune             off = take the way of computing that a library names first, and time none
 *                    (on)
 *   nvtx             1 = name launches by ranges of NVTX (0; 1 in a tool of NVIDIA's)
 *   memory_limit     bytes of a device
 *   memory-fraction  over 0 and at most 1: that part of the GPU's memory; without these two what is
 *                    free, but for a reserve as TensorFlow leaves it
 * The driver itself reads CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER and others.
 */
#include "host.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

TFR_PLUGIN_NOTE("cuda", TFR_PLUGIN_BACKEND, 100, "");
TFR_PLUGIN_ASKS_VARIABLE("CUDA_DEVICE_ORDER");
TFR_PLUGIN_ASKS_FILE("/sys/module/nvidia/version");
TFR_PLUGIN_ASKS_FILE("/dev/nvidiactl");

const tfr_host *cuda_host;
static char build_info[2048];

void cuda_log(int32_t level, const char *format, ...)
{
    char text[640];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (cuda_host->log)
        cuda_host->log(level, "cuda", text);
}

static const void *cuda_facet(const char *id)
{
    if (strcmp(id, TFR_MEMORY_V1) == 0)
        return &cuda_memory_facet;
    if (strcmp(id, TFR_QUEUE_V1) == 0)
        return &cuda_queue_facet;
    if (strcmp(id, TFR_KERNEL_V1) == 0)
        return &cuda_kernel_facet;
    if (strcmp(id, TFR_PROGRAM_V1) == 0)
        return &cuda_program_facet;
    if (strcmp(id, TFR_CAPTURE_V1) == 0)
        return &cuda_capture_facet;
    if (strcmp(id, TFR_LAYOUT_V1) == 0)
        return &cuda_layout_facet;
    if (strcmp(id, TFR_PROFILE_V1) == 0)
        return &cuda_profile_facet;
    if (strcmp(id, TFR_NATIVE_V1) == 0)
        return &cuda_native_facet;
    return NULL;
}

static const tfr_plugin plugin = {
    .size = sizeof plugin,
    .abi_minor = TFR_ABI_MINOR,
    .name = "cuda",
    .version = "0.1.0",
    .vendor = "tfrun",
    .build_info = build_info,
    .enumerate = cuda_enumerate,
    .open = cuda_open,
    .close = cuda_close,
    .facet = cuda_facet,
};

int32_t tfrun_plugin_v0(const tfr_host *host, const tfr_plugin **out, tfr_err *err)
{
    (void)err;
    cuda_host = host;
    snprintf(build_info, sizeof build_info, "cuda_built=%s", CUDA_BUILT);
    if (cuda_option("open-libraries", 0))
        cuda_library_report(build_info, sizeof build_info);
    *out = &plugin;
    return TFR_OK;
}
