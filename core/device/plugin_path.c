/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_path.c: is a file located safely? Loading a file means trusting everybody who can write it
 * or swap it. That is: its owner, its mode, and the same of every folder above it, as sshd's
 * StrictModes looks at keys. A plugin's own code is not judged; plugins are trusted once located.
 */
#include "device/loader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One part of the path. sticky_helps: others may add files to it, but not swap ours. */
static bool path_part_is_safe(const char *part, bool sticky_helps, char *why, size_t n)
{
    struct stat st;
    uid_t user = geteuid();
    unsigned mode;
    if (fstatat(AT_FDCWD, part, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        snprintf(why, n, "%s cannot be looked at: %s", part, strerror(errno));
        return false;
    }
    mode = (unsigned)st.st_mode & 07777;
    if (S_ISLNK(st.st_mode)) {
        snprintf(why, n, "%s is a link that came up while it was checked", part);
        return false;
    }
    if (st.st_uid != 0 && st.st_uid != user) {
        snprintf(why, n, "%s belongs to user %u, not to root or user %u", part, (unsigned)st.st_uid,
                 (unsigned)user);
        return false;
    }
    if (sticky_helps && S_ISDIR(st.st_mode) && (mode & S_ISVTX))
        return true;
    if (mode & S_IWOTH) {
        snprintf(why, n, "%s can be written by everybody (mode %04o)", part, mode);
        return false;
    }
    if ((mode & S_IWGRP) && st.st_gid != 0 && st.st_gid != getegid()) {
        snprintf(why, n, "%s can be written by group %u (mode %04o)", part, (unsigned)st.st_gid,
                 mode);
        return false;
    }
    return true;
}

bool tfr__path_is_safe(const char *path, char *why, size_t n)
{
    char part[4096];
    size_t bytes = strlen(path);
    char *slash;
    /* The folder of the file gets no help from the sticky bit: there, others can put files that
     * its libraries are then found among. Further up they can only add, not swap. */
    bool sticky_helps = false;
    if (bytes >= sizeof part || *path != '/') {
        snprintf(why, n, "a path of %zu bytes is not absolute or too long", bytes);
        return false;
    }
    if (!path_part_is_safe(path, false, why, n))
        return false;
    memcpy(part, path, bytes + 1);
    while ((slash = strrchr(part, '/'))) {
        if (slash == part) /* the root itself */
            return path_part_is_safe("/", true, why, n);
        *slash = 0;
        if (!path_part_is_safe(part, sticky_helps, why, n))
            return false;
        sticky_helps = true;
    }
    return true;
}
