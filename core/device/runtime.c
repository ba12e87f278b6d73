/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.c: making and releasing a runtime, and the rows about its plugins. The order of the
 * looking: files, facts, names, libraries, the cache, the probe. Devices come after it (device.c).
 */
#include "device/loader.h"

#include "base/alloc.h"
#include "base/port/cpu.h"
#include "base/port/cpus.h"

#include <stdio.h>
#include <string.h>
#include <tfrun/fail.h>

/* ---- the loader ---- */

/* The first of a name wins; one that this machine cannot run anyway does not count. */
static void loader_shadow(tfr__loader *loader)
{
    uint32_t i, k;
    for (i = 0; i < loader->n_plugins; i++) {
        tfr__plugin *plugin = loader->plugins[i];
        if (plugin->state != TFR_PLUGIN_FOUND)
            continue;
        for (k = 0; k < i; k++) {
            const tfr__plugin *winner = loader->plugins[k];
            if (winner->state == TFR_PLUGIN_FOUND && strcmp(winner->name, plugin->name) == 0) {
                tfr__plugin_set(plugin, TFR_PLUGIN_SHADOWED,
                                "%s comes first and has this name, too", winner->path);
                break;
            }
        }
    }
}

static void loader_disable(tfr__loader *loader)
{
    uint32_t i;
    for (i = 0; i < loader->n_plugins; i++) {
        tfr__plugin *plugin = loader->plugins[i];
        const tfr__setting *by = plugin->has_note && plugin->state == TFR_PLUGIN_FOUND
                                     ? tfr__config_disables(&loader->config, plugin->name)
                                     : NULL;
        if (by)
            tfr__plugin_set(plugin, TFR_PLUGIN_DISABLED, "%s disables it (disable = %s)",
                            by->origin, by->value);
    }
}

/* A folder may hold libraries that plugins share; only what looks like a plugin gets a row. */
static bool loader_is_helper(const tfr__plugin *plugin)
{
    const char *base = strrchr(plugin->path, '/');
    return plugin->state == TFR_PLUGIN_NOT_A_PLUGIN && !plugin->asked_for && plugin->build_hash &&
           base && strncmp(base, "/lib", 4) == 0;
}

static tfr_status loader_facts(tfr__loader *loader, tfr_err *err)
{
    uint32_t i, n = 0;
    for (i = 0; i < loader->n_plugins; i++) {
        tfr__plugin *plugin = loader->plugins[i];
        if (plugin->state == TFR_PLUGIN_FOUND) {
            tfr_status status = tfr__plugin_read_facts(plugin, err);
            if (status)
                return status;
        }
        if (loader_is_helper(plugin))
            tfr__log(loader->runtime, TFR_LOG_DEBUG, "loader", "%s is passed over: it %s",
                     plugin->path, plugin->reason);
        else
            loader->plugins[n++] = plugin;
    }
    loader->n_plugins = n;
    return TFR_OK;
}

static tfr_status loader_ask(tfr__loader *loader, tfr_err *err)
{
    uint32_t i;
    for (i = 0; i < loader->n_plugins; i++) {
        tfr__plugin *plugin = loader->plugins[i];
        tfr_status status;
        if (plugin->state != TFR_PLUGIN_FOUND)
            continue;
        status = tfr__plugin_find_libs(plugin, err);
        if (status)
            return status;
        if (plugin->state == TFR_PLUGIN_FOUND)
            tfr__cache_load(plugin);
    }
    return tfr__plugins_probe(loader, err);
}

/* The pool's width is fixed; a runtime may use less of it. */
static uint32_t loader_threads(const tfr__loader *loader)
{
    uint32_t most = tfr__cpus_width();
    int64_t n = tfr__config_number(&loader->config, loader->runtime, NULL, "threads", 0, 0, 4096);
    return n > 0 && n < (int64_t)most ? (uint32_t)n : most;
}

static void loader_log_level(tfr__loader *loader, const tfr_runtime_options *options)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    const tfr__setting *s = tfr__config_find(&loader->config, NULL, "log");
    int32_t i;
    if (options->log_level || !s)
        return;
    for (i = 0; i < 4; i++)
        if (strcmp(s->value, names[i]) == 0) {
            loader->runtime->log_level = i + 1;
            return;
        }
    tfr__log(loader->runtime, TFR_LOG_WARNING, "config",
             "%s: log \"%s\" is none of error, warning, info, debug", s->origin, s->value);
}

