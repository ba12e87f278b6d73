/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trees.c: reads the attributes of tree ensembles into one form, and walks trees of any form, as
 * plugins/naive/trees.c does. The core has checked that what the attributes name exists.
 */
#include "trees.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int32_t make(native_trees *t, int64_t nodes, int64_t weights, int64_t members, int64_t roots,
                    tfr_err *err)
{
    if (nodes < INT_MAX / 2 && weights < INT_MAX && members < INT_MAX && roots < INT_MAX / 4) {
        t->nodes = calloc((size_t)nodes + 1, sizeof *t->nodes);
        t->weights = calloc((size_t)weights + 1, sizeof *t->weights);
        t->members = calloc((size_t)members + 1, sizeof *t->members);
        t->roots = calloc((size_t)roots + 1, sizeof *t->roots);
    }
    if (!t->nodes || !t->weights || !t->members || !t->roots)
        return tfr_fail(err, TFR_ENOMEM, "no memory for %lld nodes of trees", (long long)nodes);
    t->n_nodes = (int32_t)nodes;
    t->n_weights = (int32_t)weights;
    return TFR_OK;
}

void native_trees_free(native_trees *t)
{
    free(t->nodes);
    free(t->weights);
    free(t->members);
    free(t->roots);
}

/* ---- trees whose nodes have ids: ai.onnx.ml 1 to 3 ---- */

/* Where the node with these ids is. */
typedef struct node_key {
    int64_t tree, id;
    int32_t at;
} node_key;

typedef struct node_keys {
    node_key *keys; /* sorted */
    int64_t n;
    bool in_order; /* were sorted, and none twice: the usual case, where a place can be guessed */
} node_keys;

