/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs on two devices of one plugin, which the fake accelerator plays with two of its own: values
 * go from one to the other in one copy, in order, and failures are told of the one that failed.
 */
#include <tfrun/compare.h>

#include "graph_text.h"
#include "session_kit.h"

/* "NPU:0" and "NPU:1", as fakeacc:0 and fakeacc:1, and two more settings. */
static tfr_runtime *two_devices(const char *key, const char *value, const char *key_2,
                                const char *value_2)
{
    const tfr_option given[] = {{"fakeacc.devices", "2"}, {key, value}, {key_2, value_2}};
    return accelerator_runtime(given, !key ? 1 : !key_2 ? 2 : 3);
}

static tfr_session *new_session(tfr_runtime *runtime, tfr_graph *graph)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    options.passes = "none";
    options.fallback = TFR_FALLBACK_ALLOW;
    options.no_programs = 1;
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    return session;
}

/* A run gives what the graph without pins gives on naive. */
static void check_run(tfr_runtime *runtime, tfr_session *session, tfr_tensor *in,
                      const char *plain_text)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_graph *graph = graph_of_text(plain_text);
    tfr_session *here = NULL;
    tfr_tensor *want = NULL, *got = NULL;
    tfr_compare_report report = {.size = sizeof report};
    options.device = "naive:0";
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &here, &err), &err);
    REQUIRE_OK(tfr_session_run(here, &in, 1, &want, 1, &err), &err);
    REQUIRE_OK(tfr_session_run(session, &in, 1, &got, 1, &err), &err);
    CHECK(tfr_tensor_compare(want, got, 1e-5, 1e-6, &report));
    CHECK_STR("", report.text);
    tfr_tensor_release(want);
    tfr_tensor_release(got);
    tfr_session_destroy(here);
    tfr_graph_release(graph);
}

static const char from_one_to_the_other[] = "in x 4 4; a = Relu@NPU:0(x); out Mul@NPU:1(a,a)";
static const char plain_of_that[] = "in x 4 4; a = Relu(x); out Mul(a,a)";

TEST(a_value_goes_from_device_to_device_in_one_copy)
{
    for (int links = 0; links < 2; links++) {
        tfr_runtime *runtime = two_devices("fakeacc.links", links ? "1" : "0", NULL, NULL);
        tfr_graph *graph = graph_of_text(from_one_to_the_other);
        tfr_session *session = new_session(runtime, graph);
        tfr_tensor *in = random_input(graph, 0, 0, 3, -1, 1);
        check_run(runtime, session, in, plain_of_that);
        CHECK_STR("NPU:0", row_of(session, 0).device);
        CHECK_STR("NPU:1", row_of(session, 1).device);
        CHECK_UINT(links ? 1 : 2, row_of(session, 1).n_copies);
        CHECK_UINT(links ? 64 : 128, row_of(session, 1).copy_bytes);
        CHECK_UINT(links ? 3 : 4, stats_of(session).n_copies);
        CHECK_UINT(links ? 3 * 64 : 4 * 64, stats_of(session).copy_bytes);
        CHECK_STR("", breaches);
        end_session(runtime, graph, session, in);
    }
}

/* Both queues copy it from the host, and the host waits for neither in between. */
TEST(an_input_is_read_by_both_devices_without_a_wait)
{
    tfr_runtime *runtime = two_devices(NULL, NULL, NULL, NULL);
    tfr_graph *graph =
        graph_of_text("in x 4 4; a = Mul@NPU:0(x,x); b = Add@NPU:1(x,x); out Add@NPU:1(a,b)");
    tfr_session *session = new_session(runtime, graph);
    tfr_tensor *in = random_input(graph, 0, 0, 3, -1, 1);
    check_run(runtime, session, in, "in x 4 4; a = Mul(x,x); b = Add(x,x); out Add(a,b)");
    CHECK_UINT(4, stats_of(session).n_copies); /* x to both, a, and what comes out */
    CHECK_UINT(2, stats_of(session).n_waits);  /* at the end, one for each queue */
    CHECK_STR("", breaches);
    end_session(runtime, graph, session, in);
}

/* The number of events of a kind whose name begins like this. */
static uint32_t count_events(tfr_session *session, tfr_trace_kind kind, const char *name)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < tfr_trace_count(session, NULL); i++) {
        tfr_trace_event e = {.size = sizeof e};
        REQUIRE_OK(tfr_trace_get(session, i, &e, &err), &err);
        n += e.kind == (int32_t)kind && strncmp(e.name, name, strlen(name)) == 0;
    }
    return n;
}

