/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the data of programs lie: layouts that pass between them, constants, workspaces, and the
 * blob that a compiler gets back.
 */
#include "program_case.h"
#include "temp_path.h"

TEST(a_layout_passes_between_programs_and_is_made_plain_once_for_others)
{
    tfr_value x, a, b;
    tfr_runtime *runtime = program_runtime();
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *in = noise(4, 6, 1);
    a = unary(graph, "Sigmoid", x);
    b = unary(graph, "Neg", a);
    output(graph, binary(graph, "Add", b, binary(graph, "Mul", a, a)));
    output(graph, unary(graph, "Relu", a));
    kit.layouts = true;
    want(0, 1, -1, -1); /* a goes to a program, and to two kernels */
    tfr_session *session = compare(runtime, graph, in);
    CHECK_UINT(1, kit.n_laid);
    CHECK_UINT(2, kit.n_reorders); /* once in each of two runs */
    CHECK_UINT(1, stats_of(session).n_reorders);
    end(runtime, graph, session, in);
}

TEST(a_layout_whose_reader_is_not_compiled_is_made_plain)
{
    tfr_runtime *runtime = program_runtime();
    tfr_graph *graph = diamond();
    tfr_tensor *in = noise(4, 6, 1);
    kit.layouts = true;
    kit.compile_status = TFR_EUNSUPPORTED;
    kit.fail_op = "Sigmoid";
    want(0, 1, 2, -1);
    tfr_session *session = compare(runtime, graph, in);
    CHECK_UINT(2, stats_of(session).n_programs);
    CHECK_UINT(2, kit.n_reorders);
    end(runtime, graph, session, in);
}

TEST(a_value_that_leaves_the_section_has_no_layout)
{
    tfr_value x, a;
    tfr_runtime *runtime = program_runtime();
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *in = noise(4, 6, 1);
    a = unary(graph, "Sigmoid", x);
    output(graph, a);
    output(graph, unary(graph, "Neg", a));
    kit.layouts = true;
    want(0, 1, -1, -1);
    tfr_session *session = compare(runtime, graph, in);
    CHECK_UINT(0, kit.n_laid);
    end(runtime, graph, session, in);
}

TEST(a_strided_input_reaches_a_program_plain)
{
    tfr_runtime *runtime = program_runtime();
    tfr_graph *graph = diamond();
    const tfr_shape shape = {2, {4, 6}};
    const int64_t strides[] = {1, 4};
    tfr_tensor *base = noise(6, 4, 1), *in = NULL;
    REQUIRE_OK(tfr_tensor_view(base, 0, &shape, strides, &in, &err), &err);
    tfr_session *session = compare(runtime, graph, in);
    CHECK_UINT(1, stats_of(session).n_programs);
    tfr_tensor_release(base);
    end(runtime, graph, session, in);
}

TEST(plans_of_two_batch_sizes_see_a_constant_at_one_address)
{
    tfr_value x;
    tfr_runtime *runtime = program_runtime();
    tfr_graph *graph = new_graph(1, &x);
    output(graph, binary(graph, "MatMul", x, constant(graph, noise(6, 5, 3))));
    tfr_session *session = new_session(runtime, graph, true);
    const void *seen[2];
    for (int i = 0; i < 2; i++) {
        tfr_tensor *in = noise(1 + i, 6, 2), *out = NULL;
        kit.constant = NULL;
        REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
        seen[i] = kit.constant;
        tfr_tensor_release(in);
        tfr_tensor_release(out);
    }
    CHECK_UINT(2, kit.n_compiles);
    CHECK(seen[0] != NULL && seen[0] == seen[1]);
    end(runtime, graph, session, NULL);
}

TEST(a_workspace_counts_with_what_it_holds_at_one_time)
{
    tfr_runtime *runtime = program_runtime();
    tfr_graph *graph = diamond();
    tfr_tensor *in = noise(4, 6, 1);
    tfr_program_desc row = {.size = sizeof row};
    kit.workspace = true;
    tfr_session *session = compare(runtime, graph, in);
    REQUIRE_OK(tfr_session_program(session, 0, &row, &err), &err);
    CHECK_UINT(4 * 128, row.workspace_bytes);
    CHECK_UINT(2 * 128, row.lower_bound);
    CHECK_UINT(4 * 128, stats_of(session).arena_bytes);
    CHECK_UINT(2 * 128, stats_of(session).arena_lower_bound);
    end(runtime, graph, session, in);
}

/* An op, then a product with a constant; compiled, not run. */
static void compile_once(tfr_runtime *runtime, const char *op, uint32_t seed)
{
    tfr_value x, v;
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *in = noise(4, 12, 1);
    v = unary(graph, op, x);
    output(graph, binary(graph, "MatMul", v, constant(graph, noise(12, 12, seed))));
    tfr_session *session = new_session(runtime, graph, true);
    REQUIRE_OK(tfr_session_prepare(session, &in, 1, &err), &err);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_tensor_release(in);
}

TEST(a_blob_comes_back_for_an_equal_group_alone)
{
    for (int round = 0; round < 2; round++) { /* the second one finds the file of the first */
        tfr_runtime *runtime = program_runtime();
        tfr__tuning_finish(&runtime->tuning);
        tfr__tuning_init(&runtime->tuning, runtime, temp_path("blobs"));
        compile_once(runtime, "Relu", 1);
        CHECK_STR(round ? "of 2 nodes" : "", kit.blob);
        compile_once(runtime, "Relu", 2); /* other weights, same work */
        CHECK_STR("of 2 nodes", kit.blob);
        compile_once(runtime, "Abs", 1);
        CHECK_STR(round ? "of 2 nodes" : "", kit.blob);
        CHECK_UINT(3, kit.n_compiles);
        tfr_runtime_release(runtime);
    }
    temp_drop("blobs");
}

static const test_case cases[] = {
    CASE(a_layout_passes_between_programs_and_is_made_plain_once_for_others),
    CASE(a_layout_whose_reader_is_not_compiled_is_made_plain),
    CASE(a_value_that_leaves_the_section_has_no_layout),
    CASE(a_strided_input_reaches_a_program_plain),
    CASE(plans_of_two_batch_sizes_see_a_constant_at_one_address),
    CASE(a_workspace_counts_with_what_it_holds_at_one_time),
    CASE(a_blob_comes_back_for_an_equal_group_alone),
};
TEST_MAIN(cases)
