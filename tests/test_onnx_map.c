/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of maps: the output of ZipMap as a table with keys, and their files. */
#include <stdlib.h>
#include <string.h>
#include <tfrun/onnx.h>

#include "onnx_build.h"
#include "temp_path.h"
#include "tfr_test.h"

static tfr_err err = TFR_ERR_INIT;
static const int64_t classes[3] = {3, -1, 7};

/* Output z of ZipMap over x[2,3]; y is a plain output beside it. */
static tfr_graph *zip_map(pb keys)
{
    static const int64_t dims[2] = {2, 3};
    pb g = {.n = 0}, m, ml = {.n = 0}, n = node("ZipMap", "x", "z");
    tfr_graph *graph = NULL;
    pb_text(&n, 7, "ai.onnx.ml");
    add_attr(&n, keys);
    pb_text(&g, 2, "g");
    add_value(&g, 11, "x", TFR_DTYPE_F32, 2, dims);
    add_node(&g, node("Neg", "x", "y"));
    add_node(&g, n);
    add_value(&g, 12, "y", 0, -1, NULL);
    add_value(&g, 12, "z", 0, -1, NULL);
    m = model(&g, 15);
    pb_text(&ml, 1, "ai.onnx.ml");
    pb_int(&ml, 2, 3);
    pb_msg(&m, 8, &ml);
    REQUIRE_OK(tfr_onnx_parse(m.data, m.n, &graph, &err), &err);
    return graph;
}

static tfr_tensor *keys_of(pb attr)
{
    tfr_graph *graph = zip_map(attr);
    tfr_tensor *keys = NULL;
    REQUIRE_OK(tfr_onnx_output_keys(graph, 1, &keys, &err), &err);
    REQUIRE(keys != NULL);
    tfr_graph_release(graph);
    return keys;
}

TEST(the_classes_of_zip_map_are_the_keys_of_its_output)
{
    tfr_graph *graph = zip_map(attr_ints("classlabels_int64s", classes, 3));
    tfr_tensor *keys = NULL, *none = NULL;
    REQUIRE_OK(tfr_onnx_output_keys(graph, 1, &keys, &err), &err);
    CHECK_INT(TFR_DTYPE_I64, tfr_tensor_dtype(keys));
    CHECK_INT(3, tfr_tensor_elements(keys));
    CHECK(memcmp(tfr_tensor_data(keys), classes, sizeof classes) == 0);
    REQUIRE_OK(tfr_onnx_output_keys(graph, 0, &none, &err), &err);
    CHECK(none == NULL);
    tfr_tensor_release(keys);
    tfr_graph_release(graph);
    keys = keys_of(attr_texts("classlabels_strings", "cat dog"));
    CHECK_INT(TFR_DTYPE_STRING, tfr_tensor_dtype(keys));
    CHECK_STR("dog", tfr_tensor_get_string(keys, 1, NULL));
    tfr_tensor_release(keys);
}

static tfr_status append(void *user, const void *bytes, size_t n, tfr_err *e)
{
    (void)e;
    pb_raw(user, bytes, n);
    return TFR_OK;
}

/* What was written of a table is the same table when it is read. */
static void check_there_and_back(pb attr)
{
    static const float values[6] = {0.5f, -1, 2, 3, 4, 0.25f};
    const tfr_shape shape = {2, {2, 3}};
    tfr_tensor *keys = keys_of(attr), *table = NULL, *back = NULL;
    pb file = {.n = 0};
    REQUIRE_OK(tfr_tensor_wrap(TFR_DTYPE_F32, &shape, NULL, (void *)(uintptr_t)values, NULL, NULL,
                               &table, &err),
               &err);
    REQUIRE_OK(tfr_onnx_write_maps("z", keys, table, append, &file, &err), &err);
    temp_write("maps.pb", file.data, file.n);
    REQUIRE_OK(tfr_onnx_load_maps(temp_path("maps.pb"), keys, &back, &err), &err);
    CHECK(tfr_shape_equal(&shape, tfr_tensor_shape(back)));
    CHECK(memcmp(tfr_tensor_data(back), values, sizeof values) == 0);
    tfr_tensor_release(back);
    tfr_tensor_release(table);
    tfr_tensor_release(keys);
    temp_drop("maps.pb");
}

