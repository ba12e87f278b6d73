/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_load.c: loads a plugin into this process when one of its devices is first used, and opens
 * the device. Libraries belong to the process, not to a runtime: two runtimes share one, and it
 * stays mapped and started for ever. Its shutdown runs when the process exits, if no runtime
 * lives then: an earlier one would leave the next runtime with a plugin that may not be called.
 */
#include "device/account.h"
#include "device/loader.h"

#include "base/alloc.h"
#include "base/port/dl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tfrun/fail.h>

typedef struct tfr__library {
    struct tfr__library *next;
    char *path;
    tfr__file_id file;
    char name[32];
    tfr__tables tables;
    uint32_t n_runtimes;
    bool is_shut_down;
} tfr__library;

static struct {
    pthread_mutex_t lock;
    tfr__library *first;
} libraries = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* No runtime lives any more, and the plugin's own texts stay. */
static void library_end(tfr__library *library)
{
    const tfr__visit visit = tfr__slot_enter(library->tables.plugin.name, "shutdown", NULL, NULL);
    library->tables.plugin.shutdown();
    tfr__slot_leave(&visit, NULL);
}

/*
 * Newest first, as destructors run. It is registered anew with each library: at the end of the
 * process it then comes before the destructors of the library that it was registered after.
 */
static void library_shutdown_newest(void)
{
    tfr__library *library;
    if (pthread_mutex_trylock(&libraries.lock) != 0)
        return;
    for (library = libraries.first; library && library->is_shut_down; library = library->next)
        ;
    if (library) {
        library->is_shut_down = true;
        if (!library->n_runtimes && library->tables.plugin.shutdown)
            library_end(library);
    }
    pthread_mutex_unlock(&libraries.lock);
}

/* What it found in the probe's process, it has to find in this one before it can open it. */
static tfr_status library_enumerate(tfr__plugin *plugin, const tfr__tables *tables, tfr_err *err)
{
    tfr_err own = TFR_ERR_INIT;
    uint32_t n = 0;
    tfr_status status;
    const tfr__visit visit = tfr__slot_enter(plugin->name, "enumerate", NULL, NULL);
    status = (tfr_status)tables->plugin.enumerate(NULL, sizeof(tfr_device_info), &n, &own);
    tfr__slot_leave(&visit, plugin);
    if (status)
        return tfr_fail(err, status == TFR_ENOMEM ? TFR_ENOMEM : TFR_EDEVICE,
                        "looking for its devices returned %s: %s", tfr_status_name(status),
                        tfr__said(&own));
    return TFR_OK;
}

/* Loads and starts; the caller has the lock. */
static tfr_status library_load(tfr__plugin *plugin, tfr__library *library, tfr_err *err)
{
    const tfr_plugin *given = NULL;
    tfr_plugin_entry_fn entry;
    tfr_err own = TFR_ERR_INIT;
    tfr_status status;
    tfr__visit visit = tfr__slot_enter(plugin->name, "dlopen", NULL, NULL);
    void *handle = tfr__dl_open(plugin->path, &own);
    tfr__slot_leave(&visit, plugin);
    if (!handle)
        return tfr_fail(err, (tfr_status)own.code, "the dynamic linker says: %s", own.text);
    entry = tfr__dl_entry(handle);
    if (!entry)
        return tfr_fail(err, TFR_EPLUGIN, "does not export tfrun_plugin_v%d", TFR_ABI_MAJOR);
    visit = tfr__slot_enter(plugin->name, "tfrun_plugin_v0", NULL, NULL);
    status = (tfr_status)entry(tfr__host(), &given, &own);
    tfr__slot_leave(&visit, plugin);
    if (status)
        return tfr_fail(err, status == TFR_ENOMEM ? TFR_ENOMEM : TFR_EPLUGIN,
                        "its entry returned %s: %s", tfr_status_name(status), tfr__said(&own));
    if (given && plugin->loader && plugin->loader->runtime->wrap) /* no runtime's: plugin_ops.c */
        given =
            plugin->loader->runtime->wrap(plugin->loader->runtime->wrap_user, plugin->path, given);
    visit = tfr__slot_enter(plugin->name, "facet", NULL, NULL);
    status = tfr__tables_import(given, plugin->note.name, plugin->note.kind, &library->tables, err);
    tfr__slot_leave(&visit, plugin);
    return status ? status : library_enumerate(plugin, &library->tables, err);
}

