/* SPDX-License-Identifier: Apache-2.0 */
/* autodiff_rules.c: which op has which rule. An op that is not here cannot be differentiated. */
#include <stdlib.h>
#include <string.h>

#include "autodiff.h"

/* clang-format off */
/* Sorted by op. No rule: nothing flows through it, its value is constant almost everywhere. */
static const tfr__diff_rule rules[] = {
    {"Abs", .run = tfr__diff_abs},
    {"Add", .run = tfr__diff_add},
    {"And", .run = NULL},
    {"ArgMax", .run = NULL},
    {"ArgMin", .run = NULL},
    {"AveragePool", .run = tfr__diff_average_pool},
    {"AveragePoolGrad", .run = tfr__diff_average_pool_grad},
    {"BatchNormTrain", .run = tfr__diff_batch_norm},
    {"BatchNormalization", .run = tfr__diff_batch_norm},
    {"Cast", .run = tfr__diff_cast},
    {"CastLike", .run = tfr__diff_cast},
    {"Ceil", .run = NULL},
    {"Concat", .run = tfr__diff_concat},
    {"ConstantOfShape", .run = NULL},
    {"Conv", .run = tfr__diff_conv},
    {"ConvGradFilter", .run = tfr__diff_conv_grad_filter},
    {"ConvGradInput", .run = tfr__diff_conv_grad_input},
    {"ConvTranspose", .run = tfr__diff_conv_transpose},
    {"Cos", .run = tfr__diff_cos},
    {"Div", .run = tfr__diff_div},
    {"Dropout", .run = tfr__diff_dropout},
    {"Equal", .run = NULL},
    {"Erf", .run = tfr__diff_erf},
    {"Exp", .run = tfr__diff_exp},
    {"Expand", .run = tfr__diff_expand},
    {"Flatten", .run = tfr__diff_reshaped},
    {"Floor", .run = NULL},
    {"Gemm", .run = tfr__diff_gemm},
    {"GlobalAveragePool", .run = tfr__diff_global_average_pool},
    {"GlobalMaxPool", .run = tfr__diff_global_max_pool},
    {"Greater", .run = NULL},
    {"GreaterOrEqual", .run = NULL},
    {"GroupNormalization", .run = tfr__diff_group_norm},
    {"Identity", .run = tfr__diff_identity},
    {"InstanceNormalization", .run = tfr__diff_group_norm},
    {"IsInf", .run = NULL},
    {"IsNaN", .run = NULL},
    {"LayerNormalization", .run = tfr__diff_layer_norm},
    {"Less", .run = NULL},
    {"LessOrEqual", .run = NULL},
    {"Log", .run = tfr__diff_log},
    {"LogSoftmax", .run = tfr__diff_log_softmax},
    {"MatMul", .run = tfr__diff_matmul},
    {"MaxPool", .run = tfr__diff_max_pool},
    {"MaxPoolGrad", .run = tfr__diff_max_pool_grad},
    {"Mul", .run = tfr__diff_mul},
    {"Neg", .run = tfr__diff_neg},
    {"NegativeLogLikelihoodLoss", .run = tfr__diff_nll_loss},
    {"NonZero", .run = NULL},
    {"Not", .run = NULL},
    {"OneHot", .run = NULL},
    {"Or", .run = NULL},
    {"Pow", .run = tfr__diff_pow},
    {"RMSNormalization", .run = tfr__diff_layer_norm},
    {"RandomNormalLike", .run = NULL},
    {"RandomUniformLike", .run = NULL},
    {"Reciprocal", .run = tfr__diff_reciprocal},
    {"ReduceMean", .run = tfr__diff_reduce_mean},
    {"ReduceSum", .run = tfr__diff_reduce_sum},
    {"Relu", .run = tfr__diff_relu},
    {"Reshape", .run = tfr__diff_reshaped},
    {"Round", .run = NULL},
    {"Shape", .run = NULL},
    {"Sigmoid", .run = tfr__diff_sigmoid},
    {"Sign", .run = NULL},
    {"Sin", .run = tfr__diff_sin},
    {"Size", .run = NULL},
    {"Slice", .run = tfr__diff_slice},
    {"Softmax", .run = tfr__diff_softmax},
    {"SoftmaxCrossEntropyLoss", .run = tfr__diff_softmax_loss, .outputs = 2},
    {"Softplus", .run = tfr__diff_softplus},
    {"Sqrt", .run = tfr__diff_sqrt},
    {"Squeeze", .run = tfr__diff_reshaped},
    {"Sub", .run = tfr__diff_sub},
    {"Sum", .run = tfr__diff_add},
    {"SumTo", .run = tfr__diff_summed},
    {"Tanh", .run = tfr__diff_tanh},
    {"Transpose", .run = tfr__diff_transpose},
    {"Unsqueeze", .run = tfr__diff_reshaped},
    {"Where", .run = tfr__diff_where},
    {"Xor", .run = NULL},
};
/* clang-format on */

static int compare(const void *name, const void *row)
{
    return strcmp(name, ((const tfr__diff_rule *)row)->op);
}

const tfr__diff_rule *tfr__diff_find(const char *op)
{
    return bsearch(op, rules, sizeof rules / sizeof rules[0], sizeof rules[0], compare);
}
