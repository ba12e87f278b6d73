/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the reference computes, by values worked out by hand. ONNX's own cases (onnx_backend.sh,
 * onnx_newer.sh) cover the usual calls; here are edges that they leave out: ties, empty axes,
 * negative axes, attributes that are rarely set. Other backends are compared with the reference.
 */
#include "tfr_test.h"

#include "values_kit.h"

#define CHECK_VALUES(cases) values_check_all("naive:0", cases, sizeof(cases) / sizeof(cases)[0])

TEST(einsum_knows_dots_blanks_and_outputs_that_are_not_written)
{
    static const values_case calls[] = {
        {"Einsum equation:s=ij", "f32[2,3] 1 2 3 4 5 6", "f32[2,3] 1 2 3 4 5 6"},
        {"Einsum equation:s=ba", "f32[2,3] 1 2 3 4 5 6", "f32[3,2] 1 4 2 5 3 6"},
        {"Einsum equation:s=ij,jk", "f32[1,2] 1 2; f32[2,1] 3 4", "f32[1,1] 11"},
        {"Einsum equation:s=ii", "f32[2,2] 1 2 3 4", "f32[] 5"},
        {"Einsum equation:s=...", "f32[2] 1 2", "f32[2] 1 2"},
        {"Einsum equation:s=b...a", "f32[1,2,2] 1 2 3 4", "f32[2,2,1] 1 2 3 4"},
        {"Einsum equation:s=...i->...", "f32[2,2] 1 2 3 4", "f32[2] 3 7"},
        {"Einsum equation:s=...i,...i->...", "f32[2] 1 2; f32[2,2] 1 2 3 4", "f32[2] 5 11"},
        {"Einsum equation:s=aA->Aa", "f32[1,2] 1 2", "f32[2,1] 1 2"},
        {"Einsum equation:s=i,i,i->", "f32[2] 1 2; f32[2] 3 4; f32[2] 5 6", "f32[] 63"},
    };
    CHECK_VALUES(calls);
}

TEST(axes_count_from_the_end_and_may_be_empty)
{
    static const values_case calls[] = {
        {"CumSum", "f32[2,2] 1 2 3 4; i64[] -1", "f32[2,2] 1 3 3 7"},
        {"CumSum", "f32[2,2] 1 2 3 4; i64[] -2", "f32[2,2] 1 2 4 6"},
        {"TopK axis:i=0", "f32[3,2] 1 6 5 2 3 4; i64[1] 2", "f32[2,2] 5 6 3 4; i64[2,2] 1 0 2 2"},
        {"TopK axis:i=-2 largest:i=0", "f32[1,3,2] 1 6 5 2 3 4; i64[1] 2",
         "f32[1,2,2] 1 2 3 4; i64[1,2,2] 0 1 2 2"},
        {"CumSum exclusive:i=1 reverse:i=1", "f32[3] 1 2 4; i64[] 0", "f32[3] 6 4 0"},
        {"ReduceSum keepdims:i=0", "f32[2,2] 1 2 3 4; i64[1] -1", "f32[2] 3 7"},
        {"ReduceSum keepdims:i=0", "f32[2,2] 1 2 3 4; i64[2] -1 -2", "f32[] 10"},
        {"ReduceSum", "f32[2,2] 1 2 3 4; i64[0]", "f32[1,1] 10"},
        {"ReduceSum noop_with_empty_axes:i=1", "f32[2] 1 2; i64[0]", "f32[2] 1 2"},
        {"ReduceMax", "f32[0,2]; i64[1] 1", "f32[0,1]"},
        {"Slice", "f32[4] 1 2 3 4; i64[1] -1; i64[1] -9; i64[1] -1; i64[1] -2", "f32[2] 4 2"},
        {"Slice", "f32[2,3] 1 2 3 4 5 6; i64[1] -2; i64[1] 9; i64[1] 1", "f32[2,2] 2 3 5 6"},
        {"Concat axis:i=-1", "f32[2,1] 1 2; f32[2,0]; f32[2,2] 3 4 5 6", "f32[2,3] 1 3 4 2 5 6"},
        {"Split axis:i=-1", "f32[2,3] 1 2 3 4 5 6; i64[2] 1 2", "f32[2,1] 1 4; f32[2,2] 2 3 5 6"},
        {"Split num_outputs:i=2", "f32[3] 1 2 3", "f32[2] 1 2; f32[1] 3"},
        {"Split num_outputs:i=3", "f32[7] 1 2 3 4 5 6 7", "f32[3] 1 2 3; f32[3] 4 5 6; f32[1] 7"},
    };
    CHECK_VALUES(calls);
}

