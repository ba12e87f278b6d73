/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of convolutions, pools, normalisations, Dropout and losses; gradient_kit.h checks. */
#include "gradient_kit.h"

TEST(convolutions)
{
    static const gradient_case c[] = {
        {"Conv", "f2,3,6 f4,3,3", "", .flags = MULTILINEAR | SECOND},
        {"Conv", "f2,3,6 f4,3,3 f4", "pads:is=1,0 strides:is=2", .flags = SECOND},
        {"Conv", "f1,2,5,5 f2,2,3,3", "auto_pad:s=SAME_UPPER strides:is=2,1", .flags = MULTILINEAR},
        {"Conv", "f1,2,5,4 f2,2,2,2", "auto_pad:s=SAME_LOWER strides:is=2,2", .flags = MULTILINEAR},
        {"Conv", "f1,2,5,5 f2,2,3,3", "auto_pad:s=VALID kernel_shape:is=3,3", .flags = MULTILINEAR},
        {"Conv", "f2,4,7,6 f6,2,3,2", "group:i=2 dilations:is=2,3 strides:is=1,2 pads:is=2,0,1,3",
         .flags = MULTILINEAR | SECOND},
        {"Conv", "f2,4,5 f4,1,2", "group:i=4", .flags = MULTILINEAR},
        {"Conv", "f1,2,3,4,3 f2,2,2,2,2", "strides:is=1,2,1 pads:is=1,0,0,0,1,1",
         .flags = MULTILINEAR},
        {"Conv", "f0,2,5 f3,2,3 f3", "", .flags = 0},
        {"ConvTranspose", "f2,3,4 f3,2,3", "", .flags = MULTILINEAR | SECOND},
        {"ConvTranspose", "f2,3,4 f3,2,3 f2", "strides:is=2 pads:is=1,0", .flags = 0},
        {"ConvTranspose", "f1,4,3,3 f4,1,3,2",
         "group:i=2 strides:is=3,2 output_padding:is=2,1 pads:is=1,1,0,0 dilations:is=1,2",
         .flags = MULTILINEAR},
        {"ConvTranspose", "f1,2,3 f2,2,4", "auto_pad:s=SAME_UPPER strides:is=2",
         .flags = MULTILINEAR},
        {"ConvTranspose", "f1,2,3 f2,2,3", "auto_pad:s=SAME_LOWER strides:is=2",
         .flags = MULTILINEAR},
        {"ConvTranspose", "f1,2,3 f2,2,1", "auto_pad:s=SAME_LOWER strides:is=2",
         .flags = MULTILINEAR},
        {"ConvTranspose", "f1,2,3 f2,2,3", "auto_pad:s=VALID strides:is=2", .flags = MULTILINEAR},
        {"ConvTranspose", "f1,2,3 f2,2,4 f2", "output_shape:is=6", .flags = SECOND},
        {"ConvTranspose", "f1,2,3 f2,2,3", "output_shape:is=9 strides:is=2", .flags = MULTILINEAR},
        {"ConvTranspose", "f1,2,4 f2,2,3", "output_shape:is=5 dilations:is=3 output_padding:is=2",
         .flags = MULTILINEAR},
        {"ConvTranspose", "f1,2,3,2 f2,2,4,3",
         "output_shape:is=5,9 auto_pad:s=SAME_UPPER strides:is=2,3", .flags = MULTILINEAR},
        {"ConvTranspose", "f1,4,3,2 f4,1,2,3",
         "output_shape:is=2,3 auto_pad:s=SAME_LOWER strides:is=1,2 group:i=2 "
         "kernel_shape:is=2,3 pads:is=7,7,7,7",
         .flags = MULTILINEAR},
        {"ConvTranspose", "f1,2,3 f2,2,4",
         "output_shape:is=4 auto_pad:s=VALID pads:is=1,0 strides:is=2", .flags = MULTILINEAR},
        {"ConvTranspose", "f1,2,3 f2,2,4 f2", "output_padding:is=3 pads:is=2,1", .flags = SECOND},
        {"ConvTranspose", "f1,2,3,2 f2,2,2,3",
         "output_padding:is=0,2 strides:is=2,2 pads:is=0,1,1,0", .flags = MULTILINEAR},
        {"ConvTranspose", "f1,2,3 f2,2,4", "auto_pad:s=SAME_UPPER strides:is=2 output_padding:is=1",
         .flags = MULTILINEAR},
        {"ConvTranspose", "f1,2,3 f2,2,2", "auto_pad:s=SAME_LOWER strides:is=3 output_padding:is=2",
         .flags = MULTILINEAR},
        {"ConvTranspose", "f1,2,3 f2,2,3",
         "auto_pad:s=VALID strides:is=2 output_padding:is=1 pads:is=1,1", .flags = MULTILINEAR},
        {"ConvTranspose", "f0,2,3 f2,2,3 f2", "output_shape:is=4", .flags = 0},
        {"tfrun.ConvGradInput", "f2,3,4 f3,2,3 i2,2,6", "", .flags = MULTILINEAR | SECOND},
        {"tfrun.ConvGradFilter", "f2,3,4 f2,2,6 i3,2,3", "", .flags = MULTILINEAR | SECOND},
    };
    CHECK_GRADIENTS(c);
}