TEST(values_that_are_there_together_are_waited_for_once_as_the_trace_shows)
{
    tfr_runtime *runtime = two_devices(NULL, NULL, NULL, NULL);
    tfr_graph *graph =
        graph_of_text("in x 4 4; a = Relu@NPU:0(x); b = Mul@NPU:0(a,x); out Add@NPU:1(a,b)");
    tfr_session *session = new_session(runtime, graph);
    tfr_tensor *in = random_input(graph, 0, 0, 3, -1, 1);
    REQUIRE_OK(tfr_trace_start(session, 0, &err), &err);
    check_run(runtime, session, in, "in x 4 4; a = Relu(x); b = Mul(a,x); out Add(a,b)");
    tfr_trace_stop(session);
    CHECK_UINT(2, count_events(session, TFR_TRACE_COPY, "copy from fakeacc:0"));
    CHECK_UINT(1, count_events(session, TFR_TRACE_COPY, "copy in"));
    CHECK_UINT(1, count_events(session, TFR_TRACE_ENQUEUE, "wait for fakeacc:0"));
    CHECK_STR("", breaches);
    end_session(runtime, graph, session, in);
}

/* The text with or without its pins, which are there as "@0" and "@1". */
static const char *pins(const char *text, bool are_wanted, char *out, size_t n)
{
    size_t used = 0;
    for (; *text && used + 8 < n; text++) {
        if (*text != '@')
            out[used++] = *text;
        else if (text++, are_wanted)
            used += (size_t)snprintf(out + used, n - used, "@NPU:%c", *text);
    }
    out[used] = 0;
    return out;
}

static uint64_t check_pinned(const char *text, const char *delay_us)
{
    char pinned[2048], plain[2048];
    tfr_runtime *runtime = two_devices("fakeacc.delay_us", delay_us, NULL, NULL);
    tfr_graph *graph = graph_of_text(pins(text, true, pinned, sizeof pinned));
    tfr_session *session = new_session(runtime, graph);
    for (uint64_t seed = 1; seed < 4; seed++) {
        tfr_tensor *in = random_input(graph, 0, 0, seed, -1, 1);
        check_run(runtime, session, in, pins(text, false, plain, sizeof plain));
        tfr_tensor_release(in);
    }
    const uint64_t bytes = stats_of(session).arena_bytes;
    CHECK_STR("", breaches);
    end_session(runtime, graph, session, NULL);
    return bytes;
}

/* What keeps the second device busy. */
#define LONG_WORK                                                                                  \
    "in x 4 4; b = Relu@1(Add@1(Relu@1(Add@1(Relu@1(Add@1(Relu@1(Add@1(x,x)),x)),x)),x)); "

/* The second device copies a late; meanwhile the first one has done with it. */
TEST(memory_that_a_device_still_copies_from_is_not_given_to_another_value)
{
    static const char *const delays[] = {"0", "50", "300"};
    for (int i = 0; i < 3; i++)
        check_pinned(LONG_WORK
                     "a = Mul@0(x,x); d = Add@1(b,a); e = MatMul@0(a,x); f = MatMul@0(e,x);"
                     "g = MatMul@0(f,x); h = MatMul@0(g,x); out Add@1(d,h)",
                     delays[i]);
}

TEST(memory_that_a_device_still_copies_from_is_not_written_in_place)
{
    static const char *const delays[] = {"0", "50", "300"};
    for (int i = 0; i < 3; i++)
        check_pinned(LONG_WORK "a = Mul@0(x,x); d = Add@1(b,a); e = Add@0(a,x); out Add@1(d,e)",
                     delays[i]);
}

/* v is updated on the first device, while the second one is about to copy what it was. */
TEST(a_variable_that_a_device_still_copies_is_not_written_over)
{
    tfr_runtime *runtime = two_devices("fakeacc.delay_us", "100", NULL, NULL);
    const float zeros[6] = {0};
    tfr_value x, v, b, u;
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *start = floats(2, two_by_three, zeros), *in = floats(2, two_by_three, six);
    REQUIRE_OK(tfr_graph_add_variable(graph, "v", start, &v, &err), &err);
    REQUIRE_OK(tfr_graph_push_device(graph, "NPU:1", &err), &err);
    b = x;
    for (int i = 0; i < 8; i++)
        b = binary(graph, "Add", b, x);
    output(graph, binary(graph, "Add", b, v));
    tfr_graph_pop_device(graph);
    REQUIRE_OK(tfr_graph_push_device(graph, "NPU:0", &err), &err);
    u = binary(graph, "Add", v, x);
    tfr_graph_pop_device(graph);
    REQUIRE_OK(tfr_graph_set_update(graph, v, u, &err), &err);
    tfr_session *session = new_session(runtime, graph);
    for (int run = 0; run < 5; run++) {
        tfr_tensor *out = NULL;
        REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
        for (int i = 0; i < 6; i++)
            CHECK_NEAR((9 + run) * six[i], ((const float *)tfr_tensor_data(out))[i], 0);
        tfr_tensor_release(out);
    }
    CHECK_UINT(1, row_of(session, 8).n_copies); /* v, from the other device */
    CHECK_STR("", breaches);
    tfr_tensor_release(start);
    end_session(runtime, graph, session, in);
}

