/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trees.h: decision trees, read from either form of attributes, and a compact form of them that
 * several samples or several trees are walked in at once.
 */
#ifndef NATIVE_TREES_H
#define NATIVE_TREES_H

#include "ml.h"

/* The numbers are those of TreeEnsemble's nodes_modes. */
typedef enum native_tree_mode {
    NATIVE_TREE_LEQ,
    NATIVE_TREE_LT,
    NATIVE_TREE_GTE,
    NATIVE_TREE_GT,
    NATIVE_TREE_EQ,
    NATIVE_TREE_NEQ,
    NATIVE_TREE_MEMBER,
    NATIVE_TREE_LEAF
} native_tree_mode;

typedef struct native_tree_node {
    double value; /* what the feature is compared with */
    int32_t feature;
    int32_t next[2];  /* the node if the comparison is false, and if it is true */
    int32_t first, n; /* leaf: its weights; MEMBER: its members */
    uint8_t mode;
    bool missing_true; /* where NaN goes */
} native_tree_node;

/* What a leaf adds to a target or class. */
typedef struct native_tree_weight {
    int32_t node, target;
    double value;
} native_tree_weight;

typedef struct native_trees {
    native_tree_node *nodes;
    native_tree_weight *weights; /* by node, then target */
    double *members;
    int32_t *roots;
    int32_t n_nodes, n_weights, n_roots;
} native_trees;

/* The attributes that hold the weights of TreeEnsembleRegressor or TreeEnsembleClassifier. */
typedef struct native_tree_names {
    const char *targets, *nodes, *trees, *weights, *weights_tensor;
} native_tree_names;

/* Reads the trees into memory that native_trees_free frees, after an error, too. */
int32_t native_trees_read_ids(const tfr_call *call, const native_tree_names *names,
                              native_trees *out, tfr_err *err);
int32_t native_trees_read(const tfr_call *call, native_trees *out, tfr_err *err);
void native_trees_free(native_trees *trees);

/* The leaf that a sample falls into. Nodes that form a circle are TFR_EINVAL. */
int32_t native_trees_walk(const native_trees *trees, int32_t root, int32_t dtype, const void *row,
                          const native_tree_node **leaf, tfr_err *err);

/* ---- trees_flat.c ---- */

/*
 * Each node asks whether its feature is at most its value, and its children lie side by side, so
 * that a step is an addition: to the first one, or if so, to the one behind it. A leaf compares
 * with NaN and is its own first child. The other comparisons become this one with another value, or
 * with the children exchanged; trees with EQ, NEQ or MEMBER, and nodes with two parents have no
 * such form.
 */
typedef struct native_flat_node32 {
    float value;
    uint32_t feature; /* the highest bit: NaN counts as at most the value */
    uint32_t child;
} native_flat_node32;

typedef struct native_flat_node64 {
    double value;
    uint32_t feature, child;
} native_flat_node64;

enum { NATIVE_TREE_LANES = 8 };

typedef struct native_flat_trees {
    native_flat_node32 *nodes32; /* for samples of float32, or */
    native_flat_node64 *nodes64; /* of double */
    uint32_t *roots;
    uint32_t *leaf;  /* for each node: where its weights are */
    double *weights; /* [leaves, targets]; 0 where a leaf does not speak of a target */
    int32_t *depths; /* of each tree: steps to its lowest leaf */
    int32_t n_roots, targets;
    int64_t steps;      /* of all trees, at most */
    bool missing_least; /* somewhere NaN counts as at most the value */
    bool full;          /* every leaf speaks of every target */
} native_flat_trees;

/* *made = false: they have none. targets: how many a leaf may speak of. */
int32_t native_flatten(const native_trees *trees, bool wide, int32_t targets,
                       native_flat_trees *out, bool *made, tfr_err *err);
void native_flat_free(native_flat_trees *flat);

/* Places at[lane] become those of leaves; rows: of float or double. depth: of the deepest tree. */
void native_flat_walk(const native_flat_trees *flat, const void *const *rows, int32_t depth,
                      bool missing, uint32_t *at);

#endif
