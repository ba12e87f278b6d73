/* SPDX-License-Identifier: Apache-2.0 */
/* Quantized weights: what their numbers become, in int8 and int4, and products of integers. */
#include "quantize_kit.h"

static void check_int_attr(const tfr_graph *graph, uint32_t i, const char *name, int64_t expected)
{
    tfr_node_view node = {.size = sizeof node};
    const tfr_attr *attr;
    REQUIRE_OK(tfr_graph_node(graph, i, &node, &err), &err);
    attr = tfr_node_attr(&node, name);
    REQUIRE(attr != NULL);
    CHECK_INT(expected, attr->ints[0]);
}

TEST(int8_weights_are_symmetric_with_a_scale_a_channel)
{
    const tfr_quantize_options options = new_options(TFR_QUANTIZE_INT8);
    tfr_graph *graph = graph_of_text("in x 2 3; const w 3 4; out MatMul(x,w)"), *out;
    float *w = numbers_of(graph, "w");
    const int8_t *q;
    for (int i = 0; i < 12; i++)
        w[i] = (float)(i % 4 + 1) * (i < 4 ? -127.0F : i < 8 ? 10.0F : 0.5F);
    out = quantized(graph, &options);
    check_ops("DequantizeLinear MatMul", out);
    check_int_attr(out, 0, "axis", 1);
    q = tfr_tensor_data(constant_of(out, "w_quantized"));
    for (int i = 0; i < 4; i++) {
        CHECK_NEAR((double)(i + 1), (double)numbers_of(out, "w_scale")[i], 0);
        CHECK_INT(-127, q[i]);
        CHECK_INT(10, q[4 + i]);
        CHECK_INT(0, q[8 + i]); /* a half goes to the even one */
    }
    CHECK_UINT(1, told[TFR_QUANTIZE_DONE]);
    CHECK(sqnr_of(graph, out) > 40);
    tfr_graph_release(out);
    tfr_graph_release(graph);
}

TEST(each_op_has_its_output_channels)
{
    static const struct {
        const char *text;
        int64_t axis, n;
    } rows[] = {
        {"in x 1 2 5 5; const w 4 2 3 3; out Conv(x,w)", 0, 4},
        {"in x 1 2 5 5; const w 2 3 3 3; out ConvTranspose(x,w)", 1, 3},
        {"in x 2 3; const w 3 4; out Gemm(x,w)", 1, 4},
        {"in x 2 3; const w 4 3; out Gemm{transB=1}(x,w)", 0, 4},
        {"in x 2 3; const w 5 3 4; out MatMul(x,w)", 2, 4},
    };
    const tfr_quantize_options options = new_options(TFR_QUANTIZE_INT8);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tfr_graph *graph = graph_of_text(rows[i].text), *out = quantized(graph, &options);
        check_int_attr(out, 0, "axis", rows[i].axis);
        CHECK_INT(rows[i].n, tfr_tensor_elements(constant_of(out, "w_scale")));
        CHECK(sqnr_of(graph, out) > 35);
        tfr_graph_release(out);
        tfr_graph_release(graph);
    }
}

TEST(one_scale_and_seven_bits_on_request)
{
    tfr_quantize_options options = new_options(TFR_QUANTIZE_INT8);
    tfr_graph *graph = graph_of_text("in x 2 3; const w 3 4; out MatMul(x,w)"), *out;
    const int8_t *q;
    options.per_tensor = 1;
    options.reduce_range = 1;
    out = quantized(graph, &options);
    CHECK_INT(0, tfr_tensor_shape(constant_of(out, "w_scale"))->rank);
    q = tfr_tensor_data(constant_of(out, "w_quantized"));
    for (int i = 0; i < 12; i++)
        CHECK(q[i] <= 63);
    tfr_graph_release(out);
    tfr_graph_release(graph);
}

TEST(int4_weights_have_a_scale_for_each_block_of_the_sum)
{
    tfr_quantize_options options = new_options(TFR_QUANTIZE_INT4);
    for (uint32_t asymmetric = 0; asymmetric < 2; asymmetric++) {
        tfr_graph *graph = graph_of_text("in x 2 40; const w 40 3; out MatMul(x,w)"), *out;
        float *w = numbers_of(graph, "w");
        for (int i = 0; i < 120; i++)
            w[i] -= asymmetric ? 0 : 1;
        options.block_size = 16;
        options.asymmetric = asymmetric;
        out = quantized(graph, &options);
        check_ops("DequantizeLinear MatMul", out);
        check_int_attr(out, 0, "axis", 0);
        check_int_attr(out, 0, "block_size", 16);
        CHECK_INT(asymmetric ? TFR_DTYPE_U4 : TFR_DTYPE_I4,
                  tfr_tensor_dtype(constant_of(out, "w_quantized")));
        CHECK_INT(3, tfr_tensor_shape(constant_of(out, "w_scale"))->dims[0]); /* the last has 8 */
        CHECK_INT(3, tfr_tensor_shape(constant_of(out, "w_scale"))->dims[1]);
        CHECK_INT(!asymmetric, tfr_graph_find_value(out, "w_zero_point") == TFR_VALUE_NONE);
        CHECK(sqnr_of(graph, out) > 15);
        tfr_graph_release(out);
        tfr_graph_release(graph);
    }
}

TEST(an_int4_block_of_equal_magnitudes_is_exact)
{
    const tfr_quantize_options options = new_options(TFR_QUANTIZE_INT4);
    tfr_graph *graph = graph_of_text("in x 2 32; const w 4 32; out Gemm{transB=1}(x,w)"), *out;
    float *w = numbers_of(graph, "w");
    for (int i = 0; i < 128; i++)
        w[i] = i % 3 ? 0.75F : i % 2 ? -0.75F : 0;
    out = quantized(graph, &options);
    CHECK(sqnr_of(graph, out) > 100);
    tfr_graph_release(out);
    tfr_graph_release(graph);
}