/* One step of one unit with the weight 1 is the activation itself. */
TEST(activations_of_recurrent_ops_have_their_formulas_and_take_their_constants_in_order)
{
    static const struct {
        const char *attrs;
        double x, y;
    } rows[] = {
        {"activations:ss=Affine activation_alpha:fs=2 activation_beta:fs=3", 1, 5},
        {"activations:ss=Elu", -1, -0.63212056},
        {"activations:ss=Elu activation_alpha:fs=2", -1, -1.26424112},
        {"activations:ss=Elu", 1, 1},
        {"activations:ss=HardSigmoid", 1, 0.7},
        {"activations:ss=HardSigmoid", 2.5, 1},
        {"activations:ss=HardSigmoid", 5, 1},
        {"activations:ss=HardSigmoid", -5, 0},
        {"activations:ss=LeakyRelu", -1, -0.01},
        {"activations:ss=LeakyRelu", 3, 3},
        {"activations:ss=Relu", -1, 0},
        {"activations:ss=Relu", 2, 2},
        {"activations:ss=ScaledTanh activation_alpha:fs=2 activation_beta:fs=0.5", 1, 0.92423431},
        {"activations:ss=Sigmoid", 1, 0.73105858},
        {"activations:ss=Softplus", 0, 0.69314718},
        {"activations:ss=Softplus", 1, 1.31326169},
        {"activations:ss=Softplus", -1, 0.31326169},
        {"activations:ss=Softplus", 1000, 1000},
        {"activations:ss=Softsign", -1, -0.5},
        {"activations:ss=tanh", 1, 0.76159416},
        {"activations:ss=ThresholdedRelu", 0.5, 0},
        {"activations:ss=ThresholdedRelu", 2, 2},
        {"activations:ss=ThresholdedRelu activation_alpha:fs=3", 2, 0},
        {"activations:ss=Relu clip:f=0.5", 2, 0.5},
        {"activations:ss=LeakyRelu clip:f=0.5", -2, -0.005},
    };
    static const values_case both[] = {
        {"RNN hidden_size:i=1 direction:s=bidirectional activations:ss=Relu,LeakyRelu "
         "activation_alpha:fs=0.5",
         "f32[1,1,1] -2; f32[2,1,1] 1 1; f32[2,1,1] 0 0", "f32[1,2,1,1] 0 -1"},
        {"RNN hidden_size:i=1 direction:s=bidirectional activations:ss=Relu,LeakyRelu "
         "activation_alpha:fs=9,0.25",
         "f32[1,1,1] -2; f32[2,1,1] 1 1; f32[2,1,1] 0 0",
         "f32[1,2,1,1] 0 -18"}, /* the first alpha, for the first that has one */
        {"RNN hidden_size:i=1 direction:s=bidirectional activations:ss=HardSigmoid,HardSigmoid "
         "activation_alpha:fs=0.1,0.3 activation_beta:fs=0.2,0.4",
         "f32[1,1,1] 1; f32[2,1,1] 1 1; f32[2,1,1] 0 0", "f32[1,2,1,1] 0.3 0.7"},
        {"RNN hidden_size:i=1 activations:ss=Nothing", "f32[1,1,1] 1; f32[1,1,1] 1; f32[1,1,1] 0",
         "!Nothing"},
    };
    tfr_runtime *runtime = NULL;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &values_err), &values_err);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char call[160], in[96], out[64];
        values_case c = {call, in, out};
        snprintf(call, sizeof call, "RNN hidden_size:i=1 %s", rows[i].attrs);
        snprintf(in, sizeof in, "f64[1,1,1] %.9g; f64[1,1,1] 1; f64[1,1,1] 0", rows[i].x);
        snprintf(out, sizeof out, "f64[1,1,1,1] %.9g", rows[i].y);
        values_check(runtime, "naive:0", &c);
    }
    tfr_runtime_release(runtime);
    CHECK_VALUES(both);
}

