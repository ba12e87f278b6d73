/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trees.c: reads the attributes of tree ensembles into one form and walks trees. The core has
 * checked that what they name exists; here node ids are looked up and circles found.
 */
#include "trees.h"

#include <math.h>
#include <stdlib.h>

double naive_tree_float(const tfr_call *call, const char *list, const char *tensor, int64_t i)
{
    uint64_t n;
    const float *values = naive_attr_floats(call, list, &n);
    const tfr_attr *t = tfr_call_attr(call, tensor);

    if (n)
        return (double)values[i];
    return t && t->tensor ? naive_get(t->tensor->dtype, t->tensor->data, i) : 0;
}

static int64_t length(const tfr_call *call, const char *name)
{
    const tfr_attr *a = tfr_call_attr(call, name);

    if (!a)
        return 0;
    return a->tensor ? tfr_operand_elements(a->tensor) : (int64_t)a->n;
}

static const int64_t *ints(const tfr_call *call, const char *name)
{
    uint64_t n;

    return naive_attr_ints(call, name, &n);
}

/* Memory for so many of everything. */
static int32_t make(naive_kernel *k, int64_t nodes, int64_t weights, int64_t members, int64_t roots,
                    naive_trees **out, tfr_err *err)
{
    naive_trees *t = naive_keep(k, sizeof(*t));

    if (t) {
        t->nodes = naive_keep(k, (size_t)nodes * sizeof(*t->nodes));
        t->weights = naive_keep(k, (size_t)weights * sizeof(*t->weights));
        t->members = naive_keep(k, (size_t)members * sizeof(*t->members));
        t->roots = naive_keep(k, (size_t)roots * sizeof(*t->roots));
    }
    if (!t || !t->nodes || !t->weights || !t->members || !t->roots)
        return tfr_fail(err, TFR_ENOMEM, "no memory for %lld nodes of trees", (long long)nodes);
    t->n_nodes = nodes;
    t->n_weights = weights;
    *out = t;
    return TFR_OK;
}

/* ---- trees whose nodes have ids: ai.onnx.ml 1 to 3 ---- */

/* Where the node with these ids is. */
typedef struct node_key {
    int64_t tree, id, at;
} node_key;

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
    const naive_tree_weight *x = a, *y = b;

    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->target < y->target ? -1 : x->target > y->target;
}

static int32_t find_node(const node_key *keys, int64_t n, int64_t tree, int64_t id, int64_t *out,
                         tfr_err *err)
{
    node_key key = {tree, id, 0};
    const node_key *found = bsearch(&key, keys, (size_t)n, sizeof(*keys), compare_ids);

    if (!found)
        return tfr_fail(err, TFR_EINVAL, "tree %lld has no node %lld", (long long)tree,
                        (long long)id);
    *out = found->at;
    return TFR_OK;
}

static naive_tree_mode mode_of(const tfr_string *text)
{
    static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                        "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
    int i = 0;

    while (i < NAIVE_TREE_MEMBER && strcmp(text->data, names[i]) != 0)
        i++;
    return i < NAIVE_TREE_MEMBER ? (naive_tree_mode)i : NAIVE_TREE_LEAF;
}

/* The nodes; children of leaves are not looked at. */
static int32_t read_nodes(const tfr_call *call, const node_key *keys, naive_trees *t, tfr_err *err)
{
    const int64_t *trees = ints(call, "nodes_treeids"), *features = ints(call, "nodes_featureids"),
                  *yes = ints(call, "nodes_truenodeids"), *no = ints(call, "nodes_falsenodeids"),
                  *missing = ints(call, "nodes_missing_value_tracks_true");
    const tfr_attr *modes = tfr_call_attr(call, "nodes_modes");
    int32_t status = TFR_OK;
    int64_t i;

    for (i = 0; i < t->n_nodes && !status; i++) {
        naive_tree_node *node = &t->nodes[i];
        node->mode = mode_of(&modes->strings[i]);
        if (node->mode == NAIVE_TREE_LEAF)
            continue;
        node->feature = features[i];
        node->missing_true = missing && missing[i];
        node->value = naive_tree_float(call, "nodes_values", "nodes_values_as_tensor", i);
        status = find_node(keys, t->n_nodes, trees[i], no[i], &node->next[0], err);
        if (!status)
            status = find_node(keys, t->n_nodes, trees[i], yes[i], &node->next[1], err);
    }
    return status;
}

static int32_t read_weights(const tfr_call *call, const naive_tree_names *names,
                            const node_key *keys, naive_trees *t, tfr_err *err)
{
    const int64_t *targets = ints(call, names->targets), *nodes = ints(call, names->nodes),
                  *trees = ints(call, names->trees);
    int32_t status = TFR_OK;
    int64_t i;

    for (i = 0; i < t->n_weights && !status; i++) {
        naive_tree_weight *w = &t->weights[i];
        w->target = targets[i];
        w->value = naive_tree_float(call, names->weights, names->weights_tensor, i);
        status = find_node(keys, t->n_nodes, trees[i], nodes[i], &w->node, err);
    }
    if (status)
        return status;
    qsort(t->weights, (size_t)t->n_weights, sizeof(*t->weights), compare_weights);
    for (i = t->n_weights - 1; i >= 0; i--) {
        t->nodes[t->weights[i].node].first = i;
        t->nodes[t->weights[i].node].n++;
    }
    return TFR_OK;
}

