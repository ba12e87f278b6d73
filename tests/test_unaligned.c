/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constants that lie at odd addresses, as in most models' files: each backend computes the same
 * bits with them as with aligned ones, with and without programs and passes.
 */
#include "graph_text.h"
#include "device/runtime.h"

static tfr_err err = TFR_ERR_INIT;

static tfr_tensor *run(tfr_runtime *runtime, const char *text, const tfr_session_options *options)
{
    tfr_graph *graph = graph_of_text(text);
    tfr_value_type type = *tfr_graph_value_type(graph, tfr_graph_input(graph, 0));
    tfr_shape shape = {type.rank, {0}};
    tfr_session *session = NULL;
    tfr_tensor *in, *out = NULL;
    memcpy(shape.dims, type.dims, sizeof shape.dims);
    in = random_floats(&shape, 5, -1, 1);
    REQUIRE_OK(tfr_session_create(runtime, graph, options, &session, &err), &err);
    CHECK_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    tfr_session_destroy(session);
    tfr_tensor_release(in);
    tfr_graph_release(graph);
    REQUIRE(out != NULL);
    return out;
}

/* False: there is no such device. */
static bool check_on(const char *device, const char *text)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_runtime *runtime = NULL;
    uint32_t found;
    int32_t backend;
    bool there;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    there = !tfr_runtime_find(runtime, device, &found, &backend, &err);
    options.device = device;
    for (int way = 0; there && way < 3; way++) {
        tfr_tensor *expected, *obtained;
        options.no_programs = way == 1;
        options.passes = way == 2 ? "none" : NULL;
        graph_text_loose = false;
        expected = run(runtime, text, &options);
        graph_text_loose = true;
        obtained = run(runtime, text, &options);
        CHECK_UINT(tfr_tensor_bytes(expected), tfr_tensor_bytes(obtained));
        CHECK(memcmp(tfr_tensor_data(expected), tfr_tensor_data(obtained),
                     tfr_tensor_bytes(expected)) == 0);
        tfr_tensor_release(expected);
        tfr_tensor_release(obtained);
    }
    tfr_runtime_release(runtime);
    return there;
}

static void check(const char *text)
{
    static const char *const backends[] = {"naive:0", "native:0", "onednn:0"};
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++)
        if (!check_on(backends[i], text))
            printf("  there is no %s\n", backends[i]);
}

TEST(products_read_weights_at_any_address)
{
    check("in x 64 300; const w 300 200; const b 200; const v 200 170; const u 90 170; const c 90;"
          "out Gemm{transB=1}(MatMul(Relu(Gemm(x,w,b)),v),u,c)");
    check("in x 20 1; const w 7 12; const b 12; i = Cast{to=7}(Mul(x,9));"
          "out Tanh(Add(MatMul(Cast{to=1}(Equal(i,[0,1,2,3,4,5,6])),w),b))");
    check("in x 8 256; const e 300 256; const w 256 256; const b 256;"
          "out MatMul(x,Transpose{perm=1,0}(Add(MatMul(e,Mul(w,0.001)),b)))");
    check("in x 3 300; const w 300 20; const v 20 17; out MatMul(Gemm{alpha=0.5}(x,w),v)");
}

TEST(convolutions_read_weights_at_any_address)
{
    check("in x 1 3 19 17; const w 20 3 7 7; const b 20; const v 33 20 3 3; const u 33 1 3 3;"
          "y = Relu(Conv{pads=3,3,3,3;strides=2,2}(x,w,b));"
          "out Conv{group=33;pads=1,1,1,1}(Relu(Conv{pads=1,1,1,1}(y,v)),u)");
    check("in x 2 16 8 8; const w 48 16 3 3; const s 48; const t 48; const m 48; const z 48;"
          "out BatchNormalization(Conv{pads=1,1,1,1}(x,w),s,t,m,z)");
    check("in x 1 16 9 9; const w 16 16 3 3; const v 16 16 1 1; const b 16; const f 16 1 1;"
          "y = Relu(Add(Conv{pads=1,1,1,1}(x,w),Conv(x,v,b)));"
          "out Add(Mul(Conv{pads=1,1,1,1}(y,w,b),f),Conv(y,v))");
    check("in x 1 16 9 9; const w 16 16 3 3; const b 16; const s 16; const t 16; const m 16;"
          "const z 16; y = Conv{pads=1,1,1,1}(x,w,b);"
          "out Relu(BatchNormalization(Add(BatchNormalization(y,s,t,m,z),y),s,t,m,z))");
}

