/* SPDX-License-Identifier: Apache-2.0 */
/* train_model.c: what of a given graph is trained, and what its loss compares. */
#include <float.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/dtype.h>
#include <tfrun/fail.h>

#include "train_graph.h"

/* Operands that are floats and no weights, or weights of one element. Bit i is input i. */
typedef struct use {
    const char *op;
    uint32_t weights; /* trained whatever their size */
    uint32_t fixed;   /* never trained */
} use;

static const use uses[] = {
    {"BatchNormalization", 1u << 1 | 1u << 2, 0},
    {"Clip", 0, ~0u << 1},
    {"Conv", ~0u << 1, 0},
    {"ConvTranspose", ~0u << 1, 0},
    {"DequantizeLinear", 0, ~0u},
    {"Dropout", 0, ~0u << 1},
    {"Gemm", ~0u << 1, 0},
    {"GroupNormalization", ~0u << 1, 0},
    {"InstanceNormalization", ~0u << 1, 0},
    {"LayerNormalization", ~0u << 1, 0},
    {"MatMul", ~0u, 0},
    {"OneHot", 0, ~0u},
    {"PRelu", 1u << 1, 0},
    {"Pad", 0, ~0u << 1},
    {"QuantizeLinear", 0, ~0u << 1},
    {"Range", 0, ~0u},
    {"Resize", 0, ~0u << 1},
    {"RMSNormalization", ~0u << 1, 0},
};

static const use *use_of(const tfr_node_view *node)
{
    static const use none = {"", 0, 0};
    for (size_t i = 0; !node->domain[0] && i < sizeof uses / sizeof *uses; i++)
        if (strcmp(node->op, uses[i].op) == 0)
            return &uses[i];
    return &none;
}

/* One name after another, with * for any letters. */
static bool is_frozen(const char *patterns, const char *name)
{
    while (patterns && *patterns) {
        char one[256];
        size_t n = strcspn(patterns, ",");
        if (n < sizeof one) {
            memcpy(one, patterns, n);
            one[n] = '\0';
            if (fnmatch(one, name, 0) == 0)
                return true;
        }
        patterns += n + (patterns[n] == ',');
    }
    return false;
}

static tfr_status find_constant(const tfr__train_model *m, tfr_value v, tfr_tensor **out,
                                tfr_err *err)
{
    tfr_value_view view = {.size = sizeof view};
    tfr_status status = tfr_graph_value(m->graph, v, &view, err);
    *out =
        !status && view.role == TFR_ROLE_CONSTANT && tfr_tensor_kind(view.tensor) == TFR_KIND_TENSOR
            ? view.tensor
            : NULL;
    return status;
}

/* What the node at hand makes of its operands; `barred` collects what some node wants fixed. */
static tfr_status find_parts(tfr__train_model *m, const tfr_node_view *node, const char *freeze,
                             bool *barred, tfr_err *err)
{
    const use *u = use_of(node);
    const bool normalizes = !node->domain[0] && strcmp(node->op, "BatchNormalization") == 0;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const uint32_t bit = i < 32 ? 1u << i : 0;
        tfr_value v = node->inputs[i];
        tfr_tensor *tensor = NULL;
        tfr_status status = v == TFR_VALUE_NONE ? TFR_OK : find_constant(m, v, &tensor, err);
        if (status)
            return status;
        if (!tensor || tfr_tensor_dtype(tensor) != TFR_DTYPE_F32)
            continue;
        if (u->fixed & bit)
            barred[v] = true;
        else if (normalizes && i >= 3)
            m->parts[v] = TFR__PART_RUNNING;
        else if ((tfr_tensor_elements(tensor) > 1 || u->weights & bit) &&
                 !is_frozen(freeze, tfr_graph_value_name(m->graph, v)))
            m->parts[v] = TFR__PART_WEIGHT;
    }
    return TFR_OK;
}

static tfr_status init_parts(tfr__train_model *m, const char *freeze, tfr_err *err)
{
    const uint32_t n = tfr_graph_n_values(m->graph);
    bool *barred = calloc((size_t)n + 1, sizeof *barred);
    uint32_t n_weights = 0;
    tfr_status status = TFR_OK;
    m->parts = calloc((size_t)n + 1, sizeof *m->parts);
    if (!barred || !m->parts)
        status = tfr_fail(err, TFR_ENOMEM, "out of memory for the weights of graph \"%s\"",
                          tfr_graph_name(m->graph));
    for (uint32_t i = 0; !status && i < tfr_graph_n_nodes(m->graph); i++) {
        tfr_node_view node = {.size = sizeof node};
        status = tfr_graph_node(m->graph, i, &node, err);
        if (!status)
            status = find_parts(m, &node, freeze, barred, err);
    }
    for (uint32_t v = 0; !status && v < n; v++) {
        if (barred[v])
            m->parts[v] = TFR__PART_FIXED;
        n_weights += m->parts[v] == TFR__PART_WEIGHT;
    }
    free(barred);
    if (!status && !n_weights)
        status = tfr_fail(err, TFR_EINVAL, "graph \"%s\" has no float32 weights to train%s",
                          tfr_graph_name(m->graph), freeze ? " that are not frozen" : "");
    return status;
}

/* The output, or what the given op makes it of. */
static tfr_status find_scores(tfr__train_model *m, const char *last, tfr_err *err)
{
    m->scores = tfr_graph_output(m->graph, 0);
    for (uint32_t i = tfr_graph_n_nodes(m->graph); last && i-- > 0;) {
        tfr_node_view node = {.size = sizeof node};
        tfr_status status = tfr_graph_node(m->graph, i, &node, err);
        if (status)
            return status;
        if (node.n_outputs && node.outputs[0] == m->scores) {
            if (!node.domain[0] && strcmp(node.op, last) == 0)
                m->scores = node.inputs[0];
            return TFR_OK;
        }
    }
    return TFR_OK;
}

