/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs with a time that they may take, on devices that do not end: the fake accelerator logs an
 * error if anything is freed, destroyed or closed under work that is still queued.
 */
#include <time.h>

#include "graph_text.h"
#include "session_kit.h"

#include <tfrun/op.h>

#define SHORT_NS UINT64_C(300000000) /* enough for what does not hang */
#define LONG_NS  UINT64_C(60000000000)

static char warnings[512];

static void note_all(void *user, tfr_log_level level, const char *who, const char *text)
{
    note_breach(user, level, who, text);
    if (level == TFR_LOG_WARNING && strcmp(who, "fakeacc") == 0)
        snprintf(warnings + strlen(warnings), sizeof warnings - strlen(warnings), "%s\n", text);
}

static const char *names_launch = "1"; /* the accelerator's option */

static uint64_t op_timeout_ns; /* of the next runtime */

static tfr_runtime *hanging_runtime(const char *abort, const char *ms)
{
    const tfr_option given[] = {{"fakeacc.hang_after", "1"},
                                {"fakeacc.abort", abort},
                                {"fakeacc.hang_ms", ms},
                                {"fakeacc.names_launch", names_launch}};
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    char path[1024];
    const char *files[] = {path}, *build = getenv("TFR_BUILDDIR");
    tfr_runtime *runtime = NULL;
    snprintf(path, sizeof path, "%s/tests/fakeacc/.libs/fakeacc.so", build ? build : ".");
    options.plugin_files = files;
    options.n_plugin_files = 1;
    options.options = given;
    options.n_options = 4;
    options.log = note_all;
    options.op_timeout_ns = op_timeout_ns;
    breaches[0] = warnings[0] = '\0';
    REQUIRE_OK(tfr_runtime_create(&options, &runtime, &err), &err);
    return runtime;
}

/* Three launches, of which the second hangs. */
static tfr_graph *three_nodes(void)
{
    tfr_value x, c, v;
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *t = floats(2, two_by_three, six);
    REQUIRE_OK(tfr_graph_add_constant(graph, "c", t, &c, &err), &err);
    tfr_tensor_release(t);
    v = unary(graph, "Relu", x);
    v = binary(graph, "Mul", v, c);
    output(graph, binary(graph, "Add", v, x));
    return graph;
}

static tfr_session *timed_session(tfr_runtime *runtime, tfr_graph *graph, const char *device,
                                  uint64_t timeout_ns)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    options.device = device;
    options.passes = "none";
    options.fallback = TFR_FALLBACK_ERROR;
    options.no_programs = 1;
    options.timeout_ns = timeout_ns;
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    return session;
}

static tfr_session *hanging_session(const char *abort, const char *ms)
{
    tfr_runtime *runtime = hanging_runtime(abort, ms);
    tfr_graph *graph = three_nodes();
    tfr_session *session = timed_session(runtime, graph, "NPU:0", SHORT_NS);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return session;
}

static tfr_status run_once(tfr_session *session)
{
    tfr_tensor *in = floats(2, two_by_three, six), *out = NULL;
    const tfr_status status = tfr_session_run(session, &in, 1, &out, 1, &err);
    tfr_tensor_release(out);
    tfr_tensor_release(in);
    return status;
}

static void check_told(void)
{
    CHECK_CONTAINS("was to take 0.3 s at most: after ", err.text);
    CHECK_CONTAINS("s it still waits for node \"", err.text);
    CHECK_CONTAINS("\" (Mul) on NPU:0 (fakeacc:0)", err.text);
}

TEST(a_hung_launch_is_named_after_its_time_and_given_up)
{
    tfr_session *session = hanging_session("1", "0");
    CHECK_STATUS(TFR_ETIMEOUT, run_once(session), &err);
    check_told();
    /* It was given up, so the queue is another one and the device works. */
    CHECK_STATUS(TFR_OK, run_once(session), &err);
    tfr_session_destroy(session);
    CHECK_STR("", breaches);
    CHECK_STR("", warnings);
}

TEST(a_wait_that_does_not_say_for_what_names_the_last_launch)
{
    names_launch = "0";
    tfr_session *session = hanging_session("1", "0");
    names_launch = "1";
    CHECK_STATUS(TFR_ETIMEOUT, run_once(session), &err);
    CHECK_CONTAINS("s it still waits for what ends with node \"", err.text);
    CHECK_CONTAINS("\" (Add) on NPU:0 (fakeacc:0)", err.text);
    tfr_session_destroy(session);
    CHECK_STR("", breaches);
}

