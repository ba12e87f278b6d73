/* SPDX-License-Identifier: Apache-2.0 */
/* binary.h: arithmetic and comparisons of two floats, for binary.cu and fuse.cu. */
#ifndef TFR_CUDA_BINARY_H
#define TFR_CUDA_BINARY_H

#include "args.h"
#include "functions.h"
#include "hw.h"

namespace binary
{

template <class F> __device__ inline F apply_float(F a, F b, const tfr_function &f)
{
    switch (f.op) {
    case TFR_FN_Add:
        return a + b;
    case TFR_FN_Sub:
        return a - b;
    case TFR_FN_Mul:
        return a * b;
    case TFR_FN_Div:
        return a / b;
    case TFR_FN_PRelu:
        return a < 0 ? a * b : a;
    case TFR_FN_Max:
        return a > b || a != a ? a : b;
    case TFR_FN_Min:
        return a < b || a != a ? a : b;
    default:
        return 0;
    }
}

__device__ inline float apply(float a, float b, const tfr_function &f)
{
    return apply_float(a, b, f);
}

__device__ inline double apply(double a, double b, const tfr_function &f)
{
    return apply_float(a, b, f);
}

/* Long functions, which need many registers: a kernel of their own. */
__device__ inline float apply_long(float a, float b, const tfr_function &f)
{
    if (f.op == TFR_FN_Pow)
        return powf(a, b);
    const float r = fmodf(a, b);
    if (f.mode)
        return r;
    if (r == 0)
        return copysignf(0, b);
    return (r < 0) != (b < 0) ? r + b : r;
}

__device__ inline double apply_long(double a, double b, const tfr_function &)
{
    return pow(a, b);
}

template <class V> __device__ inline bool compare(V a, V b, const tfr_function &f)
{
    switch (f.op) {
    case TFR_FN_Equal:
        return a == b;
    case TFR_FN_Greater:
        return a > b;
    case TFR_FN_GreaterOrEqual:
        return a >= b;
    case TFR_FN_Less:
        return a < b;
    case TFR_FN_IsNaN:
        return a != a;
    case TFR_FN_IsInf:
        return a == a && a - a != a - a && (f.mode >> (a > 0) & 1);
    default:
        return a <= b;
    }
}

} // namespace binary

#endif
