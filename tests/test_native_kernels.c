/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node that no program took, of a call that programs know, is computed by a kernel with the bits
 * of a program of that node alone. The backend may not hand it to another.
 */
#include "graph_text.h"

#define BACKEND "native:0"

static tfr_err err = TFR_ERR_INIT;

/* NULL = the backend is not there. */
static tfr_tensor *run(tfr_runtime *runtime, tfr_graph *graph, bool programs, uint32_t n_launches)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session_stats stats = {.size = sizeof stats};
    tfr_value_type type = *tfr_graph_value_type(graph, tfr_graph_input(graph, 0));
    tfr_shape shape = {type.rank, {0}};
    tfr_tensor *in, *out = NULL;
    tfr_session *session = NULL;
    options.device = BACKEND;
    options.fallback = TFR_FALLBACK_ERROR;
    options.no_programs = !programs;
    if (tfr_session_create(runtime, graph, &options, &session, &err) != TFR_OK)
        return NULL;
    for (int32_t k = 0; k < type.rank; k++)
        shape.dims[k] = type.dims[k] < 0 ? 5 : type.dims[k];
    in = random_floats(&shape, 3, -1, 1);
    CHECK_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_OK(tfr_session_get_stats(session, &stats, &err), &err);
    CHECK_UINT(programs ? stats.n_programs : 0, stats.n_programs);
    CHECK_UINT(n_launches, stats.n_launches);
    tfr_tensor_release(in);
    tfr_session_destroy(session);
    return out;
}

