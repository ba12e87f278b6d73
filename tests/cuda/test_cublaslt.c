/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in of cuBLASLt: products and epilogues against plain loops, algorithms, capture. */
#include "cublaslt_abi.h"
#include "driver_kit.h"
#include "fake_library.h"

static struct {
#define X(name, required, since, who) tfr_##name##_fn *name;
#include "cublaslt.def"
#undef X
    unsigned (*held)(void);
    fake_library_calls_fn *calls;
    fake_library_cost_fn *cost;
    void *so;
} lt;

enum { M = 3, N = 4, K = 5, MOST = 256 };

/* A product of M x K by K x N in f32, row-major by default: what the plain loops make of it too. */
typedef struct product {
    tfr_cu_stream *stream;
    tfr_lt_handle *handle;
    tfr_lt_desc *desc;
    tfr_lt_layout *a_layout, *b_layout, *d_layout;
    tfr_lt_pref *pref;
    tfr_cu_ptr a, b, d, extra, workspace;
    float host_a[M * K], host_b[K * N], host_d[MOST];
    tfr_lt_heuristic found[8];
    int n_found;
} product;

static void open_library(void)
{
    const char *dir = getenv("TFR_BUILDDIR");
    char path[4096];
    REQUIRE(kit_open());
    snprintf(path, sizeof path, "%s/tests/cuda/libcublasLt.so.13", dir ? dir : ".");
    lt.so = lt.so ? lt.so : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(lt.so != NULL);
#define X(name, required, since, who) kit_take(lt.so, #name, &lt.name);
#include "cublaslt.def"
#undef X
    kit_take(lt.so, "tfr_fake_cublaslt_held", &lt.held);
    kit_take(lt.so, "tfr_fake_cublaslt_calls", &lt.calls);
    kit_take(lt.so, "tfr_fake_cublaslt_cost", &lt.cost);
}

static tfr_cu_ptr upload(const product *p, const void *host, size_t bytes)
{
    tfr_cu_ptr at = kit_alloc(bytes);
    CHECK_INT(0, cu.cuMemcpyHtoDAsync_v2(at, host, bytes, p->stream));
    return at;
}

static void set(tfr_lt_desc *desc, unsigned attr, const void *value, size_t bytes)
{
    CHECK_INT(0, lt.cublasLtMatmulDescSetAttribute(desc, attr, value, bytes));
}

static void find_algos(product *p, uint64_t workspace, uint32_t align)
{
    CHECK_INT(0, lt.cublasLtMatmulPreferenceSetAttribute(p->pref, TFR_LT_PREF_WORKSPACE_BYTES,
                                                         &workspace, sizeof workspace));
    for (unsigned i = TFR_LT_PREF_ALIGNMENT_A; i <= TFR_LT_PREF_ALIGNMENT_D; i++)
        CHECK_INT(0, lt.cublasLtMatmulPreferenceSetAttribute(p->pref, i, &align, sizeof align));
    CHECK_INT(0, lt.cublasLtMatmulAlgoGetHeuristic(p->handle, p->desc, p->a_layout, p->b_layout,
                                                   p->d_layout, p->d_layout, p->pref, 8, p->found,
                                                   &p->n_found));
}

static product begin_with(const char *switches, unsigned compute)
{
    product p = {.stream = NULL};
    open_library();
    kit_begin(switches);
    p.stream = kit_stream();
    for (int i = 0; i < M * K; i++)
        p.host_a[i] = 0.1f * (float)(i % 7) - 0.3f;
    for (int i = 0; i < K * N; i++)
        p.host_b[i] = 0.2f * (float)(i % 5) - 0.35f;
    p.a = upload(&p, p.host_a, sizeof p.host_a);
    p.b = upload(&p, p.host_b, sizeof p.host_b);
    p.d = kit_alloc(sizeof p.host_d);
    p.extra = kit_alloc(sizeof p.host_d);
    p.workspace = kit_alloc((size_t)4 << 20);
    REQUIRE_INT(0, lt.cublasLtCreate(&p.handle));
    REQUIRE_INT(0, lt.cublasLtMatmulDescCreate(&p.desc, compute, TFR_LT_F32));
    /* Row-major D = A B is D' = B' A' of column-major matrices: the first operand is B'. */
    REQUIRE_INT(0, lt.cublasLtMatrixLayoutCreate(&p.a_layout, TFR_LT_F32, N, K, N));
    REQUIRE_INT(0, lt.cublasLtMatrixLayoutCreate(&p.b_layout, TFR_LT_F32, K, M, K));
    REQUIRE_INT(0, lt.cublasLtMatrixLayoutCreate(&p.d_layout, TFR_LT_F32, N, M, N));
    REQUIRE_INT(0, lt.cublasLtMatmulPreferenceCreate(&p.pref));
    find_algos(&p, 0, 256);
    return p;
}

