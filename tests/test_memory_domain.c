/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One device with two backends that share its memory: two plugins of one driver, which the fake
 * accelerator plays. With one domain each reads what the other has computed where it lies, in
 * order; with two everything goes through the host. The accelerator logs an error if memory is
 * freed that a queue of either still uses, and its freed memory holds no numbers of use.
 */
#include <tfrun/compare.h>

#include "graph_text.h"
#include "session_kit.h"

static int n_constants; /* allocations for them */

static void count_constants(const char *text)
{
    n_constants += strstr(text, "bytes for constants") != NULL;
}

/* fakeacc:0 and fakeacc2:0 with memory of these domains; settings are for both. */
static tfr_runtime *two_backends(const char *domain, const char *domain_2,
                                 const char *const (*settings)[2], uint32_t n)
{
    tfr_option given[16] = {{"fakeacc.domain", domain}, {"fakeacc2.domain", domain_2}};
    char paths[2][1024], keys[12][64];
    const char *files[] = {paths[0], paths[1]}, *build = getenv("TFR_BUILDDIR");
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    tfr_runtime *runtime = NULL;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t p = 0; p < 2; p++) {
            snprintf(keys[2 * i + p], 64, "fakeacc%s.%s", p ? "2" : "", settings[i][0]);
            given[2 + 2 * i + p] = (tfr_option){keys[2 * i + p], settings[i][1]};
        }
    for (uint32_t p = 0; p < 2; p++)
        snprintf(paths[p], sizeof paths[p], "%s/tests/fakeacc%s/.libs/fakeacc%s.so",
                 build ? build : ".", p ? "2" : "", p ? "2" : "");
    options.plugin_files = files;
    options.n_plugin_files = 2;
    options.options = given;
    options.n_options = 2 + 2 * n;
    options.log = note_breach;
    options.log_level = TFR_LOG_DEBUG;
    breaches[0] = '\0';
    REQUIRE_OK(tfr_runtime_create(&options, &runtime, &err), &err);
    return runtime;
}

static tfr_session *new_session(tfr_runtime *runtime, tfr_graph *graph, uint64_t timeout_ns)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    options.passes = "none";
    options.fallback = TFR_FALLBACK_ALLOW;
    options.no_programs = 1;
    options.timeout_ns = timeout_ns;
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

static const char from_one_to_the_other[] =
    "in x 4 4; a = Relu@fakeacc:0(x); out Mul@fakeacc2:0(a,a)";
static const char plain_of_that[] = "in x 4 4; a = Relu(x); out Mul(a,a)";

TEST(a_value_is_read_where_it_lies_in_one_domain_and_copied_in_two)
{
    for (int shared = 0; shared < 2; shared++) {
        tfr_runtime *runtime = two_backends("1", shared ? "1" : "2", NULL, 0);
        tfr_graph *graph = graph_of_text(from_one_to_the_other);
        tfr_session *session = new_session(runtime, graph, 0);
        tfr_tensor *in = random_input(graph, 0, 0, 3, -1, 1);
        CHECK_UINT(2, tfr_runtime_n_devices(runtime)); /* the processor, and this one */
        check_run(runtime, session, in, plain_of_that);
        CHECK_STR("fakeacc:0", row_of(session, 0).backend);
        CHECK_STR("fakeacc2:0", row_of(session, 1).backend);
        CHECK_UINT(shared ? 0 : 2, row_of(session, 1).n_copies);
        CHECK_UINT(shared ? 0 : 128, row_of(session, 1).copy_bytes);
        CHECK_UINT(shared ? 2 : 4, stats_of(session).n_copies); /* in and out */
        CHECK_UINT(2, stats_of(session).n_waits);               /* between them, and at the end */
        CHECK_STR("", breaches);
        end_session(runtime, graph, session, in);
    }
}

TEST(one_device_may_have_several_identities)
{
    for (int uuid = 0; uuid < 2; uuid++) {
        const char *const one[][2] = {{"devices", "2"}};
        const char *const both[][2] = {{"devices", "2"}, {"uuid", "1"}};
        tfr_runtime *runtime = two_backends("1", "1", uuid ? both : one, 1 + (uint32_t)uuid);
        tfr_device_desc device = {.size = sizeof device};
        CHECK_UINT(3, tfr_runtime_n_devices(runtime));
        REQUIRE_OK(tfr_runtime_device(runtime, 2, &device, &err), &err);
        CHECK_STR(uuid ? "uuid:1" : "fake:1", device.identity);
        CHECK_UINT(2, device.n_backends);
        tfr_runtime_release(runtime);
    }
}

