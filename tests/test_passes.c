/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All passes together: subgraphs, the choice of passes, what they report, how long they take and
 * what they do without memory. Each pass has its own tests in test_pass_X.c.
 */
#include "base/alloc.h"
#include "pass_kit.h"

/* ---- subgraphs ---- */

/* If x[0] > 0: a branch that captures, as a text over the captured "c" and "w". */
static tfr_graph *graph_with_branch(const char *branch)
{
    graph_text g = {0};
    tfr_graph *children[2];
    REQUIRE_OK(tfr_graph_create("outer", &g.graph, &err), &err);
    graph_text_more(&g, "in x 1; const w 1; y = Identity(Exp(x)); z = Greater(x,0)");
    for (int i = 0; i < 2; i++) {
        graph_text child = {0};
        tfr_value captured;
        REQUIRE_OK(tfr_graph_create_child(g.graph, "branch", &child.graph, &err), &err);
        REQUIRE_OK(tfr_graph_add_capture(child.graph, g.names[2].value, &captured, &err), &err);
        graph_text_name(&child, "c", captured);
        REQUIRE_OK(tfr_graph_add_capture(child.graph, g.names[1].value, &captured, &err), &err);
        graph_text_name(&child, "w", captured);
        graph_text_more(&child, i ? "out Neg(c)" : branch);
        children[i] = child.graph;
    }
    graph_text_name(&g, "y", graph_text_if(g.graph, g.names[3].value, children[0], children[1]));
    REQUIRE_OK(tfr_graph_add_output(g.graph, g.names[4].value, NULL, &err), &err);
    return g.graph;
}

static void check_branch(const char *branch, const char *want)
{
    tfr_runtime *runtime = new_runtime(true);
    tfr_graph *graph = graph_with_branch(branch);
    check_graph(runtime, graph, "all", want);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(subgraphs_are_simplified_with_what_they_capture)
{
    check_branch("out Add(c,Exp(w))", "Exp Greater If(Add)(Neg)");
    check_branch("out Add(Exp(c),Exp(c))", "Exp Greater If(Exp Add)(Neg)");
    check_branch("out Mul(c,Sigmoid(c))", "Exp Greater If(Swish)(Neg)");
    check_branch("out Identity(c)", "Exp Greater If()(Neg)");
    check_branch("out Identity(w)", "Exp Greater If()(Neg)");
}

TEST(a_captured_constant_is_the_subgraphs_own_though_no_pass_changes_anything)
{
    static const char *const passes[] = {"none", "cse"};
    for (int i = 0; i < 2; i++) {
        tfr_runtime *runtime = new_runtime(false);
        tfr_graph *graph = graph_with_branch("out Add(c,w)");
        tfr_session *session = new_session(runtime, graph, passes[i]);
        const tfr_graph *g = session->graph, *branch;
        REQUIRE(g->n_nodes == 4 && g->nodes[3].n_subgraphs == 2);
        branch = g->nodes[3].subgraphs[0];
        CHECK_INT(TFR__ROLE_CAPTURE, branch->values[branch->nodes[0].inputs[0]].role);
        CHECK_INT(i ? TFR__ROLE_CONSTANT : TFR__ROLE_CAPTURE,
                  branch->values[branch->nodes[0].inputs[1]].role);
        tfr_session_destroy(session);
        tfr_graph_release(graph);
        tfr_runtime_release(runtime);
    }
}

TEST(an_if_that_nobody_reads_goes_with_its_subgraphs)
{
    tfr_runtime *runtime = new_runtime(true);
    tfr_graph *graph = graph_with_branch("out Add(c,Exp(w))");
    graph->n_outputs = 0;
    REQUIRE_OK(tfr_graph_add_output(graph, graph->inputs[0], NULL, &err), &err);
    check_graph(runtime, graph, "all", "");
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* ---- the list ---- */

TEST(the_reference_keeps_its_roundings)
{
    static const char *const texts[] = {
        "in x 1 3 8 8; const w 4 3 3 3; const s 4; out " BN "(Conv(x,w),s,s,s,s)",
        "in x 2 3; const w 3 4; const b 4; out Add(MatMul(x,w),b)",
        "in x 7; out Mul(x,Sigmoid(x))",
        "in x 3 2; in y 3 4; out MatMul(Transpose(x),y)",
    };
    tfr_runtime *runtime = new_runtime(false);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        tfr_graph *graph = graph_of_text(texts[i]);
        tfr_session *session = new_session(runtime, graph, "all");
        CHECK_UINT(tfr_graph_n_nodes(graph), session->graph->n_nodes);
        tfr_session_destroy(session);
        tfr_graph_release(graph);
    }
    tfr_runtime_release(runtime);
}

TEST(an_operand_that_is_not_there_is_told_by_the_run)
{
    static const char *const texts[] = {
        "in x 2; out Transpose{perm=1,0}(-)",
        "in x 2; out Identity(-)",
        "in x 2; out Relu(Transpose{perm=1,0}(-))",
        "in x 2; out Dropout(-)",
        "in x 2; out Add(MatMul(x,-),-)",
        "in x 2; out Gemm(Transpose(-),x)",
        "in x 2; const s 4; out " BN "(-,s,s,s,s)",
        "in x 2; out Reshape(-,-)",
        "in x 2; const w 4 3 3 3; const s 4; out " BN "(Conv(-,w),s,s,s,s)",
        "in x 2; out Mul(-,Sigmoid(-))",
        "in x 2; out Cast{to=1}(-)",
    };
    tfr_runtime *runtime = new_runtime(true);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        tfr_graph *graph = graph_of_text(texts[i]);
        tfr_session *session = new_session(runtime, graph, "all");
        tfr_tensor *in = random_floats(&(tfr_shape){1, {2}}, 1, 0, 1), *out = NULL;
        CHECK(tfr_session_run(session, &in, 1, &out, 1, &err) < 0);
        CHECK_CONTAINS("node \"", err.text);
        tfr_tensor_release(in);
        tfr_session_destroy(session);
        tfr_graph_release(graph);
    }
    tfr_runtime_release(runtime);
}

