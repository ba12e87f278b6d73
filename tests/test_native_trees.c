/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tree ensembles on native are bit for bit those of naive: random trees with every comparison, in
 * both forms of attributes, on samples with ties, NaN and infinities, few and many of them.
 */
#include "session_kit.h"

#include <math.h>
#include <string.h>

enum { MAX_NODES = 4000, MAX_ROWS = 300, MAX_FEATURES = 5, MAX_WEIGHTS = 4 * MAX_NODES };

typedef struct forest {
    int64_t n, n_internal, n_leaves, n_weights, n_trees;
    int64_t tree[MAX_NODES], id[MAX_NODES], feature[MAX_NODES], yes[MAX_NODES], no[MAX_NODES],
        missing[MAX_NODES], place[MAX_NODES];
    uint8_t mode[MAX_NODES]; /* 7 = leaf */
    float value[MAX_NODES];
    int64_t weight_tree[MAX_WEIGHTS], weight_node[MAX_WEIGHTS], target[MAX_WEIGHTS];
    float weight[MAX_WEIGHTS];
    tfr_string text[MAX_NODES];
} forest;

typedef struct kind {
    int modes;                            /* how many of them are drawn; 0 = LT only */
    bool missing, nan, specials, several; /* several: weights a leaf */
    int64_t features, targets;
} kind;

static uint64_t seed_state;

static uint64_t draw(uint64_t n)
{
    seed_state = seed_state * 6364136223846793005u + 1442695040888963407u;
    return (seed_state >> 33) % n;
}

/* One of few, so that samples meet thresholds exactly. */
static float number(bool specials)
{
    if (specials && draw(12) == 0)
        return draw(2) ? INFINITY : -INFINITY;
    return ((float)draw(13) - 6) / 4;
}

static int64_t grow(forest *f, const kind *k, int64_t tree, int64_t first, int depth)
{
    static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                        "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
    int64_t at = f->n++, yes, no;
    bool leaf = depth == 0 || (depth < 6 && draw(4) == 0) || f->n > MAX_NODES - 64;
    f->tree[at] = tree * 3 - 1;
    f->id[at] = at - first;
    f->feature[at] = (int64_t)draw((uint64_t)k->features);
    f->missing[at] = k->missing && draw(2);
    f->value[at] = k->nan && draw(20) == 0 ? NAN : number(k->specials);
    f->mode[at] = leaf ? 7 : k->modes ? (uint8_t)draw((uint64_t)k->modes) : 1;
    f->text[at].data = leaf ? "LEAF" : f->mode[at] < 6 ? names[f->mode[at]] : "BRANCH_LEQ";
    f->text[at].bytes = strlen(f->text[at].data);
    f->place[at] = leaf ? f->n_leaves++ : f->n_internal++;
    if (leaf) {
        for (int64_t t = 0; t < k->targets; t++) {
            if (!k->several && t != tree % k->targets)
                continue;
            f->weight_tree[f->n_weights] = f->tree[at];
            f->weight_node[f->n_weights] = f->id[at];
            f->target[f->n_weights] = t;
            f->weight[f->n_weights++] = (float)draw(1000) / 700 - 0.6f;
        }
        return at;
    }
    yes = grow(f, k, tree, first, depth - 1);
    no = grow(f, k, tree, first, depth - 1);
    f->yes[at] = yes - first;
    f->no[at] = no - first;
    return at;
}

static forest *plant(const kind *k, int64_t trees, int depth)
{
    forest *f = calloc(1, sizeof *f);
    REQUIRE(f != NULL);
    for (; f->n_trees < trees && f->n < MAX_NODES - 600; f->n_trees++)
        grow(f, k, f->n_trees, f->n, depth);
    return f;
}

static tfr_tensor *samples(tfr_dtype dtype, int64_t n, const kind *k)
{
    const int64_t dims[] = {n, k->features};
    static double values[MAX_ROWS * MAX_FEATURES];
    static float f32[MAX_ROWS * MAX_FEATURES];
    static int32_t i32[MAX_ROWS * MAX_FEATURES];
    static int64_t i64[MAX_ROWS * MAX_FEATURES];
    for (int64_t i = 0; i < n * k->features; i++) {
        values[i] = k->nan && draw(6) == 0 ? NAN : (double)number(k->specials);
        if (dtype == TFR_DTYPE_F64 && draw(3) == 0)
            values[i] = nextafter(values[i], draw(2) ? 9 : -9);
        f32[i] = (float)values[i];
        i64[i] = (int64_t)draw(5) - 2;
        i32[i] = (int32_t)i64[i];
    }
    return new_tensor(dtype, 2, dims,
                      dtype == TFR_DTYPE_F32   ? (void *)f32
                      : dtype == TFR_DTYPE_F64 ? (void *)values
                      : dtype == TFR_DTYPE_I32 ? (void *)i32
                                               : (void *)i64);
}

