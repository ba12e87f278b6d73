/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leftovers.c: see leftovers.h. A writer that lives has its file locked. Who holds the lock while
 * it removes the name is sure to remove no other file: a writer whose file was taken away before it
 * was locked makes another one.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "leftovers.h"

#define PREFIX ".tfrun-"

static bool is_temporary(const char *name)
{
    const size_t n = strlen(PREFIX);
    return strncmp(name, PREFIX, n) == 0 && strlen(name + n) == 16 &&
           strspn(name + n, "0123456789abcdef") == 16;
}

static void remove_dead(int folder, const char *name)
{
    struct stat st;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
        !flock(fd, LOCK_EX | LOCK_NB))
        (void)unlinkat(folder, name, 0);
    close(fd);
}

void tfr__leftovers_remove(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *e;
    while (dir && (e = readdir(dir)))
        if (is_temporary(e->d_name))
            remove_dead(dirfd(dir), e->d_name);
    if (dir)
        closedir(dir);
}
