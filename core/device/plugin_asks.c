/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_asks.c: the variables and files that a plugin's notes name, since its answers depend on
 * them. Files are not read: size and time of change tell that they are others.
 */
#include "device/loader.h"

#include "base/env.h"
#include "base/hash.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ASKS_MAX_FILES 1024 /* of a folder */

static uint64_t asks_text(uint64_t seed, const char *text)
{
    return tfr__hash(seed, text ? text : "", text ? strlen(text) + 1 : 0);
}

static uint64_t asks_stat(uint64_t seed, int folder, const char *name)
{
    struct stat st;
    uint64_t facts[5] = {0};
    if (fstatat(folder, name, &st, 0) == 0) {
        facts[0] = st.st_ino;
        facts[1] = (uint64_t)st.st_size;
        facts[2] = (uint64_t)st.st_mtim.tv_sec;
        facts[3] = (uint64_t)st.st_mtim.tv_nsec;
        facts[4] = st.st_mode;
    }
    return tfr__hash(asks_text(seed, name), facts, sizeof facts);
}

/* Files of a folder come in any order. */
static uint64_t asks_file(const char *path)
{
    uint64_t sum = asks_stat(TFR__HASH_SEED, AT_FDCWD, path);
    DIR *folder = opendir(path);
    struct dirent *entry;
    for (int i = 0; folder && i < ASKS_MAX_FILES && (entry = readdir(folder)); i++)
        if (entry->d_name[0] != '.')
            sum += asks_stat(TFR__HASH_SEED, dirfd(folder), entry->d_name);
    if (folder)
        closedir(folder);
    return sum;
}

void tfr__plugin_add_asked(tfr__plugin *plugin, uint32_t type, const char *text)
{
    char name[512], path[PATH_MAX];
    const char *base = "";
    if (type == TFR_NOTE_VARIABLE)
        plugin->variables_hash =
            asks_text(asks_text(plugin->variables_hash, text), tfr__env_get(text));
    if (type != TFR_NOTE_FILE)
        return;
    if (*text == '$') {
        const size_t n = strcspn(++text, "/");
        snprintf(name, sizeof name, "%.*s", (int)n, text);
        base = tfr__env_get(name);
        text += n;
        if (!base)
            return;
    }
    snprintf(path, sizeof path, "%s%s", base, text);
    plugin->files_hash = tfr__hash(plugin->files_hash, path, strlen(path)) + asks_file(path);
}
