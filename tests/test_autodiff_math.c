/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of elementwise ops, reductions and products of matrices; gradient_kit.h checks. */
#include "gradient_kit.h"

TEST(functions_of_one_value)
{
    static const gradient_case c[] = {
        {"Abs", "f3,5", "", .flags = SECOND},
        {"Acos", "f3,5", "", .flags = SECOND, .low = -0.9, .high = 0.9},
        {"Acosh", "f3,5", "", .flags = SECOND, .low = 1.5, .high = 3},
        {"Asin", "f3,5", "", .flags = SECOND, .low = -0.9, .high = 0.9},
        {"Asinh", "f3,5", "", .flags = SECOND},
        {"Atan", "f3,5", "", .flags = SECOND},
        {"Atanh", "f3,5", "", .flags = SECOND, .low = -0.9, .high = 0.9},
        {"Celu", "f3,5", "alpha:f=0.5", .flags = SECOND},
        {"Celu", "f3,5", "", .flags = SECOND},
        {"Cos", "f3,5", "", .flags = SECOND},
        {"Cosh", "f3,5", "", .flags = SECOND},
        {"Elu", "f3,5", "alpha:f=0.5", .flags = SECOND},
        {"Elu", "f3,5", "", .flags = SECOND},
        {"Erf", "f3,5", "", .flags = SECOND},
        {"Exp", "f", "", .flags = SECOND},
        {"Gelu", "f3,5", "", .flags = SECOND},
        {"Gelu", "f3,5", "approximate:s=tanh", .flags = SECOND},
        {"HardSigmoid", "f3,5", "", .flags = SECOND, .low = -4, .high = 4},
        {"HardSigmoid", "f3,5", "alpha:f=0.5 beta:f=0.25", .flags = SECOND},
        {"HardSwish", "f3,5", "", .flags = SECOND, .low = -5, .high = 5},
        {"Identity", "f0,3", "", .flags = SECOND},
        {"LeakyRelu", "f3,5", "alpha:f=0.25", .flags = SECOND},
        {"LeakyRelu", "f3,5", "", .flags = SECOND},
        {"Log", "f3,5", "", .flags = SECOND, .low = 0.5, .high = 3},
        {"Mish", "f3,5", "", .flags = SECOND},
        {"Neg", "f3,5", "", .flags = LINEAR | SECOND},
        {"Reciprocal", "f3,5", "", .flags = SECOND, .low = 0.5, .high = 2},
        {"Relu", "f3,5", "", .flags = SECOND},
        {"Selu", "f3,5", "", .flags = SECOND},
        {"Selu", "f3,5", "alpha:f=2 gamma:f=0.5", .flags = SECOND},
        {"Shrink", "f3,5", "lambd:f=0.75 bias:f=0.5", .flags = SECOND},
        {"Sigmoid", "f3,5", "", .flags = SECOND},
        {"Sin", "f3,5", "", .flags = SECOND},
        {"Sinh", "f3,5", "", .flags = SECOND},
        {"Softplus", "f3,5", "", .flags = SECOND},
        {"Softsign", "f3,5", "", .flags = SECOND},
        {"Sqrt", "f3,5", "", .flags = SECOND, .low = 0.5, .high = 3},
        {"Swish", "f3,5", "alpha:f=1.5", .flags = SECOND},
        {"Swish", "f3,5", "", .flags = SECOND},
        {"Tan", "f3,5", "", .flags = SECOND, .low = -1, .high = 1},
        {"Tanh", "f3,5", "", .flags = SECOND},
        {"ThresholdedRelu", "f3,5", "alpha:f=0.5", .flags = SECOND},
    };
    CHECK_GRADIENTS(c);
}

