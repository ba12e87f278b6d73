/* SPDX-License-Identifier: Apache-2.0 */
/* autodiff_rules.c: which op has which rule. An op that is not here cannot be differentiated. */
#include <stdlib.h>
#include <string.h>

#include "autodiff.h"

/* clang-format off */
/* Sorted by op. No rule: nothing flows through it, its value is constant almost everywhere. */
static const tfr__diff_rule rules[] = {
    {"Abs", TFR__RANK_SAME, tfr__diff_abs},
    {"Add", TFR__RANK_WIDEST, tfr__diff_add},
    {"And", TFR__RANK_WIDEST, NULL},
    {"ArgMax", TFR__RANK_UNKNOWN, NULL},
    {"ArgMin", TFR__RANK_UNKNOWN, NULL},
    {"Cast", TFR__RANK_SAME, tfr__diff_cast},
    {"CastLike", TFR__RANK_SAME, tfr__diff_cast},
    {"Ceil", TFR__RANK_SAME, NULL},
    {"Concat", TFR__RANK_SAME, tfr__diff_concat},
    {"ConstantOfShape", TFR__RANK_UNKNOWN, NULL},
    {"Cos", TFR__RANK_SAME, tfr__diff_cos},
    {"Div", TFR__RANK_WIDEST, tfr__diff_div},
    {"Equal", TFR__RANK_WIDEST, NULL},
    {"Erf", TFR__RANK_SAME, tfr__diff_erf},
    {"Exp", TFR__RANK_SAME, tfr__diff_exp},
    {"Expand", TFR__RANK_EXPAND, tfr__diff_expand},
    {"Flatten", TFR__RANK_TWO, tfr__diff_reshape},
    {"Floor", TFR__RANK_SAME, NULL},
    {"Gemm", TFR__RANK_TWO, tfr__diff_gemm},
    {"Greater", TFR__RANK_WIDEST, NULL},
    {"GreaterOrEqual", TFR__RANK_WIDEST, NULL},
    {"Identity", TFR__RANK_SAME, tfr__diff_identity},
    {"IsInf", TFR__RANK_SAME, NULL},
    {"IsNaN", TFR__RANK_SAME, NULL},
    {"Less", TFR__RANK_WIDEST, NULL},
    {"LessOrEqual", TFR__RANK_WIDEST, NULL},
    {"Log", TFR__RANK_SAME, tfr__diff_log},
    {"LogSoftmax", TFR__RANK_SAME, tfr__diff_log_softmax},
    {"MatMul", TFR__RANK_MATMUL, tfr__diff_matmul},
    {"Mul", TFR__RANK_WIDEST, tfr__diff_mul},
    {"Neg", TFR__RANK_SAME, tfr__diff_neg},
    {"NonZero", TFR__RANK_TWO, NULL},
    {"Not", TFR__RANK_SAME, NULL},
    {"OneHot", TFR__RANK_UNKNOWN, NULL},
    {"Or", TFR__RANK_WIDEST, NULL},
    {"Pow", TFR__RANK_WIDEST, tfr__diff_pow},
    {"RandomNormalLike", TFR__RANK_SAME, NULL},
    {"RandomUniformLike", TFR__RANK_SAME, NULL},
    {"Reciprocal", TFR__RANK_SAME, tfr__diff_reciprocal},
    {"ReduceMean", TFR__RANK_REDUCE, tfr__diff_reduce_mean},
    {"ReduceSum", TFR__RANK_REDUCE, tfr__diff_reduce_sum},
    {"Relu", TFR__RANK_SAME, tfr__diff_relu},
    {"Reshape", TFR__RANK_SHAPE, tfr__diff_reshape},
    {"Round", TFR__RANK_SAME, NULL},
    {"Shape", TFR__RANK_UNKNOWN, NULL},
    {"Sigmoid", TFR__RANK_SAME, tfr__diff_sigmoid},
    {"Sign", TFR__RANK_SAME, NULL},
    {"Sin", TFR__RANK_SAME, tfr__diff_sin},
    {"Size", TFR__RANK_UNKNOWN, NULL},
    {"Slice", TFR__RANK_SAME, tfr__diff_slice},
    {"Softmax", TFR__RANK_SAME, tfr__diff_softmax},
    {"Softplus", TFR__RANK_SAME, tfr__diff_softplus},
    {"Sqrt", TFR__RANK_SAME, tfr__diff_sqrt},
    {"Squeeze", TFR__RANK_SQUEEZE, tfr__diff_reshape},
    {"Sub", TFR__RANK_WIDEST, tfr__diff_sub},
    {"Sum", TFR__RANK_WIDEST, tfr__diff_add},
    {"SumTo", TFR__RANK_SHAPE, tfr__diff_summed},
    {"Tanh", TFR__RANK_SAME, tfr__diff_tanh},
    {"Transpose", TFR__RANK_SAME, tfr__diff_transpose},
    {"Unsqueeze", TFR__RANK_UNSQUEEZE, tfr__diff_reshape},
    {"Where", TFR__RANK_WIDEST, tfr__diff_where},
    {"Xor", TFR__RANK_WIDEST, NULL},
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