static int compare_ids(const void *a, const void *b)
{
    const node_key *x = a, *y = b;

    if (x->tree != y->tree)
        return x->tree < y->tree ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* By ids, then place, so that the order does not depend on qsort. */
static int compare_keys(const void *a, const void *b)
{
    const node_key *x = a, *y = b;
    int by_ids = compare_ids(a, b);

    return by_ids ? by_ids : x->at < y->at ? -1 : x->at > y->at;
}

static int compare_weights(const void *a, const void *b)
{
    const native_tree_weight *x = a, *y = b;

    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->target < y->target ? -1 : x->target > y->target;
}

static int32_t make_keys(const tfr_call *call, int64_t n, node_keys *out, tfr_err *err)
{
    const int64_t *trees = native_attr_ints(call, "nodes_treeids"),
                  *ids = native_attr_ints(call, "nodes_nodeids");
    int64_t i;

    out->n = n;
    out->in_order = true;
    out->keys = calloc((size_t)n + 1, sizeof *out->keys);
    if (!out->keys)
        return tfr_fail(err, TFR_ENOMEM, "no memory to sort %lld nodes", (long long)n);
    for (i = 0; i < n; i++) {
        out->keys[i] = (node_key){trees[i], ids[i], (int32_t)i};
        if (i && compare_ids(&out->keys[i - 1], &out->keys[i]) >= 0)
            out->in_order = false;
    }
    if (!out->in_order)
        qsort(out->keys, (size_t)n, sizeof *out->keys, compare_keys);
    return TFR_OK;
}

/* near: a node whose id says where this one is, if the ids of a tree have no gaps. */
static int32_t find_node(const node_keys *k, int64_t tree, int64_t id, int64_t near, int32_t *out,
                         tfr_err *err)
{
    node_key key = {tree, id, 0};
    const node_key *found = NULL;

    if (k->in_order && k->keys[near].id >= 0 && id >= 0 && id < k->n) {
        int64_t guess = near + (id - k->keys[near].id);
        if (guess >= 0 && guess < k->n && compare_ids(&k->keys[guess], &key) == 0)
            found = &k->keys[guess];
    }
    if (!found)
        found = bsearch(&key, k->keys, (size_t)k->n, sizeof *k->keys, compare_ids);
    if (!found)
        return tfr_fail(err, TFR_EINVAL, "tree %lld has no node %lld", (long long)tree,
                        (long long)id);
    *out = found->at;
    return TFR_OK;
}

static uint8_t mode_of(const tfr_string *text)
{
    static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                        "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
    uint8_t i = 0;

    while (i < NATIVE_TREE_MEMBER && strcmp(text->data, names[i]) != 0)
        i++;
    return i < NATIVE_TREE_MEMBER ? i : NATIVE_TREE_LEAF;
}

/* The nodes; children of leaves are not looked at. */
static int32_t read_nodes(const tfr_call *call, const node_keys *keys, native_trees *t,
                          tfr_err *err)
{
    const int64_t *trees = native_attr_ints(call, "nodes_treeids"),
                  *features = native_attr_ints(call, "nodes_featureids"),
                  *yes = native_attr_ints(call, "nodes_truenodeids"),
                  *no = native_attr_ints(call, "nodes_falsenodeids"),
                  *missing = native_attr_ints(call, "nodes_missing_value_tracks_true");
    const tfr_attr *modes = tfr_call_attr(call, "nodes_modes");
    const float *values = native_attr_floats(call, "nodes_values");
    int32_t status = TFR_OK, i;

    for (i = 0; i < t->n_nodes && !status; i++) {
        native_tree_node *node = &t->nodes[i];
        node->mode = mode_of(&modes->strings[i]);
        if (node->mode == NATIVE_TREE_LEAF)
            continue;
        node->feature = (int32_t)features[i];
        node->missing_true = missing && missing[i];
        node->value =
            values ? (double)values[i] : native_attr_value(call, "", "nodes_values_as_tensor", i);
        status = find_node(keys, trees[i], no[i], i, &node->next[0], err);
        if (!status)
            status = find_node(keys, trees[i], yes[i], i, &node->next[1], err);
    }
    return status;
}

static int32_t read_weights(const tfr_call *call, const native_tree_names *names,
                            const node_keys *keys, native_trees *t, tfr_err *err)
{
    const int64_t *targets = native_attr_ints(call, names->targets),
                  *nodes = native_attr_ints(call, names->nodes),
                  *trees = native_attr_ints(call, names->trees);
    const float *values = native_attr_floats(call, names->weights);
    int32_t status = TFR_OK, i, near = 0;
    bool in_order = true;

    for (i = 0; i < t->n_weights && !status; i++) {
        native_tree_weight *w = &t->weights[i];
        w->target = (int32_t)targets[i];
        w->value =
            values ? (double)values[i] : native_attr_value(call, "", names->weights_tensor, i);
        status = find_node(keys, trees[i], nodes[i], near, &w->node, err);
        near = keys->in_order ? w->node : 0;
        in_order = in_order && (i == 0 || compare_weights(w - 1, w) <= 0);
    }
    if (status)
        return status;
    if (!in_order)
        qsort(t->weights, (size_t)t->n_weights, sizeof *t->weights, compare_weights);
    for (i = t->n_weights - 1; i >= 0; i--) {
        t->nodes[t->weights[i].node].first = i;
        t->nodes[t->weights[i].node].n++;
    }
    return TFR_OK;
}

/* The first node of each tree is its root. */
static void read_roots(const node_keys *k, native_trees *t)
{
    int64_t i;

    for (i = 0; i < k->n; i++) {
        if (i == 0 || k->keys[i].tree != k->keys[i - 1].tree)
            t->roots[t->n_roots++] = k->keys[i].at;
        else if (k->keys[i].at < t->roots[t->n_roots - 1])
            t->roots[t->n_roots - 1] = k->keys[i].at;
    }
}

int32_t native_trees_read_ids(const tfr_call *call, const native_tree_names *names,
                              native_trees *out, tfr_err *err)
{
    int64_t n = native_attr_length(call, "nodes_treeids");
    int32_t status = make(out, n, native_attr_length(call, names->targets), 0, n, err);
    node_keys keys = {NULL, 0, false};

    if (!status)
        status = make_keys(call, n, &keys, err);
    if (!status) {
        read_roots(&keys, out);
        status = read_nodes(call, &keys, out, err);
    }
    if (!status)
        status = read_weights(call, names, &keys, out, err);
    free(keys.keys);
    return status;
}

/* ---- trees whose children are places: ai.onnx.ml 5 ---- */

/* The members of each MEMBER node in turn, ended by NaN. */
static void read_members(const tfr_call *call, native_trees *t, int64_t nodes)
{
    int64_t n = native_attr_length(call, "membership_values"), at = 0, i;

    for (i = 0; i < n; i++)
        t->members[i] = native_attr_value(call, "", "membership_values", i);
    for (i = 0; i < nodes; i++) {
        if (t->nodes[i].mode != NATIVE_TREE_MEMBER)
            continue;
        t->nodes[i].first = (int32_t)at;
        while (at < n && !isnan(t->members[at]))
            at++;
        t->nodes[i].n = (int32_t)at++ - t->nodes[i].first;
    }
}

int32_t native_trees_read(const tfr_call *call, native_trees *t, tfr_err *err)
{
    int64_t nodes = native_attr_length(call, "nodes_featureids"),
            leaves = native_attr_length(call, "leaf_targetids"),
            roots = native_attr_length(call, "tree_roots"), i;
    const int64_t *features = native_attr_ints(call, "nodes_featureids"),
                  *targets = native_attr_ints(call, "leaf_targetids"),
                  *yes = native_attr_ints(call, "nodes_truenodeids"),
                  *no = native_attr_ints(call, "nodes_falsenodeids"),
                  *yes_leaf = native_attr_ints(call, "nodes_trueleafs"),
                  *no_leaf = native_attr_ints(call, "nodes_falseleafs"),
                  *missing = native_attr_ints(call, "nodes_missing_value_tracks_true"),
                  *root = native_attr_ints(call, "tree_roots");
    const tfr_attr *modes = tfr_call_attr(call, "nodes_modes");
    int32_t status =
        make(t, nodes + leaves, leaves, native_attr_length(call, "membership_values"), roots, err);

    if (status)
        return status;
    for (i = 0; i < nodes; i++) {
        native_tree_node *node = &t->nodes[i];
        node->mode = ((const uint8_t *)modes->tensor->data)[i];
        node->feature = (int32_t)features[i];
        node->missing_true = missing && missing[i];
        node->value = native_attr_value(call, "", "nodes_splits", i);
        node->next[0] = (int32_t)(no[i] + (no_leaf[i] ? nodes : 0));
        node->next[1] = (int32_t)(yes[i] + (yes_leaf[i] ? nodes : 0));
    }
    for (i = 0; i < leaves; i++) {
        t->nodes[nodes + i] =
            (native_tree_node){.mode = NATIVE_TREE_LEAF, .first = (int32_t)i, .n = 1};
        t->weights[i] = (native_tree_weight){(int32_t)(nodes + i), (int32_t)targets[i],
                                             native_attr_value(call, "", "leaf_weights", i)};
    }
    read_members(call, t, nodes);
    t->n_roots = (int32_t)roots;
    for (i = 0; i < roots; i++)
        t->roots[i] = (int32_t)root[i];
    return TFR_OK;
}

/* ---- the walk of any tree ---- */

static bool holds(const native_trees *t, const native_tree_node *node, double x)
{
    int32_t i;

    if (isnan(x))
        return node->missing_true;
    switch (node->mode) {
    case NATIVE_TREE_LEQ:
        return x <= node->value;
    case NATIVE_TREE_LT:
        return x < node->value;
    case NATIVE_TREE_GTE:
        return x >= node->value;
    case NATIVE_TREE_GT:
        return x > node->value;
    case NATIVE_TREE_EQ:
        return x == node->value;
    case NATIVE_TREE_NEQ:
        return x != node->value;
    default:
        for (i = 0; i < node->n; i++)
            if (t->members[node->first + i] == x)
                return true;
        return false;
    }
}

int32_t native_trees_walk(const native_trees *trees, int32_t root, int32_t dtype, const void *row,
                          const native_tree_node **leaf, tfr_err *err)
{
    const native_tree_node *node = &trees->nodes[root];
    int32_t steps;

    for (steps = 0; node->mode != NATIVE_TREE_LEAF; steps++) {
        double x = dtype == TFR_DTYPE_F32 ? (double)((const float *)row)[node->feature]
                                          : ((const double *)row)[node->feature];
        if (steps > trees->n_nodes)
            return tfr_fail(err, TFR_EINVAL, "the tree from node %lld has a circle",
                            (long long)root);
        node = &trees->nodes[node->next[holds(trees, node, x)]];
    }
    *leaf = node;
    return TFR_OK;
}
