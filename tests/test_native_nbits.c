/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products whose weights are a DequantizeLinear of integers of 4 or 8 bits in blocks: native's
 * programs read the integers, and agree with the reference node by node. And the ops of
 * com.microsoft with such weights, against the plugin that brings them.
 */
#include <math.h>

#include "session_kit.h"

enum { MOST_BYTES = 1 << 19 };

/* Of a product: [K, N] as MatMul reads it, [N, K] with a Transpose between, or as Gemm reads it. */
typedef enum form { STRAIGHT, TURNED, GEMM } form;

typedef struct weights {
    form form;
    tfr_dtype dtype;
    int64_t k, n, block;
    bool zeros, act, read_twice;
} weights;

static tfr_tensor *some_codes(tfr_dtype dtype, int32_t rank, const int64_t *dims)
{
    static uint8_t bytes[MOST_BYTES];
    uint32_t seed = 7, i;
    for (i = 0; i < sizeof bytes; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(seed >> 24);
    }
    return new_tensor(dtype, rank, dims, bytes);
}

static tfr_tensor *numbers(int32_t rank, const int64_t *dims, float low, float high)
{
    tfr_tensor *t = floats(rank, dims, NULL);
    uint32_t seed = 5;
    for (int64_t i = 0; i < tfr_tensor_elements(t); i++) {
        seed = seed * 1664525u + 1013904223u;
        ((float *)tfr_tensor_data(t))[i] = low + (high - low) * (float)(seed >> 8) / 16777216.0f;
    }
    return t;
}

static tfr_value constant(tfr_graph *graph, tfr_tensor *t)
{
    tfr_value v = TFR_VALUE_NONE;
    REQUIRE_OK(tfr_graph_add_constant(graph, NULL, t, &v, &err), &err);
    tfr_tensor_release(t);
    return v;
}

static tfr_value dequantize(tfr_graph *graph, const weights *w)
{
    const int64_t axis = w->form == STRAIGHT ? 0 : 1, blocks = (w->k + w->block - 1) / w->block;
    const int64_t dims[] = {axis ? w->n : w->k, axis ? w->k : w->n};
    const int64_t grid[] = {axis ? w->n : blocks, axis ? blocks : w->n};
    const tfr_attr attrs[] = {TFR_SET_INT("axis", axis), TFR_SET_INT("block_size", w->block)};
    tfr_value out = TFR_VALUE_NONE, in[3];
    tfr_node_desc node = {.size = sizeof node, .op = "DequantizeLinear", .inputs = in};
    in[0] = constant(graph, some_codes(w->dtype, 2, dims));
    in[1] = constant(graph, numbers(2, grid, 0.01f, 0.1f));
    node.n_inputs = 2;
    if (w->zeros)
        in[node.n_inputs++] = constant(graph, some_codes(w->dtype, 2, grid));
    node.n_outputs = 1;
    node.attrs = attrs;
    node.n_attrs = 2;
    REQUIRE_OK(tfr_graph_add_node(graph, &node, &out, &err), &err);
    return out;
}

static tfr_value product(tfr_graph *graph, const weights *w, tfr_value x, tfr_value right)
{
    const tfr_attr turned[] = {TFR_SET_INT("transB", 1)};
    const tfr_value in[] = {x, right};
    tfr_node_desc node = {.size = sizeof node, .op = "Gemm", .inputs = in, .n_inputs = 2};
    tfr_value out = TFR_VALUE_NONE;
    if (w->form == TURNED)
        right = unary(graph, "Transpose", right);
    if (w->form != GEMM)
        return binary(graph, "MatMul", x, right);
    node.n_outputs = 1;
    node.attrs = turned;
    node.n_attrs = 1;
    REQUIRE_OK(tfr_graph_add_node(graph, &node, &out, &err), &err);
    return out;
}

static tfr_graph *graph_of(const weights *w)
{
    tfr_value x, right, y;
    tfr_graph *graph = new_graph(1, &x);
    right = dequantize(graph, w);
    y = product(graph, w, x, right);
    if (w->act)
        y = unary(graph, "Relu",
                  binary(graph, "Add", y, constant(graph, numbers(1, &w->n, -1, 1))));
    output(graph, y);
    if (w->read_twice)
        output(graph, right);
    return graph;
}

static tfr_session *session_on(tfr_runtime *runtime, tfr_graph *graph, const char *device)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    options.device = device;
    if (strcmp(device, "naive:0") == 0) {
        options.passes = "none";
        options.no_programs = 1;
    }
    if (tfr_session_create(runtime, graph, &options, &session, &err) != TFR_OK)
        return NULL;
    return session;
}

