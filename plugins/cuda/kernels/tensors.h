/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensors.h: the tensors of an optimizer's launch, as preview_training.cu takes them by value. For
 * the host half the pointers are addresses, which are put there at each launch. Plain C there.
 */
#ifndef TFR_CUDA_TENSORS_H
#define TFR_CUDA_TENSORS_H

#include <stdint.h>

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

#endif
