/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops.c: the ops of this backend, sorted by name, each with the newest version that it is written
 * for. An op that is not here is not claimed; one that is here may still say no to a call.
 */
#include <string.h>

#include "families.h"

#define OP(name, version, family)                                                                  \
    {                                                                                              \
        name, version, tfr_dnn_##family##_supports, tfr_dnn_##family##_prepare                     \
    }

/* clang-format off */
const tfr_dnn_op tfr_dnn_ops[] = {
    OP("Abs", 13, eltwise),
    OP("Add", 14, binary),
    OP("AveragePool", 22, pooling),
    OP("BatchNormalization", 15, batch_norm),
    OP("Cast", 28, cast),
    OP("Clip", 13, clip),
    OP("Concat", 13, concat),
    OP("Conv", 22, convolution),
    OP("ConvInteger", 10, conv_integer),
    OP("ConvTranspose", 22, convolution),
    OP("DequantizeLinear", 28, quantize),
    OP("Div", 14, binary),
    OP("Elu", 22, eltwise),
    OP("Exp", 13, exp),
    OP("GRU", 22, recurrent),
    OP("Gelu", 20, gelu),
    OP("Gemm", 13, gemm),
    OP("GlobalAveragePool", 22, reduction),
    OP("GlobalMaxPool", 22, pooling),
    OP("GroupNormalization", 21, group_norm),
    OP("HardSigmoid", 22, hard_sigmoid),
    OP("HardSwish", 22, eltwise),
    OP("InstanceNormalization", 22, group_norm),
    OP("LRN", 13, lrn),
    OP("LSTM", 22, recurrent),
    OP("LayerNormalization", 17, layer_norm),
    OP("LeakyRelu", 16, eltwise),
    OP("MatMul", 13, matmul),
    OP("MatMulInteger", 10, matmul_integer),
    OP("MaxPool", 22, pooling),
    OP("Mean", 13, sum),
    OP("Mish", 22, eltwise),
    OP("Mul", 14, binary),
    OP("Neg", 13, eltwise),
    OP("PRelu", 16, prelu),
    OP("Pow", 15, pow),
    OP("QLinearConv", 10, conv_integer),
    OP("QLinearMatMul", 21, matmul_integer),
    OP("QuantizeLinear", 28, quantize),
    OP("RNN", 22, recurrent),
    OP("Reciprocal", 13, eltwise),
    OP("ReduceL1", 18, reduction),
    OP("ReduceL2", 18, reduction),
    OP("ReduceMean", 18, reduction),
    OP("ReduceProd", 18, reduction),
    OP("ReduceSum", 13, reduction),
    OP("ReduceSumSquare", 18, reduction),
    OP("Relu", 14, eltwise),
    OP("Resize", 19, resize),
    OP("Round", 22, eltwise),
    OP("Sigmoid", 13, eltwise),
    OP("Softmax", 13, softmax),
    OP("Sqrt", 13, eltwise),
    OP("Sub", 14, binary),
    OP("Sum", 13, sum),
    OP("Swish", 24, eltwise),
    OP("Tanh", 13, eltwise),
    OP("Transpose", 25, transpose),
};
/* clang-format on */
const uint32_t tfr_dnn_n_ops = sizeof tfr_dnn_ops / sizeof tfr_dnn_ops[0];

const tfr_dnn_op *tfr_dnn_find_op(const tfr_call *call)
{
    uint32_t low = 0, high = tfr_dnn_n_ops;

    if (call->domain[0] != 0)
        return NULL;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        int order = strcmp(call->name, tfr_dnn_ops[middle].name);
        if (order == 0)
            return &tfr_dnn_ops[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}
