/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trees_flat.c: trees as compact nodes in breadth-first order, and the walk of eight at a time.
 *
 * A step waits for a node and a feature out of the cache, and which way it goes no processor can
 * predict. So steps have no branch, and eight of them, of eight samples in one tree or of one
 * sample in eight trees, wait together. Lanes that have reached a leaf stay there until all have;
 * that is looked at every fourth step.
 */
#include "trees.h"

#include <math.h>
#include <stdlib.h>

enum { STEPS = 4 };
#define MISSING (1u << 31)

/* ---- the compact form ---- */

/* The largest number of the samples' type that is at most v, or, with below, less than v. */
static double largest(double v, bool wide, bool below)
{
    float f;

    if (wide)
        return !below ? v : v == -INFINITY ? NAN : nextafter(v, -INFINITY);
    if (v == -INFINITY)
        return below ? NAN : v;
    if (v > (double)HUGE_VALF || !(v >= -3.5e38)) /* less than all floats but -infinity, or NaN */
        return isnan(v) ? NAN : -INFINITY;
    f = v < 3.5e38 ? (float)v : HUGE_VALF;
    if ((double)f > v || (below && (double)f == v))
        f = nextafterf(f, -HUGE_VALF);
    return (double)f;
}

static bool has_form(const native_tree_node *node)
{
    return node->mode <= NATIVE_TREE_GT || node->mode == NATIVE_TREE_LEAF;
}

static void put(native_flat_trees *f, uint32_t at, double value, uint32_t feature, uint32_t child)
{
    if (f->nodes32)
        f->nodes32[at] = (native_flat_node32){(float)value, feature, child};
    else
        f->nodes64[at] = (native_flat_node64){value, feature, child};
}

/* Node `at` with its children at `child`; how they stand goes to order. */
static void put_branch(native_flat_trees *f, uint32_t at, const native_tree_node *node,
                       uint32_t child, int32_t order[2])
{
    bool below = node->mode == NATIVE_TREE_LT || node->mode == NATIVE_TREE_GTE;
    bool other = (node->mode == NATIVE_TREE_GTE || node->mode == NATIVE_TREE_GT) &&
                 !isnan(node->value); /* nothing is true of NaN */
    bool missing = node->missing_true != other;

    put(f, at, largest(node->value, f->nodes64 != NULL, below),
        (uint32_t)node->feature | (missing ? MISSING : 0), child);
    f->missing_least = f->missing_least || missing;
    order[0] = node->next[other];
    order[1] = node->next[!other];
}

/* *row: of weights, the next one. */
static void put_leaf(native_flat_trees *f, uint32_t at, const native_trees *t,
                     const native_tree_node *node, int64_t *row)
{
    int32_t i;

    put(f, at, NAN, 0, at);
    f->leaf[at] = (uint32_t)*row;
    for (i = 0; i < node->n; i++) {
        const native_tree_weight *w = &t->weights[node->first + i];
        f->weights[*row + w->target] = w->value;
    }
    f->full = f->full && node->n == f->targets;
    *row += f->targets;
}

/*
 * A tree that is one leaf has it twice in TreeEnsemble, as both children of its root, so that there
 * may be more nodes than were given.
 */
static uint32_t most_nodes(const native_trees *t)
{
    return (uint32_t)t->n_nodes + 2 * (uint32_t)t->n_roots;
}

/* What trees fill, and what there is to fill. */
typedef struct filling {
    int32_t *origin; /* which node of the given form each one is */
    uint32_t n;
    int64_t row, rows;
} filling;

/* False: there are too many nodes or leaves, so that some have two parents. */
static bool flatten_tree(native_flat_trees *f, const native_trees *t, int32_t tree, filling *fill)
{
    uint32_t begin = fill->n, end = begin + 1, limit = most_nodes(t);

    if (begin >= limit)
        return false;
    f->roots[tree] = begin;
    fill->origin[begin] = t->roots[tree];
    for (; begin < end; f->depths[tree]++) {
        uint32_t next = end;
        for (; begin < end; begin++) {
            const native_tree_node *node = &t->nodes[fill->origin[begin]];
            if (node->mode == NATIVE_TREE_LEAF) {
                if (fill->row >= fill->rows)
                    return false;
                put_leaf(f, begin, t, node, &fill->row);
                continue;
            }
            if (!has_form(node) || limit - next < 2)
                return false;
            put_branch(f, begin, node, next, &fill->origin[next]);
            next += 2;
        }
        end = next;
    }
    fill->n = end;
    return true;
}

/* Whether rows of all targets for each leaf are not much more than the weights, and none is twice.
 * *rows: the length of all. */
