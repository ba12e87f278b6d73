/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recompute.c: see recompute.h. Values are kept if they are dear, or if later segments of the
 * forward part read them, so that what is computed again never reaches beyond its segment, and
 * lives while the backward part goes through that (Chen et al., Training Deep Nets with Sublinear
 * Memory Cost, 2016). Without segments, a value with several readers, as in the main path of a
 * residual network, ends what is computed again in the same way.
 */
#include "recompute.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/dtype.h>
#include <tfrun/fail.h>

#include "graph_copy.h"

enum { MOST_OUTPUTS = 16 };

/* What may be computed again. Random numbers would be others, so ops of unknown kind are not. */
typedef struct again {
    const char *op;
    bool is_dear;    /* only in segments */
    bool only_first; /* the other outputs are small, and kept */
} again;

static const again rows[] = {
    {"Abs", false, false},
    {"Add", false, false},
    {"AveragePool", false, false},
    {"BatchNormTrain", false, true},
    {"Cast", false, false},
    {"Celu", false, false},
    {"Clip", false, false},
    {"Concat", false, false},
    {"Conv", true, false},
    {"ConvTranspose", true, false},
    {"Div", false, false},
    {"Einsum", true, false},
    {"Elu", false, false},
    {"Erf", false, false},
    {"Exp", false, false},
    {"Expand", false, false},
    {"Flatten", false, false},
    {"Gelu", false, false},
    {"Gemm", true, false},
    {"GlobalAveragePool", false, false},
    {"GroupNormalization", false, false},
    {"HardSigmoid", false, false},
    {"HardSwish", false, false},
    {"Identity", false, false},
    {"InstanceNormalization", false, false},
    {"LayerNormalization", false, true},
    {"LeakyRelu", false, false},
    {"Log", false, false},
    {"MatMul", true, false},
    {"MaxPool", false, false},
    {"Mish", false, false},
    {"Mul", false, false},
    {"Neg", false, false},
    {"PRelu", false, false},
    {"Pad", false, false},
    {"Pow", false, false},
    {"RMSNormalization", false, true},
    {"Reciprocal", false, false},
    {"ReduceMean", false, false},
    {"Relu", false, false},
    {"Reshape", false, false},
    {"Selu", false, false},
    {"Sigmoid", false, false},
    {"Slice", false, false},
    {"Softmax", false, false},
    {"Softplus", false, false},
    {"Split", false, false},
    {"Sqrt", false, false},
    {"Squeeze", false, false},
    {"Sub", false, false},
    {"Swish", false, false},
    {"Tanh", false, false},
    {"Transpose", false, false},
    {"Unsqueeze", false, false},
    {"Where", false, false},
};

typedef struct recompute {
    tfr__copy copy; /* first: its callbacks get it */
    bool in_segments;
    uint32_t n_nodes, n_values;
    bool *forward, *wanted;   /* by node: the loss needs it; it is to be computed again now */
    uint32_t *segment, last;  /* by node; the number of the last one */
    int32_t *maker;           /* by value: the node, -1 = none */
    bool *kept;               /* by value */
    bool *has_reader, *back;  /* by value: a forward node reads it, another one does */
    double *bytes, *crossing; /* by value, of a sample; by node, of what lives before it */
    tfr_value *again;         /* by value, of the copy; TFR_VALUE_NONE = not yet */
} recompute;

static tfr_status view_node(const recompute *r, uint32_t i, tfr_node_view *out, tfr_err *err)
{
    *out = (tfr_node_view){.size = sizeof *out};
    return tfr_graph_node(r->copy.from, i, out, err);
}

static const again *row_of(const tfr_node_view *node)
{
    const bool ours = !node->domain[0] || strcmp(node->domain, "tfrun") == 0;
    for (size_t i = 0; ours && !node->n_subgraphs && i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].op, node->op) == 0)
            return &rows[i];
    return NULL;
}

