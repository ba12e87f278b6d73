/* SPDX-License-Identifier: Apache-2.0 */
/* where.cu: z = condition ? x : y with broadcasting, by size of an element. */
#include "index.h"

template <class T>
__device__ inline void tfr_where(TFR_PTR(const uint8_t) c, TFR_PTR(const T) x, TFR_PTR(const T) y,
                                 TFR_PTR(T) z, const tfr_walk &walk)
{
    for (int i = tfr_thread(); i < walk.n; i += tfr_threads()) {
        int at[3];
        tfr_walk_at<3>(walk, i, at);
        z[i] = c[at[0]] ? x[at[1]] : y[at[2]];
    }
}

#define WHERE(name, T)                                                                             \
    TFR_GLOBAL(name, 256,                                                                          \
               (TFR_PTR(const uint8_t) c, TFR_PTR(const T) x, TFR_PTR(const T) y, TFR_PTR(T) z,    \
                tfr_walk walk))                                                                    \
    {                                                                                              \
        tfr_where<T>(c, x, y, z, walk);                                                            \
    }

WHERE(where_8, uint8_t)
WHERE(where_16, uint16_t)
WHERE(where_32, uint32_t)
WHERE(where_64, uint64_t)
#undef WHERE