static bool is_dense(const native_trees *t, int32_t targets, int64_t *rows)
{
    int32_t i;

    *rows = 0;
    for (i = 0; i < t->n_nodes; i++)
        *rows += t->nodes[i].mode == NATIVE_TREE_LEAF ? targets : 0;
    *rows += (int64_t)t->n_roots * targets;
    for (i = 1; i < t->n_weights; i++)
        if (t->weights[i].node == t->weights[i - 1].node &&
            t->weights[i].target == t->weights[i - 1].target)
            return false;
    return *rows <= 8 * (int64_t)t->n_weights + 1024 && *rows < INT32_MAX;
}

static bool allocate(native_flat_trees *f, const native_trees *t, bool wide, int64_t rows)
{
    size_t n = (size_t)most_nodes(t) + 1;

    if (wide)
        f->nodes64 = malloc(n * sizeof *f->nodes64);
    else
        f->nodes32 = malloc(n * sizeof *f->nodes32);
    f->leaf = calloc(n, sizeof *f->leaf);
    f->roots = calloc((size_t)t->n_roots + 1, sizeof *f->roots);
    f->depths = calloc((size_t)t->n_roots + 1, sizeof *f->depths);
    f->weights = calloc((size_t)rows + 1, sizeof *f->weights);
    return (wide ? (void *)f->nodes64 : (void *)f->nodes32) && f->leaf && f->roots && f->depths &&
           f->weights;
}

int32_t native_flatten(const native_trees *trees, bool wide, int32_t targets,
                       native_flat_trees *out, bool *made, tfr_err *err)
{
    native_flat_trees f = {.targets = targets, .n_roots = trees->n_roots, .full = true};
    filling fill = {NULL, 0, 0, 0};
    bool ok = is_dense(trees, targets, &fill.rows);
    int32_t i;

    *made = false;
    if (!ok)
        return TFR_OK;
    fill.origin = malloc(((size_t)most_nodes(trees) + 1) * sizeof *fill.origin);
    if (!fill.origin || !allocate(&f, trees, wide, fill.rows)) {
        free(fill.origin);
        native_flat_free(&f);
        return tfr_fail(err, TFR_ENOMEM, "no memory for %ld nodes of trees", (long)trees->n_nodes);
    }
    for (i = 0; ok && i < trees->n_roots; i++) {
        ok = flatten_tree(&f, trees, i, &fill);
        f.steps += f.depths[i];
    }
    free(fill.origin);
    if (ok)
        *out = f;
    else
        native_flat_free(&f);
    *made = ok;
    return TFR_OK;
}

void native_flat_free(native_flat_trees *f)
{
    free(f->nodes32);
    free(f->nodes64);
    free(f->leaf);
    free(f->roots);
    free(f->depths);
    free(f->weights);
}

/* ---- the walk ---- */

#define WALK(name, node_type, type, step)                                                          \
    static void name(const node_type *nodes, const void *const *given, int32_t depth,              \
                     uint32_t *at)                                                                 \
    {                                                                                              \
        const type *rows[NATIVE_TREE_LANES];                                                       \
        uint32_t to[NATIVE_TREE_LANES], moved = 1;                                                 \
        int l, s;                                                                                  \
        for (l = 0; l < NATIVE_TREE_LANES; l++) {                                                  \
            rows[l] = given[l];                                                                    \
            to[l] = at[l];                                                                         \
        }                                                                                          \
        for (; depth > 0 && moved; depth -= STEPS) {                                               \
            for (s = 1; s < STEPS; s++)                                                            \
                _Pragma("GCC unroll 8") for (l = 0; l < NATIVE_TREE_LANES; l++)                    \
                {                                                                                  \
                    const node_type *node = nodes + to[l];                                         \
                    to[l] = node->child + (step);                                                  \
                }                                                                                  \
            moved = 0;                                                                             \
            _Pragma("GCC unroll 8") for (l = 0; l < NATIVE_TREE_LANES; l++)                        \
            {                                                                                      \
                const node_type *node = nodes + to[l];                                             \
                uint32_t next = node->child + (step);                                              \
                moved |= next ^ to[l];                                                             \
                to[l] = next;                                                                      \
            }                                                                                      \
        }                                                                                          \
        for (l = 0; l < NATIVE_TREE_LANES; l++)                                                    \
            at[l] = to[l];                                                                         \
    }

#define X      rows[l][node->feature & ~MISSING]
#define LEAST  (uint32_t)(X <= node->value)
#define MISSED ((uint32_t)(X != X) & node->feature >> 31)

WALK(walk32, native_flat_node32, float, LEAST)
WALK(walk64, native_flat_node64, double, LEAST)
WALK(walk_missing32, native_flat_node32, float, LEAST | MISSED)
WALK(walk_missing64, native_flat_node64, double, LEAST | MISSED)

void native_flat_walk(const native_flat_trees *f, const void *const *rows, int32_t depth,
                      bool missing, uint32_t *at)
{
    missing = missing && f->missing_least;
    if (f->nodes32)
        (missing ? walk_missing32 : walk32)(f->nodes32, rows, depth, at);
    else
        (missing ? walk_missing64 : walk64)(f->nodes64, rows, depth, at);
}