/* A number is drawn below p or not: at p itself, and with the next p above it. */
TEST(bernoulli_is_true_for_the_numbers_below_p)
{
    const tfr_shape shape = {.rank = 1, .dims = {1000}};
    const float seed = 3;
    tfr_attr attr = {
        .size = sizeof attr, .type = TFR_ATTR_FLOAT, .name = "seed", .n = 1, .floats = &seed};
    tfr_node_desc node = {.size = sizeof node,
                          .op = "RandomUniformLike",
                          .attrs = &attr,
                          .n_attrs = 1,
                          .n_outputs = 1};
    tfr_runtime *runtime = NULL;
    tfr_tensor *x = NULL, *p = NULL, *y = NULL;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &values_err), &values_err);
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &shape, &x, &values_err), &values_err);
    memset(tfr_tensor_data(x), 0, 4000);
    REQUIRE_OK(tfr_op_run(runtime, "naive:0", &node, &x, 1, &p, 1, &values_err), &values_err);
    node.op = "Bernoulli";
    for (int above = 0; above < 2; above++) {
        float sum = 0;
        REQUIRE_OK(tfr_op_run(runtime, "naive:0", &node, &p, 1, &y, 1, &values_err), &values_err);
        for (int i = 0; i < 1000; i++) {
            sum += ((float *)tfr_tensor_data(y))[i];
            ((float *)tfr_tensor_data(p))[i] =
                nextafterf(((float *)tfr_tensor_data(p))[i], INFINITY);
        }
        CHECK_NEAR(above ? 1000.0 : 0.0, (double)sum, 0);
        tfr_tensor_release(y);
    }
    tfr_tensor_release(x);
    tfr_tensor_release(p);
    tfr_runtime_release(runtime);
}

TEST(texts_of_numbers_are_the_shortest_that_read_back)
{
    static const values_case calls[] = {
        {"Cast to:i=8", "f32[5] 0.1 1 -2.5 100 1e20", "s[5] 0.1 1.0 -2.5 100.0 1e+20"},
        {"Cast to:i=8", "f64[4] 0.0001 0.00001 1e15 1e16",
         "s[4] 0.0001 1e-05 1000000000000000.0 1e+16"},
        {"Cast to:i=8", "f64[4] 1200 -1230000 0.1 123.5", "s[4] 1200.0 -1230000.0 0.1 123.5"},
        {"Cast to:i=8", "f64[3] nan inf -inf", "s[3] nan inf -inf"},
        {"Cast to:i=8", "f64[1] 0.30000000000000004", "s[1] 0.30000000000000004"},
        {"Cast to:i=8", "u64[2] 18446744073709551615 0", "s[2] 18446744073709551615 0"},
        {"Cast to:i=8", "i64[2] -9223372036854775808 7", "s[2] -9223372036854775808 7"},
        {"Cast to:i=8", "bool[2] 1 0", "s[2] True False"},
        {"Cast to:i=13", "s[2] 18446744073709551615 1e3", "u64[2] 18446744073709551615 1000"},
        {"Cast to:i=7", "s[3] -9223372036854775808 12 2.9", "i64[3] -9223372036854775808 12 2"},
        {"Cast to:i=1", "s[4] 1.5 -inf NaN 1e3", "f32[4] 1.5 -inf nan 1000"},
        {"Cast to:i=1", "s[1] 1.5x", "!which is no number"},
        {"Cast to:i=7", "s[1] five", "!which is no number"},
    };
    CHECK_VALUES(calls);
}

