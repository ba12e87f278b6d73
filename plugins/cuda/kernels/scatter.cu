/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scatter.cu: ScatterElements and ScatterND into y, which is a copy of the data. Updates of one
 * element follow each other as in the reference, so that the last one wins, and sums are rounded in
 * one order: no atomics, and the same bits in each run. For that
 *
 * scatter_lanes_T has a thread for each lane of ScatterElements, where there are many;
 * scatter_T has blocks with a range of rows each, which look through all updates of the lane, put
 * those of their rows into a list, in order, and go through it: a thread has a column, or, where
 * rows are narrow, every 2nd, 4th ... row of it.
 *
 * By size of an element if updates replace, by type if they are added and the like.
 */
#include "index.h"

namespace scatter
{

template <class T> struct replacing {
    __device__ static T of(T, T b, int)
    {
        return b;
    }
};

template <class V> __device__ inline V apply(V a, V b, int op)
{
    switch (op) {
    case TFR_SCATTER_ADD:
        return a + b;
    case TFR_SCATTER_MUL:
        return a * b;
    case TFR_SCATTER_MIN:
        return a != a || a < b ? a : b;
    default:
        return a != a || a > b ? a : b;
    }
}

/* Sums and products of integers wrap. */
__device__ inline int64_t apply(int64_t a, int64_t b, int op)
{
    if (op == TFR_SCATTER_ADD)
        return (int64_t)((uint64_t)a + (uint64_t)b);
    if (op == TFR_SCATTER_MUL)
        return (int64_t)((uint64_t)a * (uint64_t)b);
    return (op == TFR_SCATTER_MIN) == (a < b) ? a : b;
}

template <class T> struct reducing {
    __device__ static T of(T a, T b, int op)
    {
        return tfr_store<T>::of(apply(tfr_load_wide(a), tfr_load_wide(b), op));
    }
};

/* The row that update u of the lane goes to, or -1. */
__device__ inline int row_of(TFR_PTR(const int32_t) i32, TFR_PTR(const int64_t) i64,
                             TFR_PTR(uint64_t) found, const tfr_scattering &s, int begin, int u)
{
    int row = 0;
TFR_NO_UNROLL
    for (int d = 0; d < s.depth; d++) {
        const int position = begin + u * s.index_stride + d;
        const int at = tfr_index(found, position, s.is_wide ? i64[position] : i32[position],
                                 s.dims[d]);
        row = at < 0 || row < 0 ? -1 : row * s.dims[d] + at;
    }
    return row;
}

template <class T, class fold>
__device__ inline void by_lane(TFR_PTR(T) y, TFR_PTR(const int32_t) i32,
                               TFR_PTR(const int64_t) i64, TFR_PTR(const T) updates,
                               TFR_PTR(uint64_t) found, const tfr_scattering &s)
{
    for (int lane = tfr_thread(); lane < s.lanes.n; lane += tfr_threads()) {
        int at[2];
        tfr_walk_at<2>(s.lanes, lane, at);
TFR_NO_UNROLL
        for (int u = 0; u < s.n; u++) {
            const int row = row_of(i32, i64, found, s, at[1], u);
            if (row >= 0) {
                const int to = at[0] + row * s.row_stride;
                y[to] = fold::of(y[to], updates[at[1] + u * s.update_stride], s.op);
            }
        }
    }
}

template <class T, class fold>
__device__ inline void by_range(TFR_PTR(T) y, TFR_PTR(const int32_t) i32,
                                TFR_PTR(const int64_t) i64, TFR_PTR(const T) updates,
                                TFR_PTR(uint64_t) found, const tfr_scattering &s)
{
    TFR_SHARED(int, rows, 256);
    TFR_SHARED(int, numbers, 256);
    TFR_SHARED(int, counts, 16); /* of warps, twice: a fast warp may be one step ahead */
    const int thread = (int)threadIdx.x, groups = 256 / s.columns;
    const int each = s.ranges * s.tiles;

    for (int job = (int)blockIdx.x; job < s.lanes.n * each; job += (int)gridDim.x) {
        const int lane = job / each, range = job % each / s.tiles, tile = job % s.tiles;
        const int begin = range * s.rows_each, end = begin + s.rows_each;
        const int column = tile * s.columns + thread % s.columns, group = thread / s.columns;
        int at[2], turn = 0;
        tfr_walk_at<2>(s.lanes, lane, at);
TFR_NO_UNROLL
        for (int first = 0; first < s.n; first += 256, turn ^= 8) {
            const int u = first + thread;
            const int row = u < s.n ? row_of(i32, i64, found, s, at[1], u) : -1;
            const bool is_mine = row >= begin && row < end;
            const unsigned warp = tfr_ballot(is_mine);
            int before = 0, count = 0;
            if (thread % 32 == 0)
                counts[turn + thread / 32] = tfr_count_bits(warp);
            __syncthreads();
            for (int w = 0; w < 8; w++) {
                before += w < thread / 32 ? counts[turn + w] : 0;
                count += counts[turn + w];
            }
            if (count == 0)
                continue;
            before += tfr_count_bits(warp & ((1u << thread % 32) - 1));
            if (is_mine) {
                rows[before] = row;
                numbers[before] = u;
            }
            __syncthreads();
TFR_NO_UNROLL
            for (int k = 0; k < count && column < s.inner; k++)
                if ((rows[k] & (groups - 1)) == group) {
                    const int to = at[0] + rows[k] * s.row_stride + column;
                    const int from = at[1] + numbers[k] * s.update_stride + column;
                    y[to] = fold::of(y[to], updates[from], s.op);
                }
            __syncthreads();
        }
    }
}

} // namespace scatter

#define SCATTER_BY(name, T, fold, run)                                                             \
    TFR_GLOBAL(name, 256,                                                                          \
               (TFR_PTR(T) y, TFR_PTR(const int32_t) i32, TFR_PTR(const int64_t) i64,              \
                TFR_PTR(const T) updates, TFR_PTR(uint64_t) found, tfr_scattering s))              \
    {                                                                                              \
        scatter::run<T, scatter::fold<T>>(y, i32, i64, updates, found, s);                         \
    }
#define SCATTER(name, T, fold)                                                                     \
    SCATTER_BY(scatter_##name, T, fold, by_range)                                                  \
    SCATTER_BY(scatter_lanes_##name, T, fold, by_lane)

SCATTER(8, uint8_t, replacing)
SCATTER(16, uint16_t, replacing)
SCATTER(32, uint32_t, replacing)
SCATTER(64, uint64_t, replacing)
SCATTER(f32, float, reducing)
SCATTER(f64, double, reducing)
SCATTER(f16, tfr_f16, reducing)
SCATTER(bf16, tfr_bf16, reducing)
SCATTER(i8, int8_t, reducing)
SCATTER(u8, uint8_t, reducing)
SCATTER(i32, int32_t, reducing)
SCATTER(i64, int64_t, reducing)
#undef SCATTER
#undef SCATTER_BY
