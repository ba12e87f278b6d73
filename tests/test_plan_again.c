/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of core/plan/plan_again.c: a plan for other shapes that is made from the plan before gives
 * what a session gives that has never seen other shapes.
 */
#include <tfrun/compare.h>

#include "base/alloc.h"
#include "plan/plan_build.h"
#include "run/session.h"

#include "graph_text.h"
#include "session_kit.h"

/* Was the newest plan of the graph made from the one before? */
static bool was_again(const tfr_session *session)
{
    return session->main->plans[0]->again;
}

static tfr_session *open(tfr_runtime *runtime, tfr_graph *graph)
{
    tfr_session *session = NULL;
    REQUIRE_OK(tfr_session_create(runtime, graph, NULL, &session, &err), &err);
    return session;
}

/* Inputs whose unknown dims are n. */
static void make_inputs(const tfr_graph *graph, int64_t n, tfr_tensor **in)
{
    for (uint32_t i = 0; i < graph->n_inputs; i++)
        in[i] = random_input(graph, i, n, 7 + i, -1, 1);
}

static void release(tfr_tensor **t, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        tfr_tensor_release(t[i]);
}

/* The run of a session that may have plans of other shapes, against that of one that has none. */
static void check_run(tfr_runtime *runtime, tfr_session *session, tfr_graph *graph, tfr_tensor **in)
{
    tfr_session *fresh = open(runtime, graph);
    tfr_tensor *out[4], *want[4];
    REQUIRE_OK(tfr_session_run(session, in, graph->n_inputs, out, graph->n_outputs, &err), &err);
    REQUIRE_OK(tfr_session_run(fresh, in, graph->n_inputs, want, graph->n_outputs, &err), &err);
    for (uint32_t k = 0; k < graph->n_outputs; k++)
        CHECK(tfr_tensor_compare(out[k], want[k], 0, 0, NULL));
    release(out, graph->n_outputs);
    release(want, graph->n_outputs);
    tfr_session_destroy(fresh);
}

/* How many of the sizes were planned from the plan before. */
static uint32_t run_sizes(const char *text, const int64_t *sizes, uint32_t n)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = graph_of_text(text);
    tfr_session *session = open(runtime, graph);
    uint32_t n_again = 0;
    for (uint32_t i = 0; i < n; i++) {
        tfr_tensor *in[4];
        make_inputs(graph, sizes[i], in);
        check_run(runtime, session, graph, in);
        n_again += was_again(session);
        release(in, graph->n_inputs);
    }
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return n_again;
}

TEST(a_cache_that_grows_is_planned_from_the_plan_before)
{
    const int64_t sizes[] = {5, 6, 7, 8, 9, 10};
    CHECK_UINT(5, run_sizes("in past 1 2 ? 4; in x 1 2 1 4; const w 4 4;"
                            "k = Concat{axis=2}(past,MatMul(x,w));"
                            "s = Softmax{axis=-1}(MatMul(x,Transpose{perm=0,1,3,2}(k)));"
                            "out MatMul(s,k); out k",
                            sizes, 6));
}

/* Shapes that are computed, and a constant made from them. */
TEST(values_that_follow_from_shapes_are_found_anew)
{
    const int64_t sizes[] = {3, 4, 3, 5, 6};
    CHECK_UINT(3, run_sizes("in x ? 4; n = Shape(x); r = Reshape(x,Concat{axis=0}([1],n));"
                            "z = Expand(2.5,n); out Add(r,z); out Mul(Relu(x),z)",
                            sizes, 5));
}

/* Short lists are computed by rules and not by kernels: what these give, also where they round. */
TEST(lists_of_integers_have_the_values_that_kernels_give)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph =
        graph_of_text("in x ? 4; n = Shape(x); a = Slice(n,[0],[1],[0]); out Concat{axis=0}("
                      "Mul(a,[3]),Div(Sub(a,[100]),[7]),Div(a,[-2]),Mul(a,[4611686018427387904]),"
                      "Gather(n,[-1]),Slice(n,[1],[-9],[0],[-1]),Max(a,[9]))");
    tfr_session *session = open(runtime, graph);
    for (int64_t n = 5; n < 20; n++) {
        const int64_t high = (int64_t)((uint64_t)n << 62);
        const int64_t want[] = {3 * n, (n - 100) / 7, n / -2, high, 4, 4, n, n > 9 ? n : 9};
        tfr_tensor *in[1], *out[1];
        make_inputs(graph, n, in);
        REQUIRE_OK(tfr_session_run(session, in, 1, out, 1, &err), &err);
        REQUIRE(tfr_tensor_bytes(out[0]) == sizeof want);
        CHECK(memcmp(tfr_tensor_data(out[0]), want, sizeof want) == 0);
        release(out, 1);
        release(in, 1);
    }
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* Dims of 1 broadcast, and 0 is nothing to compute. */
TEST(sizes_of_one_and_none_are_right)
{
    const int64_t sizes[] = {3, 1, 2, 1, 0, 4};
    run_sizes("in x ? 4; in y ? 4; const w 4 5; out MatMul(Add(x,ReduceSum{keepdims=1}(y,[0])),w);"
              "out Softmax{axis=0}(x)",
              sizes, 6);
}

