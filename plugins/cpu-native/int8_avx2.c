/* SPDX-License-Identifier: Apache-2.0 */
/* int8_avx2.c: int8_loops.h for AVX2. */
#include "int8.h"

#if defined(__x86_64__)
#include "vec_avx2.h"

#define ISA_TABLE native_int8_avx2
#define ISA_NAME  "avx2"
#define LOOPS_AVX2

#include "int8_loops.h"

#include "vec_end.h"
#else
typedef int native_no_int8_avx2; /* C wants one declaration in a file */
#endif
