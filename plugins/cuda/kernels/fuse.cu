/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse.cu: a chain of elementwise functions of one type, for several tensors at once, as the
 * updates of all weights are: block by block as in preview_training.cu. Each value between lies in
 * shared memory, one for each thread, instead of in the device's, so that a chain reads its inputs
 * once and writes its outputs once; what a step is branches alike in all threads. A thread reads
 * all inputs of an element before it writes an output there, so that one may lie over the other.
 */
#include "binary.h"
#include "block.h"
#include "fused.h"
#include "index.h"
#include "unary.h"

namespace fuse
{

template <class T> __device__ inline T compute(const tfr_fused_step &s, T a, T b, T c)
{
    switch (s.kind) {
    case TFR_FUSED_UNARY:
        return unary::apply(a, s.f);
    case TFR_FUSED_LONG_UNARY:
        return (T)unary::apply_long((float)a, s.f); /* of floats alone */
    case TFR_FUSED_BINARY:
        return binary::apply(a, b, s.f);
    case TFR_FUSED_LONG_BINARY:
        return binary::apply_long(a, b, s.f);
    case TFR_FUSED_COMPARE:
        return binary::compare(a, b, s.f.op);
    case TFR_FUSED_WHERE:
        return a != 0 ? b : c;
    default:
        return (T)s.value;
    }
}

template <class T>
__device__ inline void run(const tfr_fused &code, const tfr_fused_tensors<T> &all)
{
    TFR_SHARED(T, r, (TFR_FUSED_INPUTS + TFR_FUSED_STEPS) * TFR_FUSED_THREADS);
    const int own = (int)threadIdx.x;
    int t = 0;
    while (t + 1 < all.count && (int)blockIdx.x >= all.blocks[t + 1])
        t++;
    const int begin = ((int)blockIdx.x - all.blocks[t]) * TFR_FUSED_PART;

    for (int i = begin + own; i < all.n[t] && i < begin + TFR_FUSED_PART; i += (int)blockDim.x) {
        for (int k = 0; k < code.n_inputs; k++) {
            TFR_ALIAS(const T) x = all.x[k][t];
            r[k * TFR_FUSED_THREADS + own] = x[code.single >> k & 1 ? 0 : i];
        }
        for (int k = 0; k < code.n_steps; k++) {
            const tfr_fused_step &s = code.steps[k];
            r[(TFR_FUSED_INPUTS + k) * TFR_FUSED_THREADS + own] =
                compute<T>(s, r[s.a * TFR_FUSED_THREADS + own], r[s.b * TFR_FUSED_THREADS + own],
                           r[s.c * TFR_FUSED_THREADS + own]);
        }
        for (int k = 0; k < code.n_outputs; k++) {
            TFR_ALIAS(T) y = all.y[k][t];
            y[i] = r[code.outputs[k] * TFR_FUSED_THREADS + own];
        }
    }
}

} // namespace fuse

#define FUSE(name, T)                                                                              \
    TFR_GLOBAL(name, TFR_FUSED_THREADS, (tfr_fused code, tfr_fused_tensors<T> all))                \
    {                                                                                              \
        fuse::run<T>(code, all);                                                                   \
    }
FUSE(fuse_f32, float)
FUSE(fuse_f64, double)
#undef FUSE