/* Twice as much to do and more may belong elsewhere. */
TEST(a_size_that_differs_much_is_planned_from_nothing)
{
    const int64_t sizes[] = {100, 110, 300, 310, 20};
    CHECK_UINT(2, run_sizes("in x ? 16; const w 16 16; out Relu(MatMul(x,w))", sizes, 5));
}

/* Up to 4096 elements are known while a plan is made; else the run is cut in two there. */
TEST(a_value_that_is_not_known_any_more_is_computed)
{
    const int64_t sizes[] = {4000, 4090, 4100, 4200};
    CHECK_UINT(2, run_sizes("in x ?; n = Shape(x); s = ReduceSum{keepdims=1}(Expand([1],n),[0]);"
                            "out Relu(Reshape(x,s))",
                            sizes, 4));
}

TEST(static_graphs_and_variables_keep_nothing)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *fixed = graph_of_text("in x 3 4; out Relu(x)");
    tfr_graph *counter = graph_of_text("in x ? 4; var v 4; out Add(x,v)");
    tfr_graph *graphs[] = {fixed, counter};
    for (int i = 0; i < 2; i++) {
        tfr_session *session = open(runtime, graphs[i]);
        tfr_tensor *in = random_input(graphs[i], 0, 3, 1, -1, 1), *out = NULL;
        REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
        CHECK(session->main->plans[0]->build == NULL);
        tfr_tensor_release(out);
        tfr_tensor_release(in);
        tfr_session_destroy(session);
        tfr_graph_release(graphs[i]);
    }
    tfr_runtime_release(runtime);
}

/* A tensor with the shape to reshape to. */
TEST(a_shape_that_is_an_input_is_read_anew)
{
    tfr_runtime *runtime = new_runtime();
    tfr_value v[2], out;
    tfr_graph *graph = new_graph(2, v);
    tfr_session *session;
    uint32_t n_again = 0;
    out = add(graph, "Reshape", v, 2);
    out = add(graph, "Relu", &out, 1);
    REQUIRE_OK(tfr_graph_add_output(graph, out, "y", &err), &err);
    session = open(runtime, graph);
    for (int64_t n = 4; n < 8; n++) {
        const tfr_shape shape = {2, {n, 6}}, two = {1, {2}};
        tfr_tensor *in[2] = {random_floats(&shape, 3, -1, 1), NULL};
        REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_I64, &two, &in[1], &err), &err);
        ((int64_t *)tfr_tensor_data(in[1]))[0] = 3;
        ((int64_t *)tfr_tensor_data(in[1]))[1] = 2 * n;
        check_run(runtime, session, graph, in);
        n_again += was_again(session);
        release(in, 2);
    }
    CHECK_UINT(3, n_again);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(shapes_that_do_not_fit_are_told_as_ever_and_harm_nothing)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = graph_of_text("in x ? 4; in y ? 4; out Add(Relu(x),y)");
    tfr_session *session = open(runtime, graph);
    tfr_tensor *in[2], *wrong[2], *out = NULL;
    char alone[sizeof err.text];
    make_inputs(graph, 5, in);
    check_run(runtime, session, graph, in);
    wrong[0] = in[0];
    wrong[1] = random_input(graph, 1, 6, 1, -1, 1);
    CHECK_INT(TFR_ESHAPE, tfr_session_run(session, wrong, 2, &out, 1, &err));
    snprintf(alone, sizeof alone, "%s", err.text);
    CHECK_INT(TFR_ESHAPE, tfr_session_run(session, wrong, 2, &out, 1, &err));
    CHECK_STR(alone, err.text);
    CHECK(strstr(alone, "Add"));
    check_run(runtime, session, graph, in);
    tfr_tensor_release(wrong[1]);
    release(in, 2);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(each_failed_request_leaves_a_session_that_runs)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = graph_of_text("in x ? 4; const w 4 4; n = Shape(x);"
                                     "out Add(MatMul(x,w),Expand(1.5,n)); out NonZero(x)");
    tfr_tensor *in[2][1];
    uint32_t n_ok = 0;
    make_inputs(graph, 5, in[0]);
    make_inputs(graph, 6, in[1]);
    for (uint64_t n = 1; n < 400; n++) {
        tfr_session *session = open(runtime, graph);
        tfr_tensor *out[2] = {NULL, NULL};
        tfr_status status;
        REQUIRE_OK(tfr_session_run(session, in[0], 1, out, 2, &err), &err);
        release(out, 2);
        tfr__alloc_fail_at(n);
        status = tfr_session_run(session, in[1], 1, out, 2, &err);
        tfr__alloc_fail_at(0);
        CHECK(status == TFR_OK || status == TFR_ENOMEM);
        if (!status)
            release(out, 2);
        n_ok += !status;
        check_run(runtime, session, graph, in[1]);
        tfr_session_destroy(session);
    }
    CHECK(n_ok > 20);
    release(in[0], 1);
    release(in[1], 1);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* Expand is a kernel with a shape that follows from that of x; less than 4096 elements of it are
 * known while a plan is made. */