/* Both backends give the same bits, or the same error. */
static void compare(tfr_runtime *runtime, const tfr_node_desc *node, tfr_tensor *x)
{
    tfr_tensor *want[2] = {NULL}, *got[2] = {NULL};
    char text[sizeof err.text];
    tfr_status status = tfr_op_run(runtime, "naive:0", node, &x, 1, want, node->n_outputs, &err);
    memcpy(text, err.text, sizeof text);
    CHECK_STATUS(status, tfr_op_run(runtime, "native:0", node, &x, 1, got, node->n_outputs, &err),
                 &err);
    if (status)
        CHECK_STR(strstr(text, "the tree"), strstr(err.text, "the tree"));
    for (uint32_t i = 0; !status && i < node->n_outputs; i++)
        CHECK_MEM(tfr_tensor_data(want[i]), tfr_tensor_data(got[i]), tfr_tensor_bytes(want[i]));
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        tfr_tensor_release(want[i]);
        tfr_tensor_release(got[i]);
    }
}

static tfr_attr list(const char *name, tfr_attr_type type, uint64_t n, const void *values)
{
    tfr_attr a = {.size = sizeof a, .type = type, .name = name, .n = n};
    a.ints = type == TFR_ATTR_INTS ? values : NULL;
    a.floats = type == TFR_ATTR_FLOATS ? values : NULL;
    a.strings = type == TFR_ATTR_STRINGS ? values : NULL;
    return a;
}

static uint32_t node_attrs(const forest *f, tfr_attr *out)
{
    const uint64_t n = (uint64_t)f->n;
    out[0] = list("nodes_treeids", TFR_ATTR_INTS, n, f->tree);
    out[1] = list("nodes_nodeids", TFR_ATTR_INTS, n, f->id);
    out[2] = list("nodes_featureids", TFR_ATTR_INTS, n, f->feature);
    out[3] = list("nodes_truenodeids", TFR_ATTR_INTS, n, f->yes);
    out[4] = list("nodes_falsenodeids", TFR_ATTR_INTS, n, f->no);
    out[5] = list("nodes_missing_value_tracks_true", TFR_ATTR_INTS, n, f->missing);
    out[6] = list("nodes_modes", TFR_ATTR_STRINGS, n, f->text);
    out[7] = list("nodes_values", TFR_ATTR_FLOATS, n, f->value);
    return 8;
}

static const char *const transforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
static const tfr_dtype types[] = {TFR_DTYPE_F32, TFR_DTYPE_F64, TFR_DTYPE_I32, TFR_DTYPE_I64};
static const int64_t counts[] = {1, 2, 7, 8, 9, 70, MAX_ROWS};

static kind any_kind(void)
{
    static const int modes[] = {0, 1, 4, 4, 6};
    return (kind){.modes = modes[draw(5)],
                  .missing = draw(2),
                  .nan = draw(2),
                  .specials = draw(2),
                  .several = draw(2),
                  .features = 1 + (int64_t)draw(MAX_FEATURES),
                  .targets = 1 + (int64_t)draw(4)};
}

static tfr_attr text_attr(const char *name, const tfr_string *value)
{
    tfr_attr a = list(name, TFR_ATTR_STRINGS, 1, value);
    a.type = TFR_ATTR_STRING;
    return a;
}

static tfr_string text_of(const char *text)
{
    return (tfr_string){text, strlen(text)};
}

static const float bases[] = {0.25f, -1, 3, 0.5f};

