/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of nn/autodiff_facts.c: the element type and the rank of an op's output, row by row. */
#include <stdlib.h>

#include "autodiff.h"
#include "graph/graph.h"
#include "graph_text.h"

typedef struct fact_case {
    const char *text; /* with one output */
    int32_t dtype, rank;
} fact_case;

static void check_facts(const fact_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        tfr_graph *graph = graph_of_text(cases[i].text);
        tfr__diff d = {.graph = graph};
        tfr__diff_fact fact;
        d.n_values = graph->n_values;
        d.facts = calloc(d.n_values, sizeof *d.facts);
        REQUIRE(d.facts != NULL);
        tfr__diff_learn(&d);
        fact = tfr__diff_fact_of(&d, tfr_graph_output(graph, 0));
        if (fact.dtype != cases[i].dtype || fact.rank != cases[i].rank)
            printf("of %s:\n", cases[i].text);
        CHECK_INT(cases[i].dtype, fact.dtype);
        CHECK_INT(cases[i].rank, fact.rank);
        free(d.facts);
        tfr_graph_release(graph);
    }
}
#define CHECK_FACTS(list) check_facts(list, sizeof(list) / sizeof(list)[0])

enum { F32 = TFR_DTYPE_F32, F64 = TFR_DTYPE_F64, I64 = TFR_DTYPE_I64 };

TEST(an_output_has_the_type_of_the_input_with_the_same_letter)
{
    static const fact_case cases[] = {
        {"in x 2; out Relu(x)", F32, 1},
        {"in x 2; out Pow(x,[2])", F32, 1},
        {"in x 2; out Pow([2],x)", I64, 1},
        {"in x 2; out Where(Less(x,x),[1],[2])", I64, 1},
        {"in x 2; out Clip(x,-,1)", F32, -1},
        {"in x 2; out Sum(x,x)", F32, 1},
        {"in x 2 3; out Max(x,x)", F32, -1},
        {"in x 2; out OneHot([1],[3],x)", F32, -1},
        {"in x 2 3; out Gather([1,2],[0])", I64, -1},
        {"in x 2 3; out LayerNormalization(x,x)", F32, -1},
    };
    CHECK_FACTS(cases);
}

TEST(an_output_of_one_type_has_that_and_an_attribute_goes_before)
{
    static const fact_case cases[] = {
        {"in x 2; out ArgMax(x)", I64, -1},
        {"in x 2; out NonZero(x)", I64, 2},
        {"in x 2; out Cast{to=11}(x)", F64, 1},
        {"in x 2; out CastLike(x,[1])", I64, 1},
    };
    CHECK_FACTS(cases);
}

TEST(a_type_that_depends_on_more_is_not_known)
{
    static const fact_case cases[] = {
        {"in x 2; out ConstantOfShape([2])", 0, -1},
        {"in x 2; out QuantizeLinear(x,0.5)", 0, -1},
        {"in x 2; out Less(x,x)", 0, 1}, /* T1, a set of one */
    };
    CHECK_FACTS(cases);
}

TEST(operands_that_broadcast_give_the_widest_rank_if_all_are_known)
{
    static const fact_case cases[] = {
        {"in x 2; in y 3 2; out Add(x,y)", F32, 2},
        {"in x 2; in y 3 2; out Add(y,x)", F32, 2},
        {"in x *; in y 3 2; out Add(x,y)", F32, -1},
        {"in x *; in y 3 2; out Add(y,x)", F32, -1},
        {"in x *; in y 3 2; out Sum(x,y,y)", F32, -1},
        {"in x 2; in y 3 2; in z 4 3 2; out Sum(x,y,z)", F32, 3},
    };
    CHECK_FACTS(cases);
}

TEST(a_product_of_matrices_has_the_rank_of_the_batch)
{
    static const fact_case cases[] = {
        {"in x 2; out MatMul(x,x)", F32, 0},
        {"in x 2; in y 2 3; out MatMul(x,y)", F32, 1},
        {"in x 2; in y 3 2; out MatMul(y,x)", F32, 1},
        {"in x 2 2; out MatMul(x,x)", F32, 2},
        {"in x 2 2; in y 5 2 2; out MatMul(x,y)", F32, 3},
        {"in x 2 2; in y 5 2 2; out MatMul(y,x)", F32, 3},
        {"in x 2; in y 5 2 2; out MatMul(x,y)", F32, 2},
        {"in x *; in y 2 2; out MatMul(x,y)", F32, -1},
        {"in x *; in y 2 2; out MatMul(y,x)", F32, -1},
        {"in x 2 2; out Gemm(x,x)", F32, 2},
        {"in x 4 3 2; out Flatten(x)", F32, 2},
    };
    CHECK_FACTS(cases);
}

TEST(a_list_of_axes_or_dims_gives_the_rank_by_its_length)
{
    static const fact_case cases[] = {
        {"in x 2 3; out Reshape(x,[6])", F32, 1},
        {"in x 2 3; out Reshape(x,[1,2,3])", F32, 3},
        {"in x 2 3; in s 4; out Reshape(x,Cast{to=7}(s))", F32, -1},
        {"in x 2 1 3; out Squeeze(x,[1])", F32, 2},
        {"in x 1 1; out Squeeze(x,[0,1])", F32, 0},
        {"in x 1 1; out Squeeze(x)", F32, -1},
        {"in x *; out Squeeze(x,[0])", F32, -1},
        {"in x 1; out Squeeze(x,[0,0])", F32, -1},
        {"in x 2 3; out Unsqueeze(x,[0,1])", F32, 4},
        {"in x *; out Unsqueeze(x,[0])", F32, -1},
        {"in x 3; out Expand(x,[2,3])", F32, 2},
        {"in x 2 3; out Expand(x,[3])", F32, 2},
        {"in x 2 3; out Expand(x,[1,1])", F32, 2},
        {"in x *; out Expand(x,[2,3])", F32, -1},
        {"in x 2 3; out ReduceSum{keepdims=0}(x,[0])", F32, 1},
        {"in x 2 3; out ReduceSum{keepdims=0}(x,[0,1])", F32, 0},
        {"in x 2 3; out ReduceSum{keepdims=1}(x,[0])", F32, 2},
        {"in x 2 3; out ReduceSum(x)", F32, 2},
        {"in x 2 3; out ReduceSum{keepdims=0}(x)", F32, -1},
        {"in x *; out ReduceSum{keepdims=0}(x,[0])", F32, -1},
        {"in x 2; out ReduceSum{keepdims=0}(x,[0,0])", F32, -1},
    };
    CHECK_FACTS(cases);
}

static const test_case cases[] = {
    CASE(an_output_has_the_type_of_the_input_with_the_same_letter),
    CASE(an_output_of_one_type_has_that_and_an_attribute_goes_before),
    CASE(a_type_that_depends_on_more_is_not_known),
    CASE(operands_that_broadcast_give_the_widest_rank_if_all_are_known),
    CASE(a_product_of_matrices_has_the_rank_of_the_batch),
    CASE(a_list_of_axes_or_dims_gives_the_rank_by_its_length),
};
TEST_MAIN(cases)
