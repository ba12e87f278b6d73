/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products by cuBLASLt over the stand-ins: which calls it gets, in which mode, what is captured,
 * and what follows when one of its functions fails.
 */
#include "cublaslt_abi.h"
#include "engine_kit.h"

enum { M = 24, N = 40, K = 32 };

static tfr_tensor *numbers(int64_t rows, int64_t columns)
{
    const int64_t dims[] = {rows, columns};
    float x[K * N];
    for (int i = 0; i < rows * columns; i++)
        x[i] = 0.37f * (float)(i % 11) - 1.9f + 0.001f * (float)(i % 7);
    return floats(2, dims, x);
}

typedef struct result {
    tfr_status status;
    float y[M * N];
    tfr_session_stats stats;
} result;

/* -x w, so that there is more than one launch. Takes over the runtime. */
static result multiply(tfr_runtime *runtime, const char *device, const char *mode)
{
    tfr_session_options o = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    tfr_value in[2];
    tfr_tensor *x[] = {numbers(M, K), numbers(K, N)}, *y = NULL;
    result r;
    memset(&r, 0, sizeof r);
    tfr_graph *graph = new_graph(2, in);
    output(graph, unary(graph, "Neg", binary(graph, "MatMul", in[0], in[1])));
    o.device = device;
    o.math_mode = mode;
    r.status = tfr_session_create(runtime, graph, &o, &session, &err);
    if (!r.status)
        r.status = tfr_session_run(session, x, 2, &y, 1, &err);
    if (!r.status) {
        memcpy(r.y, tfr_tensor_data(y), sizeof r.y);
        r.stats = stats_of(session);
    }
    tfr_tensor_release(y);
    tfr_tensor_release(x[0]);
    tfr_tensor_release(x[1]);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return r;
}

/* The largest difference. */
static double apart(const result *a, const result *b)
{
    double most = 0;
    for (int i = 0; i < M * N; i++)
        most = fmax(most, fabs((double)a->y[i] - (double)b->y[i]));
    return most;
}

TEST(a_small_product_opens_no_library)
{
    BEGIN("");
    const result got = multiply(engine_runtime("100000"), "cuda:0", NULL);
    const result want = multiply(new_runtime(), "naive:0", NULL);
    CHECK_OK(got.status, &err);
    CHECK(apart(&got, &want) < 1e-4);
    CHECK_UINT(0, lt.calls("cublasLtCreate"));
    check_end();
}

TEST(a_large_product_is_cublaslts)
{
    BEGIN("");
    const result got = multiply(engine_runtime("30000"), "cuda:0", NULL);
    const result want = multiply(new_runtime(), "naive:0", NULL);
    CHECK_OK(got.status, &err);
    CHECK(apart(&got, &want) < 1e-4);
    CHECK_UINT(1, lt.calls("cublasLtMatmul"));
    CHECK_UINT(1, lt.calls("cublasLtCreate"));
    CHECK_STR("", logged);
    check_end();
}

TEST(a_training_with_the_libraries_is_captured)
{
    BEGIN("");
    tfr_runtime *runtime = engine_runtime("0");
    const unsigned before = lt.calls("cublasLtMatmul");
    tfr_trainer *gpu = new_trainer(runtime, mlp_graph(), "cuda:0");
    tfr_trainer *cpu = new_trainer(new_runtime(), mlp_graph(), "naive:0");
    unsigned captured = 0;
    for (int i = 0; i < 4; i++) {
        REQUIRE_OK(step(gpu, i), &err);
        REQUIRE_OK(step(cpu, i), &err);
        const tfr_session_stats stats = stats_of(tfr_trainer_session(gpu));
        CHECK_UINT(stats.n_launches, stats.n_captured);
        captured = i > 1 ? captured : lt.calls("cublasLtMatmul");
        CHECK(captured > before);
        CHECK_UINT(
            captured,
            lt.calls("cublasLtMatmul")); /* launched in the first step, captured in the second */
        const double want = loss_of(cpu), got = loss_of(gpu);
        CHECK(fabs(got - want) < 1e-4 * want);
    }
    tfr_trainer_destroy(gpu);
    tfr_trainer_destroy(cpu);
    CHECK_STR("", logged);
    check_end();
}

/* x w of 128 x 128 matrices, alone or with an end; how many nodes are less exact than strict. */
static uint64_t multiply_by_tiles(const char *mode, bool has_end, float *y_first)
{
    enum { WIDTH = 128 };
    static float x[WIDTH * WIDTH];
    const int64_t dims[] = {WIDTH, WIDTH};
    tfr_runtime *runtime = engine_runtime("999999999999");
    tfr_session_options o = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    tfr_value in[2];
    for (int i = 0; i < WIDTH * WIDTH; i++)
        x[i] = 0.37f * (float)(i % 11) - 1.9f + 0.001f * (float)(i % 7);
    tfr_tensor *both[] = {floats(2, dims, x), floats(2, dims, x)}, *y = NULL;
    tfr_graph *graph = new_graph(2, in);
    const tfr_value product = binary(graph, "MatMul", in[0], in[1]);
    output(graph, has_end ? unary(graph, "Neg", product) : product);
    o.device = "cuda:0";
    o.math_mode = mode;
    REQUIRE_OK(tfr_session_create(runtime, graph, &o, &session, &err), &err);
    REQUIRE_OK(tfr_session_run(session, both, 2, &y, 1, &err), &err);
    *y_first = ((const float *)tfr_tensor_data(y))[0];
    const uint64_t n = stats_of(session).n_math_mode;
    tfr_tensor_release(y);
    tfr_tensor_release(both[0]);
    tfr_tensor_release(both[1]);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return n;
}