TEST(regressors_of_all_modes_and_aggregates_are_those_of_naive)
{
    static const char *const hows[] = {"SUM", "AVERAGE", "MIN", "MAX"};
    tfr_runtime *runtime = new_runtime();
    for (int round = 0; round < 300; round++) {
        seed_state = (uint64_t)round;
        kind k = any_kind();
        forest *f = plant(&k, 1 + (int64_t)draw(40), 1 + (int)draw(9));
        tfr_attr attrs[16];
        uint32_t n = node_attrs(f, attrs);
        const uint64_t weights = (uint64_t)f->n_weights;
        const tfr_string how = text_of(hows[draw(4)]), transform = text_of(transforms[draw(5)]);
        attrs[n++] = list("target_ids", TFR_ATTR_INTS, weights, f->target);
        attrs[n++] = list("target_nodeids", TFR_ATTR_INTS, weights, f->weight_node);
        attrs[n++] = list("target_treeids", TFR_ATTR_INTS, weights, f->weight_tree);
        attrs[n++] = list("target_weights", TFR_ATTR_FLOATS, weights, f->weight);
        attrs[n++] = (tfr_attr)TFR_SET_INT("n_targets", k.targets);
        attrs[n++] = text_attr("aggregate_function", &how);
        attrs[n++] = text_attr("post_transform", &transform);
        if (draw(2))
            attrs[n++] =
                list("base_values", TFR_ATTR_FLOATS, draw(2) ? 1 : (uint64_t)k.targets, bases);
        tfr_node_desc node = {.size = sizeof node,
                              .domain = "ai.onnx.ml",
                              .op = "TreeEnsembleRegressor",
                              .attrs = attrs,
                              .n_attrs = n,
                              .n_outputs = 1};
        tfr_tensor *x = samples(types[draw(4)], counts[draw(7)], &k);
        compare(runtime, &node, x);
        tfr_tensor_release(x);
        free(f);
    }
    tfr_runtime_release(runtime);
}

/* Trees that are long chains, as many steps as it takes for threads to share them. */
TEST(a_few_samples_of_deep_trees_get_the_values_of_naive)
{
    enum { TREES = 19, LENGTH = 100 };
    tfr_runtime *runtime = new_runtime();
    const kind k = {.features = 2};
    static forest f;
    for (int64_t t = 0; t < TREES; t++) {
        for (int64_t i = 0; i <= 2 * LENGTH; i++, f.n++) {
            bool leaf = i % 2 || i == 2 * LENGTH;
            f.tree[f.n] = t;
            f.id[f.n] = i;
            f.feature[f.n] = t % 2;
            f.value[f.n] = i == t * 10 ? 0 : -7;
            f.text[f.n] = text_of(leaf ? "LEAF" : "BRANCH_LT");
            f.yes[f.n] = i + 1;
            f.no[f.n] = i + 2;
            if (!leaf)
                continue;
            f.weight_tree[f.n_weights] = t;
            f.weight_node[f.n_weights] = i;
            f.weight[f.n_weights++] = (float)draw(1000) / 7;
        }
    }
    tfr_attr attrs[16];
    uint32_t n = node_attrs(&f, attrs);
    const uint64_t weights = (uint64_t)f.n_weights;
    attrs[n++] = list("target_ids", TFR_ATTR_INTS, weights, f.target);
    attrs[n++] = list("target_nodeids", TFR_ATTR_INTS, weights, f.weight_node);
    attrs[n++] = list("target_treeids", TFR_ATTR_INTS, weights, f.weight_tree);
    attrs[n++] = list("target_weights", TFR_ATTR_FLOATS, weights, f.weight);
    tfr_node_desc node = {.size = sizeof node,
                          .domain = "ai.onnx.ml",
                          .op = "TreeEnsembleRegressor",
                          .attrs = attrs,
                          .n_attrs = n,
                          .n_outputs = 1};
    for (int i = 0; i < 4; i++) {
        tfr_tensor *x = samples(types[i], 7, &k);
        compare(runtime, &node, x);
        tfr_tensor_release(x);
    }
    tfr_runtime_release(runtime);
}

TEST(classifiers_of_one_to_four_labels_are_those_of_naive)
{
    static const int64_t labels[] = {11, -5, 7, 2};
    tfr_runtime *runtime = new_runtime();
    for (int round = 0; round < 300; round++) {
        seed_state = (uint64_t)round + 1000;
        kind k = any_kind();
        forest *f = plant(&k, 1 + (int64_t)draw(40), 1 + (int)draw(9));
        tfr_attr attrs[16];
        uint32_t n = node_attrs(f, attrs);
        const uint64_t weights = (uint64_t)f->n_weights;
        const tfr_string transform = text_of(transforms[draw(5)]);
        /* at times two labels, and all weights of the second one */
        const uint64_t n_labels = (uint64_t)k.targets + (k.targets == 1 && draw(2));
        for (uint64_t i = 0; n_labels == 2 && k.targets == 1 && i < weights; i++)
            f->target[i] = 1;
        attrs[n++] = list("class_ids", TFR_ATTR_INTS, weights, f->target);
        attrs[n++] = list("class_nodeids", TFR_ATTR_INTS, weights, f->weight_node);
        attrs[n++] = list("class_treeids", TFR_ATTR_INTS, weights, f->weight_tree);
        attrs[n++] = list("class_weights", TFR_ATTR_FLOATS, weights, f->weight);
        attrs[n++] = list("classlabels_int64s", TFR_ATTR_INTS, n_labels, labels);
        attrs[n++] = text_attr("post_transform", &transform);
        if (draw(2))
            attrs[n++] = list("base_values", TFR_ATTR_FLOATS, draw(2) ? 1 : n_labels, bases);
        tfr_node_desc node = {.size = sizeof node,
                              .domain = "ai.onnx.ml",
                              .op = "TreeEnsembleClassifier",
                              .attrs = attrs,
                              .n_attrs = n,
                              .n_outputs = 2};
        tfr_tensor *x = samples(types[draw(4)], counts[draw(7)], &k);
        compare(runtime, &node, x);
        tfr_tensor_release(x);
        free(f);
    }
    tfr_runtime_release(runtime);
}

