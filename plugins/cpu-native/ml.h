/* SPDX-License-Identifier: Apache-2.0 */
/* ml.h: what the ops of domain ai.onnx.ml share: samples [N F] or [F], scores, labels, numbers. */
#ifndef NATIVE_ML_H
#define NATIVE_ML_H

#include "kernel.h"

/* What happens to the scores of a sample; the numbers are those of TreeEnsemble's attribute. */
typedef enum native_transform {
    NATIVE_NONE,
    NATIVE_SOFTMAX,
    NATIVE_LOGISTIC,
    NATIVE_SOFTMAX_ZERO,
    NATIVE_PROBIT
} native_transform;

/* Attribute post_transform, a string. */
native_transform native_transform_of(const tfr_call *call);
/* Transforms n scores in place, in double as naive does. */
void native_transform_scores(native_transform transform, double *scores, int64_t n);
double native_logistic(double x);
/* Index of the largest of n > 0 scores, the first of equals; a NaN counts as largest. */
int64_t native_best(const double *scores, int64_t n);

/* Elements of an attribute, whichever type it has; 0 if it is absent. */
int64_t native_attr_length(const tfr_call *call, const char *name);
const int64_t *native_attr_ints(const tfr_call *call, const char *name);
const float *native_attr_floats(const tfr_call *call, const char *name);
/* Value i of the attribute `list` or, if that is empty, of `tensor`; 0 if both are. */
double native_attr_value(const tfr_call *call, const char *list, const char *tensor, int64_t i);
/* Whether the attribute is absent, or a tensor that native_attr_value reads. */
bool native_attr_is_float(const tfr_call *call, const char *tensor);

/* Whether operand 0 is of f32, f64, i32 or i64; else declines. */
bool native_numbers_supports(const tfr_call *call, tfr_answer *answer);
/* n numbers of f32, f64, i32 or i64 from element i on, as doubles. */
void native_read_doubles(int32_t dtype, const void *x, int64_t i, int64_t n, double *out);

static inline int64_t native_samples(const tfr_operand *x)
{
    return x->rank == 2 ? x->dims[0] : 1;
}

static inline int64_t native_features(const tfr_operand *x)
{
    return x->dims[x->rank - 1];
}

/* Where argument i of a launch lies; known: what prepare has seen. */
static inline const void *native_argument(const tfr_launch *launch, int i, const void *known)
{
    return launch->args[i].address ? launch->args[i].address : known;
}

#endif
