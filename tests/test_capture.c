/* SPDX-License-Identifier: Apache-2.0 */
/* Launches that the fake accelerator captures once and replays: the same numbers, what is captured
 * and what not for which reason, and how a replay fails. */
#include "training_kit.h"
#include <tfrun/trace.h>

static uint32_t n_captures, n_warnings;

static void count_captures(const char *text)
{
    n_captures += strstr(text, "pieces of work captured") != NULL;
    n_warnings += strstr(text, "are not captured, each run") != NULL;
}

/* A session on the accelerator, whose captures are counted; options are the plugin's. */
static tfr_session *capturing(tfr_graph *graph, const tfr_option *given, uint32_t n,
                              const tfr_session_options *with)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    tfr_runtime *runtime;
    if (with)
        options = *with;
    n_captures = n_warnings = 0;
    log_reader = count_captures;
    runtime = accelerator_runtime(given, n);
    options.device = "fakeacc:0";
    options.passes = "none";
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return session;
}

static void close_session(tfr_session *session)
{
    tfr_session_destroy(session);
    log_reader = NULL;
    CHECK_STR("", breaches);
}

static tfr_status step(tfr_session *session, float first, float *y)
{
    tfr_tensor *in = full(first, 0.125f), *out = NULL;
    tfr_status status = tfr_session_run(session, &in, 1, &out, 1, &err);
    if (!status && y)
        memcpy(y, tfr_tensor_data(out), N * sizeof *y);
    tfr_tensor_release(out);
    tfr_tensor_release(in);
    return status;
}

enum { STEPS = 32 };

/* A training whose loss is looked at at every tenth step, and which is moved to another session
 * after `moved` steps. Gives the losses that were looked at, and the states. */
static void train(size_t way, const char *capture, int moved, float numbers[5][N])
{
    static const uint32_t loss = 0;
    tfr_session *session =
        open_session(runtime_of(way, "fakeacc.capture", capture), way, training_graph());
    tfr_tensor *out = NULL;
    for (int k = 1; k <= STEPS; k++) {
        const bool looked_at = k % 10 == 0;
        tfr_tensor *in = full(0.5f, 0.125f);
        REQUIRE_OK(tfr_session_run_fetch(session, &in, 1, &loss, looked_at, &out, &err), &err);
        tfr_tensor_release(in);
        if (looked_at) {
            memcpy(numbers[k / 10 - 1], tfr_tensor_data(out), sizeof numbers[0]);
            tfr_tensor_release(out);
        }
        /* The batch, what it draws from, the loss. */
        CHECK_UINT(way ? 2 + looked_at : 0, stats_of(session).n_copies);
        if (k == moved) {
            tfr_session *next =
                open_session(runtime_of(way, "fakeacc.capture", capture), way, training_graph());
            uint64_t seed, n;
            copy_state(session, next, "a");
            copy_state(session, next, "b");
            tfr_session_get_random(session, &seed, &n);
            tfr_session_set_random(next, seed, n);
            tfr_session_destroy(session);
            session = next;
        }
    }
    CHECK_UINT(way ? 2 : 0, stats_of(session).variable_moves);
    CHECK_UINT(ways[way].programs[0] == '1', stats_of(session).n_programs);
    CHECK_UINT(way && capture[0] == '1', stats_of(session).n_captures);
    CHECK_UINT(way && capture[0] == '1' ? stats_of(session).n_launches : 0,
               stats_of(session).n_captured);
    for (int i = 0; i < 2; i++) {
        REQUIRE_OK(tfr_session_get_variable(session, i ? "b" : "a", &out, &err), &err);
        memcpy(numbers[3 + i], tfr_tensor_data(out), sizeof numbers[0]);
        tfr_tensor_release(out);
    }
    tfr_session_destroy(session);
    CHECK_STR("", breaches);
}

TEST(a_training_is_replayed_with_the_same_bits)
{
    static float expected[5][N], got[5][N];
    train(0, "1", 0, expected);
    for (size_t way = 0; way < N_WAYS; way++) {
        train(way, "0", 0, got);
        CHECK(memcmp(expected, got, sizeof expected) == 0);
        train(way, "1", 0, got);
        CHECK(memcmp(expected, got, sizeof expected) == 0);
        train(way, "1", 15, got); /* saved and restored */
        CHECK(memcmp(expected, got, sizeof expected) == 0);
    }
}

