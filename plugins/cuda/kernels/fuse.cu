/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse.cu: a chain of elementwise functions of one type, for several tensors at once, as the
 * updates of all weights are: block by block as in preview_training.cu. Each value between lies in
 * shared memory, one for each thread, instead of in the device's, so that a chain reads its inputs
 * once and writes its outputs once; what a step is branches alike in all threads. A thread reads
 * all inputs of an element before it writes an output there, so that one may lie over the other.
 * What is computed of 16-bit floats is rounded to them after each step, as kernels of single nodes
 * round what they write.
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
        return binary::compare(a, b, s.f);
    case TFR_FUSED_WHERE:
        return a != 0 ? b : c;
    case TFR_FUSED_CLIP:
        a = s.f.mode & 1 && a < b ? b : a;
        return s.f.mode & 2 && a > c ? c : a;
    default:
        return (T)s.value;
    }
}

/* Where element i finds what it reads of input k. */
__device__ inline int place(const tfr_fused &code, int k, int i)
{
    if (code.single >> k & 1)
        return 0;
    if (code.repeated >> k & 1) {
        const tfr_fused_repeat &by = code.repeats[k];
        const int q = tfr_divide(i, by.inner);
        return q - tfr_divide(q, by.dim) * (int)by.dim.d;
    }
    if (code.swapped >> k & 1) {
        const int r = i - tfr_divide(i, code.sample) * (int)code.sample.d;
        const int q = tfr_divide(r, code.row);
        return i - r + (r - q * (int)code.row.d) * code.rows + q;
    }
    return i;
}

/* T is what lies in memory, V what is computed with. */
template <class T, class V>
__device__ inline void run(const tfr_fused &code, const tfr_fused_tensors<T> &all)
{
    TFR_SHARED(V, r, (TFR_FUSED_INPUTS + TFR_FUSED_STEPS) * TFR_FUSED_THREADS);
    const int own = (int)threadIdx.x;
    int t = 0;
    while (t + 1 < all.count && (int)blockIdx.x >= all.blocks[t + 1])
        t++;
    const int begin = ((int)blockIdx.x - all.blocks[t]) * TFR_FUSED_PART;

    for (int i = begin + own; i < all.n[t] && i < begin + TFR_FUSED_PART; i += (int)blockDim.x) {
        for (int k = 0; k < code.n_inputs; k++) {
            const int at = place(code, k, i);
            TFR_ALIAS(const T) x = all.x[k][t];
            TFR_ALIAS(const uint8_t) bytes = TFR_FIELD_AS(const uint8_t, all.x[k][t]);
            r[k * TFR_FUSED_THREADS + own] =
                code.byte_inputs >> k & 1 ? (V)bytes[at] : (V)tfr_load(x[at]);
        }
        for (int k = 0; k < code.n_steps; k++) {
            const tfr_fused_step &s = code.steps[k];
            const V v =
                compute<V>(s, r[s.a * TFR_FUSED_THREADS + own], r[s.b * TFR_FUSED_THREADS + own],
                           r[s.c * TFR_FUSED_THREADS + own]);
            r[(TFR_FUSED_INPUTS + k) * TFR_FUSED_THREADS + own] = tfr_load(tfr_store<T>::of(v));
        }
        for (int k = 0; k < code.n_outputs; k++) {
            const V v = r[code.outputs[k] * TFR_FUSED_THREADS + own];
            TFR_ALIAS(T) y = all.y[k][t];
            TFR_ALIAS(uint8_t) bytes = TFR_FIELD_AS(uint8_t, all.y[k][t]);
            if (code.bool_outputs >> k & 1)
                bytes[i] = (uint8_t)(v != 0);
            else
                y[i] = tfr_store<T>::of(v);
        }
    }
}

} // namespace fuse

#define FUSE(name, T, V)                                                                           \
    TFR_GLOBAL(name, TFR_FUSED_THREADS, (tfr_fused code, tfr_fused_tensors<T> all))                \
    {                                                                                              \
        fuse::run<T, V>(code, all);                                                                \
    }
FUSE(fuse_f32, float, float)
FUSE(fuse_f64, double, double)
FUSE(fuse_f16, tfr_f16, float)
FUSE(fuse_bf16, tfr_bf16, float)
#undef FUSE
