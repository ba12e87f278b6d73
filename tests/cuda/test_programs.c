/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of elementwise nodes on the CUDA backend as one launch each, beside a kernel for each
 * node, whose bits they have. */
#include "graph_text.h"
#include "training_kit.h"

enum { MOST = 256, N_RUNS = 3 };

typedef struct result {
    uint32_t n; /* bytes */
    unsigned char bytes[1 << 20];
    unsigned n_kernels; /* that the first run launched */
    uint32_t n_programs;
} result;

static tfr_session *cuda_session(tfr_graph *graph, bool programs)
{
    tfr_session_options o = TFR_SESSION_OPTIONS_INIT;
    tfr_runtime *runtime = cuda_runtime();
    tfr_session *session = NULL;
    o.device = "cuda:0";
    o.fallback = TFR_FALLBACK_ERROR;
    o.passes = "none";
    o.no_programs = !programs;
    REQUIRE_OK(tfr_session_create(runtime, graph, &o, &session, &err), &err);
    tfr_runtime_release(runtime);
    return session;
}

static void keep(result *r, tfr_tensor *t)
{
    const size_t n = tfr_tensor_bytes(t);
    REQUIRE(r->n + n <= sizeof r->bytes);
    memcpy(r->bytes + r->n, tfr_tensor_data(t), n);
    r->n += (uint32_t)n;
    tfr_tensor_release(t);
}

/* All outputs of some runs, and the states of variables behind them. */
static void compute(const tfr_graph *graph, bool programs, result *r)
{
    tfr_session *session = cuda_session((tfr_graph *)(uintptr_t)graph, programs);
    tfr_tensor *in[8], *out[8];
    memset(r, 0, sizeof *r);
    for (uint32_t run = 0; run < N_RUNS; run++) {
        const unsigned before = calls_of("cuLaunchKernel");
        for (uint32_t i = 0; i < tfr_graph_n_inputs(graph); i++)
            in[i] = random_input(graph, i, 1, 10 * run + i, -1.5f, 2);
        REQUIRE_OK(tfr_session_run(session, in, tfr_graph_n_inputs(graph), out,
                                   tfr_graph_n_outputs(graph), &err),
                   &err);
        if (run == 0)
            r->n_kernels = calls_of("cuLaunchKernel") - before;
        for (uint32_t i = 0; i < tfr_graph_n_inputs(graph); i++)
            tfr_tensor_release(in[i]);
        for (uint32_t i = 0; i < tfr_graph_n_outputs(graph); i++)
            keep(r, out[i]);
    }
    r->n_programs = stats_of(session).n_programs;
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "w" : "v";
        tfr_tensor *state = NULL;
        if (tfr_session_get_variable(session, name, &state, NULL) == TFR_OK)
            keep(r, state);
    }
    tfr_session_destroy(session);
}

/* Takes over the graph. `kernels` with programs, 0 = as many as without. */
static void check_graph(tfr_graph *graph, unsigned kernels)
{
    static result one, each;
    compute(graph, true, &one);
    compute(graph, false, &each);
    CHECK_UINT(each.n, one.n);
    CHECK_MEM(each.bytes, one.bytes, each.n);
    CHECK_UINT(kernels ? kernels : each.n_kernels, one.n_kernels);
    CHECK(kernels ? one.n_programs > 0 : one.n_programs == 0);
    CHECK_UINT(0, each.n_programs);
    CHECK_STR("", logged);
    tfr_graph_release(graph);
    check_leaks("leaked: nothing");
}

TEST(a_chain_is_one_launch_with_the_bits_of_its_nodes)
{
    BEGIN("");
    check_graph(graph_of_text("in x 7 11; in y 7 11; a = Add(Mul(x,y),0.25); b = Sqrt(Abs(a));"
                              "out Div(Sub(b,x),Add(b,1.5))"),
                1);
    check_graph(graph_of_text("in x 3000; out Tanh(Neg(Sigmoid(x)))"), 1);
    check_graph(graph_of_text("in x 5; out PRelu(Max(x,0.5),Min(x,-1)); out Gelu(Exp(x))"), 2);
    check_graph(graph_of_text("in x; in y; out Mul(Add(x,y),x)"), 1);
}

