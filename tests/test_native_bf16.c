/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Training in the math mode bf16 on the native backend: convolutions of computed weights and their
 * gradients stay within the mode's bound around the reference, and steps have the same bits
 * whatever the units. Where the processor has no products of bfloat16 they are those of strict;
 * tests/native_programs.sh hides them, and says so.
 */
#include "native_train_kit.h"

#include <stdlib.h>

/* ---- single operators ---- */

enum { ATTRS = 3 };

typedef struct shape {
    int64_t n, ins, outs, height, width, kernel[2], stride, dilation, pad[4];
} shape;

static const shape shapes[] = {
    {3, 32, 64, 13, 13, {3, 3}, 1, 1, {0, 0, 0, 0}}, /* no padding, rows of other widths */
    {5, 64, 64, 5, 5, {3, 3}, 1, 1, {0, 0, 0, 0}},   /* images of less than a tile */
    {2, 16, 48, 9, 7, {3, 3}, 1, 1, {1, 1, 1, 1}},
    {2, 33, 17, 8, 11, {1, 1}, 1, 1, {0, 0, 0, 0}},
    {3, 20, 70, 10, 9, {3, 3}, 2, 1, {1, 1, 1, 1}},
    {1, 40, 16, 12, 12, {5, 3}, 1, 1, {2, 0, 1, 2}},
    {2, 32, 32, 11, 14, {3, 2}, 1, 2, {2, 1, 2, 1}},
    {2, 32, 24, 8, 8, {1, 1}, 2, 1, {0, 0, 0, 0}},
    {1, 64, 33, 17, 16, {3, 3}, 2, 1, {0, 0, 1, 1}},
    {2, 16, 16, 15, 15, {3, 3}, 3, 1, {1, 1, 0, 0}},
};
enum { N_SHAPES = sizeof shapes / sizeof shapes[0] };

static int64_t out_dim(const shape *s, int axis)
{
    const int64_t size = axis ? s->width : s->height;
    return (size + s->pad[axis] + s->pad[2 + axis] - s->dilation * (s->kernel[axis] - 1) - 1) /
               s->stride +
           1;
}

static void add_window(const shape *s, tfr_attr *attrs, int64_t values[][4])
{
    static const char *const names[ATTRS] = {"strides", "dilations", "pads"};
    const int64_t all[ATTRS][4] = {{s->stride, s->stride}, {s->dilation, s->dilation}};
    for (int i = 0; i < ATTRS; i++) {
        memcpy(values[i], i == 2 ? s->pad : all[i], sizeof values[i]);
        attrs[i] = (tfr_attr){.size = sizeof attrs[i],
                              .name = names[i],
                              .type = TFR_ATTR_INTS,
                              .ints = values[i],
                              .n = i == 2 ? 4 : 2};
    }
}

static tfr_value node_of(tfr_graph *graph, const char *op, tfr_value a, tfr_value b)
{
    const tfr_value inputs[] = {a, b};
    tfr_value y;
    const tfr_node_desc node = {.size = sizeof node,
                                .op = op,
                                .name = op,
                                .inputs = inputs,
                                .n_inputs = b == TFR_VALUE_NONE ? 1 : 2,
                                .n_outputs = 1};
    REQUIRE_OK(tfr_graph_add_node(graph, &node, &y, &err), &err);
    return y;
}

static bool has_residual; /* its first input is added, and a Relu follows */

