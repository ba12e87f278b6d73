/* SPDX-License-Identifier: Apache-2.0 */
/* beside.c: see beside.h. */
#include "beside.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *tfr__beside_find(const char *folder, const char *file, const char *installed,
                             char *path, size_t capacity)
{
    char self[1024];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash;
    self[n > 0 ? n : 0] = 0;
    slash = strrchr(self, '/');
    if (slash) {
        *slash = 0;
        if (slash - self >= 6 && strcmp(slash - 6, "/.libs") == 0)
            slash[-6] = 0;
        snprintf(path, capacity, "%s/%s/.libs/%s", self, folder, file);
        if (faccessat(AT_FDCWD, path, R_OK, 0) == 0)
            return path;
    }
    snprintf(path, capacity, "%s/%s", installed, file);
    return path;
}
