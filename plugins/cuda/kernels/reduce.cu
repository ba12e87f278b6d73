/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce.cu: sums and the like over any axes. reduce_T has a block for each output, for long
 * reductions; reduce_thread_T a thread, for short ones, where neighbours read neighbours. 16-bit
 * floats are added in float, integers in 64 bits.
 */
#include "block.h"
#include "functions.h"
#include "index.h"

namespace reduce
{

/* v as it enters the sum. */
template <class V> __device__ inline V enter(V v, int op)
{
    if (op == TFR_FN_ReduceL1)
        return v < 0 ? -v : v;
    if (op == TFR_FN_ReduceL2 || op == TFR_FN_ReduceSumSquare)
        return v * v;
    return v;
}

__device__ inline float leave(float v, const tfr_reducing &r)
{
    if (r.op == TFR_FN_ReduceMean)
        return v * r.scale;
    if (r.op == TFR_FN_ReduceL2)
        return sqrtf(v);
    if (r.op == TFR_FN_ReduceLogSum)
        return logf(v);
    return v;
}

__device__ inline double leave(double v, const tfr_reducing &r)
{
    return r.op == TFR_FN_ReduceMean ? v / r.reduced.n : v;
}

__device__ inline int64_t leave(int64_t v, const tfr_reducing &)
{
    return v;
}

/* Where elements of a reduced space of up to two dims lie, as most are. */
struct flat {
    tfr_divisor row;
    int inner, outer, offset;

    __device__ explicit flat(const tfr_walk &w)
        : row{1, 0, 31}, inner(w.rank ? w.strides[0][0] : 1), outer(0),
          offset(w.rank ? w.offset[0] : 0)
    {
        if (w.rank == 2) {
            row = w.dims[1];
            inner = w.strides[0][1];
            outer = w.strides[0][0];
        }
    }
    __device__ int at(int j) const
    {
        const int q = tfr_divide(j, row);
        return offset + (j - q * (int)row.d) * inner + q * outer;
    }
};
struct deep {
    const tfr_walk &walk;

