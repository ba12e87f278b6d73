/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matmul.cu: MatMul and Gemm of any strides, by tile.h; for products too small for a library, and
 * for machines without one. Block number: tiles across, tiles down, batch.
 */
#include "index.h"
#include "tile.h"

namespace matmul
{

struct column {
    int at;
};

template <class T> struct operands {
    const tfr_product &p;
    TFR_PTR(const T) pa;
    TFR_PTR(const T) pb;
    TFR_PTR(const T) bias;
    TFR_PTR(T) y;
    int M, N, k_begin, k_end;
    bool a_by_k;

    __device__ column at(int n) const
    {
        return {n * p.b_column};
    }
    __device__ float a(int m, int k) const
    {
        return tfr_load(pa[m * p.a_row + k * p.a_column]);
    }
    __device__ float b(const column &c, int k) const
    {
        return tfr_load(pb[c.at + k * p.b_row]);
    }
    __device__ void put(int m, int n, float sum) const
    {
        sum *= p.alpha;
        if (bias)
            sum += p.beta * tfr_load(bias[m * p.bias_row + n * p.bias_column]);
        if (p.relu)
            sum = sum < 0 ? 0 : sum;
        y[m * p.N + n] = tfr_store<T>::of(sum);
    }
};

template <class T, int S>
__device__ inline void run(TFR_PTR(const T) a, TFR_PTR(const T) b, TFR_PTR(const T) bias,
                           TFR_PTR(T) y, const tfr_product &p)
{
    const int across = (p.N + S - 1) / S, down = (p.M + S - 1) / S, number = (int)blockIdx.x;
    const int batch = number / across / down;
    int at[2];

    tfr_walk_at<2>(p.batch, batch, at);
    const operands<T> o = {p,   a + at[0], b + at[1], bias, y + (int64_t)batch * p.M * p.N,
                           p.M, p.N,       0,         p.K,  p.a_column == 1};
    tfr_tile<S>(o, number / across % down, number % across);
}

} // namespace matmul

#define MATMUL(type, T)                                                                            \
    TFR_GLOBAL(matmul_64_##type, 256,                                                              \
               (TFR_PTR(const T) a, TFR_PTR(const T) b, TFR_PTR(const T) bias, TFR_PTR(T) y,       \
                tfr_product p))                                                                    \
    {                                                                                              \
        matmul::run<T, 64>(a, b, bias, y, p);                                                      \
    }                                                                                              \
    TFR_GLOBAL(matmul_32_##type, 64,                                                               \
               (TFR_PTR(const T) a, TFR_PTR(const T) b, TFR_PTR(const T) bias, TFR_PTR(T) y,       \
                tfr_product p))                                                                    \
    {                                                                                              \
        matmul::run<T, 32>(a, b, bias, y, p);                                                      \
    }

MATMUL(f32, float)
MATMUL(f16, tfr_f16)
MATMUL(bf16, tfr_bf16)
#undef MATMUL
