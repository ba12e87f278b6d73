/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX models to graphs: what is kept, sorted, captured and inlined. */
#include <tfrun/onnx.h>

#include "graph/graph.h"
#include "onnx_build.h"
#include "temp_path.h"
#include "tfr_test.h"

static tfr_err err = TFR_ERR_INIT;
static const int64_t two[1] = {2};

static tfr_graph *load(const pb *graph, int opset)
{
    pb m = model(graph, opset);
    tfr_graph *out = NULL;
    REQUIRE(!m.full);
    REQUIRE_OK(tfr_onnx_parse(m.data, m.n, &out, &err), &err);
    return out;
}

/* A graph with inputs a and b, float32[2]. */
static pb start(void)
{
    pb g = {.n = 0};
    pb_text(&g, 2, "g");
    add_value(&g, 11, "a", TFR_DTYPE_F32, 1, two);
    add_value(&g, 11, "b", TFR_DTYPE_F32, 1, two);
    return g;
}

static pb weights(const char *name)
{
    static const float w[2] = {5, 6};
    return tensor_raw(name, TFR_DTYPE_F32, 1, two, w, sizeof w);
}

static const char *op_of(const tfr_graph *graph, uint32_t i)
{
    return i < graph->n_nodes ? graph->nodes[i].op->name : "(none)";
}

TEST(inputs_nodes_and_outputs_keep_names_and_types)
{
    pb g = start();
    tfr_graph *graph;
    const tfr_value_type *type;
    add_node(&g, node("Add", "a b", "c"));
    add_value(&g, 12, "c", TFR_DTYPE_F32, 1, two);
    graph = load(&g, 20);
    CHECK_STR("g", graph->name);
    CHECK_UINT(2, tfr_graph_n_inputs(graph));
    CHECK_UINT(1, tfr_graph_n_outputs(graph));
    CHECK_STR("a", tfr_graph_value_name(graph, tfr_graph_input(graph, 0)));
    CHECK_STR("c", tfr_graph_output_name(graph, 0));
    type = tfr_graph_value_type(graph, tfr_graph_input(graph, 1));
    CHECK_INT(TFR_DTYPE_F32, type->dtype);
    CHECK_INT(1, type->rank);
    CHECK_INT(2, type->dims[0]);
    CHECK_STR("Add", op_of(graph, 0));
    CHECK_STR("Add_0", graph->nodes[0].name);
    tfr_graph_release(graph);
}

TEST(dims_with_names_are_symbols_and_shapes_may_be_missing)
{
    static const int64_t dims[2] = {-1, 3};
    pb g = {.n = 0};
    tfr_graph *graph;
    add_value(&g, 11, "x", TFR_DTYPE_F32, 2, dims);
    add_value(&g, 11, "y", TFR_DTYPE_F32, -1, NULL);
    add_node(&g, node("Add", "x y", "z"));
    add_value(&g, 12, "z", 0, -1, NULL);
    graph = load(&g, 20);
    CHECK_STR("N", tfr_graph_symbol_name(graph, tfr_graph_value_type(graph, 0)->dims[0]));
    CHECK_INT(3, tfr_graph_value_type(graph, 0)->dims[1]);
    CHECK_INT(0, (int)tfr_graph_value_type(graph, 1)->rank_known);
    tfr_graph_release(graph);
}

TEST(initializers_are_constants_also_when_they_are_inputs)
{
    pb g = start(), w = weights("b"), v = weights("v");
    tfr_graph *graph;
    tfr_value b;
    pb_msg(&g, 5, &w);
    pb_msg(&g, 5, &v);
    add_node(&g, node("Sum", "a b v", "c"));
    add_value(&g, 12, "c", 0, -1, NULL);
    graph = load(&g, 20);
    CHECK_UINT(1, tfr_graph_n_inputs(graph));
    b = tfr_graph_find_value(graph, "b");
    REQUIRE(b != TFR_VALUE_NONE);
    CHECK_INT(TFR__ROLE_CONSTANT, graph->values[b].role);
    CHECK_NEAR(6, ((float *)tfr_tensor_data(graph->values[b].tensor))[1], 0);
    tfr_graph_release(graph);
}

