/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of core/plan/plan_cost.c and plan_sample.c: what nodes take is measured in the first runs
 * and kept, and nodes go where they are cheapest, on the reference backend and the fake
 * accelerator. Prices are put into the store, so that no test depends on a clock.
 */
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "graph_text.h"
#include "device/loader.h"
#include "run/session.h"
#include "plan/plan_cost.h"
#include "session_kit.h"
#include "temp_path.h"

enum { MOST_NODES = 8 };

/* The accelerator's latency is 1 us. Without another setting the host's fast backends are off. */
static tfr_runtime *runtime_with(const char *key, const char *value)
{
    static char store[256];
    const tfr_option given[] = {{"fakeacc.delay_us", "1"},
                                {"tuning", store},
                                {key ? key : "disable", key ? value : "native,onednn"}};
    snprintf(store, sizeof store, "%s", temp_path("store"));
    return accelerator_runtime(given, 3);
}

static void end(tfr_runtime *runtime, tfr_graph *graph)
{
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    temp_drop("store");
}

/* A session with the plan for the graph's own shape. */
static tfr_session *planned(tfr_runtime *runtime, tfr_graph *graph, const char *device)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    tfr_tensor *in = random_input(graph, 0, 0, 3, -1, 1);
    options.device = device;
    options.passes = "none";
    options.no_programs = 1;
    options.fallback = TFR_FALLBACK_ALLOW;
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    REQUIRE_OK(tfr_session_prepare(session, &in, 1, &err), &err);
    tfr_tensor_release(in);
    return session;
}

static void run(tfr_session *session, uint32_t times)
{
    tfr_shape shape = {2, {16, 16}};
    tfr_tensor *in = random_floats(&shape, 3, -1, 1), *out[MOST_NODES];
    for (uint32_t i = 0; i < times; i++) {
        REQUIRE_OK(tfr_session_run(session, &in, 1, out, session->graph->n_outputs, &err), &err);
        for (uint32_t k = 0; k < session->graph->n_outputs; k++)
            tfr_tensor_release(out[k]);
    }
    tfr_tensor_release(in);
}

/* As if the nodes had been measured on this device; 0 = not. */
static void put_prices(tfr_runtime *runtime, tfr_graph *graph, const char *device,
                       const uint64_t *ns)
{
    tfr_session *session = planned(runtime, graph, device);
    REQUIRE_INT(1, session->n_used);
    for (uint32_t i = 0; i < session->used[0]->n_placed; i++)
        if (ns[i])
            tfr__tuning_put(&runtime->tuning, session->used[0]->placed[i].key, &ns[i],
                            sizeof ns[i]);
    tfr_session_destroy(session);
}

/* A letter for each node: C or N. */
static const char *places(tfr_runtime *runtime, tfr_graph *graph, const char *device)
{
    static char text[MOST_NODES + 1];
    tfr_session *session = planned(runtime, graph, device);
    uint32_t n = tfr_session_n_placements(session);
    memset(text, 0, sizeof text);
    for (uint32_t i = 0; i < n; i++)
        text[i] = row_of(session, i).device[0];
    tfr_session_destroy(session);
    return text;
}

TEST(times_of_the_first_runs_are_kept_and_the_next_session_has_them)
{
    tfr_runtime *runtime = runtime_with(NULL, NULL);
    tfr_graph *graph = graph_of_text("in x 16 16; y = Relu(x); out Add(y,x)");
    tfr_session *session = planned(runtime, graph, "CPU:0");
    uint64_t ns;
    CHECK_UINT(0, row_of(session, 0).time_measured);
    CHECK(row_of(session, 0).time_ns > 0);
    run(session, TFR__SAMPLED_RUNS - 1);
    CHECK_UINT(0, row_of(session, 0).time_measured);
    CHECK(session->used[0]->watch & TFR__WATCH_SAMPLES);
    run(session, 1);
    CHECK_UINT(1, row_of(session, 0).time_measured);
    CHECK_UINT(0, session->used[0]->watch); /* no clock from now on */
    CHECK(session->used[0]->sample_ns == NULL);
    ns = row_of(session, 1).time_ns;
    CHECK(ns > 0);
    tfr_session_destroy(session); /* saves */
    tfr_runtime_release(runtime);
    runtime = runtime_with(NULL, NULL);
    session = planned(runtime, graph, "CPU:0");
    CHECK_UINT(1, row_of(session, 1).time_measured);
    CHECK_UINT(ns, row_of(session, 1).time_ns);
    CHECK_UINT(0, session->used[0]->watch);
    tfr_session_destroy(session);
    end(runtime, graph);
}

