/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products and convolutions with what stands behind them, by the stand-ins of cuBLASLt and cuDNN:
 * one call of the library each, right values, and what follows when something fails on the way.
 */
#include "engine_kit.h"
#include "graph_text.h"

enum { MOST = 4096 };

typedef struct result {
    tfr_status status;
    float y[MOST];
    int64_t n;
    unsigned of_library, kernels; /* calls in the first run */
    tfr_session_stats stats;
} result;

typedef struct end_case {
    const char *text;
    unsigned of_library, kernels; /* that are expected: kernels are ours */
} end_case;

static const end_case all[] = {
    {"in x 2 3 9 8; const w 4 3 3 3; const b 4; out Relu(Conv{pads=1,1,1,1}(x,w,b))", 1, 0},
    {"in x 2 3 9 8; in w 4 3 3 3; in b 4; in r 2 4 7 6; out Relu(Add(Conv(x,w,b),r))", 1, 0},
    {"in x 2 3 9 8; const w 4 3 3 3; const b 4; const r 2 4 7 6; out Add(r,Conv(x,w,b))", 1, 0},
    {"in x 2 3 9 8; const w 4 3 3 3; const c 4 1 1; out Relu(Add(Conv(x,w),c))", 1, 0},
    {"in x 2 3 9 8; const w 4 3 3 3; const b 4; out Clip(Conv(x,w,b),0,6)", 1, 0},
    {"in x 2 3 9 8; const w 4 3 3 3; out Clip(Conv(x,w),0)", 1, 0},
    {"in x 2 3 12; const w 4 3 5; const b 4; out Relu(Conv(x,w,b))", 1, 0},
    {"in x 24 32; const w 32 40; out Relu(MatMul(x,w))", 1, 0},
    {"in x 24 32; in w 32 40; const b 40; out Gelu{approximate=tanh}(Add(MatMul(x,w),b))", 1, 0},
    {"in x 24 32; const w 40 32; const b 40; out Relu(Gemm{transB=1}(x,w,b))", 1, 0},
    {"in x 3 8 32; const w 32 40; const b 40; in r 3 8 40; out Add(r,Add(MatMul(x,w),b))", 1, 0},
    {"in x 3 8 32; in w 3 32 40; const b 40; out Relu(Add(MatMul(x,w),b))", 1, 0},
    /* of two products that are added one has an end */
    {"in x 24 32; const v 32 40; const w 32 40; out Relu(Add(MatMul(x,v),MatMul(x,w)))", 2, 0},
    /* what the library does not take in is a chain in place, or no end: two biases */
    {"in x 24 32; const w 32 40; const b 40; const c 40; out Relu(Gemm(x,w,Identity(b)));"
     "out Add(Gemm(x,w,b),c)",
     2, 1},
    {"in x 24 32; const w 32 40; out Tanh(MatMul(x,w))", 1, 1},
    {"in x 24 32; const w 32 40; a = MatMul(x,w); out Relu(a); out a", 1, 1},
    {"in x 24 32; const w 32 40; const b 24 1; out Add(MatMul(x,w),b)", 1, 1},
    {"in x 24 32; const w 32 40; out Add(MatMul(x,w),2)", 1, 1},
};
enum { N_CASES = sizeof all / sizeof *all };

static void run(tfr_session *session, const tfr_graph *graph, result *r)
{
    tfr_tensor *in[8] = {NULL}, *out[4] = {NULL};
    const uint32_t n = tfr_graph_n_inputs(graph), n_out = tfr_graph_n_outputs(graph);
    const unsigned before = dnn.calls("cudnnBackendExecute") + lt.calls("cublasLtMatmul");
    const unsigned kernels = calls_of("cuLaunchKernel");
    for (uint32_t i = 0; i < n; i++)
        in[i] = random_input(graph, i, 1, i + 1, -1.5f, 2);
    r->status = tfr_session_run(session, in, n, out, n_out, &err);
    for (uint32_t i = 0; i < n_out && !r->status; i++) {
        REQUIRE(r->n + tfr_tensor_elements(out[i]) <= MOST);
        memcpy(r->y + r->n, tfr_tensor_data(out[i]), tfr_tensor_bytes(out[i]));
        r->n += tfr_tensor_elements(out[i]);
        tfr_tensor_release(out[i]);
    }
    for (uint32_t i = 0; i < n; i++)
        tfr_tensor_release(in[i]);
    r->of_library = dnn.calls("cudnnBackendExecute") + lt.calls("cublasLtMatmul") - before;
    r->kernels = calls_of("cuLaunchKernel") - kernels - r->of_library;
    r->stats = stats_of(session);
}

