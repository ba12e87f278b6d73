/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of float32 as such of float16: casts, constants beyond it, and what stays float32. */
#include "quantize_kit.h"

TEST(float16_has_casts_at_the_ends)
{
    tfr_quantize_options options = new_options(TFR_QUANTIZE_F16);
    tfr_graph *graph = graph_of_text("in x N 3; const w 3 4; out Relu(MatMul(x,w))");
    tfr_graph *out = quantized(graph, &options);
    check_ops("Cast MatMul Relu Cast", out);
    CHECK_INT(TFR_DTYPE_F32, tfr_graph_value_type(out, tfr_graph_input(out, 0))->dtype);
    CHECK_INT(TFR_DTYPE_F16, tfr_tensor_dtype(constant_of(out, "w_float16")));
    CHECK_STR("N", tfr_graph_symbol_name(
                       out, tfr_graph_value_type(out, tfr_graph_input(out, 0))->dims[0]));
    CHECK(sqnr_of(graph, out) > 55);
    tfr_graph_release(out);
    options.float16_io = 1;
    out = quantized(graph, &options);
    check_ops("MatMul Relu", out);
    CHECK_INT(TFR_DTYPE_F16, tfr_graph_value_type(out, tfr_graph_input(out, 0))->dtype);
    tfr_graph_release(out);
    tfr_graph_release(graph);
}

TEST(float16_leaves_ops_that_overflow_and_operands_that_are_float32_only)
{
    const tfr_quantize_options options = new_options(TFR_QUANTIZE_F16);
    tfr_graph *graph = graph_of_text("in x 1 1 3 3; const s 4; out Pow(Resize(x,-,s),2)"), *out;
    for (int i = 0; i < 4; i++)
        numbers_of(graph, "s")[i] = i < 2 ? 1 : 2;
    out = quantized(graph, &options);
    check_ops("Cast Resize Cast Pow", out);
    CHECK(sqnr_of(graph, out) > 55);
    tfr_graph_release(out);
    tfr_graph_release(graph);
}

TEST(float16_clamps_constants_and_says_which)
{
    const tfr_quantize_options options = new_options(TFR_QUANTIZE_F16);
    tfr_graph *graph = graph_of_text("in x 2 3; const c 3; out Add(x,c)"), *out;
    const uint16_t *half;
    numbers_of(graph, "c")[0] = -3.4e38F;
    numbers_of(graph, "c")[1] = -INFINITY;
    numbers_of(graph, "c")[2] = 1;
    out = quantized(graph, &options);
    half = tfr_tensor_data(constant_of(out, "c_float16"));
    CHECK_UINT(0xfbff, half[0]);
    CHECK_UINT(0xfc00, half[1]);
    CHECK_UINT(0x3c00, half[2]);
    CHECK_UINT(1, told[TFR_QUANTIZE_CLAMPED]);
    CHECK_STR("c", told_name);
    CHECK_CONTAINS("1 of its numbers are beyond float16", told_text);
    tfr_graph_release(out);
    tfr_graph_release(graph);
    graph = graph_of_text("in x 2 3; const e 1; out Add(x,e)");
    numbers_of(graph, "e")[0] = 1e-12F;
    out = quantized(graph, &options);
    CHECK_UINT(1, *(const uint16_t *)tfr_tensor_data(constant_of(out, "e_float16")));
    CHECK_CONTAINS("rounds to 0", told_text);
    tfr_graph_release(out);
    tfr_graph_release(graph);
}

TEST(float16_leaves_nodes_whose_values_are_beyond_it)
{
    static const float factors[] = {1e6F, 1e-7F};
    for (int i = 0; i < 2; i++) {
        tfr_quantize_options options = new_options(TFR_QUANTIZE_F16);
        tfr_graph *graph = graph_of_text("in x 2 3; const c 3; out Mul(Mul(Neg(x),c),c)"), *out;
        tfr_calibration *calibration;
        for (int k = 0; k < 3; k++)
            numbers_of(graph, "c")[k] = factors[i];
        calibration = calibrated(graph, 1);
        options.calibration = calibration;
        out = quantized(graph, &options);
        check_ops("Cast Neg Cast Mul Mul", out);
        CHECK_UINT(2, told[TFR_QUANTIZE_LEFT]);
        tfr_calibration_destroy(calibration);
        tfr_graph_release(out);
        tfr_graph_release(graph);
    }
}

static const test_case cases[] = {
    CASE(float16_has_casts_at_the_ends),
    CASE(float16_leaves_ops_that_overflow_and_operands_that_are_float32_only),
    CASE(float16_clamps_constants_and_says_which),
    CASE(float16_leaves_nodes_whose_values_are_beyond_it),
};
TEST_MAIN(cases)