/* The first run fills caches. Times that no clock gives stand for those of other runs. */
TEST(of_all_runs_but_the_first_the_least_time_is_kept)
{
    tfr_runtime *runtime = runtime_with(NULL, NULL);
    tfr_graph *graph = graph_of_text("in x 16 16; y = Relu(x); out Add(y,x)");
    tfr_session *session = planned(runtime, graph, "CPU:0");
    uint64_t *ns = session->used[0]->sample_ns;
    uint32_t n = session->used[0]->n_steps;
    run(session, 1);
    for (uint32_t i = 0; i < n; i++) {
        CHECK_UINT(0, ns[i]);
        ns[i] = i % 2 ? 1 : UINT64_MAX;
    }
    run(session, 1);
    for (uint32_t i = 0; i < n; i++)
        CHECK(i % 2 ? ns[i] <= 1 : ns[i] < UINT64_MAX);
    tfr_session_destroy(session);
    end(runtime, graph);
}

/* How many of 30 runs are timed in which the shape of x is never that of another run. */
static uint32_t count_timed(const char *text, bool ranks_change)
{
    tfr_runtime *runtime = runtime_with(NULL, NULL);
    tfr_graph *graph = graph_of_text(text);
    tfr_session *session = NULL;
    uint32_t n_timed = 0;
    REQUIRE_OK(tfr_session_create(runtime, graph, NULL, &session, &err), &err);
    for (int64_t n = 30; n < 60; n++) { /* none has twice as much to do as another */
        const tfr_shape shape = {ranks_change ? (int32_t)(1 + n % 2) : 1, {n, 1}};
        tfr_tensor *in = random_floats(&shape, 3, -1, 1), *out = NULL;
        REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
        n_timed += session->used[0]->sampling > 0;
        tfr_tensor_release(out);
        tfr_tensor_release(in);
    }
    tfr_session_destroy(session);
    end(runtime, graph);
    return n_timed;
}

TEST(a_graph_of_ever_new_shapes_is_not_timed_for_ever)
{
    CHECK_UINT(8, count_timed("in x *; y = Relu(x); out Add(y,x)", true));
}

TEST(a_plan_that_is_made_from_another_is_not_timed)
{
    CHECK_UINT(1, count_timed("in x ?; y = Relu(x); out Add(y,x)", false));
}

TEST(without_a_store_no_run_is_timed)
{
    tfr_runtime *runtime = NULL;
    tfr_graph *graph = graph_of_text("in x 16 16; out Relu(x)");
    const tfr_option off = {"tuning", "off"};
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    options.options = &off;
    options.n_options = 1;
    REQUIRE_OK(tfr_runtime_create(&options, &runtime, &err), &err);
    tfr_session *session = planned(runtime, graph, "CPU:0");
    CHECK_UINT(0, session->used[0]->watch & TFR__WATCH_SAMPLES);
    run(session, TFR__SAMPLED_RUNS);
    CHECK_UINT(0, row_of(session, 0).time_measured);
    tfr_session_destroy(session);
    end(runtime, graph);
}

TEST(a_binding_and_an_accelerator_are_timed_too)
{
    tfr_runtime *runtime = runtime_with(NULL, NULL);
    tfr_graph *graph = graph_of_text("in x 16 16; out Relu(x)");
    tfr_session *session = planned(runtime, graph, "NPU:0");
    tfr_shape shape = {2, {16, 16}};
    tfr_tensor *in = random_floats(&shape, 3, -1, 1), *out = random_floats(&shape, 3, 0, 1);
    tfr_binding *binding = NULL;
    REQUIRE_OK(tfr_binding_create(session, &in, 1, &out, 1, &binding, &err), &err);
    for (uint32_t i = 0; i < TFR__SAMPLED_RUNS; i++)
        REQUIRE_OK(tfr_binding_run(binding, &err), &err);
    tfr_binding_destroy(binding);
    tfr_session_destroy(session);
    session = planned(runtime, graph, "NPU:0");
    CHECK_UINT(1, row_of(session, 0).time_measured);
    CHECK(row_of(session, 0).time_ns >= 1000); /* the launch is waited for */
    tfr_session_destroy(session);
    tfr_tensor_release(in);
    tfr_tensor_release(out);
    end(runtime, graph);
}

