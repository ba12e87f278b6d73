/* SPDX-License-Identifier: Apache-2.0 */
/* What Loop and Scan carry without need is taken out of them. */
#include "pass_kit.h"

static tfr_value named(graph_text *g, const char *name)
{
    g->at = name;
    return graph_text_expr(g);
}

/* An outer graph, or the body of a Loop in g, with a number i and a condition go. */
static void begin(graph_text *g, graph_text *outer, bool is_loop, const char *text)
{
    static const char *const first[] = {"i", "go"};
    *g = (graph_text){0};
    if (outer)
        REQUIRE_OK(tfr_graph_create_child(outer->graph, "body", &g->graph, &err), &err);
    else
        REQUIRE_OK(tfr_graph_create("test", &g->graph, &err), &err);
    for (int k = 0; is_loop && k < 2; k++) {
        tfr_value v;
        REQUIRE_OK(tfr_graph_add_input(g->graph, first[k], NULL, &v, &err), &err);
        graph_text_name(g, first[k], v);
    }
    graph_text_more(g, text);
}

static void capture(graph_text *g, graph_text *outer, const char *name)
{
    tfr_value v;
    REQUIRE_OK(tfr_graph_add_capture(g->graph, named(outer, name), &v, &err), &err);
    graph_text_name(g, name, v);
}

/* A node with this body; its inputs are names with blanks between, its outputs are oa, ob ... */
static void add(graph_text *g, graph_text *body, const char *op, const tfr_attr *attrs,
                uint32_t n_attrs, const char *inputs, uint32_t n_outputs)
{
    tfr_value in[6], out[6];
    const tfr_subgraph sub = {.name = "body", .graph = body->graph};
    tfr_node_desc node = {.size = sizeof node,
                          .op = op,
                          .inputs = in,
                          .n_outputs = n_outputs,
                          .attrs = attrs,
                          .n_attrs = n_attrs,
                          .n_subgraphs = 1,
                          .subgraphs = &sub};
    char name[] = "oa";
    for (g->at = inputs; *g->at; graph_text_blanks(g))
        in[node.n_inputs++] = graph_text_expr(g);
    REQUIRE_OK(tfr_graph_add_node(g->graph, &node, out, &err), &err);
    for (uint32_t k = 0; k < n_outputs; k++, name[1]++)
        graph_text_name(g, name, out[k]);
}

/* Finishes a graph with `outs` and looks at what the pass makes of it. */
static void expect(graph_text *g, const char *outs, const char *passes, const char *want)
{
    tfr_runtime *runtime = new_runtime(false);
    graph_text_more(g, outs);
    check_graph(runtime, g->graph, passes, want);
    tfr_graph_release(g->graph);
    tfr_runtime_release(runtime);
}

/* The first node's body after all passes; *session is to be destroyed. */
static const tfr_graph *body_after(tfr_runtime *runtime, tfr_graph *graph, tfr_session **session)
{
    *session = new_session(runtime, graph, "all");
    REQUIRE(session[0]->graph->n_nodes >= 1 && session[0]->graph->nodes[0].n_subgraphs == 1);
    return session[0]->graph->nodes[0].subgraphs[0];
}

/* ---- what is handed on ----------------------------------------------------------------------- */

TEST(a_weight_that_a_loop_hands_on_is_a_constant_in_its_body)
{
    tfr_runtime *runtime = new_runtime(false);
    tfr_session *session;
    const tfr_graph *found;
    graph_text g, body;
    begin(&g, NULL, false, "in x 2 3; const w 3 3; n = [4]");
    begin(&body, &g, true, "in h 2 3; in w 3 3; out go; out Tanh(MatMul(h,w)); out w");
    add(&g, &body, "Loop", NULL, 0, "n - x w", 2);
    graph_text_more(&g, "out oa; out ob");
    check_graph(runtime, g.graph, "all", "Loop(MatMul Tanh)");
    found = body_after(runtime, g.graph, &session);
    CHECK_UINT(3, session->graph->nodes[0].n_inputs);
    CHECK_UINT(1, session->graph->nodes[0].n_outputs);
    CHECK_UINT(3, found->n_inputs);
    CHECK_UINT(2, found->n_outputs);
    CHECK_INT(TFR__ROLE_CONSTANT, found->values[found->nodes[0].inputs[1]].role);
    CHECK_INT(TFR__ROLE_CONSTANT, session->graph->values[session->graph->outputs[1]].role);
    tfr_session_destroy(session);
    tfr_graph_release(g.graph);
    tfr_runtime_release(runtime);
}

