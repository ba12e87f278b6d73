/* SPDX-License-Identifier: Apache-2.0 */
/* Compilers and programs that say no, fail, or break their word: kernels run instead. */
#include "base/alloc.h"
#include "program_case.h"

TEST(a_group_that_cannot_be_compiled_runs_as_kernels_and_says_why)
{
    tfr_runtime *runtime = program_runtime();
    tfr_graph *graph = diamond();
    tfr_tensor *in = noise(4, 6, 1);
    kit.compile_status = TFR_EUNSUPPORTED;
    tfr_session *session = compare(runtime, graph, in);
    CHECK_UINT(0, stats_of(session).n_programs);
    CHECK_UINT(3, stats_of(session).n_launches);
    CHECK_STR("not these 3 nodes", row_of(session, 2).alone);
    CHECK(!atomic_load(&kit_backend->program_off));
    CHECK_STR("", talk);
    end(runtime, graph, session, in);
}

/* Programs are off, the kernels are not, and somebody was told. */
static void check_off(const char *why)
{
    CHECK(atomic_load(&kit_backend->program_off));
    CHECK(!atomic_load(&kit_backend->quarantined));
    CHECK_CONTAINS(why, talk);
    CHECK_CONTAINS("compiles no programs any more", talk);
}

#define BREAKS(name, setting, why)                                                                 \
    TEST(name)                                                                                     \
    {                                                                                              \
        tfr_runtime *runtime = program_runtime();                                                  \
        tfr_graph *graph = diamond();                                                              \
        tfr_tensor *in = noise(4, 6, 1);                                                           \
        setting;                                                                                   \
        tfr_session *session = compare(runtime, graph, in);                                        \
        CHECK_UINT(0, stats_of(session).n_programs);                                               \
        check_off(why);                                                                            \
        const uint32_t n = kit.n_proposes;                                                         \
        tfr_session_destroy(compare(runtime, graph, in));                                          \
        CHECK_UINT(n, kit.n_proposes);                                                             \
        end(runtime, graph, session, in);                                                          \
    }

BREAKS(a_compiler_that_fails_is_not_asked_again, kit.compile_status = TFR_EINTERNAL,
       "not these 3 nodes")
BREAKS(a_proposal_that_fails_is_a_defect, kit.propose_status = TFR_EUNSUPPORTED, "no idea today")
BREAKS(a_group_below_minus_one_is_a_defect, kit.bad_group = -7, "into group -7")
BREAKS(a_compiler_that_gives_no_program_is_broken, kit.no_program = true, "it gave no program")
BREAKS(a_layout_where_none_is_allowed_is_a_defect, kit.bad_layout = true, "must be plain")
BREAKS(a_workspace_beyond_all_memory_is_a_defect, kit.bad_info.workspace_bytes = UINT64_MAX,
       "wants a workspace")
BREAKS(a_layout_that_has_no_size_is_a_defect, want(0, 1, 1, -1); kit.layouts = true;
       kit.bytes_status = TFR_EUNSUPPORTED, "no such layout")

TEST(a_group_with_a_node_of_somebody_else_is_a_defect)
{
    tfr_value x, r;
    tfr_runtime *runtime = program_runtime();
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *in = noise(4, 6, 1), *out[2] = {NULL};
    r = unary(graph, "NonZero", x); /* dims that only a launch tells */
    output(graph, binary(graph, "Add", x, x));
    output(graph, r);
    kit.bad_foreign = true;
    tfr_session *session = new_session(runtime, graph, true);
    REQUIRE_OK(tfr_session_run(session, &in, 1, out, 2, &err), &err);
    check_off("it put node 0, which it may not have, into group 0");
    tfr_tensor_release(out[0]);
    tfr_tensor_release(out[1]);
    end(runtime, graph, session, in);
}

TEST(a_program_that_fails_in_a_run_gives_way_to_kernels_in_the_same_run)
{
    tfr_runtime *runtime = program_runtime();
    tfr_graph *graph = diamond();
    tfr_tensor *in = noise(4, 6, 1);
    kit.launch_status = TFR_EINTERNAL;
    tfr_tensor *out = NULL;
    tfr_session *session = new_session(runtime, graph, true);
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    tfr_tensor_release(out);
    CHECK_UINT(1, kit.n_launches);
    CHECK_UINT(3, stats_of(session).n_launches);
    check_off("the program of 3 nodes from");
    CHECK_UINT(3, tfr_session_n_placements(session));
    tfr_session_destroy(compare(runtime, graph, in));
    end(runtime, graph, session, in);
}