/* n: nodes */
static void check_nodes(const char *text, uint32_t n)
{
    tfr_runtime *runtime = NULL;
    tfr_graph *graph = graph_of_text(text);
    tfr_tensor *alone, *compiled;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    compiled = run(runtime, graph, true, 1);
    if (!compiled) {
        tfr_graph_release(graph);
        tfr_runtime_release(runtime);
        SKIP("there is no such backend, or it has no programs on this processor");
    }
    alone = run(runtime, graph, false, n);
    REQUIRE(alone != NULL);
    CHECK(memcmp(tfr_tensor_data(compiled), tfr_tensor_data(alone), tfr_tensor_bytes(alone)) == 0);
    tfr_tensor_release(compiled);
    tfr_tensor_release(alone);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

static void check(const char *text)
{
    check_nodes(text, 1);
}

TEST(functions_of_an_element_run_alone)
{
    check("in x ? 7 9; out Abs(x)");
    check("in x ? 7 9; out Clip(x,-0.5,0.25)");
    check("in x ? 7 9; out Exp(x)");
    check("in x ? 7 9; out Gelu(x)");
    check("in x ? 7 9; out HardSigmoid{alpha=0.5}(x)");
    check("in x ? 7 9; out HardSwish(x)");
    check("in x ? 7 9; out LeakyRelu{alpha=0.1}(x)");
    check("in x ? 7 9; out Neg(x)");
    check("in x ? 7 9; out Relu(x)");
    check("in x ? 7 9; out Sigmoid(x)");
    check("in x ? 7 9; out Sqrt(x)");
    check("in x ? 7 9; out Swish(x)");
    check("in x ? 7 9; out Tanh(x)");
}

TEST(functions_of_two_elements_run_alone)
{
    check("in x ? 7 9; const w 9; out Add(x,w)");
    check("in x ? 7 9; const w 7 1; out Div(w,x)");
    check("in x ? 7 9; out Mul(x,x)");
    check("in x ? 7 9; out Sub(3,x)");
}

TEST(windows_run_alone)
{
    check("in x ? 3 9 8; const w 20 3 3 3; const b 20; out Conv{pads=1,1,1,1}(x,w,b)");
    check("in x ? 32 9 8; const w 20 32 3 3; out Conv{pads=1,1,1,1}(x,w)");
    check("in x ? 64 24 24; const w 64 64 3 3; out Conv{pads=1,1,1,1}(x,w)");
    check("in x ? 20 9 8; const w 20 1 3 3; out Conv{group=20;strides=2,2}(x,w)");
    check("in x ? 20 9 8; out MaxPool{kernel_shape=3,3;strides=2,2;pads=1,1,1,1}(x)");
    check("in x ? 20 9 8; out AveragePool{kernel_shape=3,2}(x)");
    check("in x ? 20 9 8; out GlobalAveragePool(x)");
}

TEST(convolutions_in_groups_run_alone)
{
    static const char *const forms[] = {
        "in x ? 64 9 8; const w 64 8 3 3; const b 64; out Conv{group=8;pads=1,1,1,1}(x,w,b)",
        "in x ? 64 9 8; const w 64 16 3 3; out Conv{group=4;strides=2,2;pads=1,1,1,1}(x,w)",
        "in x ? 64 9 8; const w 64 4 3 3; out Conv{group=16;dilations=2,2;pads=2,2,2,2}(x,w)",
        "in x ? 24 9 8; const w 36 12 3 3; const b 36; out Conv{group=2}(x,w,b)",
        "in x ? 72 7 7; const w 72 24 3 3; const b 72; out Conv{group=3;pads=1,1,1,1}(x,w,b)",
        "in x ? 10 9 8; const w 35 2 2 3; const b 35; out Conv{group=5}(x,w,b)",
        "in x ? 96 9 8; const w 48 48 1 1; out Conv{group=2}(x,w)",
        "in x ? 80 9 8; const w 160 40 3 3; out Conv{group=2;pads=0,1,2,1}(x,w)",
        "in x ? 6 21; const w 9 2 5; const b 9; out Conv{group=3;pads=2,2}(x,w,b)",
    };
    size_t i;

    for (i = 0; i < sizeof forms / sizeof forms[0]; i++)
        check(forms[i]);
}

TEST(convolutions_run_whose_outer_taps_lie_in_the_padding)
{
    static const char *const forms[] = {
        "in x ? 16 7 6; const w 24 16 3 3; const b 24; "
        "out Conv{dilations=9,9;pads=9,9,9,9}(x,w,b)",
        "in x ? 16 7 6; const w 24 16 3 3; out Conv{dilations=7,2;pads=7,2,7,2}(x,w)",
        "in x ? 16 7 6; const w 8 16 5 3; out Conv{dilations=4,6;pads=8,6,8,6}(x,w)",
        "in x ? 3 7 6; const w 8 3 3 3; out Conv{dilations=8,8;pads=8,8,8,8}(x,w)",
        "in x ? 16 9 9; const w 8 16 3 3; out Conv{dilations=9,9;pads=9,9,9,9;strides=2,2}(x,w)",
    };
    size_t i;

    for (i = 0; i < sizeof forms / sizeof forms[0]; i++)
        check(forms[i]);
}

/* 70 times [5,7,3]: a program takes up to 64. */
TEST(parts_that_are_too_many_for_a_program_are_put_together)
{
    tfr_graph *graph = graph_of_text("in x 5 7 3; out Neg(x)");
    const tfr_attr axis = TFR_SET_INT("axis", 2);
    tfr_value parts[70], joined;
    tfr_node_desc node = {.size = sizeof node,
                          .n_inputs = 70,
                          .n_outputs = 1,
                          .n_attrs = 1,
                          .op = "Concat",
                          .inputs = parts,
                          .attrs = &axis};
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    const tfr_shape shape = {3, {5, 7, 3}};
    tfr_tensor *in = random_floats(&shape, 3, -1, 1), *out[2] = {NULL, NULL};
    tfr_runtime *runtime = NULL;
    tfr_session *session = NULL;
    const float *one, *all;
    for (int i = 0; i < 70; i++)
        parts[i] = tfr_graph_output(graph, 0);
    REQUIRE_OK(tfr_graph_add_node(graph, &node, &joined, &err), &err);
    REQUIRE_OK(tfr_graph_add_output(graph, joined, NULL, &err), &err);
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    options.device = BACKEND;
    options.fallback = TFR_FALLBACK_ERROR;
    if (tfr_session_create(runtime, graph, &options, &session, &err) == TFR_OK) {
        REQUIRE_OK(tfr_session_run(session, &in, 1, out, 2, &err), &err);
        one = tfr_tensor_data(out[0]);
        all = tfr_tensor_data(out[1]);
        for (int k = 0; k < 35 * 70; k++)
            CHECK(memcmp(all + k * 3, one + k / 70 * 3, 3 * sizeof *one) == 0);
    }
    tfr_tensor_release(in);
    tfr_tensor_release(out[0]);
    tfr_tensor_release(out[1]);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(rows_run_alone)
{
    check("in x ? 7 65; out Softmax(x)");
    check("in x ? 7 65; const s 65; const b 65; out LayerNormalization(x,s,b)");
    check("in x ? 7 65; out Transpose{perm=0,2,1}(x)");
    check("in x ? 7 65; const w 5 7 3; out Concat{axis=2}(x,w,x)");
}

/* In a program the product applies it to its sums. */
TEST(an_activation_after_a_product_has_the_bits_that_it_has_alone)
{
    check_nodes("in x 64 300; const w 300 256; out Gelu(MatMul(x,w))", 2);
    check_nodes("in x 64 300; const w 300 256; out Sigmoid(MatMul(x,w))", 2);
    check_nodes("in x 64 300; const w 300 256; out Swish(MatMul(x,w))", 2);
    check_nodes("in x 64 300; const w 300 256; out Tanh(MatMul(x,w))", 2);
}

static const test_case cases[] = {
    CASE(functions_of_an_element_run_alone),
    CASE(functions_of_two_elements_run_alone),
    CASE(windows_run_alone),
    CASE(convolutions_in_groups_run_alone),
    CASE(convolutions_run_whose_outer_taps_lie_in_the_padding),
    CASE(parts_that_are_too_many_for_a_program_are_put_together),
    CASE(rows_run_alone),
    CASE(an_activation_after_a_product_has_the_bits_that_it_has_alone),
};
TEST_MAIN(cases)
