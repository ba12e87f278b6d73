/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as ONNX models: names, types, versions, and what ONNX has no form for. */
#include <sys/mman.h>

#include "onnx_save_kit.h"

/* ---- what is written --------------------------------------------------------------------------
 */

TEST(an_empty_graph_is_a_model)
{
    tfr_graph *graph = NULL;
    REQUIRE_OK(tfr_graph_create(NULL, &graph, &err), &err);
    graph = again(graph);
    CHECK_UINT(0, tfr_graph_n_nodes(graph));
    CHECK_STR("graph", tfr_graph_name(graph));
    tfr_graph_release(graph);
}

TEST(constants_of_every_type_and_shape_keep_their_bits)
{
    static const int64_t dims[][2] = {{3, 5}, {0, 4}, {0, 0}};
    static const int32_t ranks[] = {2, 2, 0};
    tfr_graph *graph = NULL;
    REQUIRE_OK(tfr_graph_create("g", &graph, &err), &err);
    for (int32_t dtype = 1; dtype < TFR_DTYPE_END; dtype++)
        for (int i = 0; i < 3; i++) {
            tfr_tensor *t = new_tensor((tfr_dtype)dtype, ranks[i], dims[i]);
            unsigned char *data = tfr_tensor_data(t);
            /* The bits behind the last element of a packed tensor stay 0. */
            size_t whole = (size_t)tfr_tensor_elements(t) * tfr_dtype_bits(dtype) / 8;
            for (size_t k = 0; dtype != TFR_DTYPE_STRING && k < whole; k++)
                data[k] = (unsigned char)(dtype == TFR_DTYPE_BOOL ? k & 1 : 37 * k + 1);
            if (dtype == TFR_DTYPE_STRING && tfr_tensor_elements(t))
                REQUIRE_OK(tfr_tensor_set_string(t, 0, "a\0\xff", 3, &err), &err);
            output(graph, constant(graph, NULL, t), NULL);
        }
    check_same(graph);
}

TEST(strided_constants_are_written_in_plain_order)
{
    tfr_graph *graph = NULL;
    const int64_t dims[] = {2, 3}, strides[] = {1, 2};
    tfr_tensor *t = new_tensor(TFR_DTYPE_I32, 2, dims), *view = NULL;
    for (int32_t i = 0; i < 6; i++)
        ((int32_t *)tfr_tensor_data(t))[i] = i;
    REQUIRE_OK(tfr_tensor_view(t, 0, tfr_tensor_shape(t), strides, &view, &err), &err);
    REQUIRE_OK(tfr_graph_create("g", &graph, &err), &err);
    output(graph, constant(graph, "c", view), NULL);
    check_same(graph);
    tfr_tensor_release(t);
}

TEST(attributes_of_every_type_are_the_same_again)
{
    static const float values[] = {1.5f, -0.0f};
    static const tfr_string keys[] = {{"a", 1}, {"b\0c", 3}};
    int64_t one = 1;
    float seven = 7;
    const tfr_operand operand = {
        .size = sizeof operand, .dtype = TFR_DTYPE_F32, .rank = 1, .dims = &one, .data = &seven};
    const tfr_attr attrs[] = {
        {.size = sizeof *attrs,
         .type = TFR_ATTR_FLOATS,
         .name = "values_floats",
         .n = 2,
         .floats = values},
        {.size = sizeof *attrs,
         .type = TFR_ATTR_STRINGS,
         .name = "keys_strings",
         .n = 2,
         .strings = keys},
        TFR_SET_FLOAT("default_float", 0.25f),
        TFR_SET_INT("default_int64", INT64_MIN),
        TFR_SET_STRING("default_string", "\xff"),
        {.size = sizeof *attrs,
         .type = TFR_ATTR_TENSOR,
         .name = "default_tensor",
         .n = 1,
         .tensor = &operand},
        {.size = sizeof *attrs, .type = TFR_ATTR_INTS, .name = "keys_int64s", .n = 0},
    };
    tfr_value x, y;
    tfr_graph *graph = new_graph("x", TFR_DTYPE_STRING, &x);
    tfr_node_desc node = {.size = sizeof node,
                          .domain = "ai.onnx.ml",
                          .op = "LabelEncoder",
                          .inputs = &x,
                          .n_inputs = 1,
                          .n_outputs = 1,
                          .attrs = attrs,
                          .n_attrs = sizeof attrs / sizeof *attrs};
    REQUIRE_OK(tfr_graph_add_node(graph, &node, &y, &err), &err);
    output(graph, y, "y");
    check_same(graph);
}

