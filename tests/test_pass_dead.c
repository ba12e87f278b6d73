/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that do nothing or that nobody reads. */
#include "pass_kit.h"

TEST(what_does_nothing_or_is_not_read_goes)
{
    check("in x 4; Exp(Relu(x)); out Relu(Identity(Dropout(x)))", "dead", "Relu");
    check("in x 4; out Identity(x); out Identity(x)", "dead", "");
    check("in x 4; out Cast{to=1}(Neg(x))", "dead,fold", "Neg");
    check("in x 4; out Cast{to=11}(Neg(x))", "dead,fold", "Neg Cast");
    check("in x 4; out Identity@naive:0(x)", "dead", "Identity");
}

/* Where dims are not known, types follow from the signature, not from the first input. */
TEST(a_cast_to_the_type_of_another_operand_stays)
{
    check("in x ? 4; const s 4; out Cast{to=1}(RMSNormalization(x,Cast{to=10}(s)))", "dead",
          "Cast RMSNormalization Cast");
    check("in x ? 1 4 4; const w 1 1 3 3;"
          "out Cast{to=2}(ConvInteger(Cast{to=2}(x),Cast{to=2}(w)))",
          "dead", "Cast Cast ConvInteger Cast");
}

/* Of [4] and [3] there is no sum; that nobody reads it must not depend on the passes. */
TEST(an_invalid_node_that_nobody_reads_does_no_harm)
{
    static const char *const passes[] = {"all", "none", "-dead", "fold"};
    for (int i = 0; i < 4; i++) {
        tfr_runtime *runtime = new_runtime(false);
        tfr_graph *graph = graph_of_text("in x 4; in y 3; Exp(Add(x,y)); out Relu(x)");
        tfr_session *session = new_session(runtime, graph, passes[i]);
        tfr_tensor *out = NULL;
        CHECK_UINT(1, session->graph->n_nodes);
        CHECK_UINT(1, run(session, &out));
        tfr_tensor_release(out);
        tfr_session_destroy(session);
        tfr_graph_release(graph);
        tfr_runtime_release(runtime);
    }
}

TEST(an_output_keeps_its_name_when_its_node_goes)
{
    tfr_runtime *runtime = new_runtime(false);
    tfr_graph *graph = graph_of_text("in x 4; out Identity(x)");
    tfr_session *session = new_session(runtime, graph, "all");
    CHECK_STR(tfr_graph_output_name(graph, 0), tfr_graph_output_name(session->graph, 0));
    CHECK_UINT(0, session->graph->n_nodes);
    CHECK_UINT(1, tfr_graph_n_nodes(graph));
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(a_variable_is_updated_by_what_replaces_its_update)
{
    tfr_runtime *runtime = new_runtime(false);
    graph_text g = {0};
    tfr_tensor *out = NULL, *state = NULL, *in;
    float before;
    REQUIRE_OK(tfr_graph_create("text", &g.graph, &err), &err);
    graph_text_more(&g, "in x 1; var v 1; y = Add(v,x); z = Identity(y); out Identity(v)");
    REQUIRE_OK(tfr_graph_set_update(g.graph, g.names[1].value, g.names[3].value, &err), &err);
    tfr_session *session = new_session(runtime, g.graph, "all");
    CHECK_UINT(1, session->graph->n_nodes);
    in = random_floats(&(tfr_shape){1, {1}}, 1, 2, 2);
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    before = *(float *)tfr_tensor_data(out);
    REQUIRE_OK(tfr_session_get_variable(session, "v", &state, &err), &err);
    CHECK_NEAR(before + 2, *(float *)tfr_tensor_data(state), 1e-6);
    tfr_tensor_release(state);
    tfr_tensor_release(out);
    tfr_tensor_release(in);
    tfr_session_destroy(session);
    tfr_graph_release(g.graph);
    tfr_runtime_release(runtime);
}

static const test_case cases[] = {
    CASE(what_does_nothing_or_is_not_read_goes),
    CASE(a_cast_to_the_type_of_another_operand_stays),
    CASE(an_invalid_node_that_nobody_reads_does_no_harm),
    CASE(an_output_keeps_its_name_when_its_node_goes),
    CASE(a_variable_is_updated_by_what_replaces_its_update),
};
TEST_MAIN(cases)
