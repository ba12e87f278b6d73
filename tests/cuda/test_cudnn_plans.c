/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real cuDNN plans our convolutions for chips that are not there: since 9.8 a description of a
 * device takes the place of a handle, and neither a GPU nor a driver is needed. What is tested is
 * that conv_plan.c's graphs are graphs for it, that each convolution has an engine that is exact
 * enough, and that the plan lives on when what led to it was given back. Plans are not run.
 *
 * TFR_TEST_CUDNN is the file of the library; without it the loader looks for libcudnn.so.9.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "dnn.h"
#include "tfr_test.h"

enum { OLDEST = 90800 };

cuda_driver_table cuda_driver; /* for error.c; nobody calls the driver */

static tfr_err err = TFR_ERR_INIT;

/* What the description of a chip has beside what all have. */
typedef struct chip {
    const char *name;
    int version, multiprocessors, shared, threads;
    long long memory;
} chip;

static const chip turing = {"T4", 750, 40, 65536, 1024, 15LL << 30};
static const chip ampere = {"A100", 800, 108, 166912, 2048, 40LL << 30};
static const chip ga102 = {"A6000", 860, 84, 101376, 1536, 48LL << 30};
static const chip hopper = {"H200", 900, 132, 232448, 2048, 141LL << 30};

/* NULL, and the reason in `why`: the library cannot do this. */
static void *open_library(char *why, size_t n)
{
    static void *library;
    const char *given = getenv("TFR_TEST_CUDNN"), *sanitizer = getenv("TFR_SANITIZE");
    if (sanitizer && *sanitizer) {
        snprintf(why, n, "cuDNN is not built for sanitizers");
        return NULL;
    }
    if (!library)
        library = dlopen(given ? given : "libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why, n, "no cuDNN: %.180s; set TFR_TEST_CUDNN", dlerror());
        return NULL;
    }
#define X(name, required, since, who) *(void **)&cuda_dnn.name = dlsym(library, #name);
#include "cudnn.def"
#undef X
    if (!cuda_dnn.cudnnGetVersion || cuda_dnn.cudnnGetVersion() < OLDEST) {
        snprintf(why, n, "cuDNN 9.8 is the first that plans for a chip that is not there");
        return NULL;
    }
    return library;
}

static tfr_dnn_desc *describe(const chip *c)
{
    char json[1024];
    cuda_dnn_builder b = {.what = "a chip", .err = &err};
    tfr_dnn_desc *properties = cuda_dnn_create(&b, TFR_DNN_DEVICE_PROP);
    const int n = snprintf(
        json, sizeof json,
        "{\"deviceName\":\"%s\",\"cudaDeviceId\":0,\"deviceVer\":%d,\"multiProcessorCount\":%d,"
        "\"driverVer\":13000,\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":%d,"
        "\"reservedSharedMemoryPerBlock\":1024,\"totalGlobalMem\":%lld,"
        "\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],"
        "\"regsPerBlock\":65536,\"maxRegistersPerSM\":65536,\"smClockRateKHz\":1500000,"
        "\"memClockRateKHz\":1500000,\"l2CacheSize\":41943040,\"warpSize\":32,\"pciDeviceId\":0,"
        "\"maxCtasPerSM\":16,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":%d,\"isTccDriver\":0,"
        "\"supportCoopLaunch\":1}",
        c->name, c->version, c->multiprocessors, c->shared, c->memory, c->threads);
    cuda_dnn_set(&b, properties, TFR_DNN_DEVICE_PROP_JSON, TFR_DNN_TYPE_CHAR, n + 1, json);
    cuda_dnn_finish(&b, properties);
    REQUIRE_OK(b.status, &err);
    return properties;
}

/* ---- convolutions ---------------------------------------------------------------------------- */

typedef struct shape {
    const char *name;
    cuda_convolution c;
} shape;

