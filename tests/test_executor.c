/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs that run on the fake accelerator and on the host together: copies, syncs, fallbacks,
 * failures. The accelerator works late and on its own thread, faults when the host touches its
 * memory, and fails a call when the host changes memory that a queue still reads.
 */
#include <tfrun/compare.h>

#include "graph_text.h"
#include "session_kit.h"

/* What the accelerator compiles, whether its memory has handles, and pinned memory, since copies of
 * other memory block: see its options. */
static const char *programs = "0", *handles = "0", *pinned = "0";

static tfr_runtime *runtime_with(const char *key, const char *value)
{
    const tfr_option given[] = {{"fakeacc.programs", programs},
                                {"fakeacc.handles", handles},
                                {"fakeacc.pinned", pinned},
                                {"fakeacc.pageable_blocks", pinned},
                                {key, value}};
    return accelerator_runtime(given, key ? 5 : 4);
}

static tfr_tensor *square(int64_t n, float first)
{
    tfr_shape shape = {2, {n, n}};
    tfr_tensor *t = NULL;
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &shape, &t, &err), &err);
    for (int64_t i = 0; i < n * n; i++)
        ((float *)tfr_tensor_data(t))[i] = first + 0.125f * (float)(i % 7) - 0.25f;
    return t;
}

static tfr_tensor *matrix(int64_t rows, int64_t columns, const float *values)
{
    tfr_shape shape = {2, {rows, columns}};
    tfr_tensor *t = NULL;
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &shape, &t, &err), &err);
    memcpy(tfr_tensor_data(t), values, (size_t)(rows * columns) * sizeof *values);
    return t;
}

/* No backend compiles programs, the host's neither. */
static uint32_t only_kernels;

static tfr_session *new_session(tfr_runtime *runtime, tfr_graph *graph, const char *device,
                                tfr_fallback fallback)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    options.device = device;
    options.passes = "none"; /* the graph is run as it is built here */
    options.fallback = fallback;
    options.no_programs = only_kernels;
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    return session;
}

/* x → Relu → Mul with a constant → Softmax (not on the accelerator) → Add x. */
static tfr_graph *mixed_graph(void)
{
    tfr_value x, c, v;
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *t = square(8, 1);
    REQUIRE_OK(tfr_graph_add_constant(graph, "c", t, &c, &err), &err);
    tfr_tensor_release(t);
    v = unary(graph, "Relu", x);
    v = binary(graph, "Mul", v, c);
    v = unary(graph, "Softmax", v);
    v = binary(graph, "Add", v, x);
    output(graph, v);
    return graph;
}

/* y = x0 + (x1 x x2), whose one element launch reads from the host. */
TEST(a_host_input_is_there_when_launch_is_called)
{
    tfr_runtime *runtime = runtime_with("fakeacc.host_scalars", "1");
    tfr_value x[3];
    tfr_graph *graph = new_graph(3, x);
    tfr_session *session;
    output(graph, binary(graph, "Add", x[0], binary(graph, "MatMul", x[1], x[2])));
    session = new_session(runtime, graph, "fakeacc:0", TFR_FALLBACK_ERROR);
    for (int run = 0; run < 3; run++) {
        const float a[4] = {1, 2, 3, 4}, row[2] = {(float)run, 2}, column[2] = {10, 1};
        tfr_tensor *in[3] = {matrix(2, 2, a), matrix(1, 2, row), matrix(2, 1, column)}, *out = NULL;
        CHECK_OK(tfr_session_run(session, in, 3, &out, 1, &err), &err);
        for (int i = 0; out && i < 4; i++)
            CHECK_NEAR(a[i] + 10.0 * run + 2, ((const float *)tfr_tensor_data(out))[i], 0);
        tfr_tensor_release(out);
        for (int i = 0; i < 3; i++)
            tfr_tensor_release(in[i]);
    }
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    CHECK_STR("", breaches);
}

