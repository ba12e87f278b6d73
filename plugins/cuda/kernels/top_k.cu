/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_k.cu: TopK, a block for each row. Elements become unsigned keys in whose order the greatest
 * come first: NaN above all numbers, zeros of both signs equal, and all bits turned round where the
 * smallest are wanted. The k-th key is found by its digits of 8 bits, from the highest down: each
 * pass counts those of the keys that begin as it does. Then what is above it, and the first of what
 * equals it, are collected in shared memory and sorted there by a bitonic network, equal ones by
 * their index.
 */
#include "block.h"
#include "index.h"

namespace top_k
{

__device__ inline uint32_t order(float v)
{
    const uint32_t bits = tfr_float_bits(v == 0 ? 0.f : v);
    return v != v ? UINT32_MAX : bits >> 31 ? ~bits : bits | 0x80000000u;
}
__device__ inline uint64_t order(double v)
{
    const uint64_t bits = (uint64_t)tfr_double_bits(v == 0 ? 0. : v);
    return v != v ? UINT64_MAX : bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}
__device__ inline uint32_t order(int32_t v)
{
    return (uint32_t)v ^ 0x80000000u;
}
__device__ inline uint64_t order(int64_t v)
{
    return (uint64_t)v ^ (uint64_t)1 << 63;
}
__device__ inline uint32_t order(int8_t v)
{
    return order((int32_t)v);
}
__device__ inline uint32_t order(uint8_t v)
{
    return order((int32_t)v);
}

/* A row of x. */
template <class T> struct row {
    typedef decltype(order(tfr_load(T()))) key;
    TFR_PTR(const T) x;
    int begin, step, n;
    key flip;

    __device__ key at(int i) const
    {
        return order(tfr_load(x[begin + i * step])) ^ flip;
    }
};

/* The k-th key, and in *k how many of those that equal it are wanted. */
template <class T> __device__ inline typename row<T>::key find_kth(const row<T> &r, int *k)
{
    typedef typename row<T>::key key;
    TFR_SHARED(unsigned, counts, 256);
    TFR_SHARED(int, chosen, 2);
    const int thread = (int)threadIdx.x, digit = 255 - thread;
    key known = 0, mask = 0;
TFR_NO_UNROLL
    for (int shift = (int)sizeof(key) * 8 - 8; shift >= 0; shift -= 8) {
        counts[thread] = 0;
        __syncthreads();
TFR_NO_UNROLL
        for (int i = thread; i < r.n; i += 256) {
            const key v = r.at(i);
            if ((v & mask) == known)
                tfr_atomic_add(counts, (int)(v >> shift & 255), 1u);
        }
        __syncthreads();
        int all;
        const int own = (int)counts[digit], above = tfr_scan_block<tfr_sum>(own, 0, &all);
        if (above < *k && *k <= above + own) {
            chosen[0] = digit;
            chosen[1] = *k - above;
        }
        __syncthreads();
        known |= (key)chosen[0] << shift;
        mask |= (key)255 << shift;
        *k = chosen[1];
    }
    return known;
}

/* Whether a stands behind b. */
template <class K> __device__ inline bool is_behind(K a, int i, K b, int j)
{
    return a < b || (a == b && i > j);
}

template <class K>
__device__ inline void sort(TFR_ALIAS(K) keys, TFR_ALIAS(int) numbers, int n)
{
TFR_NO_UNROLL
    for (int size = 2; size <= n; size *= 2)
TFR_NO_UNROLL
        for (int by = size / 2; by > 0; by /= 2) {
            __syncthreads();
TFR_NO_UNROLL
            for (int t = (int)threadIdx.x; t < n / 2; t += 256) {
                const int i = 2 * t - (t & (by - 1)), j = i + by;
                const auto a = keys[i], b = keys[j];
                const int p = numbers[i], q = numbers[j];
                if (is_behind(a, p, b, q) == ((i & size) == 0)) {
                    keys[i] = b;
                    keys[j] = a;
                    numbers[i] = q;
                    numbers[j] = p;
                }
            }
        }
    __syncthreads();
}

template <class T>
__device__ inline void run(TFR_PTR(const T) x, TFR_PTR(T) values, TFR_PTR(int64_t) indices,
                           const tfr_top &p)
{
    typedef typename row<T>::key key;
    TFR_SHARED(key, keys, TFR_TOP_K);
    TFR_SHARED(int, numbers, TFR_TOP_K);
    const int thread = (int)threadIdx.x, inner = (int)p.inner.d;

    for (int number = (int)blockIdx.x; number < p.rows; number += (int)gridDim.x) {
        const int o = tfr_divide(number, p.inner), i = number - o * inner;
        const row<T> r = {x, o * p.n * inner + i, inner, p.n, p.largest ? (key)0 : (key)~(key)0};
        int equal = p.k, n_above = 0, n_equal = 0;
        const key least = find_kth(r, &equal);
        for (int t = p.k + thread; t < p.sorted; t += 256) {
            keys[t] = 0;
            numbers[t] = INT32_MAX;
        }
TFR_NO_UNROLL
        for (int first = 0; first < p.n; first += 256) {
            const int at = first + thread;
            const key v = at < p.n ? r.at(at) : 0;
            const bool is_above = at < p.n && v > least, is_equal = at < p.n && v == least;
            int all;
            const int rank = tfr_scan_block<tfr_sum>((int)is_above | (int)is_equal << 16, 0, &all);
            const int behind = n_equal + (rank >> 16);
            const int slot = is_above ? n_above + (rank & 0xffff) : p.k - equal + behind;
            if (is_above || (is_equal && behind < equal)) {
                keys[slot] = v;
                numbers[slot] = at;
            }
            n_above += all & 0xffff;
            n_equal += all >> 16;
        }
        sort<key>(keys, numbers, p.sorted);
        for (int t = thread; t < p.k; t += 256) {
            const int to = (o * p.k + t) * inner + i;
            if (values)
                values[to] = x[r.begin + numbers[t] * inner];
            if (indices)
                indices[to] = numbers[t];
        }
        __syncthreads();
    }
}

} // namespace top_k

#define TOP_K(type, T)                                                                             \
    TFR_GLOBAL(top_k_##type, 256,                                                                  \
               (TFR_PTR(const T) x, TFR_PTR(T) values, TFR_PTR(int64_t) indices, tfr_top p))       \
    {                                                                                              \
        top_k::run<T>(x, values, indices, p);                                                      \
    }

TOP_K(f32, float)
TOP_K(f64, double)
TOP_K(f16, tfr_f16)
TOP_K(bf16, tfr_bf16)
TOP_K(i8, int8_t)
TOP_K(u8, uint8_t)
TOP_K(i32, int32_t)
TOP_K(i64, int64_t)
#undef TOP_K
