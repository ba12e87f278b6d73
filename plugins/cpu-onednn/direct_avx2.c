/* SPDX-License-Identifier: Apache-2.0 */
/* direct_avx2.c: the inner loops of direct.h for AVX2. */
#define LANES     8
#define REGISTERS 16
#define ISA_NAME  "avx2"
#define ISA_NEEDS "avx2 fma"
#define ISA_TABLE tfr_dnn_isa_avx2

#include "direct_tiles.h"
