/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_avx2.c: strict products with AVX2 and FMA.
 *
 * A tile of 6 x 16 takes 12 of the 16 registers for sums, two for B, one for an element of A: 12
 * multiplications of 6 cycles against 8 loads of 4. A panel of A, 6 x 512 floats, is 12 KiB.
 */
#include "gemm_isa.h"

#if NATIVE_X86

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif

#include <immintrin.h>

#define LANES 8
#define NV    2
#define MR    6
typedef float vf __attribute__((vector_size(32)));

static inline __attribute__((always_inline)) vf vf_load(const float *p)
{
    return _mm256_loadu_ps(p);
}

static inline __attribute__((always_inline)) void vf_store(float *p, vf x)
{
    _mm256_storeu_ps(p, x);
}

static inline __attribute__((always_inline)) vf vf_splat(float x)
{
    return _mm256_set1_ps(x);
}

static inline __attribute__((always_inline)) vf vf_fma(vf a, vf b, vf c)
{
    return _mm256_fmadd_ps(a, b, c);
}

#define ISA avx2
#include "gemm_strict.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
