/* SPDX-License-Identifier: Apache-2.0 */
/* tree_ensemble.h: TreeEnsemble, TreeEnsembleRegressor and TreeEnsembleClassifier. */
#ifndef NATIVE_TREE_ENSEMBLE_H
#define NATIVE_TREE_ENSEMBLE_H

#include "ml_labels.h"
#include "trees.h"

typedef enum native_aggregate {
    NATIVE_TREES_AVERAGE,
    NATIVE_TREES_SUM,
    NATIVE_TREES_MIN,
    NATIVE_TREES_MAX
} native_aggregate; /* TreeEnsemble's numbers */

typedef struct native_ensemble {
    native_trees trees;
    native_flat_trees flat;
    bool is_flat, classifier, mirror; /* mirror: binary, with scores -s and s */
    native_aggregate how;
    native_transform transform;
    int64_t N, F;
    int32_t columns, only; /* only: the class that all weights are of, -1 = none */
    int32_t dtype, y_dtype;
    native_labels labels; /* a classifier's */
    double *base;         /* columns of them */
    const void *known_x;
    int threads;
} native_ensemble;

/* Of float32 there are compact trees of their own; all other samples become doubles. */
static inline bool native_ensemble_is_wide(int32_t dtype)
{
    return dtype != TFR_DTYPE_F32;
}

/* Whether samples are made doubles in the workspace. */
static inline bool native_ensemble_converts(int32_t dtype)
{
    return dtype != TFR_DTYPE_F32 && dtype != TFR_DTYPE_F64;
}

/*
 * tree_ensemble_run.c. Workspace: scores and seen, each a double for a sample and column, converted
 * samples, numbers of labels that are strings, and for fewer samples than lanes a uint32_t for each
 * of them and tree.
 */
int32_t native_ensemble_run(const tfr_plugin_device *device, void *state, const tfr_launch *launch,
                            tfr_err *err);

void native_tree_ensemble_supports(const tfr_plugin_device *device, const tfr_call *call,
                                   tfr_answer *answer);
void native_tree_ensemble_prepare(native_build *b, const tfr_call *call);

#endif
