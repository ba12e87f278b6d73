/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preview_training.cu: Adam, Momentum and Adagrad of ai.onnx.preview.training for several tensors
 * at once; formulas in plugins/naive/preview_training.c. A block has a part of one tensor: part
 * blocks[t] to blocks[t + 1] - 1 are those of tensor t. Rate and step number are read from memory,
 * so that a captured launch takes those of its run; the powers of beta are computed in double, by
 * one thread, for 1 - beta^step loses its digits in float.
 */
#include "block.h"
#include "index.h"
#include "tensors.h"

namespace optimizer
{

enum { ADAM, MOMENTUM, ADAGRAD };

template <int kind>
__device__ inline void run(TFR_PTR(const float) rate, TFR_PTR(const int64_t) step,
                           const tfr_tensors &all, const tfr_optimizer &o)
{
    TFR_SHARED(float, scale, 1);
    int t = 0;
    while (t + 1 < all.count && (int)blockIdx.x >= all.blocks[t + 1])
        t++;
    if (threadIdx.x == 0) {
        const double T = (double)step[0];
        double r = (double)rate[0];
        if (kind == ADAM && T > 0)
            r *= sqrt(1 - pow((double)o.beta, T)) / (1 - pow((double)o.alpha, T));
        if (kind == ADAGRAD)
            r /= 1 + T * (double)o.decay;
        scale[0] = (float)r;
    }
    __syncthreads();
    const float r = scale[0], g_part = kind == MOMENTUM && step[0] > 0 ? o.beta : 1;
    TFR_PTR(const float) x = all.x[t];
    TFR_PTR(const float) g = all.g[t];
    TFR_PTR(const float) v = all.v[t];
    TFR_PTR(const float) h = all.h[t];
    TFR_PTR(float) new_x = all.new_x[t];
    TFR_PTR(float) new_v = all.new_v[t];
    TFR_PTR(float) new_h = all.new_h[t];
    const int begin = ((int)blockIdx.x - all.blocks[t]) * TFR_TENSOR_PART;

    for (int i = begin + (int)threadIdx.x; i < all.n[t] && i < begin + TFR_TENSOR_PART;
         i += (int)blockDim.x) {
        const float xi = x[i], gi = o.norm * xi + g[i];
        if (kind == ADAM) {
            const float vi = o.alpha * v[i] + (1 - o.alpha) * gi;
            const float hi = o.beta * h[i] + (1 - o.beta) * gi * gi;
            new_v[i] = vi;
            new_h[i] = hi;
            new_x[i] = (1 - o.post) * (xi - r * vi / (sqrtf(hi) + o.epsilon));
        } else if (kind == MOMENTUM) {
            const float vi = o.alpha * v[i] + g_part * gi;
            new_v[i] = vi;
            new_x[i] = xi - r * (o.nesterov ? gi + o.alpha * vi : vi);
        } else {
            const float vi = v[i] + gi * gi;
            new_v[i] = vi;
            new_x[i] = xi - r * gi / (sqrtf(vi) + o.epsilon);
        }
    }
}

} // namespace optimizer

#define OPTIMIZER(name, kind)                                                                      \
    TFR_GLOBAL(name, 256,                                                                          \
               (TFR_PTR(const float) rate, TFR_PTR(const int64_t) step, tfr_tensors all,           \
                tfr_optimizer o))                                                                  \
    {                                                                                              \
        optimizer::run<optimizer::kind>(rate, step, all, o);                                       \
    }
OPTIMIZER(adam_f32, ADAM)
OPTIMIZER(momentum_f32, MOMENTUM)
OPTIMIZER(adagrad_f32, ADAGRAD)
#undef OPTIMIZER
