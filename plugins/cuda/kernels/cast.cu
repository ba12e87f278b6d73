/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cast.cu: from one element type to another. The type that is read makes the kernel, that written
 * is an argument, a tfr_dtype. To integers the fraction is dropped, what does not fit saturates and
 * NaN becomes 0; integers wrap; bool is "not 0".
 */
#include "index.h"

#include <tfrun/plugin_types.h>

namespace cast
{

/* To an integer between low and above - 1, powers of 2. */
template <class F>
__device__ inline int64_t saturate(F v, F low, F above, int64_t smallest, int64_t greatest)
{
    if (v != v)
        return 0;
    return v < low ? smallest : v >= above ? greatest : (int64_t)v;
}

template <class F> __device__ inline int64_t to_integer(F v, int dtype)
{
    switch (dtype) {
    case TFR_DTYPE_I8:
        return saturate(v, (F)-128, (F)128, -128, 127);
    case TFR_DTYPE_U8:
        return saturate(v, (F)0, (F)256, 0, 255);
    case TFR_DTYPE_I32:
        return saturate(v, (F)-0x1p31, (F)0x1p31, INT32_MIN, INT32_MAX);
    default:
        return saturate(v, (F)-0x1p63, (F)0x1p63, INT64_MIN, INT64_MAX);
    }
}

__device__ inline int64_t to_integer(int64_t v, int)
{
    return v;
}

template <class V>
__device__ inline void put(TFR_PTR(uint8_t) y, TFR_PTR(uint16_t) y16, TFR_PTR(uint32_t) y32,
                           TFR_PTR(int64_t) y64, int i, V v, int dtype)
{
    switch (dtype) {
    case TFR_DTYPE_F32:
        y32[i] = tfr_float_bits((float)v);
        break;
    case TFR_DTYPE_F64:
        y64[i] = tfr_double_bits((double)v);
        break;
    case TFR_DTYPE_F16:
        y16[i] = tfr_narrow_f16((float)v).bits;
        break;
    case TFR_DTYPE_BF16:
        y16[i] = tfr_narrow_bf16((float)v).bits;
        break;
    case TFR_DTYPE_BOOL:
        y[i] = v != 0;
        break;
    case TFR_DTYPE_I8:
    case TFR_DTYPE_U8:
        y[i] = (uint8_t)to_integer(v, dtype);
        break;
    case TFR_DTYPE_I32:
        y32[i] = (uint32_t)to_integer(v, dtype);
        break;
    default:
        y64[i] = to_integer(v, dtype);
        break;
    }
}

/* y four times, once for each size of an element. */
template <class T>
__device__ inline void run(TFR_PTR(const T) x, TFR_PTR(uint8_t) y, TFR_PTR(uint16_t) y16,
                           TFR_PTR(uint32_t) y32, TFR_PTR(int64_t) y64, int n, int dtype)
{
    for (int i = tfr_thread(); i < n; i += tfr_threads())
        put(y, y16, y32, y64, i, tfr_load_wide(x[i]), dtype);
}

} // namespace cast

#define CAST(name, T)                                                                              \
    TFR_GLOBAL(name, 256,                                                                          \
               (TFR_PTR(const T) x, TFR_PTR(uint8_t) y, TFR_PTR(uint16_t) y16,                     \
                TFR_PTR(uint32_t) y32, TFR_PTR(int64_t) y64, int32_t n, int32_t dtype))            \
    {                                                                                              \
        cast::run<T>(x, y, y16, y32, y64, n, dtype);                                               \
    }

CAST(cast_f32, float)
CAST(cast_f64, double)
CAST(cast_f16, tfr_f16)
CAST(cast_bf16, tfr_bf16)
CAST(cast_i8, int8_t)
CAST(cast_u8, uint8_t) /* bool, too */
CAST(cast_i32, int32_t)
CAST(cast_i64, int64_t)
#undef CAST
