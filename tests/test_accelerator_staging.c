/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies through pinned memory (core/device/staging.c), on an accelerator whose copies of ordinary
 * memory block, as those of drivers do, and say so in the log.
 */
#include "session_kit.h"

#include <tfrun/op.h>

/* ---- counting -------------------------------------------------------------------------------- */

static int n_blocking, n_constants, n_arenas, n_staging, n_dims;

static void count_lines(const char *text)
{
    n_blocking += strstr(text, "bytes of ordinary memory blocks") != NULL;
    n_constants += strstr(text, " bytes for constants") != NULL;
    n_arenas += strstr(text, " bytes for an arena") != NULL;
    n_staging += strstr(text, " bytes for staging") != NULL;
    n_dims += strstr(text, " bytes for dims") != NULL;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* An accelerator with much memory, pinned memory or not, and one more setting. */
static tfr_runtime *runtime_with(bool pinned, const char *key, const char *value)
{
    const tfr_option given[] = {
        {"fakeacc.pageable_blocks", "1"},   {"fakeacc.memory_limit", "67108864"},
        {"fakeacc.size_limit", "16777216"}, {"fakeacc.pinned", pinned ? "1" : "0"},
        {"fakeacc.delay_us", "20"},         {key, value}};
    log_reader = count_lines;
    n_blocking = n_constants = n_arenas = n_staging = n_dims = 0;
    return accelerator_runtime(given, key ? 6 : 5);
}

static tfr_session *new_session(tfr_runtime *runtime, tfr_graph *graph)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    options.device = "NPU:0";
    options.passes = "none";
    options.no_programs = 1;
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    return session;
}

static tfr_tensor *ramp(int64_t n, float from)
{
    tfr_tensor *t = new_tensor(TFR_DTYPE_F32, 1, &n, NULL);
    for (int64_t i = 0; i < n; i++)
        ((float *)tfr_tensor_data(t))[i] = from + (float)(i % 8191);
    return t;
}

static const float *data(tfr_tensor *t)
{
    return tfr_tensor_data(t);
}

/* y = Abs(x + c) + x: there and back, and there again. */
static tfr_graph *there_and_back(int64_t n)
{
    tfr_value x, c;
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *t = ramp(n, -100);
    REQUIRE_OK(tfr_graph_add_constant(graph, "c", t, &c, &err), &err);
    tfr_tensor_release(t);
    output(graph, binary(graph, "Add", unary(graph, "Abs", binary(graph, "Add", x, c)), x));
    return graph;
}

static bool is_right(tfr_tensor *x, tfr_tensor *y)
{
    const int64_t n = tfr_tensor_elements(x);
    bool right = tfr_tensor_elements(y) == n;
    for (int64_t i = 0; right && i < n; i++) {
        const float sum = data(x)[i] - 100 + (float)(i % 8191);
        right = data(y)[i] == (sum < 0 ? -sum : sum) + data(x)[i];
    }
    return right;
}

static void check_runs(tfr_runtime *runtime, int64_t n)
{
    tfr_graph *graph = there_and_back(n);
    tfr_session *session = new_session(runtime, graph);
    for (int run = 0; run < 3; run++) {
        tfr_tensor *x = ramp(n, (float)-run), *y = NULL;
        REQUIRE_OK(tfr_session_run(session, &x, 1, &y, 1, &err), &err);
        CHECK(is_right(x, y));
        tfr_tensor_release(x);
        tfr_tensor_release(y);
    }
    CHECK_INT(4, stats_of(session).n_copies); /* x, Abs, and what both make of it */
    tfr_session_destroy(session);
    tfr_graph_release(graph);
}

static void end(tfr_runtime *runtime)
{
    tfr_runtime_release(runtime);
    log_reader = NULL;
    CHECK_STR("", breaches);
}

/* ---- tests ----------------------------------------------------------------------------------- */

TEST(without_pinned_memory_copies_block)
{
    tfr_runtime *runtime = runtime_with(false, NULL, NULL);
    check_runs(runtime, 100);
    CHECK_INT(1 + 3 * 4, n_blocking); /* the constant, and each run's */
    end(runtime);
}

/* Less than a slice, whole segments of the small and of the large ring, one byte more, and several
 * rounds. */
TEST(with_pinned_memory_no_copy_of_any_size_blocks)
{
    static const int64_t sizes[] = {1,     17,     4095,   4096,   4097,    16384,
                                    16385, 262144, 262145, 999999, 1500001, 3000000};
    tfr_runtime *runtime = runtime_with(true, NULL, NULL);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_runs(runtime, sizes[i]);
    CHECK_INT(0, n_blocking);
    end(runtime);
}

/* More copies to one sync than the ring has room for. */
TEST(many_copies_of_one_run_share_the_ring)
{
    enum { N = 40, EACH = 1500 };
    tfr_runtime *runtime = runtime_with(true, NULL, NULL);
    tfr_value x[N];
    tfr_graph *graph = new_graph(N, x);
    tfr_tensor *in[N], *out[N];
    for (int i = 0; i < N; i++)
        output(graph, unary(graph, "Relu", x[i]));
    tfr_session *session = new_session(runtime, graph);
    for (int run = 0; run < 3; run++) {
        for (int i = 0; i < N; i++)
            in[i] = ramp(EACH + i, (float)(i - run));
        REQUIRE_OK(tfr_session_run(session, in, N, out, N, &err), &err);
        for (int i = 0; i < N; i++) {
            for (int64_t k = 0; k < EACH + i; k++)
                CHECK_NEAR(data(in[i])[k] > 0 ? data(in[i])[k] : 0, data(out[i])[k], 0);
            tfr_tensor_release(in[i]);
            tfr_tensor_release(out[i]);
        }
    }
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    CHECK_INT(0, n_blocking);
    end(runtime);
}