TEST(numbers_that_are_not_known_before_are_read_by_each_element)
{
    BEGIN("");
    check_graph(graph_of_text("in x 9 4; in s; in t 1 1; out Sub(Mul(s,x),Mul(x,t))"), 1);
}

TEST(a_comparison_and_where_are_one_launch)
{
    BEGIN("");
    check_graph(graph_of_text("in x 6 5; in y 6 5; out Where(Greater(x,0.25),Mul(y,2),x)"), 1);
    check_graph(graph_of_text("in x 6 5; in y 1; a = LessOrEqual(x,y); out Where(a,x,y);"
                              "out Neg(Where(a,y,x))"),
                1);
    check_graph(graph_of_text("in x 6 5; a = Sqrt(x); out Where(IsNaN(a),0.5,a)"), 1);
    /* whose condition others read, or is not of the chain, or of other dims */
    check_graph(graph_of_text("in x 6; a = Less(x,0); out a; out Where(a,Neg(x),x)"), 1);
    check_graph(graph_of_text("in x 6; in y 6; a = Where(Not(Less(x,y)),Add(x,1),y);"
                              "out Abs(Exp(a))"),
                3);
    check_graph(graph_of_text("in x 6; in y; out Where(Less(y,1),Exp(x),x)"), 2);
    check_graph(graph_of_text("in x 4 6; in y 4 1; out Where(Less(y,1),Exp(x),x)"), 2);
}

TEST(bounds_of_clip_are_known_or_read)
{
    BEGIN("");
    check_graph(graph_of_text("in x 6 5; out Neg(Clip(x,-0.5,1)); out Clip(Neg(x),-0.25);"
                              "out Clip(Abs(x),-,0.75)"),
                3);
    check_graph(graph_of_text("in x 6 5; in y; out Clip(Exp(x),y,3)"), 1);
}

TEST(bytes_become_floats_in_a_chain)
{
    BEGIN("");
    check_graph(
        graph_of_text("in x 900; a = Cast{to=2}(Mul(Abs(x),100)); out Div(Cast{to=1}(a),255)"), 3);
    check_graph(graph_of_text("in x 6 5; out Mul(Cast{to=1}(Greater(x,0.25)),x)"), 1);
    check_graph(graph_of_text("in x 6 5; a = Greater(x,0.25); out a; out Add(Cast{to=1}(a),x)"), 1);
    check_graph(graph_of_text("in x 6 5; out Cast{to=7}(Cast{to=1}(Greater(x,0.25)))"), 2);
}

TEST(casts_are_read_and_written_by_chains)
{
    BEGIN("");
    check_graph(graph_of_text("in x 70; i = Cast{to=7}(Mul(x,1000)); k = Cast{to=6}(i);"
                              "out Sqrt(Abs(Add(Cast{to=11}(i),Cast{to=11}(k))));"
                              "out Mul(Cast{to=1}(i),Cast{to=1}(k))"),
                5);
    check_graph(graph_of_text("in x 70; in s; i = Cast{to=7}(s); a = Cast{to=11}(x);"
                              "b = Cast{to=1}(Mul(a,Cast{to=11}(0.1))); out b;"
                              "out Neg(Cast{to=11}(b)); out Mul(b,Cast{to=1}(i))"),
                5);
    check_graph(graph_of_text("in x 41003; a = Cast{to=7}(Mul(x,99)); b = Cast{to=6}(a);"
                              "out Mul(Cast{to=11}(a),Cast{to=11}(b))"),
                4);
}