/* ---- TreeEnsemble ---- */

typedef struct places { /* the attributes of TreeEnsemble, made of a forest */
    int64_t feature[MAX_NODES], yes[MAX_NODES], no[MAX_NODES], yes_leaf[MAX_NODES],
        no_leaf[MAX_NODES], missing[MAX_NODES], target[MAX_NODES], roots[MAX_NODES], n_roots;
    uint8_t mode[MAX_NODES];
    float split[MAX_NODES], weight[MAX_NODES], member[3 * MAX_NODES];
    int64_t n_members;
    tfr_operand tensors[4];
    int64_t dims[4];
} places;

static tfr_attr tensor_attr(places *p, int i, const char *name, tfr_dtype dtype, int64_t n,
                            const void *data)
{
    p->dims[i] = n;
    p->tensors[i] = (tfr_operand){
        .size = sizeof *p->tensors, .dtype = dtype, .rank = 1, .dims = &p->dims[i], .data = data};
    return (tfr_attr){.size = sizeof(tfr_attr),
                      .type = TFR_ATTR_TENSOR,
                      .name = name,
                      .n = 1,
                      .tensor = &p->tensors[i]};
}

/* first: where the tree of node i begins in the forest. */
static void put_child(const forest *f, int64_t at, int64_t *place, int64_t *leaf)
{
    *place = f->place[at];
    *leaf = f->mode[at] == 7;
}

static places *places_of(const forest *f)
{
    places *p = calloc(1, sizeof *p);
    int64_t first = 0;
    REQUIRE(p != NULL);
    for (int64_t i = 0; i < f->n; i++) {
        int64_t at = f->place[i];
        if (f->id[i] == 0)
            first = i;
        if (f->mode[i] == 7) {
            p->weight[at] = f->weight[at];
            p->target[at] = f->target[at];
            continue;
        }
        if (f->id[i] == 0)
            p->roots[p->n_roots++] = at;
        p->feature[at] = f->feature[i];
        p->missing[at] = f->missing[i];
        p->mode[at] = f->mode[i];
        p->split[at] = f->value[i];
        put_child(f, first + f->yes[i], &p->yes[at], &p->yes_leaf[at]);
        put_child(f, first + f->no[i], &p->no[at], &p->no_leaf[at]);
        for (int m = (int)draw(3); p->mode[at] == 6 && m >= 0; m--)
            p->member[p->n_members++] = m ? number(false) : NAN;
    }
    return p;
}

