/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs through sessions on the backends of the build tree. */
#include <pthread.h>
#include <tfrun/fail.h>

#include "graph_text.h"
#include "session_kit.h"

TEST(a_chain_of_nodes_gives_its_result)
{
    tfr_value x[2], v;
    tfr_graph *graph = new_graph(2, x);
    tfr_tensor *in[2], *out[1] = {NULL};
    v = binary(graph, "Add", x[0], x[1]);
    v = unary(graph, "Relu", v);
    output(graph, v);
    tfr_session *session = session_over(new_runtime(), graph, "naive:0");
    in[0] = in[1] = floats(2, two_by_three, six);
    for (int i = 0; i < 3; i++) {
        REQUIRE_OK(tfr_session_run(session, in, 2, out, 1, &err), &err);
        const float *data = tfr_tensor_data(out[0]);
        CHECK_NEAR(2, data[0], 0);
        CHECK_NEAR(0, data[1], 0);
        CHECK_NEAR(10, data[4], 0);
        tfr_tensor_release(out[0]);
    }
    tfr_session_stats stats = stats_of(session);
    CHECK_UINT(1, stats.n_plans);
    CHECK_UINT(3, stats.n_runs);
    CHECK_UINT(0, stats.n_copies);
    tfr_tensor_release(in[0]);
    tfr_session_destroy(session);
}

/* y = Relu(x), z = y summed to its own shape, which naive does in place if y is not an output. */
static uint64_t arena_of_two(bool both_are_outputs)
{
    tfr_value x, v[2];
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *shape = ints(2, two_by_three), *in, *out[2] = {NULL, NULL};
    uint32_t n_outputs = both_are_outputs ? 2 : 1;
    v[0] = unary(graph, "Relu", x);
    REQUIRE_OK(tfr_graph_add_constant(graph, "shape", shape, &v[1], &err), &err);
    tfr_node_desc node = {.size = sizeof node,
                          .domain = "tfrun",
                          .op = "SumTo",
                          .inputs = v,
                          .n_inputs = 2,
                          .n_outputs = 1};
    tfr_value sum;
    REQUIRE_OK(tfr_graph_add_node(graph, &node, &sum, &err), &err);
    REQUIRE_OK(tfr_graph_add_output(graph, sum, "sum", &err), &err);
    if (both_are_outputs)
        REQUIRE_OK(tfr_graph_add_output(graph, v[0], "relu", &err), &err);
    tfr_session *session = session_over(new_runtime(), graph, "naive:0");
    in = floats(2, two_by_three, six);
    for (int i = 0; i < 2; i++) {
        REQUIRE_OK(tfr_session_run(session, &in, 1, out, n_outputs, &err), &err);
        for (uint32_t k = 0; k < n_outputs; k++) {
            CHECK_NEAR(3, ((const float *)tfr_tensor_data(out[k]))[2], 0);
            CHECK_NEAR(0, ((const float *)tfr_tensor_data(out[k]))[5], 0);
        }
        CHECK(out[0] != out[1]);
        CHECK(!out[1] || tfr_tensor_data(out[0]) != tfr_tensor_data(out[1]));
        tfr_tensor_release(out[0]);
        tfr_tensor_release(out[1]);
    }
    tfr_session_stats stats = stats_of(session);
    tfr_tensor_release(in);
    tfr_tensor_release(shape);
    tfr_session_destroy(session);
    return stats.arena_bytes;
}

TEST(a_chain_in_place_works_in_the_tensor_that_it_gives)
{
    CHECK_UINT(0, arena_of_two(false));
}

TEST(what_the_caller_gets_is_not_worked_on_in_place)
{
    CHECK_UINT(0, arena_of_two(true)); /* both have a tensor of their own */
}

