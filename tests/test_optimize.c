/* SPDX-License-Identifier: Apache-2.0 */
/* tfr_graph_optimize: passes without a session, for whoever will run the graph. */
#include <tfrun/optimize.h>

#include "pass_kit.h"

static tfr_graph *optimized(tfr_graph *graph, tfr_runtime *runtime, const char *passes,
                            int32_t opset)
{
    tfr_optimize_options options = TFR_OPTIMIZE_OPTIONS_INIT;
    tfr_graph *out = NULL;
    options.passes = passes;
    options.opset = opset;
    REQUIRE_OK(tfr_graph_optimize(graph, runtime, &options, &out, &err), &err);
    return out;
}

/* What is left of the text's graph, and that it computes the same. */
static void check_ops(const char *expected, const char *text, const char *passes, int32_t opset)
{
    tfr_runtime *runtime = new_runtime(false);
    tfr_graph *graph = graph_of_text(text), *out = optimized(graph, runtime, passes, opset);
    tfr_session *before, *after;
    char ops[400] = "";
    list_ops(out, ops, sizeof ops);
    CHECK_STR(expected, ops);
    before = new_session(runtime, graph, "none");
    after = new_session(runtime, out, "none");
    check_results(before, after);
    tfr_session_destroy(before);
    tfr_session_destroy(after);
    tfr_graph_release(out);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(constants_are_computed_and_what_does_nothing_goes)
{
    check_ops("Add", "in x 2 3; const w 3 2; out Add(Identity(x),Transpose(Neg(w)))", NULL, 0);
}

TEST(without_a_backend_only_what_needs_none_is_computed)
{
    tfr_graph *graph = graph_of_text("in x 2 3; const w 3; out Add(Identity(x),Neg(w)); "
                                     "out Shape(x)");
    tfr_graph *out = optimized(graph, NULL, NULL, 0);
    char ops[400] = "";
    list_ops(out, ops, sizeof ops);
    CHECK_STR("Neg Add", ops);
    tfr_graph_release(out);
    tfr_graph_release(graph);
}

#define SWISH "in x 2 3; s = Relu(x); out Mul(s,Sigmoid(s))"
#define NORM                                                                                       \
    "in x 2 8; const g 8; const b 8; d = Sub(x,ReduceMean{keepdims=1}(x,[-1])); "                  \
    "v = ReduceMean{keepdims=1}(Mul(d,d),[-1]); "                                                  \
    "out Add(Mul(Div(d,Sqrt(Add(v,1e-5))),g),b)"

TEST(composite_ops_are_found_that_the_opset_has)
{
    check_ops("Relu Sigmoid Mul", SWISH, NULL, 0);
    check_ops("Relu Swish", SWISH, NULL, 24);
    check_ops("LayerNormalization", NORM, NULL, 0);
    check_ops("Gemm", "in x 2 3; const w 3 4; const b 4; out Add(MatMul(x,w),b)", NULL, 0);
}

TEST(composite_ops_that_are_newer_are_written_out_on_request)
{
    check_ops("Swish", "in x 2 3; out Swish(x)", NULL, 0);
    check_ops("Mul Sigmoid Mul", "in x 2 3; out Swish(x)", "all", 0);
    check_ops("LayerNormalization", "in x 2 8; const g 8; out LayerNormalization(x,g)", "all", 0);
}

TEST(batch_normalization_goes_into_the_convolution)
{
    check_ops("Conv",
              "in x 1 2 5 5; const w 4 2 3 3; const s 4; const b 4; const m 4; const v 4; "
              "out BatchNormalization(Conv(x,w),s,b,m,v)",
              NULL, 0);
}

TEST(quantized_constants_stay_quantized)
{
    check_ops("DequantizeLinear Add",
              "in x 2 3; const w 3; out Add(x,DequantizeLinear(QuantizeLinear(w,.1),.1))", NULL, 0);
}

TEST(a_graph_that_cannot_be_better_is_given_back)
{
    tfr_graph *graph = graph_of_text("in x 2 3; out Relu(x)"), *out;
    out = optimized(graph, NULL, NULL, 0);
    CHECK(out == graph);
    tfr_graph_release(out);
    out = optimized(graph, NULL, "none", 0);
    CHECK(out == graph);
    tfr_graph_release(out);
    tfr_graph_release(graph);
}

static const tfr_value_type *body_input(const tfr_graph *graph)
{
    tfr_node_view node = {.size = sizeof node};
    const tfr_graph *body = NULL;
    for (uint32_t i = 0; !body && !tfr_graph_node(graph, i, &node, NULL); i++)
        body = tfr_node_subgraph(&node, "body");
    REQUIRE(body != NULL);
    return tfr_graph_value_type(body, tfr_graph_input(body, 0));
}

/* The first input of a body is int64. */
TEST(types_that_inner_graphs_declare_are_kept)
{
    tfr_graph *graph = growing_loop(3, "Identity"), *out = optimized(graph, NULL, NULL, 0);
    CHECK(out != graph);
    CHECK_INT(body_input(graph)->dtype, body_input(out)->dtype);
    CHECK_INT(body_input(graph)->rank_known, body_input(out)->rank_known);
    tfr_graph_release(out);
    tfr_graph_release(graph);
}

typedef struct told {
    uint32_t n, n_changes;
} told;

static void count(void *user, const tfr_pass *pass)
{
    told *t = user;
    CHECK(pass->rounds > 0);
    CHECK(pass->text[0] != '\0');
    t->n++;
    t->n_changes += pass->n_changes;
}

TEST(each_pass_that_ran_is_reported)
{
    told t = {0, 0};
    tfr_optimize_options options = TFR_OPTIMIZE_OPTIONS_INIT;
    tfr_graph *graph = graph_of_text("in x 2 3; out Relu(Identity(x))"), *out = NULL;
    options.passes = "dead,cse";
    options.report = count;
    options.user = &t;
    REQUIRE_OK(tfr_graph_optimize(graph, NULL, &options, &out, &err), &err);
    CHECK_UINT(2, t.n);
    CHECK_UINT(1, t.n_changes);
    tfr_graph_release(out);
    tfr_graph_release(graph);
}

TEST(wrong_passes_and_no_graph_are_refused)
{
    tfr_optimize_options options = TFR_OPTIMIZE_OPTIONS_INIT;
    tfr_graph *graph = graph_of_text("in x 2 3; out Relu(x)"), *child = NULL, *out = NULL;
    options.passes = "faster";
    CHECK_STATUS(TFR_EINVAL, tfr_graph_optimize(graph, NULL, &options, &out, &err), &err);
    CHECK_CONTAINS("there is no pass \"faster\"", err.text);
    CHECK_STATUS(TFR_EINVAL, tfr_graph_optimize(NULL, NULL, NULL, &out, &err), &err);
    REQUIRE_OK(tfr_graph_create_child(graph, "child", &child, &err), &err);
    CHECK_STATUS(TFR_EINVAL, tfr_graph_optimize(child, NULL, NULL, &out, &err), &err);
    CHECK(out == NULL);
    tfr_graph_release(child);
    tfr_graph_release(graph);
}

TEST(shapes_of_inputs_can_be_fixed)
{
    tfr_graph *graph = graph_of_text("in x ? 3; out Shape(x)"), *out;
    tfr_value_view value = {.size = sizeof value};
    CHECK_STATUS(TFR_ESHAPE, tfr_graph_set_input_shape(graph, 0, &(tfr_shape){2, {5, 4}}, &err),
                 &err);
    CHECK_CONTAINS("[5,4]", err.text);
    CHECK_STATUS(TFR_ESHAPE, tfr_graph_set_input_shape(graph, 0, &(tfr_shape){1, {3}}, &err), &err);
    CHECK_STATUS(TFR_EINVAL, tfr_graph_set_input_shape(graph, 1, &(tfr_shape){1, {3}}, &err), &err);
    REQUIRE_OK(tfr_graph_set_input_shape(graph, 0, &(tfr_shape){2, {5, 3}}, &err), &err);
    out = optimized(graph, NULL, NULL, 0);
    REQUIRE_OK(tfr_graph_value(out, tfr_graph_output(out, 0), &value, &err), &err);
    REQUIRE(value.tensor != NULL);
    CHECK_INT(5, ((const int64_t *)tfr_tensor_data(value.tensor))[0]);
    CHECK_STATUS(TFR_EBUSY, tfr_graph_set_input_shape(graph, 0, &(tfr_shape){2, {5, 3}}, &err),
                 &err);
    tfr_graph_release(out);
    tfr_graph_release(graph);
}

/* x [N,3] and y [N,N]. */
TEST(fixing_a_named_dim_fixes_all_of_its_name)
{
    tfr_graph *graph = NULL;
    tfr_value_type type = {
        .size = sizeof type, .dtype = TFR_DTYPE_F32, .rank_known = 1, .rank = 2, .dims = {0, 3}};
    tfr_value v[2];
    REQUIRE_OK(tfr_graph_create("g", &graph, &err), &err);
    REQUIRE_OK(tfr_graph_add_symbol(graph, "N", &type.dims[0], &err), &err);
    REQUIRE_OK(tfr_graph_add_input(graph, "x", &type, &v[0], &err), &err);
    type.dims[1] = type.dims[0];
    REQUIRE_OK(tfr_graph_add_input(graph, "y", &type, &v[1], &err), &err);
    REQUIRE_OK(tfr_graph_add_output(graph, v[1], NULL, &err), &err);
    REQUIRE_OK(tfr_graph_declare_output(graph, 0, &type, &err), &err);
    CHECK_STATUS(TFR_ESHAPE, tfr_graph_set_input_shape(graph, 1, &(tfr_shape){2, {4, 5}}, &err),
                 &err);
    REQUIRE_OK(tfr_graph_set_input_shape(graph, 0, &(tfr_shape){2, {4, 3}}, &err), &err);
    CHECK_INT(4, tfr_graph_value_type(graph, v[1])->dims[1]);
    CHECK_INT(4, tfr_graph_output_type(graph, 0)->dims[0]);
    tfr_graph_release(graph);
}

static const test_case cases[] = {
    CASE(constants_are_computed_and_what_does_nothing_goes),
    CASE(without_a_backend_only_what_needs_none_is_computed),
    CASE(composite_ops_are_found_that_the_opset_has),
    CASE(composite_ops_that_are_newer_are_written_out_on_request),
    CASE(batch_normalization_goes_into_the_convolution),
    CASE(quantized_constants_stay_quantized),
    CASE(a_graph_that_cannot_be_better_is_given_back),
    CASE(types_that_inner_graphs_declare_are_kept),
    CASE(each_pass_that_ran_is_reported),
    CASE(wrong_passes_and_no_graph_are_refused),
    CASE(shapes_of_inputs_can_be_fixed),
    CASE(fixing_a_named_dim_fixes_all_of_its_name),
};
TEST_MAIN(cases)
