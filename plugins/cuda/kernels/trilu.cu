/* SPDX-License-Identifier: Apache-2.0 */
/* trilu.cu: one triangle of each matrix, and 0 in the other; by size of an element. */
#include "index.h"

template <class T>
__device__ inline void tfr_trilu(TFR_PTR(const T) x, TFR_PTR(T) y, const tfr_triangle &t)
{
    for (int i = tfr_thread(); i < t.n; i += tfr_threads()) {
        const int all = tfr_divide(i, t.columns), column = i - all * (int)t.columns.d;
        const int row = all - tfr_divide(all, t.rows) * (int)t.rows.d;
        const bool is_kept = t.upper ? column - row >= t.k : column - row <= t.k;
        y[i] = is_kept ? x[i] : (T)0;
    }
}

#define TRILU(name, T)                                                                             \
    TFR_GLOBAL(name, 256, (TFR_PTR(const T) x, TFR_PTR(T) y, tfr_triangle t))                      \
    {                                                                                              \
        tfr_trilu<T>(x, y, t);                                                                     \
    }

TRILU(trilu_8, uint8_t)
TRILU(trilu_16, uint16_t)
TRILU(trilu_32, uint32_t)
TRILU(trilu_64, uint64_t)
#undef TRILU
