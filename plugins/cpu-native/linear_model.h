/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linear_model.h: LinearClassifier and LinearRegressor of ai.onnx.ml (linear_model.c), and a tile
 * of their sums (isa_linear.h).
 */
#ifndef NATIVE_LINEAR_MODEL_H
#define NATIVE_LINEAR_MODEL_H

#include "ml.h"

enum { NATIVE_LINEAR_SCORES = 4 /* that are summed at once */ };

/* Some features of some samples, times the weights of four scores, are added to the scores. */
typedef struct native_linear_tile {
    int rows;
    int64_t features, x_step, step; /* steps from sample to sample */
    const double *x, *weights;      /* [features, NATIVE_LINEAR_SCORES] */
    double *scores;
} native_linear_tile;

void native_linear_model_supports(const tfr_plugin_device *device, const tfr_call *call,
                                  tfr_answer *answer);
void native_linear_model_prepare(native_build *b, const tfr_call *call);

#endif
