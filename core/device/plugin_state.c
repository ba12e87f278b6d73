/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_state.c: what is said about a plugin: the name of its state, the sentence, the next step.
 * The sentence comes from who found out; the next step depends on the state alone.
 */
#include "device/loader.h"

#include <stdio.h>
#include <string.h>

static const char *const state_names[] = {
#define X(name, text) text,
    TFR_PLUGIN_STATE_LIST(X)
#undef X
};

/* %s is the plugin's name, then its path. NULL = nothing to do. */
static const char *const state_steps[TFR_PLUGIN_N_STATES] = {
    [TFR_PLUGIN_SHADOWED] = "remove or rename one of the two files",
    [TFR_PLUGIN_DISABLED] = "set TFRUN_ENABLE=%1$s, or remove the setting",
    [TFR_PLUGIN_NOT_A_PLUGIN] = "install %2$s again, or remove it",
    [TFR_PLUGIN_FOREIGN_ARCH] = "install the package of %1$s for this architecture",
    [TFR_PLUGIN_CPU_FEATURES] = "install a build of %1$s for older processors",
    [TFR_PLUGIN_ABI] = "install a build of %1$s and a tfrun that fit together",
    [TFR_PLUGIN_SANITIZER] = "use a build of %1$s without sanitizers, or tfrun with the same ones",
    [TFR_PLUGIN_UNSAFE_PATH] = "make it writable by root or yourself only: chown, chmod go-w",
    [TFR_PLUGIN_MISSING_LIBRARY] = "install the packages that have the libraries, or set "
                                   "LD_LIBRARY_PATH",
    [TFR_PLUGIN_PROBE_CRASH] = "update %1$s, or set TFRUN_DISABLE=%1$s; a changed file is tried "
                               "again at once",
    [TFR_PLUGIN_PROBE_TIMEOUT] = "update %1$s, set TFRUN_DISABLE=%1$s, or give it more time with "
                                 "TFRUN_PROBE_TIMEOUT_MS",
    [TFR_PLUGIN_PROBE_EXIT] = "update %1$s, or set TFRUN_DISABLE=%1$s; a changed file is tried "
                              "again at once",
    [TFR_PLUGIN_PROBE_MEMORY] = "update %1$s, set TFRUN_DISABLE=%1$s, or let it have more with "
                                "TFRUN_PROBE_MEMORY_MB",
    [TFR_PLUGIN_BAD_REPLY] = "report it to the author of %1$s, and set TFRUN_DISABLE=%1$s",
    [TFR_PLUGIN_NO_DEVICE] = "connect the device or load its driver, if there should be one",
    [TFR_PLUGIN_INCOMPATIBLE_DRIVER] = "install a driver that fits %1$s",
    [TFR_PLUGIN_QUARANTINED] = "report it to the author of %1$s, and set TFRUN_DISABLE=%1$s",
};

const char *tfr_plugin_state_name(tfr_plugin_state state)
{
    return (unsigned)state < TFR_PLUGIN_N_STATES ? state_names[state] : "unknown";
}

/* Text from a plugin or a file's name may hold anything. */
static void state_clean(char *text)
{
    for (; text && *text; text++)
        if ((unsigned char)*text < ' ' || *text == 127)
            *text = '?';
}

static const char *state_step(tfr__plugin *plugin, int32_t state)
{
    tfr__region *region = &plugin->loader->region;
    const char *step = state_steps[state];
    char text[1024], *kept;
    size_t used = 0;
    if (!step)
        return "";
    while (*step && used + 1 < sizeof text) {
        if (strncmp(step, "%1$s", 4) == 0 || strncmp(step, "%2$s", 4) == 0) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s",
                                     step[1] == '1' ? plugin->name : plugin->path);
            step += 4;
        } else {
            text[used++] = *step++;
        }
    }
    text[used < sizeof text ? used : sizeof text - 1] = 0;
    kept = tfr__region_copy(region, text);
    state_clean(kept);
    return kept ? kept : "";
}

void tfr__plugin_set(tfr__plugin *plugin, tfr_plugin_state state, const char *format, ...)
{
    tfr__loader *loader = plugin->loader;
    const char *step;
    va_list args;
    char *text, first[2] = "";
    pthread_mutex_lock(&loader->lock);
    va_start(args, format);
    text = tfr__region_vprint(&loader->region, format, args);
    va_end(args);
    va_start(args, format);
    vsnprintf(first, sizeof first, format, args);
    va_end(args);
    state_clean(text);
    step = state_step(plugin, (int32_t)state);
    /* Without memory for the sentence the state alone has to do; where there is none, it is all. */
    plugin->reason = text ? text : *first ? "there is no memory to say more" : "";
    plugin->next_step = step;
    plugin->state = (int32_t)state;
    pthread_mutex_unlock(&loader->lock);
}