static bool same(tfr_tensor *a, tfr_tensor *b)
{
    const float *x = tfr_tensor_data(a), *y = tfr_tensor_data(b);
    double most = 0, largest = 1e-30;
    for (int64_t i = 0; i < tfr_tensor_elements(a); i++) {
        most = fmax(most, fabs((double)x[i] - (double)y[i]));
        largest = fmax(largest, fabs((double)x[i]));
    }
    return tfr_shape_equal(tfr_tensor_shape(a), tfr_tensor_shape(b)) && most <= 1e-5 * largest;
}

static void check_rows(tfr_session *naive, tfr_session *native, const weights *w, int64_t rows)
{
    const int64_t dims[] = {rows, w->k};
    const uint32_t n = w->read_twice ? 2 : 1;
    tfr_tensor *x = numbers(2, dims, -1, 1), *want[2] = {0}, *got[2] = {0};
    REQUIRE_OK(tfr_session_run(naive, &x, 1, want, n, &err), &err);
    REQUIRE_OK(tfr_session_run(native, &x, 1, got, n, &err), &err);
    for (uint32_t i = 0; i < n; i++) {
        CHECK(same(want[i], got[i]));
        tfr_tensor_release(want[i]);
        tfr_tensor_release(got[i]);
    }
    tfr_tensor_release(x);
}