TEST(pools)
{
    static const gradient_case c[] = {
        {"MaxPool", "f2,3,6", "kernel_shape:is=2 strides:is=2", .flags = LINEAR | SECOND},
        {"MaxPool", "f1,2,6,5", "kernel_shape:is=3,3 pads:is=1,1,1,1 strides:is=2,1",
         .flags = LINEAR},
        {"MaxPool", "f1,2,7,7", "kernel_shape:is=2,3 dilations:is=2,2 strides:is=2,2 ceil_mode:i=1",
         .flags = LINEAR},
        {"MaxPool", "f1,2,6,5", "kernel_shape:is=2,2 storage_order:i=1", .flags = LINEAR,
         .n_outputs = 2, .outputs = 1},
        {"MaxPool", "f1,2,6,5", "kernel_shape:is=2,2", .flags = LINEAR, .n_outputs = 2,
         .outputs = 1},
        {"MaxPool", "f1,1,3,4,5", "kernel_shape:is=2,2,2 auto_pad:s=SAME_UPPER", .flags = LINEAR},
        {"MaxPool", "f0,2,6", "kernel_shape:is=2", .flags = LINEAR},
        {"AveragePool", "f2,3,6", "kernel_shape:is=2 strides:is=2", .flags = LINEAR | SECOND},
        {"AveragePool", "f1,2,6,5", "kernel_shape:is=3,3 pads:is=1,1,1,1 strides:is=2,1",
         .flags = LINEAR},
        {"AveragePool", "f1,2,6,5",
         "kernel_shape:is=3,3 pads:is=1,1,1,1 strides:is=2,2 count_include_pad:i=1",
         .flags = LINEAR},
        {"AveragePool", "f1,2,7,7",
         "kernel_shape:is=2,3 dilations:is=2,2 strides:is=2,3 ceil_mode:i=1 pads:is=1,1,1,1 "
         "count_include_pad:i=1",
         .flags = LINEAR},
        {"AveragePool", "f1,2,7,8", "kernel_shape:is=3,3 auto_pad:s=SAME_LOWER strides:is=2,2",
         .flags = LINEAR},
        {"GlobalAveragePool", "f2,3,4,2", "", .flags = LINEAR | SECOND},
        {"GlobalAveragePool", "f2,3", "", .flags = LINEAR},
        {"GlobalLpPool", "f2,3,4,2", "", .flags = SECOND},
        {"GlobalLpPool", "f2,3,4", "p:i=1", .flags = LINEAR},
        {"LpPool", "f1,2,7,7", "kernel_shape:is=2,3 strides:is=2,3 ceil_mode:i=1", .flags = SECOND},
        {"LpPool", "f1,2,6,5", "kernel_shape:is=3,3 pads:is=1,1,1,1 p:i=3", .flags = 0},
        {"LpPool", "f1,2,6", "kernel_shape:is=3 auto_pad:s=SAME_UPPER p:i=1", .flags = LINEAR},
        {"GlobalMaxPool", "f2,3,4,2", "", .flags = LINEAR},
    };
    CHECK_GRADIENTS(c);
}

