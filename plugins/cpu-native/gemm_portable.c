/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_portable.c: strict products in vectors of four, which every compiler turns into what the
 * architecture has: SSE2 on any x86-64, NEON on arm64, plain arithmetic elsewhere.
 *
 * A tile of 4 x 8 has 8 sums and 2 vectors of B: 16 registers are enough. A panel of A, 4 x 512
 * floats, is 8 KiB.
 */
#include "gemm_isa.h"

#if defined(__GNUC__)
#define LANES 4
#define NV    2
#define MR    4
typedef float vf __attribute__((vector_size(16)));

static inline __attribute__((always_inline)) vf vf_load(const float *p)
{
    vf x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}

static inline __attribute__((always_inline)) void vf_store(float *p, vf x)
{
    __builtin_memcpy(p, &x, sizeof x);
}

static inline __attribute__((always_inline)) vf vf_splat(float x)
{
    return (vf){x, x, x, x};
}

static inline __attribute__((always_inline)) vf vf_fma(vf a, vf b, vf c)
{
    return a * b + c;
}

#define ISA portable
#include "gemm_strict.h"
#else
#error "this compiler has no vector types"
#endif
