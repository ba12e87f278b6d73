/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantization of whole graphs: which nodes and names it leaves alone, what it refuses, and how its
 * accuracy is measured. Weights, activations and float16 have tests of their own.
 */
#include "quantize_kit.h"

TEST(a_constant_of_several_nodes_is_quantized_once)
{
    tfr_quantize_options options = new_options(TFR_QUANTIZE_INT8);
    const char *const except[] = {"Neg"};
    tfr_graph *graph = graph_of_text("in x 3 3; const w 3 3; out MatMul(x,w); "
                                     "out MatMul(Neg(w),w)");
    tfr_graph *out = quantized(graph, &options);
    check_ops("DequantizeLinear MatMul Neg MatMul", out);
    /* Neg takes the same numbers, so that the file does not have both. */
    CHECK_INT(TFR_VALUE_NONE, tfr_graph_find_value(out, "w_quantized_1"));
    tfr_graph_release(out);
    options.except = except;
    options.n_except = 1;
    out = quantized(graph, &options);
    {
        tfr_node_view node = {.size = sizeof node};
        REQUIRE_OK(tfr_graph_node(out, 2, &node, &err), &err);
        CHECK_STR("w", tfr_graph_value_name(out, node.inputs[0]));
    }
    tfr_graph_release(out);
    tfr_graph_release(graph);
}

TEST(weights_that_are_inputs_are_left_and_outputs_stay_as_they_were)
{
    const tfr_quantize_options options = new_options(TFR_QUANTIZE_INT8);
    tfr_graph *graph = graph_of_text("in x 2 3; in w 3 4; out MatMul(x,w)"), *out;
    out = quantized(graph, &options);
    check_ops("MatMul", out);
    CHECK_CONTAINS("neither of its operands is a float32 constant", told_text);
    tfr_graph_release(out);
    tfr_graph_release(graph);
    graph = graph_of_text("in x 2 3; const w 3 4; out MatMul(x,w); out w");
    out = quantized(graph, &options);
    check_ops("DequantizeLinear MatMul", out);
    CHECK_STR("w", tfr_graph_value_name(out, tfr_graph_output(out, 1)));
    tfr_graph_release(out);
    tfr_graph_release(graph);
}

TEST(subgraphs_stay_as_they_are)
{
    for (int form = TFR_QUANTIZE_INT8; form <= TFR_QUANTIZE_F16; form++) {
        const tfr_quantize_options options = new_options((tfr_quantize_form)form);
        graph_text g = {0};
        tfr_graph *graph, *branches[2], *out;
        tfr_value w, y, condition, r;
        tfr_tensor *yes = NULL;
        REQUIRE_OK(tfr_graph_create("g", &graph, &err), &err);
        g.graph = graph;
        graph_text_more(&g, "in x 3 3; const w 3 3; y = MatMul(x,w)");
        w = tfr_graph_find_value(graph, "w");
        y = g.names[2].value;
        for (int i = 0; i < 2; i++) {
            tfr_value in[2], z;
            tfr_node_desc node = {.size = sizeof node,
                                  .op = i ? "Add" : "MatMul",
                                  .inputs = in,
                                  .n_inputs = 2,
                                  .n_outputs = 1};
            REQUIRE_OK(tfr_graph_create_child(graph, NULL, &branches[i], &err), &err);
            REQUIRE_OK(tfr_graph_add_capture(branches[i], y, &in[0], &err), &err);
            REQUIRE_OK(tfr_graph_add_capture(branches[i], w, &in[1], &err), &err);
            REQUIRE_OK(tfr_graph_add_node(branches[i], &node, &z, &err), &err);
            REQUIRE_OK(tfr_graph_add_output(branches[i], z, NULL, &err), &err);
        }
        REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_BOOL, &(tfr_shape){0, {0}}, &yes, &err), &err);
        *(char *)tfr_tensor_data(yes) = 1;
        REQUIRE_OK(tfr_graph_add_constant(graph, NULL, yes, &condition, &err), &err);
        tfr_tensor_release(yes);
        r = graph_text_if(graph, condition, branches[0], branches[1]);
        REQUIRE_OK(tfr_graph_add_output(graph, r, NULL, &err), &err);
        out = quantized(graph, &options);
        check_ops(form == TFR_QUANTIZE_F16 ? "Cast MatMul Cast If(MatMul)(Add)"
                                           : "DequantizeLinear MatMul If(MatMul)(Add)",
                  out);
        CHECK_STR("it has subgraphs, which stay as they are", told_text);
        CHECK(sqnr_of(graph, out) > 10);
        tfr_graph_release(out);
        tfr_graph_release(graph);
    }
}

