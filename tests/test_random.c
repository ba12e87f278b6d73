/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers: what the generator gives, and which run, node and session draw which numbers. */
#include "session_kit.h"

static const int64_t n_numbers = 40;

/* x → Dropout in training → output; twice, one after the other, if again. */
static tfr_graph *dropout_graph(bool again)
{
    const float ratio = 0.4f;
    const unsigned char train = 1;
    tfr_value in[3];
    tfr_graph *graph = new_graph(1, in);
    tfr_tensor *t = floats(0, NULL, &ratio);
    REQUIRE_OK(tfr_graph_add_constant(graph, "ratio", t, &in[1], &err), &err);
    tfr_tensor_release(t);
    t = new_tensor(TFR_DTYPE_BOOL, 0, NULL, &train);
    REQUIRE_OK(tfr_graph_add_constant(graph, "train", t, &in[2], &err), &err);
    tfr_tensor_release(t);
    output(graph, add(graph, "Dropout", in, 3));
    if (again)
        output(graph, add(graph, "Dropout", in, 3));
    return graph;
}

static tfr_session *dropout_session(tfr_runtime *runtime, const char *device, bool again,
                                    uint64_t seed)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_graph *graph = dropout_graph(again);
    tfr_session *session = NULL;
    options.device = device;
    options.fallback = TFR_FALLBACK_ERROR;
    options.seed = seed;
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    tfr_graph_release(graph);
    return session;
}

static tfr_tensor *ones(void)
{
    tfr_tensor *t = floats(1, &n_numbers, NULL);
    for (int64_t i = 0; i < n_numbers; i++)
        ((float *)tfr_tensor_data(t))[i] = 1;
    return t;
}

/* The outputs of one more run. */
static void draw(tfr_session *session, uint32_t n, float (*out)[40])
{
    tfr_tensor *in = ones(), *y[2];
    REQUIRE_OK(tfr_session_run(session, &in, 1, y, n, &err), &err);
    for (uint32_t k = 0; k < n; k++) {
        memcpy(out[k], tfr_tensor_data(y[k]), sizeof out[k]);
        tfr_tensor_release(y[k]);
    }
    tfr_tensor_release(in);
}

static bool same(const float *a, const float *b)
{
    return memcmp(a, b, (size_t)n_numbers * sizeof *a) == 0;
}

/* The known answers that the authors of Philox4x32-10 publish with it. */
TEST(the_generator_gives_the_published_numbers)
{
    static const struct {
        uint32_t counter[4], key[2], expected[4];
    } rows[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t got[4];
        tfr_philox(rows[i].key, rows[i].counter, got);
        for (int k = 0; k < 4; k++)
            CHECK_UINT(rows[i].expected[k], got[k]);
    }
}

TEST(another_session_of_the_same_seed_draws_the_same)
{
    tfr_runtime *runtime = new_runtime();
    float a[1][40], b[1][40], c[1][40];
    tfr_session *first = dropout_session(runtime, "naive:0", false, 7);
    tfr_session *second = dropout_session(runtime, "naive:0", false, 7);
    tfr_session *other = dropout_session(runtime, "naive:0", false, 8);
    for (int run = 0; run < 3; run++) {
        draw(first, 1, a);
        draw(second, 1, b);
        draw(other, 1, c);
        CHECK(same(*a, *b));
        CHECK(!same(*a, *c));
    }
    tfr_session_destroy(first);
    tfr_session_destroy(second);
    tfr_session_destroy(other);
    tfr_runtime_release(runtime);
}

TEST(runs_and_nodes_draw_different_numbers)
{
    tfr_runtime *runtime = new_runtime();
    tfr_session *session = dropout_session(runtime, "naive:0", true, 0);
    float a[2][40], b[2][40];
    draw(session, 2, a);
    draw(session, 2, b);
    CHECK(!same(a[0], a[1]));
    CHECK(!same(a[0], b[0]));
    CHECK(!same(a[1], b[0]));
    tfr_session_destroy(session);
    tfr_runtime_release(runtime);
}

TEST(a_session_that_is_given_the_state_of_another_goes_on_as_that_one)
{
    tfr_runtime *runtime = new_runtime();
    tfr_session *first = dropout_session(runtime, "naive:0", false, 3);
    tfr_session *second = dropout_session(runtime, "naive:0", false, 0);
    float a[1][40], b[1][40];
    uint64_t seed = 0, step = 0;
    draw(first, 1, a);
    draw(first, 1, a);
    tfr_session_get_random(first, &seed, &step);
    CHECK_UINT(3, seed);
    CHECK_UINT(2, step);
    tfr_session_set_random(second, seed, step);
    draw(first, 1, a);
    draw(second, 1, b);
    CHECK(same(*a, *b));
    tfr_session_destroy(first);
    tfr_session_destroy(second);
    tfr_runtime_release(runtime);
}

TEST(a_device_draws_the_numbers_of_the_reference)
{
    static const char *const programs[] = {"0", "1"};
    for (int way = 0; way < 4; way++) {
        const tfr_option given[] = {{"fakeacc.programs", programs[way % 2]},
                                    {"fakeacc.handles", programs[way / 2]}};
        tfr_runtime *runtime = accelerator_runtime(given, 2);
        tfr_session *host = dropout_session(runtime, "naive:0", true, 5);
        tfr_session *device = dropout_session(runtime, "fakeacc:0", true, 5);
        float a[2][40], b[2][40];
        for (int run = 0; run < 3; run++) {
            draw(host, 2, a);
            draw(device, 2, b);
            CHECK(same(a[0], b[0]));
            CHECK(same(a[1], b[1]));
        }
        CHECK_UINT(way % 2, stats_of(device).n_programs);
        tfr_session_destroy(host);
        tfr_session_destroy(device);
        tfr_runtime_release(runtime);
        CHECK_STR("", breaches);
    }
}