/* Shapes are known without the values. */
static bool is_shape(const tfr_node_view *node)
{
    return strcmp(node->op, "Shape") == 0 || strcmp(node->op, "Size") == 0;
}

/* ---- what is kept ---------------------------------------------------------------------------- */

/* Who makes each value, and what the loss needs. */
static tfr_status find_forward(recompute *r, tfr_err *err)
{
    bool *needed = calloc((size_t)r->n_values + 1, sizeof *needed);
    tfr_status status = needed ? TFR_OK : tfr_fail(err, TFR_ENOMEM, "out of memory for a step");
    for (uint32_t v = 0; v < r->n_values; v++)
        r->maker[v] = -1;
    if (needed)
        needed[tfr_graph_output(r->copy.from, 0)] = true;
    for (uint32_t i = r->n_nodes; !status && i-- > 0;) {
        tfr_node_view node;
        status = view_node(r, i, &node, err);
        for (uint32_t k = 0; !status && k < node.n_outputs; k++)
            if (node.outputs[k] != TFR_VALUE_NONE) {
                r->maker[node.outputs[k]] = (int32_t)i;
                r->forward[i] = r->forward[i] || needed[node.outputs[k]];
            }
        for (uint32_t k = 0; !status && r->forward[i] && k < node.n_inputs; k++)
            if (node.inputs[k] != TFR_VALUE_NONE)
                needed[node.inputs[k]] = true;
        for (uint32_t k = 0; !status && r->forward[i] && k < node.n_captures; k++)
            needed[node.captures[k]] = true;
    }
    free(needed);
    return status;
}

/* Of what nodes make; dims that are not known count as 1. */
static tfr_status find_bytes(recompute *r, tfr_err *err)
{
    tfr_graph_types *types = NULL;
    tfr_status status = tfr_graph_infer((tfr_graph *)(uintptr_t)r->copy.from, &types, err);
    for (uint32_t v = 0; !status && v < r->n_values; v++) {
        tfr_value_type type = {.size = sizeof type};
        if (r->maker[v] < 0 || !r->forward[r->maker[v]])
            continue;
        status = tfr_graph_types_get(types, NULL, (tfr_value)v, &type, err);
        r->bytes[v] = tfr_dtype_bits((tfr_dtype)type.dtype) / 8.0;
        for (int32_t i = 0; !status && type.rank_known && i < type.rank; i++)
            if (type.dims[i] > 1)
                r->bytes[v] *= (double)type.dims[i];
    }
    tfr_graph_types_release(types);
    return status;
}

/* Bytes that live before each node, as forward nodes from it on read them; and of all. */
static tfr_status find_crossing(recompute *r, double *all, uint32_t *n_dear, tfr_err *err)
{
    int32_t *end = calloc((size_t)r->n_values + 1, sizeof *end); /* the last reader */
    tfr_status status = end ? TFR_OK : tfr_fail(err, TFR_ENOMEM, "out of memory for a step");
    *all = *n_dear = 0;
    for (uint32_t i = 0; !status && i < r->n_nodes; i++) {
        tfr_node_view node;
        status = view_node(r, i, &node, err);
        if (status || !r->forward[i])
            continue;
        *n_dear += row_of(&node) && row_of(&node)->is_dear;
        for (uint32_t k = 0; k < node.n_inputs; k++)
            if (node.inputs[k] != TFR_VALUE_NONE)
                end[node.inputs[k]] = (int32_t)i;
    }
    for (uint32_t v = 0; !status && v < r->n_values; v++) {
        *all += r->bytes[v];
        for (int32_t i = r->maker[v] + 1; r->maker[v] >= 0 && i <= end[v]; i++)
            r->crossing[i] += r->bytes[v];
    }
    free(end);
    return status;
}

/* As many segments as the root of the dear nodes, of about as many bytes, cut where few live, and
 * before dear nodes, for compilers make what follows one a part of it. */
