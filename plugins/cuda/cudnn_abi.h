/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tfrun calls of cuDNN 9 (libcudnn.so.9), declared as in cuda_abi.h: facts of the binary
 * interface, compared with the vendor's header where that is (tests/cuda/test_abi.c). The function
 * NAME has the type tfr_NAME_fn; cudnn.def lists them.
 *
 * All is done with descriptors, which have attributes: an array of elements of one type each, set
 * before the descriptor is finalized. TFR_DNN_PLAN_... are attributes of TFR_DNN_PLAN, and so on.
 */
#ifndef TFR_CUDNN_ABI_H
#define TFR_CUDNN_ABI_H

#include <stddef.h>
#include <stdint.h>

#include "cuda_abi.h"

typedef struct tfr_dnn_handle tfr_dnn_handle;
typedef void tfr_dnn_desc; /* behind a pointer */

/* Thousands are classes: bad parameter, not supported, internal, execution. */
typedef unsigned tfr_dnn_status;
enum {
    TFR_DNN_SUCCESS = 0,
    TFR_DNN_NOT_INITIALIZED = 1001,
    TFR_DNN_VERSION_MISMATCH = 1002,
    TFR_DNN_LOADING_FAILED = 1008,
    TFR_DNN_BAD_PARAM = 2000,
    TFR_DNN_BAD_PARAM_NULL = 2002,
    TFR_DNN_BAD_PARAM_NOT_FINALIZED = 2004,
    TFR_DNN_BAD_PARAM_SHAPE = 2008,
    TFR_DNN_BAD_PARAM_ATTRIBUTE_TYPE = 2010,
    TFR_DNN_NOT_SUPPORTED = 3000,
    TFR_DNN_NOT_SUPPORTED_PATTERN = 3001,
    TFR_DNN_NOT_SUPPORTED_ARCH = 3007,
    TFR_DNN_INTERNAL_ERROR = 4000,
    TFR_DNN_HOST_ALLOCATION_FAILED = 4003,
    TFR_DNN_DEVICE_ALLOCATION_FAILED = 4004,
    TFR_DNN_EXECUTION_FAILED = 5000,
    TFR_DNN_EXECUTION_FAILED_DRIVER = 5001,
};

/* Types of elements of tensors. */
enum {
    TFR_DNN_F32 = 0,
    TFR_DNN_F64 = 1,
    TFR_DNN_F16 = 2,
    TFR_DNN_BF16 = 9,
};

/* Types of elements of attributes. */
enum {
    TFR_DNN_TYPE_HANDLE = 0,
    TFR_DNN_TYPE_DATA_TYPE = 1,
    TFR_DNN_TYPE_BOOLEAN = 2,
    TFR_DNN_TYPE_INT64 = 3,
    TFR_DNN_TYPE_FLOAT = 4,
    TFR_DNN_TYPE_DOUBLE = 5,
    TFR_DNN_TYPE_POINTER = 6,
    TFR_DNN_TYPE_CONV_MODE = 7,
    TFR_DNN_TYPE_HEUR_MODE = 8,
    TFR_DNN_TYPE_NUMERICAL_NOTE = 11,
    TFR_DNN_TYPE_POINTWISE_MODE = 14,
    TFR_DNN_TYPE_DESCRIPTOR = 15,
    TFR_DNN_TYPE_BEHAVIOR_NOTE = 19,
    TFR_DNN_TYPE_CHAR = 24,
};

/* Descriptors. */
enum {
    TFR_DNN_POINTWISE = 0,
    TFR_DNN_CONV = 1,
    TFR_DNN_ENGINE = 2,
    TFR_DNN_ENGINE_CFG = 3,
    TFR_DNN_ENGINE_HEUR = 4,
    TFR_DNN_PLAN = 5,
    TFR_DNN_OP_CONV_FORWARD = 10,
    TFR_DNN_OP_CONV_BACKWARD_FILTER = 11,
    TFR_DNN_OP_CONV_BACKWARD_DATA = 12,
    TFR_DNN_OP_POINTWISE = 13,
    TFR_DNN_GRAPH = 15,
    TFR_DNN_PACK = 16, /* a variant pack: what a plan runs on */
    TFR_DNN_TENSOR = 17,
    TFR_DNN_DEVICE_PROP = 38, /* since 9.8: a device that need not be there */
};

