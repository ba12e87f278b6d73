/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather.cu: Gather, y (o, j, i) = x (o, index[j], i); GatherElements, whose index has the dims of
 * y; GatherND, whose indices are tuples of several axes. By size of an element. A thread writes an
 * element of y, so that rows are read and written as rows. A negative index counts from the end;
 * one outside of its axis is told (index.h), and 0 is written.
 */
#include "index.h"

namespace gather
{

template <class T, class I>
__device__ inline void along_axis(TFR_PTR(const T) x, TFR_PTR(const I) index, TFR_PTR(T) y,
                                  TFR_PTR(uint64_t) found, const tfr_gathering &g)
{
    const int n = g.outer * g.n_index * g.inner;
    for (int i = tfr_thread(); i < n; i += tfr_threads()) {
        const int row = tfr_divide(i, g.inner_d), o = tfr_divide(row, g.index_d);
        const int j = row - o * g.n_index, at = tfr_index(found, j, index[j], g.dim);
        y[i] = at >= 0 ? x[(o * g.dim + at) * g.inner + i - row * g.inner] : (T)0;
    }
}

template <class T, class I>
__device__ inline void elements(TFR_PTR(const T) x, TFR_PTR(const I) index, TFR_PTR(T) y,
                                TFR_PTR(uint64_t) found, const tfr_picking &p)
{
    for (int i = tfr_thread(); i < p.walk.n; i += tfr_threads()) {
        const int at = tfr_index(found, i, index[i], p.dim);
        int from[1];
        tfr_walk_at<1>(p.walk, i, from);
        y[i] = at >= 0 ? x[from[0] + at * p.stride] : (T)0;
    }
}

template <class T>
__device__ inline void rows(TFR_PTR(const T) x, TFR_PTR(const int64_t) index, TFR_PTR(T) y,
                            TFR_PTR(uint64_t) found, const tfr_tuples &t)
{
    for (int i = tfr_thread(); i < t.n; i += tfr_threads()) {
        const int tuple = tfr_divide(i, t.inner);
        int row = 0;
        bool is_in = true;
TFR_NO_UNROLL
        for (int d = 0; d < t.depth; d++) {
            const int position = tuple * t.depth + d;
            const int at = tfr_index(found, position, index[position], t.dims[d]);
            is_in = is_in && at >= 0;
            row = row * t.dims[d] + at;
        }
        row += tfr_divide(tuple, t.tuples_d) * t.batch_rows;
        y[i] = is_in ? x[row * (int)t.inner.d + i - tuple * (int)t.inner.d] : (T)0;
    }
}

} // namespace gather

#define GATHER_BY(bits, T, type, I)                                                                \
    TFR_GLOBAL(gather_##bits##_##type, 256,                                                        \
               (TFR_PTR(const T) x, TFR_PTR(const I) index, TFR_PTR(T) y, TFR_PTR(uint64_t) found, \
                tfr_gathering g))                                                                  \
    {                                                                                              \
        gather::along_axis<T, I>(x, index, y, found, g);                                           \
    }                                                                                              \
    TFR_GLOBAL(gather_elements_##bits##_##type, 256,                                               \
               (TFR_PTR(const T) x, TFR_PTR(const I) index, TFR_PTR(T) y, TFR_PTR(uint64_t) found, \
                tfr_picking p))                                                                    \
    {                                                                                              \
        gather::elements<T, I>(x, index, y, found, p);                                             \
    }
#define GATHER(bits, T)                                                                            \
    GATHER_BY(bits, T, i32, int32_t)                                                               \
    GATHER_BY(bits, T, i64, int64_t)                                                               \
    TFR_GLOBAL(gather_nd_##bits, 256,                                                              \
               (TFR_PTR(const T) x, TFR_PTR(const int64_t) index, TFR_PTR(T) y,                    \
                TFR_PTR(uint64_t) found, tfr_tuples t))                                            \
    {                                                                                              \
        gather::rows<T>(x, index, y, found, t);                                                    \
    }

GATHER(8, uint8_t)
GATHER(16, uint16_t)
GATHER(32, uint32_t)
GATHER(64, uint64_t)
#undef GATHER
#undef GATHER_BY
