/* SPDX-License-Identifier: Apache-2.0 */
/*
 * However the native backend shares a program out among threads, its results have the same bits:
 * each way is forced by the blob that compile takes, in whose place nobody else passes any.
 */
#include "graph_text.h"
#include "device/runtime.h"

enum { BATCH = 16 };

/* As in plugins/cpu-native/program.h. */
typedef struct choice {
    uint32_t magic, threads;
    int64_t samples; /* of a unit; 0 = threads share the steps */
    int64_t segmented;
} choice;

static tfr_err err = TFR_ERR_INIT;
static tfr_program_facet real;
static choice wanted, obtained;
static bool is_forced;
static uint32_t n_compiled, n_segmented;

static int32_t compile(tfr_plugin_device *device, const tfr_program_graph *graph,
                       const tfr_compile_options *options, tfr_program **out,
                       tfr_program_output *outputs, uint32_t stride, tfr_program_info *info,
                       tfr_err *e)
{
    tfr_compile_options forced = *options;
    uint64_t n = sizeof obtained;
    int32_t status;
    if (is_forced) {
        forced.blob = &wanted;
        forced.blob_bytes = sizeof wanted;
    }
    status = real.compile(device, graph, &forced, out, outputs, stride, info, e);
    if (!status)
        status = real.save(device, *out, &obtained, &n, e);
    CHECK_UINT(sizeof obtained, n);
    n_compiled++;
    n_segmented += !status && strstr(info->text, " segments ");
    return status;
}

/* NULL = there is no native backend. */
static tfr_runtime *new_runtime(void)
{
    tfr_runtime *runtime = NULL;
    tfr__backend *backend;
    uint32_t device;
    int32_t k;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    if (tfr_runtime_find(runtime, "native:0", &device, &k, &err) ||
        tfr__backend_open(runtime, &runtime->devices[device].backends[k], &err)) {
        tfr_runtime_release(runtime);
        return NULL;
    }
    backend = &runtime->devices[device].backends[k];
    real = backend->program;
    backend->program.compile = compile;
    return runtime;
}

static tfr_tensor *run(tfr_runtime *runtime, tfr_graph *graph)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_value_type type = *tfr_graph_value_type(graph, tfr_graph_input(graph, 0));
    tfr_shape shape = {type.rank, {0}};
    tfr_session *session = NULL;
    tfr_tensor *in, *out = NULL;
    for (int32_t k = 0; k < type.rank; k++)
        shape.dims[k] = type.dims[k] < 0 ? BATCH : type.dims[k];
    in = random_floats(&shape, 5, -1, 1);
    options.device = "native:0";
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    CHECK_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    tfr_session_destroy(session);
    tfr_tensor_release(in);
    REQUIRE(out != NULL);
    return out;
}

