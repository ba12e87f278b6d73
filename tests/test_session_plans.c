/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions plan for shapes and for values that decide shapes, keep plans, and split graphs. */
#include "graph_text.h"
#include "session_kit.h"

TEST(new_shapes_get_a_plan_of_their_own_and_old_ones_are_found_again)
{
    tfr_value x, v;
    tfr_graph *graph = new_graph(1, &x);
    v = unary(graph, "Relu", x);
    output(graph, v);
    tfr_session *session = session_over(new_runtime(), graph, "naive:0");
    for (int64_t i = 0; i < 6; i++) {
        int64_t n = i % 3 + 1;
        tfr_tensor *in = floats(1, &n, six), *out = NULL;
        REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
        CHECK_INT(n, tfr_tensor_elements(out));
        tfr_tensor_release(in);
        tfr_tensor_release(out);
    }
    tfr_session_stats stats = stats_of(session);
    CHECK_UINT(3, stats.n_plans);
    tfr_session_destroy(session);
}

TEST(another_value_of_a_shape_argument_makes_another_plan)
{
    tfr_value x[2], v;
    tfr_graph *graph = new_graph(2, x);
    const int64_t targets[3][2] = {{3, 2}, {6, 1}, {3, 2}};
    tfr_tensor *in[2] = {floats(2, two_by_three, six), ints(2, targets[0])};
    v = binary(graph, "Reshape", x[0], x[1]);
    output(graph, v);
    tfr_session *session = session_over(new_runtime(), graph, NULL);
    for (int i = 0; i < 3; i++) {
        tfr_tensor *out = NULL;
        memcpy(tfr_tensor_data(in[1]), targets[i], sizeof targets[i]);
        REQUIRE_OK(tfr_session_run(session, in, 2, &out, 1, &err), &err);
        CHECK_INT(targets[i][0], tfr_tensor_shape(out)->dims[0]);
        tfr_tensor_release(out);
    }
    tfr_session_stats stats = stats_of(session);
    CHECK_UINT(2, stats.n_plans);
    tfr_tensor_release(in[0]);
    tfr_tensor_release(in[1]);
    tfr_session_destroy(session);
}

TEST(strings_that_decide_a_shape_are_read_when_planning)
{
    static const char *const texts[] = {"one two", "one two three", "one two"};
    tfr_value x;
    tfr_graph *graph = new_graph(1, &x);
    tfr_value y[2];
    tfr_node_desc node = {
        .size = sizeof node, .op = "StringSplit", .inputs = &x, .n_inputs = 1, .n_outputs = 2};
    REQUIRE_OK(tfr_graph_add_node(graph, &node, y, &err), &err);
    REQUIRE_OK(tfr_graph_add_output(graph, y[0], NULL, &err), &err);
    tfr_session *session = session_over(new_runtime(), graph, "naive:0");
    for (int i = 0; i < 3; i++) {
        tfr_shape shape = {1, {1}};
        tfr_tensor *in = NULL, *out = NULL;
        REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_STRING, &shape, &in, &err), &err);
        REQUIRE_OK(tfr_tensor_set_string(in, 0, texts[i], strlen(texts[i]), &err), &err);
        REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
        CHECK_INT(i == 1 ? 3 : 2, tfr_tensor_elements(out));
        CHECK_STR("two", tfr_tensor_get_string(out, 1, NULL));
        tfr_tensor_release(in);
        tfr_tensor_release(out);
    }
    tfr_session_stats stats = stats_of(session);
    CHECK_UINT(2, stats.n_plans);
    tfr_session_destroy(session);
}

TEST(shape_arithmetic_is_done_when_planning)
{
    tfr_value x, v[4];
    tfr_graph *graph = new_graph(1, &x);
    const int64_t one = 1;
    tfr_tensor *t = ints(1, &one);
    tfr_tensor *in = floats(2, two_by_three, six), *out = NULL;
    v[0] = unary(graph, "Shape", x);
    v[1] = add(graph, "ReduceProd", v, 1);
    tfr_value c;
    REQUIRE_OK(tfr_graph_add_constant(graph, "one", t, &c, &err), &err);
    v[2] = binary(graph, "Reshape", v[1], c);
    v[3] = binary(graph, "Reshape", x, v[2]);
    tfr_value y = unary(graph, "Relu", v[3]);
    output(graph, y);
    tfr_session *session = session_over(new_runtime(), graph, "naive:0");
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_INT(1, tfr_tensor_shape(out)->rank);
    CHECK_INT(6, tfr_tensor_elements(out));
    tfr_session_stats stats = stats_of(session);
    CHECK_UINT(1, stats.n_launches); /* the Relu alone */
    tfr_tensor_release(t);
    tfr_tensor_release(in);
    tfr_tensor_release(out);
    tfr_session_destroy(session);
}