TEST(large_initializers_of_a_file_are_mapped_and_outlive_the_load)
{
    static const int64_t dims[1] = {2000};
    static float values[2000];
    pb g = {.n = 0}, w, m;
    tfr_graph *graph;
    tfr_value v;
    values[1999] = 9;
    w = tensor_raw("w", TFR_DTYPE_F32, 1, dims, values, sizeof values);
    pb_msg(&g, 5, &w);
    add_node(&g, node("Identity", "w", "y"));
    add_value(&g, 12, "y", 0, -1, NULL);
    m = model(&g, 20);
    REQUIRE(!m.full);
    for (int pad = 0; pad < 4; pad++) { /* all alignments: mapped or copied, but read */
        pb_int(&m, 5, 1);
        temp_write("m.onnx", m.data, m.n);
        REQUIRE_OK(tfr_onnx_load(temp_path("m.onnx"), &graph, &err), &err);
        temp_drop("m.onnx");
        v = tfr_graph_find_value(graph, "w");
        REQUIRE(v != TFR_VALUE_NONE);
        CHECK_NEAR(9, ((float *)tfr_tensor_data(graph->values[v].tensor))[1999], 0);
        tfr_graph_release(graph);
    }
}

TEST(sparse_initializers_become_dense)
{
    static const int64_t nnz[1] = {2}, at[2] = {1, 3};
    static const float values[2] = {7, 8}, dense[5] = {0, 7, 0, 8, 0};
    pb g = {.n = 0}, v = tensor_raw("s", TFR_DTYPE_F32, 1, nnz, values, sizeof values);
    pb i = tensor_raw("i", TFR_DTYPE_I64, 1, nnz, at, sizeof at), s = {.n = 0};
    tfr_graph *graph;
    tfr_value value;
    pb_msg(&s, 1, &v);
    pb_msg(&s, 2, &i);
    pb_int(&s, 3, 5);
    pb_msg(&g, 15, &s);
    add_node(&g, node("Identity", "s", "y"));
    add_value(&g, 12, "y", 0, -1, NULL);
    graph = load(&g, 20);
    value = tfr_graph_find_value(graph, "s");
    REQUIRE(value != TFR_VALUE_NONE);
    CHECK_INT(5, tfr_tensor_elements(graph->values[value].tensor));
    CHECK_MEM(dense, tfr_tensor_data(graph->values[value].tensor), sizeof dense);
    tfr_graph_release(graph);
}

TEST(constant_nodes_of_every_form_become_constants)
{
    static const int64_t ints[3] = {1, 2, 3};
    static const float floats[2] = {1, 2};
    pb g = {.n = 0}, t = weights("w"), n;
    static const tfr_dtype dtypes[] = {TFR_DTYPE_F32, TFR_DTYPE_I64, TFR_DTYPE_I64,
                                       TFR_DTYPE_F32, TFR_DTYPE_F32, TFR_DTYPE_STRING};
    static const int counts[] = {2, 1, 3, 1, 2, 1};
    const pb attrs[] = {attr_msg("value", 5, 4, &t),
                        attr_int("value_int", 7),
                        attr_ints("value_ints", ints, 3),
                        attr_float("value_float", 1.5f),
                        attr_floats("value_floats", floats, 2),
                        attr_text("value_string", "s")};
    tfr_graph *graph;
    char name[4] = "c0";
    for (int i = 0; i < 6; i++, name[1]++) {
        n = node("Constant", "", name);
        add_attr(&n, attrs[i]);
        add_node(&g, n);
        add_value(&g, 12, name, 0, -1, NULL);
    }
    graph = load(&g, 20);
    CHECK_UINT(0, graph->n_nodes);
    for (int i = 0; i < 6; i++) {
        const tfr__value *value = &graph->values[tfr_graph_output(graph, (uint32_t)i)];
        CHECK_INT(TFR__ROLE_CONSTANT, value->role);
        CHECK_INT(dtypes[i], tfr_tensor_dtype(value->tensor));
        CHECK_INT(counts[i], tfr_tensor_elements(value->tensor));
    }
    tfr_graph_release(graph);
}