/* The first node of each tree is its root. */
static void read_roots(const node_key *keys, naive_trees *t)
{
    int64_t i;

    for (i = 0; i < t->n_nodes; i++) {
        if (i == 0 || keys[i].tree != keys[i - 1].tree)
            t->roots[t->n_roots++] = keys[i].at;
        else if (keys[i].at < t->roots[t->n_roots - 1])
            t->roots[t->n_roots - 1] = keys[i].at;
    }
}

int32_t naive_trees_read_ids(naive_kernel *k, const naive_tree_names *names, naive_trees **out,
                             tfr_err *err)
{
    const tfr_call *call = &k->call;
    int64_t n = length(call, "nodes_treeids"), i;
    const int64_t *trees = ints(call, "nodes_treeids"), *ids = ints(call, "nodes_nodeids");
    int32_t status = make(k, n, length(call, names->targets), 0, n, out, err);
    node_key *keys;

    if (status)
        return status;
    keys = calloc((size_t)n, sizeof(*keys));
    if (!keys)
        return tfr_fail(err, TFR_ENOMEM, "no memory to sort %lld nodes", (long long)n);
    for (i = 0; i < n; i++)
        keys[i] = (node_key){trees[i], ids[i], i};
    qsort(keys, (size_t)n, sizeof(*keys), compare_keys);
    read_roots(keys, *out);
    status = read_nodes(call, keys, *out, err);
    if (!status)
        status = read_weights(call, names, keys, *out, err);
    free(keys);
    return status;
}

/* ---- trees whose children are places: ai.onnx.ml 5 ---- */

/* The members of each MEMBER node in turn, ended by NaN. */
static void read_members(const tfr_call *call, naive_trees *t, int64_t nodes)
{
    const tfr_attr *a = tfr_call_attr(call, "membership_values");
    int64_t n = length(call, "membership_values"), at = 0, i;

    for (i = 0; i < n; i++)
        t->members[i] = naive_get(a->tensor->dtype, a->tensor->data, i);
    for (i = 0; i < nodes; i++) {
        if (t->nodes[i].mode != NAIVE_TREE_MEMBER)
            continue;
        t->nodes[i].first = at;
        while (at < n && !isnan(t->members[at]))
            at++;
        t->nodes[i].n = at++ - t->nodes[i].first;
    }
}

int32_t naive_trees_read(naive_kernel *k, naive_trees **out, tfr_err *err)
{
    const tfr_call *call = &k->call;
    int64_t nodes = length(call, "nodes_featureids"), leaves = length(call, "leaf_targetids"), i;
    int64_t roots = length(call, "tree_roots");
    const int64_t *features = ints(call, "nodes_featureids"),
                  *targets = ints(call, "leaf_targetids"), *yes = ints(call, "nodes_truenodeids"),
                  *no = ints(call, "nodes_falsenodeids"), *yes_leaf = ints(call, "nodes_trueleafs"),
                  *no_leaf = ints(call, "nodes_falseleafs"),
                  *missing = ints(call, "nodes_missing_value_tracks_true");
    const tfr_attr *modes = tfr_call_attr(call, "nodes_modes");
    int32_t status =
        make(k, nodes + leaves, leaves, length(call, "membership_values"), roots, out, err);
    naive_trees *t;

    if (status)
        return status;
    t = *out;
    for (i = 0; i < nodes; i++) {
        naive_tree_node *node = &t->nodes[i];
        node->mode = (naive_tree_mode)((const uint8_t *)modes->tensor->data)[i];
        node->feature = features[i];
        node->missing_true = missing && missing[i];
        node->value = naive_tree_float(call, "", "nodes_splits", i);
        node->next[0] = no[i] + (no_leaf[i] ? nodes : 0);
        node->next[1] = yes[i] + (yes_leaf[i] ? nodes : 0);
    }
    for (i = 0; i < leaves; i++) {
        t->nodes[nodes + i] = (naive_tree_node){.mode = NAIVE_TREE_LEAF, .first = i, .n = 1};
        t->weights[i] = (naive_tree_weight){nodes + i, targets[i],
                                            naive_tree_float(call, "", "leaf_weights", i)};
    }
    read_members(call, t, nodes);
    t->n_roots = roots;
    for (i = 0; i < roots; i++)
        t->roots[i] = ints(call, "tree_roots")[i];
    return TFR_OK;
}

/* ---- the walk ---- */

static bool holds(const naive_trees *t, const naive_tree_node *node, double x)
{
    int64_t i;

    if (isnan(x))
        return node->missing_true;
    switch (node->mode) {
    case NAIVE_TREE_LEQ:
        return x <= node->value;
    case NAIVE_TREE_LT:
        return x < node->value;
    case NAIVE_TREE_GTE:
        return x >= node->value;
    case NAIVE_TREE_GT:
        return x > node->value;
    case NAIVE_TREE_EQ:
        return x == node->value;
    case NAIVE_TREE_NEQ:
        return x != node->value;
    default:
        for (i = 0; i < node->n; i++)
            if (t->members[node->first + i] == x)
                return true;
        return false;
    }
}

int32_t naive_trees_walk(const naive_trees *trees, int64_t root, const naive_tensor *x, int64_t n,
                         const naive_tree_node **leaf, tfr_err *err)
{
    const naive_tree_node *node = &trees->nodes[root];
    int64_t steps;

    for (steps = 0; node->mode != NAIVE_TREE_LEAF; steps++) {
        if (steps > trees->n_nodes)
            return tfr_fail(err, TFR_EINVAL, "the tree from node %lld has a circle",
                            (long long)root);
        node = &trees->nodes[node->next[holds(
            trees, node, naive_read(x, n * naive_features(x) + node->feature))]];
    }
    *leaf = node;
    return TFR_OK;
}
