/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What passes make of graphs: nodes before and after, and the same results. The reference backend
 * stands for a fast one here: a test raises its priority, so that all composite ops are claimed.
 */
#include "alloc.h"
#include "graph_text.h"
#include "plan.h"

static tfr_err err = TFR_ERR_INIT;

static tfr_runtime *new_runtime(bool fast)
{
    tfr_runtime *runtime = NULL;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    for (uint32_t i = 0; fast && i < runtime->devices[0].n_backends; i++)
        runtime->devices[0].backends[i].priority = 100;
    return runtime;
}

static tfr_session *new_session(tfr_runtime *runtime, tfr_graph *graph, const char *passes)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    options.device = "naive:0";
    options.passes = passes;
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    return session;
}

/* "Conv Relu", with what stands in subgraphs in brackets. */
static void list_ops(const tfr_graph *graph, char *text, size_t room)
{
    size_t used = strlen(text);
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const tfr__node *node = &graph->nodes[i];
        snprintf(text + used, room - used, "%s%s", used && text[used - 1] != '(' ? " " : "",
                 node->op->name);
        for (uint32_t k = 0; k < node->n_subgraphs; k++) {
            snprintf(text + strlen(text), room - strlen(text), "(");
            list_ops(node->subgraphs[k], text, room);
            snprintf(text + strlen(text), room - strlen(text), ")");
        }
        used = strlen(text);
    }
}

static uint32_t run(tfr_session *session, tfr_tensor **outputs)
{
    const tfr_graph *g = session->graph;
    tfr_tensor *in[4];
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        tfr_value_type type = *tfr_graph_value_type(g->source ? g->source : g, g->inputs[i]);
        tfr_shape shape = {type.rank, {0}};
        for (int32_t k = 0; k < type.rank; k++)
            shape.dims[k] = type.dims[k] < 0 ? 5 : type.dims[k];
        in[i] = random_floats(&shape, i + 1, -2, 2);
    }
    CHECK_OK(tfr_session_run(session, in, g->n_inputs, outputs, g->n_outputs, &err), &err);
    for (uint32_t i = 0; i < g->n_inputs; i++)
        tfr_tensor_release(in[i]);
    return g->n_outputs;
}

/* The ops after these passes, the same results as without any, and nothing more to do. */
static void check_graph(tfr_runtime *runtime, tfr_graph *graph, const char *passes,
                        const char *want)
{
    tfr_session *before = new_session(runtime, graph, "none");
    tfr_session *after = new_session(runtime, graph, passes);
    tfr_tensor *expected[4] = {NULL}, *obtained[4] = {NULL};
    char text[400] = "";
    uint32_t n = run(before, expected);
    list_ops(after->graph, text, sizeof text);
    CHECK_STR(want, text);
    CHECK_UINT(n, run(after, obtained));
    for (uint32_t i = 0; i < n && expected[i] && obtained[i]; i++) {
        tfr_compare_report report = {.size = sizeof report};
        CHECK(tfr_tensor_compare(expected[i], obtained[i], 2e-5, 2e-5, &report));
        CHECK_STR("", report.text);
        tfr_tensor_release(expected[i]);
        tfr_tensor_release(obtained[i]);
    }
    tfr_session_destroy(before);
    tfr_session_destroy(after);
}

