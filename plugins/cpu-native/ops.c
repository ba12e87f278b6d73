/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops.c: the ops of this backend, sorted by name, each with the newest version that it is written
 * for. An op that is not here is not claimed; one that is here may still say no to a call.
 */
#include <string.h>

#include "attention_rotary.h"
#include "batch_norm.h"
#include "concat.h"
#include "ml_features.h"
#include "dft.h"
#include "elements.h"
#include "gather.h"
#include "gather_quantized.h"
#include "grid_sample.h"
#include "integer_op.h"
#include "linear_model.h"
#include "matmul.h"
#include "move.h"
#include "non_max_suppression.h"
#include "non_zero.h"
#include "norm_channels.h"
#include "norm_lanes.h"
#include "program.h"
#include "quantize.h"
#include "random.h"
#include "recurrent.h"
#include "resize.h"
#include "roi_align.h"
#include "select.h"
#include "softmax_double.h"
#include "solve.h"
#include "svm.h"
#include "tree_ensemble.h"
#include "window.h"

#define OP(name, version, family, types)                                                           \
    {                                                                                              \
        name, version, types, native_##family##_supports, native_##family##_prepare, "", false,    \
            false                                                                                  \
    }
/* Its float16 and bfloat16 are widened. */
#define HALF(name, version, family, types)                                                         \
    {                                                                                              \
        name, version, (types) | HALVES, native_##family##_supports, native_##family##_prepare,    \
            "", false, true                                                                        \
    }
/* A launch says how long the output is. */
#define COUNTED(name, version, family, types)                                                      \
    {                                                                                              \
        name, version, types, native_##family##_supports, native_##family##_prepare, "", true,     \
            false                                                                                  \
    }
/* What programs know, too: a program of one item. */
#define ITEM(name, version) OP(name, version, item, BIT(F32) | HALVES)
/* And of other types: program_fold.c, program_arg.c, isa_elementwise.h. */
#define WIDE(name, version, types)                                                                 \
    OP(name, version, item, (types) | ((types)&BIT(F32) ? HALVES : 0))
#define OWN(name, version)                                                                         \
    {                                                                                              \
        name, version, BIT(F32), native_item_supports, native_item_prepare, "tfrun", false, false  \
    }

#define SOLVE(name, version, domain)                                                               \
    {                                                                                              \
        name, version, FLOATS, native_solve_supports, native_solve_prepare, domain, false, false   \
    }

/* Of domain ai.onnx.ml. */
#define ML(name, version, family, types)                                                           \
    {                                                                                              \
        name, version, types, native_##family##_supports, native_##family##_prepare, "ai.onnx.ml", \
            false, false                                                                           \
    }

/* Sets of types of operand 0. */
#define BIT(type) (1u << TFR_DTYPE_##type)
#define CASTS                                                                                      \
    (BIT(F32) | BIT(F64) | BIT(F16) | BIT(BF16) | BIT(I32) | BIT(I64) | BIT(U8) | BIT(I8) |        \
     BIT(BOOL))
/* Which programs widen to float32. */
#define HALVES   (BIT(F16) | BIT(BF16))
#define INTEGERS (BIT(I32) | BIT(I64))
#define NUMBERS  (BIT(F32) | BIT(F64) | INTEGERS)
#define BITS     (BIT(U8) | INTEGERS)
#define BYTES    (BIT(U8) | BIT(I8))
#define FLOATS   (BIT(F32) | BIT(F64))
/* 0 if all bits are, but for the sign of floats. */
#define COUNTABLE                                                                                  \
    (NUMBERS | BYTES | BIT(F16) | BIT(BF16) | BIT(I16) | BIT(U16) | BIT(U32) | BIT(U64) | BIT(BOOL))
/* Whole bytes, moved as they are. */
#define MOVED ~(BIT(STRING) | BIT(U4) | BIT(I4) | BIT(F4E2M1) | BIT(U2) | BIT(I2) | BIT(NONE))

