/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_avx2.c: strict products with AVX2 and FMA.
 *
 * A tile of 6 x 16 takes 12 of the 16 registers for sums, two for B, one for an element of A: 12
 * multiplications of 6 cycles against 8 loads of 4. A panel of A, 6 x 512 floats, is 12 KiB, a
 * third of a first cache of 32 KiB. Tiles are short, so that what each takes beside its products
 * counts: blocks of K are as long as that, and the 16 k between fetches are unrolled.
 *
 * For each k these are 20 instructions; with fetches and additions of addresses they were 23. On a
 * virtual machine whose host is busy a tile runs at one of two speeds, about 90 or 65 GFLOP/s, and
 * at the lower one the number of instructions counts: single products of 128 to 1500 rows, K and N
 * of 384 to 3072, mostly take 0.88 to 0.98 of the time there, and 0.98 to 1.00 at the higher speed.
 * Rows of B that is not packed are too far apart for the processor's own fetching: their tiles stay
 * as they were.
 */
#include "gemm_isa.h"

#if NATIVE_X86

#include "vec_avx2.h"

#define NV       2
#define MR       6
#define KC       768
#define UNROLL_K UNROLL_ALL
#define LEAN     true

#define ISA avx2
#include "gemm_strict.h"

#include "vec_end.h"

#endif
