/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TreeEnsemble (ai.onnx.ml 5), TreeEnsembleRegressor and TreeEnsembleClassifier (3, of which 5 only
 * says that they are deprecated). X [N F] or [F]. Each tree leads a sample to a leaf by comparing a
 * feature at each node; a NaN goes where nodes_missing_value_tracks_true says, else to the false
 * side. The weights of the leaves come together by target:
 *
 *   SUM, AVERAGE   their sum, for AVERAGE over the number of trees
 *   MIN, MAX       the least or most; 0 where no leaf speaks of the target
 *
 * then base_values are added, one a target or one for all. The classifier sums. If all its weights
 * are of one class, at most two labels, it is binary: with s the sum of that class, scores are 1 -
 * s and s for the transforms NONE and PROBIT, else -s and s. One label is that of a higher second
 * score, else the label is 0 or the empty string. In double, rounded once.
 */
#include "trees.h"

#include <math.h>

typedef enum aggregate { AVERAGE, SUM, MIN, MAX } aggregate; /* TreeEnsemble's numbers */

/* Adds the weights of a leaf to the T scores; seen says which targets had one already. */
static void add_leaf(const naive_trees *trees, const naive_tree_node *leaf, aggregate how,
                     double *scores, double *seen)
{
    int64_t i;

    for (i = leaf->first; i < leaf->first + leaf->n; i++) {
        int64_t t = trees->weights[i].target;
        double v = trees->weights[i].value;
        if (how == SUM || how == AVERAGE)
            scores[t] += v;
        else if (!seen[t] || (how == MIN ? v < scores[t] : v > scores[t]))
            scores[t] = v;
        seen[t] = 1;
    }
}

/* What the trees say of sample n; scores and seen have T each. */
static int32_t ask_trees(const naive_trees *trees, aggregate how, const naive_tensor *x, int64_t n,
                         double *scores, double *seen, int64_t T, tfr_err *err)
{
    const naive_tree_node *leaf;
    int32_t status = TFR_OK;
    int64_t t;

    for (t = 0; t < T; t++)
        scores[t] = seen[t] = 0;
    for (t = 0; t < trees->n_roots && !status; t++) {
        status = naive_trees_walk(trees, trees->roots[t], x, n, &leaf, err);
        if (!status)
            add_leaf(trees, leaf, how, scores, seen);
    }
    for (t = 0; how == AVERAGE && trees->n_roots && t < T; t++)
        scores[t] /= (double)trees->n_roots;
    return status;
}

/* base_values for target t. */
static double base_of(const tfr_call *call, int64_t t)
{
    const tfr_attr *list = tfr_call_attr(call, "base_values");
    const tfr_attr *tensor = tfr_call_attr(call, "base_values_as_tensor");
    uint64_t n = list && list->n            ? list->n
                 : tensor && tensor->tensor ? (uint64_t)tfr_operand_elements(tensor->tensor)
                                            : 0;

    return n ? naive_tree_float(call, "base_values", "base_values_as_tensor", n == 1 ? 0 : t) : 0;
}

static int32_t run_targets(const naive_kernel *k, const tfr_launch *launch, aggregate how,
                           naive_transform transform, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), y = naive_output(k, launch, 0);
    int64_t T = y.dims[1], n, t;
    double *scores = launch->workspace;
    int32_t status = TFR_OK;

    for (n = 0; n < naive_samples(&x) && !status; n++) {
        status = ask_trees(k->state, how, &x, n, scores, scores + T, T, err);
        for (t = 0; t < T; t++)
            scores[t] += base_of(&k->call, t);
        naive_transform_scores(transform, scores, T);
        for (t = 0; t < T; t++)
            naive_write(&y, n * T + t, scores[t]);
    }
    return status;
}

static int32_t run_ensemble(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    return run_targets(k, launch, (aggregate)tfr_call_int(&k->call, "aggregate_function", SUM),
                       (naive_transform)tfr_call_int(&k->call, "post_transform", 0), err);
}

static int32_t prepare_ensemble(naive_kernel *k, tfr_err *err)
{
    naive_trees *trees = NULL;
    int32_t status = naive_trees_read(k, &trees, err);

    k->state = trees;
    return status;
}