TEST(a_binding_draws_what_runs_of_its_session_would)
{
    tfr_runtime *runtime = new_runtime();
    tfr_session *first = dropout_session(runtime, "naive:0", false, 1);
    tfr_session *second = dropout_session(runtime, "naive:0", false, 1);
    tfr_tensor *in = ones(), *out = ones();
    tfr_binding *binding = NULL;
    float a[1][40];
    draw(first, 1, a);
    draw(second, 1, a);
    REQUIRE_OK(tfr_binding_create(second, &in, 1, &out, 1, &binding, &err), &err);
    for (int run = 0; run < 3; run++) {
        draw(first, 1, a);
        CHECK_OK(tfr_binding_run(binding, &err), &err);
        CHECK(same(*a, tfr_tensor_data(out)));
    }
    tfr_binding_destroy(binding);
    tfr_tensor_release(in);
    tfr_tensor_release(out);
    tfr_session_destroy(first);
    tfr_session_destroy(second);
    tfr_runtime_release(runtime);
}

TEST(immediate_calls_draw_different_numbers)
{
    tfr_runtime *runtime = new_runtime();
    const tfr_node_desc node = {.size = sizeof node, .op = "RandomUniformLike", .n_outputs = 1};
    const int64_t more[2] = {1, n_numbers};
    tfr_tensor *in[2] = {ones(), floats(2, more, NULL)}, *out[4];
    for (int k = 0; k < 4; k++)
        REQUIRE_OK(tfr_op_run(runtime, "naive:0", &node, &in[k % 2], 1, &out[k], 1, &err), &err);
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < k; i++)
            CHECK(!same(tfr_tensor_data(out[k]), tfr_tensor_data(out[i])));
    for (int k = 0; k < 4; k++)
        tfr_tensor_release(out[k]);
    tfr_tensor_release(in[0]);
    tfr_tensor_release(in[1]);
    tfr_runtime_release(runtime);
}

/* A loop of three trips that gives what each has drawn. */
TEST(passes_through_a_body_draw_different_numbers)
{
    const int64_t three = 3, shape[1] = {n_numbers};
    const unsigned char yes = 1;
    tfr_value m, cond, trip, again, drawn, out[1] = {TFR_VALUE_NONE};
    tfr_graph *graph = new_graph(0, NULL), *body = NULL;
    tfr_runtime *runtime = new_runtime();
    tfr_tensor *t = new_tensor(TFR_DTYPE_I64, 0, NULL, &three), *y = NULL;
    const tfr_attr attr = {
        .size = sizeof attr, .type = TFR_ATTR_INTS, .name = "shape", .n = 1, .ints = shape};
    tfr_node_desc node = {.size = sizeof node,
                          .op = "RandomUniform",
                          .attrs = &attr,
                          .n_attrs = 1,
                          .n_outputs = 1};
    REQUIRE_OK(tfr_graph_add_constant(graph, "m", t, &m, &err), &err);
    tfr_tensor_release(t);
    t = new_tensor(TFR_DTYPE_BOOL, 0, NULL, &yes);
    REQUIRE_OK(tfr_graph_add_constant(graph, "cond", t, &cond, &err), &err);
    tfr_tensor_release(t);
    REQUIRE_OK(tfr_graph_create_child(graph, "body", &body, &err), &err);
    REQUIRE_OK(tfr_graph_add_input(body, "trip", NULL, &trip, &err), &err);
    REQUIRE_OK(tfr_graph_add_input(body, "again", NULL, &again, &err), &err);
    REQUIRE_OK(tfr_graph_add_node(body, &node, &drawn, &err), &err);
    output(body, unary(body, "Identity", again));
    output(body, drawn);
    const tfr_value in[2] = {m, cond};
    const tfr_subgraph bodies = {.name = "body", .graph = body};
    node = (tfr_node_desc){.size = sizeof node,
                           .op = "Loop",
                           .inputs = in,
                           .n_inputs = 2,
                           .n_outputs = 1,
                           .subgraphs = &bodies,
                           .n_subgraphs = 1};
    REQUIRE_OK(tfr_graph_add_node(graph, &node, out, &err), &err);
    output(graph, out[0]);
    tfr_session *session = session_over(runtime, graph, "naive:0");
    REQUIRE_OK(tfr_session_run(session, NULL, 0, &y, 1, &err), &err);
    const float *rows = tfr_tensor_data(y);
    REQUIRE(tfr_tensor_elements(y) == 3 * n_numbers);
    CHECK(!same(rows, rows + n_numbers));
    CHECK(!same(rows + n_numbers, rows + 2 * n_numbers));
    CHECK(!same(rows, rows + 2 * n_numbers));
    tfr_tensor_release(y);
    tfr_session_destroy(session);
}

static const test_case cases[] = {
    CASE(the_generator_gives_the_published_numbers),
    CASE(another_session_of_the_same_seed_draws_the_same),
    CASE(runs_and_nodes_draw_different_numbers),
    CASE(a_session_that_is_given_the_state_of_another_goes_on_as_that_one),
    CASE(a_device_draws_the_numbers_of_the_reference),
    CASE(a_binding_draws_what_runs_of_its_session_would),
    CASE(immediate_calls_draw_different_numbers),
    CASE(passes_through_a_body_draw_different_numbers),
};
TEST_MAIN(cases)
