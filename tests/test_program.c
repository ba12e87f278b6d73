/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: which nodes go into one, where groups are cut, and views at their borders. */
#include "base/alloc.h"
#include "program_case.h"

TEST(a_whole_graph_is_one_launch_and_says_what_it_is)
{
    tfr_runtime *runtime = program_runtime();
    tfr_graph *graph = diamond();
    tfr_tensor *in = noise(4, 6, 1);
    tfr_program_desc row = {.size = sizeof row};
    tfr_session *session = compare(runtime, graph, in);
    CHECK_UINT(1, stats_of(session).n_launches);
    CHECK_UINT(1, stats_of(session).n_programs);
    CHECK_UINT(1, tfr_session_n_programs(session));
    REQUIRE_OK(tfr_session_program(session, 0, &row, &err), &err);
    CHECK_UINT(3, row.n_nodes);
    CHECK_UINT(3, row.n_kernels);
    CHECK_UINT(12, row.constant_bytes);
    CHECK_STR("naive:0", row.backend);
    CHECK_STR("one after the other", row.text);
    CHECK_STATUS(TFR_EINVAL, tfr_session_program(session, 1, &row, &err), &err);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_INT(0, row_of(session, i).program);
        CHECK_STR("naive:0", row_of(session, i).backend);
    }
    end(runtime, graph, session, in);
}

TEST(a_group_is_cut_where_a_path_leaves_it_and_comes_back)
{
    tfr_runtime *runtime = program_runtime();
    tfr_graph *graph = diamond();
    tfr_tensor *in = noise(4, 6, 1);
    want(5, -1, 5, -1);
    tfr_session *session = compare(runtime, graph, in);
    CHECK_UINT(2, stats_of(session).n_programs);
    CHECK_INT(0, row_of(session, 0).program);
    CHECK_INT(-1, row_of(session, 1).program);
    CHECK_STR("node 1 is not for me", row_of(session, 1).alone);
    CHECK_INT(1, row_of(session, 2).program);
    end(runtime, graph, session, in);
}

TEST(groups_that_wait_for_each_other_are_cut)
{
    tfr_value x, a, b, c;
    tfr_runtime *runtime = program_runtime();
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *in = noise(4, 6, 1);
    a = unary(graph, "Relu", x);
    b = unary(graph, "Neg", x);
    c = unary(graph, "Abs", a);
    output(graph, unary(graph, "Sigmoid", b));
    output(graph, c);
    want(0, 1, 1, 0); /* each is convex, and each reads the other */
    tfr_session *session = compare(runtime, graph, in);
    CHECK_UINT(3, stats_of(session).n_programs);
    end(runtime, graph, session, in);
}

TEST(random_groups_of_random_graphs_give_what_kernels_give)
{
    uint32_t n_programs = 0, n_convex = 0;
    for (uint32_t seed = 0; seed < 300; seed++) {
        tfr_runtime *runtime = seed ? NULL : program_runtime();
        static tfr_runtime *shared;
        random_state = seed * 7919;
        shared = runtime ? runtime : shared;
        tfr_graph *graph = random_graph(4 + next_random(36));
        tfr_tensor *in = noise(4, 6, seed);
        const uint32_t n_labels = 1 + next_random(4);
        kit.all = false;
        kit.layouts = seed % 2;
        kit.workspace = seed % 3 == 0;
        for (uint32_t i = 0; i < KIT_ONE_SET; i++)
            kit.group[i] = next_random(4) ? (int32_t)next_random(n_labels) : -1;
        tfr_session *session = compare(shared, graph, in);
        if (n_labels == 1 && kit.convex) {
            CHECK_UINT(1, stats_of(session).n_programs);
            n_convex++;
        }
        n_programs += stats_of(session).n_programs;
        tfr_session_destroy(session);
        CHECK_UINT(0, kit.n_live);
        tfr_graph_release(graph);
        tfr_tensor_release(in);
        if (seed == 299)
            tfr_runtime_release(shared);
    }
    CHECK(n_programs > 600);
    CHECK(n_convex > 5);
    CHECK(kit.n_laid > 300);
    CHECK(kit.n_reorders > 100);
    CHECK_STR("", talk);
}

TEST(a_group_is_cut_at_each_node_that_is_not_in_it)
{
    tfr_value x;
    tfr_runtime *runtime = program_runtime();
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *in = noise(2, 2, 1);
    for (uint32_t i = 0; i < KIT_ONE_SET; i++) {
        x = unary(graph, "Relu", x);
        kit.group[i] = i % 10 < 9 ? 0 : -1; /* each tenth cuts the group once more */
    }
    output(graph, x);
    kit.all = false;
    kit.large = true;
    tfr_session *session = new_session(runtime, graph, true);
    REQUIRE_OK(tfr_session_prepare(session, &in, 1, &err), &err);
    CHECK_UINT(KIT_ONE_SET / 10, stats_of(session).n_programs);
    end(runtime, graph, session, in);
}

/* ---- views and what goes out ---- */

TEST(a_view_of_what_a_program_gives_out_anyway_stays_outside)
{
    tfr_value x, v;
    tfr_runtime *runtime = program_runtime();
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *in = noise(4, 6, 1);
    v = unary(graph, "Relu", x);
    output(graph, v);
    output(graph, reshape(graph, v, 3, 8));
    tfr_session *session = compare(runtime, graph, in);
    CHECK_INT(0, row_of(session, 0).program);
    CHECK_INT(-1, row_of(session, 1).program);
    end(runtime, graph, session, in);
}

