/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of core/plan/plan_twin.c and of what plans for other shapes share: a model of equal layers
 * whose caches grow, counted with the compiler of program_kit.h.
 */
#include <tfrun/compare.h>

#include "base/alloc.h"
#include "plan/plan_build.h"
#include "run/session.h"

#include "program_case.h"

enum { LAYERS = 3, N_INPUTS = 1 + LAYERS, N_OUTPUTS = 1 + LAYERS };

/* Each layer puts what is new behind its cache, attends to all of that, and gives both. */
static tfr_graph *make_layers(void)
{
    return graph_of_text("in x 1 2 1 4; in p 1 2 ? 4; in q 1 2 ? 4; in r 1 2 ? 4; const w 4 4;"
                         "k = Concat{axis=2}(p,MatMul(x,w));"
                         "a = MatMul(Softmax{axis=-1}(MatMul(x,Transpose{perm=0,1,3,2}(k))),k);"
                         "y = Relu(MatMul(a,w));"
                         "l = Concat{axis=2}(q,MatMul(y,w));"
                         "b = MatMul(Softmax{axis=-1}(MatMul(y,Transpose{perm=0,1,3,2}(l))),l);"
                         "z = Relu(MatMul(b,w));"
                         "m = Concat{axis=2}(r,MatMul(z,w));"
                         "c = MatMul(Softmax{axis=-1}(MatMul(z,Transpose{perm=0,1,3,2}(m))),m);"
                         "out Relu(MatMul(c,w)); out k; out l; out m");
}

static tfr_runtime *layers_runtime(bool any_dims)
{
    tfr_runtime *runtime = program_runtime();
    kit_backend->has_layout = false;
    kit_backend->program.flags = any_dims ? TFR_PROGRAM_ANY_DIMS : 0;
    return runtime;
}

static void run_length(tfr_session *session, tfr_graph *graph, int64_t length, tfr_tensor **out)
{
    tfr_tensor *in[N_INPUTS];
    for (uint32_t i = 0; i < N_INPUTS; i++)
        in[i] = random_input(graph, i, length, 7 + i, -1, 1);
    REQUIRE_OK(tfr_session_run(session, in, N_INPUTS, out, N_OUTPUTS, &err), &err);
    for (uint32_t i = 0; i < N_INPUTS; i++)
        tfr_tensor_release(in[i]);
}

static void drop(tfr_tensor **out)
{
    for (uint32_t k = 0; k < N_OUTPUTS; k++)
        tfr_tensor_release(out[k]);
}

/* A run of the session against that of one that has no programs and has seen no other length. */
static void check_length(tfr_runtime *runtime, tfr_session *session, tfr_graph *graph,
                         int64_t length)
{
    tfr_session *plain = new_session(runtime, graph, false);
    tfr_tensor *out[N_OUTPUTS], *want[N_OUTPUTS];
    run_length(session, graph, length, out);
    run_length(plain, graph, length, want);
    for (uint32_t k = 0; k < N_OUTPUTS; k++)
        CHECK(tfr_tensor_compare(out[k], want[k], 0, 0, NULL));
    drop(out);
    drop(want);
    tfr_session_destroy(plain);
}

