/* SPDX-License-Identifier: Apache-2.0 */
/* Single ops without a graph, and the errors of kernels that the caller of an op gets. */
#include "session_kit.h"

TEST(an_immediate_call_runs_one_op)
{
    tfr_runtime *runtime = new_runtime();
    const tfr_attr attrs[] = {TFR_SET_INTS("perm", 1, 0)};
    tfr_node_desc node = {
        .size = sizeof node, .op = "Transpose", .attrs = attrs, .n_attrs = 1, .n_outputs = 1};
    tfr_tensor *in = floats(2, two_by_three, six), *out = NULL;
    for (int i = 0; i < 2; i++) {
        REQUIRE_OK(tfr_op_run(runtime, "naive:0", &node, &in, 1, &out, 1, &err), &err);
        const float want[] = {1, -4, -2, 5, 3, -6};
        CHECK_MEM(want, tfr_tensor_data(out), sizeof want);
        tfr_tensor_release(out);
    }
    tfr_tensor_release(in);
    tfr_runtime_release(runtime);
}

TEST(a_singular_matrix_is_an_error_that_names_the_pivot)
{
    tfr_runtime *runtime = new_runtime();
    const int64_t dims[] = {2, 2, 2};
    const float matrices[] = {1, 2, 3, 4, 1, 2, 2, 4};
    tfr_node_desc node = {.size = sizeof node, .domain = "tfrun", .op = "Inverse", .n_outputs = 1};
    tfr_tensor *in = floats(3, dims, matrices), *out = NULL;
    CHECK_STATUS(TFR_EINVAL, tfr_op_run(runtime, "naive:0", &node, &in, 1, &out, 1, &err), &err);
    CHECK_CONTAINS("matrix 1 is singular: pivot 1 of 2 is 0", err.text);
    CHECK(out == NULL);
    tfr_tensor_release(in);
    tfr_runtime_release(runtime);
}

TEST(a_tree_with_a_circle_is_an_error_not_a_hang)
{
    tfr_runtime *runtime = new_runtime();
    const tfr_string modes[] = {{"BRANCH_LT", 9}};
    const float value = 1;
    const tfr_attr attrs[] = {
        TFR_SET_INTS("nodes_treeids", 0),
        TFR_SET_INTS("nodes_nodeids", 0),
        TFR_SET_INTS("nodes_truenodeids", 0),
        TFR_SET_INTS("nodes_falsenodeids", 0),
        TFR_SET_INTS("nodes_featureids", 0),
        {sizeof(tfr_attr), TFR_ATTR_STRINGS, "nodes_modes", 1, NULL, NULL, modes, NULL},
        {sizeof(tfr_attr), TFR_ATTR_FLOATS, "nodes_values", 1, NULL, &value, NULL, NULL},
    };
    tfr_node_desc node = {.size = sizeof node,
                          .domain = "ai.onnx.ml",
                          .op = "TreeEnsembleRegressor",
                          .attrs = attrs,
                          .n_attrs = 7,
                          .n_outputs = 1};
    tfr_tensor *in = floats(2, two_by_three, six), *out = NULL;
    CHECK_STATUS(TFR_EINVAL, tfr_op_run(runtime, "naive:0", &node, &in, 1, &out, 1, &err), &err);
    CHECK_CONTAINS("the tree from node 0 has a circle", err.text);
    tfr_tensor_release(in);
    tfr_runtime_release(runtime);
}

static const test_case cases[] = {
    CASE(an_immediate_call_runs_one_op),
    CASE(a_singular_matrix_is_an_error_that_names_the_pivot),
    CASE(a_tree_with_a_circle_is_an_error_not_a_hang),
};
TEST_MAIN(cases)