TEST(types_of_inputs_and_outputs_are_kept)
{
    static const tfr_value_type types[] = {
        {.kind = TFR_KIND_TENSOR},
        {.kind = TFR_KIND_TENSOR, .rank_known = 1, .rank = 2, .dims = {-1, 0}},
        {.kind = TFR_KIND_TENSOR, .dtype = TFR_DTYPE_U4, .rank_known = 1},
        {.kind = TFR_KIND_SEQUENCE, .dtype = TFR_DTYPE_I64, .element_kind = TFR_KIND_TENSOR},
        {.kind = TFR_KIND_OPTIONAL, .dtype = TFR_DTYPE_F16, .element_kind = TFR_KIND_SEQUENCE},
    };
    tfr_graph *graph = NULL;
    REQUIRE_OK(tfr_graph_create("g", &graph, &err), &err);
    for (uint32_t i = 0; i < sizeof types / sizeof *types; i++) {
        tfr_value_type type = types[i];
        tfr_value v;
        type.size = sizeof type;
        REQUIRE_OK(tfr_graph_add_input(graph, NULL, &type, &v, &err), &err);
        output(graph, add(graph, "Identity", NULL, &v, 1, NULL), NULL);
        if (i)
            REQUIRE_OK(tfr_graph_declare_output(graph, i, &type, &err), &err);
    }
    check_same(graph);
}

TEST(a_constant_that_nothing_reads_is_left_out)
{
    tfr_graph *graph = again(graph_of_text("in x 2; const w 2; const unread 2; out Add(x,w)"));
    CHECK(tfr_graph_find_value(graph, "w") != TFR_VALUE_NONE);
    CHECK_INT(TFR_VALUE_NONE, tfr_graph_find_value(graph, "unread"));
    tfr_graph_release(graph);
}

TEST(types_of_outputs_are_inferred_where_none_is_declared)
{
    tfr_graph *graph = again(graph_of_text("in x ? 3; out Shape(x); out MatMul(x,Transpose(x))"));
    const tfr_value_type *type = tfr_graph_output_type(graph, 0);
    REQUIRE(type != NULL);
    CHECK_INT(TFR_DTYPE_I64, type->dtype);
    CHECK_INT(2, type->dims[0]);
    type = tfr_graph_output_type(graph, 1);
    REQUIRE(type != NULL);
    CHECK_INT(TFR_DTYPE_F32, type->dtype);
    CHECK_INT(2, type->rank);
    CHECK_INT(-1, type->dims[1]);
    tfr_graph_release(graph);
    graph = again(graph_of_text("in x 0 3; out Transpose(x)"));
    CHECK_INT(0, tfr_graph_output_type(graph, 0)->dims[1]);
    tfr_graph_release(graph);
}

/* ---- names ----------------------------------------------------------------------------------- */

TEST(values_without_names_are_named_after_their_nodes)
{
    tfr_value x, a, b;
    tfr_graph *graph = new_graph("x", TFR_DTYPE_F32, &x);
    a = add(graph, "Relu", NULL, &x, 1, NULL);
    b = add(graph, "Abs", "Relu_0", &a, 1, NULL);
    output(graph, add(graph, "Neg", NULL, &b, 1, NULL), "y");
    graph = again(graph);
    CHECK(tfr_graph_find_value(graph, "Relu_0") != TFR_VALUE_NONE);
    CHECK(tfr_graph_find_value(graph, "Relu_0_0") != TFR_VALUE_NONE);
    CHECK(tfr_graph_find_value(graph, "y") != TFR_VALUE_NONE);
    tfr_graph_release(graph);
}

/* Runtimes refuse two nodes of one name, which passes make when they split one. */
TEST(nodes_of_one_name_get_numbers)
{
    static const char *const names[] = {"n", "n_1", "n", "n"};
    tfr_value v;
    tfr_graph *graph = new_graph("x", TFR_DTYPE_F32, &v);
    for (int i = 0; i < 4; i++) {
        const tfr_node_desc node = {.size = sizeof node,
                                    .op = "Relu",
                                    .name = names[i],
                                    .inputs = (tfr_value[]){v},
                                    .n_inputs = 1,
                                    .n_outputs = 1};
        REQUIRE_OK(tfr_graph_add_node(graph, &node, &v, &err), &err);
    }
    output(graph, v, "y");
    graph = again(graph);
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t k = 0; k < i; k++) {
            tfr_node_view a = {.size = sizeof a}, b = {.size = sizeof b};
            REQUIRE_OK(tfr_graph_node(graph, i, &a, &err), &err);
            REQUIRE_OK(tfr_graph_node(graph, k, &b, &err), &err);
            CHECK(strcmp(a.name, b.name) != 0);
        }
    check_same(graph);
}