TEST(normalisations)
{
    static const gradient_case c[] = {
        {"BatchNormalization", "f3,2,4 f2 f2 f2 f2", "epsilon:f=0.01", .flags = SECOND, .low = 0.5,
         .high = 2},
        {"BatchNormalization", "f3,2 f2 f2 f2 f2", "", .low = 0.5, .high = 2},
        {"BatchNormalization", "f5 f1 f1 f1 f1", "", .low = 0.5, .high = 2},
        {"BatchNormalization", "f3,2,4 f2 f2 c2 c2", "training_mode:i=1", .flags = SECOND,
         .n_outputs = 3, .outputs = 1},
        {"BatchNormalization", "f3,2,2,3 f2 f2 c2 c2", "training_mode:i=1 epsilon:f=0.1",
         .flags = SECOND},
        {"BatchNormalization", "f6,2 f2 f2 c2 c2", "training_mode:i=1", .flags = SECOND},
        {"tfrun.BatchNormTrain", "f3,2,4 f2 f2 c2 c2", "", .flags = SECOND, .n_outputs = 5,
         .outputs = 1},
        {"tfrun.BatchNormTrain", "f3,2,4 f2 f2 f2 f2", "momentum:f=0.75 unbiased:i=1",
         .flags = SECOND, .n_outputs = 5, .outputs = 31},
        {"tfrun.BatchNormTrain", "f5,2 f2 f2 f2 f2", "epsilon:f=0.1", .n_outputs = 5,
         .outputs = 24},
        {"BatchNormalization", "f3,2,4 f2 f2 f2 f2", "training_mode:i=1", .n_outputs = 3,
         .outputs = 6},
        {"tfrun.BatchNormGrad", "f3,2,4 0 f2 f2 f2", "", .flags = 0, .low = 0.5, .high = 2,
         .n_outputs = 3, .outputs = 7},
        {"tfrun.BatchNormGrad", "f3,2,2,2 f3,2,2,2 f2 f2 f2", "", .flags = SECOND, .low = 0.5,
         .high = 2, .n_outputs = 3, .outputs = 7},
        {"tfrun.LayerNormGrad", "f2,3,4 f2,3,4 f4", "", .flags = SECOND, .n_outputs = 2,
         .outputs = 3},
        {"tfrun.LayerNormGrad", "f2,3,4 f2,3,4 f3,1", "axis:i=1 rms:i=1 epsilon:f=0.1",
         .flags = SECOND, .n_outputs = 2, .outputs = 3},
        {"LayerNormalization", "f2,3,4 f4 f4", "", .flags = SECOND},
        {"LayerNormalization", "f2,3,4 f3,4", "axis:i=1 epsilon:f=0.1", .flags = SECOND},
        {"LayerNormalization", "f2,3,4 f4 f3,1", "axis:i=-2", .flags = SECOND},
        {"LayerNormalization", "f2,3,4 f2,3,4 f", "axis:i=0", .flags = 0},
        {"LayerNormalization", "f0,3 f3 f3", "", .flags = 0},
        {"RMSNormalization", "f2,3,4 f4", "", .flags = SECOND},
        {"RMSNormalization", "f2,3,4 f", "axis:i=1", .flags = SECOND},
        {"GroupNormalization", "f2,4,3 f4 f4", "num_groups:i=2", .flags = SECOND},
        {"GroupNormalization", "f2,6,2,2 f6 f6", "num_groups:i=3 epsilon:f=0.1", .flags = 0},
        {"GroupNormalization", "f3,4 f4 f4", "num_groups:i=2", .flags = 0},
        {"InstanceNormalization", "f2,3,5 f3 f3", "", .flags = SECOND},
        {"InstanceNormalization", "f1,2,3,2 f2 f2", "epsilon:f=0.1", .flags = 0},
        {"LRN", "f2,6,3", "size:i=3 alpha:f=0.5", .flags = SECOND},
        {"LRN", "f1,5,2,2", "size:i=4 alpha:f=0.5 beta:f=0.5 bias:f=2", .flags = 0},
        {"LRN", "f2,3", "size:i=5 alpha:f=0.5", .flags = 0},
        {"MeanVarianceNormalization", "f2,3,2,2", "", .flags = SECOND},
        {"MeanVarianceNormalization", "f3,4", "axes:is=-1", .flags = 0},
        {"Dropout", "f4,5", "", .flags = LINEAR | SECOND},
        {"Dropout", "f4,5 =0.75 true", "", .flags = LINEAR | RANDOM, .n_outputs = 2},
        {"Dropout", "f4,5 =0", "", .flags = LINEAR, .n_outputs = 2, .outputs = 1},
    };
    CHECK_GRADIENTS(c);
}

