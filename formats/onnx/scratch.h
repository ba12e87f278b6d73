/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scratch.h: memory that is given back all at once, or back to a mark: the parsed form of a model
 * lives in one, and what a single node needs in another.
 */
#ifndef TFR_FORMATS_ONNX_SCRATCH_H
#define TFR_FORMATS_ONNX_SCRATCH_H

#include "wire.h"

typedef struct tfr__scratch_chunk tfr__scratch_chunk;

/* Zero is an empty one. */
typedef struct tfr__scratch {
    tfr__scratch_chunk *chunks; /* the newest first */
} tfr__scratch;

/* Zeroed, for any type; NULL = out of memory or n * size overflows. n may be 0. */
void *tfr__scratch_take(tfr__scratch *scratch, size_t n, size_t size);
/* A copy that ends with a zero byte; NULL = out of memory. */
char *tfr__scratch_text(tfr__scratch *scratch, tfr__text text);

/* A point in time: what was taken after the mark can be given back, the newest first. */
typedef struct tfr__scratch_mark {
    tfr__scratch_chunk *chunk;
    size_t used;
} tfr__scratch_mark;

tfr__scratch_mark tfr__scratch_now(const tfr__scratch *scratch);
void tfr__scratch_back_to(tfr__scratch *scratch, tfr__scratch_mark mark);
void tfr__scratch_finish(tfr__scratch *scratch);

#endif
