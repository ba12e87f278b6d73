/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests types before a run (core/graph/graph_infer*.c, core/op/infer_elements.c) through the public
 * API: what is known of the outputs of graphs whose inputs have symbols. That what is said is never
 * wrong is tested with every case of test_infer.
 */
#include "graph_text.h"

static const char *type_text(const tfr_graph_types *types, const tfr_graph *graph, tfr_value v)
{
    static char text[400];
    char dim[60];
    tfr_value_type t = {.size = sizeof t};
    REQUIRE_OK(tfr_graph_types_get(types, graph, v, &t, &graph_text_err), &graph_text_err);
    size_t n = (size_t)snprintf(text, sizeof text, "%s", tfr__dtype_short(t.dtype));
    if (!t.rank_known)
        return text;
    n += (size_t)snprintf(text + n, sizeof text - n, "[");
    for (int32_t i = 0; i < t.rank; i++) {
        tfr_graph_types_dim(types, t.dims[i], dim, sizeof dim);
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? "," : "",
                              *dim == '?' ? "?" : dim);
    }
    snprintf(text + n, sizeof text - n, "]");
    return text;
}

/* The types of all outputs, with a blank between; the graph is released. */
static const char *outputs_of_graph(tfr_graph *graph)
{
    static char all[1000];
    tfr_graph_types *types = NULL;
    size_t n = 0;
    REQUIRE_OK(tfr_graph_infer(graph, &types, &graph_text_err), &graph_text_err);
    *all = 0;
    for (uint32_t i = 0; i < tfr_graph_n_outputs(graph); i++)
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%s", i ? " " : "",
                              type_text(types, NULL, tfr_graph_output(graph, i)));
    tfr_graph_types_release(types);
    tfr_graph_release(graph);
    return all;
}

#define CHECK_OUTPUTS(expected, text) CHECK_STR(expected, outputs_of_graph(graph_of_text(text)))

TEST(a_symbol_broadcasts_with_one_a_number_itself_and_another)
{
    CHECK_OUTPUTS("f32[N,3]", "in x N 3; in y 1 3; out Add(x,y)");
    CHECK_OUTPUTS("f32[N,3]", "in x N 3; in y N 1; out Add(x,y)");
    CHECK_OUTPUTS("f32[5,3]", "in x N 3; in y 5 1; out Add(x,y)");
    CHECK_OUTPUTS("f32[?,3]", "in x N 3; in y M 1; out Add(x,y)");
    CHECK_OUTPUTS("f32[?,3]", "in x ? 3; in y ? 1; out Add(x,y)");
    CHECK_OUTPUTS("bool[2,N]", "in x N; in y 2 1; out Less(x,y)");
    CHECK_OUTPUTS("f32", "in x *; in y 2 1; out Add(x,y)");
}

TEST(the_batch_goes_through_a_convolutional_net)
{
    CHECK_OUTPUTS("f32[N,8,H,W] f32[N,10]",
                  "in x N 3 H W; const w 8 3 3 3; const b 8; const v 8 10; const c 10;"
                  "a = Relu(Conv{pads=1,1,1,1}(x,w,b)); out a;"
                  "out Gemm(Flatten(GlobalAveragePool(a)),v,c)");
}

TEST(two_ways_to_halve_an_image_give_one_height)
{
    CHECK_OUTPUTS("f32[N,4,(H-1)/2+1,6]",
                  "in x N 3 H 12; const w 4 3 3 3; const u 4 3 1 1;"
                  "out Add(Conv{pads=1,1,1,1;strides=2,2}(x,w),Conv{strides=2,2}(x,u))");
}

TEST(batch_and_positions_go_through_attention)
{
    CHECK_OUTPUTS("f32[N,12,S,S] f32[N,S,768]",
                  "in x N S 768; const w 768 768;"
                  "n = Gather(Shape(x),[0]); s = Gather(Shape(x),[1]);"
                  "split = Concat{axis=0}(n,s,[12],[64]);"
                  "q = Transpose{perm=0,2,1,3}(Reshape(MatMul(x,w),split));"
                  "k = Transpose{perm=0,2,3,1}(Reshape(MatMul(x,w),split));"
                  "v = Transpose{perm=0,2,1,3}(Reshape(MatMul(x,w),split));"
                  "p = Softmax(MatMul(q,k)); out p;"
                  "y = Transpose{perm=0,2,1,3}(MatMul(p,v));"
                  "out Reshape(y,Concat{axis=0}(n,s,[768]))");
}

TEST(flattened_rows_find_their_batch_again)
{
    CHECK_OUTPUTS("f32[N*S,8] f32[N,S,8]",
                  "in x N S 8; const w 8 8; f = MatMul(Reshape(x,[-1,8]),w); out f;"
                  "out Reshape(f,Concat{axis=0}(Slice(Shape(x),[0],[2]),[8]))");
}

