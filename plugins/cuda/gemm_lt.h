/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_lt.h: between gemm_lt.c, which describes and runs products of cuBLASLt, and gemm_algo.c,
 * which chooses their algorithms. */
#ifndef CUDA_GEMM_LT_H
#define CUDA_GEMM_LT_H

#include "cublaslt_abi.h"
#include "engine.h"

/* All is NULL before the library is open. */
typedef struct cuda_lt_table {
#define X(name, required, since, who) tfr_##name##_fn *name;
#include "cublaslt.def"
#undef X
} cuda_lt_table;
extern cuda_lt_table cuda_lt;

/* The status as ours, with the library's text. */
int32_t cuda_lt_check(tfr_lt_status status, const char *what, tfr_err *err);

enum { CUDA_GEMM_ALIGNMENT = 16 }; /* of addresses: all that an algorithm asks for */

typedef struct cuda_gemm_algo {
    tfr_lt_algo algo;
    uint64_t workspace_bytes;
} cuda_gemm_algo;

typedef struct cuda_gemm {
    cuda_engine engine;
    cuda_product product;
    tfr_lt_desc *desc;
    tfr_lt_layout *a, *b, *y; /* by columns: a is ours b */
    cuda_gemm_algo aligned, any;
    bool has_aligned;
    pthread_mutex_t lock; /* of desc, which holds the bias's address */
} cuda_gemm;

typedef struct cuda_gemm_memory {
    const void *a, *b, *bias, *addend;
    void *y, *workspace;
} cuda_gemm_memory;

/* Puts the product on the stream. */
int32_t cuda_gemm_multiply(tfr_plugin_device *device, cuda_gemm *gemm, const cuda_gemm_algo *algo,
                           const cuda_gemm_memory *memory, tfr_cu_stream *stream, tfr_err *err);

/* ---- gemm_algo.c ---- */

/* Fills in `any`, and `aligned` where the call may depend on addresses. TFR_EUNSUPPORTED: the
 * library has no algorithm. The context is current, and the product is described. */
int32_t cuda_gemm_choose(tfr_plugin_device *device, const tfr_call *call, cuda_gemm *gemm,
                         tfr_err *err);

#endif