TEST(of_equal_values_the_one_that_onnx_names_is_taken)
{
    static const values_case calls[] = {
        {"ArgMax axis:i=-1", "f32[1,4] 1 3 3 2", "i64[1,1] 1"},
        {"ArgMax axis:i=-1 select_last_index:i=1", "f32[1,4] 1 3 3 2", "i64[1,1] 2"},
        {"ArgMin axis:i=0 keepdims:i=0", "f32[4] 1 0 0 2", "i64[] 1"},
        {"ArgMin axis:i=0 keepdims:i=0 select_last_index:i=1", "f32[4] 1 0 0 2", "i64[] 2"},
        {"Hardmax", "f32[1,3] 2 5 5", "f32[1,3] 0 1 0"},
        {"TopK", "f32[5] 1 3 3 2 3; i64[1] 3", "f32[3] 3 3 3; i64[3] 1 2 4"},
        {"TopK largest:i=0", "f32[5] 2 1 3 1 1; i64[1] 4", "f32[4] 1 1 1 2; i64[4] 1 3 4 0"},
        {"TopK", "f32[2] 1 2; i64[1] 0", "f32[0]; i64[0]"},
        {"Unique", "f32[5] 2 1 1 3 2",
         "f32[3] 1 2 3; i64[3] 1 0 3; i64[5] 1 0 0 2 1; i64[3] 2 2 1"},
        {"Unique sorted:i=0", "f32[5] 2 1 1 3 2",
         "f32[3] 2 1 3; i64[3] 0 1 3; i64[5] 0 1 1 2 0; i64[3] 2 2 1"},
        {"Unique", "u64[4] 9 2 9 2", "u64[2] 2 9; i64[2] 1 0; i64[4] 1 0 1 0; i64[2] 2 2"},
        {"Unique axis:i=-1", "f32[2,3] 1 0 1 2 9 2",
         "f32[2,2] 0 1 9 2; i64[2] 1 0; i64[3] 1 0 1; i64[2] 1 2"},
        {"MaxPool kernel_shape:is=2 strides:is=1", "f32[1,1,3] 5 5 1",
         "f32[1,1,2] 5 5; i64[1,1,2] 0 1"},
        {"NonMaxSuppression",
         "f32[1,3,4] 0 0 1 1 0 0 1 1 0 2 1 3; f32[1,1,3] 0.5 0.5 0.4; i64[1] 3; f32[1] 0.5",
         "i64[2,3] 0 0 0 0 0 2"},
        {"NonMaxSuppression", /* an overlap of just the threshold stays, a score of it goes */
         "f32[1,2,4] 0 0 1 2 0 0 1 1; f32[1,1,2] 0.9 0.8; i64[1] 3; f32[1] 0.5; f32[1] 0.8",
         "i64[1,3] 0 0 0"},
        {"NonMaxSuppression",
         "f32[1,2,4] 0 0 1 2 0 0 1 1; f32[1,1,2] 0.9 0.8; i64[1] 3; f32[1] 0.5",
         "i64[2,3] 0 0 0 0 0 1"},
        {"NonMaxSuppression",
         "f32[1,2,4] 0 0 1 2 0 0 1 1; f32[1,1,2] 0.9 0.8; i64[1] 1; f32[1] 0.5", "i64[1,3] 0 0 0"},
        {"NonMaxSuppression center_point_box:i=1",
         "f32[1,2,4] 0.5 0.5 1 1 0.5 0.5 1 1; f32[1,1,2] 0.8 0.9; i64[1] 3; f32[1] 0.9",
         "i64[1,3] 0 0 1"},
    };
    CHECK_VALUES(calls);
}