/* The file under the path is no longer the one that was looked at: say so, load nothing. */
static tfr_status library_check_file(const tfr__plugin *plugin, tfr_err *err)
{
    const tfr__file_id *was = &plugin->file;
    char why[1024];
    struct stat st;
    if (stat(plugin->path, &st) != 0 || (uint64_t)st.st_ino != was->inode ||
        (uint64_t)st.st_dev != was->device || (uint64_t)st.st_size != was->bytes ||
        (int64_t)st.st_mtim.tv_sec != was->mtime_s || (int64_t)st.st_mtim.tv_nsec != was->mtime_ns)
        return tfr_fail(err, TFR_EPLUGIN,
                        "the file has changed since it was looked at; start again");
    if (!tfr__path_is_safe(plugin->path, why, sizeof why))
        return tfr_fail(err, TFR_EPLUGIN, "%s", why);
    return TFR_OK;
}

static tfr__library *library_find(const char *path)
{
    tfr__library *library = libraries.first;
    while (library && strcmp(library->path, path) != 0)
        library = library->next;
    return library;
}

/* Gives the plugin's runtime a hold on the library, loading it if it is the first. */
static tfr_status library_get(tfr__plugin *plugin, tfr_err *err)
{
    tfr__library *library;
    tfr_status status = TFR_OK;
    pthread_mutex_lock(&libraries.lock);
    if (plugin->library) { /* another device of it was opened at the same time */
        pthread_mutex_unlock(&libraries.lock);
        return TFR_OK;
    }
    library = library_find(plugin->path);
    if (library && library->is_shut_down)
        status = tfr_fail(err, TFR_EPLUGIN, "the process is exiting, and the plugin has ended");
    if (!library && !status) {
        status = library_check_file(plugin, err);
        library = status ? NULL : tfr__calloc(1, sizeof *library);
        if (library && !(library->path = tfr__strdup(plugin->path))) {
            tfr__free(library);
            library = NULL;
        }
        if (!library && !status)
            status = tfr__no_memory(err);
        if (!status)
            status = library_load(plugin, library, err);
        if (status && library) {
            tfr__free(library->path);
            tfr__free(library);
        } else if (!status) {
            library->next = libraries.first;
            libraries.first = library;
            atexit(library_shutdown_newest);
        }
    }
    if (!status) {
        library->n_runtimes++;
        plugin->library = library;
    }
    pthread_mutex_unlock(&libraries.lock);
    return status;
}

tfr_status tfr__plugin_tables(tfr__plugin *plugin, const tfr__tables **out, tfr_err *err)
{
    tfr_status status = library_get(plugin, err);
    if (!status)
        *out = &plugin->library->tables;
    return status;
}

void tfr__plugin_unload(tfr__plugin *plugin)
{
    pthread_mutex_lock(&libraries.lock);
    if (plugin->library)
        plugin->library->n_runtimes--;
    plugin->library = NULL;
    pthread_mutex_unlock(&libraries.lock);
}

/* ---- devices ---- */

/*
 * Notes the first space of a role. The host works in it by addresses; what kernels write there, the
 * host reads at the same address.
 */
static tfr_status find_role(const tfr__backend *backend, const tfr_space_info *spaces, uint32_t n,
                            uint32_t role, uint32_t access, uint32_t *out, tfr_err *err)
{
    *out = TFR_SPACE_HOST;
    for (uint32_t i = 0; i < n; i++) {
        if (!(spaces[i].flags & role) || spaces[i].flags & TFR_MUST_UNDERSTAND)
            continue;
        if ((spaces[i].flags & access) != access || spaces[i].flags & TFR_SPACE_HANDLES)
            return tfr_fail(err, TFR_EPLUGIN,
                            "space %u of %s, \"%.15s\", has flags 0x%x: its role needs 0x%x, and "
                            "addresses",
                            i, backend->name, spaces[i].name, (unsigned)spaces[i].flags,
                            (unsigned)access);
        if (*out == TFR_SPACE_HOST)
            *out = i;
    }
    return TFR_OK;
}

