/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All models of the distribution's libonnx-testdata are read, written, read again and written
 * again, if it is installed: both graphs are the same, and so are the bytes.
 */
#include <dirent.h>
#include <stdlib.h>
#include <tfrun/onnx.h>
#include <tfrun/tfrun.h>

#include "graph_equal.h"
#include "tfr_test.h"

#define ROOT "/usr/share/libonnx-testdata/data"

static tfr_err err = TFR_ERR_INIT;

typedef struct bytes {
    char *data;
    size_t n, capacity;
} bytes;

static tfr_status append(void *user, const void *data, size_t n, tfr_err *e)
{
    bytes *b = user;
    if (n > b->capacity - b->n) {
        size_t capacity = 2 * (b->capacity + n);
        char *more = realloc(b->data, capacity);
        if (!more)
            return tfr_fail(e, TFR_ENOMEM, "no memory for %zu bytes", capacity);
        b->data = more;
        b->capacity = capacity;
    }
    memcpy(b->data + b->n, data, n);
    b->n += n;
    return TFR_OK;
}

static void check_model(const char *path)
{
    bytes first = {NULL, 0, 0}, second = {NULL, 0, 0};
    tfr_graph *graph = NULL, *again = NULL;
    bool same = false;
    REQUIRE_OK(tfr_onnx_load(path, &graph, &err), &err);
    CHECK_OK(tfr_onnx_write(graph, append, &first, &err), &err);
    CHECK_OK(tfr_onnx_parse(first.data, first.n, &again, &err), &err);
    if (again && (same = graphs_equal(graph, again, &err)))
        CHECK_OK(tfr_onnx_write(again, append, &second, &err), &err);
    if (!same || first.n != second.n || memcmp(first.data, second.data, first.n) != 0)
        fprintf(stderr, "%s: %s\n", path, same ? "the bytes differ" : err.text);
    CHECK(same);
    CHECK(first.n == second.n && memcmp(first.data, second.data, first.n) == 0);
    free(first.data);
    free(second.data);
    tfr_graph_release(again);
    tfr_graph_release(graph);
}

/* With a runtime, since ImageDecoder is an op of a plugin. */
static void check_set(const char *set)
{
    char path[1024];
    struct dirent *entry;
    tfr_runtime *runtime = NULL;
    int n = 0;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    snprintf(path, sizeof path, ROOT "/%s", set);
    DIR *dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, ROOT "/%s/%.200s/model.onnx", set, entry->d_name);
        check_model(path);
        n++;
    }
    if (dir)
        closedir(dir);
    tfr_runtime_release(runtime);
    if (!n)
        SKIP(ROOT " is not installed (package libonnx-testdata)");
}

TEST(all_node_models_are_the_same_after_writing)
{
    check_set("node");
}

TEST(all_simple_models_are_the_same_after_writing)
{
    check_set("simple");
}

TEST(all_converted_models_are_the_same_after_writing)
{
    check_set("pytorch-converted");
}

TEST(all_operator_models_are_the_same_after_writing)
{
    check_set("pytorch-operator");
}

static const test_case cases[] = {
    CASE(all_node_models_are_the_same_after_writing),
    CASE(all_simple_models_are_the_same_after_writing),
    CASE(all_converted_models_are_the_same_after_writing),
    CASE(all_operator_models_are_the_same_after_writing),
};
TEST_MAIN(cases)