/* Attributes. */
enum {
    TFR_DNN_POINTWISE_MODE = 0,
    TFR_DNN_POINTWISE_PRECISION = 1,
    TFR_DNN_POINTWISE_RELU_LOWER_CLIP = 3,
    TFR_DNN_POINTWISE_RELU_UPPER_CLIP = 4,
    TFR_DNN_CONV_COMPUTE_TYPE = 100,
    TFR_DNN_CONV_MODE = 101,
    TFR_DNN_CONV_DILATIONS = 102,
    TFR_DNN_CONV_STRIDES = 103,
    TFR_DNN_CONV_POST_PADDINGS = 104,
    TFR_DNN_CONV_PRE_PADDINGS = 105,
    TFR_DNN_CONV_SPATIAL_DIMS = 106,
    TFR_DNN_ENGINE_HEUR_MODE = 200,
    TFR_DNN_ENGINE_HEUR_GRAPH = 201,
    TFR_DNN_ENGINE_HEUR_RESULTS = 202,
    TFR_DNN_ENGINE_HEUR_DEVICE_PROP = 204,
    TFR_DNN_ENGINE_CFG_ENGINE = 300,
    TFR_DNN_ENGINE_CFG_WORKSPACE = 303,
    TFR_DNN_PLAN_HANDLE = 400,
    TFR_DNN_PLAN_ENGINE_CFG = 401,
    TFR_DNN_PLAN_WORKSPACE = 402,
    TFR_DNN_PLAN_JSON = 405,
    TFR_DNN_PLAN_DEVICE_PROP = 407,
    TFR_DNN_FORWARD_ALPHA = 700,
    TFR_DNN_FORWARD_BETA = 701,
    TFR_DNN_FORWARD_CONV = 702,
    TFR_DNN_FORWARD_W = 703,
    TFR_DNN_FORWARD_X = 704,
    TFR_DNN_FORWARD_Y = 705,
    TFR_DNN_BACKWARD_DATA_ALPHA = 706,
    TFR_DNN_BACKWARD_DATA_BETA = 707,
    TFR_DNN_BACKWARD_DATA_CONV = 708,
    TFR_DNN_BACKWARD_DATA_W = 709,
    TFR_DNN_BACKWARD_DATA_DX = 710,
    TFR_DNN_BACKWARD_DATA_DY = 711,
    TFR_DNN_BACKWARD_FILTER_ALPHA = 712,
    TFR_DNN_BACKWARD_FILTER_BETA = 713,
    TFR_DNN_BACKWARD_FILTER_CONV = 714,
    TFR_DNN_BACKWARD_FILTER_DW = 715,
    TFR_DNN_BACKWARD_FILTER_X = 716,
    TFR_DNN_BACKWARD_FILTER_DY = 717,
    TFR_DNN_OP_POINTWISE_DESC = 750,
    TFR_DNN_OP_POINTWISE_X = 751,
    TFR_DNN_OP_POINTWISE_B = 752,
    TFR_DNN_OP_POINTWISE_Y = 753,
    TFR_DNN_OP_POINTWISE_ALPHA1 = 754,
    TFR_DNN_OP_POINTWISE_ALPHA2 = 755,
    TFR_DNN_GRAPH_HANDLE = 800,
    TFR_DNN_GRAPH_OPS = 801,
    TFR_DNN_GRAPH_ENGINE_COUNT = 802,
    TFR_DNN_TENSOR_ALIGNMENT = 900,
    TFR_DNN_TENSOR_TYPE = 901,
    TFR_DNN_TENSOR_DIMS = 902,
    TFR_DNN_TENSOR_STRIDES = 903,
    TFR_DNN_TENSOR_ID = 906,
    TFR_DNN_TENSOR_IS_VIRTUAL = 907,
    TFR_DNN_PACK_IDS = 1000,
    TFR_DNN_PACK_POINTERS = 1001,
    TFR_DNN_PACK_WORKSPACE = 1003,
    TFR_DNN_ENGINE_GRAPH = 1300,
    TFR_DNN_ENGINE_INDEX = 1301,
    TFR_DNN_ENGINE_NUMERICAL_NOTES = 1303,
    TFR_DNN_ENGINE_BEHAVIOR_NOTES = 1305,
    TFR_DNN_ENGINE_DEVICE_PROP = 1307,
    TFR_DNN_DEVICE_PROP_JSON = 2702,
};

