/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_scan.c: which plugin files there are: files that the user names, then the folders that
 * the program names, those of TFRUN_PLUGIN_PATH and the installed one. Never the current folder
 * and never the program's. A row for each *.so; what it is comes later.
 */
#include "device/loader.h"

#include "base/alloc.h"
#include "base/env.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tfrun/fail.h>
#include <unistd.h>

#ifndef TFR_PLUGIN_DIR
#define TFR_PLUGIN_DIR "/usr/lib/tfrun/plugins-0"
#endif

#define SCAN_MAX_FILES 1024

static tfr__plugin *scan_add(tfr__loader *loader, const char *path)
{
    const char *base = strrchr(path, '/');
    tfr__plugin *plugin;
    uint32_t i;
    base = base ? base + 1 : path;
    for (i = 0; i < loader->n_plugins; i++)
        if (strcmp(loader->plugins[i]->path, path) == 0)
            return loader->plugins[i]; /* the same folder twice, or a link to a known file */
    if (loader->n_plugins == loader->capacity) {
        uint32_t capacity = loader->capacity ? 2 * loader->capacity : 16;
        tfr__plugin **more = tfr__realloc(loader->plugins, capacity * sizeof *more);
        if (!more)
            return NULL;
        loader->plugins = more;
        loader->capacity = capacity;
    }
    plugin = tfr__region_alloc(&loader->region, 1, sizeof *plugin);
    if (!plugin)
        return NULL;
    plugin->loader = loader;
    plugin->path = tfr__region_copy(&loader->region, path);
    plugin->name = tfr__region_copy(&loader->region, base);
    plugin->reason = plugin->next_step = "";
    plugin->reply.name = plugin->reply.version = plugin->reply.vendor = "";
    plugin->reply.build_info = plugin->reply.text = "";
    plugin->state = TFR_PLUGIN_FOUND;
    if (!plugin->path || !plugin->name)
        return NULL;
    loader->plugins[loader->n_plugins++] = plugin;
    return plugin;
}

/* A file by its path: links are resolved, and everything on the real path is checked. */
static tfr_status scan_file(tfr__loader *loader, const char *path, bool asked_for, tfr_err *err)
{
    char real[PATH_MAX], why[PATH_MAX + 128];
    struct stat st;
    const char *resolved;
    tfr__plugin *plugin;
    resolved = realpath(path, real);
    if (resolved && stat(resolved, &st) == 0 && !S_ISREG(st.st_mode) && !asked_for)
        return TFR_OK;
    plugin = scan_add(loader, resolved ? resolved : path);
    if (!plugin)
        return tfr__no_memory(err);
    if (plugin->state != TFR_PLUGIN_FOUND)
        return TFR_OK;
    plugin->asked_for = plugin->asked_for || asked_for;
    if (!resolved) {
        tfr__plugin_set(plugin, TFR_PLUGIN_NOT_A_PLUGIN, "cannot be found: %s", strerror(errno));
        return TFR_OK;
    }
    if (!S_ISREG(st.st_mode)) {
        tfr__plugin_set(plugin, TFR_PLUGIN_NOT_A_PLUGIN, "is not a regular file");
        return TFR_OK;
    }
    if (!tfr__path_is_safe(resolved, why, sizeof why))
        tfr__plugin_set(plugin, TFR_PLUGIN_UNSAFE_PATH, "%s", why);
    return TFR_OK;
}

static int scan_is_so(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);
    return n > 3 && entry->d_name[0] != '.' && strcmp(entry->d_name + n - 3, ".so") == 0;
}

/* By bytes, not by locale, so that the winner of a name is the same for everybody. */
static int scan_order(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static tfr_status scan_folder(tfr__loader *loader, const char *folder, bool quiet, tfr_err *err)
{
    struct dirent **entries = NULL;
    char path[PATH_MAX];
    tfr_status status = TFR_OK;
    int n = scandir(folder, &entries, scan_is_so, scan_order), i;
    if (n < 0) {
        if (errno == ENOMEM)
            return tfr__no_memory(err);
        tfr__log(loader->runtime, quiet ? TFR_LOG_DEBUG : TFR_LOG_WARNING, "loader",
                 "plugin folder %s cannot be read: %s", folder, strerror(errno));
        return TFR_OK;
    }
    for (i = 0; i < n; i++) {
        int bytes = snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (!status && loader->n_plugins >= SCAN_MAX_FILES) {
            tfr__log(loader->runtime, TFR_LOG_WARNING, "loader",
                     "there are more than %d plugin files, those after %s are left out",
                     SCAN_MAX_FILES, path);
            break;
        }
        if (!status && bytes > 0 && (size_t)bytes < sizeof path)
            status = scan_file(loader, path, false, err);
    }
    for (i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
    return status;
}

/* Folders of a list with colons; relative ones would depend on the current folder. */
static tfr_status scan_list(tfr__loader *loader, const char *list, tfr_err *err)
{
    tfr_status status = TFR_OK;
    while (*list && !status) {
        size_t n = strcspn(list, ":");
        char folder[PATH_MAX];
        if (n && *list != '/') {
            tfr__log(loader->runtime, TFR_LOG_WARNING, "loader",
                     "TFRUN_PLUGIN_PATH: \"%.*s\" is left out, it does not start with /", (int)n,
                     list);
        } else if (n && n < sizeof folder) {
            memcpy(folder, list, n);
            folder[n] = 0;
            status = scan_folder(loader, folder, false, err);
        }
        list += n;
        list += *list == ':';
    }
    return status;
}

tfr_status tfr__plugins_scan(tfr__loader *loader, const tfr_runtime_options *options, tfr_err *err)
{
    const char *list = tfr__env_get("TFRUN_PLUGIN_PATH"), *dir = tfr__env_get("TFRUN_PLUGIN_DIR");
    tfr_status status = TFR_OK;
    uint32_t i;
    for (i = 0; i < options->n_plugin_files && !status; i++)
        status = scan_file(loader, options->plugin_files[i], true, err);
    for (i = 0; i < options->n_plugin_dirs && !status; i++)
        status = scan_folder(loader, options->plugin_dirs[i], false, err);
    if (!status && list)
        status = scan_list(loader, list, err);
    if (!status)
        status = scan_folder(loader, dir && *dir == '/' ? dir : TFR_PLUGIN_DIR, true, err);
    return status;
}
