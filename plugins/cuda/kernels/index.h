/* SPDX-License-Identifier: Apache-2.0 */
/* index.h: from the number of an element to where it lies, without divisions; and grid loops. */
#ifndef TFR_CUDA_INDEX_H
#define TFR_CUDA_INDEX_H

#include "args.h"
#include "hw.h"

__device__ inline int tfr_divide(int x, const tfr_divisor &by)
{
    const uint32_t high = (uint32_t)((uint64_t)(uint32_t)x * by.multiplier >> 32);
    return (int)((high + (uint32_t)x) >> by.shift);
}

/* Where element i of operand k lies, for up to K operands. */
template <int K> __device__ inline void tfr_walk_at(const tfr_walk &w, int i, int at[K])
{
TFR_UNROLL
    for (int k = 0; k < K; k++)
        at[k] = w.rank ? w.offset[k] : i;
    /* Four steps at once, as compilers like it, are more dims than most calls have. */
TFR_NO_UNROLL
    for (int d = w.rank - 1; d > 0; d--) {
        const int q = tfr_divide(i, w.dims[d]), r = i - q * (int)w.dims[d].d;
TFR_UNROLL
        for (int k = 0; k < K; k++)
            at[k] += r * w.strides[k][d];
        i = q;
    }
TFR_UNROLL
    for (int k = 0; k < K; k++)
        at[k] += w.rank ? i * w.strides[k][0] : 0;
}

/* Tells the host of a number that must not be; of several, the one whose position is the first
 * (cuda_mistake of plan.h). */
__device__ inline void tfr_tell(TFR_PTR(uint64_t) found, int position, int64_t given)
{
    const int64_t some = given < INT32_MIN ? INT32_MIN : given > INT32_MAX ? INT32_MAX : given;
    tfr_atomic_min(found, 0, (uint64_t)(uint32_t)position << 32 | (uint32_t)some);
}

/* An index of an axis, which counts from the end if it is negative; -1, and told, if outside. */
__device__ inline int tfr_index(TFR_PTR(uint64_t) found, int position, int64_t given, int dim)
{
    const int64_t at = given < 0 ? given + dim : given;
    if (at >= 0 && at < dim)
        return (int)at;
    tfr_tell(found, position, given);
    return -1;
}

__device__ inline int tfr_thread(void)
{
    return (int)(blockIdx.x * blockDim.x + threadIdx.x);
}

/* The threads of the grid, which elements of a loop lie apart. */
__device__ inline int tfr_threads(void)
{
    return (int)(gridDim.x * blockDim.x);
}

#endif