TEST(nodes_in_any_acyclic_order_are_sorted)
{
    pb g = start();
    tfr_graph *graph;
    add_node(&g, node("Exp", "y", "z"));
    add_node(&g, node("Neg", "x", "y"));
    add_node(&g, node("Add", "a b", "x"));
    add_value(&g, 12, "z", 0, -1, NULL);
    graph = load(&g, 20);
    CHECK_STR("Add", op_of(graph, 0));
    CHECK_STR("Neg", op_of(graph, 1));
    CHECK_STR("Exp", op_of(graph, 2));
    tfr_graph_release(graph);
}

TEST(absent_operands_stay_absent)
{
    pb g = start();
    tfr_graph *graph;
    add_node(&g, node("Clip", "a - b", "c"));
    add_node(&g, node("Clip", "a b -", "d"));
    add_node(&g, node("Dropout", "a", "e -"));
    add_value(&g, 12, "c", 0, -1, NULL);
    graph = load(&g, 20);
    CHECK_UINT(3, graph->nodes[0].n_inputs);
    CHECK_INT(TFR_VALUE_NONE, graph->nodes[0].inputs[1]);
    CHECK_UINT(2, graph->nodes[1].n_inputs);
    CHECK_INT(TFR_VALUE_NONE, graph->nodes[2].outputs[1]);
    tfr_graph_release(graph);
}

TEST(an_output_may_be_an_input_or_appear_twice)
{
    pb g = start();
    tfr_graph *graph;
    add_value(&g, 12, "a", 0, -1, NULL);
    add_value(&g, 12, "a", 0, -1, NULL);
    graph = load(&g, 20);
    CHECK_UINT(2, tfr_graph_n_outputs(graph));
    CHECK_STR("a", tfr_graph_output_name(graph, 1));
    tfr_graph_release(graph);
}

/* ---- subgraphs ------------------------------------------------------------------------------- */

/* An If whose branches are the same graph. */
static pb node_if(const char *cond, const char *out, const pb *branch)
{
    pb n = node("If", cond, out);
    add_attr(&n, attr_msg("then_branch", 6, 5, branch));
    add_attr(&n, attr_msg("else_branch", 6, 5, branch));
    return n;
}

TEST(subgraphs_capture_values_through_all_levels)
{
    pb inner = {.n = 0}, outer = {.n = 0}, g = start();
    tfr_graph *graph, *child;
    add_value(&g, 11, "cond", TFR_DTYPE_BOOL, 0, NULL);
    add_node(&inner, node("Add", "a b", "s")); /* two levels up */
    add_value(&inner, 12, "s", 0, -1, NULL);
    add_node(&outer, node_if("cond", "r", &inner));
    add_value(&outer, 12, "r", 0, -1, NULL);
    add_node(&g, node_if("cond", "y", &outer));
    add_value(&g, 12, "y", 0, -1, NULL);
    graph = load(&g, 20);
    REQUIRE_INT(2, graph->nodes[0].n_subgraphs);
    child = graph->nodes[0].subgraphs[0];
    CHECK_STR("If", op_of(child, 0));
    REQUIRE_INT(2, child->nodes[0].n_subgraphs);
    child = child->nodes[0].subgraphs[0];
    CHECK_STR("Add", op_of(child, 0));
    CHECK_INT(TFR__ROLE_CAPTURE, child->values[child->nodes[0].inputs[0]].role);
    tfr_graph_release(graph);
}