/* y = x0 x c, whose c the kernel packs: launch gets no copy of it. */
TEST(an_input_that_prepare_consumed_is_not_kept_on_the_device)
{
    for (int consumes = 0; consumes < 2; consumes++) {
        const float values[4] = {1, 2, 3, 4}, expected[4] = {7, 10, 15, 22};
        tfr_runtime *runtime = runtime_with("fakeacc.consume", consumes ? "1" : "0");
        tfr_tensor *c = matrix(2, 2, values), *in = matrix(2, 2, values), *out = NULL;
        tfr_value x, v;
        tfr_graph *graph = new_graph(1, &x);
        tfr_session *session;
        REQUIRE_OK(tfr_graph_add_constant(graph, "c", c, &v, &err), &err);
        output(graph, binary(graph, "MatMul", x, v));
        session = new_session(runtime, graph, "fakeacc:0", TFR_FALLBACK_ERROR);
        for (int run = 0; run < 2; run++) {
            CHECK_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
            for (int i = 0; out && i < 4; i++)
                CHECK_NEAR(expected[i], ((const float *)tfr_tensor_data(out))[i], 0);
            tfr_tensor_release(out);
            out = NULL;
        }
        tfr_session_destroy(session);
        tfr_graph_release(graph);
        tfr_tensor_release(c);
        tfr_tensor_release(in);
        tfr_runtime_release(runtime);
        CHECK_STR("", breaches);
    }
}

TEST(a_supported_graph_copies_only_its_input_and_output)
{
    tfr_value x, v;
    tfr_graph *graph = new_graph(1, &x);
    tfr_runtime *runtime = runtime_with(NULL, NULL);
    tfr_tensor *in = square(8, 0), *out = NULL;
    v = binary(graph, "MatMul", x, x);
    v = unary(graph, "Relu", v);
    v = binary(graph, "Add", v, x);
    output(graph, v);
    tfr_session *session = new_session(runtime, graph, "NPU:0", TFR_FALLBACK_ERROR);
    for (int i = 0; i < 3; i++) {
        REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
        tfr_tensor_release(out);
    }
    tfr_session_stats stats = stats_of(session);
    CHECK_UINT(2, stats.n_copies);
    CHECK_UINT(2 * 8 * 8 * 4, stats.copy_bytes);
    CHECK_UINT(3, stats.n_launches);
    CHECK_UINT(1, stats.n_waits);
    CHECK_STR("", breaches);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_tensor_release(in);
    tfr_runtime_release(runtime);
}

TEST(a_fallback_is_reported_with_reason_copies_and_bytes)
{
    tfr_runtime *runtime = runtime_with(NULL, NULL);
    tfr_graph *graph = mixed_graph();
    tfr_session *session = new_session(runtime, graph, "fakeacc:0", TFR_FALLBACK_ALLOW);
    tfr_tensor *in = square(8, 0), *out = NULL;
    tfr_placement row = {.size = sizeof row};
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    REQUIRE_INT(4, tfr_session_n_placements(session));
    REQUIRE_OK(tfr_session_placement(session, 2, &row, &err), &err);
    CHECK_STR("Softmax", row.op);
    CHECK_STR("CPU:0", row.device);
    CHECK_STR("fakeacc:0", row.wanted);
    CHECK_UINT(1, row.fallback);
    CHECK_INT(TFR_REASON_UNKNOWN_OP, row.reason);
    CHECK_CONTAINS("fakeacc:0 says unknown_op", row.text);
    CHECK_UINT(1, row.n_copies);
    CHECK_UINT(256, row.copy_bytes);
    CHECK_UINT(1, stats_of(session).n_fallbacks);
    CHECK_STR("", breaches);
    tfr_tensor_release(out);
    end_session(runtime, graph, session, in);
}

