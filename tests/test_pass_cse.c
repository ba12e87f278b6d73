/* SPDX-License-Identifier: Apache-2.0 */
/* Equal nodes. */
#include "pass_kit.h"

TEST(equal_nodes_are_computed_once)
{
    check("in x 4; out Add(Exp(x),Exp(x))", "cse", "Exp Add");
    check("in x 4; out Mul(Add(x,2),Neg(Add(x,2)))", "cse", "Add Neg Mul");
    check("in x 4; out Add(Elu{alpha=2}(x),Elu{alpha=3}(x))", "cse", "Elu Elu Add");
    check("in x 4; out Add(Exp(x),Exp@naive:0(x))", "cse", "Exp Exp Add");
    check("in x 4; out Exp(x); out Exp(x)", "cse", "Exp");
}

TEST(two_draws_of_random_numbers_are_not_equal)
{
    tfr_runtime *runtime = new_runtime(false);
    tfr_graph *graph = graph_of_text("in x 4; out Add(RandomNormalLike(x),RandomNormalLike(x))");
    tfr_session *session = new_session(runtime, graph, "all");
    CHECK_UINT(3, session->graph->n_nodes);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

static const test_case cases[] = {
    CASE(equal_nodes_are_computed_once),
    CASE(two_draws_of_random_numbers_are_not_equal),
};
TEST_MAIN(cases)