void tfr__plugin_note(tfr__plugin *plugin, const char *format, ...)
{
    tfr__loader *loader = plugin->loader;
    va_list args;
    char *text;
    pthread_mutex_lock(&loader->lock);
    va_start(args, format);
    text = tfr__region_vprint(&loader->region, format, args);
    va_end(args);
    state_clean(text);
    if (text && plugin->state == TFR_PLUGIN_LOADED)
        plugin->reason = text;
    pthread_mutex_unlock(&loader->lock);
}

/* What is wrong with a usable plugin all the same, or "". */
static void judge_usable(tfr__plugin *plugin, uint32_t n_usable)
{
    const tfr__reply *reply = &plugin->reply;
    uint32_t i;
    if (plugin->stdout_bytes) {
        tfr__plugin_set(plugin, TFR_PLUGIN_USABLE,
                        "wrote %llu bytes to standard output, which belongs to results",
                        (unsigned long long)plugin->stdout_bytes);
        return;
    }
    for (i = 0; i < reply->n_devices && n_usable < reply->n_devices; i++) {
        const tfr_device_info *info = &reply->devices[i].info;
        if (info->unusable) {
            tfr__plugin_set(plugin, TFR_PLUGIN_USABLE, "%u of %u devices cannot be used; %s: %s",
                            reply->n_devices - n_usable, reply->n_devices, info->identity,
                            info->why);
            return;
        }
    }
    tfr__plugin_set(plugin, TFR_PLUGIN_USABLE, "%s", "");
}

static void judge_devices(tfr__plugin *plugin)
{
    const tfr__reply *reply = &plugin->reply;
    const tfr_device_info *first;
    uint32_t n_usable = 0, i;
    for (i = 0; i < reply->n_devices; i++)
        n_usable += !reply->devices[i].info.unusable;
    if (n_usable) {
        judge_usable(plugin, n_usable);
        return;
    }
    if (!reply->n_devices) {
        tfr__plugin_set(plugin, TFR_PLUGIN_NO_DEVICE, "%s",
                        *reply->text ? reply->text : "finds no device that it can drive");
        return;
    }
    first = &reply->devices[0].info;
    tfr__plugin_set(plugin,
                    first->unusable == TFR_REASON_LIBRARY_MISSING  ? TFR_PLUGIN_MISSING_LIBRARY
                    : first->unusable == TFR_REASON_DEVICE_FEATURE ? TFR_PLUGIN_INCOMPATIBLE_DRIVER
                                                                   : TFR_PLUGIN_NO_DEVICE,
                    "%s cannot be used: %s", first->identity,
                    *first->why ? first->why : "the plugin does not say why");
}

void tfr__plugin_judge(tfr__plugin *plugin)
{
    const tfr__reply *reply = &plugin->reply;
    const char *text = *reply->text ? reply->text : "it does not say why";
    switch (reply->outcome) {
    case TFR__OUTCOME_OK:
        if (strcmp(reply->name, plugin->name) != 0)
            tfr__plugin_set(plugin, TFR_PLUGIN_BAD_REPLY,
                            "calls itself \"%s\", its note says \"%s\"", reply->name, plugin->name);
        else
            judge_devices(plugin);
        break;
    case TFR__OUTCOME_LINK:
        tfr__plugin_set(
            plugin, reply->code == TFR_ENOMEM ? TFR_PLUGIN_PROBE_EXIT : TFR_PLUGIN_MISSING_LIBRARY,
            "the dynamic linker says: %s", text);
        break;
    case TFR__OUTCOME_ENTRY:
        tfr__plugin_set(plugin, TFR_PLUGIN_ABI, "%s", text);
        break;
    case TFR__OUTCOME_REFUSED:
    case TFR__OUTCOME_LOOKING:
        tfr__plugin_set(plugin,
                        reply->code == TFR_EDEVICE               ? TFR_PLUGIN_INCOMPATIBLE_DRIVER
                        : reply->outcome == TFR__OUTCOME_LOOKING ? TFR_PLUGIN_NO_DEVICE
                                                                 : TFR_PLUGIN_PROBE_EXIT,
                        "%s", text);
        break;
    case TFR__OUTCOME_MEMORY:
        tfr__plugin_set(plugin, TFR_PLUGIN_PROBE_MEMORY, "%s", text);
        break;
    default:
        tfr__plugin_set(plugin, TFR_PLUGIN_BAD_REPLY, "%s", text);
    }
}