/* Its variables are in two places by turns. */
TEST(a_training_is_captured_twice)
{
    static const tfr_option given[] = {{"log", "debug"}};
    tfr_session *session = capturing(training_graph(), given, 1, NULL);
    for (int k = 0; k < 10; k++) {
        CHECK_OK(step(session, 0.5f, NULL), &err);
        CHECK_UINT(k < 3 ? (uint32_t)k : 2, n_captures);
    }
    CHECK_UINT(1, stats_of(session).n_captures);
    CHECK_UINT(stats_of(session).n_launches, stats_of(session).n_captured);
    CHECK_UINT(0, n_warnings);
    close_session(session);
}

TEST(a_session_that_captures_nothing_says_so)
{
    static const tfr_option given[] = {{"log", "debug"}};
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session;
    options.no_capture = 1;
    session = capturing(training_graph(), given, 1, &options);
    for (int k = 0; k < 3; k++)
        CHECK_OK(step(session, 0.5f, NULL), &err);
    CHECK_UINT(0, n_captures);
    CHECK_UINT(0, stats_of(session).n_captures);
    CHECK_STR("the session captures nothing", row_of(session, 0).capture);
    CHECK_UINT(0, row_of(session, 0).captured);
    close_session(session);
}

/* y = Relu(x) * x; z = (y + s), with s read by launch; z * z + z */
static tfr_graph *broken_graph(void)
{
    const float half = 0.5f;
    tfr_value x, s, y;
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *t = floats(0, NULL, &half);
    REQUIRE_OK(tfr_graph_add_constant(graph, "half", t, &s, &err), &err);
    tfr_tensor_release(t);
    y = binary(graph, "Mul", unary(graph, "Relu", x), x);
    y = binary(graph, "Add", y, s);
    output(graph, binary(graph, "Add", binary(graph, "Mul", y, y), y));
    return graph;
}

TEST(what_breaks_a_capture_is_named)
{
    static const tfr_option given[] = {{"fakeacc.host_scalars", "1"}};
    tfr_session *session = capturing(broken_graph(), given, 1, NULL);
    float y[N];
    for (int k = 0; k < 4; k++) {
        CHECK_OK(step(session, (float)k, y), &err);
        for (int i = 0; i < N; i++) {
            const float x = (float)k + 0.125f * (float)i, z = x * x + 0.5f;
            CHECK_NEAR((double)(z * z + z), (double)y[i], 0);
        }
    }
    CHECK_UINT(2, stats_of(session).n_captures);
    CHECK_UINT(4, stats_of(session).n_captured);
    CHECK_UINT(5, stats_of(session).n_launches);
    CHECK_UINT(1, row_of(session, 0).captured);
    CHECK_STR("", row_of(session, 1).capture);
    CHECK_UINT(0, row_of(session, 2).captured);
    CHECK_STR("its launch reads or writes the host's memory", row_of(session, 2).capture);
    CHECK_UINT(1, row_of(session, 3).captured);
    CHECK_STR("a capture ends before it: the launch before it is not captured",
              row_of(session, 3).capture);
    close_session(session);
}

TEST(a_capture_that_fails_leaves_launches_one_by_one)
{
    static const char *const ways_to_fail[] = {"2", "3", "4"};
    float expected[6][N], y[N];
    for (int way = -1; way < 3; way++) {
        const tfr_option given[] = {{"fakeacc.capture", way < 0 ? "0" : ways_to_fail[way]},
                                    {"log", "debug"}};
        tfr_session *session = capturing(training_graph(), given, 2, NULL);
        for (int k = 0; k < 6; k++) {
            CHECK_OK(step(session, 0.5f, way < 0 ? expected[k] : y), &err);
            CHECK(way < 0 || memcmp(expected[k], y, sizeof y) == 0);
        }
        CHECK_UINT(way >= 0, n_warnings);
        CHECK_UINT(0, stats_of(session).n_captures);
        CHECK_UINT(0, row_of(session, 0).captured);
        if (way >= 0)
            CHECK_CONTAINS("the option capture is", row_of(session, 0).capture);
        else
            CHECK_STR("its backend does not say that this launch can be captured",
                      row_of(session, 0).capture);
        close_session(session);
    }
}

