/* SPDX-License-Identifier: Apache-2.0 */
/* infer_ml.h: what infer_ml.c and infer_trees.c share: samples, labels, lengths of attributes. */
#ifndef TFR__INFER_ML_H
#define TFR__INFER_ML_H

#include "op/infer.h"

/* Values of a list, elements of a tensor, 0 if the attribute is absent. */
uint64_t tfr__ml_length(const tfr__infer *in, const char *name);
/* The attribute has that many; the second lets it be absent or empty, too. */
tfr_status tfr__ml_want_length(const tfr__infer *in, tfr_err *err, const char *name, int64_t want);
tfr_status tfr__ml_may_length(const tfr__infer *in, tfr_err *err, const char *name, int64_t want);

/* Input 0 is [N,F], or [F], which is one sample; F is at least 1. Each may be a symbol. */
tfr_status tfr__ml_samples(tfr__infer *in, tfr_err *err, int64_t *n, int64_t *f);

/* The labels of a classifier, in attribute `ints` or in classlabels_strings: how many, which type.
 */
tfr_status tfr__ml_labels(const tfr__infer *in, tfr_err *err, const char *ints, uint64_t *n,
                          int32_t *dtype);

#endif
