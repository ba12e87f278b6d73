/* SPDX-License-Identifier: Apache-2.0 */
/* device_name.c: the names that people use for devices and backends, and what to say to others. */
#include "device/loader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <tfrun/fail.h>

const char *tfr__device_names(const tfr_runtime *runtime, char *text, size_t n)
{
    size_t used = 0;
    uint32_t d, b;
    snprintf(text, n, "none");
    for (d = 0; d < runtime->n_devices && used < n; d++)
        used += (size_t)snprintf(text + used, n - used, "%s%s", used ? " " : "",
                                 runtime->devices[d].name);
    for (d = 0; d < runtime->n_devices && used < n; d++)
        for (b = 0; b < runtime->devices[d].n_backends && used < n; b++)
            used += (size_t)snprintf(text + used, n - used, " %s",
                                     runtime->devices[d].backends[b].name);
    return text;
}

/*
 * Skips "/job:worker/replica:0/task:1" and "device:"; what is left is NAME or NAME:NUMBER. NULL if
 * it is nothing of that kind.
 */
static const char *name_skip_path(const char *name)
{
    static const char *const parts[] = {"job:", "replica:", "task:"};
    size_t i;
    if (*name == '/')
        name++;
    for (i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strncasecmp(name, parts[i], strlen(parts[i])) == 0) {
            name = strchr(name, '/');
            if (!name)
                return NULL;
            name++;
        }
    if (strncasecmp(name, "device:", 7) == 0)
        name += 7;
    return *name && !strchr(name, '/') ? name : NULL;
}

/* Splits NAME[:NUMBER]; without a number it is 0. */
static bool name_split(const char *name, size_t *bytes, unsigned long long *number)
{
    const char *colon = strchr(name, ':');
    char *end;
    *bytes = colon ? (size_t)(colon - name) : strlen(name);
    *number = 0;
    if (!*bytes)
        return false;
    if (!colon)
        return true;
    if (colon[1] < '0' || colon[1] > '9')
        return false;
    *number = strtoull(colon + 1, &end, 10);
    return !*end && *number < UINT32_MAX;
}

bool tfr__device_parse(const tfr_runtime *runtime, const char *name, uint32_t *device,
                       int32_t *backend)
{
    char full[64];
    unsigned long long number;
    size_t bytes;
    uint32_t d, b;
    const char *rest = name_skip_path(name);
    if (!rest || !name_split(rest, &bytes, &number) || bytes > 40)
        return false;
    snprintf(full, sizeof full, "%.*s:%llu", (int)bytes, rest, number);
    for (d = 0; d < runtime->n_devices; d++)
        if (strncasecmp(runtime->devices[d].name, full, sizeof full) == 0) {
            *device = d;
            *backend = -1;
            return true;
        }
    for (d = 0; d < runtime->n_devices; d++)
        for (b = 0; b < runtime->devices[d].n_backends; b++)
            if (strncasecmp(runtime->devices[d].backends[b].name, full, sizeof full) == 0) {
                *device = d;
                *backend = (int32_t)b;
                return true;
            }
    return false;
}

/* Says why the plugin of that name is not usable, if there is one and it is not. */
static bool name_explain(const tfr_runtime *runtime, const char *name, tfr_err *err)
{
    tfr__loader *loader = runtime->loader;
    const char *rest = name_skip_path(name);
    unsigned long long number;
    size_t bytes;
    uint32_t i;
    bool told = false;
    if (!rest || !name_split(rest, &bytes, &number))
        return false;
    pthread_mutex_lock(&loader->lock);
    for (i = 0; i < loader->n_plugins && !told; i++) {
        const tfr__plugin *plugin = loader->plugins[i];
        if (plugin->state == TFR_PLUGIN_USABLE || plugin->state == TFR_PLUGIN_LOADED ||
            plugin->state == TFR_PLUGIN_SHADOWED || strlen(plugin->name) != bytes ||
            strncasecmp(plugin->name, rest, bytes) != 0)
            continue;
        tfr_fail(err, TFR_EDEVICE, "plugin %s is not usable, %s: %s; %s", plugin->name,
                 tfr_plugin_state_name((tfr_plugin_state)plugin->state), plugin->reason,
                 plugin->next_step);
        told = true;
    }
    pthread_mutex_unlock(&loader->lock);
    return told;
}

tfr_status tfr_runtime_find(const tfr_runtime *runtime, const char *name, uint32_t *device,
                            int32_t *backend, tfr_err *err)
{
    char names[400];
    uint32_t d;
    int32_t b;
    if (!name)
        return tfr_fail(err, TFR_EINVAL, "there is no device name");
    if (tfr__device_parse(runtime, name, &d, &b)) {
        if (device)
            *device = d;
        if (backend)
            *backend = b;
        return TFR_OK;
    }
    if (name_explain(runtime, name, err))
        return TFR_EDEVICE;
    return tfr_fail(err, TFR_ENOTFOUND, "there is no device \"%.64s\"; there are %s", name,
                    tfr__device_names(runtime, names, sizeof names));
}