static const char *const expanded = "in x ? 4; const w 4 4; n = Shape(x);"
                                    "out Transpose{perm=1,0}(MatMul(x,w)); out Expand(1.5,n)";

TEST(kernels_and_constants_of_a_plan_that_is_renewed_are_new)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = graph_of_text(expanded);
    for (int64_t first = 500; first <= 5000; first += 4500) {
        tfr_session *session = open(runtime, graph);
        for (int64_t n = first; n < first + 12; n++) {
            tfr_tensor *in[1];
            make_inputs(graph, n, in);
            check_run(runtime, session, graph, in);
            release(in, 1);
        }
        CHECK(session->main->plans[0]->renewed);
        tfr_session_destroy(session);
    }
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* A dim of 1 is squeezed, one of 2 is not. */
TEST(a_plan_that_is_renewed_may_give_another_rank)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = graph_of_text("in x 3 ?; in y ? 2; out Squeeze(y); out Relu(x)");
    tfr_session *session = open(runtime, graph);
    for (int64_t n = 0; n < 14; n++) {
        tfr_tensor *in[2] = {random_input(graph, 0, 40 + n, 7, -1, 1),
                             random_input(graph, 1, n < 12 ? 1 : n - 10, 8, -1, 1)};
        check_run(runtime, session, graph, in);
        release(in, 2);
    }
    CHECK(session->main->plans[0]->renewed);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* Up to 608 rows both Relus have the same types, by chance; from there on the second has not. */
TEST(types_that_are_equal_by_chance_are_not_taken_for_equal)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = graph_of_text("in x ? 4; out Relu(x); "
                                     "out Relu(Slice(x,[0],[608],[0]))");
    tfr_session *session = open(runtime, graph);
    for (int64_t n = 590; n < 615; n++) {
        tfr_tensor *in[1];
        make_inputs(graph, n, in);
        check_run(runtime, session, graph, in);
        release(in, 1);
        if (n == 607)
            CHECK(session->main->plans[0]->build->course != NULL);
    }
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(a_size_beyond_the_room_of_a_plan_gets_a_plan_of_its_own)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = graph_of_text(expanded);
    tfr_session *session = open(runtime, graph);
    const tfr__plan *plan = NULL;
    for (int64_t n = 500; n < 700; n += n < 511 ? 1 : 90) {
        tfr_tensor *in[1];
        make_inputs(graph, n, in);
        check_run(runtime, session, graph, in);
        release(in, 1);
        if (n == 511)
            plan = session->main->plans[0];
    }
    CHECK(plan && plan->renewed && session->main->plans[0] != plan);
    CHECK(session->main->plans[0]->again);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(each_failed_request_while_a_plan_is_renewed_leaves_a_session_that_runs)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = graph_of_text(expanded);
    tfr_session *session = open(runtime, graph);
    uint32_t n_renewed = 0;
    for (int64_t n = 5000; n < 5120; n++) {
        tfr_tensor *in[1], *out[2] = {NULL, NULL};
        tfr_status status;
        make_inputs(graph, n, in);
        tfr__alloc_fail_at(n < 5010 ? 0 : (uint64_t)(n - 5009));
        status = tfr_session_run(session, in, 1, out, 2, &err);
        tfr__alloc_fail_at(0);
        CHECK(status == TFR_OK || status == TFR_ENOMEM);
        if (!status)
            release(out, 2);
        n_renewed += session->main->plans[0]->renewed;
        check_run(runtime, session, graph, in);
        release(in, 1);
    }
    CHECK(n_renewed > 20);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* Attributes are borrowed from the graph, and the view of a group is one block. With copies, and a
 * block for each list, there were 102 requests, and 58 while kernels computed lists; now there
 * are 48. */
