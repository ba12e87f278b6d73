/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matmul_integer.cu: MatMulInteger and QLinearMatMul by tile_integer.h. Block number: tiles across,
 * tiles down, batch. Scales are of one type; what is quantized again is a double, as in
 * plugins/naive/matmul.c, so that halves are rounded alike.
 */
#include "index.h"
#include "tile_integer.h"

namespace matmul_bytes
{

struct column {
    int at;
};

template <class ending> struct operands {
    const tfr_product &p;
    const tfr_integers &q;
    TFR_PTR(const uint8_t) pa;
    TFR_PTR(const uint8_t) pb;
    TFR_PTR(const uint8_t) a_zero;
    TFR_PTR(const uint8_t) b_zero;
    const ending &end;
    int first; /* element of y */
    int M, N, K;

    __device__ column at(int n) const
    {
        return {n * p.b_column};
    }
    __device__ int a(int m, int k) const
    {
        return tfr_signed_byte(pa, m * p.a_row + k * p.a_column, q.a_flip);
    }
    __device__ int b(const column &c, int k) const
    {
        return tfr_signed_byte(pb, c.at + k * p.b_row, q.b_flip);
    }
    __device__ void put(int m, int n, int sum, int of_a, int of_b) const
    {
        const int za = tfr_zero_point(a_zero, m * q.a_zeros, q.a_flip);
        const int zb = tfr_zero_point(b_zero, n * q.b_zeros, q.b_flip);
        end.put(first + m * N + n, m, n, tfr_without_zeros(sum, of_a, of_b, za, zb, K));
    }
};

struct whole {
    TFR_PTR(int32_t) y;

    __device__ void put(int i, int, int, int sum) const
    {
        y[i] = sum;
    }
};

template <class S> struct quantized {
    const tfr_integers &q;
    TFR_PTR(const S) a_scale;
    TFR_PTR(const S) b_scale;
    TFR_PTR(const S) y_scale;
    TFR_PTR(const uint8_t) y_zero;
    TFR_PTR(uint8_t) y;

    __device__ void put(int i, int m, int n, int sum) const
    {
        const double scale = (double)tfr_load(a_scale[m * q.a_scales]) *
                             (double)tfr_load(b_scale[n * q.b_scales]) /
                             (double)tfr_load(y_scale[0]);
        y[i] = tfr_requantize(scale * sum, y_zero, q.y_signed != 0);
    }
};

template <class ending>
__device__ inline void run(TFR_PTR(const uint8_t) a, TFR_PTR(const uint8_t) a_zero,
                           TFR_PTR(const uint8_t) b, TFR_PTR(const uint8_t) b_zero,
                           const ending &end, const tfr_product &p, const tfr_integers &q)
{
    constexpr int S = TFR_INTEGER_TILE;
    const int across = (p.N + S - 1) / S, down = (p.M + S - 1) / S, number = (int)blockIdx.x;
    const int batch = number / across / down;
    int at[2];

    tfr_walk_at<2>(p.batch, batch, at);
    const operands<ending> o = {
        p, q, a + at[0], b + at[1], a_zero, b_zero, end, batch * p.M * p.N, p.M, p.N, p.K};
    tfr_tile_integer(o, number / across % down, number % across);
}

} // namespace matmul_bytes

TFR_GLOBAL(matmul_integer, 256,
           (TFR_PTR(const uint8_t) a, TFR_PTR(const uint8_t) a_zero, TFR_PTR(const uint8_t) b,
            TFR_PTR(const uint8_t) b_zero, TFR_PTR(int32_t) y, tfr_product p, tfr_integers q))
{
    matmul_bytes::run(a, a_zero, b, b_zero, matmul_bytes::whole{y}, p, q);
}

#define QLINEAR(type, S)                                                                           \
    TFR_GLOBAL(qlinear_matmul_##type, 256,                                                         \
               (TFR_PTR(const uint8_t) a, TFR_PTR(const S) a_scale, TFR_PTR(const uint8_t) a_zero, \
                TFR_PTR(const uint8_t) b, TFR_PTR(const S) b_scale, TFR_PTR(const uint8_t) b_zero, \
                TFR_PTR(const S) y_scale, TFR_PTR(const uint8_t) y_zero, TFR_PTR(uint8_t) y,       \
                tfr_product p, tfr_integers q))                                                    \
    {                                                                                              \
        const matmul_bytes::quantized<S> end = {q, a_scale, b_scale, y_scale, y_zero, y};          \
        matmul_bytes::run(a, a_zero, b, b_zero, end, p, q);                                        \
    }

QLINEAR(f32, float)
QLINEAR(f16, tfr_f16)
QLINEAR(bf16, tfr_bf16)
#undef QLINEAR