    __device__ explicit deep(const tfr_walk &w) : walk(w)
    {
    }
    __device__ int at(int j) const
    {
        int at[1];
        tfr_walk_at<1>(walk, j, at);
        return at[0];
    }
};

/* The fold of elements begin, begin + step and so on before end; there is one. `some` are asked for
 * before the first is waited for. */
template <class fold, class T, class V, int some, class place>
__device__ inline V part(TFR_PTR(const T) x, const tfr_reducing &r, const place &where, int base,
                         int begin, int step, int end)
{
    V sum = enter((V)tfr_load(x[base + where.at(begin)]), r.op);
    int j = begin + step;
    TFR_NO_UNROLL
    for (; some > 1 && j + (some - 1) * step < end; j += some * step) {
        T v[some];
        V sums[some];
        TFR_UNROLL
        for (int k = 0; k < some; k++)
            v[k] = x[base + where.at(j + k * step)];
        TFR_UNROLL
        for (int k = 0; k < some; k++)
            sums[k] = enter((V)tfr_load(v[k]), r.op);
        TFR_UNROLL
        for (int by = some / 2; by > 0; by /= 2)
            TFR_UNROLL
        for (int k = 0; k < by; k++)
            sums[k] = fold::of(sums[k], sums[k + by]);
        sum = fold::of(sum, sums[0]);
    }
    TFR_NO_UNROLL
    for (; j < end; j += step)
        sum = fold::of(sum, enter((V)tfr_load(x[base + where.at(j)]), r.op));
    return sum;
}
template <class fold, class T, class V>
__device__ inline V part_of(TFR_PTR(const T) x, const tfr_reducing &r, int base, int begin,
                            int step)
{
    if (r.reduced.rank > 2)
        return part<fold, T, V, 1>(x, r, deep(r.reduced), base, begin, step, r.reduced.n);
    return part<fold, T, V, 8>(x, r, flat(r.reduced), base, begin, step, r.reduced.n);
}

/* Threads without an element take the one of thread 0 for a maximum, and the neutral one else. */
template <class fold, class T, class V>
__device__ inline void by_block(TFR_PTR(const T) x, TFR_PTR(T) y, const tfr_reducing &r, V neutral,
                                bool has_neutral)
{
    for (int o = (int)blockIdx.x; o < r.kept.n; o += (int)gridDim.x) {
        int base[1];
        const bool has = (int)threadIdx.x < r.reduced.n;
        V sum = neutral;
        tfr_walk_at<1>(r.kept, o, base);
        if (has || !has_neutral)
            sum = part_of<fold, T, V>(x, r, base[0], has ? (int)threadIdx.x : 0, (int)blockDim.x);
        sum = tfr_fold_block<fold>(sum);
        if (threadIdx.x == 0)
            y[o] = tfr_store<T>::of(leave(sum, r));
    }
}

template <class fold, class T, class V>
__device__ inline void by_thread(TFR_PTR(const T) x, TFR_PTR(T) y, const tfr_reducing &r)
{
    for (int o = tfr_thread(); o < r.kept.n; o += tfr_threads()) {
        int base[1];
        tfr_walk_at<1>(r.kept, o, base);
        y[o] = tfr_store<T>::of(leave(part_of<fold, T, V>(x, r, base[0], 0, 1), r));
    }
}

/*
 * Long sums whose neighbours in memory belong to other ones, as those of channels that are last: a
 * block has 32 sums and one of the `splits` of each, `part` elements, which a row of its warps
 * adds; it leaves them in parts [splits, kept], for by_thread.
 */
template <class T, class V>
__device__ inline void by_column(TFR_PTR(const T) x, TFR_PTR(V) parts, const tfr_reducing &r,
                                 int groups, int part_n)
{
    TFR_SHARED(V, of_rows, 1024);
    const int split = (int)blockIdx.x / groups, lane = (int)threadIdx.x % 32;
    const int o = (int)blockIdx.x % groups * 32 + lane, row = (int)threadIdx.x / 32;
    const int rows = (int)blockDim.x / 32, begin = split * part_n + row;
    const int end = (split + 1) * part_n < r.reduced.n ? (split + 1) * part_n : r.reduced.n;
    V sum = 0;
    if (o < r.kept.n && begin < end) {
        int base[1];
        tfr_walk_at<1>(r.kept, o, base);
        sum = part<tfr_sum, T, V, 8>(x, r, flat(r.reduced), base[0], begin, rows, end);
    }
    of_rows[threadIdx.x] = sum;
    __syncthreads();
    if (row > 0 || o >= r.kept.n)
        return;
    for (int k = 1; k < rows; k++)
        sum += of_rows[k * 32 + lane];
    parts[split * r.kept.n + o] = sum;
}

/* log(sum(exp(x))) = m + log(sum(exp(x - m))) with the maximum m, which cannot overflow. */
template <class T, bool thread>
__device__ inline void log_sum_exp(TFR_PTR(const T) x, TFR_PTR(T) y, const tfr_reducing &r)
{
    const int begin = thread ? 0 : (int)threadIdx.x, step = thread ? 1 : (int)blockDim.x;
    const int first = thread ? tfr_thread() : (int)blockIdx.x;
    TFR_NO_UNROLL
    for (int o = first; o < r.kept.n; o += thread ? tfr_threads() : (int)gridDim.x) {
        int base[1], at[1];
        float m = -INFINITY, sum = 0;
        tfr_walk_at<1>(r.kept, o, base);
        TFR_NO_UNROLL
        for (int j = begin; j < r.reduced.n; j += step) {
            tfr_walk_at<1>(r.reduced, j, at);
            m = tfr_greatest::of(m, (float)tfr_load(x[base[0] + at[0]]));
        }
        m = thread ? m : tfr_fold_block<tfr_greatest>(m);
        TFR_NO_UNROLL
        for (int j = begin; j < r.reduced.n && m - m == 0; j += step) {
            tfr_walk_at<1>(r.reduced, j, at);
            sum += expf((float)tfr_load(x[base[0] + at[0]]) - m);
        }
        sum = thread ? sum : tfr_fold_block<tfr_sum>(sum);
        if (thread || threadIdx.x == 0)
            y[o] = tfr_store<T>::of(m - m == 0 ? m + logf(sum) : m);
    }
}

template <class T, class V, bool thread>
__device__ inline void run(TFR_PTR(const T) x, TFR_PTR(T) y, const tfr_reducing &r)
{
    switch (r.op) {
    case TFR_FN_ReduceMax:
        thread ? by_thread<tfr_greatest, T, V>(x, y, r)
               : by_block<tfr_greatest, T, V>(x, y, r, 0, false);
        break;
    case TFR_FN_ReduceMin:
        thread ? by_thread<tfr_smallest, T, V>(x, y, r)
               : by_block<tfr_smallest, T, V>(x, y, r, 0, false);
        break;
    case TFR_FN_ReduceProd:
        thread ? by_thread<tfr_product_of, T, V>(x, y, r)
               : by_block<tfr_product_of, T, V>(x, y, r, 1, true);
        break;
    default:
        thread ? by_thread<tfr_sum, T, V>(x, y, r) : by_block<tfr_sum, T, V>(x, y, r, 0, true);
        break;
    }
}

/* The place of the greatest or smallest element of each lane; a thread a lane. It asks for 8
 * elements before it waits for the first. */
template <class T>
__device__ inline void arg(TFR_PTR(const T) x, TFR_PTR(int64_t) y, const tfr_lanes &l, bool least,
                           bool last)
{
    const int n_lanes = l.outer * l.inner;
    for (int lane = tfr_thread(); lane < n_lanes; lane += tfr_threads()) {
        const int base = lane / l.inner * l.n * l.inner + lane % l.inner;
        auto best = tfr_load(x[base]);
        int at = 0;
        TFR_NO_UNROLL
        for (int j = 1; j < l.n; j += 8) {
            T some[8];
            TFR_UNROLL
            for (int k = 0; k < 8; k++) /* the last one again where there are no more */
                some[k] = x[base + (j + k < l.n ? j + k : l.n - 1) * l.inner];
            TFR_UNROLL
            for (int k = 0; k < 8; k++) {
                const auto v = tfr_load(some[k]);
                const bool better = (least ? v < best : v > best) || (v != v && best == best);
                if (j + k < l.n && (better || (last && (v == best || (v != v && best != best))))) {
                    best = v;
                    at = j + k;
                }
            }
        }
        y[lane] = at;
    }
}

} // namespace reduce

