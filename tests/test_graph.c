/* SPDX-License-Identifier: Apache-2.0 */
/* What a graph's builder may do wrong, and what it gets told. */
#include <tfrun/fail.h>
#include <tfrun/graph.h>

#include "graph/graph.h"
#include "tfr_test.h"

static tfr_err err = TFR_ERR_INIT;

static tfr_graph *new_graph(tfr_value *x)
{
    tfr_graph *graph = NULL;
    tfr_value_type type = {.size = sizeof type, .dtype = TFR_DTYPE_F32};
    REQUIRE_OK(tfr_graph_create("g", &graph, &err), &err);
    REQUIRE_OK(tfr_graph_add_input(graph, "x", &type, x, &err), &err);
    return graph;
}

static tfr_status add_relu(tfr_graph *graph, tfr_value in, const char *out_name, tfr_value *out)
{
    const char *names[] = {out_name};
    tfr_node_desc node = {.size = sizeof node,
                          .op = "Relu",
                          .name = "r",
                          .inputs = &in,
                          .n_inputs = 1,
                          .output_names = names,
                          .n_outputs = 1};
    return tfr_graph_add_node(graph, &node, out, &err);
}

/* A node n1 of one input and one output, with an attribute or none. */
static tfr_status add_node(tfr_graph *graph, const char *op, tfr_value in, const tfr_attr *attr)
{
    tfr_value out;
    tfr_node_desc node = {.size = sizeof node,
                          .op = op,
                          .name = "n1",
                          .inputs = &in,
                          .n_inputs = 1,
                          .n_outputs = 1,
                          .attrs = attr,
                          .n_attrs = attr != NULL};
    return tfr_graph_add_node(graph, &node, &out, &err);
}

TEST(a_node_gives_values_by_name)
{
    tfr_value x, y;
    tfr_graph *graph = new_graph(&x);
    REQUIRE_OK(add_relu(graph, x, "y", &y), &err);
    CHECK_OK(tfr_graph_add_output(graph, y, "result", &err), &err);
    CHECK_INT(y, tfr_graph_find_value(graph, "y"));
    CHECK_STR("y", tfr_graph_value_name(graph, y));
    CHECK_STR("result", tfr_graph_output_name(graph, 0));
    CHECK_UINT(1, tfr_graph_n_nodes(graph));
    CHECK_INT(TFR_VALUE_NONE, tfr_graph_find_value(graph, "z"));
    tfr_graph_release(graph);
}

TEST(a_duplicate_value_name_is_refused_with_the_name)
{
    tfr_value x, y;
    tfr_graph *graph = new_graph(&x);
    CHECK_STATUS(TFR_EMODEL, add_relu(graph, x, "x", &y), &err);
    CHECK_CONTAINS("\"x\"", err.text);
    CHECK_UINT(0, tfr_graph_n_nodes(graph));
    tfr_graph_release(graph);
}

TEST(a_made_up_name_makes_way_for_one_that_is_given)
{
    tfr_value x, a, b, c;
    tfr_graph *graph = new_graph(&x);
    REQUIRE_OK(add_relu(graph, x, NULL, &a), &err);
    CHECK_STR("%1", tfr_graph_value_name(graph, a));
    REQUIRE_OK(add_relu(graph, a, "%1", &b), &err);
    REQUIRE_OK(add_relu(graph, b, NULL, &c), &err);
    CHECK_INT(b, tfr_graph_find_value(graph, "%1"));
    CHECK_STR("%1", tfr_graph_value_name(graph, b));
    CHECK_INT(a, tfr_graph_find_value(graph, tfr_graph_value_name(graph, a)));
    CHECK_INT(c, tfr_graph_find_value(graph, tfr_graph_value_name(graph, c)));
    CHECK_STATUS(TFR_EMODEL, add_relu(graph, c, "%1", &a), &err);
    CHECK_CONTAINS("two values of the name \"%1\"", err.text);
    tfr_graph_release(graph);
}

TEST(a_value_of_a_failed_node_cannot_be_used)
{
    tfr_value x, y;
    tfr_graph *graph = new_graph(&x);
    tfr_value in[] = {x};
    const char *names[] = {"a", "a"};
    tfr_node_desc node = {.size = sizeof node,
                          .op = "Split",
                          .inputs = in,
                          .n_inputs = 1,
                          .output_names = names,
                          .n_outputs = 2};
    tfr_value out[2];
    CHECK_STATUS(TFR_EMODEL, tfr_graph_add_node(graph, &node, out, &err), &err);
    CHECK_STATUS(TFR_EINVAL, add_relu(graph, tfr_graph_find_value(graph, "a"), "b", &y), &err);
    tfr_graph_release(graph);
}

