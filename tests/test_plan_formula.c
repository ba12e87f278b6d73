/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of core/plan/plan_formula.c: dims that a renewal fills in without inference are those that
 * a plan from nothing has.
 */
#include <tfrun/compare.h>

#include "base/alloc.h"
#include "plan/plan_formula.h"
#include "run/session.h"

#include "graph_text.h"
#include "session_kit.h"

static tfr_session *open(tfr_runtime *runtime, tfr_graph *graph)
{
    tfr_session *session = NULL;
    REQUIRE_OK(tfr_session_create(runtime, graph, NULL, &session, &err), &err);
    return session;
}

/* Runs a session for input 0 of the shape against a fresh one; fail: this request for memory fails.
 */
static void check_shape(tfr_runtime *runtime, tfr_session *session, tfr_graph *graph,
                        const tfr_shape *shape, uint64_t fail)
{
    tfr_session *fresh = open(runtime, graph);
    tfr_tensor *in = random_floats(shape, 3, -1, 1), *out[4] = {NULL}, *want[4];
    tfr_status status;
    tfr__alloc_fail_at(fail);
    status = tfr_session_run(session, &in, 1, out, graph->n_outputs, &err);
    tfr__alloc_fail_at(0);
    CHECK(status == TFR_OK || (fail && status == TFR_ENOMEM));
    REQUIRE_OK(tfr_session_run(fresh, &in, 1, want, graph->n_outputs, &err), &err);
    for (uint32_t k = 0; k < graph->n_outputs; k++) {
        CHECK(status || tfr_tensor_compare(out[k], want[k], 0, 0, NULL));
        if (!status)
            tfr_tensor_release(out[k]);
        tfr_tensor_release(want[k]);
    }
    tfr_tensor_release(in);
    tfr_session_destroy(fresh);
}

static void check_lengths(const char *text, int64_t first, int64_t step)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = graph_of_text(text);
    tfr_session *session = open(runtime, graph);
    for (int64_t n = first; n < first + 16 * step; n += step)
        check_shape(runtime, session, graph, &(tfr_shape){2, {n, 4}}, 0);
    CHECK(session->main->plans[0]->renewed);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(sums_products_and_quotients_of_a_length_are_filled_in)
{
    check_lengths("in x ? 4; n = Shape(x); a = Gather(n,[0]); t = Transpose{perm=1,0}(x);"
                  "q = Reshape(MatMul(x,t),[-1]); c = Concat{axis=0}(x,x);"
                  "h = Expand(1.5,Concat{axis=0}(Div(a,[2]),[3]));"
                  "out Relu(q); out Reshape(Relu(c),[-1,8]); out Exp(h);"
                  "out ReduceSum{keepdims=0}(Expand(Relu(x),Concat{axis=0}([2],n)),[1])",
                  200, 1);
}

TEST(lists_that_are_given_out_have_the_elements_of_the_length)
{
    check_lengths("in x ? 4; c = Concat{axis=0}(x,x,x); n = Shape(Relu(c));"
                  "out Slice(n,[0],[1],[0]); out Concat{axis=0}(Sub(Gather(n,[0]),[7]),n,[5]);"
                  "out Reshape(Exp(c),Concat{axis=0}(Mul(Gather(n,[0]),[2]),[2])); out Relu(x)",
                  300, 2);
}

/* The mask is as long as the keys, or it is broadcast. */
TEST(attention_over_more_keys_is_filled_in)
{
    check_lengths("in x ? 4; const e 1 1 1 4; const m 1 1; q = Reshape(Relu(x),[1,1,-1,4]); n = "
                  "Gather(Shape(x),[0]);"
                  "out Attention(q,q,q,Expand(0.5,Concat{axis=0}([1],n)));"
                  "out Attention(e,q,q,m)",
                  128, 1);
}

/* Bounds of a Slice of data and of a list: the first are attributes that depend on the length, and
 * nothing that follows from a dim that is inferred may be a formula of others. */
TEST(nodes_whose_attributes_depend_on_dims_are_inferred)
{
    check_lengths("in x ? 4; s = Slice(Relu(x),[-9],[1000],[0]); u = Slice(Exp(x),[2],[1000],[0]);"
                  "out Neg(s); out Abs(u); out Concat{axis=0}(u,x); out Relu(Reshape(u,[-1,2]))",
                  400, 1);
}

