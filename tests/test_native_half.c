/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs of float16 and bfloat16 that the native backend compiles into programs: which nodes stay
 * in them, and how far results are from those of the reference backend.
 */
#include "native_program_kit.h"

/* The reference rounds to half after each node, programs where they end and where it is asked for.
 * 10 is float16, 16 bfloat16. */
static void check_half(const char *text, double ulps)
{
    bound = ulps;
    check(text);
    bound = 1e-5;
}

TEST(float16_and_bfloat16_stay_in_the_program)
{
    check_half("in x ? 6 40; const w 40 40; const s 40; h = Cast{to=10}(x); v = Cast{to=10}(w);"
               "y = Gelu(MatMul(h,v)); n = LayerNormalization(Add(y,h),Cast{to=10}(s));"
               "out Cast{to=1}(Softmax(MatMul(n,v)))",
               4e-3);
    check_half("in x ? 3 16 16; const w 8 3 3 3; const b 8; h = Cast{to=10}(x);"
               "y = Relu(Conv{pads=1,1,1,1}(h,Cast{to=10}(w),Cast{to=10}(b)));"
               "out Cast{to=1}(Mul(GlobalAveragePool(y),Cast{to=10}(0.5)))",
               4e-3);
    check_half("in x ? 6 40; const w 40 40; h = Cast{to=16}(x); v = Cast{to=16}(w);"
               "out Cast{to=1}(Clip(MatMul(h,v),Cast{to=16}(-4),Cast{to=16}(4)))",
               2e-2);
}

TEST(rows_of_half_are_gathered_as_they_are)
{
    check_half("in x 4 6; const w 9 6; g = Gather(Cast{to=10}(w),[3,-4,0,0]);"
               "out Cast{to=1}(Add(g,Cast{to=10}(x)))",
               2e-3);
}

/* Rows 1 to 7 of what native makes of the graph are 0 everywhere. Returns false without native. */
static bool all_zero(const char *text)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = graph_of_text(text);
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    bool there;
    options.device = "native:0";
    there = tfr_session_create(runtime, graph, &options, &session, &err) == TFR_OK;
    for (int64_t rows = 1; there && rows < 8; rows++) {
        tfr_tensor *y = run(session, graph, rows);
        const float *values = tfr_tensor_data(y);
        for (int64_t i = 0; i < tfr_tensor_elements(y); i++)
            CHECK(values[i] == 0.0f);
        tfr_tensor_release(y);
    }
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return there;
}

/* The same matrix as half, and widened beforehand; as [K,N] and as [N,K], with a last block that is
 * not full. Rounded alike at the end, the two differ nowhere. */
TEST(weights_of_half_of_few_rows_give_the_bits_of_widened_ones)
{
    const char *graphs[] = {
        "in x ? 515; const w 515 1037; h = Cast{to=10}(x); v = Cast{to=10}(w);"
        "a = Cast{to=1}(MatMul(h,v));"
        "b = Cast{to=1}(Cast{to=10}(MatMul(Cast{to=1}(h),Cast{to=1}(v)))); out Sub(a,b)",
        "in x ? 512; const w 1029 512; h = Cast{to=10}(x); v = Cast{to=10}(w);"
        "a = Cast{to=1}(Gemm{transB=1}(h,v));"
        "b = Cast{to=1}(Cast{to=10}(Gemm{transB=1}(Cast{to=1}(h),Cast{to=1}(v)))); out Sub(a,b)",
        "in x ? 515; const w 515 1037; h = Cast{to=16}(x); v = Cast{to=16}(w);"
        "a = Cast{to=1}(MatMul(h,v));"
        "b = Cast{to=1}(Cast{to=16}(MatMul(Cast{to=1}(h),Cast{to=1}(v)))); out Sub(a,b)"};
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++)
        if (!all_zero(graphs[i]))
            SKIP("there is no native backend");
}

TEST(weights_of_half_keep_what_is_fused_into_products_of_few_rows)
{
    check_half("in x ? 515; const w 515 1037; const b 1037; h = Cast{to=10}(x);"
               "out Cast{to=1}(Relu(Add(MatMul(h,Cast{to=10}(w)),Cast{to=10}(b))))",
               4e-3);
    check_half("in x ? 515; const w 515 1037; const b 1037; h = Cast{to=16}(x);"
               "out Cast{to=1}(Tanh(Gemm{alpha=0.5}(h,Cast{to=16}(w),Cast{to=16}(b))))",
               2e-2);
}

/* How many programs native makes of a graph that reads float16, or -1 without native. */
static int programs_of(const char *text)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = graph_of_text(text);
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    const tfr_shape shape = {2, {6, 40}};
    tfr_session_stats stats = {.size = sizeof stats};
    tfr_session *session = NULL;
    tfr_tensor *in = NULL, *out = NULL;
    int n = -1;
    options.device = "native:0";
    if (tfr_session_create(runtime, graph, &options, &session, &err) == TFR_OK) {
        REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F16, &shape, &in, &err), &err);
        memset(tfr_tensor_data(in), 0, tfr_tensor_bytes(in));
        CHECK_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
        CHECK_OK(tfr_session_get_stats(session, &stats, &err), &err);
        n = (int)stats.n_programs;
    }
    tfr_tensor_release(in);
    tfr_tensor_release(out);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return n;
}

/* They would be widened and rounded again in one. */
TEST(moves_of_half_that_nothing_counts_with_are_no_program)
{
    const int n = programs_of("half x 6 40; t = Transpose(x); out Concat{axis=0}(t,t)");
    if (n < 0)
        SKIP("there is no native backend");
    CHECK_INT(0, n);
    CHECK_INT(1, programs_of("half x 6 40; t = Transpose(x); out Relu(Concat{axis=0}(t,t))"));
    CHECK_INT(1, programs_of("half x 6 40; t = Transpose(Sqrt(x)); out Concat{axis=0}(t,t)"));
}

/* To the same bits as node by node: what an explicit Cast rounds is rounded. */
TEST(casts_to_half_and_back_round_in_programs)
{
    check_half("in x ? 40; out Mul(Cast{to=1}(Cast{to=10}(x)),3)", 0);
    check_half("in x ? 40; out Mul(Cast{to=1}(Add(Cast{to=10}(x),Cast{to=10}(1))),3)", 0);
}

static const test_case cases[] = {
    CASE(float16_and_bfloat16_stay_in_the_program),
    CASE(rows_of_half_are_gathered_as_they_are),
    CASE(weights_of_half_of_few_rows_give_the_bits_of_widened_ones),
    CASE(weights_of_half_keep_what_is_fused_into_products_of_few_rows),
    CASE(moves_of_half_that_nothing_counts_with_are_no_program),
    CASE(casts_to_half_and_back_round_in_programs),
};
TEST_MAIN(cases)
