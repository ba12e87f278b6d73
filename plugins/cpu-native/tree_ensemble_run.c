/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_ensemble_run.c: the launch of a tree ensemble.
 *
 * Threads share blocks of samples; a block goes through one tree after the other, whose nodes then
 * stay in the nearest cache. Few samples share the trees instead. Either way a sample's weights are
 * added in the order of the trees and in double: the bits are naive's, whatever the threads.
 */
#include "tree_ensemble.h"

#include <pthread.h>
#include <string.h>

enum {
    LANES = NATIVE_TREE_LANES,
    BLOCK = 64,              /* samples */
    STEPS_FOR_THREADS = 8000 /* steps from node to node that are worth waking a thread */
};

typedef struct work {
    const native_ensemble *state;
    const char *x; /* floats, or doubles */
    double *converted, *scores, *seen;
    uint32_t *found; /* [trees, N], if threads share trees */
    void *y, *z;
    int64_t *labels;
    const void *given_x;
    int64_t block;
    pthread_mutex_t lock; /* of what follows */
    int64_t failed_row;
    int32_t status;
    tfr_err err;
} work;

/* ---- scores ---- */

static void start_scores(work *w, int64_t begin, int64_t end)
{
    size_t columns = (size_t)w->state->columns, n = (size_t)(end - begin) * columns;

    memset(w->scores + (size_t)begin * columns, 0, n * sizeof *w->scores);
    memset(w->seen + (size_t)begin * columns, 0, n * sizeof *w->seen);
}

/* Weight v for a target, whose first one it may be. */
static void add_weight(native_aggregate how, double v, double *score, double *seen)
{
    if (how == NATIVE_TREES_SUM || how == NATIVE_TREES_AVERAGE)
        *score += v;
    else if (!*seen || (how == NATIVE_TREES_MIN ? v < *score : v > *score))
        *score = v;
    *seen = 1;
}

static void add_flat_leaf(work *w, int64_t row, uint32_t at)
{
    const native_ensemble *s = w->state;
    const double *weights = s->flat.weights + s->flat.leaf[at];
    double *scores = w->scores + row * s->columns, *seen = w->seen + row * s->columns;
    int32_t t;

    if (s->how == NATIVE_TREES_SUM || s->how == NATIVE_TREES_AVERAGE)
        for (t = 0; t < s->columns; t++)
            scores[t] += weights[t];
    else
        for (t = 0; t < s->columns; t++)
            add_weight(s->how, weights[t], scores + t, seen + t);
}

static const void *row_of(const work *w, int64_t row)
{
    return w->x + row * w->state->F * (native_ensemble_is_wide(w->state->dtype) ? 8 : 4);
}

static bool has_nan(const work *w, int64_t begin, int64_t end)
{
    int64_t n = (end - begin) * w->state->F, i;
    bool found = false;

    if (native_ensemble_is_wide(w->state->dtype)) {
        const double *x = row_of(w, begin);
        for (i = 0; i < n; i++)
            found |= x[i] != x[i];
    } else {
        const float *x = row_of(w, begin);
        for (i = 0; i < n; i++)
            found |= x[i] != x[i];
    }
    return found;
}

/* Trees [begin, end) of one sample; at: their leaves. */
static void walk_trees(const work *w, int64_t row, bool missing, int64_t begin, int64_t end,
                       uint32_t *at)
{
    const native_flat_trees *f = &w->state->flat;
    const void *rows[LANES];
    int64_t tree;
    int l;

    for (l = 0; l < LANES; l++)
        rows[l] = row_of(w, row);
    for (tree = begin; tree < end; tree += LANES) {
        int n = end - tree < LANES ? (int)(end - tree) : LANES;
        uint32_t lanes[LANES];
        int32_t depth = 0;
        for (l = 0; l < LANES; l++) {
            int64_t t = tree + (l < n ? l : 0);
            lanes[l] = f->roots[t];
            depth = f->depths[t] > depth ? f->depths[t] : depth;
        }
        native_flat_walk(f, rows, depth, missing, lanes);
        memcpy(at + (tree - begin), lanes, (size_t)n * sizeof *at);
    }
}

