/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer_norm.cu: LayerNormalization and, with rms, RMSNormalization over rows of n elements:
 * y = (x - mean) / sqrt(var + epsilon) * scale + bias. A block for each row, which it reads three
 * times, twice from a cache; the variance is taken around the mean, as no difference of large sums
 * keeps its digits.
 */
#include "block.h"
#include "index.h"

template <class T>
__device__ inline void tfr_layer_norm(TFR_PTR(const T) x, TFR_PTR(const T) scale,
                                      TFR_PTR(const T) bias, TFR_PTR(T) y, TFR_PTR(float) means,
                                      TFR_PTR(float) inverses, const tfr_norm &m)
{
    for (int row = (int)blockIdx.x; row < m.rows; row += (int)gridDim.x) {
        const int base = row * m.n;
        float mean = 0, squares = 0;
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
        const float inverse = 1 / sqrtf(squares / (float)m.n + m.epsilon);
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

#define LAYER_NORM(type, T)                                                                        \
    TFR_GLOBAL(layer_norm_##type, 256,                                                             \
               (TFR_PTR(const T) x, TFR_PTR(const T) scale, TFR_PTR(const T) bias, TFR_PTR(T) y,   \
                TFR_PTR(float) means, TFR_PTR(float) inverses, tfr_norm m))                        \
    {                                                                                              \
        tfr_layer_norm<T>(x, scale, bias, y, means, inverses, m);                                  \
    }

LAYER_NORM(f32, float)
LAYER_NORM(f16, tfr_f16)
LAYER_NORM(bf16, tfr_bf16)
#undef LAYER_NORM
