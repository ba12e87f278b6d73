/* SPDX-License-Identifier: Apache-2.0 */
/* lu_avx512.c: the inner loops of lu.h with AVX-512: tiles of 6 x 16. */
#include "lu.h"

#if defined(__x86_64__)
#include "vec_avx512.h"

#define DLANES 8
typedef __m512d dvec;
#define D_LOAD(p)       _mm512_loadu_pd(p)
#define D_STORE(p, v)   _mm512_storeu_pd(p, v)
#define D_ALL(x)        _mm512_set1_pd(x)
#define D_MUL(x, y)     _mm512_mul_pd(x, y)
#define D_FNMA(x, y, z) _mm512_fnmadd_pd(x, y, z)
#define LU_ISA          native_lu_avx512

#include "lu_kernels.h"

#include "vec_end.h"
#else
typedef int native_no_lu_avx512; /* C wants one declaration in a file */
#endif
