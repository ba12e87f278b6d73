/* SPDX-License-Identifier: Apache-2.0 */
/* All models and tensors of the distribution's libonnx-testdata are read, if it is installed. */
#include <dirent.h>
#include <tfrun/onnx.h>
#include <tfrun/tfrun.h>

#include "tfr_test.h"

#define ROOT "/usr/share/libonnx-testdata/data"

static tfr_err err = TFR_ERR_INIT;

/* The kind that input or output i of a graph has, so that its file can be read. */
static tfr_kind kind_of_input(const tfr_graph *graph, uint32_t i)
{
    const tfr_value_type *type = tfr_graph_value_type(graph, tfr_graph_input(graph, i));
    return type ? (tfr_kind)type->kind : TFR_KIND_TENSOR;
}

static void read_inputs(const char *folder, const tfr_graph *graph)
{
    char path[1024];
    for (uint32_t i = 0; i < tfr_graph_n_inputs(graph); i++) {
        tfr_tensor *tensor = NULL;
        snprintf(path, sizeof path, "%s/test_data_set_0/input_%u.pb", folder, i);
        CHECK_OK(tfr_onnx_load_tensor(path, kind_of_input(graph, i), &tensor, &err), &err);
        tfr_tensor_release(tensor);
    }
}

/* Returns how many models a set has. */
static int read_set(const char *set)
{
    char folder[512], path[600];
    struct dirent *entry;
    DIR *dir;
    int n = 0;
    snprintf(folder, sizeof folder, "%s/%s", ROOT, set);
    dir = opendir(folder);
    while (dir && (entry = readdir(dir))) {
        tfr_graph *graph = NULL;
        if (entry->d_name[0] == '.')
            continue;
        snprintf(folder, sizeof folder, "%s/%s/%.200s", ROOT, set, entry->d_name);
        snprintf(path, sizeof path, "%s/model.onnx", folder);
        CHECK_OK(tfr_onnx_load(path, &graph, &err), &err);
        if (graph)
            read_inputs(folder, graph);
        tfr_graph_release(graph);
        n++;
    }
    if (dir)
        closedir(dir);
    return n;
}

/* With a runtime, since ImageDecoder is an op of a plugin. */
static void check_set(const char *set)
{
    tfr_runtime *runtime = NULL;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    int n = read_set(set);
    tfr_runtime_release(runtime);
    if (n == 0)
        SKIP(ROOT " is not installed (package libonnx-testdata)");
}

TEST(all_node_models_are_read)
{
    check_set("node");
}

TEST(all_simple_models_are_read)
{
    check_set("simple");
}

TEST(all_converted_models_are_read)
{
    check_set("pytorch-converted");
}

TEST(all_operator_models_are_read)
{
    check_set("pytorch-operator");
}

static const test_case cases[] = {
    CASE(all_node_models_are_read),
    CASE(all_simple_models_are_read),
    CASE(all_converted_models_are_read),
    CASE(all_operator_models_are_read),
};
TEST_MAIN(cases)
