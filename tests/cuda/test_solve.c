/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inverses and systems of equations over the stand-ins: by our kernel and by cuSOLVER, what is said
 * of a singular matrix, which only the device sees, and what follows when a function of the library
 * fails.
 */
#include "cusolver_abi.h"
#include "engine_kit.h"

enum { N = 40, COUNT = 3, ELEMENTS = COUNT * N * N };

/* A large number in each row and column, beside the diagonal. */
static tfr_tensor *matrices(int singular)
{
    const int64_t dims[] = {COUNT, N, N};
    float x[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++) {
        const int r = i / N % N, c = i % N;
        x[i] = c == (r + 2) % N ? 90 : (float)(i * 7 % 5 - 2);
        if (i / (N * N) == singular && c == 5) /* exactly so: all of it is 0 */
            x[i] = 0;
    }
    return floats(3, dims, x);
}

typedef struct result {
    tfr_status status;
    float y[ELEMENTS];
    tfr_session_stats stats;
} result;

static tfr_value inverse_of(tfr_graph *graph, tfr_value x)
{
    tfr_value out = TFR_VALUE_NONE;
    tfr_node_desc node = {.size = sizeof node,
                          .domain = "tfrun",
                          .op = "Inverse",
                          .name = "turned",
                          .inputs = &x,
                          .n_inputs = 1,
                          .n_outputs = 1};
    REQUIRE_OK(tfr_graph_add_node(graph, &node, &out, &err), &err);
    return out;
}

/* The inverses, with launches before and after; `singular` is the number of a matrix or -1. */
static tfr_status run(tfr_session *session, int singular, result *r)
{
    tfr_tensor *x = matrices(singular), *y = NULL;
    err = (tfr_err)TFR_ERR_INIT;
    r->status = tfr_session_run(session, &x, 1, &y, 1, &err);
    if (!r->status)
        memcpy(r->y, tfr_tensor_data(y), sizeof r->y);
    r->stats = stats_of(session);
    tfr_tensor_release(y);
    tfr_tensor_release(x);
    return r->status;
}

static tfr_session *new_session(tfr_runtime *runtime, const char *device)
{
    tfr_session_options o = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    tfr_value in;
    tfr_graph *graph = new_graph(1, &in);
    output(graph, unary(graph, "Neg", inverse_of(graph, unary(graph, "Neg", in))));
    o.device = device;
    REQUIRE_OK(tfr_session_create(runtime, graph, &o, &session, &err), &err);
    tfr_graph_release(graph);
    return session;
}

/* Takes over the runtime. */
static result invert(tfr_runtime *runtime, const char *device, int singular)
{
    result r;
    memset(&r, 0, sizeof r);
    tfr_session *session = new_session(runtime, device);
    (void)run(session, singular, &r);
    tfr_session_destroy(session);
    tfr_runtime_release(runtime);
    return r;
}

static double apart(const result *a, const result *b)
{
    double most = 0;
    for (int i = 0; i < ELEMENTS; i++)
        most = fmax(most, fabs((double)a->y[i] - (double)b->y[i]));
    return most;
}

TEST(small_inverses_are_our_kernels_and_open_no_library)
{
    BEGIN("");
    const result got = invert(engine_runtime("100000000"), "cuda:0", -1);
    const result want = invert(new_runtime(), "naive:0", -1);
    CHECK_OK(got.status, &err);
    CHECK(apart(&got, &want) < 1e-7);
    CHECK_UINT(0, got.stats.n_fallbacks);
    CHECK_UINT(0, solver.calls("cusolverDnCreate"));
    check_end();
}

TEST(large_inverses_are_cusolvers)
{
    BEGIN("");
    const result got = invert(engine_runtime("0"), "cuda:0", -1);
    const result want = invert(new_runtime(), "naive:0", -1);
    CHECK_OK(got.status, &err);
    CHECK(apart(&got, &want) < 1e-7);
    CHECK_UINT(COUNT, solver.calls("cusolverDnDgetrf"));
    CHECK_UINT(COUNT, solver.calls("cusolverDnDgetrs"));
    CHECK_STR("", logged);
    check_end();
}

