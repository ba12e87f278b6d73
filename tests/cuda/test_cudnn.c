/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in of cuDNN: convolutions against plain loops, notes of engines, capture. */
#include "cudnn_abi.h"
#include "driver_kit.h"
#include "fake_library.h"

static struct {
#define X(name, required, since, who) tfr_##name##_fn *name;
#include "cudnn.def"
#undef X
    unsigned (*held)(void);
    fake_library_cost_fn *cost;
    void *so;
} dnn;

/* Two samples of two channels of 4 x 5, three filters of 3 x 3, stride 2 x 1, padding 1: 2 x 5. */
enum { N = 2, C = 2, H = 4, V = 5, K = 3, R = 3, P = 2, Q = 5 };
enum { X_SIZE = N * C * H * V, W_SIZE = K * C * R * R, Y_SIZE = N * K * P * Q };
enum { ID_X = 1, ID_W, ID_Y, ID_B, ID_SUM, ID_OUT };

typedef struct fixture {
    tfr_dnn_handle *handle;
    tfr_cu_stream *stream;
    tfr_cu_ptr x, w, y, b, workspace;
    float host_x[X_SIZE], host_w[W_SIZE], host_y[Y_SIZE], bias[K];
    tfr_dnn_desc *all[64];
    int n;
} fixture;

static void open_library(void)
{
    const char *dir = getenv("TFR_BUILDDIR");
    char path[4096];
    REQUIRE(kit_open());
    snprintf(path, sizeof path, "%s/tests/cuda/libcudnn.so.9", dir ? dir : ".");
    dnn.so = dnn.so ? dnn.so : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(dnn.so != NULL);
#define X(name, required, since, who) kit_take(dnn.so, #name, &dnn.name);
#include "cudnn.def"
#undef X
    kit_take(dnn.so, "tfr_fake_cudnn_held", &dnn.held);
    kit_take(dnn.so, "tfr_fake_cudnn_cost", &dnn.cost);
}

static tfr_cu_ptr upload(const fixture *f, const float *host, size_t n)
{
    tfr_cu_ptr at = kit_alloc(n * sizeof *host);
    CHECK_INT(0, cu.cuMemcpyHtoDAsync_v2(at, host, n * sizeof *host, f->stream));
    return at;
}

static fixture begin_with(const char *switches)
{
    fixture f = {.n = 0};
    open_library();
    kit_begin(switches);
    f.stream = kit_stream();
    for (int i = 0; i < X_SIZE; i++)
        f.host_x[i] = 0.1f * (float)(i % 7) - 0.3f;
    for (int i = 0; i < W_SIZE; i++)
        f.host_w[i] = 0.2f * (float)(i % 5) - 0.35f;
    for (int i = 0; i < Y_SIZE; i++)
        f.host_y[i] = 0.3f * (float)(i % 3) - 0.25f;
    for (int i = 0; i < K; i++)
        f.bias[i] = 0.5f - 0.4f * (float)i;
    f.x = upload(&f, f.host_x, X_SIZE);
    f.w = upload(&f, f.host_w, W_SIZE);
    f.y = upload(&f, f.host_y, Y_SIZE);
    f.b = upload(&f, f.bias, K);
    f.workspace = kit_alloc(3400000);
    REQUIRE_INT(0, dnn.cudnnCreate(&f.handle));
    CHECK_INT(0, dnn.cudnnSetStream(f.handle, f.stream));
    return f;
}

static fixture begin(void)
{
    return begin_with("");
}

static void end(fixture *f)
{
    const tfr_cu_ptr memory[] = {f->x, f->w, f->y, f->b, f->workspace};
    for (int i = 0; i < f->n; i++)
        CHECK_INT(0, dnn.cudnnBackendDestroyDescriptor(f->all[i]));
    CHECK_INT(0, dnn.cudnnDestroy(f->handle));
    CHECK_UINT(0, dnn.held());
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
        CHECK_INT(0, cu.cuMemFree_v2(memory[i]));
    CHECK_INT(0, cu.cuStreamDestroy_v2(f->stream));
    kit_end();
}