TEST(after_no_iteration_a_handed_on_value_is_what_it_was)
{
    graph_text g, body;
    begin(&g, NULL, false, "in x 3; in y 3; n = [0]");
    begin(&body, &g, true, "in h 3; in w 3; out go; out Add(h,w); out w");
    add(&g, &body, "Loop", NULL, 0, "n - x y", 2);
    expect(&g, "out oa; out ob", "loop", "Loop(Add)");
}

TEST(a_handed_on_value_may_be_used_elsewhere_too)
{
    graph_text g, body;
    begin(&g, NULL, false, "in x 3; in y 3; e = Exp(y); n = [3]");
    begin(&body, &g, true, "in h 3; in w 3; out go; out Add(h,w); out w; out Neg(w); out w");
    add(&g, &body, "Loop", NULL, 0, "n - x e", 4);
    expect(&g, "out Mul(e,oa); out ob; out oc; out od", "loop", "Exp Loop(Add Neg) Mul");
}

/* A value that is handed on but starts another one's turn is what both are from then on. */
TEST(values_that_are_exchanged_stay_carried)
{
    graph_text g, body;
    begin(&g, NULL, false, "in x 3; in y 3; in z 3; n = [3]");
    begin(&body, &g, true, "in a 3; in b 3; in c 3; out go; out b; out a; out a");
    add(&g, &body, "Loop", NULL, 0, "n - x y z", 3);
    expect(&g, "out oa; out ob; out oc", "loop", "Loop()");
}

TEST(what_two_loops_hand_on_is_captured_by_the_inner_one)
{
    graph_text g, body, inner;
    begin(&g, NULL, false, "in x 3; in y 3; n = [2]");
    begin(&body, &g, true, "in h 3; in w 3; n = [3]");
    begin(&inner, &body, true, "in h 3; in w 3; out go; out Mul(h,w); out w");
    capture(&inner, &body, "i");
    add(&body, &inner, "Loop", NULL, 0, "n - h w", 2);
    graph_text_more(&body, "out go; out oa; out ob");
    add(&g, &body, "Loop", NULL, 0, "n - x y", 2);
    expect(&g, "out oa; out ob", "all", "Loop(Loop(Mul))");
}

/* Three values are called w; the inner one is the sum of the loop's and the outer one. */
TEST(names_that_hide_others_are_not_mixed_up)
{
    graph_text g, body;
    begin(&g, NULL, false, "in w 3; in y 3; v = Neg(w); n = [3]");
    begin(&body, &g, true, "in h 3; in w 3");
    capture(&body, &g, "v");
    graph_text_more(&body, "out go; out Add(Add(h,w),v); out w");
    add(&g, &body, "Loop", NULL, 0, "n - w y", 2);
    expect(&g, "out oa; out ob; out w", "loop", "Neg Loop(Add Add)");
}

TEST(a_loop_that_only_hands_on_goes)
{
    graph_text g, body;
    begin(&g, NULL, false, "in x 3; n = [3]");
    begin(&body, &g, true, "in w 3; out go; out w");
    add(&g, &body, "Loop", NULL, 0, "n - x", 1);
    expect(&g, "out Neg(oa)", "loop", "Neg");
}

TEST(a_scan_takes_what_it_hands_on_from_outside)
{
    const tfr_attr attrs[] = {TFR_SET_INT("num_scan_inputs", 1)};
    graph_text g, body;
    begin(&g, NULL, false, "in x 4 3; in y 3; in z 3");
    begin(&body, &g, false, "in w 3; in s 3; in a 3; m = Mul(a,w); out w; out Add(s,m); out m");
    add(&g, &body, "Scan", attrs, 1, "y z x", 3);
    expect(&g, "out oa; out ob; out oc", "loop", "Scan(Mul Add)");
}

/* ---- what nobody reads ----------------------------------------------------------------------- */

TEST(what_nobody_reads_of_a_loop_goes)
{
    graph_text g, body;
    begin(&g, NULL, false, "in x 3; in y 3; in z 3; n = [3]");
    begin(&body, &g, true,
          "in a 3; in b 3; in c 3; out go; out Add(a,b); out Exp(b); out Sin(c); out Neg(c);"
          "out Cos(a)");
    add(&g, &body, "Loop", NULL, 0, "n - x y z", 5);
    expect(&g, "out oa; out oe", "loop", "Loop(Add Exp Cos)");
}

/* It is the condition that depends on b, which depends on c. */
TEST(what_the_condition_needs_stays)
{
    graph_text g, body;
    begin(&g, NULL, false, "in x 3; const one; n = [9]");
    begin(&body, &g, true,
          "in a 3; in b; in c; out Less(b,4); out Add(a,a); out Add(b,c); out Exp(c)");
    add(&g, &body, "Loop", NULL, 0, "n - x one one", 3);
    expect(&g, "out oa", "loop", "Loop(Less Add Add Exp)");
}

