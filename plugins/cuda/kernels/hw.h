/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hw.h: the language of the kernels, for nvcc and, by cpu_cuda.h, for a compiler of the CPU; and
 * all that needs an instruction of its own, each with a body for the CPU.
 *
 * A kernel is TFR_GLOBAL(name, threads, (parameters)) { body }, where the body calls a __device__
 * template. Its parameters are TFR_PTR(T), integers and structs of args.h; T is const where it
 * only reads. TFR_ALIAS(T) may point where another one writes; TFR_FIELD_AS(T, field) is a pointer
 * of a struct taken as one to T. Shared memory is TFR_SHARED(type, name, n). Blocks are whole
 * warps, and all of a warp come to a shuffle.
 */
#ifndef TFR_CUDA_HW_H
#define TFR_CUDA_HW_H

#include <stdint.h>

#ifdef __CUDACC__
#define TFR_PTR(T)    T *__restrict__
#define TFR_FIELD(T)  T *
#define TFR_FIELD_AS(T, field) reinterpret_cast<T *>(field)
#define TFR_ALIAS(T)  T *
#define TFR_ALL_LANES 0xffffffffu
#define TFR_SHARED(type, name, n) __shared__ __align__(16) type name[n]
#define TFR_GLOBAL(name, threads, parameters)                                                      \
    extern "C" __global__ void __launch_bounds__(threads) name parameters
#define TFR_UNROLL    _Pragma("unroll")
#define TFR_NO_UNROLL _Pragma("unroll 1")
#else
#include "cpu_cuda.h"
#define TFR_UNROLL
#define TFR_NO_UNROLL
#endif

/* For the threads of a TFR_GLOBAL: better few blocks on a multiprocessor than registers in memory.
 */
#ifdef __CUDACC__
#define TFR_MORE_REGISTERS(threads) threads, 1
#else
#define TFR_MORE_REGISTERS(threads) threads
#endif

/* ---- 16-bit floats: storage alone, arithmetic is float's ---- */

struct tfr_f16 {
    uint16_t bits;
};
struct tfr_bf16 {
    uint16_t bits;
};

__device__ inline float tfr_bits_float(uint32_t bits)
{
#ifdef __CUDACC__
    return __uint_as_float(bits);
#else
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
#endif
}

__device__ inline uint32_t tfr_float_bits(float f)
{
#ifdef __CUDACC__
    return __float_as_uint(f);
#else
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
#endif
}

__device__ inline int64_t tfr_double_bits(double f)
{
#ifdef __CUDACC__
    return __double_as_longlong(f);
#else
    int64_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
#endif
}

__device__ inline float tfr_widen(tfr_f16 h)
{
#ifdef __CUDACC__
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h.bits));
    return f;
#else
    const uint32_t sign = (uint32_t)(h.bits & 0x8000) << 16, rest = h.bits & 0x7fff;
    if (rest >= 0x7c00)
        return tfr_bits_float(sign | 0x7f800000u | (rest & 0x3ff) << 13);
    /* 2^112 shifts the exponent, denormals among them */
    return tfr_bits_float(tfr_float_bits(tfr_bits_float(rest << 13) * 0x1p112f) | sign);
#endif
}

__device__ inline float tfr_widen(tfr_bf16 h)
{
    return tfr_bits_float((uint32_t)h.bits << 16);
}

/* To nearest, ties to even. */
__device__ inline tfr_f16 tfr_narrow_f16(float f)
{
    tfr_f16 h;
#ifdef __CUDACC__
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(f));
#else
    const uint32_t bits = tfr_float_bits(f), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    if (rest > 0x7f800000)
        h.bits = 0x7fff;
    else if (rest >= 0x477ff000) /* 65520 and more */
        h.bits = (uint16_t)(sign | 0x7c00);
    else if (rest < 0x38800000) /* a denormal: the sum rounds at its last bit */
        h.bits = (uint16_t)(sign | (tfr_float_bits(tfr_bits_float(rest) + 0.5f) - 0x3f000000));
    else
        h.bits = (uint16_t)(sign | (rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13);
#endif
    return h;
}

__device__ inline tfr_bf16 tfr_narrow_bf16(float f)
{
    const uint32_t bits = tfr_float_bits(f);
    tfr_bf16 h;
    if ((bits & 0x7fffffff) > 0x7f800000)
        h.bits = (uint16_t)(bits >> 16 | 0x40);
    else
        h.bits = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    return h;
}