/* One plugin knows the device by a text of its own, and by the other's. */
TEST(a_text_of_the_list_is_enough_to_be_one_device)
{
    tfr_option given[] = {
        {"fakeacc.devices", "2"}, {"fakeacc2.devices", "2"}, {"fakeacc2.uuid", "1"}};
    char paths[2][1024];
    const char *files[] = {paths[0], paths[1]}, *build = getenv("TFR_BUILDDIR");
    for (uint32_t first = 0; first < 2; first++) { /* whose text the device has */
        tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
        tfr_device_desc device = {.size = sizeof device};
        tfr_runtime *runtime = NULL;
        given[2].key = first ? "fakeacc.uuid" : "fakeacc2.uuid";
        for (uint32_t p = 0; p < 2; p++)
            snprintf(paths[p], sizeof paths[p], "%s/tests/fakeacc%s/.libs/fakeacc%s.so",
                     build ? build : ".", p ? "2" : "", p ? "2" : "");
        options.plugin_files = files;
        options.n_plugin_files = 2;
        options.options = given;
        options.n_options = 3;
        REQUIRE_OK(tfr_runtime_create(&options, &runtime, &err), &err);
        CHECK_UINT(3, tfr_runtime_n_devices(runtime));
        REQUIRE_OK(tfr_runtime_device(runtime, 1, &device, &err), &err);
        CHECK_STR(first ? "uuid:0" : "fake:0", device.identity);
        CHECK_UINT(2, device.n_backends);
        tfr_runtime_release(runtime);
    }
}

/* Each weight is there once, and read by both. */
TEST(a_constant_is_there_once_in_one_domain)
{
    static const char text[] = "in x 4 4; const w 4 4; a = Mul@fakeacc:0(x,w); "
                               "out Add@fakeacc2:0(a,w)";
    log_reader = count_constants;
    for (int shared = 0; shared < 2; shared++) {
        tfr_runtime *runtime = two_backends("1", shared ? "1" : "2", NULL, 0);
        tfr_graph *graph = graph_of_text(text);
        tfr_session *session = new_session(runtime, graph, 0);
        tfr_tensor *in = random_input(graph, 0, 0, 3, -1, 1);
        n_constants = 0;
        check_run(runtime, session, in, "in x 4 4; const w 4 4; a = Mul(x,w); out Add(a,w)");
        CHECK_INT(shared ? 1 : 2, n_constants);
        CHECK_STR("", breaches);
        end_session(runtime, graph, session, in);
    }
    log_reader = NULL;
}

/* The graph, with @0 and @1 for the backends, gives what it gives without pins. */
static void check_pinned(const char *text, const char *delay)
{
    char pinned[1024], plain[1024];
    const char *const settings[][2] = {{"delay_us", delay}};
    tfr_runtime *runtime = two_backends("1", "1", settings, 1);
    size_t n = 0, k = 0;
    for (const char *p = text; *p; p++) {
        if (*p == '@')
            n += (size_t)snprintf(pinned + n, sizeof pinned - n, "@fakeacc%s:0",
                                  *++p == '1' ? "2" : "");
        else
            pinned[n++] = plain[k++] = *p;
    }
    pinned[n] = plain[k] = '\0';
    tfr_graph *graph = graph_of_text(pinned);
    tfr_session *session = new_session(runtime, graph, 0);
    for (uint64_t run = 0; run < 5; run++) {
        tfr_tensor *in = random_input(graph, 0, 0, 3 + run, -1, 1);
        check_run(runtime, session, in, plain);
        tfr_tensor_release(in);
    }
    CHECK_UINT(2, stats_of(session).n_copies);
    CHECK_STR("", breaches);
    end_session(runtime, graph, session, NULL);
}

/* What keeps the second backend busy. */
#define LONG_WORK                                                                                  \
    "in x 4 4; b = Relu@1(Add@1(Relu@1(Add@1(Relu@1(Add@1(Relu@1(Add@1(x,x)),x)),x)),x)); "

/* The second one reads a late; meanwhile the first one has done with it. */
TEST(memory_that_the_other_still_reads_is_not_given_to_another_value)
{
    static const char *const delays[] = {"0", "50", "300"};
    for (int i = 0; i < 3; i++)
        check_pinned(LONG_WORK
                     "a = Mul@0(x,x); d = Add@1(b,a); e = MatMul@0(a,x); f = MatMul@0(e,x);"
                     "g = MatMul@0(f,x); h = MatMul@0(g,x); out Add@1(d,h)",
                     delays[i]);
}