TEST(a_value_at_a_bound_is_on_the_side_that_onnx_says)
{
    static const values_case calls[] = {
        {"Shrink lambd:f=0.5 bias:f=1", "f32[5] -0.6 -0.5 0 0.5 0.75", "f32[5] 0.4 0 0 0 -0.25"},
        {"ThresholdedRelu alpha:f=2", "f32[3] 1 2 2.5", "f32[3] 0 0 2.5"},
        {"Round", "f32[6] -2.5 -1.5 -0.5 0.5 1.5 2.5", "f32[6] -2 -2 0 0 2 2"},
        {"Sign", "f32[3] -2 0 3", "f32[3] -1 0 1"},
        {"Clip", "f32[4] 1 2 3 4; f32[] 2; f32[] 3", "f32[4] 2 2 3 3"},
        {"Clip", "f32[2] 1 9; f32[] 5; f32[] 3", "f32[2] 3 3"},
        {"Clip", "i32[3] 1 5 9; -; i32[] 5", "i32[3] 1 5 5"},
        {"Greater", "f32[3] 1 2 3; f32[] 2", "bool[3] 0 0 1"},
        {"GreaterOrEqual", "f32[3] 1 2 3; f32[] 2", "bool[3] 0 1 1"},
        {"Less", "i64[3] 1 2 3; i64[] 2", "bool[3] 1 0 0"},
        {"LessOrEqual", "u64[3] 1 18446744073709551615 3; u64[] 3", "bool[3] 1 0 1"},
        {"Mod", "i32[4] 5 -5 5 -5; i32[4] 3 3 -3 -3", "i32[4] 2 1 -1 -2"},
        {"Mod fmod:i=1", "i32[4] 5 -5 5 -5; i32[4] 3 3 -3 -3", "i32[4] 2 -2 2 -2"},
        {"Mod", "i32[2] 6 -6; i32[] 3", "i32[2] 0 0"},
        {"Pow", "i32[5] 2 -1 -1 1 3; i32[5] 3 3 2 -5 0", "i32[5] 8 -1 1 1 1"},
        {"Pow", "i32[4] -1 -1 1 2; i32[4] -3 -2 -7 -1", "i32[4] -1 1 1 0"},
        {"EyeLike k:i=1", "f32[2,3] 0 0 0 0 0 0", "f32[2,3] 0 1 0 0 0 1"},
        {"EyeLike k:i=-1", "f32[2,2] 0 0 0 0", "f32[2,2] 0 0 1 0"},
        {"EyeLike k:i=3", "f32[2,2] 0 0 0 0", "f32[2,2] 0 0 0 0"},
        {"Trilu", "f32[2,2] 1 2 3 4; i64[] 1", "f32[2,2] 0 2 0 0"},
        {"Trilu upper:i=0", "f32[2,2] 1 2 3 4; i64[] -1", "f32[2,2] 0 0 3 0"},
        {"Trilu upper:i=0", "f32[2,2] 1 2 3 4", "f32[2,2] 1 0 3 4"},
        {"Range", "f32[] 0; f32[] 3; f32[] 1", "f32[3] 0 1 2"},
        {"Range", "i64[] 5; i64[] 0; i64[] -2", "i64[3] 5 3 1"},
        {"Range", "i64[] 5; i64[] 5; i64[] 1", "i64[0]"},
        {"OneHot", "i64[4] 0 2 -1 3; i64[] 3; f32[2] 0 1", "f32[4,3] 1 0 0 0 0 1 0 0 1 0 0 0"},
        {"OneHot axis:i=0", "i64[2] 1 -4; i64[] 3; f32[2] 0 1", "f32[3,2] 0 0 1 0 0 0"},
        {"ai.onnx.ml.LinearClassifier coefficients:fs=1 classlabels_ints:is=7", "f32[3,1] -1 0 2",
         "i64[3] 0 7 7; f32[3,1] -1 0 2"},
        {"ai.onnx.ml.LinearClassifier coefficients:fs=1 classlabels_ints:is=7 "
         "post_transform:s=LOGISTIC",
         "f32[3,1] -1 0 1", "i64[3] 0 7 7; f32[3,1] 0.26894142 0.5 0.73105858"},
        {"ai.onnx.ml.SVMClassifier coefficients:fs=1,2,3 rho:fs=0.5 classlabels_ints:is=4,5,6",
         "f32[1,1] 2", "i64[1] 1; f32[1,3] 2.5 4.5 6.5"},
        {"Resize", "f32[1,1,2,2] 1 2 3 4; -; f32[4] 1 1 2 2",
         "f32[1,1,4,4] 1 1 2 2 1 1 2 2 3 3 4 4 3 3 4 4"},
        {"GridSample align_corners:i=1", "f32[1,1,2,2] 1 2 3 4; f32[1,1,3,2] -1 -1 1 -1 0 0",
         "f32[1,1,1,3] 1 2 2.5"},
        {"RotaryEmbedding", "f32[1,1,1,2] 1 2; f32[2,1] 0 1; f32[2,1] 1 0; i64[1,1] 1",
         "f32[1,1,1,2] 1 2"},
        {"RotaryEmbedding", "f32[1,1,1,2] 1 2; f32[2,1] 0 1; f32[2,1] 1 0; i64[1,1] 2",
         "!position 2 of token 0 is outside [0, 2)"},
        {"RotaryEmbedding", "f32[1,1,1,2] 1 2; f32[2,1] 0 1; f32[2,1] 1 0; i64[1,1] -1",
         "!position -1 of token 0 is outside [0, 2)"},
        /* As many points as a bin has pixels. */
        {"RoiAlign", "f32[1,1,4,4] 16 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0; f32[1,4] 0 0 4 4; i64[1] 0",
         "f32[1,1,1,1] 1"},
        {"MaxRoiPool pooled_shape:is=2,2",
         "f32[1,1,4,4] 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; f32[1,5] 0 0 0 3 3",
         "f32[1,1,2,2] 6 8 14 16"},
        {"ai.onnx.ml.ArrayFeatureExtractor", "f32[2,3] 1 2 3 4 5 6; i64[2] 0 -1",
         "f32[2,2] 1 3 4 6"},
        {"Multinomial seed:f=3 sample_size:i=3", "f32[1,3] nan 0 -inf", "i32[1,3] 1 1 1"},
        {"MelWeightMatrix", "i64[] 1; i64[] 16; i64[] 17; f32[] 8.5; f32[] 8.5",
         "f32[9,1] 0 0 0 0 0 0 0 0 1"},
        {"MelWeightMatrix", "i64[] 1; i64[] 16; i64[] 17; f32[] 9.5; f32[] 9.5",
         "!mel edge 0 lies at bin 9, the spectrogram has 9"},
        {"LayerNormalization", "f32[2,0]; f32[0]", "f32[2,0]; f32[2,1] nan nan; f32[2,1] nan nan"},
        {"BitShift direction:s=LEFT", "u64[2] 1 3; u64[2] 63 64", "u64[2] 9223372036854775808 0"},
    };
    CHECK_VALUES(calls);
}