TEST(reshape_finds_the_dim_that_is_left)
{
    CHECK_OUTPUTS("f32[N,192]", "in x N 3 64; out Reshape(x,[0,-1])");
    CHECK_OUTPUTS("f32[N,64]", "in x N 8 8; out Reshape(x,[-1,64])");
    CHECK_OUTPUTS("f32[6]", "in x 2 3; out Reshape(x,[-1])");
    CHECK_OUTPUTS("f32[N*H,3]", "in x N H 3; out Reshape(x,[-1,3])");
    CHECK_OUTPUTS("f32[?,?]", "in x *; out Reshape(x,[0,-1])");
}

TEST(a_dim_that_may_copy_another_one_is_not_taken_for_its_symbol)
{
    /* if M is 0, the dim is that of x */
    CHECK_OUTPUTS("f32[?,?]", "in x N 4 4; in y M K; out Reshape(x,Shape(y))");
}

TEST(expand_by_a_computed_shape_keeps_names)
{
    /* as exporters write torch.Tensor.expand: -1 becomes 1 by Equal and Where */
    CHECK_OUTPUTS("f32[N,7]", "in x 1 7; in y N 2; s = Concat{axis=0}(Gather(Shape(y),[0]),[-1]);"
                              "ones = Add([0,0],[1,1]);"
                              "out Expand(x,Where(Equal(s,Mul(ones,[-1])),ones,s))");
}

TEST(sums_and_differences_of_dims_are_found_again)
{
    CHECK_OUTPUTS("f32[N,P+S,4] f32[N,S,4]",
                  "in p N P 4; in x N S 4; k = Concat{axis=1}(p,x); out k;"
                  "n = Sub(Shape{start=1;end=2}(k),Shape{start=1;end=2}(p));"
                  "out Reshape(x,Concat{axis=0}(Shape{start=0;end=1}(x),n,[4]))");
}

TEST(known_dims_that_conflict_are_an_error_with_the_node_in_it)
{
    tfr_graph *g = graph_of_text("in x N 3; in y N 4; out Add(x,y)");
    tfr_graph_types *types = NULL;
    tfr_err err = TFR_ERR_INIT;
    CHECK_INT(TFR_ESHAPE, tfr_graph_infer(g, &types, &err));
    CHECK_CONTAINS("[?,4] does not broadcast with [?,3]", err.text);
    CHECK(types == NULL);
    tfr_graph_release(g);
}

TEST(a_graph_under_construction_is_looked_at_step_by_step)
{
    graph_text g = {0};
    tfr_graph_types *types = NULL;
    tfr_value_type hint = {.size = sizeof hint, .kind = TFR_KIND_TENSOR, .dtype = TFR_DTYPE_F32};
    REQUIRE_OK(tfr_graph_create("steps", &g.graph, &graph_text_err), &graph_text_err);
    REQUIRE_OK(tfr_graph_types_create(g.graph, &types, &graph_text_err), &graph_text_err);
    graph_text_more(&g, "in x N 3; a = Relu(x)");
    REQUIRE_OK(tfr_graph_types_update(types, &graph_text_err), &graph_text_err);
    CHECK_STR("f32[N,3]", type_text(types, NULL, g.names[1].value));
    graph_text_more(&g, "b = Transpose(a); in u *");
    hint.rank_known = 1;
    hint.rank = 1;
    hint.dims[0] = 7;
    REQUIRE_OK(tfr_graph_types_set(types, g.names[3].value, &hint, &graph_text_err),
               &graph_text_err);
    graph_text_more(&g, "c = Neg(u); d = Add(x,[1,2])"); /* of two types: wrong */
    REQUIRE_OK(tfr_graph_types_update(types, &graph_text_err), &graph_text_err);
    CHECK_STR("f32[3,N]", type_text(types, NULL, g.names[2].value));
    CHECK_STR("f32[7]", type_text(types, NULL, g.names[4].value));
    CHECK_STR("?", type_text(types, NULL, g.names[5].value));
    tfr_graph_types_release(types);
    tfr_graph_release(g.graph);
}

TEST(what_a_loop_changes_in_each_pass_is_not_known)
{
    CHECK_STR("f32[?]", outputs_of_graph(growing_loop(3, "Relu"))); /* longer by one each time */
}