static product begin(unsigned compute)
{
    return begin_with("", compute);
}

static void end(product *p)
{
    const tfr_cu_ptr all[] = {p->a, p->b, p->d, p->extra, p->workspace};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        CHECK_INT(0, cu.cuMemFree_v2(all[i]));
    CHECK_INT(0, lt.cublasLtMatmulPreferenceDestroy(p->pref));
    CHECK_INT(0, lt.cublasLtMatrixLayoutDestroy(p->a_layout));
    CHECK_INT(0, lt.cublasLtMatrixLayoutDestroy(p->b_layout));
    CHECK_INT(0, lt.cublasLtMatrixLayoutDestroy(p->d_layout));
    CHECK_INT(0, lt.cublasLtMatmulDescDestroy(p->desc));
    CHECK_INT(0, lt.cublasLtDestroy(p->handle));
    CHECK_UINT(0, lt.held());
    CHECK_INT(0, cu.cuStreamDestroy_v2(p->stream));
    kit_end();
}

static const void *at(tfr_cu_ptr p)
{
    return (const void *)(uintptr_t)p;
}

static tfr_lt_status multiply(product *p, int algo, float alpha, float beta)
{
    void *d = (void *)(uintptr_t)p->d;
    size_t bytes = p->found[algo].workspace_bytes;
    return lt.cublasLtMatmul(p->handle, p->desc, &alpha, at(p->b), p->a_layout, at(p->a),
                             p->b_layout, &beta, d, p->d_layout, d, p->d_layout,
                             &p->found[algo].algo, (void *)(uintptr_t)p->workspace, bytes,
                             p->stream);
}

static void download(product *p, tfr_cu_ptr from, float *to, int n)
{
    CHECK_INT(0, cu.cuMemcpyDtoHAsync_v2(to, from, (size_t)n * sizeof *to, p->stream));
}

static double expected(const product *p, int i, int j)
{
    double sum = 0;
    for (int k = 0; k < K; k++)
        sum += (double)p->host_a[i * K + k] * p->host_b[k * N + j];
    return sum;
}

TEST(a_product_is_that_of_plain_loops)
{
    product p = begin(TFR_LT_COMPUTE_F32);
    CHECK_INT(0, multiply(&p, 0, 1, 0));
    CHECK_INT(0, multiply(&p, 0, 2, 0.5));
    download(&p, p.d, p.host_d, M * N);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            CHECK_NEAR(2.5 * expected(&p, i, j), p.host_d[i * N + j], 1e-6);
    end(&p);
}

TEST(operands_may_be_transposed_and_row_major)
{
    product p = begin(TFR_LT_COMPUTE_F32);
    const int32_t t = TFR_LT_OP_T, row = TFR_LT_ORDER_ROW;
    float other[K * N];
    for (int k = 0; k < K; k++)
        for (int j = 0; j < N; j++)
            other[j * K + k] = p.host_b[k * N + j];
    CHECK_INT(0, cu.cuMemcpyHtoDAsync_v2(p.b, other, sizeof other, p.stream));
    set(p.desc, TFR_LT_DESC_TRANS_A, &t, sizeof t);
    CHECK_INT(0, lt.cublasLtMatrixLayoutDestroy(p.a_layout));
    CHECK_INT(0, lt.cublasLtMatrixLayoutCreate(&p.a_layout, TFR_LT_F32, K, N, K));
    CHECK_INT(0, multiply(&p, 0, 1, 0));
    download(&p, p.d, p.host_d, M * N);
    CHECK_NEAR(expected(&p, 2, 1), p.host_d[2 * N + 1], 1e-6);
    /* D as a row-major matrix is the transpose of what it was. */
    CHECK_INT(0, lt.cublasLtMatrixLayoutDestroy(p.d_layout));
    CHECK_INT(0, lt.cublasLtMatrixLayoutCreate(&p.d_layout, TFR_LT_F32, N, M, M));
    CHECK_INT(0, lt.cublasLtMatrixLayoutSetAttribute(p.d_layout, TFR_LT_LAYOUT_ORDER, &row, 4));
    CHECK_INT(0, multiply(&p, 0, 1, 0));
    download(&p, p.d, p.host_d, M * N);
    CHECK_NEAR(expected(&p, 2, 1), p.host_d[1 * M + 2], 1e-6);
    end(&p);
}

