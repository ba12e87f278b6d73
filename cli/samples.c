/* SPDX-License-Identifier: Apache-2.0 */
/* samples.c: see samples.h. */
#include "samples.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <tfrun/fail.h>

#include "image_input.h"
#include "input_file.h"

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool ends_in(const char *name, const char *end)
{
    const size_t n = strlen(name), n_end = strlen(end);
    return n > n_end && strcmp(name + n - n_end, end) == 0;
}

/* ---- a folder that is a sample --------------------------------------------------------------- */

/* The file of input i in the folder, to be freed; NULL = there is none, or no memory. */
static char *find_input(const char *folder, uint32_t i, const char *name)
{
    static const char *const ends[] = {"pb",   "npy",  "npz", "png", "jpg",
                                       "jpeg", "webp", "bmp", "csv", "txt"};
    struct stat st;
    char *path;
    for (size_t k = 0; k < 2 * sizeof ends / sizeof *ends; k++) {
        const char *end = ends[k / 2];
        if (k % 2 && strchr(name, '/'))
            continue;
        if ((k % 2 ? asprintf(&path, "%s/%s.%s", folder, name, end)
                   : asprintf(&path, "%s/input_%u.%s", folder, (unsigned)i, end)) < 0)
            return NULL;
        if (stat(path, &st) == 0)
            return path;
        free(path);
    }
    return NULL;
}

static bool is_sample(const tfr_graph *graph, const char *folder)
{
    char *path =
        tfr_graph_n_inputs(graph) ? find_input(folder, 0, cli_model_input_name(graph, 0)) : NULL;
    free(path);
    return path != NULL;
}

/* ---- finding them ---------------------------------------------------------------------------- */

static tfr_status add_path(cli_samples *samples, const char *folder, const char *name, tfr_err *err)
{
    char **more = realloc(samples->paths, ((size_t)samples->n + 1) * sizeof *more);
    if (!more)
        return tfr_fail(err, TFR_ENOMEM, "no memory for %u samples", (unsigned)samples->n + 1);
    samples->paths = more;
    if (asprintf(&samples->paths[samples->n], name ? "%s/%s" : "%s", folder, name) < 0)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a path");
    samples->n++;
    return TFR_OK;
}

static bool is_file_of_sample(const tfr_graph *graph, const char *name)
{
    return ends_in(name, ".npz") ||
           (tfr_graph_n_inputs(graph) == 1 &&
            (ends_in(name, ".npy") || ends_in(name, ".pb") || cli_input_is_image(name)));
}

static tfr_status add_entry(cli_samples *samples, const tfr_graph *graph, const char *folder,
                            const char *name, tfr_err *err)
{
    char *path = NULL;
    bool good;
    if (name[0] == '.')
        return TFR_OK;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a path");
    good = is_folder(path) ? is_sample(graph, path) : is_file_of_sample(graph, name);
    free(path);
    return good ? add_path(samples, folder, name, err) : TFR_OK;
}

static tfr_status fail_none(const tfr_graph *graph, const char *folder, tfr_err *err)
{
    const bool one = tfr_graph_n_inputs(graph) == 1;
    const char *name = tfr_graph_n_inputs(graph) ? cli_model_input_name(graph, 0) : "x";
    return tfr_fail(err, TFR_EINVAL,
                    "%s has no samples; give it folders with input_0.npy or .pb%s, or .npz files "
                    "with an array \"%s\"%s",
                    folder, one ? "" : ", input_1 and so on", name,
                    one ? ", or .npy files or images" : " and one of each other input's name");
}

tfr_status cli_samples_find(const tfr_graph *graph, const char *folder, uint32_t most,
                            cli_samples *out, tfr_err *err)
{
    struct dirent **entries = NULL;
    tfr_status status = TFR_OK;
    int n;
    *out = (cli_samples){NULL, 0};
    n = scandir(folder, &entries, NULL, versionsort);
    if (n < 0)
        return tfr_fail(err, errno == ENOMEM ? TFR_ENOMEM : TFR_EIO,
                        "the folder %s of samples cannot be read: %s", folder, strerror(errno));
    if (is_sample(graph, folder))
        status = add_path(out, folder, NULL, err);
    else
        for (int i = 0; !status && i < n && out->n < most; i++)
            status = add_entry(out, graph, folder, entries[i]->d_name, err);
    for (int i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
    return status || out->n ? status : fail_none(graph, folder, err);
}

void cli_samples_finish(cli_samples *samples)
{
    for (uint32_t i = 0; i < samples->n; i++)
        free(samples->paths[i]);
    free(samples->paths);
    *samples = (cli_samples){NULL, 0};
}

/* ---- loading one ----------------------------------------------------------------------------- */

tfr_status cli_samples_load(const cli_args *args, const cli_samples *samples, uint32_t i,
                            const tfr_graph *graph, tfr_tensor **inputs, tfr_err *err)
{
    const char *sample = samples->paths[i];
    const bool folder = is_folder(sample);
    tfr_status status = TFR_OK;
    for (uint32_t k = 0; !status && k < tfr_graph_n_inputs(graph); k++) {
        const char *name = cli_model_input_name(graph, k);
        char *path = folder ? find_input(sample, k, name) : NULL;
        if (folder && !path)
            status = tfr_fail(err, TFR_EINVAL,
                              "sample %s has no value of input \"%s\"; give it input_%u.npy or .pb",
                              sample, name, (unsigned)k);
        else
            status = cli_input_load(args, graph, k, path ? path : sample, &inputs[k], err);
        free(path);
    }
    return status;
}