enum {
    TFR_DNN_CONVOLUTION = 0, /* modes of a convolution: the filter is turned, or it is not */
    TFR_DNN_CROSS_CORRELATION = 1,
    TFR_DNN_HEUR_INSTANT = 0,
    TFR_DNN_HEUR_B = 1,
    TFR_DNN_HEUR_FALLBACK = 2,
    TFR_DNN_HEUR_A = 3,
    TFR_DNN_POINTWISE_ADD = 0,
    TFR_DNN_POINTWISE_MUL = 1,
    TFR_DNN_POINTWISE_IDENTITY = 21,
    TFR_DNN_POINTWISE_RELU_FORWARD = 100,
    TFR_DNN_POINTWISE_RELU_BACKWARD = 200,
};

/* Notes of an engine. Strict f32 takes none with the first two. */
enum {
    TFR_DNN_NOTE_TENSOR_CORE = 0,
    TFR_DNN_NOTE_DOWN_CONVERT = 1,
    TFR_DNN_NOTE_REDUCED_REDUCTION = 2,
    TFR_DNN_NOTE_FFT = 3,
    TFR_DNN_NOTE_NONDETERMINISTIC = 4,
    TFR_DNN_NOTE_WINOGRAD = 5,
    TFR_DNN_BEHAVIOR_RUNTIME_COMPILATION = 0,
    TFR_DNN_BEHAVIOR_CUDA_GRAPH = 3,
};

typedef tfr_dnn_status tfr_cudnnCreate_fn(tfr_dnn_handle **handle);
typedef tfr_dnn_status tfr_cudnnDestroy_fn(tfr_dnn_handle *handle);
typedef tfr_dnn_status tfr_cudnnSetStream_fn(tfr_dnn_handle *handle, tfr_cu_stream *stream);
typedef size_t tfr_cudnnGetVersion_fn(void);
typedef const char *tfr_cudnnGetErrorString_fn(tfr_dnn_status status);
typedef void tfr_cudnnGetLastErrorString_fn(char *text, size_t n);
typedef tfr_dnn_status tfr_cudnnBackendCreateDescriptor_fn(unsigned kind, tfr_dnn_desc **desc);
typedef tfr_dnn_status tfr_cudnnBackendDestroyDescriptor_fn(tfr_dnn_desc *desc);
typedef tfr_dnn_status tfr_cudnnBackendSetAttribute_fn(tfr_dnn_desc *desc, unsigned attr,
                                                       unsigned type, int64_t n,
                                                       const void *elements);
/* With elements NULL, *n tells how many there are. An array of descriptors has been made by the
 * caller, and is filled in. */
typedef tfr_dnn_status tfr_cudnnBackendGetAttribute_fn(tfr_dnn_desc *desc, unsigned attr,
                                                       unsigned type, int64_t n_wanted, int64_t *n,
                                                       void *elements);
typedef tfr_dnn_status tfr_cudnnBackendFinalize_fn(tfr_dnn_desc *desc);
typedef tfr_dnn_status tfr_cudnnBackendExecute_fn(tfr_dnn_handle *handle, tfr_dnn_desc *plan,
                                                  tfr_dnn_desc *pack);

#endif
