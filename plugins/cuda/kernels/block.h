/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block.h: what a warp or a block makes of one value of each thread. The order is the same in each
 * run. All threads come, and all get the result.
 */
#ifndef TFR_CUDA_BLOCK_H
#define TFR_CUDA_BLOCK_H

#include "hw.h"

struct tfr_sum {
    template <class T> __device__ static T of(T a, T b)
    {
        return a + b;
    }
};
struct tfr_product_of {
    template <class T> __device__ static T of(T a, T b)
    {
        return a * b;
    }
};
/* A NaN is both the greatest and the smallest. */
struct tfr_greatest {
    template <class T> __device__ static T of(T a, T b)
    {
        return a > b || a != a ? a : b;
    }
};
struct tfr_smallest {
    template <class T> __device__ static T of(T a, T b)
    {
        return a < b || a != a ? a : b;
    }
};

template <class fold, class T> __device__ inline T tfr_fold_warp(T v)
{
    for (unsigned bits = 16; bits > 0; bits /= 2)
        v = fold::of(v, tfr_shuffle_xor(v, bits));
    return v;
}

/* Blocks of up to 1024 threads. It begins with a barrier, so that it can be called again. */
template <class fold, class T> __device__ inline T tfr_fold_block(T v)
{
    TFR_SHARED(T, of_warps, 32);
    const int warps = (int)blockDim.x / 32;

    v = tfr_fold_warp<fold>(v);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        of_warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = of_warps[0];
    for (int w = 1; w < warps; w++)
        v = fold::of(v, of_warps[w]);
    return v;
}

/* What the threads before this one make together; *all: what all do. Begins with a barrier, too. */
template <class fold, class T> __device__ inline T tfr_scan_block(T v, T neutral, T *all)
{
    TFR_SHARED(T, of_warps, 32);
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    T before = neutral, total = neutral;

    for (int by = 1; by < 32; by *= 2) {
        const T left = __shfl_sync(TFR_ALL_LANES, v, (lane - by) & 31);
        v = lane >= by ? fold::of(left, v) : v;
    }
    __syncthreads();
    if (lane == 31)
        of_warps[warp] = v;
    __syncthreads();
    for (int w = 0; w < (int)blockDim.x / 32; w++) {
        before = w == warp ? total : before;
        total = fold::of(total, of_warps[w]);
    }
    *all = total;
    v = __shfl_sync(TFR_ALL_LANES, v, (lane - 1) & 31);
    return fold::of(before, lane > 0 ? v : neutral);
}

#endif
