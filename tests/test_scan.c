/* SPDX-License-Identifier: Apache-2.0 */
/* Scan: axes and directions of what goes in and out, state, and no pass at all. */
#include "tfr_test.h"

#include "graph_text.h"
#include "session_kit.h"

/*
 * A Scan over x with the state s: each pass adds the sum of its slice to s, and gives s and twice
 * the slice, or the slice itself. Its attributes are lists of one number.
 */
typedef struct scan {
    int64_t in_axis, in_reverse, out_axis, out_reverse;
    bool by_default, as_it_is;
} scan;

#define AXES(in, reverse_in, out, reverse_out)                                                     \
    {                                                                                              \
        .in_axis = in, .in_reverse = reverse_in, .out_axis = out, .out_reverse = reverse_out       \
    }

static tfr_graph *scan_graph(const char *x, const char *slice, const scan *s)
{
    graph_text g = {0}, body = {0};
    const int64_t one = 1;
    tfr_value in[2], out[2];
    char text[160];
    REQUIRE_OK(tfr_graph_create("scan", &g.graph, &err), &err);
    snprintf(text, sizeof text, "in s; in x %s", x);
    graph_text_more(&g, text);
    REQUIRE_OK(tfr_graph_create_child(g.graph, "body", &body.graph, &err), &err);
    snprintf(text, sizeof text,
             "in s; in a %s; t = Add(s, ReduceSum{keepdims=0}(a)); out t; out %s", slice,
             s->as_it_is ? "a" : "Add(a, a)");
    graph_text_more(&body, text);
    const tfr_attr attrs[] = {
        {.size = sizeof *attrs,
         .type = TFR_ATTR_INT,
         .name = "num_scan_inputs",
         .n = 1,
         .ints = &one},
        {.size = sizeof *attrs,
         .type = TFR_ATTR_INTS,
         .name = "scan_input_axes",
         .n = 1,
         .ints = &s->in_axis},
        {.size = sizeof *attrs,
         .type = TFR_ATTR_INTS,
         .name = "scan_input_directions",
         .n = 1,
         .ints = &s->in_reverse},
        {.size = sizeof *attrs,
         .type = TFR_ATTR_INTS,
         .name = "scan_output_axes",
         .n = 1,
         .ints = &s->out_axis},
        {.size = sizeof *attrs,
         .type = TFR_ATTR_INTS,
         .name = "scan_output_directions",
         .n = 1,
         .ints = &s->out_reverse},
    };
    const tfr_subgraph sub = {.name = "body", .graph = body.graph};
    const tfr_node_desc node = {.size = sizeof node,
                                .op = "Scan",
                                .inputs = in,
                                .n_inputs = 2,
                                .n_outputs = 2,
                                .attrs = attrs,
                                .n_attrs = s->by_default ? 1 : 5,
                                .n_subgraphs = 1,
                                .subgraphs = &sub};
    in[0] = g.names[0].value;
    in[1] = g.names[1].value;
    REQUIRE_OK(tfr_graph_add_node(g.graph, &node, out, &err), &err);
    output(g.graph, out[0]);
    output(g.graph, out[1]);
    return g.graph;
}

/* Runs over x; out gets the state and the stacked slices. */
static tfr_status run(const char *declared, const char *slice, const scan *s, tfr_tensor *x,
                      tfr_tensor **out)
{
    const float none = 0;
    tfr_tensor *in[2] = {floats(0, NULL, &none), x};
    tfr_session *session = session_over(new_runtime(), scan_graph(declared, slice, s), "naive:0");
    tfr_status status = tfr_session_run(session, in, 2, out, 2, &err);
    tfr_session_destroy(session);
    tfr_tensor_release(in[0]);
    tfr_tensor_release(in[1]);
    return status;
}

