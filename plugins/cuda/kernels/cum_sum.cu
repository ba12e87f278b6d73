/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cum_sum.cu: CumSum and CumProd along an axis. cum_sum_lanes_T has a thread for each lane, where
 * there are many or they are short. cum_sum_T has a block for each chunk of one, and scans tiles of
 * 1024 elements: 4 of each thread, then threads by shuffles. What is in front of the chunk it adds
 * up from totals, which cum_sum_totals_T has made, if there are several.
 *
 * Floats of up to 32 bits are added in float inside of a tile, and in double from tile to tile.
 */
#include "block.h"
#include "index.h"

namespace cum_sum
{

/* Integers wrap. */
struct sum {
    template <class V> __device__ static V of(V a, V b)
    {
        return a + b;
    }
    __device__ static int64_t of(int64_t a, int64_t b)
    {
        return (int64_t)((uint64_t)a + (uint64_t)b);
    }
    static constexpr int neutral = 0;
};
struct product {
    template <class V> __device__ static V of(V a, V b)
    {
        return a * b;
    }
    __device__ static int64_t of(int64_t a, int64_t b)
    {
        return (int64_t)((uint64_t)a * (uint64_t)b);
    }
    static constexpr int neutral = 1;
};

/* Where element k of a lane lies, in the order of the sum. */
struct lane {
    int begin, step;

    __device__ lane(const tfr_cumulating &c, int number)
    {
        const int inner = (int)c.inner.d, o = tfr_divide(number, c.inner);
        begin = o * c.n * inner + number - o * inner + (c.reverse ? (c.n - 1) * inner : 0);
        step = c.reverse ? -inner : inner;
    }
    __device__ int at(int k) const
    {
        return begin + k * step;
    }
};

template <class fold, class T, class W>
__device__ inline void by_lane(TFR_PTR(const T) x, TFR_PTR(T) y, const tfr_cumulating &c)
{
    for (int number = tfr_thread(); number < c.lanes; number += tfr_threads()) {
        const lane l(c, number);
        W so_far = fold::neutral;
        for (int k = 0; k < c.n; k++) {
            const W next = fold::of(so_far, (W)tfr_load(x[l.at(k)]));
            y[l.at(k)] = tfr_store<T>::of(c.exclusive ? so_far : next);
            so_far = next;
        }
    }
}

template <class fold, class T, class W>
__device__ inline void totals(TFR_PTR(const T) x, TFR_PTR(W) out, const tfr_cumulating &c)
{
    for (int job = (int)blockIdx.x; job < c.lanes * c.chunks; job += (int)gridDim.x) {
        const lane l(c, job / c.chunks);
        const int begin = job % c.chunks * c.chunk;
        const int end = begin + c.chunk < c.n ? begin + c.chunk : c.n;
        W total = fold::neutral;
TFR_NO_UNROLL
        for (int k = begin + (int)threadIdx.x; k < end; k += (int)blockDim.x)
            total = fold::of(total, (W)tfr_load(x[l.at(k)]));
        total = tfr_fold_block<fold>(total);
        if (threadIdx.x == 0)
            out[job] = total;
    }
}

/* V inside of a tile, W from tile to tile. */
template <class fold, class T, class V, class W>
__device__ inline void by_block(TFR_PTR(const T) x, TFR_PTR(T) y, TFR_PTR(const W) before,
                                const tfr_cumulating &c)
{
    for (int job = (int)blockIdx.x; job < c.lanes * c.chunks; job += (int)gridDim.x) {
        const lane l(c, job / c.chunks);
        const int chunk = job % c.chunks, begin = chunk * c.chunk;
        const int end = begin + c.chunk < c.n ? begin + c.chunk : c.n;
        W carry = fold::neutral;
        if (c.chunks > 1) {
            for (int k = (int)threadIdx.x; k < chunk; k += (int)blockDim.x)
                carry = fold::of(carry, before[job - chunk + k]);
            carry = tfr_fold_block<fold>(carry);
        }
TFR_NO_UNROLL
        for (int tile = begin; tile < end; tile += 4 * (int)blockDim.x) {
            const int first = tile + 4 * (int)threadIdx.x;
            V v[4], all = fold::neutral, total;
            TFR_UNROLL
            for (int e = 0; e < 4; e++) {
                v[e] = first + e < end ? (V)tfr_load(x[l.at(first + e)]) : (V)fold::neutral;
                all = fold::of(all, v[e]);
            }
            V left = tfr_scan_block<fold>(all, (V)fold::neutral, &total);
            TFR_UNROLL
            for (int e = 0; e < 4; e++) {
                const V next = fold::of(left, v[e]);
                if (first + e < end)
                    y[l.at(first + e)] =
                        tfr_store<T>::of(fold::of(carry, (W)(c.exclusive ? left : next)));
                left = next;
            }
            carry = fold::of(carry, (W)total);
        }
    }
}

} // namespace cum_sum

#define CUMULATE_BY(op, name, type, T, V, W)                                                       \
    TFR_GLOBAL(name##_lanes_##type, 256, (TFR_PTR(const T) x, TFR_PTR(T) y, tfr_cumulating c))     \
    {                                                                                              \
        cum_sum::by_lane<cum_sum::op, T, W>(x, y, c);                                              \
    }                                                                                              \
    TFR_GLOBAL(name##_totals_##type, 256, (TFR_PTR(const T) x, TFR_PTR(W) out, tfr_cumulating c))  \
    {                                                                                              \
        cum_sum::totals<cum_sum::op, T, W>(x, out, c);                                             \
    }                                                                                              \
    TFR_GLOBAL(name##_##type, 256,                                                                 \
               (TFR_PTR(const T) x, TFR_PTR(T) y, TFR_PTR(const W) before, tfr_cumulating c))      \
    {                                                                                              \
        cum_sum::by_block<cum_sum::op, T, V, W>(x, y, before, c);                                  \
    }
#define CUMULATE(type, T, V, W)                                                                    \
    CUMULATE_BY(sum, cum_sum, type, T, V, W)                                                       \
    CUMULATE_BY(product, cum_prod, type, T, V, W)

CUMULATE(f32, float, float, double)
CUMULATE(f64, double, double, double)
CUMULATE(f16, tfr_f16, float, double)
CUMULATE(bf16, tfr_bf16, float, double)
CUMULATE(i32, int32_t, int64_t, int64_t)
CUMULATE(i64, int64_t, int64_t, int64_t)
#undef CUMULATE
#undef CUMULATE_BY
