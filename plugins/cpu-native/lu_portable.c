/* SPDX-License-Identifier: Apache-2.0 */
/* lu_portable.c: the inner loops of lu.h in vectors of two, for every architecture: 6 x 4. */
#include "lu.h"

#include "vec_portable.h"

#define DLANES 2
typedef double dvec __attribute__((vector_size(16)));

static inline dvec d_load(const double *p)
{
    dvec x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}

static inline void d_store(double *p, dvec x)
{
    __builtin_memcpy(p, &x, sizeof x);
}

#define D_LOAD(p)       d_load(p)
#define D_STORE(p, v)   d_store(p, v)
#define D_ALL(x)        ((dvec){x, x})
#define D_MUL(x, y)     ((x) * (y))
#define D_FNMA(x, y, z) ((z) - (x) * (y))
#define LU_ISA          native_lu_portable

#include "lu_kernels.h"