/* Elements as the type that is computed with. */
template <class T> __device__ inline T tfr_load(T v)
{
    return v;
}
__device__ inline float tfr_load(tfr_f16 v)
{
    return tfr_widen(v);
}
__device__ inline float tfr_load(tfr_bf16 v)
{
    return tfr_widen(v);
}
/* The same, with 64 bits for integers and truth values of any width. */
template <class T> __device__ inline int64_t tfr_load_wide(T v)
{
    return v;
}
__device__ inline float tfr_load_wide(float v)
{
    return v;
}
__device__ inline double tfr_load_wide(double v)
{
    return v;
}
__device__ inline float tfr_load_wide(tfr_f16 v)
{
    return tfr_widen(v);
}
__device__ inline float tfr_load_wide(tfr_bf16 v)
{
    return tfr_widen(v);
}
template <class T> struct tfr_store {
    template <class V> __device__ static T of(V v)
    {
        return (T)v;
    }
};
template <> struct tfr_store<tfr_f16> {
    __device__ static tfr_f16 of(float v)
    {
        return tfr_narrow_f16(v);
    }
};
template <> struct tfr_store<tfr_bf16> {
    __device__ static tfr_bf16 of(float v)
    {
        return tfr_narrow_bf16(v);
    }
};

/* ---- warps and blocks ---- */

template <class T> __device__ inline T tfr_shuffle_xor(T v, unsigned bits)
{
    return __shfl_xor_sync(TFR_ALL_LANES, v, bits);
}

/* Bit l: what lane l of the warp says. */
__device__ inline unsigned tfr_ballot(bool yes)
{
#ifdef __CUDACC__
    return __ballot_sync(TFR_ALL_LANES, yes);
#else
    unsigned bits = yes ? 1u << threadIdx.x % 32 : 0;
    for (unsigned by = 1; by < 32; by *= 2)
        bits |= tfr_shuffle_xor(bits, by);
    return bits;
#endif
}

__device__ inline int tfr_count_bits(unsigned bits)
{
#ifdef __CUDACC__
    return __popc(bits);
#else
    return __builtin_popcount(bits);
#endif
}

/* ---- atomics ---- */

/* p[i] = min(p[i], v) */
template <class P> __device__ inline void tfr_atomic_min(const P &p, int i, uint64_t v)
{
#ifdef __CUDACC__
    atomicMin(reinterpret_cast<unsigned long long *>(&p[i]), (unsigned long long)v);
#else
    uint64_t *at = &p[i], old = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (v < old &&
           !__atomic_compare_exchange_n(at, &old, v, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
#endif
}

/* p[i] += v */
__device__ inline void tfr_atomic_add(TFR_ALIAS(unsigned) p, int i, unsigned v)
{
#ifdef __CUDACC__
    atomicAdd(&p[i], v);
#else
    __atomic_fetch_add(&p[i], v, __ATOMIC_RELAXED);
#endif
}

/* ---- numbers ---- */

/* A product that is rounded, whatever is added to it. */
__device__ inline double tfr_multiply(double a, double b)
{
#ifdef __CUDACC__
    return __dmul_rn(a, b);
#else
    return a * b;
#endif
}

/* x < 0, also for types that are never negative */
template <class T> __device__ inline bool tfr_is_negative(T x)
{
    if constexpr ((T)-1 < (T)0)
        return x < 0;
    return false;
}

/* sum + the products of the four signed bytes of a and b. */
__device__ inline int tfr_dot4(int a, int b, int sum)
{
#ifdef __CUDACC__
    return __dp4a(a, b, sum);
#else
    for (int k = 0; k < 32; k += 8)
        sum += (int8_t)(a >> k) * (int8_t)(b >> k);
    return sum;
#endif
}

/* ---- products of a warp ---- */

/* To 10 bits behind the point, to nearest. */
__device__ inline float tfr_round_tf32(float f)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    uint32_t bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(f));
    return tfr_bits_float(bits);
#else
    const uint32_t bits = tfr_float_bits(f);
    if ((bits & 0x7f800000) == 0x7f800000)
        return f;
    return tfr_bits_float((bits + 0x1000) & ~(uint32_t)0x1fff);
#endif
}

/*
 * Adds the product of 16 x 8 and 8 x 8 to 16 x 8 sums, where lane 4 g + t has of the first factor
 * rows g and g + 8 in columns t, then t + 4; of the second one rows t and t + 4 in column g; of
 * the sums columns 2 t and 2 t + 1 in row g, then g + 8. Factors are rounded to TF32.
 */
