/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops.c: the ops of this backend, sorted by name, each with the newest version that it is written
 * for. An op that is not here is not claimed; one that is here may still say no to a call.
 */
#include <string.h>

#include "cast.h"
#include "gather.h"
#include "matmul.h"
#include "program.h"

#define OP(name, version, family, types)                                                           \
    {                                                                                              \
        name, version, types, native_##family##_supports, native_##family##_prepare, ""            \
    }
/* What programs know, too: a program of one item. */
#define ITEM(name, version) OP(name, version, item, BIT(F32))
/* And with rows of program_wide.c. */
#define WIDE(name, version, types) OP(name, version, item, types)
#define OWN(name, version)                                                                         \
    {                                                                                              \
        name, version, BIT(F32), native_item_supports, native_item_prepare, "tfrun"                \
    }

/* Sets of types of operand 0. */
#define BIT(type) (1u << TFR_DTYPE_##type)
#define CASTS     (BIT(F32) | BIT(F64) | BIT(I32) | BIT(I64) | BIT(U8) | BIT(I8) | BIT(BOOL))
/* Whole bytes, moved as they are. */
#define MOVED ~(BIT(STRING) | BIT(U4) | BIT(I4) | BIT(F4E2M1) | BIT(U2) | BIT(I2) | BIT(NONE))

/* clang-format off */
const native_op native_op_rows[] = {
    ITEM("Abs", 13),
    WIDE("Add", 14, BIT(F32) | BIT(F64) | BIT(I64)),
    WIDE("And", 7, BIT(BOOL)),
    WIDE("ArgMax", 13, BIT(F32)),
    ITEM("AveragePool", 22),
    OWN("BatchNormGrad", 1),
    OWN("BatchNormTrain", 1),
    OP("Cast", 28, cast, CASTS),
    ITEM("Clip", 13),
    ITEM("Concat", 13),
    ITEM("Conv", 22),
    OWN("ConvGradFilter", 1),
    OWN("ConvGradInput", 1),
    WIDE("Div", 14, BIT(F32) | BIT(F64)),
    WIDE("Equal", 19, BIT(I64)),
    ITEM("Erf", 13),
    ITEM("Exp", 13),
    ITEM("Expand", 13),
    OP("Gather", 13, gather, MOVED),
    ITEM("Gelu", 20),
    OP("Gemm", 13, matmul, BIT(F32)),
    ITEM("GlobalAveragePool", 22),
    ITEM("Greater", 13),
    ITEM("HardSigmoid", 22),
    ITEM("HardSwish", 22),
    OWN("LayerNormGrad", 1),
    ITEM("LayerNormalization", 17),
    ITEM("LeakyRelu", 16),
    ITEM("LogSoftmax", 13),
    OP("MatMul", 13, matmul, BIT(F32)),
    ITEM("MaxPool", 22),
    OWN("MaxPoolGrad", 1),
    WIDE("Mul", 14, BIT(F32) | BIT(F64) | BIT(I64)),
    ITEM("Neg", 13),
    WIDE("Not", 1, BIT(BOOL)),
    WIDE("Or", 7, BIT(BOOL)),
    WIDE("Pow", 15, BIT(F64)),
    ITEM("ReduceMean", 18),
    WIDE("ReduceSum", 13, BIT(F32) | BIT(F64)),
    ITEM("Relu", 14),
    ITEM("Sigmoid", 13),
    ITEM("Slice", 13),
    ITEM("Softmax", 13),
    OWN("SoftmaxCrossEntropyGrad", 1),
    ITEM("SoftmaxCrossEntropyLoss", 13),
    ITEM("Split", 18),
    WIDE("Sqrt", 13, BIT(F32) | BIT(F64)),
    WIDE("Sub", 14, BIT(F32) | BIT(F64) | BIT(I64)),
    OWN("SumTo", 1),
    ITEM("Swish", 24),
    ITEM("Tanh", 13),
    ITEM("Transpose", 25),
    OP("Where", 16, item, BIT(BOOL)),
};
/* clang-format on */
const uint32_t native_n_op_rows = sizeof native_op_rows / sizeof native_op_rows[0];

const native_op *native_find_op(const tfr_call *call)
{
    uint32_t low = 0, high = native_n_op_rows;

    while (low < high) {
        uint32_t middle = (low + high) / 2;
        int order = strcmp(call->name, native_op_rows[middle].name);
        if (order == 0)
            return strcmp(call->domain, native_op_rows[middle].domain) == 0
                       ? &native_op_rows[middle]
                       : NULL;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}
