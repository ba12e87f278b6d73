/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qdq_write.c: the graph with QuantizeLinear and DequantizeLinear, in the form that runtimes look
 * for: all data operands of a node come from DequantizeLinear, all readers of its output go through
 * one QuantizeLinear.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

#include "quantize/qdq.h"

/* ---- values ---------------------------------------------------------------------------------- */

/* Scale and zero point are the same two constants for all values of one range. */
static tfr_status add_scale(tfr__qdq *s, tfr_value group, tfr_err *err)
{
    tfr__qdq_value *g = &s->values[group];
    const char *base = tfr_graph_value_name(s->q->from, group);
    const int8_t zero = (int8_t)g->zero;
    tfr_tensor *tensors[2] = {NULL, NULL};
    tfr_status status;
    if (g->scale_value != TFR_VALUE_NONE)
        return TFR_OK;
    status = tfr__q_vector(TFR_DTYPE_F32, 0, 1, &g->scale, &tensors[0], err);
    if (!status)
        status = tfr__q_vector(s->activations, 0, 1, &zero, &tensors[1], err);
    if (!status)
        status = tfr__q_add(s->q, base, "_scale", tensors[0], &g->scale_value, err);
    if (!status)
        status = tfr__q_add(s->q, base, "_zero_point", tensors[1], &g->zero_value, err);
    tfr_tensor_release(tensors[0]);
    tfr_tensor_release(tensors[1]);
    return status;
}

/* The pair behind a value, which readers get if an integer node makes it; else it is for those that
 * are integer nodes themselves, and others read the float32 value. */
static tfr_status add_pair(tfr__qdq *s, tfr_value v, tfr_err *err)
{
    const tfr_value group = tfr__qdq_group(s, v);
    tfr__qdq_value *value = &s->values[v];
    const tfr__qdq_value *g = &s->values[group];
    const char *base = tfr_graph_value_name(s->q->from, v);
    tfr_value x;
    tfr_status status = add_scale(s, group, err);
    if (!status)
        status = tfr__q_linear(s->q, "QuantizeLinear", base, "_QuantizeLinear_Output",
                               s->q->copy.map[v], g->scale_value, g->zero_value, -1, 0, &x, err);
    if (!status)
        status = tfr__q_linear(s->q, "DequantizeLinear", base, "_DequantizeLinear_Output", x,
                               g->scale_value, g->zero_value, -1, 0, &value->dequantized, err);
    if (!status && value->maker >= 0 && s->nodes[value->maker].done)
        s->q->copy.map[v] = value->dequantized;
    return status;
}

/* ---- biases ---------------------------------------------------------------------------------- */

/* The constant that is added to each channel of a product, or NULL. */
static tfr_tensor *bias_of(const tfr__qdq *s, const tfr_node_view *view)
{
    tfr_tensor *bias = view->n_inputs > 2 ? tfr__q_constant(s->q, view->inputs[2]) : NULL;
    if (!bias || tfr_tensor_shape(bias)->rank != 1 || !tfr_tensor_elements(bias) ||
        !tfr__q_is_finite(bias))
        return NULL;
    if (tfr__q_is_op(view, "Gemm") &&
        (tfr__q_float_attr(view, "alpha", 1) != 1 || tfr__q_float_attr(view, "beta", 1) != 1))
        return NULL;
    return bias;
}

/*
 * A bias has the scale of the products that it is added to, sx * sw. Where a channel has small
 * weights and a large bias, that must not be beyond int32: the weights get a greater scale.
 */
static void least_scales(tfr_tensor *bias, float sx, int64_t n, float *room)
{
    tfr_tensor *copy;
    const float *b = tfr__q_floats(bias, &copy);
    const int64_t n_bias = tfr_tensor_elements(bias);
    for (int64_t c = 0; c < n; c++)
        room[c] = 0;
    for (int64_t c = 0; b && c < n_bias; c++)
        room[c % n] = fmaxf(room[c % n], fabsf(b[c]) / sx / 2e9F);
    tfr_tensor_release(copy);
}