/* A node of two inputs of the graph; of the gradients a constant tells the dims of the result. */
static tfr_graph *new_graph(const char *op, const shape *s, int64_t dims[3][4])
{
    const tfr_shape of_shape = {1, {4}};
    tfr_graph *graph = NULL;
    tfr_value inputs[3], y;
    tfr_attr attrs[ATTRS];
    int64_t values[ATTRS][4];
    tfr_node_desc node = {.size = sizeof node,
                          .domain = strcmp(op, "Conv") == 0 ? "" : "tfrun",
                          .op = op,
                          .name = op,
                          .inputs = inputs,
                          .n_inputs = strcmp(op, "Conv") == 0 ? 2 : 3,
                          .n_outputs = 1,
                          .attrs = attrs,
                          .n_attrs = ATTRS};
    REQUIRE_OK(tfr_graph_create("test", &graph, &err), &err);
    for (int i = 0; i < 2; i++) {
        tfr_value_type type = {.dtype = TFR_DTYPE_F32, .rank = 4};
        memcpy(type.dims, dims[i], sizeof dims[i]);
        REQUIRE_OK(tfr_graph_add_input(graph, i ? "b" : "a", &type, &inputs[i], &err), &err);
    }
    if (node.n_inputs == 3) {
        tfr_tensor *t = NULL;
        REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_I64, &of_shape, &t, &err), &err);
        memcpy(tfr_tensor_data(t), dims[2], sizeof dims[2]);
        REQUIRE_OK(tfr_graph_add_constant(graph, "shape", t, &inputs[2], &err), &err);
        tfr_tensor_release(t);
    }
    add_window(s, attrs, values);
    REQUIRE_OK(tfr_graph_add_node(graph, &node, &y, &err), &err);
    if (has_residual)
        y = node_of(graph, "Relu", node_of(graph, "Add", y, inputs[0]), TFR_VALUE_NONE);
    REQUIRE_OK(tfr_graph_add_output(graph, y, NULL, &err), &err);
    return graph;
}

static tfr_tensor *new_input(const int64_t *dims, uint32_t seed, bool absolute)
{
    tfr_shape s = {4, {0}};
    tfr_tensor *t = NULL;
    float *p;
    memcpy(s.dims, dims, 4 * sizeof *dims);
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &s, &t, &err), &err);
    p = tfr_tensor_data(t);
    for (int64_t i = 0; i < tfr_tensor_elements(t); i++) {
        seed = seed * 1664525u + 1013904223u;
        p[i] = (float)(int32_t)seed / 2147483648.0f;
        p[i] = absolute ? fabsf(p[i]) : p[i];
    }
    return t;
}

/* In the mode, or the reference. */
static tfr_tensor *run(tfr_runtime *runtime, tfr_graph *graph, int64_t dims[3][4], const char *mode,
                       bool no_programs, bool absolute, bool *in_mode)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session_stats stats = {.size = sizeof stats};
    tfr_tensor *in[2], *out = NULL;
    tfr_session *session = NULL;
    options.device = mode ? "native:0" : "naive:0";
    options.math_mode = mode;
    options.no_programs = no_programs;
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    for (uint32_t i = 0; i < 2; i++)
        in[i] = new_input(dims[i], 7 + i, absolute);
    REQUIRE_OK(tfr_session_run(session, in, 2, &out, 1, &err), &err);
    REQUIRE_OK(tfr_session_get_stats(session, &stats, &err), &err);
    if (in_mode)
        *in_mode = stats.n_math_mode > 0;
    tfr_tensor_release(in[0]);
    tfr_tensor_release(in[1]);
    tfr_session_destroy(session);
    return out;
}

/* Each product may be off by 2^-7 of itself, and sums by what those of float32 are. */
static void check_bound(const tfr_tensor *expected, const tfr_tensor *sizes,
                        const tfr_tensor *found, const char *what, bool in_mode)
{
    const float *x = tfr_tensor_data((tfr_tensor *)expected);
    const float *s = tfr_tensor_data((tfr_tensor *)sizes);
    const float *y = tfr_tensor_data((tfr_tensor *)found);
    double most = 0, least_seen = 0;
    for (int64_t i = 0; i < tfr_tensor_elements(expected); i++) {
        const double d = fabs((double)x[i] - (double)y[i]);
        const double part = d / ((double)s[i] + 1e-30);
        most = part <= most ? most : part;
        least_seen = fmax(least_seen, d);
    }
    if (!(most <= ldexp(1, -7) + 1e-5) || (in_mode && least_seen < 1e-5) ||
        (!in_mode && most > 1e-5)) {
        printf("  %s: off by %g of the sums of sizes, by %g\n", what, most, least_seen);
        CHECK(false);
    }
}

