/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net.c: see tfrun/net.h. A net is the graph that it will give, as it grows: each layer adds its
 * node at once. What is given out is a copy, so that the net's own stays open for more.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>
#include <tfrun/net.h>
#include <tfrun/plugin_random.h>

#include "graph_copy.h"
#include "graph_kit.h"

enum { N_KINDS = 6 };

struct tfr_net {
    tfr__kit kit;
    tfr_err first; /* the first error */
    tfr_net_defaults defaults;
    uint64_t seed;
    uint32_t n_drawn; /* weights that were drawn */
    tfr_value last;   /* what the last layer gives */
    int32_t rank;
    int64_t dims[4]; /* of last */
    uint32_t n_of[N_KINDS];
    char layer[48]; /* the name of the last one */
};

static const char *const kind_names[N_KINDS] = {"conv",  "max_pool",   "flatten",
                                                "dense", "batch_norm", "dropout"};
typedef enum kind { CONV, MAX_POOL, FLATTEN, DENSE, BATCH_NORM, DROPOUT } kind;

tfr_status tfr_net_create(const char *name, const int64_t *dims, uint32_t n_dims,
                          tfr_net_defaults defaults, uint64_t seed, tfr_net **out, tfr_err *err)
{
    tfr_value_type type = {.size = sizeof type, .dtype = TFR_DTYPE_F32, .rank_known = 1};
    tfr_net *net;
    tfr_status status;
    if (!dims || n_dims < 2 || n_dims > 4 || dims[0] != -1)
        return tfr_fail(err, TFR_EINVAL,
                        "the input of a net has 2 to 4 dims, the first of them -1");
    for (uint32_t i = 1; i < n_dims; i++)
        if (dims[i] < 1)
            return tfr_fail(err, TFR_EINVAL, "dim %u of the net's input is %lld, not at least 1", i,
                            (long long)dims[i]);
    net = calloc(1, sizeof *net);
    if (!net)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for a net");
    net->first.size = sizeof net->first;
    net->defaults = defaults;
    net->seed = seed;
    net->rank = (int32_t)n_dims;
    memcpy(net->dims, dims, n_dims * sizeof *dims);
    status = tfr_graph_create(name, &net->kit.graph, err);
    net->kit.err = &net->first;
    type.rank = net->rank;
    memcpy(type.dims, dims, n_dims * sizeof *dims);
    if (!status)
        status = tfr_graph_add_symbol(net->kit.graph, "batch", &type.dims[0], err);
    if (!status)
        status = tfr_graph_add_input(net->kit.graph, "input", &type, &net->last, err);
    if (status)
        tfr_net_destroy(net);
    else
        *out = net;
    return status;
}

void tfr_net_destroy(tfr_net *net)
{
    if (!net)
        return;
    tfr_graph_release(net->kit.graph);
    free(net);
}

/* ---- weights --------------------------------------------------------------------------------- */

/* Uniform within the bound, element i from word i % 4 of block i / 4. */
static void draw(tfr_net *net, float *data, int64_t n, double bound)
{
    const tfr_random_state state = {.seed = net->seed};
    const uint32_t subsequence = net->n_drawn++;
    uint32_t words[4];
    for (int64_t i = 0; i < n; i++) {
        if (i % 4 == 0)
            tfr_random_block(&state, subsequence, (uint64_t)i / 4, words);
        data[i] = (float)(((words[i % 4] >> 8) * 0x1p-24 * 2 - 1) * bound);
    }
}

/* bound 0 = all elements are `value`. */
static tfr_value weight(tfr_net *net, const char *what, const tfr_shape *shape, double bound,
                        float value)
{
    tfr_value out = TFR_VALUE_NONE;
    tfr_tensor *tensor = NULL;
    char name[96];
    float *data;
    if (net->kit.status)
        return out;
    net->kit.status = tfr_tensor_create(TFR_DTYPE_F32, shape, &tensor, &net->first);
    if (net->kit.status)
        return out;
    data = tfr_tensor_data(tensor);
    for (int64_t i = 0; i < tfr_tensor_elements(tensor); i++)
        data[i] = value;
    if (bound > 0)
        draw(net, data, tfr_tensor_elements(tensor), bound);
    snprintf(name, sizeof name, "%s.%s", net->layer, what);
    net->kit.status = tfr_graph_add_constant(net->kit.graph, name, tensor, &out, &net->first);
    tfr_tensor_release(tensor);
    return out;
}

