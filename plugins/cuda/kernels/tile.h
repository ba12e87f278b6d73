/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tile.h: a matrix product in tiles of S x S through shared memory, in float32 arithmetic: S * S /
 * 16 threads with 4 x 4 sums each, 16 steps of K at a time. What is multiplied is behind a class:
 *
 *   struct operands {
 *       int M, N, K;                              and where K begins
 *       column at(int n)                          what all elements of column n of B share
 *       float a(int m, int k), b(const column &, int k)
 *       void put(int m, int n, float sum)
 *       bool a_by_k                               neighbours of A lie along k
 *   };
 *
 * so that products, convolutions and their gradients are one loop. All indexes are in range.
 */
#ifndef TFR_CUDA_TILE_H
#define TFR_CUDA_TILE_H

#include "hw.h"

enum { TFR_TILE_K = 16 };

template <int S, class operands>
__device__ inline void tfr_tile(const operands &o, int tile_m, int tile_n)
{
    constexpr int threads = S * S / 16, pitch = S + 4, per_thread = S * TFR_TILE_K / threads;
    TFR_SHARED(float, as, TFR_TILE_K * (S + 4));
    TFR_SHARED(float, bs, TFR_TILE_K * (S + 4));
    const int t = (int)threadIdx.x, tx = t % (S / 4) * 4, ty = t / (S / 4) * 4;
    const int bn = tile_n * S + t % S, am = tile_m * S;
    const bool has_column = bn < o.N;
    const auto column = o.at(has_column ? bn : 0);
    float sums[4][4] = {};

    for (int k0 = o.k_begin; k0 < o.k_end; k0 += TFR_TILE_K) {
        TFR_UNROLL
        for (int i = 0; i < per_thread; i++) {
            const int e = t + i * threads;
            const int m = o.a_by_k ? e / TFR_TILE_K : e % S;
            const int k = o.a_by_k ? e % TFR_TILE_K : e / S;
            as[k * pitch + m] = am + m < o.M && k0 + k < o.k_end ? o.a(am + m, k0 + k) : 0;
            const int kb = e / S;
            bs[kb * pitch + t % S] = has_column && k0 + kb < o.k_end ? o.b(column, k0 + kb) : 0;
        }
        __syncthreads();
        TFR_UNROLL
        for (int k = 0; k < TFR_TILE_K; k++) {
            const tfr_f4 a = tfr_get4(as, k * pitch + ty), b = tfr_get4(bs, k * pitch + tx);
            TFR_UNROLL
            for (int i = 0; i < 4; i++)
                TFR_UNROLL
                for (int j = 0; j < 4; j++)
                    sums[i][j] += a.v[i] * b.v[j];
        }
        __syncthreads();
    }
    TFR_UNROLL
    for (int i = 0; i < 4; i++)
        TFR_UNROLL
        for (int j = 0; j < 4; j++)
            if (am + ty + i < o.M && tile_n * S + tx + j < o.N)
                o.put(am + ty + i, tile_n * S + tx + j, sums[i][j]);
}

#endif