enum { TREES_AT_ONCE = 64 };

static void score_one(work *w, int64_t row, bool missing)
{
    const native_flat_trees *f = &w->state->flat;
    uint32_t at[TREES_AT_ONCE];
    int64_t tree, i, n;

    for (tree = 0; tree < f->n_roots; tree += n) {
        n = f->n_roots - tree < TREES_AT_ONCE ? f->n_roots - tree : TREES_AT_ONCE;
        walk_trees(w, row, missing, tree, tree + n, at);
        for (i = 0; i < n; i++)
            add_flat_leaf(w, row, at[i]);
    }
}

/* Samples in groups of lanes through each tree; those that are left one by one. */
static void score_flat(work *w, int64_t begin, int64_t end)
{
    const native_flat_trees *f = &w->state->flat;
    bool missing = f->missing_least && has_nan(w, begin, end);
    int64_t whole = begin + (end - begin) / LANES * LANES, row;
    int32_t tree;
    int l;

    for (tree = 0; whole > begin && tree < f->n_roots; tree++) {
        for (row = begin; row < whole; row += LANES) {
            const void *rows[LANES];
            uint32_t at[LANES];
            for (l = 0; l < LANES; l++) {
                rows[l] = row_of(w, row + l);
                at[l] = f->roots[tree];
            }
            native_flat_walk(f, rows, f->depths[tree], missing, at);
            for (l = 0; l < LANES; l++)
                add_flat_leaf(w, row + l, at[l]);
        }
    }
    for (row = whole; row < end; row++)
        score_one(w, row, missing);
}

static int32_t score_any(work *w, int64_t row, tfr_err *err)
{
    const native_ensemble *s = w->state;
    double *scores = w->scores + row * s->columns, *seen = w->seen + row * s->columns;
    const native_tree_node *leaf = NULL;
    int32_t status, tree, i;

    for (tree = 0; tree < s->trees.n_roots; tree++) {
        status =
            native_trees_walk(&s->trees, s->trees.roots[tree],
                              native_ensemble_is_wide(s->dtype) ? TFR_DTYPE_F64 : TFR_DTYPE_F32,
                              row_of(w, row), &leaf, err);
        if (status)
            return status;
        for (i = leaf->first; i < leaf->first + leaf->n; i++) {
            const native_tree_weight *weight = &s->trees.weights[i];
            add_weight(s->how, weight->value, scores + weight->target, seen + weight->target);
        }
    }
    return TFR_OK;
}

/* ---- results ---- */

static void finish_row(const work *w, int64_t row)
{
    const native_ensemble *s = w->state;
    int32_t t, columns = s->columns;
    double *scores = w->scores + row * columns;
    void *z = s->classifier ? w->z : w->y;

    for (t = 0; s->how == NATIVE_TREES_AVERAGE && s->trees.n_roots && t < columns; t++)
        scores[t] /= (double)s->trees.n_roots;
    for (t = 0; t < columns; t++)
        scores[t] += s->base[t];
    if (s->classifier && (s->only >= 0 || s->labels.n == 1)) {
        scores[1] = scores[s->only >= 0 ? s->only : 0];
        scores[0] = (s->mirror ? 0 : 1) - scores[1];
    }
    native_transform_scores(s->transform, scores, columns);
    if (s->classifier) {
        int64_t best = native_best(scores, columns);
        if (s->labels.n == 1)
            best--;
        w->labels[row] = best < 0 ? 0 : s->labels.numbers[best];
    }
    for (t = 0; z && t < columns; t++) {
        if (s->y_dtype == TFR_DTYPE_F64)
            ((double *)z)[row * columns + t] = scores[t];
        else
            ((float *)z)[row * columns + t] = (float)scores[t];
    }
}

static void fail_row(work *w, int64_t row, int32_t status, const tfr_err *err)
{
    pthread_mutex_lock(&w->lock);
    if (!w->status || row < w->failed_row) {
        w->status = status;
        w->failed_row = row;
        w->err = *err;
    }
    pthread_mutex_unlock(&w->lock);
}