static tfr_status cut_segments(recompute *r, tfr_err *err)
{
    double all, passed = 0, least = INFINITY;
    uint32_t n_dear, n, number = 0, best = 0;
    tfr_status status = find_bytes(r, err);
    if (!status)
        status = find_crossing(r, &all, &n_dear, err);
    n = status ? 1 : (uint32_t)lround(sqrt((double)n_dear));
    for (uint32_t i = 0; !status && i < r->n_nodes; i++) {
        tfr_node_view node;
        status = view_node(r, i, &node, err);
        if (status || !r->forward[i])
            continue;
        if (number + 1 < n && row_of(&node) && row_of(&node)->is_dear && passed > .75 * all / n &&
            r->crossing[i] < least) {
            least = r->crossing[i];
            best = i;
        }
        for (uint32_t k = 0; k < node.n_outputs; k++)
            passed += node.outputs[k] != TFR_VALUE_NONE ? r->bytes[node.outputs[k]] : 0;
        r->segment[i] = number;
        if (passed <= 1.25 * all / n || isinf(least))
            continue;
        number++;
        passed = 0;
        least = INFINITY;
        for (uint32_t k = best; k <= i; k++) {
            r->segment[k] = number;
            status = status ? status : view_node(r, k, &node, err);
            for (uint32_t o = 0; !status && o < node.n_outputs; o++)
                passed += node.outputs[o] != TFR_VALUE_NONE ? r->bytes[node.outputs[o]] : 0;
        }
    }
    r->last = number;
    return status;
}

/* What the node at hand, and those that read its values, decide. */
static void keep(recompute *r, uint32_t i, const tfr_node_view *node)
{
    const again *row = row_of(node);
    const bool stays = !row || (r->in_segments ? r->segment[i] == r->last : row->is_dear);
    for (uint32_t k = 0; k < node->n_outputs; k++)
        if (node->outputs[k] != TFR_VALUE_NONE)
            r->kept[node->outputs[k]] = stays || (row->only_first && k > 0);
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        const tfr_value v = node->inputs[k];
        if (v == TFR_VALUE_NONE || r->maker[v] < 0)
            continue;
        if (!r->forward[i]) {
            r->back[v] = r->back[v] || !is_shape(node);
            continue;
        }
        if (r->in_segments ? r->segment[r->maker[v]] != r->segment[i] : r->has_reader[v])
            r->kept[v] = true;
        r->has_reader[v] = true;
    }
    for (uint32_t k = 0; k < node->n_captures; k++)
        r->kept[node->captures[k]] = true;
}

/* To keep an operand, which nobody else wants kept, in place of the result saves nothing, and parts
 * what compilers make one. */
static void keep_instead(recompute *r, const tfr_node_view *node)
{
    bool parts = false;
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        const tfr_value v = node->inputs[k];
        parts = parts || (v != TFR_VALUE_NONE && r->maker[v] >= 0 && r->kept[v] && !r->back[v]);
    }
    for (uint32_t k = 0; parts && k < node->n_outputs; k++)
        if (node->outputs[k] != TFR_VALUE_NONE)
            r->kept[node->outputs[k]] = true;
}

static tfr_status find_kept(recompute *r, tfr_err *err)
{
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < r->n_nodes; i++) {
        tfr_node_view node;
        status = view_node(r, i, &node, err);
        if (!status)
            keep(r, i, &node);
    }
    for (uint32_t i = 0; !status && i < r->n_nodes; i++) {
        tfr_node_view node;
        status = view_node(r, i, &node, err);
        if (!status && r->forward[i] && !r->in_segments)
            keep_instead(r, &node);
    }
    return status;
}

static bool is_again(const recompute *r, tfr_value v)
{
    return v != TFR_VALUE_NONE && r->maker[v] >= 0 && r->forward[r->maker[v]] && !r->kept[v];
}

/* ---- the copy -------------------------------------------------------------------------------- */

