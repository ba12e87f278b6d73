/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions by cuDNN over the stand-ins: which calls it gets, which of its engines runs in which
 * mode, what is captured, and what follows when one of its functions fails.
 */
#include "cudnn_abi.h"
#include "engine_kit.h"

enum { MOST = 4096 }; /* elements */
/* Engines of the stand-in: the first on tensor cores that rounds to tf32 and no further, and the
 * first that is exact, deterministic and content with little memory. */
#define TF32_ENGINE   "engine 4"
#define STRICT_ENGINE "engine 7"
#define LAST_ENGINE   "engine 9" /* of the fallback */

/* A node: the dims of its inputs, of which each but the first may be left out, and attributes. */
typedef struct conv_case {
    const char *op, *what;
    int64_t dims[3][4];
    int64_t pads[4], strides[2], dilations[2], group;
    int64_t y_dims[4]; /* of a gradient: whose shape is given */
    int32_t rank;
} conv_case;

static const conv_case plain = {
    "Conv", "bias", {{2, 3, 9, 8}, {4, 3, 3, 3}, {4}}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 1, {0}, 4};

static const conv_case all[] = {
    plain,
    {"Conv", "no bias", {{2, 3, 9, 8}, {4, 3, 3, 3}}, {0}, {1, 1}, {1, 1}, 1, {0}, 4},
    {"Conv", "strides", {{1, 3, 9, 8}, {4, 3, 3, 2}, {4}}, {1, 0, 1, 0}, {2, 3}, {1, 1}, 1, {0}, 4},
    {"Conv", "pads differ", {{1, 2, 8, 8}, {3, 2, 3, 3}}, {0, 1, 1, 2}, {2, 2}, {1, 1}, 1, {0}, 4},
    {"Conv", "dilations", {{1, 2, 9, 9}, {3, 2, 3, 3}}, {2, 1, 2, 1}, {1, 1}, {2, 3}, 1, {0}, 4},
    {"Conv", "groups", {{2, 4, 6, 6}, {6, 2, 3, 3}, {6}}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 2, {0}, 4},
    {"Conv", "depthwise", {{1, 4, 6, 6}, {4, 1, 3, 3}}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 4, {0}, 4},
    {"Conv", "one axis", {{2, 3, 12}, {4, 3, 5}, {4}}, {2, 1}, {2}, {1}, 1, {0}, 3},
    {"ConvTranspose", "no bias", {{2, 4, 5, 4}, {4, 3, 3, 3}}, {0}, {1, 1}, {1, 1}, 1, {0}, 4},
    {"ConvTranspose",
     "bias, strides and groups",
     {{2, 4, 5, 4}, {4, 3, 3, 3}, {6}},
     {1, 1, 1, 0},
     {2, 2},
     {1, 1},
     2,
     {0},
     4},
    {"ConvGradInput",
     "pads",
     {{2, 4, 9, 8}, {4, 3, 3, 3}},
     {1, 1, 1, 1},
     {1, 1},
     {1, 1},
     1,
     {2, 3, 9, 8},
     4},
    {"ConvGradInput",
     "strides and groups",
     {{1, 6, 4, 4}, {6, 2, 3, 3}},
     {1, 1, 1, 1},
     {2, 2},
     {1, 1},
     2,
     {1, 4, 8, 8},
     4},
    {"ConvGradFilter",
     "pads",
     {{2, 4, 9, 8}, {2, 3, 9, 8}},
     {1, 1, 1, 1},
     {1, 1},
     {1, 1},
     1,
     {4, 3, 3, 3},
     4},
    {"ConvGradFilter",
     "dilations",
     {{1, 3, 5, 5}, {1, 2, 9, 9}},
     {0, 0, 0, 0},
     {1, 1},
     {2, 2},
     1,
     {3, 2, 3, 3},
     4},
};

typedef struct result {
    tfr_status status;
    float y[MOST];
    int64_t n;
    tfr_session_stats stats;
} result;

static tfr_value add_case(tfr_graph *graph, const conv_case *c, tfr_value *in, uint32_t n)
{
    const bool is_gradient = c->y_dims[0] > 0;
    const int64_t axes = c->rank - 2;
    const tfr_attr attrs[] = {
        {.size = sizeof(tfr_attr), .type = TFR_ATTR_INTS, .name = "pads", .ints = c->pads},
        {.size = sizeof(tfr_attr), .type = TFR_ATTR_INTS, .name = "strides", .ints = c->strides},
        {.size = sizeof(tfr_attr),
         .type = TFR_ATTR_INTS,
         .name = "dilations",
         .ints = c->dilations},
        {.size = sizeof(tfr_attr),
         .type = TFR_ATTR_INT,
         .name = "group",
         .n = 1,
         .ints = &c->group},
    };
    tfr_attr given[4];
    tfr_value out = TFR_VALUE_NONE;
    tfr_tensor *shape = ints(c->rank, c->y_dims);
    tfr_node_desc node = {.size = sizeof node,
                          .op = c->op,
                          .inputs = in,
                          .n_inputs = n,
                          .n_outputs = 1,
                          .attrs = given,
                          .n_attrs = 4};
    memcpy(given, attrs, sizeof given);
    given[0].n = (uint64_t)(2 * axes);
    given[1].n = given[2].n = (uint64_t)axes;
    if (is_gradient) {
        node.domain = "tfrun";
        REQUIRE_OK(tfr_graph_add_constant(graph, NULL, shape, &in[node.n_inputs++], &err), &err);
    }
    tfr_tensor_release(shape);
    REQUIRE_OK(tfr_graph_add_node(graph, &node, &out, &err), &err);
    return out;
}