TEST(a_shape_that_only_a_run_can_tell_splits_the_graph)
{
    tfr_value x, v;
    tfr_graph *graph = new_graph(1, &x);
    const float data[] = {0, 7, 0, 9, 0, 1};
    tfr_tensor *in = floats(2, two_by_three, data), *out = NULL;
    v = unary(graph, "NonZero", x);
    v = unary(graph, "Neg", v);
    output(graph, v);
    tfr_session *session = session_over(new_runtime(), graph, NULL);
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    const int64_t want[] = {0, -1, -1, -1, 0, -2};
    CHECK_INT(2, tfr_tensor_shape(out)->dims[0]);
    REQUIRE_INT(3, tfr_tensor_shape(out)->dims[1]);
    CHECK_MEM(want, tfr_tensor_data(out), sizeof want);
    tfr_tensor_release(in);
    tfr_tensor_release(out);
    tfr_session_destroy(session);
}

/* More sections than plans are kept of a graph. */
TEST(each_section_keeps_its_plan)
{
    enum { SECTIONS = 20 };
    tfr_value x;
    tfr_graph *graph = new_graph(1, &x);
    const float data[2][6] = {{0, 7, 0, 9, 0, 1}, {0, 7, 0, 9, 0, 0}};
    tfr_tensor *in, *out[SECTIONS];
    uint64_t n_plans = 0;
    for (int i = 0; i < SECTIONS; i++, x = unary(graph, "Abs", x))
        output(graph, unary(graph, "Neg", unary(graph, "NonZero", x)));
    tfr_session *session = session_over(new_runtime(), graph, NULL);
    for (int i = 0; i < 4; i++) {
        in = floats(2, two_by_three, data[i / 2]);
        REQUIRE_OK(tfr_session_run(session, &in, 1, out, SECTIONS, &err), &err);
        for (int k = 0; k < SECTIONS; k++) {
            CHECK_INT(i / 2 ? 2 : 3, tfr_tensor_shape(out[k])->dims[1]);
            tfr_tensor_release(out[k]);
        }
        tfr_tensor_release(in);
        CHECK(i % 2 ? stats_of(session).n_plans == n_plans
                    : stats_of(session).n_plans >= n_plans + SECTIONS);
        n_plans = stats_of(session).n_plans;
    }
    tfr_session_destroy(session);
}

/* The ends of a Slice take a launch, so it begins a section; the one before has seen its starts. */
TEST(a_plan_that_saw_a_value_of_the_next_section_survives_a_shorter_one)
{
    tfr_value x[3], v;
    tfr_graph *graph = new_graph(3, x);
    const tfr_attr to[] = {TFR_SET_INT("to", TFR_DTYPE_I64)};
    const int64_t many = 5000, one = 1, start = 1; /* many are not computed when planning */
    const int32_t short_start = 1;
    tfr_tensor *in[3] = {floats(2, two_by_three, six), ints(1, &start), floats(1, &many, NULL)};
    tfr_tensor *out = NULL;
    v = unary(graph, "ReduceMax", x[2]);
    tfr_node_desc cast = {.size = sizeof cast,
                          .op = "Cast",
                          .inputs = &v,
                          .n_inputs = 1,
                          .n_outputs = 1,
                          .attrs = to,
                          .n_attrs = 1};
    REQUIRE_OK(tfr_graph_add_node(graph, &cast, &v, &err), &err);
    output(graph, add(graph, "Slice", (tfr_value[]){x[0], x[1], v}, 3));
    tfr_session *session = session_over(new_runtime(), graph, "naive:0");
    memset(tfr_tensor_data(in[2]), 0, tfr_tensor_bytes(in[2]));
    ((float *)tfr_tensor_data(in[2]))[7] = 2;
    REQUIRE_OK(tfr_session_run(session, in, 3, &out, 1, &err), &err);
    CHECK_INT(3, tfr_tensor_elements(out));
    tfr_tensor_release(out);
    tfr_tensor_release(in[1]);
    in[1] = new_tensor(TFR_DTYPE_I32, 1, &one, &short_start);
    CHECK_STATUS(TFR_EDTYPE, tfr_session_run(session, in, 3, &out, 1, &err), &err);
    CHECK_CONTAINS("starts", err.text);
    for (int i = 0; i < 3; i++)
        tfr_tensor_release(in[i]);
    tfr_session_destroy(session);
}

TEST(a_loop_keeps_no_more_plans_than_the_session_may)
{
    const int64_t one = 1, trips = 50;
    tfr_session *session = session_over(new_runtime(), growing_loop(trips, "Abs"), "naive:0");
    tfr_tensor *in = floats(1, &one, six), *out = NULL;
    for (int i = 0; i < 2; i++) {
        REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
        CHECK_INT(trips + 1, tfr_tensor_elements(out));
        tfr_tensor_release(out);
        CHECK(tfr_session_n_placements(session) <= 40); /* 16 plans of 2 nodes, and the graph's */
    }
    CHECK(stats_of(session).n_plans >= 2 * (uint64_t)trips);
    tfr_tensor_release(in);
    tfr_session_destroy(session);
}