static void check_op(tfr_runtime *runtime, const char *op, const shape *s)
{
    const int64_t x[4] = {s->n, s->ins, s->height, s->width};
    const int64_t y[4] = {s->n, s->outs, out_dim(s, 0), out_dim(s, 1)};
    const int64_t w[4] = {s->outs, s->ins, s->kernel[0], s->kernel[1]};
    const int64_t *const of[3][3] = {{x, w, y}, {y, w, x}, {y, x, w}};
    const int row = strcmp(op, "Conv") == 0 ? 0 : strcmp(op, "ConvGradInput") == 0 ? 1 : 2;
    tfr_tensor *expected, *sizes, *found;
    int64_t dims[3][4];
    tfr_graph *graph;
    char what[80];
    bool in_mode;
    for (int i = 0; i < 3; i++)
        memcpy(dims[i], of[row][i], sizeof dims[i]);
    graph = new_graph(op, s, dims);
    expected = run(runtime, graph, dims, NULL, true, false, NULL);
    sizes = run(runtime, graph, dims, NULL, true, true, NULL);
    for (int off = 0; off < 2; off++) {
        snprintf(what, sizeof what, "%s %d to %d of %d x %d, %s", op, (int)s->ins, (int)s->outs,
                 (int)s->height, (int)s->width, off ? "alone" : "in a program");
        found = run(runtime, graph, dims, "bf16", off, false, &in_mode);
        check_bound(expected, sizes, found, what, in_mode);
        if (getenv("TFR_TEST_HIDDEN"))
            CHECK(!in_mode);
        tfr_tensor_release(found);
    }
    tfr_tensor_release(expected);
    tfr_tensor_release(sizes);
    tfr_graph_release(graph);
}

static void check_ops(const char *op)
{
    tfr_runtime *runtime = new_runtime();
    if (!runtime)
        SKIP("there is no native backend");
    for (int i = 0; i < N_SHAPES; i++)
        check_op(runtime, op, &shapes[i]);
    tfr_runtime_release(runtime);
}

TEST(convolutions_of_computed_weights_stay_within_the_bound)
{
    check_ops("Conv");
}

TEST(sums_with_a_residual_stay_within_the_bound)
{
    static const shape same = {3, 32, 32, 9, 7, {3, 3}, 1, 1, {1, 1, 1, 1}};
    tfr_runtime *runtime = new_runtime();
    if (!runtime)
        SKIP("there is no native backend");
    has_residual = true;
    check_op(runtime, "Conv", &same);
    has_residual = false;
    tfr_runtime_release(runtime);
}

TEST(gradients_of_inputs_stay_within_the_bound)
{
    check_ops("ConvGradInput");
}

TEST(gradients_of_weights_stay_within_the_bound)
{
    check_ops("ConvGradFilter");
}

/* ---- trainings ---- */

static tfr_graph *finish(tfr_net *net)
{
    tfr_graph *graph = NULL;
    REQUIRE_OK(tfr_net_graph(net, &graph, &err), &err);
    tfr_net_destroy(net);
    return graph;
}

static tfr_graph *mnist_cnn(void)
{
    tfr_net *net = NULL;
    REQUIRE_OK(tfr_net_create_mnist_cnn(TFR_NET_KERAS, 1, &net, &err), &err);
    return finish(net);
}