TEST(an_unknown_op_is_refused_with_its_name)
{
    tfr_value x;
    tfr_graph *graph = new_graph(&x);
    CHECK_STATUS(TFR_EMODEL, add_node(graph, "Rellu", x, NULL), &err);
    CHECK_CONTAINS("Rellu", err.text);
    CHECK_CONTAINS("n1", err.text);
    tfr_graph_release(graph);
}

TEST(an_unknown_attribute_is_refused_with_the_known_ones)
{
    tfr_value x;
    tfr_graph *graph = new_graph(&x);
    const tfr_attr attr = TFR_SET_FLOAT("alhpa", 1);
    CHECK_STATUS(TFR_EMODEL, add_node(graph, "Elu", x, &attr), &err);
    CHECK_CONTAINS("alhpa", err.text);
    CHECK_CONTAINS("alpha", err.text);
    tfr_graph_release(graph);
}

TEST(an_attribute_of_the_wrong_type_is_refused)
{
    tfr_value x;
    tfr_graph *graph = new_graph(&x);
    const tfr_attr attr = TFR_SET_INT("alpha", 1);
    CHECK_STATUS(TFR_EMODEL, add_node(graph, "Elu", x, &attr), &err);
    tfr_graph_release(graph);
}

TEST(too_many_inputs_are_refused_with_the_signature)
{
    tfr_value x, y;
    tfr_graph *graph = new_graph(&x);
    tfr_value in[] = {x, x};
    tfr_node_desc node = {
        .size = sizeof node, .op = "Relu", .inputs = in, .n_inputs = 2, .n_outputs = 1};
    CHECK_STATUS(TFR_EMODEL, tfr_graph_add_node(graph, &node, &y, &err), &err);
    CHECK_CONTAINS("2 inputs", err.text);
    tfr_graph_release(graph);
}

TEST(a_value_number_out_of_range_is_refused)
{
    tfr_value x, y;
    tfr_graph *graph = new_graph(&x);
    CHECK_STATUS(TFR_EINVAL, add_relu(graph, 7, "y", &y), &err);
    CHECK_STATUS(TFR_EINVAL, add_relu(graph, -2, "y", &y), &err);
    CHECK_STATUS(TFR_EINVAL, tfr_graph_add_output(graph, 9, NULL, &err), &err);
    tfr_graph_release(graph);
}

TEST(a_frozen_graph_cannot_be_changed)
{
    tfr_value x, y;
    tfr_graph *graph = new_graph(&x);
    tfr__graph_freeze(graph);
    CHECK_STATUS(TFR_EBUSY, add_relu(graph, x, "y", &y), &err);
    tfr_graph_release(graph);
}

TEST(a_dim_below_minus_one_is_refused)
{
    tfr_value x, y;
    tfr_graph *graph = new_graph(&x);
    tfr_value_type type = {
        .size = sizeof type, .dtype = TFR_DTYPE_F32, .rank_known = 1, .rank = 2, .dims = {3, -2}};
    CHECK_STATUS(TFR_ESHAPE, tfr_graph_add_input(graph, "y", &type, &y, &err), &err);
    CHECK_CONTAINS("-2", err.text);
    tfr_graph_release(graph);
}

TEST(nodes_inside_a_device_scope_are_pinned)
{
    tfr_value x, y, z;
    tfr_graph *graph = new_graph(&x);
    REQUIRE_OK(tfr_graph_push_device(graph, "naive:0", &err), &err);
    REQUIRE_OK(add_relu(graph, x, "y", &y), &err);
    tfr_graph_pop_device(graph);
    REQUIRE_OK(add_relu(graph, y, "z", &z), &err);
    CHECK_STR("naive:0", graph->nodes[0].device);
    CHECK(graph->nodes[1].device == NULL);
    tfr_graph_release(graph);
}

TEST(a_capture_of_the_same_value_is_made_once)
{
    tfr_value x, a, b;
    tfr_graph *graph = new_graph(&x), *child = NULL;
    REQUIRE_OK(tfr_graph_create_child(graph, "body", &child, &err), &err);
    CHECK_OK(tfr_graph_add_capture(child, x, &a, &err), &err);
    CHECK_OK(tfr_graph_add_capture(child, x, &b, &err), &err);
    CHECK_INT(a, b);
    CHECK_STATUS(TFR_EINVAL, tfr_graph_add_capture(graph, x, &a, &err), &err);
    tfr_graph_release(child);
    tfr_graph_release(graph);
}