/* y = Relu(x) * x + x, by nodes with names. */
static tfr_graph *three_nodes(void)
{
    static const char *const ops[] = {"Relu", "Mul", "Add"};
    static const char *const names[] = {"first", "second", "third"};
    tfr_value x, v;
    tfr_graph *graph = new_graph(1, &x);
    v = x;
    for (uint32_t i = 0; i < 3; i++) {
        const tfr_value in[] = {v, x};
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

/* The second launch of the fourth run, a replay. */
TEST(a_replay_that_fails_names_the_node)
{
    static const tfr_option given[] = {{"fakeacc.fail_after", "10"}, {"log", "debug"}};
    tfr_session *session = capturing(three_nodes(), given, 2, NULL);
    float y[N];
    for (int k = 0; k < 3; k++)
        CHECK_OK(step(session, 1, NULL), &err);
    CHECK_STATUS(TFR_EDEVICE, step(session, 1, NULL), &err);
    CHECK_STR("node \"second\" (Mul) on fakeacc:0: launch 10 failed, as the option asked",
              err.text);
    for (int k = 0; k < 3; k++)
        CHECK_OK(step(session, 1, y), &err);
    CHECK_NEAR(2, (double)y[0], 0);
    CHECK_UINT(1, n_captures); /* which outlives the queue */
    CHECK_UINT(1, stats_of(session).n_captures);
    CHECK_UINT(0, n_warnings);
    close_session(session);
}

TEST(a_replay_that_fails_on_a_queue_that_tells_at_once_keeps_its_capture)
{
    static const tfr_option given[] = {
        {"fakeacc.fail_after", "7"}, {"fakeacc.sticky", "1"}, {"fakeacc.names_launch", "0"}};
    tfr_session *session = capturing(three_nodes(), given, 3, NULL);
    CHECK_OK(step(session, 1, NULL), &err);
    CHECK_OK(step(session, 1, NULL), &err);
    CHECK_STATUS(TFR_EDEVICE, step(session, 1, NULL), &err);
    CHECK_CONTAINS("launch 7 failed", err.text);
    CHECK_OK(step(session, 1, NULL), &err);
    CHECK_UINT(1, stats_of(session).n_captures);
    close_session(session);
}

TEST(a_device_that_is_lost_in_a_replay_ends_the_run)
{
    static const tfr_option given[] = {{"fakeacc.lose_after", "7"}};
    tfr_session *session = capturing(three_nodes(), given, 1, NULL);
    CHECK_OK(step(session, 1, NULL), &err);
    CHECK_OK(step(session, 1, NULL), &err);
    CHECK_STATUS(TFR_ELOST, step(session, 1, NULL), &err);
    CHECK_CONTAINS("fakeacc:0 is lost at node \"second\"", err.text);
    close_session(session);
}

TEST(a_replay_that_hangs_is_given_up_and_the_next_run_works)
{
    for (int aborts = 0; aborts < 2; aborts++) {
        const tfr_option given[] = {{"fakeacc.hang_after", "7"},
                                    {"fakeacc.hang_ms", aborts ? "0" : "1500"},
                                    {"fakeacc.abort", aborts ? "1" : "0"}};
        tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
        tfr_session *session;
        tfr_status status;
        options.timeout_ns = 200000000;
        session = capturing(three_nodes(), given, 3, &options);
        CHECK_OK(step(session, 1, NULL), &err);
        CHECK_OK(step(session, 1, NULL), &err);
        CHECK_STATUS(TFR_ETIMEOUT, step(session, 1, NULL), &err);
        CHECK_CONTAINS("it still waits for node \"second\" (Mul) on NPU:0", err.text);
        do
            status = step(session, 1, NULL);
        while (status == TFR_EDEVICE); /* until the work has ended */
        CHECK_OK(status, &err);
        CHECK_UINT(1, stats_of(session).n_captures);
        close_session(session);
    }
}

TEST(a_traced_run_launches_one_by_one_and_the_next_captures_anew)
{
    static const tfr_option given[] = {{"log", "debug"}};
    tfr_session *session = capturing(three_nodes(), given, 1, NULL);
    uint32_t n_kernels = 0;
    for (int k = 0; k < 3; k++)
        CHECK_OK(step(session, 1, NULL), &err);
    CHECK_UINT(1, n_captures);
    REQUIRE_OK(tfr_trace_start(session, 1000, &err), &err);
    CHECK_OK(step(session, 1, NULL), &err);
    tfr_trace_stop(session);
    tfr_trace_event event = {.size = sizeof event};
    for (uint32_t i = 0; !tfr_trace_get(session, i, &event, NULL); i++)
        n_kernels += event.kind == TFR_TRACE_KERNEL;
    CHECK_UINT(3, n_kernels);
    CHECK_OK(step(session, 1, NULL), &err);
    CHECK_OK(step(session, 1, NULL), &err);
    CHECK_UINT(2, n_captures);
    close_session(session);
}

/* w = x0 x1, where the device takes only short sums: the plans of two shapes have the variable
 * there and on the host by turns. */
TEST(a_capture_of_memory_that_is_gone_is_made_anew)
{
    static const tfr_option given[] = {{"log", "debug"}};
    tfr_value x[2], w;
    tfr_graph *graph = new_graph(2, x);
    tfr_tensor *t = floats(2, (const int64_t[]){1, N}, NULL);
    for (int i = 0; i < N; i++)
        ((float *)tfr_tensor_data(t))[i] = 0;
    REQUIRE_OK(tfr_graph_add_variable(graph, "w", t, &w, &err), &err);
    tfr_tensor_release(t);
    output(graph, binary(graph, "Add", unary(graph, "Relu", w), w));
    update(graph, w, binary(graph, "MatMul", x[0], x[1]));
    tfr_session *session = capturing(graph, given, 1, NULL);
    float expected = 0;
    for (int k = 0; k < 16; k++) {
        const int64_t n = k % 4 == 3 ? 1025 : 4;
        tfr_tensor *in[2] = {floats(2, (const int64_t[]){1, n}, NULL),
                             floats(2, (const int64_t[]){n, N}, NULL)};
        tfr_tensor *out = NULL;
        for (int64_t i = 0; i < n; i++)
            ((float *)tfr_tensor_data(in[0]))[i] = 1;
        for (int64_t i = 0; i < n * N; i++)
            ((float *)tfr_tensor_data(in[1]))[i] = (float)k;
        REQUIRE_OK(tfr_session_run(session, in, 2, &out, 1, &err), &err);
        CHECK_NEAR((double)expected, (double)((float *)tfr_tensor_data(out))[0], 0);
        expected = 2 * (float)(n * k);
        tfr_tensor_release(out);
        tfr_tensor_release(in[0]);
        tfr_tensor_release(in[1]);
    }
    CHECK(stats_of(session).variable_moves > 4);
    CHECK(n_captures > 3);
    CHECK_UINT(0, n_warnings);
    close_session(session);
}

static const test_case cases[] = {
    CASE(a_training_is_replayed_with_the_same_bits),
    CASE(a_training_is_captured_twice),
    CASE(a_session_that_captures_nothing_says_so),
    CASE(what_breaks_a_capture_is_named),
    CASE(a_capture_that_fails_leaves_launches_one_by_one),
    CASE(a_replay_that_fails_names_the_node),
    CASE(a_replay_that_fails_on_a_queue_that_tells_at_once_keeps_its_capture),
    CASE(a_device_that_is_lost_in_a_replay_ends_the_run),
    CASE(a_replay_that_hangs_is_given_up_and_the_next_run_works),
    CASE(a_traced_run_launches_one_by_one_and_the_next_captures_anew),
    CASE(a_capture_of_memory_that_is_gone_is_made_anew),
};
TEST_MAIN(cases)
