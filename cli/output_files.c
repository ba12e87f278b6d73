/* SPDX-License-Identifier: Apache-2.0 */
/* output_files.c: see output_files.h. */
#include "output_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tfrun/fail.h>

#include "model.h"
#include "tensor_file.h"

/* The name that the file has until all are there: hidden, beside it, with its ending. */
static char *temporary_name(const char *path, uint32_t i)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    char *name = NULL;
    if (asprintf(&name, "%.*s.tfrun-%ld-%u%s", slash ? (int)(slash + 1 - path) : 0, path,
                 (long)getpid(), (unsigned)i, dot) < 0)
        return NULL;
    return name;
}

/* Makes the temporary file for a moment: no other question finds a read-only file system. */
static tfr_status try_place(const cli_output_file *file, tfr_err *err)
{
    struct stat st;
    int fd;
    if (stat(file->path, &st) == 0 && !S_ISREG(st.st_mode))
        return tfr_fail(err, TFR_EIO, "%s cannot be written: it is no regular file", file->path);
    fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return tfr_fail(err, TFR_EIO, "%s cannot be written: %s", file->path, strerror(errno));
    close(fd);
    unlink(file->temporary);
    return TFR_OK;
}

static tfr_status add_file(const cli_args *args, const tfr_graph *graph, cli_output_files *files,
                           uint32_t i, tfr_err *err)
{
    cli_output_file *file = &files->items[i];
    tfr_status status =
        cli_model_split(graph, true, args->outputs.items[i], &file->output, &file->path, err);
    if (!status)
        status = cli_tensor_check_name(file->path, err);
    if (status)
        return status;
    for (uint32_t k = 0; k < i; k++)
        if (strcmp(files->items[k].path, file->path) == 0)
            return tfr_fail(err, TFR_EINVAL, "two outputs go to %s", file->path);
    file->temporary = temporary_name(file->path, i);
    if (!file->temporary)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a file's name");
    files->n = i + 1;
    return try_place(file, err);
}

tfr_status cli_output_files_init(const cli_args *args, const tfr_graph *graph,
                                 cli_output_files *files, tfr_err *err)
{
    tfr_status status = TFR_OK;
    files->n = 0;
    files->items = calloc((size_t)args->outputs.n + 1, sizeof *files->items);
    if (!files->items)
        return tfr_fail(err, TFR_ENOMEM, "no memory for %u outputs", (unsigned)args->outputs.n);
    for (uint32_t i = 0; !status && i < args->outputs.n; i++)
        status = add_file(args, graph, files, i, err);
    return status;
}

tfr_status cli_output_files_save(const cli_output_files *files, const tfr_graph *graph,
                                 tfr_tensor *const *outputs, tfr_err *err)
{
    tfr_status status = TFR_OK;
    uint32_t saved = 0, renamed = 0;
    while (!status && saved < files->n) {
        const cli_output_file *f = &files->items[saved];
        status = cli_tensor_save(f->temporary, f->path, tfr_graph_output_name(graph, f->output),
                                 outputs[f->output], err);
        saved += !status;
    }
    while (!status && renamed < files->n) {
        const cli_output_file *f = &files->items[renamed];
        if (rename(f->temporary, f->path) != 0)
            status = tfr_fail(err, TFR_EIO, "%s cannot be written: %s", f->path, strerror(errno));
        renamed += !status;
    }
    for (uint32_t i = renamed; i < saved; i++)
        unlink(files->items[i].temporary);
    return status;
}

void cli_output_files_finish(cli_output_files *files)
{
    for (uint32_t i = 0; i < files->n; i++)
        free(files->items[i].temporary);
    free(files->items);
    files->items = NULL;
    files->n = 0;
}

const char *cli_output_files_path(const cli_output_files *files, uint32_t i)
{
    for (uint32_t k = 0; k < files->n; k++)
        if (files->items[k].output == i)
            return files->items[k].path;
    return NULL;
}