/* As the scores, or without their dim 1, of int64. Dims that only a run knows stay so. */
static tfr_status find_targets(tfr__train_model *m, tfr_err *err)
{
    tfr_graph_types *types = NULL;
    tfr_value_type scores = {.size = sizeof scores};
    tfr_status status = tfr_graph_infer(m->graph, &types, err);
    if (!status)
        status = tfr_graph_types_get(types, NULL, m->scores, &scores, err);
    tfr_graph_types_release(types);
    if (status)
        return status;
    if (scores.rank_known && scores.rank < (m->loss == TFR__LOSS_SOFTMAX ? 2 : 1))
        return tfr_fail(err, TFR_EINVAL,
                        "the scores \"%s\" of graph \"%s\" have %d dims: no batch, or no classes",
                        tfr_graph_value_name(m->graph, m->scores), tfr_graph_name(m->graph),
                        (int)scores.rank);
    m->n_classes = scores.rank_known ? scores.dims[1] : -1;
    m->targets =
        (tfr_value_type){.size = sizeof m->targets,
                         .dtype = m->loss == TFR__LOSS_SOFTMAX ? TFR_DTYPE_I64 : TFR_DTYPE_F32,
                         .rank_known = scores.rank_known};
    for (int32_t i = 0; scores.rank_known && i < scores.rank; i++)
        if (i != 1 || m->loss != TFR__LOSS_SOFTMAX)
            m->targets.dims[m->targets.rank++] = scores.dims[i] >= 0 && i ? scores.dims[i] : -1;
    return TFR_OK;
}

static tfr_status take_weights(tfr__train_model *m, const tfr_train_options *o, tfr_err *err)
{
    const tfr_shape shape = {1, {o->n_class_weights}};
    tfr_status status;
    if (m->loss != TFR__LOSS_SOFTMAX)
        return tfr_fail(err, TFR_EINVAL, "the loss \"%s\" has no classes to weigh", o->loss);
    if (m->smoothing > 0)
        return tfr_fail(err, TFR_EINVAL, "weights of classes and label smoothing at once");
    if (m->n_classes >= 0 && m->n_classes != o->n_class_weights)
        return tfr_fail(err, TFR_EINVAL, "%u weights of classes for scores of %lld classes",
                        (unsigned)o->n_class_weights, (long long)m->n_classes);
    for (uint32_t i = 0; i < o->n_class_weights; i++)
        if (!(o->class_weights[i] >= 0 && o->class_weights[i] <= FLT_MAX))
            return tfr_fail(err, TFR_EINVAL, "weight %u of classes is %g, want 0 or more",
                            (unsigned)i, (double)o->class_weights[i]);
    m->by_weights = o->defaults == TFR_NET_TORCH;
    status = tfr_tensor_create(TFR_DTYPE_F32, &shape, &m->weights, err);
    if (!status)
        memcpy(tfr_tensor_data(m->weights), o->class_weights,
               o->n_class_weights * sizeof *o->class_weights);
    return status;
}

tfr_status tfr__train_model_init(tfr__train_model *m, tfr_graph *graph, const tfr_train_options *o,
                                 tfr_err *err)
{
    static const struct {
        const char *name, *last;
    } losses[TFR__N_LOSSES] = {[TFR__LOSS_SOFTMAX] = {"softmax_cross_entropy", "Softmax"},
                               [TFR__LOSS_SIGMOID] = {"binary_cross_entropy", "Sigmoid"},
                               [TFR__LOSS_SQUARES] = {"mse", NULL}};
    const char *loss = o->loss;
    int number = 0;
    tfr_status status;
    memset(m, 0, sizeof *m);
    if (tfr_graph_n_inputs(graph) != 1 || tfr_graph_n_outputs(graph) != 1)
        return tfr_fail(err, TFR_EINVAL,
                        "graph \"%s\" has %u inputs and %u outputs; one of each can be trained",
                        tfr_graph_name(graph), (unsigned)tfr_graph_n_inputs(graph),
                        (unsigned)tfr_graph_n_outputs(graph));
    while (loss && number < TFR__N_LOSSES && strcmp(loss, losses[number].name) != 0)
        number++;
    if (number == TFR__N_LOSSES)
        return tfr_fail(err, TFR_EINVAL,
                        "there is no loss \"%s\"; softmax_cross_entropy, binary_cross_entropy, mse",
                        loss);
    if (!(o->label_smoothing >= 0 && o->label_smoothing < 1))
        return tfr_fail(err, TFR_EINVAL, "a label smoothing of %g, want 0 up to below 1",
                        o->label_smoothing);
    if (o->label_smoothing > 0 && number == TFR__LOSS_SQUARES)
        return tfr_fail(err, TFR_EINVAL, "the loss \"mse\" has no labels to smooth");
    m->smoothing = o->label_smoothing;
    m->graph = tfr_graph_retain(graph);
    m->loss = (tfr__loss)number;
    status = init_parts(m, o->freeze, err);
    if (!status)
        status = find_scores(m, losses[number].last, err);
    if (!status)
        status = find_targets(m, err);
    return status || !o->class_weights ? status : take_weights(m, o, err);
}

void tfr__train_model_finish(tfr__train_model *m)
{
    free(m->parts);
    tfr_tensor_release(m->weights);
    tfr_graph_release(m->graph);
}
