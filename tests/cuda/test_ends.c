/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products and convolutions with what stands behind them, by the stand-ins of cuBLASLt and cuDNN:
 * one call of the library each, right values, and what follows when something fails on the way.
 */
#include "ends_kit.h"

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

/* ---- failures -------------------------------------------------------------------------------- */

static const char conv_text[] =
    "in x 1 2 5 5; const w 3 2 3 3; const b 3; in r 1 3 3 3; out Relu(Add(Conv(x,w,b),r))";
/* with the channels last between the convolutions, and the plain order for another reader */
static const char last_text[] =
    "in x 2 8 6 7; const k 16 8 3 3; const l 16 16 3 3; const m 16; h = Cast{to=10}(x);"
    "w = Cast{to=10}(Mul(k,.1)); v = Cast{to=10}(Mul(l,.05)); b = Cast{to=10}(m);"
    "a = Relu(Conv(h,w,b)); out Cast{to=1}(MaxPool{kernel_shape=2,2}(Relu(Conv(a,v))));"
    "out Cast{to=1}(Softmax(a))";
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
    fail_each("cudnnBackendExecute", dnn.calls, dnn.fail, last_text, 4000);
    fail_each("cudnnBackendFinalize", dnn.calls, dnn.fail, last_text, 3000);
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
    fail_each("cuLaunchKernel", calls_of, fail_at, last_text, 1);
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
    CASE(whatever_function_of_a_library_fails_the_values_are_right_and_nothing_is_left),
    CASE(whatever_call_of_the_driver_fails_nothing_is_left),
    CASE(when_the_gpu_is_lost_while_constants_go_there_nothing_of_it_is_called_any_more),
};
TEST_MAIN(cases)
