/* SPDX-License-Identifier: Apache-2.0 */
/* path.c: see path.h. */
#include "path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINKS = 40 }; /* as many as Linux follows */

int tfr__path_enter(int base, const char *path, int *folder, char name[NAME_MAX + 1])
{
    char text[PATH_MAX];
    const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
    size_t n = (size_t)(last - path);
    *folder = -1;
    if (!*path)
        return ENOENT;
    if (!*last)
        return EISDIR;
    if (n >= sizeof text || strlen(last) > NAME_MAX)
        return ENAMETOOLONG;
    snprintf(text, sizeof text, "%.*s", n ? (int)n : 1, n ? path : ".");
    snprintf(name, NAME_MAX + 1, "%s", last);
    *folder = openat(base, text, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return *folder < 0 ? errno : 0;
}

/* The rule of Linux's protected_symlinks, which holds for open alone: a link in a folder where all
 * may write counts only if it is the user's or the folder's owner's. */
static bool may_follow(int folder, const struct stat *link)
{
    struct stat st;
    if (fstat(folder, &st))
        return false;
    return (st.st_mode & (S_ISVTX | S_IWOTH)) != (S_ISVTX | S_IWOTH) || link->st_uid == geteuid() ||
           link->st_uid == st.st_uid;
}

/* Replaces folder and name, which are a link, by what the link says. 0 or errno. */
static int follow_link(int *folder, char name[NAME_MAX + 1])
{
    char target[PATH_MAX];
    int from = *folder, error;
    ssize_t n = readlinkat(from, name, target, sizeof target);
    if (n < 0)
        return errno;
    if ((size_t)n == sizeof target)
        return ENAMETOOLONG;
    target[n] = 0;
    error = tfr__path_enter(from, target, folder, name);
    close(from);
    return error;
}

int tfr__path_find(const char *path, int *folder, char name[NAME_MAX + 1])
{
    int error = tfr__path_enter(AT_FDCWD, path, folder, name);
    for (int links = 0; !error; links++) {
        struct stat st;
        if (fstatat(*folder, name, &st, AT_SYMLINK_NOFOLLOW)) {
            error = errno == ENOENT ? 0 : errno;
            break;
        }
        if (!S_ISLNK(st.st_mode))
            break;
        if (links == MOST_LINKS)
            error = ELOOP;
        else
            error = may_follow(*folder, &st) ? follow_link(folder, name) : EACCES;
    }
    if (error && *folder >= 0) {
        close(*folder);
        *folder = -1;
    }
    return error;
}

int tfr__path_descriptor(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
    for (int i = 0; i < 2; i++) {
        const char *number = path + strlen(folders[i]);
        if (strncmp(path, folders[i], strlen(folders[i])) == 0 && *number >= '0' &&
            *number <= '9' && strlen(number) <= 6)
            return (int)strtol(number, NULL, 10);
    }
    return -1;
}
