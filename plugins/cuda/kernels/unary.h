/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unary.h: functions of a float, for unary.cu and fuse.cu; formulas as in plugins/naive/unary.c, in
 * float.
 */
#ifndef TFR_CUDA_UNARY_H
#define TFR_CUDA_UNARY_H

#include "args.h"
#include "functions.h"
#include "hw.h"

namespace unary
{

__device__ inline float clamp01(float x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

__device__ inline float sigmoid(float x)
{
    const float e = expf(-fabsf(x));
    return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

__device__ inline float softplus(float x)
{
    return log1pf(expf(-fabsf(x))) + (x > 0 ? x : x != x ? x : 0);
}

__device__ inline float celu(float x, float a)
{
    const float negative = a * expm1f(x / a);
    return x != x ? x : (x > 0 ? x : 0) + (negative < 0 ? negative : 0);
}

__device__ inline float gelu(float x, bool tanh_form)
{
    if (tanh_form)
        return 0.5f * x * (1 + tanhf(0.797884560802865356f * (x + 0.044715f * x * x * x)));
    return 0.5f * x * erfcf(-x * 0.707106781186547524f);
}

__device__ inline double apply(double x, const tfr_function &f)
{
    switch (f.op) {
    case TFR_FN_Abs:
        return fabs(x);
    case TFR_FN_Neg:
        return -x;
    case TFR_FN_Reciprocal:
        return 1 / x;
    case TFR_FN_Sqrt:
        return sqrt(x);
    default:
        return x;
    }
}

/* Cheap ones. */
__device__ inline float apply(float x, const tfr_function &f)
{
    switch (f.op) {
    case TFR_FN_Abs:
        return fabsf(x);
    case TFR_FN_Ceil:
        return ceilf(x);
    case TFR_FN_Floor:
        return floorf(x);
    case TFR_FN_HardSigmoid:
        return clamp01(f.a * x + f.b);
    case TFR_FN_HardSwish:
        return x * clamp01(x / 6 + 0.5f);
    case TFR_FN_LeakyRelu:
        return x < 0 ? f.a * x : x;
    case TFR_FN_Neg:
        return -x;
    case TFR_FN_Reciprocal:
        return 1 / x;
    case TFR_FN_Relu:
        return x < 0 ? 0 : x;
    case TFR_FN_Round:
        return rintf(x);
    case TFR_FN_Shrink:
        return x < -f.a ? x + f.b : x > f.a ? x - f.b : 0;
    case TFR_FN_Sign:
        return x > 0 ? 1 : x < 0 ? -1 : x;
    case TFR_FN_Softsign:
        return x / (1 + fabsf(x));
    case TFR_FN_Sqrt:
        return sqrtf(x);
    case TFR_FN_ThresholdedRelu:
        return x > f.a ? x : 0;
    default:
        return x;
    }
}

__device__ inline float apply_long(float x, const tfr_function &f)
{
    switch (f.op) {
    case TFR_FN_Acos:
        return acosf(x);
    case TFR_FN_Acosh:
        return acoshf(x);
    case TFR_FN_Asin:
        return asinf(x);
    case TFR_FN_Asinh:
        return asinhf(x);
    case TFR_FN_Atan:
        return atanf(x);
    case TFR_FN_Atanh:
        return atanhf(x);
    case TFR_FN_Celu:
        return celu(x, f.a);
    case TFR_FN_Cos:
        return cosf(x);
    case TFR_FN_Cosh:
        return coshf(x);
    case TFR_FN_Elu:
        return x < 0 ? f.a * expm1f(x) : x;
    case TFR_FN_Erf:
        return erff(x);
    case TFR_FN_Exp:
        return expf(x);
    case TFR_FN_Gelu:
        return gelu(x, f.a != 0);
    case TFR_FN_Log:
        return logf(x);
    case TFR_FN_Mish:
        return x * tanhf(softplus(x));
    case TFR_FN_Selu:
        return f.b * (x > 0 ? x : f.a * expm1f(x));
    case TFR_FN_Sigmoid:
        return sigmoid(x);
    case TFR_FN_Sin:
        return sinf(x);
    case TFR_FN_Sinh:
        return sinhf(x);
    case TFR_FN_Softplus:
        return softplus(x);
    case TFR_FN_Swish:
        return x * sigmoid(f.a * x);
    case TFR_FN_Tan:
        return tanf(x);
    case TFR_FN_Tanh:
        return tanhf(x);
    default:
        return x;
    }
}

} // namespace unary

#endif