enum { SCALES = LINEAR | SECOND | SINGLE };

TEST(scales_of_integers)
{
    static const gradient_case c[] = {
        {"DequantizeLinear", "u9:2,3,4 f u9:", "", .flags = SCALES},
        {"DequantizeLinear", "u9:2,3 f1", "", .flags = SCALES},
        {"DequantizeLinear", "u9:5 f", "", .flags = SCALES},
        {"DequantizeLinear", "u9: f u9:", "axis:i=0", .flags = SCALES},
        {"DequantizeLinear", "u9:2,3,4 f3 u5:3", "", .flags = SCALES},
        {"DequantizeLinear", "u9:2,3,4 f2", "axis:i=0 output_dtype:i=1", .flags = SCALES},
        {"DequantizeLinear", "u9:2,3,4 f4 u7:4", "axis:i=-1", .flags = SCALES},
        {"DequantizeLinear", "u9:2,3,4 f3 u7:3", "axis:i=-2", .flags = SCALES},
        {"DequantizeLinear", "u9:2,6,2 f2,3,2 u7:2,3,2", "block_size:i=2", .flags = SCALES},
        {"DequantizeLinear", "u9:5,3 f2,3 u7:2,3", "axis:i=0 block_size:i=3", .flags = SCALES},
        {"DequantizeLinear", "u9:2,7 f2,3", "axis:i=-1 block_size:i=3", .flags = SCALES},
        {"DequantizeLinear", "u9:2,3 f2,1 u7:2,1", "block_size:i=4000000000000", .flags = SCALES},
        {"DequantizeLinear", "u9:7 f4 u7:4", "axis:i=0 block_size:i=2", .flags = SCALES},
        {"DequantizeLinear", "u9:2,0 f2,0", "block_size:i=2", .flags = SCALES},
        {"DequantizeLinear", "u9:0,3 f3", "", .flags = SCALES},
    };
    CHECK_GRADIENTS(c);
}