static int32_t run_regressor(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const char *name = tfr_call_string(&k->call, "aggregate_function", "SUM");
    aggregate how = *name == 'S' ? SUM : *name == 'A' ? AVERAGE : name[1] == 'I' ? MIN : MAX;

    return run_targets(k, launch, how, naive_transform_of(&k->call), err);
}

static int32_t prepare_regressor(naive_kernel *k, tfr_err *err)
{
    static const naive_tree_names names = {"target_ids", "target_nodeids", "target_treeids",
                                           "target_weights", "target_weights_as_tensor"};
    naive_trees *trees = NULL;
    int32_t status = naive_trees_read_ids(k, &names, &trees, err);

    k->state = trees;
    return status;
}

static uint64_t targets_workspace(const tfr_call *call)
{
    return (uint64_t)tfr_call_output(call, 0)->dims[1] * 2 * sizeof(double);
}

/* ---- the classifier ---- */

static const naive_tree_names class_names = {"class_ids", "class_nodeids", "class_treeids",
                                             "class_weights", "class_weights_as_tensor"};

static int64_t count_labels(const tfr_call *call)
{
    const tfr_attr *ints = tfr_call_attr(call, "classlabels_int64s");
    const tfr_attr *strings = tfr_call_attr(call, "classlabels_strings");

    return (int64_t)((ints ? ints->n : 0) + (strings ? strings->n : 0));
}

/* The one class that all weights are of, -1 if there are more, none, or more than two labels. */
static int64_t only_class(const naive_trees *trees, int64_t labels)
{
    int64_t i;

    if (labels > 2 || trees->n_weights == 0)
        return -1;
    for (i = 1; i < trees->n_weights; i++)
        if (trees->weights[i].target != trees->weights[0].target)
            return -1;
    return trees->weights[0].target;
}

static int32_t run_classifier(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), y = naive_output(k, launch, 0),
                 z = naive_output(k, launch, 1);
    naive_transform transform = naive_transform_of(&k->call);
    int64_t C = count_labels(&k->call), only = only_class(k->state, C), n, c, best;
    int64_t columns = C > 1 ? C : 2;
    double *scores = launch->workspace;
    int32_t status = TFR_OK;

    for (n = 0; n < naive_samples(&x) && !status; n++) {
        status = ask_trees(k->state, SUM, &x, n, scores, scores + columns, columns, err);
        for (c = 0; c < C; c++)
            scores[c] += base_of(&k->call, c);
        if (only >= 0 || C == 1) {
            bool mirror = transform != NAIVE_NONE && transform != NAIVE_PROBIT;
            scores[1] = scores[only >= 0 ? only : 0];
            scores[0] = (mirror ? 0 : 1) - scores[1];
        }
        naive_transform_scores(transform, scores, columns);
        best = naive_best(scores, columns);
        if (!status)
            status = naive_write_label(&k->call, "classlabels_int64s", &y, n,
                                       C > 1 ? best : best - 1, err);
        for (c = 0; z.operand && c < columns; c++)
            naive_write(&z, n * columns + c, scores[c]);
    }
    return status;
}

static int32_t prepare_classifier(naive_kernel *k, tfr_err *err)
{
    naive_trees *trees = NULL;
    int32_t status = naive_trees_read_ids(k, &class_names, &trees, err);

    k->state = trees;
    return status;
}

static uint64_t classifier_workspace(const tfr_call *call)
{
    return (uint64_t)(count_labels(call) + 1) * 2 * sizeof(double);
}

const naive_op naive_tree_ensemble_ops[] = {
    {.domain = "ai.onnx.ml",
     .name = "TreeEnsemble",
     .since_version = 5,
     .run = run_ensemble,
     .workspace = targets_workspace,
     .prepare = prepare_ensemble},
    {.domain = "ai.onnx.ml",
     .name = "TreeEnsembleClassifier",
     .since_version = 5,
     .run = run_classifier,
     .workspace = classifier_workspace,
     .prepare = prepare_classifier},
    {.domain = "ai.onnx.ml",
     .name = "TreeEnsembleRegressor",
     .since_version = 5,
     .run = run_regressor,
     .workspace = targets_workspace,
     .prepare = prepare_regressor},
    {.name = NULL},
};