TEST(a_complex_number_is_zero_if_both_its_parts_are)
{
    static const values_case calls[] = {
        {"NonZero", "c64[5] 0:0 0:1 1:0 nan:0 0:-0", "i64[1,3] 1 2 3"},
        {"NonZero", "c128[5] 0:0 0:1 1:0 0:nan -0:0", "i64[1,3] 1 2 3"},
    };
    CHECK_VALUES(calls);
}

TEST(frames_may_have_one_sample)
{
    static const values_case calls[] = {
        {"STFT", "f32[1,3,1] 1 2 3; i64[] 1; f32[1] 2; i64[] 1", "f32[1,3,1,2] 2 0 4 0 6 0"},
        {"STFT", "f32[1,3,1] 1 2 3; i64[] 1; f32[2] 2 2; i64[] 1",
         "!input window has shape [2], want [1]"},
    };
    CHECK_VALUES(calls);
}

TEST(a_label_that_is_no_class_is_an_error_of_the_gradient_too)
{
    static const values_case calls[] = {
        {"tfrun.SoftmaxCrossEntropyGrad", "f32[] 1; f32[1,2] -1 -1; i64[1] 2",
         "!label 0 is class 2, the scores have 2"},
        {"tfrun.SoftmaxCrossEntropyGrad reduction:s=none",
         "f32[2] 1 1; f32[2,2] -1 -1 -1 -1; i64[2] 0 -1", "!label 1 is class -1"},
    };
    CHECK_VALUES(calls);
}