/* The graphs make up names of this form for captured values and for what upgrades add. */
TEST(a_file_may_name_its_values_by_numbers)
{
    pb body = {.n = 0}, g = start(), clip = node("Clip", "a", "%4");
    tfr_graph *graph, *child;
    add_value(&g, 11, "cond", TFR_DTYPE_BOOL, 0, NULL);
    add_attr(&clip, attr_float("min", 0));
    add_attr(&clip, attr_float("max", 1));
    add_node(&g, clip);
    add_node(&body, node("Add", "b %4", "%1"));
    add_node(&body, node("Add", "a %1", "%0"));
    add_node(&body, node("Neg", "%0", "%2"));
    add_value(&body, 12, "%2", 0, -1, NULL);
    add_node(&g, node_if("cond", "%3", &body));
    add_value(&g, 12, "%3", 0, -1, NULL);
    graph = load(&g, 6);
    CHECK_STR("%4", tfr_graph_value_name(graph, graph->nodes[0].outputs[0]));
    CHECK_STR("%3", tfr_graph_output_name(graph, 0));
    CHECK_STR("%3", tfr_graph_value_name(graph, graph->nodes[1].outputs[0]));
    child = graph->nodes[1].subgraphs[0];
    CHECK_STR("%1", tfr_graph_value_name(child, child->nodes[0].outputs[0]));
    CHECK_STR("%0", tfr_graph_value_name(child, child->nodes[1].outputs[0]));
    CHECK_STR("%2", tfr_graph_value_name(child, child->nodes[2].outputs[0]));
    for (tfr_value v = 0; (uint32_t)v < child->n_values; v++)
        CHECK_INT(v, tfr_graph_find_value(child, tfr_graph_value_name(child, v)));
    tfr_graph_release(graph);
}

TEST(nodes_are_sorted_by_what_their_subgraphs_capture)
{
    pb body = {.n = 0}, g = start();
    tfr_graph *graph;
    add_value(&g, 11, "cond", TFR_DTYPE_BOOL, 0, NULL);
    add_node(&body, node("Neg", "late", "n"));
    add_value(&body, 12, "n", 0, -1, NULL);
    add_node(&g, node_if("cond", "y", &body));
    add_node(&g, node("Add", "a b", "late"));
    add_value(&g, 12, "y", 0, -1, NULL);
    graph = load(&g, 20);
    CHECK_STR("Add", op_of(graph, 0));
    CHECK_STR("If", op_of(graph, 1));
    tfr_graph_release(graph);
}

TEST(a_name_made_inside_hides_the_outer_one)
{
    pb body = {.n = 0}, g = start();
    tfr_graph *graph, *child;
    add_value(&g, 11, "cond", TFR_DTYPE_BOOL, 0, NULL);
    add_node(&body, node("Neg", "a", "y")); /* the If itself makes y, too: no cycle */
    add_node(&body, node("Exp", "y", "z"));
    add_value(&body, 12, "z", 0, -1, NULL);
    add_node(&g, node_if("cond", "y", &body));
    add_value(&g, 12, "y", 0, -1, NULL);
    graph = load(&g, 20);
    child = graph->nodes[0].subgraphs[0];
    CHECK_INT(child->nodes[0].outputs[0], child->nodes[1].inputs[0]);
    tfr_graph_release(graph);
}

/* ---- functions ------------------------------------------------------------------------------- */

/* FunctionProto of domain "my". */
static pb function(const char *name, const char *inputs, const char *outputs)
{
    pb f = {.n = 0}, set = {.n = 0}, own = {.n = 0};
    pb_text(&f, 1, name);
    pb_words(&f, 4, inputs);
    pb_words(&f, 5, outputs);
    pb_int(&set, 2, 20);
    pb_msg(&f, 9, &set);
    pb_text(&own, 1, "my");
    pb_int(&own, 2, 1);
    pb_msg(&f, 9, &own);
    pb_text(&f, 10, "my");
    return f;
}

static void add_body(pb *f, pb n)
{
    pb_msg(f, 7, &n);
}

