/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optimize_models FROM TO: what `tfrun optimize` does, for each model.onnx in a folder in FROM,
 * into a folder of the same name in TO, in one process; data sets are linked to. For
 * onnx_optimize.sh.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tfrun/onnx.h>
#include <tfrun/optimize.h>

static void link_data(const char *from, const char *to)
{
    char old[1024], fresh[1024];
    struct stat st;
    for (int set = 0;; set++) {
        snprintf(old, sizeof old, "%s/test_data_set_%d", from, set);
        snprintf(fresh, sizeof fresh, "%s/test_data_set_%d", to, set);
        if (stat(old, &st) || (symlink(old, fresh) && errno != EEXIST))
            return;
    }
}

static tfr_status optimize(tfr_runtime *runtime, const char *from, const char *to, tfr_err *err)
{
    char path[1024];
    tfr_graph *graph = NULL, *out = NULL;
    tfr_status status;
    snprintf(path, sizeof path, "%s/model.onnx", from);
    status = tfr_onnx_load(path, &graph, err);
    if (!status)
        status = tfr_graph_optimize(graph, runtime, NULL, &out, err);
    snprintf(path, sizeof path, "%s/model.onnx", to);
    if (!status)
        status = tfr_onnx_save(out, path, NULL, err);
    tfr_graph_release(out);
    tfr_graph_release(graph);
    return status;
}

int main(int argc, char **argv)
{
    tfr_err err = TFR_ERR_INIT;
    tfr_runtime *runtime = NULL;
    struct dirent *entry;
    int n_bad = 0;
    DIR *dir = argc == 3 ? opendir(argv[1]) : NULL;
    if (!dir || (mkdir(argv[2], 0777) && errno != EEXIST) ||
        tfr_runtime_create(NULL, &runtime, &err)) {
        fprintf(stderr, "usage: optimize_models FROM TO; %s\n", err.text);
        return 2;
    }
    while ((entry = readdir(dir))) {
        char from[512], to[512];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(from, sizeof from, "%s/%.200s", argv[1], entry->d_name);
        snprintf(to, sizeof to, "%s/%.200s", argv[2], entry->d_name);
        (void)mkdir(to, 0777);
        link_data(from, to);
        if (optimize(runtime, from, to, &err)) {
            printf("%s: %s\n", entry->d_name, err.text);
            n_bad++;
        }
    }
    closedir(dir);
    tfr_runtime_release(runtime);
    return n_bad != 0;
}