TEST(rows_read_constants_at_any_address)
{
    check("in x 2 7 48; const p 7 48; const s 48; const t 48; const q 48 7;"
          "a = Add(x,Transpose{perm=1,0}(q)); b = Mul(a,Reshape(p,[1,7,48]));"
          "out LayerNormalization{axis=-1}(b,s,t)");
}

TEST(other_kernels_read_constants_at_any_address)
{
    check("in x 2 3; const w 5 3; const p 1; out PRelu(Concat{axis=0}(x,w,Neg(w)),p)");
    check("in x 2 3; const w 5 3; out Add(Mul(ReduceSum(x),0),Softmax{axis=-1}(w))");
    check("in x 2 3; const w 5 3; out Relu(Gather(w,Cast{to=7}(Mul(x,4))))");
}

TEST(a_constant_at_any_address_can_be_an_output)
{
    check("in x 2 3; const w 5 3; y = Relu(x); out w");
}

TEST(packed_constants_are_told_to_rest)
{
    graph_text_rests = 0;
    if (!check_on("native:0", "in x 64 300; const w 300 400; out MatMul(Relu(x),w)"))
        SKIP("there is no native backend");
    CHECK(graph_text_rests > 0);
}

/* Loop of 9 trips: h = h w, with w handed on from trip to trip. */
static tfr_graph *carry_weight(void)
{
    graph_text g = {0};
    tfr_graph *body;
    tfr_value formals[4], product, outs[2];
    REQUIRE_OK(tfr_graph_create("test", &g.graph, &err), &err);
    graph_text_more(&g, "in x 1 8; const w 8 8; n = [9]");
    REQUIRE_OK(tfr_graph_create_child(g.graph, "body", &body, &err), &err);
    for (int i = 0; i < 4; i++)
        REQUIRE_OK(tfr_graph_add_input(body, NULL, NULL, &formals[i], &err), &err);
    const tfr_node_desc matmul = {.size = sizeof matmul,
                                  .op = "MatMul",
                                  .inputs = formals + 2,
                                  .n_inputs = 2,
                                  .n_outputs = 1};
    REQUIRE_OK(tfr_graph_add_node(body, &matmul, &product, &err), &err);
    REQUIRE_OK(tfr_graph_add_output(body, formals[1], NULL, &err), &err);
    REQUIRE_OK(tfr_graph_add_output(body, product, NULL, &err), &err);
    REQUIRE_OK(tfr_graph_add_output(body, formals[3], NULL, &err), &err);
    const tfr_value in[] = {g.names[2].value, TFR_VALUE_NONE, g.names[0].value, g.names[1].value};
    const tfr_subgraph sub = {.name = "body", .graph = body};
    const tfr_node_desc loop = {.size = sizeof loop,
                                .op = "Loop",
                                .inputs = in,
                                .n_inputs = 4,
                                .n_outputs = 2,
                                .n_subgraphs = 1,
                                .subgraphs = &sub};
    REQUIRE_OK(tfr_graph_add_node(g.graph, &loop, outs, &err), &err);
    REQUIRE_OK(tfr_graph_add_output(g.graph, outs[0], "y", &err), &err);
    return g.graph;
}

