/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's training operator Gradient: what it gives, and how a file can misuse it. */
#include <tfrun/onnx.h>
#include <tfrun/tfrun.h>

#include "onnx_build.h"
#include "tfr_test.h"

static tfr_err err = TFR_ERR_INIT;
static const int64_t two[1] = {2};

/* A graph with inputs a and b, float32[2], and c = a * b. */
static pb start(void)
{
    pb g = {.n = 0};
    pb_text(&g, 2, "g");
    add_value(&g, 11, "a", TFR_DTYPE_F32, 1, two);
    add_value(&g, 11, "b", TFR_DTYPE_F32, 1, two);
    add_node(&g, node("Mul", "a b", "c"));
    return g;
}

static void add_gradient(pb *graph, const char *inputs, const char *outputs, const char *xs,
                         const char *zs, const char *y)
{
    pb n = node("Gradient", inputs, outputs);
    pb_text(&n, 7, "ai.onnx.preview.training");
    add_attr(&n, attr_texts("xs", xs));
    if (zs)
        add_attr(&n, attr_texts("zs", zs));
    add_attr(&n, attr_text("y", y));
    add_node(graph, n);
}

static tfr_status parse(const pb *graph, tfr_graph **out)
{
    pb m = model(graph, 17), training = {.n = 0};
    pb_text(&training, 1, "ai.onnx.preview.training");
    pb_int(&training, 2, 1);
    pb_msg(&m, 8, &training);
    REQUIRE(!m.full);
    return tfr_onnx_parse(m.data, m.n, out, &err);
}

/* Runs with a = {2, 3} and b = {5, 7}; all outputs have two floats. */
static void run(const pb *g, float (*out)[2], uint32_t n)
{
    static const float data[2][2] = {{2, 3}, {5, 7}};
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_tensor *inputs[2] = {NULL}, *outputs[4] = {NULL};
    tfr_runtime *runtime = NULL;
    tfr_session *session = NULL;
    tfr_graph *graph = NULL;
    tfr_shape shape = {1, {2}};
    REQUIRE_OK(parse(g, &graph), &err);
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    options.device = "naive:0";
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    for (int i = 0; i < 2; i++) {
        REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &shape, &inputs[i], &err), &err);
        memcpy(tfr_tensor_data(inputs[i]), data[i], sizeof data[i]);
    }
    REQUIRE_OK(tfr_session_run(session, inputs, 2, outputs, n, &err), &err);
    for (uint32_t i = 0; i < n; i++) {
        memcpy(out[i], tfr_tensor_data(outputs[i]), sizeof out[i]);
        tfr_tensor_release(outputs[i]);
    }
    tfr_tensor_release(inputs[0]);
    tfr_tensor_release(inputs[1]);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

static void add_outputs(pb *g)
{
    add_value(g, 12, "da", TFR_DTYPE_F32, 1, two);
    add_value(g, 12, "db", TFR_DTYPE_F32, 1, two);
}

TEST(a_gradient_at_the_inputs)
{
    pb g = start();
    float out[2][2];
    add_gradient(&g, "a b", "da db", "a b", NULL, "c");
    add_outputs(&g);
    run(&g, out, 2);
    CHECK(out[0][0] == 5 && out[0][1] == 7);
    CHECK(out[1][0] == 2 && out[1][1] == 3);
}

TEST(zs_are_only_what_y_depends_on_besides)
{
    pb g = start();
    float out[1][2];
    add_gradient(&g, "a b", "da", "a", "b", "c");
    add_value(&g, 12, "da", TFR_DTYPE_F32, 1, two);
    run(&g, out, 1);
    CHECK(out[0][0] == 5 && out[0][1] == 7);
}

TEST(a_gradient_at_another_point)
{
    pb g = start();
    float out[2][2];
    add_node(&g, node("Neg", "a", "p"));
    add_gradient(&g, "p a", "da db", "a b", NULL, "c");
    add_outputs(&g);
    run(&g, out, 2);
    CHECK(out[0][0] == 2 && out[0][1] == 3);
    CHECK(out[1][0] == -2 && out[1][1] == -3);
}