static pb call(const char *name, const char *inputs, const char *outputs)
{
    pb n = node(name, inputs, outputs);
    pb_text(&n, 7, "my");
    return n;
}

TEST(functions_are_inlined_with_their_attributes)
{
    pb f = function("Twice", "x", "y"), g = start(), elu = node("Elu", "t", "y"), m, n;
    pb ref = {.n = 0}, standard = attr_float("alpha", 3);
    tfr_graph *graph;
    const tfr_attr *alpha;
    pb_text(&ref, 1, "alpha");
    pb_text(&ref, 21, "alpha");
    pb_int(&ref, 20, 1);
    add_attr(&elu, ref);
    add_body(&f, node("Add", "x x", "t"));
    add_body(&f, elu);
    pb_msg(&f, 11, &standard);
    n = call("Twice", "a", "t"); /* the caller's t is not the function's */
    add_attr(&n, attr_float("alpha", 0.5f));
    add_node(&g, n);
    add_node(&g, call("Twice", "t", "u"));
    add_value(&g, 12, "u", 0, -1, NULL);
    m = model(&g, 20);
    pb_msg(&m, 25, &f);
    REQUIRE_OK(tfr_onnx_parse(m.data, m.n, &graph, &err), &err);
    CHECK_UINT(4, graph->n_nodes);
    CHECK_STR("Twice_0/Elu_1", graph->nodes[1].name);
    CHECK_INT(graph->nodes[1].outputs[0], graph->nodes[2].inputs[1]);
    alpha = &graph->nodes[1].attrs.items[0].pub;
    CHECK_NEAR(0.5, alpha->floats[0], 0);
    alpha = &graph->nodes[3].attrs.items[0].pub;
    CHECK_NEAR(3, alpha->floats[0], 0);
    tfr_graph_release(graph);
}

TEST(a_function_that_calls_itself_is_refused)
{
    pb f = function("A", "x", "y"), h = function("B", "x", "y"), g = start(), m;
    tfr_graph *graph;
    add_body(&f, call("B", "x", "y"));
    add_body(&h, call("A", "x", "y"));
    add_node(&g, call("A", "a", "c"));
    m = model(&g, 20);
    pb_msg(&m, 25, &f);
    pb_msg(&m, 25, &h);
    CHECK_STATUS(TFR_EMODEL, tfr_onnx_parse(m.data, m.n, &graph, &err), &err);
    CHECK_CONTAINS("function \"A\" calls itself", err.text);
}

TEST(functions_that_double_30_times_are_refused)
{
    pb g = start(), m;
    tfr_graph *graph;
    char name[16], next[16];
    add_node(&g, call("F0", "a", "c"));
    m = model(&g, 20);
    for (int i = 0; i < 30; i++) {
        pb f;
        snprintf(name, sizeof name, "F%d", i);
        snprintf(next, sizeof next, "F%d", i + 1);
        f = function(name, "x", "y");
        add_body(&f, i == 29 ? node("Neg", "x", "t") : call(next, "x", "t"));
        add_body(&f, i == 29 ? node("Neg", "t", "y") : call(next, "t", "y"));
        pb_msg(&m, 25, &f);
    }
    REQUIRE(!m.full);
    CHECK_STATUS(TFR_EMODEL, tfr_onnx_parse(m.data, m.n, &graph, &err), &err);
    CHECK_CONTAINS("unfold to more than 262144 nodes", err.text);
}

/* This program is linked with formats/ alone. */
TEST(a_gradient_is_refused_where_nothing_differentiates)
{
    pb g = start(), n = node("Gradient", "a", "da"), set = {.n = 0}, m;
    tfr_graph *graph;
    add_node(&g, node("Neg", "a", "c"));
    pb_text(&n, 7, "ai.onnx.preview.training");
    add_attr(&n, attr_texts("xs", "a"));
    add_attr(&n, attr_text("y", "c"));
    add_node(&g, n);
    m = model(&g, 17);
    pb_text(&set, 1, "ai.onnx.preview.training");
    pb_int(&set, 2, 1);
    pb_msg(&m, 8, &set);
    CHECK_STATUS(TFR_EUNSUPPORTED, tfr_onnx_parse(m.data, m.n, &graph, &err), &err);
    CHECK_CONTAINS("node 1 (Gradient): this program is linked without", err.text);
}