TEST(memory_that_the_other_still_reads_is_not_written_in_place)
{
    static const char *const delays[] = {"0", "50", "300"};
    for (int i = 0; i < 3; i++)
        check_pinned(LONG_WORK "a = Mul@0(x,x); d = Add@1(b,a); e = Add@0(a,x); out Add@1(d,e)",
                     delays[i]);
}

/* v is updated by the first one, while the second one is about to read what it was. */
TEST(a_variable_that_the_other_still_reads_is_not_written_over)
{
    const char *const settings[][2] = {{"delay_us", "100"}};
    tfr_runtime *runtime = two_backends("1", "1", settings, 1);
    const float zeros[6] = {0};
    tfr_value x, v, b, u;
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *start = floats(2, two_by_three, zeros), *in = floats(2, two_by_three, six);
    REQUIRE_OK(tfr_graph_add_variable(graph, "v", start, &v, &err), &err);
    REQUIRE_OK(tfr_graph_push_device(graph, "fakeacc2:0", &err), &err);
    b = x;
    for (int i = 0; i < 8; i++)
        b = binary(graph, "Add", b, x);
    output(graph, binary(graph, "Add", b, v));
    tfr_graph_pop_device(graph);
    REQUIRE_OK(tfr_graph_push_device(graph, "fakeacc:0", &err), &err);
    u = binary(graph, "Add", v, x);
    tfr_graph_pop_device(graph);
    REQUIRE_OK(tfr_graph_set_update(graph, v, u, &err), &err);
    tfr_session *session = new_session(runtime, graph, 0);
    for (int run = 0; run < 5; run++) {
        tfr_tensor *out = NULL;
        REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
        for (int i = 0; i < 6; i++)
            CHECK_NEAR((9 + run) * six[i], ((const float *)tfr_tensor_data(out))[i], 0);
        tfr_tensor_release(out);
    }
    CHECK_UINT(0, row_of(session, 8).n_copies);
    CHECK_STR("", breaches);
    tfr_tensor_release(start);
    end_session(runtime, graph, session, in);
}

