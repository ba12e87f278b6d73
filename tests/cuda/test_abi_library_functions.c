/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The types of the functions of cuBLASLt, cuDNN and cuSOLVER, ours against the vendor's: the
 * vendor's structures take the names of ours, and the compiler refuses the file if one function
 * differs. Part of test_abi_libraries.
 */
#include <stddef.h>

size_t test_abi_cublaslt_compared(void);
size_t test_abi_cudnn_compared(void);
size_t test_abi_cusolver_compared(void);

#if defined __has_include
#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#define HAS_CUBLASLT
#endif
#if __has_include(<cudnn.h>) && __has_include(<cuda_runtime.h>)
#include <cudnn.h>
#define HAS_CUDNN
#endif
#if __has_include(<cusolverDn.h>) && __has_include(<cuda_runtime.h>)
#include <cusolverDn.h>
#define HAS_CUSOLVER
#endif
#endif

#define TFR_CUDA_ABI_NO_STRUCTS
typedef struct uuid_unused tfr_cu_uuid;
typedef struct copy_unused tfr_cu_copy_2d;
typedef struct props_unused tfr_cu_pool_props;
typedef struct access_unused tfr_cu_access;
typedef struct config_unused tfr_cu_launch_config;
typedef struct edge_unused tfr_cu_edge;
typedef struct info_unused tfr_cu_update_info;
#define tfr_cu_stream CUstream_st
#include "cuda_abi.h"

#define X(name, required, since, who)                                                              \
    _Static_assert(__builtin_types_compatible_p(__typeof__(name), tfr_##name##_fn), #name);

#ifdef HAS_CUBLASLT
#define tfr_lt_handle    cublasLtContext
#define tfr_lt_desc      cublasLtMatmulDescOpaque_t
#define tfr_lt_layout    cublasLtMatrixLayoutOpaque_t
#define tfr_lt_pref      cublasLtMatmulPreferenceOpaque_t
#define tfr_lt_algo      cublasLtMatmulAlgo_t
#define tfr_lt_heuristic cublasLtMatmulHeuristicResult_t
#include "cublaslt_abi.h"
#include "cublaslt.def"
#endif

#ifdef HAS_CUDNN
#define tfr_dnn_handle cudnnContext
#include "cudnn_abi.h"
#include "cudnn.def"
#endif

#ifdef HAS_CUSOLVER
#define tfr_solver_handle cusolverDnContext
#include "cusolver_abi.h"
#include "cusolver.def"
#endif
#undef X

#define X(name, required, since, who) n++;

size_t test_abi_cublaslt_compared(void)
{
    size_t n = 0;
#ifdef HAS_CUBLASLT
#include "cublaslt.def"
#endif
    return n;
}

size_t test_abi_cudnn_compared(void)
{
    size_t n = 0;
#ifdef HAS_CUDNN
#include "cudnn.def"
#endif
    return n;
}

size_t test_abi_cusolver_compared(void)
{
    size_t n = 0;
#ifdef HAS_CUSOLVER
#include "cusolver.def"
#endif
    return n;
}