/* Weight and bias of a layer that multiplies; shape's first dim is the outputs. */
static void weights(tfr_net *net, const tfr_shape *shape, tfr_value out[2])
{
    const tfr_shape bias = {1, {shape->dims[0]}};
    double window = 1, fan_in, fan_out, bound;
    for (int32_t i = 2; i < shape->rank; i++)
        window *= (double)shape->dims[i];
    fan_in = (double)shape->dims[1] * window;
    fan_out = (double)shape->dims[0] * window;
    bound = net->defaults == TFR_NET_TORCH ? 1 / sqrt(fan_in) : sqrt(6 / (fan_in + fan_out));
    out[0] = weight(net, "weight", shape, bound, 0);
    out[1] = weight(net, "bias", &bias, net->defaults == TFR_NET_TORCH ? bound : 0, 0);
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* Begins a layer: gives it its name, "conv2"; false after an error. */
static bool begin(tfr_net *net, kind k)
{
    snprintf(net->layer, sizeof net->layer, "%s%u", kind_names[k], (unsigned)++net->n_of[k]);
    net->kit.scope = net->layer;
    return !net->kit.status;
}

static void refuse(tfr_net *net, const char *text)
{
    if (!net->kit.status)
        net->kit.status = tfr_fail(&net->first, TFR_EINVAL, "layer %s: %s", net->layer, text);
}

static void activate(tfr_net *net, const char *activation)
{
    static const char *const names[][2] = {
        {"relu", "Relu"}, {"sigmoid", "Sigmoid"}, {"tanh", "Tanh"}, {"gelu", "Gelu"}};
    char text[96];
    if (!activation || strcmp(activation, "linear") == 0)
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(activation, names[i][0]) == 0) {
            net->last = tfr__kit_op1(&net->kit, names[i][1], net->last);
            return;
        }
    if (strcmp(activation, "softmax") == 0) {
        net->last = tfr__kit_node(&net->kit, "Softmax", &net->last, 1,
                                  (const tfr_attr[]){TFR_SET_INT("axis", net->rank > 1)}, 1);
        return;
    }
    snprintf(text, sizeof text,
             "there is no activation \"%.20s\"; linear, relu, sigmoid, tanh, gelu, softmax",
             activation);
    refuse(net, text);
}

/* Windows of this size at this stride; false with an error if none fits. */
static bool slide(tfr_net *net, int64_t size, int64_t stride)
{
    if (net->rank != 4)
        refuse(net, "its input is no image of 4 dims");
    else if (size < 1 || size > net->dims[2] || size > net->dims[3])
        refuse(net, "its window does not fit into its input");
    if (net->kit.status)
        return false;
    for (int i = 2; i < 4; i++)
        net->dims[i] = (net->dims[i] - size) / stride + 1;
    return true;
}

void tfr_net_conv(tfr_net *net, int64_t filters, int64_t kernel, const char *activation)
{
    tfr_shape shape = {4, {filters, net->dims[1], kernel, kernel}};
    tfr_value in[3];
    if (!begin(net, CONV))
        return;
    if (filters < 1)
        refuse(net, "it needs at least one filter");
    if (!slide(net, kernel, 1))
        return;
    in[0] = net->last;
    weights(net, &shape, in + 1);
    net->last = tfr__kit_node(&net->kit, "Conv", in, 3,
                              (const tfr_attr[]){TFR_SET_INTS("kernel_shape", kernel, kernel)}, 1);
    net->dims[1] = filters;
    activate(net, activation);
}

