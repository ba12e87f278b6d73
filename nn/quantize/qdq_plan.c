/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qdq_plan.c: which nodes compute with integers. There are three kinds of ops:
 *
 *   products   always: there the time goes
 *   between    where an input is one of integers already, so that it need not become float32
 *   moves      the same, and inputs and outputs have one range, so that bytes are moved as they are
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

#include "quantize/qdq.h"

/* Masks of attention add numbers such as -3.4e38, beside which 8 bits show nothing else. */
#define MOST_MAGNITUDE 1e8

static const char *const products[] = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
static const char *const between[] = {"Add",       "AveragePool", "Clip", "GlobalAveragePool",
                                      "HardSwish", "HardSigmoid", "Mul",  "LeakyRelu",
                                      "Relu",      "Sigmoid",     "Sub",  "Tanh"};
static const char *const moves[] = {"Concat",  "DepthToSpace", "Flatten",   "MaxPool",
                                    "Reshape", "Resize",       "Slice",     "SpaceToDepth",
                                    "Split",   "Squeeze",      "Transpose", "Unsqueeze"};
#define IS_AMONG(view, list) tfr__q_is_among(view, list, sizeof(list) / sizeof *(list))

tfr_value tfr__qdq_group(const tfr__qdq *s, tfr_value v)
{
    while (s->values[v].group != v)
        v = s->values[v].group;
    return v;
}

static void unite(tfr__qdq *s, tfr_value a, tfr_value b)
{
    a = tfr__qdq_group(s, a);
    b = tfr__qdq_group(s, b);
    if (a == b)
        return;
    s->values[b].group = a;
    s->values[a].low = fmin(s->values[a].low, s->values[b].low);
    s->values[a].high = fmax(s->values[a].high, s->values[b].high);
}

/* ---- the graph as it is ---------------------------------------------------------------------- */

static tfr_status note_readers(tfr__qdq *s, tfr_err *err)
{
    const tfr_graph *graph = s->q->from;
    for (uint32_t v = 0; v < tfr_graph_n_values(graph); v++)
        s->values[v] = (tfr__qdq_value){.maker = -1,
                                        .group = (tfr_value)v,
                                        .scale_value = TFR_VALUE_NONE,
                                        .zero_value = TFR_VALUE_NONE,
                                        .dequantized = TFR_VALUE_NONE};
    for (uint32_t i = 0; i < tfr_graph_n_nodes(graph); i++) {
        tfr_node_view view = {.size = sizeof view};
        tfr_status status = tfr_graph_node(graph, i, &view, err);
        if (status)
            return status;
        for (uint32_t k = 0; k < view.n_inputs; k++)
            if (view.inputs[k] != TFR_VALUE_NONE)
                s->values[view.inputs[k]].n_readers++;
        for (uint32_t k = 0; k < view.n_captures; k++)
            s->values[view.captures[k]].kept = true;
        for (uint32_t k = 0; k < view.n_outputs; k++)
            if (view.outputs[k] != TFR_VALUE_NONE)
                s->values[view.outputs[k]].maker = (int32_t)i;
    }
    for (uint32_t i = 0; i < tfr_graph_n_outputs(graph); i++)
        s->values[tfr_graph_output(graph, i)].kept = true;
    return TFR_OK;
}

static bool is_op_of(const tfr__qdq *s, int32_t node, const char *op)
{
    tfr_node_view view = {.size = sizeof view};
    return node >= 0 && !tfr_graph_node(s->q->from, (uint32_t)node, &view, NULL) &&
           tfr__q_is_op(&view, op);
}

