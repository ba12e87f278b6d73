/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tile_integer.h: a product of matrices of bytes in tiles of 64 x 64 through shared memory: 256
 * threads with 4 x 4 sums each, 32 steps of K at a time, four of them in one instruction (dp4a, 7.5
 * and newer all have it). Bytes are signed: whoever has unsigned ones flips their highest bit,
 * which takes 128 from them and from their zero point. With these
 *
 *   sum of (a - za) (b - zb) = sum of a b - za sum of b - zb sum of a + K za zb
 *
 * so that zero points cost one more instruction for each word that is loaded. What is multiplied is
 * behind a class:
 *
 *   struct operands {
 *       int M, N, K;
 *       column at(int n)                          what all elements of column n of B share
 *       int a(int m, int k), b(const column &, int k)
 *       void put(int m, int n, int sum, int of_a, int of_b)
 *   };
 *
 * Neighbours of A lie along k, those of B along n. All indexes are in range.
 */
#ifndef TFR_CUDA_TILE_INTEGER_H
#define TFR_CUDA_TILE_INTEGER_H

#include "hw.h"

enum { TFR_INTEGER_TILE = 64, TFR_INTEGER_WORDS = 8 };

/* of(k) of four neighbours, those from K on 0. */
template <class each> __device__ inline int tfr_pack4(int k, int K, each of)
{
    unsigned word = 0;
    TFR_UNROLL
    for (int j = 0; j < 4; j++)
        word |= (unsigned)((k + j < K ? of(k + j) : 0) & 255) << 8 * j;
    return (int)word;
}

template <class operands>
__device__ inline void tfr_tile_integer(const operands &o, int tile_m, int tile_n)
{
    constexpr int S = TFR_INTEGER_TILE, words = TFR_INTEGER_WORDS, pitch = S + 4, ones = 0x01010101;
    TFR_SHARED(int32_t, as, TFR_INTEGER_WORDS * (TFR_INTEGER_TILE + 4));
    TFR_SHARED(int32_t, bs, TFR_INTEGER_WORDS * (TFR_INTEGER_TILE + 4));
    TFR_SHARED(int32_t, of_rows, TFR_INTEGER_TILE);
    TFR_SHARED(int32_t, of_columns, 4 * TFR_INTEGER_TILE);
    const int t = (int)threadIdx.x, tx = t % (S / 4) * 4, ty = t / (S / 4) * 4;
    const int bn = tile_n * S + t % S, am = tile_m * S;
    const bool has_column = bn < o.N;
    const auto column = o.at(has_column ? bn : 0);
    int sums[4][4] = {}, of_a[2] = {}, of_b = 0; /* of the words that this thread loads */

    for (int k0 = 0; k0 < o.K; k0 += 4 * words) {
        TFR_UNROLL
        for (int i = 0; i < 2; i++) {
            const int e = t + i * 256, m = am + e / words;
            const int a =
                tfr_pack4(k0 + e % words * 4, m < o.M ? o.K : 0, [&](int k) { return o.a(m, k); });
            as[e % words * pitch + e / words] = a;
            of_a[i] = tfr_dot4(a, ones, of_a[i]);
            const int b = tfr_pack4(k0 + e / S * 4, has_column ? o.K : 0,
                                    [&](int k) { return o.b(column, k); });
            bs[e / S * pitch + t % S] = b;
            of_b = tfr_dot4(b, ones, of_b);
        }
        __syncthreads();
        TFR_UNROLL
        for (int w = 0; w < words; w++) {
            const tfr_i4 a = tfr_get4<tfr_i4>(as, w * pitch + ty);
            const tfr_i4 b = tfr_get4<tfr_i4>(bs, w * pitch + tx);
            TFR_UNROLL
            for (int i = 0; i < 4; i++)
                TFR_UNROLL
            for (int j = 0; j < 4; j++)
                sums[i][j] = tfr_dot4(a.v[i], b.v[j], sums[i][j]);
        }
        __syncthreads();
    }
    TFR_UNROLL
    for (int i = 0; i < 2; i++) {
        for (unsigned bits = words / 2; bits > 0; bits /= 2)
            of_a[i] += tfr_shuffle_xor(of_a[i], bits);
        if (t % words == 0)
            of_rows[(t + i * 256) / words] = of_a[i];
    }
    of_columns[t] = of_b;
    __syncthreads();
    TFR_UNROLL
    for (int i = 0; i < 4; i++)
        TFR_UNROLL
    for (int j = 0; j < 4; j++) {
        const int n = tx + j;
        if (am + ty + i < o.M && tile_n * S + n < o.N)
            o.put(am + ty + i, tile_n * S + n, sums[i][j], of_rows[ty + i],
                  of_columns[n] + of_columns[n + S] + of_columns[n + 2 * S] +
                      of_columns[n + 3 * S]);
    }
}

/* The sum of (a - za) (b - zb), which wraps. */
__device__ inline int tfr_without_zeros(int sum, int of_a, int of_b, int za, int zb, int K)
{
    return (int)((unsigned)sum - (unsigned)za * (unsigned)of_b - (unsigned)zb * (unsigned)of_a +
                 (unsigned)K * (unsigned)za * (unsigned)zb);
}

/* Element i of bytes, or of zero points that may be absent, as a signed byte. */
__device__ inline int tfr_signed_byte(TFR_PTR(const uint8_t) p, int i, int flip)
{
    return (int8_t)(p[i] ^ flip);
}
__device__ inline int tfr_zero_point(TFR_PTR(const uint8_t) p, int i, int flip)
{
    return p ? tfr_signed_byte(p, i, flip) : (int8_t)flip;
}

/* round(v) + zero of a byte that is signed or not, saturated; NaN is 0. */
__device__ inline uint8_t tfr_requantize(double v, TFR_PTR(const uint8_t) zero, bool is_signed)
{
    const int z = !zero ? 0 : is_signed ? (int8_t)zero[0] : zero[0];
    const double low = is_signed ? -128 : 0, high = is_signed ? 127 : 255, y = rint(v) + z;
    return y != y ? 0 : (uint8_t)(int)(y < low ? low : y > high ? high : y);
}

#endif
