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
#include <stdlib.h>
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

typedef struct cache_entry {
    struct timespec changed;
    uint64_t bytes;
    char name[104]; /* longer ones are none of ours */
} cache_entry;

static int by_age(const void *a, const void *b)
{
    const struct timespec *x = &((const cache_entry *)a)->changed;
    const struct timespec *y = &((const cache_entry *)b)->changed;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

/* The files with the magic; what there is no memory for is left out. */
static cache_entry *cache_list(DIR *folder, const char *magic, uint32_t *n)
{
    cache_entry *list = NULL;
    uint32_t capacity = 0;
    struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        struct stat st;
        if (strlen(entry->d_name) >= sizeof list->name ||
            fstatat(dirfd(folder), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(st.st_mode) || !begins_with(dirfd(folder), entry->d_name, magic))
            continue;
        if (*n == capacity) {
            cache_entry *more = tfr__realloc(list, (2 * capacity + 64) * sizeof *list);
            if (!more)
                break;
            list = more;
            capacity = 2 * capacity + 64;
        }
        list[*n].changed = st.st_mtim;
        list[*n].bytes = (uint64_t)st.st_size;
        snprintf(list[*n].name, sizeof list->name, "%s", entry->d_name);
        ++*n;
    }
    return list;
}

void tfr__cache_prune(const char *path, const char *magic, uint32_t most, uint64_t most_bytes)
{
    char folder_path[PATH_MAX];
    cache_entry *list;
    uint64_t bytes = 0;
    uint32_t n = 0;
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
    list = cache_list(folder, magic, &n);
    for (uint32_t i = 0; i < n; i++)
        bytes += list[i].bytes;
    if (n > most || bytes > most_bytes)
        qsort(list, n, sizeof *list, by_age);
    for (uint32_t i = 0; n - i > most || bytes > most_bytes; i++) {
        (void)unlinkat(dirfd(folder), list[i].name, 0); /* somebody else may have been first */
        bytes -= list[i].bytes;
    }
    tfr__free(list);
    closedir(folder);
}
