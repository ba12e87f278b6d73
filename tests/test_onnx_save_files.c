/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as files of ONNX: data files, what mapped files become, and every way that writing fails.
 */
#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>

#include "onnx_save_kit.h"
#include "temp_path.h"

/* ---- files ----------------------------------------------------------------------------------- */

/* Add of an input and 3 MiB of one number, at an address that is no multiple of 4 in the file. */
static tfr_graph *heavy(float number)
{
    const int64_t dims[] = {3, 1 << 18};
    tfr_value x, both[2];
    tfr_graph *graph = new_graph("x", TFR_DTYPE_F32, &x);
    tfr_tensor *t = new_tensor(TFR_DTYPE_F32, 2, dims);
    for (int64_t i = 0; i < tfr_tensor_elements(t); i++)
        ((float *)tfr_tensor_data(t))[i] = number;
    both[0] = x;
    both[1] = constant(graph, "weights", t);
    output(graph, add(graph, "Add", "sum", both, 2, NULL), NULL);
    return graph;
}

static uint32_t n_files(void)
{
    uint32_t n = 0;
    DIR *dir = opendir(temp_folder());
    for (struct dirent *e; dir && (e = readdir(dir));)
        n += e->d_name[0] != '.' || e->d_name[1] == 't'; /* .tfrun-... are temporary files */
    if (dir)
        closedir(dir);
    return n;
}

/* The path of the only file with the suffix. */
static const char *find_file(const char *suffix)
{
    static char path[512];
    DIR *dir = opendir(temp_folder());
    path[0] = 0;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        size_t n = strlen(e->d_name);
        if (n > strlen(suffix) && strcmp(e->d_name + n - strlen(suffix), suffix) == 0)
            snprintf(path, sizeof path, "%s/%.200s", temp_folder(), e->d_name);
    }
    if (dir)
        closedir(dir);
    return path;
}

static float first_weight(const tfr_graph *graph)
{
    tfr_value_view value = {.size = sizeof value};
    REQUIRE_OK(tfr_graph_value(graph, tfr_graph_find_value(graph, "weights"), &value, &err), &err);
    return *(const float *)tfr_tensor_data(value.tensor);
}

TEST(a_graph_is_written_over_the_file_whose_weights_it_uses)
{
    tfr_graph *graph = heavy(1), *second = NULL, *third = NULL;
    tfr_value_view value = {.size = sizeof value};
    char path[300];
    snprintf(path, sizeof path, "%s", temp_path("m.onnx"));
    REQUIRE_OK(tfr_onnx_save(graph, path, NULL, &err), &err);
    REQUIRE_OK(tfr_onnx_load(path, &second, &err), &err);
    CHECK(graphs_equal(graph, second, &err));
    REQUIRE_OK(tfr_graph_value(second, tfr_graph_find_value(second, "weights"), &value, &err),
               &err);
    CHECK(value.tensor->unaligned);
    for (int i = 0; i < 2; i++)
        REQUIRE_OK(tfr_onnx_save(second, path, NULL, &err), &err);
    CHECK_OK(tfr_graph_check(second, &err), &err);
    REQUIRE_OK(tfr_onnx_load(path, &third, &err), &err);
    CHECK(graphs_equal(graph, third, &err));
    CHECK_UINT(1, n_files());
    tfr_graph_release(third);
    tfr_graph_release(second);
    tfr_graph_release(graph);
    temp_drop("m.onnx");
}

TEST(weights_are_written_from_the_mapped_file_without_a_copy)
{
    tfr_graph *graph = heavy(1), *second = NULL;
    tfr_value_view value = {.size = sizeof value};
    char path[300];
    snprintf(path, sizeof path, "%s", temp_path("m.onnx"));
    REQUIRE_OK(tfr_onnx_save(graph, path, NULL, &err), &err);
    REQUIRE_OK(tfr_onnx_load(path, &second, &err), &err);
    REQUIRE_OK(tfr_graph_value(second, tfr_graph_find_value(second, "weights"), &value, &err),
               &err);
    REQUIRE_OK(tfr_onnx_save(second, path, NULL, &err), &err);
    CHECK(value.tensor->unaligned);
    CHECK_UINT(0, atomic_load(&value.tensor->own));
    CHECK(!atomic_load(&value.tensor->seen));
    tfr_graph_release(second);
    tfr_graph_release(graph);
    temp_drop("m.onnx");
}

TEST(large_tensors_go_into_a_file_of_their_own_when_the_model_would_be_too_large)
{
    const tfr_onnx_save_options options = {sizeof options, 1 << 20};
    tfr_graph *graph = heavy(1), *second = NULL;
    char path[300];
    snprintf(path, sizeof path, "%s", temp_path("m.onnx"));
    REQUIRE_OK(tfr_onnx_save(graph, path, &options, &err), &err);
    CHECK_UINT(2, n_files());
    REQUIRE_OK(tfr_onnx_load(path, &second, &err), &err);
    CHECK(graphs_equal(graph, second, &err));
    CHECK_NEAR(1, first_weight(second), 0);
    tfr_graph_release(second);
    tfr_graph_release(graph);
    unlink(find_file(".data"));
    temp_drop("m.onnx");
}

