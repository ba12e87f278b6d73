/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that fails on a queue of the fake accelerator is told by whatever is called later. The error
 * names the node whose launch it was, where the plugin knows it.
 */
#include "session_kit.h"

static tfr_runtime *failing_runtime(const char *key, const char *value)
{
    const tfr_option given[] = {{"fakeacc.fail_after", "1"}, {key, value}};
    return accelerator_runtime(given, 2);
}

/* Three launches, of which the second fails. */
static tfr_graph *three_nodes(void)
{
    static const char *const ops[] = {"Relu", "Mul", "Add"};
    tfr_value x, v;
    tfr_graph *graph = new_graph(1, &x);
    v = x;
    for (uint32_t i = 0; i < 3; i++) {
        const tfr_value in[] = {v, x};
        const char *const names[] = {"first", "second", "third"};
        tfr_node_desc node = {.size = sizeof node,
                              .op = ops[i],
                              .name = names[i],
                              .inputs = in,
                              .n_inputs = i ? 2 : 1,
                              .n_outputs = 1};
        REQUIRE_OK(tfr_graph_add_node(graph, &node, &v, &err), &err);
    }
    output(graph, v);
    return graph;
}

static tfr_session *failing_session(const char *key, const char *value)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_runtime *runtime = failing_runtime(key, value);
    tfr_graph *graph = three_nodes();
    tfr_session *session = NULL;
    options.device = "NPU:0";
    options.passes = "none";
    options.fallback = TFR_FALLBACK_ERROR;
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return session;
}

static void run_once(tfr_session *session, tfr_status expected)
{
    tfr_tensor *in = floats(2, two_by_three, six), *out = NULL;
    CHECK_STATUS(expected, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    tfr_tensor_release(out);
    tfr_tensor_release(in);
}

#define NAMED "node \"second\" (Mul) on fakeacc:0: launch 1 failed, as the option asked"

TEST(an_error_that_a_wait_tells_names_the_node_that_failed)
{
    tfr_session *session = failing_session("fakeacc.delay_us", "1000");
    run_once(session, TFR_EDEVICE);
    CHECK_STR(NAMED, err.text);
    CHECK_STR("", breaches);
    /* It is the run's failure and not the kernel's: nothing is given up for it. */
    run_once(session, TFR_OK);
    tfr_session_destroy(session);
}

TEST(an_error_that_a_later_launch_tells_names_the_node_that_failed)
{
    tfr_session *session = failing_session("fakeacc.sticky", "1");
    run_once(session, TFR_EDEVICE);
    CHECK_STR(NAMED, err.text);
    CHECK_STR("", breaches);
    run_once(session, TFR_OK);
    tfr_session_destroy(session);
}

TEST(a_late_error_keeps_the_number_of_the_driver)
{
    tfr_session *session = failing_session("fakeacc.delay_us", "1000");
    run_once(session, TFR_EDEVICE);
    CHECK_INT(-700, err.native);
    CHECK(err.launch != 0);
    tfr_session_destroy(session);
}

TEST(an_error_without_its_launch_names_the_backend)
{
    tfr_session *session = failing_session("fakeacc.names_launch", "0");
    run_once(session, TFR_EDEVICE);
    CHECK_STR("fakeacc:0: launch 1 failed, as the option asked", err.text);
    CHECK_INT(-700, err.native);
    CHECK_UINT(0, err.launch);
    run_once(session, TFR_OK);
    tfr_session_destroy(session);
}

TEST(a_late_error_of_a_program_names_the_program)
{
    tfr_session *session = failing_session("fakeacc.programs", "1");
    run_once(session, TFR_EDEVICE);
    CHECK_STR("program of 3 nodes from \"first\" on fakeacc:0: launch 1 failed, as the option "
              "asked",
              err.text);
    run_once(session, TFR_OK);
    CHECK_UINT(1, stats_of(session).n_programs);
    tfr_session_destroy(session);
}

TEST(a_late_error_of_a_traced_run_names_the_node_that_failed)
{
    tfr_session *session = failing_session("fakeacc.delay_us", "1000");
    REQUIRE_OK(tfr_trace_start(session, 0, &err), &err);
    run_once(session, TFR_EDEVICE);
    CHECK_STR(NAMED, err.text);
    run_once(session, TFR_OK);
    tfr_trace_stop(session);
    tfr_session_destroy(session);
}

TEST(a_late_error_of_a_binding_names_the_node_that_failed)
{
    tfr_session *session = failing_session("fakeacc.delay_us", "1000");
    tfr_tensor *in = floats(2, two_by_three, six), *out = floats(2, two_by_three, six);
    tfr_binding *binding = NULL;
    REQUIRE_OK(tfr_binding_create(session, &in, 1, &out, 1, &binding, &err), &err);
    CHECK_STATUS(TFR_EDEVICE, tfr_binding_run(binding, &err), &err);
    CHECK_STR(NAMED, err.text);
    CHECK_INT(-700, err.native);
    CHECK_OK(tfr_binding_run(binding, &err), &err);
    CHECK_STR("", breaches);
    tfr_binding_destroy(binding);
    tfr_tensor_release(in);
    tfr_tensor_release(out);
    tfr_session_destroy(session);
}

/* A caller of a header that had no such field. */
TEST(an_older_error_is_not_written_behind_its_end)
{
    tfr_session *session = failing_session("fakeacc.delay_us", "1000");
    tfr_tensor *in = floats(2, two_by_three, six), *out = NULL;
    tfr_err old = {.size = offsetof(tfr_err, launch), .launch = 4711};
    CHECK(tfr_session_run(session, &in, 1, &out, 1, &old) == TFR_EDEVICE);
    CHECK_CONTAINS("fakeacc:0", old.text);
    CHECK_UINT(4711, old.launch);
    tfr_tensor_release(in);
    tfr_session_destroy(session);
}

static const test_case cases[] = {
    CASE(an_error_that_a_wait_tells_names_the_node_that_failed),
    CASE(an_error_that_a_later_launch_tells_names_the_node_that_failed),
    CASE(a_late_error_keeps_the_number_of_the_driver),
    CASE(an_error_without_its_launch_names_the_backend),
    CASE(a_late_error_of_a_program_names_the_program),
    CASE(a_late_error_of_a_traced_run_names_the_node_that_failed),
    CASE(a_late_error_of_a_binding_names_the_node_that_failed),
    CASE(an_older_error_is_not_written_behind_its_end),
};
TEST_MAIN(cases)
