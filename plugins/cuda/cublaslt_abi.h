/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tfrun calls of cuBLASLt (libcublasLt.so.12 and .13), declared as in cuda_abi.h: facts of the
 * binary interface, compared with the vendor's header where that is (tests/cuda/test_abi.c). The
 * function NAME has the type tfr_NAME_fn; cublaslt.def lists them.
 *
 * Matrices are column-major unless their layout says otherwise.
 */
#ifndef TFR_CUBLASLT_ABI_H
#define TFR_CUBLASLT_ABI_H

#include <stddef.h>
#include <stdint.h>

#include "cuda_abi.h"

typedef struct tfr_lt_handle tfr_lt_handle;

typedef unsigned tfr_lt_status;
enum {
    TFR_LT_SUCCESS = 0,
    TFR_LT_NOT_INITIALIZED = 1,
    TFR_LT_ALLOC_FAILED = 3,
    TFR_LT_INVALID_VALUE = 7,
    TFR_LT_ARCH_MISMATCH = 8,
    TFR_LT_MAPPING_ERROR = 11,
    TFR_LT_EXECUTION_FAILED = 13,
    TFR_LT_INTERNAL_ERROR = 14,
    TFR_LT_NOT_SUPPORTED = 15,
};

/* Types of elements. */
enum {
    TFR_LT_F32 = 0,
    TFR_LT_F64 = 1,
    TFR_LT_F16 = 2,
    TFR_LT_I8 = 3,
    TFR_LT_I32 = 10,
    TFR_LT_BF16 = 14,
};

/* Types of computing. */
enum {
    TFR_LT_COMPUTE_F16 = 64,
    TFR_LT_COMPUTE_F32 = 68, /* strict for f32, and what f16 and bf16 take */
    TFR_LT_COMPUTE_F64 = 70,
    TFR_LT_COMPUTE_I32 = 72,
    TFR_LT_COMPUTE_FAST_F16 = 74,
    TFR_LT_COMPUTE_FAST_BF16 = 75,
    TFR_LT_COMPUTE_FAST_TF32 = 77,
    TFR_LT_COMPUTE_EMULATED_BF16X9 = 78, /* newer chips */
};

enum {
    TFR_LT_OP_N = 0,
    TFR_LT_OP_T = 1,
    TFR_LT_ORDER_COLUMN = 0,
    TFR_LT_ORDER_ROW = 1,
};

/* Attributes of a product: int32, int32, int32, pointer, ... as the comments say. */
enum {
    TFR_LT_DESC_TRANS_A = 3,      /* int32: TFR_LT_OP_... */
    TFR_LT_DESC_TRANS_B = 4,      /* int32 */
    TFR_LT_DESC_EPILOGUE = 7,     /* uint32 */
    TFR_LT_DESC_BIAS_POINTER = 8, /* pointer, of the device */
    TFR_LT_DESC_BIAS_STRIDE = 10, /* int64, elements from batch to batch */
    TFR_LT_DESC_AUX_POINTER = 11, /* pointer, of the device */
    TFR_LT_DESC_AUX_LD = 12,      /* int64: bits for RELU_AUX and DRELU, else elements */
    TFR_LT_DESC_AUX_STRIDE = 13,  /* int64 */
    TFR_LT_DESC_SM_COUNT = 15,    /* int32 */
    TFR_LT_DESC_BIAS_TYPE = 26,   /* int32; -1: that of D, or f32 for integers */
};

/* Bias has an element for each row of D. */
enum {
    TFR_LT_EPILOGUE_DEFAULT = 1,
    TFR_LT_EPILOGUE_RELU = 2,
    TFR_LT_EPILOGUE_BIAS = 4,
    TFR_LT_EPILOGUE_RELU_BIAS = 6,
    TFR_LT_EPILOGUE_GELU = 32, /* by tanh */
    TFR_LT_EPILOGUE_GELU_BIAS = 36,
    TFR_LT_EPILOGUE_RELU_AUX = 130, /* and a bit for each element that is above 0 */
    TFR_LT_EPILOGUE_RELU_AUX_BIAS = 134,
    TFR_LT_EPILOGUE_GELU_AUX = 160, /* and what goes into gelu */
    TFR_LT_EPILOGUE_GELU_AUX_BIAS = 164,
    TFR_LT_EPILOGUE_DRELU = 136,
    TFR_LT_EPILOGUE_DRELU_BGRAD = 152,
    TFR_LT_EPILOGUE_DGELU = 192,
    TFR_LT_EPILOGUE_DGELU_BGRAD = 208,
    TFR_LT_EPILOGUE_BGRAD_A = 256, /* bias: sums of the rows of op(A) */
    TFR_LT_EPILOGUE_BGRAD_B = 512, /* bias: sums of the columns of op(B) */
};