TEST(operands_may_be_repeated_in_front_and_behind)
{
    BEGIN("");
    check_graph(graph_of_text("in x 3 4 5; in b 5; out Relu(Add(Neg(x),b))"), 1);
    check_graph(graph_of_text("in x 3 4 5; in b 4 1; out Mul(b,Abs(x))"), 1);
    check_graph(graph_of_text("in x 3 4 5; in b 3 1 1; in c 1 4 5; out Sub(Div(x,b),c)"), 1);
    check_graph(graph_of_text("in x 2 3 4 5; const b 1 3 4 1; out Sub(b,Mul(x,b))"), 1);
    check_graph(graph_of_text("in x 1200 7; const b 7; const c 1200 1; out Add(Mul(x,c),b)"), 1);
    /* but not with a gap */
    check_graph(graph_of_text("in x 3 4 5; in b 3 1 5; out Relu(Add(x,b))"), 0);
}

static tfr_graph *graph_of_type(const char *text, const char *number)
{
    char with[512] = "";
    for (const char *p = text; *p; p++)
        snprintf(with + strlen(with), sizeof with - strlen(with), "%s",
                 *p == 'T' && p[-1] == '=' ? number : (char[2]){*p, '\0'});
    return graph_of_text(with);
}

TEST(chains_of_half_types_have_the_bits_of_their_nodes)
{
    static const char *const types[] = {"10", "16"};
    BEGIN("");
    for (int i = 0; i < 2; i++) {
        check_graph(graph_of_type("in x 700; a = Cast{to=T}(x);"
                                  "out Cast{to=1}(Mul(Exp(Add(a,a)),Sub(Tanh(a),Sqrt(Abs(a)))))",
                                  types[i]),
                    3);
        check_graph(graph_of_type("in x 6 50; in v 50; a = Cast{to=T}(x); b = Cast{to=T}(v);"
                                  "c = Where(Greater(a,b),Neg(a),b); out Cast{to=1}(Relu(c))",
                                  types[i]),
                    4);
    }
}

/* More than 1024 for each multiprocessor, of which the stand-in's 7.5 has 40: several a thread. */
TEST(chains_of_many_elements_have_the_bits_of_their_nodes)
{
    static const char *const types[] = {"10", "16"};
    BEGIN("capability=75");
    check_graph(graph_of_text("in x 41003; out Tanh(Add(Sigmoid(x),Sqrt(Abs(x))))"), 1);
    check_graph(graph_of_text("in x 5 8209; in b 8209; in c 5 1; in s; a = Greater(x,b); out a;"
                              "out Mul(Where(a,Add(x,s),c),Cast{to=1}(a))"),
                1);
    check_graph(graph_of_text("in x 41001; in y 41001; a = Cast{to=11}(x); b = Cast{to=11}(y);"
                              "out Cast{to=1}(Div(Pow(Abs(a),b),Sub(a,Mul(b,b))))"),
                1);
    for (int i = 0; i < 2; i++)
        check_graph(graph_of_type("in x 8210 5; in v 5; a = Cast{to=T}(x); b = Cast{to=T}(v);"
                                  "c = Where(Greater(a,b),Neg(a),b); out Cast{to=1}(Mul(c,c))",
                                  types[i]),
                    4);
}

/* What reads a value that comes back by way of another kernel is not in its chain. */
TEST(no_chain_waits_for_itself)
{
    BEGIN("");
    check_graph(graph_of_text("in x 4 6; a = Neg(Abs(x)); b = Softmax(a); out Exp(Add(a,b))"), 3);
    check_graph(graph_of_text("in x 4 6; a = Abs(x); b = Softmax(a); c = Add(a,b);"
                              "d = Softmax(c); out Relu(Add(c,d))"),
                5);
}