TEST(a_strided_input_gives_what_its_plain_copy_gives)
{
    tfr_value x, v;
    tfr_graph *graph = new_graph(1, &x);
    const int64_t strides[] = {1, 3};
    tfr_shape shape = {2, {3, 2}};
    tfr_tensor *base = floats(2, two_by_three, six), *in = NULL, *out = NULL;
    v = unary(graph, "Softmax", x);
    output(graph, v);
    tfr_session *session = session_over(new_runtime(), graph, "naive:0");
    REQUIRE_OK(tfr_tensor_view(base, 0, &shape, strides, &in, &err), &err);
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    const float *data = tfr_tensor_data(out);
    for (int i = 0; i < 3; i++) { /* rows (1,-4), (-2,5), (3,-6) */
        double a = exp(six[i]), b = exp(six[i + 3]);
        CHECK_NEAR(a / (a + b), data[i * 2], 1e-6);
    }
    tfr_tensor_release(base);
    tfr_tensor_release(in);
    tfr_tensor_release(out);
    tfr_session_destroy(session);
}

TEST(a_view_of_an_input_as_output_is_a_copy)
{
    tfr_value x[2], v;
    tfr_graph *graph = new_graph(2, x);
    const int64_t target[] = {3, 2};
    tfr_tensor *in[2] = {floats(2, two_by_three, six), ints(2, target)}, *out = NULL;
    v = binary(graph, "Reshape", x[0], x[1]);
    output(graph, v);
    tfr_session *session = session_over(new_runtime(), graph, NULL);
    REQUIRE_OK(tfr_session_run(session, in, 2, &out, 1, &err), &err);
    CHECK(tfr_tensor_data(out) != tfr_tensor_data(in[0]));
    CHECK_INT(3, tfr_tensor_shape(out)->dims[0]);
    CHECK_MEM(six, tfr_tensor_data(out), sizeof six);
    tfr_tensor_release(out);
    tfr_tensor_release(in[0]);
    tfr_tensor_release(in[1]);
    tfr_session_destroy(session);
}

/* An If whose branches give out what they capture: value 1 of the leaves, if value 2 is true. */
static tfr_graph *graph_that_passes_on(const char *leaves)
{
    graph_text g = {0};
    tfr_graph *branches[2];
    tfr_value v;
    REQUIRE_OK(tfr_graph_create("test", &g.graph, &err), &err);
    graph_text_more(&g, leaves);
    for (int i = 0; i < 2; i++) {
        REQUIRE_OK(tfr_graph_create_child(g.graph, "branch", &branches[i], &err), &err);
        REQUIRE_OK(tfr_graph_add_capture(branches[i], g.names[1].value, &v, &err), &err);
        output(branches[i], v);
    }
    output(g.graph, graph_text_if(g.graph, g.names[2].value, branches[0], branches[1]));
    return g.graph;
}

TEST(what_control_flow_passes_on_is_the_callers_own)
{
    static const char *const leaves[] = {
        "in x 1; in y 1; c = Greater(x,0)",
        "in x 1; var y 1; c = Greater(x,0)",
        "in x 1; const y 1; c = Greater(x,0)",
    };
    for (int i = 0; i < 3; i++) {
        const int64_t one = 1;
        const float number = 3;
        tfr_graph *graph = graph_that_passes_on(leaves[i]);
        const uint32_t n_inputs = tfr_graph_n_inputs(graph);
        tfr_session *session = session_over(new_runtime(), graph, "naive:0");
        tfr_tensor *in[2] = {floats(1, &one, &number), floats(1, &one, &number)}, *out[2] = {NULL};
        REQUIRE_OK(tfr_session_run(session, in, n_inputs, &out[0], 1, &err), &err);
        const float before = *(float *)tfr_tensor_data(out[0]);
        *(float *)tfr_tensor_data(out[0]) = 77;
        REQUIRE_OK(tfr_session_run(session, in, n_inputs, &out[1], 1, &err), &err);
        CHECK_NEAR(before, *(float *)tfr_tensor_data(out[1]), 0);
        CHECK_NEAR(3, *(float *)tfr_tensor_data(in[1]), 0);
        for (int k = 0; k < 2; k++) {
            tfr_tensor_release(in[k]);
            tfr_tensor_release(out[k]);
        }
        tfr_session_destroy(session);
    }
}