TEST(names_that_are_in_use_are_not_taken)
{
    const tfr_quantize_options options = new_options(TFR_QUANTIZE_INT8);
    tfr_graph *graph = graph_of_text("in w_scale 3 3; const w 3 4; const w_quantized 4 2; "
                                     "out MatMul(MatMul(w_scale,w),w_quantized)");
    tfr_graph *out = quantized(graph, &options);
    check_ops("DequantizeLinear DequantizeLinear MatMul MatMul", out);
    CHECK(tfr_graph_find_value(out, "w_quantized_1") != TFR_VALUE_NONE);
    CHECK(sqnr_of(graph, out) > 35);
    tfr_graph_release(out);
    tfr_graph_release(graph);
}

/* Passes give a new value the name of the one that it takes the place of. */
TEST(values_of_one_name_are_copied)
{
    const tfr_quantize_options options = new_options(TFR_QUANTIZE_INT8);
    tfr_graph *graph = graph_of_text("in x 3 3; const w 3 3; out Neg(MatMul(x,w))"), *out;
    tfr_node_view node = {.size = sizeof node};
    REQUIRE_OK(tfr_graph_node(graph, 0, &node, &err), &err);
    memcpy(graph->values[node.outputs[0]].name, "w", 2); /* it was "%1" or its like */
    out = quantized(graph, &options);
    check_ops("DequantizeLinear MatMul Neg", out);
    CHECK(sqnr_of(graph, out) > 35);
    tfr_graph_release(out);
    tfr_graph_release(graph);
}

TEST(patterns_say_which_nodes)
{
    static const char *const gemm[] = {"Ge*"}, *const all[] = {"*"};
    tfr_quantize_options options = new_options(TFR_QUANTIZE_INT8);
    tfr_graph *graph = graph_of_text("in x 3 3; const w 3 3; const v 3 3; "
                                     "out MatMul(Gemm(x,w),v)"),
              *out;
    options.only = gemm;
    options.n_only = 1;
    out = quantized(graph, &options);
    CHECK_INT(TFR_VALUE_NONE, tfr_graph_find_value(out, "v_scale"));
    CHECK(tfr_graph_find_value(out, "w_scale") != TFR_VALUE_NONE);
    CHECK_STR("its name or op was left out", told_text);
    tfr_graph_release(out);
    options.except = all;
    options.n_except = 1;
    out = quantized(graph, &options);
    check_ops("Gemm MatMul", out);
    tfr_graph_release(out);
    tfr_graph_release(graph);
}

/* ---- the rest -------------------------------------------------------------------------------- */

TEST(options_that_make_no_sense_are_refused)
{
    tfr_graph *graph = graph_of_text("in x 2 3; out Relu(x)"), *out = NULL;
    tfr_graph *other = graph_of_text("in x 2 3; out Relu(x)");
    tfr_calibration *calibration = calibrated(other, 1);
    tfr_quantize_options options = TFR_QUANTIZE_OPTIONS_INIT(0);
    CHECK_STATUS(TFR_EINVAL, tfr_graph_quantize(graph, &options, &out, &err), &err);
    options.form = TFR_QUANTIZE_INT4;
    options.block_size = 24;
    CHECK_STATUS(TFR_EINVAL, tfr_graph_quantize(graph, &options, &out, &err), &err);
    CHECK_CONTAINS("24", err.text);
    options.block_size = 0;
    options.activations = TFR_DTYPE_I16;
    CHECK_STATUS(TFR_EINVAL, tfr_graph_quantize(graph, &options, &out, &err), &err);
    options.activations = 0;
    options.dynamic = 1;
    CHECK_STATUS(TFR_EINVAL, tfr_graph_quantize(graph, &options, &out, &err), &err);
    options.dynamic = 0;
    options.calibration = calibration;
    CHECK_STATUS(TFR_EINVAL, tfr_graph_quantize(graph, &options, &out, &err), &err);
    CHECK_CONTAINS("another graph", err.text);
    CHECK(out == NULL);
    tfr_calibration_destroy(calibration);
    tfr_graph_release(other);
    tfr_graph_release(graph);
}