TEST(fallback_error_says_node_device_reason_and_what_is_available)
{
    tfr_runtime *runtime = runtime_with(NULL, NULL);
    tfr_graph *graph = mixed_graph();
    tfr_session *session = new_session(runtime, graph, "NPU:0", TFR_FALLBACK_ERROR);
    tfr_tensor *in = square(8, 0), *out = NULL;
    CHECK_STATUS(TFR_EFALLBACK, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_CONTAINS("Softmax", err.text);
    CHECK_CONTAINS("fakeacc:0", err.text);
    CHECK_CONTAINS("unknown_op", err.text);
    CHECK_CONTAINS("available on", err.text);
    end_session(runtime, graph, session, in);
}

TEST(a_refused_size_is_told_with_its_number)
{
    tfr_value x;
    tfr_graph *graph = new_graph(1, &x);
    tfr_runtime *runtime = runtime_with("fakeacc.size_limit", "50");
    tfr_tensor *in = square(8, 0), *out = NULL;
    tfr_placement row = {.size = sizeof row};
    output(graph, unary(graph, "Relu", x));
    tfr_session *session = new_session(runtime, graph, "NPU:0", TFR_FALLBACK_ALLOW);
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    REQUIRE_OK(tfr_session_placement(session, 0, &row, &err), &err);
    CHECK_INT(TFR_REASON_SIZE_LIMIT, row.reason);
    CHECK_CONTAINS("64", row.text);
    CHECK_CONTAINS("50", row.text);
    tfr_tensor_release(out);
    end_session(runtime, graph, session, in);
}

TEST(a_full_device_is_an_error_with_the_bytes)
{
    tfr_value x;
    tfr_graph *graph = new_graph(1, &x);
    tfr_runtime *runtime = runtime_with("fakeacc.memory_limit", "4096");
    tfr_tensor *in = square(64, 0), *out = NULL;
    output(graph, unary(graph, "Relu", x));
    tfr_session *session = new_session(runtime, graph, "NPU:0", TFR_FALLBACK_ALLOW);
    CHECK_STATUS(TFR_ENOMEM, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_STR("NPU:0 has no memory for 16 KiB of intermediate values of graph \"test\" (no room "
              "for 16384 bytes on device 0, which has 4096 of 4096 left)",
              err.text);
    end_session(runtime, graph, session, in);
}

TEST(old_plans_make_room_when_the_device_is_full)
{
    tfr_value x, v;
    tfr_graph *graph = new_graph(1, &x);
    tfr_runtime *runtime = runtime_with("fakeacc.memory_limit", "60000");
    v = unary(graph, "Relu", x);
    v = unary(graph, "Relu", v);
    output(graph, v);
    tfr_session *session = new_session(runtime, graph, "NPU:0", TFR_FALLBACK_ERROR);
    for (int64_t n = 60; n < 66; n++) { /* each plan takes about 30 000 bytes */
        tfr_tensor *in = square(n, 0), *out = NULL;
        REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
        tfr_tensor_release(in);
        tfr_tensor_release(out);
    }
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(a_constant_that_a_device_has_no_room_for_is_named)
{
    tfr_value x, c;
    tfr_graph *graph = new_graph(1, &x);
    tfr_runtime *runtime = runtime_with("fakeacc.memory_limit", "4096");
    tfr_tensor *in = square(64, 0), *out = NULL;
    REQUIRE_OK(tfr_graph_add_constant(graph, "weights", in, &c, &err), &err);
    output(graph, binary(graph, "Mul", x, c));
    tfr_session *session = new_session(runtime, graph, "NPU:0", TFR_FALLBACK_ALLOW);
    CHECK_STATUS(TFR_ENOMEM, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_CONTAINS("NPU:0 has no memory for 16 KiB of constant \"weights\" (no room", err.text);
    end_session(runtime, graph, session, in);
}

/* 16 KiB of the device for each number of rows: makes and runs its plan. */
static void run_rows(tfr_session *session, int64_t n)
{
    const int64_t dims[] = {n, 4096 / n};
    tfr_tensor *in = new_tensor(TFR_DTYPE_F32, 2, dims, NULL), *out = NULL;
    memset(tfr_tensor_data(in), 0, tfr_tensor_bytes(in));
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    tfr_tensor_release(in);
    tfr_tensor_release(out);
}

static tfr_session *relu_session(const char *memory_limit, const char *pool)
{
    const tfr_option given[] = {{"fakeacc.memory_limit", memory_limit}, {"fakeacc.pool", pool}};
    tfr_runtime *runtime = accelerator_runtime(given, 2);
    tfr_value x;
    tfr_graph *graph = new_graph(1, &x);
    output(graph, unary(graph, "Relu", x));
    tfr_session *session = new_session(runtime, graph, "NPU:0", TFR_FALLBACK_ERROR);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return session;
}

TEST(a_full_device_loses_the_plan_that_was_not_used_for_longest)
{
    tfr_session *session = relu_session("50000", "0"); /* room for three */
    run_rows(session, 1);
    run_rows(session, 2);
    run_rows(session, 4);
    run_rows(session, 1); /* so that 2 goes */
    CHECK_UINT(3, stats_of(session).n_plans);
    CHECK_UINT(0, stats_of(session).n_plans_dropped);
    run_rows(session, 8);
    CHECK_UINT(1, stats_of(session).n_plans_dropped);
    run_rows(session, 1);
    run_rows(session, 4);
    run_rows(session, 8);
    CHECK_UINT(4, stats_of(session).n_plans);
    run_rows(session, 2);
    CHECK_UINT(5, stats_of(session).n_plans);
    CHECK_UINT(2, stats_of(session).n_plans_dropped);
    tfr_session_destroy(session);
    CHECK_STR("", breaches);
}

TEST(more_than_a_device_gives_at_once_is_not_asked_for)
{
    tfr_runtime *runtime = runtime_with("fakeacc.max_alloc", "8192");
    tfr_value x;
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *small = square(32, 0), *in = square(64, 0), *out = NULL;
    output(graph, unary(graph, "Relu", x));
    tfr_session *session = new_session(runtime, graph, "NPU:0", TFR_FALLBACK_ERROR);
    REQUIRE_OK(tfr_session_run(session, &small, 1, &out, 1, &err), &err);
    tfr_tensor_release(out);
    out = NULL;
    CHECK_STATUS(TFR_ENOMEM, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_CONTAINS("NPU:0 has no memory for 16 KiB of intermediate values of graph \"test\" "
                   "(fakeacc:0 gives at most 8192 bytes at once)",
                   err.text);
    CHECK_STR("", breaches);
    tfr_tensor_release(small);
    end_session(runtime, graph, session, in);
}

TEST(a_binding_gets_the_memory_of_old_plans)
{
    tfr_session *session = relu_session("20000", "0");
    tfr_tensor *in = square(63, 0), *out = square(63, 0);
    tfr_binding *binding = NULL;
    run_rows(session, 64);
    REQUIRE_OK(tfr_binding_create(session, &in, 1, &out, 1, &binding, &err), &err);
    CHECK_OK(tfr_binding_run(binding, &err), &err);
    CHECK_UINT(1, stats_of(session).n_plans_dropped);
    tfr_binding_destroy(binding);
    tfr_tensor_release(in);
    tfr_tensor_release(out);
    tfr_session_destroy(session);
    CHECK_STR("", breaches);
}

TEST(memory_that_a_plugin_keeps_is_asked_back_when_its_device_is_full)
{
    tfr_session *session = relu_session("20000", "1");
    run_rows(session, 64);
    run_rows(session, 32);
    run_rows(session, 64);
    CHECK_UINT(2, stats_of(session).n_plans_dropped);
    tfr_session_destroy(session);
    CHECK_STR("", breaches);
}

TEST(plans_of_a_loop_make_room_for_each_other_when_the_device_is_full)
{
    tfr_runtime *runtime = runtime_with("fakeacc.memory_limit", "6000"); /* a page for each plan */
    tfr_graph *graph = growing_loop(10, "Relu");
    const int64_t n = 500;
    tfr_tensor *in = new_tensor(TFR_DTYPE_F32, 1, &n, NULL), *out = NULL;
    memset(tfr_tensor_data(in), 0, tfr_tensor_bytes(in));
    tfr_session *session = new_session(runtime, graph, "NPU:0", TFR_FALLBACK_ALLOW);
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_INT(n + 10, tfr_tensor_elements(out));
    CHECK(stats_of(session).n_copies > 0); /* it was on the accelerator */
    tfr_tensor_release(out);
    end_session(runtime, graph, session, in);
}

TEST(a_lost_device_fails_the_run_and_is_not_asked_again)
{
    tfr_runtime *runtime = runtime_with("fakeacc.lose_after", "4");
    tfr_graph *graph = mixed_graph();
    tfr_session *session = new_session(runtime, graph, "NPU:0", TFR_FALLBACK_ALLOW);
    tfr_tensor *in = square(8, 0), *out = NULL;
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    tfr_tensor_release(out);
    out = NULL;
    CHECK_STATUS(TFR_ELOST, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_CONTAINS("fakeacc:0 is lost", err.text);
    CHECK(out == NULL);
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_UINT(0, stats_of(session).n_copies);
    CHECK_UINT(4, stats_of(session).n_fallbacks);
    CHECK_CONTAINS("the backend failed earlier in this process: device 0 is lost after 4 launches",
                   row_of(session, 0).text);
    tfr_tensor_release(out);
    end_session(runtime, graph, session, in);
}

TEST(work_that_fails_on_a_queue_fails_its_run_alone)
{
    tfr_value x;
    tfr_graph *graph = new_graph(1, &x);
    tfr_runtime *runtime = runtime_with("fakeacc.fail_after", "1");
    tfr_tensor *in = square(8, 0), *out = NULL;
    output(graph, unary(graph, "Relu", x));
    tfr_session *session = new_session(runtime, graph, "NPU:0", TFR_FALLBACK_ERROR);
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    tfr_tensor_release(out);
    CHECK(tfr_session_run(session, &in, 1, &out, 1, &err) != TFR_OK);
    CHECK_CONTAINS("fakeacc:0", err.text);
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    tfr_tensor_release(out);
    CHECK_STR("", breaches);
    end_session(runtime, graph, session, in);
}

/* A linear congruential generator (Knuth, MMIX), so that the graphs are the same everywhere. */
static uint32_t random_below(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

/* A graph of 40 nodes, about half of which the accelerator knows; the last ones are outputs. */
static tfr_graph *random_graph(uint64_t seed, uint32_t *n_outputs)
{
    static const char *const of_one[] = {"Relu", "Softmax", "Tanh"};
    static const char *const of_two[] = {"Add", "Mul", "Max"};
    tfr_value values[64];
    tfr_graph *graph = new_graph(1, values);
    uint32_t n = 1;
    tfr_tensor *t = square(6, 0.5f);
    REQUIRE_OK(tfr_graph_add_constant(graph, "c", t, &values[n++], &err), &err);
    tfr_tensor_release(t);
    for (int i = 0; i < 40; i++) {
        uint32_t from = n > 6 ? n - 6 : 0;
        tfr_value a = values[from + random_below(&seed, n - from)],
                  b = values[random_below(&seed, n)];
        if (random_below(&seed, 2))
            values[n++] = unary(graph, of_one[random_below(&seed, 3)], a);
        else
            values[n++] = binary(graph, of_two[random_below(&seed, 3)], a, b);
    }
    *n_outputs = 3;
    for (uint32_t i = 0; i < *n_outputs; i++)
        output(graph, values[n - 1 - 4 * i]);
    return graph;
}

/* Programs and own layouts of the accelerator, as its option says, in all of them or not. */
static void random_graphs(const char *compiles, bool any_programs, bool any_layouts)
{
    programs = compiles;
    tfr_runtime *runtime = runtime_with("fakeacc.delay_us", "20");
    programs = "0";
    uint32_t n_programs = 0, n_reorders = 0;
    only_kernels = !any_programs;
    tfr_tensor *in = square(6, 0);
    for (uint64_t seed = 1; seed <= 30; seed++) {
        uint32_t n;
        tfr_graph *graph = random_graph(seed, &n);
        tfr_session *here = new_session(runtime, graph, "naive:0", TFR_FALLBACK_ERROR);
        tfr_session *there = new_session(runtime, graph, "NPU:0", TFR_FALLBACK_ALLOW);
        tfr_tensor *want[3], *got[3];
        REQUIRE_OK(tfr_session_run(here, &in, 1, want, n, &err), &err);
        for (int round = 0; round < 2; round++) {
            REQUIRE_OK(tfr_session_run(there, &in, 1, got, n, &err), &err);
            for (uint32_t i = 0; i < n; i++) {
                tfr_compare_report report = {.size = sizeof report};
                CHECK(tfr_tensor_compare(want[i], got[i], 1e-5, 1e-6, &report));
                CHECK_STR("", report.text);
                tfr_tensor_release(got[i]);
            }
        }
        CHECK(stats_of(there).n_copies > 0);
        for (uint32_t i = 0; i < n; i++)
            tfr_tensor_release(want[i]);
        for (uint32_t i = 0; i < tfr_session_n_programs(there); i++) {
            tfr_program_desc row = {.size = sizeof row};
            REQUIRE_OK(tfr_session_program(there, i, &row, &err), &err);
            n_programs += strcmp(row.backend, "fakeacc:0") == 0; /* others may compile, too */
        }
        n_reorders += stats_of(there).n_reorders;
        tfr_session_destroy(here);
        tfr_session_destroy(there);
        tfr_graph_release(graph);
    }
    only_kernels = 0;
    CHECK_STR("", breaches);
    CHECK_INT(any_programs, n_programs > 60);
    CHECK_INT(any_layouts, n_reorders > 30);
    tfr_tensor_release(in);
    tfr_runtime_release(runtime);
}

TEST(random_graphs_on_two_devices_give_what_the_host_gives)
{
    random_graphs("0", false, false);
}

TEST(programs_on_a_device_of_its_own_give_what_the_host_gives)
{
    random_graphs("1", true, false);
}

TEST(layouts_on_a_device_of_its_own_are_made_plain_for_others)
{
    random_graphs("2", true, true);
}

TEST(memory_of_handles_is_told_by_handle_and_offset)
{
    handles = "1";
    random_graphs("0", false, false);
    random_graphs("1", true, false);
    random_graphs("2", true, true);
    handles = "0";
}

TEST(staged_copies_on_two_devices_give_what_the_host_gives)
{
    pinned = "1";
    random_graphs("0", false, false);
    random_graphs("2", true, true);
    handles = "1";
    random_graphs("0", false, false);
    handles = "0";
    pinned = "0";
}

static const test_case cases[] = {
    CASE(a_supported_graph_copies_only_its_input_and_output),
    CASE(a_host_input_is_there_when_launch_is_called),
    CASE(an_input_that_prepare_consumed_is_not_kept_on_the_device),
    CASE(a_fallback_is_reported_with_reason_copies_and_bytes),
    CASE(fallback_error_says_node_device_reason_and_what_is_available),
    CASE(a_refused_size_is_told_with_its_number),
    CASE(a_full_device_is_an_error_with_the_bytes),
    CASE(old_plans_make_room_when_the_device_is_full),
    CASE(a_constant_that_a_device_has_no_room_for_is_named),
    CASE(a_full_device_loses_the_plan_that_was_not_used_for_longest),
    CASE(more_than_a_device_gives_at_once_is_not_asked_for),
    CASE(a_binding_gets_the_memory_of_old_plans),
    CASE(memory_that_a_plugin_keeps_is_asked_back_when_its_device_is_full),
    CASE(plans_of_a_loop_make_room_for_each_other_when_the_device_is_full),
    CASE(a_lost_device_fails_the_run_and_is_not_asked_again),
    CASE(work_that_fails_on_a_queue_fails_its_run_alone),
    CASE(random_graphs_on_two_devices_give_what_the_host_gives),
    CASE(programs_on_a_device_of_its_own_give_what_the_host_gives),
    CASE(layouts_on_a_device_of_its_own_are_made_plain_for_others),
    CASE(memory_of_handles_is_told_by_handle_and_offset),
    CASE(staged_copies_on_two_devices_give_what_the_host_gives),
};
TEST_MAIN(cases)