TEST(an_unknown_pass_is_refused_with_the_names)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_runtime *runtime = new_runtime(false);
    tfr_graph *graph = graph_of_text("in x 4; out Relu(x)");
    tfr_session *session;
    options.passes = "fold,conv-bn";
    CHECK_STATUS(TFR_EINVAL, tfr_session_create(runtime, graph, &options, &session, &err), &err);
    CHECK_CONTAINS("no pass \"conv-bn\"; there is: all none fold dead loop cse transpose conv_bn",
                   err.text);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(the_report_tells_what_each_pass_did)
{
    tfr_runtime *runtime = new_runtime(true);
    tfr_graph *graph =
        graph_of_text("in x 4; const w 4; out Add(Exp(Add(x,Neg(w))),Exp(Add(x,Neg(w))))");
    tfr_session *session = new_session(runtime, graph, "fold,cse");
    tfr_pass pass = {.size = sizeof pass};
    REQUIRE_INT(2, tfr_session_n_passes(session));
    REQUIRE_OK(tfr_session_pass(session, 0, &pass, &err), &err);
    CHECK_STR("fold", pass.name);
    CHECK_STR("2 nodes computed beforehand", pass.text);
    CHECK_UINT(7, pass.nodes_before);
    CHECK_INT(2, pass.nodes_removed);
    REQUIRE_OK(tfr_session_pass(session, 1, &pass, &err), &err);
    CHECK_STR("cse", pass.name);
    CHECK_UINT(2, pass.n_changes);
    CHECK_INT(2, pass.nodes_removed);
    CHECK_STATUS(TFR_EINVAL, tfr_session_pass(session, 2, &pass, &err), &err);
    tfr_session_destroy(session);
    session = new_session(runtime, graph, "none");
    CHECK_UINT(0, tfr_session_n_passes(session));
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(a_graph_without_nodes_left_can_be_bound)
{
    tfr_runtime *runtime = new_runtime(false);
    tfr_graph *graph = graph_of_text("in x 4; const w 4; out Identity(x); out Exp(w)");
    tfr_session *session = new_session(runtime, graph, "all");
    tfr_shape shape = {1, {4}};
    tfr_tensor *in = random_floats(&shape, 1, 0, 1), *out[2];
    tfr_binding *binding = NULL;
    out[0] = random_floats(&shape, 2, 0, 1);
    out[1] = random_floats(&shape, 2, 0, 1);
    REQUIRE_OK(tfr_binding_create(session, &in, 1, out, 2, &binding, &err), &err);
    REQUIRE_OK(tfr_binding_run(binding, &err), &err);
    CHECK_MEM(tfr_tensor_data(in), tfr_tensor_data(out[0]), 16);
    tfr_binding_destroy(binding);
    for (int i = 0; i < 2; i++)
        tfr_tensor_release(out[i]);
    tfr_tensor_release(in);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* A graph with work for every pass; the n-th request for memory fails in the n-th round. */
TEST(passes_survive_each_failed_request)
{
    tfr_runtime *runtime = new_runtime(true);
    graph_text g = {0};
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    tfr_shape shape = {3, {2, 3, 8}};
    tfr_tensor *in;
    uint64_t live, used, n = 0;
    tfr_status status;
    options.device = "naive:0";
    REQUIRE_OK(tfr_graph_create("all", &g.graph, &err), &err);
    graph_text_more(&g, "in x 2 3 8; const s 8; const t 8; const w 8 8; const b 8; const f 8 1 1");
    graph_text_more(&g, LN_OF("Sub(x,ReduceMean(x,[-1]))", "-1",
                              "; y = " TT "(Mul(" TT
                              "(Identity(x)),1)); n = Add(Neg(b),Add(y,Add(y,b)))"));
    graph_text_more(&g, "r = Reshape(n,[6,8]); a = Add(MatMul(r,w),b); p = Mul(a,Sigmoid(a)); "
                        "i = Unsqueeze(n,[0]); c = Conv{group=2}(i,Unsqueeze(f,[1]))");
    graph_text_more(&g, "out p; out i; out n");
    in = random_floats(&shape, 1, -1, 1);
    session = new_session(runtime, g.graph, "all"); /* opens what is opened once */
    tfr_session_destroy(session);
    live = tfr__alloc_live();
    do {
        tfr_tensor *outs[4] = {NULL};
        used = tfr__alloc_count();
        tfr__alloc_fail_at(++n);
        session = NULL;
        status = tfr_session_create(runtime, g.graph, &options, &session, &err);
        tfr__alloc_fail_at(0);
        used = tfr__alloc_count() - used;
        if (status != TFR_OK && status != TFR_ENOMEM)
            CHECK_STATUS(TFR_ENOMEM, status, &err);
        if (!status)
            CHECK_OK(tfr_session_run(session, &in, 1, outs, tfr_graph_n_outputs(g.graph), &err),
                     &err);
        for (uint32_t i = 0; i < 4; i++)
            tfr_tensor_release(outs[i]);
        tfr_session_destroy(session);
        CHECK_UINT(live, tfr__alloc_live());
    } while (used >= n);
    printf("%llu requests failed once... ", (unsigned long long)n - 1);
    tfr_tensor_release(in);
    tfr_graph_release(g.graph);
    tfr_runtime_release(runtime);
}

static const test_case cases[] = {
    CASE(subgraphs_are_simplified_with_what_they_capture),
    CASE(a_captured_constant_is_the_subgraphs_own_though_no_pass_changes_anything),
    CASE(an_if_that_nobody_reads_goes_with_its_subgraphs),
    CASE(the_reference_keeps_its_roundings),
    CASE(an_operand_that_is_not_there_is_told_by_the_run),
    CASE(an_unknown_pass_is_refused_with_the_names),
    CASE(the_report_tells_what_each_pass_did),
    CASE(a_graph_without_nodes_left_can_be_bound),
    CASE(passes_survive_each_failed_request),
};
TEST_MAIN(cases)