static bool loader_knows(const tfr__loader *loader, const char *name, size_t n)
{
    for (uint32_t i = 0; i < loader->n_plugins; i++)
        if (strlen(loader->plugins[i]->name) == n && !memcmp(loader->plugins[i]->name, name, n))
            return true;
    return false;
}

/*
 * A configuration file may be older than the plugins that are installed, and an order is a wish;
 * but an option that somebody gives now, and that nobody will read, is a mistake of the name.
 */
static tfr_status loader_options(tfr__loader *loader, tfr_err *err)
{
    for (uint32_t i = 0; i < loader->config.n; i++) {
        const tfr__setting *s = &loader->config.settings[i];
        const size_t n = tfr__config_key_plugin(s->key);
        const bool is_program = !strcmp(s->origin, TFR__CONFIG_PROGRAM);
        const char *wrong = "option %s: there is no plugin \"%.*s\"; `tfrun plugins` lists them";
        char text[256];
        if (!n || !strcmp(s->key + n, ".priority") || loader_knows(loader, s->key, n) ||
            !(is_program || !strcmp(s->origin, "TFRUN_PLUGIN_OPTIONS")))
            continue;
        snprintf(text, sizeof text, wrong, s->key, (int)n, s->key);
        if (is_program)
            return tfr_fail(err, TFR_ENOTFOUND, "%s", text);
        tfr__log(loader->runtime, TFR_LOG_WARNING, "config", "%s: %s", s->origin, text);
    }
    return TFR_OK;
}

static tfr_status loader_look(tfr__loader *loader, const tfr_runtime_options *options, tfr_err *err)
{
    const tfr__setting *hidden;
    tfr_status status = tfr__config_load(&loader->config, loader->runtime, options, err);
    loader->refresh = options->refresh;
    if (status)
        return status;
    loader_log_level(loader, options);
    hidden = tfr__config_find(&loader->config, NULL, "hide-cpu-features");
    if (hidden)
        tfr__host_hide_features(hidden->value);
    loader->n_threads = loader_threads(loader);
    loader->pin_threads =
        tfr__config_number(&loader->config, loader->runtime, NULL, "pin-threads", 1, 0, 1) != 0;
    loader->runtime->checks_launches =
        loader->runtime->log_level >= TFR_LOG_DEBUG ||
        tfr__config_number(&loader->config, loader->runtime, NULL, "check-launches", 0, 0, 1) != 0;
    tfr__store_init(loader, &loader->store);
    loader->world = tfr__cache_world(&loader->config);
    status = tfr__plugins_scan(loader, options, err);
    if (!status)
        status = loader_facts(loader, err);
    if (!status)
        status = loader_options(loader, err);
    if (status)
        return status;
    loader_disable(loader);
    loader_shadow(loader);
    return loader_ask(loader, err);
}

tfr_status tfr__loader_create(tfr_runtime *runtime, const tfr_runtime_options *options,
                              tfr__loader **out, tfr_err *err)
{
    tfr__loader *loader = tfr__calloc(1, sizeof *loader);
    tfr_status status;
    if (!loader)
        return tfr__no_memory(err);
    loader->runtime = runtime;
    pthread_mutex_init(&loader->lock, NULL);
    status = loader_look(loader, options, err);
    if (status) {
        tfr__free(loader->plugins);
        tfr__region_free(&loader->region);
        tfr__config_finish(&loader->config);
        pthread_mutex_destroy(&loader->lock);
        tfr__free(loader);
        return status;
    }
    tfr__host_attach(loader);
    *out = loader;
    return TFR_OK;
}

void tfr__loader_destroy(tfr__loader *loader)
{
    uint32_t i;
    if (!loader)
        return;
    for (i = 0; i < loader->n_plugins; i++)
        tfr__plugin_unload(loader->plugins[i]);
    tfr__host_detach(loader);
    tfr__free(loader->plugins);
    tfr__region_free(&loader->region);
    tfr__config_finish(&loader->config);
    pthread_mutex_destroy(&loader->lock);
    tfr__free(loader);
}