static const shape shapes[] = {
    {"the guides' second",
     {.x_dims = {64, 32, 13, 13},
      .w_dims = {64, 32, 3, 3},
      .y_dims = {64, 64, 11, 11},
      .stride = {1, 1},
      .dilation = {1, 1}}},
    {"3 x 3 of a ResNet",
     {.x_dims = {32, 64, 56, 56},
      .w_dims = {64, 64, 3, 3},
      .y_dims = {32, 64, 56, 56},
      .stride = {1, 1},
      .dilation = {1, 1},
      .pad = {1, 1},
      .pad_end = {1, 1}}},
    {"1 x 1 with strides",
     {.x_dims = {32, 256, 56, 56},
      .w_dims = {128, 256, 1, 1},
      .y_dims = {32, 128, 28, 28},
      .stride = {2, 2},
      .dilation = {1, 1}}},
    {"pads behind only",
     {.x_dims = {32, 64, 56, 56},
      .w_dims = {128, 64, 3, 3},
      .y_dims = {32, 128, 28, 28},
      .stride = {2, 2},
      .dilation = {1, 1},
      .pad_end = {1, 1}}},
    {"dilations",
     {.x_dims = {8, 64, 56, 56},
      .w_dims = {64, 64, 3, 3},
      .y_dims = {8, 64, 56, 56},
      .stride = {1, 1},
      .dilation = {2, 2},
      .pad = {2, 2},
      .pad_end = {2, 2}}},
    {"groups",
     {.x_dims = {8, 128, 28, 28},
      .w_dims = {128, 32, 3, 3},
      .y_dims = {8, 128, 28, 28},
      .stride = {1, 1},
      .dilation = {1, 1},
      .pad = {1, 1},
      .pad_end = {1, 1}}},
    {"depthwise",
     {.x_dims = {32, 96, 56, 56},
      .w_dims = {96, 1, 3, 3},
      .y_dims = {32, 96, 56, 56},
      .stride = {1, 1},
      .dilation = {1, 1},
      .pad = {1, 1},
      .pad_end = {1, 1}}},
    {"one axis, odd channels",
     {.x_dims = {16, 63, 1, 3001},
      .w_dims = {65, 63, 1, 5},
      .y_dims = {16, 65, 1, 3001},
      .stride = {1, 1},
      .dilation = {1, 1},
      .pad = {0, 2},
      .pad_end = {0, 2}}},
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes, N_LAST = 5 };
/* N_LAST: without groups; the next one has groups of many channels */

static const struct {
    const char *name;
    cuda_conv_kind kind;
    bool is_f32; /* the only type of it */
    bool has_bias, has_addend, has_relu, has_ceiling;
    bool is_last; /* the channels of images; of half types, and on 9.0 of TF32 */
} patterns[] = {
    {"Conv", CUDA_CONV_FORWARD, .has_bias = false},
    {"Conv with a bias", CUDA_CONV_FORWARD, .has_bias = true},
    {"Conv with a bias and Relu", CUDA_CONV_FORWARD, .has_bias = true, .has_relu = true},
    /* for which it has no engine on tensor cores, and none without a bias */
    {"Conv with a bias and Relu up to 6", CUDA_CONV_FORWARD, .is_f32 = true, .has_bias = true,
     .has_relu = true, .has_ceiling = true},
    {"Conv with a bias and an addend", CUDA_CONV_FORWARD, .has_bias = true, .has_addend = true},
    {"Conv with all of them", CUDA_CONV_FORWARD, .has_bias = true, .has_addend = true,
     .has_relu = true},
    {"Conv with a bias, channels last", CUDA_CONV_FORWARD, .has_bias = true, .is_last = true},
    {"Conv with all of them, channels last", CUDA_CONV_FORWARD, .has_bias = true,
     .has_addend = true, .has_relu = true, .is_last = true},
    {"Conv, channels last", CUDA_CONV_FORWARD, .is_last = true},
    {"ConvGradInput", CUDA_CONV_GRAD_INPUT, .has_bias = false},
    {"ConvGradInput, channels last", CUDA_CONV_GRAD_INPUT, .is_last = true},
    {"ConvGradFilter", CUDA_CONV_GRAD_FILTER, .is_f32 = true},
    {"ConvGradFilter, channels last", CUDA_CONV_GRAD_FILTER, .is_f32 = true, .is_last = true},
};
enum { N_PATTERNS = sizeof patterns / sizeof *patterns };

static const struct {
    const char *name;
    int32_t dtype, mode;
} types[] = {
    {"f32", TFR_DTYPE_F32, TFR_MATH_STRICT},
    {"f32 in tf32", TFR_DTYPE_F32, TFR_MATH_TF32},
    {"f16", TFR_DTYPE_F16, TFR_MATH_STRICT},
    {"bf16", TFR_DTYPE_BF16, TFR_MATH_STRICT},
};
enum { N_TYPES = sizeof types / sizeof *types };

/* A plan that says how it is to be run is whole. */
static void check_whole(const cuda_dnn_plan *plan, const char *what)
{
    static char json[1 << 16];
    int64_t n = 0, workspace = -1;
    CHECK_UINT(0, cuda_dnn.cudnnBackendGetAttribute(plan->plan, TFR_DNN_PLAN_WORKSPACE,
                                                    TFR_DNN_TYPE_INT64, 1, &n, &workspace));
    CHECK_INT((int64_t)plan->workspace_bytes, workspace);
    memset(json, 0, sizeof json);
    CHECK_UINT(0, cuda_dnn.cudnnBackendGetAttribute(plan->plan, TFR_DNN_PLAN_JSON,
                                                    TFR_DNN_TYPE_CHAR, sizeof json - 1, &n, json));
    if (*json != '{')
        CHECK_STR(what, json);
}

