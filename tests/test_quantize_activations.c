/* SPDX-License-Identifier: Apache-2.0 */
/* Quantized activations: where their nodes stand, and the ranges that samples give them. */
#include "quantize_kit.h"

#define Q  "QuantizeLinear"
#define DQ "DequantizeLinear"

static tfr_graph *static_form(tfr_graph *graph, tfr_dtype activations)
{
    tfr_quantize_options options = new_options(TFR_QUANTIZE_INT8);
    tfr_calibration *calibration = calibrated(graph, 2);
    tfr_graph *out;
    options.calibration = calibration;
    options.activations = (int32_t)activations;
    out = quantized(graph, &options);
    tfr_calibration_destroy(calibration);
    return out;
}

TEST(products_stand_between_pairs_and_relu_is_merged)
{
    tfr_graph *graph = graph_of_text("in x 1 2 6 6; const w 4 2 3 3; const b 4; "
                                     "out Relu(Conv(x,w,b))"),
              *out;
    for (int i = 0; i < 4; i++)
        numbers_of(graph, "b")[i] -= 9;
    for (int dtype = TFR_DTYPE_U8; dtype <= TFR_DTYPE_I8; dtype++) {
        out = static_form(graph, (tfr_dtype)dtype);
        check_ops(Q " " DQ " " DQ " " DQ " Conv " Q " " DQ, out);
        CHECK_UINT(1, told[TFR_QUANTIZE_MERGED]);
        CHECK(sqnr_of(graph, out) > 30);
        tfr_graph_release(out);
    }
    tfr_graph_release(graph);
}

TEST(relu_stays_where_its_input_is_read_by_others)
{
    tfr_graph *graph = graph_of_text("in x 2 3; const w 3 4; y = MatMul(x,w); out Relu(y); out y");
    tfr_graph *out = static_form(graph, TFR_DTYPE_U8);
    check_ops(Q " " DQ " " DQ " MatMul " Q " " DQ " Relu " Q " " DQ, out);
    CHECK(sqnr_of(graph, out) > 30);
    tfr_graph_release(out);
    tfr_graph_release(graph);
}

TEST(relu_stays_where_its_range_is_one_with_negative_numbers)
{
    tfr_graph *graph = graph_of_text("in x 2 3; const w 3 4; "
                                     "out Concat{axis=1}(Relu(MatMul(x,w)),x)");
    tfr_graph *out = static_form(graph, TFR_DTYPE_I8);
    check_ops(Q " " DQ " " DQ " MatMul " Q " " DQ " Relu " Q " " DQ " Concat " Q " " DQ, out);
    CHECK_UINT(0, told[TFR_QUANTIZE_MERGED]);
    CHECK(sqnr_of(graph, out) > 30);
    tfr_graph_release(out);
    tfr_graph_release(graph);
}