/* The next run goes without it: its memory is none of the other's. */
TEST(of_two_backends_the_one_that_is_lost_goes_with_its_memory)
{
    const char *const settings[][2] = {{"lose_after", "2"}};
    tfr_runtime *runtime = two_backends("1", "1", settings, 1);
    tfr_graph *graph = graph_of_text("in x 4 4; a = Relu@fakeacc:0(x); b = Relu@fakeacc:0(a); "
                                     "out Mul@fakeacc2:0(b,b)");
    tfr_session *session = new_session(runtime, graph, 0);
    tfr_tensor *in = random_input(graph, 0, 0, 3, -1, 1), *out = NULL;
    check_run(runtime, session, in, plain_of_that);
    CHECK_STATUS(TFR_ELOST, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_CONTAINS("fakeacc:0 is lost", err.text);
    CHECK_STATUS(TFR_ELOST, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_CONTAINS("fakeacc2:0 is lost", err.text); /* it has had one, and takes all three now */
    check_run(runtime, session, in, plain_of_that);
    CHECK_UINT(0, stats_of(session).n_copies);
    CHECK_STR("", breaches);
    end_session(runtime, graph, session, in);
}

/* The second one hangs while it reads the first one's memory, which stays, with its device. */
TEST(work_that_does_not_end_keeps_the_memory_of_the_other)
{
    const char *const settings[][2] = {{"hang_after", "1"}, {"abort", "0"}};
    tfr_runtime *runtime = two_backends("1", "1", settings, 2);
    tfr_graph *graph = graph_of_text("in x 4 4; a = Relu@fakeacc:0(x); b = Mul@fakeacc2:0(a,a); "
                                     "out Mul@fakeacc2:0(b,a)");
    tfr_session *session = new_session(runtime, graph, UINT64_C(300000000));
    tfr_tensor *in = random_input(graph, 0, 0, 3, -1, 1), *out = NULL;
    CHECK_STATUS(TFR_ETIMEOUT, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_CONTAINS("(fakeacc2:0)", err.text);
    end_session(runtime, graph, session, in);
    CHECK_STR("", breaches);
}

/* A linear congruential generator (Knuth, MMIX), so that the graphs are the same everywhere. */
static uint32_t random_below(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

/* 40 nodes on two backends, and, with hosts, a few on the host; pinned, or as naive has it. */
static tfr_graph *random_graph(uint64_t seed, bool is_pinned, bool hosts)
{
    static const char *const ops[] = {"Relu", "Add", "Mul", "Tanh", "Add", "Relu"};
    static const char *const backends[] = {"fakeacc:0", "fakeacc2:0"};
    tfr_value values[64];
    tfr_graph *graph = new_graph(1, values);
    uint32_t n = 1, backend = 0;
    for (int i = 0; i < 40; i++) {
        const uint32_t from = n > 6 ? n - 6 : 0, drawn = random_below(&seed, 6);
        const uint32_t op = drawn == 3 && !hosts ? 1 : drawn;
        const tfr_value in[] = {values[from + random_below(&seed, n - from)],
                                values[random_below(&seed, n)]};
        const tfr_node_desc node = {.size = sizeof node,
                                    .op = ops[op],
                                    .inputs = in,
                                    .n_inputs = ops[op][0] == 'A' || ops[op][0] == 'M' ? 2 : 1,
                                    .n_outputs = 1,
                                    .device = !is_pinned || op == 3 ? NULL : backends[backend]};
        REQUIRE_OK(tfr_graph_add_node(graph, &node, &values[n++], &err), &err);
        backend ^= random_below(&seed, 3) == 0; /* some in a row on each */
    }
    for (uint32_t i = 0; i < 3; i++)
        output(graph, values[n - 1 - 4 * i]);
    return graph;
}

static void random_graphs(const char *const (*settings)[2], uint32_t n, bool hosts, bool programs)
{
    tfr_runtime *runtime = two_backends("1", "1", settings, n);
    tfr_shape shape = {2, {6, 6}};
    tfr_tensor *in = random_floats(&shape, 7, -1, 1);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
        tfr_graph *pinned = random_graph(seed, true, hosts);
        tfr_graph *plain = random_graph(seed, false, hosts);
        tfr_session *here = NULL, *there = NULL;
        tfr_tensor *want[3], *got[3];
        options.passes = "none";
        options.no_programs = !programs;
        REQUIRE_OK(tfr_session_create(runtime, pinned, &options, &there, &err), &err);
        options.device = "naive:0";
        REQUIRE_OK(tfr_session_create(runtime, plain, &options, &here, &err), &err);
        REQUIRE_OK(tfr_session_run(here, &in, 1, want, 3, &err), &err);
        for (int round = 0; round < 4; round++) {
            REQUIRE_OK(tfr_session_run(there, &in, 1, got, 3, &err), &err);
            for (uint32_t i = 0; i < 3; i++) {
                tfr_compare_report report = {.size = sizeof report};
                CHECK(tfr_tensor_compare(want[i], got[i], 1e-5, 1e-6, &report));
                CHECK_STR("", report.text);
                tfr_tensor_release(got[i]);
            }
        }
        if (!hosts) /* in, and what comes out */
            CHECK_UINT(4, stats_of(there).n_copies);
        for (uint32_t i = 0; i < 3; i++)
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

TEST(random_graphs_on_two_backends_give_what_the_host_gives_without_a_copy)
{
    static const char *const settings[][2] = {{"delay_us", "20"}};
    random_graphs(settings, 1, false, false);
    random_graphs(settings, 1, true, false);
}

TEST(random_graphs_are_right_with_every_hostile_switch)
{
    static const char *const settings[][2] = {{"delay_us", "20"}, {"handles", "1"},
                                              {"pinned", "1"},    {"transfer", "1"},
                                              {"consume", "1"},   {"pageable_blocks", "1"}};
    for (uint32_t n = 2; n <= 6; n++)
        random_graphs(settings, n, n & 1, false);
}

TEST(random_graphs_are_right_with_programs_and_layouts)
{
    static const char *const one[][2] = {{"delay_us", "20"}, {"programs", "1"}};
    static const char *const each[][2] = {{"delay_us", "20"}, {"programs", "2"}};
    random_graphs(one, 2, true, true);
    random_graphs(each, 2, true, true);
}

static const test_case cases[] = {
    CASE(a_value_is_read_where_it_lies_in_one_domain_and_copied_in_two),
    CASE(one_device_may_have_several_identities),
    CASE(a_text_of_the_list_is_enough_to_be_one_device),
    CASE(a_constant_is_there_once_in_one_domain),
    CASE(memory_that_the_other_still_reads_is_not_given_to_another_value),
    CASE(memory_that_the_other_still_reads_is_not_written_in_place),
    CASE(a_variable_that_the_other_still_reads_is_not_written_over),
    CASE(of_two_backends_the_one_that_is_lost_goes_with_its_memory),
    CASE(work_that_does_not_end_keeps_the_memory_of_the_other),
    CASE(random_graphs_on_two_backends_give_what_the_host_gives_without_a_copy),
    CASE(random_graphs_are_right_with_every_hostile_switch),
    CASE(random_graphs_are_right_with_programs_and_layouts),
};
TEST_MAIN(cases)
