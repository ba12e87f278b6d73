/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions that are deterministic: who gets their nodes, and which plugins break their word. The
 * fake accelerator has kernels that are not deterministic, in three ways.
 */
#include "session_kit.h"

static tfr_runtime *runtime_with(const char *unsteady, const char *programs)
{
    const tfr_option given[] = {{"fakeacc.unsteady", unsteady}, {"fakeacc.programs", programs}};
    return accelerator_runtime(given, 2);
}

/* Relu(x + x), run once. */
static tfr_session *run(tfr_runtime *runtime, bool deterministic, tfr_fallback fallback,
                        tfr_status expected)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    tfr_tensor *in = floats(2, two_by_three, six), *out = NULL;
    tfr_value x;
    tfr_graph *graph = new_graph(1, &x);
    output(graph, unary(graph, "Relu", binary(graph, "Add", x, x)));
    options.device = "NPU:0";
    options.passes = "none";
    options.deterministic = deterministic;
    options.fallback = fallback;
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    tfr_graph_release(graph);
    CHECK_STATUS(expected, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    for (int i = 0; out && i < 6; i++)
        CHECK_NEAR(six[i] > 0 ? 2 * six[i] : 0, ((const float *)tfr_tensor_data(out))[i], 0);
    tfr_tensor_release(out);
    tfr_tensor_release(in);
    return session;
}

static void check_stays(const char *unsteady, const char *programs, bool deterministic)
{
    tfr_runtime *runtime = runtime_with(unsteady, programs);
    tfr_session *session = run(runtime, deterministic, TFR_FALLBACK_ERROR, TFR_OK);
    CHECK_STR("fakeacc:0", row_of(session, 0).backend);
    CHECK_STR("fakeacc:0", row_of(session, 1).backend);
    tfr_session_destroy(session);
    tfr_runtime_release(runtime);
    CHECK_STR("", breaches);
}

TEST(a_kernel_that_promises_it_keeps_its_node)
{
    check_stays("0", "0", true);
    check_stays("0", "1", true);
}

TEST(without_the_demand_nothing_is_asked_of_kernels)
{
    check_stays("1", "0", false);
    check_stays("2", "0", false);
    check_stays("3", "0", false);
    check_stays("3", "1", false);
}

static void check_goes(const char *unsteady, const char *text)
{
    tfr_runtime *runtime = runtime_with(unsteady, "0");
    tfr_session *session = run(runtime, true, TFR_FALLBACK_ALLOW, TFR_OK);
    for (uint32_t i = 0; i < 2; i++) {
        const tfr_placement row = row_of(session, i);
        CHECK(strcmp("fakeacc:0", row.backend) != 0);
        CHECK_INT(TFR_REASON_NONDETERMINISTIC, row.reason);
        CHECK_CONTAINS(text, row.text);
        CHECK(!row.nondeterministic);
    }
    tfr_session_destroy(session);
    session = run(runtime, true, TFR_FALLBACK_ERROR, TFR_EFALLBACK);
    CHECK_CONTAINS(text, err.text);
    tfr_session_destroy(session);
    tfr_runtime_release(runtime);
    CHECK_STR("", breaches);
}

TEST(a_kernel_that_cannot_promise_it_says_no_and_its_node_goes_elsewhere)
{
    check_goes("1", "fakeacc:0 says nondeterministic: sums are in the order of the threads");
}

TEST(a_yes_that_says_nondeterministic_is_a_no)
{
    check_goes("2", "fakeacc:0 says nondeterministic: its kernel of");
}

static void check_broken(const char *programs)
{
    tfr_runtime *runtime = runtime_with("3", programs);
    tfr_session *session = run(runtime, true, TFR_FALLBACK_ALLOW, TFR_OK);
    CHECK(strcmp("fakeacc:0", row_of(session, 0).backend) != 0);
    CHECK_CONTAINS("it is nondeterministic", row_of(session, 0).text);
    tfr_session_destroy(session);
    tfr_runtime_release(runtime);
    CHECK_STR("", breaches);
}

/* The program's nodes become kernels, which break their word as well. */
TEST(kernels_and_programs_that_turn_out_to_be_nondeterministic_broke_their_word)
{
    check_broken("0");
    check_broken("1");
}

static const test_case cases[] = {
    CASE(a_kernel_that_promises_it_keeps_its_node),
    CASE(without_the_demand_nothing_is_asked_of_kernels),
    CASE(a_kernel_that_cannot_promise_it_says_no_and_its_node_goes_elsewhere),
    CASE(a_yes_that_says_nondeterministic_is_a_no),
    CASE(kernels_and_programs_that_turn_out_to_be_nondeterministic_broke_their_word),
};
TEST_MAIN(cases)