TEST(a_plan_that_is_renewed_asks_for_little_memory)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = graph_of_text(
        "in past 1 2 ? 4; in x 1 2 1 4; const w 4 4; k = Concat{axis=2}(past,MatMul(x,w));"
        "m = Expand(1.5,Concat{axis=0}([1],Slice(Shape(k),[2],[3])));"
        "s = Softmax{axis=-1}(Add(MatMul(x,Transpose{perm=0,1,3,2}(k)),m)); out MatMul(s,k); out "
        "k");
    tfr_session *session = open(runtime, graph);
    uint64_t n_requests = 0;
    for (int64_t n = 20; n < 36; n++) {
        tfr_tensor *in[2], *out[2];
        make_inputs(graph, n, in);
        n_requests = tfr__alloc_count();
        REQUIRE_OK(tfr_session_run(session, in, 2, out, 2, &err), &err);
        n_requests = tfr__alloc_count() - n_requests;
        release(out, 2);
        release(in, 2);
    }
    CHECK(session->main->plans[0]->renewed);
    CHECK(n_requests <= 56);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* Past 128 keys an attention sums in parts, past 4096 elements the mask is not known while a plan
 * is made; 1 is broadcast, 2 and 16 are other dims of the same values. */
TEST(lengths_that_grow_shrink_and_alternate_give_the_bits_of_a_plan_from_nothing)
{
    static const int64_t ranges[][2] = {{20, 36}, {124, 132},   {1, 4},   {14, 18},
                                        {47, 50}, {46, 48},     {47, 50}, {300, 303},
                                        {46, 49}, {4092, 4099}, {3, 5},   {4093, 4096}};
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph =
        graph_of_text("in pk 1 2 ? 16; in pv 1 2 ? 16; in x 1 2 1 16; const w 16 16; const u 16 16;"
                      "k = Concat{axis=2}(pk,MatMul(x,w)); v = Concat{axis=2}(pv,MatMul(x,u));"
                      "m = Expand(1.5,Concat{axis=0}([1],Slice(Shape(k),[2],[3])));"
                      "s = Softmax{axis=-1}(Add(MatMul(Mul(x,0.25),Transpose{perm=0,1,3,2}(k)),m));"
                      "out Relu(MatMul(s,v)); out k; out v");
    tfr_session *session = open(runtime, graph);
    uint32_t n_renewed = 0;
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        for (int64_t n = ranges[i][0]; n < ranges[i][1]; n++) {
            tfr_tensor *in[3];
            make_inputs(graph, n, in);
            check_run(runtime, session, graph, in);
            release(in, 3);
            n_renewed += session->main->plans[0]->renewed;
        }
    CHECK(n_renewed > 8);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

static const test_case cases[] = {
    CASE(a_cache_that_grows_is_planned_from_the_plan_before),
    CASE(values_that_follow_from_shapes_are_found_anew),
    CASE(lists_of_integers_have_the_values_that_kernels_give),
    CASE(sizes_of_one_and_none_are_right),
    CASE(a_size_that_differs_much_is_planned_from_nothing),
    CASE(a_value_that_is_not_known_any_more_is_computed),
    CASE(static_graphs_and_variables_keep_nothing),
    CASE(a_shape_that_is_an_input_is_read_anew),
    CASE(shapes_that_do_not_fit_are_told_as_ever_and_harm_nothing),
    CASE(each_failed_request_leaves_a_session_that_runs),
    CASE(kernels_and_constants_of_a_plan_that_is_renewed_are_new),
    CASE(a_plan_that_is_renewed_may_give_another_rank),
    CASE(types_that_are_equal_by_chance_are_not_taken_for_equal),
    CASE(a_size_beyond_the_room_of_a_plan_gets_a_plan_of_its_own),
    CASE(each_failed_request_while_a_plan_is_renewed_leaves_a_session_that_runs),
    CASE(a_plan_that_is_renewed_asks_for_little_memory),
    CASE(lengths_that_grow_shrink_and_alternate_give_the_bits_of_a_plan_from_nothing),
};
TEST_MAIN(cases)