/* The error of the reference, word by word but for the device; then the session goes on. */
static void check_singular(const char *from)
{
    result r;
    tfr_runtime *runtime = engine_runtime(from);
    tfr_session *session = new_session(runtime, "cuda:0");
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(TFR_EINVAL, run(session, 1, &r), &err);
        CHECK_CONTAINS("node \"turned\" (Inverse) on cuda:0: matrix 1 is singular: pivot 5 of 40 "
                       "is 0",
                       err.text);
        CHECK_OK(run(session, -1, &r), &err);
    }
    CHECK_UINT(0, r.stats.n_fallbacks);
    tfr_session_destroy(session);
    tfr_runtime_release(runtime);
    CHECK_STR("", logged);
    check_end();
}

TEST(a_singular_matrix_is_the_references_error_and_the_next_run_is_right)
{
    BEGIN("");
    const result want = invert(new_runtime(), "naive:0", 1);
    CHECK_INT(TFR_EINVAL, want.status);
    CHECK_CONTAINS("matrix 1 is singular: pivot 5 of 40 is 0", err.text);
    check_singular("100000000");
    BEGIN("");
    check_singular("0");
    BEGIN("lazy"); /* nothing happens before somebody waits */
    check_singular("0");
}

TEST(whatever_function_fails_the_inverses_are_right_or_refused_and_nothing_is_left)
{
    static const struct {
        const char *name;
        bool in_prepare;
    } functions[] = {{"cusolverDnCreate", true},
                     {"cusolverDnDgetrf_bufferSize", true},
                     {"cusolverDnSetStream", false},
                     {"cusolverDnDgetrf", false},
                     {"cusolverDnDgetrs", false}};
    static const struct {
        unsigned code;
        const char *text;
    } faults[] = {{TFR_SOLVER_NOT_INITIALIZED, "CUSOLVER_STATUS_NOT_INITIALIZED (1)"},
                  {TFR_SOLVER_ALLOC_FAILED, "CUSOLVER_STATUS_ALLOC_FAILED (2)"},
                  {TFR_SOLVER_INVALID_VALUE, "CUSOLVER_STATUS_INVALID_VALUE (3)"},
                  {TFR_SOLVER_EXECUTION_FAILED, "CUSOLVER_STATUS_EXECUTION_FAILED (6)"},
                  {TFR_SOLVER_INTERNAL_ERROR, "CUSOLVER_STATUS_INTERNAL_ERROR (7)"}};
    BEGIN("");
    const result want = invert(new_runtime(), "naive:0", -1);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        for (size_t k = 0; k < sizeof faults / sizeof *faults; k++) {
            BEGIN("");
            tfr_runtime *runtime = engine_runtime("0");
            const unsigned before = solver.calls("cusolverDnDgetrf");
            solver.fail(functions[i].name, 1, faults[k].code);
            const result got = invert(runtime, "cuda:0", -1);
            solver.fail(functions[i].name, 0, 0);
            snprintf(logged + strlen(logged), sizeof logged - strlen(logged), "%s",
                     got.status ? err.text : "");
            if (!got.status)
                CHECK(apart(&got, &want) < 1e-7);
            CHECK_CONTAINS(faults[k].text, logged);
            if (functions[i].in_prepare) { /* our kernel computes it */
                CHECK_OK(got.status, &err);
                CHECK_UINT(before, solver.calls("cusolverDnDgetrf"));
            }
            check_end();
        }
}

TEST(whatever_the_driver_refuses_when_a_finding_is_read_is_told_and_nothing_is_left)
{
    static const char *const names[] = {"cuMemHostAlloc", "cuMemcpyDtoHAsync_v2"};
    BEGIN("");
    const result want = invert(new_runtime(), "naive:0", -1);
    for (int i = 0; i < 2; i++)
        for (unsigned nth = 1; nth <= 2; nth++) {
            BEGIN("");
            tfr_runtime *runtime = engine_runtime("0");
            fail_at(names[i], nth, TFR_CU_OUT_OF_MEMORY);
            const result got = invert(runtime, "cuda:0", -1);
            if (got.status)
                CHECK_CONTAINS("CUDA_ERROR_OUT_OF_MEMORY", err.text);
            else
                CHECK(apart(&got, &want) < 1e-7);
            check_end();
        }
}

static const test_case cases[] = {
    CASE(small_inverses_are_our_kernels_and_open_no_library),
    CASE(large_inverses_are_cusolvers),
    CASE(a_singular_matrix_is_the_references_error_and_the_next_run_is_right),
    CASE(whatever_function_fails_the_inverses_are_right_or_refused_and_nothing_is_left),
    CASE(whatever_the_driver_refuses_when_a_finding_is_read_is_told_and_nothing_is_left),
};
TEST_MAIN(cases)
