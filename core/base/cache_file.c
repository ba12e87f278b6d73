/* SPDX-License-Identifier: Apache-2.0 */
/* cache_file.c: the user's cache folder, see cache_file.h. */
#include "base/cache_file.h"

#include "base/alloc.h"
#include "base/writer.h"
#include "base/env.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool tfr__cache_path(const char *name, char *out, size_t n)
{
    const char *folder = tfr__env_get("XDG_CACHE_HOME"), *home = tfr__env_get("HOME");
    int bytes = 0;
    if (folder && *folder == '/')
        bytes = snprintf(out, n, "%s/tfrun/%s", folder, name);
    else if (home && *home == '/')
        bytes = snprintf(out, n, "%s/.cache/tfrun/%s", home, name);
    return bytes > 0 && (size_t)bytes < n;
}

char *tfr__cache_read(const char *path, size_t least, size_t most, size_t *n)
{
    struct stat st;
    char *bytes = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
        !(st.st_mode & (S_IWGRP | S_IWOTH)) && st.st_size >= (off_t)least &&
        st.st_size <= (off_t)most)
        bytes = tfr__alloc((size_t)st.st_size);
    if (bytes && read(fd, bytes, (size_t)st.st_size) != (ssize_t)st.st_size) {
        tfr__free(bytes);
        bytes = NULL;
    }
    close(fd);
    *n = bytes ? (size_t)st.st_size : 0;
    return bytes;
}

/* Makes the folder and those above it; what is there already stays as it is. */
static void cache_make_folder(const char *file)
{
    char path[PATH_MAX], *slash;
    snprintf(path, sizeof path, "%s", file);
    for (slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
}

tfr_status tfr__cache_write(const char *path, const void *bytes, size_t n, tfr_err *err)
{
    tfr__writer writer;
    tfr_status status;
    cache_make_folder(path);
    status = tfr__writer_open_cache(path, bytes, &writer, err);
    if (status)
        return status;
    tfr__writer_put(&writer, bytes, n);
    return tfr__writer_close(&writer, err);
}

static bool begins_with(int folder, const char *name, const char *magic)
{
    char first[TFR__MAGIC_BYTES];
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool same = fd >= 0 && read(fd, first, sizeof first) == (ssize_t)sizeof first &&
                memcmp(first, magic, sizeof first) == 0;
    if (fd >= 0)
        close(fd);
    return same;
}

/* One look at the folder: how many files with the magic there are, and the name of the oldest. */
static uint32_t cache_oldest(DIR *folder, const char *magic, char *name, size_t n)
{
    struct timespec oldest = {0};
    struct dirent *entry;
    uint32_t count = 0;
    rewinddir(folder);
    while ((entry = readdir(folder)) != NULL) {
        struct stat st;
        if (fstatat(dirfd(folder), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(st.st_mode) || !begins_with(dirfd(folder), entry->d_name, magic))
            continue;
        if (count++ &&
            (st.st_mtim.tv_sec > oldest.tv_sec ||
             (st.st_mtim.tv_sec == oldest.tv_sec && st.st_mtim.tv_nsec >= oldest.tv_nsec)))
            continue;
        oldest = st.st_mtim;
        snprintf(name, n, "%s", entry->d_name);
    }
    return count;
}

void tfr__cache_prune(const char *path, const char *magic, uint32_t most)
{
    char name[NAME_MAX + 1], folder_path[PATH_MAX];
    DIR *folder;
    char *slash;
    snprintf(folder_path, sizeof folder_path, "%s", path);
    slash = strrchr(folder_path, '/');
    if (!slash)
        return;
    *slash = 0;
    folder = opendir(folder_path);
    if (!folder)
        return;
    while (cache_oldest(folder, magic, name, sizeof name) > most)
        if (unlinkat(dirfd(folder), name, 0) != 0)
            break;
    closedir(folder);
}
