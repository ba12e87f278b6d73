/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse.cu: a chain of elementwise functions of floats, for several tensors at once, as the updates
 * of all weights are: block by block as in preview_training.cu. Each value between lies in shared
 * memory, one for each thread, instead of in the device's, so that a chain reads its inputs once
 * and writes its outputs once; what a step is branches alike in all threads. A thread reads all
 * inputs of an element before it writes an output there, so that one may lie over the other.
 */
#include "binary.h"
#include "block.h"
#include "fused.h"
#include "index.h"
#include "unary.h"

namespace fuse
{

__device__ inline float compute(const tfr_fused_step &s, float a, float b)
{
    switch (s.kind) {
    case TFR_FUSED_UNARY:
        return unary::apply(a, s.f);
    case TFR_FUSED_LONG_UNARY:
        return unary::apply_long(a, s.f);
    case TFR_FUSED_BINARY:
        return binary::apply(a, b, s.f);
    default:
        return s.f.a;
    }
}

__device__ inline void run(const tfr_fused &code, const tfr_fused_tensors &all)
{
    TFR_SHARED(float, r, (TFR_FUSED_INPUTS + TFR_FUSED_STEPS) * TFR_FUSED_THREADS);
    const int own = (int)threadIdx.x;
    int t = 0;
    while (t + 1 < all.count && (int)blockIdx.x >= all.blocks[t + 1])
        t++;
    const int begin = ((int)blockIdx.x - all.blocks[t]) * TFR_FUSED_PART;

    for (int i = begin + own; i < all.n[t] && i < begin + TFR_FUSED_PART; i += (int)blockDim.x) {
        for (int k = 0; k < code.n_inputs; k++) {
            TFR_ALIAS(const float) x = all.x[k][t];
            r[k * TFR_FUSED_THREADS + own] = x[code.single >> k & 1 ? 0 : i];
        }
        for (int k = 0; k < code.n_steps; k++) {
            const tfr_fused_step &s = code.steps[k];
            r[(TFR_FUSED_INPUTS + k) * TFR_FUSED_THREADS + own] =
                compute(s, r[s.a * TFR_FUSED_THREADS + own], r[s.b * TFR_FUSED_THREADS + own]);
        }
        for (int k = 0; k < code.n_outputs; k++) {
            TFR_ALIAS(float) y = all.y[k][t];
            y[i] = r[code.outputs[k] * TFR_FUSED_THREADS + own];
        }
    }
}

} // namespace fuse

TFR_GLOBAL(fuse_f32, TFR_FUSED_THREADS, (tfr_fused code, tfr_fused_tensors all))
{
    fuse::run(code, all);
}