TEST(reductions_of_nothing_and_of_everything)
{
    static const values_case calls[] = {
        {"ReduceSum", "f32[2,0]; i64[1] 1", "f32[2,1] 0 0"},
        {"ReduceProd", "f32[2,0]; i64[1] 1", "f32[2,1] 1 1"},
        {"ReduceMin", "f32[0]; i64[1] 0", "f32[1] inf"},
        {"ReduceMax", "f32[0]; i64[1] 0", "f32[1] -inf"},
        {"ReduceMax", "i32[0]; i64[1] 0", "i32[1] -2147483648"},
        {"ReduceMin", "i32[0]; i64[1] 0", "i32[1] 2147483647"},
        {"ReduceMax", "bool[3] 0 1 0; i64[1] 0", "bool[1] 1"},
        {"ReduceMin", "bool[3] 0 1 0; i64[1] 0", "bool[1] 0"},
        {"ReduceL1", "f32[3] -1 2 -3", "f32[1] 6"},
        {"ReduceL2 keepdims:i=0", "f32[2] 3 -4", "f32[] 5"},
        {"ReduceSumSquare", "i32[3] 1 -2 3", "i32[1] 14"},
        {"ReduceLogSum", "f32[2] 1 1.7182818", "f32[1] 1"},
        {"ReduceLogSumExp", "f32[2] 1000 1000", "f32[1] 1000.6931"},
        {"ReduceMean", "i32[2] 3 4", "i32[1] 3"},
        {"CumProd", "f32[3] 2 3 4; i64[] 0", "f32[3] 2 6 24"},
        {"CumProd exclusive:i=1", "f32[3] 2 3 4; i64[] 0", "f32[3] 1 2 6"},
        {"CumSum reverse:i=1", "i32[3] 1 2 4; i32[] 0", "i32[3] 7 6 4"},
        {"LpNormalization p:i=1", "f32[3] 1 -1 2", "f32[3] 0.25 -0.25 0.5"},
        {"LpNormalization axis:i=0", "f32[2,2] 3 0 4 0", "f32[2,2] 0.6 0 0.8 0"},
        {"Max", "f32[2] 1 nan; f32[2] nan 1", "f32[2] nan nan"},
        {"Min", "i64[2] -5 5; i64[] 0; i64[] -1", "i64[2] -5 -1"},
        {"Max", "u64[2] 18446744073709551615 1; u64[] 2", "u64[2] 18446744073709551615 2"},
        {"Mean", "f32[2] 1 2; f32[] 5; f32[] 3", "f32[2] 3 3.3333333"},
    };
    CHECK_VALUES(calls);
}

TEST(rounding_to_few_bits_saturates_and_takes_the_even_one)
{
    static const values_case calls[] = {
        {"QuantizeLinear", "f32[6] 0.5 1.5 2.5 -1 127.5 300; f32[] 1; u8[] 0",
         "u8[6] 0 2 2 0 128 255"},
        {"QuantizeLinear", "f32[4] -200 -128.5 126.5 200; f32[] 1; i8[] 0",
         "i8[4] -128 -128 126 127"},
        {"QuantizeLinear axis:i=-1", "f32[1,2] 4 9; f32[2] 2 3; u8[2] 1 2", "u8[1,2] 3 5"},
        {"QuantizeLinear axis:i=0", "f32[2,1] 4 9; f32[2] 2 3; u8[2] 1 2", "u8[2,1] 3 5"},
        {"QuantizeLinear axis:i=1 block_size:i=2", "f32[1,3] 4 6 9; f32[1,2] 2 3; u8[1,2] 0 1",
         "u8[1,3] 2 3 4"},
        {"DequantizeLinear axis:i=-2", "u8[2,1] 3 5; f32[2] 2 3; u8[2] 1 2", "f32[2,1] 4 9"},
        {"DequantizeLinear", "i8[2] -128 127; f32[] 0.5", "f32[2] -64 63.5"},
        {"DynamicQuantizeLinear", "f32[3] 0 1 2.55", "u8[3] 0 100 255; f32[] 0.01; u8[] 0"},
        {"DynamicQuantizeLinear", "f32[2] -1 1.55", "u8[2] 0 255; f32[] 0.01; u8[] 100"},
        {"DynamicQuantizeLinear", "f32[2] 1 2.55", "u8[2] 100 255; f32[] 0.01; u8[] 0"},
    };
    CHECK_VALUES(calls);
}

