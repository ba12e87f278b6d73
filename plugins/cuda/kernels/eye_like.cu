/* SPDX-License-Identifier: Apache-2.0 */
/* eye_like.cu: 1 on a diagonal and 0 elsewhere, by size of an element. */
#include "index.h"

template <class T>
__device__ inline void tfr_diagonal(TFR_PTR(T) y, int64_t one, int n, const tfr_divisor &columns,
                                    int k)
{
    for (int i = tfr_thread(); i < n; i += tfr_threads()) {
        const int row = tfr_divide(i, columns);
        y[i] = i - row * (int)columns.d == row + k ? (T)one : (T)0;
    }
}

#define EYE_LIKE(name, T)                                                                          \
    TFR_GLOBAL(name, 256,                                                                          \
               (TFR_PTR(T) y, int64_t one, int32_t n, tfr_divisor columns, int32_t k))             \
    {                                                                                              \
        tfr_diagonal<T>(y, one, n, columns, k);                                                    \
    }

EYE_LIKE(eye_like_8, uint8_t)
EYE_LIKE(eye_like_16, uint16_t)
EYE_LIKE(eye_like_32, uint32_t)
EYE_LIKE(eye_like_64, uint64_t)
#undef EYE_LIKE
