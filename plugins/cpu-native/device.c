/* SPDX-License-Identifier: Apache-2.0 */
/* device.c: opens and closes the host's processor, as much of it as the user allows. */
#include "device.h"

#include <stdlib.h>
#include <string.h>

#include "isa.h"
#include "profile.h"

int32_t native_device_enumerate(tfr_device_info *out, uint32_t stride, uint32_t *n, tfr_err *err)
{
    (void)stride;
    (void)err;
    if (*n >= 1 && out) {
        memcpy(out->type, "CPU", sizeof "CPU");
        memcpy(out->identity, "host", sizeof "host");
        out->numa_node = -1;
    }
    *n = 1;
    return TFR_OK;
}

/* Whether an option of the configuration has one of two values. */
static bool is_set(const tfr_host *host, const char *key, const char *value, const char *other)
{
    char text[8] = "";

    return host->option && host->option("native", key, text, sizeof text) > 0 &&
           (strcmp(text, value) == 0 || strcmp(text, other) == 0);
}

static int count_threads(const tfr_host_cpu *cpu, const tfr_option *options, uint32_t n_options)
{
    uint32_t i;

    for (i = 0; i < n_options; i++) {
        if (strcmp(options[i].key, "threads") == 0) {
            long n = strtol(options[i].value, NULL, 10);
            if (n > 0 && n <= 4096)
                return (int)n;
        }
    }
    return cpu && cpu->n_threads > 0 ? (int)cpu->n_threads : 1;
}

int32_t native_device_open(const tfr_host *host, const tfr_option *options, uint32_t n_options,
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
    device->threads = count_threads(cpu, options, n_options);
    device->lanes = cpu && cpu->n_threads > 0 ? (int)cpu->n_threads : 1;
    device->isa = native_choose_isa(features);
    device->winograd = !is_set(host, "winograd", "off", "0");
    native_gemm_find_cpu(&device->gemm, features);
    if (is_set(host, "emulate-math-modes", "on", "1"))
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