TEST(ensembles_whose_children_are_places_are_those_of_naive)
{
    tfr_runtime *runtime = new_runtime();
    for (int round = 0; round < 300; round++) {
        seed_state = (uint64_t)round + 2000;
        kind k = any_kind();
        k.several = false;
        if (k.modes == 6)
            k.modes = 7;
        forest *f = plant(&k, 1 + (int64_t)draw(40), 2 + (int)draw(8));
        places *p = places_of(f);
        const uint64_t nodes = (uint64_t)f->n_internal, leaves = (uint64_t)f->n_leaves;
        tfr_attr attrs[16];
        uint32_t n = 0;
        attrs[n++] = list("nodes_featureids", TFR_ATTR_INTS, nodes, p->feature);
        attrs[n++] = list("nodes_truenodeids", TFR_ATTR_INTS, nodes, p->yes);
        attrs[n++] = list("nodes_falsenodeids", TFR_ATTR_INTS, nodes, p->no);
        attrs[n++] = list("nodes_trueleafs", TFR_ATTR_INTS, nodes, p->yes_leaf);
        attrs[n++] = list("nodes_falseleafs", TFR_ATTR_INTS, nodes, p->no_leaf);
        attrs[n++] = list("nodes_missing_value_tracks_true", TFR_ATTR_INTS, nodes, p->missing);
        attrs[n++] = list("leaf_targetids", TFR_ATTR_INTS, leaves, p->target);
        attrs[n++] = list("tree_roots", TFR_ATTR_INTS, (uint64_t)p->n_roots, p->roots);
        attrs[n++] = tensor_attr(p, 0, "nodes_modes", TFR_DTYPE_U8, f->n_internal, p->mode);
        attrs[n++] = tensor_attr(p, 1, "nodes_splits", TFR_DTYPE_F32, f->n_internal, p->split);
        attrs[n++] = tensor_attr(p, 2, "leaf_weights", TFR_DTYPE_F32, f->n_leaves, p->weight);
        attrs[n++] = (tfr_attr)TFR_SET_INT("n_targets", k.targets);
        attrs[n++] = (tfr_attr)TFR_SET_INT("aggregate_function", (int64_t)draw(4));
        attrs[n++] = (tfr_attr)TFR_SET_INT("post_transform", (int64_t)draw(5));
        if (p->n_members)
            attrs[n++] =
                tensor_attr(p, 3, "membership_values", TFR_DTYPE_F32, p->n_members, p->member);
        tfr_node_desc node = {.size = sizeof node,
                              .domain = "ai.onnx.ml",
                              .op = "TreeEnsemble",
                              .attrs = attrs,
                              .n_attrs = n,
                              .n_outputs = 1};
        tfr_tensor *x = samples(types[draw(2)], counts[draw(7)], &k);
        if (p->n_roots)
            compare(runtime, &node, x);
        tfr_tensor_release(x);
        free(p);
        free(f);
    }
    tfr_runtime_release(runtime);
}

/* ---- trees that are none ---- */

static void run_links(const int64_t yes[3], const int64_t no[3], int64_t rows)
{
    static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LEQ", "LEAF"};
    tfr_runtime *runtime = new_runtime();
    const kind k = {.features = 1};
    tfr_string modes[3];
    for (int i = 0; i < 3; i++)
        modes[i] = text_of(names[i]);
    const tfr_attr attrs[] = {
        TFR_SET_INTS("nodes_treeids", 0, 0, 0),
        TFR_SET_INTS("nodes_nodeids", 0, 1, 2),
        list("nodes_truenodeids", TFR_ATTR_INTS, 3, yes),
        list("nodes_falsenodeids", TFR_ATTR_INTS, 3, no),
        TFR_SET_INTS("nodes_featureids", 0, 0, 0),
        list("nodes_modes", TFR_ATTR_STRINGS, 3, modes),
        list("nodes_values", TFR_ATTR_FLOATS, 3, bases),
        TFR_SET_INTS("target_ids", 0),
        TFR_SET_INTS("target_nodeids", 2),
        TFR_SET_INTS("target_treeids", 0),
        list("target_weights", TFR_ATTR_FLOATS, 1, bases),
    };
    tfr_node_desc node = {.size = sizeof node,
                          .domain = "ai.onnx.ml",
                          .op = "TreeEnsembleRegressor",
                          .attrs = attrs,
                          .n_attrs = 11,
                          .n_outputs = 1};
    seed_state = 7;
    tfr_tensor *x = samples(TFR_DTYPE_F32, rows, &k);
    compare(runtime, &node, x);
    tfr_tensor_release(x);
    tfr_runtime_release(runtime);
}

TEST(a_circle_that_a_sample_falls_into_is_the_error_of_naive)
{
    run_links((const int64_t[]){1, 0, 0}, (const int64_t[]){2, 2, 0}, 1);
    run_links((const int64_t[]){1, 0, 0}, (const int64_t[]){2, 2, 0}, MAX_ROWS);
    run_links((const int64_t[]){0, 0, 0}, (const int64_t[]){0, 0, 0}, 9);
}

TEST(nodes_with_two_parents_are_walked)
{
    run_links((const int64_t[]){1, 2, 0}, (const int64_t[]){1, 2, 0}, MAX_ROWS);
}

static const test_case cases[] = {
    CASE(regressors_of_all_modes_and_aggregates_are_those_of_naive),
    CASE(a_few_samples_of_deep_trees_get_the_values_of_naive),
    CASE(classifiers_of_one_to_four_labels_are_those_of_naive),
    CASE(ensembles_whose_children_are_places_are_those_of_naive),
    CASE(a_circle_that_a_sample_falls_into_is_the_error_of_naive),
    CASE(nodes_with_two_parents_are_walked),
};
TEST_MAIN(cases)