TEST(a_clip_is_merged_only_where_it_begins_at_zero)
{
    static const struct {
        const char *clip;
        bool merged;
    } rows[] = {{"Clip(y,0,6)", true},
                {"Clip(y,0)", true},
                {"Clip(y,-1,6)", false},
                {"Clip(y,1,6)", false},
                {"Clip(y,-,6)", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[200];
        tfr_graph *graph, *out;
        snprintf(text, sizeof text, "in x 2 3; const w 3 4; y = MatMul(x,w); out %s", rows[i].clip);
        graph = graph_of_text(text);
        out = static_form(graph, TFR_DTYPE_U8);
        CHECK_INT(rows[i].merged, told[TFR_QUANTIZE_MERGED]);
        CHECK(sqnr_of(graph, out) > 25);
        tfr_graph_release(out);
        tfr_graph_release(graph);
    }
}

/* The scale of node i's input k. */
static tfr_value scale_of(const tfr_graph *graph, uint32_t i)
{
    tfr_node_view node = {.size = sizeof node};
    REQUIRE_OK(tfr_graph_node(graph, i, &node, &err), &err);
    return node.inputs[1];
}

TEST(moves_have_one_scale_for_inputs_and_outputs)
{
    tfr_graph *graph = graph_of_text("in x 2 3; const w 3 4; const v 3 4; y = MatMul(x,w); "
                                     "z = MatMul(x,v); out Transpose(Concat{axis=0}(y,z))");
    tfr_graph *out = static_form(graph, TFR_DTYPE_I8);
    tfr_value scale = TFR_VALUE_NONE;
    check_ops(Q " " DQ " " DQ " MatMul " Q " " DQ " " DQ " MatMul " Q " " DQ " Concat " Q " " DQ
                " Transpose " Q " " DQ,
              out);
    scale = scale_of(out, 4);
    CHECK_INT(scale, scale_of(out, 8));
    CHECK_INT(scale, scale_of(out, 11));
    CHECK_INT(scale, scale_of(out, 14));
    CHECK(scale != scale_of(out, 0));
    CHECK(sqnr_of(graph, out) > 30);
    tfr_graph_release(out);
    tfr_graph_release(graph);
}

TEST(a_bias_has_the_scale_of_the_products)
{
    tfr_graph *graph = graph_of_text("in x 2 3; const w 3 4; const b 4; out Gemm(x,w,b)"), *out;
    const int32_t *q;
    /* A channel with weights so small that its bias would not be within int32. */
    for (int i = 0; i < 12; i += 4)
        numbers_of(graph, "w")[i] = 1e-12F;
    numbers_of(graph, "b")[1] = 0;
    out = static_form(graph, TFR_DTYPE_I8);
    q = tfr_tensor_data(constant_of(out, "b_quantized"));
    for (int i = 0; i < 4; i++) {
        const double s = (double)numbers_of(out, "b_quantized_scale")[i];
        const double b = (double)numbers_of(graph, "b")[i];
        CHECK_NEAR((double)(numbers_of(out, "x_scale")[0] * numbers_of(out, "w_scale")[i]), s,
                   1e-6 * s);
        CHECK_NEAR(b, s * q[i], s);
    }
    CHECK_INT(TFR_DTYPE_I32, tfr_tensor_dtype(constant_of(out, "b_quantized")));
    CHECK(sqnr_of(graph, out) > 30);
    tfr_graph_release(out);
    tfr_graph_release(graph);
}

TEST(ops_between_are_taken_only_behind_integers)
{
    tfr_graph *graph = graph_of_text("in x 2 3; const w 3 3; const c 3; "
                                     "out Mul(Add(MatMul(Add(x,c),w),c),x)");
    tfr_graph *out = static_form(graph, TFR_DTYPE_U8);
    /* The pair of x stands first: Mul reads it, too. */
    check_ops(Q " " DQ " Add " Q " " DQ " " DQ " MatMul " Q " " DQ " " DQ " Add " Q " " DQ " Mul " Q
                " " DQ,
              out);
    CHECK_UINT(1, told[TFR_QUANTIZE_LEFT]);
    CHECK_STR("none of its operands is an integer", told_text);
    CHECK(sqnr_of(graph, out) > 30);
    tfr_graph_release(out);
    tfr_graph_release(graph);
}

TEST(values_that_are_not_finite_or_far_off_stay_float32)
{
    tfr_graph *graph = graph_of_text("in x 2 3; const w 3 3; const c 3; out Add(MatMul(x,w),c)");
    tfr_graph *out;
    numbers_of(graph, "c")[0] = -3e38F;
    out = static_form(graph, TFR_DTYPE_I8);
    check_ops(Q " " DQ " " DQ " MatMul " Q " " DQ " Add", out);
    CHECK_CONTAINS("beyond 1e8", told_text);
    tfr_graph_release(out);
    tfr_graph_release(graph);
    graph = graph_of_text("in x 2 3; const w 3 3; out MatMul(Log(x),w)");
    out = static_form(graph, TFR_DTYPE_I8);
    check_ops("Log MatMul", out);
    CHECK_CONTAINS("no finite values", told_text);
    tfr_graph_release(out);
    tfr_graph_release(graph);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

TEST(ranges_are_those_of_all_samples)
{
    tfr_graph *graph = graph_of_text("in x 2 3; out Relu(x)");
    tfr_calibration *c = calibrated(graph, 3);
    const tfr_value x = tfr_graph_input(graph, 0), y = tfr_graph_output(graph, 0);
    double low, high, least = 0, most = 0, y_low, y_high;
    for (uint32_t k = 0; k < 3; k++) {
        tfr_tensor *in = random_input(graph, 0, 5, 1 + 10 * k, -3, 3);
        for (int i = 0; i < 6; i++) {
            least = fmin(least, (double)((float *)tfr_tensor_data(in))[i]);
            most = fmax(most, (double)((float *)tfr_tensor_data(in))[i]);
        }
        tfr_tensor_release(in);
    }
    REQUIRE_OK(tfr_calibration_range(c, x, TFR_RANGE_MIN_MAX, &low, &high, &err), &err);
    REQUIRE_OK(tfr_calibration_range(c, y, TFR_RANGE_MIN_MAX, &y_low, &y_high, &err), &err);
    CHECK_NEAR(least, low, 0);
    CHECK_NEAR(most, high, 0);
    CHECK_NEAR(0, y_low, 0);
    CHECK_NEAR(most, y_high, 0);
    tfr_calibration_destroy(c);
    tfr_graph_release(graph);
}

/* 1000 numbers in [-1, 1], and one that is far off in the last sample. */
TEST(mse_cuts_off_an_outlier_where_many_are_close_together)
{
    tfr_graph *graph = graph_of_text("in x 1000; out Neg(x)");
    const tfr_value x = tfr_graph_input(graph, 0);
    tfr_runtime *runtime = new_runtime(false);
    tfr_calibration *c = NULL;
    double low, high;
    REQUIRE_OK(tfr_calibration_create(runtime, graph, "naive:0", &c, &err), &err);
    for (uint32_t k = 0; k < 200; k++) {
        tfr_tensor *in = random_input(graph, 0, 5, k, -1, 1);
        ((float *)tfr_tensor_data(in))[0] = k == 199 ? 40 : 0;
        REQUIRE_OK(tfr_calibration_add(c, &in, 1, &err), &err);
        tfr_tensor_release(in);
    }
    REQUIRE_OK(tfr_calibration_range(c, x, TFR_RANGE_MIN_MAX, &low, &high, &err), &err);
    CHECK_NEAR(40, high, 0);
    REQUIRE_OK(tfr_calibration_range(c, x, TFR_RANGE_MSE, &low, &high, &err), &err);
    CHECK(high < 39 && high > 1);
    CHECK(low < -0.9 && low >= -1);
    tfr_calibration_destroy(c);
    tfr_runtime_release(runtime);
    tfr_graph_release(graph);
}

TEST(values_that_nobody_saw_have_no_range)
{
    tfr_graph *graph = graph_of_text("in x 2 3; out Cast{to=7}(x); out Sqrt(x)");
    tfr_calibration *none = calibrated(graph, 0), *c = calibrated(graph, 1);
    double low, high;
    CHECK_STATUS(TFR_ENOTFOUND, tfr_calibration_range(none, 0, TFR_RANGE_MSE, &low, &high, &err),
                 &err);
    CHECK_STATUS(
        TFR_ENOTFOUND,
        tfr_calibration_range(c, tfr_graph_output(graph, 0), TFR_RANGE_MSE, &low, &high, &err),
        &err);
    CHECK_STATUS(
        TFR_ENOTFOUND,
        tfr_calibration_range(c, tfr_graph_output(graph, 1), TFR_RANGE_MSE, &low, &high, &err),
        &err);
    CHECK_CONTAINS("not finite", err.text);
    CHECK_STATUS(TFR_EINVAL, tfr_calibration_range(c, 99, TFR_RANGE_MSE, &low, &high, &err), &err);
    tfr_calibration_destroy(none);
    tfr_calibration_destroy(c);
    tfr_graph_release(graph);
}

static const test_case cases[] = {
    CASE(products_stand_between_pairs_and_relu_is_merged),
    CASE(relu_stays_where_its_input_is_read_by_others),
    CASE(relu_stays_where_its_range_is_one_with_negative_numbers),
    CASE(a_clip_is_merged_only_where_it_begins_at_zero),
    CASE(moves_have_one_scale_for_inputs_and_outputs),
    CASE(a_bias_has_the_scale_of_the_products),
    CASE(ops_between_are_taken_only_behind_integers),
    CASE(values_that_are_not_finite_or_far_off_stay_float32),
    CASE(ranges_are_those_of_all_samples),
    CASE(mse_cuts_off_an_outlier_where_many_are_close_together),
    CASE(values_that_nobody_saw_have_no_range),
};
TEST_MAIN(cases)
