/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_portable.c: strict products in vectors of four, for every architecture.
 *
 * A tile of 4 x 8 has 8 sums and 2 vectors of B: 16 registers are enough. A panel of A, 4 x 512
 * floats, is 8 KiB.
 */
#include "gemm_isa.h"

#include "vec_portable.h"

#define NV 2
#define MR 4

#define ISA portable
#include "gemm_strict.h"