/* Each is read twice by the next: who computes terms of terms computes the first 2^36 times. */
TEST(formulas_of_formulas_are_computed_once)
{
    char text[4096];
    size_t n = (size_t)snprintf(text, sizeof text, "in x ? 4; n = Gather(Shape(x),[0]); a0 = n;");
    for (int i = 0; i < 36; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "a%d = Div(Add(a%d,a%d),[2]);", i + 1, i,
                              i);
    snprintf(text + n, sizeof text - n, "out Expand(1.5,a36); out Relu(x)");
    check_lengths(text, 300, 1);
}

/* Of two open dims one moves, then the other, then both. */
TEST(a_dim_that_did_not_move_is_no_formula_of_the_one_that_did)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph =
        graph_of_text("in x ? ? 4; n = Shape(x); f = Reshape(Relu(x),[-1,4]);"
                      "out Exp(f); out Reshape(Neg(f),n); out Expand(1.5,Slice(n,[0],[2]));"
                      "out MatMul(Relu(x),Transpose{perm=0,2,1}(x))");
    tfr_session *session = open(runtime, graph);
    for (int64_t i = 0; i < 40; i++) {
        const int64_t batch = i < 16 ? 24 : 24 + (i - 16) / 2,
                      length = i < 20 ? 100 + i : 119 + i / 3;
        check_shape(runtime, session, graph, &(tfr_shape){3, {batch, length, 4}}, 0);
    }
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* The two are of one length up to 212; a length at which they are not is told as ever. */
TEST(lengths_that_do_not_fit_each_other_are_told)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = graph_of_text("in x ? 4; in y ? 4; out Relu(Add(x,y)); out Relu(x)");
    tfr_session *session = open(runtime, graph);
    for (int64_t n = 200; n < 216; n++) {
        const tfr_shape a = {2, {n, 4}}, b = {2, {n < 213 ? n : n + 1, 4}};
        tfr_tensor *in[2] = {random_floats(&a, 3, -1, 1), random_floats(&b, 4, -1, 1)}, *out[2];
        const tfr_status status = tfr_session_run(session, in, 2, out, 2, &err);
        CHECK_INT(n < 213 ? TFR_OK : TFR_ESHAPE, status);
        for (int k = 0; k < 2; k++) {
            if (!status)
                tfr_tensor_release(out[k]);
            tfr_tensor_release(in[k]);
        }
    }
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(each_failed_request_with_formulas_leaves_a_session_that_runs)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph =
        graph_of_text("in x ? 4; n = Shape(x); c = Concat{axis=0}(x,x); m = Expand(1.5,n);"
                      "out Relu(Reshape(c,Concat{axis=0}([2],n))); out Exp(m); out n");
    uint32_t n_renewed = 0;
    for (uint64_t fail = 1; fail < 160; fail += 3) {
        tfr_session *session = open(runtime, graph);
        for (int64_t n = 2000; n < 2014; n++) {
            check_shape(runtime, session, graph, &(tfr_shape){2, {n, 4}},
                        n < 2008 ? 0 : fail + (uint64_t)(n % 3));
        }
        check_shape(runtime, session, graph, &(tfr_shape){2, {2014, 4}}, 0);
        n_renewed += session->main->plans[0]->renewed;
        tfr_session_destroy(session);
    }
    CHECK(n_renewed > 10);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

static const test_case cases[] = {
    CASE(sums_products_and_quotients_of_a_length_are_filled_in),
    CASE(lists_that_are_given_out_have_the_elements_of_the_length),
    CASE(attention_over_more_keys_is_filled_in),
    CASE(nodes_whose_attributes_depend_on_dims_are_inferred),
    CASE(formulas_of_formulas_are_computed_once),
    CASE(a_dim_that_did_not_move_is_no_formula_of_the_one_that_did),
    CASE(lengths_that_do_not_fit_each_other_are_told),
    CASE(each_failed_request_with_formulas_leaves_a_session_that_runs),
};
TEST_MAIN(cases)