TEST(a_subgraph_is_taken_over_once)
{
    tfr_value x, y;
    tfr_graph *graph = new_graph(&x);
    tfr_subgraph branches[] = {{.name = "then_branch"}, {.name = "else_branch"}};
    tfr_node_desc node = {.size = sizeof node,
                          .op = "If",
                          .inputs = &x,
                          .n_inputs = 1,
                          .n_outputs = 1,
                          .n_subgraphs = 2,
                          .subgraphs = branches};
    REQUIRE_OK(tfr_graph_create_child(graph, "branch", &branches[0].graph, &err), &err);
    branches[1].graph = branches[0].graph;
    CHECK_STATUS(TFR_EINVAL, tfr_graph_add_node(graph, &node, &y, &err), &err);
    CHECK_CONTAINS("subgraph \"else_branch\"", err.text);
    tfr_graph_release(branches[0].graph); /* nobody has taken it */
    tfr_graph_release(graph);
}

TEST(ten_thousand_names_are_found_again)
{
    tfr_value x, last, v = 0;
    tfr_graph *graph = new_graph(&x);
    char name[24];
    last = x;
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "v%d", i);
        REQUIRE_OK(add_relu(graph, last, name, &v), &err);
        last = v;
    }
    CHECK_INT(last, tfr_graph_find_value(graph, "v9999"));
    CHECK_INT(1, tfr_graph_find_value(graph, "v0"));
    tfr_graph_release(graph);
}

TEST(a_node_can_be_read)
{
    tfr_value x, y;
    tfr_graph *graph = new_graph(&x);
    tfr_node_view view = {.size = sizeof view};
    const tfr_attr attrs[] = {TFR_SET_INT("axis", 1)};
    tfr_node_desc node = {.size = sizeof node,
                          .op = "Softmax",
                          .name = "s",
                          .device = "CPU:0",
                          .inputs = &x,
                          .n_inputs = 1,
                          .n_outputs = 1,
                          .attrs = attrs,
                          .n_attrs = 1};
    REQUIRE_OK(tfr_graph_add_node(graph, &node, &y, &err), &err);
    REQUIRE_OK(tfr_graph_node(graph, 0, &view, &err), &err);
    CHECK_STR("", view.domain);
    CHECK_STR("Softmax", view.op);
    CHECK_STR("s", view.name);
    CHECK_STR("CPU:0", view.device);
    REQUIRE_INT(1, view.n_inputs);
    REQUIRE_INT(1, view.n_outputs);
    CHECK_INT(x, view.inputs[0]);
    CHECK_INT(y, view.outputs[0]);
    REQUIRE(tfr_node_attr(&view, "axis") != NULL);
    CHECK_INT(1, tfr_node_attr(&view, "axis")->ints[0]);
    CHECK(tfr_node_attr(&view, "axes") == NULL);
    CHECK_STATUS(TFR_EINVAL, tfr_graph_node(graph, 1, &view, &err), &err);
    tfr_graph_release(graph);
}

/* A value's view. */
static tfr_value_view look(const tfr_graph *graph, tfr_value value)
{
    tfr_value_view view = {.size = sizeof view};
    REQUIRE_OK(tfr_graph_value(graph, value, &view, &err), &err);
    return view;
}

TEST(the_view_of_a_value_tells_where_it_comes_from)
{
    tfr_value x, y, c, v, inner;
    tfr_graph *graph = new_graph(&x), *child = NULL;
    tfr_tensor *one = NULL;
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &(tfr_shape){0, {0}}, &one, &err), &err);
    REQUIRE_OK(add_relu(graph, x, "y", &y), &err);
    REQUIRE_OK(tfr_graph_add_constant(graph, "c", one, &c, &err), &err);
    REQUIRE_OK(tfr_graph_add_variable(graph, "v", one, &v, &err), &err);
    CHECK_INT(TFR_VALUE_NONE, look(graph, v).update);
    REQUIRE_OK(tfr_graph_set_update(graph, v, y, &err), &err);
    REQUIRE_OK(tfr_graph_create_child(graph, "child", &child, &err), &err);
    REQUIRE_OK(tfr_graph_add_capture(child, y, &inner, &err), &err);
    CHECK_UINT(4, tfr_graph_n_values(graph));
    CHECK_INT(TFR_ROLE_INPUT, look(graph, x).role);
    CHECK(look(graph, x).tensor == NULL);
    CHECK_INT(TFR_ROLE_NODE, look(graph, y).role);
    CHECK_INT(TFR_ROLE_CONSTANT, look(graph, c).role);
    CHECK(look(graph, c).tensor == one);
    CHECK_INT(TFR_ROLE_VARIABLE, look(graph, v).role);
    CHECK_INT(y, look(graph, v).update);
    CHECK(look(graph, v).tensor == one);
    CHECK_INT(TFR_ROLE_CAPTURE, look(child, inner).role);
    CHECK_INT(y, look(child, inner).of_parent);
    CHECK_INT(TFR_VALUE_NONE, look(graph, x).of_parent);
    CHECK_STATUS(TFR_EINVAL, tfr_graph_value(graph, 99, &(tfr_value_view){.size = 8}, &err), &err);
    CHECK_CONTAINS("no value 99", err.text);
    tfr_tensor_release(one);
    tfr_graph_release(child);
    tfr_graph_release(graph);
}