/* Attributes of a matrix. */
enum {
    TFR_LT_LAYOUT_ORDER = 1,        /* int32 */
    TFR_LT_LAYOUT_BATCH_COUNT = 5,  /* int32 */
    TFR_LT_LAYOUT_BATCH_STRIDE = 6, /* int64, elements */
};

/* How parts of a sum are added. */
enum {
    TFR_LT_REDUCTION_INPLACE = 1,
    TFR_LT_REDUCTION_COMPUTE_TYPE = 2,
    TFR_LT_REDUCTION_OUTPUT_TYPE = 4,
};

/* Attributes of a preference. */
enum {
    TFR_LT_PREF_WORKSPACE_BYTES = 1, /* uint64 */
    TFR_LT_PREF_REDUCTION_MASK = 3,  /* uint32 */
    TFR_LT_PREF_ALIGNMENT_A = 5,     /* uint32, bytes; 256 unless told */
    TFR_LT_PREF_ALIGNMENT_B = 6,
    TFR_LT_PREF_ALIGNMENT_C = 7,
    TFR_LT_PREF_ALIGNMENT_D = 8,
};

#ifndef TFR_CUDA_ABI_NO_STRUCTS

typedef struct tfr_lt_desc tfr_lt_desc;
typedef struct tfr_lt_layout tfr_lt_layout;
typedef struct tfr_lt_pref tfr_lt_pref;

/* Valid for the version of the library and the chip that it was made for. */
typedef struct tfr_lt_algo {
    uint64_t data[8];
} tfr_lt_algo;

typedef struct tfr_lt_heuristic {
    tfr_lt_algo algo;
    size_t workspace_bytes;
    tfr_lt_status state;
    float waves;
    int reserved[4];
} tfr_lt_heuristic;

#endif

typedef tfr_lt_status tfr_cublasLtCreate_fn(tfr_lt_handle **handle);
typedef tfr_lt_status tfr_cublasLtDestroy_fn(tfr_lt_handle *handle);
typedef size_t tfr_cublasLtGetVersion_fn(void);
typedef const char *tfr_cublasLtGetStatusString_fn(tfr_lt_status status);
typedef tfr_lt_status tfr_cublasLtMatmulDescCreate_fn(tfr_lt_desc **desc, unsigned compute,
                                                      unsigned scale_type);
typedef tfr_lt_status tfr_cublasLtMatmulDescDestroy_fn(tfr_lt_desc *desc);
typedef tfr_lt_status tfr_cublasLtMatmulDescSetAttribute_fn(tfr_lt_desc *desc, unsigned attr,
                                                            const void *value, size_t bytes);
typedef tfr_lt_status tfr_cublasLtMatrixLayoutCreate_fn(tfr_lt_layout **layout, unsigned type,
                                                        uint64_t rows, uint64_t cols, int64_t ld);
typedef tfr_lt_status tfr_cublasLtMatrixLayoutDestroy_fn(tfr_lt_layout *layout);
typedef tfr_lt_status tfr_cublasLtMatrixLayoutSetAttribute_fn(tfr_lt_layout *layout, unsigned attr,
                                                              const void *value, size_t bytes);
typedef tfr_lt_status tfr_cublasLtMatmulPreferenceCreate_fn(tfr_lt_pref **pref);
typedef tfr_lt_status tfr_cublasLtMatmulPreferenceDestroy_fn(tfr_lt_pref *pref);
typedef tfr_lt_status tfr_cublasLtMatmulPreferenceSetAttribute_fn(tfr_lt_pref *pref, unsigned attr,
                                                                  const void *value, size_t bytes);
typedef tfr_lt_status tfr_cublasLtMatmulAlgoGetHeuristic_fn(
    tfr_lt_handle *handle, tfr_lt_desc *desc, tfr_lt_layout *a, tfr_lt_layout *b, tfr_lt_layout *c,
    tfr_lt_layout *d, tfr_lt_pref *pref, int n_wanted, tfr_lt_heuristic *results, int *n_results);
typedef tfr_lt_status tfr_cublasLtMatmulAlgoCheck_fn(tfr_lt_handle *handle, tfr_lt_desc *desc,
                                                     tfr_lt_layout *a, tfr_lt_layout *b,
                                                     tfr_lt_layout *c, tfr_lt_layout *d,
                                                     const tfr_lt_algo *algo,
                                                     tfr_lt_heuristic *result);
/* D = epilogue(alpha op(A) op(B) + beta C); alpha and beta are the host's and copied. */
typedef tfr_lt_status
tfr_cublasLtMatmul_fn(tfr_lt_handle *handle, tfr_lt_desc *desc, const void *alpha, const void *a,
                      tfr_lt_layout *a_layout, const void *b, tfr_lt_layout *b_layout,
                      const void *beta, const void *c, tfr_lt_layout *c_layout, void *d,
                      tfr_lt_layout *d_layout, const tfr_lt_algo *algo, void *workspace,
                      size_t workspace_bytes, tfr_cu_stream *stream);

#endif