TEST(wrong_data_in_a_program_are_not_its_fault)
{
    tfr_runtime *runtime = program_runtime();
    tfr_graph *graph = diamond();
    tfr_tensor *in = noise(4, 6, 1), *out = NULL;
    tfr_session *session = new_session(runtime, graph, true);
    kit.launch_status = TFR_EINVAL;
    CHECK_STATUS(TFR_EINVAL, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_CONTAINS("program of 3 nodes from ", err.text);
    CHECK_CONTAINS(" on naive:0: the program fell over", err.text);
    kit.launch_status = TFR_OK;
    CHECK_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_UINT(1, stats_of(session).n_programs);
    tfr_tensor_release(out);
    end(runtime, graph, session, in);
}

TEST(a_compiler_out_of_memory_fails_the_plan_and_keeps_its_name)
{
    tfr_runtime *runtime = program_runtime();
    tfr_graph *graph = diamond();
    tfr_tensor *in = noise(4, 6, 1), *out = NULL;
    tfr_session *session = new_session(runtime, graph, true);
    kit.compile_status = TFR_ENOMEM;
    CHECK_STATUS(TFR_ENOMEM, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_CONTAINS("a program of 3 nodes on naive:0: not these 3 nodes", err.text);
    kit.compile_status = TFR_OK;
    CHECK_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    tfr_tensor_release(out);
    end(runtime, graph, session, in);
}

TEST(plans_with_programs_survive_each_failed_request)
{
    tfr_runtime *runtime = program_runtime();
    tfr_tensor *in = noise(4, 6, 1);
    random_state = 5;
    tfr_graph *graph = random_graph(12);
    const uint32_t n_outputs = tfr_graph_n_outputs(graph);
    uint64_t n = 0, before;
    kit.layouts = kit.workspace = true;
    want(0, 0, -1, 1);
    for (uint32_t i = 4; i < 40; i++)
        kit.group[i] = (int32_t)(i % 3) - 1;
    do {
        tfr_session *session = new_session(runtime, graph, true);
        tfr_tensor *out[MOST] = {NULL};
        before = tfr__alloc_count();
        tfr__alloc_fail_at(++n);
        const tfr_status status = tfr_session_run(session, &in, 1, out, n_outputs, &err);
        tfr__alloc_fail_at(0);
        if (status != TFR_OK)
            CHECK_STATUS(TFR_ENOMEM, status, &err);
        before = tfr__alloc_count() - before;
        for (uint32_t i = 0; i < n_outputs; i++)
            tfr_tensor_release(out[i]);
        tfr_session_destroy(session);
        CHECK_UINT(0, kit.n_live);
    } while (before >= n && n < 10000);
    CHECK(n > 50);
    CHECK(!atomic_load(&kit_backend->program_off));
    end(runtime, graph, NULL, in);
}

static const test_case cases[] = {
    CASE(a_group_that_cannot_be_compiled_runs_as_kernels_and_says_why),
    CASE(a_compiler_that_fails_is_not_asked_again),
    CASE(a_proposal_that_fails_is_a_defect),
    CASE(a_group_below_minus_one_is_a_defect),
    CASE(a_compiler_that_gives_no_program_is_broken),
    CASE(a_layout_where_none_is_allowed_is_a_defect),
    CASE(a_workspace_beyond_all_memory_is_a_defect),
    CASE(a_layout_that_has_no_size_is_a_defect),
    CASE(a_group_with_a_node_of_somebody_else_is_a_defect),
    CASE(a_program_that_fails_in_a_run_gives_way_to_kernels_in_the_same_run),
    CASE(wrong_data_in_a_program_are_not_its_fault),
    CASE(a_compiler_out_of_memory_fails_the_plan_and_keeps_its_name),
    CASE(plans_with_programs_survive_each_failed_request),
};
TEST_MAIN(cases)
