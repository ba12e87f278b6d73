/* SPDX-License-Identifier: Apache-2.0 */
/* functions.h: the numbers that tell elementwise and reducing kernels what to compute; plain C. */
#ifndef TFR_CUDA_FUNCTIONS_H
#define TFR_CUDA_FUNCTIONS_H

/* X(ONNX name, number) of binary.cu, the same for floats and integers. */
#define TFR_ARITHMETIC_LIST(X)                                                                     \
    X(Add)                                                                                         \
    X(Sub)                                                                                         \
    X(Mul)                                                                                         \
    X(Div)                                                                                         \
    X(Pow)                                                                                         \
    X(Mod)                                                                                         \
    X(PRelu)                                                                                       \
    X(Max)                                                                                         \
    X(Min)                                                                                         \
    X(BitwiseAnd)                                                                                  \
    X(BitwiseOr)                                                                                   \
    X(BitwiseXor)                                                                                  \
    X(And)                                                                                         \
    X(Or)                                                                                          \
    X(Xor)

#define TFR_COMPARISON_LIST(X)                                                                     \
    X(Equal)                                                                                       \
    X(Greater)                                                                                     \
    X(GreaterOrEqual)                                                                              \
    X(Less)                                                                                        \
    X(LessOrEqual)                                                                                 \
    X(IsNaN) /* of the first operand, as the next */                                               \
    X(IsInf) /* mode: bit 0 negative ones, bit 1 positive ones */

/* Of unary.cu; a and b are the op's attributes in the order of plan_elementwise.c. */
#define TFR_UNARY_LIST(X)                                                                          \
    X(Identity)                                                                                    \
    X(Abs)                                                                                         \
    X(Acos)                                                                                        \
    X(Acosh)                                                                                       \
    X(Asin)                                                                                        \
    X(Asinh)                                                                                       \
    X(Atan)                                                                                        \
    X(Atanh)                                                                                       \
    X(BitwiseNot)                                                                                  \
    X(Ceil)                                                                                        \
    X(Celu)                                                                                        \
    X(Clip)                                                                                        \
    X(Cos)                                                                                         \
    X(Cosh)                                                                                        \
    X(Elu)                                                                                         \
    X(Erf)                                                                                         \
    X(Exp)                                                                                         \
    X(Floor)                                                                                       \
    X(Gelu)                                                                                        \
    X(HardSigmoid)                                                                                 \
    X(HardSwish)                                                                                   \
    X(LeakyRelu)                                                                                   \
    X(Log)                                                                                         \
    X(Mish)                                                                                        \
    X(Neg)                                                                                         \
    X(Not)                                                                                         \
    X(Reciprocal)                                                                                  \
    X(Relu)                                                                                        \
    X(Round)                                                                                       \
    X(Selu)                                                                                        \
    X(Shrink)                                                                                      \
    X(Sigmoid)                                                                                     \
    X(Sign)                                                                                        \
    X(Sin)                                                                                         \
    X(Sinh)                                                                                        \
    X(Softplus)                                                                                    \
    X(Softsign)                                                                                    \
    X(Sqrt)                                                                                        \
    X(Swish)                                                                                       \
    X(Tan)                                                                                         \
    X(Tanh)                                                                                        \
    X(ThresholdedRelu)

#define TFR_FOLD_LIST(X)                                                                      \
    X(ReduceSum)                                                                                   \
    X(ReduceMean)                                                                                  \
    X(ReduceMax)                                                                                   \
    X(ReduceMin)                                                                                   \
    X(ReduceProd)                                                                                  \
    X(ReduceL1)                                                                                    \
    X(ReduceL2)                                                                                    \
    X(ReduceSumSquare)                                                                             \
    X(ReduceLogSum)                                                                                \
    X(ReduceLogSumExp)

/* Those that need few registers, of binary.h and unary.h. */
#define TFR_SHORT_ARITHMETIC_LIST(X)                                                               \
    X(Add)                                                                                         \
    X(Sub)                                                                                         \
    X(Mul)                                                                                         \
    X(Div)                                                                                         \
    X(PRelu)                                                                                       \
    X(Max)                                                                                         \
    X(Min)
#define TFR_SHORT_UNARY_LIST(X)                                                                    \
    X(Abs)                                                                                         \
    X(Ceil)                                                                                        \
    X(Floor)                                                                                       \
    X(HardSigmoid)                                                                                 \
    X(HardSwish)                                                                                   \
    X(LeakyRelu)                                                                                   \
    X(Neg)                                                                                         \
    X(Reciprocal)                                                                                  \
    X(Relu)                                                                                        \
    X(Round)                                                                                       \
    X(Shrink)                                                                                      \
    X(Sign)                                                                                        \
    X(Softsign)                                                                                    \
    X(Sqrt)                                                                                        \
    X(ThresholdedRelu)

#define TFR_FUNCTION_ENUM(name) TFR_FN_##name,
enum { TFR_ARITHMETIC_LIST(TFR_FUNCTION_ENUM) TFR_N_ARITHMETIC };
enum { TFR_COMPARISON_LIST(TFR_FUNCTION_ENUM) TFR_N_COMPARISONS };
enum { TFR_UNARY_LIST(TFR_FUNCTION_ENUM) TFR_N_UNARY };
enum { TFR_FOLD_LIST(TFR_FUNCTION_ENUM) TFR_N_REDUCTIONS };
#undef TFR_FUNCTION_ENUM

#endif
