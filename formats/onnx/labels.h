/* SPDX-License-Identifier: Apache-2.0 */
/*
 * labels.h: numbers the names of a file: 0, 1, 2... in the order in which they are added. A hash
 * table over texts that live elsewhere (in the mapped file), with a key of its own, so that a
 * hostile file cannot choose names that collide.
 */
#ifndef TFR_FORMATS_ONNX_LABELS_H
#define TFR_FORMATS_ONNX_LABELS_H

#include "wire.h"

/* Zero is an empty table. */
typedef struct tfr__labels {
    tfr__text *texts; /* by number */
    uint32_t n, capacity;
    uint32_t *slots; /* number + 1, 0 = free; a power of two, at most half full */
    uint32_t n_slots;
    uint64_t key;
} tfr__labels;

#define TFR__LABEL_NONE UINT32_MAX

/* The number of a name, or TFR__LABEL_NONE. */
uint32_t tfr__labels_find(const tfr__labels *labels, tfr__text name);

/* The number of a name, new or not; *is_new says which. TFR_ENOMEM is the only error. */
TFR_MUST_CHECK tfr_status tfr__labels_add(tfr__labels *labels, tfr__text name, uint32_t *number,
                                          bool *is_new, tfr_err *err);

void tfr__labels_finish(tfr__labels *labels);

#endif
