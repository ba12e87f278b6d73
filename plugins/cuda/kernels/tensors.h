/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensors.h: the tensors of a launch that has many of them, as preview_training.cu and variadic.cu
 * take them by value. For the host half the pointers are addresses, which are put there at each
 * launch. Plain C there.
 */
#ifndef TFR_CUDA_TENSORS_H
#define TFR_CUDA_TENSORS_H

#include <stdint.h>

#include "args.h"

#ifndef __cplusplus
#define TFR_FIELD(T) uint64_t
#endif

enum {
    TFR_TENSORS = 8,       /* of a launch */
    TFR_TENSOR_PART = 2048 /* elements of a block */
};

typedef struct tfr_tensors {
    TFR_FIELD(const float) x[TFR_TENSORS];
    TFR_FIELD(const float) g[TFR_TENSORS];
    TFR_FIELD(const float) v[TFR_TENSORS];
    TFR_FIELD(const float) h[TFR_TENSORS];
    TFR_FIELD(float) new_x[TFR_TENSORS];
    TFR_FIELD(float) new_v[TFR_TENSORS];
    TFR_FIELD(float) new_h[TFR_TENSORS];
    int32_t n[TFR_TENSORS];
    int32_t blocks[TFR_TENSORS]; /* the first one of each */
    int32_t count;
} tfr_tensors;

/*
 * Sum, Mean, Max and Min of `count` operands, of any type, broadcast to n elements; rank 0: none
 * is. The result is divided by `by`.
 */
enum { TFR_VARIADIC = 8, TFR_VARIADIC_DIMS = 8 };
enum { TFR_VARIADIC_SUM, TFR_VARIADIC_MAX, TFR_VARIADIC_MIN };
typedef struct tfr_variadic {
    TFR_FIELD(const float) x[TFR_VARIADIC];
    int32_t n, count, op, by, rank;
    tfr_divisor dims[TFR_VARIADIC_DIMS];
    int32_t strides[TFR_VARIADIC][TFR_VARIADIC_DIMS];
} tfr_variadic;

#endif