/* Takes over the runtime. */
static result compute(tfr_runtime *runtime, const char *device, const char *text)
{
    tfr_session_options o = TFR_SESSION_OPTIONS_INIT;
    tfr_graph *graph = graph_of_text(text);
    tfr_session *session = NULL;
    static result r;
    memset(&r, 0, sizeof r);
    o.device = device;
    o.passes = "none";
    r.status = tfr_session_create(runtime, graph, &o, &session, &err);
    if (!r.status)
        run(session, graph, &r);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return r;
}

/* The largest difference, by the larger one of the numbers and 1. */
static double apart(const result *a, const result *b)
{
    double most = 0;
    CHECK_INT(a->n, b->n);
    for (int64_t i = 0; i < a->n; i++)
        most = fmax(most, fabs((double)a->y[i] - (double)b->y[i]) / fmax(1, fabs((double)b->y[i])));
    return most;
}

TEST(an_end_is_computed_by_the_library_that_computes_the_product)
{
    BEGIN("");
    for (int i = 0; i < N_CASES; i++) {
        const result got = compute(engine_runtime("0"), "cuda:0", all[i].text);
        const result want = compute(new_runtime(), "naive:0", all[i].text);
        CHECK_OK(got.status, &err);
        if (apart(&got, &want) >= 1e-4)
            CHECK_STR("right values", all[i].text);
        if (got.of_library != all[i].of_library || got.kernels != all[i].kernels) {
            char text[256];
            snprintf(text, sizeof text, "%u of the library and %u kernels: %.180s", got.of_library,
                     got.kernels, all[i].text);
            CHECK_STR("the calls", text);
        }
        CHECK_UINT(0, got.stats.n_fallbacks);
    }
    CHECK_STR("", logged);
    check_end();
}

TEST(half_types_have_ends_too)
{
    static const char *const texts[] = {
        "in x 2 3 9 8; const w 4 3 3 3; const b 4; in r 2 4 7 6;"
        "out Cast{to=1}(Relu(Add(Conv(Cast{to=T}(x),Cast{to=T}(w),Cast{to=T}(b)),Cast{to=T}(r))))",
        "in x 24 32; const w 32 40; const b 40;"
        "out Cast{to=1}(Relu(Add(MatMul(Cast{to=T}(x),Cast{to=T}(w)),Cast{to=T}(b))))",
    };
    BEGIN("");
    for (int i = 0; i < 4; i++) {
        char text[512] = "";
        for (const char *p = texts[i / 2]; *p; p++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s",
                     *p == 'T' && p[-1] == '=' ? (i % 2 ? "16" : "10") : (char[2]){*p, '\0'});
        const result got = compute(engine_runtime("0"), "cuda:0", text);
        const result want = compute(new_runtime(), "naive:0", text);
        CHECK_OK(got.status, &err);
        CHECK_UINT(1, got.of_library);
        CHECK(apart(&got, &want) < (i % 2 ? 2e-2 : 2e-3)); /* one rounding in place of three */
    }
    CHECK_STR("", logged);
    check_end();
}

TEST(a_constant_that_two_programs_read_is_on_the_gpu_once)
{
    static const char text[] = "in x 24 32; const w 32 32; const v 32 32;"
                               "out Relu(MatMul(Relu(MatMul(x,w)),w)); out Relu(MatMul(x,v))";
    BEGIN("");
    tfr_runtime *runtime = engine_runtime("0");
    const unsigned before = calls_of("cuMemAlloc_v2");
    const result got = compute(runtime, "cuda:0", text);
    const unsigned n = calls_of("cuMemAlloc_v2") - before;
    const result want = compute(new_runtime(), "naive:0", text);
    CHECK_OK(got.status, &err);
    CHECK(apart(&got, &want) < 1e-4);
    CHECK_UINT(3, got.of_library);
    CHECK_UINT(3, n); /* two constants and an arena */
    check_end();
}

