/* SPDX-License-Identifier: Apache-2.0 */
/* range.cu: y[i] = start + i * delta, floats in double, integers wrapping. */
#include "index.h"

namespace range
{

__device__ inline double at(double start, double delta, int i)
{
    return start + i * delta;
}
__device__ inline double at(float start, float delta, int i)
{
    return (double)start + i * (double)delta;
}
__device__ inline int64_t at(int64_t start, int64_t delta, int i)
{
    return (int64_t)((uint64_t)start + (uint64_t)i * (uint64_t)delta);
}
__device__ inline int64_t at(int32_t start, int32_t delta, int i)
{
    return at((int64_t)start, (int64_t)delta, i);
}

template <class T>
__device__ inline void run(TFR_PTR(const T) start, TFR_PTR(const T) delta, TFR_PTR(T) y, int n)
{
    const auto first = tfr_load(start[0]), step = tfr_load(delta[0]);
    for (int i = tfr_thread(); i < n; i += tfr_threads())
        y[i] = tfr_store<T>::of(at(first, step, i));
}

} // namespace range

#define RANGE(name, T)                                                                             \
    TFR_GLOBAL(name, 256,                                                                          \
               (TFR_PTR(const T) start, TFR_PTR(const T) delta, TFR_PTR(T) y, int32_t n))          \
    {                                                                                              \
        range::run<T>(start, delta, y, n);                                                         \
    }

RANGE(range_f32, float)
RANGE(range_f64, double)
RANGE(range_f16, tfr_f16)
RANGE(range_bf16, tfr_bf16)
RANGE(range_i32, int32_t)
RANGE(range_i64, int64_t)
#undef RANGE
