/* SPDX-License-Identifier: Apache-2.0 */
/* model_folders.c: see model_folders.h. */
#include "model_folders.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <tfrun/fail.h>

#define MOST_DEPTH 8 /* of folders below the one that is asked for */

static tfr_status add_folder(cli_folders *f, const char *path, tfr_err *err)
{
    if (f->n == f->capacity) {
        uint32_t capacity = f->capacity ? 2 * f->capacity : 64;
        char **more = realloc(f->items, capacity * sizeof *more);
        if (!more)
            return tfr_fail(err, TFR_ENOMEM, "no memory for %u models", (unsigned)capacity);
        f->items = more;
        f->capacity = capacity;
    }
    f->items[f->n] = strdup(path);
    if (!f->items[f->n])
        return tfr_fail(err, TFR_ENOMEM, "no memory for a path");
    f->n++;
    return TFR_OK;
}

static tfr_status has_model(const char *dir, bool *has, tfr_err *err)
{
    char *path = NULL;
    struct stat st;
    if (asprintf(&path, "%s/model.onnx", dir) < 0)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a path");
    *has = stat(path, &st) == 0;
    free(path);
    return TFR_OK;
}

static int keep_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static tfr_status find_models(cli_folders *f, const char *dir, int depth, tfr_err *err);

static tfr_status find_in(cli_folders *f, const char *dir, const char *name, int depth,
                          tfr_err *err)
{
    struct stat st;
    char *path = NULL;
    tfr_status status = TFR_OK;
    if (asprintf(&path, "%s/%s", dir, name) < 0)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a path");
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        status = find_models(f, path, depth + 1, err);
    free(path);
    return status;
}

/* The folder itself if it holds a model, else the folders in it, sorted. */
static tfr_status find_models(cli_folders *f, const char *dir, int depth, tfr_err *err)
{
    struct dirent **entries = NULL;
    bool has = false;
    tfr_status status = has_model(dir, &has, err);
    int n;
    if (status)
        return status;
    if (has)
        return add_folder(f, dir, err);
    if (depth > MOST_DEPTH)
        return TFR_OK;
    n = scandir(dir, &entries, keep_visible, alphasort);
    if (n < 0)
        return tfr_fail(err, errno == ENOMEM ? TFR_ENOMEM : TFR_EIO, "%s cannot be read: %s", dir,
                        strerror(errno));
    for (int i = 0; i < n; i++) {
        if (!status)
            status = find_in(f, dir, entries[i]->d_name, depth, err);
        free(entries[i]);
    }
    free(entries);
    return status;
}

tfr_status cli_folders_find(cli_folders *f, const char *dir, tfr_err *err)
{
    return find_models(f, dir, 0, err);
}

void cli_folders_finish(cli_folders *f)
{
    for (uint32_t i = 0; i < f->n; i++)
        free(f->items[i]);
    free(f->items);
    *f = (cli_folders){0};
}
