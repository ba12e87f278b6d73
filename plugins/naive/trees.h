/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trees.h: decision trees as the ops of tree_ensemble.c walk them, whichever form of attributes
 * they came in. Nodes and leaves are numbered together.
 */
#ifndef NAIVE_TREES_H
#define NAIVE_TREES_H

#include "ml.h"

/* The numbers are those of TreeEnsemble's nodes_modes. */
typedef enum naive_tree_mode {
    NAIVE_TREE_LEQ,
    NAIVE_TREE_LT,
    NAIVE_TREE_GTE,
    NAIVE_TREE_GT,
    NAIVE_TREE_EQ,
    NAIVE_TREE_NEQ,
    NAIVE_TREE_MEMBER,
    NAIVE_TREE_LEAF
} naive_tree_mode;

typedef struct naive_tree_node {
    naive_tree_mode mode;
    bool missing_true; /* where NaN goes */
    int64_t feature;
    double value;     /* what the feature is compared with */
    int64_t first, n; /* leaf: its weights; MEMBER: its members */
    int64_t next[2];  /* the node if the comparison is false, and if it is true */
} naive_tree_node;

/* What a leaf adds to a target or class. */
typedef struct naive_tree_weight {
    int64_t node, target;
    double value;
} naive_tree_weight;

typedef struct naive_trees {
    naive_tree_node *nodes;
    naive_tree_weight *weights; /* by node, then target */
    double *members;
    int64_t *roots;
    int64_t n_nodes, n_weights, n_roots;
} naive_trees;

/* The attributes that hold the weights of TreeEnsembleRegressor or TreeEnsembleClassifier. */
typedef struct naive_tree_names {
    const char *targets, *nodes, *trees, *weights, *weights_tensor;
} naive_tree_names;

/* Reads the trees into memory of the kernel, which *out points into. */
int32_t naive_trees_read_ids(naive_kernel *k, const naive_tree_names *names, naive_trees **out,
                             tfr_err *err);
int32_t naive_trees_read(naive_kernel *k, naive_trees **out, tfr_err *err);

/* The leaf that sample n of x falls into. Nodes that form a circle are TFR_EINVAL. */
int32_t naive_trees_walk(const naive_trees *trees, int64_t root, const naive_tensor *x, int64_t n,
                         const naive_tree_node **leaf, tfr_err *err);

/* Value i of the attribute `list` or, if that is empty, of `tensor`; 0 if both are. */
double naive_tree_float(const tfr_call *call, const char *list, const char *tensor, int64_t i);

#endif