TEST(the_opsets_of_a_file_are_read_without_its_graph)
{
    tfr_onnx_opset opsets[3] = {{.size = sizeof opsets[0]}};
    uint32_t n = 0;
    pb m = {.n = 0}, set = {.n = 0}, own = {.n = 0}, later = {.n = 0};
    pb_int(&m, 1, 8);
    pb_int(&set, 2, 20);
    pb_msg(&m, 8, &set);
    pb_text(&own, 1, "a.domain.of.more.than.sixty-three.characters.which.is.cut.behind.them");
    pb_int(&own, 2, 3);
    pb_msg(&m, 8, &own);
    pb_text(&m, 7, "\xff no graph"); /* whoever looks into it fails */
    pb_text(&later, 1, "late");
    pb_int(&later, 2, 7);
    pb_msg(&m, 8, &later);
    temp_write("opsets.onnx", m.data, m.n);
    REQUIRE_OK(tfr_onnx_read_opsets(temp_path("opsets.onnx"), opsets, 3, &n, &err), &err);
    CHECK_UINT(3, n);
    CHECK_STR("", opsets[0].domain);
    CHECK_INT(20, opsets[0].version);
    CHECK_STR("a.domain.of.more.than.sixty-three.characters.which.is.cut.behin", opsets[1].domain);
    CHECK_INT(3, opsets[1].version);
    CHECK_STR("late", opsets[2].domain);
    CHECK_INT(7, opsets[2].version);
    opsets[1].version = -1;
    REQUIRE_OK(tfr_onnx_read_opsets(temp_path("opsets.onnx"), opsets, 1, &n, &err), &err);
    CHECK_UINT(3, n);
    CHECK_INT(-1, opsets[1].version);
    REQUIRE_OK(tfr_onnx_read_opsets(temp_path("opsets.onnx"), NULL, 0, &n, &err), &err);
    CHECK_UINT(3, n);
    temp_write("opsets.onnx", "hello, world", 12);
    CHECK_STATUS(TFR_EMODEL, tfr_onnx_read_opsets(temp_path("opsets.onnx"), opsets, 3, &n, &err),
                 &err);
    CHECK_CONTAINS("opsets.onnx: not an ONNX model but text", err.text);
    temp_drop("opsets.onnx");
}

static const test_case cases[] = {
    CASE(inputs_nodes_and_outputs_keep_names_and_types),
    CASE(dims_with_names_are_symbols_and_shapes_may_be_missing),
    CASE(initializers_are_constants_also_when_they_are_inputs),
    CASE(large_initializers_of_a_file_are_mapped_and_outlive_the_load),
    CASE(sparse_initializers_become_dense),
    CASE(constant_nodes_of_every_form_become_constants),
    CASE(nodes_in_any_acyclic_order_are_sorted),
    CASE(absent_operands_stay_absent),
    CASE(an_output_may_be_an_input_or_appear_twice),
    CASE(subgraphs_capture_values_through_all_levels),
    CASE(a_file_may_name_its_values_by_numbers),
    CASE(nodes_are_sorted_by_what_their_subgraphs_capture),
    CASE(a_name_made_inside_hides_the_outer_one),
    CASE(functions_are_inlined_with_their_attributes),
    CASE(a_function_that_calls_itself_is_refused),
    CASE(functions_that_double_30_times_are_refused),
    CASE(a_gradient_is_refused_where_nothing_differentiates),
    CASE(the_opsets_of_a_file_are_read_without_its_graph),
};
TEST_MAIN(cases)
