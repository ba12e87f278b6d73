/* SPDX-License-Identifier: Apache-2.0 */
/*
 * one_hot.cu: y (o, j, i) = values[index (o, i) == j], by size of an element. A negative index
 * counts from the end; one outside leaves all of its lane at values[0].
 */
#include "index.h"

template <class T>
__device__ inline void tfr_set_one_hot(TFR_PTR(const int64_t) index, TFR_PTR(const T) values,
                                       TFR_PTR(T) y, const tfr_one_hot &h)
{
    const T off = values[0], on = values[1];
    const int depth = (int)h.depth.d, inner = (int)h.inner.d;
    for (int i = tfr_thread(); i < h.n; i += tfr_threads()) {
        const int row = tfr_divide(i, h.inner), o = tfr_divide(row, h.depth), j = row - o * depth;
        const int64_t given = index[o * inner + i - row * inner];
        y[i] = (given < 0 ? given + depth : given) == j ? on : off;
    }
}

#define ONE_HOT(name, T)                                                                           \
    TFR_GLOBAL(name, 256,                                                                          \
               (TFR_PTR(const int64_t) index, TFR_PTR(const T) values, TFR_PTR(T) y,               \
                tfr_one_hot h))                                                                    \
    {                                                                                              \
        tfr_set_one_hot<T>(index, values, y, h);                                                   \
    }

ONE_HOT(one_hot_8, uint8_t)
ONE_HOT(one_hot_16, uint16_t)
ONE_HOT(one_hot_32, uint32_t)
ONE_HOT(one_hot_64, uint64_t)
#undef ONE_HOT
