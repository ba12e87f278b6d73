/* SPDX-License-Identifier: Apache-2.0 */
/* isa_avx512.c: isa_kernels.h for AVX-512: 32 registers of 16 lanes. */
#include "isa.h"

#if defined(__x86_64__)
#include "vec_avx512.h"

/* pixels for each number of blocks: all accumulators, the weights and one more fit the registers */
#define SIZES_1(X)                                                                                 \
    X(1, 1)                                                                                        \
    X(1, 2) X(1, 3) X(1, 4) X(1, 5) X(1, 6) X(1, 7) X(1, 8) X(1, 9) X(1, 10) X(1, 11) X(1, 12)     \
        X(1, 13) X(1, 14)
#define SIZES_2(X)                                                                                 \
    X(2, 1)                                                                                        \
    X(2, 2) X(2, 3) X(2, 4) X(2, 5) X(2, 6) X(2, 7) X(2, 8) X(2, 9) X(2, 10) X(2, 11) X(2, 12)     \
        X(2, 13) X(2, 14)
#define SIZES_3(X) X(3, 1) X(3, 2) X(3, 3) X(3, 4) X(3, 5) X(3, 6) X(3, 7) X(3, 8)
#define SIZES_4(X) X(4, 1) X(4, 2) X(4, 3) X(4, 4) X(4, 5) X(4, 6)
#define MAX_PIXELS                                                                                 \
    {                                                                                              \
        0, 14, 14, 8, 6                                                                            \
    }
#define ISA_TABLE native_avx512
#define ISA_NAME  "avx512"

#include "isa_kernels.h"

#include "vec_end.h"
#else
typedef int native_no_avx512; /* C wants one declaration in a file */
#endif