static tfr_tensor *numbers(int32_t rank, const int64_t *dims, int seed)
{
    float x[MOST];
    int64_t n = 1;
    for (int32_t d = 0; d < rank; d++)
        n *= dims[d];
    REQUIRE(n <= MOST);
    for (int i = 0; i < n; i++)
        x[i] = 0.37f * (float)((i + seed) % 11) - 1.9f + 0.001f * (float)(i % 7);
    return floats(rank, dims, x);
}

/* -op(...), so that there is more than one launch. Takes over the runtime. */
static result compute(tfr_runtime *runtime, const char *device, const char *mode,
                      const conv_case *c)
{
    tfr_session_options o = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    tfr_tensor *x[3] = {NULL}, *y = NULL;
    tfr_value in[4];
    result r;
    uint32_t n = 0;
    memset(&r, 0, sizeof r);
    for (; n < 3 && c->dims[n][0]; n++)
        x[n] = numbers(n == 2 ? 1 : c->rank, c->dims[n], (int)n);
    tfr_graph *graph = new_graph(n, in);
    output(graph, unary(graph, "Neg", add_case(graph, c, in, n)));
    o.device = device;
    o.math_mode = mode;
    r.status = tfr_session_create(runtime, graph, &o, &session, &err);
    if (!r.status)
        r.status = tfr_session_run(session, x, n, &y, 1, &err);
    if (!r.status) {
        r.n = tfr_tensor_elements(y);
        REQUIRE(r.n <= MOST);
        memcpy(r.y, tfr_tensor_data(y), tfr_tensor_bytes(y));
        r.stats = stats_of(session);
    }
    tfr_tensor_release(y);
    for (uint32_t i = 0; i < n; i++)
        tfr_tensor_release(x[i]);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return r;
}

/* The largest difference. */
static double apart(const result *a, const result *b)
{
    double most = 0;
    CHECK_INT(a->n, b->n);
    for (int64_t i = 0; i < a->n; i++)
        most = fmax(most, fabs((double)a->y[i] - (double)b->y[i]));
    return most;
}

TEST(a_small_convolution_opens_no_library)
{
    BEGIN("");
    const result got = compute(engine_runtime("100000"), "cuda:0", NULL, &plain);
    const result want = compute(new_runtime(), "naive:0", NULL, &plain);
    CHECK_OK(got.status, &err);
    CHECK(apart(&got, &want) < 1e-4);
    CHECK_UINT(0, dnn.calls("cudnnCreate"));
    check_end();
}

/* 2 samples, 4 filters of 3 x 3 x 3, 9 x 8 positions. */
TEST(a_convolution_is_large_by_its_multiplications)
{
    BEGIN("");
    CHECK_OK(compute(engine_runtime("15553"), "cuda:0", NULL, &plain).status, &err);
    CHECK_UINT(0, dnn.calls("cudnnBackendExecute"));
    CHECK_OK(compute(engine_runtime("15552"), "cuda:0", NULL, &plain).status, &err);
    CHECK_UINT(1, dnn.calls("cudnnBackendExecute"));
    CHECK_STR("", logged);
    check_end();
}

TEST(convolutions_and_their_gradients_are_cudnns)
{
    BEGIN("");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        tfr_runtime *runtime = engine_runtime("0");
        const unsigned before = dnn.calls(STRICT_ENGINE);
        const result got = compute(runtime, "cuda:0", NULL, &all[i]);
        const result want = compute(new_runtime(), "naive:0", NULL, &all[i]);
        CHECK_OK(got.status, &err);
        if (apart(&got, &want) >= 1e-4 || dnn.calls(STRICT_ENGINE) != before + 1)
            CHECK_STR(all[i].op, all[i].what);
        CHECK_UINT(0, got.stats.n_fallbacks);
    }
    CHECK_STR("", logged);
    check_end();
}