/* A Loop without a trip, whose body gives the trip's number as float64. */
static tfr_graph *loop_without_a_trip(const tfr_value_type *declared)
{
    graph_text g = {0};
    tfr_graph *body;
    tfr_value formals[2], number, out;
    const tfr_attr to[] = {TFR_SET_INT("to", TFR_DTYPE_F64)};
    REQUIRE_OK(tfr_graph_create("test", &g.graph, &err), &err);
    graph_text_more(&g, "in x 1; n = [0]; c = Greater(x,-1000)");
    REQUIRE_OK(tfr_graph_create_child(g.graph, "body", &body, &err), &err);
    for (int i = 0; i < 2; i++)
        REQUIRE_OK(tfr_graph_add_input(body, NULL, NULL, &formals[i], &err), &err);
    const tfr_node_desc cast = {.size = sizeof cast,
                                .op = "Cast",
                                .inputs = formals,
                                .n_inputs = 1,
                                .n_outputs = 1,
                                .attrs = to,
                                .n_attrs = 1};
    REQUIRE_OK(tfr_graph_add_node(body, &cast, &number, &err), &err);
    output(body, formals[1]);
    output(body, number);
    REQUIRE_OK(tfr_graph_declare_output(body, 1, declared, &err), &err);
    CHECK_STATUS(TFR_EINVAL, tfr_graph_declare_output(body, 2, declared, &err), &err);
    CHECK_CONTAINS("has no output 2, it has 2", err.text);
    const tfr_value in[] = {g.names[1].value, g.names[2].value};
    const tfr_subgraph sub = {.name = "body", .graph = body};
    const tfr_node_desc loop = {.size = sizeof loop,
                                .op = "Loop",
                                .inputs = in,
                                .n_inputs = 2,
                                .n_outputs = 1,
                                .n_subgraphs = 1,
                                .subgraphs = &sub};
    REQUIRE_OK(tfr_graph_add_node(g.graph, &loop, &out, &err), &err);
    output(g.graph, out);
    return g.graph;
}

TEST(a_loop_without_a_trip_gives_the_types_that_its_body_declares)
{
    const tfr_value_type declared = {.size = sizeof declared,
                                     .dtype = TFR_DTYPE_F64,
                                     .rank_known = 1,
                                     .rank = 2,
                                     .dims = {3, -1}};
    static const char *const passes[] = {"all", "none"};
    const int64_t one = 1;
    tfr_runtime *runtime = new_runtime();
    tfr_tensor *in = floats(1, &one, six), *out = NULL;
    for (int i = 0; i < 2; i++) {
        tfr_graph *graph = loop_without_a_trip(&declared);
        tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
        tfr_session *session = NULL;
        char text[64];
        options.passes = passes[i];
        REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
        REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
        CHECK_INT(TFR_DTYPE_F64, tfr_tensor_dtype(out));
        CHECK_STR("[0,3,0]", tfr_shape_format(tfr_tensor_shape(out), text, sizeof text));
        tfr_tensor_release(out);
        tfr_session_destroy(session);
        tfr_graph_release(graph);
    }
    tfr_tensor_release(in);
    tfr_runtime_release(runtime);
}

TEST(variables_keep_their_state_between_runs)
{
    tfr_value x, state, sum;
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *zero = floats(0, NULL, NULL), *step = floats(0, NULL, (const float[]){2.5f});
    REQUIRE_OK(tfr_graph_add_variable(graph, "state", zero, &state, &err), &err);
    sum = binary(graph, "Add", state, x);
    REQUIRE_OK(tfr_graph_set_update(graph, state, sum, &err), &err);
    output(graph, sum);
    tfr_session *session = session_over(new_runtime(), graph, NULL);
    tfr_tensor *out = NULL;
    for (int i = 0; i < 4; i++) {
        REQUIRE_OK(tfr_session_run(session, &step, 1, &out, 1, &err), &err);
        tfr_tensor_release(out);
    }
    REQUIRE_OK(tfr_session_get_variable(session, "state", &out, &err), &err);
    CHECK_NEAR(10, *(float *)tfr_tensor_data(out), 0);
    CHECK_STATUS(TFR_ENOTFOUND, tfr_session_get_variable(session, "other", &out, &err), &err);
    CHECK_OK(tfr_session_set_variable(session, "state", step, &err), &err);
    tfr_tensor_release(out);
    REQUIRE_OK(tfr_session_get_variable(session, "state", &out, &err), &err);
    CHECK_NEAR(2.5, *(float *)tfr_tensor_data(out), 0);
    CHECK_NEAR(0, *(float *)tfr_tensor_data(zero), 0);
    tfr_tensor_release(out);
    tfr_tensor_release(zero);
    tfr_tensor_release(step);
    tfr_session_destroy(session);
}

