/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer_trees.c: tree ensembles of domain "ai.onnx.ml". Checks that lists have fitting lengths and
 * that features, targets, children and leaves exist. What it leaves to kernels: whether a tree has
 * a cycle.
 */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "op/infer_kit.h"
#include "op/infer_ml.h"

static bool is_float(int32_t dtype)
{
    return dtype == TFR_DTYPE_F32 || dtype == TFR_DTYPE_F64 || dtype == TFR_DTYPE_F16;
}

/* A list of floats or its "_as_tensor" form: it, not both, has n values; 0 = absent is fine. */
static tfr_status check_floats(tfr__infer *in, tfr_err *err, const char *list, const char *tensor,
                               int64_t n, bool required)
{
    const tfr__attr *t = tfr__attr_find(in->attrs, tensor);
    uint64_t in_list = list ? tfr__ml_length(in, list) : 0;
    const char *name = t && !in_list ? tensor : list;
    if (in_list && t)
        return tfr__infer_fail(in, err, TFR_EMODEL, "both of %s and %s are given", list, tensor);
    if (t && !is_float(t->pub.tensor->dtype))
        return tfr__infer_fail(in, err, TFR_EDTYPE, "attribute %s is %s, want floats", tensor,
                               tfr__dtype_short(t->pub.tensor->dtype));
    return required ? tfr__ml_want_length(in, err, name, n) : tfr__ml_may_length(in, err, name, n);
}

/* Every value of a list is in [0, end). */
static tfr_status check_range(tfr__infer *in, tfr_err *err, const char *name, int64_t end)
{
    uint64_t n;
    const int64_t *values = tfr__attr_ints(in->attrs, name, &n);
    for (uint64_t i = 0; i < n; i++)
        if (values[i] < 0 || values[i] >= end)
            return tfr__infer_fail(in, err, TFR_EMODEL, "%s has %lld at %llu, want 0 to %lld", name,
                                   (long long)values[i], (unsigned long long)i, (long long)end - 1);
    return TFR_OK;
}

static bool is_mode(const tfr_string *mode)
{
    static const char modes[] =
        "LEAF|BRANCH_LEQ|BRANCH_LT|BRANCH_GTE|BRANCH_GT|BRANCH_EQ|BRANCH_NEQ";
    return tfr__op_in_list(modes, sizeof modes - 1, mode->data, mode->bytes);
}

/* A node of the older form by its two ids. */
typedef struct node_key {
    int64_t tree, node;
} node_key;