TEST(losses)
{
    static const gradient_case c[] = {
        {"SoftmaxCrossEntropyLoss", "f5,3 n3:5", "", .flags = SECOND},
        {"SoftmaxCrossEntropyLoss", "f5,3 n3:5", "reduction:s=sum", .flags = 0},
        {"SoftmaxCrossEntropyLoss", "f5,3 n3:5", "reduction:s=none ignore_index:i=1",
         .flags = SECOND},
        {"SoftmaxCrossEntropyLoss", "f2,3,4 n3:2,4 c3", "ignore_index:i=0", .flags = SECOND,
         .low = 0.5, .high = 2},
        {"SoftmaxCrossEntropyLoss", "f2,3,4 n3:2,4 c3", "", .flags = SECOND, .low = 0.5, .high = 2,
         .n_outputs = 2, .outputs = 3},
        {"SoftmaxCrossEntropyLoss", "f2,3,4 n3:2,4", "", .n_outputs = 2, .outputs = 2},
        {"SoftmaxCrossEntropyLoss", "f2,3,4 n3:2,4 f3", "ignore_index:i=1", .flags = SECOND,
         .low = 0.5, .high = 2, .n_outputs = 2, .outputs = 3},
        {"SoftmaxCrossEntropyLoss", "f5,3 n3:5 f3", "reduction:s=none", .low = 0.5, .high = 2},
        {"NegativeLogLikelihoodLoss", "f5,3 n3:5 f3", "", .flags = SECOND, .low = 0.5, .high = 2},
        {"NegativeLogLikelihoodLoss", "f5,3 n3:5 f3", "reduction:s=sum ignore_index:i=2",
         .flags = MULTILINEAR, .low = 0.5, .high = 2},
        {"tfrun.SoftmaxCrossEntropyGrad", "f f5,3 n3:5 f3", "ignore_index:i=2", .flags = SECOND,
         .low = 0.5, .high = 2},
        {"tfrun.SoftmaxCrossEntropyGrad", "f2,4 f2,3,4 n3:2,4", "reduction:s=none",
         .flags = SECOND},
        {"tfrun.SoftmaxCrossEntropyGrad", "f f5,3 n3:5", "reduction:s=sum", .flags = SECOND},
        {"NegativeLogLikelihoodLoss", "f5,3 n3:5", "", .flags = LINEAR | SECOND},
        {"NegativeLogLikelihoodLoss", "f2,3,4 n3:2,4 c3", "reduction:s=none ignore_index:i=2",
         .flags = LINEAR, .low = 0.5, .high = 2},
        {"NegativeLogLikelihoodLoss", "f2,3,4 n3:2,4 c3", "reduction:s=sum", .flags = LINEAR,
         .low = 0.5, .high = 2},
    };
    CHECK_GRADIENTS(c);
}

