/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variadic.cu: Sum, Mean, Max and Min of up to TFR_VARIADIC operands that broadcast, in one pass
 * over all of them; floats of up to 32 bits are added in float, integers in 64 bits.
 */
#include "index.h"
#include "tensors.h"

namespace variadic
{

template <class V> __device__ inline V fold(V a, V b, int op)
{
    if (op == TFR_VARIADIC_MAX)
        return a > b || a != a ? a : b;
    if (op == TFR_VARIADIC_MIN)
        return a < b || a != a ? a : b;
    return a + b;
}

__device__ inline float scaled(float v, int by)
{
    return by > 1 ? v / (float)by : v;
}
__device__ inline double scaled(double v, int by)
{
    return by > 1 ? v / by : v;
}
__device__ inline int64_t scaled(int64_t v, int)
{
    return v;
}

/* Where element i of operand k lies. */
__device__ inline int find(const tfr_variadic &a, int k, int i)
{
    int at = a.rank ? 0 : i;
TFR_NO_UNROLL
    for (int d = a.rank - 1; d >= 0; d--) {
        const int q = tfr_divide(i, a.dims[d]);
        at += (i - q * (int)a.dims[d].d) * a.strides[k][d];
        i = q;
    }
    return at;
}

template <class T> __device__ inline void run(TFR_ALIAS(T) y, const tfr_variadic &a)
{
    for (int i = tfr_thread(); i < a.n; i += tfr_threads()) {
        TFR_ALIAS(const T) first = TFR_FIELD_AS(const T, a.x[0]);
        auto v = tfr_load_wide(first[find(a, 0, i)]);
TFR_NO_UNROLL
        for (int k = 1; k < a.count; k++) {
            TFR_ALIAS(const T) x = TFR_FIELD_AS(const T, a.x[k]);
            v = fold(v, tfr_load_wide(x[find(a, k, i)]), a.op);
        }
        y[i] = tfr_store<T>::of(scaled(v, a.by));
    }
}

} // namespace variadic

#define VARIADIC(type, T)                                                                          \
    TFR_GLOBAL(variadic_##type, 256, (TFR_ALIAS(T) y, tfr_variadic a))                             \
    {                                                                                              \
        variadic::run<T>(y, a);                                                                    \
    }

VARIADIC(f32, float)
VARIADIC(f64, double)
VARIADIC(f16, tfr_f16)
VARIADIC(bf16, tfr_bf16)
VARIADIC(i8, int8_t)
VARIADIC(u8, uint8_t)
VARIADIC(i32, int32_t)
VARIADIC(i64, int64_t)
#undef VARIADIC