TEST(what_an_inner_loop_captures_stays)
{
    graph_text g, body, inner;
    begin(&g, NULL, false, "in x 3; in y 3; n = [2]");
    begin(&body, &g, true, "in h 3; in b 3; n = [3]");
    begin(&inner, &body, true, "in h 3");
    capture(&inner, &body, "b");
    graph_text_more(&inner, "out go; out Add(h,b)");
    add(&body, &inner, "Loop", NULL, 0, "n - h", 1);
    graph_text_more(&body, "out go; out oa; out Exp(b)");
    add(&g, &body, "Loop", NULL, 0, "n - x y", 2);
    expect(&g, "out oa", "loop", "Loop(Loop(Add) Exp)");
}

TEST(a_scan_keeps_stacked_outputs_that_an_attribute_counts)
{
    const tfr_attr attrs[] = {TFR_SET_INT("num_scan_inputs", 1),
                              TFR_SET_INTS("scan_output_axes", 0, 1)};
    graph_text g, body;
    begin(&g, NULL, false, "in x 4 3; in y 3; in z 3");
    begin(&body, &g, false, "in s 3; in t 3; in a 3; out Add(s,a); out a; out Neg(a); out Exp(a)");
    add(&g, &body, "Scan", attrs, 2, "y z x", 4);
    expect(&g, "out oa; out od", "loop", "Scan(Add Neg Exp)");
}

/* The type that is declared is the one of the output that stays. */
TEST(after_no_iteration_a_stacked_output_has_the_type_that_its_body_declares)
{
    static const char *const passes[] = {"none", "loop", "all"};
    const tfr_value_type declared = {
        .size = sizeof declared, .dtype = TFR_DTYPE_F64, .rank_known = 1, .rank = 1, .dims = {3}};
    const tfr_attr to[] = {TFR_SET_INT("to", TFR_DTYPE_F64)};
    for (int i = 0; i < 3; i++) {
        tfr_runtime *runtime = new_runtime(false);
        tfr_session *session;
        graph_text g, body;
        tfr_tensor *out = NULL;
        char text[64];
        tfr_value in, cast;
        begin(&g, NULL, false, "in x 3; n = [0]");
        begin(&body, &g, true, "in w 3; out go; out w; out Neg(w)");
        in = named(&body, "w");
        const tfr_node_desc node = {.size = sizeof node,
                                    .op = "Cast",
                                    .inputs = &in,
                                    .n_inputs = 1,
                                    .n_outputs = 1,
                                    .attrs = to,
                                    .n_attrs = 1};
        REQUIRE_OK(tfr_graph_add_node(body.graph, &node, &cast, &err), &err);
        REQUIRE_OK(tfr_graph_add_output(body.graph, cast, NULL, &err), &err);
        REQUIRE_OK(tfr_graph_declare_output(body.graph, 3, &declared, &err), &err);
        add(&g, &body, "Loop", NULL, 0, "n - x", 3);
        graph_text_more(&g, "out oc");
        session = new_session(runtime, g.graph, passes[i]);
        CHECK_UINT(1, run(session, &out));
        CHECK_INT(TFR_DTYPE_F64, tfr_tensor_dtype(out));
        CHECK_STR("[0,3]", tfr_shape_format(tfr_tensor_shape(out), text, sizeof text));
        tfr_tensor_release(out);
        tfr_session_destroy(session);
        tfr_graph_release(g.graph);
        tfr_runtime_release(runtime);
    }
}

static const test_case cases[] = {
    CASE(a_weight_that_a_loop_hands_on_is_a_constant_in_its_body),
    CASE(after_no_iteration_a_handed_on_value_is_what_it_was),
    CASE(a_handed_on_value_may_be_used_elsewhere_too),
    CASE(values_that_are_exchanged_stay_carried),
    CASE(what_two_loops_hand_on_is_captured_by_the_inner_one),
    CASE(names_that_hide_others_are_not_mixed_up),
    CASE(a_loop_that_only_hands_on_goes),
    CASE(a_scan_takes_what_it_hands_on_from_outside),
    CASE(what_nobody_reads_of_a_loop_goes),
    CASE(what_the_condition_needs_stays),
    CASE(what_an_inner_loop_captures_stays),
    CASE(a_scan_keeps_stacked_outputs_that_an_attribute_counts),
    CASE(after_no_iteration_a_stacked_output_has_the_type_that_its_body_declares),
};
TEST_MAIN(cases)