/* ---- the runtime ---- */

/* Copies what the caller's struct has, which may be older or newer than ours. */
static tfr_status runtime_options(const tfr_runtime_options *given, tfr_runtime_options *out,
                                  tfr_err *err)
{
    memset(out, 0, sizeof *out);
    if (!given)
        return TFR_OK;
    if (given->size < sizeof given->size)
        return tfr_fail(err, TFR_EINVAL,
                        "the runtime options' size is %u; use "
                        "TFR_RUNTIME_OPTIONS_INIT",
                        (unsigned)given->size);
    memcpy(out, given, given->size < sizeof *out ? given->size : sizeof *out);
    if ((out->n_plugin_dirs && !out->plugin_dirs) || (out->n_plugin_files && !out->plugin_files) ||
        (out->n_options && !out->options))
        return tfr_fail(err, TFR_EINVAL, "a count of the runtime options has no array");
    return TFR_OK;
}

static void runtime_destroy(tfr_runtime *runtime)
{
    if (runtime->calls)
        runtime->calls_destroy(runtime->calls);
    tfr__devices_destroy(runtime);
    tfr__loader_destroy(runtime->loader);
    tfr__tuning_finish(&runtime->tuning);
    pthread_mutex_destroy(&runtime->log_lock);
    pthread_mutex_destroy(&runtime->calls_lock);
    tfr__free(runtime);
}

/* Without a loader it is off. */
static void runtime_tuning(tfr_runtime *runtime, const tfr__loader *loader)
{
    const tfr__setting *s = loader ? tfr__config_find(&loader->config, NULL, "tuning") : NULL;
    if (s && strcmp(s->value, "off") != 0 && *s->value != '/')
        tfr__log(runtime, TFR_LOG_WARNING, "config",
                 "%s: tuning \"%.300s\" is neither off nor an absolute path; nothing is kept",
                 s->origin, s->value);
    tfr__tuning_init(&runtime->tuning, runtime, s ? s->value : loader ? NULL : "off");
}

tfr__tuning_key tfr__backend_key(const tfr_runtime *runtime, const tfr__backend *backend)
{
    tfr__tuning_key key = TFR__TUNING_KEY;
    tfr__tuning_add_text(&key, tfr_version());
    tfr__tuning_add_text(&key, backend->plugin_name);
    tfr__tuning_add_text(&key, backend->plugin->reply.version);
    tfr__tuning_add(&key, &backend->plugin->build_hash, sizeof backend->plugin->build_hash);
    tfr__tuning_add_text(&key, backend->plugin->reply.build_info);
    tfr__tuning_add_text(&key, backend->info.name);
    tfr__tuning_add_text(&key, backend->info.driver);
    tfr__tuning_add_text(&key, tfr__cpu_get()->name);
    tfr__tuning_add_text(&key, tfr__host_features());
    tfr__tuning_add(&key, &runtime->loader->n_threads, sizeof runtime->loader->n_threads);
    return key;
}

static void runtime_log_rows(tfr_runtime *runtime)
{
    uint32_t i, b;
    for (i = 0; i < runtime->loader->n_plugins; i++) {
        const tfr__plugin *plugin = runtime->loader->plugins[i];
        if (plugin->state != TFR_PLUGIN_USABLE)
            tfr__log(runtime, TFR_LOG_INFO, "loader", "plugin %s is not usable, %s: %s",
                     plugin->path, tfr_plugin_state_name((tfr_plugin_state)plugin->state),
                     plugin->reason);
        else if (*plugin->reason) /* a row says it, too; so only when it is news */
            tfr__log(runtime, plugin->from_cache ? TFR_LOG_INFO : TFR_LOG_WARNING, "loader",
                     "plugin %s %s", plugin->name, plugin->reason);
    }
    for (i = 0; i < runtime->n_devices; i++) {
        const tfr__device *device = &runtime->devices[i];
        char names[256] = "";
        size_t used = 0;
        for (b = 0; b < device->n_backends && used < sizeof names; b++)
            used += (size_t)snprintf(names + used, sizeof names - used, " %s",
                                     device->backends[b].name);
        tfr__log(runtime, TFR_LOG_INFO, "loader", "found device %s: %s, %llu MiB, backends%s",
                 device->name, device->description,
                 (unsigned long long)(device->info.memory_total >> 20), names);
    }
}