/* Integers and scales of a bias; *fits says whether they are within int32. */
static tfr_status bias_numbers(tfr_tensor *bias, float sx, const tfr__q_made *weights,
                               tfr_tensor **integers, tfr_tensor **scales, bool *fits, tfr_err *err)
{
    const int64_t n = tfr_tensor_elements(bias);
    tfr_tensor *copy;
    const float *b = tfr__q_floats(bias, &copy);
    const int32_t rank = weights->n_scales > 1;
    tfr_status status = b ? tfr_tensor_create(TFR_DTYPE_I32, tfr_tensor_shape(bias), integers, err)
                          : tfr_fail(err, TFR_ENOMEM, "out of memory for a bias");
    if (!status)
        status = tfr_tensor_create(TFR_DTYPE_F32, &(tfr_shape){rank, {rank ? n : 1}}, scales, err);
    *fits = true;
    for (int64_t c = 0; !status && c < n; c++) {
        const float scale = sx * weights->scales[c % weights->n_scales];
        const double q = nearbyint((double)b[c] / (double)scale);
        *fits = *fits && scale > 0 && fabs(q) <= INT32_MAX;
        ((float *)tfr_tensor_data(*scales))[rank ? c : 0] = scale;
        ((int32_t *)tfr_tensor_data(*integers))[c] = *fits ? (int32_t)q : 0;
    }
    tfr_tensor_release(copy);
    return status;
}