/* one: the whole graph is one program. */
static void check(const weights *w, bool one)
{
    static const int64_t rows[] = {1, 2, 3, 9, 80};
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = graph_of(w);
    tfr_session *naive = session_on(runtime, graph, "naive:0");
    tfr_session *native = session_on(runtime, graph, "native:0");
    if (!native) {
        tfr_session_destroy(naive);
        tfr_graph_release(graph);
        tfr_runtime_release(runtime);
        SKIP("there is no native backend");
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_rows(naive, native, w, rows[i]);
    if (one)
        CHECK_UINT(1, stats_of(native).n_launches);
    tfr_session_destroy(native);
    end_session(runtime, graph, naive, NULL);
}

TEST(integers_in_blocks_are_multiplied_as_they_are)
{
    static const tfr_dtype types[] = {TFR_DTYPE_I4, TFR_DTYPE_U4, TFR_DTYPE_I8, TFR_DTYPE_U8};
    for (int i = 0; i < 4; i++)
        for (int f = STRAIGHT; f <= GEMM; f++) {
            const weights w = {.form = (form)f, .dtype = types[i], .k = 96, .n = 40, .block = 32};
            const weights odd = {.form = (form)f,
                                 .dtype = types[i],
                                 .k = 150,
                                 .n = 33,
                                 .block = 64,
                                 .zeros = true,
                                 .act = true};
            check(&w, true);
            check(&odd, true);
        }
}

TEST(many_rows_share_packed_panels)
{
    const weights w = {.form = TURNED,
                       .dtype = TFR_DTYPE_U4,
                       .k = 1100,
                       .n = 600,
                       .block = 32,
                       .zeros = true,
                       .act = true};
    check(&w, true);
}

TEST(blocks_that_are_not_packed_are_made_floats)
{
    const weights w = {.dtype = TFR_DTYPE_I4, .k = 60, .n = 20, .block = 12, .zeros = true};
    check(&w, false);
}

TEST(weights_that_are_read_as_floats_are_made_floats)
{
    const weights w = {.dtype = TFR_DTYPE_U4, .k = 64, .n = 20, .block = 32, .read_twice = true};
    check(&w, false);
}

/* ---- ops of com.microsoft, where a plugin brings them ---------------------------------------- */

/* The only node of a graph, its input 0 or 1 the graph's; false: nobody brings the op. */
static bool compare_node(const tfr_node_desc *node, tfr_runtime *runtime, tfr_graph *graph,
                         tfr_tensor **x, uint32_t n)
{
    tfr_value y = TFR_VALUE_NONE;
    tfr_session *reference, *native;
    if (tfr_graph_add_node(graph, node, &y, &err) != TFR_OK)
        return false;
    output(graph, y);
    reference = session_on(runtime, graph, "com-microsoft:0");
    native = session_on(runtime, graph, "native:0");
    REQUIRE(reference != NULL);
    for (uint32_t i = 0; native && i < n; i++) {
        tfr_tensor *want = NULL, *got = NULL;
        REQUIRE_OK(tfr_session_run(reference, &x[i], 1, &want, 1, &err), &err);
        REQUIRE_OK(tfr_session_run(native, &x[i], 1, &got, 1, &err), &err);
        CHECK(same(want, got));
        CHECK_STR("native:0", row_of(native, 0).backend);
        tfr_tensor_release(want);
        tfr_tensor_release(got);
    }
    tfr_session_destroy(reference);
    tfr_session_destroy(native);
    return native != NULL;
}

/* zeros: 0 none, 1 packed, 2 floats */
static bool check_nbits(int64_t bits, int64_t block, int64_t k, int64_t n, int zeros, bool bias)
{
    static const int64_t rows[] = {1, 2, 5, 20};
    const int64_t blocks = (k + block - 1) / block, per = (blocks * bits + 7) / 8;
    const tfr_attr attrs[] = {TFR_SET_INT("K", k), TFR_SET_INT("N", n), TFR_SET_INT("bits", bits),
                              TFR_SET_INT("block_size", block)};
    tfr_runtime *runtime = new_runtime();
    tfr_value in[6] = {TFR_VALUE_NONE, 0, 0, TFR_VALUE_NONE, TFR_VALUE_NONE, TFR_VALUE_NONE};
    tfr_graph *graph = new_graph(1, in);
    const tfr_node_desc node = {.size = sizeof node,
                                .domain = "com.microsoft",
                                .op = "MatMulNBits",
                                .n_inputs = 6,
                                .inputs = in,
                                .n_outputs = 1,
                                .n_attrs = 4,
                                .attrs = attrs};
    tfr_tensor *x[4];
    bool there;
    in[1] = constant(graph,
                     some_codes(TFR_DTYPE_U8, 3, (const int64_t[]){n, blocks, block * bits / 8}));
    in[2] = constant(graph, numbers(1, (const int64_t[]){n * blocks}, 0.01f, 0.1f));
    if (zeros == 1)
        in[3] = constant(graph, some_codes(TFR_DTYPE_U8, 1, (const int64_t[]){n * per}));
    if (zeros == 2)
        in[3] = constant(graph, numbers(1, (const int64_t[]){n * blocks}, 1, 9));
    if (bias)
        in[5] = constant(graph, numbers(1, &n, -1, 1));
    for (int i = 0; i < 4; i++)
        x[i] = numbers(2, (const int64_t[]){rows[i], k}, -1, 1);
    there = compare_node(&node, runtime, graph, x, 4);
    for (int i = 0; i < 4; i++)
        tfr_tensor_release(x[i]);
    end_session(runtime, graph, NULL, NULL);
    return there;
}

TEST(products_of_com_microsoft_agree_with_its_reference)
{
    for (int64_t bits = 4; bits <= 8; bits += 4)
        for (int zeros = 0; zeros < 3; zeros++)
            for (int64_t block = 16; block <= 256; block *= 4)
                if (!check_nbits(bits, block, 300, 37, zeros, zeros == 1))
                    SKIP("there is no native backend, or nobody brings MatMulNBits");
}

/* A table of 9 rows, of two rows each. */
static bool check_gather(tfr_dtype dtype, int64_t bits, bool zeros)
{
    static const int64_t indices[] = {3, -1, 8, 99};
    const bool packed = dtype == TFR_DTYPE_U8;
    const int64_t per = packed ? 8 / bits : 1, length = 72, blocks = 5;
    const tfr_attr attrs[] = {TFR_SET_INT("bits", bits), TFR_SET_INT("block_size", 16),
                              TFR_SET_INT("quantize_axis", -1)};
    tfr_runtime *runtime = new_runtime();
    tfr_value in[4], given;
    tfr_graph *graph = new_graph(1, &given);
    const tfr_node_desc node = {.size = sizeof node,
                                .domain = "com.microsoft",
                                .op = "GatherBlockQuantized",
                                .n_inputs = zeros ? 4 : 3,
                                .inputs = in,
                                .n_outputs = 1,
                                .n_attrs = 3,
                                .attrs = attrs};
    tfr_tensor *x = new_tensor(TFR_DTYPE_I64, 1, (const int64_t[]){4}, indices);
    bool there;
    in[0] = constant(graph, some_codes(dtype, 3, (const int64_t[]){9, 2, length / per}));
    in[1] = given;
    in[2] = constant(graph, numbers(3, (const int64_t[]){9, 2, blocks}, 0.01f, 0.1f));
    if (zeros)
        in[3] = constant(graph,
                         some_codes(dtype, 3, (const int64_t[]){9, 2, (blocks + per - 1) / per}));
    there = compare_node(&node, runtime, graph, &x, 1);
    tfr_tensor_release(x);
    end_session(runtime, graph, NULL, NULL);
    return there;
}

TEST(rows_of_quantized_tables_agree_with_their_reference)
{
    for (int zeros = 0; zeros < 2; zeros++)
        if (!check_gather(TFR_DTYPE_U8, 4, zeros) || !check_gather(TFR_DTYPE_U8, 8, zeros) ||
            !check_gather(TFR_DTYPE_U4, 4, zeros) || !check_gather(TFR_DTYPE_I4, 4, zeros))
            SKIP("there is no native backend, or nobody brings GatherBlockQuantized");
}

static const test_case cases[] = {
    CASE(integers_in_blocks_are_multiplied_as_they_are),
    CASE(many_rows_share_packed_panels),
    CASE(blocks_that_are_not_packed_are_made_floats),
    CASE(weights_that_are_read_as_floats_are_made_floats),
    CASE(products_of_com_microsoft_agree_with_its_reference),
    CASE(rows_of_quantized_tables_agree_with_their_reference),
};

TEST_MAIN(cases)
