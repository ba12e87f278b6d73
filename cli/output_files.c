/* SPDX-License-Identifier: Apache-2.0 */
/* output_files.c: see output_files.h. */
#include "output_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <core/base/path.h>
#include <core/base/writer.h>
#include <tfrun/fail.h>
#include <tfrun/onnx.h>

#include "model.h"
#include "tensor_file.h"

/*
 * Do two paths lead to one file, whatever their spelling: ./y.npy, links, or /dev/stdout and what
 * it was redirected to? Of a file that is not there yet its folder and its name tell.
 */
static bool is_same_file(const char *a, const char *b)
{
    char names[2][NAME_MAX + 1];
    struct stat st[2], folders[2];
    bool exists = stat(a, &st[0]) == 0, good;
    int fds[2] = {-1, -1};
    if (exists != (stat(b, &st[1]) == 0))
        return false;
    if (exists)
        return st[0].st_dev == st[1].st_dev && st[0].st_ino == st[1].st_ino;
    good = tfr__path_find(a, &fds[0], names[0]) == 0 && tfr__path_find(b, &fds[1], names[1]) == 0 &&
           fstat(fds[0], &folders[0]) == 0 && fstat(fds[1], &folders[1]) == 0;
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return good && folders[0].st_dev == folders[1].st_dev &&
           folders[0].st_ino == folders[1].st_ino && strcmp(names[0], names[1]) == 0;
}

static tfr_status add_file(const cli_args *args, const tfr_graph *graph, cli_output_files *files,
                           uint32_t i, tfr_err *err)
{
    cli_output_file *file = &files->items[i];
    struct stat st;
    tfr_status status =
        cli_model_split(graph, true, args->outputs.items[i], &file->output, &file->path, err);
    /* /dev/stdout has no ending; it gets the npy format. */
    if (!status && strncmp(file->path, "/dev/", 5) != 0)
        status = cli_tensor_check_name(file->path, err);
    if (status)
        return status;
    if (args->n_words && is_same_file(args->words[0], file->path))
        return tfr_fail(err, TFR_EINVAL, "output \"%s\" would replace the model, %s",
                        tfr_graph_output_name(graph, file->output), file->path);
    for (uint32_t k = 0; k < i; k++)
        if (is_same_file(files->items[k].path, file->path))
            return tfr_fail(err, TFR_EINVAL,
                            "outputs \"%s\" and \"%s\" go to one file, %s; give each its own",
                            tfr_graph_output_name(graph, files->items[k].output),
                            tfr_graph_output_name(graph, file->output), file->path);
    file->is_direct = stat(file->path, &st) == 0 && !S_ISREG(st.st_mode);
    files->n = i + 1;
    return tfr__writer_try(file->path, err);
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

/* The writer keeps its errors itself. */
static tfr_status put(void *writer, const void *data, size_t n, tfr_err *err)
{
    (void)err;
    tfr__writer_put(writer, data, n);
    return TFR_OK;
}

static tfr_status write_file(const cli_output_file *file, tfr__writer *writer,
                             const tfr_graph *graph, const tfr_tensor *output, tfr_err *err)
{
    tfr_tensor *keys;
    tfr_status status = tfr__writer_open(file->path, writer, err);
    if (status)
        return status;
    status = tfr_onnx_output_keys(graph, file->output, &keys, err);
    if (!status)
        status = cli_tensor_write(file->path, tfr_graph_output_name(graph, file->output), keys,
                                  output, put, writer, err);
    tfr_tensor_release(keys);
    if (!status)
        return tfr__writer_finish(writer, err);
    tfr__writer_abandon(writer);
    return status;
}

tfr_status cli_output_files_save(const cli_output_files *files, const tfr_graph *graph,
                                 tfr_tensor *const *outputs, tfr_err *err)
{
    tfr__writer *writers = calloc((size_t)files->n + 1, sizeof *writers);
    uint32_t written = 0, placed = 0;
    tfr_status status = TFR_OK;
    if (!writers)
        return tfr_fail(err, TFR_ENOMEM, "no memory for writing %u files", (unsigned)files->n);
    for (int direct = 0; direct < 2; direct++)
        for (uint32_t i = 0; !status && i < files->n; i++) {
            const cli_output_file *f = &files->items[i];
            if (f->is_direct != direct)
                continue;
            status = write_file(f, &writers[written], graph, outputs[f->output], err);
            written += !status;
        }
    for (; !status && placed < written; placed++)
        status = tfr__writer_commit(&writers[placed], err);
    for (; placed < written; placed++)
        tfr__writer_abandon(&writers[placed]);
    free(writers);
    return status;
}

void cli_output_files_finish(cli_output_files *files)
{
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