TEST(a_binding_and_an_immediate_call_are_staged)
{
    const int64_t n = 5000;
    tfr_runtime *runtime = runtime_with(true, NULL, NULL);
    tfr_graph *graph = there_and_back(n);
    tfr_session *session = new_session(runtime, graph);
    tfr_tensor *x = ramp(n, 0), *y = ramp(n, 0), *now = NULL;
    tfr_binding *binding = NULL;
    const tfr_node_desc relu = {.size = sizeof relu, .op = "Relu", .n_inputs = 1, .n_outputs = 1};
    REQUIRE_OK(tfr_binding_create(session, &x, 1, &y, 1, &binding, &err), &err);
    for (int run = 0; run < 4; run++) {
        *(float *)tfr_tensor_data(x) = (float)run;
        CHECK_OK(tfr_binding_run(binding, &err), &err);
        CHECK(is_right(x, y));
    }
    tfr_binding_destroy(binding);
    ((float *)tfr_tensor_data(x))[1] = -1;
    CHECK_OK(tfr_op_run(runtime, "NPU:0", &relu, &x, 1, &now, 1, &err), &err);
    CHECK_NEAR(0, data(now)[1], 0);
    CHECK_NEAR(4999, data(now)[4999], 0);
    tfr_tensor_release(now);
    tfr_tensor_release(y);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_tensor_release(x);
    CHECK_INT(0, n_blocking);
    end(runtime);
}

TEST(without_room_for_a_ring_copies_are_direct)
{
    tfr_runtime *runtime = runtime_with(true, "fakeacc.pinned_limit", "1000");
    check_runs(runtime, 100);
    CHECK_INT(1 + 3 * 4, n_blocking);
    end(runtime);
}

TEST(with_room_for_a_small_ring_large_copies_take_more_rounds)
{
    tfr_runtime *runtime = runtime_with(true, "fakeacc.pinned_limit", "100000");
    check_runs(runtime, 1500001);
    CHECK_INT(0, n_blocking);
    end(runtime);
}

/* The first launch, a later one, or the device: what was under way is forgotten. */
TEST(after_a_failure_staged_copies_are_right_again)
{
    for (int at = 0; at < 8; at++) {
        char number[4];
        const int64_t n = 30000;
        snprintf(number, sizeof number, "%d", at);
        tfr_runtime *runtime = runtime_with(true, "fakeacc.fail_after", number);
        tfr_graph *graph = there_and_back(n);
        tfr_session *session = new_session(runtime, graph);
        int n_failed = 0;
        for (int run = 0; run < 8; run++) {
            tfr_tensor *x = ramp(n, (float)run), *y = NULL;
            if (tfr_session_run(session, &x, 1, &y, 1, &err))
                n_failed++;
            else
                CHECK(is_right(x, y));
            tfr_tensor_release(x);
            tfr_tensor_release(y);
        }
        CHECK_INT(1, n_failed);
        tfr_session_destroy(session);
        tfr_graph_release(graph);
        CHECK_INT(0, n_blocking);
        end(runtime);
    }
}

TEST(alloc_is_told_what_memory_is_for)
{
    const int64_t n = 100;
    tfr_runtime *runtime;
    tfr_value x[2];
    tfr_graph *graph = new_graph(2, x);
    setenv("TFRUN_LOG", "debug", 1);
    runtime = runtime_with(true, "fakeacc.transfer", "1");
    unsetenv("TFRUN_LOG");
    check_runs(runtime, n);
    CHECK_INT(1, n_constants);
    CHECK_INT(1, n_arenas);
    CHECK_INT(1, n_staging);
    CHECK_INT(0, n_dims);
    output(graph, binary(graph, "Compress", x[0], x[1]));
    tfr_session *session = new_session(runtime, graph);
    const uint8_t keep[3] = {1, 0, 1};
    tfr_tensor *in[2] = {ramp(3, 1), new_tensor(TFR_DTYPE_BOOL, 1, (int64_t[]){3}, keep)};
    tfr_tensor *out = NULL;
    CHECK_OK(tfr_session_run(session, in, 2, &out, 1, &err), &err);
    CHECK_INT(2, tfr_tensor_elements(out));
    CHECK_INT(1, n_dims);
    CHECK_INT(0, n_blocking);
    tfr_tensor_release(in[1]);
    tfr_tensor_release(out);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_tensor_release(in[0]);
    end(runtime);
}

static const test_case cases[] = {
    CASE(without_pinned_memory_copies_block),
    CASE(with_pinned_memory_no_copy_of_any_size_blocks),
    CASE(many_copies_of_one_run_share_the_ring),
    CASE(a_binding_and_an_immediate_call_are_staged),
    CASE(without_room_for_a_ring_copies_are_direct),
    CASE(with_room_for_a_small_ring_large_copies_take_more_rounds),
    CASE(after_a_failure_staged_copies_are_right_again),
    CASE(alloc_is_told_what_memory_is_for),
};
TEST_MAIN(cases)