TEST(nodes_go_where_they_were_measured_to_be_cheapest_and_say_so)
{
    static const uint64_t here[] = {900000, 900000}, there[] = {2000, 2000};
    tfr_runtime *runtime = runtime_with(NULL, NULL);
    tfr_graph *graph = graph_of_text("in x 16 16; y = Relu(x); out Add(y,x)");
    put_prices(runtime, graph, "CPU:0", here);
    put_prices(runtime, graph, "NPU:0", there);
    CHECK_STR("NN", places(runtime, graph, NULL));
    CHECK_STR("NN", places(runtime, graph, NULL)); /* equal knowledge */
    tfr_session *session = planned(runtime, graph, NULL);
    CHECK_CONTAINS("moved from naive:0 by price, copies included: 900000 ns there (measured), "
                   "2000 ns here (measured)",
                   row_of(session, 0).text);
    CHECK_UINT(2000, row_of(session, 0).time_ns);
    CHECK_UINT(1, row_of(session, 0).time_measured);
    CHECK_UINT(0, row_of(session, 0).fallback);
    run(session, 2);
    tfr_session_destroy(session);
    end(runtime, graph);
}

TEST(a_view_between_nodes_that_are_moved_has_no_backend)
{
    static const uint64_t here[] = {900000, 0, 900000}, there[] = {2000, 0, 2000};
    tfr_runtime *runtime = runtime_with(NULL, NULL);
    tfr_graph *graph = graph_of_text("in x 16 16; y = Reshape(Relu(x),[4,64]); out Add(y,y)");
    put_prices(runtime, graph, "CPU:0", here);
    put_prices(runtime, graph, "NPU:0", there);
    tfr_session *session = planned(runtime, graph, NULL);
    CHECK_STR("NPU:0", row_of(session, 0).device);
    CHECK_STR("", row_of(session, 1).device);
    CHECK_STR("NPU:0", row_of(session, 2).device);
    run(session, 2);
    tfr_session_destroy(session);
    end(runtime, graph);
}

TEST(a_node_between_dear_copies_stays)
{
    static const uint64_t here[] = {100, 3000, 100}, there[] = {90000, 100, 90000};
    tfr_runtime *runtime = runtime_with(NULL, NULL);
    tfr_graph *graph = graph_of_text("in x 16 16; out Relu(Relu(Relu(x)))");
    put_prices(runtime, graph, "CPU:0", here);
    put_prices(runtime, graph, "NPU:0", there);
    CHECK_STR("CCC", places(runtime, graph, NULL));
    end(runtime, graph);
}

/* Between two devices of its plugin a node has the price of their link, not of two to the host. */
TEST(a_link_between_devices_has_its_own_price)
{
    static const uint64_t here[] = {0, 500, 0}, there[] = {0, 2500, 0};
    setenv("TFRUN_DISABLE", "native,onednn", 1);
    for (int links = 0; links < 2; links++) {
        char store[256];
        const tfr_option given[] = {{"fakeacc.delay_us", "1"},
                                    {"tuning", store},
                                    {"fakeacc.devices", "2"},
                                    {"fakeacc.links", links ? "1" : "0"}};
        snprintf(store, sizeof store, "%s", temp_path("store"));
        tfr_runtime *runtime = accelerator_runtime(given, 4);
        tfr_graph *graph =
            graph_of_text("in x 16 16; a = Relu@NPU:0(x); b = Mul(a,a); out Relu@NPU:1(b)");
        put_prices(runtime, graph, "CPU:0", here);
        put_prices(runtime, graph, "NPU:0", there);
        CHECK_STR(links ? "NNN" : "NCN", places(runtime, graph, NULL));
        end(runtime, graph);
    }
    unsetenv("TFRUN_DISABLE");
}

TEST(a_saving_below_a_twentieth_moves_nothing)
{
    static const uint64_t here[] = {100000}, there[] = {93000};
    tfr_runtime *runtime = runtime_with(NULL, NULL);
    tfr_graph *graph = graph_of_text("in x 16 16; out Relu(x)");
    put_prices(runtime, graph, "CPU:0", here);
    put_prices(runtime, graph, "NPU:0", there);
    CHECK_STR("C", places(runtime, graph, NULL));
    end(runtime, graph);
}