TEST(functions_of_several_values)
{
    static const gradient_case c[] = {
        {"Add", "f2,3 0", "", .flags = LINEAR | SECOND},
        {"Add", "f2,1,3 f4,1", "", .flags = LINEAR | SECOND},
        {"Clip", "f4,5 f f", "", .flags = SECOND},
        {"Clip", "f4,5 =-0.7 =1.1", "", .flags = SECOND},
        {"Clip", "f4,5 - f", "", .flags = SECOND},
        {"Clip", "f4,5 f", "", .flags = SECOND},
        {"Div", "f2,3 f2,1", "", .flags = SECOND, .low = 0.5, .high = 2},
        {"Div", "f2,3 0", "", .flags = SECOND, .low = 0.5, .high = 2},
        {"Max", "f2,3 f3 f2,1", "", .flags = SECOND},
        {"Max", "f2,3 0", "", .flags = LINEAR},
        {"Mean", "f2,3 f3 f", "", .flags = LINEAR | SECOND},
        {"Min", "f2,3 f3 f2,1", "", .flags = SECOND},
        {"Mod", "f2,3 f3", "fmod:i=1", .flags = 0, .low = 0.4, .high = 3},
        {"Mul", "f2,3 0", "", .flags = SECOND},
        {"Mul", "f2,3 f2,1", "", .flags = MULTILINEAR | SECOND},
        {"Mul", "f0,3 f3", "", .flags = MULTILINEAR},
        {"Pow", "f2,3 f3", "", .flags = SECOND, .low = 0.5, .high = 2},
        {"PRelu", "f2,3 f3", "", .flags = SECOND},
        {"PRelu", "f2,3 f", "", .flags = SECOND},
        {"Sub", "f2,3 f3", "", .flags = LINEAR | SECOND},
        {"Sum", "f2,3 f3 f f2,1", "", .flags = LINEAR | SECOND},
        {"SwiGLU", "f2,3 f2,3", "alpha:f=1.5", .flags = SECOND},
        {"Where", "b2,3 f3 f2,1", "", .flags = LINEAR | SECOND},
    };
    CHECK_GRADIENTS(c);
}

TEST(reductions)
{
    static const gradient_case c[] = {
        {"CumProd", "f3,4 i1", "", .flags = SECOND},
        {"CumProd", "f3,4 i0", "exclusive:i=1 reverse:i=1", .flags = SECOND},
        {"CumSum", "f3,4 i1", "exclusive:i=1", .flags = LINEAR | SECOND},
        {"LogSoftmax", "f2,3,2", "axis:i=1", .flags = SECOND},
        {"LpNormalization", "f3,4", "", .flags = SECOND},
        {"LpNormalization", "f3,4", "axis:i=0 p:i=1", .flags = SECOND},
        {"ReduceL1", "f2,3,2 i1", "keepdims:i=0", .flags = SECOND},
        {"ReduceL2", "f2,3,2 i0,-1", "", .flags = SECOND},
        {"ReduceLogSum", "f2,3,2 i1", "", .flags = SECOND, .low = 0.5, .high = 2},
        {"ReduceLogSumExp", "f2,3,2 i1", "keepdims:i=0", .flags = SECOND},
        {"ReduceMax", "f2,3,2 i1", "", .flags = LINEAR | SECOND},
        {"ReduceMax", "f2,3", "keepdims:i=0", .flags = LINEAR},
        {"ReduceMean", "f2,3,2 i0,-1", "keepdims:i=0", .flags = LINEAR | SECOND},
        {"ReduceMin", "f2,3,2 i0,2", "keepdims:i=0", .flags = LINEAR | SECOND},
        {"ReduceProd", "f2,3,2 i1", "", .flags = SECOND},
        {"ReduceProd", "f2,3", "keepdims:i=0", .flags = 0},
        {"ReduceSum", "f2,3,2 i1", "", .flags = LINEAR | SECOND},
        {"ReduceSum", "f2,0,2 i1", "", .flags = LINEAR},
        {"ReduceSum", "f2,3", "noop_with_empty_axes:i=1", .flags = LINEAR},
        {"ReduceSumSquare", "f2,3,2 i-1", "keepdims:i=0", .flags = SECOND},
        {"Softmax", "f2,3,2", "axis:i=1", .flags = SECOND},
    };
    CHECK_GRADIENTS(c);
}

