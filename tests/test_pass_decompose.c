/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Composite ops in parts, for a backend that lacks the composite op. What comes out is compared
 * with the op itself on a runtime that has it.
 */
#include "pass_kit.h"

static bool has_op(const tfr_graph *graph, const char *ops)
{
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const char *at = strstr(ops, graph->nodes[i].op->name);
        size_t n = strlen(graph->nodes[i].op->name);
        if (at && (at == ops || at[-1] == ',') && (!at[n] || at[n] == ','))
            return true;
    }
    return false;
}

/* No node of the graph is one of `ops` any more, and its result is what the ops themselves give. */
static void check_parts(const char *ops, const char *text)
{
    tfr_runtime *whole = runtime_without(NULL), *parts = runtime_without(ops);
    tfr_graph *graph = graph_of_text(text);
    tfr_session *before = new_session(whole, graph, "none");
    tfr_session *after = new_session(parts, graph, "decompose");
    CHECK(!has_op(after->graph, ops));
    check_results(before, after);
    tfr_session_destroy(before);
    tfr_session_destroy(after);
    tfr_graph_release(graph);
    tfr_runtime_release(whole);
    tfr_runtime_release(parts);
}

/* The node stays as it is. */
static void check_stays(const char *ops, const char *op, const char *text)
{
    tfr_runtime *runtime = runtime_without(ops);
    tfr_graph *graph = graph_of_text(text);
    tfr_session *session = new_session(runtime, graph, "decompose");
    CHECK(has_op(session->graph, op));
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(activations_are_written_out)
{
    check_parts("Celu", "in x 4 5; out Celu{alpha=1.5}(x)");
    check_parts("Clip", "in x 4 5; out Clip(x,0.5,2)");
    check_parts("Elu", "in x 4 5; out Elu{alpha=0.5}(x)");
    check_parts("Gelu", "in x 4 5; out Gelu(x)");
    check_parts("HardSigmoid", "in x 4 5; out HardSigmoid(x)");
    check_parts("HardSwish", "in x 4 5; out HardSwish(x)");
    check_parts("LeakyRelu", "in x 4 5; out LeakyRelu{alpha=0.3}(x)");
    check_parts("LeakyRelu", "in x 4 5; out LeakyRelu(x)");
    check_parts("Mish", "in x 4 5; out Mish(x)");
    check_parts("PRelu", "in x 4 5; const s 5; out PRelu(x,s)");
    check_parts("Selu", "in x 4 5; out Selu(x)");
    check_parts("Softplus", "in x 4 5; out Softplus(Mul(x,40))");
    check_parts("Softsign", "in x 4 5; out Softsign(x)");
    check_parts("Swish", "in x 4 5; out Swish{alpha=0.7}(x)");
    check_parts("ThresholdedRelu", "in x 4 5; out ThresholdedRelu{alpha=0.7}(x)");
}

TEST(a_part_may_be_written_out_in_turn)
{
    check_parts("Mish,Softplus", "in x 4 5; out Mish(x)");
    check_parts("HardSwish,Clip", "in x 4 5; out HardSwish(x)");
}

TEST(softmaxes_are_written_out_without_overflow)
{
    check_parts("Softmax", "in x 3 4 5; out Softmax{axis=1}(Mul(x,50))");
    check_parts("LogSoftmax", "in x ? 7; out LogSoftmax(Mul(x,50))");
}

TEST(reductions_keep_their_axes_and_attributes)
{
    check_parts("ReduceL1", "in x 3 4 5; out ReduceL1{keepdims=0}(x,[1])");
    check_parts("ReduceL2", "in x 3 4 5; out ReduceL2(x,[0,2])");
    check_parts("ReduceSumSquare", "in x 3 4 5; out ReduceSumSquare{keepdims=0}(x)");
    check_parts("ReduceLogSum", "in x 3 4 5; out ReduceLogSum(Exp(x),[1])");
    check_stays("ReduceL2", "ReduceL2", "in x 3 4; out ReduceL2{noop_with_empty_axes=1}(x)");
}

TEST(normalizations_are_written_out)
{
    check_parts("LayerNormalization",
                "in x 2 3 8; const s 8; const b 8; out LayerNormalization{epsilon=0.01}(x,s,b)");
    check_parts("LayerNormalization",
                "in x 2 3 8; const s 3 8; out LayerNormalization{axis=1}(x,s)");
    check_parts("RMSNormalization", "in x ? 3 8; const s 8; out RMSNormalization(x,s)");
    check_parts("MeanVarianceNormalization", "in x 2 3 4 5; out MeanVarianceNormalization(x)");
    check_parts("MeanVarianceNormalization",
                "in x 2 3 4; out MeanVarianceNormalization{axes=1,2}(x)");
    check_parts("GroupNormalization", "in x ? 6 4 5; const s 6; const b 6;"
                                      "out GroupNormalization{num_groups=3}(x,s,b)");
}

TEST(a_celu_whose_body_means_something_else_stays)
{
    check_stays("Celu", "Celu", "in x 4; out Celu{alpha=0.0}(x)");
    check_stays("Celu", "Celu", "in x 4; out Celu{alpha=-1.0}(x)");
}

TEST(a_norm_over_no_axes_stays)
{
    check_stays("MeanVarianceNormalization", "MeanVarianceNormalization",
                "in x 2 3; out MeanVarianceNormalization{axes=}(x)");
}

TEST(a_norm_whose_scale_has_another_type_stays)
{
    check_stays("RMSNormalization", "RMSNormalization",
                "in x 2 3 8; const s 8; out RMSNormalization(x,Cast{to=16}(s))");
    check_stays("LayerNormalization", "LayerNormalization",
                "in x 2 3 8; const s 8; out LayerNormalization(x,Cast{to=10}(s))");
}

TEST(comparisons_and_casts_are_written_out)
{
    check_parts("GreaterOrEqual", "in x 4; in y 4; out Cast{to=1}(GreaterOrEqual(x,y))");
    check_parts("LessOrEqual", "in x 4; out Cast{to=1}(LessOrEqual(x,x))");
    check_parts("CastLike", "in x 4; out Cast{to=1}(CastLike(x,[1]))");
}

TEST(plain_attention_is_written_out)
{
    check_parts("Attention", "in q 2 3 4 8; in k 2 3 6 8; in v 2 3 6 5; out Attention(q,k,v)");
    check_parts("Attention", "in q 2 3 4 8; in k 2 3 6 8; in v 2 3 6 8; const m 4 6;"
                             "out Attention{scale=0.2}(q,k,v,m)");
    check_stays("Attention", "Attention", "in q 2 3 4 8; out Attention{is_causal=1}(q,q,q)");
    check_stays("Attention", "Attention", "in q 2 3 4 8; out Attention{left_window_size=1}(q,q,q)");
    check_stays("Attention", "Attention",
                "in q 2 3 4 8; out Attention{right_window_size=0}(q,q,q)");
    check_stays("Attention", "Attention", "in q 2 4 4 8; in k 2 2 4 8; out Attention(q,k,k)");
}

TEST(an_op_that_a_backend_claims_stays)
{
    check_stays("", "Gelu", "in x 4; out Gelu(x)");
}

TEST(an_op_stays_if_a_part_is_missing)
{
    check_stays("Gelu,Erf", "Gelu", "in x 4; out Gelu(x)");
}

TEST(a_node_with_a_pin_or_of_another_type_stays)
{
    check_stays("Gelu", "Gelu", "in x 4; out Gelu(Cast{to=10}(x))");
    check_stays("Gelu", "Gelu", "in x 4; out Gelu@naive:0(x)");
}

TEST(on_the_reference_alone_nothing_is_written_out)
{
    tfr_runtime *runtime = runtime_without(NULL);
    tfr_graph *graph = graph_of_text("in x 4; out Gelu(x)");
    tfr_session *session = new_session(runtime, graph, "decompose");
    CHECK(has_op(session->graph, "Gelu"));
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

static const test_case cases[] = {
    CASE(activations_are_written_out),
    CASE(a_part_may_be_written_out_in_turn),
    CASE(softmaxes_are_written_out_without_overflow),
    CASE(reductions_keep_their_axes_and_attributes),
    CASE(normalizations_are_written_out),
    CASE(a_celu_whose_body_means_something_else_stays),
    CASE(a_norm_over_no_axes_stays),
    CASE(a_norm_whose_scale_has_another_type_stays),
    CASE(comparisons_and_casts_are_written_out),
    CASE(plain_attention_is_written_out),
    CASE(an_op_that_a_backend_claims_stays),
    CASE(an_op_stays_if_a_part_is_missing),
    CASE(a_node_with_a_pin_or_of_another_type_stays),
    CASE(on_the_reference_alone_nothing_is_written_out),
};
TEST_MAIN(cases)