TEST(a_first_choice_that_nobody_measured_is_not_left_for_what_is_measured)
{
    static const uint64_t there[] = {1};
    tfr_runtime *runtime = runtime_with(NULL, NULL);
    tfr_graph *graph = graph_of_text("in x 16 16; out Relu(x)");
    put_prices(runtime, graph, "NPU:0", there);
    CHECK_STR("C", places(runtime, graph, NULL));
    end(runtime, graph);
}

/* Nobody has measured anything, and the accelerator's plugin is not loaded yet. */
TEST(an_accelerator_with_a_kernel_beats_the_reference_where_there_is_much_to_do)
{
    tfr_runtime *runtime = runtime_with(NULL, NULL);
    tfr_graph *small = graph_of_text("in x 16 16; y = MatMul(x,x); out Relu(y)");
    tfr_graph *large = graph_of_text("in x 256 256; y = MatMul(x,x); out Relu(y)");
    CHECK_STR("CC", places(runtime, small, NULL));
    CHECK_STR("NN", places(runtime, large, NULL));
    tfr_graph_release(small);
    end(runtime, large);
}

TEST(what_the_user_names_or_pins_stays)
{
    static const uint64_t dear[] = {900000, 900000}, cheap[] = {2000, 2000};
    tfr_runtime *runtime = runtime_with(NULL, NULL);
    tfr_graph *graph = graph_of_text("in x 16 16; y = Relu@naive:0(x); out Relu(y)");
    tfr_graph *free_graph = graph_of_text("in x 16 16; y = Relu(x); out Relu(y)");
    put_prices(runtime, free_graph, "CPU:0", dear);
    put_prices(runtime, free_graph, "NPU:0", cheap);
    CHECK_STR("NN", places(runtime, free_graph, NULL));
    CHECK_STR("CC", places(runtime, free_graph, "CPU:0"));
    CHECK_STR("CN", places(runtime, graph, NULL));
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    tfr_shape shape = {2, {16, 16}};
    tfr_tensor *in = random_floats(&shape, 3, -1, 1);
    options.fallback = TFR_FALLBACK_ERROR;
    REQUIRE_OK(tfr_session_create(runtime, free_graph, &options, &session, &err), &err);
    REQUIRE_OK(tfr_session_prepare(session, &in, 1, &err), &err);
    CHECK_STR("CPU:0", row_of(session, 0).device);
    tfr_session_destroy(session);
    tfr_tensor_release(in);
    tfr_graph_release(graph);
    end(runtime, free_graph);
}

static int32_t refuse(tfr_plugin_device *device, const tfr_call *call,
                      const tfr_prepare_options *options, tfr_kernel **out, tfr_kernel_info *info,
                      tfr_err *e)
{
    (void)options, (void)info;
    (void)device;
    (void)call;
    *out = NULL;
    return tfr_fail(e, TFR_EDEVICE, "not today");
}

TEST(a_move_that_fails_is_taken_back_with_its_price)
{
    static const uint64_t here[] = {900000}, there[] = {2000};
    tfr_runtime *runtime = runtime_with("log", "error");
    tfr_graph *graph = graph_of_text("in x 16 16; out Relu(x)");
    put_prices(runtime, graph, "CPU:0", here);
    put_prices(runtime, graph, "NPU:0", there);
    CHECK_STR("N", places(runtime, graph, NULL));
    for (uint32_t i = 0; i < runtime->n_devices; i++)
        if (!runtime->devices[i].is_host)
            runtime->devices[i].backends[0].kernel.prepare = refuse;
    tfr_session *session = planned(runtime, graph, NULL);
    CHECK_STR("CPU:0", row_of(session, 0).device);
    CHECK_UINT(900000, row_of(session, 0).time_ns);
    tfr_session_destroy(session);
    end(runtime, graph);
}