/* Space 0 and the rules that the core relies on. */
static tfr_status backend_check_spaces(tfr__backend *backend, tfr_err *err)
{
    tfr_space_info spaces[16];
    uint32_t n = 16, i;
    tfr_status status;
    memset(spaces, 0, sizeof spaces);
    for (i = 0; i < 16; i++)
        spaces[i].size = sizeof spaces[i];
    TFR__SLOT(backend, "spaces", NULL, NULL,
              status = (tfr_status)backend->memory.spaces(backend->device, spaces, sizeof spaces[0],
                                                          &n, err));
    if (!status)
        status = tfr__spaces_check(spaces, n < 16 ? n : 16, &backend->memory, &backend->info,
                                   backend->name, err);
    if (status)
        return status;
    if (!spaces[0].alignment)
        spaces[0].alignment = 1;
    n = n < 16 ? n : 16;
    backend->space = spaces[0];
    backend->space.name[sizeof backend->space.name - 1] = 0;
    backend->space.domain[sizeof backend->space.domain - 1] = 0;
    status = find_role(backend, spaces, n, TFR_SPACE_PINNED, TFR_SPACE_HOST_ACCESS,
                       &backend->pinned_space, err);
    return status ? status
                  : find_role(backend, spaces, n, TFR_SPACE_TRANSFER,
                              TFR_SPACE_HOST_ACCESS | TFR_SPACE_DEVICE_ACCESS,
                              &backend->transfer_space, err);
}

static tfr_status backend_open_device(tfr__backend *backend, uint32_t n_threads, tfr_err *err)
{
    const tfr__config *config = &backend->plugin->loader->config;
    const tfr__tables *tables = &backend->plugin->library->tables;
    char threads[16];
    tfr_option *options = tfr__calloc((size_t)config->n + 1, sizeof *options);
    tfr_open_options given = {.size = sizeof given, .options = options};
    tfr_plugin_device *device = NULL;
    tfr_status status;
    if (!options)
        return tfr__no_memory(err);
    given.n_options = tfr__config_of(config, backend->plugin_name, options);
    snprintf(threads, sizeof threads, "%u", (unsigned)n_threads);
    if (n_threads && !tfr_open_option(&given, "threads"))
        options[given.n_options++] = (tfr_option){"threads", threads};
    TFR__SLOT(backend, "open", NULL, NULL,
              status = (tfr_status)tables->plugin.open(&backend->info, &given, &device, err));
    if (!status && device)
        tfr__account_open(device, tfr_open_option(&given, "memory_limit"));
    tfr__free(options);
    if (status)
        return status;
    if (!device)
        return tfr_fail(err, TFR_EPLUGIN, "the slot open of %s returned TFR_OK and no device",
                        backend->name);
    backend->memory = tables->memory;
    backend->kernel = tables->kernel;
    backend->queue = tables->queue;
    backend->has_queue = tables->has_queue;
    backend->program = tables->program;
    backend->has_program = tables->has_program;
    backend->layout = tables->layout;
    backend->has_layout = tables->has_layout;
    backend->profile = tables->profile;
    backend->has_profile = tables->has_profile;
    backend->native = tables->native;
    backend->has_native = tables->has_native;
    backend->comm = tables->comm;
    backend->has_comm = tables->has_comm;
    backend->capture = tables->capture;
    backend->has_capture = tables->has_capture && tables->has_queue;
    backend->device = device;
    status = backend_check_spaces(backend, err);
    if (status) {
        tfr__account_close(device);
        TFR__SLOT(backend, "close", NULL, NULL, tables->plugin.close(device));
        backend->device = NULL;
    }
    return status;
}

/* Nothing of the plugin is asked any more by this runtime, for the reason in text. */
static void backend_quarantine_plugin(tfr_runtime *runtime, tfr__plugin *plugin, const char *text)
{
    uint32_t d, b;
    tfr__plugin_set(plugin, TFR_PLUGIN_QUARANTINED, "%s", text);
    for (d = 0; d < runtime->n_devices; d++)
        for (b = 0; b < runtime->devices[d].n_backends; b++)
            if (runtime->devices[d].backends[b].plugin == plugin)
                atomic_store(&runtime->devices[d].backends[b].quarantined, true);
    tfr__log(runtime, TFR_LOG_WARNING, "loader", "plugin %s is not used any more: %s", plugin->name,
             text);
}