static void check(const char *text, const char *passes, const char *want)
{
    tfr_runtime *runtime = new_runtime(true);
    tfr_graph *graph = graph_of_text(text);
    check_graph(runtime, graph, passes, want);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* ---- fold ------------------------------------------------------------------------------------ */

TEST(nodes_of_constants_are_computed_beforehand)
{
    check("in x 4; const w 4; out Add(x,Mul(Exp(w),w))", "fold", "Add");
    check("in x 2 3; const w 3 2; out MatMul(x,Reshape(w,[3,2]))", "fold", "MatMul");
    check("in x 2 3; const w 2 3; out MatMul(x,Transpose{perm=1,0}(w))", "fold", "MatMul");
    check("const w 3; out Add(w,w)", "fold", "");
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

/* ---- dead ------------------------------------------------------------------------------------ */

TEST(what_does_nothing_or_is_not_read_goes)
{
    check("in x 4; Exp(Relu(x)); out Relu(Identity(Dropout(x)))", "dead", "Relu");
    check("in x 4; out Identity(x); out Identity(x)", "dead", "");
    check("in x 4; out Cast{to=1}(Neg(x))", "dead,fold", "Neg");
    check("in x 4; out Cast{to=11}(Neg(x))", "dead,fold", "Neg Cast");
    check("in x 4; out Identity@naive:0(x)", "dead", "Identity");
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

/* ---- cse ------------------------------------------------------------------------------------- */

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

/* ---- transpose ------------------------------------------------------------------------------- */

#define TT "Transpose{perm=0,2,1}"

TEST(transposes_in_a_row_cancel_or_become_one)
{
    check("in x 2 3 4; out Relu(" TT "(" TT "(x)))", "transpose", "Relu");
    check("in x 2 3; out Transpose(Transpose(x))", "transpose,fold", "");
    check("in x 2 3 4; out Transpose{perm=0,1,2}(Relu(x))", "transpose", "Relu");
    check("in x 2 3 4; out Transpose{perm=1,2,0}(" TT "(x))", "transpose", "Transpose");
    check("in x 2 3 4; y = " TT "(x); out y; out " TT "(y)", "transpose", "Transpose");
}

TEST(a_transpose_moves_behind_elementwise_ops)
{
    check("in x 2 3 4; out " TT "(Relu(" TT "(x)))", "transpose", "Relu");
    check("in x 2 3 4; in y 2 3 4; out Add(" TT "(x)," TT "(y))", "transpose", "Add Transpose");
    check("in x 2 3 4; const w 3; out " TT "(Mul(" TT "(x),w))", "transpose", "Mul");
    check("in x 2 3 4; const w 4 1; out " TT "(Exp(Mul(" TT "(x),w)))", "transpose", "Mul Exp");
    check("in x 2 3 4; y = " TT "(x); out " TT "(Add(y,y))", "transpose", "Add");
    check("in x ? ? ?; out " TT "(Clip(" TT "(x),0,1))", "transpose", "Clip");
}

TEST(a_transpose_stays_where_moving_would_cost)
{
    check("in x 2 3 4; y = " TT "(x); out Add(Relu(y),Softmax(y))", "transpose",
          "Transpose Relu Softmax Add");
    check("in x 2 3 3; in y 2 3 3; out Add(" TT "(x),y)", "transpose", "Transpose Add");
    check("in x 2 3 4; const w 4 3; out Add(" TT "(x),w)", "transpose", "Transpose Add");
    check("in x 2 3 4; in y 4 3 2; out Add(Transpose(x),Transpose{perm=0,1,2}(y))", "fold,cse",
          "Transpose Transpose Add");
}

TEST(a_product_takes_its_operand_transposed)
{
    check("in x 3 2; in y 3 4; out MatMul(Transpose(x),y)", "fold,transpose", "Gemm");
    check("in x 3 2; in y 4 3; out Gemm(Transpose(x),Transpose(y))", "fold,transpose", "Gemm");
    check("in x 3 2; in y 3 4; out Gemm{transA=1}(x,y)", "transpose", "Gemm");
    check("in x 5 3 2; in y 3 4; out MatMul(" TT "(x),y)", "fold,transpose", "Transpose MatMul");
}

/* ---- conv_bn --------------------------------------------------------------------------------- */

#define BN "BatchNormalization{epsilon=0.01}"

TEST(batch_normalization_goes_into_the_convolution)
{
    const char *rest = "const s 4; const b 4; const m 4; const v 4; ";
    char text[300];
    snprintf(text, sizeof text, "in x 1 3 8 8; const w 4 3 3 3; %sout " BN "(Conv(x,w),s,b,m,v)",
             rest);
    check(text, "all", "Conv");
    check(text, "-conv_bn", "Conv BatchNormalization");
    snprintf(text, sizeof text,
             "in x ? 4 6 6; const w 4 2 3 3; const c 4; %sout Relu(" BN
             "(Conv{group=2}(x,w,c),s,b,m,v))",
             rest);
    check(text, "all", "Conv Relu");
    snprintf(text, sizeof text,
             "in x 1 6 5 5; const w 6 2 3 3; const c 4; %sout " BN
             "(ConvTranspose{group=2;strides=2,2}(x,w,c),s,b,m,v)",
             rest);
    check(text, "all", "ConvTranspose");
    /* Two convolutions with the same weights get weights of their own. */
    snprintf(text, sizeof text,
             "in x 1 3 8 8; in y 1 3 8 8; const w 4 3 3 3; %s"
             "out Add(" BN "(Conv(x,w),s,b,m,v),Conv(y,w))",
             rest);
    check(text, "all", "Conv Conv Add");
}

TEST(batch_normalization_stays_where_it_cannot_be_folded)
{
    check("in x 1 3 8 8; const w 4 3 3 3; const s 4; c = Conv(x,w); "
          "out Add(" BN "(c,s,s,s,s),c)",
          "all", "Conv BatchNormalization Add");
    check("in x 1 3 8 8; var w 4 3 3 3; const s 4; out " BN "(Conv(x,w),s,s,s,s)", "all",
          "Conv BatchNormalization");
    check("in x 1 3 8 8; const w 4 3 3 3; const s 4; "
          "out BatchNormalization{training_mode=1}(Conv(x,w),s,s,s,s)",
          "all", "Conv BatchNormalization");
    check("in x 1 3 8 8; const w 4 3 3 3; const s 4; out " BN "(Relu(Conv(x,w)),s,s,s,s)", "all",
          "Conv Relu BatchNormalization");
}

/* ---- matmul_add ------------------------------------------------------------------------------ */

TEST(a_product_and_a_row_are_one_gemm)
{
    check("in x ? 3; const w 3 4; const b 4; out Add(MatMul(x,w),b)", "all", "Gemm");
    check("in x 2 3; var w 3 4; var b 1 4; out Add(b,MatMul(x,w))", "all", "Gemm");
}

TEST(a_product_stays_if_the_sum_is_no_row)
{
    check("in x 2 5 3; const w 3 4; const b 4; out Add(MatMul(x,w),b)", "all", "MatMul Add");
    check("in x 2 3; const w 3 1; const b 4; out Add(MatMul(x,w),b)", "all", "MatMul Add");
    check("in x 2 3; const w 3 4; const b 4 1 1; out Add(MatMul(x,w),b)", "all", "MatMul Add");
    check("in x 2 3; const w 3 4; const b 4; y = MatMul(x,w); out Mul(Add(y,b),y)", "all",
          "MatMul Add Mul");
    check("in x * 2 3; const w 3 4; const b 4; out Add(MatMul(x,w),b)", "none", "MatMul Add");
}

/* ---- activation ------------------------------------------------------------------------------ */

#define ERF        "Add(Erf(Div(x,1.4142135)),1)"
#define TANH(cube) "Add(Tanh(Mul(Add(x,Mul(" cube ",0.044715)),0.7978846)),1)"

TEST(gelu_is_found_in_every_spelling)
{
    static const char *const spellings[] = {
        "Mul(Mul(x," ERF "),0.5)",
        "Mul(0.5,Mul(" ERF ",x))",
        "Mul(Mul(x,0.5)," ERF ")",
        "Mul(x,Mul(0.5," ERF "))",
        "Mul(Mul(x,0.5),Add(1,Erf(Mul(x,0.70710677))))",
        "Mul(Mul(x,0.5)," TANH("Pow(x,3)") ")",
        "Mul(Mul(0.5,x)," TANH("Mul(x,Mul(x,x))") ")",
        "Mul(x,Mul(0.5," TANH("Mul(Mul(x,x),x)") "))",
        "Mul(Mul(x,0.5),Add(1,Tanh(Mul(Mul(x,0.7978846),Add(1,Mul(Mul(0.044715,x),x))))))",
    };
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        char text[300];
        snprintf(text, sizeof text, "in x ? 7; out %s", spellings[i]);
        check(text, "all", "Gelu");
    }
}

TEST(other_activations_are_found)
{
    check("in x 7; out Mul(x,Sigmoid(x))", "all", "Swish");
    check("in x 7; out Mul(Tanh(Softplus(x)),x)", "all", "Mish");
    check("in x 7; out Mul(x,Div(Clip(Add(x,3),0,6),6))", "all", "HardSwish");
}

TEST(what_is_almost_an_activation_stays)
{
    check("in x 7; in y 7; out Mul(x,Sigmoid(y))", "all", "Sigmoid Mul");
    check("in x 7; s = Sigmoid(x); out Mul(x,s); out s", "all", "Sigmoid Mul");
    check("in x 7; out Mul(Mul(x,0.5),Add(Erf(Div(x,1.4)),1))", "all", "Mul Div Erf Add Mul");
    check("in x 7; out Mul(x,Sigmoid@naive:0(x))", "all", "Sigmoid Mul");
}

/* ---- layer_norm ------------------------------------------------------------------------------ */

#define LN_OF(d, axis, rest)                                                                       \
    "d = " d "; out Add(Mul(Div(d,Sqrt(Add(ReduceMean(Pow(d,2),[" axis "]),0.00001))),s),t)" rest
#define LN_HEAD "in x 2 3 8; const s 8; const t 8; "

TEST(layer_normalization_is_found)
{
    check(LN_HEAD LN_OF("Sub(x,ReduceMean(x,[-1]))", "-1", ""), "all", "LayerNormalization");
    check(LN_HEAD LN_OF("Sub(x,ReduceMean(x,[2]))", "-1", ""), "all", "LayerNormalization");
    check("in x ? ? 8; var s 8; var t 8; "
          "out Add(t,Mul(s,Mul(Sub(x,ReduceMean(x,[-1])),Reciprocal(Sqrt(Add(0.00001,"
          "ReduceMean(Mul(Sub(x,ReduceMean(x,[-1])),Sub(x,ReduceMean(x,[-1]))),[-1])))))))",
          "all", "LayerNormalization");
    check("in x 2 3 8; const s 3 8; const t 3 8; " LN_OF("Sub(x,ReduceMean(x,[1,2]))", "-1,-2", ""),
          "all", "LayerNormalization");
    check("in x 2 3 8; const s 8; "
          "out Mul(Div(x,Sqrt(Add(ReduceMean(Mul(x,x),[-1]),0.00001))),s)",
          "all", "RMSNormalization");
}

TEST(what_is_almost_a_normalization_stays)
{
    const char *all = "ReduceMean Sub Pow ReduceMean Add Sqrt Div Mul Add";
    const char *rms = "ReduceMean Sub RMSNormalization Add"; /* which is there at least */
    check("in x 2 8 8; const s 8; const t 8; " LN_OF("Sub(x,ReduceMean(x,[1]))", "1", ""), "all",
          all);
    check(LN_HEAD LN_OF("Sub(x,ReduceMean(x,[-1]))", "1", ""), "all", all);
    check("in x 2 3 1; const s 8; const t 8; " LN_OF("Sub(x,ReduceMean(x,[-1]))", "-1", ""), "all",
          all);
    check("in x 8 8 8; const s 8; const t 8; " LN_OF("Sub(x,ReduceMean{keepdims=0}(x,[-1]))", "-1",
                                                     ""),
          "all", rms);
    check("in x 2 3 8; const s 3 8; const t 8; " LN_OF("Sub(x,ReduceMean(x,[-1]))", "-1", ""),
          "all", all);
    check(LN_HEAD LN_OF("Sub(x,ReduceMean(x,[-1]))", "-1", "; out Relu(d)"), "all",
          "ReduceMean Sub RMSNormalization Add Relu");
}

/* ---- attention ------------------------------------------------------------------------------- */

#define QKV "in q 2 3 4 8; in k 2 3 5 8; in v 2 3 5 6; "
#define KT  "Transpose{perm=0,1,3,2}(k)"

TEST(attention_is_found)
{
    check(QKV "const m 4 5; out MatMul(Softmax(Add(Div(MatMul(q," KT "),2.5),m)),v)", "all",
          "Attention");
    check(QKV "out MatMul(Softmax(Mul(MatMul(q," KT "),0.3)),v)", "all", "Attention");
    check("in q 2 3 4 8; in k 2 5 3 8; in v 2 3 5 6; "
          "out MatMul(Softmax(MatMul(q,Transpose{perm=0,2,3,1}(k))),v)",
          "all", "Transpose Attention");
}

TEST(what_is_almost_attention_stays)
{
    check(QKV "const m 4 1; out MatMul(Softmax(Add(MatMul(q," KT "),m)),v)", "all",
          "Transpose MatMul Add Softmax MatMul");
    check("in q 2 3 4 8; in k 1 3 5 8; in v 2 3 5 6; out MatMul(Softmax(MatMul(q," KT ")),v)",
          "all", "Transpose MatMul Softmax MatMul");
    check(QKV "out MatMul(Softmax{axis=2}(MatMul(q," KT ")),v)", "all",
          "Transpose MatMul Softmax MatMul");
    check("in q ? 3 4 8; in k ? 3 5 8; in v ? 3 5 6; out MatMul(Softmax(MatMul(q," KT ")),v)",
          "all", "Transpose MatMul Softmax MatMul");
}

/* ---- subgraphs ------------------------------------------------------------------------------- */

/* If x[0] > 0: a branch that captures, as a text over the captured "c" and "w". */
static tfr_graph *graph_with_branch(const char *branch)
{
    graph_text g = {0};
    tfr_subgraph sub[2] = {{.name = "then_branch"}, {.name = "else_branch"}};
    tfr_node_desc node = {.size = sizeof node,
                          .op = "If",
                          .n_inputs = 1,
                          .n_outputs = 1,
                          .n_subgraphs = 2,
                          .subgraphs = sub};
    tfr_value condition, out;
    REQUIRE_OK(tfr_graph_create("outer", &g.graph, &err), &err);
    graph_text_more(&g, "in x 1; const w 1; y = Identity(Exp(x)); z = Greater(x,0)");
    for (int i = 0; i < 2; i++) {
        graph_text child = {0};
        tfr_value captured;
        REQUIRE_OK(tfr_graph_create_child(g.graph, "branch", &child.graph, &err), &err);
        REQUIRE_OK(tfr_graph_add_capture(child.graph, g.names[2].value, &captured, &err), &err);
        graph_text_name(&child, "c", captured);
        REQUIRE_OK(tfr_graph_add_capture(child.graph, g.names[1].value, &captured, &err), &err);
        graph_text_name(&child, "w", captured);
        graph_text_more(&child, i ? "out Neg(c)" : branch);
        sub[i].graph = child.graph;
    }
    condition = g.names[3].value;
    node.inputs = &condition;
    REQUIRE_OK(tfr_graph_add_node(g.graph, &node, &out, &err), &err);
    REQUIRE_OK(tfr_graph_add_output(g.graph, out, NULL, &err), &err);
    return g.graph;
}

static void check_branch(const char *branch, const char *want)
{
    tfr_runtime *runtime = new_runtime(true);
    tfr_graph *graph = graph_with_branch(branch);
    check_graph(runtime, graph, "all", want);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(subgraphs_are_simplified_with_what_they_capture)
{
    check_branch("out Add(c,Exp(w))", "Exp Greater If(Add)(Neg)");
    check_branch("out Add(Exp(c),Exp(c))", "Exp Greater If(Exp Add)(Neg)");
    check_branch("out Mul(c,Sigmoid(c))", "Exp Greater If(Swish)(Neg)");
    check_branch("out Identity(c)", "Exp Greater If()(Neg)");
    check_branch("out Identity(w)", "Exp Greater If()(Neg)");
}

TEST(an_if_that_nobody_reads_goes_with_its_subgraphs)
{
    tfr_runtime *runtime = new_runtime(true);
    tfr_graph *graph = graph_with_branch("out Add(c,Exp(w))");
    graph->n_outputs = 0;
    REQUIRE_OK(tfr_graph_add_output(graph, graph->inputs[0], NULL, &err), &err);
    check_graph(runtime, graph, "all", "");
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* ---- the list -------------------------------------------------------------------------------- */

TEST(the_reference_keeps_its_roundings)
{
    static const char *const texts[] = {
        "in x 1 3 8 8; const w 4 3 3 3; const s 4; out " BN "(Conv(x,w),s,s,s,s)",
        "in x 2 3; const w 3 4; const b 4; out Add(MatMul(x,w),b)",
        "in x 7; out Mul(x,Sigmoid(x))",
        "in x 3 2; in y 3 4; out MatMul(Transpose(x),y)",
    };
    tfr_runtime *runtime = new_runtime(false);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        tfr_graph *graph = graph_of_text(texts[i]);
        tfr_session *session = new_session(runtime, graph, "all");
        CHECK_UINT(tfr_graph_n_nodes(graph), session->graph->n_nodes);
        tfr_session_destroy(session);
        tfr_graph_release(graph);
    }
    tfr_runtime_release(runtime);
}

TEST(an_operand_that_is_not_there_is_told_by_the_run)
{
    static const char *const texts[] = {
        "in x 2; out Transpose{perm=1,0}(-)",
        "in x 2; out Identity(-)",
        "in x 2; out Relu(Transpose{perm=1,0}(-))",
        "in x 2; out Dropout(-)",
        "in x 2; out Add(MatMul(x,-),-)",
        "in x 2; out Gemm(Transpose(-),x)",
        "in x 2; const s 4; out " BN "(-,s,s,s,s)",
        "in x 2; out Reshape(-,-)",
        "in x 2; const w 4 3 3 3; const s 4; out " BN "(Conv(-,w),s,s,s,s)",
        "in x 2; out Mul(-,Sigmoid(-))",
        "in x 2; out Cast{to=1}(-)",
    };
    tfr_runtime *runtime = new_runtime(true);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        tfr_graph *graph = graph_of_text(texts[i]);
        tfr_session *session = new_session(runtime, graph, "all");
        tfr_tensor *in = random_floats(&(tfr_shape){1, {2}}, 1, 0, 1), *out = NULL;
        CHECK(tfr_session_run(session, &in, 1, &out, 1, &err) < 0);
        CHECK_CONTAINS("node \"", err.text);
        tfr_tensor_release(in);
        tfr_session_destroy(session);
        tfr_graph_release(graph);
    }
    tfr_runtime_release(runtime);
}

TEST(an_unknown_pass_is_refused_with_the_names)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_runtime *runtime = new_runtime(false);
    tfr_graph *graph = graph_of_text("in x 4; out Relu(x)");
    tfr_session *session;
    options.passes = "fold,conv-bn";
    CHECK_STATUS(TFR_EINVAL, tfr_session_create(runtime, graph, &options, &session, &err), &err);
    CHECK_CONTAINS("no pass \"conv-bn\"; there is: all none fold dead cse transpose conv_bn",
                   err.text);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(the_report_tells_what_each_pass_did)
{
    tfr_runtime *runtime = new_runtime(true);
    tfr_graph *graph =
        graph_of_text("in x 4; const w 4; out Add(Exp(Add(x,Neg(w))),Exp(Add(x,Neg(w))))");
    tfr_session *session = new_session(runtime, graph, "fold,cse");
    tfr_pass pass = {.size = sizeof pass};
    REQUIRE_INT(2, tfr_session_n_passes(session));
    REQUIRE_OK(tfr_session_pass(session, 0, &pass, &err), &err);
    CHECK_STR("fold", pass.name);
    CHECK_STR("2 nodes computed beforehand", pass.text);
    CHECK_UINT(7, pass.nodes_before);
    CHECK_INT(2, pass.nodes_removed);
    REQUIRE_OK(tfr_session_pass(session, 1, &pass, &err), &err);
    CHECK_STR("cse", pass.name);
    CHECK_UINT(2, pass.n_changes);
    CHECK_INT(2, pass.nodes_removed);
    CHECK_STATUS(TFR_EINVAL, tfr_session_pass(session, 2, &pass, &err), &err);
    tfr_session_destroy(session);
    session = new_session(runtime, graph, "none");
    CHECK_UINT(0, tfr_session_n_passes(session));
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(a_graph_without_nodes_left_can_be_bound)
{
    tfr_runtime *runtime = new_runtime(false);
    tfr_graph *graph = graph_of_text("in x 4; const w 4; out Identity(x); out Exp(w)");
    tfr_session *session = new_session(runtime, graph, "all");
    tfr_shape shape = {1, {4}};
    tfr_tensor *in = random_floats(&shape, 1, 0, 1), *out[2];
    tfr_binding *binding = NULL;
    out[0] = random_floats(&shape, 2, 0, 1);
    out[1] = random_floats(&shape, 2, 0, 1);
    REQUIRE_OK(tfr_binding_create(session, &in, 1, out, 2, &binding, &err), &err);
    REQUIRE_OK(tfr_binding_run(binding, &err), &err);
    CHECK_MEM(tfr_tensor_data(in), tfr_tensor_data(out[0]), 16);
    tfr_binding_destroy(binding);
    for (int i = 0; i < 2; i++)
        tfr_tensor_release(out[i]);
    tfr_tensor_release(in);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* A chain of pairs of Transposes with work between them: near-linear, or this takes minutes. */
TEST(long_graphs_take_little_time)
{
    tfr_runtime *runtime = new_runtime(true);
    graph_text g = {0};
    tfr_session *session;
    tfr_pass pass = {.size = sizeof pass};
    uint64_t ns = 0;
    REQUIRE_OK(tfr_graph_create("long", &g.graph, &err), &err);
    graph_text_more(&g, "in x 2 3 4; const w 3");
    for (int i = 0; i < 4000; i++) {
        graph_text_more(&g, "y = " TT "(Mul(Relu(" TT "(x)),w)); z = Add(y,Add(x,x))");
        g.names[0].value = g.names[3].value;
        g.n_names = 2;
    }
    graph_text_more(&g, "out x");
    session = new_session(runtime, g.graph, "all");
    CHECK_UINT(16000, session->graph->n_nodes);
    for (uint32_t i = 0; !tfr_session_pass(session, i, &pass, NULL); i++)
        ns += pass.ns;
    printf("%u nodes, %.0f ms... ", tfr_graph_n_nodes(g.graph), (double)ns / 1e6);
    CHECK(ns < 5000000000u);
    tfr_session_destroy(session);
    tfr_graph_release(g.graph);
    tfr_runtime_release(runtime);
}

/* A graph with work for every pass; the n-th request for memory fails in the n-th round. */
TEST(passes_survive_each_failed_request)
{
    tfr_runtime *runtime = new_runtime(true);
    graph_text g = {0};
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    tfr_shape shape = {3, {2, 3, 8}};
    tfr_tensor *in;
    uint64_t live, used, n = 0;
    tfr_status status;
    options.device = "naive:0";
    REQUIRE_OK(tfr_graph_create("all", &g.graph, &err), &err);
    graph_text_more(&g, "in x 2 3 8; const s 8; const t 8; const w 8 8; const b 8; const f 8 1 1");
    graph_text_more(&g, LN_OF("Sub(x,ReduceMean(x,[-1]))", "-1",
                              "; y = " TT "(Mul(" TT
                              "(Identity(x)),1)); n = Add(Neg(b),Add(y,Add(y,b)))"));
    graph_text_more(&g, "r = Reshape(n,[6,8]); a = Add(MatMul(r,w),b); p = Mul(a,Sigmoid(a)); "
                        "i = Unsqueeze(n,[0]); c = Conv{group=2}(i,Unsqueeze(f,[1]))");
    graph_text_more(&g, "out p; out i; out n");
    in = random_floats(&shape, 1, -1, 1);
    session = new_session(runtime, g.graph, "all"); /* opens what is opened once */
    tfr_session_destroy(session);
    live = tfr__alloc_live();
    do {
        tfr_tensor *outs[4] = {NULL};
        used = tfr__alloc_count();
        tfr__alloc_fail_at(++n);
        session = NULL;
        status = tfr_session_create(runtime, g.graph, &options, &session, &err);
        tfr__alloc_fail_at(0);
        used = tfr__alloc_count() - used;
        if (status != TFR_OK && status != TFR_ENOMEM)
            CHECK_STATUS(TFR_ENOMEM, status, &err);
        if (!status)
            CHECK_OK(tfr_session_run(session, &in, 1, outs, tfr_graph_n_outputs(g.graph), &err),
                     &err);
        for (uint32_t i = 0; i < 4; i++)
            tfr_tensor_release(outs[i]);
        tfr_session_destroy(session);
        CHECK_UINT(live, tfr__alloc_live());
    } while (used >= n);
    printf("%llu requests failed once... ", (unsigned long long)n - 1);
    tfr_tensor_release(in);
    tfr_graph_release(g.graph);
    tfr_runtime_release(runtime);
}

static const test_case cases[] = {
    CASE(nodes_of_constants_are_computed_beforehand),
    CASE(shapes_that_the_graph_declares_are_constants),
    CASE(what_a_run_decides_is_not_folded),
    CASE(a_wrong_node_of_constants_is_told_by_the_run),
    CASE(what_does_nothing_or_is_not_read_goes),
    CASE(an_output_keeps_its_name_when_its_node_goes),
    CASE(a_variable_is_updated_by_what_replaces_its_update),
    CASE(equal_nodes_are_computed_once),
    CASE(two_draws_of_random_numbers_are_not_equal),
    CASE(transposes_in_a_row_cancel_or_become_one),
    CASE(a_transpose_moves_behind_elementwise_ops),
    CASE(a_transpose_stays_where_moving_would_cost),
    CASE(a_product_takes_its_operand_transposed),
    CASE(batch_normalization_goes_into_the_convolution),
    CASE(batch_normalization_stays_where_it_cannot_be_folded),
    CASE(a_product_and_a_row_are_one_gemm),
    CASE(a_product_stays_if_the_sum_is_no_row),
    CASE(gelu_is_found_in_every_spelling),
    CASE(other_activations_are_found),
    CASE(what_is_almost_an_activation_stays),
    CASE(layer_normalization_is_found),
    CASE(what_is_almost_a_normalization_stays),
    CASE(attention_is_found),
    CASE(what_is_almost_attention_stays),
    CASE(subgraphs_are_simplified_with_what_they_capture),
    CASE(an_if_that_nobody_reads_goes_with_its_subgraphs),
    CASE(the_reference_keeps_its_roundings),
    CASE(an_operand_that_is_not_there_is_told_by_the_run),
    CASE(an_unknown_pass_is_refused_with_the_names),
    CASE(the_report_tells_what_each_pass_did),
    CASE(a_graph_without_nodes_left_can_be_bound),
    CASE(long_graphs_take_little_time),
    CASE(passes_survive_each_failed_request),
};
TEST_MAIN(cases)