TEST(products_of_matrices)
{
    static const gradient_case c[] = {
        {"Det", "f3,3", "", .flags = RANKS | SECOND},
        {"Det", "f2,3,3", "", .flags = RANKS},
        {"Einsum", "f2,3 f3,4", "equation:s=ij,jk->ik", .flags = MULTILINEAR | SECOND},
        {"Einsum", "f2,3 f3,4", "equation:s=ij,jk", .flags = MULTILINEAR | SECOND},
        {"Einsum", "f2,3,4", "equation:s=ijk->ki", .flags = LINEAR | SECOND},
        {"Einsum", "f2,3 f4", "equation:s=ij,k->k", .flags = MULTILINEAR},
        {"Einsum", "f5,2,3 f5,3,4", "equation:s=...ij,...jk->...ik", .flags = MULTILINEAR},
        {"Einsum", "f2,3 f1,4", "equation:s=ij,ik->ijk", .flags = MULTILINEAR},
        {"Einsum", "f2,3 f3 f2", "equation:s=ij,j,i->", .flags = MULTILINEAR | SECOND},
        {"Einsum", "f2,3 0", "equation:s=ij,ij->i", .flags = SECOND},
        {"Einsum", "f3,3", "equation:s=ii->i", .flags = LINEAR | SECOND},
        {"Einsum", "f3,3", "equation:s=ii", .flags = LINEAR},
        {"Einsum", "f2,3,2 f3,4", "equation:s=xax,az->xz", .flags = MULTILINEAR | SECOND},
        {"Einsum", "f2,2,3,2", "equation:s=iiji->j", .flags = LINEAR | SECOND},
        {"Einsum", "f2,3,2,3 f3,2", "equation:s=abab,ba->a", .flags = MULTILINEAR},
        {"Einsum", "f4,3,3 f4,3", "equation:s=...ii,...i->...", .flags = MULTILINEAR | SECOND},
        {"Einsum", "f3,4,2,3", "equation:s=i...i->...", .flags = LINEAR},
        {"Einsum", "f3,2,3", "equation:s=iji...->...ji", .flags = LINEAR},
        {"Einsum", "f3,3 0", "equation:s=ii,ij->j", .flags = SECOND},
        {"Einsum", "f3,1", "equation:s=ii->i", .flags = LINEAR},
        {"Einsum", "f1,3 f3", "equation:s=ii,i->i", .flags = MULTILINEAR},
        {"Einsum", "f1,1,3 f2", "equation:s=iij,i->j", .flags = MULTILINEAR},
        {"Einsum", "f0,0", "equation:s=ii->i", .flags = LINEAR},
        {"Einsum", "f1,0", "equation:s=ii->", .flags = LINEAR},
        {"Gemm", "f3,2 f4,3 f2,4", "transA:i=1 transB:i=1 alpha:f=2 beta:f=0.5", .flags = SECOND},
        {"MatMul", "f2,3 f3,4", "", .flags = MULTILINEAR | SECOND},
        {"MatMul", "f3,3 0", "", .flags = SECOND},
        {"MatMul", "f2,1,2,3 f3,3,2", "", .flags = MULTILINEAR},
        {"tfrun.Inverse", "f3,3", "", .flags = RANKS | SECOND},
        {"tfrun.Solve", "f3,3 f3,2", "", .flags = RANKS | SECOND},
    };
    CHECK_GRADIENTS(c);
}

static const test_case cases[] = {
    CASE(functions_of_one_value),
    CASE(functions_of_several_values),
    CASE(reductions),
    CASE(products_of_matrices),
};
TEST_MAIN_OF_ONE_THREAD(cases)