TEST(work_that_is_not_given_up_keeps_its_memory_and_fails_later_runs)
{
    tfr_session *session = hanging_session("0", "0");
    CHECK_STATUS(TFR_ETIMEOUT, run_once(session), &err);
    check_told();
    CHECK_STATUS(TFR_EDEVICE, run_once(session), &err);
    CHECK_CONTAINS("NPU:0 (fakeacc:0) still has not ended work of a run that timed out", err.text);
    CHECK_STR("", warnings);
    tfr_session_destroy(session); /* and the runtime: does not hang, and frees nothing in use */
    CHECK_CONTAINS("the device stays open", warnings);
    CHECK_STR("", breaches);
}

TEST(inputs_of_work_that_is_not_given_up_stay)
{
    tfr_session *session = hanging_session("0", "0");
    tfr_tensor *in = floats(2, two_by_three, six), *out = NULL;
    CHECK_STATUS(TFR_ETIMEOUT, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK(out == NULL);
    ((float *)tfr_tensor_data(in))[0] = 1; /* as it was */
    tfr_tensor_release(in);
    tfr_session_destroy(session);
    CHECK_STR("", breaches);
}

TEST(work_that_ends_late_gives_all_back)
{
    tfr_session *session = hanging_session("0", "2000");
    tfr_status status;
    CHECK_STATUS(TFR_ETIMEOUT, run_once(session), &err);
    do
        status = run_once(session);
    while (status == TFR_EDEVICE);
    CHECK_STATUS(TFR_OK, status, &err);
    tfr_session_destroy(session);
    CHECK_STR("", breaches);
    CHECK_STR("", warnings);
}

TEST(work_that_ends_a_little_late_keeps_its_queue)
{
    tfr_session *session = hanging_session("0", "500");
    CHECK_STATUS(TFR_ETIMEOUT, run_once(session), &err);
    CHECK_STATUS(TFR_OK, run_once(session), &err);
    tfr_session_destroy(session);
    CHECK_STR("", breaches);
}

/* A variable that each run adds its input to. */
static tfr_session *counting_session(tfr_runtime *runtime)
{
    tfr_value x, v, sum;
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *t = floats(2, two_by_three, six);
    REQUIRE_OK(tfr_graph_add_variable(graph, "sum", t, &v, &err), &err);
    tfr_tensor_release(t);
    sum = binary(graph, "Add", v, x);
    REQUIRE_OK(tfr_graph_set_update(graph, v, sum, &err), &err);
    output(graph, unary(graph, "Relu", sum));
    tfr_session *session = timed_session(runtime, graph, "NPU:0", SHORT_NS);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return session;
}

TEST(a_variable_is_read_though_the_time_of_the_last_run_is_over)
{
    const struct timespec late = {.tv_nsec = 400000000};
    tfr_session *session = counting_session(accelerator_runtime(NULL, 0));
    tfr_tensor *t = NULL;
    CHECK_STATUS(TFR_OK, run_once(session), &err);
    nanosleep(&late, NULL);
    REQUIRE_OK(tfr_session_get_variable(session, "sum", &t, &err), &err);
    CHECK_NEAR(2 * six[5], ((float *)tfr_tensor_data(t))[5], 0);
    tfr_tensor_release(t);
    tfr_session_destroy(session);
    CHECK_STR("", breaches);
}

TEST(variables_of_work_that_is_not_given_up_stay)
{
    tfr_session *session = counting_session(hanging_runtime("0", "0"));
    tfr_tensor *t = NULL;
    CHECK_STATUS(TFR_ETIMEOUT, run_once(session), &err);
    CHECK(tfr_session_get_variable(session, "sum", &t, &err) != TFR_OK);
    tfr_session_destroy(session);
    CHECK_STR("", breaches);
}

TEST(a_binding_has_the_time_of_its_session)
{
    static const char *const aborts[] = {"1", "0"};
    for (int i = 0; i < 2; i++) {
        tfr_session *session = hanging_session(aborts[i], "0");
        tfr_tensor *in = floats(2, two_by_three, six), *out = floats(2, two_by_three, six);
        tfr_binding *binding = NULL;
        REQUIRE_OK(tfr_binding_create(session, &in, 1, &out, 1, &binding, &err), &err);
        CHECK_STATUS(TFR_ETIMEOUT, tfr_binding_run(binding, &err), &err);
        check_told();
        CHECK_STATUS(i ? TFR_EDEVICE : TFR_OK, tfr_binding_run(binding, &err), &err);
        tfr_binding_destroy(binding);
        tfr_tensor_release(in);
        tfr_tensor_release(out);
        tfr_session_destroy(session);
        CHECK_STR("", breaches);
    }
}

TEST(a_traced_run_has_its_time_too)
{
    static const char *const aborts[] = {"1", "0"};
    for (int i = 0; i < 2; i++) {
        tfr_session *session = hanging_session(aborts[i], "0");
        REQUIRE_OK(tfr_trace_start(session, 0, &err), &err);
        CHECK_STATUS(TFR_ETIMEOUT, run_once(session), &err);
        check_told();
        tfr_session_destroy(session);
        CHECK_STR("", breaches);
    }
}

/* On the calling thread the clock is looked at between nodes. */
TEST(a_run_on_the_host_ends_after_its_time)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = three_nodes();
    tfr_session *session = timed_session(runtime, graph, "naive", 1);
    CHECK_STATUS(TFR_ETIMEOUT, run_once(session), &err);
    CHECK_CONTAINS("was to take 1e-09 s at most", err.text);
    tfr_session_destroy(session);
    session = timed_session(runtime, graph, "naive", LONG_NS);
    CHECK_STATUS(TFR_OK, run_once(session), &err);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(a_loop_on_the_host_ends_after_its_time)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = growing_loop(1000000, "Relu");
    const int64_t n = 4;
    tfr_tensor *in = new_tensor(TFR_DTYPE_F32, 1, &n, NULL), *out = NULL;
    tfr_session *session = timed_session(runtime, graph, NULL, SHORT_NS);
    memset(tfr_tensor_data(in), 0, tfr_tensor_bytes(in));
    CHECK_STATUS(TFR_ETIMEOUT, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_CONTAINS("was to take 0.3 s", err.text);
    end_session(runtime, graph, session, in);
}

static tfr_status call_relu(tfr_runtime *runtime)
{
    const tfr_node_desc node = {.size = sizeof node, .op = "Relu", .n_inputs = 1, .n_outputs = 1};
    tfr_tensor *in = floats(2, two_by_three, six), *out = NULL;
    const tfr_status status = tfr_op_run(runtime, "NPU:0", &node, &in, 1, &out, 1, &err);
    tfr_tensor_release(out);
    tfr_tensor_release(in);
    return status;
}

/* Of a runtime whose second launch hangs. */
static tfr_runtime *called_runtime(const char *abort)
{
    op_timeout_ns = SHORT_NS;
    tfr_runtime *runtime = hanging_runtime(abort, "0");
    op_timeout_ns = 0;
    CHECK_OK(call_relu(runtime), &err);
    CHECK_STATUS(TFR_ETIMEOUT, call_relu(runtime), &err);
    CHECK_CONTAINS("was to take 0.3 s at most: after ", err.text);
    CHECK_CONTAINS("(Relu) on NPU:0 (fakeacc:0)", err.text);
    return runtime;
}

TEST(a_call_of_an_op_that_hangs_ends_after_its_time)
{
    tfr_runtime *runtime = called_runtime("1");
    CHECK_OK(call_relu(runtime), &err);
    tfr_runtime_release(runtime);
    CHECK_STR("", breaches);
    CHECK_STR("", warnings);
}

TEST(calls_like_one_that_is_not_given_up_fail_until_it_ends)
{
    tfr_runtime *runtime = called_runtime("0");
    CHECK_STATUS(TFR_EDEVICE, call_relu(runtime), &err);
    tfr_runtime_release(runtime);
    CHECK_CONTAINS("the device stays open", warnings);
    CHECK_STR("", breaches);
}

TEST(a_device_in_time_is_left_alone)
{
    tfr_runtime *runtime = accelerator_runtime(NULL, 0);
    tfr_graph *graph = three_nodes();
    tfr_session *session = timed_session(runtime, graph, "NPU:0", LONG_NS);
    for (int i = 0; i < 6; i++)
        CHECK_STATUS(TFR_OK, run_once(session), &err);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    CHECK_STR("", breaches);
}

static const test_case cases[] = {
    CASE(a_hung_launch_is_named_after_its_time_and_given_up),
    CASE(a_wait_that_does_not_say_for_what_names_the_last_launch),
    CASE(work_that_is_not_given_up_keeps_its_memory_and_fails_later_runs),
    CASE(inputs_of_work_that_is_not_given_up_stay),
    CASE(work_that_ends_late_gives_all_back),
    CASE(work_that_ends_a_little_late_keeps_its_queue),
    CASE(a_variable_is_read_though_the_time_of_the_last_run_is_over),
    CASE(variables_of_work_that_is_not_given_up_stay),
    CASE(a_binding_has_the_time_of_its_session),
    CASE(a_traced_run_has_its_time_too),
    CASE(a_run_on_the_host_ends_after_its_time),
    CASE(a_loop_on_the_host_ends_after_its_time),
    CASE(a_call_of_an_op_that_hangs_ends_after_its_time),
    CASE(calls_like_one_that_is_not_given_up_fail_until_it_ends),
    CASE(a_device_in_time_is_left_alone),
};
TEST_MAIN(cases)