TEST(strings_without_memory_are_an_error_of_every_op_that_moves_them)
{
    static const values_case calls[] = {
        {"Identity", "s[2] a b", "s[2] a b"},
        {"Reshape", "s[2] a b; i64[2] 2 1", "s[2,1] a b"},
        {"Slice", "s[3] a b c; i64[1] 1; i64[1] 3", "s[2] b c"},
        {"Concat axis:i=0", "s[1] a; s[2] b c", "s[3] a b c"},
        {"Split axis:i=0 num_outputs:i=2", "s[2] a b", "s[1] a; s[1] b"},
        {"Transpose", "s[1,2] a b", "s[2,1] a b"},
        {"Expand", "s[1] a; i64[1] 2", "s[2] a a"},
        {"Tile", "s[1] a; i64[1] 2", "s[2] a a"},
        {"Where", "bool[2] 1 0; s[2] a b; s[2] c d", "s[2] a d"},
        {"Pad", "s[1] a; i64[2] 1 0; s[] p", "s[2] p a"},
        {"Compress", "s[2] a b; bool[2] 0 1", "s[1] b"},
        {"Gather", "s[2] a b; i64[2] 1 0", "s[2] b a"},
        {"GatherElements", "s[2] a b; i64[2] 1 0", "s[2] b a"},
        {"GatherND", "s[2] a b; i64[2,1] 1 0", "s[2] b a"},
        {"ScatterElements", "s[2] a b; i64[1] 1; s[1] c", "s[2] a c"},
        {"ScatterND", "s[2] a b; i64[1,1] 1; s[1] c", "s[2] a c"},
        {"OneHot", "i64[1] 1; i64[] 2; s[2] a b", "s[1,2] a b"},
        {"Trilu", "s[1,2] a b", "s[1,2] a b"},
        {"ReverseSequence batch_axis:i=1 time_axis:i=0", "s[2,1] a b; i64[1] 2", "s[2,1] b a"},
        {"DepthToSpace blocksize:i=1", "s[1,1,1,1] a", "s[1,1,1,1] a"},
        {"SpaceToDepth blocksize:i=1", "s[1,1,1,1] a", "s[1,1,1,1] a"},
        {"Unique", "s[2] b a", "s[2] a b"},
        {"StringConcat", "s[1] a; s[1] b", "s[1] ab"},
        {"StringNormalizer case_change_action:s=UPPER", "s[1] a", "s[1] A"},
        {"Cast to:i=8", "i64[1] 5", "s[1] 5"},
    };
    values_check_without_memory("naive:0", calls, sizeof calls / sizeof calls[0]);
}

static const test_case cases[] = {
    CASE(einsum_knows_dots_blanks_and_outputs_that_are_not_written),
    CASE(axes_count_from_the_end_and_may_be_empty),
    CASE(activations_of_recurrent_ops_have_their_formulas_and_take_their_constants_in_order),
    CASE(bernoulli_is_true_for_the_numbers_below_p),
    CASE(texts_of_numbers_are_the_shortest_that_read_back),
    CASE(of_equal_values_the_one_that_onnx_names_is_taken),
    CASE(a_value_at_a_bound_is_on_the_side_that_onnx_says),
    CASE(a_complex_number_is_zero_if_both_its_parts_are),
    CASE(frames_may_have_one_sample),
    CASE(a_label_that_is_no_class_is_an_error_of_the_gradient_too),
    CASE(reductions_of_nothing_and_of_everything),
    CASE(rounding_to_few_bits_saturates_and_takes_the_even_one),
    CASE(strings_without_memory_are_an_error_of_every_op_that_moves_them),
};
TEST_MAIN(cases)