TEST(a_new_length_compiles_one_of_the_layers_and_proposes_nothing)
{
    tfr_runtime *runtime = layers_runtime(true);
    tfr_graph *graph = make_layers();
    tfr_session *session = new_session(runtime, graph, true);
    uint32_t proposes, compiles;
    check_length(runtime, session, graph, 5);
    CHECK_UINT(1, kit.n_compiles);
    check_length(runtime, session, graph, 6); /* and cuts what changes from what does not */
    CHECK(session->main->plans[0]->again);
    CHECK_UINT(2 * LAYERS + 1, session->main->plans[0]->n_programs);
    proposes = kit.n_proposes;
    for (int64_t length = 7; length < 10; length++) {
        compiles = kit.n_compiles;
        check_length(runtime, session, graph, length);
        CHECK(session->main->plans[0]->again);
        CHECK_UINT(compiles + 1, kit.n_compiles);
    }
    CHECK_UINT(proposes, kit.n_proposes);
    check_length(runtime, session, graph, 5); /* of the first plan, which is there yet */
    CHECK_UINT(compiles + 1, kit.n_compiles);
    tfr_session_destroy(session);
    CHECK_UINT(0, kit.n_live);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(a_new_length_infers_the_types_of_one_layer)
{
    tfr_runtime *runtime = layers_runtime(true);
    tfr_graph *graph = make_layers();
    tfr_session *session = new_session(runtime, graph, true);
    check_length(runtime, session, graph, 5);
    for (int64_t length = 6; length < 9; length++) {
        const tfr__build *b;
        uint32_t n_changed = 0, n_inferred = 0;
        check_length(runtime, session, graph, length);
        b = session->main->plans[0]->build;
        for (uint32_t i = 0; i < b->end - b->first; i++) {
            n_changed += b->nodes[i].changed;
            n_inferred += b->nodes[i].changed && !b->nodes[i].is_copied;
        }
        CHECK_UINT(LAYERS * 5, n_changed); /* Concat, Transpose, MatMul, Softmax, MatMul */
        CHECK_UINT(5, n_inferred);
    }
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(a_compiler_that_does_not_say_that_sizes_do_not_matter_is_asked)
{
    tfr_runtime *runtime = layers_runtime(false);
    tfr_graph *graph = make_layers();
    tfr_session *session = new_session(runtime, graph, true);
    uint32_t proposes;
    check_length(runtime, session, graph, 5);
    proposes = kit.n_proposes;
    check_length(runtime, session, graph, 6);
    check_length(runtime, session, graph, 7);
    CHECK_UINT(proposes + 2, kit.n_proposes);
    CHECK(session->main->plans[0]->again);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* Then the model is planned from nothing, with the sizes that it has. */
TEST(a_compiler_may_say_no_to_other_sizes)
{
    tfr_runtime *runtime = layers_runtime(true);
    tfr_graph *graph = make_layers();
    tfr_session *session = new_session(runtime, graph, true);
    check_length(runtime, session, graph, 5);
    kit.compile_status = TFR_EUNSUPPORTED;
    check_length(runtime, session, graph, 6);
    CHECK(!session->main->plans[0]->again);
    CHECK_UINT(0, session->main->plans[0]->n_programs);
    kit.compile_status = TFR_OK;
    check_length(runtime, session, graph, 7);
    tfr_session_destroy(session);
    CHECK_UINT(0, kit.n_live);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(memory_is_flat_over_100_lengths_and_a_new_one_takes_few_requests)
{
    tfr_runtime *runtime = layers_runtime(true);
    tfr_graph *graph = make_layers();
    tfr_session *session = new_session(runtime, graph, true);
    uint64_t first = 0, live = 0, last = 0, sum = 0;
    uint32_t programs = 0;
    for (int64_t length = 200; length < 300; length++) {
        const uint64_t before = tfr__alloc_count();
        tfr_tensor *out[N_OUTPUTS];
        run_length(session, graph, length, out);
        last = tfr__alloc_count() - before;
        first = length == 200 ? last : first;
        sum += length < 250 ? 0 : last;
        drop(out);
        if (length >= 230 && length < 260) { /* some of these have most programs ahead */
            live = tfr__alloc_live() > live ? tfr__alloc_live() : live;
            programs = kit.n_live > programs ? kit.n_live : programs;
        }
    }
    CHECK(tfr__alloc_live() <= live);
    CHECK(kit.n_live <= programs);
    printf("requests for memory: %llu of the first length, %llu of the last 50\n",
           (unsigned long long)first, (unsigned long long)sum);
    CHECK(sum < 50 * first / 3);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* A run of the length whose request n for memory fails; does it succeed all the same? */
static bool run_failing(tfr_session *session, tfr_graph *graph, int64_t length, uint64_t n)
{
    tfr_tensor *in[N_INPUTS], *out[N_OUTPUTS];
    tfr_status status;
    for (uint32_t i = 0; i < N_INPUTS; i++)
        in[i] = random_input(graph, i, length, 7 + i, -1, 1);
    tfr__alloc_fail_at(n);
    status = tfr_session_run(session, in, N_INPUTS, out, N_OUTPUTS, &err);
    tfr__alloc_fail_at(0);
    CHECK(status == TFR_OK || status == TFR_ENOMEM);
    if (!status)
        drop(out);
    for (uint32_t i = 0; i < N_INPUTS; i++)
        tfr_tensor_release(in[i]);
    return !status;
}

TEST(each_failed_request_leaves_a_session_that_runs)
{
    tfr_runtime *runtime = layers_runtime(true);
    tfr_graph *graph = make_layers();
    uint32_t n_ok = 0;
    for (uint64_t n = 1; n < 700 && n_ok < 10; n += 3) {
        tfr_session *session = new_session(runtime, graph, true);
        check_length(runtime, session, graph, 5);
        if (n % 2)
            check_length(runtime, session, graph, 6);
        n_ok += run_failing(session, graph, 7, n);
        check_length(runtime, session, graph, 7);
        tfr_session_destroy(session);
    }
    CHECK(n_ok > 2);
    CHECK_UINT(0, kit.n_live);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* Runs lengths from `first` on until plans are renewed; the last one's plan is renewed next. */
static int64_t run_until_renewed(tfr_runtime *runtime, tfr_session *session, tfr_graph *graph,
                                 int64_t first)
{
    int64_t length = first;
    while (length == first || !session->main->plans[0]->renewed) {
        REQUIRE(length < first + 20);
        check_length(runtime, session, graph, length++);
    }
    return length;
}

TEST(a_cache_that_grows_ends_with_one_plan_that_is_renewed)
{
    tfr_runtime *runtime = layers_runtime(true);
    tfr_graph *graph = make_layers();
    tfr_session *session = new_session(runtime, graph, true);
    int64_t length = run_until_renewed(runtime, session, graph, 100);
    const tfr__plan *plan = session->main->plans[0];
    const tfr__step *steps = plan->steps;
    const void *arena = plan->arenas[0].address;
    const uint32_t n_plans = session->main->n_plans, n_known = plan->n_known;
    for (int64_t end = length + 3; length < end; length++) {
        check_length(runtime, session, graph, length);
        CHECK(session->main->plans[0] == plan && plan->steps == steps);
        CHECK(plan->arenas[0].address == arena);
    }
    CHECK_UINT(n_plans, session->main->n_plans);
    CHECK_UINT(n_known, plan->n_known);
    tfr_session_destroy(session);
    CHECK_UINT(0, kit.n_live);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(a_plan_that_was_renewed_stays_when_a_length_shrinks)
{
    tfr_runtime *runtime = layers_runtime(true);
    tfr_graph *graph = make_layers();
    tfr_session *session = new_session(runtime, graph, true);
    const int64_t length = run_until_renewed(runtime, session, graph, 100);
    const tfr__plan *plan = session->main->plans[0];
    uint32_t compiles;
    check_length(runtime, session, graph, 90);
    CHECK(session->main->plans[0] != plan && session->main->plans[0]->again);
    compiles = kit.n_compiles;
    check_length(runtime, session, graph, length - 1);
    CHECK(session->main->plans[0] == plan);
    CHECK_UINT(compiles, kit.n_compiles);
    check_length(runtime, session, graph, 91);
    check_length(runtime, session, graph, length);
    tfr_session_destroy(session);
    CHECK_UINT(0, kit.n_live);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* How many programs a run of the length compiles. */
static uint32_t compiles_of(tfr_runtime *runtime, tfr_session *session, tfr_graph *graph,
                            int64_t length)
{
    const uint32_t before = kit.n_compiles;
    check_length(runtime, session, graph, length);
    return kit.n_compiles - before;
}

/* One more for each length in a row that grew as the one before did, up to eight. */
TEST(programs_of_the_next_lengths_are_compiled_at_once)
{
    static const uint32_t want[] = {9, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0};
    tfr_runtime *runtime = layers_runtime(true);
    tfr_graph *graph = make_layers();
    tfr_session *session = new_session(runtime, graph, true);
    const int64_t length = run_until_renewed(runtime, session, graph, 400), n_live = kit.n_live;
    for (uint32_t i = 0; i < sizeof want / sizeof *want; i++) {
        CHECK_UINT(want[i], compiles_of(runtime, session, graph, length + i));
        CHECK(kit.n_live <= n_live + 9);
    }
    tfr_session_destroy(session);
    CHECK_UINT(0, kit.n_live);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* The list of a renewal holds whatever the lengths are, but not for twice as much work. */
TEST(a_list_of_what_to_renew_holds_while_there_is_about_as_much_to_do)
{
    tfr_runtime *runtime = layers_runtime(true);
    tfr_graph *graph = make_layers();
    tfr_session *session = new_session(runtime, graph, true);
    int64_t length = run_until_renewed(runtime, session, graph, 100);
    const uint64_t decided_ns = session->main->plans[0]->build->decided_ns;
    const void *course = session->main->plans[0]->build->course;
    REQUIRE(course != NULL);
    for (int64_t end = length + 60; length < end; length++) { /* by more than half, in all */
        check_length(runtime, session, graph, length);
        CHECK(session->main->plans[0]->build->course == course);
        CHECK(session->main->plans[0]->build->decided_ns == decided_ns);
    }
    for (; length < 1600; length += 40)
        check_length(runtime, session, graph, length);
    CHECK(session->main->plans[0]->build->decided_ns > decided_ns);
    tfr_session_destroy(session);
    CHECK_UINT(0, kit.n_live);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* Buffers get room for half as much again. */
TEST(a_length_that_grows_alike_seldom_takes_other_memory)
{
    tfr_runtime *runtime = layers_runtime(true);
    tfr_graph *graph = make_layers();
    tfr_session *session = new_session(runtime, graph, true);
    const tfr__plan *plan = NULL;
    uint32_t n = 0;
    for (int64_t length = 400; length < 800; length++) {
        check_length(runtime, session, graph, length);
        n += length > 420 && session->main->plans[0] != plan;
        plan = session->main->plans[0];
    }
    CHECK(n < 5);
    tfr_session_destroy(session);
    CHECK_UINT(0, kit.n_live);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(few_programs_are_compiled_where_lengths_grow_by_ten)
{
    tfr_runtime *runtime = layers_runtime(true);
    tfr_graph *graph = make_layers();
    tfr_session *session = new_session(runtime, graph, true);
    uint32_t compiles = 0;
    for (int64_t i = 0; i < 40; i++) {
        const uint32_t now = compiles_of(runtime, session, graph, 100 + 10 * i);
        compiles += i < 10 ? 0 : now;
    }
    CHECK(session->main->plans[0]->again);
    CHECK(compiles < 45); /* of 30 */
    tfr_session_destroy(session);
    CHECK_UINT(0, kit.n_live);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(a_length_that_was_not_expected_drops_what_was_compiled_for_others)
{
    static const int64_t steps[] = {1, 1, 1, 5, 5, 5, 1, 1, 2, 1, 1, 1, 1, 3, 3, 3, 3, 3, 1, 1};
    tfr_runtime *runtime = layers_runtime(true);
    tfr_graph *graph = make_layers();
    tfr_session *session = new_session(runtime, graph, true);
    int64_t length = run_until_renewed(runtime, session, graph, 1000);
    const int64_t n_live = kit.n_live;
    for (uint32_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const uint32_t compiles = compiles_of(runtime, session, graph, length += steps[i]);
        CHECK(session->main->plans[0]->renewed);
        CHECK(kit.n_live <= n_live + 9);
        if (i && steps[i] != steps[i - 1])
            CHECK_UINT(1, compiles);
    }
    check_length(runtime, session, graph, 900); /* of a plan from nothing, or from the one before */
    for (int64_t i = 0; i < 20; i++)
        check_length(runtime, session, graph, 901 + i);
    CHECK(session->main->plans[0]->renewed);
    tfr_session_destroy(session);
    CHECK_UINT(0, kit.n_live);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(a_compiler_that_fails_for_a_length_to_come_is_asked_when_it_is_there)
{
    const tfr_status no[] = {TFR_EUNSUPPORTED, TFR_ENOMEM, TFR_EDEVICE};
    for (uint32_t i = 0; i < 9; i++) {
        tfr_runtime *runtime = layers_runtime(true);
        tfr_graph *graph = make_layers();
        tfr_session *session = new_session(runtime, graph, true);
        int64_t length = run_until_renewed(runtime, session, graph, 400);
        kit.compile_status = no[i % 3];
        kit.fail_nth = 1 + i / 3; /* of eight, and then that of the length at hand */
        CHECK_UINT(2 + i / 3, compiles_of(runtime, session, graph, length++));
        CHECK_INT(0, kit.compile_status);
        for (uint32_t k = 0; k < 12; k++) {
            CHECK(session->main->plans[0]->renewed);
            CHECK_UINT(2 * LAYERS + 1, session->main->plans[0]->n_programs);
            check_length(runtime, session, graph, length++);
        }
        tfr_session_destroy(session);
        CHECK_UINT(0, kit.n_live);
        tfr_graph_release(graph);
        tfr_runtime_release(runtime);
    }
}

TEST(each_failed_request_of_a_renewal_leaves_a_session_that_runs)
{
    tfr_runtime *runtime = layers_runtime(true);
    tfr_graph *graph = make_layers();
    uint32_t n_ok = 0;
    for (uint64_t n = 1; n < 900 && n_ok < 4; n += 3) {
        tfr_session *session = new_session(runtime, graph, true);
        int64_t length = run_until_renewed(runtime, session, graph, 400);
        for (int64_t end = length + 6; length < end; length++)
            check_length(runtime, session, graph, length);
        n_ok += run_failing(session, graph, length, n);
        for (int64_t end = length + 4; length < end; length++)
            check_length(runtime, session, graph, length);
        tfr_session_destroy(session);
        CHECK_UINT(0, kit.n_live);
    }
    CHECK(n_ok > 2);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* Inputs whose caches have the lengths n, but the last one, which has m. */
static void check_lengths(tfr_runtime *runtime, tfr_session *session, tfr_graph *graph, int64_t n,
                          int64_t m)
{
    tfr_session *plain = new_session(runtime, graph, false);
    tfr_tensor *in[N_INPUTS], *out[N_OUTPUTS], *want[N_OUTPUTS];
    for (uint32_t i = 0; i < N_INPUTS; i++)
        in[i] = random_input(graph, i, i == N_INPUTS - 1 ? m : n, 7 + i, -1, 1);
    REQUIRE_OK(tfr_session_run(session, in, N_INPUTS, out, N_OUTPUTS, &err), &err);
    REQUIRE_OK(tfr_session_run(plain, in, N_INPUTS, want, N_OUTPUTS, &err), &err);
    for (uint32_t k = 0; k < N_OUTPUTS; k++)
        CHECK(tfr_tensor_compare(out[k], want[k], 0, 0, NULL));
    drop(out);
    drop(want);
    for (uint32_t i = 0; i < N_INPUTS; i++)
        tfr_tensor_release(in[i]);
    tfr_session_destroy(plain);
}

TEST(caches_that_were_of_one_length_may_part)
{
    tfr_runtime *runtime = layers_runtime(true);
    tfr_graph *graph = make_layers();
    tfr_session *session = new_session(runtime, graph, true);
    const int64_t length = run_until_renewed(runtime, session, graph, 100);
    CHECK(session->main->plans[0]->build->course != NULL);
    for (int64_t n = length; n < length + 8; n++)
        check_lengths(runtime, session, graph, n, n + (n > length + 3 ? n & 1 : 0));
    check_lengths(runtime, session, graph, length + 8, length + 7); /* one stays as it was */
    check_lengths(runtime, session, graph, length + 9, length + 9);
    CHECK(session->main->plans[0]->again);
    tfr_session_destroy(session);
    CHECK_UINT(0, kit.n_live);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(the_work_of_a_plan_that_was_renewed_is_told)
{
    tfr_runtime *runtime = layers_runtime(true);
    tfr_graph *graph = make_layers();
    tfr_session *session = new_session(runtime, graph, true), *fresh;
    int64_t length = run_until_renewed(runtime, session, graph, 100);
    for (int64_t end = length + 10; length < end;) {
        const tfr__plan *plan, *want;
        check_length(runtime, session, graph, ++length);
        fresh = new_session(runtime, graph, true);
        check_length(runtime, fresh, graph, length);
        plan = session->main->plans[0];
        want = fresh->main->plans[0];
        CHECK(plan->renewed && plan->build->is_late);
        CHECK(tfr__build_count(plan->build));
        REQUIRE(plan->n_placed == want->n_placed);
        for (uint32_t i = 0; i < want->n_placed; i++) {
            CHECK(plan->placed[i].work.flops == want->placed[i].work.flops);
            CHECK(plan->placed[i].work.bytes == want->placed[i].work.bytes);
        }
        tfr_session_destroy(fresh);
    }
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* Packed constants are found by address: kit_drop looks at the bytes that a program was given. */
TEST(what_programs_were_given_stays_until_they_are_dropped)
{
    tfr_runtime *runtime = layers_runtime(true);
    tfr_graph *graph = graph_of_text("in x ? 1 1 4; out Add(x,Cast{to=1}(Shape(x)))");
    tfr_session *session = new_session(runtime, graph, true);
    tfr_session *plain = new_session(runtime, graph, false);
    const void *was = NULL;
    for (int64_t n = 600; n < 640; n++) {
        const uint32_t compiles = kit.n_compiles;
        tfr_tensor *in = random_input(graph, 0, n, 7, -1, 1), *out, *want;
        REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
        REQUIRE_OK(tfr_session_run(plain, &in, 1, &want, 1, &err), &err);
        CHECK(tfr_tensor_compare(out, want, 0, 0, NULL));
        CHECK(kit.constant != NULL);
        CHECK(kit.constant != was || kit.n_compiles == compiles); /* it was compiled before */
        was = kit.constant;
        tfr_tensor_release(in);
        tfr_tensor_release(out);
        tfr_tensor_release(want);
    }
    CHECK(session->main->plans[0]->renewed);
    tfr_session_destroy(plain);
    tfr_session_destroy(session);
    CHECK_UINT(0, kit.n_live);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

static const test_case cases[] = {
    CASE(a_new_length_compiles_one_of_the_layers_and_proposes_nothing),
    CASE(a_new_length_infers_the_types_of_one_layer),
    CASE(a_compiler_that_does_not_say_that_sizes_do_not_matter_is_asked),
    CASE(a_compiler_may_say_no_to_other_sizes),
    CASE(memory_is_flat_over_100_lengths_and_a_new_one_takes_few_requests),
    CASE(each_failed_request_leaves_a_session_that_runs),
    CASE(a_cache_that_grows_ends_with_one_plan_that_is_renewed),
    CASE(a_plan_that_was_renewed_stays_when_a_length_shrinks),
    CASE(programs_of_the_next_lengths_are_compiled_at_once),
    CASE(a_list_of_what_to_renew_holds_while_there_is_about_as_much_to_do),
    CASE(a_length_that_grows_alike_seldom_takes_other_memory),
    CASE(few_programs_are_compiled_where_lengths_grow_by_ten),
    CASE(a_length_that_was_not_expected_drops_what_was_compiled_for_others),
    CASE(a_compiler_that_fails_for_a_length_to_come_is_asked_when_it_is_there),
    CASE(each_failed_request_of_a_renewal_leaves_a_session_that_runs),
    CASE(caches_that_were_of_one_length_may_part),
    CASE(the_work_of_a_plan_that_was_renewed_is_told),
    CASE(what_programs_were_given_stays_until_they_are_dropped),
};
TEST_MAIN(cases)