TEST(a_view_whose_input_nobody_else_reads_is_part_of_the_program)
{
    tfr_value x;
    tfr_runtime *runtime = program_runtime();
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *in = noise(4, 6, 1);
    output(graph, reshape(graph, unary(graph, "Relu", x), 3, 8));
    tfr_session *session = compare(runtime, graph, in);
    CHECK_INT(0, row_of(session, 1).program);
    CHECK_STR("naive:0", row_of(session, 1).backend);
    end(runtime, graph, session, in);
}

TEST(views_alone_are_no_program)
{
    tfr_value x;
    tfr_runtime *runtime = program_runtime();
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *in = noise(4, 6, 1);
    output(graph, unary(graph, "Relu", reshape(graph, x, 3, 8)));
    want(0, -1, -1, -1);
    tfr_session *session = compare(runtime, graph, in);
    CHECK_UINT(1, kit.n_proposes);
    CHECK_UINT(0, kit.n_compiles);
    end(runtime, graph, session, in);
}

TEST(one_value_may_be_read_inside_and_outside_and_be_two_outputs)
{
    tfr_value x, a, b;
    tfr_runtime *runtime = program_runtime();
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *in = noise(4, 6, 1);
    a = unary(graph, "Sigmoid", x);
    b = binary(graph, "Add", a, a);
    output(graph, a);
    output(graph, a);
    output(graph, b);
    output(graph, binary(graph, "Mul", a, b));
    want(0, 0, -1, -1);
    tfr_session *session = compare(runtime, graph, in);
    CHECK_UINT(2, stats_of(session).n_launches);
    end(runtime, graph, session, in);
}

/* ---- who is asked ---- */

TEST(nodes_that_draw_random_numbers_may_be_in_programs)
{
    tfr_value x, r;
    tfr_runtime *runtime = program_runtime();
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *in = noise(4, 6, 1), *out = NULL;
    r = unary(graph, "RandomNormalLike", x);
    output(graph, binary(graph, "Add", x, r));
    tfr_session *session = new_session(runtime, graph, true);
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_UINT(2, kit.n_nodes);
    CHECK_UINT(2, kit.n_mine);
    tfr_tensor_release(out);
    end(runtime, graph, session, in);
}

TEST(a_session_without_programs_asks_no_compiler)
{
    tfr_runtime *runtime = program_runtime();
    tfr_graph *graph = diamond();
    tfr_tensor *in = noise(4, 6, 1), *out = NULL;
    tfr_session *session = new_session(runtime, graph, false);
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_UINT(0, kit.n_proposes);
    CHECK_UINT(3, stats_of(session).n_launches);
    tfr_tensor_release(out);
    end(runtime, graph, session, in);
}

TEST(a_binding_launches_programs_and_takes_no_memory)
{
    tfr_runtime *runtime = program_runtime();
    tfr_graph *graph = diamond();
    tfr_tensor *in = noise(4, 6, 1), *out = noise(4, 6, 9);
    tfr_session *session = compare(runtime, graph, in);
    tfr_tensor *want_out = NULL;
    tfr_binding *binding = NULL;
    kit.layouts = true;
    want(0, 1, -1, -1);
    REQUIRE_OK(tfr_session_run(session, &in, 1, &want_out, 1, &err), &err);
    REQUIRE_OK(tfr_binding_create(session, &in, 1, &out, 1, &binding, &err), &err);
    const uint64_t before = tfr__alloc_count();
    const uint32_t launches = kit.n_launches;
    CHECK_OK(tfr_binding_run(binding, &err), &err);
    CHECK_OK(tfr_binding_run(binding, &err), &err);
    CHECK_UINT(before, tfr__alloc_count());
    CHECK_UINT(launches + 4, kit.n_launches);
    CHECK(kit.n_reorders > 0);
    CHECK_MEM(tfr_tensor_data(want_out), tfr_tensor_data(out), tfr_tensor_bytes(out));
    tfr_binding_destroy(binding);
    tfr_tensor_release(out);
    tfr_tensor_release(want_out);
    end(runtime, graph, session, in);
}

static const test_case cases[] = {
    CASE(a_whole_graph_is_one_launch_and_says_what_it_is),
    CASE(a_group_is_cut_where_a_path_leaves_it_and_comes_back),
    CASE(groups_that_wait_for_each_other_are_cut),
    CASE(random_groups_of_random_graphs_give_what_kernels_give),
    CASE(a_group_is_cut_at_each_node_that_is_not_in_it),
    CASE(a_view_of_what_a_program_gives_out_anyway_stays_outside),
    CASE(a_view_whose_input_nobody_else_reads_is_part_of_the_program),
    CASE(views_alone_are_no_program),
    CASE(one_value_may_be_read_inside_and_outside_and_be_two_outputs),
    CASE(nodes_that_draw_random_numbers_may_be_in_programs),
    CASE(a_session_without_programs_asks_no_compiler),
    CASE(a_binding_launches_programs_and_takes_no_memory),
};
TEST_MAIN(cases)
