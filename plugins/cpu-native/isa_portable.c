/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_portable.c: isa_kernels.h for every processor: 4 lanes, and as many registers as SSE2 has.
 */
#include "isa.h"

#include "vec_portable.h"

#define SIZES_1(X) X(1, 1) X(1, 2) X(1, 3) X(1, 4) X(1, 5) X(1, 6) X(1, 7) X(1, 8) X(1, 9) X(1, 10)
#define SIZES_2(X) X(2, 1) X(2, 2) X(2, 3) X(2, 4) X(2, 5) X(2, 6)
#define SIZES_3(X) X(3, 1) X(3, 2) X(3, 3) X(3, 4)
#define MAX_PIXELS                                                                                 \
    {                                                                                              \
        0, 10, 6, 4, 0                                                                             \
    }
#define ISA_TABLE native_portable
#define ISA_NAME  "portable"

#include "isa_kernels.h"
