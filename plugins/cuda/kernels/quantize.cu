/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize.cu: QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear, formulas in
 * plugins/naive/quantize.c. The type that is read makes the kernel, the others are arguments, as
 * they cost one comparison that is the same for all threads. A quotient is float32, rounded to the
 * type that it is to have; x - zero is exact but for int32, whose difference is a double.
 */
#include "block.h"
#include "index.h"

#include <tfrun/plugin_types.h>

namespace quantize
{

/* Where the scale and the zero point of element i lie. */
__device__ inline int place_of(const tfr_quantization &q, int i)
{
    if (q.mode == TFR_QUANTIZED_TENSOR)
        return 0;
    const int above = tfr_divide(i, q.inner), outer = tfr_divide(above, q.axis);
    const int along = above - outer * (int)q.axis.d;
    if (q.mode == TFR_QUANTIZED_AXIS)
        return along;
    return (outer * q.blocks + tfr_divide(along, q.block)) * (int)q.inner.d + i -
           above * (int)q.inner.d;
}

/* A float that lies in memory as `type`: given as both widths of an element. */
__device__ inline float scale_at(TFR_PTR(const float) s32, TFR_PTR(const uint16_t) s16, int type,
                                 int i)
{
    if (type == TFR_DTYPE_F32)
        return s32[i];
    return type == TFR_DTYPE_F16 ? tfr_widen(tfr_f16{s16[i]}) : tfr_widen(tfr_bf16{s16[i]});
}

__device__ inline float rounded_to(int type, float v)
{
    return type == TFR_DTYPE_F16    ? tfr_widen(tfr_narrow_f16(v))
           : type == TFR_DTYPE_BF16 ? tfr_widen(tfr_narrow_bf16(v))
                                    : v;
}

/* To an integer between low and high; NaN is 0. */
__device__ inline int saturate(float v, float low, float high)
{
    return v != v ? 0 : (int)(v < low ? low : v > high ? high : v);
}

__device__ inline int zero_at(TFR_PTR(const uint8_t) z8, TFR_PTR(const uint16_t) z16,
                              const tfr_quantization &q, int i)
{
    if (!z8)
        return 0;
    if (q.bytes == 1)
        return q.low < 0 ? (int8_t)z8[i] : z8[i];
    return q.low < 0 ? (int16_t)z16[i] : z16[i];
}

template <class T>
__device__ inline void
quantize(TFR_PTR(const T) x, TFR_PTR(const float) s32, TFR_PTR(const uint16_t) s16,
         TFR_PTR(const int32_t) whole, TFR_PTR(const uint8_t) z8, TFR_PTR(const uint16_t) z16,
         TFR_PTR(uint8_t) y8, TFR_PTR(uint16_t) y16, const tfr_quantization &q)
{
    for (int i = tfr_thread(); i < q.n; i += tfr_threads()) {
        const int at = place_of(q, i);
        const float v = rounded_to(q.precision, (float)tfr_load(x[i]));
        const float s = rounded_to(q.precision, q.scale_type == TFR_DTYPE_I32
                                                    ? (float)whole[at]
                                                    : scale_at(s32, s16, q.scale_type, at));
        const float quotient = rounded_to(q.precision, v / s);
        const int y = saturate(rintf(quotient) + (float)zero_at(z8, z16, q, at), q.low, q.high);
        if (q.bytes == 1)
            y8[i] = (uint8_t)y;
        else
            y16[i] = (uint16_t)y;
    }
}

/* Elements of x as they are read: two of 4 bits share a byte, the first one is the low half. */
template <class T> struct whole_elements {
    typedef T stored;
    __device__ static T of(TFR_PTR(const T) x, int i)
    {
        return x[i];
    }
};
template <bool is_signed> struct half_bytes {
    typedef uint8_t stored;
    __device__ static int of(TFR_PTR(const uint8_t) x, int i)
    {
        const int v = x[i / 2] >> i % 2 * 4 & 15;
        return is_signed ? (v ^ 8) - 8 : v;
    }
};

template <class elements>
__device__ inline void dequantize(TFR_PTR(const typename elements::stored) x,
                                  TFR_PTR(const float) s32, TFR_PTR(const uint16_t) s16,
                                  TFR_PTR(const typename elements::stored) zero, TFR_PTR(float) y32,
                                  TFR_PTR(uint16_t) y16, const tfr_quantization &q)
{
    typedef typename elements::stored T;
    for (int i = tfr_thread(); i < q.n; i += tfr_threads()) {
        const int at = place_of(q, i);
        const float s = scale_at(s32, s16, q.scale_type, at);
        float v;
        if constexpr (sizeof(T) == 4)
            v = (float)(((double)elements::of(x, i) - (zero ? (double)elements::of(zero, at) : 0)) *
                        (double)s);
        else
            v = (float)(elements::of(x, i) - (zero ? elements::of(zero, at) : 0)) * s;
        if (q.y_type == TFR_DTYPE_F32)
            y32[i] = v;
        else
            y16[i] = q.y_type == TFR_DTYPE_F16 ? tfr_narrow_f16(v).bits : tfr_narrow_bf16(v).bits;
    }
}

/* The least and the greatest element of each block's part, of 0, too. NaN does not count. */
__device__ inline void range(TFR_PTR(const float) x, TFR_PTR(float) found, int n)
{
    float low = 0, high = 0;
    for (int i = tfr_thread(); i < n; i += tfr_threads()) {
        const float v = x[i];
        low = v < low ? v : low;
        high = v > high ? v : high;
    }
    low = tfr_fold_block<tfr_smallest>(low);
    high = tfr_fold_block<tfr_greatest>(high);
    if (threadIdx.x == 0) {
        found[2 * blockIdx.x] = low;
        found[2 * blockIdx.x + 1] = high;
    }
}

/* Each block joins what all blocks of range have found, at most as many as it has threads. */
__device__ inline void dynamic(TFR_PTR(const float) x, TFR_PTR(const float) found,
                               TFR_PTR(uint8_t) y, TFR_PTR(float) out_scale,
                               TFR_PTR(uint8_t) out_zero, int n, int n_found)
{
    const bool has = (int)threadIdx.x < n_found;
    const float low = tfr_fold_block<tfr_smallest>(has ? (float)found[2 * threadIdx.x] : 0.f);
    const float high = tfr_fold_block<tfr_greatest>(has ? (float)found[2 * threadIdx.x + 1] : 0.f);
    const float scale = (high == low ? 1 : high - low) / 255;
    const float zero = rintf(fminf(255, fmaxf(0, -low / scale)));
    for (int i = tfr_thread(); i < n; i += tfr_threads())
        y[i] = (uint8_t)saturate(rintf(x[i] / scale) + zero, 0, 255);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        out_scale[0] = scale;
        out_zero[0] = (uint8_t)zero;
    }
}

} // namespace quantize

