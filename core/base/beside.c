/* SPDX-License-Identifier: Apache-2.0 */
/* beside.c: see beside.h. */
#include "beside.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *tfr__beside_find(const char *folder, const char *file, const char *installed,
                             char *path, size_t capacity)
{
    static const char *const up[] = {"../", ""};
    char self[1024];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    for (int i = 0; i < 2 && n > 0; i++) {
        self[n] = 0;
        const char *slash = strrchr(self, '/');
        if (!slash)
            break;
        snprintf(path, capacity, "%.*s/%s%s/.libs/%s", (int)(slash - self), self, up[i], folder,
                 file);
        if (access(path, R_OK) == 0)
            return path;
    }
    snprintf(path, capacity, "%s/%s", installed, file);
    return path;
}