static uint32_t backend_threads(const tfr_runtime *runtime, const tfr__backend *backend)
{
    uint32_t d, b;
    for (d = 0; d < runtime->n_devices; d++)
        for (b = 0; b < runtime->devices[d].n_backends; b++)
            if (&runtime->devices[d].backends[b] == backend)
                return runtime->devices[d].is_host ? runtime->devices[d].n_threads : 0;
    return 0;
}

static tfr_status backend_refused(const tfr__backend *backend, tfr_err *err)
{
    tfr__plugin *plugin = backend->plugin;
    const char *reason;
    pthread_mutex_lock(&plugin->loader->lock);
    reason = plugin->reason;
    pthread_mutex_unlock(&plugin->loader->lock);
    return tfr_fail(err, TFR_EPLUGIN, "backend %s is quarantined: %s", backend->name,
                    *reason ? reason : "it broke the contract before");
}

/* The caller has backend->lock. */
static tfr_status backend_open_once(tfr_runtime *runtime, tfr__backend *backend, tfr_err *err)
{
    tfr__plugin *plugin = backend->plugin;
    tfr_err why = TFR_ERR_INIT;
    bool first;
    tfr_status status = TFR_OK;
    pthread_mutex_lock(&libraries.lock);
    first = !plugin->library;
    pthread_mutex_unlock(&libraries.lock);
    if (first) {
        status = library_get(plugin, &why);
        if (status == TFR_EPLUGIN)
            backend_quarantine_plugin(runtime, plugin, tfr__said(&why));
        if (status)
            return tfr_fail(err, status, "plugin %s: %s", plugin->name, tfr__said(&why));
        tfr__plugin_set(plugin, TFR_PLUGIN_LOADED, "%s", plugin->library->tables.off);
        if (plugin->library->tables.off[0])
            tfr__log(runtime, TFR_LOG_WARNING, plugin->name, "%s", plugin->library->tables.off);
        tfr__log(runtime, TFR_LOG_INFO, "loader", "loaded plugin %s %s from %s", plugin->name,
                 plugin->reply.version, plugin->path);
    }
    status = backend_open_device(backend, backend_threads(runtime, backend), &why);
    if (status == TFR_EPLUGIN)
        backend_quarantine_plugin(runtime, plugin, tfr__said(&why));
    if (status)
        return tfr_fail(err, status, "device %s cannot be opened: %s", backend->name,
                        tfr__said(&why));
    tfr__log(runtime, TFR_LOG_INFO, "loader", "opened device %s (%s)", backend->name,
             backend->info.identity);
    return TFR_OK;
}

tfr_status tfr__backend_open(tfr_runtime *runtime, tfr__backend *backend, tfr_err *err)
{
    tfr_status status = TFR_OK;
    if (atomic_load_explicit(&backend->is_open, memory_order_acquire))
        return TFR_OK;
    pthread_mutex_lock(&backend->lock);
    if (!atomic_load_explicit(&backend->is_open, memory_order_relaxed)) {
        if (atomic_load(&backend->quarantined))
            status = backend_refused(backend, err);
        else
            status = backend_open_once(runtime, backend, err);
        if (!status)
            atomic_store_explicit(&backend->is_open, true, memory_order_release);
    }
    pthread_mutex_unlock(&backend->lock);
    return status;
}

/* Its work has not ended: the device stays open, and the plugin is not shut down. */
static void backend_leave(const tfr__backend *backend)
{
    pthread_mutex_lock(&libraries.lock);
    backend->plugin->library->n_runtimes++;
    pthread_mutex_unlock(&libraries.lock);
}

/* The queues that it keeps for sessions (stream_rest.c). */
static void end_resting(tfr__backend *b)
{
    while (b->n_resting) {
        const tfr__resting r = b->resting[--b->n_resting];
        TFR__SLOT(b, "fence_destroy", NULL, NULL, b->queue.fence_destroy(b->device, r.fence));
        TFR__SLOT(b, "queue destroy", NULL, NULL, b->queue.destroy(b->device, r.queue));
    }
}

void tfr__backend_close(tfr__backend *backend)
{
    tfr__account_close(backend->device);
    if (backend->device && atomic_load(&backend->left))
        backend_leave(backend);
    else if (backend->device) {
        end_resting(backend);
        TFR__SLOT(backend, "close", NULL, NULL,
                  backend->plugin->library->tables.plugin.close(backend->device));
    }
    backend->device = NULL;
    atomic_store(&backend->is_open, false);
}
