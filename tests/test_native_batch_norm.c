/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Residual networks with batch normalization, trained by programs of the native backend, against
 * the reference backend node by node.
 */
#include "native_train_kit.h"

typedef struct builder {
    tfr_graph *graph;
    int n; /* constants so far */
} builder;

static tfr_value floats(builder *b, const tfr_shape *shape, float from, float scale)
{
    tfr_tensor *t = NULL;
    tfr_value v;
    char name[16];
    snprintf(name, sizeof name, "w%d", b->n++);
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, shape, &t, &err), &err);
    for (int64_t i = 0; i < tfr_tensor_elements(t); i++)
        ((float *)tfr_tensor_data(t))[i] =
            from + scale * (float)((i * i + 3 * i + 7 * b->n) % 83 - 41) / 41;
    REQUIRE_OK(tfr_graph_add_constant(b->graph, name, t, &v, &err), &err);
    tfr_tensor_release(t);
    return v;
}

static tfr_value node(builder *b, const char *op, const tfr_value *in, uint32_t n,
                      const tfr_attr *attrs, uint32_t n_attrs)
{
    const tfr_node_desc desc = {.size = sizeof desc,
                                .op = op,
                                .name = op,
                                .inputs = in,
                                .n_inputs = n,
                                .attrs = attrs,
                                .n_attrs = n_attrs,
                                .n_outputs = 1};
    tfr_value out;
    REQUIRE_OK(tfr_graph_add_node(b->graph, &desc, &out, &err), &err);
    return out;
}

static tfr_value op(builder *b, const char *name, tfr_value x, tfr_value y)
{
    const tfr_value in[] = {x, y};
    return node(b, name, in, y == TFR_VALUE_NONE ? 1 : 2, NULL, 0);
}

static tfr_value relu(builder *b, tfr_value x)
{
    return op(b, "Relu", x, TFR_VALUE_NONE);
}

/* A convolution of k x k and a batch normalization of its outputs. */
static tfr_value conv(builder *b, tfr_value x, int64_t ins, int64_t outs, int64_t k, int64_t stride)
{
    const tfr_shape shape = {4, {outs, ins, k, k}}, channels = {1, {outs}};
    const tfr_attr attrs[] = {TFR_SET_INTS("strides", stride, stride),
                              TFR_SET_INTS("pads", k / 2, k / 2, k / 2, k / 2)};
    const tfr_value in[] = {x, floats(b, &shape, 0, 1.5f / (float)(k * k))};
    tfr_value with[5] = {node(b, "Conv", in, 2, attrs, 2)};
    for (int i = 0; i < 4; i++)
        with[1 + i] = floats(b, &channels, i % 3 == 0 ? 1.0f : 0.0f, 0.2f);
    return node(b, "BatchNormalization", with, 5, NULL, 0);
}

static tfr_value block(builder *b, tfr_value x, int64_t ins, int64_t outs, int64_t stride)
{
    tfr_value y = relu(b, conv(b, x, ins, outs, 3, stride));
    y = conv(b, y, outs, outs, 3, 1);
    return relu(b, op(b, "Add", y, ins == outs ? x : conv(b, x, ins, outs, 1, stride)));
}

/* 20 channels fill no vector. */
static tfr_graph *residual_net(void)
{
    const tfr_value_type type = {.size = sizeof type,
                                 .kind = TFR_KIND_TENSOR,
                                 .dtype = TFR_DTYPE_F32,
                                 .rank = 4,
                                 .dims = {-1, 1, 28, 28}};
    const tfr_shape last = {2, {32, 10}};
    builder b = {0};
    tfr_value x;
    REQUIRE_OK(tfr_graph_create("residual", &b.graph, &err), &err);
    REQUIRE_OK(tfr_graph_add_input(b.graph, "x", &type, &x, &err), &err);
    x = relu(&b, conv(&b, x, 1, 20, 5, 2));
    x = block(&b, x, 20, 20, 1);
    x = block(&b, x, 20, 32, 2);
    x = op(&b, "Tanh", x, TFR_VALUE_NONE);
    x = op(&b, "GlobalAveragePool", x, TFR_VALUE_NONE);
    x = op(&b, "Flatten", x, TFR_VALUE_NONE);
    x = op(&b, "Gemm", x, floats(&b, &last, 0, 0.5f));
    REQUIRE_OK(tfr_graph_add_output(b.graph, x, "y", &err), &err);
    return b.graph;
}

TEST(residual_networks_get_the_weights_of_the_reference)
{
    check_like_reference(residual_net, "sgd", 6);
    check_like_reference(residual_net, "adam", 8);
}

TEST(moments_have_the_same_bits_whatever_the_units)
{
    check_bits(residual_net);
}

static const test_case cases[] = {
    CASE(residual_networks_get_the_weights_of_the_reference),
    CASE(moments_have_the_same_bits_whatever_the_units),
};
TEST_MAIN(cases)
