/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_norm.cu: BatchNormalization with given statistics, BatchNormTrain, which takes them from x,
 * and BatchNormGrad; formulas in plugins/naive/batch_norm.c. x is [rows, n, plane]; the training
 * kernels have a block for each of the n channels.
 */
#include "block.h"
#include "index.h"

namespace batch_norm
{

template <class T>
__device__ inline void given(TFR_PTR(const T) x, TFR_PTR(const T) scale, TFR_PTR(const T) bias,
                             TFR_PTR(const T) mean, TFR_PTR(const T) var, TFR_PTR(T) y,
                             const tfr_norm &m)
{
    const int n = m.rows * m.n * m.plane;
    for (int i = tfr_thread(); i < n; i += tfr_threads()) {
        const int c = i / m.plane % m.n;
        const float factor = tfr_load(scale[c]) / sqrtf(tfr_load(var[c]) + m.epsilon);
        y[i] = tfr_store<T>::of((tfr_load(x[i]) - tfr_load(mean[c])) * factor + tfr_load(bias[c]));
    }
}

/* f(i) of all elements i of channel c, added up. */
template <class each> __device__ inline float sum_channel(const tfr_norm &m, int c, each f)
{
    const int count = m.rows * m.plane;
    float sum = 0;
    for (int j = (int)threadIdx.x; j < count; j += (int)blockDim.x)
        sum += f((j / m.plane * m.n + c) * m.plane + j % m.plane);
    return tfr_fold_block<tfr_sum>(sum);
}

__device__ inline void train(TFR_PTR(const float) x, TFR_PTR(const float) scale,
                             TFR_PTR(const float) bias, TFR_PTR(const float) old_mean,
                             TFR_PTR(const float) old_var, TFR_PTR(float) y,
                             TFR_PTR(float) running_mean, TFR_PTR(float) running_var,
                             TFR_PTR(float) out_mean, TFR_PTR(float) inv_std, const tfr_norm &m)
{
    const int c = (int)blockIdx.x, count = m.rows * m.plane;
    const float mean = sum_channel(m, c, [&](int i) { return x[i]; }) / (float)count;
    const float var = sum_channel(m, c, [&](int i) { return (x[i] - mean) * (x[i] - mean); }) /
                      (float)count;
    const float unbias = m.unbiased && count > 1 ? (float)count / (float)(count - 1) : 1;
    const float factor = scale[c] / sqrtf(var + m.epsilon), b = bias[c];

    if (y)
        for (int j = (int)threadIdx.x; j < count; j += (int)blockDim.x) {
            const int i = (j / m.plane * m.n + c) * m.plane + j % m.plane;
            y[i] = (x[i] - mean) * factor + b;
        }
    if (threadIdx.x != 0)
        return;
    if (running_mean)
        running_mean[c] = old_mean[c] * m.momentum + mean * (1 - m.momentum);
    if (running_var)
        running_var[c] = old_var[c] * m.momentum + var * unbias * (1 - m.momentum);
    if (out_mean)
        out_mean[c] = mean;
    if (inv_std)
        inv_std[c] = 1 / sqrtf(var + m.epsilon);
}

__device__ inline void grad(TFR_PTR(const float) dy, TFR_PTR(const float) x,
                            TFR_PTR(const float) scale, TFR_PTR(const float) means,
                            TFR_PTR(const float) inverses, TFR_PTR(float) dx,
                            TFR_PTR(float) dscale, TFR_PTR(float) db, const tfr_norm &m)
{
    const int c = (int)blockIdx.x, count = m.rows * m.plane;
    const float mean = means[c], inverse = inverses[c], factor = scale[c] * inverse;
    const float b = sum_channel(m, c, [&](int i) { return dy[i]; });
    const float s =
        sum_channel(m, c, [&](int i) { return dy[i] * ((x[i] - mean) * inverse); });

    for (int j = (int)threadIdx.x; j < count; j += (int)blockDim.x) {
        const int i = (j / m.plane * m.n + c) * m.plane + j % m.plane;
        const float at = (x[i] - mean) * inverse;
        dx[i] = factor * (dy[i] - b / (float)count - at * s / (float)count);
    }
    if (threadIdx.x == 0) {
        dscale[c] = s;
        db[c] = b;
    }
}

} // namespace batch_norm

#define BATCH_NORM(type, T)                                                                        \
    TFR_GLOBAL(batch_norm_##type, 256,                                                             \
               (TFR_PTR(const T) x, TFR_PTR(const T) scale, TFR_PTR(const T) bias,                 \
                TFR_PTR(const T) mean, TFR_PTR(const T) var, TFR_PTR(T) y, tfr_norm m))            \
    {                                                                                              \
        batch_norm::given<T>(x, scale, bias, mean, var, y, m);                                     \
    }
BATCH_NORM(f32, float)
BATCH_NORM(f16, tfr_f16)
BATCH_NORM(bf16, tfr_bf16)
#undef BATCH_NORM

TFR_GLOBAL(batch_norm_train_f32, 256,
           (TFR_PTR(const float) x, TFR_PTR(const float) scale, TFR_PTR(const float) bias,
            TFR_PTR(const float) old_mean, TFR_PTR(const float) old_var, TFR_PTR(float) y,
            TFR_PTR(float) running_mean, TFR_PTR(float) running_var, TFR_PTR(float) mean,
            TFR_PTR(float) inv_std, tfr_norm m))
{
    batch_norm::train(x, scale, bias, old_mean, old_var, y, running_mean, running_var, mean,
                      inv_std, m);
}

TFR_GLOBAL(batch_norm_grad_f32, 256,
           (TFR_PTR(const float) dy, TFR_PTR(const float) x, TFR_PTR(const float) scale,
            TFR_PTR(const float) mean, TFR_PTR(const float) inv_std, TFR_PTR(float) dx,
            TFR_PTR(float) dscale, TFR_PTR(float) db, tfr_norm m))
{
    batch_norm::grad(dy, x, scale, mean, inv_std, dx, dscale, db, m);
}
