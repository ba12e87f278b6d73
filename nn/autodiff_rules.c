/* SPDX-License-Identifier: Apache-2.0 */
/* autodiff_rules.c: which op has which rule. An op that is not here cannot be differentiated. */
#include <stdlib.h>
#include <string.h>

#include "autodiff.h"

/* clang-format off */
/* Sorted by op. No rule: nothing flows through it, its value is constant almost everywhere. */
static const tfr__diff_rule rules[] = {
    {"Abs", tfr__diff_abs},
    {"Add", tfr__diff_add},
    {"And", NULL},
    {"ArgMax", NULL},
    {"ArgMin", NULL},
    {"Cast", tfr__diff_cast},
    {"CastLike", tfr__diff_cast},
    {"Ceil", NULL},
    {"Concat", tfr__diff_concat},
    {"ConstantOfShape", NULL},
    {"Cos", tfr__diff_cos},
    {"Div", tfr__diff_div},
    {"Equal", NULL},
    {"Erf", tfr__diff_erf},
    {"Exp", tfr__diff_exp},
    {"Expand", tfr__diff_expand},
    {"Flatten", tfr__diff_reshape},
    {"Floor", NULL},
    {"Gemm", tfr__diff_gemm},
    {"Greater", NULL},
    {"GreaterOrEqual", NULL},
    {"Identity", tfr__diff_identity},
    {"IsInf", NULL},
    {"IsNaN", NULL},
    {"Less", NULL},
    {"LessOrEqual", NULL},
    {"Log", tfr__diff_log},
    {"LogSoftmax", tfr__diff_log_softmax},
    {"MatMul", tfr__diff_matmul},
    {"Mul", tfr__diff_mul},
    {"Neg", tfr__diff_neg},
    {"NonZero", NULL},
    {"Not", NULL},
    {"OneHot", NULL},
    {"Or", NULL},
    {"Pow", tfr__diff_pow},
    {"RandomNormalLike", NULL},
    {"RandomUniformLike", NULL},
    {"Reciprocal", tfr__diff_reciprocal},
    {"ReduceMean", tfr__diff_reduce_mean},
    {"ReduceSum", tfr__diff_reduce_sum},
    {"Relu", tfr__diff_relu},
    {"Reshape", tfr__diff_reshape},
    {"Round", NULL},
    {"Shape", NULL},
    {"Sigmoid", tfr__diff_sigmoid},
    {"Sign", NULL},
    {"Sin", tfr__diff_sin},
    {"Size", NULL},
    {"Slice", tfr__diff_slice},
    {"Softmax", tfr__diff_softmax},
    {"Softplus", tfr__diff_softplus},
    {"Sqrt", tfr__diff_sqrt},
    {"Squeeze", tfr__diff_reshape},
    {"Sub", tfr__diff_sub},
    {"Sum", tfr__diff_add},
    {"SumTo", tfr__diff_summed},
    {"Tanh", tfr__diff_tanh},
    {"Transpose", tfr__diff_transpose},
    {"Unsqueeze", tfr__diff_reshape},
    {"Where", tfr__diff_where},
    {"Xor", NULL},
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
