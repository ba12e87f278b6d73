/* SPDX-License-Identifier: Apache-2.0 */
/* temp_path.h: a folder for the files of one test program. */
#ifndef TFR_TEMP_PATH_H
#define TFR_TEMP_PATH_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static inline const char *temp_folder(void)
{
    static char folder[160];
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/tfrun-test-%ld", tmp ? tmp : "/tmp", (long)getpid());
    mkdir(folder, 0700);
    return folder;
}

/* The path of a name in the folder; overwritten by the next call. */
static inline const char *temp_path(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", temp_folder(), name);
    return path;
}

/* Removes a file, and the folder with the last one. */
static inline void temp_drop(const char *name)
{
    unlink(temp_path(name));
    rmdir(temp_folder());
}

static inline void temp_write(const char *name, const void *data, size_t n)
{
    FILE *file = fopen(temp_path(name), "wb");
    if (!file || (n && fwrite(data, 1, n, file) != n))
        fprintf(stderr, "%s: cannot be written\n", temp_path(name));
    if (file)
        fclose(file);
}

#endif