static void set_epilogue(product *p, uint32_t epilogue, int64_t aux_ld)
{
    const uint64_t bias = p->extra, aux = p->extra + 64;
    set(p->desc, TFR_LT_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    set(p->desc, TFR_LT_DESC_BIAS_POINTER, &bias, sizeof bias);
    set(p->desc, TFR_LT_DESC_AUX_POINTER, &aux, sizeof aux);
    set(p->desc, TFR_LT_DESC_AUX_LD, &aux_ld, sizeof aux_ld);
}

TEST(batches_have_strides_and_may_share_an_operand)
{
    product p = begin(TFR_LT_COMPUTE_F32);
    const int32_t two = 2;
    const int64_t b_step = 2 * K, d_step = N * M;
    /* Two batches of one row each: rows 0 and 2 of A. */
    CHECK_INT(0, lt.cublasLtMatrixLayoutDestroy(p.b_layout));
    CHECK_INT(0, lt.cublasLtMatrixLayoutCreate(&p.b_layout, TFR_LT_F32, K, 1, K));
    CHECK_INT(0, lt.cublasLtMatrixLayoutDestroy(p.d_layout));
    CHECK_INT(0, lt.cublasLtMatrixLayoutCreate(&p.d_layout, TFR_LT_F32, N, 1, N));
    tfr_lt_layout *all[] = {p.a_layout, p.b_layout, p.d_layout};
    for (int i = 0; i < 3; i++)
        CHECK_INT(0,
                  lt.cublasLtMatrixLayoutSetAttribute(all[i], TFR_LT_LAYOUT_BATCH_COUNT, &two, 4));
    CHECK_INT(0, lt.cublasLtMatrixLayoutSetAttribute(p.b_layout, TFR_LT_LAYOUT_BATCH_STRIDE,
                                                     &b_step, sizeof b_step));
    CHECK_INT(0, lt.cublasLtMatrixLayoutSetAttribute(p.d_layout, TFR_LT_LAYOUT_BATCH_STRIDE,
                                                     &d_step, sizeof d_step));
    CHECK_INT(0, multiply(&p, 0, 1, 0));
    download(&p, p.d, p.host_d, 2 * M * N);
    for (int j = 0; j < N; j++) {
        CHECK_NEAR(expected(&p, 0, j), p.host_d[j], 1e-6);
        CHECK_NEAR(expected(&p, 2, j), p.host_d[M * N + j], 1e-6);
    }
    end(&p);
}

TEST(bias_runs_along_the_last_axis_and_relu_keeps_a_mask)
{
    product p = begin(TFR_LT_COMPUTE_F32);
    const float bias[N] = {0.1f, -0.2f, 0.3f, -0.4f};
    CHECK_INT(0, cu.cuMemcpyHtoDAsync_v2(p.extra, bias, sizeof bias, p.stream));
    set_epilogue(&p, TFR_LT_EPILOGUE_RELU_AUX_BIAS, 127);
    CHECK_INT(TFR_LT_INVALID_VALUE, multiply(&p, 0, 1, 0));
    set_epilogue(&p, TFR_LT_EPILOGUE_RELU_AUX_BIAS, 128);
    CHECK_INT(0, multiply(&p, 0, 1, 0));
    download(&p, p.d, p.host_d, M * N);
    int n_above = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double x = expected(&p, i, j) + bias[j];
            n_above += x > 0;
            CHECK_NEAR(x > 0 ? x : 0, p.host_d[i * N + j], 1e-6);
        }
    CHECK(n_above > 0 && n_above < M * N);
    /* The gradient passes where the mask has a bit, and its columns are summed for the bias. */
    float masked[M * N], sums[N];
    set_epilogue(&p, TFR_LT_EPILOGUE_DRELU_BGRAD, 128);
    CHECK_INT(0, multiply(&p, 0, 1, 0));
    download(&p, p.d, masked, M * N);
    download(&p, p.extra, sums, N);
    for (int j = 0; j < N; j++) {
        double sum = 0;
        for (int i = 0; i < M; i++) {
            double x = p.host_d[i * N + j] > 0 ? expected(&p, i, j) : 0;
            CHECK_NEAR(x, masked[i * N + j], 1e-6);
            sum += x;
        }
        CHECK_NEAR(sum, sums[j], 1e-6);
    }
    end(&p);
}

