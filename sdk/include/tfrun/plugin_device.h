/* SPDX-License-Identifier: Apache-2.0 */
/* tfrun/plugin_device.h: devices as a plugin finds them; included by tfrun/plugin.h. */
#ifndef TFRUN_PLUGIN_DEVICE_H
#define TFRUN_PLUGIN_DEVICE_H

#include <tfrun/plugin_types.h>

/* A setting. This struct never grows. */
typedef struct tfr_option {
    const char *key;
    const char *value;
} tfr_option;

/* What a device is opened with. The core sets size. */
typedef struct tfr_open_options {
    uint32_t size;
    uint32_t n_options;
    /*
     * What the configuration of the runtime that opens says for this plugin, each key without the
     * plugin's name, and what the core adds: "threads" (CPU: how many it may use). "memory_limit"
     * is bytes. No key is there twice; unknown ones are ignored. Two are for tests: after
     * "fail_after" launches that work the next one fails on its queue, after "lose_after" it loses
     * the device.
     */
    const tfr_option *options;
} tfr_open_options;

/* The value of a key, or NULL. */
static inline const char *tfr_open_option(const tfr_open_options *options, const char *key)
{
    uint32_t i;
    for (i = 0; options && i < options->n_options; i++) {
        const char *x = options->options[i].key, *y = key;
        while (*x && *x == *y)
            x++, y++;
        if (*x == *y)
            return options->options[i].value;
    }
    return (const char *)0;
}

/* A device as a plugin finds it. The caller owns the struct; the plugin fills the arrays. */
typedef struct tfr_device_info {
    uint32_t size;
    uint32_t ordinal;  /* the plugin's own number of it */
    char type[16];     /* "CPU", "GPU", "NPU": upper case, becomes the name CPU:0 */
    char identity[64]; /* equal text = same physical device: "host", "pci:0000:3b:00.0", "uuid:..."
                        */
    char name[96];     /* "NVIDIA H100 PCIe"; empty for "host", which the core describes */
    char driver[64];   /* "535.104", empty = none */
    char properties[256];  /* "key=value" lines: "compute_capability=9.0\npci=0000:3b:00.0" */
    uint64_t memory_total; /* bytes, 0 = unknown */
    uint64_t memory_free;  /* bytes, 0 = unknown */
    uint32_t clock_khz;    /* 0 = unknown */
    int32_t numa_node;     /* -1 = unknown */
    int32_t unusable;      /* a tfr_reason when the device is there but cannot be opened, else 0 */
    char why[256];         /* sentence for unusable, with the next step */
    /*
     * More texts like identity, with blanks between, by which other plugins may know the device:
     * one equal text is enough. A physical one (pci:...) belongs here if identity is the driver's
     * own.
     */
    char identities[192];
} tfr_device_info;

/* The plugin's own open device. */
typedef struct tfr_plugin_device tfr_plugin_device;

/* Queues and fences of a device, if it has them (tfrun/plugin_queue.h). */
typedef struct tfr_queue tfr_queue;
typedef struct tfr_fence tfr_fence;

#endif
