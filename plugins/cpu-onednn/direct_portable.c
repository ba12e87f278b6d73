/* SPDX-License-Identifier: Apache-2.0 */
/* direct_portable.c: the inner loops of direct.h for any processor: vectors of four floats are what
 * x86-64 and arm64 have at least. */
#define LANES     4
#define REGISTERS 16
#define ISA_NAME  "portable"
#define ISA_NEEDS ""
#define ISA_TABLE tfr_dnn_isa_portable

#include "direct_tiles.h"