TEST(axes_and_directions_of_inputs_and_outputs_are_obeyed)
{
    /* x is 1 2 3 / 4 5 6. */
    static const float numbers[] = {1, 2, 3, 4, 5, 6};
    static const struct {
        scan scan;
        const char *slice;
        int64_t dims[2];
        float twice[6];
    } rows[] = {
        {{.by_default = true}, "3", {2, 3}, {2, 4, 6, 8, 10, 12}},
        {AXES(0, 0, 0, 0), "3", {2, 3}, {2, 4, 6, 8, 10, 12}},
        {AXES(0, 1, 0, 0), "3", {2, 3}, {8, 10, 12, 2, 4, 6}},
        {AXES(0, 0, 0, 1), "3", {2, 3}, {8, 10, 12, 2, 4, 6}},
        {AXES(0, 1, 0, 1), "3", {2, 3}, {2, 4, 6, 8, 10, 12}},
        {AXES(0, 0, 1, 0), "3", {3, 2}, {2, 8, 4, 10, 6, 12}},
        {AXES(1, 0, 0, 0), "2", {3, 2}, {2, 8, 4, 10, 6, 12}},
        {AXES(-1, 1, 0, 0), "2", {3, 2}, {6, 12, 4, 10, 2, 8}},
        {AXES(-1, 0, 0, 1), "2", {3, 2}, {6, 12, 4, 10, 2, 8}},
        {AXES(-2, 0, -1, 1), "3", {3, 2}, {8, 2, 10, 4, 12, 6}},
        {AXES(1, 0, 1, 0), "2", {2, 3}, {2, 4, 6, 8, 10, 12}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tfr_tensor *out[2] = {NULL, NULL};
        REQUIRE_OK(run("2 3", rows[i].slice, &rows[i].scan, floats(2, two_by_three, numbers), out),
                   &err);
        CHECK_NEAR(21, *(float *)tfr_tensor_data(out[0]), 0);
        CHECK_INT(2, tfr_tensor_shape(out[1])->rank);
        CHECK_INT(rows[i].dims[0], tfr_tensor_shape(out[1])->dims[0]);
        CHECK_INT(rows[i].dims[1], tfr_tensor_shape(out[1])->dims[1]);
        CHECK_MEM(rows[i].twice, tfr_tensor_data(out[1]), sizeof rows[i].twice);
        tfr_tensor_release(out[0]);
        tfr_tensor_release(out[1]);
    }
}

TEST(without_a_pass_the_state_stays_and_the_output_is_empty_in_its_shape)
{
    static const int64_t dims[] = {0, 3};
    const scan s = {.by_default = true, .as_it_is = true};
    tfr_tensor *out[2] = {NULL, NULL};
    REQUIRE_OK(run("? 3", "3", &s, floats(2, dims, NULL), out), &err);
    CHECK_NEAR(0, *(float *)tfr_tensor_data(out[0]), 0);
    CHECK_INT(TFR_DTYPE_F32, tfr_tensor_dtype(out[1]));
    REQUIRE_INT(2, tfr_tensor_shape(out[1])->rank);
    CHECK_INT(0, tfr_tensor_shape(out[1])->dims[0]);
    CHECK_INT(3, tfr_tensor_shape(out[1])->dims[1]);
    tfr_tensor_release(out[0]);
    tfr_tensor_release(out[1]);
}

TEST(without_a_pass_the_stacked_axis_is_the_empty_one)
{
    static const int64_t dims[] = {0, 3};
    const scan s = {.out_axis = -1, .as_it_is = true};
    tfr_tensor *out[2] = {NULL, NULL};
    REQUIRE_OK(run("? 3", "3", &s, floats(2, dims, NULL), out), &err);
    REQUIRE_INT(2, tfr_tensor_shape(out[1])->rank);
    CHECK_INT(3, tfr_tensor_shape(out[1])->dims[0]);
    CHECK_INT(0, tfr_tensor_shape(out[1])->dims[1]);
    tfr_tensor_release(out[0]);
    tfr_tensor_release(out[1]);
}

TEST(slices_without_elements_are_passed)
{
    static const int64_t dims[] = {3, 0};
    const scan s = {.in_reverse = 1};
    tfr_tensor *out[2] = {NULL, NULL};
    REQUIRE_OK(run("3 0", "0", &s, floats(2, dims, NULL), out), &err);
    CHECK_NEAR(0, *(float *)tfr_tensor_data(out[0]), 0);
    REQUIRE_INT(2, tfr_tensor_shape(out[1])->rank);
    CHECK_INT(3, tfr_tensor_shape(out[1])->dims[0]);
    CHECK_INT(0, tfr_tensor_shape(out[1])->dims[1]);
    tfr_tensor_release(out[0]);
    tfr_tensor_release(out[1]);
}

TEST(an_axis_outside_of_the_rank_is_refused)
{
    static const int64_t axes[] = {2, -3};
    for (int i = 0; i < 2; i++) {
        const scan s = {.in_axis = axes[i]};
        tfr_tensor *out[2] = {NULL, NULL};
        CHECK(run("*", "3", &s, floats(2, two_by_three, six), out) != TFR_OK);
        CHECK_CONTAINS("axis", err.text);
    }
}

static const test_case cases[] = {
    CASE(axes_and_directions_of_inputs_and_outputs_are_obeyed),
    CASE(without_a_pass_the_state_stays_and_the_output_is_empty_in_its_shape),
    CASE(without_a_pass_the_stacked_axis_is_the_empty_one),
    CASE(slices_without_elements_are_passed),
    CASE(an_axis_outside_of_the_rank_is_refused),
};
TEST_MAIN(cases)