TEST(our_kernels_end_with_relu_and_leave_the_rest_to_a_chain_in_place)
{
    BEGIN("");
    check_graph(graph_of_text("in x 2 3 9 8; const w 4 3 3 3; in b 4; out Relu(Conv(x,w,b))"), 1);
    check_graph(graph_of_text("in x 20 9; in w 9 12; const b 12; out Relu(Gemm(x,w,b))"), 1);
    check_graph(graph_of_text("in x 2 5 9; const w 9 12; const b 12;"
                              "out Relu(Add(MatMul(x,w),b))"),
                2);
    check_graph(
        graph_of_text("in x 2 3 9 8; in w 4 3 3 3; in r 2 4 7 6;"
                      "a = Relu(Add(Conv(x,w),r)); out a; out MaxPool{kernel_shape=2,2}(a)"),
        3);
    check_graph(graph_of_text("in x 2 3 9 8; in w 4 3 3 3; out Clip(Conv(x,w),0,1)"), 2);
    check_graph(graph_of_text("in x 20 9; in w 9 12; a = MatMul(x,w); out Relu(a); out a"), 0);
}

TEST(chains_of_float64_are_launches_too)
{
    BEGIN("");
    check_graph(graph_of_text("in x 700; a = Cast{to=11}(x); out Sqrt(Abs(Pow(a,Cast{to=11}(3))))"),
                2);
    check_graph(graph_of_text("in x 9; a = Cast{to=11}(x); out Cast{to=1}(Div(Neg(a),Mul(a,a)));"
                              "out Exp(Neg(x))"),
                2);
}

TEST(what_others_read_of_a_chain_is_written_too)
{
    BEGIN("");
    check_graph(graph_of_text("in x 4 6; a = Add(x,1); b = Mul(a,a); out b; out MatMul(a,"
                              "Transpose(b)); out Neg(b)"),
                3);
}

/* One node alone, other dims, and a constant beside it. */
TEST(what_is_no_chain_is_left_alone)
{
    BEGIN("");
    check_graph(graph_of_text("in x 4 6; out Softmax(Relu(x))"), 0);
    check_graph(graph_of_text("in x 3 4 6; in y 3 1 6; out Add(Mul(x,y),y)"), 0);
    check_graph(graph_of_text("in x 4 6; const w 4 6; out Mul(w,x)"), 0);
}

TEST(constants_of_many_elements_are_read_by_chains_too)
{
    BEGIN("");
    check_graph(graph_of_text("in x 4 6; const w 4 6; out Neg(Abs(Add(Mul(w,x),x)))"), 1);
}

/* 40 additions of its own in a row, of which 16 are a chain; 9 inputs; 5 outputs. */
TEST(what_is_too_much_for_a_launch_is_parted_or_left_alone)
{
    tfr_value x, v;
    BEGIN("");
    tfr_graph *graph = graph_of_text("in x 10");
    x = v = tfr_graph_input(graph, 0);
    for (int i = 0; i < 40; i++)
        v = binary(graph, i % 2 ? "Sub" : "Mul", v, x);
    output(graph, v);
    check_graph(graph, 3);
    check_graph(graph_of_text("in a 3; in b 3; in c 3; in d 3; in e 3; in f 3; in g 3; in h 3;"
                              "x = Add(Add(Add(a,b),Add(c,d)),Add(Add(e,f),Add(g,h)));"
                              "out Mul(x,a)"),
                1);
    check_graph(graph_of_text("in x 3; a = Neg(x); b = Abs(a); c = Neg(b); d = Abs(c); e = Neg(d);"
                              "out a; out b; out c; out d; out e"),
                0);
}

/* ---- variables ------------------------------------------------------------------------------- */

static void set_update(tfr_graph *graph, const char *variable, const char *op, const char *a,
                       const char *b)
{
    tfr_value v = binary(graph, op, tfr_graph_find_value(graph, a), tfr_graph_find_value(graph, b));
    v = unary(graph, "Neg", v);
    REQUIRE_OK(tfr_graph_set_update(graph, tfr_graph_find_value(graph, variable), v, &err), &err);
}

TEST(states_of_equal_chains_share_a_launch)
{
    BEGIN("");
    tfr_graph *graph = graph_of_text("in x 4; in y 1500; var v 4; var w 1500; out Shape(x)");
    set_update(graph, "v", "Add", "v", "x");
    set_update(graph, "w", "Add", "w", "y");
    check_graph(graph, 1);
}

