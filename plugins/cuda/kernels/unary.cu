/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unary.cu: y = f(x), element by element; formulas as in plugins/naive/unary.c, in float. Functions
 * that are one instruction or two stand in a kernel of their own, which needs few registers. Clip
 * is here: its bounds are read from memory, so that they need not be known before.
 */
#include "functions.h"
#include "index.h"

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

template <class T> __device__ inline T apply(T x, const tfr_function &f)
{
    switch (f.op) {
    case TFR_FN_Abs:
        return tfr_is_negative(x) ? (T)(0 - (uint64_t)x) : x;
    case TFR_FN_BitwiseNot:
        return (T)~x;
    case TFR_FN_Neg:
        return (T)(0 - (uint64_t)x);
    case TFR_FN_Not:
        return x == 0;
    case TFR_FN_Relu:
        return tfr_is_negative(x) ? (T)0 : x;
    case TFR_FN_Sign:
        return x == 0 ? (T)0 : tfr_is_negative(x) ? (T)-1 : (T)1;
    default:
        return x;
    }
}

template <class T, bool is_long>
__device__ inline void run(TFR_PTR(const T) x, TFR_PTR(T) y, const tfr_function &f, int n)
{
    typedef decltype(tfr_load(T())) V;
    const int width = (int)blockDim.x;

    for (int begin = (int)blockIdx.x * width * 4; begin < n; begin += tfr_threads() * 4) {
        V v[4];
        TFR_UNROLL
        for (int k = 0; k < 4; k++)
            if (begin + k * width + (int)threadIdx.x < n)
                v[k] = tfr_load(x[begin + k * width + (int)threadIdx.x]);
        TFR_UNROLL
        for (int k = 0; k < 4; k++)
            if (begin + k * width + (int)threadIdx.x < n) {
                if constexpr (is_long)
                    v[k] = apply_long(v[k], f);
                else
                    v[k] = apply(v[k], f);
                y[begin + k * width + (int)threadIdx.x] = tfr_store<T>::of(v[k]);
            }
    }
}

/* min(max(x, low), high), in this order; absent bounds are NULL. NaN stays. */
template <class T>
__device__ inline void clip(TFR_PTR(const T) x, TFR_PTR(const T) low, TFR_PTR(const T) high,
                            TFR_PTR(T) y, int n)
{
    for (int i = tfr_thread(); i < n; i += tfr_threads()) {
        auto v = tfr_load(x[i]);
        if (low && v < tfr_load(low[0]))
            v = tfr_load(low[0]);
        if (high && v > tfr_load(high[0]))
            v = tfr_load(high[0]);
        y[i] = tfr_store<T>::of(v);
    }
}

} // namespace unary

#define UNARY(name, T, is_long)                                                                    \
    TFR_GLOBAL(name, 256, (TFR_PTR(const T) x, TFR_PTR(T) y, tfr_function f, int32_t n))           \
    {                                                                                              \
        unary::run<T, is_long>(x, y, f, n);                                                        \
    }
#define CLIP(name, T)                                                                              \
    TFR_GLOBAL(name, 256,                                                                          \
               (TFR_PTR(const T) x, TFR_PTR(const T) low, TFR_PTR(const T) high, TFR_PTR(T) y,     \
                int32_t n))                                                                        \
    {                                                                                              \
        unary::clip<T>(x, low, high, y, n);                                                        \
    }

UNARY(unary_f32, float, false)
UNARY(unary_f16, tfr_f16, false)
UNARY(unary_bf16, tfr_bf16, false)
UNARY(unary_long_f32, float, true)
UNARY(unary_long_f16, tfr_f16, true)
UNARY(unary_long_bf16, tfr_bf16, true)
UNARY(unary_f64, double, false)
UNARY(unary_i32, int32_t, false)
UNARY(unary_i64, int64_t, false)
UNARY(unary_u8, uint8_t, false)
UNARY(unary_i8, int8_t, false)
CLIP(clip_f32, float)
CLIP(clip_f16, tfr_f16)
CLIP(clip_bf16, tfr_bf16)
CLIP(clip_i32, int32_t)
CLIP(clip_i64, int64_t)
CLIP(clip_u8, uint8_t)
CLIP(clip_i8, int8_t)
#undef UNARY
#undef CLIP