TEST(the_view_of_an_output_has_the_type_that_was_declared)
{
    tfr_value x;
    tfr_value_type type = {.size = sizeof type, .dtype = TFR_DTYPE_I64};
    tfr_graph *graph = new_graph(&x);
    REQUIRE_OK(tfr_graph_add_output(graph, x, NULL, &err), &err);
    REQUIRE_OK(tfr_graph_add_output(graph, x, "again", &err), &err);
    CHECK(tfr_graph_output_type(graph, 0) == NULL);
    REQUIRE_OK(tfr_graph_declare_output(graph, 1, &type, &err), &err);
    CHECK(tfr_graph_output_type(graph, 0) == NULL);
    REQUIRE(tfr_graph_output_type(graph, 1) != NULL);
    CHECK_INT(TFR_DTYPE_I64, tfr_graph_output_type(graph, 1)->dtype);
    CHECK(tfr_graph_output_type(graph, 2) == NULL);
    tfr_graph_release(graph);
}

TEST(a_nodes_subgraph_is_found_by_name)
{
    tfr_value c, inner, out;
    tfr_graph *graph = NULL, *branch[2] = {NULL, NULL};
    tfr_node_view view = {.size = sizeof view};
    tfr_value_type type = {.size = sizeof type, .dtype = TFR_DTYPE_BOOL};
    REQUIRE_OK(tfr_graph_create("g", &graph, &err), &err);
    REQUIRE_OK(tfr_graph_add_input(graph, "c", &type, &c, &err), &err);
    for (int i = 0; i < 2; i++) {
        REQUIRE_OK(tfr_graph_create_child(graph, "branch", &branch[i], &err), &err);
        REQUIRE_OK(tfr_graph_add_capture(branch[i], c, &inner, &err), &err);
        REQUIRE_OK(tfr_graph_add_output(branch[i], inner, NULL, &err), &err);
    }
    REQUIRE_OK(tfr_graph_add_node(
                   graph,
                   &(tfr_node_desc){.size = sizeof(tfr_node_desc),
                                    .op = "If",
                                    .inputs = &c,
                                    .n_inputs = 1,
                                    .n_outputs = 1,
                                    .subgraphs = (const tfr_subgraph[]){{"else_branch", branch[0]},
                                                                        {"then_branch", branch[1]}},
                                    .n_subgraphs = 2},
                   &out, &err),
               &err);
    REQUIRE_OK(tfr_graph_node(graph, 0, &view, &err), &err);
    CHECK(tfr_node_subgraph(&view, "then_branch") == branch[1]);
    CHECK(tfr_node_subgraph(&view, "else_branch") == branch[0]);
    CHECK(tfr_node_subgraph(&view, "body") == NULL);
    tfr_graph_release(graph);
}

static tfr_status say_changed(void *user, tfr_err *e)
{
    (void)user;
    return tfr_fail(e, TFR_EIO, "changed");
}

TEST(a_graphs_check_can_be_asked)
{
    tfr_value x;
    tfr_graph *graph = new_graph(&x);
    CHECK_OK(tfr_graph_check(graph, &err), &err);
    tfr_graph_set_check(graph, say_changed, NULL, NULL);
    CHECK_STATUS(TFR_EIO, tfr_graph_check(graph, &err), &err);
    CHECK_CONTAINS("changed", err.text);
    tfr_graph_release(graph);
}

static const test_case cases[] = {
    CASE(a_node_can_be_read),
    CASE(a_node_gives_values_by_name),
    CASE(a_duplicate_value_name_is_refused_with_the_name),
    CASE(a_made_up_name_makes_way_for_one_that_is_given),
    CASE(a_value_of_a_failed_node_cannot_be_used),
    CASE(an_unknown_op_is_refused_with_its_name),
    CASE(an_unknown_attribute_is_refused_with_the_known_ones),
    CASE(an_attribute_of_the_wrong_type_is_refused),
    CASE(too_many_inputs_are_refused_with_the_signature),
    CASE(a_value_number_out_of_range_is_refused),
    CASE(a_frozen_graph_cannot_be_changed),
    CASE(a_dim_below_minus_one_is_refused),
    CASE(nodes_inside_a_device_scope_are_pinned),
    CASE(a_capture_of_the_same_value_is_made_once),
    CASE(a_subgraph_is_taken_over_once),
    CASE(the_view_of_a_value_tells_where_it_comes_from),
    CASE(the_view_of_an_output_has_the_type_that_was_declared),
    CASE(a_nodes_subgraph_is_found_by_name),
    CASE(a_graphs_check_can_be_asked),
    CASE(ten_thousand_names_are_found_again),
};
TEST_MAIN(cases)