TEST(wrong_inputs_are_named_with_what_is_wanted)
{
    tfr_graph *graph = NULL;
    tfr_value x, v;
    tfr_value_type type = {
        .size = sizeof type, .dtype = TFR_DTYPE_F32, .rank_known = 1, .rank = 2, .dims = {-1, 4}};
    REQUIRE_OK(tfr_graph_create("g", &graph, &err), &err);
    REQUIRE_OK(tfr_graph_add_input(graph, "image", &type, &x, &err), &err);
    v = unary(graph, "Relu", x);
    output(graph, v);
    tfr_session *session = session_over(new_runtime(), graph, NULL);
    tfr_tensor *in = floats(2, two_by_three, six), *out = NULL;
    CHECK_STATUS(TFR_ESHAPE, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_CONTAINS("\"image\"", err.text);
    CHECK_CONTAINS("[2,3]", err.text);
    CHECK_CONTAINS("[?,4]", err.text);
    tfr_tensor_release(in);
    in = ints(1, (const int64_t[]){3});
    CHECK_STATUS(TFR_EDTYPE, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_CONTAINS("int64", err.text);
    CHECK_STATUS(TFR_EINVAL, tfr_session_run(session, NULL, 0, &out, 1, &err), &err);
    CHECK_STATUS(TFR_EINVAL, tfr_session_run(session, &in, 1, NULL, 0, &err), &err);
    tfr_tensor_release(in);
    tfr_session_destroy(session);
}

TEST(a_session_that_cannot_be_made_leaves_the_graph_free)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = graph_of_text("in x 4; out Relu(x)");
    tfr_session *session;
    tfr_value v = tfr_graph_input(graph, 0);
    options.device = "nobody:0";
    CHECK_STATUS(TFR_ENOTFOUND, tfr_session_create(runtime, graph, &options, &session, &err), &err);
    CHECK_OK(tfr_graph_add_output(graph, v, NULL, &err), &err);
    options.device = NULL;
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    CHECK_STATUS(TFR_EBUSY, tfr_graph_add_output(graph, v, NULL, &err), &err);
    end_session(runtime, graph, session, NULL);
}

TEST(a_policy_that_is_none_is_refused)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = graph_of_text("in x 4; out Relu(x)");
    tfr_session *session;
    options.fallback = 99;
    CHECK_STATUS(TFR_EINVAL, tfr_session_create(runtime, graph, &options, &session, &err), &err);
    CHECK_CONTAINS("fallback 99", err.text);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(shapes_that_do_not_fit_name_the_node)
{
    tfr_value x[2], v;
    tfr_graph *graph = new_graph(2, x);
    v = binary(graph, "MatMul", x[0], x[1]);
    output(graph, v);
    tfr_session *session = session_over(new_runtime(), graph, NULL);
    tfr_tensor *a = floats(2, two_by_three, six), *in[] = {a, a}, *out = NULL;
    CHECK_STATUS(TFR_ESHAPE, tfr_session_run(session, in, 2, &out, 1, &err), &err);
    CHECK_CONTAINS("MatMul", err.text);
    tfr_tensor_release(a);
    tfr_session_destroy(session);
}

TEST(declared_dims_are_hints_if_the_session_is_told_so)
{
    tfr_value_type type = {.size = sizeof type, .dtype = TFR_DTYPE_F32, .rank_known = 1};
    tfr_tensor *in = floats(2, two_by_three, six), *out = NULL;
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = new_graph(0, NULL);
    tfr_session *session = NULL;
    tfr_value x;
    type.rank = 1;
    type.dims[0] = 4;
    REQUIRE_OK(tfr_graph_add_input(graph, "x", &type, &x, &err), &err);
    output(graph, unary(graph, "Relu", x));
    for (uint32_t loose = 0; loose < 2; loose++) {
        tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
        options.loose_shapes = loose;
        REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
        CHECK_INT(loose ? TFR_OK : TFR_ESHAPE, tfr_session_run(session, &in, 1, &out, 1, &err));
        tfr_session_destroy(session);
    }
    REQUIRE(out != NULL);
    CHECK_INT(2, tfr_tensor_shape(out)->rank);
    tfr_tensor_release(out);
    tfr_tensor_release(in);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

typedef struct runner {
    pthread_t thread;
    tfr_session *session;
    tfr_tensor *in;
    int n_wrong;
} runner;

static void *run_often(void *user)
{
    runner *r = user;
    tfr_err own = TFR_ERR_INIT;
    for (int i = 0; i < 50; i++) {
        tfr_tensor *out = NULL;
        if (tfr_session_run(r->session, &r->in, 1, &out, 1, &own))
            r->n_wrong++;
        else
            r->n_wrong += ((const float *)tfr_tensor_data(out))[4] != 25;
        tfr_tensor_release(out);
    }
    return NULL;
}

TEST(threads_share_a_session_and_a_runtime)
{
    tfr_runtime *runtime = new_runtime();
    tfr_tensor *in = floats(2, two_by_three, six);
    tfr_session *sessions[2];
    runner runners[4];
    for (int i = 0; i < 2; i++) {
        tfr_value x, v;
        tfr_graph *graph = new_graph(1, &x);
        tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
        options.device = "naive:0";
        v = binary(graph, "Mul", x, x);
        output(graph, v);
        REQUIRE_OK(tfr_session_create(runtime, graph, &options, &sessions[i], &err), &err);
        tfr_graph_release(graph);
    }
    for (int i = 0; i < 4; i++) {
        runners[i] = (runner){.session = sessions[i % 2], .in = in};
        REQUIRE_INT(0, pthread_create(&runners[i].thread, NULL, run_often, &runners[i]));
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(runners[i].thread, NULL);
        CHECK_INT(0, runners[i].n_wrong);
    }
    tfr_session_destroy(sessions[0]);
    tfr_session_destroy(sessions[1]);
    tfr_runtime_release(runtime);
    tfr_tensor_release(in);
}

static char told[512]; /* the last line of the log */

static void hear(void *user, tfr_log_level level, const char *who, const char *text)
{
    (void)user, (void)level;
    snprintf(told, sizeof told, "%s: %s", who, text);
}

/* Gigabytes out of nothing: not refused, but told before they are taken. */
TEST(a_run_that_takes_far_more_memory_than_it_is_given_is_announced)
{
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    tfr_runtime *runtime = NULL;
    tfr_session *session = NULL;
    tfr_graph *graph = graph_of_text("in x 1; out Expand(x,[1024,1024,200])");
    const int64_t one = 1;
    tfr_tensor *in = floats(1, &one, six);
    options.log = hear;
    REQUIRE_OK(tfr_runtime_create(&options, &runtime, &err), &err);
    REQUIRE_OK(tfr_session_create(runtime, graph, NULL, &session, &err), &err);
    REQUIRE_OK(tfr_session_prepare(session, &in, 1, &err), &err);
    CHECK_CONTAINS("takes 800 MiB of memory", told);
    tfr_tensor_release(in);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* 33 passes give out 16 MiB each: what a loop will collect, no plan can say. */
TEST(a_loop_that_collects_much_memory_is_announced)
{
    const int64_t n = (int64_t)4 << 20;
    const tfr_shape shape = {1, {n}};
    graph_text g = {0};
    tfr_graph *body;
    tfr_value formals[2], captured, out;
    tfr_tensor *in, *result = NULL;
    REQUIRE_OK(tfr_graph_create("test", &g.graph, &err), &err);
    graph_text_more(&g, "in x 4194304; n = [33]");
    REQUIRE_OK(tfr_graph_create_child(g.graph, "body", &body, &err), &err);
    for (int i = 0; i < 2; i++)
        REQUIRE_OK(tfr_graph_add_input(body, NULL, NULL, &formals[i], &err), &err);
    REQUIRE_OK(tfr_graph_add_capture(body, g.names[0].value, &captured, &err), &err);
    output(body, formals[1]);
    output(body, captured);
    const tfr_value inputs[] = {g.names[1].value, TFR_VALUE_NONE};
    const tfr_subgraph sub = {.name = "body", .graph = body};
    const tfr_node_desc loop = {.size = sizeof loop,
                                .op = "Loop",
                                .inputs = inputs,
                                .n_inputs = 2,
                                .n_outputs = 1,
                                .n_subgraphs = 1,
                                .subgraphs = &sub};
    REQUIRE_OK(tfr_graph_add_node(g.graph, &loop, &out, &err), &err);
    output(g.graph, out);
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    tfr_runtime *runtime = NULL;
    tfr_session *session = NULL;
    told[0] = 0;
    options.log = hear;
    REQUIRE_OK(tfr_runtime_create(&options, &runtime, &err), &err);
    REQUIRE_OK(tfr_session_create(runtime, g.graph, NULL, &session, &err), &err);
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &shape, &in, &err), &err);
    REQUIRE_OK(tfr_session_run(session, &in, 1, &result, 1, &err), &err);
    CHECK_CONTAINS("(Loop) has collected 512 MiB of memory in", told);
    tfr_tensor_release(result);
    tfr_tensor_release(in);
    tfr_session_destroy(session);
    tfr_graph_release(g.graph);
    tfr_runtime_release(runtime);
}

static tfr_status say_changed(void *user, tfr_err *e)
{
    (void)user;
    return tfr_fail(e, TFR_EIO, "changed");
}

/* Relu(Identity(x0)), of which the passes leave one node. */
TEST(a_run_checks_the_constants_of_a_graph_that_passes_changed)
{
    static const char *const passes[] = {"none", "all"};
    const int64_t two = 2;
    for (int i = 0; i < 2; i++) {
        tfr_session_options options = {.size = sizeof options, .passes = passes[i]};
        tfr_runtime *runtime = new_runtime();
        tfr_session *session = NULL;
        tfr_tensor *in = floats(1, &two, NULL), *out = NULL;
        tfr_value x;
        tfr_graph *graph = new_graph(1, &x);
        output(graph, unary(graph, "Relu", unary(graph, "Identity", x)));
        tfr_graph_set_check(graph, say_changed, NULL, NULL);
        REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
        CHECK_STATUS(TFR_EIO, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
        CHECK_CONTAINS("changed", err.text);
        end_session(runtime, graph, session, in);
    }
}

static const test_case cases[] = {
    CASE(a_chain_of_nodes_gives_its_result),
    CASE(a_chain_in_place_works_in_the_tensor_that_it_gives),
    CASE(what_the_caller_gets_is_not_worked_on_in_place),
    CASE(a_strided_input_gives_what_its_plain_copy_gives),
    CASE(a_view_of_an_input_as_output_is_a_copy),
    CASE(what_control_flow_passes_on_is_the_callers_own),
    CASE(a_loop_without_a_trip_gives_the_types_that_its_body_declares),
    CASE(variables_keep_their_state_between_runs),
    CASE(wrong_inputs_are_named_with_what_is_wanted),
    CASE(a_session_that_cannot_be_made_leaves_the_graph_free),
    CASE(a_policy_that_is_none_is_refused),
    CASE(shapes_that_do_not_fit_name_the_node),
    CASE(declared_dims_are_hints_if_the_session_is_told_so),
    CASE(threads_share_a_session_and_a_runtime),
    CASE(a_run_checks_the_constants_of_a_graph_that_passes_changed),
    CASE(a_loop_that_collects_much_memory_is_announced),
    CASE(a_run_that_takes_far_more_memory_than_it_is_given_is_announced),
};
TEST_MAIN(cases)