TEST(tf32_is_computed_only_in_its_mode)
{
    BEGIN("");
    const result strict = compute(engine_runtime("0"), "cuda:0", NULL, &plain);
    CHECK_UINT(0, dnn.calls(TF32_ENGINE));
    const result x3 = compute(engine_runtime("0"), "cuda:0", "f32x3", &plain);
    CHECK_UINT(0, dnn.calls(TF32_ENGINE));
    const result tf32 = compute(engine_runtime("0"), "cuda:0", "tf32", &plain);
    CHECK_UINT(1, dnn.calls(TF32_ENGINE));
    CHECK(apart(&strict, &x3) == 0);
    CHECK(apart(&strict, &tf32) > 1e-4);
    CHECK(apart(&strict, &tf32) < 5e-2);
    CHECK_UINT(0, strict.stats.n_math_mode);
    CHECK_UINT(0, x3.stats.n_math_mode);
    CHECK_UINT(1, tf32.stats.n_math_mode);
    check_end();
}

/* Nondeterministic ones, those with partial sums in the type of the output, ... */
TEST(the_other_engines_are_never_used)
{
    static const char *const modes[] = {NULL, "f32x3", "tf32", "bf16"};
    char name[16];
    BEGIN("");
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        CHECK_OK(compute(engine_runtime("0"), "cuda:0", modes[i], &plain).status, &err);
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "engine %d", i);
        if (dnn.calls(name) && strcmp(name, TF32_ENGINE) != 0 && strcmp(name, STRICT_ENGINE) != 0)
            CHECK_STR("", name);
    }
    check_end();
}

TEST(an_engine_without_a_plan_for_the_chip_is_passed_over)
{
    BEGIN("");
    tfr_runtime *runtime = engine_runtime("0");
    const unsigned before = dnn.calls("cudnnBackendFinalize");
    CHECK_OK(compute(runtime, "cuda:0", NULL, &plain).status, &err);
    const unsigned last = dnn.calls("cudnnBackendFinalize") - before - 1; /* but for the pack's */
    runtime = engine_runtime("0");
    dnn.fail("cudnnBackendFinalize", last, TFR_DNN_NOT_SUPPORTED_ARCH);
    const result got = compute(runtime, "cuda:0", NULL, &plain);
    const result want = compute(new_runtime(), "naive:0", NULL, &plain);
    CHECK_OK(got.status, &err);
    CHECK(apart(&got, &want) < 1e-4);
    CHECK_UINT(1, dnn.calls(LAST_ENGINE));
    CHECK_STR("", logged);
    check_end();
}

TEST(a_training_with_cudnn_is_captured)
{
    BEGIN("");
    tfr_runtime *runtime = engine_runtime("0");
    const unsigned before = dnn.calls("cudnnBackendExecute");
    tfr_trainer *gpu = new_trainer(runtime, small_cnn_graph(), "cuda:0");
    tfr_trainer *cpu = new_trainer(new_runtime(), small_cnn_graph(), "naive:0");
    /* Three convolutions, the gradients of their filters, and of the inputs of two. They are
     * launched in the first step and captured in the second. */
    for (unsigned i = 0; i < 4; i++) {
        REQUIRE_OK(step(gpu, (int)i), &err);
        REQUIRE_OK(step(cpu, (int)i), &err);
        const tfr_session_stats stats = stats_of(tfr_trainer_session(gpu));
        CHECK_UINT(stats.n_launches, stats.n_captured);
        CHECK_UINT(before + 8 * (i < 1 ? 1 : 2), dnn.calls("cudnnBackendExecute"));
        const double want = loss_of(cpu), got = loss_of(gpu);
        CHECK(fabs(got - want) < 1e-4 * want);
    }
    tfr_trainer_destroy(gpu);
    tfr_trainer_destroy(cpu);
    CHECK_STR("", logged);
    check_end();
}

/* ---- failures -------------------------------------------------------------------------------- */

/* Whatever fails: an answer, the right one where there is one, a text, and nothing is left. */
static void fail_one(const char *name, unsigned nth, unsigned code, const char *text,
                     const result *want)
{
    BEGIN("");
    tfr_runtime *runtime = engine_runtime("0");
    const unsigned before = dnn.calls("cudnnBackendExecute");
    const bool is_unsupported = code / 1000 == TFR_DNN_NOT_SUPPORTED / 1000;
    err = (tfr_err)TFR_ERR_INIT;
    dnn.fail(name, nth, code);
    const result got = compute(runtime, "cuda:0", NULL, &plain);
    dnn.fail(name, 0, 0);
    snprintf(logged + strlen(logged), sizeof logged - strlen(logged), "%s",
             got.status ? err.text : "");
    if (!got.status)
        CHECK(apart(&got, want) < 1e-4);
    if (!is_unsupported && !strstr(logged, text))
        CHECK_STR(name, logged);
    /* our kernel computes what could not be prepared, and another engine what this one does not */
    if (strcmp(name, "cudnnBackendExecute") != 0 && !is_unsupported)
        CHECK_UINT(before, dnn.calls("cudnnBackendExecute"));
    check_end();
}