/* An If on an input, with branches of these texts, in which x is what it is outside. */
static const char *if_of(const char *text, const char *then_text, const char *else_text)
{
    graph_text g = {0}, branches[2] = {{0}, {0}};
    const char *const texts[] = {then_text, else_text};
    const tfr_value_type flag = {.size = sizeof flag, .dtype = TFR_DTYPE_BOOL};
    tfr_value c, x;
    REQUIRE_OK(tfr_graph_create("if", &g.graph, &graph_text_err), &graph_text_err);
    graph_text_more(&g, text);
    REQUIRE_OK(tfr_graph_add_input(g.graph, "c", &flag, &c, &graph_text_err), &graph_text_err);
    for (int i = 0; i < 2; i++) {
        REQUIRE_OK(tfr_graph_create_child(g.graph, NULL, &branches[i].graph, &graph_text_err),
                   &graph_text_err);
        REQUIRE_OK(tfr_graph_add_capture(branches[i].graph, g.names[0].value, &x, &graph_text_err),
                   &graph_text_err);
        graph_text_name(&branches[i], "x", x);
        graph_text_more(&branches[i], texts[i]);
    }
    tfr_value out = graph_text_if(g.graph, c, branches[0].graph, branches[1].graph);
    REQUIRE_OK(tfr_graph_add_output(g.graph, out, NULL, &graph_text_err), &graph_text_err);
    return outputs_of_graph(g.graph);
}

TEST(branches_agree_on_what_both_have)
{
    CHECK_STR("f32[N,4]", if_of("in x N 4", "out Relu(x)", "out Neg(x)"));
    CHECK_STR("f32[?,4]", if_of("in x N 4", "out Relu(x)", "const k 2 4; out Concat{axis=0}(x,k)"));
    CHECK_STR("f32", if_of("in x N 4", "out Relu(x)", "out Reshape(x,[-1])"));
    CHECK_STR("?", if_of("in x N 4", "out Relu(x)", "out Shape(x)"));
}

TEST(what_is_wrong_in_a_branch_may_never_run)
{
    CHECK_STR("?", if_of("in x N 4", "out Relu(x)", "const k 3; out Add(x,k)"));
}

TEST(a_name_is_one_symbol_in_a_graph_and_those_inside)
{
    tfr_graph *g = NULL, *inner = NULL;
    int64_t a = 0, b = 0, c = 0;
    REQUIRE_OK(tfr_graph_create("names", &g, &graph_text_err), &graph_text_err);
    REQUIRE_OK(tfr_graph_create_child(g, "inner", &inner, &graph_text_err), &graph_text_err);
    REQUIRE_OK(tfr_graph_add_symbol(g, "batch", &a, &graph_text_err), &graph_text_err);
    REQUIRE_OK(tfr_graph_add_symbol(inner, "batch", &b, &graph_text_err), &graph_text_err);
    REQUIRE_OK(tfr_graph_add_symbol(inner, "time", &c, &graph_text_err), &graph_text_err);
    CHECK_INT(a, b);
    CHECK(a < -1 && c < -1 && c != a);
    CHECK_STR("time", tfr_graph_symbol_name(g, c));
    CHECK(tfr_graph_symbol_name(g, -1) == NULL);
    CHECK(tfr_graph_symbol_name(g, 5) == NULL);
    CHECK(tfr_graph_symbol_name(g, c - 1) == NULL);
    CHECK_INT(TFR_EINVAL, tfr_graph_add_symbol(g, "", &c, NULL));
    tfr_graph_release(inner);
    tfr_graph_release(g);
}

TEST(a_dim_that_is_no_symbol_is_refused)
{
    tfr_graph *g = NULL;
    tfr_value_type t = {.size = sizeof t, .rank_known = 1, .rank = 1, .dims = {-2}};
    tfr_value v;
    REQUIRE_OK(tfr_graph_create("bad", &g, &graph_text_err), &graph_text_err);
    CHECK_INT(TFR_ESHAPE, tfr_graph_add_input(g, "x", &t, &v, NULL));
    tfr_graph_release(g);
}

static const test_case cases[] = {
    CASE(a_symbol_broadcasts_with_one_a_number_itself_and_another),
    CASE(the_batch_goes_through_a_convolutional_net),
    CASE(two_ways_to_halve_an_image_give_one_height),
    CASE(batch_and_positions_go_through_attention),
    CASE(flattened_rows_find_their_batch_again),
    CASE(reshape_finds_the_dim_that_is_left),
    CASE(a_dim_that_may_copy_another_one_is_not_taken_for_its_symbol),
    CASE(expand_by_a_computed_shape_keeps_names),
    CASE(sums_and_differences_of_dims_are_found_again),
    CASE(known_dims_that_conflict_are_an_error_with_the_node_in_it),
    CASE(a_graph_under_construction_is_looked_at_step_by_step),
    CASE(what_a_loop_changes_in_each_pass_is_not_known),
    CASE(branches_agree_on_what_both_have),
    CASE(what_is_wrong_in_a_branch_may_never_run),
    CASE(a_name_is_one_symbol_in_a_graph_and_those_inside),
    CASE(a_dim_that_is_no_symbol_is_refused),
};
TEST_MAIN(cases)
