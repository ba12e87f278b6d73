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

static const test_case cases[] = {
    CASE(einsum_knows_dots_blanks_and_outputs_that_are_not_written),
    CASE(axes_count_from_the_end_and_may_be_empty),
    CASE(activations_of_recurrent_ops_have_their_formulas_and_take_their_constants_in_order),
    CASE(bernoulli_is_true_for_the_numbers_below_p),
};
TEST_MAIN(cases)
