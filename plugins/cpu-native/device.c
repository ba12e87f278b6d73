/* SPDX-License-Identifier: Apache-2.0 */
/* device.c: opens and closes the host's processor, as much of it as the user allows. */
#include "device.h"

#include <stdlib.h>
#include <string.h>

#include "bf16.h"
#include "int8.h"
#include "nbits.h"
#include "isa.h"
#include "profile.h"

/* Whether an option has one of two values. */
static bool is_set(const tfr_open_options *options, const char *key, const char *value,
                   const char *other)
{
    const char *text = tfr_open_option(options, key);
    return text && (strcmp(text, value) == 0 || strcmp(text, other) == 0);
}

static int count_threads(const tfr_host_cpu *cpu, const tfr_open_options *options)
{
    const char *text = tfr_open_option(options, "threads");
    const long n = text ? strtol(text, NULL, 10) : 0;

    if (n > 0 && n <= 4096)
        return (int)n;
    return cpu && cpu->n_threads > 0 ? (int)cpu->n_threads : 1;
}

int32_t native_device_open(const tfr_host *host, const tfr_open_options *options,
                           tfr_plugin_device **out, tfr_err *err)
{
    const tfr_host_cpu *cpu = host->facet ? host->facet(TFR_HOST_CPU_V1) : NULL;
    tfr_plugin_device *device = calloc(1, sizeof *device);
    const char *features = cpu && cpu->features ? cpu->features : "";

    if (!device)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a device");
    device->host = host;
    device->pool = host->facet ? host->facet(TFR_HOST_POOL_V1) : NULL;
    device->arena = host->facet ? host->facet(TFR_HOST_ARENA_V1) : NULL;
    device->threads = count_threads(cpu, options);
    device->lanes = cpu && cpu->n_threads > 0 ? (int)cpu->n_threads : 1;
    device->isa = native_choose_isa(features);
    device->int8 = native_choose_int8(features);
    native_int8_find_cpu(&device->int8_cpu, features);
    device->qdq = !is_set(options, "qdq", "off", "0");
    device->nbits = native_choose_nbits(features);
    device->bf16 = native_find_bf16(features);
    device->winograd = !is_set(options, "winograd", "off", "0");
    native_gemm_find_cpu(&device->gemm, features);
    if (is_set(options, "emulate-math-modes", "on", "1"))
        native_gemm_emulate_modes(&device->gemm);
    *out = device;
    return TFR_OK;
}

void native_device_close(tfr_plugin_device *device)
{
    if (device)
        native_profile_free(device);
    free(device);
}