/* Iteration i takes row i of t, its column i, and row i + 1 by a step of -1, and adds one. */
static tfr_graph *slicing_loop(int64_t trips)
{
    graph_text g = {0}, body = {0};
    char text[80];
    tfr_value counter, go, out[4];
    tfr_value_type type = {.size = sizeof type, .kind = TFR_KIND_TENSOR, .dtype = TFR_DTYPE_I64};
    REQUIRE_OK(tfr_graph_create("loop", &g.graph, &err), &err);
    snprintf(text, sizeof text, "in t ? ?; n = [%lld]", (long long)trips);
    graph_text_more(&g, text);
    REQUIRE_OK(tfr_graph_create_child(g.graph, "body", &body.graph, &err), &err);
    REQUIRE_OK(tfr_graph_add_input(body.graph, "i", &type, &counter, &err), &err);
    type.dtype = TFR_DTYPE_BOOL;
    REQUIRE_OK(tfr_graph_add_input(body.graph, "go", &type, &go, &err), &err);
    graph_text_name(&body, "i", counter);
    graph_text_name(&body, "go", go);
    graph_text_more(&body, "in t ? ?; s = Reshape(i,[1]); e = Add(s,[1]); out go; out t;"
                           "out Add(Slice(t,s,e),1); out Slice(t,s,e,[1]);"
                           "out Add(Slice(t,e,s,[0],[-1]),1)");
    const tfr_subgraph sub = {.name = "body", .graph = body.graph};
    const tfr_value in[] = {g.names[1].value, TFR_VALUE_NONE, g.names[0].value};
    const tfr_node_desc node = {.size = sizeof node,
                                .op = "Loop",
                                .inputs = in,
                                .n_inputs = 3,
                                .n_outputs = 4,
                                .n_subgraphs = 1,
                                .subgraphs = &sub};
    REQUIRE_OK(tfr_graph_add_node(g.graph, &node, out, &err), &err);
    for (int i = 1; i < 4; i++)
        REQUIRE_OK(tfr_graph_add_output(g.graph, out[i], NULL, &err), &err);
    return g.graph;
}

TEST(a_loop_that_slices_elsewhere_each_time_is_not_planned_each_time)
{
    enum { N = 50, TABLE = N + 1 };
    const int64_t dims[] = {TABLE, TABLE};
    float numbers[TABLE * TABLE];
    for (int i = 0; i < TABLE * TABLE; i++)
        numbers[i] = (float)i;
    tfr_session *session = session_over(new_runtime(), slicing_loop(N), "naive:0");
    tfr_tensor *in = floats(2, dims, numbers), *out[3] = {NULL};
    for (int run = 0; run < 2; run++) {
        REQUIRE_OK(tfr_session_run(session, &in, 1, out, 3, &err), &err);
        for (int k = 0; k < 3; k++)
            REQUIRE(tfr_tensor_elements(out[k]) == N * TABLE);
        for (int i = 0; i < N * TABLE; i++) {
            const int row = i / TABLE, at = i % TABLE;
            CHECK(((float *)tfr_tensor_data(out[0]))[i] == (float)(row * TABLE + at + 1));
            CHECK(((float *)tfr_tensor_data(out[1]))[i] == (float)(at * TABLE + row));
            CHECK(((float *)tfr_tensor_data(out[2]))[i] == (float)((row + 1) * TABLE + at + 1));
        }
        for (int k = 0; k < 3; k++)
            tfr_tensor_release(out[k]);
        CHECK(stats_of(session).n_plans <= 32); /* 16 for bounds, then one for each section */
    }
    tfr_tensor_release(in);
    tfr_session_destroy(session);
}

TEST(a_value_that_does_not_fit_a_sequence_is_refused_in_each_run)
{
    const int64_t one = 1;
    tfr_session *session = session_over(
        new_runtime(),
        graph_of_text("in x ?; out SequenceLength(SequenceInsert(SequenceEmpty{dtype=7}(),x))"),
        "naive:0");
    tfr_tensor *in = floats(1, &one, six), *out = NULL;
    for (int run = 0; run < 2; run++) {
        CHECK_STATUS(TFR_EDTYPE, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
        CHECK(strstr(err.text, "SequenceInsert") != NULL);
    }
    tfr_tensor_release(in);
    tfr_session_destroy(session);
}

static const test_case cases[] = {
    CASE(new_shapes_get_a_plan_of_their_own_and_old_ones_are_found_again),
    CASE(another_value_of_a_shape_argument_makes_another_plan),
    CASE(strings_that_decide_a_shape_are_read_when_planning),
    CASE(shape_arithmetic_is_done_when_planning),
    CASE(a_shape_that_only_a_run_can_tell_splits_the_graph),
    CASE(each_section_keeps_its_plan),
    CASE(a_plan_that_saw_a_value_of_the_next_section_survives_a_shorter_one),
    CASE(a_loop_keeps_no_more_plans_than_the_session_may),
    CASE(a_loop_that_slices_elsewhere_each_time_is_not_planned_each_time),
    CASE(a_value_that_does_not_fit_a_sequence_is_refused_in_each_run),
};
TEST_MAIN(cases)