/* Those of them that Pad has. */
#define PADDED                                                                                     \
    (MOVED & ~(BIT(F8E4M3FN) | BIT(F8E4M3FNUZ) | BIT(F8E5M2) | BIT(F8E5M2FNUZ) | BIT(F8E8M0)))

/* clang-format off */
const native_op native_op_rows[] = {
    WIDE("Abs", 13, NUMBERS),
    WIDE("Acos", 22, FLOATS),
    WIDE("Acosh", 22, FLOATS),
    WIDE("Add", 14, NUMBERS),
    HALF("AffineGrid", 20, affine_grid, FLOATS),
    WIDE("And", 7, BIT(BOOL)),
    WIDE("ArgMax", 13, NUMBERS),
    WIDE("ArgMin", 13, NUMBERS),
    ML("ArrayFeatureExtractor", 1, gather, NUMBERS),
    WIDE("Asin", 22, FLOATS),
    WIDE("Asinh", 22, FLOATS),
    WIDE("Atan", 22, FLOATS),
    WIDE("Atanh", 22, FLOATS),
    ITEM("Attention", 25),
    ITEM("AveragePool", 22),
    {"AveragePoolGrad", 1, FLOATS, native_col2im_supports, native_col2im_prepare, "tfrun",
     false, false},
    OWN("BatchNormGrad", 1),
    OWN("BatchNormTrain", 1),
    OP("BatchNormalization", 15, batch_norm, BIT(F32) | HALVES),
    OP("Bernoulli", 22, random, BIT(F32)),
    ML("Binarizer", 1, binarizer, NUMBERS),
    WIDE("BitShift", 28, BIT(U8) | BIT(U16) | BIT(U32) | BIT(U64)),
    WIDE("BitwiseAnd", 18, BITS),
    WIDE("BitwiseNot", 18, BITS),
    WIDE("BitwiseOr", 18, BITS),
    WIDE("BitwiseXor", 18, BITS),
    WIDE("Cast", 28, CASTS),
    WIDE("CastLike", 25, CASTS),
    ML("CategoryMapper", 1, mapper, BIT(I64) | BIT(STRING)),
    WIDE("Ceil", 13, FLOATS),
    ITEM("Celu", 28),
    WIDE("Clip", 13, NUMBERS),
    OP("Col2Im", 18, col2im, NUMBERS),
    COUNTED("Compress", 28, compress, PADDED),
    OP("Concat", 13, concat, MOVED),
    OP("ConstantOfShape", 25, fill, BIT(I64)),
    ITEM("Conv", 22),
    OWN("ConvGradFilter", 1),
    OWN("ConvGradInput", 1),
    OP("ConvInteger", 10, int8_conv, BYTES),
    ITEM("ConvTranspose", 22),
    ITEM("Cos", 22),
    WIDE("Cosh", 22, FLOATS),
    HALF("CumProd", 26, cum_sum, NUMBERS),
    HALF("CumSum", 14, cum_sum, NUMBERS),
    HALF("DFT", 20, dft, FLOATS),
    OP("DeformConv", 22, deform_conv, BIT(F32)),
    OP("DepthToSpace", 28, move, PADDED),
    OP("DequantizeLinear", 28, quantize, BYTES | BIT(I32) | BIT(U4) | BIT(I4)),
    HALF("Det", 22, solve, FLOATS),
    WIDE("Div", 14, NUMBERS),
    OP("Dropout", 22, dropout, BIT(F32)),
    OP("DynamicQuantizeLinear", 11, dynamic_quantize, BIT(F32)),
    ITEM("Einsum", 28),
    ITEM("Elu", 22),
    WIDE("Equal", 19, NUMBERS | BIT(U8) | BIT(BOOL)),
    ITEM("Erf", 13),
    WIDE("Exp", 13, FLOATS),
    OP("Expand", 13, expand, MOVED),
    OP("EyeLike", 22, place, FLOATS | BIT(I32) | BIT(BOOL)),
    ML("FeatureVectorizer", 1, vectorizer, NUMBERS),
    WIDE("Floor", 13, FLOATS),
    HALF("GRU", 22, recurrent, BIT(F32)),
    OP("Gather", 13, gather, MOVED),
    {"GatherBlockQuantized", 1, BIT(U8) | BIT(U4) | BIT(I4), native_gather_quantized_supports,
     native_gather_quantized_prepare, "com.microsoft", false, false},
    OP("GatherElements", 13, elements, MOVED),
    OP("GatherND", 13, tuples, MOVED),
    ITEM("Gelu", 20),
    OP("Gemm", 13, matmul, BIT(F32) | HALVES),
    WIDE("GlobalAveragePool", 22, FLOATS),
    OP("GlobalLpPool", 22, lanes, FLOATS),
    WIDE("GlobalMaxPool", 22, FLOATS),
    WIDE("Greater", 13, NUMBERS),
    WIDE("GreaterOrEqual", 16, NUMBERS),
    OP("GridSample", 22, grid_sample, PADDED),
    ITEM("GroupNormalization", 21),
    ITEM("HardSigmoid", 22),
    ITEM("HardSwish", 22),
    OP("Hardmax", 13, lanes, FLOATS),
    ML("Imputer", 1, imputer, NUMBERS),
    ITEM("InstanceNormalization", 22),
    SOLVE("Inverse", 1, "tfrun"),
    WIDE("IsInf", 20, BIT(F32) | BIT(F64)),
    WIDE("IsNaN", 20, BIT(F32) | BIT(F64) | BIT(F16) | BIT(BF16)),
    HALF("LRN", 13, lrn, BIT(F32)),
    HALF("LSTM", 22, recurrent, BIT(F32)),
    ML("LabelEncoder", 4, mapper, BIT(F32) | BIT(I64) | BIT(STRING)),
    OWN("LayerNormGrad", 1),
    ITEM("LayerNormalization", 17),
    ITEM("LeakyRelu", 16),
    WIDE("Less", 13, NUMBERS),
    WIDE("LessOrEqual", 16, NUMBERS),
    ML("LinearClassifier", 1, linear_model, NUMBERS),
    ML("LinearRegressor", 1, linear_model, NUMBERS),
    WIDE("Log", 13, FLOATS),
    OP("LogSoftmax", 13, softmax, FLOATS | HALVES),
    OP("LpNormalization", 22, lanes, FLOATS),
    OP("LpPool", 22, pool_lp, FLOATS),
    OP("MatMul", 13, matmul, BIT(F32) | HALVES),
    OP("MatMulInteger", 10, int8_matmul, BYTES),
    {"MatMulNBits", 1, BIT(F32) | HALVES, native_item_supports, native_item_prepare,
     "com.microsoft", false, false},
    WIDE("Max", 13, NUMBERS),
    OP("MaxPool", 22, item, BIT(F32) | HALVES | BYTES),
    OWN("MaxPoolGrad", 1),
    OP("MaxRoiPool", 22, max_roi_pool, BIT(F32)),
    OP("MaxUnpool", 22, max_unpool, FLOATS | HALVES),
    WIDE("Mean", 13, BIT(F32) | BIT(F64)),
    WIDE("Min", 13, NUMBERS),
    ITEM("Mish", 22),
    WIDE("Mod", 28, INTEGERS | FLOATS),
    WIDE("Mul", 14, NUMBERS),
    OP("Multinomial", 22, classes, FLOATS),
    WIDE("Neg", 13, NUMBERS),
    COUNTED("NonMaxSuppression", 11, nms, BIT(F32)),
    COUNTED("NonZero", 13, non_zero, COUNTABLE),
    ML("Normalizer", 1, features, NUMBERS),
    WIDE("Not", 1, BIT(BOOL)),
    OP("OneHot", 28, place, INTEGERS),
    ML("OneHotEncoder", 1, encoder, NUMBERS | BIT(STRING)),
    WIDE("Or", 7, BIT(BOOL)),
    WIDE("PRelu", 16, BIT(F32)),
    OP("Pad", 25, item, PADDED),
    WIDE("Pow", 15, BIT(F32) | BIT(F64)),
    OP("QLinearConv", 10, int8_conv, BYTES),
    OP("QLinearMatMul", 21, int8_matmul, BYTES),
    OP("QuantizeLinear", 28, quantize, BIT(F32)),
    ITEM("RMSNormalization", 23),
    HALF("RNN", 22, recurrent, BIT(F32)),
    OP("RandomNormal", 22, random, BIT(F32)),
    OP("RandomNormalLike", 22, random, PADDED),
    OP("RandomUniform", 22, random, BIT(F32)),
    OP("RandomUniformLike", 22, random, PADDED),
    OP("Range", 27, place, NUMBERS),
    WIDE("Reciprocal", 13, FLOATS),
    WIDE("ReduceL1", 18, NUMBERS),
    WIDE("ReduceL2", 18, NUMBERS),
    WIDE("ReduceLogSum", 28, FLOATS),
    WIDE("ReduceLogSumExp", 28, FLOATS),
    WIDE("ReduceMax", 20, NUMBERS | BYTES),
    WIDE("ReduceMean", 18, NUMBERS),
    WIDE("ReduceMin", 20, NUMBERS | BYTES),
    WIDE("ReduceProd", 18, NUMBERS),
    WIDE("ReduceSum", 13, NUMBERS),
    WIDE("ReduceSumSquare", 18, NUMBERS),
    WIDE("Relu", 14, NUMBERS),
    OP("Resize", 19, resize, FLOATS | BIT(F16) | BIT(BF16) | BIT(U8) | BIT(I32)),
    OP("ReverseSequence", 28, move_rows, PADDED),
    HALF("RoiAlign", 22, roi_align, BIT(F32)),
    HALF("RotaryEmbedding", 23, rotary, BIT(F32)),
    WIDE("Round", 22, FLOATS),
    HALF("STFT", 17, dft, FLOATS),
    ML("SVMClassifier", 1, svm, BIT(F32)),
    ML("SVMRegressor", 1, svm, BIT(F32)),
    ML("Scaler", 1, features, NUMBERS),
    OP("ScatterElements", 18, elements, MOVED),
    OP("ScatterND", 18, tuples, MOVED),
    ITEM("Selu", 22),
    ITEM("Shrink", 9),
    WIDE("Sigmoid", 13, FLOATS),
    WIDE("Sign", 13, BIT(F32) | INTEGERS),
    ITEM("Sin", 22),
    WIDE("Sinh", 22, FLOATS),
    OP("Slice", 13, concat, MOVED),
    OP("Softmax", 13, softmax, FLOATS | HALVES),
    OWN("SoftmaxCrossEntropyGrad", 1),
    ITEM("SoftmaxCrossEntropyLoss", 13),
    ITEM("Softplus", 22),
    ITEM("Softsign", 22),
    SOLVE("Solve", 1, "tfrun"),
    OP("SpaceToDepth", 28, move, PADDED),
    OP("Split", 18, concat, MOVED),
    WIDE("Sqrt", 13, BIT(F32) | BIT(F64)),
    WIDE("Sub", 14, NUMBERS),
    WIDE("Sum", 13, BIT(F32) | BIT(F64)),
    OWN("SumTo", 1),
    ITEM("Swish", 24),
    WIDE("Tan", 22, FLOATS),
    WIDE("Tanh", 13, FLOATS),
    OP("TensorScatter", 24, tensor_scatter, MOVED),
    ITEM("ThresholdedRelu", 22),
    OP("Tile", 13, move, PADDED),
    WIDE("TopK", 24, NUMBERS),
    OP("Transpose", 25, transpose, MOVED),
    ML("TreeEnsemble", 5, tree_ensemble, FLOATS),
    ML("TreeEnsembleClassifier", 5, tree_ensemble, NUMBERS),
    ML("TreeEnsembleRegressor", 5, tree_ensemble, NUMBERS),
    OP("Trilu", 14, move_rows, PADDED),
    COUNTED("Unique", 28, unique, COUNTABLE),
    OP("Where", 16, item, BIT(BOOL)),
    WIDE("Xor", 7, BIT(BOOL)),
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
