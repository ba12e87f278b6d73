/* SPDX-License-Identifier: Apache-2.0 */
/* frame.h: one run of a subgraph: a tensor per value that is there, retained. */
#ifndef TFR_CORE_FRAME_H
#define TFR_CORE_FRAME_H

#include "run/subgraph.h"

typedef struct tfr__frame {
    tfr__subgraph *subgraph;
    tfr_tensor **values; /* by value number; NULL = not there (yet); set by tfr__frame_put alone */
    tfr_value *there;    /* those that are not NULL, so that a run costs nothing for the others */
    uint32_t n_there;
} tfr__frame;

tfr_status tfr__frame_init(tfr__subgraph *subgraph, tfr__frame *frame, tfr_err *err);
/* The value becomes t, which frame owns now, instead of what it was. */
void tfr__frame_put(tfr__frame *frame, tfr_value v, tfr_tensor *t);
/* All values go; then the memory, too. */
void tfr__frame_clear(tfr__frame *frame);
void tfr__frame_finish(tfr__frame *frame);
/* A value that a section's own node reads: from the frame, or a constant. Borrowed. */
tfr_tensor *tfr__frame_get(const tfr__frame *frame, tfr_value v);

#endif
