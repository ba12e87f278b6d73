/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ml.h: what the ops of domain ai.onnx.ml share: samples [N F] or [F], scores and what is done to
 * them, labels of classes.
 */
#ifndef NAIVE_ML_H
#define NAIVE_ML_H

#include "tensor.h"

#include <string.h>

/* What happens to the scores of a sample; the numbers are those of TreeEnsemble's attribute. */
typedef enum naive_transform {
    NAIVE_NONE,
    NAIVE_SOFTMAX,
    NAIVE_LOGISTIC,
    NAIVE_SOFTMAX_ZERO,
    NAIVE_PROBIT
} naive_transform;

/* Attribute post_transform, a string. */
naive_transform naive_transform_of(const tfr_call *call);
/* Transforms n scores in place. */
void naive_transform_scores(naive_transform transform, double *scores, int64_t n);
/* 1 / (1 + exp(-x)) without overflow. */
double naive_logistic(double x);
/* Index of the largest of n > 0 scores, the first of equals; a NaN counts as largest. */
int64_t naive_best(const double *scores, int64_t n);

/*
 * Writes label `index` of the attribute `ints` or of classlabels_strings to y[i]. An index of -1 is
 * the class that has no label: 0, or an empty string.
 */
int32_t naive_write_label(const tfr_call *call, const char *ints, const naive_tensor *y, int64_t i,
                          int64_t index, tfr_err *err);

/* Samples and features of x [N F] or [F]. */
static inline int64_t naive_samples(const naive_tensor *x)
{
    return x->rank == 2 ? x->dims[0] : 1;
}

static inline int64_t naive_features(const naive_tensor *x)
{
    return x->dims[x->rank - 1];
}

#endif