/* Windows of 5 and 3, channels that fill no vector, another activation. */
static tfr_graph *other_cnn(void)
{
    const int64_t dims[] = {-1, 1, 28, 28};
    tfr_net *net = NULL;
    REQUIRE_OK(tfr_net_create("net", dims, 4, TFR_NET_KERAS, 5, &net, &err), &err);
    tfr_net_conv(net, 20, 5, "relu");
    tfr_net_conv(net, 24, 3, "relu");
    tfr_net_max_pool(net, 3);
    tfr_net_conv(net, 40, 3, "tanh");
    tfr_net_flatten(net);
    tfr_net_dense(net, 50, "sigmoid");
    tfr_net_dense(net, 10, NULL);
    return finish(net);
}

/* In parts of the first one's length. */
static double distance(const tfr_tensor *from, const tfr_tensor *to)
{
    const float *x = tfr_tensor_data((tfr_tensor *)from), *y = tfr_tensor_data((tfr_tensor *)to);
    double apart = 0, length = 1e-60;
    for (int64_t i = 0; i < tfr_tensor_elements(from); i++) {
        apart += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
        length += (double)x[i] * (double)x[i];
    }
    return sqrt(apart / length);
}

/*
 * Sums of gradients after a step. Those of dense layers differ by rounding; those of convolutions
 * by what near 0 falls to the other side of a Relu, and by which of two pixels is the greater one,
 * too.
 */
static void check_gradients(net_fn make)
{
    static const char *const modes[] = {NULL, "strict", "bf16"};
    tfr_runtime *runtime = new_runtime();
    tfr_trainer *trainers[3];
    double strict = 0, rounded[2] = {0, 0};
    tfr_graph *graph;
    if (!runtime)
        SKIP("there is no native backend");
    graph = make();
    for (int i = 0; i < 3; i++) {
        math_mode = modes[i];
        trainers[i] = new_trainer(runtime, graph, i ? "native:0" : "naive:0", "adam");
        train(trainers[i], 16, 1);
    }
    for (uint32_t k = 0; k < tfr_trainer_n_variables(trainers[0]); k++) {
        const char *name = tfr_trainer_variable(trainers[0], k);
        tfr_tensor *t[3];
        for (int i = 0; i < 3; i++)
            t[i] = variable(trainers[i], k);
        if (strncmp(name, "adam.m/", 7) == 0) {
            double *to = &rounded[strncmp(name + 7, "dense", 5) != 0];
            strict = fmax(strict, distance(t[0], t[1]));
            *to = fmax(*to, distance(t[0], t[2]));
        }
        for (int i = 0; i < 3; i++)
            tfr_tensor_release(t[i]);
    }
    CHECK(strict > 0 && strict < 1e-4);
    CHECK(rounded[0] < 2e-2);
    CHECK(rounded[1] < 0.3);
    if (same_bits(trainers[1], trainers[2]))
        printf("  no bf16 here\n");
    else
        CHECK(rounded[0] > 1e-4 && !getenv("TFR_TEST_HIDDEN"));
    for (int i = 0; i < 3; i++)
        tfr_trainer_destroy(trainers[i]);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    math_mode = NULL;
}

TEST(gradients_of_the_cnn_are_those_of_the_reference_but_for_rounding)
{
    check_gradients(mnist_cnn);
}

TEST(gradients_of_another_cnn_are_those_of_the_reference_but_for_rounding)
{
    check_gradients(other_cnn);
}

TEST(steps_have_the_same_bits_whatever_the_units)
{
    math_mode = "bf16";
    check_bits(mnist_cnn);
    check_bits(other_cnn);
    math_mode = NULL;
}

static const test_case cases[] = {
    CASE(convolutions_of_computed_weights_stay_within_the_bound),
    CASE(sums_with_a_residual_stay_within_the_bound),
    CASE(gradients_of_inputs_stay_within_the_bound),
    CASE(gradients_of_weights_stay_within_the_bound),
    CASE(gradients_of_the_cnn_are_those_of_the_reference_but_for_rounding),
    CASE(gradients_of_another_cnn_are_those_of_the_reference_but_for_rounding),
    CASE(steps_have_the_same_bits_whatever_the_units),
};

TEST_MAIN(cases)
