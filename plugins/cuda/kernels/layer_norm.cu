/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer_norm.cu: LayerNormalization and, with rms, RMSNormalization over rows of n elements:
 * y = (x - mean) / sqrt(var + epsilon) * scale + bias. A block for each row, which it reads three
 * times, twice from a cache; the variance is taken around the mean, as no difference of large sums
 * keeps its digits.
 *
 * LayerNormGrad is two kernels, formulas in plugins/naive/layer_norm_grad.c: layer_norm_grad_T has
 * a block for each row, too, and leaves the row's mean and 1 / deviation for layer_norm_scale_T,
 * which sums over rows: a block for 32 columns, a warp of it for each 8th row, in the same order
 * each time.
 */
#include "block.h"
#include "index.h"

/* All threads of a block come. */
template <class T>
__device__ inline void tfr_row_statistics(TFR_PTR(const T) x, int base, const tfr_norm &m,
                                          float &mean, float &inverse)
{
    float squares = 0;
    mean = 0;
    if (!m.rms) {
        for (int j = (int)threadIdx.x; j < m.n; j += (int)blockDim.x)
            mean += tfr_load(x[base + j]);
        mean = tfr_fold_block<tfr_sum>(mean) / (float)m.n;
    }
    for (int j = (int)threadIdx.x; j < m.n; j += (int)blockDim.x) {
        const float v = tfr_load(x[base + j]) - mean;
        squares += v * v;
    }
    squares = tfr_fold_block<tfr_sum>(squares);
    inverse = 1 / sqrtf(squares / (float)m.n + m.epsilon);
}

template <class T>
__device__ inline void tfr_layer_norm(TFR_PTR(const T) x, TFR_PTR(const T) scale,
                                      TFR_PTR(const T) bias, TFR_PTR(T) y, TFR_PTR(float) means,
                                      TFR_PTR(float) inverses, const tfr_norm &m)
{
    for (int row = (int)blockIdx.x; row < m.rows; row += (int)gridDim.x) {
        const int base = row * m.n;
        float mean, inverse;
        tfr_row_statistics<T>(x, base, m, mean, inverse);
        for (int j = (int)threadIdx.x; j < m.n; j += (int)blockDim.x) {
            float v = (tfr_load(x[base + j]) - mean) * inverse * tfr_load(scale[j]);
            if (bias)
                v += tfr_load(bias[j]);
            y[base + j] = tfr_store<T>::of(v);
        }
        if (threadIdx.x == 0 && means)
            means[row] = mean;
        if (threadIdx.x == 0 && inverses)
            inverses[row] = inverse;
    }
}

template <class T>
__device__ inline void tfr_layer_norm_grad(TFR_PTR(const T) dy, TFR_PTR(const T) x,
                                           TFR_PTR(const T) scale, TFR_PTR(T) dx,
                                           TFR_PTR(float) statistics, const tfr_norm &m)
{
    for (int row = (int)blockIdx.x; row < m.rows; row += (int)gridDim.x) {
        const int base = row * m.n;
        float mean, inverse, sum_h = 0, sum_hx = 0;
        tfr_row_statistics<T>(x, base, m, mean, inverse);
        for (int j = (int)threadIdx.x; j < m.n; j += (int)blockDim.x) {
            const float h = tfr_load(dy[base + j]) * tfr_load(scale[j]);
            sum_h += h;
            sum_hx += h * ((tfr_load(x[base + j]) - mean) * inverse);
        }
        sum_h = m.rms ? 0 : tfr_fold_block<tfr_sum>(sum_h) / (float)m.n;
        sum_hx = tfr_fold_block<tfr_sum>(sum_hx) / (float)m.n;
        for (int j = (int)threadIdx.x; j < m.n; j += (int)blockDim.x) {
            const float h = tfr_load(dy[base + j]) * tfr_load(scale[j]);
            const float at = (tfr_load(x[base + j]) - mean) * inverse;
            dx[base + j] = tfr_store<T>::of(inverse * (h - sum_h - at * sum_hx));
        }
        if (threadIdx.x == 0) {
            statistics[2 * row] = mean;
            statistics[2 * row + 1] = inverse;
        }
    }
}

template <class T>
__device__ inline void tfr_layer_norm_scale(TFR_PTR(const T) dy, TFR_PTR(const T) x,
                                            TFR_PTR(const float) statistics, TFR_PTR(T) dscale,
                                            const tfr_norm &m)
{
    TFR_SHARED(float, sums, 256);
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int warps = (int)blockDim.x / 32;
    for (int begin = (int)blockIdx.x * 32; begin < m.n; begin += (int)gridDim.x * 32) {
        const int j = begin + lane;
        float sum = 0;
        for (int row = warp; row < m.rows && j < m.n; row += warps)
            sum += tfr_load(dy[row * m.n + j]) *
                   ((tfr_load(x[row * m.n + j]) - statistics[2 * row]) * statistics[2 * row + 1]);
        sums[threadIdx.x] = sum;
        __syncthreads();
        for (int w = 1; w < warps && warp == 0; w++)
            sum += sums[w * 32 + lane];
        if (warp == 0 && j < m.n)
            dscale[j] = tfr_store<T>::of(sum);
        __syncthreads();
    }
}

#define LAYER_NORM(type, T)                                                                        \
    TFR_GLOBAL(layer_norm_##type, 256,                                                             \
               (TFR_PTR(const T) x, TFR_PTR(const T) scale, TFR_PTR(const T) bias, TFR_PTR(T) y,   \
                TFR_PTR(float) means, TFR_PTR(float) inverses, tfr_norm m))                        \
    {                                                                                              \
        tfr_layer_norm<T>(x, scale, bias, y, means, inverses, m);                                  \
    }                                                                                              \
    TFR_GLOBAL(layer_norm_grad_##type, 256,                                                        \
               (TFR_PTR(const T) dy, TFR_PTR(const T) x, TFR_PTR(const T) scale, TFR_PTR(T) dx,    \
                TFR_PTR(float) statistics, tfr_norm m))                                            \
    {                                                                                              \
        tfr_layer_norm_grad<T>(dy, x, scale, dx, statistics, m);                                   \
    }                                                                                              \
    TFR_GLOBAL(layer_norm_scale_##type, 256,                                                       \
               (TFR_PTR(const T) dy, TFR_PTR(const T) x, TFR_PTR(const float) statistics,          \
                TFR_PTR(T) dscale, tfr_norm m))                                                    \
    {                                                                                              \
        tfr_layer_norm_scale<T>(dy, x, statistics, dscale, m);                                     \
    }

LAYER_NORM(f32, float)
LAYER_NORM(f16, tfr_f16)
LAYER_NORM(bf16, tfr_bf16)
#undef LAYER_NORM