static void check_notes(unsigned notes, int t, const char *what)
{
    const unsigned never = 1u << TFR_DNN_NOTE_DOWN_CONVERT | 1u << TFR_DNN_NOTE_REDUCED_REDUCTION |
                           1u << TFR_DNN_NOTE_FFT | 1u << TFR_DNN_NOTE_NONDETERMINISTIC;
    const bool is_strict = types[t].dtype == TFR_DTYPE_F32 && types[t].mode == TFR_MATH_STRICT;
    if (notes & never || (is_strict && notes & 1u << TFR_DNN_NOTE_TENSOR_CORE))
        CHECK_STR("an exact engine", what);
}

static uint64_t bytes_of(const int64_t dims[4], int32_t dtype)
{
    return (uint64_t)(dims[0] * dims[1] * dims[2] * dims[3]) * tfr_dtype_bits(dtype) / 8;
}

/* That the engine computes on images as they lie. Which one is named for the gradient of a filter
 * depends on the shape, and some bring the images into another order whatever theirs is. */
static void check_last(const cuda_dnn_plan *plan, const cuda_convolution *c, int t,
                       const char *what)
{
    const uint64_t x = bytes_of(c->x_dims, types[t].dtype), y = bytes_of(c->y_dims, types[t].dtype);
    if (!(plan->notes & 1u << TFR_DNN_NOTE_TENSOR_CORE))
        CHECK_STR("an engine on tensor cores", what);
    if (c->kind != CUDA_CONV_GRAD_FILTER && plan->workspace_bytes >= (x < y ? x : y))
        CHECK_STR("a workspace that is smaller than the images", what);
}

static cuda_convolution convolution_of(const shape *s, int p)
{
    cuda_convolution convolution = s->c;
    convolution.kind = patterns[p].kind;
    convolution.bias = patterns[p].has_bias ? 3 : CUDA_NO_OPERAND;
    convolution.addend = patterns[p].has_addend ? 4 : CUDA_NO_OPERAND;
    convolution.has_relu = patterns[p].has_relu;
    convolution.has_ceiling = patterns[p].has_ceiling;
    convolution.ceiling = 6;
    convolution.x_last = convolution.y_last = convolution.addend_last = patterns[p].is_last;
    convolution.is_aligned = patterns[p].is_last && !patterns[p].has_bias;
    return convolution;
}

/* Whether tensor cores are used. */
static bool plan_one(const cuda_dnn_target *target, const chip *c, const shape *s, int p, int t)
{
    char what[160];
    const cuda_convolution convolution = convolution_of(s, p);
    cuda_dnn_plan plan;
    snprintf(what, sizeof what, "%s, %s, %s, %s", c->name, patterns[p].name, s->name,
             types[t].name);
    err = (tfr_err)TFR_ERR_INIT;
    const int32_t status =
        cuda_dnn_plan_make(target, &convolution, types[t].dtype, types[t].mode, &plan, &err);
    if (types[t].dtype == TFR_DTYPE_BF16 && c->version < 800) {
        if (status != TFR_EUNSUPPORTED)
            CHECK_STR("no engine for bf16", what);
    } else if (status != TFR_OK) {
        CHECK_STR(what, err.text);
    } else {
        check_notes(plan.notes, t, what);
        check_whole(&plan, what);
        if (patterns[p].is_last)
            check_last(&plan, &convolution, t, what);
    }
    const bool uses_tensor_cores = status == TFR_OK && plan.notes & 1u << TFR_DNN_NOTE_TENSOR_CORE;
    cuda_dnn_plan_drop(&plan);
    return uses_tensor_cores;
}

/* What a choice among them is kept by: each is found again by its place. */
static void name_plans(const cuda_dnn_target *target, const cuda_convolution *convolution, int t,
                       const char *what)
{
    cuda_dnn_plans plans = {.most = CUDA_DNN_PLANS, .wants_engine = true};
    CHECK_OK(cuda_dnn_plans_make(target, convolution, types[t].dtype, types[t].mode, &plans, &err),
             &err);
    CHECK(plans.n >= 1 && plans.n <= CUDA_DNN_PLANS);
    for (int64_t i = 0; i < plans.n; i++) {
        const cuda_dnn_plan *plan = &plans.all[i];
        cuda_dnn_plans again = {.first = plan->number, .most = 1, .wants_engine = true};
        if (plan->engine < 0 || (i > 0 && plan->number <= plan[-1].number))
            CHECK_STR("a place and an engine", what);
        check_notes(plan->notes, t, what);
        CHECK_OK(
            cuda_dnn_plans_make(target, convolution, types[t].dtype, types[t].mode, &again, &err),
            &err);
        CHECK_INT(1, again.n);
        if (again.all[0].number != plan->number || again.all[0].engine != plan->engine ||
            again.all[0].notes != plan->notes ||
            again.all[0].workspace_bytes != plan->workspace_bytes)
            CHECK_STR("the same plan again", what);
        cuda_dnn_plan_drop(&again.all[0]);
    }
    for (int64_t i = 0; i < plans.n; i++)
        cuda_dnn_plan_drop(&plans.all[i]);
    printf("%s: %d plans\n", what, (int)plans.n);
}

