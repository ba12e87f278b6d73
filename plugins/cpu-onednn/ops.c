/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops.c: the ops of this backend, sorted by name, each with the newest version that it is written
 * for. An op that is not here is not claimed; one that is here may still say no to a call.
 */
#include <string.h>

#include "families.h"

#define ROW(domain, name, version, family, ...)                                                    \
    {                                                                                              \
        domain, name, version, onednn_##family##_supports, onednn_##family##_prepare, __VA_ARGS__  \
    }
#define OP(...)  ROW("", __VA_ARGS__)
#define OWN(...) ROW("tfrun", __VA_ARGS__)

/* Sets of types of operand 0: those of every processor, and those of some. */
#define BIT(type) (1u << TFR_DTYPE_##type)
#define HALF      BIT(BF16) | BIT(F16)
#define FLOATS    BIT(F32), HALF
#define F32       BIT(F32), 0
#define INT8      BIT(U8) | BIT(I8)
#define CASTS     0, BIT(F32) | HALF
/* Whole bytes, moved as they are. */
#define MOVED ~(BIT(STRING) | BIT(U4) | BIT(I4) | BIT(F4E2M1) | BIT(U2) | BIT(I2) | BIT(NONE)), 0

/* clang-format off */
const onednn_op onednn_op_rows[] = {
    OP("Abs", 13, unary, FLOATS),
    OP("Add", 14, binary, FLOATS),
    OP("AveragePool", 22, pool, FLOATS),
    OP("BatchNormalization", 15, batch_norm, FLOATS),
    OP("Cast", 28, cast, CASTS),
    OP("Clip", 13, clip, BIT(F32), BIT(F16)),
    OP("Concat", 13, concat, MOVED),
    OP("Conv", 22, conv, FLOATS),
    OWN("ConvGradFilter", 1, conv_grad, F32),
    OWN("ConvGradInput", 1, conv, FLOATS),
    OP("ConvInteger", 10, conv_integer, 0, INT8),
    OP("ConvTranspose", 22, conv, FLOATS),
    OP("DequantizeLinear", 28, quantize, INT8, 0),
    OP("Div", 14, binary, FLOATS),
    OP("Elu", 22, unary, FLOATS),
    OP("Exp", 13, exp, FLOATS),
    OP("GRU", 22, recurrent, F32),
    OP("Gelu", 20, gelu, FLOATS),
    OP("Gemm", 13, gemm, FLOATS),
    OP("GlobalAveragePool", 22, reduce, FLOATS),
    OP("GlobalMaxPool", 22, pool, FLOATS),
    OP("GroupNormalization", 21, group_norm, FLOATS),
    OP("HardSigmoid", 22, hard_sigmoid, FLOATS),
    OP("HardSwish", 22, unary, FLOATS),
    OP("InstanceNormalization", 22, group_norm, FLOATS),
    OP("LRN", 13, lrn, FLOATS),
    OP("LSTM", 22, recurrent, F32),
    OP("LayerNormalization", 17, layer_norm, FLOATS),
    OP("LeakyRelu", 16, unary, FLOATS),
    OP("MatMul", 13, matmul, FLOATS),
    OP("MatMulInteger", 10, matmul_integer, 0, INT8),
    OP("MaxPool", 22, pool, FLOATS),
    OP("Mean", 13, variadic, FLOATS),
    OP("Mish", 22, unary, FLOATS),
    OP("Mul", 14, binary, FLOATS),
    OP("Neg", 13, unary, FLOATS),
    OP("PRelu", 16, prelu, FLOATS),
    OP("Pow", 15, pow, FLOATS),
    OP("QLinearConv", 10, conv_integer, 0, INT8),
    OP("QLinearMatMul", 21, matmul_integer, 0, INT8),
    OP("QuantizeLinear", 28, quantize, F32),
    OP("RNN", 22, recurrent, F32),
    OP("Reciprocal", 13, unary, FLOATS),
    OP("ReduceL1", 18, reduce, FLOATS),
    OP("ReduceL2", 18, reduce, FLOATS),
    OP("ReduceMean", 18, reduce, FLOATS),
    OP("ReduceProd", 18, reduce, FLOATS),
    OP("ReduceSum", 13, reduce, FLOATS),
    OP("ReduceSumSquare", 18, reduce, FLOATS),
    OP("Relu", 14, unary, FLOATS),
    OP("Resize", 19, resize, FLOATS),
    OP("Round", 22, unary, FLOATS),
    OP("Sigmoid", 13, unary, FLOATS),
    OP("Softmax", 13, softmax, FLOATS),
    OP("Sqrt", 13, unary, FLOATS),
    OP("Sub", 14, binary, FLOATS),
    OP("Sum", 13, variadic, FLOATS),
    OP("Swish", 24, unary, FLOATS),
    OP("Tanh", 13, unary, FLOATS),
    OP("Transpose", 25, transpose, MOVED),
};
/* clang-format on */
const uint32_t onednn_n_op_rows = sizeof onednn_op_rows / sizeof onednn_op_rows[0];

const onednn_op *onednn_find_op(const tfr_call *call)
{
    uint32_t low = 0, high = onednn_n_op_rows;

    while (low < high) {
        uint32_t middle = (low + high) / 2;
        int order = strcmp(call->name, onednn_op_rows[middle].name);
        if (order == 0) /* no name is of two domains */
            return strcmp(call->domain, onednn_op_rows[middle].domain) ? NULL
                                                                       : &onednn_op_rows[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}
