/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transpose.cu: all that only moves elements: Transpose, Concat, Split, Slice, Expand, Tile,
 * DepthToSpace, SpaceToDepth, and plain copies. copy_N takes two walks over one index space, of the
 * source and of the destination; swap_N, for a batch of matrices [R, C] to [C, R], goes through
 * tiles of shared memory, so that both sides are read and written in rows. By size of an element.
 */
#include "index.h"

template <class T>
__device__ inline void tfr_copy(TFR_PTR(const T) from, TFR_PTR(T) to, const tfr_walk &walk)
{
    const int width = (int)blockDim.x;

    for (int begin = (int)blockIdx.x * width * 4; begin < walk.n; begin += tfr_threads() * 4) {
        TFR_UNROLL
        for (int k = 0; k < 4; k++) {
            const int i = begin + k * width + (int)threadIdx.x;
            int at[2];
            if (i < walk.n) {
                tfr_walk_at<2>(walk, i, at);
                to[at[1]] = from[at[0]];
            }
        }
    }
}

/* A block of 32 x 8 threads swaps a tile of 32 x 32; a column more keeps banks apart. */
template <class T>
__device__ inline void tfr_swap(TFR_PTR(const T) from, TFR_PTR(T) to, int rows, int columns,
                                int tiles_down, int tiles_across)
{
    TFR_SHARED(T, tile, 32 * 33);
    const int number = (int)blockIdx.x, across = number % tiles_across;
    const int down = number / tiles_across % tiles_down;
    const int64_t base = (int64_t)(number / tiles_across / tiles_down) * rows * columns;
    const int x = (int)threadIdx.x % 32, y = (int)threadIdx.x / 32;

    T some[4] = {}; /* all are asked for before the first is waited for */
    TFR_UNROLL
    for (int k = 0; k < 4; k++)
        if (down * 32 + y + 8 * k < rows && across * 32 + x < columns)
            some[k] = from[base + (int64_t)(down * 32 + y + 8 * k) * columns + across * 32 + x];
    TFR_UNROLL
    for (int k = 0; k < 4; k++)
        tile[(y + 8 * k) * 33 + x] = some[k];
    __syncthreads();
    for (int c = y; c < 32; c += 8)
        if (across * 32 + c < columns && down * 32 + x < rows)
            to[base + (int64_t)(across * 32 + c) * rows + down * 32 + x] = tile[x * 33 + c];
}

template <class T> __device__ inline void tfr_fill(TFR_PTR(T) to, int64_t bits, int n)
{
    for (int i = tfr_thread(); i < n; i += tfr_threads())
        to[i] = (T)bits;
}

#define MOVES(bits, T)                                                                             \
    TFR_GLOBAL(copy_##bits, 256, (TFR_PTR(const T) from, TFR_PTR(T) to, tfr_walk walk))            \
    {                                                                                              \
        tfr_copy<T>(from, to, walk);                                                               \
    }                                                                                              \
    TFR_GLOBAL(swap_##bits, 256,                                                                   \
               (TFR_PTR(const T) from, TFR_PTR(T) to, int32_t rows, int32_t columns,               \
                int32_t tiles_down, int32_t tiles_across))                                         \
    {                                                                                              \
        tfr_swap<T>(from, to, rows, columns, tiles_down, tiles_across);                            \
    }                                                                                              \
    TFR_GLOBAL(fill_##bits, 256, (TFR_PTR(T) to, int64_t value, int32_t n))                        \
    {                                                                                              \
        tfr_fill<T>(to, value, n);                                                                 \
    }

MOVES(8, uint8_t)
MOVES(16, uint16_t)
MOVES(32, uint32_t)
MOVES(64, uint64_t)
#undef MOVES
