/* SPDX-License-Identifier: Apache-2.0 */
/* direct_avx512.c: the inner loops of direct.h for AVX-512. */
#define LANES     16
#define REGISTERS 32
#define ISA_NAME  "avx512"
#define ISA_NEEDS "avx512f fma"
#define ISA_TABLE tfr_dnn_isa_avx512

#include "direct_tiles.h"