TEST(attention)
{
    static const gradient_case c[] = {
        {"Attention", "f2,3,4,2 f2,3,5,2 f2,3,5,3", "", .flags = SECOND},
        {"Attention", "f1,4,3,2 f1,2,5,2 f1,2,5,3", "scale:f=0.5", .flags = 0},
        {"Attention", "f2,3,8 f2,4,4 f2,4,6", "q_num_heads:i=4 kv_num_heads:i=2", .flags = SECOND},
        {"Attention", "f1,2,4,2 f1,2,4,2 f1,2,4,2 f4,4", "is_causal:i=1", .flags = 0},
        {"Attention", "f1,2,4,2 f1,2,4,2 f1,2,4,2 b4,4", "softcap:f=1.5", .flags = 0},
        {"Attention", "f1,2,4,2 f1,2,3,2 f1,2,3,2", "qk_matmul_output_mode:i=3", .flags = 0,
         .n_outputs = 4, .outputs = 9},
        {"Attention", "f1,2,4,2 f1,2,3,2 f1,2,3,2", "", .flags = 0, .n_outputs = 4, .outputs = 8},
        {"RotaryEmbedding", "f2,2,3,4 c5,2 c5,2 n5:2,3", "", .flags = LINEAR | SINGLE},
        {"RotaryEmbedding", "f2,3,8 c2,3,1 c2,3,1", "num_heads:i=2 rotary_embedding_dim:i=2",
         .flags = LINEAR | SINGLE},
        {"Attention", "f1,1,4,2 0 0", "left_window_size:i=1", .flags = 0},
        {"Attention", "f2,1,3,2 f2,1,4,2 f2,1,4,2 - - - i2,4", "is_causal:i=1", .flags = 0},
        {"Attention", "f1,2,2,2 f1,2,5,2 f1,2,5,2 f2,3", "", .flags = 0},
        {"Attention", "f1,4,3,2 f1,2,2,2 f1,2,2,2 f4,1,2", "qk_matmul_output_mode:i=2",
         .flags = SECOND, .n_outputs = 4, .outputs = 9},
        {"Attention", "f1,2,3,2 f1,2,2,2 f1,2,2,2 f3,2", "qk_matmul_output_mode:i=2 softcap:f=1.5",
         .flags = 0, .n_outputs = 4, .outputs = 8},
        {"Attention", "f2,2,3,2 f2,2,2,2 f2,2,2,3 - f2,2,4,2 f2,2,4,3", "", .flags = SECOND},
        {"Attention", "f1,2,3,2 f1,2,2,2 f1,2,2,3 - f1,2,4,2 f1,2,4,3", "is_causal:i=1",
         .flags = SECOND, .n_outputs = 3, .outputs = 7},
        {"Attention", "f2,3,8 f2,2,4 f2,2,6 f3,5 f2,2,3,2 f2,2,3,3",
         "q_num_heads:i=4 kv_num_heads:i=2 softcap:f=1.5", .flags = 0, .n_outputs = 3,
         .outputs = 5},
        {"Attention", "f1,2,3,2 c1,2,2,2 c1,2,2,3 - f1,2,4,2 f1,2,4,3", "", .flags = 0,
         .n_outputs = 4, .outputs = 11},
        {"Attention", "f1,2,3,2 f1,2,2,2 f1,2,2,3 - c1,2,4,2 c1,2,4,3", "left_window_size:i=2",
         .flags = 0, .n_outputs = 2, .outputs = 2},
        {"Attention", "f2,3,4 f2,2,4 f2,2,4", "q_num_heads:i=2 kv_num_heads:i=2", .flags = 0,
         .n_outputs = 3, .outputs = 7},
        {"Attention", "f1,2,3,2 f1,2,2,2 f1,2,2,3 - f1,2,0,2 f1,2,0,3", "", .flags = 0},
        {"Attention", "f1,2,3,2 f1,2,0,2 f1,2,0,3 - f1,2,2,2 f1,2,2,3", "", .flags = 0},
    };
    CHECK_GRADIENTS(c);
}

/* query key value past_state decay beta: B 2, T 3, D 2 */
TEST(linear_attention)
{
    static const gradient_case c[] = {
        {"LinearAttention", "f2,3,2 f2,3,2 f2,3,3",
         "update_rule:s=linear q_num_heads:i=1 "
         "kv_num_heads:i=1",
         .flags = MULTILINEAR | SINGLE, .n_outputs = 2, .outputs = 1},
        {"LinearAttention", "f2,3,8 f2,3,4 f2,3,6 f2,2,2,3 f2,3,4",
         "update_rule:s=gated q_num_heads:i=4 kv_num_heads:i=2 scale:f=0.75", .flags = SINGLE,
         .low = -1, .high = 1, .n_outputs = 2, .outputs = 3},
        {"LinearAttention", "f2,3,4 f2,3,4 f2,3,2 - - f2,3,1",
         "update_rule:s=delta q_num_heads:i=2 kv_num_heads:i=2", .flags = SINGLE | SECOND,
         .low = -1, .high = 1, .n_outputs = 2, .outputs = 3},
        {"LinearAttention", "f2,3,4 f2,3,4 f2,3,2 f2,2,2,1 f2,3,2 f2,3,2",
         "q_num_heads:i=2 kv_num_heads:i=2", .flags = SINGLE, .low = -1, .high = 1, .n_outputs = 2,
         .outputs = 1},
        {"LinearAttention", "f2,0,4 f2,0,4 f2,0,2 f2,2,2,1 f2,0,2 f2,0,2",
         "q_num_heads:i=2 kv_num_heads:i=2", .flags = SINGLE, .n_outputs = 2, .outputs = 2},
    };
    CHECK_GRADIENTS(c);
}