TEST(states_that_are_read_for_each_other_are_those_before)
{
    BEGIN("");
    tfr_graph *graph = graph_of_text("in x 2000; var v 2000; var w 2000; out Shape(x)");
    set_update(graph, "v", "Sub", "w", "x");
    set_update(graph, "w", "Mul", "v", "x");
    check_graph(graph, 2);
}

/* Of 12 kernels for each of 10 weights. 4 Relus are the ends of
 * convolutions and a product, whose gradients are one kernel instead of two, and what Adam computes
 * of the step's number is less by 6. 4 casts are read and written by chains. */
TEST(the_updates_of_all_weights_are_one_launch)
{
    unsigned n[2];
    BEGIN("");
    for (uint32_t off = 0; off < 2; off++) {
        tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
        tfr_runtime *runtime = cuda_runtime();
        tfr_graph *graph = cnn_graph();
        tfr_trainer *trainer = NULL;
        o.device = "cuda:0";
        o.no_programs = off;
        REQUIRE_OK(tfr_trainer_create(runtime, graph, &o, &trainer, &err), &err);
        n[off] = calls_of("cuLaunchKernel");
        REQUIRE_OK(step(trainer, 0), &err);
        n[off] = calls_of("cuLaunchKernel") - n[off];
        tfr_trainer_destroy(trainer);
        tfr_graph_release(graph);
        tfr_runtime_release(runtime);
    }
    CHECK_UINT(178, n[1]);
    CHECK_UINT(178 - (10 * 12 - 1) - 4 - 5 - 6 - 4, n[0]);
    CHECK_STR("", logged);
    check_leaks("leaked: nothing");
}

TEST(a_training_has_the_bits_that_it_has_without_programs)
{
    float losses[2][4];
    BEGIN("");
    for (uint32_t off = 0; off < 2; off++) {
        tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
        tfr_runtime *runtime = cuda_runtime();
        tfr_graph *graph = mlp_graph();
        tfr_trainer *trainer = NULL;
        o.device = "cuda:0";
        o.optimizer = "adamw";
        o.no_programs = off;
        REQUIRE_OK(tfr_trainer_create(runtime, graph, &o, &trainer, &err), &err);
        for (int i = 0; i < 4; i++) {
            REQUIRE_OK(step(trainer, i), &err);
            losses[off][i] = (float)loss_of(trainer);
        }
        tfr_trainer_destroy(trainer);
        tfr_graph_release(graph);
        tfr_runtime_release(runtime);
    }
    CHECK_MEM(losses[0], losses[1], sizeof losses[0]);
}

static const test_case cases[] = {
    CASE(a_chain_is_one_launch_with_the_bits_of_its_nodes),
    CASE(numbers_that_are_not_known_before_are_read_by_each_element),
    CASE(a_comparison_and_where_are_one_launch),
    CASE(bounds_of_clip_are_known_or_read),
    CASE(bytes_become_floats_in_a_chain),
    CASE(casts_are_read_and_written_by_chains),
    CASE(operands_may_be_repeated_in_front_and_behind),
    CASE(chains_of_half_types_have_the_bits_of_their_nodes),
    CASE(chains_of_many_elements_have_the_bits_of_their_nodes),
    CASE(no_chain_waits_for_itself),
    CASE(our_kernels_end_with_relu_and_leave_the_rest_to_a_chain_in_place),
    CASE(chains_of_float64_are_launches_too),
    CASE(what_others_read_of_a_chain_is_written_too),
    CASE(what_is_no_chain_is_left_alone),
    CASE(constants_of_many_elements_are_read_by_chains_too),
    CASE(what_is_too_much_for_a_launch_is_parted_or_left_alone),
    CASE(states_of_equal_chains_share_a_launch),
    CASE(states_that_are_read_for_each_other_are_those_before),
    CASE(the_updates_of_all_weights_are_one_launch),
    CASE(a_training_has_the_bits_that_it_has_without_programs),
};
TEST_MAIN(cases)
