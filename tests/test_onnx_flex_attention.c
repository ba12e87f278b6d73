/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FlexAttention of ai.onnx.preview: its graphs become nodes of the graph around it. What it
 * computes is tests/onnx_newer.sh's.
 */
#include <tfrun/onnx.h>
#include <tfrun/tfrun.h>

#include "onnx_build.h"
#include "tfr_test.h"

static tfr_err err = TFR_ERR_INIT;
static const int64_t dims[4] = {1, 1, 2, 1};

/* scores_out = scores + what */
static pb modifier(const char *inputs, const char *what)
{
    pb g = {.n = 0};
    char operands[40];
    pb_text(&g, 2, "modifier");
    for (; *inputs; inputs++)
        add_value(&g, 11, inputs[0] == 's' ? "scores" : "other", TFR_DTYPE_F32, -1, NULL);
    snprintf(operands, sizeof operands, "scores %s", what);
    add_node(&g, node("Add", operands, "scores_out"));
    add_value(&g, 12, "scores_out", TFR_DTYPE_F32, -1, NULL);
    return g;
}

static void add_flex(pb *graph, const char *inputs, const char *output, const pb *score_mod)
{
    pb n = node("FlexAttention", inputs, output);
    pb_text(&n, 7, "ai.onnx.preview");
    add_attr(&n, attr_msg("score_mod", 6, 5, score_mod));
    add_node(graph, n);
}

static tfr_status parse(const pb *graph, tfr_graph **out)
{
    pb m = model(graph, 23), preview = {.n = 0};
    pb_text(&preview, 1, "ai.onnx.preview");
    pb_int(&preview, 2, 1);
    pb_msg(&m, 8, &preview);
    REQUIRE(!m.full);
    return tfr_onnx_parse(m.data, m.n, out, &err);
}

/* Scores are 0, so that b alone decides which of the rows of v, 10 and 20, counts. */
TEST(modifiers_of_two_nodes_have_names_of_their_own_and_see_values_outside)
{
    static const float data[2][2] = {{0, 0}, {10, 20}};
    const pb by_b = modifier("s", "b"), by_c = modifier("s", "c");
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_tensor *inputs[3] = {NULL}, *outputs[2] = {NULL};
    const tfr_shape shape = {4, {1, 1, 2, 1}}, bias = {1, {2}};
    tfr_runtime *runtime = NULL;
    tfr_session *session = NULL;
    tfr_graph *graph = NULL;
    pb g = {.n = 0};
    pb_text(&g, 2, "g");
    add_value(&g, 11, "q", TFR_DTYPE_F32, 4, dims);
    add_value(&g, 11, "v", TFR_DTYPE_F32, 4, dims);
    add_value(&g, 11, "b", TFR_DTYPE_F32, 1, dims + 2);
    add_node(&g, node("Neg", "b", "c"));
    add_flex(&g, "q q v", "first", &by_b);
    add_flex(&g, "q q v", "second", &by_c);
    add_value(&g, 12, "first", TFR_DTYPE_F32, 4, dims);
    add_value(&g, 12, "second", TFR_DTYPE_F32, 4, dims);
    REQUIRE_OK(parse(&g, &graph), &err);
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    options.device = "naive:0";
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    for (int i = 0; i < 3; i++) {
        REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, i < 2 ? &shape : &bias, &inputs[i], &err),
                   &err);
        memcpy(tfr_tensor_data(inputs[i]), i < 2 ? data[i] : (const float[]){0, 100},
               sizeof data[0]);
    }
    REQUIRE_OK(tfr_session_run(session, inputs, 3, outputs, 2, &err), &err);
    CHECK(((float *)tfr_tensor_data(outputs[0]))[0] == 20);
    CHECK(((float *)tfr_tensor_data(outputs[1]))[0] == 10);
    for (int i = 0; i < 3; i++)
        tfr_tensor_release(inputs[i]);
    tfr_tensor_release(outputs[0]);
    tfr_tensor_release(outputs[1]);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

static void check_refused(const pb *score_mod, const char *inputs, const char *text)
{
    tfr_graph *graph = NULL;
    pb g = {.n = 0};
    pb_text(&g, 2, "g");
    add_value(&g, 11, "q", TFR_DTYPE_F32, 4, dims);
    add_flex(&g, inputs, "y", score_mod);
    add_value(&g, 12, "y", TFR_DTYPE_F32, 4, dims);
    CHECK_STATUS(TFR_EMODEL, parse(&g, &graph), &err);
    CHECK_CONTAINS(text, err.text);
    tfr_graph_release(graph);
}

TEST(a_modifier_of_two_inputs_is_refused)
{
    const pb two = modifier("so", "other");
    check_refused(&two, "q q q", "attribute \"score_mod\": its graph has 2 inputs and 1 outputs");
}

TEST(a_call_without_v_is_refused)
{
    const pb one = modifier("s", "q");
    check_refused(&one, "q q", "it has 2 inputs and 1 outputs, want 3 and 1");
}

static const test_case cases[] = {
    CASE(modifiers_of_two_nodes_have_names_of_their_own_and_see_values_outside),
    CASE(a_modifier_of_two_inputs_is_refused),
    CASE(a_call_without_v_is_refused),
};
TEST_MAIN(cases)