__device__ inline void tfr_multiply_tf32(const float a[4], const float b[2], float sums[4])
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(tfr_float_bits(a[0])), "r"(tfr_float_bits(a[1])), "r"(tfr_float_bits(a[2])),
          "r"(tfr_float_bits(a[3])), "r"(tfr_float_bits(b[0])), "r"(tfr_float_bits(b[1])));
#else
    const int lane = (int)threadIdx.x % 32, g = lane / 4, t = lane % 4;
    for (int k = 0; k < 8; k++) {
        const float above = __shfl_sync(TFR_ALL_LANES, a[k / 4 * 2], 4 * g + k % 4);
        const float below = __shfl_sync(TFR_ALL_LANES, a[k / 4 * 2 + 1], 4 * g + k % 4);
        const float left = __shfl_sync(TFR_ALL_LANES, b[k / 4], 8 * t + k % 4);
        const float right = __shfl_sync(TFR_ALL_LANES, b[k / 4], 8 * t + 4 + k % 4);
        sums[0] += above * left;
        sums[1] += above * right;
        sums[2] += below * left;
        sums[3] += below * right;
    }
#endif
}

/* ---- several elements at once ---- */

template <class P> __device__ inline bool tfr_is_aligned(const P &p, unsigned bytes)
{
#ifdef __CUDACC__
    return reinterpret_cast<uintptr_t>(p) % bytes == 0;
#else
    return reinterpret_cast<uintptr_t>(p.at) % bytes == 0;
#endif
}

/* Elements i and behind, as many as V's array v has, to whose size &p[i] is aligned. */
template <class V, class P> __device__ inline V tfr_get_all(const P &p, int i)
{
#ifdef __CUDACC__
    return *reinterpret_cast<const V *>(&p[i]);
#else
    V out;
    if (reinterpret_cast<uintptr_t>(&p[i]) % sizeof out != 0)
        tfr_cpu_fail(TFR_CPU_MISALIGNED, "%zu bytes are read at element %d, unaligned", sizeof out,
                     i);
    for (int k = 0; k < (int)(sizeof out.v / sizeof out.v[0]); k++)
        out.v[k] = p[i + k];
    return out;
#endif
}
template <class V, class P> __device__ inline void tfr_put_all(const P &p, int i, const V &v)
{
#ifdef __CUDACC__
    *reinterpret_cast<V *>(&p[i]) = v;
#else
    if (reinterpret_cast<uintptr_t>(&p[i]) % sizeof v != 0)
        tfr_cpu_fail(TFR_CPU_MISALIGNED, "%zu bytes are written at element %d, unaligned",
                     sizeof v, i);
    for (int k = 0; k < (int)(sizeof v.v / sizeof v.v[0]); k++)
        p[i + k] = v.v[k];
#endif
}

struct alignas(16) tfr_f4 {
    float v[4];
};
struct alignas(16) tfr_i4 {
    int32_t v[4];
};

/* Elements i to i + 3, where i is a multiple of 4 and p is aligned to 16 bytes. */
template <class V = tfr_f4, class P> __device__ inline V tfr_get4(const P &p, int i)
{
#ifdef __CUDACC__
    return *reinterpret_cast<const V *>(&p[i]);
#else
    V out;
    if (reinterpret_cast<uintptr_t>(&p[i]) % 16 != 0)
        tfr_cpu_fail(TFR_CPU_MISALIGNED, "16 bytes are read at element %d, unaligned", i);
    for (int k = 0; k < 4; k++)
        out.v[k] = p[i + k];
    return out;
#endif
}

/* ---- copies to shared memory that go on while the thread does ---- */

/* to[i] = from[j], of 4 bytes, by the time that the thread has waited. */
template <class P, class Q>
__device__ inline void tfr_copy_async(const P &to, int i, const Q &from, int j)
{
    static_assert(sizeof to[i] == 4, "copies of 4 bytes");
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                 :
                 : "r"((uint32_t)__cvta_generic_to_shared(&to[i])),
                   "l"(__cvta_generic_to_global(&from[j]))
                 : "memory");
#elif defined(__CUDACC__)
    to[i] = from[j];
#else
    tfr_cpu_copy_later(&to[i], &from[j], sizeof to[i]);
#endif
}

/* Until all copies of this thread are done. Others see them behind a barrier. */
__device__ inline void tfr_wait_copies(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" : : : "memory");
#elif !defined(__CUDACC__)
    tfr_cpu_copy_now();
#endif
}

#endif
