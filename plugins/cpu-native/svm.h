/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svm.h: SVMClassifier and SVMRegressor of ai.onnx.ml (svm.c), and a tile of the matrix of their
 * kernels: 1 or 4 samples and some panels of vectors.
 */
#ifndef NATIVE_SVM_H
#define NATIVE_SVM_H

#include "ml.h"

enum { NATIVE_SVM_ROWS = 4 };

typedef struct native_svm_tile {
    const float *vectors; /* [panels, features, lanes], of this tile */
    const float *x[NATIVE_SVM_ROWS];
    int rows; /* 1 or 4 */
    int64_t panels, features;
    char kernel; /* the first letter of kernel_type */
    double gamma, coef0;
    int degree; /* not negative */
    double *to; /* to[row * to_step + vector]; whole panels are written */
    int64_t to_step;
} native_svm_tile;

void native_svm_supports(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer);
void native_svm_prepare(native_build *b, const tfr_call *call);

/* ---- svm_score.c ---- */

/* What a sample's scores are made of, beside the sums over vectors. */
typedef struct native_svm_model {
    const float *rho, *prob_a, *prob_b;
    const int64_t *labels;
    int64_t C, V; /* V: support vectors, 0 for a linear model */
    int64_t columns;
    native_transform transform;
    bool one_rho, probabilities, not_negative; /* not_negative: all coefficients are >= 0 */
} native_svm_model;

/* Doubles that native_svm_classify needs as work. */
int64_t native_svm_work(const native_svm_model *m);
/*
 * sums: with vectors [C, C-1], what the vectors of class i say with row j of coefficients; without
 * the C products. label and scores may be NULL.
 */
void native_svm_classify(const native_svm_model *m, const double *sums, double *work,
                         int64_t *label, float *scores);

#endif
