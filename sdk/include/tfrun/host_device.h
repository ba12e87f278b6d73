/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/host_device.h: for plugins that compute on the host's CPU or in the host's memory: the slot
 * enumerate and the facet tfr.memory/1. Included by one file of a plugin that wants it; the
 * contract does not need it.
 *
 *   .enumerate = tfr_host_device_enumerate
 *
 *   if (strcmp(id, TFR_MEMORY_V1) == 0)
 *       return &tfr_host_device_memory;
 */
#ifndef TFRUN_HOST_DEVICE_H
#define TFRUN_HOST_DEVICE_H

#include <stdlib.h>
#include <tfrun/fail.h>

/* A cache line: what vector instructions and processors' neighbours like. */
#define TFR_HOST_DEVICE_ALIGNMENT 64u

/* One device, the host's CPU, which the core describes. */
static inline int32_t tfr_host_device_enumerate(tfr_device_info *out, uint32_t stride, uint32_t *n,
                                                tfr_err *err)
{
    tfr_device_info cpu;
    memset(&cpu, 0, sizeof cpu);
    memcpy(cpu.type, "CPU", sizeof "CPU");
    memcpy(cpu.identity, "host", sizeof "host");
    cpu.numa_node = -1;
    (void)err;
    tfr_list_put(out, stride, *n, 0, &cpu, sizeof cpu);
    *n = 1;
    return TFR_OK;
}

static inline int32_t tfr_host_device_spaces(tfr_plugin_device *device, tfr_space_info *out,
                                             uint32_t stride, uint32_t *n, tfr_err *err)
{
    static const tfr_space_info host = {sizeof(tfr_space_info),
                                        TFR_SPACE_HOST_ACCESS | TFR_SPACE_DEVICE_ACCESS, "host",
                                        TFR_HOST_DEVICE_ALIGNMENT, 0, ""};
    (void)device;
    (void)err;
    tfr_list_put(out, stride, *n, 0, &host, sizeof host);
    *n = 1;
    return TFR_OK;
}

/* What malloc gave stands in front of the block. */
static inline int32_t tfr_host_device_alloc(tfr_plugin_device *device, uint32_t space,
                                            uint64_t bytes, const tfr_alloc_options *options,
                                            void **out, tfr_err *err)
{
    uint64_t align = options ? options->align : 0, extra;
    unsigned char *whole, *block;
    (void)device;
    (void)space;
    if (align < TFR_HOST_DEVICE_ALIGNMENT)
        align = TFR_HOST_DEVICE_ALIGNMENT;
    extra = align + sizeof(void *);
    whole = bytes <= SIZE_MAX - extra ? (unsigned char *)malloc((size_t)(bytes + extra)) : NULL;
    if (!whole)
        return tfr_fail(err, TFR_ENOMEM, "no memory for %llu bytes", (unsigned long long)bytes);
    block = whole + sizeof(void *);
    block += (align - (uintptr_t)block % align) % align;
    memcpy(block - sizeof(void *), &whole, sizeof whole);
    *out = block;
    return TFR_OK;
}

static inline void tfr_host_device_free(tfr_plugin_device *device, uint32_t space, void *address)
{
    void *whole = NULL;
    (void)device;
    (void)space;
    if (address)
        memcpy(&whole, (unsigned char *)address - sizeof(void *), sizeof whole);
    free(whole);
}

static const tfr_memory_facet tfr_host_device_memory = {sizeof(tfr_memory_facet),
                                                        0,
                                                        tfr_host_device_spaces,
                                                        tfr_host_device_alloc,
                                                        tfr_host_device_free,
                                                        NULL,
                                                        NULL,
                                                        NULL};

#endif