TEST(outputs_keep_their_names_and_others_give_way)
{
    tfr_value x, a, b, c;
    tfr_graph *graph = new_graph("x", TFR_DTYPE_F32, &x);
    a = add(graph, "Relu", "y", &x, 1, NULL); /* the name of output 0, which is another value */
    b = add(graph, "Abs", "b", &a, 1, NULL);
    c = constant(graph, "c", new_tensor(TFR_DTYPE_F32, 0, NULL));
    output(graph, b, "y");
    output(graph, b, "same as y");
    output(graph, x, "x too");
    output(graph, x, "x");
    output(graph, c, "a constant");
    graph = again(graph);
    REQUIRE_INT(5, tfr_graph_n_outputs(graph));
    CHECK_STR("y", tfr_graph_output_name(graph, 0));
    CHECK_STR("same as y", tfr_graph_output_name(graph, 1));
    CHECK_STR("x too", tfr_graph_output_name(graph, 2));
    CHECK_STR("x", tfr_graph_output_name(graph, 3));
    CHECK_STR("a constant", tfr_graph_output_name(graph, 4));
    CHECK_INT(tfr_graph_input(graph, 0), tfr_graph_output(graph, 3));
    CHECK_UINT(4, tfr_graph_n_nodes(graph)); /* and two Identity */
    check_same(graph);
}

TEST(names_that_are_not_utf8_are_made_up_inside_and_refused_outside)
{
    tfr_value x, a;
    tfr_graph *graph = new_graph("x", TFR_DTYPE_F32, &x);
    a = add(graph, "Relu", "\xc3(", &x, 1, NULL);
    output(graph, add(graph, "Abs", NULL, &a, 1, NULL), "y\xe2\x82\xac");
    graph = again(graph);
    CHECK(tfr_graph_find_value(graph, "Relu_0") != TFR_VALUE_NONE);
    CHECK_STR("y\xe2\x82\xac", tfr_graph_output_name(graph, 0));
    tfr_graph_release(graph);
    check_refused(new_graph("\xff", TFR_DTYPE_F32, &x), TFR_EMODEL, "not UTF-8");
    graph = new_graph("x", TFR_DTYPE_F32, &x);
    output(graph, add(graph, "Relu", NULL, &x, 1, NULL), "\xff");
    check_refused(graph, TFR_EMODEL, "output 0");
    graph = new_graph("x", TFR_DTYPE_F32, &x);
    output(graph, add(graph, "Relu", NULL, &x, 1, NULL), "x");
    check_refused(graph, TFR_EMODEL, "name of another input or output");
}

/* If c: Add(Abs(x), w), in a graph whose inner values have the names of outer ones. */
static tfr_graph *branching(tfr_graph **then)
{
    tfr_value c, x, w, abs, in, y;
    tfr_graph *graph = new_graph("c", TFR_DTYPE_BOOL, &c), *branches[2];
    REQUIRE_OK(tfr_graph_add_input(graph, "x", NULL, &x, &err), &err);
    w = constant(graph, "w", new_tensor(TFR_DTYPE_F32, 0, NULL));
    abs = add(graph, "Abs", "abs", &x, 1, NULL);
    for (int i = 0; i < 2; i++) {
        REQUIRE_OK(tfr_graph_create_child(graph, "branch", &branches[i], &err), &err);
        REQUIRE_OK(tfr_graph_add_capture(branches[i], abs, &in, &err), &err);
        if (i == 0) {
            tfr_value inner = add(branches[i], "Neg", "x", &in, 1, NULL), sum[2] = {inner};
            REQUIRE_OK(tfr_graph_add_capture(branches[i], w, &sum[1], &err), &err);
            in = add(branches[i], "Add", "y", sum, 2, NULL);
        }
        output(branches[i], in, NULL);
    }
    const tfr_subgraph subgraphs[] = {{"then_branch", branches[0]}, {"else_branch", branches[1]}};
    const char *name = "y";
    tfr_node_desc node = {.size = sizeof node,
                          .op = "If",
                          .inputs = &c,
                          .n_inputs = 1,
                          .output_names = &name,
                          .n_outputs = 1,
                          .subgraphs = subgraphs,
                          .n_subgraphs = 2};
    REQUIRE_OK(tfr_graph_add_node(graph, &node, &y, &err), &err);
    output(graph, y, NULL);
    *then = branches[0];
    return graph;
}