TEST(whatever_function_fails_the_convolutions_are_right_and_nothing_is_left)
{
    static const char *const names[] = {
        "cudnnCreate",
        "cudnnSetStream",
        "cudnnBackendCreateDescriptor",
        "cudnnBackendSetAttribute",
        "cudnnBackendGetAttribute",
        "cudnnBackendFinalize",
        "cudnnBackendExecute",
    };
    enum { N_NAMES = sizeof names / sizeof *names };
    static const struct {
        unsigned code;
        const char *text;
    } faults[] = {{TFR_DNN_NOT_INITIALIZED, "CUDNN_STATUS_NOT_INITIALIZED"},
                  {TFR_DNN_BAD_PARAM_SHAPE, "CUDNN_STATUS_BAD_PARAM"},
                  {TFR_DNN_NOT_SUPPORTED_PATTERN, ""},
                  {TFR_DNN_INTERNAL_ERROR, "CUDNN_STATUS_INTERNAL_ERROR"},
                  {TFR_DNN_DEVICE_ALLOCATION_FAILED, "CUDNN_STATUS_INTERNAL_ERROR"},
                  {TFR_DNN_EXECUTION_FAILED, "CUDNN_STATUS_EXECUTION_FAILED"}};
    unsigned n[N_NAMES]; /* calls of each function */
    BEGIN("");
    const result want = compute(new_runtime(), "naive:0", NULL, &plain);
    tfr_runtime *runtime = engine_runtime("0");
    for (int i = 0; i < N_NAMES; i++)
        n[i] = dnn.calls(names[i]);
    CHECK_OK(compute(runtime, "cuda:0", NULL, &plain).status, &err);
    for (int i = 0; i < N_NAMES; i++)
        n[i] = dnn.calls(names[i]) - n[i];
    for (int i = 0; i < N_NAMES; i++) {
        CHECK(n[i] > 0);
        for (unsigned nth = 1; nth <= n[i]; nth++)
            for (size_t k = 0; k < sizeof faults / sizeof *faults; k++)
                fail_one(names[i], nth, faults[k].code, faults[k].text, &want);
    }
}

TEST(nothing_of_cudnn_is_called_for_a_gpu_that_is_lost)
{
    static const char *const names[] = {"cudnnDestroy", "cudnnBackendDestroyDescriptor",
                                        "cudnnBackendExecute", "cudnnSetStream"};
    enum { N_NAMES = sizeof names / sizeof *names };
    tfr_session_options o = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    unsigned before[N_NAMES];
    tfr_tensor *x[2], *y = NULL;
    tfr_value in[3];
    BEGIN("");
    tfr_runtime *runtime = engine_runtime("0");
    tfr_graph *graph = new_graph(2, in);
    x[0] = numbers(4, plain.dims[0], 0);
    x[1] = numbers(4, plain.dims[1], 1);
    output(graph, unary(graph, "Neg", add_case(graph, &plain, in, 2)));
    o.device = "cuda:0";
    REQUIRE_OK(tfr_session_create(runtime, graph, &o, &session, &err), &err);
    REQUIRE_OK(tfr_session_run(session, x, 2, &y, 1, &err), &err);
    tfr_tensor_release(y);
    y = NULL;
    fail_at("cuLaunchKernel", 2, 719); /* the first is the library's */
    CHECK_STATUS(TFR_ELOST, tfr_session_run(session, x, 2, &y, 1, &err), &err);
    for (int i = 0; i < N_NAMES; i++)
        before[i] = dnn.calls(names[i]);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    for (int i = 0; i < N_NAMES; i++)
        if (dnn.calls(names[i]) != before[i])
            CHECK_STR("", names[i]);
    tfr_tensor_release(x[0]);
    tfr_tensor_release(x[1]);
    CHECK_UINT(3, dnn.held()); /* the handle, the plan and its engine's configuration */
    check_leaks("leaked: nothing");
}

static const test_case cases[] = {
    CASE(a_small_convolution_opens_no_library),
    CASE(a_convolution_is_large_by_its_multiplications),
    CASE(convolutions_and_their_gradients_are_cudnns),
    CASE(tf32_is_computed_only_in_its_mode),
    CASE(the_other_engines_are_never_used),
    CASE(an_engine_without_a_plan_for_the_chip_is_passed_over),
    CASE(a_training_with_cudnn_is_captured),
    CASE(whatever_function_fails_the_convolutions_are_right_and_nothing_is_left),
    CASE(nothing_of_cudnn_is_called_for_a_gpu_that_is_lost),
};
TEST_MAIN_WITHOUT_TSAN(cases, "its streams are those of cuda/test_ends")