TEST(gelu_is_by_tanh_and_its_gradient_takes_what_went_in)
{
    product p = begin(TFR_LT_COMPUTE_F32);
    float out[M * N], slope[M * N];
    set_epilogue(&p, TFR_LT_EPILOGUE_GELU_AUX, 8);
    CHECK_INT(0, multiply(&p, 0, 1, 0));
    download(&p, p.d, out, M * N);
    set_epilogue(&p, TFR_LT_EPILOGUE_DGELU, 8);
    CHECK_INT(0, multiply(&p, 0, 1, 0));
    download(&p, p.d, slope, M * N);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double x = expected(&p, i, j), h = 1e-4, y[2];
            for (int s = 0; s < 2; s++) {
                double v = x + (s ? h : -h);
                y[s] = v / 2 * (1 + tanh(sqrt(2 / 3.14159265358979) * (v + 0.044715 * v * v * v)));
            }
            CHECK_NEAR((y[0] + y[1]) / 2, out[i * N + j], 1e-6);
            CHECK_NEAR(x * (y[1] - y[0]) / (2 * h), slope[i * N + j], 1e-6);
        }
    end(&p);
}

TEST(sums_of_operands_are_gradients_of_biases)
{
    product p = begin(TFR_LT_COMPUTE_F32);
    float sums[N];
    set_epilogue(&p, TFR_LT_EPILOGUE_BGRAD_A, 0);
    CHECK_INT(0, multiply(&p, 0, 1, 0));
    download(&p, p.extra, sums, N);
    for (int j = 0; j < N; j++) {
        double sum = 0;
        for (int k = 0; k < K; k++)
            sum += p.host_b[k * N + j];
        CHECK_NEAR(sum, sums[j], 1e-6);
    }
    end(&p);
}

TEST(tf32_is_seen_and_strict_is_exact)
{
    product p = begin(TFR_LT_COMPUTE_FAST_TF32);
    CHECK_INT(0, multiply(&p, 0, 1, 0));
    download(&p, p.d, p.host_d, M * N);
    double most = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            most = fmax(most, fabs(expected(&p, i, j) - p.host_d[i * N + j]));
    CHECK(most > 1e-6 && most < 1e-3);
    end(&p);
}

TEST(algorithms_are_those_for_the_workspace_and_the_alignment)
{
    product p = begin(TFR_LT_COMPUTE_F32);
    CHECK_INT(3, p.n_found);
    CHECK_UINT(0, p.found[0].workspace_bytes);
    find_algos(&p, (uint64_t)4 << 20, 256);
    CHECK_INT(5, p.n_found);
    CHECK_UINT(1 << 20, p.found[0].workspace_bytes);
    CHECK_INT(0, multiply(&p, 0, 1, 0));
    CHECK_INT(0, cu.cuStreamSynchronize(p.stream));
    /* The stated alignment was not true. */
    p.a += 4;
    CHECK_INT(TFR_LT_INVALID_VALUE, multiply(&p, 0, 1, 0));
    p.a -= 4;
    find_algos(&p, (uint64_t)4 << 20, 4);
    CHECK_INT(1, p.n_found);
    /* One of another version of the library. */
    tfr_lt_heuristic checked;
    CHECK_INT(0, lt.cublasLtMatmulAlgoCheck(p.handle, p.desc, p.a_layout, p.b_layout, p.d_layout,
                                            p.d_layout, &p.found[0].algo, &checked));
    p.found[0].algo.data[1]--;
    CHECK_INT(TFR_LT_NOT_SUPPORTED,
              lt.cublasLtMatmulAlgoCheck(p.handle, p.desc, p.a_layout, p.b_layout, p.d_layout,
                                         p.d_layout, &p.found[0].algo, &checked));
    end(&p);
}