void tfr_net_max_pool(tfr_net *net, int64_t size)
{
    const tfr_attr attrs[] = {TFR_SET_INTS("kernel_shape", size, size),
                              TFR_SET_INTS("strides", size, size)};
    if (begin(net, MAX_POOL) && slide(net, size, size))
        net->last = tfr__kit_node(&net->kit, "MaxPool", &net->last, 1, attrs, 2);
}

void tfr_net_flatten(tfr_net *net)
{
    if (!begin(net, FLATTEN))
        return;
    for (int i = 2; i < net->rank; i++)
        net->dims[1] *= net->dims[i];
    net->rank = 2;
    net->last = tfr__kit_op1(&net->kit, "Flatten", net->last);
}

void tfr_net_dense(tfr_net *net, int64_t units, const char *activation)
{
    tfr_shape shape = {2, {units, net->dims[1]}};
    tfr_value in[3];
    if (!begin(net, DENSE))
        return;
    if (net->rank != 2)
        refuse(net, "its input has more than 2 dims; put a flatten layer before it");
    else if (units < 1)
        refuse(net, "it needs at least one unit");
    in[0] = net->last;
    if (!net->kit.status)
        weights(net, &shape, in + 1);
    net->last =
        tfr__kit_node(&net->kit, "Gemm", in, 3, (const tfr_attr[]){TFR_SET_INT("transB", 1)}, 1);
    net->dims[1] = units;
    activate(net, activation);
}

void tfr_net_batch_norm(tfr_net *net)
{
    static const char *const names[] = {"scale", "bias", "mean", "variance"};
    const bool torch = net->defaults == TFR_NET_TORCH;
    const tfr_attr attrs[] = {TFR_SET_FLOAT("epsilon", torch ? 1e-5f : 1e-3f),
                              TFR_SET_FLOAT("momentum", torch ? .9f : .99f)};
    const tfr_shape shape = {1, {net->dims[1]}};
    tfr_value in[5];
    if (!begin(net, BATCH_NORM))
        return;
    in[0] = net->last;
    for (int i = 0; i < 4; i++)
        in[i + 1] = weight(net, names[i], &shape, 0, i % 3 == 0);
    net->last = tfr__kit_node(&net->kit, "BatchNormalization", in, 5, attrs, 2);
}

void tfr_net_dropout(tfr_net *net, float rate)
{
    tfr_value in[2];
    if (!begin(net, DROPOUT))
        return;
    if (!(rate >= 0 && rate < 1))
        refuse(net, "its rate is not in [0, 1)");
    in[0] = net->last;
    in[1] = tfr__kit_scalar(&net->kit, TFR_DTYPE_F32, rate);
    net->last = tfr__kit_node(&net->kit, "Dropout", in, 2, NULL, 0);
}

tfr_status tfr_net_graph(tfr_net *net, tfr_graph **out, tfr_err *err)
{
    tfr__copy copy = {.from = net->kit.graph};
    tfr_status status;
    if (net->kit.status)
        return tfr_fail(err, net->kit.status, "%s", net->first.text);
    status = tfr__copy_begin(&copy, err);
    if (!status)
        status = tfr__copy_nodes(&copy, err);
    if (!status)
        status = tfr_graph_add_output(copy.to, copy.map[net->last], "output", err);
    tfr__copy_finish(&copy, status ? NULL : out);
    return status;
}

tfr_status tfr_net_create_mnist_cnn(tfr_net_defaults defaults, uint64_t seed, tfr_net **out,
                                    tfr_err *err)
{
    static const int64_t image[] = {-1, 1, 28, 28};
    tfr_status status = tfr_net_create("mnist-cnn", image, 4, defaults, seed, out, err);
    if (status)
        return status;
    tfr_net_conv(*out, 32, 3, "relu");
    tfr_net_max_pool(*out, 2);
    tfr_net_conv(*out, 64, 3, "relu");
    tfr_net_max_pool(*out, 2);
    tfr_net_conv(*out, 64, 3, "relu");
    tfr_net_flatten(*out);
    tfr_net_dense(*out, 64, "relu");
    tfr_net_dense(*out, 10, NULL);
    return TFR_OK;
}