#define QUANTIZE(type, T)                                                                          \
    TFR_GLOBAL(quantize_##type, 256,                                                               \
               (TFR_PTR(const T) x, TFR_PTR(const float) s32, TFR_PTR(const uint16_t) s16,         \
                TFR_PTR(const int32_t) whole, TFR_PTR(const uint8_t) z8,                           \
                TFR_PTR(const uint16_t) z16, TFR_PTR(uint8_t) y8, TFR_PTR(uint16_t) y16,           \
                tfr_quantization q))                                                               \
    {                                                                                              \
        quantize::quantize<T>(x, s32, s16, whole, z8, z16, y8, y16, q);                            \
    }
#define DEQUANTIZE(type, T, ...)                                                                   \
    TFR_GLOBAL(dequantize_##type, 256,                                                             \
               (TFR_PTR(const T) x, TFR_PTR(const float) s32, TFR_PTR(const uint16_t) s16,         \
                TFR_PTR(const T) zero, TFR_PTR(float) y32, TFR_PTR(uint16_t) y16,                  \
                tfr_quantization q))                                                               \
    {                                                                                              \
        quantize::dequantize<__VA_ARGS__>(x, s32, s16, zero, y32, y16, q);                         \
    }

QUANTIZE(f32, float)
QUANTIZE(f16, tfr_f16)
QUANTIZE(bf16, tfr_bf16)
QUANTIZE(i32, int32_t)
DEQUANTIZE(u8, uint8_t, quantize::whole_elements<uint8_t>)
DEQUANTIZE(i8, int8_t, quantize::whole_elements<int8_t>)
DEQUANTIZE(u16, uint16_t, quantize::whole_elements<uint16_t>)
DEQUANTIZE(i16, int16_t, quantize::whole_elements<int16_t>)
DEQUANTIZE(i32, int32_t, quantize::whole_elements<int32_t>)
DEQUANTIZE(u4, uint8_t, quantize::half_bytes<false>)
DEQUANTIZE(i4, uint8_t, quantize::half_bytes<true>)
TFR_GLOBAL(dynamic_quantize_range_f32, 256,
           (TFR_PTR(const float) x, TFR_PTR(float) found, int32_t n))
{
    quantize::range(x, found, n);
}
TFR_GLOBAL(dynamic_quantize_f32, 256,
           (TFR_PTR(const float) x, TFR_PTR(const float) found, TFR_PTR(uint8_t) y,
            TFR_PTR(float) out_scale, TFR_PTR(uint8_t) out_zero, int32_t n, int32_t n_found))
{
    quantize::dynamic(x, found, y, out_scale, out_zero, n, n_found);
}
#undef QUANTIZE
#undef DEQUANTIZE
