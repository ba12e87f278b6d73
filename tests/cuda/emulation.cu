/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emulation.cu: kernels for test_emulation.c, most of them wrong on purpose. Only the CPU runs
 * them: cpu_cuda.h is to notice what is wrong.
 */
#include "hw.h"

/* y[i] is x of the thread behind, by way of shared memory. */
TFR_GLOBAL(rotate, 256, (TFR_PTR(const float) x, TFR_PTR(float) y))
{
    TFR_SHARED(float, all, 256);
    const int i = (int)threadIdx.x;
    all[i] = x[i];
    __syncthreads();
    y[i] = all[(i + 1) % (int)blockDim.x];
}

TFR_GLOBAL(rotate_without_barrier, 256, (TFR_PTR(const float) x, TFR_PTR(float) y))
{
    TFR_SHARED(float, all, 256);
    const int i = (int)threadIdx.x;
    all[i] = x[i];
    y[i] = all[(i + 1) % (int)blockDim.x];
}

/* The barrier is there, but not that between a round's reads and the next one's writes. */
TFR_GLOBAL(rotate_twice_with_one_barrier, 256, (TFR_PTR(const float) x, TFR_PTR(float) y))
{
    TFR_SHARED(float, all, 256);
    const int i = (int)threadIdx.x;
    float v = x[i];
    for (int round = 0; round < 2; round++) {
        all[i] = v;
        __syncthreads();
        v = all[(i + 1) % (int)blockDim.x];
    }
    y[i] = v;
}

/* All threads but those of a tail come to the barrier; those that have ended need not. */
TFR_GLOBAL(end_before_barrier, 256, (TFR_PTR(const float) x, TFR_PTR(float) y))
{
    const int i = (int)threadIdx.x;
    if (i >= 32)
        return;
    __syncthreads();
    y[i] = x[i];
}

TFR_GLOBAL(stuck_at_barrier, 256, (TFR_PTR(const float) x, TFR_PTR(float) y))
{
    const int i = (int)threadIdx.x;
    if (i % 2)
        __syncthreads();
    else
        __syncwarp();
    y[i] = x[i];
}

TFR_GLOBAL(stuck_at_shuffle, 256, (TFR_PTR(const float) x, TFR_PTR(float) y))
{
    const int i = (int)threadIdx.x;
    y[i] = i % 32 < 16 ? tfr_shuffle_xor(x[i], 1) : x[i];
}

TFR_GLOBAL(read_unwritten, 256, (TFR_PTR(const float) x, TFR_PTR(float) y))
{
    TFR_SHARED(float, all, 256);
    const int i = (int)threadIdx.x;
    y[i] = x[i] * all[i];
}

TFR_GLOBAL(read_past_end, 256, (TFR_PTR(const float) x, TFR_PTR(float) y))
{
    y[threadIdx.x] = x[(int)threadIdx.x + 1];
}

TFR_GLOBAL(read_unaligned, 256, (TFR_PTR(const float) x, TFR_PTR(float) y))
{
    if (threadIdx.x == 0)
        y[0] = tfr_get4(x + 1, 0).v[0];
}