TEST(subgraphs_capture_by_name_and_no_name_hides_another)
{
    tfr_graph *then, *graph = again(branching(&then));
    tfr_node_view node = {.size = sizeof node};
    tfr_value_view value = {.size = sizeof value};
    const tfr_graph *branch;
    REQUIRE_OK(tfr_graph_node(graph, 1, &node, &err), &err);
    branch = tfr_node_subgraph(&node, "then_branch");
    REQUIRE(branch != NULL);
    CHECK_UINT(2, tfr_graph_n_nodes(branch));
    CHECK_INT(TFR_VALUE_NONE, tfr_graph_find_value(branch, "x"));
    CHECK_INT(TFR_VALUE_NONE, tfr_graph_find_value(branch, "y"));
    /* An outer value as a result goes through an Identity, which other runtimes ask for. */
    branch = tfr_node_subgraph(&node, "else_branch");
    REQUIRE_INT(1, tfr_graph_n_nodes(branch));
    REQUIRE_OK(tfr_graph_node(branch, 0, &node, &err), &err);
    CHECK_STR("Identity", node.op);
    REQUIRE_OK(tfr_graph_value(branch, node.inputs[0], &value, &err), &err);
    CHECK_STR("abs", tfr_graph_value_name(graph, value.of_parent));
    check_same(graph);
}

/* As passes leave it when a branch has captured a constant. */
TEST(a_constant_that_subgraphs_share_is_written_once)
{
    const int64_t dim = 1000;
    tfr_graph *then, *graph = branching(&then);
    tfr_tensor *t = new_tensor(TFR_DTYPE_F32, 1, &dim);
    bytes before = write_graph(graph), after;
    output(then, constant(then, "inner", tfr_tensor_retain(t)), NULL);
    output(graph, constant(graph, "outer", t), NULL);
    after = write_graph(graph);
    CHECK(after.n - before.n > 4000);
    CHECK(after.n - before.n < 4400);
    free(before.data);
    free(after.data);
    graph = again(graph);
    REQUIRE_INT(2, tfr_graph_n_outputs(graph));
    check_same(graph);
}

/* ---- versions -------------------------------------------------------------------------------- */

/* "onnx 21, ir 10" of what is written for a graph, which is released. */
static void check_versions(tfr_graph *graph, int64_t opset, int64_t ir)
{
    bytes b = write_graph(graph);
    tfr__onnx_model model;
    REQUIRE_OK(tfr__onnx_read_model(b.data, b.n, &model, &err), &err);
    CHECK_INT(opset, tfr__onnx_opset_of(&model.opsets, (tfr__text){"", 0}));
    CHECK_INT(ir, model.ir_version);
    tfr__onnx_model_finish(&model);
    free(b.data);
    tfr_graph_release(graph);
}

TEST(the_opset_is_the_oldest_that_has_what_is_used)
{
    const tfr_attr mode = TFR_SET_STRING("round_mode", "up"), to = TFR_SET_INT("to", 1);
    const tfr_attr to_f4 = TFR_SET_INT("to", TFR_DTYPE_F4E2M1);
    tfr_value x;
    tfr_graph *graph = new_graph("x", TFR_DTYPE_F32, &x);
    output(graph, add(graph, "Relu", NULL, &x, 1, NULL), NULL);
    check_versions(graph, 21, 10);
    graph = new_graph("x", TFR_DTYPE_BF16, &x);
    output(graph, add(graph, "Relu", NULL, &x, 1, NULL), NULL);
    check_versions(graph, 22, 10);
    graph = new_graph("x", TFR_DTYPE_BF16, &x);
    output(graph, add(graph, "Unique", NULL, &x, 1, NULL), NULL);
    check_versions(graph, 28, 14);
    graph = new_graph("x", TFR_DTYPE_F32, &x);
    output(graph, add(graph, "Swish", NULL, &x, 1, NULL), NULL);
    check_versions(graph, 24, 12);
    graph = new_graph("x", TFR_DTYPE_F32, &x);
    output(graph, add(graph, "Cast", NULL, &x, 1, &to), NULL);
    check_versions(graph, 21, 10);
    graph = new_graph("x", TFR_DTYPE_F32, &x);
    output(graph, add(graph, "Cast", NULL, &x, 1, &to_f4), NULL);
    check_versions(graph, 23, 11);
    graph = new_graph("x", TFR_DTYPE_F32, &x);
    const tfr_value both[] = {x, x};
    output(graph, add(graph, "CastLike", NULL, both, 2, &mode), NULL);
    check_versions(graph, 24, 12);
    graph = new_graph("x", TFR_DTYPE_I16, &x);
    const tfr_value three[] = {x, x, x};
    output(graph, add(graph, "Range", NULL, three, 3, NULL), NULL);
    check_versions(graph, 21, 10);
    graph = new_graph("x", TFR_DTYPE_F16, &x);
    output(graph, add(graph, "Range", NULL, three, 3, NULL), NULL);
    check_versions(graph, 27, 13);
    /* The type that counts is that of the node's inputs. */
    graph = new_graph("x", TFR_DTYPE_F16, &x);
    const tfr_value cast = add(graph, "Cast", NULL, &x, 1, &to), floats[] = {cast, cast, cast};
    output(graph, add(graph, "Range", NULL, floats, 3, NULL), NULL);
    check_versions(graph, 21, 10);
}

