/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_quantized_kit.h: models between DequantizeLinear and QuantizeLinear, as quantizers write
 * them, in programs of the native backend against the reference backend node by node.
 * tests/native_programs.sh runs such tests once more for each instruction set that this machine
 * has.
 *
 * The reference rounds to float32 after each node, programs round fewer times: where a value lies
 * at a tie of the last quantization, they may differ by one step of it.
 */
#ifndef TFR_TESTS_NATIVE_QUANTIZED_KIT_H
#define TFR_TESTS_NATIVE_QUANTIZED_KIT_H

#include <math.h>

#include "graph_text.h"

static tfr_err err = TFR_ERR_INIT;

/* Quantizes weights for each output, or all; with a zero point of 3 in uint8; matrices; biases. */
#define WEIGHTS_BY_CHANNEL(name, w)                                                                \
    name "s = Mul(" name "t,.004); " name                                                          \
         " = DequantizeLinear{axis=0}(QuantizeLinear{axis=0;output_dtype=3}(Sub(" w ",1)," name    \
         "s)," name "s);"
#define WEIGHTS(name, w)                                                                           \
    name " = DequantizeLinear(QuantizeLinear{output_dtype=3}(Sub(" w                               \
         ",1),.004,-),.004,Cast{to=3}(0));"
#define WEIGHTS_U8(name, w)                                                                        \
    name " = DequantizeLinear(QuantizeLinear(Sub(" w ",1),.005,Cast{to=2}(117)),.005,"             \
         "Cast{to=2}(117));"
#define BIAS(name, b, scale)                                                                       \
    name " = DequantizeLinear(Cast{to=6}(Mul(Sub(" b ",1),900))," scale ");"
/* Quantizes and dequantizes a value. */
#define U8(name, x, scale, zero)                                                                   \
    name " = DequantizeLinear(QuantizeLinear(" x "," scale ",Cast{to=2}(" zero "))," scale         \
         ",Cast{to=2}(" zero "));"
#define S8(name, x, scale, zero)                                                                   \
    name " = DequantizeLinear(QuantizeLinear(" x "," scale ",Cast{to=3}(" zero "))," scale         \
         ",Cast{to=3}(" zero "));"

static inline tfr_session *new_session(tfr_runtime *runtime, tfr_graph *graph, const char *device)
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

static inline tfr_tensor *run(tfr_session *session, tfr_graph *graph, int64_t batch)
{
    tfr_tensor *in = random_input(graph, 0, batch, 11, -1, 1), *out = NULL;
    CHECK_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    tfr_tensor_release(in);
    REQUIRE(out != NULL);
    return out;
}

/* Elements that differ at all; none by more than a step. */
static inline int64_t count_differences(const tfr_tensor *expected, const tfr_tensor *obtained,
                                        float step)
{
    const float *x = tfr_tensor_data((tfr_tensor *)expected);
    const float *y = tfr_tensor_data((tfr_tensor *)obtained);
    int64_t n = 0;
    bool varies = false;
    REQUIRE(tfr_shape_equal(tfr_tensor_shape(expected), tfr_tensor_shape(obtained)));
    for (int64_t i = 0; i < tfr_tensor_elements(expected); i++) {
        CHECK(fabsf(x[i] - y[i]) <= step * 1.0001f);
        n += x[i] != y[i];
        varies = varies || x[i] != x[0];
    }
    CHECK(varies);
    return n;
}

/*
 * The graph makes what the reference makes, but for a step in one of `part` elements, in one
 * program of at most so many kernels; twice the same bits.
 */
static inline void check_graph(tfr_graph *graph, const char *text, float step, uint32_t kernels,
                               int64_t part)
{
    static const int64_t batches[] = {1, 3};
    tfr_runtime *runtime = NULL;
    tfr_session *naive, *native;
    tfr_program_desc program = {.size = sizeof program};
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    naive = new_session(runtime, graph, "naive:0");
    REQUIRE(naive != NULL);
    native = new_session(runtime, graph, "native:0");
    if (!native) {
        tfr_session_destroy(naive);
        tfr_graph_release(graph);
        tfr_runtime_release(runtime);
        SKIP("there is no native backend");
    }
    for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++) {
        tfr_tensor *expected = run(naive, graph, batches[i]);
        tfr_tensor *obtained = run(native, graph, batches[i]), *again;
        again = run(native, graph, batches[i]);
        CHECK(count_differences(expected, obtained, step) * part <= tfr_tensor_elements(expected));
        CHECK_MEM(tfr_tensor_data(obtained), tfr_tensor_data(again), tfr_tensor_bytes(again));
        tfr_tensor_release(expected);
        tfr_tensor_release(obtained);
        tfr_tensor_release(again);
        REQUIRE(tfr_session_n_programs(native) == 1);
        CHECK_OK(tfr_session_program(native, 0, &program, &err), &err);
        if (program.n_kernels > kernels)
            printf("%s: %u kernels: %s\n", text, program.n_kernels, program.text);
        CHECK(program.n_kernels <= kernels);
    }
    tfr_session_destroy(native);
    tfr_session_destroy(naive);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* The last step is a quantization. */
static inline void check(const char *text, float step, uint32_t kernels)
{
    check_graph(graph_of_text(text), text, step, kernels, 200);
}

/* It is one of float32. */
static inline void check_floats(const char *text, float bound, uint32_t kernels)
{
    check_graph(graph_of_text(text), text, bound, kernels, 1);
}

#endif
