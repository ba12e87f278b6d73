/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every request for memory fails once, the n-th in the n-th round: the core answers with a status,
 * gives back all that it took (the sanitizer build sees leaks), and works again afterwards.
 */
#include <tfrun/tfrun.h>

#include "base/alloc.h"
#include "tfr_test.h"

static tfr_err err = TFR_ERR_INIT;

/* Runs scene with the n-th request failing, for all n, until a round gets by without that request.
 */
static void every_request_fails_once(tfr_status (*scene)(void *), void *user)
{
    tfr_status status = TFR_OK;
    uint64_t n = 0;
    do {
        uint64_t before = tfr__alloc_count();
        n++;
        tfr__alloc_fail_at(n);
        status = scene(user);
        tfr__alloc_fail_at(0);
        if (status != TFR_OK && status != TFR_ENOMEM)
            CHECK_STATUS(TFR_ENOMEM, status, &err);
        if (tfr__alloc_count() - before < n)
            break;
    } while (n < 100000);
    CHECK_STATUS(TFR_OK, scene(user), &err);
    printf("%llu requests failed once... ", (unsigned long long)n - 1);
}

/* v plus a constant at an odd address, as those of files may have. */
static tfr_status add_odd_constant(tfr_graph *graph, tfr_value *v)
{
    static const char bytes[1 + 4 * sizeof(float)];
    const tfr_shape four = {1, {4}};
    tfr_value in[] = {*v, TFR_VALUE_NONE};
    const tfr_node_desc node = {
        .size = sizeof node, .op = "Add", .inputs = in, .n_inputs = 2, .n_outputs = 1};
    tfr_tensor *t = NULL;
    tfr_status status = tfr_tensor_wrap_bytes(TFR_DTYPE_F32, &four, bytes + !((uintptr_t)bytes % 2),
                                              NULL, NULL, NULL, &t, &err);
    if (!status)
        status = tfr_graph_add_constant(graph, "odd", t, &in[1], &err);
    if (!status)
        status = tfr_graph_add_node(graph, &node, v, &err);
    tfr_tensor_release(t);
    return status;
}

static tfr_status build_graph(tfr_graph **out)
{
    const int64_t shape_data[] = {3, -1};
    tfr_shape two = {1, {2}};
    tfr_graph *graph = NULL;
    tfr_tensor *t = NULL;
    tfr_value x, c, v;
    tfr_node_desc node = {.size = sizeof node, .n_outputs = 1};
    tfr_status status = tfr_graph_create("scene", &graph, &err);
    if (!status)
        status = tfr_tensor_create(TFR_DTYPE_I64, &two, &t, &err);
    if (!status) {
        memcpy(tfr_tensor_data(t), shape_data, sizeof shape_data);
        status = tfr_graph_add_input(graph, "x", NULL, &x, &err);
    }
    if (!status)
        status = tfr_graph_add_constant(graph, "shape", t, &c, &err);
    if (!status) {
        node.op = "Relu";
        node.inputs = &x;
        node.n_inputs = 1;
        status = tfr_graph_add_node(graph, &node, &v, &err);
    }
    if (!status) {
        tfr_value in[] = {v, c};
        const tfr_attr attrs[] = {TFR_SET_INT("allowzero", 0)};
        node.op = "Reshape";
        node.inputs = in;
        node.n_inputs = 2;
        node.attrs = attrs;
        node.n_attrs = 1;
        status = tfr_graph_add_node(graph, &node, &v, &err);
    }
    if (!status) {
        node.op = "Softmax";
        node.inputs = &v;
        node.n_inputs = 1;
        node.n_attrs = 0;
        status = tfr_graph_add_node(graph, &node, &v, &err);
    }
    if (!status)
        status = add_odd_constant(graph, &v);
    if (!status)
        status = tfr_graph_add_output(graph, v, "y", &err);
    tfr_tensor_release(t);
    if (status)
        tfr_graph_release(graph);
    else
        *out = graph;
    return status;
}

static tfr_status graph_scene(void *user)
{
    tfr_graph *graph = NULL;
    tfr_status status = build_graph(&graph);
    (void)user;
    tfr_graph_release(graph);
    return status;
}

/* The outputs have the shape of the input: a copy of it serves as one. */
static tfr_status run_scene(tfr_runtime *runtime, bool bound)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_shape shape = {2, {3, 4}};
    tfr_session *session = NULL;
    tfr_binding *binding = NULL;
    tfr_graph *graph = NULL;
    tfr_tensor *in = NULL, *out = NULL;
    tfr_status status = build_graph(&graph);
    options.device = "naive:0";
    if (!status)
        status = tfr_session_create(runtime, graph, &options, &session, &err);
    if (!status)
        status = tfr_tensor_create(TFR_DTYPE_F32, &shape, &in, &err);
    if (!status && bound)
        status = tfr_tensor_copy(in, &out, &err);
    if (!status && bound)
        status = tfr_binding_create(session, &in, 1, &out, 1, &binding, &err);
    if (!status)
        status = bound ? tfr_binding_run(binding, &err)
                       : tfr_session_run(session, &in, 1, &out, 1, &err);
    tfr_binding_destroy(binding);
    tfr_tensor_release(out);
    tfr_tensor_release(in);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    return status;
}

static tfr_status session_scene(void *user)
{
    return run_scene(user, false);
}

static tfr_status binding_scene(void *user)
{
    return run_scene(user, true);
}

static tfr_status runtime_scene(void *user)
{
    tfr_runtime *runtime = NULL;
    tfr_status status = tfr_runtime_create(NULL, &runtime, &err);
    (void)user;
    tfr_runtime_release(runtime);
    return status;
}

static tfr_status tensor_scene(void *user)
{
    tfr_shape shape = {1, {3}};
    tfr_tensor *t = NULL, *copy = NULL, *sequence = NULL;
    tfr_status status = tfr_tensor_create(TFR_DTYPE_STRING, &shape, &t, &err);
    (void)user;
    for (int i = 0; !status && i < 3; i++)
        status = tfr_tensor_set_string(t, i, "text", 4, &err);
    if (!status)
        status = tfr_sequence_create(TFR_DTYPE_STRING, &t, 1, &sequence, &err);
    if (!status)
        status = tfr_tensor_copy(sequence, &copy, &err);
    tfr_tensor_release(copy);
    tfr_tensor_release(sequence);
    tfr_tensor_release(t);
    return status;
}

TEST(tensors_survive_each_failed_request)
{
    every_request_fails_once(tensor_scene, NULL);
}

TEST(graphs_survive_each_failed_request)
{
    every_request_fails_once(graph_scene, NULL);
}

TEST(runtimes_survive_each_failed_request)
{
    every_request_fails_once(runtime_scene, NULL);
}

static void every_request_of_a_run_fails_once(tfr_status (*scene)(void *))
{
    tfr_runtime *runtime = NULL;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    every_request_fails_once(scene, runtime);
    tfr_runtime_release(runtime);
}

TEST(sessions_survive_each_failed_request)
{
    every_request_of_a_run_fails_once(session_scene);
}

TEST(bindings_survive_each_failed_request)
{
    every_request_of_a_run_fails_once(binding_scene);
}

static const test_case cases[] = {
    CASE(tensors_survive_each_failed_request),  CASE(graphs_survive_each_failed_request),
    CASE(runtimes_survive_each_failed_request), CASE(sessions_survive_each_failed_request),
    CASE(bindings_survive_each_failed_request),
};
TEST_MAIN(cases)
