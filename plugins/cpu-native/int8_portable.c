/* SPDX-License-Identifier: Apache-2.0 */
/* int8_portable.c: int8_loops.h for every processor. */
#include "int8.h"

#include "vec_portable.h"

#define ISA_TABLE native_int8_portable
#define ISA_NAME  "portable"

#include "int8_loops.h"