static tfr_dnn_desc *make(fixture *f, unsigned kind)
{
    REQUIRE(f->n < 64);
    REQUIRE_INT(0, dnn.cudnnBackendCreateDescriptor(kind, &f->all[f->n]));
    return f->all[f->n++];
}

static void set(tfr_dnn_desc *desc, unsigned name, unsigned type, int64_t n, const void *elements)
{
    CHECK_INT(0, dnn.cudnnBackendSetAttribute(desc, name, type, n, elements));
}

static void set_part(tfr_dnn_desc *desc, unsigned name, tfr_dnn_desc *part)
{
    set(desc, name, TFR_DNN_TYPE_DESCRIPTOR, 1, &part);
}

static tfr_dnn_desc *done(tfr_dnn_desc *desc)
{
    CHECK_INT(0, dnn.cudnnBackendFinalize(desc));
    return desc;
}

static tfr_dnn_desc *tensor(fixture *f, int64_t id, const int64_t dims[4], bool is_virtual)
{
    const int64_t strides[] = {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
    const int64_t align = 16;
    const unsigned type = TFR_DNN_F32;
    tfr_dnn_desc *t = make(f, TFR_DNN_TENSOR);
    set(t, TFR_DNN_TENSOR_TYPE, TFR_DNN_TYPE_DATA_TYPE, 1, &type);
    set(t, TFR_DNN_TENSOR_DIMS, TFR_DNN_TYPE_INT64, 4, dims);
    set(t, TFR_DNN_TENSOR_STRIDES, TFR_DNN_TYPE_INT64, 4, strides);
    set(t, TFR_DNN_TENSOR_ID, TFR_DNN_TYPE_INT64, 1, &id);
    set(t, TFR_DNN_TENSOR_ALIGNMENT, TFR_DNN_TYPE_INT64, 1, &align);
    set(t, TFR_DNN_TENSOR_IS_VIRTUAL, TFR_DNN_TYPE_BOOLEAN, 1, &is_virtual);
    return done(t);
}

static const int64_t x_dims[] = {N, C, H, V}, w_dims[] = {K, C, R, R}, y_dims[] = {N, K, P, Q};
static const int64_t b_dims[] = {1, K, 1, 1};

static tfr_dnn_desc *window(fixture *f)
{
    const int64_t two = 2, stride[] = {2, 1}, one[] = {1, 1};
    const unsigned mode = TFR_DNN_CROSS_CORRELATION, type = TFR_DNN_F32;
    tfr_dnn_desc *conv = make(f, TFR_DNN_CONV);
    set(conv, TFR_DNN_CONV_COMPUTE_TYPE, TFR_DNN_TYPE_DATA_TYPE, 1, &type);
    set(conv, TFR_DNN_CONV_MODE, TFR_DNN_TYPE_CONV_MODE, 1, &mode);
    set(conv, TFR_DNN_CONV_SPATIAL_DIMS, TFR_DNN_TYPE_INT64, 1, &two);
    set(conv, TFR_DNN_CONV_STRIDES, TFR_DNN_TYPE_INT64, 2, stride);
    set(conv, TFR_DNN_CONV_DILATIONS, TFR_DNN_TYPE_INT64, 2, one);
    set(conv, TFR_DNN_CONV_PRE_PADDINGS, TFR_DNN_TYPE_INT64, 2, one);
    set(conv, TFR_DNN_CONV_POST_PADDINGS, TFR_DNN_TYPE_INT64, 2, one);
    return done(conv);
}

/* kind is one of the three operations; names those of its w, x, y, and conv. */
static tfr_dnn_desc *convolution(fixture *f, unsigned kind, const unsigned names[4],
                                 bool is_virtual)
{
    tfr_dnn_desc *op = make(f, kind);
    set_part(op, names[0], tensor(f, ID_W, w_dims, false));
    set_part(op, names[1], tensor(f, ID_X, x_dims, false));
    set_part(op, names[2], tensor(f, ID_Y, y_dims, is_virtual));
    set_part(op, names[3], window(f));
    return done(op);
}

static const unsigned forward_names[] = {TFR_DNN_FORWARD_W, TFR_DNN_FORWARD_X, TFR_DNN_FORWARD_Y,
                                         TFR_DNN_FORWARD_CONV};
static const unsigned data_names[] = {TFR_DNN_BACKWARD_DATA_W, TFR_DNN_BACKWARD_DATA_DX,
                                      TFR_DNN_BACKWARD_DATA_DY, TFR_DNN_BACKWARD_DATA_CONV};
static const unsigned filter_names[] = {TFR_DNN_BACKWARD_FILTER_DW, TFR_DNN_BACKWARD_FILTER_X,
                                        TFR_DNN_BACKWARD_FILTER_DY, TFR_DNN_BACKWARD_FILTER_CONV};

static tfr_dnn_desc *pointwise(fixture *f, unsigned mode, tfr_dnn_desc *x, tfr_dnn_desc *b,
                               tfr_dnn_desc *y)
{
    tfr_dnn_desc *what = make(f, TFR_DNN_POINTWISE);
    set(what, TFR_DNN_POINTWISE_MODE, TFR_DNN_TYPE_POINTWISE_MODE, 1, &mode);
    tfr_dnn_desc *op = make(f, TFR_DNN_OP_POINTWISE);
    set_part(op, TFR_DNN_OP_POINTWISE_DESC, done(what));
    set_part(op, TFR_DNN_OP_POINTWISE_X, x);
    if (b)
        set_part(op, TFR_DNN_OP_POINTWISE_B, b);
    set_part(op, TFR_DNN_OP_POINTWISE_Y, y);
    return done(op);
}

static tfr_dnn_desc *heuristic(fixture *f, tfr_dnn_desc **ops, int64_t n, unsigned mode)
{
    tfr_dnn_desc *graph = make(f, TFR_DNN_GRAPH), *heur = make(f, TFR_DNN_ENGINE_HEUR);
    set(graph, TFR_DNN_GRAPH_HANDLE, TFR_DNN_TYPE_HANDLE, 1, &f->handle);
    set(graph, TFR_DNN_GRAPH_OPS, TFR_DNN_TYPE_DESCRIPTOR, n, ops);
    set_part(heur, TFR_DNN_ENGINE_HEUR_GRAPH, done(graph));
    set(heur, TFR_DNN_ENGINE_HEUR_MODE, TFR_DNN_TYPE_HEUR_MODE, 1, &mode);
    return heur;
}

enum { MOST_ENGINES = 8 };
/* Of mode A. */
enum { ROUNDING = 0, TENSOR_CORE = 4, EXACT = 7 };

/* A plan of the n-th engine that the mode offers. */
static tfr_dnn_desc *make_plan(fixture *f, tfr_dnn_desc **ops, int64_t n, unsigned mode, int nth)
{
    tfr_dnn_desc *heur = done(heuristic(f, ops, n, mode)), *configs[MOST_ENGINES];
    int64_t found = 0;
    for (int i = 0; i < MOST_ENGINES; i++)
        configs[i] = make(f, TFR_DNN_ENGINE_CFG);
    CHECK_INT(0,
              dnn.cudnnBackendGetAttribute(heur, TFR_DNN_ENGINE_HEUR_RESULTS,
                                           TFR_DNN_TYPE_DESCRIPTOR, MOST_ENGINES, &found, configs));
    REQUIRE(nth < found);
    tfr_dnn_desc *plan = make(f, TFR_DNN_PLAN);
    set(plan, TFR_DNN_PLAN_HANDLE, TFR_DNN_TYPE_HANDLE, 1, &f->handle);
    set_part(plan, TFR_DNN_PLAN_ENGINE_CFG, configs[nth]);
    return done(plan);
}

static tfr_dnn_status execute(fixture *f, tfr_dnn_desc *plan)
{
    const int64_t ids[] = {ID_X, ID_W, ID_Y, ID_B, ID_OUT};
    const uint64_t pointers[] = {f->x, f->w, f->y, f->b, f->y};
    tfr_dnn_desc *pack = make(f, TFR_DNN_PACK);
    set(pack, TFR_DNN_PACK_IDS, TFR_DNN_TYPE_INT64, 5, ids);
    set(pack, TFR_DNN_PACK_POINTERS, TFR_DNN_TYPE_POINTER, 5, pointers);
    set(pack, TFR_DNN_PACK_WORKSPACE, TFR_DNN_TYPE_POINTER, 1, &f->workspace);
    return dnn.cudnnBackendExecute(f->handle, plan, done(pack));
}

static void download(fixture *f, tfr_cu_ptr from, float *to, size_t n)
{
    CHECK_INT(0, cu.cuMemcpyDtoHAsync_v2(to, from, n * sizeof *to, f->stream));
}

/* One of the three by its definition, into a result of zeros. */
static void plain(const fixture *f, unsigned kind, double *result)
{
    for (int i = 0; i < N * K * P * Q * C * R * R; i++) {
        int s = i % R, r = i / R % R, c = i / (R * R) % C, q = i / (R * R * C) % Q;
        int p = i / (R * R * C * Q) % P, k = i / (R * R * C * Q * P) % K;
        int n = i / (R * R * C * Q * P * K), h = 2 * p - 1 + r, v = q - 1 + s;
        if (h < 0 || h >= H || v < 0 || v >= V)
            continue;
        int x = ((n * C + c) * H + h) * V + v, w = ((k * C + c) * R + r) * R + s;
        int y = ((n * K + k) * P + p) * Q + q;
        if (kind == TFR_DNN_OP_CONV_FORWARD)
            result[y] += (double)f->host_x[x] * f->host_w[w];
        else if (kind == TFR_DNN_OP_CONV_BACKWARD_DATA)
            result[x] += (double)f->host_y[y] * f->host_w[w];
        else
            result[w] += (double)f->host_y[y] * f->host_x[x];
    }
}

static void check_one(unsigned kind, const unsigned *names, size_t n)
{
    fixture f = begin();
    double expected[X_SIZE] = {0};
    float seen[X_SIZE];
    tfr_dnn_desc *op = convolution(&f, kind, names, false);
    CHECK_INT(0, execute(&f, make_plan(&f, &op, 1, TFR_DNN_HEUR_A, EXACT)));
    download(&f, kind == TFR_DNN_OP_CONV_FORWARD ? f.y : kind == 12 ? f.x : f.w, seen, n);
    plain(&f, kind, expected);
    for (size_t i = 0; i < n; i++)
        CHECK_NEAR(expected[i], seen[i], 1e-6);
    end(&f);
}

TEST(a_convolution_is_that_of_plain_loops)
{
    check_one(TFR_DNN_OP_CONV_FORWARD, forward_names, Y_SIZE);
}

TEST(a_gradient_of_data_is_that_of_plain_loops)
{
    check_one(TFR_DNN_OP_CONV_BACKWARD_DATA, data_names, X_SIZE);
}

TEST(a_gradient_of_filters_is_that_of_plain_loops)
{
    check_one(TFR_DNN_OP_CONV_BACKWARD_FILTER, filter_names, W_SIZE);
}

TEST(bias_and_relu_follow_in_one_plan)
{
    fixture f = begin();
    double expected[Y_SIZE] = {0};
    float seen[Y_SIZE];
    tfr_dnn_desc *y = tensor(&f, ID_Y, y_dims, true), *sum = tensor(&f, ID_SUM, y_dims, true);
    tfr_dnn_desc *ops[] = {
        convolution(&f, TFR_DNN_OP_CONV_FORWARD, forward_names, true),
        pointwise(&f, TFR_DNN_POINTWISE_ADD, y, tensor(&f, ID_B, b_dims, false), sum),
        pointwise(&f, TFR_DNN_POINTWISE_RELU_FORWARD, sum, NULL, tensor(&f, ID_OUT, y_dims, false)),
    };
    CHECK_INT(0, execute(&f, make_plan(&f, ops, 3, TFR_DNN_HEUR_FALLBACK, 1)));
    download(&f, f.y, seen, Y_SIZE);
    plain(&f, TFR_DNN_OP_CONV_FORWARD, expected);
    for (int i = 0; i < Y_SIZE; i++) {
        double v = expected[i] + f.bias[i / (P * Q) % K];
        CHECK_NEAR(v > 0 ? v : 0, seen[i], 1e-6);
    }
    end(&f);
}

TEST(a_gradient_with_relu_has_no_engine)
{
    fixture f = begin();
    char text[128];
    tfr_dnn_desc *ops[] = {
        convolution(&f, TFR_DNN_OP_CONV_BACKWARD_DATA, data_names, false),
        pointwise(&f, TFR_DNN_POINTWISE_RELU_BACKWARD, tensor(&f, ID_X, x_dims, true), NULL,
                  tensor(&f, ID_OUT, x_dims, false)),
    };
    tfr_dnn_desc *heur = heuristic(&f, ops, 2, TFR_DNN_HEUR_A);
    CHECK_INT(TFR_DNN_NOT_SUPPORTED_PATTERN, dnn.cudnnBackendFinalize(heur));
    dnn.cudnnGetLastErrorString(text, sizeof text);
    CHECK_STR("no engine for this graph", text);
    end(&f);
}

TEST(without_a_handle_there_is_no_engine)
{
    fixture f = begin();
    int64_t n = -1;
    tfr_dnn_desc *op = convolution(&f, TFR_DNN_OP_CONV_FORWARD, forward_names, false);
    tfr_dnn_desc *graph = make(&f, TFR_DNN_GRAPH), *heur = make(&f, TFR_DNN_ENGINE_HEUR);
    const unsigned mode = TFR_DNN_HEUR_A;
    set(graph, TFR_DNN_GRAPH_OPS, TFR_DNN_TYPE_DESCRIPTOR, 1, &op);
    set_part(heur, TFR_DNN_ENGINE_HEUR_GRAPH, done(graph));
    set(heur, TFR_DNN_ENGINE_HEUR_MODE, TFR_DNN_TYPE_HEUR_MODE, 1, &mode);
    CHECK_INT(0, dnn.cudnnBackendGetAttribute(done(heur), TFR_DNN_ENGINE_HEUR_RESULTS,
                                              TFR_DNN_TYPE_DESCRIPTOR, 0, &n, NULL));
    CHECK_INT(0, n);
    end(&f);
}

TEST(dims_that_the_window_does_not_give_are_refused)
{
    fixture f = begin();
    const int64_t dims[] = {N, K, P, Q + 1};
    tfr_dnn_desc *op = make(&f, TFR_DNN_OP_CONV_FORWARD);
    set_part(op, TFR_DNN_FORWARD_CONV, window(&f));
    set_part(op, TFR_DNN_FORWARD_W, tensor(&f, ID_W, w_dims, false));
    set_part(op, TFR_DNN_FORWARD_X, tensor(&f, ID_X, x_dims, false));
    set_part(op, TFR_DNN_FORWARD_Y, tensor(&f, ID_Y, dims, false));
    CHECK_INT(TFR_DNN_BAD_PARAM, dnn.cudnnBackendFinalize(op));
    end(&f);
}

TEST(an_engine_tells_what_it_does_to_numbers)
{
    fixture f = begin();
    double expected[Y_SIZE] = {0}, most = 0;
    float seen[Y_SIZE];
    unsigned notes[8];
    int64_t n = 0, workspace = 0;
    tfr_dnn_desc *op = convolution(&f, TFR_DNN_OP_CONV_FORWARD, forward_names, false);
    tfr_dnn_desc *plan = make_plan(&f, &op, 1, TFR_DNN_HEUR_A, ROUNDING), *config = NULL;
    CHECK_INT(0, dnn.cudnnBackendGetAttribute(plan, TFR_DNN_PLAN_WORKSPACE, TFR_DNN_TYPE_INT64, 1,
                                              &n, &workspace));
    CHECK_INT(1 << 20, workspace);
    CHECK_INT(0, dnn.cudnnBackendGetAttribute(plan, TFR_DNN_PLAN_ENGINE_CFG,
                                              TFR_DNN_TYPE_DESCRIPTOR, 1, &n, &config));
    tfr_dnn_desc *engine = make(&f, TFR_DNN_ENGINE);
    CHECK_INT(0, dnn.cudnnBackendGetAttribute(config, TFR_DNN_ENGINE_CFG_ENGINE,
                                              TFR_DNN_TYPE_DESCRIPTOR, 1, &n, &engine));
    CHECK_INT(0, dnn.cudnnBackendGetAttribute(engine, TFR_DNN_ENGINE_NUMERICAL_NOTES,
                                              TFR_DNN_TYPE_NUMERICAL_NOTE, 8, &n, notes));
    CHECK_INT(2, n);
    CHECK_INT(TFR_DNN_NOTE_TENSOR_CORE, notes[0]);
    CHECK_INT(0, execute(&f, plan));
    download(&f, f.y, seen, Y_SIZE);
    plain(&f, TFR_DNN_OP_CONV_FORWARD, expected);
    for (int i = 0; i < Y_SIZE; i++)
        most = fmax(most, fabs(expected[i] - seen[i]));
    CHECK(most > 1e-6 && most < 1e-2);
    end(&f);
}

TEST(a_plan_is_captured_after_a_warm_run)
{
    fixture f = begin();
    tfr_cu_graph *graph;
    tfr_dnn_desc *op = convolution(&f, TFR_DNN_OP_CONV_FORWARD, forward_names, false);
    tfr_dnn_desc *plan = make_plan(&f, &op, 1, TFR_DNN_HEUR_A, TENSOR_CORE);
    CHECK_INT(0, cu.cuStreamBeginCapture_v2(f.stream, TFR_CU_CAPTURE_THREAD_LOCAL));
    CHECK_INT(TFR_DNN_DEVICE_ALLOCATION_FAILED, execute(&f, plan));
    CHECK_INT(TFR_CU_CAPTURE_INVALIDATED, cu.cuStreamEndCapture(f.stream, &graph));
    CHECK_INT(0, execute(&f, plan));
    CHECK_INT(0, cu.cuStreamBeginCapture_v2(f.stream, TFR_CU_CAPTURE_THREAD_LOCAL));
    CHECK_INT(0, execute(&f, plan));
    CHECK_INT(0, cu.cuStreamEndCapture(f.stream, &graph));
    CHECK_INT(0, cu.cuGraphDestroy(graph));
    end(&f);
}

TEST(an_engine_takes_the_time_that_was_ordered_or_fails)
{
    fixture f = begin_with("worktime");
    tfr_cu_event *from, *to;
    float ms = -1;
    tfr_dnn_desc *op = convolution(&f, TFR_DNN_OP_CONV_FORWARD, forward_names, false);
    tfr_dnn_desc *plan = make_plan(&f, &op, 1, TFR_DNN_HEUR_A, TENSOR_CORE);
    CHECK_INT(0, cu.cuEventCreate(&from, 0));
    CHECK_INT(0, cu.cuEventCreate(&to, 0));
    dnn.cost(TENSOR_CORE, 1.5);
    CHECK_INT(0, cu.cuEventRecord(from, f.stream));
    CHECK_INT(0, execute(&f, plan));
    CHECK_INT(0, cu.cuEventRecord(to, f.stream));
    dnn.cost(TENSOR_CORE, -1);
    CHECK_INT(TFR_DNN_EXECUTION_FAILED, execute(&f, plan));
    dnn.cost(TENSOR_CORE, 0);
    CHECK_INT(0, cu.cuEventSynchronize(to));
    CHECK_INT(0, cu.cuEventElapsedTime(&ms, from, to));
    CHECK_NEAR(1.5, ms, 0);
    CHECK_INT(0, cu.cuEventDestroy_v2(from));
    CHECK_INT(0, cu.cuEventDestroy_v2(to));
    end(&f);
}

static const test_case cases[] = {
    CASE(a_convolution_is_that_of_plain_loops),
    CASE(a_gradient_of_data_is_that_of_plain_loops),
    CASE(a_gradient_of_filters_is_that_of_plain_loops),
    CASE(bias_and_relu_follow_in_one_plan),
    CASE(a_gradient_with_relu_has_no_engine),
    CASE(without_a_handle_there_is_no_engine),
    CASE(dims_that_the_window_does_not_give_are_refused),
    CASE(an_engine_tells_what_it_does_to_numbers),
    CASE(a_plan_is_captured_after_a_warm_run),
    CASE(an_engine_takes_the_time_that_was_ordered_or_fails),
};
TEST_MAIN(cases)