TEST(prices_and_samples_survive_each_failed_request)
{
    static const uint64_t here[] = {0, 900000}, there[] = {2000, 2000};
    tfr_runtime *runtime = runtime_with(NULL, NULL);
    tfr_graph *graph = graph_of_text("in x 16 16; y = Relu(x); out Add(y,x)");
    tfr_shape shape = {2, {16, 16}};
    tfr_tensor *in = random_floats(&shape, 3, -1, 1);
    uint32_t n_failed = 0;
    put_prices(runtime, graph, "CPU:0", here);
    put_prices(runtime, graph, "NPU:0", there);
    for (uint64_t n = 1; n < 200; n++) {
        tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
        tfr_session *session = NULL;
        tfr_status status;
        options.passes = "none";
        REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
        tfr__alloc_fail_at(n);
        status = tfr_session_prepare(session, &in, 1, &err);
        tfr__alloc_fail_at(0);
        CHECK(status == TFR_OK || status == TFR_ENOMEM);
        n_failed += status != TFR_OK;
        tfr_session_destroy(session);
    }
    CHECK(n_failed > 10 && n_failed < 190);
    tfr_tensor_release(in);
    end(runtime, graph);
}

static const char *backend_of(tfr_runtime *runtime, tfr_graph *graph)
{
    static char name[48];
    tfr_session *session = planned(runtime, graph, NULL);
    snprintf(name, sizeof name, "%s", row_of(session, 0).backend);
    tfr_session_destroy(session);
    return name;
}

TEST(prices_choose_among_backends_of_a_device_unless_the_user_ordered_them)
{
    static const uint64_t dear[] = {9000}, cheap[] = {200};
    tfr_runtime *runtime = runtime_with("log", "error");
    tfr_graph *graph = graph_of_text("in x 16 16; out Relu(x)");
    if (strcmp(backend_of(runtime, graph), "native:0") != 0) {
        end(runtime, graph);
        SKIP("there is no native backend");
    }
    put_prices(runtime, graph, "native:0", dear);
    put_prices(runtime, graph, "naive:0", cheap);
    CHECK_STR("naive:0", backend_of(runtime, graph));
    tfr__tuning_save(&runtime->tuning);
    tfr_runtime_release(runtime);
    runtime = runtime_with("native.priority", "1000");
    CHECK_STR("native:0", backend_of(runtime, graph));
    end(runtime, graph);
}

TEST(absurd_prices_and_lengths_in_the_store_do_no_harm)
{
    static const uint64_t most[] = {UINT64_MAX, UINT64_MAX}, cheap[] = {1, 1};
    tfr_runtime *runtime = runtime_with(NULL, NULL);
    tfr_graph *graph = graph_of_text("in x 16 16; y = Relu(x); out Relu(y)");
    put_prices(runtime, graph, "CPU:0", most);
    put_prices(runtime, graph, "NPU:0", most);
    CHECK_STR("CC", places(runtime, graph, NULL));
    put_prices(runtime, graph, "NPU:0", cheap);
    CHECK_STR("NN", places(runtime, graph, NULL));
    tfr_session *session = planned(runtime, graph, "CPU:0");
    tfr__tuning_put(&runtime->tuning, session->used[0]->placed[0].key, "abc", 3);
    tfr_session_destroy(session);
    session = planned(runtime, graph, "CPU:0");
    CHECK_UINT(0, row_of(session, 0).time_measured);
    tfr_session_destroy(session);
    end(runtime, graph);
}

/* ---- against all placements ------------------------------------------------------------------ */

