/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse.cu: a chain of elementwise functions of one type, for several tensors at once, as the
 * updates of all weights are: block by block as in preview_training.cu. A thread has E elements one
 * behind the other: one where there are few, so that all multiprocessors have some, else as many as
 * 16 bytes hold, for which a step is decoded once. Each value between lies in shared memory, in a
 * cell for each thread, instead of in the device's, so that a chain reads its inputs once and
 * writes its outputs once; what a step is branches alike in all threads. A thread reads all inputs
 * of its elements before it writes an output there, so that one may lie over the other. What is
 * computed of 16-bit floats is rounded to them after each step, as kernels of single nodes round
 * what they write.
 */
#include "binary.h"
#include "block.h"
#include "fused.h"
#include "index.h"
#include "unary.h"

namespace fuse
{

/* What a thread has of a tensor. */
template <class T, int E> struct alignas(sizeof(T) * E) pack {
    T v[E];
};

/* Where element i finds what it reads of input k. */
__device__ inline int place(const tfr_fused &code, int k, int i)
{
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

/* Elements i and behind of input k; behind the last one that of i. */
template <class B, int E>
__device__ inline pack<B, E> read(const tfr_fused &code, int k, TFR_ALIAS(const B) x, int i, int n)
{
    pack<B, E> out;
    if (code.single >> k & 1) {
        const B v = x[0];
        TFR_UNROLL
        for (int e = 0; e < E; e++)
            out.v[e] = v;
        return out;
    }
    if (E > 1 && !((code.repeated | code.swapped) >> k & 1) && i + E <= n &&
        tfr_is_aligned(x, sizeof out))
        return tfr_get_all<pack<B, E>>(x, i);
    TFR_UNROLL
    for (int e = 0; e < E; e++)
        out.v[e] = x[place(code, k, i + e < n ? i + e : i)];
    return out;
}

/* Element i of an input of another type. */
template <class V, class T>
__device__ inline V read_cast(const tfr_fused &code, int k, TFR_FIELD(T) from, int i)
{
    TFR_ALIAS(const int32_t) x32 = TFR_FIELD_AS(const int32_t, from);
    TFR_ALIAS(const int64_t) x64 = TFR_FIELD_AS(const int64_t, from);
    TFR_ALIAS(const float) f32 = TFR_FIELD_AS(const float, from);
    switch (code.input_types >> 4 * k & 15) {
    case TFR_FUSED_I32:
        return (V)x32[i];
    case TFR_FUSED_I64:
        return (V)x64[i];
    default:
        return (V)f32[i];
    }
}

/* What is read as elements of the chain's type, which every byte fits. */
template <class T, class V, int E>
__device__ inline pack<T, E> read_any(const tfr_fused &code, int k, TFR_FIELD(T) from, int i, int n)
{
    TFR_ALIAS(const T) x = TFR_FIELD_AS(const T, from);
    TFR_ALIAS(const uint8_t) bytes = TFR_FIELD_AS(const uint8_t, from);
    pack<T, E> out;
    if constexpr (sizeof(T) >= sizeof(float))
        if (code.cast_inputs >> k & 1) {
            TFR_UNROLL
            for (int e = 0; e < E; e++) {
                const int at = i + e < n ? i + e : i;
                out.v[e] =
                    read_cast<V, T>(code, k, from, code.single >> k & 1 ? 0 : place(code, k, at));
            }
            return out;
        }
    if (!(code.byte_inputs >> k & 1))
        return read<T, E>(code, k, x, i, n);
    const pack<uint8_t, E> few = read<uint8_t, E>(code, k, bytes, i, n);
    TFR_UNROLL
    for (int e = 0; e < E; e++)
        out.v[e] = tfr_store<T>::of((V)few.v[e]);
    return out;
}

/* A chain at work: a value of its own for each thread of the block in each slot. */
template <class T, class V, int E> struct machine {
    typedef pack<V, E> value;
    TFR_ALIAS(value) cells;

    __device__ value &at(unsigned slot) const
    {
        return cells[(int)(slot * blockDim.x + threadIdx.x)];
    }
    __device__ void put(unsigned slot, value v) const
    {
        TFR_UNROLL
        for (int e = 0; e < E; e++)
            v.v[e] = tfr_load(tfr_store<T>::of(v.v[e]));
        at(slot) = v;
    }

    /* Inputs are asked for before the first one is waited for, so many at once. */
    template <int some>
    __device__ void take(const tfr_fused &code, const tfr_fused_tensors<T> &all, int first, int i,
                         int n) const
    {
        for (int k0 = 0; k0 < code.n_inputs; k0 += some) {
            pack<T, E> x[some];
            TFR_UNROLL
            for (int k = 0; k < some; k++)
                if (k0 + k < code.n_inputs)
                    x[k] = read_any<T, V, E>(code, k0 + k, all.at[first + k0 + k], i, n);
            TFR_UNROLL
            for (int k = 0; k < some; k++) {
                if (k0 + k >= code.n_inputs)
                    continue;
                value v;
                TFR_UNROLL
                for (int e = 0; e < E; e++)
                    v.v[e] = (V)tfr_load(x[k].v[e]);
                at((unsigned)(k0 + k)) = v;
            }
        }
    }

    /* A function that needs many registers, for one element after the other. */
    template <class each> __device__ void compute_long(unsigned to, each of) const
    {
        TFR_NO_UNROLL
        for (int e = 0; e < E; e++)
            at(to).v[e] = tfr_load(tfr_store<T>::of(of(e)));
    }

    __device__ void compute(uint32_t word, const tfr_fused_step &s) const
    {
        const unsigned slot_a = TFR_FUSED_A(word), slot_b = TFR_FUSED_B(word),
                       to = TFR_FUSED_TO(word);
        const value a = at(slot_a), b = at(slot_b);
        const uint32_t what = TFR_FUSED_WHAT(word);
        value out = a;
        if (what - TFR_FUSED_NUMBER(TFR_FUSED_BINARY, TFR_FN_Add) < 3) {
            /* Most steps are these: all of them are faster than finding out by branches. */
            TFR_UNROLL
            for (int e = 0; e < E; e++) {
                const V sum = a.v[e] + b.v[e], rest = a.v[e] - b.v[e], product = a.v[e] * b.v[e];
                out.v[e] = what == TFR_FUSED_NUMBER(TFR_FUSED_BINARY, TFR_FN_Add)   ? sum
                           : what == TFR_FUSED_NUMBER(TFR_FUSED_BINARY, TFR_FN_Sub) ? rest
                                                                                    : product;
            }
            put(to, out);
            return;
        }
        switch (what) {
#define EACH(kind, function, result)                                                               \
    case TFR_FUSED_NUMBER(kind, TFR_FN_##function): {                                              \
        const tfr_function f = {TFR_FN_##function, s.f.a, s.f.b, s.f.mode};                        \
        TFR_UNROLL                                                                                 \
        for (int e = 0; e < E; e++)                                                                \
            out.v[e] = (V)result;                                                                  \
        break;                                                                                     \
    }
#define UNARY(function)   EACH(TFR_FUSED_UNARY, function, unary::apply(a.v[e], f))
#define BINARY(function)  EACH(TFR_FUSED_BINARY, function, binary::apply(a.v[e], b.v[e], f))
#define COMPARE(function) EACH(TFR_FUSED_COMPARE, function, binary::compare(a.v[e], b.v[e], f))
            TFR_SHORT_UNARY_LIST(UNARY)
            TFR_SHORT_ARITHMETIC_LIST(BINARY)
            TFR_COMPARISON_LIST(COMPARE)
#undef COMPARE
#undef BINARY
#undef UNARY
#undef EACH
        case TFR_FUSED_NUMBER(TFR_FUSED_WHERE, 0): {
            const value c = at(TFR_FUSED_C(word));
            TFR_UNROLL
            for (int e = 0; e < E; e++)
                out.v[e] = a.v[e] != 0 ? b.v[e] : c.v[e];
            break;
        }
        case TFR_FUSED_NUMBER(TFR_FUSED_CLIP, 0): {
            const value c = at(TFR_FUSED_C(word));
            TFR_UNROLL
            for (int e = 0; e < E; e++) {
                const V low = s.f.mode & 1 && a.v[e] < b.v[e] ? b.v[e] : a.v[e];
                out.v[e] = s.f.mode & 2 && low > c.v[e] ? c.v[e] : low;
            }
            break;
        }
        case TFR_FUSED_NUMBER(TFR_FUSED_CLIP, TFR_FUSED_ROUND):
            TFR_UNROLL
            for (int e = 0; e < E; e++)
                out.v[e] = (V)(float)a.v[e];
            break;
        default:
            if (what >= TFR_FUSED_NUMBER(TFR_FUSED_LONG_BINARY, 0))
                compute_long(to, [&](int e) {
                    return binary::apply_long(at(slot_a).v[e], at(slot_b).v[e], s.f);
                });
            else
                compute_long(to, [&](int e) { /* of floats alone */
                                              return (V)unary::apply_long((float)at(slot_a).v[e],
                                                                          s.f);
                });
            return;
        }
        put(to, out);
    }

    __device__ void give(const tfr_fused &code, int k, TFR_FIELD(T) to, int i, int n) const
    {
        TFR_ALIAS(T) y = TFR_FIELD_AS(T, to);
        TFR_ALIAS(uint8_t) bytes = TFR_FIELD_AS(uint8_t, to);
        TFR_ALIAS(float) floats = TFR_FIELD_AS(float, to);
        const value v = at(code.outputs[k]);
        pack<T, E> out;
        TFR_UNROLL
        for (int e = 0; e < E; e++)
            out.v[e] = tfr_store<T>::of(v.v[e]);
        if (code.bool_outputs >> k & 1) {
            TFR_UNROLL
            for (int e = 0; e < E; e++)
                if (i + e < n)
                    bytes[i + e] = (uint8_t)(v.v[e] != 0);
        } else if (sizeof(T) == sizeof(double) && code.float_outputs >> k & 1) {
            TFR_UNROLL
            for (int e = 0; e < E; e++)
                if (i + e < n)
                    floats[i + e] = (float)v.v[e];
        } else if (i + E <= n && tfr_is_aligned(y, sizeof out)) {
            tfr_put_all(y, i, out);
        } else {
            TFR_UNROLL
            for (int e = 0; e < E; e++)
                if (i + e < n)
                    y[i + e] = out.v[e];
        }
    }
};

/* T is what lies in memory, V what is computed with. */
template <class T, class V, int E>
__device__ inline void run(const tfr_fused &code, const tfr_fused_tensors<T> &all)
{
    typedef pack<V, E> value;
    TFR_SHARED(value, cells, E == 1 ? TFR_FUSED_CELLS : TFR_FUSED_WIDE_CELLS);
    const machine<T, V, E> m = {cells};
    const int each = code.n_inputs + code.n_outputs;
    int t = 0;
    for (int by = TFR_FUSED_TENSORS / 2; by > 0; by /= 2)
        if (t + by < all.count && (int)blockIdx.x >= all.blocks[t + by])
            t += by;
    const int i = (((int)blockIdx.x - all.blocks[t]) * (int)blockDim.x + (int)threadIdx.x) * E;
    const int n = all.n[t];

    if (i >= n) /* there is no barrier */
        return;
    m.template take<E == 1 ? TFR_FUSED_INPUTS : 4>(code, all, t * each, i, n);
    for (int k = 0; k < code.n_constants; k++) {
        value v;
        TFR_UNROLL
        for (int e = 0; e < E; e++)
            v.v[e] = (V)code.steps[k].value;
        m.put(TFR_FUSED_TO(code.words[k]), v);
    }
    uint32_t word = code.words[code.n_constants];
    TFR_NO_UNROLL
    for (int k = code.n_constants; k < code.n_steps; k++) {
        const uint32_t next = code.words[k + 1];
        m.compute(word, code.steps[k]);
        word = next;
    }
    for (int k = 0; k < code.n_outputs; k++)
        m.give(code, k, all.at[t * each + code.n_inputs + k], i, n);
}

} // namespace fuse

#define FUSE(type, T, V, wide)                                                                     \
    TFR_GLOBAL(fuse_##type, TFR_FUSED_THREADS, (tfr_fused code, tfr_fused_tensors<T> all))         \
    {                                                                                              \
        fuse::run<T, V, 1>(code, all);                                                             \
    }                                                                                              \
    TFR_GLOBAL(fuse_wide_##type, TFR_FUSED_WIDE_THREADS,                                           \
               (tfr_fused code, tfr_fused_tensors<T> all))                                         \
    {                                                                                              \
        fuse::run<T, V, wide>(code, all);                                                          \
    }
FUSE(f32, float, float, TFR_FUSED_WIDE)
FUSE(f64, double, double, TFR_FUSED_WIDE / 2)
FUSE(f16, tfr_f16, float, TFR_FUSED_WIDE)
FUSE(bf16, tfr_bf16, float, TFR_FUSED_WIDE)
#undef FUSE