/* X W R B sequence_lens initial_h initial_c P: T 3, B 2, I 2, H 2 */
TEST(recurrent_layers)
{
    static const gradient_case c[] = {
        {"RNN", "f3,2,2 f1,2,2 f1,2,2", "hidden_size:i=2", .flags = SECOND, .n_outputs = 2,
         .outputs = 3},
        {"RNN", "f3,2,2 f1,2,2 f1,2,2 f1,4 l2,3 f1,2,2",
         "direction:s=reverse activations:ss=affine activation_alpha:fs=0.5 "
         "activation_beta:fs=0.25",
         .flags = 0, .n_outputs = 2, .outputs = 3},
        {"RNN", "f2,3,2 f2,2,2 f2,2,2 f2,4 - f2,2,2",
         "direction:s=bidirectional layout:i=1 activations:ss=ScaledTanh,HardSigmoid "
         "activation_alpha:fs=0.5,0.125 activation_beta:fs=2,0.5",
         .flags = 0, .n_outputs = 2, .outputs = 3},
        {"RNN", "f3,2,2 f1,2,2 f1,2,2 f1,4 l0,2", "", .flags = 0, .n_outputs = 2, .outputs = 3},
        {"RNN", "f1,2,2 f1,2,2 0", "", .flags = 0, .n_outputs = 2, .outputs = 1},
        {"RNN", "f1,2,2 0 0", "activations:ss=Softsign", .flags = 0, .n_outputs = 2, .outputs = 2},
        {"RNN", "f0,2,2 f1,2,2 f1,2,2 f1,4 - f1,2,2", "", .flags = 0, .n_outputs = 2, .outputs = 2},
        {"GRU", "f3,2,2 f1,6,2 f1,6,2 f1,12", "hidden_size:i=2", .flags = 0, .n_outputs = 2,
         .outputs = 3},
        {"GRU", "f2,1,2 f1,6,2 f1,6,2", "linear_before_reset:i=1", .flags = SECOND, .n_outputs = 2,
         .outputs = 3},
        {"GRU", "f3,2,2 f2,6,2 f2,6,2 f2,12 l3,1 f2,2,2",
         "linear_before_reset:i=1 direction:s=bidirectional clip:f=1.5", .flags = 0, .n_outputs = 2,
         .outputs = 3, .low = -0.9, .high = 0.9},
        {"LSTM", "f3,2,2 f1,8,2 f1,8,2 f1,16", "hidden_size:i=2", .flags = 0, .n_outputs = 3,
         .outputs = 7},
        {"LSTM", "f2,1,2 f1,8,2 f1,8,2", "", .flags = SECOND, .n_outputs = 3, .outputs = 1},
        {"LSTM", "f3,2,2 f1,8,2 f1,8,2 - - - - f1,6", "input_forget:i=1 direction:s=reverse",
         .flags = 0, .n_outputs = 3, .outputs = 4},
        {"LSTM", "f3,3,2 f2,8,2 f2,8,2 f2,16 l2,0,3 f2,3,2 f2,3,2 f2,6",
         "direction:s=bidirectional", .flags = 0, .n_outputs = 3, .outputs = 7},
        {"LSTM", "f2,3,2 f1,8,2 f1,8,2 f1,16 l2,3 f2,1,2 f2,1,2 f1,6", "layout:i=1", .flags = 0,
         .n_outputs = 3, .outputs = 7},
    };
    CHECK_GRADIENTS(c);
}

static const test_case cases[] = {
    CASE(attention),
    CASE(convolutions),
    CASE(pools),
    CASE(normalisations),
    CASE(losses),
    CASE(recurrent_layers),
    CASE(linear_attention),
    CASE(scales_of_integers),
};
TEST_MAIN_OF_ONE_THREAD(cases)