static void run_blocks(void *user, int64_t first, int64_t last)
{
    work *w = user;
    const native_ensemble *s = w->state;
    int64_t begin = first * w->block, end = last * w->block < s->N ? last * w->block : s->N, row;
    tfr_err err = TFR_ERR_INIT;

    if (end - begin > w->block) { /* more than a block at once */
        for (; first < last; first++)
            run_blocks(user, first, first + 1);
        return;
    }
    if (w->converted)
        native_read_doubles(s->dtype, w->given_x, begin * s->F, (end - begin) * s->F,
                            w->converted + begin * s->F);
    start_scores(w, begin, end);
    if (s->is_flat)
        score_flat(w, begin, end);
    for (row = begin; row < end; row++) {
        int32_t status = s->is_flat ? TFR_OK : score_any(w, row, &err);
        if (status) {
            fail_row(w, row, status, &err);
            return;
        }
        finish_row(w, row);
    }
}

/* Groups of trees of all samples, which are few. */
static void run_groups(void *user, int64_t first, int64_t last)
{
    work *w = user;
    const native_ensemble *s = w->state;
    int64_t begin = first * LANES, n = s->flat.n_roots, row;
    int64_t end = last * LANES < n ? last * LANES : n;

    for (row = 0; row < s->N; row++)
        walk_trees(w, row, true, begin, end, w->found + row * n + begin);
}

static void run_few(work *w, const tfr_plugin_device *device)
{
    const native_ensemble *s = w->state;
    int64_t groups = (s->flat.n_roots + LANES - 1) / LANES, row, tree;

    if (w->converted)
        native_read_doubles(s->dtype, w->given_x, 0, s->N * s->F, w->converted);
    device->host->parallel_for(run_groups, w, groups, (groups + s->threads - 1) / s->threads);
    start_scores(w, 0, s->N);
    for (row = 0; row < s->N; row++) {
        for (tree = 0; tree < s->flat.n_roots; tree++)
            add_flat_leaf(w, row, w->found[row * s->flat.n_roots + tree]);
        finish_row(w, row);
    }
}

static int64_t block_of(const native_ensemble *s)
{
    int64_t share = (s->N + s->threads * LANES - 1) / (s->threads * LANES) * LANES;

    return share < BLOCK ? share : BLOCK;
}

int32_t native_ensemble_run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                            tfr_err *err)
{
    const native_ensemble *s = user;
    work w = {.state = s, .block = block_of(s), .lock = PTHREAD_MUTEX_INITIALIZER};
    int64_t scores = s->N * s->columns, blocks = (s->N + w.block - 1) / w.block;
    bool convert = native_ensemble_converts(s->dtype);
    double *after;
    int64_t steps = s->is_flat ? s->flat.steps : (int64_t)s->trees.n_roots * 32;

    w.given_x = native_argument(launch, 0, s->known_x);
    w.scores = launch->workspace;
    w.seen = w.scores + scores;
    w.converted = convert ? w.seen + scores : NULL;
    after = w.seen + scores + (convert ? s->N * s->F : 0);
    w.x = convert ? (const char *)w.converted : w.given_x;
    w.y = launch->args[1].address;
    w.labels = native_labels_at(&s->labels, w.y, after);
    w.found = (uint32_t *)(void *)(after + (s->labels.words ? s->N : 0));
    w.z = s->classifier && launch->n_args > 2 ? launch->args[2].address : NULL;
    if (s->threads == 1 || steps * s->N < STEPS_FOR_THREADS)
        run_blocks(&w, 0, blocks);
    else if (s->is_flat && s->N < LANES)
        run_few(&w, device);
    else
        device->host->parallel_for(run_blocks, &w, blocks, 1);
    if (w.status)
        return tfr_fail(err, w.status, "%s", w.err.text);
    return native_labels_finish(device, &s->labels, w.labels, s->N, w.y, err);
}