#define REDUCE(type, T, V)                                                                         \
    TFR_GLOBAL(reduce_##type, 1024, (TFR_PTR(const T) x, TFR_PTR(T) y, tfr_reducing r))            \
    {                                                                                              \
        reduce::run<T, V, false>(x, y, r);                                                         \
    }                                                                                              \
    TFR_GLOBAL(reduce_thread_##type, 256, (TFR_PTR(const T) x, TFR_PTR(T) y, tfr_reducing r))      \
    {                                                                                              \
        reduce::run<T, V, true>(x, y, r);                                                          \
    }
#define LOG_SUM_EXP(type, T)                                                                       \
    TFR_GLOBAL(reduce_log_sum_exp_##type, 256, (TFR_PTR(const T) x, TFR_PTR(T) y, tfr_reducing r)) \
    {                                                                                              \
        reduce::log_sum_exp<T, false>(x, y, r);                                                    \
    }                                                                                              \
    TFR_GLOBAL(reduce_log_sum_exp_thread_##type, 256,                                              \
               (TFR_PTR(const T) x, TFR_PTR(T) y, tfr_reducing r))                                 \
    {                                                                                              \
        reduce::log_sum_exp<T, true>(x, y, r);                                                     \
    }
#define ARG(type, T)                                                                               \
    TFR_GLOBAL(arg_##type, 256,                                                                    \
               (TFR_PTR(const T) x, TFR_PTR(int64_t) y, tfr_lanes l, int32_t least, int32_t last)) \
    {                                                                                              \
        reduce::arg<T>(x, y, l, least != 0, last != 0);                                            \
    }

TFR_GLOBAL(reduce_column_f32, 1024,
           (TFR_PTR(const float) x, TFR_PTR(float) parts, tfr_reducing r, int32_t groups,
            int32_t part))
{
    reduce::by_column<float, float>(x, parts, r, groups, part);
}
REDUCE(f32, float, float)
REDUCE(f64, double, double)
REDUCE(f16, tfr_f16, float)
REDUCE(bf16, tfr_bf16, float)
REDUCE(i32, int32_t, int64_t)
REDUCE(i64, int64_t, int64_t)
LOG_SUM_EXP(f32, float)
LOG_SUM_EXP(f16, tfr_f16)
LOG_SUM_EXP(bf16, tfr_bf16)
ARG(f32, float)
ARG(f16, tfr_f16)
ARG(bf16, tfr_bf16)
ARG(i32, int32_t)
ARG(i64, int64_t)
#undef REDUCE
#undef LOG_SUM_EXP
#undef ARG
