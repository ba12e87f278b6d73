/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matmul.cu: MatMul and Gemm of any strides, by tile.h; for products too small for a library, and
 * for machines without one. matmul_S_T has tiles of S x S, matmul_tf32 of 32 x 32; where sums are
 * cut into splits, their slabs are added by matmul_add_T, which is the end of gradients of filters,
 * too (conv.cu).
 */
#include "tile.h"

namespace matmul
{

template <class T>
__device__ inline void put(const tfr_product &p, TFR_PTR(const T) bias, TFR_PTR(T) y, int batch,
                           int m, int n, float sum)
{
    sum *= p.alpha;
    if (bias)
        sum += p.beta * tfr_load(bias[m * p.bias_row + n * p.bias_column]);
    if (p.relu)
        sum = sum < 0 ? 0 : sum;
    y[(batch * p.M + m) * p.N + n] = tfr_store<T>::of(sum);
}

template <class T> struct operands {
    const tfr_product &p;
    TFR_PTR(const T) pa;
    TFR_PTR(const T) pb;
    TFR_PTR(const T) bias;
    TFR_PTR(T) y;
    TFR_PTR(float) slab;
    int batch, M, N, a_row, a_column, b_row, b_column;
    bool a_by_k, b_by_k;
    static constexpr bool has_table = false, has_columns = false;

    __device__ float a(int at) const
    {
        return tfr_load(pa[at]);
    }
    __device__ float b(int at) const
    {
        return tfr_load(pb[at]);
    }
    __device__ int out(int) const
    {
        return 0;
    }
    __device__ void put(int, int m, int n, float sum) const
    {
        if (p.tiling.splits > 1)
            slab[(batch * p.M + m) * p.N + n] = sum;
        else
            matmul::put<T>(p, bias, y, batch, m, n, sum);
    }
};

template <class T, int S, bool tf32 = false>
__device__ inline void run(TFR_PTR(const T) a, TFR_PTR(const T) b, TFR_PTR(const T) bias,
                           TFR_PTR(T) y, TFR_PTR(float) slabs, const tfr_product &p)
{
    const tfr_part part = tfr_part_of<S>(p.tiling, p.K);
    int at[2];

    tfr_walk_at<2>(p.batch, part.outer, at);
    const operands<T> o = {p,
                           a + at[0],
                           b + at[1],
                           bias,
                           y,
                           slabs + (int64_t)part.split * p.batch.n * p.M * p.N,
                           part.outer,
                           p.M,
                           p.N,
                           p.a_row,
                           p.a_column,
                           p.b_row,
                           p.b_column,
                           p.a_column == 1,
                           p.b_row == 1 && p.b_column != 1};
    tfr_tile<S, tf32>(o, part, p.tiling);
}

/* A warp has 32 neighbours of some of the slabs; the block's 8 warps have all of these. */
template <class T>
__device__ inline void add(TFR_PTR(const float) slabs, TFR_PTR(const T) bias, TFR_PTR(T) y,
                           const tfr_product &p)
{
    constexpr int warps = 8, at_once = 4;
    TFR_SHARED(float, sums, warps * 32);
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int of_batch = p.M * p.N, all = p.batch.n * of_batch;
    const int i = (int)blockIdx.x * 32 + lane, splits = p.tiling.splits;
    float sum = 0;

    TFR_NO_UNROLL
    for (int s = warp; i < all && s < splits; s += warps * at_once) {
        float v[at_once];
        TFR_UNROLL
        for (int k = 0; k < at_once; k++)
            v[k] = s + k * warps < splits ? slabs[(s + k * warps) * all + i] : 0;
        sum += (v[0] + v[1]) + (v[2] + v[3]);
    }
    sums[warp * 32 + lane] = sum;
    __syncthreads();
    if (warp > 0 || i >= all)
        return;
    for (int k = 1; k < warps; k++)
        sum += sums[k * 32 + lane];
    const int batch = i / of_batch, m = (i - batch * of_batch) / p.N;
    put<T>(p, bias, y, batch, m, i - batch * of_batch - m * p.N, sum);
}

} // namespace matmul

#define MATMUL(type, T, S, bounds)                                                                 \
    TFR_GLOBAL(matmul_##S##_##type, bounds(tfr_shape<S>::threads),                                 \
               (TFR_PTR(const T) a, TFR_PTR(const T) b, TFR_PTR(const T) bias, TFR_PTR(T) y,       \
                TFR_PTR(float) slabs, tfr_product p))                                              \
    {                                                                                              \
        matmul::run<T, S>(a, b, bias, y, slabs, p);                                                \
    }
#define MATMULS(type, T)                                                                           \
    MATMUL(type, T, 64, )                                                                          \
    MATMUL(type, T, 16, TFR_MORE_REGISTERS)                                                        \
    TFR_GLOBAL(matmul_add_##type, 256,                                                             \
               (TFR_PTR(const float) slabs, TFR_PTR(const T) bias, TFR_PTR(T) y, tfr_product p))   \
    {                                                                                              \
        matmul::add<T>(slabs, bias, y, p);                                                         \
    }

MATMULS(f32, float)
MATMUL(f32, float, 32, )
TFR_GLOBAL(matmul_tf32, TFR_MORE_REGISTERS(tfr_shape<32>::threads),
           (TFR_PTR(const float) a, TFR_PTR(const float) b, TFR_PTR(const float) bias,
            TFR_PTR(float) y, TFR_PTR(float) slabs, tfr_product p))
{
    matmul::run<float, 32, true>(a, b, bias, y, slabs, p);
}
MATMULS(f16, tfr_f16)
MATMULS(bf16, tfr_bf16)
#undef MATMULS
#undef MATMUL