TEST(tables_of_gather_are_quantized_on_request)
{
    tfr_quantize_options options = new_options(TFR_QUANTIZE_INT8);
    tfr_graph *graph = graph_of_text("in x 2 4; const w 6 4; out Add(x,Gather(w,[1,5]))");
    tfr_graph *out = quantized(graph, &options);
    check_ops("Gather Add", out);
    tfr_graph_release(out);
    options.tables = 1;
    out = quantized(graph, &options);
    check_ops("DequantizeLinear Gather Add", out);
    CHECK_INT(6, tfr_tensor_elements(constant_of(out, "w_scale")));
    CHECK(sqnr_of(graph, out) > 40);
    tfr_graph_release(out);
    tfr_graph_release(graph);
}

TEST(dynamic_products_are_of_integers)
{
    static const struct {
        const char *text, *ops;
    } rows[] = {
        {"in x 2 3; const w 3 4; const v 3 4; out MatMul(x,w); out MatMul(x,v)",
         "DynamicQuantizeLinear MatMulInteger Cast Mul Mul MatMulInteger Cast Mul Mul"},
        {"in x 2 3; const w 4 3; const b 4; out Gemm{transB=1}(x,w,b)",
         "DynamicQuantizeLinear MatMulInteger Cast Mul Mul Add"},
        {"in x 2 3; const w 3 4; out Gemm{alpha=2}(x,w)", "DequantizeLinear Gemm"},
        {"in x 4 2 3; const w 3 4; out Relu(MatMul(x,w))",
         "DynamicQuantizeLinear MatMulInteger Cast Mul Mul Relu"},
        {"in x 1 2 5 5; const w 4 2 3 3; out Conv(x,w)", "DequantizeLinear Conv"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint32_t per_tensor = 0; per_tensor < 2; per_tensor++) {
            tfr_quantize_options options = new_options(TFR_QUANTIZE_INT8);
            tfr_graph *graph = graph_of_text(rows[i].text), *out;
            options.dynamic = 1;
            options.per_tensor = per_tensor;
            out = quantized(graph, &options);
            check_ops(rows[i].ops, out);
            CHECK(sqnr_of(graph, out) > 30);
            tfr_graph_release(out);
            tfr_graph_release(graph);
        }
}

/* ---- what is odd about weights --------------------------------------------------------------- */

TEST(weights_that_are_not_finite_are_left_alone)
{
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int form = TFR_QUANTIZE_INT8; form <= TFR_QUANTIZE_INT4; form++)
        for (int i = 0; i < 3; i++) {
            const tfr_quantize_options options = new_options((tfr_quantize_form)form);
            tfr_graph *graph = graph_of_text("in x 2 3; const w 3 4; out MatMul(x,w)"), *out;
            numbers_of(graph, "w")[11] = bad[i];
            out = quantized(graph, &options);
            check_ops("MatMul", out);
            CHECK_STR("its weights have NaN or infinities", told_text);
            tfr_graph_release(out);
            tfr_graph_release(graph);
        }
}

TEST(channels_and_blocks_of_zeros_stay_zeros)
{
    for (int form = TFR_QUANTIZE_INT8; form <= TFR_QUANTIZE_INT4; form++)
        for (int all = 0; all < 2; all++) {
            const tfr_quantize_options options = new_options((tfr_quantize_form)form);
            tfr_graph *graph = graph_of_text("in x 2 3; const w 3 4; out MatMul(x,w)"), *out;
            float *w = numbers_of(graph, "w");
            for (int i = 0; i < 12; i++)
                w[i] = all || i % 4 == 1 ? 0 : w[i];
            out = quantized(graph, &options);
            for (int i = 0; i < 4; i++)
                CHECK(numbers_of(out, "w_scale")[i] > 0);
            CHECK(sqnr_of(graph, out) > (all ? 1e30 : 15));
            tfr_graph_release(out);
            tfr_graph_release(graph);
        }
}

TEST(weights_that_are_tiny_or_huge_have_scales_that_are_finite)
{
    const float factors[] = {1e-45F, 1e-38F, 2e38F};
    for (int form = TFR_QUANTIZE_INT8; form <= TFR_QUANTIZE_INT4; form++)
        for (int i = 0; i < 3; i++) {
            const tfr_quantize_options options = new_options((tfr_quantize_form)form);
            tfr_graph *graph = graph_of_text("in x 2 3; const w 3 4; out MatMul(x,w)"), *out;
            for (int k = 0; k < 12; k++)
                numbers_of(graph, "w")[k] *= factors[i];
            out = quantized(graph, &options);
            for (int k = 0; k < 4; k++)
                CHECK(isfinite(numbers_of(out, "w_scale")[k]) && numbers_of(out, "w_scale")[k] > 0);
            tfr_graph_release(out);
            tfr_graph_release(graph);
        }
}

static const test_case cases[] = {
    CASE(int8_weights_are_symmetric_with_a_scale_a_channel),
    CASE(each_op_has_its_output_channels),
    CASE(one_scale_and_seven_bits_on_request),
    CASE(int4_weights_have_a_scale_for_each_block_of_the_sum),
    CASE(an_int4_block_of_equal_magnitudes_is_exact),
    CASE(tables_of_gather_are_quantized_on_request),
    CASE(dynamic_products_are_of_integers),
    CASE(weights_that_are_not_finite_are_left_alone),
    CASE(channels_and_blocks_of_zeros_stay_zeros),
    CASE(weights_that_are_tiny_or_huge_have_scales_that_are_finite),
};
TEST_MAIN(cases)