/* Adds a node that reads what was computed again where that is not kept. */
static tfr_status add_node(recompute *r, const tfr_node_view *node, tfr_value *outputs,
                           tfr_err *err)
{
    tfr_value *inputs = malloc(((size_t)node->n_inputs + 1) * sizeof *inputs);
    tfr_attr *attrs = malloc(((size_t)node->n_attrs + 1) * sizeof *attrs);
    tfr_status status = TFR_OK;
    if (!inputs || !attrs)
        status = tfr_fail(err, TFR_ENOMEM, "out of memory for node \"%s\"", node->name);
    for (uint32_t k = 0; !status && k < node->n_inputs; k++) {
        const tfr_value v = node->inputs[k];
        inputs[k] = v == TFR_VALUE_NONE ? v : is_again(r, v) ? r->again[v] : r->copy.map[v];
    }
    for (uint32_t k = 0; !status && k < node->n_attrs; k++)
        attrs[k] = *(const tfr_attr *)(const void *)((const char *)node->attrs +
                                                     (size_t)k * node->attr_stride);
    if (!status)
        status = tfr__copy_node(&r->copy, node, inputs, node->n_inputs, attrs, node->n_attrs,
                                outputs, node->n_outputs, err);
    free(inputs);
    free(attrs);
    return status;
}

static tfr_status add_again(recompute *r, uint32_t i, tfr_err *err)
{
    tfr_value outputs[MOST_OUTPUTS], wanted[MOST_OUTPUTS];
    tfr_node_view node;
    char name[300];
    tfr_status status = view_node(r, i, &node, err);
    if (status)
        return status;
    if (node.n_outputs > MOST_OUTPUTS)
        return tfr_fail(err, TFR_ELIMIT, "node \"%s\" (%s) has %u outputs, more than %d", node.name,
                        node.op, node.n_outputs, MOST_OUTPUTS);
    for (uint32_t k = 0; k < node.n_outputs; k++)
        wanted[k] = row_of(&node)->only_first && k > 0 ? TFR_VALUE_NONE : node.outputs[k];
    snprintf(name, sizeof name, "%.280s/again", node.name);
    node.name = name;
    node.outputs = wanted;
    r->copy.unnamed = true;
    status = add_node(r, &node, outputs, err);
    r->copy.unnamed = false;
    for (uint32_t k = 0; !status && k < node.n_outputs; k++)
        if (wanted[k] != TFR_VALUE_NONE)
            r->again[wanted[k]] = outputs[k];
    return status;
}

/* Computes a value again, and first all that it needs and that is not kept. */
static tfr_status bring(recompute *r, tfr_value v, tfr_err *err)
{
    const uint32_t last = (uint32_t)r->maker[v];
    uint32_t first = last, n = 1;
    tfr_status status = TFR_OK;
    r->wanted[last] = true;
    for (uint32_t i = last; !status && n; i--) {
        tfr_node_view node;
        if (!r->wanted[i])
            continue;
        first = i;
        n--;
        status = view_node(r, i, &node, err);
        for (uint32_t k = 0; !status && k < node.n_inputs; k++) {
            const tfr_value u = node.inputs[k];
            if (!is_again(r, u) || r->again[u] != TFR_VALUE_NONE || r->wanted[r->maker[u]])
                continue;
            r->wanted[r->maker[u]] = true;
            n++;
        }
    }
    for (uint32_t i = first; !status && i <= last; i++) {
        if (r->wanted[i])
            status = add_again(r, i, err);
        r->wanted[i] = false;
    }
    return status;
}