/* What is chosen by measuring, and then each way. */
static void check(const char *text)
{
    static const struct {
        int64_t samples, segmented;
    } ways[] = {{0, 0}, {1, 0}, {2, 0}, {4, 0}, {8, 0}, {2, 1}, {4, 1}, {8, 1}};
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph;
    tfr_tensor *expected;
    if (!runtime)
        SKIP("there is no native backend");
    graph = graph_of_text(text);
    is_forced = false;
    n_compiled = n_segmented = 0;
    expected = run(runtime, graph);
    for (size_t i = 0; n_compiled && i < sizeof ways / sizeof ways[0]; i++) {
        tfr_tensor *forced;
        is_forced = true;
        wanted = obtained;
        wanted.samples = ways[i].samples;
        wanted.segmented = ways[i].segmented;
        if (wanted.samples && BATCH / wanted.samples < wanted.threads)
            continue;
        forced = run(runtime, graph);
        CHECK_INT(ways[i].samples, obtained.samples);
        CHECK_INT(ways[i].segmented, obtained.segmented);
        CHECK(memcmp(tfr_tensor_data(expected), tfr_tensor_data(forced),
                     tfr_tensor_bytes(expected)) == 0);
        tfr_tensor_release(forced);
    }
    if (n_compiled == 0)
        printf("  no programs on this processor\n");
    tfr_tensor_release(expected);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(convolutions_have_the_same_bits)
{
    check("in x ? 3 19 17; const w 20 3 7 7; const b 20; const v 33 20 3 3; const u 33 33 3 3;"
          "y = Relu(Conv{pads=3,3,3,3;strides=2,2}(x,w,b));"
          "z = Relu(Conv{pads=1,1,1,1}(y,v)); out Relu(Add(Conv{pads=1,1,1,1}(z,u),z))");
    check("in x ? 256 2 2; const w 512 256 3 3; const v 64 512 1 1; y = Relu(x);"
          "out Conv(Conv{pads=1,1,1,1}(y,w),v)");
    check("in x ? 1 28 28; const w 16 1 3 3; const b 16; const v 32 16 3 3;"
          "y = MaxPool{kernel_shape=2,2;strides=2,2}(Relu(Conv(x,w,b)));"
          "out MaxPool{kernel_shape=2,2;strides=2,2}(Relu(Conv(y,v)))");
    check("in x ? 64 14 14; const w 64 64 3 3; const v 64 64 3 3; y = Relu(x);"
          "out Conv{pads=1,1,1,1}(Relu(Conv{pads=1,1,1,1}(y,w)),v)");
}

TEST(windows_and_products_have_the_same_bits)
{
    check("in x ? 16 12 11; const w 40 16 1 1; const d 40 1 3 3; const e 40; const v 24 40 1 1;"
          "const g 24 10; const b 10; a = Clip(Conv(x,w),0,6);"
          "c = Clip(Conv{group=40;pads=1,1,1,1}(a,d,e),0,6);"
          "y = MaxPool{kernel_shape=3,3;strides=2,2;pads=1,1,1,1}(Conv(c,v));"
          "out Softmax{axis=-1}(Gemm(Flatten(GlobalAveragePool(y)),g,b))");
    check("in x ? 16 57 40; const w 72 16 1 1; const d 72 1 3 3; const e 72; a = Relu(Conv(x,w));"
          "out Relu(Conv{group=72;strides=2,2;pads=1,1,1,1}(a,d,e))");
    check("in x ? 1030; const w 1030 517; const b 517; const v 517 1024; const u 1024 64;"
          "out Gemm(Tanh(Gemm(Relu(Gemm(x,w,b)),v)),u)");
}

TEST(rows_and_attention_have_the_same_bits)
{
    check("in x ? 7; const w 9 16; i = Cast{to=7}(Mul(x,8)); y = Relu(Gather(w,i));"
          "out Gelu(Gather{axis=1}(y,[3,0]))");
    check("in x ? 7 48; const w 48 65; const b 65; const v 65 48; const s 48; const t 48;"
          "h = Add(MatMul(x,w),b); g = Mul(Mul(h,Add(Erf(Div(h,1.4142135)),1)),0.5);"
          "out LayerNormalization{axis=-1}(Add(MatMul(g,v),x),s,t)");
    check("in x ? 48 64; const q 64 64; const k 64 64; const m 1 1 48 48;"
          "a = Transpose{perm=0,2,1,3}(Reshape(MatMul(x,q),[0,48,4,16]));"
          "b = Transpose{perm=0,2,3,1}(Reshape(MatMul(x,k),[0,48,4,16]));"
          "s = Softmax(Add(Mul(MatMul(a,b),0.01),m)); z = Transpose{perm=0,2,1,3}(MatMul(s,a));"
          "out Reshape(z,[0,48,64])");
    check("in x ? 16 64; const q 64 64; const k 64 64; const v 64 64; const o 64 64;"
          "a = Transpose{perm=0,2,1,3}(Reshape(MatMul(x,q),[0,16,4,16]));"
          "b = Transpose{perm=0,2,3,1}(Reshape(MatMul(x,k),[0,16,4,16]));"
          "c = Transpose{perm=0,2,1,3}(Reshape(MatMul(x,v),[0,16,4,16]));"
          "s = Softmax{axis=-1}(Mul(MatMul(a,b),0.01));"
          "y = Reshape(Transpose{perm=0,2,1,3}(MatMul(s,c)),[0,16,64]); out Add(x,MatMul(y,o))");
}

/* Large images at first, and then matrices that are larger than these. */
TEST(samples_that_part_and_meet_have_the_same_bits)
{
    check("in x ? 16 96 80; const w 16 16 3 3; const d 16 1 3 3; const v 512 16 5 5; const b 512;"
          "const u 512 512 1 1; const s 32 512 1 1; const t 512 32 1 1; const g 512 700;"
          "y = Relu(Conv{pads=1,1,1,1}(x,w)); z = Add(Conv{pads=1,1,1,1;group=16}(y,d),x);"
          "p = MaxPool{kernel_shape=4,4;strides=4,4}(z);"
          "q = Relu(Conv{pads=2,2,2,2;strides=4,4}(p,v,b)); r = Conv(q,u);"
          "e = Sigmoid(Conv(Relu(Conv(GlobalAveragePool(r),s)),t)); h = Add(Mul(r,e),q);"
          "out Gemm(Flatten(GlobalAveragePool(h)),g)");
    CHECK(n_compiled == 0 || n_segmented > 0);
}

static const test_case cases[] = {
    CASE(convolutions_have_the_same_bits),
    CASE(windows_and_products_have_the_same_bits),
    CASE(rows_and_attention_have_the_same_bits),
    CASE(samples_that_part_and_meet_have_the_same_bits),
};
TEST_MAIN(cases)
