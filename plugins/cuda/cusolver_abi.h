/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tfrun calls of cuSOLVER (libcusolver.so.11 and .12), declared as in cuda_abi.h: facts of the
 * binary interface, compared with the vendor's header where that is
 * (tests/cuda/test_abi_libraries). The function NAME has the type tfr_NAME_fn; cusolver.def lists
 * them.
 *
 * Matrices are column-major. `info` is an int of the device: 0, or 1 + the number of the pivot that
 * is 0, or the negative number of an argument that is wrong.
 */
#ifndef TFR_CUSOLVER_ABI_H
#define TFR_CUSOLVER_ABI_H

#include "cuda_abi.h"

typedef struct tfr_solver_handle tfr_solver_handle;

typedef unsigned tfr_solver_status;
enum {
    TFR_SOLVER_SUCCESS = 0,
    TFR_SOLVER_NOT_INITIALIZED = 1,
    TFR_SOLVER_ALLOC_FAILED = 2,
    TFR_SOLVER_INVALID_VALUE = 3,
    TFR_SOLVER_ARCH_MISMATCH = 4,
    TFR_SOLVER_MAPPING_ERROR = 5,
    TFR_SOLVER_EXECUTION_FAILED = 6,
    TFR_SOLVER_INTERNAL_ERROR = 7,
    TFR_SOLVER_MATRIX_TYPE_NOT_SUPPORTED = 8,
    TFR_SOLVER_NOT_SUPPORTED = 9,
    TFR_SOLVER_ZERO_PIVOT = 10,
    TFR_SOLVER_INVALID_LICENSE = 11,
};

enum { TFR_SOLVER_OP_N = 0, TFR_SOLVER_OP_T = 1 };

typedef tfr_solver_status tfr_cusolverGetVersion_fn(int *version);
typedef tfr_solver_status tfr_cusolverDnCreate_fn(tfr_solver_handle **handle);
typedef tfr_solver_status tfr_cusolverDnDestroy_fn(tfr_solver_handle *handle);
typedef tfr_solver_status tfr_cusolverDnSetStream_fn(tfr_solver_handle *handle,
                                                     tfr_cu_stream *stream);
/* lwork: doubles of the workspace. */
typedef tfr_solver_status tfr_cusolverDnDgetrf_bufferSize_fn(tfr_solver_handle *handle, int m,
                                                             int n, double *a, int lda, int *lwork);
/* A = P L U in place, with n pivots. */
typedef tfr_solver_status tfr_cusolverDnDgetrf_fn(tfr_solver_handle *handle, int m, int n,
                                                  double *a, int lda, double *workspace,
                                                  int *pivots, int *info);
/* B becomes X of op(A) X = B. */
typedef tfr_solver_status tfr_cusolverDnDgetrs_fn(tfr_solver_handle *handle, unsigned op, int n,
                                                  int k, const double *a, int lda,
                                                  const int *pivots, double *b, int ldb, int *info);

#endif