/* What is not forward may read values that are gone by then. */
static tfr_status take_node(tfr__copy *copy, uint32_t i, const tfr_node_view *node, bool *done,
                            tfr_err *err)
{
    recompute *r = (recompute *)(void *)copy;
    tfr_value outputs[MOST_OUTPUTS];
    bool reads_again = false;
    tfr_status status = TFR_OK;
    for (uint32_t k = 0; !r->forward[i] && k < node->n_inputs; k++)
        reads_again = reads_again || is_again(r, node->inputs[k]);
    if (!reads_again || node->n_subgraphs || node->n_outputs > MOST_OUTPUTS || is_shape(node))
        return TFR_OK;
    for (uint32_t k = 0; !status && k < node->n_inputs; k++)
        if (is_again(r, node->inputs[k]) && r->again[node->inputs[k]] == TFR_VALUE_NONE)
            status = bring(r, node->inputs[k], err);
    if (!status)
        status = add_node(r, node, outputs, err);
    for (uint32_t k = 0; !status && k < node->n_outputs; k++)
        if (node->outputs[k] != TFR_VALUE_NONE)
            r->copy.map[node->outputs[k]] = outputs[k];
    *done = true;
    return status;
}

/* What the graph gives out, and what its variables become. */
static tfr_status finish_graph(recompute *r, tfr_err *err)
{
    const tfr_graph *from = r->copy.from;
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < tfr_graph_n_outputs(from); i++)
        status = tfr_graph_add_output(r->copy.to, r->copy.map[tfr_graph_output(from, i)],
                                      tfr_graph_output_name(from, i), err);
    for (uint32_t v = 0; !status && v < r->n_values; v++) {
        tfr_value_view view = {.size = sizeof view};
        status = tfr_graph_value(from, (tfr_value)v, &view, err);
        if (!status && view.role == TFR_ROLE_VARIABLE && view.update != TFR_VALUE_NONE)
            status =
                tfr_graph_set_update(r->copy.to, r->copy.map[v], r->copy.map[view.update], err);
    }
    return status;
}

static tfr_status make_room(recompute *r, tfr_err *err)
{
    const size_t nodes = (size_t)r->n_nodes + 1, values = (size_t)r->n_values + 1;
    r->forward = calloc(nodes, sizeof *r->forward);
    r->wanted = calloc(nodes, sizeof *r->wanted);
    r->segment = calloc(nodes, sizeof *r->segment);
    r->crossing = calloc(nodes, sizeof *r->crossing);
    r->maker = calloc(values, sizeof *r->maker);
    r->kept = calloc(values, sizeof *r->kept);
    r->has_reader = calloc(values, sizeof *r->has_reader);
    r->back = calloc(values, sizeof *r->back);
    r->bytes = calloc(values, sizeof *r->bytes);
    r->again = calloc(values, sizeof *r->again);
    if (!r->forward || !r->wanted || !r->segment || !r->crossing || !r->maker || !r->kept ||
        !r->has_reader || !r->back || !r->bytes || !r->again)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for a step");
    for (uint32_t v = 0; v < r->n_values; v++)
        r->again[v] = TFR_VALUE_NONE;
    return TFR_OK;
}

tfr_status tfr__recompute(const tfr_graph *step, tfr_train_recompute how, tfr_graph **out,
                          tfr_err *err)
{
    recompute r = {.copy = {.from = step, .node = take_node, .all_names = true},
                   .in_segments = how == TFR_RECOMPUTE_SEGMENTS,
                   .n_nodes = tfr_graph_n_nodes(step),
                   .n_values = tfr_graph_n_values(step)};
    tfr_status status = make_room(&r, err);
    if (!status)
        status = find_forward(&r, err);
    if (!status && r.in_segments)
        status = cut_segments(&r, err);
    if (!status)
        status = find_kept(&r, err);
    if (!status)
        status = tfr__copy_begin(&r.copy, err);
    if (!status)
        status = tfr__copy_nodes(&r.copy, err);
    if (!status)
        status = finish_graph(&r, err);
    tfr__copy_finish(&r.copy, status ? NULL : out);
    free(r.forward);
    free(r.wanted);
    free(r.segment);
    free(r.crossing);
    free(r.maker);
    free(r.kept);
    free(r.has_reader);
    free(r.back);
    free(r.bytes);
    free(r.again);
    return status;
}
