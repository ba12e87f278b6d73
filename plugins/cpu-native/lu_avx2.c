/* SPDX-License-Identifier: Apache-2.0 */
/* lu_avx2.c: the inner loops of lu.h with AVX2 and FMA: tiles of 6 x 8. */
#include "lu.h"

#if defined(__x86_64__)
#include "vec_avx2.h"

#define DLANES 4
typedef __m256d dvec;
#define D_LOAD(p)       _mm256_loadu_pd(p)
#define D_STORE(p, v)   _mm256_storeu_pd(p, v)
#define D_ALL(x)        _mm256_set1_pd(x)
#define D_MUL(x, y)     _mm256_mul_pd(x, y)
#define D_FNMA(x, y, z) _mm256_fnmadd_pd(x, y, z)
#define LU_ISA          native_lu_avx2

#include "lu_kernels.h"

#include "vec_end.h"
#else
typedef int native_no_lu_avx2; /* C wants one declaration in a file */
#endif
