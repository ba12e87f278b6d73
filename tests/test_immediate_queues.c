/* SPDX-License-Identifier: Apache-2.0 */
/* Immediate calls (core/run/immediate.c) on a device with few queues (core/device/stream_rest.c).
 */
#include "session_kit.h"

#include <tfrun/op.h>

static tfr_runtime *runtime_with_queues(const char *limit)
{
    const tfr_option given[] = {{"fakeacc.queue_limit", limit}, {"fakeacc.delay_us", "20"}};
    return accelerator_runtime(given, 2);
}

static void end(tfr_runtime *runtime)
{
    tfr_runtime_release(runtime);
    CHECK_STR("", breaches);
}

/* op of [2, 2] tensors x, and x again if it takes two. */
static float first_of(tfr_runtime *runtime, const char *op, uint32_t n_inputs, float x)
{
    const tfr_shape shape = {2, {2, 2}};
    const tfr_node_desc node = {
        .size = sizeof node, .op = op, .n_inputs = n_inputs, .n_outputs = 1};
    tfr_tensor *in = NULL, *out = NULL;
    tfr_tensor *inputs[2];
    float y;
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &shape, &in, &err), &err);
    for (int i = 0; i < 4; i++)
        ((float *)tfr_tensor_data(in))[i] = x;
    inputs[0] = inputs[1] = in;
    REQUIRE_OK(tfr_op_run(runtime, "NPU:0", &node, inputs, n_inputs, &out, 1, &err), &err);
    y = *(const float *)tfr_tensor_data(out);
    tfr_tensor_release(out);
    tfr_tensor_release(in);
    return y;
}

TEST(many_different_calls_get_by_with_one_queue)
{
    tfr_runtime *runtime = runtime_with_queues("1");
    for (int round = 0; round < 3; round++) {
        CHECK_NEAR(6, first_of(runtime, "Add", 2, 3), 0);
        CHECK_NEAR(9, first_of(runtime, "Mul", 2, 3), 0);
        CHECK_NEAR(3, first_of(runtime, "Relu", 1, 3), 0);
        CHECK_NEAR(18, first_of(runtime, "MatMul", 2, 3), 0);
    }
    end(runtime);
}

TEST(a_session_keeps_its_queue_beside_immediate_calls)
{
    tfr_runtime *runtime = runtime_with_queues("2");
    const tfr_shape shape = {1, {1}};
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_node_desc node = {.size = sizeof node, .op = "Relu", .n_inputs = 1, .n_outputs = 1};
    tfr_graph *graph = NULL;
    tfr_session *session = NULL;
    tfr_tensor *x = NULL;
    tfr_value in, out;
    graph = new_graph(1, &in);
    node.inputs = &in;
    REQUIRE_OK(tfr_graph_add_node(graph, &node, &out, &err), &err);
    REQUIRE_OK(tfr_graph_add_output(graph, out, "y", &err), &err);
    options.device = "NPU:0";
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &shape, &x, &err), &err);
    for (int round = 0; round < 3; round++) {
        tfr_tensor *y = NULL;
        *(float *)tfr_tensor_data(x) = (float)round;
        REQUIRE_OK(tfr_session_run(session, &x, 1, &y, 1, &err), &err);
        CHECK_NEAR(round, *(const float *)tfr_tensor_data(y), 0);
        tfr_tensor_release(y);
        CHECK_NEAR(6, first_of(runtime, "Add", 2, 3), 0);
        CHECK_NEAR(9, first_of(runtime, "Mul", 2, 3), 0);
    }
    tfr_tensor_release(x);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    end(runtime);
}

static const test_case cases[] = {
    CASE(many_different_calls_get_by_with_one_queue),
    CASE(a_session_keeps_its_queue_beside_immediate_calls),
};
TEST_MAIN(cases)