static uint32_t draw(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

typedef struct random_graph {
    char text[512];
    uint32_t n;
    int inputs[MOST_NODES][2]; /* numbers of nodes, -1 = x; the second may be -2 = none */
    bool is_read[MOST_NODES];
    uint64_t here[MOST_NODES], there[MOST_NODES];
} random_graph;

/* No two nodes are equal calls, or they would have one price. */
static void make_random(random_graph *g, uint64_t seed)
{
    static const char *const binary[] = {"Add", "Mul", "MatMul"};
    uint64_t state = seed * 31 + 7;
    uint32_t n_binary = 0;
    size_t used = (size_t)snprintf(g->text, sizeof g->text, "in x 16 16; ");
    g->n = 1 + draw(&state, MOST_NODES);
    memset(g->is_read, 0, sizeof g->is_read);
    for (uint32_t i = 0; i < g->n; i++) {
        bool two = n_binary < 3 && draw(&state, 2);
        char name[2][8];
        snprintf(name[1], sizeof name[1], "0.%u", i + 1);
        for (int k = 0; k < 1 + two; k++) {
            int from = (int)draw(&state, i + 1) - 1;
            g->inputs[i][k] = from;
            if (from >= 0)
                g->is_read[from] = true;
            if (from < 0)
                snprintf(name[k], sizeof name[k], "x");
            else
                snprintf(name[k], sizeof name[k], "v%d", from);
        }
        if (!two)
            g->inputs[i][1] = -2;
        used += (size_t)snprintf(g->text + used, sizeof g->text - used, "v%u = %s(%s,%s); ", i,
                                 two ? binary[n_binary] : "Add", name[0], name[1]);
        n_binary += two;
        g->here[i] = 1 + draw(&state, 12000);
        g->there[i] = 1 + draw(&state, 12000);
    }
    for (uint32_t i = 0; i < g->n; i++)
        if (!g->is_read[i])
            used += (size_t)snprintf(g->text + used, sizeof g->text - used, "out v%u; ", i);
    g->text[used - 2] = '\0';
}

/* The header of plan_cost.c in numbers: every value is 1 KiB, the link 1 us and 1 GB/s. */
static uint64_t price_of(const random_graph *g, uint32_t there)
{
    enum { COPY = 1000 + 1025, BORDER = 500 + 100 };
    uint64_t sum = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t mine = there >> i & 1;
        sum += mine ? g->there[i] : g->here[i];
        for (int k = 0; k < 2; k++) {
            int from = g->inputs[i][k];
            if (from == -2 || (k && from == g->inputs[i][0]))
                continue;
            if (from == -1)
                sum += mine ? COPY : 0;
            else if ((there >> from & 1) != mine)
                sum += COPY + BORDER;
        }
        sum += !g->is_read[i] && mine ? COPY : 0;
    }
    return sum;
}

TEST(small_graphs_are_placed_as_cheaply_as_any_way_there_is)
{
    uint32_t n_moved = 0, n_mixed = 0;
    tfr_runtime *runtime = runtime_with(NULL, NULL);
    for (uint64_t seed = 0; seed < 120; seed++) {
        random_graph g;
        tfr_graph *graph;
        const char *obtained;
        uint32_t there = 0;
        uint64_t best = UINT64_MAX, first;
        make_random(&g, seed);
        graph = graph_of_text(g.text);
        put_prices(runtime, graph, "CPU:0", g.here);
        put_prices(runtime, graph, "NPU:0", g.there);
        obtained = places(runtime, graph, NULL);
        REQUIRE(strlen(obtained) == g.n);
        for (uint32_t i = 0; i < g.n; i++)
            there |= (uint32_t)(obtained[i] == 'N') << i;
        for (uint32_t way = 0; way < 1u << g.n; way++)
            best = price_of(&g, way) < best ? price_of(&g, way) : best;
        first = price_of(&g, 0);
        if (best >= first / 20 * 19)
            best = first;
        CHECK_UINT(best, price_of(&g, there));
        n_moved += there != 0;
        n_mixed += there != 0 && there != (1u << g.n) - 1;
        tfr_graph_release(graph);
    }
    CHECK(n_moved > 20 && n_mixed > 5);
    tfr_runtime_release(runtime);
    temp_drop("store");
}

static const test_case cases[] = {
    CASE(times_of_the_first_runs_are_kept_and_the_next_session_has_them),
    CASE(of_all_runs_but_the_first_the_least_time_is_kept),
    CASE(a_graph_of_ever_new_shapes_is_not_timed_for_ever),
    CASE(a_plan_that_is_made_from_another_is_not_timed),
    CASE(without_a_store_no_run_is_timed),
    CASE(a_binding_and_an_accelerator_are_timed_too),
    CASE(nodes_go_where_they_were_measured_to_be_cheapest_and_say_so),
    CASE(a_view_between_nodes_that_are_moved_has_no_backend),
    CASE(a_node_between_dear_copies_stays),
    CASE(a_link_between_devices_has_its_own_price),
    CASE(a_saving_below_a_twentieth_moves_nothing),
    CASE(a_first_choice_that_nobody_measured_is_not_left_for_what_is_measured),
    CASE(an_accelerator_with_a_kernel_beats_the_reference_where_there_is_much_to_do),
    CASE(what_the_user_names_or_pins_stays),
    CASE(a_move_that_fails_is_taken_back_with_its_price),
    CASE(prices_and_samples_survive_each_failed_request),
    CASE(prices_choose_among_backends_of_a_device_unless_the_user_ordered_them),
    CASE(absurd_prices_and_lengths_in_the_store_do_no_harm),
    CASE(small_graphs_are_placed_as_cheaply_as_any_way_there_is),
};
TEST_MAIN(cases)
