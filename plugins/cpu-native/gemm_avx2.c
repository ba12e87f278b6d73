/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_avx2.c: strict products with AVX2 and FMA.
 *
 * A tile of 6 x 16 takes 12 of the 16 registers for sums, two for B, one for an element of A: 12
 * multiplications of 6 cycles against 8 loads of 4. A panel of A, 6 x 512 floats, is 12 KiB, a
 * third of a first cache of 32 KiB. Tiles are short, so that what each takes beside its products
 * counts: blocks of K are as long as that, and the 16 k between fetches are unrolled.
 */
#include "gemm_isa.h"

#if NATIVE_X86

#include "vec_avx2.h"

#define NV       2
#define MR       6
#define KC       768
#define UNROLL_K UNROLL_ALL

#define ISA avx2
#include "gemm_strict.h"

#include "vec_end.h"

#endif