TEST(maps_are_read_as_they_were_written)
{
    check_there_and_back(attr_ints("classlabels_int64s", classes, 3));
    check_there_and_back(attr_texts("classlabels_strings", "cat dog cow"));
}

/* A MapProto of int64 keys and single numbers. */
static pb map(const int64_t *keys, const float *values, size_t n_keys, size_t n_values)
{
    pb m = {.n = 0}, list = {.n = 0};
    pb_int(&m, 2, TFR_DTYPE_I64);
    for (size_t i = 0; i < n_keys; i++)
        pb_int(&m, 3, keys[i]);
    for (size_t i = 0; i < n_values; i++) {
        pb t = tensor_raw(NULL, TFR_DTYPE_F32, 0, NULL, &values[i], sizeof values[i]);
        pb_msg(&list, 3, &t);
    }
    pb_msg(&m, 5, &list);
    return m;
}

static tfr_status load(const pb *m, tfr_tensor **out)
{
    tfr_tensor *keys = keys_of(attr_ints("classlabels_int64s", classes, 3));
    pb file = {.n = 0};
    tfr_status status;
    pb_int(&file, 2, 4);
    pb_msg(&file, 6, m);
    temp_write("maps.pb", file.data, file.n);
    status = tfr_onnx_load_maps(temp_path("maps.pb"), keys, out, &err);
    tfr_tensor_release(keys);
    temp_drop("maps.pb");
    return status;
}

TEST(keys_may_come_in_any_order)
{
    static const int64_t order[3] = {7, 3, -1};
    static const float values[3] = {1, 2, 3}, sorted[3] = {2, 3, 1};
    pb m = map(order, values, 3, 3);
    tfr_tensor *out = NULL;
    REQUIRE_OK(load(&m, &out), &err);
    CHECK(memcmp(tfr_tensor_data(out), sorted, sizeof sorted) == 0);
    tfr_tensor_release(out);
}

TEST(maps_with_other_keys_or_values_are_refused)
{
    static const int64_t other[3] = {3, -1, 8}, more[4] = {3, -1, 7, 7};
    static const float values[4] = {1, 2, 3, 4};
    tfr_tensor *out = NULL;
    pb m = map(other, values, 3, 3);
    CHECK_STATUS(TFR_EMODEL, load(&m, &out), &err);
    CHECK_CONTAINS("a key that the model does not have", err.text);
    m = map(more, values, 4, 4);
    CHECK_STATUS(TFR_EMODEL, load(&m, &out), &err);
    CHECK_CONTAINS("too many keys", err.text);
    m = map(classes, values, 3, 2);
    CHECK_STATUS(TFR_EMODEL, load(&m, &out), &err);
    CHECK_CONTAINS("map 0 has 3 keys and 2 values, the model has 3", err.text);
    m = map(classes, values, 2, 2);
    CHECK_STATUS(TFR_EMODEL, load(&m, &out), &err);
    CHECK_CONTAINS("map 0 has 2 keys and 2 values, the model has 3", err.text);
}

TEST(a_saved_model_gives_maps_again)
{
    tfr_graph *graph = zip_map(attr_texts("classlabels_strings", "cat dog cow")), *back = NULL;
    tfr_tensor *keys = NULL;
    REQUIRE_OK(tfr_onnx_save(graph, temp_path("m.onnx"), NULL, &err), &err);
    REQUIRE_OK(tfr_onnx_load(temp_path("m.onnx"), &back, &err), &err);
    REQUIRE_OK(tfr_onnx_output_keys(back, 1, &keys, &err), &err);
    REQUIRE(keys != NULL);
    CHECK_STR("cow", tfr_tensor_get_string(keys, 2, NULL));
    tfr_tensor_release(keys);
    tfr_graph_release(back);
    tfr_graph_release(graph);
    temp_drop("m.onnx");
}

static const test_case cases[] = {
    CASE(the_classes_of_zip_map_are_the_keys_of_its_output),
    CASE(maps_are_read_as_they_were_written),
    CASE(keys_may_come_in_any_order),
    CASE(maps_with_other_keys_or_values_are_refused),
    CASE(a_saved_model_gives_maps_again),
};
TEST_MAIN(cases)