bool tfr_runtime_setting(const tfr_runtime *runtime, const char *key, const char **value,
                         const char **origin)
{
    const tfr__setting *s = tfr__config_find(&runtime->loader->config, NULL, key);
    if (!s)
        return false;
    *value = s->value;
    *origin = s->origin;
    return true;
}

tfr_status tfr_runtime_create(const tfr_runtime_options *given, tfr_runtime **out, tfr_err *err)
{
    tfr_runtime_options options;
    tfr_runtime *runtime;
    tfr_status status = runtime_options(given, &options, err);
    if (status)
        return status;
    if (!out)
        return tfr_fail(err, TFR_EINVAL, "there is no place for the runtime");
    runtime = tfr__calloc(1, sizeof *runtime);
    if (!runtime)
        return tfr__no_memory(err);
    atomic_init(&runtime->refs, 1);
    runtime->log_level = options.log_level     ? options.log_level
                         : options.log_default ? options.log_default
                                               : TFR_LOG_WARNING;
    runtime->log = options.log;
    runtime->log_user = options.log_user;
    runtime->wrap = options.wrap;
    runtime->wrap_user = options.wrap_user;
    runtime->op_timeout_ns = options.op_timeout_ns;
    pthread_mutex_init(&runtime->log_lock, NULL);
    pthread_mutex_init(&runtime->calls_lock, NULL);
    status = tfr__loader_create(runtime, &options, &runtime->loader, err);
    runtime_tuning(runtime, status ? NULL : runtime->loader);
    if (!status)
        status = tfr__ops_add(runtime->loader, err);
    if (!status)
        status = tfr__devices_create(runtime, err);
    if (status) {
        runtime_destroy(runtime);
        return status;
    }
    runtime_log_rows(runtime);
    *out = runtime;
    return TFR_OK;
}

tfr_runtime *tfr__runtime_retain(tfr_runtime *runtime)
{
    atomic_fetch_add(&runtime->refs, 1);
    return runtime;
}

void tfr_runtime_release(tfr_runtime *runtime)
{
    if (runtime && atomic_fetch_sub(&runtime->refs, 1) == 1)
        runtime_destroy(runtime);
}

/* ---- rows about plugins ---- */

uint32_t tfr_runtime_n_plugins(const tfr_runtime *runtime)
{
    return runtime->loader->n_plugins;
}

tfr_status tfr_runtime_plugin(const tfr_runtime *runtime, uint32_t i, tfr_plugin_desc *out,
                              tfr_err *err)
{
    tfr_plugin_desc desc = {0};
    tfr__plugin *plugin;
    uint32_t d;
    if (i >= runtime->loader->n_plugins)
        return tfr_fail(err, TFR_EINVAL, "plugin %u does not exist, there are %u", (unsigned)i,
                        (unsigned)runtime->loader->n_plugins);
    if (!out || out->size < sizeof out->size)
        return tfr_fail(err, TFR_EINVAL, "the description's size is not set");
    plugin = runtime->loader->plugins[i];
    pthread_mutex_lock(&runtime->loader->lock);
    desc.state = plugin->state;
    desc.reason = plugin->reason;
    desc.next_step = plugin->next_step;
    pthread_mutex_unlock(&runtime->loader->lock);
    desc.size = out->size;
    desc.name = plugin->name;
    desc.path = plugin->path;
    desc.version = plugin->reply.version;
    desc.vendor = plugin->reply.vendor;
    desc.build_info = plugin->reply.build_info;
    desc.priority = plugin->priority;
    desc.kind = plugin->note.kind;
    desc.abi_major = plugin->note.abi_major;
    desc.abi_minor = plugin->note.abi_minor;
    for (d = 0; d < plugin->reply.n_devices; d++)
        desc.n_devices += !plugin->reply.devices[d].info.unusable;
    desc.n_ops = plugin->n_ops;
    memcpy(out, &desc, out->size < sizeof desc ? out->size : sizeof desc);
    return TFR_OK;
}