static tfr_status add_bias(tfr__qdq *s, tfr_value v, tfr_tensor *bias, float sx,
                           const tfr__q_made *weights, tfr_value *out, tfr_err *err)
{
    const char *base = tfr_graph_value_name(s->q->from, v);
    tfr_tensor *integers = NULL, *scales = NULL;
    tfr_value x, scale;
    bool fits;
    tfr_status status = bias_numbers(bias, sx, weights, &integers, &scales, &fits, err);
    if (!status && fits) {
        status = tfr__q_add(s->q, base, "_quantized", integers, &x, err);
        if (!status)
            status = tfr__q_add(s->q, base, "_quantized_scale", scales, &scale, err);
        if (!status)
            status =
                tfr__q_linear(s->q, "DequantizeLinear", base, "_DequantizeLinear_Output", x, scale,
                              TFR_VALUE_NONE, weights->n_scales > 1 ? 0 : -1, 0, out, err);
    }
    tfr_tensor_release(integers);
    tfr_tensor_release(scales);
    return status;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static tfr_status add_weights(tfr__qdq *s, const tfr_node_view *view, const tfr__qdq_node *node,
                              tfr_value *instead, tfr_err *err)
{
    const tfr__q_weights *w = &node->weights;
    const tfr_value data = view->inputs[w->input ? 0 : 1];
    const float sx = s->values[tfr__qdq_group(s, data)].scale;
    const tfr__q_form form = tfr__q_weights_form(s->q, w);
    const int64_t n = form.axis < 0 ? 1 : tfr_tensor_shape(w->tensor)->dims[form.axis];
    tfr_tensor *bias = bias_of(s, view);
    const tfr__q_made *made;
    float *room = NULL;
    tfr_status status;
    if (bias && tfr_tensor_elements(bias) % n)
        bias = NULL;
    if (bias) {
        room = malloc((size_t)n * sizeof *room);
        if (!room)
            return tfr_fail(err, TFR_ENOMEM, "out of memory for node \"%s\"", view->name);
        least_scales(bias, sx, n, room);
    }
    status = tfr__q_constant_as(s->q, view->inputs[w->input], form, room, &made, err);
    free(room);
    if (status)
        return status;
    instead[w->input] = made->dequantized;
    return bias ? add_bias(s, view->inputs[2], bias, sx, made, &instead[2], err) : TFR_OK;
}

static tfr_status set_operands(tfr__qdq *s, const tfr_node_view *view, const tfr__qdq_node *node,
                               tfr_value *instead, tfr_err *err)
{
    const tfr__q_form form = {s->activations, TFR__Q_ACTIVATION, 0};
    for (uint32_t i = 0; i < view->n_inputs; i++) {
        const tfr_value v = view->inputs[i];
        const tfr__q_made *made;
        tfr_status status;
        instead[i] = TFR_VALUE_NONE;
        if (i >= 32 || !(node->data >> i & 1))
            continue;
        if (!tfr__q_constant(s->q, v)) {
            instead[i] = s->values[v].dequantized;
            continue;
        }
        status = tfr__q_constant_as(s->q, v, form, NULL, &made, err);
        if (status)
            return status;
        instead[i] = made->dequantized;
    }
    return node->has_weights ? add_weights(s, view, node, instead, err) : TFR_OK;
}

static tfr_status write_node(tfr__qdq *s, const tfr_node_view *view, const tfr__qdq_node *node,
                             tfr_err *err)
{
    tfr_value *instead;
    tfr_status status;
    if (node->merged) {
        s->q->copy.map[view->outputs[0]] = s->q->copy.map[view->inputs[0]];
        return TFR_OK;
    }
    if (!node->done)
        return tfr__copy_plain(&s->q->copy, view, view->n_outputs, err);
    instead = malloc(((size_t)view->n_inputs + 1) * sizeof *instead);
    status = instead ? set_operands(s, view, node, instead, err)
                     : tfr_fail(err, TFR_ENOMEM, "out of memory for node \"%s\"", view->name);
    if (!status)
        status = tfr__q_copy(s->q, view, instead, err);
    free(instead);
    return status;
}

static void tell(const tfr__qdq *s, const tfr_node_view *view, const tfr__qdq_node *node)
{
    if (node->merged)
        tfr__q_note(s->q, view, TFR_QUANTIZE_MERGED, "the range of its output does it");
    else if (node->done)
        tfr__q_note(s->q, view, TFR_QUANTIZE_DONE,
                    node->has_weights ? "weights and activations of 8 bits"
                                      : "activations of 8 bits");
    else if (node->why)
        tfr__q_note(s->q, view, TFR_QUANTIZE_LEFT, node->why);
    else
        tfr__q_note(s->q, view, TFR_QUANTIZE_OTHER, "its op stays float32");
}

static tfr_status write_one(tfr__qdq *s, uint32_t i, tfr_err *err)
{
    tfr_node_view view = {.size = sizeof view};
    tfr_status status = tfr_graph_node(s->q->from, i, &view, err);
    if (!status)
        status = write_node(s, &view, &s->nodes[i], err);
    for (uint32_t k = 0; !status && k < view.n_outputs; k++)
        if (view.outputs[k] != TFR_VALUE_NONE && s->values[view.outputs[k]].quantized)
            status = add_pair(s, view.outputs[k], err);
    if (!status)
        tell(s, &view, &s->nodes[i]);
    return status;
}

tfr_status tfr__qdq_write(tfr__qdq *s, tfr_err *err)
{
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < tfr_graph_n_inputs(s->q->from); i++)
        if (s->values[tfr_graph_input(s->q->from, i)].quantized)
            status = add_pair(s, tfr_graph_input(s->q->from, i), err);
    for (uint32_t i = 0; !status && i < tfr_graph_n_nodes(s->q->from); i++)
        status = write_one(s, i, err);
    return status;
}

tfr_status tfr__q_static(tfr__quantizer *q, tfr_err *err)
{
    const size_t n_values = tfr_graph_n_values(q->from), n_nodes = tfr_graph_n_nodes(q->from);
    tfr__qdq s = {.q = q,
                  .activations =
                      q->options->activations ? (tfr_dtype)q->options->activations : TFR_DTYPE_I8,
                  .values = calloc(n_values + 1, sizeof *s.values),
                  .nodes = calloc(n_nodes + 1, sizeof *s.nodes)};
    tfr_status status =
        s.values && s.nodes
            ? tfr__qdq_plan(&s, err)
            : tfr_fail(err, TFR_ENOMEM, "out of memory for a plan of %zu nodes", n_nodes);
    if (!status)
        status = tfr__qdq_write(&s, err);
    free(s.values);
    free(s.nodes);
    return status;
}
