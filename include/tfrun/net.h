/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/net.h (libtfrun-nn): describes a network layer by layer and makes a graph of it, whose
 * weights are constants with their initial values. A trainer (tfrun/train.h) takes such a graph,
 * and one that was read from an ONNX model, alike.
 *
 * Layouts are ONNX's: images are [batch, channels, height, width], the weight of a convolution is
 * [filters, channels, height, width], that of a dense layer [units, inputs]. Weights are named by
 * kind and number, "conv2.weight", "conv2.bias", "dense1.weight", "batch_norm1.scale".
 *
 * Errors stick: after the first one the functions that add layers do nothing, and tfr_net_graph
 * tells it. A net is used by one thread at a time.
 */
#ifndef TFRUN_NET_H
#define TFRUN_NET_H

#include <tfrun/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tfr_net tfr_net;

/*
 * Which framework's initial weights, epsilons and momenta a net has. A convolution's fan_in is its
 * input channels times the elements of its window, fan_out its filters times those.
 *
 * TFR_NET_KERAS  weights uniform within sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010),
 *                biases 0; batch normalization: epsilon 1e-3, momentum .99
 * TFR_NET_TORCH  weights and biases uniform within 1 / sqrt(fan_in); epsilon 1e-5, momentum .9 in
 *                ONNX's sense, which PyTorch calls .1
 */
typedef enum tfr_net_defaults { TFR_NET_KERAS = 0, TFR_NET_TORCH = 1 } tfr_net_defaults;

/*
 * dims are those of one input with the batch in front, which is -1; 2 to 4 of them, so that
 * {-1, 1, 28, 28} is an image. Equal seeds give equal weights on every machine.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_net_create(const char *name, const int64_t *dims,
                                                 uint32_t n_dims, tfr_net_defaults defaults,
                                                 uint64_t seed, tfr_net **out, tfr_err *err);
/* NULL is fine. */
TFR_API void tfr_net_destroy(tfr_net *net);

/*
 * activation: NULL or "linear", "relu", "sigmoid", "tanh", "gelu", "softmax". Windows are square;
 * convolutions and pooling take what lies wholly inside their input.
 */
TFR_API void tfr_net_conv(tfr_net *net, int64_t filters, int64_t kernel, const char *activation);
/* The stride is the size of the window. */
TFR_API void tfr_net_max_pool(tfr_net *net, int64_t size);
TFR_API void tfr_net_flatten(tfr_net *net);
/* Of an input of two dims. */
TFR_API void tfr_net_dense(tfr_net *net, int64_t units, const char *activation);
TFR_API void tfr_net_batch_norm(tfr_net *net);
/* Sets this part of the elements to 0 in training, and scales the others up. */
TFR_API void tfr_net_dropout(tfr_net *net, float rate);

/*
 * The graph, with an input "input" and an output "output". The caller owns it, and the net may get
 * more layers and give another one. TFR_EINVAL for a layer that does not fit, naming it.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_net_graph(tfr_net *net, tfr_graph **out, tfr_err *err);

/* The network of the TensorFlow guides for MNIST: three convolutions of 32, 64 and 64 filters, two
 * of them with pooling, and two dense layers of 64 and 10. Sticky as above. */
TFR_API TFR_MUST_CHECK tfr_status tfr_net_create_mnist_cnn(tfr_net_defaults defaults, uint64_t seed,
                                                           tfr_net **out, tfr_err *err);

#ifdef __cplusplus
}
#endif

#endif