static int compare_keys(const void *a, const void *b)
{
    const node_key *x = a, *y = b;
    if (x->tree != y->tree)
        return x->tree < y->tree ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* Every pair of ids in these lists names a node; where modes are given, those of leaves may not. */
static tfr_status check_ids(tfr__infer *in, tfr_err *err, const node_key *keys, uint64_t n_keys,
                            const char *trees, const char *nodes, const tfr_string *modes)
{
    uint64_t n, n_trees;
    const int64_t *node = tfr__attr_ints(in->attrs, nodes, &n);
    const int64_t *tree = tfr__attr_ints(in->attrs, trees, &n_trees);
    for (uint64_t i = 0; i < n; i++) {
        node_key key = {tree[i], node[i]};
        if (modes && *modes[i].data != 'B')
            continue;
        if (!bsearch(&key, keys, (size_t)n_keys, sizeof *keys, compare_keys))
            return tfr__infer_fail(in, err, TFR_EMODEL, "%s has %lld at %llu, tree %lld has none",
                                   nodes, (long long)key.node, (unsigned long long)i,
                                   (long long)key.tree);
    }
    return TFR_OK;
}

/* Children and the nodes of weights exist; all lists have their lengths already. */
static tfr_status check_links(tfr__infer *in, tfr_err *err, const char *const names[5])
{
    uint64_t n, n_ids;
    const int64_t *trees = tfr__attr_ints(in->attrs, "nodes_treeids", &n);
    const int64_t *ids = tfr__attr_ints(in->attrs, "nodes_nodeids", &n_ids);
    const tfr_string *modes = tfr__attr_find(in->attrs, "nodes_modes")->pub.strings;
    node_key *keys = tfr__calloc((size_t)n, sizeof *keys);
    if (!keys)
        return tfr_fail(err, TFR_ENOMEM, "no memory to sort %llu nodes", (unsigned long long)n);
    for (uint64_t i = 0; i < n; i++)
        keys[i] = (node_key){trees[i], ids[i]};
    qsort(keys, (size_t)n, sizeof *keys, compare_keys);
    tfr_status s = check_ids(in, err, keys, n, "nodes_treeids", "nodes_truenodeids", modes);
    if (!s)
        s = check_ids(in, err, keys, n, "nodes_treeids", "nodes_falsenodeids", modes);
    if (!s)
        s = check_ids(in, err, keys, n, names[2], names[1], NULL);
    tfr__free(keys);
    return s;
}

/* The nodes of TreeEnsembleClassifier and TreeEnsembleRegressor. */
static tfr_status check_nodes(tfr__infer *in, tfr_err *err, int64_t features)
{
    static const char *const lists[] = {"nodes_nodeids", "nodes_featureids", "nodes_truenodeids",
                                        "nodes_falsenodeids", "nodes_modes"};
    int64_t n = (int64_t)tfr__ml_length(in, "nodes_treeids");
    uint64_t n_ids;
    if (!n)
        return tfr__infer_fail(in, err, TFR_EMODEL, "attribute nodes_treeids is missing");
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        TFR__TRY(tfr__ml_want_length(in, err, lists[i], n));
    TFR__TRY(check_floats(in, err, "nodes_values", "nodes_values_as_tensor", n, true));
    TFR__TRY(tfr__ml_may_length(in, err, "nodes_missing_value_tracks_true", n));
    const tfr__attr *modes = tfr__attr_find(in->attrs, "nodes_modes");
    const int64_t *ids = tfr__attr_ints(in->attrs, "nodes_featureids", &n_ids);
    for (int64_t i = 0; i < n; i++) {
        const tfr_string *mode = &modes->pub.strings[i];
        if (!is_mode(mode))
            return tfr__infer_fail(in, err, TFR_EMODEL, "nodes_modes has \"%.32s\" at %lld",
                                   mode->data, (long long)i);
        if (*mode->data == 'B' && (ids[i] < 0 || (features >= 0 && ids[i] >= features)))
            return tfr__infer_fail(in, err, TFR_EMODEL,
                                   "nodes_featureids has %lld at %lld, X has %lld features",
                                   (long long)ids[i], (long long)i, (long long)features);
    }
    return TFR_OK;
}

/* The weights of one of them; the names are those of the op. */
static tfr_status check_weights(tfr__infer *in, tfr_err *err, const char *const names[5],
                                int64_t targets)
{
    int64_t n = (int64_t)tfr__ml_length(in, names[0]);
    TFR__TRY(tfr__ml_want_length(in, err, names[1], n));
    TFR__TRY(tfr__ml_want_length(in, err, names[2], n));
    TFR__TRY(check_floats(in, err, names[3], names[4], n, n > 0));
    TFR__TRY(check_range(in, err, names[0], targets));
    TFR__TRY(check_links(in, err, names));
    if (tfr__ml_length(in, "base_values") == 1 || tfr__ml_length(in, "base_values_as_tensor") == 1)
        targets = 1;
    return check_floats(in, err, "base_values", "base_values_as_tensor", targets, false);
}

tfr_status tfr__infer_tree_ensemble_regressor(tfr__infer *in, tfr_err *err)
{
    static const char *const names[5] = {"target_ids", "target_nodeids", "target_treeids",
                                         "target_weights", "target_weights_as_tensor"};
    int64_t n, f, targets = tfr__attr_int(in->attrs, "n_targets", 1);
    TFR__TRY(tfr__ml_samples(in, err, &n, &f));
    if (targets < 1)
        return tfr__infer_fail(in, err, TFR_EMODEL, "n_targets is %lld", (long long)targets);
    TFR__TRY(check_nodes(in, err, f));
    TFR__TRY(check_weights(in, err, names, targets));
    return tfr__out(in, err, 0, TFR_DTYPE_F32, 2, (int64_t[]){n, targets});
}

/* One label is that of the positive class: there is a score for the negative one, too. */
tfr_status tfr__infer_tree_ensemble_classifier(tfr__infer *in, tfr_err *err)
{
    static const char *const names[5] = {"class_ids", "class_nodeids", "class_treeids",
                                         "class_weights", "class_weights_as_tensor"};
    int64_t n, f;
    uint64_t labels;
    int32_t dtype;
    TFR__TRY(tfr__ml_samples(in, err, &n, &f));
    TFR__TRY(tfr__ml_labels(in, err, "classlabels_int64s", &labels, &dtype));
    TFR__TRY(check_nodes(in, err, f));
    TFR__TRY(check_weights(in, err, names, (int64_t)labels));
    TFR__TRY(tfr__out(in, err, 0, dtype, 1, &n));
    return tfr__out(in, err, 1, TFR_DTYPE_F32, 2,
                    (int64_t[]){n, labels == 1 ? 2 : (int64_t)labels});
}

/* ---- TreeEnsemble ---- */

enum { MODE_MEMBER = 6, LAST_AGGREGATE = 3, LAST_TRANSFORM = 4 };

/* Children are numbers of nodes or, where the other list says 1, of leaves. */
static tfr_status check_children(tfr__infer *in, tfr_err *err, const char *name,
                                 const char *leafs_name, int64_t nodes, int64_t leaves)
{
    uint64_t n, n_leafs;
    TFR__TRY(tfr__ml_want_length(in, err, name, nodes));
    TFR__TRY(tfr__ml_want_length(in, err, leafs_name, nodes));
    const int64_t *ids = tfr__attr_ints(in->attrs, name, &n);
    const int64_t *leafs = tfr__attr_ints(in->attrs, leafs_name, &n_leafs);
    for (uint64_t i = 0; i < n; i++) {
        int64_t end = leafs[i] ? leaves : nodes;
        if (ids[i] < 0 || ids[i] >= end)
            return tfr__infer_fail(in, err, TFR_EMODEL, "%s has %s %lld at %llu, there are %lld",
                                   name, leafs[i] ? "leaf" : "node", (long long)ids[i],
                                   (unsigned long long)i, (long long)end);
    }
    return TFR_OK;
}

/* The sets of members, each ended by NaN, the last one by the end, too. */
static tfr_status check_members(tfr__infer *in, tfr_err *err, int64_t nodes)
{
    const tfr__attr *modes = tfr__attr_find(in->attrs, "nodes_modes");
    const tfr__attr *members = tfr__attr_find(in->attrs, "membership_values");
    int64_t wanted = 0, sets = 0;
    if (modes->pub.tensor->dtype != TFR_DTYPE_U8)
        return tfr__infer_fail(in, err, TFR_EDTYPE, "nodes_modes is %s, want u8",
                               tfr__dtype_short(modes->pub.tensor->dtype));
    for (int64_t i = 0; i < nodes; i++) {
        uint8_t mode = ((const uint8_t *)modes->pub.tensor->data)[i];
        if (mode > MODE_MEMBER)
            return tfr__infer_fail(in, err, TFR_EMODEL, "nodes_modes has %d at %lld, want 0 to %d",
                                   mode, (long long)i, MODE_MEMBER);
        wanted += mode == MODE_MEMBER;
    }
    if (members && !is_float(members->pub.tensor->dtype))
        return tfr__infer_fail(in, err, TFR_EDTYPE, "membership_values is %s, want floats",
                               tfr__dtype_short(members->pub.tensor->dtype));
    int64_t n = (int64_t)tfr__ml_length(in, "membership_values");
    bool open = false;
    for (int64_t i = 0; i < n; i++) {
        open =
            !isnan(tfr__element_double(members->pub.tensor->data, members->pub.tensor->dtype, i));
        sets += !open;
    }
    sets += open;
    if (sets == wanted)
        return TFR_OK;
    return tfr__infer_fail(in, err, TFR_EMODEL,
                           "membership_values has %lld sets, %lld nodes are of mode BRANCH_MEMBER",
                           (long long)sets, (long long)wanted);
}

static tfr_status check_choice(tfr__infer *in, tfr_err *err, const char *name, int64_t last)
{
    int64_t v = tfr__attr_int(in->attrs, name, 0);
    if (v >= 0 && v <= last)
        return TFR_OK;
    return tfr__infer_fail(in, err, TFR_EMODEL, "%s is %lld, want 0 to %lld", name, (long long)v,
                           (long long)last);
}

tfr_status tfr__infer_tree_ensemble(tfr__infer *in, tfr_err *err)
{
    int64_t n, f, targets = tfr__attr_int(in->attrs, "n_targets", 1);
    int64_t nodes = (int64_t)tfr__ml_length(in, "nodes_featureids");
    int64_t leaves = (int64_t)tfr__ml_length(in, "leaf_targetids");
    TFR__TRY(tfr__ml_samples(in, err, &n, &f));
    if (targets < 1)
        return tfr__infer_fail(in, err, TFR_EMODEL, "n_targets is %lld", (long long)targets);
    TFR__TRY(check_choice(in, err, "aggregate_function", LAST_AGGREGATE));
    TFR__TRY(check_choice(in, err, "post_transform", LAST_TRANSFORM));
    TFR__TRY(check_floats(in, err, NULL, "nodes_splits", nodes, true));
    TFR__TRY(check_floats(in, err, NULL, "leaf_weights", leaves, true));
    TFR__TRY(tfr__ml_want_length(in, err, "nodes_modes", nodes));
    TFR__TRY(tfr__ml_may_length(in, err, "nodes_missing_value_tracks_true", nodes));
    TFR__TRY(check_members(in, err, nodes));
    TFR__TRY(check_range(in, err, "nodes_featureids", f < 0 ? INT64_MAX : f));
    TFR__TRY(check_range(in, err, "leaf_targetids", targets));
    TFR__TRY(check_range(in, err, "tree_roots", nodes));
    TFR__TRY(check_children(in, err, "nodes_truenodeids", "nodes_trueleafs", nodes, leaves));
    TFR__TRY(check_children(in, err, "nodes_falsenodeids", "nodes_falseleafs", nodes, leaves));
    return tfr__out(in, err, 0, tfr__in(in, 0)->dtype, 2, (int64_t[]){n, targets});
}
