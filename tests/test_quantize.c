/* SPDX-License-Identifier: Apache-2.0 */
/* Quantization: what the numbers become, where the nodes stand, and what is left alone. */
#include <tfrun/quantize.h>

#include "pass_kit.h"

/* ---- graphs ---------------------------------------------------------------------------------- */

/* The elements of a constant, to be changed before anybody has seen them. */
static float *numbers_of(const tfr_graph *graph, const char *name)
{
    tfr_value_view view = {.size = sizeof view};
    REQUIRE_OK(tfr_graph_value(graph, tfr_graph_find_value(graph, name), &view, &err), &err);
    REQUIRE(view.tensor != NULL);
    return tfr_tensor_data(view.tensor);
}

static tfr_tensor *constant_of(const tfr_graph *graph, const char *name)
{
    tfr_value_view view = {.size = sizeof view};
    const tfr_value v = tfr_graph_find_value(graph, name);
    REQUIRE(v != TFR_VALUE_NONE);
    REQUIRE_OK(tfr_graph_value(graph, v, &view, &err), &err);
    REQUIRE(view.tensor != NULL);
    return view.tensor;
}

/* What notes told last, by fate, and the last text that is no "done". */
static uint32_t told[5];
static char told_text[200], told_name[100];

static void take_note(void *user, const tfr_quantize_note *note)
{
    (void)user;
    told[note->fate]++;
    if (note->fate == TFR_QUANTIZE_LEFT || note->fate == TFR_QUANTIZE_CLAMPED) {
        snprintf(told_text, sizeof told_text, "%s", note->text);
        snprintf(told_name, sizeof told_name, "%s", note->name);
    }
}

static tfr_quantize_options new_options(tfr_quantize_form form)
{
    tfr_quantize_options options = TFR_QUANTIZE_OPTIONS_INIT(form);
    options.note = take_note;
    return options;
}

static tfr_graph *quantized(tfr_graph *graph, const tfr_quantize_options *options)
{
    tfr_graph *out = NULL;
    memset(told, 0, sizeof told);
    told_text[0] = '\0';
    REQUIRE_OK(tfr_graph_quantize(graph, options, &out, &err), &err);
    return out;
}

static void check_ops(const char *expected, const tfr_graph *graph)
{
    char text[600] = "";
    list_ops(graph, text, sizeof text);
    CHECK_STR(expected, text);
}

/* How far the outputs of both are apart on the same inputs. */
static double sqnr_of(tfr_graph *before, tfr_graph *after)
{
    tfr_runtime *runtime = new_runtime(false);
    tfr_session *sessions[2] = {new_session(runtime, before, "none"),
                                new_session(runtime, after, "none")};
    tfr_tensor *outputs[2][4] = {{NULL}, {NULL}};
    tfr_accuracy accuracy = {.size = sizeof accuracy};
    for (int k = 0; k < 2; k++)
        run(sessions[k], outputs[k]);
    for (uint32_t i = 0; i < tfr_graph_n_outputs(before); i++) {
        REQUIRE(outputs[0][i] && outputs[1][i]);
        CHECK_OK(tfr_accuracy_add(&accuracy, outputs[0][i], outputs[1][i], &err), &err);
        tfr_tensor_release(outputs[0][i]);
        tfr_tensor_release(outputs[1][i]);
    }
    tfr_session_destroy(sessions[0]);
    tfr_session_destroy(sessions[1]);
    tfr_runtime_release(runtime);
    return tfr_accuracy_sqnr(&accuracy);
}

/* Counts n samples in; the graph's values are those of run(), and their negatives. */
static tfr_calibration *calibrated(tfr_graph *graph, uint32_t n)
{
    tfr_runtime *runtime = new_runtime(false);
    tfr_calibration *calibration = NULL;
    REQUIRE_OK(tfr_calibration_create(runtime, graph, "naive:0", &calibration, &err), &err);
    for (uint32_t k = 0; k < n; k++) {
        tfr_tensor *in[4];
        for (uint32_t i = 0; i < tfr_graph_n_inputs(graph); i++)
            in[i] = random_input(graph, i, 5, i + 1 + 10 * k, -3, 3);
        CHECK_OK(tfr_calibration_add(calibration, in, tfr_graph_n_inputs(graph), &err), &err);
        for (uint32_t i = 0; i < tfr_graph_n_inputs(graph); i++)
            tfr_tensor_release(in[i]);
    }
    tfr_runtime_release(runtime);
    return calibration;
}

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

static void check_int_attr(const tfr_graph *graph, uint32_t i, const char *name, int64_t expected)
{
    tfr_node_view node = {.size = sizeof node};
    const tfr_attr *attr;
    REQUIRE_OK(tfr_graph_node(graph, i, &node, &err), &err);
    attr = tfr_node_attr(&node, name);
    REQUIRE(attr != NULL);
    CHECK_INT(expected, attr->ints[0]);
}

/* ---- weights alone --------------------------------------------------------------------------- */

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

/* ---- with activations ------------------------------------------------------------------------ */

#define Q  "QuantizeLinear"
#define DQ "DequantizeLinear"

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

/* ---- float16 --------------------------------------------------------------------------------- */

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
    CASE(a_constant_of_several_nodes_is_quantized_once),
    CASE(weights_that_are_inputs_are_left_and_outputs_stay_as_they_were),
    CASE(subgraphs_stay_as_they_are),
    CASE(names_that_are_in_use_are_not_taken),
    CASE(values_of_one_name_are_copied),
    CASE(patterns_say_which_nodes),
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
    CASE(float16_has_casts_at_the_ends),
    CASE(float16_leaves_ops_that_overflow_and_operands_that_are_float32_only),
    CASE(float16_clamps_constants_and_says_which),
    CASE(float16_leaves_nodes_whose_values_are_beyond_it),
    CASE(options_that_make_no_sense_are_refused),
    CASE(graphs_with_state_are_refused),
    CASE(without_memory_there_is_an_error_and_no_graph),
    CASE(accuracy_is_what_its_formulas_say),
};
TEST_MAIN(cases)