/* Its data file stays what it is, so that whoever has the old model open or copied keeps it. */
TEST(another_model_in_its_place_gets_a_data_file_of_its_own)
{
    const tfr_onnx_save_options options = {sizeof options, 1 << 20};
    tfr_graph *graph = heavy(1), *other = heavy(2), *second = NULL, *third = NULL;
    char path[300];
    snprintf(path, sizeof path, "%s", temp_path("m.onnx"));
    REQUIRE_OK(tfr_onnx_save(graph, path, &options, &err), &err);
    REQUIRE_OK(tfr_onnx_load(path, &second, &err), &err);
    REQUIRE_OK(tfr_onnx_save(other, path, &options, &err), &err);
    CHECK_UINT(3, n_files());
    CHECK_NEAR(1, first_weight(second), 0);
    REQUIRE_OK(tfr_onnx_load(path, &third, &err), &err);
    CHECK_NEAR(2, first_weight(third), 0);
    /* The first one again has the first name again. */
    REQUIRE_OK(tfr_onnx_save(second, path, &options, &err), &err);
    CHECK_UINT(3, n_files());
    tfr_graph_release(third);
    tfr_graph_release(second);
    tfr_graph_release(graph);
    tfr_graph_release(other);
    for (int i = 0; i < 2; i++)
        unlink(find_file(".data"));
    temp_drop("m.onnx");
}

static tfr_status save_limited(const tfr_graph *graph, const char *path,
                               const tfr_onnx_save_options *options, rlim_t most)
{
    struct rlimit limit, little;
    tfr_status status;
    getrlimit(RLIMIT_FSIZE, &limit);
    little = limit;
    little.rlim_cur = most;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &little);
    status = tfr_onnx_save(graph, path, options, &err);
    setrlimit(RLIMIT_FSIZE, &limit);
    return status;
}

TEST(a_full_disk_leaves_the_old_model_and_nothing_else)
{
    const tfr_onnx_save_options options = {sizeof options, 1 << 20};
    tfr_graph *graph = heavy(1), *old = NULL;
    tfr_value x;
    char path[300];
    snprintf(path, sizeof path, "%s", temp_path("m.onnx"));
    old = new_graph("old", TFR_DTYPE_F32, &x);
    REQUIRE_OK(tfr_onnx_save(old, path, NULL, &err), &err);
    tfr_graph_release(old);
    old = NULL;
    CHECK_STATUS(TFR_EIO, save_limited(graph, path, NULL, 1 << 20), &err);
    CHECK_CONTAINS(path, err.text);
    CHECK_STATUS(TFR_EIO, save_limited(graph, path, &options, 1 << 20), &err);
    CHECK_UINT(1, n_files());
    REQUIRE_OK(tfr_onnx_load(path, &old, &err), &err);
    CHECK_STR("old", tfr_graph_value_name(old, tfr_graph_input(old, 0)));
    tfr_graph_release(old);
    tfr_graph_release(graph);
    temp_drop("m.onnx");
}

TEST(a_path_that_cannot_be_written_is_an_error_and_takes_the_data_back)
{
    const tfr_onnx_save_options options = {sizeof options, 1 << 20};
    tfr_graph *graph = heavy(1);
    char path[300];
    CHECK_STATUS(TFR_EIO, tfr_onnx_save(graph, "/no/such/folder/m.onnx", NULL, &err), &err);
    CHECK_CONTAINS("/no/such/folder/m.onnx cannot be written", err.text);
    CHECK_STATUS(TFR_EIO, tfr_onnx_save(graph, "/no/such/folder/m.onnx", &options, &err), &err);
    snprintf(path, sizeof path, "%s", temp_path("m.onnx"));
    REQUIRE_INT(0, mkdir(path, 0700));
    CHECK_STATUS(TFR_EIO, tfr_onnx_save(graph, path, &options, &err), &err);
    CHECK_UINT(1, n_files());
    rmdir(path);
    rmdir(temp_folder());
    tfr_graph_release(graph);
}

TEST(writing_ends_with_the_first_error_of_who_takes_the_bytes)
{
    tfr_graph *graph = graph_of_text("in x 2; const w 2; out Add(x,w)");
    bytes b = {NULL, 0, 5};
    CHECK_STATUS(TFR_EIO, tfr_onnx_write(graph, append, &b, &err), &err);
    CHECK_STR("no more", err.text);
    CHECK_INT(-1, b.calls_left);
    free(b.data);
    tfr_graph_release(graph);
}

static tfr_status say_changed(void *user, tfr_err *e)
{
    return --*(int *)user < 0 ? tfr_fail(e, TFR_EIO, "changed") : TFR_OK;
}

TEST(a_mapped_file_that_changes_meanwhile_is_an_error)
{
    for (int good = 0; good < 2; good++) {
        tfr_graph *graph = graph_of_text("in x 2; const w 2; out Add(x,w)");
        int left = good;
        tfr_graph_set_check(graph, say_changed, NULL, &left);
        CHECK_STATUS(TFR_EIO, tfr_onnx_save(graph, temp_path("m.onnx"), NULL, &err), &err);
        CHECK_CONTAINS("changed", err.text);
        CHECK_UINT(0, n_files());
        tfr_graph_release(graph);
    }
    rmdir(temp_folder());
}

static const test_case cases[] = {
    CASE(a_graph_is_written_over_the_file_whose_weights_it_uses),
    CASE(weights_are_written_from_the_mapped_file_without_a_copy),
    CASE(large_tensors_go_into_a_file_of_their_own_when_the_model_would_be_too_large),
    CASE(another_model_in_its_place_gets_a_data_file_of_its_own),
    CASE(a_full_disk_leaves_the_old_model_and_nothing_else),
    CASE(a_path_that_cannot_be_written_is_an_error_and_takes_the_data_back),
    CASE(writing_ends_with_the_first_error_of_who_takes_the_bytes),
    CASE(a_mapped_file_that_changes_meanwhile_is_an_error),
};
TEST_MAIN(cases)
