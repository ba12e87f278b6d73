/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather.cu: y (o, j, i) = x (o, index[j], i), by size of an element. A negative index counts from
 * the end; one outside of the axis reads nothing and gives 0, as a launch on a queue has nobody
 * whom it could tell.
 */
#include "index.h"

template <class T, class I>
__device__ inline void tfr_gather(TFR_PTR(const T) x, TFR_PTR(const I) index, TFR_PTR(T) y,
                                  const tfr_gathering &g)
{
    const int n = g.outer * g.n_index * g.inner;
    for (int i = tfr_thread(); i < n; i += tfr_threads()) {
        const int row = tfr_divide(i, g.inner_d), o = tfr_divide(row, g.index_d);
        int64_t at = index[row - o * g.n_index];
        at += at < 0 ? g.dim : 0;
        y[i] = at >= 0 && at < g.dim
                   ? x[(o * g.dim + (int)at) * g.inner + i - row * g.inner]
                   : (T)0;
    }
}

#define GATHER(bits, T)                                                                            \
    TFR_GLOBAL(gather_##bits##_i32, 256,                                                           \
               (TFR_PTR(const T) x, TFR_PTR(const int32_t) index, TFR_PTR(T) y, tfr_gathering g))  \
    {                                                                                              \
        tfr_gather<T, int32_t>(x, index, y, g);                                                    \
    }                                                                                              \
    TFR_GLOBAL(gather_##bits##_i64, 256,                                                           \
               (TFR_PTR(const T) x, TFR_PTR(const int64_t) index, TFR_PTR(T) y, tfr_gathering g))  \
    {                                                                                              \
        tfr_gather<T, int64_t>(x, index, y, g);                                                    \
    }

GATHER(8, uint8_t)
GATHER(16, uint16_t)
GATHER(32, uint32_t)
GATHER(64, uint64_t)
#undef GATHER