/* Once the first device has waited for the second one, what that one copied may be used again. */
TEST(memory_is_used_again_after_the_next_wait_the_other_way)
{
    uint64_t bytes[2];
    for (uint32_t longer = 0; longer < 2; longer++) {
        char text[512] = "in x 16 16; a0 = Relu@0(x)";
        const uint32_t n = 4 + 4 * longer;
        size_t used = strlen(text);
        for (uint32_t i = 0; i < n; i++)
            used +=
                (size_t)snprintf(text + used, sizeof text - used,
                                 "; b%u = Mul@1(a%u,a%u); a%u = Relu@0(b%u)", i, i, i, i + 1, i);
        snprintf(text + used, sizeof text - used, "; out Add@0(a%u,x)", n);
        bytes[longer] = check_pinned(text, "20");
    }
    CHECK_UINT(bytes[0], bytes[1]);
}

/* With the launch in the error it is the node that is named, else the device. */
TEST(what_fails_on_one_device_fails_the_reader_on_the_other_in_its_words)
{
    for (int named = 0; named < 2; named++) {
        tfr_runtime *runtime =
            two_devices("fakeacc.fail_after", "0", "fakeacc.names_launch", named ? "1" : "0");
        tfr_graph *graph = graph_of_text(from_one_to_the_other);
        tfr_session *session = new_session(runtime, graph);
        tfr_tensor *in = random_input(graph, 0, 0, 3, -1, 1), *out = NULL;
        CHECK_STATUS(TFR_EDEVICE, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
        CHECK_STR(named
                      ? "node \"Relu_0\" (Relu) on fakeacc:0: launch 0 failed, as the option asked"
                      : "fakeacc:0: launch 0 failed, as the option asked",
                  err.text);
        /* The first launch of the second device was skipped, and fails now. */
        CHECK_STATUS(TFR_EDEVICE, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
        CHECK_STR(named ? "node \"Mul_1\" (Mul) on fakeacc:1: launch 0 failed, as the option asked"
                        : "fakeacc:1: launch 0 failed, as the option asked",
                  err.text);
        check_run(runtime, session, in, plain_of_that);
        CHECK_STR("", breaches);
        end_session(runtime, graph, session, in);
    }
}

/* The second device, which waits for the first one's hung launch, is free again with it. */
TEST(a_wait_for_a_device_that_hangs_ends_with_the_run)
{
    tfr_runtime *runtime = two_devices("fakeacc.hang_after", "0", "fakeacc.delay_us", "0");
    tfr_graph *graph = graph_of_text(from_one_to_the_other);
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    tfr_tensor *in = random_input(graph, 0, 0, 3, -1, 1), *out = NULL;
    options.passes = "none";
    options.no_programs = 1;
    options.timeout_ns = UINT64_C(300000000);
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    CHECK_STATUS(TFR_ETIMEOUT, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_STATUS(TFR_ETIMEOUT, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    check_run(runtime, session, in, plain_of_that); /* both have hung once */
    CHECK_STR("", breaches);
    end_session(runtime, graph, session, in);
}

TEST(of_two_devices_the_one_that_is_lost_goes)
{
    tfr_runtime *runtime = two_devices("fakeacc.lose_after", "1", NULL, NULL);
    tfr_graph *graph = graph_of_text(from_one_to_the_other);
    tfr_session *session = new_session(runtime, graph);
    tfr_tensor *in = random_input(graph, 0, 0, 3, -1, 1), *out = NULL;
    check_run(runtime, session, in, plain_of_that);
    CHECK_STATUS(TFR_ELOST, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_CONTAINS("fakeacc:0 is lost", err.text);
    CHECK_CONTAINS("device 0 is lost after 1 launches", err.text);
    /* The next run goes without it, and loses the second one. */
    CHECK_STATUS(TFR_ELOST, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_CONTAINS("fakeacc:1 is lost", err.text);
    CHECK_CONTAINS("device 1 is lost after 1 launches", err.text);
    check_run(runtime, session, in, plain_of_that);
    CHECK_UINT(0, stats_of(session).n_copies);
    CHECK_STR("", breaches);
    end_session(runtime, graph, session, in);
}

/* A linear congruential generator (Knuth, MMIX), so that the graphs are the same everywhere. */
static uint32_t random_below(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

/* 40 nodes on two devices, with a few on the host; pinned, or as naive would have it. */
static tfr_graph *random_graph(uint64_t seed, bool is_pinned, uint32_t *n_outputs)
{
    static const char *const ops[] = {"Relu", "Add", "Mul", "Tanh", "Add", "Relu"};
    static const char *const devices[] = {"NPU:0", "NPU:1"};
    tfr_value values[64];
    tfr_graph *graph = new_graph(1, values);
    uint32_t n = 1, device = 0;
    for (int i = 0; i < 40; i++) {
        const uint32_t from = n > 6 ? n - 6 : 0, op = random_below(&seed, 6);
        const tfr_value in[] = {values[from + random_below(&seed, n - from)],
                                values[random_below(&seed, n)]};
        const tfr_node_desc node = {.size = sizeof node,
                                    .op = ops[op],
                                    .inputs = in,
                                    .n_inputs = ops[op][0] == 'A' || ops[op][0] == 'M' ? 2 : 1,
                                    .n_outputs = 1,
                                    .device = !is_pinned || op == 3 ? NULL : devices[device]};
        REQUIRE_OK(tfr_graph_add_node(graph, &node, &values[n++], &err), &err);
        device ^= random_below(&seed, 3) == 0; /* some in a row on each */
    }
    *n_outputs = 3;
    for (uint32_t i = 0; i < *n_outputs; i++)
        output(graph, values[n - 1 - 4 * i]);
    return graph;
}

static void random_graphs(const char *key, const char *value, bool any_programs)
{
    tfr_runtime *runtime = two_devices("fakeacc.delay_us", "20", key, value);
    tfr_shape shape = {2, {6, 6}};
    tfr_tensor *in = random_floats(&shape, 7, -1, 1);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint32_t n;
        tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
        tfr_graph *pinned = random_graph(seed, true, &n), *plain = random_graph(seed, false, &n);
        tfr_session *here = NULL, *there = NULL;
        tfr_tensor *want[3], *got[3];
        options.passes = "none";
        options.no_programs = !any_programs;
        REQUIRE_OK(tfr_session_create(runtime, pinned, &options, &there, &err), &err);
        options.device = "naive:0";
        REQUIRE_OK(tfr_session_create(runtime, plain, &options, &here, &err), &err);
        REQUIRE_OK(tfr_session_run(here, &in, 1, want, n, &err), &err);
        for (int round = 0; round < 4; round++) {
            REQUIRE_OK(tfr_session_run(there, &in, 1, got, n, &err), &err);
            for (uint32_t i = 0; i < n; i++) {
                tfr_compare_report report = {.size = sizeof report};
                CHECK(tfr_tensor_compare(want[i], got[i], 1e-5, 1e-6, &report));
                CHECK_STR("", report.text);
                tfr_tensor_release(got[i]);
            }
        }
        for (uint32_t i = 0; i < n; i++)
            tfr_tensor_release(want[i]);
        tfr_session_destroy(here);
        tfr_session_destroy(there);
        tfr_graph_release(pinned);
        tfr_graph_release(plain);
    }
    CHECK_STR("", breaches);
    tfr_tensor_release(in);
    tfr_runtime_release(runtime);
}

TEST(random_graphs_on_two_linked_devices_give_what_the_host_gives)
{
    random_graphs(NULL, NULL, false);
}

TEST(random_graphs_on_two_devices_without_a_link_give_what_the_host_gives)
{
    random_graphs("fakeacc.links", "0", false);
}

TEST(copies_between_memories_of_handles_have_offsets)
{
    random_graphs("fakeacc.handles", "1", false);
}

TEST(programs_and_layouts_on_two_linked_devices_give_what_the_host_gives)
{
    random_graphs("fakeacc.programs", "1", true);
    random_graphs("fakeacc.programs", "2", true);
}

static const test_case cases[] = {
    CASE(a_value_goes_from_device_to_device_in_one_copy),
    CASE(an_input_is_read_by_both_devices_without_a_wait),
    CASE(values_that_are_there_together_are_waited_for_once_as_the_trace_shows),
    CASE(memory_that_a_device_still_copies_from_is_not_given_to_another_value),
    CASE(memory_that_a_device_still_copies_from_is_not_written_in_place),
    CASE(a_variable_that_a_device_still_copies_is_not_written_over),
    CASE(memory_is_used_again_after_the_next_wait_the_other_way),
    CASE(what_fails_on_one_device_fails_the_reader_on_the_other_in_its_words),
    CASE(a_wait_for_a_device_that_hangs_ends_with_the_run),
    CASE(of_two_devices_the_one_that_is_lost_goes),
    CASE(random_graphs_on_two_linked_devices_give_what_the_host_gives),
    CASE(random_graphs_on_two_devices_without_a_link_give_what_the_host_gives),
    CASE(copies_between_memories_of_handles_have_offsets),
    CASE(programs_and_layouts_on_two_linked_devices_give_what_the_host_gives),
};
TEST_MAIN(cases)