/* ---- channels last --------------------------------------------------------------------------- */

/* What is made of the constants is 5 kernels. */
#define HALF                                                                                       \
    "in x 2 8 6 7; const k 16 8 3 3; const l 16 16 3 3; const m 16; h = Cast{to=10}(x);"           \
    "w = Cast{to=10}(Mul(k,.1)); v = Cast{to=10}(Mul(l,.05)); b = Cast{to=10}(m);"

static const struct {
    const char *text;
    unsigned of_library, kernels, reorders;
} last_cases[] = {
    /* a block of a ResNet, and another one, to a pool: from the first convolution to the last */
    {HALF "a = Relu(Conv{pads=1,1,1,1}(h,w,b)); c = Relu(Conv{pads=1,1,1,1}(a,v,b));"
          "d = Relu(Add(Conv{pads=1,1,1,1}(c,v,b),a));"
          "out Cast{to=1}(MaxPool{kernel_shape=2,2}(Relu(Conv(d,v,b))))",
     4, 8, 0},
    /* one without an end in the way of the addend */
    {HALF
     "a = Relu(Conv(h,w,b)); c = Conv{pads=1,1,1,1}(a,v,b); d = Relu(Conv{pads=1,1,1,1}(a,v,b));"
     "e = Relu(Add(Conv{pads=1,1,1,1}(d,v,b),c)); out Cast{to=1}(Relu(Conv(e,v,b)))",
     5, 7, 0},
    /* what another kernel reads, too, is brought into the plain order for it */
    {HALF "a = Relu(Conv(h,w,b)); out Cast{to=1}(Relu(Conv(a,v,b)));"
          "out Cast{to=1}(MaxPool{kernel_shape=2,2}(a))",
     2, 10, 1},
    /* chains go on in the order of what they read, by channels and by samples, */
    {HALF "const t 2 1 1 1; s = Cast{to=10}(t); a = Relu(Conv(h,w,b)); c = Exp(Neg(Mul(a,s)));"
          "out Cast{to=1}(Relu(Conv(c,v,b)))",
     2, 9, 0},
    /* and read the other order where there are both */
    {HALF "in y 2 16 4 5; a = Relu(Conv(h,w,b)); c = Mul(Tanh(a),Cast{to=10}(y));"
          "out Cast{to=1}(Relu(Conv(c,v,b))); out Cast{to=1}(c)",
     2, 11, 1},
};

TEST(channels_are_last_between_convolutions_of_half_types)
{
    BEGIN("");
    for (size_t i = 0; i < sizeof last_cases / sizeof *last_cases; i++) {
        const unsigned before = calls_of("cuLaunchKernel");
        const result got = compute(engine_runtime("0"), "cuda:0", last_cases[i].text);
        const result want = compute(new_runtime(), "naive:0", last_cases[i].text);
        CHECK_OK(got.status, &err);
        if (apart(&got, &want) >= 1e-2)
            CHECK_STR("right values", last_cases[i].text);
        CHECK_UINT(last_cases[i].of_library, got.of_library);
        CHECK_UINT(last_cases[i].kernels, got.kernels);
        CHECK_UINT(last_cases[i].reorders, got.stats.n_reorders);
        CHECK(calls_of("cuLaunchKernel") > before);
        CHECK_UINT(0, got.stats.n_fallbacks);
    }
    CHECK_STR("", logged);
    check_end();
}

/* ---- failures -------------------------------------------------------------------------------- */

static const char conv_text[] =
    "in x 1 2 5 5; const w 3 2 3 3; const b 3; in r 1 3 3 3; out Relu(Add(Conv(x,w,b),r))";
static const char product_text[] = "in x 4 8; const w 8 6; const b 6; out Relu(Add(MatMul(x,w),b))";

typedef void fail_fn(const char *name, unsigned nth, unsigned code);

