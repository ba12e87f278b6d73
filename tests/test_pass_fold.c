/* SPDX-License-Identifier: Apache-2.0 */
/* Constant folding: what is computed beforehand, and what a run decides. */
#include "pass_kit.h"

TEST(nodes_of_constants_are_computed_beforehand)
{
    check("in x 4; const w 4; out Add(x,Mul(Exp(w),w))", "fold", "Add");
    check("in x 2 3; const w 3 2; out MatMul(x,Reshape(w,[3,2]))", "fold", "MatMul");
    check("in x 2 3; const w 2 3; out MatMul(x,Transpose{perm=1,0}(w))", "fold", "MatMul");
    check("const w 3; out Add(w,w)", "fold", "");
}

/* Their results are small, or as large as the weights, and so is their work. */
TEST(normalized_weights_of_any_size_are_computed_beforehand)
{
    check("in x 1 64 8 8; const w 1 64 576; const s 64; const b 64; const v 64; "
          "n = BatchNormalization(w,s,b,s,Abs(v)); out Conv(x,Reshape(n,[64,64,3,3]))",
          "fold", "Conv");
    check("in x 4 512; const w 512 512; out MatMul(x,Div(w,ReduceL2(w,[0])))", "fold", "MatMul");
}

/* Whose work is about their bytes, however many those are. */
TEST(moves_and_softmax_of_constants_are_computed_beforehand)
{
    check("in x 60 40; const w 60 40; out Add(x,Softmax{axis=-1}(w))", "fold", "Add");
    check("in x 60 40; const w 60 40; const u 1 40;"
          "out Add(x,ScatterND(w,Reshape([1],[1,1]),u))",
          "fold", "Add");
    check("in x 60 40; const w 60 40; out Add(x,GatherElements(w,Cast{to=7}(w)))", "fold", "Add");
    check("in x 1; const w 2500000; out Add(x,Concat{axis=0}(w,w))", "fold", "Add");
}

/* As positions relative to each other go through the weights of each layer. */
TEST(products_of_constants_are_computed_beforehand_where_they_are_small)
{
    check("in x 8 256; const e 128 256; const s 256; const w 256 256;"
          "out MatMul(x,Transpose{perm=1,0}(MatMul(LayerNormalization(e,s),Mul(w,0.001))))",
          "fold", "MatMul");
    check("in x 8 512; const v 512 512; const w 512 512; out MatMul(x,MatMul(v,Mul(w,0.001)))",
          "fold", "MatMul MatMul");
}

TEST(weights_in_blocks_stay_integers)
{
    check("in x 2 4; const w 4 6; const s 2 6; q = QuantizeLinear{axis=0;block_size=2}(w,s);"
          "out MatMul(x,DequantizeLinear{axis=0;block_size=2}(q,s))",
          "fold", "DequantizeLinear MatMul");
    check("in x 2 2 4; const w 2 4 6; const s 6; q = QuantizeLinear{axis=2}(w,s);"
          "out MatMul(x,DequantizeLinear{axis=2}(q,s))",
          "fold", "MatMul");
}

TEST(shapes_that_the_graph_declares_are_constants)
{
    check("in x 2 3 4; out Reshape(x,Concat{axis=0}(Slice(Shape(x),[0],[1]),[-1]))", "fold",
          "Reshape");
    check("in x ? 3 4; out Reshape(x,Concat{axis=0}(Slice(Shape(x),[0],[1]),[-1]))", "fold",
          "Shape Slice Concat Reshape");
}

TEST(what_a_run_decides_is_not_folded)
{
    check("in x 4; var v 4; out Add(x,Exp(v))", "fold", "Exp Add");
    check("in x 4; const w 4; out Add(x,Relu@naive:0(w))", "fold", "Relu Add");
    check("in x 1; const w 1; out Mul(x,Expand(w,[5000000]))", "fold", "Expand Mul");
    tfr_runtime *runtime = new_runtime(false);
    tfr_graph *graph = graph_of_text("const w 4; out RandomNormalLike(w)");
    tfr_session *session = new_session(runtime, graph, "all");
    CHECK_UINT(1, session->graph->n_nodes);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(a_wrong_node_of_constants_is_told_by_the_run)
{
    tfr_runtime *runtime = new_runtime(false);
    tfr_graph *graph = graph_of_text("const w 4; out Reshape(Exp(w),[3])");
    tfr_session *session = new_session(runtime, graph, "all");
    tfr_tensor *out;
    CHECK_STATUS(TFR_ESHAPE, tfr_session_run(session, NULL, 0, &out, 1, &err), &err);
    CHECK_CONTAINS("node \"Reshape_1\" (Reshape)", err.text);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

static const test_case cases[] = {
    CASE(normalized_weights_of_any_size_are_computed_beforehand),
    CASE(nodes_of_constants_are_computed_beforehand),
    CASE(moves_and_softmax_of_constants_are_computed_beforehand),
    CASE(products_of_constants_are_computed_beforehand_where_they_are_small),
    CASE(weights_in_blocks_stay_integers),
    CASE(shapes_that_the_graph_declares_are_constants),
    CASE(what_a_run_decides_is_not_folded),
    CASE(a_wrong_node_of_constants_is_told_by_the_run),
};
TEST_MAIN_WITHOUT_TSAN(cases, "its threads are those of the kernels that test_native_programs runs")