TEST(another_point_reaches_through_all_nodes_between)
{
    pb g = start();
    float out[2][2];
    add_node(&g, node("Neg", "a", "p"));
    add_node(&g, node("Mul", "c a", "d")); /* a a b, at (-a, a) */
    add_gradient(&g, "p a", "da db", "a b", NULL, "d");
    add_outputs(&g);
    run(&g, out, 2);
    CHECK(out[0][0] == -8 && out[0][1] == -18);
    CHECK(out[1][0] == 4 && out[1][1] == 9);
}

TEST(a_point_of_twice_the_same_value_keeps_its_parts_apart)
{
    pb g = start();
    float out[2][2];
    add_gradient(&g, "b b", "da db", "a b", NULL, "c");
    add_outputs(&g);
    run(&g, out, 2);
    CHECK(out[0][0] == 5 && out[0][1] == 7);
    CHECK(out[1][0] == 5 && out[1][1] == 7);
}

TEST(a_gradient_of_a_gradient)
{
    pb g = start();
    float out[1][2];
    add_node(&g, node("Mul", "c a", "d")); /* a a b */
    add_gradient(&g, "a", "d1", "a", NULL, "d");
    add_gradient(&g, "a", "d2", "a", NULL, "d1");
    add_value(&g, 12, "d2", TFR_DTYPE_F32, 1, two);
    run(&g, out, 1);
    CHECK(out[0][0] == 10 && out[0][1] == 14);
}

static void check_refused(const pb *g, tfr_status status, const char *text)
{
    tfr_graph *graph = NULL;
    CHECK_STATUS(status, parse(g, &graph), &err);
    CHECK_CONTAINS(text, err.text);
    tfr_graph_release(graph);
}

TEST(names_that_are_not_there_are_refused)
{
    pb g = start(), h = start();
    add_gradient(&g, "a b", "da db", "a x", NULL, "c");
    check_refused(&g, TFR_EMODEL, "value \"x\" is not made by any node");
    add_gradient(&h, "a b", "da db", "a b", NULL, "da");
    check_refused(&h, TFR_EMODEL, "value \"da\" is used before it is made");
}

TEST(counts_that_do_not_fit_are_refused)
{
    pb g = start(), h = start(), k = start();
    add_gradient(&g, "a", "da", "a b", NULL, "c");
    check_refused(&g, TFR_EMODEL, "1 inputs and 1 outputs, but attribute \"xs\" names 2 values");
    add_gradient(&h, "a b", "da db", "a", "b", "c");
    check_refused(&h, TFR_EMODEL, "names 1 values and \"zs\" 1");
    add_gradient(&k, "a b", "da", "", "a b", "c");
    check_refused(&k, TFR_EMODEL, "no attribute \"xs\"");
}

TEST(an_op_without_a_rule_is_named)
{
    pb g = start();
    add_node(&g, node("SequenceConstruct", "c", "d"));
    add_gradient(&g, "a b", "da db", "a b", NULL, "d");
    check_refused(&g, TFR_EUNSUPPORTED, "(SequenceConstruct) cannot be differentiated");
}

TEST(gradients_of_gradients_end_at_a_limit)
{
    pb g = start();
    char from[16] = "s", to[16];
    add_node(&g, node("Sigmoid", "c", "s"));
    for (int i = 0; i < 40; i++) {
        snprintf(to, sizeof to, "d%d", i);
        add_gradient(&g, "a", to, "a", NULL, from);
        snprintf(from, sizeof from, "%s", to);
    }
    check_refused(&g, TFR_EMODEL, "the limit is 1048576");
}

static const test_case cases[] = {
    CASE(a_gradient_at_the_inputs),
    CASE(zs_are_only_what_y_depends_on_besides),
    CASE(a_gradient_at_another_point),
    CASE(another_point_reaches_through_all_nodes_between),
    CASE(a_point_of_twice_the_same_value_keeps_its_parts_apart),
    CASE(a_gradient_of_a_gradient),
    CASE(names_that_are_not_there_are_refused),
    CASE(counts_that_do_not_fit_are_refused),
    CASE(an_op_without_a_rule_is_named),
    CASE(gradients_of_gradients_end_at_a_limit),
};
TEST_MAIN_OF_ONE_THREAD(cases)
