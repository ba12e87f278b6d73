/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recompute.h: a step of training that computes values of its forward part again where the backward
 * part reads them, in place of keeping them until then. Nodes are copied, so the values have the
 * same bits; the copies stand before the first node that reads them, so they take memory only from
 * there on. A later pass must not find the copies equal to the originals.
 */
#ifndef TFR_NN_RECOMPUTE_H
#define TFR_NN_RECOMPUTE_H

#include <tfrun/train.h>

/* The forward part is what output 0, the loss, needs. */
TFR_MUST_CHECK tfr_status tfr__recompute(const tfr_graph *step, tfr_train_recompute how,
                                         tfr_graph **out, tfr_err *err);

#endif