/* An answer, the right one where there is one, and nothing is left. */
static void fail_each(const char *name, fake_library_calls_fn *calls, fail_fn *fail,
                      const char *text, unsigned code)
{
    BEGIN("");
    tfr_runtime *runtime = engine_runtime("0");
    const result want = compute(new_runtime(), "naive:0", text);
    unsigned n = calls(name);
    CHECK_OK(compute(runtime, "cuda:0", text).status, &err);
    n = calls(name) - n;
    if (!n)
        CHECK_STR("is called", name);
    for (unsigned nth = 1; nth <= n; nth++) {
        BEGIN("");
        runtime = engine_runtime("0");
        err = (tfr_err)TFR_ERR_INIT;
        fail(name, nth, code);
        const result got = compute(runtime, "cuda:0", text);
        fail(name, 0, 0);
        if (!got.status && apart(&got, &want) >= (strstr(text, "Cast") ? 1e-2 : 1e-4))
            CHECK_STR("right values", name);
        if (got.status && !err.text[0])
            CHECK_STR("a text", name);
        check_end();
    }
}

TEST(whatever_function_of_a_library_fails_the_values_are_right_and_nothing_is_left)
{
    static const char *const of_dnn[] = {"cudnnCreate",
                                         "cudnnSetStream",
                                         "cudnnBackendFinalize",
                                         "cudnnBackendCreateDescriptor",
                                         "cudnnBackendExecute",
                                         "cudnnBackendSetAttribute",
                                         "cudnnBackendGetAttribute"};
    static const char *const of_lt[] = {"cublasLtCreate",
                                        "cublasLtMatmul",
                                        "cublasLtMatmulDescCreate",
                                        "cublasLtMatmulDescSetAttribute",
                                        "cublasLtMatrixLayoutCreate",
                                        "cublasLtMatmulAlgoGetHeuristic",
                                        "cublasLtMatmulPreferenceCreate"};
    BEGIN("");
    tfr_runtime_release(engine_runtime("0")); /* finds the libraries */
    for (size_t i = 0; i < sizeof of_dnn / sizeof *of_dnn; i++) {
        fail_each(of_dnn[i], dnn.calls, dnn.fail, conv_text, 3000); /* not supported */
        fail_each(of_dnn[i], dnn.calls, dnn.fail, conv_text, 4000); /* internal error */
    }
    fail_each("cudnnBackendExecute", dnn.calls, dnn.fail, last_cases[2].text, 4000);
    fail_each("cudnnBackendFinalize", dnn.calls, dnn.fail, last_cases[2].text, 3000);
    for (size_t i = 0; i < sizeof of_lt / sizeof *of_lt; i++)
        fail_each(of_lt[i], lt.calls, lt.fail, product_text, 15); /* not supported */
}

/* In a session that is there: its constants, its launches. */
TEST(whatever_call_of_the_driver_fails_nothing_is_left)
{
    static const char *const names[] = {"cuMemAlloc_v2", "cuMemcpyHtoDAsync_v2",
                                        "cuStreamSynchronize", "cuLaunchKernel"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        fail_each(names[i], calls_of, fail_at, conv_text, 2);
        fail_each(names[i], calls_of, fail_at, product_text, 1);
    }
    fail_each("cuLaunchKernel", calls_of, fail_at, last_cases[2].text, 1);
}

TEST(when_the_gpu_is_lost_while_constants_go_there_nothing_of_it_is_called_any_more)
{
    BEGIN("");
    tfr_runtime *runtime = engine_runtime("0");
    fail_at("cuStreamSynchronize", 1, 719);
    const result got = compute(runtime, "cuda:0", product_text);
    CHECK(got.status == TFR_ELOST || got.stats.n_fallbacks > 0);
    check_leaks("leaked: nothing");
}

static const test_case cases[] = {
    CASE(an_end_is_computed_by_the_library_that_computes_the_product),
    CASE(half_types_have_ends_too),
    CASE(a_constant_that_two_programs_read_is_on_the_gpu_once),
    CASE(channels_are_last_between_convolutions_of_half_types),
    CASE(whatever_function_of_a_library_fails_the_values_are_right_and_nothing_is_left),
    CASE(whatever_call_of_the_driver_fails_nothing_is_left),
    CASE(when_the_gpu_is_lost_while_constants_go_there_nothing_of_it_is_called_any_more),
};
TEST_MAIN(cases)