/* Can the value be rounded to 8 bits? NULL, or why not. Its range is that of its group then. */
static const char *look_at_value(tfr__qdq *s, tfr_value v)
{
    const tfr_value_type type = tfr__q_type(s->q, v);
    tfr__qdq_value *value = &s->values[v];
    double low, high;
    if (value->quantized)
        return NULL;
    if (type.kind > TFR_KIND_TENSOR || type.dtype != TFR_DTYPE_F32)
        return "it computes with another type than float32";
    if (is_op_of(s, value->maker, "DequantizeLinear"))
        return "it is quantized already";
    if (tfr_calibration_range(s->q->options->calibration, v,
                              (tfr_range_method)s->q->options->range_method, &low, &high, NULL))
        return "the samples gave no finite values for its operands";
    if (fmax(fabs(low), fabs(high)) > MOST_MAGNITUDE)
        return "its values are beyond 1e8, which leaves nothing of others in 8 bits";
    value->low = fmin(low, 0);
    value->high = fmax(high, 0);
    return NULL;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Which inputs are activations, by the op. */
static uint32_t data_inputs(const tfr_node_view *view, const tfr__qdq_node *node)
{
    uint32_t all = IS_AMONG(view, products) && !node->has_weights ? 3 : 1;
    if (node->has_weights)
        return node->weights.input == 0 ? 2 : 1;
    if (tfr__q_is_op(view, "Add") || tfr__q_is_op(view, "Mul") || tfr__q_is_op(view, "Sub"))
        all = 3;
    if (tfr__q_is_op(view, "Concat"))
        all = view->n_inputs >= 32 ? UINT32_MAX : (1u << view->n_inputs) - 1;
    return all;
}

static bool is_data(uint32_t data, uint32_t i)
{
    return i < 32 && (data >> i & 1);
}

/* Moves that make numbers of their own, or more outputs than those of the bytes. */
static const char *odd_move(const tfr_node_view *view)
{
    const tfr_attr *mode = tfr_node_attr(view, "mode");
    if (tfr__q_is_op(view, "Resize") && mode && strcmp(mode->strings[0].data, "cubic") == 0)
        return "cubic interpolation goes beyond the range of its input";
    if (tfr__q_is_op(view, "MaxPool") && view->n_outputs > 1 && view->outputs[1] != TFR_VALUE_NONE)
        return "its indices are wanted";
    if (view->n_inputs > 32)
        return "it has more than 32 inputs";
    return NULL;
}

/* Can all operands be integers? NULL, or why not. */
static const char *look_at_operands(tfr__qdq *s, const tfr_node_view *view, tfr__qdq_node *node)
{
    uint32_t n_values = 0;
    for (uint32_t i = 0; i < view->n_inputs; i++) {
        const tfr_value v = view->inputs[i];
        tfr_tensor *constant;
        const char *why;
        if (!is_data(node->data, i))
            continue;
        if (v == TFR_VALUE_NONE)
            return "an operand is missing";
        constant = tfr__q_constant(s->q, v);
        if (constant && !tfr__q_is_finite(constant))
            return "a constant operand has NaN or infinities";
        if (constant)
            continue;
        why = look_at_value(s, v);
        if (why)
            return why;
        n_values++;
    }
    for (uint32_t i = 0; i < view->n_outputs; i++) {
        const char *why =
            view->outputs[i] == TFR_VALUE_NONE ? NULL : look_at_value(s, view->outputs[i]);
        if (why)
            return why;
    }
    return n_values ? NULL : "its operands are constants";
}

static bool has_quantized_input(const tfr__qdq *s, const tfr_node_view *view, uint32_t data)
{
    for (uint32_t i = 0; i < view->n_inputs; i++)
        if (is_data(data, i) && view->inputs[i] != TFR_VALUE_NONE &&
            s->values[view->inputs[i]].quantized)
            return true;
    return false;
}

static void take_node(tfr__qdq *s, const tfr_node_view *view, tfr__qdq_node *node)
{
    const bool moved = IS_AMONG(view, moves);
    tfr_value first = TFR_VALUE_NONE;
    node->done = true;
    for (uint32_t i = 0; i < view->n_inputs + view->n_outputs; i++) {
        const bool input = i < view->n_inputs;
        const tfr_value v = input ? view->inputs[i] : view->outputs[i - view->n_inputs];
        if (v == TFR_VALUE_NONE || (input && (!is_data(node->data, i) || tfr__q_constant(s->q, v))))
            continue;
        s->values[v].quantized = true;
        if (!moved)
            continue;
        first = first == TFR_VALUE_NONE ? v : first;
        unite(s, first, v);
    }
}

/* The rows of a table are made float32 again; what is between them and products stays that. */
static void look_at_table(tfr__qdq *s, const tfr_node_view *view, tfr__qdq_node *node)
{
    node->has_weights = tfr__q_find_weights(s->q, view, &node->weights, &node->why);
    if (node->has_weights && !tfr__q_is_wanted(s->q, view))
        node->why = "its name or op was left out";
    else
        node->done = node->has_weights;
}

static void look_at_node(tfr__qdq *s, const tfr_node_view *view, tfr__qdq_node *node)
{
    const bool product = IS_AMONG(view, products), moved = IS_AMONG(view, moves);
    if (tfr__q_is_op(view, "Gather") && s->q->options->tables) {
        look_at_table(s, view, node);
        return;
    }
    if (view->n_subgraphs)
        node->why = TFR__Q_SUBGRAPHS;
    if (!product && !moved && !IS_AMONG(view, between))
        return;
    if (product)
        node->has_weights = tfr__q_find_weights(s->q, view, &node->weights, &node->why);
    /* Weights that are no constant are activations, too; but not broken ones. */
    if (product && !node->has_weights && tfr__q_constant(s->q, view->inputs[1]))
        return;
    node->data = data_inputs(view, node);
    node->why = "none of its operands is an integer";
    if (!product && !has_quantized_input(s, view, node->data))
        return;
    node->why = "its name or op was left out";
    if (!tfr__q_is_wanted(s->q, view))
        return;
    node->why = moved ? odd_move(view) : NULL;
    if (!node->why)
        node->why = look_at_operands(s, view, node);
    if (!node->why)
        take_node(s, view, node);
}

/* ---- Relu and Clip --------------------------------------------------------------------------- */

/* The upper bound of a Clip whose lower one is 0; false for any other. */
static bool clips_at_zero(const tfr__qdq *s, const tfr_node_view *view, double *high)
{
    for (uint32_t i = 1; i <= 2; i++) {
        const tfr_value v = view->n_inputs > i ? view->inputs[i] : TFR_VALUE_NONE;
        tfr_tensor *constant = tfr__q_constant(s->q, v);
        const float *bound = constant ? tfr_tensor_data(constant) : NULL;
        if (v == TFR_VALUE_NONE && i == 2)
            continue;
        if (!bound || tfr_tensor_elements(constant) != 1 || (i == 1 && *bound != 0))
            return false;
        if (i == 2)
            *high = (double)*bound;
    }
    return true;
}

/*
 * Integers cannot be beyond the range of the output: if that begins at 0 and ends before the bound
 * of a Clip, what makes the input may write them, and there is nothing left to do.
 */
static bool can_merge(const tfr__qdq *s, const tfr_node_view *view)
{
    double bound = DBL_MAX;
    const tfr__qdq_value *in, *out;
    if (!tfr__q_is_op(view, "Relu") &&
        !(tfr__q_is_op(view, "Clip") && clips_at_zero(s, view, &bound)))
        return false;
    in = &s->values[view->inputs[0]];
    out = &s->values[tfr__qdq_group(s, view->outputs[0])];
    return in->maker >= 0 && s->nodes[in->maker].done && !s->nodes[in->maker].merged &&
           in->n_readers == 1 && !in->kept && in->group == view->inputs[0] && out->low >= 0 &&
           out->high <= bound;
}

/* After a move its input has the same range as other values, and is no place to write others. */
static bool made_by_move(const tfr__qdq *s, tfr_value v)
{
    tfr_node_view view = {.size = sizeof view};
    return tfr_graph_node(s->q->from, (uint32_t)s->values[v].maker, &view, NULL) ||
           IS_AMONG(&view, moves);
}

static tfr_status merge_nodes(tfr__qdq *s, tfr_err *err)
{
    for (uint32_t i = 0; i < tfr_graph_n_nodes(s->q->from); i++) {
        tfr_node_view view = {.size = sizeof view};
        tfr_status status = tfr_graph_node(s->q->from, i, &view, err);
        if (status)
            return status;
        if (!s->nodes[i].done || !can_merge(s, &view) || made_by_move(s, view.inputs[0]))
            continue;
        s->nodes[i].merged = true;
        s->values[view.inputs[0]].quantized = false;
    }
    return TFR_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void set_scales(tfr__qdq *s)
{
    for (uint32_t v = 0; v < tfr_graph_n_values(s->q->from); v++)
        tfr__q_affine(s->values[v].low, s->values[v].high, s->activations, &s->values[v].scale,
                      &s->values[v].zero);
}

tfr_status tfr__qdq_plan(tfr__qdq *s, tfr_err *err)
{
    tfr_status status = note_readers(s, err);
    for (uint32_t i = 0; !status && i < tfr_graph_n_nodes(s->q->from); i++) {
        tfr_node_view view = {.size = sizeof view};
        status = tfr_graph_node(s->q->from, i, &view, err);
        if (!status)
            look_at_node(s, &view, &s->nodes[i]);
    }
    if (!status)
        status = merge_nodes(s, err);
    if (!status)
        set_scales(s);
    return status;
}
