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

/* By copies that go on, which the second kernel does not wait for. */
TFR_GLOBAL(rotate_by_copies, 256, (TFR_PTR(const float) x, TFR_PTR(float) y))
{
    TFR_SHARED(float, all, 256);
    const int i = (int)threadIdx.x;
    tfr_copy_async(all, i, x, i);
    tfr_wait_copies();
    __syncthreads();
    y[i] = all[(i + 1) % (int)blockDim.x];
}

TFR_GLOBAL(rotate_by_copies_without_wait, 256, (TFR_PTR(const float) x, TFR_PTR(float) y))
{
    TFR_SHARED(float, all, 256);
    const int i = (int)threadIdx.x;
    tfr_copy_async(all, i, x, i);
    __syncthreads();
    y[i] = all[(i + 1) % (int)blockDim.x];
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

/* y = b b of x's 8 x 8 elements as a warp multiplies them, once in the upper rows of the first
 * factor and once in the lower ones; NaN where these differ, or where rounding to TF32 is wrong. */
TFR_GLOBAL(square_tf32, 256, (TFR_PTR(const float) x, TFR_PTR(float) y))
{
    const int lane = (int)threadIdx.x % 32, g = lane / 4, t = lane % 4;
    float a[4], b[2], sums[4] = {};
    a[0] = a[1] = tfr_round_tf32(x[8 * g + t] * (1 + 0x1p-12f));
    a[2] = a[3] = tfr_round_tf32(x[8 * g + t + 4] * (1 - 0x1p-12f));
    b[0] = tfr_round_tf32(x[8 * t + g]);
    b[1] = tfr_round_tf32(x[8 * t + 32 + g]);
    tfr_multiply_tf32(a, b, sums);
    for (int i = 0; i < 2 && threadIdx.x < 32; i++)
        y[8 * g + 2 * t + i] = sums[i] == sums[i + 2] ? sums[i] : tfr_bits_float(0x7fc00000);
}
