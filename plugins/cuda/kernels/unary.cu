/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unary.cu: y = f(x), element by element. Functions that are one instruction or two stand in a
 * kernel of their own, which needs few registers. Clip is here: its bounds are read from memory, so
 * that they need not be known before.
 */
#include "index.h"
#include "unary.h"

namespace unary
{

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
