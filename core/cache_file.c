/* SPDX-License-Identifier: Apache-2.0 */
/* cache_file.c: the user's cache folder. A file is written beside its place and renamed. */
#include "cache_file.h"

#include "alloc.h"
#include "env.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
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

static bool write_all(int fd, const char *at, size_t n)
{
    while (n) {
        ssize_t done = write(fd, at, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += done;
        n -= (size_t)done;
    }
    return true;
}

bool tfr__cache_write(const char *path, const void *bytes, size_t n)
{
    static atomic_uint number; /* threads may write one file at a time, each beside it */
    char temp[PATH_MAX + 40];
    bool good;
    int fd;
    cache_make_folder(path);
    snprintf(temp, sizeof temp, "%s.%ld.%u", path, (long)getpid(), atomic_fetch_add(&number, 1));
    fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return false;
    good = write_all(fd, bytes, n);
    if (close(fd) == 0 && good && rename(temp, path) == 0)
        return true;
    unlink(temp);
    return false;
}

/* One look at the folder: how many files there are, and the name of the oldest. */
static uint32_t cache_oldest(DIR *folder, char *name, size_t n)
{
    struct timespec oldest = {0};
    struct dirent *entry;
    uint32_t count = 0;
    rewinddir(folder);
    while ((entry = readdir(folder)) != NULL) {
        struct stat st;
        if (fstatat(dirfd(folder), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(st.st_mode))
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

void tfr__cache_prune(const char *path, uint32_t most)
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
    while (cache_oldest(folder, name, sizeof name) > most)
        if (unlinkat(dirfd(folder), name, 0) != 0)
            break;
    closedir(folder);
}