TEST(a_product_in_tf32_by_our_kernel_is_told_to_be_one)
{
    BEGIN("multiprocessors=4"); /* for more, teams of smaller tiles are taken */
    for (int has_end = 0; has_end < 2; has_end++) {
        float strict, tf32;
        CHECK_UINT(0, multiply_by_tiles(NULL, has_end, &strict));
        logged[0] = '\0';
        CHECK_UINT(1, multiply_by_tiles("tf32", has_end, &tf32));
        CHECK(strict != tf32);
        CHECK_STR("", logged);
    }
    check_end();
}

TEST(tf32_and_bf16_are_computed_only_in_their_modes)
{
    BEGIN("");
    const result strict = multiply(engine_runtime("0"), "cuda:0", NULL);
    const result x3 = multiply(engine_runtime("0"), "cuda:0", "f32x3");
    const result tf32 = multiply(engine_runtime("0"), "cuda:0", "tf32");
    const result bf16 = multiply(engine_runtime("0"), "cuda:0", "bf16");
    CHECK(apart(&strict, &x3) == 0);
    CHECK(apart(&strict, &tf32) > 1e-4);
    CHECK(apart(&strict, &tf32) < 5e-2);
    CHECK(apart(&strict, &bf16) > apart(&strict, &tf32));
    CHECK_UINT(0, strict.stats.n_math_mode);
    CHECK_UINT(1, tf32.stats.n_math_mode);
    CHECK_UINT(1, bf16.stats.n_math_mode);
    check_end();
}

/* Whatever fails: an answer, the right one where there is one, a text, and nothing is left. */
static void fail_one(const char *name, unsigned nth, unsigned code, const char *text,
                     const result *want)
{
    BEGIN("");
    tfr_runtime *runtime = engine_runtime("0");
    const unsigned before = lt.calls("cublasLtMatmul");
    lt.fail(name, nth, code);
    const result got = multiply(runtime, "cuda:0", NULL);
    lt.fail(name, 0, 0);
    snprintf(logged + strlen(logged), sizeof logged - strlen(logged), "%s",
             got.status ? err.text : "");
    if (!got.status)
        CHECK(apart(&got, want) < 1e-4);
    if (code != TFR_LT_NOT_SUPPORTED && code != TFR_LT_ARCH_MISMATCH && !strstr(logged, text))
        CHECK_STR(name, logged);
    if (strcmp(name, "cublasLtMatmul") != 0) /* our kernel computes what could not be prepared */
        CHECK_UINT(before, lt.calls("cublasLtMatmul"));
    check_end();
}

TEST(whatever_function_fails_the_products_are_right_and_nothing_is_left)
{
    static const struct {
        const char *name;
        unsigned n; /* calls until the product has been prepared, and run */
    } functions[] = {{"cublasLtCreate", 1},
                     {"cublasLtMatmulDescCreate", 1},
                     {"cublasLtMatrixLayoutCreate", 3},
                     {"cublasLtMatmulPreferenceCreate", 2},
                     {"cublasLtMatmulPreferenceSetAttribute", 12},
                     {"cublasLtMatmulAlgoGetHeuristic", 2},
                     {"cublasLtMatmul", 1}};
    static const struct {
        unsigned code;
        const char *text;
    } faults[] = {{TFR_LT_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED (1)"},
                  {TFR_LT_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED (3)"},
                  {TFR_LT_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE (7)"},
                  {TFR_LT_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED (13)"},
                  {TFR_LT_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR (14)"},
                  {TFR_LT_NOT_SUPPORTED, ""}};
    BEGIN("");
    const result want = multiply(new_runtime(), "naive:0", NULL);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        for (unsigned nth = 1; nth <= functions[i].n; nth++)
            for (size_t k = 0; k < sizeof faults / sizeof *faults; k++)
                fail_one(functions[i].name, nth, faults[k].code, faults[k].text, &want);
}

static const test_case cases[] = {
    CASE(a_small_product_opens_no_library),
    CASE(a_large_product_is_cublaslts),
    CASE(a_training_with_the_libraries_is_captured),
    CASE(a_product_in_tf32_by_our_kernel_is_told_to_be_one),
    CASE(tf32_and_bf16_are_computed_only_in_their_modes),
    CASE(whatever_function_fails_the_products_are_right_and_nothing_is_left),
};
TEST_MAIN(cases)
