/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_elementwise_list.h: the rows of isa_elementwise.h: kind, op, type of the inputs, type of the
 * output, value.
 */

#define ARITHMETIC(X, op, value)                                                                   \
    X(BINARY, op, F32, float, F32, float, value)                                                   \
    X(BINARY, op, F64, double, F64, double, value)                                                 \
    X(BINARY, op, I32, uint32_t, I32, uint32_t, value)                                             \
    X(BINARY, op, I64, uint64_t, I64, uint64_t, value)

#define COMPARISON(X, op, value)                                                                   \
    X(BINARY, op, F32, float, BOOL, uint8_t, value)                                                \
    X(BINARY, op, F64, double, BOOL, uint8_t, value)                                               \
    X(BINARY, op, I32, int32_t, BOOL, uint8_t, value)                                              \
    X(BINARY, op, I64, int64_t, BOOL, uint8_t, value)

#define INTEGERS(X, kind, op, value)                                                               \
    X(kind, op, I32, int32_t, I32, int32_t, value)                                                 \
    X(kind, op, I64, int64_t, I64, int64_t, value)

#define FLOATS(X, kind, op, value)                                                                 \
    X(kind, op, F32, float, F32, float, value)                                                     \
    X(kind, op, F64, double, F64, double, value)

#define FLOAT_MATH(X, op, function)                                                                \
    X(UNARY, op, F32, float, F32, float, function##f(x))                                           \
    X(UNARY, op, F64, double, F64, double, function(x))

#define CALCULATED_MATH(X, op, calculated, function)                                               \
    X(CALCULATED, op, F32, float, F32, float, calculated)                                          \
    X(UNARY, op, F64, double, F64, double, function(x))

#define VECTOR_MATH(X, op, vectors, function)                                                      \
    X(VECTORS, op, F32, float, F32, float, vectors)                                                \
    X(UNARY, op, F64, double, F64, double, function(x))

#define LOGIC(X, op, value) X(BINARY, op, BOOL, uint8_t, BOOL, uint8_t, value)

#define BITS(X, kind, op, value)                                                                   \
    X(kind, op, U8, uint8_t, U8, uint8_t, value)                                                   \
    INTEGERS(X, kind, op, value)

/* To the left in mode 1; 0 if there are no more bits. */
#define SHIFT(X, from, type, bits)                                                                 \
    X(BINARY, BitShift, from, type, from, type,                                                    \
      shifted_##bits(x, y, (type)(0 - (type)(s->mode != 0))))

/* NaN in an operand stays; of zeros the first. */
#define NATIVE_ELEMENTWISE_LIST(X)                                                                 \
    X(UNARY, Abs, F64, double, F64, double, fabs(x))                                               \
    INTEGERS(X, UNARY, Abs, x < 0 ? 0 - (uint64_t)x : (uint64_t)x)                                 \
    VECTOR_MATH(X, Acos, v_acos, acos)                                                             \
    CALCULATED_MATH(X, Acosh, area_cosine, acosh)                                                  \
    ARITHMETIC(X, Add, x + y)                                                                      \
    LOGIC(X, And, (x != 0) & (y != 0))                                                             \
    VECTOR_MATH(X, Asin, v_asin, asin)                                                             \
    CALCULATED_MATH(X, Asinh, area_sine, asinh)                                                    \
    VECTOR_MATH(X, Atan, v_atan, atan)                                                             \
    CALCULATED_MATH(X, Atanh, area_tangent, atanh)                                                 \
    SHIFT(X, U8, uint8_t, 8)                                                                       \
    SHIFT(X, U16, uint16_t, 16)                                                                    \
    SHIFT(X, U32, uint32_t, 32)                                                                    \
    SHIFT(X, U64, uint64_t, 64)                                                                    \
    BITS(X, BINARY, BitwiseAnd, x &y)                                                              \
    BITS(X, UNARY, BitwiseNot, ~x)                                                                 \
    BITS(X, BINARY, BitwiseOr, x | y)                                                              \
    BITS(X, BINARY, BitwiseXor, x ^ y)                                                             \
    X(UNARY, Ceil, F32, float, F32, float, -floor_F32(-x))                                         \
    X(UNARY, Ceil, F64, double, F64, double, -floor_F64(-x))                                       \
    FLOATS(X, BOUNDED, Clip, x)                                                                    \
    INTEGERS(X, BOUNDED, Clip, x)                                                                  \
    X(CALCULATED, Cos, F32, float, F32, float, cosine)                                             \
    CALCULATED_MATH(X, Cosh, hyperbolic_cosine, cosh)                                              \
    FLOATS(X, BINARY, Div, x / y)                                                                  \
    X(QUOTIENT, Div, I32, int32_t, I32, int32_t, divide_I32(x, y))                                 \
    X(QUOTIENT, Div, I64, int64_t, I64, int64_t, divide_I64(x, y))                                 \
    COMPARISON(X, Equal, x == y)                                                                   \
    X(BINARY, Equal, U8, uint8_t, BOOL, uint8_t, x == y)                                           \
    X(BINARY, Equal, BOOL, uint8_t, BOOL, uint8_t, (x != 0) == (y != 0))                           \
    X(PRECISE, Exp, F64, double, F64, double, precise_exponential)                                 \
    X(UNARY, Floor, F32, float, F32, float, floor_F32(x))                                          \
    X(UNARY, Floor, F64, double, F64, double, floor_F64(x))                                        \
    COMPARISON(X, Greater, x > y)                                                                  \
    COMPARISON(X, GreaterOrEqual, x >= y)                                                          \
    X(INFINITE, IsInf, F32, float, BOOL, uint8_t, INFINITY)                                        \
    X(INFINITE, IsInf, F64, double, BOOL, uint8_t, (double)INFINITY)                               \
    X(UNARY, IsNaN, F32, float, BOOL, uint8_t, x != x)                                             \
    X(UNARY, IsNaN, F64, double, BOOL, uint8_t, x != x)                                            \
    X(UNARY, IsNaN, F16, uint16_t, BOOL, uint8_t, (x & 0x7fff) > 0x7c00)                           \
    X(UNARY, IsNaN, BF16, uint16_t, BOOL, uint8_t, (x & 0x7fff) > 0x7f80)                          \
    COMPARISON(X, Less, x < y)                                                                     \
    COMPARISON(X, LessOrEqual, x <= y)                                                             \
    X(VECTORS, Log, F32, float, F32, float, v_log)                                                 \
    X(PRECISE, Log, F64, double, F64, double, precise_logarithm)                                   \
    FLOATS(X, FOLD, Max, (y > x) | (y != y) ? y : x)                                               \
    INTEGERS(X, FOLD, Max, y > x ? y : x)                                                          \
    X(SUM, Mean, F32, float, F32, float, x *by)                                                    \
    X(SUM, Mean, F64, double, F64, double, x / s->n_in)                                            \
    FLOATS(X, FOLD, Min, (y < x) | (y != y) ? y : x)                                               \
    INTEGERS(X, FOLD, Min, y < x ? y : x)                                                          \
    X(QUOTIENT, Mod, I32, int32_t, I32, int32_t, rest_I32(x, y, s->mode != 0))                     \
    X(QUOTIENT, Mod, I64, int64_t, I64, int64_t, rest_I64(x, y, s->mode != 0))                     \
    X(REST, Mod, F32, float, F32, float, rest_F64((double)x, (double)y, s->mode != 0))             \
    X(BINARY, Mod, F64, double, F64, double, rest_F64(x, y, s->mode != 0))                         \
    ARITHMETIC(X, Mul, x *y)                                                                       \
    X(UNARY, Neg, F64, double, F64, double, -x)                                                    \
    INTEGERS(X, UNARY, Neg, 0 - (uint64_t)x)                                                       \
    X(UNARY, Not, BOOL, uint8_t, BOOL, uint8_t, x == 0)                                            \
    LOGIC(X, Or, (x != 0) | (y != 0))                                                              \
    X(BINARY, PRelu, F32, float, F32, float, x < 0.0f ? x * y : x)                                 \
    X(POWERS, Pow, F32, float, F32, float, power(x, y))                                            \
    X(BINARY, Pow, F64, double, F64, double, pow(x, y))                                            \
    FLOATS(X, UNARY, Reciprocal, 1 / x)                                                            \
    X(UNARY, Relu, F64, double, F64, double, either(x < 0.0, 0.0, x))                              \
    INTEGERS(X, UNARY, Relu, x > 0 ? x : 0)                                                        \
    FLOAT_MATH(X, Round, rint)                                                                     \
    X(PRECISE, Sigmoid, F64, double, F64, double, precise_sigmoid)                                 \
    INTEGERS(X, UNARY, Sign, (x > 0) - (x < 0))                                                    \
    X(UNARY, Sign, F32, float, F32, float, x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x)                 \
    X(CALCULATED, Sin, F32, float, F32, float, sine)                                               \
    CALCULATED_MATH(X, Sinh, hyperbolic_sine, sinh)                                                \
    X(ROOTS, Sqrt, F64, double, F64, double, sqrt)                                                 \
    ARITHMETIC(X, Sub, x - y)                                                                      \
    FLOATS(X, SUM, Sum, x)                                                                         \
    CALCULATED_MATH(X, Tan, tangent, tan)                                                          \
    X(PRECISE, Tanh, F64, double, F64, double, precise_hyperbolic_tangent)                         \
    X(CHOICE, Where, U8, uint8_t, U8, uint8_t, x)                                                  \
    X(CHOICE, Where, F16, uint16_t, F16, uint16_t, x)                                              \
    X(CHOICE, Where, F32, uint32_t, F32, uint32_t, x)                                              \
    X(CHOICE, Where, F64, uint64_t, F64, uint64_t, x)                                              \
    LOGIC(X, Xor, (x != 0) != (y != 0))
