/* SPDX-License-Identifier: Apache-2.0 */
/* open.c: makes the runtime as the command line wants it, and prints the library's talk. */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tfrun/fail.h>

#include "guard.h"
#include "suggest.h"
#include "text.h"

#define NOTICE_AFTER_MS 5000

static void talk(void *user, tfr_log_level level, const char *who, const char *text)
{
    (void)user;
    cli_line(stderr, "tfrun: %s: %s%s", who,
             level == TFR_LOG_ERROR     ? "error: "
             : level == TFR_LOG_WARNING ? "warning: "
                                        : "",
             text);
}

/* 0 leaves it to TFRUN_LOG and the configuration, unless the user chose a level here. */
static int32_t log_level_of(const cli_args *args)
{
    int32_t level = args->log_level;
    if (!level && (args->verbose || args->quiet || args->log_placement))
        level = args->command->log_level + (int32_t)args->verbose - (int32_t)args->quiet;
    if (!level)
        return 0;
    if (args->log_placement && level < TFR_LOG_INFO)
        level = TFR_LOG_INFO;
    return level < TFR_LOG_ERROR ? TFR_LOG_ERROR : level > TFR_LOG_DEBUG ? TFR_LOG_DEBUG : level;
}

bool cli_plugin_is_usable(int32_t state)
{
    return state == TFR_PLUGIN_USABLE || state == TFR_PLUGIN_LOADED;
}

static const char *usable_name(const void *user, uint32_t i)
{
    tfr_plugin_desc desc = {.size = sizeof desc};
    for (uint32_t k = 0; !tfr_runtime_plugin(user, k, &desc, NULL); k++)
        if ((cli_plugin_is_usable(desc.state) || desc.state == TFR_PLUGIN_DISABLED) && i-- == 0)
            return desc.name;
    return "";
}

/* Is there a usable plugin of this name? */
static tfr_status check_backend(const tfr_runtime *runtime, const char *name, tfr_err *err)
{
    tfr_plugin_desc desc = {.size = sizeof desc}, found = {.size = 0};
    uint32_t n = 0;
    char list[200], hint[128];
    for (uint32_t i = 0; !tfr_runtime_plugin(runtime, i, &desc, NULL); i++) {
        n += cli_plugin_is_usable(desc.state) || desc.state == TFR_PLUGIN_DISABLED;
        if (strcmp(desc.name, name) != 0)
            continue;
        if (cli_plugin_is_usable(desc.state))
            return TFR_OK;
        if (!found.size)
            found = desc;
    }
    if (found.size)
        return tfr_fail(err, TFR_EDEVICE, "backend \"%s\" is not usable, %s: %s; %s", name,
                        tfr_plugin_state_name((tfr_plugin_state)found.state), found.reason,
                        found.next_step);
    return tfr_fail(err, TFR_ENOTFOUND, "there is no backend \"%s\"%s backends are %s", name,
                    *cli_did_you_mean(name, usable_name, runtime, n, hint, sizeof hint) ? hint
                                                                                        : ";",
                    n ? cli_join(usable_name, runtime, n, list, sizeof list) : "none");
}

bool cli_warns(const cli_args *args, const tfr_runtime *runtime)
{
    int32_t level = log_level_of(args);
    const char *value, *origin;
    if (!level && tfr_runtime_setting(runtime, "log", &value, &origin))
        return strcmp(value, "error") != 0;
    return (level ? level : args->command->log_level) >= TFR_LOG_WARNING;
}

/* How long a plugin's slot may take until a warning is printed; 0 = no limit. */
static int64_t notice_after_ms(const tfr_runtime *runtime)
{
    const char *value, *origin;
    char *end;
    long ms;
    if (!tfr_runtime_setting(runtime, "notice-after-ms", &value, &origin))
        return NOTICE_AFTER_MS;
    ms = strtol(value, &end, 10);
    if (end == value || *end || ms < 0) {
        cli_line(stderr, "tfrun: config: %s: notice-after-ms \"%s\" is no number of milliseconds",
                 origin, value);
        return NOTICE_AFTER_MS;
    }
    return ms;
}

tfr_status cli_open_runtime(const cli_args *args, tfr_runtime **out, tfr_err *err)
{
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    const cli_settings *given = &args->plugin_options;
    tfr_option *more = calloc(given->n + 3, sizeof *more);
    tfr_runtime *runtime;
    tfr_status status;
    if (!more)
        return tfr_fail(err, TFR_ENOMEM, "no memory for options of plugins");
    options.plugin_dirs = args->plugin_paths.items;
    options.n_plugin_dirs = args->plugin_paths.n;
    options.plugin_files = args->plugins.items;
    options.n_plugin_files = args->plugins.n;
    options.visible_devices = args->visible_devices;
    options.n_threads = (uint32_t)args->threads;
    options.logical_cpus = (uint32_t)args->logical_cpus;
    options.log_level = log_level_of(args);
    options.log_default = args->command->log_level;
    options.log = talk;
    options.refresh = args->refresh                  ? TFR_REFRESH_ALL
                      : args->command->lists_plugins ? TFR_REFRESH_FAILED
                                                     : TFR_REFRESH_NONE;
    options.options = more;
    for (uint32_t i = 0; i < given->n; i++)
        more[options.n_options++] = given->items[i];
    if (args->backend) { /* the later one wins for the plugin of that name */
        more[options.n_options++] = (tfr_option){"disable", "*"};
        more[options.n_options++] = (tfr_option){"enable", args->backend};
    }
    if (args->command->checks)
        more[options.n_options++] = (tfr_option){"check-launches", "1"};
    cli_exit_guard_install();
    status = tfr_runtime_create(&options, &runtime, err);
    free(more);
    if (status)
        return status;
    if (args->backend)
        status = check_backend(runtime, args->backend, err);
    if (status) {
        tfr_runtime_release(runtime);
        return status;
    }
    if (cli_warns(args, runtime))
        cli_watch_start(notice_after_ms(runtime));
    *out = runtime;
    return TFR_OK;
}