TEST(each_of_several_plans_is_found_again)
{
    char why[256], what[160];
    if (!open_library(why, sizeof why))
        SKIP(why);
    cuda_dnn_target target = {NULL, describe(&hopper)};
    for (int p = 0; p < N_PATTERNS; p++)
        for (int t = 0; t < 3; t++) {
            cuda_convolution convolution = convolution_of(&shapes[0], p);
            const bool is_f32 = types[t].dtype == TFR_DTYPE_F32;
            if ((patterns[p].is_f32 && !is_f32) || (patterns[p].is_last && is_f32))
                continue;
            snprintf(what, sizeof what, "%s, %s", patterns[p].name, types[t].name);
            name_plans(&target, &convolution, t, what);
        }
    CHECK_UINT(0, cuda_dnn.cudnnBackendDestroyDescriptor(target.properties));
}

static void plan_all(const chip *c)
{
    char why[256];
    if (!open_library(why, sizeof why))
        SKIP(why);
    cuda_dnn_target target = {NULL, describe(c)};
    for (int p = 0; p < N_PATTERNS; p++)
        for (int t = 0; t < N_TYPES; t++) {
            int n = 0;
            const bool is_f32 = types[t].dtype == TFR_DTYPE_F32;
            const int n_shapes = patterns[p].is_last ? N_LAST + !is_f32 : N_SHAPES;
            const bool is_hopper = c->version >= 900 && types[t].mode == TFR_MATH_TF32;
            if ((patterns[p].is_f32 && !is_f32) || (patterns[p].is_last && is_f32 && !is_hopper))
                continue;
            for (int s = 0; s < n_shapes; s++)
                n += plan_one(&target, c, &shapes[s], p, t);
            printf("%s, %s, %s: %d of %d on tensor cores\n", c->name, patterns[p].name,
                   types[t].name, n, n_shapes);
        }
    CHECK_UINT(0, cuda_dnn.cudnnBackendDestroyDescriptor(target.properties));
}

TEST(turing_has_a_plan_for_each_convolution)
{
    plan_all(&turing);
}

TEST(ampere_has_a_plan_for_each_convolution)
{
    plan_all(&ampere);
}

TEST(chips_of_8_6_have_a_plan_for_each_convolution)
{
    plan_all(&ga102);
}

TEST(hopper_has_a_plan_for_each_convolution)
{
    plan_all(&hopper);
}

TEST(a_convolution_whose_dims_do_not_fit_is_refused_with_the_librarys_text)
{
    char why[256];
    cuda_convolution convolution = shapes[0].c;
    cuda_dnn_plan plan;
    if (!open_library(why, sizeof why))
        SKIP(why);
    cuda_dnn_target target = {NULL, describe(&hopper)};
    convolution.kind = CUDA_CONV_FORWARD;
    convolution.bias = convolution.addend = CUDA_NO_OPERAND;
    convolution.y_dims[3]++;
    CHECK_STATUS(
        TFR_EPLUGIN,
        cuda_dnn_plan_make(&target, &convolution, TFR_DTYPE_F32, TFR_MATH_STRICT, &plan, &err),
        &err);
    CHECK_CONTAINS("the graph of a convolution: cuDNN says CUDNN_STATUS_BAD_PARAM", err.text);
    CHECK(plan.plan == NULL);
    CHECK_UINT(0, cuda_dnn.cudnnBackendDestroyDescriptor(target.properties));
}

static const test_case cases[] = {
    CASE(turing_has_a_plan_for_each_convolution),
    CASE(ampere_has_a_plan_for_each_convolution),
    CASE(chips_of_8_6_have_a_plan_for_each_convolution),
    CASE(hopper_has_a_plan_for_each_convolution),
    CASE(each_of_several_plans_is_found_again),
    CASE(a_convolution_whose_dims_do_not_fit_is_refused_with_the_librarys_text),
};
TEST_MAIN(cases)
