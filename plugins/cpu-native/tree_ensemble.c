/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_ensemble.c: TreeEnsemble (ai.onnx.ml 5), TreeEnsembleRegressor and TreeEnsembleClassifier,
 * what plugins/naive/tree_ensemble.c says of them: which calls are done, and their trees.
 */
#include "tree_ensemble.h"

#include <string.h>

/* ---- calls ---- */

static bool is_classifier(const tfr_call *call)
{
    return strcmp(call->name, "TreeEnsembleClassifier") == 0;
}

static int64_t count_columns(const tfr_call *call)
{
    int64_t labels;

    if (!is_classifier(call))
        return tfr_call_output(call, 0)->dims[1];
    labels = native_count_labels(call, "classlabels_int64s");
    return labels > 1 ? labels : 2;
}

/* How many trees there may be. */
static int64_t count_trees(const tfr_call *call)
{
    const int64_t *ids = native_attr_ints(call, "nodes_treeids");
    int64_t n = native_attr_length(call, "nodes_treeids"), trees = 0, i;

    if (!ids)
        return native_attr_length(call, "tree_roots");
    for (i = 0; i < n; i++)
        trees += i == 0 || ids[i] != ids[i - 1];
    return trees;
}

/* Scores and seen, converted samples, numbers of labels, found leaves. */
static size_t workspace_of(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    size_t N = (size_t)native_samples(x), doubles = 2 * N * (size_t)count_columns(call);

    if (native_ensemble_converts(x->dtype))
        doubles += (size_t)tfr_operand_elements(x);
    return doubles * sizeof(double) + native_labels_work(call, (int64_t)N) +
           (N < NATIVE_TREE_LANES ? (size_t)count_trees(call) * N * sizeof(uint32_t) : 0);
}

void native_tree_ensemble_supports(const tfr_plugin_device *device, const tfr_call *call,
                                   tfr_answer *answer)
{
    static const char *const tensors[] = {"nodes_values_as_tensor",
                                          "target_weights_as_tensor",
                                          "class_weights_as_tensor",
                                          "base_values_as_tensor",
                                          "nodes_splits",
                                          "leaf_weights",
                                          "membership_values"};
    size_t i;

    (void)device;
    if (!native_numbers_supports(call, answer))
        return;
    for (i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        if (!native_attr_is_float(call, tensors[i])) {
            tfr_decline(answer, TFR_REASON_DTYPE, "%s is of neither float32 nor float64",
                        tensors[i]);
            return;
        }
    }
    if (!tfr_call_output(call, 0))
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "output 0 is not asked for");
    else if (!is_classifier(call) || native_labels_supports(call, "classlabels_int64s", answer))
        answer->workspace_bytes = workspace_of(call);
}

/* ---- prepare ---- */

static void release(void *user)
{
    native_ensemble *s = user;

    native_trees_free(&s->trees);
    native_flat_free(&s->flat);
}

static void read_kind(const tfr_call *call, native_ensemble *s)
{
    const char *name = tfr_call_string(call, "aggregate_function", "SUM");

    s->how = NATIVE_TREES_SUM;
    s->classifier = is_classifier(call);
    s->transform = native_transform_of(call);
    if (strcmp(call->name, "TreeEnsemble") == 0) {
        s->how = (native_aggregate)tfr_call_int(call, "aggregate_function", NATIVE_TREES_SUM);
        s->transform = (native_transform)tfr_call_int(call, "post_transform", 0);
    } else if (!s->classifier) {
        s->how = *name == 'S'     ? NATIVE_TREES_SUM
                 : *name == 'A'   ? NATIVE_TREES_AVERAGE
                 : name[1] == 'I' ? NATIVE_TREES_MIN
                                  : NATIVE_TREES_MAX;
    }
    s->mirror = s->transform != NATIVE_NONE && s->transform != NATIVE_PROBIT;
    s->columns = (int32_t)count_columns(call);
}

static int32_t read_trees(const tfr_call *call, native_ensemble *s, tfr_err *err)
{
    static const native_tree_names target_names = {"target_ids", "target_nodeids", "target_treeids",
                                                   "target_weights", "target_weights_as_tensor"},
                                   class_names = {"class_ids", "class_nodeids", "class_treeids",
                                                  "class_weights", "class_weights_as_tensor"};
    int32_t status;

    if (strcmp(call->name, "TreeEnsemble") == 0)
        status = native_trees_read(call, &s->trees, err);
    else
        status = native_trees_read_ids(call, s->classifier ? &class_names : &target_names,
                                       &s->trees, err);
    if (!status)
        status = native_flatten(&s->trees, native_ensemble_is_wide(s->dtype), s->columns, &s->flat,
                                &s->is_flat, err);
    if ((s->how == NATIVE_TREES_MIN || s->how == NATIVE_TREES_MAX) && !s->flat.full)
        s->is_flat = false;
    return status;
}

/* The one class that all weights are of, -1 if there are more, none, or more than two labels. */
static int32_t only_class(const native_ensemble *s)
{
    int32_t i;

    if (s->labels.n > 2 || s->trees.n_weights == 0)
        return -1;
    for (i = 1; i < s->trees.n_weights; i++)
        if (s->trees.weights[i].target != s->trees.weights[0].target)
            return -1;
    return s->trees.weights[0].target;
}

static void read_base(const tfr_call *call, native_ensemble *s)
{
    int64_t n = native_attr_length(call, "base_values"), t;

    if (!n)
        n = native_attr_length(call, "base_values_as_tensor");
    for (t = 0; t < s->columns; t++)
        s->base[t] = n == 1 || t < n ? native_attr_value(call, "base_values",
                                                         "base_values_as_tensor", n == 1 ? 0 : t)
                                     : 0;
    if (s->classifier && s->labels.n == 1)
        s->base[1] = 0;
}

void native_tree_ensemble_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    native_ensemble *s = native_set_function(b, native_ensemble_run, release, sizeof *s, "trees");

    if (!s)
        return;
    read_kind(call, s);
    s->N = native_samples(x);
    s->F = native_features(x);
    s->dtype = x->dtype;
    s->y_dtype = s->classifier ? TFR_DTYPE_F32 : tfr_call_output(call, 0)->dtype;
    s->known_x = x->data;
    s->threads = b->device->threads;
    s->base = native_add_block(b, (size_t)s->columns * sizeof *s->base);
    if (!s->base || (s->classifier && !native_labels_prepare(b, "classlabels_int64s", &s->labels)))
        return;
    b->status = read_trees(call, s, b->err);
    if (b->status)
        return;
    s->only = s->classifier ? only_class(s) : -1;
    read_base(call, s);
}