TEST(a_loop_does_not_copy_a_weight_at_an_odd_address_in_each_trip)
{
    const tfr_shape shape = {2, {1, 8}};
    tfr_runtime *runtime = NULL;
    tfr_session *session = NULL;
    tfr_tensor *in = random_floats(&shape, 5, -1, 1), *out = NULL;
    tfr_trace_event event = {.size = sizeof event};
    tfr_graph *graph;
    int n_reorders = 0, n_launches = 0;
    graph_text_loose = true;
    graph = carry_weight();
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    REQUIRE_OK(tfr_session_create(runtime, graph, NULL, &session, &err), &err);
    REQUIRE_OK(tfr_trace_start(session, 0, &err), &err);
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    tfr_trace_stop(session);
    for (uint32_t i = 0; i < tfr_trace_count(session, NULL); i++) {
        REQUIRE_OK(tfr_trace_get(session, i, &event, &err), &err);
        n_reorders += event.kind == TFR_TRACE_REORDER;
        n_launches += event.kind == TFR_TRACE_KERNEL || event.kind == TFR_TRACE_PROGRAM;
    }
    CHECK_INT(9, n_launches);
    CHECK_INT(0, n_reorders);
    tfr_session_destroy(session);
    tfr_tensor_release(in);
    tfr_tensor_release(out);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* ---- a backend that does not take them ---- */

static tfr_kernel_facet real_kernel;
static tfr_program_facet real_program;
static int n_seen, n_unaligned;

static void see(const tfr_operand *o)
{
    if (!o || !o->data)
        return;
    n_seen++;
    n_unaligned += (o->flags & TFR_OPERAND_UNALIGNED) || (uintptr_t)o->data % sizeof(float) != 0;
}

static int32_t supports(tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer,
                        tfr_err *e)
{
    for (uint32_t i = 0; i < call->n_inputs; i++)
        see(tfr_call_input(call, i));
    return real_kernel.supports(device, call, answer, e);
}

static int32_t compile(tfr_plugin_device *device, const tfr_program_graph *graph,
                       const tfr_compile_options *options, tfr_program **out,
                       tfr_program_output *outputs, uint32_t stride, tfr_program_info *info,
                       tfr_err *e)
{
    const char *values = (const char *)graph->values, *nodes = (const char *)graph->nodes;
    for (uint32_t i = 0; i < graph->n_values; i++)
        see(((const tfr_program_value *)(const void *)(values + (size_t)i * graph->value_stride))
                ->operand);
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const tfr_program_node *node =
            (const tfr_program_node *)(const void *)(nodes + (size_t)i * graph->node_stride);
        for (uint32_t k = 0; k < node->call->n_inputs; k++)
            see(tfr_call_input(node->call, k));
    }
    return real_program.compile(device, graph, options, out, outputs, stride, info, e);
}

TEST(a_backend_that_does_not_say_so_sees_aligned_data_only)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_runtime *runtime = NULL;
    tfr__backend *backend;
    uint32_t device;
    int32_t k;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    if (tfr_runtime_find(runtime, "native:0", &device, &k, &err)) {
        tfr_runtime_release(runtime);
        SKIP("there is no native backend");
    }
    backend = &runtime->devices[device].backends[k];
    REQUIRE_OK(tfr__backend_open(runtime, backend, &err), &err);
    real_kernel = backend->kernel;
    real_program = backend->program;
    backend->kernel.flags = 0;
    backend->kernel.supports = supports;
    backend->program.compile = compile;
    options.device = "native:0";
    graph_text_loose = true;
    tfr_tensor_release(run(runtime,
                           "in x 64 300; const w 300 200; const b 200; const v 200 170;"
                           "out MatMul(Relu(Gemm(x,w,b)),v)",
                           &options));
    CHECK(n_seen > 0);
    CHECK_INT(0, n_unaligned);
    tfr_runtime_release(runtime);
}

static const test_case cases[] = {
    CASE(products_read_weights_at_any_address),
    CASE(convolutions_read_weights_at_any_address),
    CASE(rows_read_constants_at_any_address),
    CASE(other_kernels_read_constants_at_any_address),
    CASE(a_constant_at_any_address_can_be_an_output),
    CASE(packed_constants_are_told_to_rest),
    CASE(a_loop_does_not_copy_a_weight_at_an_odd_address_in_each_trip),
    CASE(a_backend_that_does_not_say_so_sees_aligned_data_only),
};
TEST_MAIN(cases)
