/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax.cu: Softmax and LogSoftmax along an axis: exp(x - m) / sum(exp(x - m)), m the greatest
 * x. softmax_warp_T has a warp for each lane, for lanes of up to 1024, softmax_T a block. A lane
 * is read three times, the second and third time from a cache.
 */
#include "block.h"
#include "index.h"

namespace softmax
{

template <class fold, bool block> __device__ inline float all(float v)
{
    if constexpr (block)
        return tfr_fold_block<fold>(v);
    else
        return tfr_fold_warp<fold>(v);
}

template <class T, bool block>
__device__ inline void run(TFR_PTR(const T) x, TFR_PTR(T) y, const tfr_lanes &l, bool logarithm)
{
    const int width = block ? (int)blockDim.x : 32, mine = (int)threadIdx.x % width;
    const int per_block = (int)blockDim.x / width, n_lanes = l.outer * l.inner;
    int lane = (int)blockIdx.x * per_block + (int)threadIdx.x / width;

    for (; lane < n_lanes; lane += (int)gridDim.x * per_block) {
        const int base = lane / l.inner * l.n * l.inner + lane % l.inner;
        float greatest = -INFINITY, sum = 0;
        for (int j = mine; j < l.n; j += width)
            greatest = tfr_greatest::of(greatest, tfr_load(x[base + j * l.inner]));
        greatest = all<tfr_greatest, block>(greatest);
        for (int j = mine; j < l.n; j += width)
            sum += expf(tfr_load(x[base + j * l.inner]) - greatest);
        sum = all<tfr_sum, block>(sum);
        const float log_sum = logarithm ? logf(sum) : 0, inverse = 1 / sum;
        for (int j = mine; j < l.n; j += width) {
            const float v = tfr_load(x[base + j * l.inner]) - greatest;
            y[base + j * l.inner] = tfr_store<T>::of(logarithm ? v - log_sum : expf(v) * inverse);
        }
    }
}

} // namespace softmax

#define SOFTMAX(type, T)                                                                           \
    TFR_GLOBAL(softmax_##type, 256,                                                                \
               (TFR_PTR(const T) x, TFR_PTR(T) y, tfr_lanes l, int32_t logarithm))                 \
    {                                                                                              \
        softmax::run<T, true>(x, y, l, logarithm != 0);                                            \
    }                                                                                              \
    TFR_GLOBAL(softmax_warp_##type, 128,                                                           \
               (TFR_PTR(const T) x, TFR_PTR(T) y, tfr_lanes l, int32_t logarithm))                 \
    {                                                                                              \
        softmax::run<T, false>(x, y, l, logarithm != 0);                                           \
    }

SOFTMAX(f32, float)
SOFTMAX(f16, tfr_f16)
SOFTMAX(bf16, tfr_bf16)
#undef SOFTMAX