TEST(a_product_is_captured_after_a_warm_one)
{
    product p = begin(TFR_LT_COMPUTE_F32);
    tfr_cu_graph *graph;
    tfr_cu_graph_exec *exec;
    CHECK_INT(0, cu.cuStreamBeginCapture_v2(p.stream, TFR_CU_CAPTURE_THREAD_LOCAL));
    CHECK_INT(TFR_LT_ALLOC_FAILED, multiply(&p, 0, 1, 0));
    CHECK_INT(TFR_CU_CAPTURE_INVALIDATED, cu.cuStreamEndCapture(p.stream, &graph));
    CHECK_INT(0, multiply(&p, 0, 1, 0));
    CHECK_INT(0, cu.cuMemsetD8Async(p.d, 0, sizeof p.host_d, p.stream));
    CHECK_INT(0, cu.cuStreamBeginCapture_v2(p.stream, TFR_CU_CAPTURE_THREAD_LOCAL));
    CHECK_INT(0, multiply(&p, 0, 3, 0));
    CHECK_INT(0, cu.cuStreamEndCapture(p.stream, &graph));
    CHECK_INT(0, cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
    download(&p, p.d, p.host_d, M * N);
    CHECK_NEAR(0, p.host_d[5], 0);
    CHECK_INT(0, cu.cuGraphLaunch(exec, p.stream));
    download(&p, p.d, p.host_d, M * N);
    CHECK_NEAR(3 * expected(&p, 1, 1), p.host_d[5], 1e-6);
    CHECK_INT(0, cu.cuGraphExecDestroy(exec));
    CHECK_INT(0, cu.cuGraphDestroy(graph));
    end(&p);
}

TEST(an_algorithm_takes_the_time_that_was_ordered_or_fails)
{
    product p = begin_with("worktime", TFR_LT_COMPUTE_F32);
    tfr_cu_event *from, *to;
    float ms = -1;
    const unsigned before = lt.calls("algo 3");
    CHECK_INT(0, cu.cuEventCreate(&from, 0));
    CHECK_INT(0, cu.cuEventCreate(&to, 0));
    lt.cost(3, 2.5);
    lt.cost(4, -1);
    CHECK_INT(0, cu.cuEventRecord(from, p.stream));
    CHECK_INT(0, multiply(&p, 0, 1, 0)); /* algorithms 1, 3 and 4 need no workspace */
    CHECK_INT(0, multiply(&p, 1, 1, 0));
    CHECK_INT(0, multiply(&p, 1, 1, 0));
    CHECK_INT(TFR_LT_NOT_SUPPORTED, multiply(&p, 2, 1, 0));
    CHECK_INT(0, cu.cuEventRecord(to, p.stream));
    CHECK_INT(0, cu.cuEventSynchronize(to));
    CHECK_INT(0, cu.cuEventElapsedTime(&ms, from, to));
    CHECK_NEAR(5, ms, 0);
    CHECK_UINT(before + 2, lt.calls("algo 3"));
    lt.cost(3, 0);
    lt.cost(4, 0);
    CHECK_INT(0, cu.cuEventDestroy_v2(from));
    CHECK_INT(0, cu.cuEventDestroy_v2(to));
    end(&p);
}

static const test_case cases[] = {
    CASE(a_product_is_that_of_plain_loops),
    CASE(operands_may_be_transposed_and_row_major),
    CASE(batches_have_strides_and_may_share_an_operand),
    CASE(bias_runs_along_the_last_axis_and_relu_keeps_a_mask),
    CASE(gelu_is_by_tanh_and_its_gradient_takes_what_went_in),
    CASE(sums_of_operands_are_gradients_of_biases),
    CASE(tf32_is_seen_and_strict_is_exact),
    CASE(algorithms_are_those_for_the_workspace_and_the_alignment),
    CASE(a_product_is_captured_after_a_warm_one),
    CASE(an_algorithm_takes_the_time_that_was_ordered_or_fails),
};
TEST_MAIN(cases)