/* ---- what ONNX has no form for --------------------------------------------------------------- */

TEST(variables_are_constants_unless_they_change)
{
    tfr_graph *graph = again(graph_of_text("in x 2; var v 2; out Add(x,v)"));
    tfr_value_view value = {.size = sizeof value};
    tfr_value v = tfr_graph_find_value(graph, "v");
    REQUIRE_OK(tfr_graph_value(graph, v, &value, &err), &err);
    CHECK_INT(TFR_ROLE_CONSTANT, value.role);
    tfr_graph_release(graph);
    graph = graph_of_text("in x 2; var v 2; out Add(x,v)");
    REQUIRE_OK(tfr_graph_set_update(graph, tfr_graph_find_value(graph, "v"),
                                    tfr_graph_output(graph, 0), &err),
               &err);
    check_refused(graph, TFR_EUNSUPPORTED, "variable \"v\"");
}

TEST(constants_that_are_sequences_are_refused)
{
    tfr_graph *graph = NULL;
    tfr_tensor *sequence = NULL;
    REQUIRE_OK(tfr_sequence_create(TFR_DTYPE_F32, NULL, 0, &sequence, &err), &err);
    REQUIRE_OK(tfr_graph_create("g", &graph, &err), &err);
    output(graph, constant(graph, "s", sequence), NULL);
    check_refused(graph, TFR_EUNSUPPORTED, "constant \"s\"");
}

TEST(ops_of_tfruns_own_domain_are_written)
{
    tfr_value x, y;
    tfr_graph *graph = new_graph("x", TFR_DTYPE_F32, &x);
    tfr_node_desc node = {.size = sizeof node,
                          .domain = "tfrun",
                          .op = "Inverse",
                          .inputs = &x,
                          .n_inputs = 1,
                          .n_outputs = 1};
    REQUIRE_OK(tfr_graph_add_node(graph, &node, &y, &err), &err);
    output(graph, y, NULL);
    check_same(graph);
}

TEST(more_than_two_gib_are_refused_without_a_second_file)
{
    const int64_t n = (int64_t)1 << 31;
    tfr_graph *graph = NULL;
    tfr_tensor *t = NULL;
    void *zeros =
        mmap(NULL, (size_t)n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (zeros == MAP_FAILED)
        SKIP("no 2 GiB of addresses");
    REQUIRE_OK(
        tfr_tensor_wrap(TFR_DTYPE_U8, &(tfr_shape){1, {n}}, NULL, zeros, NULL, NULL, &t, &err),
        &err);
    REQUIRE_OK(tfr_graph_create("g", &graph, &err), &err);
    output(graph, constant(graph, "c", t), NULL);
    check_refused(graph, TFR_ELIMIT, "at most 2147483647");
    munmap(zeros, (size_t)n);
}

static const test_case cases[] = {
    CASE(an_empty_graph_is_a_model),
    CASE(constants_of_every_type_and_shape_keep_their_bits),
    CASE(strided_constants_are_written_in_plain_order),
    CASE(attributes_of_every_type_are_the_same_again),
    CASE(types_of_inputs_and_outputs_are_kept),
    CASE(types_of_outputs_are_inferred_where_none_is_declared),
    CASE(a_constant_that_nothing_reads_is_left_out),
    CASE(values_without_names_are_named_after_their_nodes),
    CASE(nodes_of_one_name_get_numbers),
    CASE(outputs_keep_their_names_and_others_give_way),
    CASE(names_that_are_not_utf8_are_made_up_inside_and_refused_outside),
    CASE(subgraphs_capture_by_name_and_no_name_hides_another),
    CASE(a_constant_that_subgraphs_share_is_written_once),
    CASE(the_opset_is_the_oldest_that_has_what_is_used),
    CASE(variables_are_constants_unless_they_change),
    CASE(constants_that_are_sequences_are_refused),
    CASE(ops_of_tfruns_own_domain_are_written),
    CASE(more_than_two_gib_are_refused_without_a_second_file),
};
TEST_MAIN(cases)