TEST(graphs_with_state_are_refused)
{
    const tfr_quantize_options options = new_options(TFR_QUANTIZE_INT8);
    tfr_graph *graph = graph_of_text("in x 2 3; var w 3 3; out MatMul(x,w)"), *out = NULL;
    const tfr_value w = tfr_graph_find_value(graph, "w");
    REQUIRE_OK(tfr_graph_set_update(graph, w, w, &err), &err);
    CHECK_STATUS(TFR_EUNSUPPORTED, tfr_graph_quantize(graph, &options, &out, &err), &err);
    CHECK_CONTAINS("variable \"w\" changes", err.text);
    tfr_graph_release(graph);
}

TEST(without_memory_there_is_an_error_and_no_graph)
{
    static const char text[] = "in x 1 2 6 6; const w 4 2 3 3; const b 4; const v 4 2; "
                               "out MatMul(Transpose{perm=0,2,3,1}(Relu(Conv(x,w,b))),v)";
    for (int form = 0; form <= TFR_QUANTIZE_F16; form++) {
        tfr_graph *graph = graph_of_text(text);
        tfr_calibration *calibration = calibrated(graph, 1);
        bool failed = true;
        for (uint64_t n = 1; failed; n++) {
            const uint64_t requests = tfr__alloc_count();
            tfr_quantize_options options =
                TFR_QUANTIZE_OPTIONS_INIT(form ? form : TFR_QUANTIZE_INT8);
            tfr_graph *out = NULL;
            tfr_status status;
            options.calibration = form ? calibration : NULL;
            options.dynamic = form == 0;
            tfr__alloc_fail_at(n);
            status = tfr_graph_quantize(graph, &options, &out, &err);
            tfr__alloc_fail_at(0);
            failed = tfr__alloc_count() - requests >= n;
            CHECK_INT(status == TFR_OK, out != NULL);
            tfr_graph_release(out);
        }
        tfr_calibration_destroy(calibration);
        tfr_graph_release(graph);
    }
}

TEST(accuracy_is_what_its_formulas_say)
{
    const float x[] = {3, 4, 0, NAN}, y[] = {3, 3, 0, NAN}, z[] = {3, 4, INFINITY, NAN};
    tfr_tensor *t[3] = {NULL};
    tfr_accuracy a = {.size = sizeof a}, b = {.size = sizeof b}, none = {.size = sizeof none};
    const float *const data[] = {x, y, z};
    for (int i = 0; i < 3; i++) {
        REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &(tfr_shape){2, {2, 2}}, &t[i], &err), &err);
        memcpy(tfr_tensor_data(t[i]), data[i], sizeof x);
    }
    REQUIRE_OK(tfr_accuracy_add(&a, t[0], t[1], &err), &err);
    CHECK_UINT(3, a.n_elements);
    CHECK_UINT(0, a.n_other);
    CHECK_NEAR(1, a.max_abs_error, 0);
    CHECK_NEAR(10 * log10(25), tfr_accuracy_sqnr(&a), 1e-9);
    CHECK_NEAR(0.2, tfr_accuracy_relative(&a), 1e-9);
    CHECK_NEAR(21 / sqrt(25.0 * 18), tfr_accuracy_cosine(&a), 1e-9);
    CHECK_UINT(2, a.n_rows);
    CHECK_UINT(1, a.n_rows_same);
    REQUIRE_OK(tfr_accuracy_add(&b, t[0], t[2], &err), &err);
    CHECK_UINT(1, b.n_other);
    CHECK(isinf(tfr_accuracy_sqnr(&b)));
    CHECK(isnan(tfr_accuracy_sqnr(&none)));
    for (int i = 0; i < 3; i++)
        tfr_tensor_release(t[i]);
}

static const test_case cases[] = {
    CASE(a_constant_of_several_nodes_is_quantized_once),
    CASE(weights_that_are_inputs_are_left_and_outputs_stay_as_they_were),
    CASE(subgraphs_stay_as_they_are),
    CASE(names_that_are_in_use_are_not_taken),
    CASE(values_of_one_name_are_copied),
    CASE(patterns_say_which_nodes),
    CASE(options_that_make_no_sense_are_refused),
    CASE(graphs_with_state_are_refused),
    CASE(without_memory_there_is_an_error_and_no_graph),
    CASE(accuracy_is_what_its_formulas_say),
};
TEST_MAIN(cases)
