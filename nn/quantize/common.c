/* SPDX-License-Identifier: Apache-2.0 */
/* common.c: see quantize.h. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

#include "quantize/quantize.h"

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool matches(const char *const *patterns, uint32_t n, const tfr_node_view *view)
{
    for (uint32_t i = 0; i < n; i++)
        if (fnmatch(patterns[i], view->name, 0) == 0 || fnmatch(patterns[i], view->op, 0) == 0)
            return true;
    return false;
}

bool tfr__q_is_wanted(const tfr__quantizer *q, const tfr_node_view *view)
{
    const tfr_quantize_options *o = q->options;
    return (!o->n_only || matches(o->only, o->n_only, view)) &&
           !matches(o->except, o->n_except, view);
}

void tfr__q_note(const tfr__quantizer *q, const tfr_node_view *view, tfr_quantize_fate fate,
                 const char *text)
{
    const tfr_quantize_note note = {sizeof note, (int32_t)fate, view->name, view->op, text};
    if (q->options->note)
        q->options->note(q->options->user, &note);
}

bool tfr__q_is_op(const tfr_node_view *view, const char *op)
{
    return !*view->domain && strcmp(view->op, op) == 0;
}

bool tfr__q_is_among(const tfr_node_view *view, const char *const *ops, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (tfr__q_is_op(view, ops[i]))
            return true;
    return false;
}

int64_t tfr__q_int_attr(const tfr_node_view *view, const char *name, int64_t otherwise)
{
    const tfr_attr *attr = tfr_node_attr(view, name);
    return attr && attr->type == TFR_ATTR_INT && attr->n ? attr->ints[0] : otherwise;
}

float tfr__q_float_attr(const tfr_node_view *view, const char *name, float otherwise)
{
    const tfr_attr *attr = tfr_node_attr(view, name);
    return attr && attr->type == TFR_ATTR_FLOAT && attr->n ? attr->floats[0] : otherwise;
}

/* ---- values ---------------------------------------------------------------------------------- */

tfr_tensor *tfr__q_constant(const tfr__quantizer *q, tfr_value v)
{
    tfr_value_view view = {.size = sizeof view};
    if (v == TFR_VALUE_NONE || tfr_graph_value(q->from, v, &view, NULL) ||
        view.role != TFR_ROLE_CONSTANT || tfr_tensor_kind(view.tensor) != TFR_KIND_TENSOR ||
        tfr_tensor_dtype(view.tensor) != TFR_DTYPE_F32)
        return NULL;
    return view.tensor;
}

tfr_value_type tfr__q_type(const tfr__quantizer *q, tfr_value v)
{
    tfr_value_type type = {.size = sizeof type};
    if (v == TFR_VALUE_NONE || tfr_graph_types_get(q->types, NULL, v, &type, NULL))
        type = (tfr_value_type){.size = sizeof type};
    return type;
}

const float *tfr__q_floats(tfr_tensor *tensor, tfr_tensor **copy)
{
    *copy = NULL;
    if (!tfr_tensor_is_plain(tensor) && tfr_tensor_copy(tensor, copy, NULL))
        return NULL;
    return tfr_tensor_data(*copy ? *copy : tensor);
}

/* ---- weights --------------------------------------------------------------------------------- */

/* By the op alone: is it one with weights, and which are they? */
static bool has_weights(const tfr__quantizer *q, const tfr_node_view *view, tfr__q_weights *out)
{
    const bool conv = tfr__q_is_op(view, "Conv"), transposed = tfr__q_is_op(view, "ConvTranspose");
    *out = (tfr__q_weights){.input = 1, .sum_axis = -1};
    if (conv || transposed) {
        out->channel_axis = transposed;
        return q->options->form == TFR_QUANTIZE_INT8;
    }
    if (tfr__q_is_op(view, "Gather")) {
        *out = (tfr__q_weights){.input = 0, .channel_axis = 0, .sum_axis = 1};
        return q->options->tables != 0;
    }
    if (tfr__q_is_op(view, "Gemm")) {
        out->channel_axis = tfr__q_int_attr(view, "transB", 0) ? 0 : 1;
        out->sum_axis = 1 - out->channel_axis;
        return true;
    }
    return tfr__q_is_op(view, "MatMul");
}

bool tfr__q_find_weights(const tfr__quantizer *q, const tfr_node_view *view, tfr__q_weights *out,
                         const char **why)
{
    int32_t rank;
    *why = NULL;
    if (!has_weights(q, view, out) || view->n_inputs <= out->input)
        return false;
    out->tensor = tfr__q_constant(q, view->inputs[out->input]);
    *why = tfr__q_is_op(view, "MatMul") ? "neither of its operands is a float32 constant"
                                        : "its weights are no float32 constant";
    if (!out->tensor && tfr__q_is_op(view, "Gather"))
        *why = NULL; /* no table */
    if (!out->tensor)
        return false;
    rank = tfr_tensor_shape(out->tensor)->rank;
    *why = "its weights have less than two dims";
    if (rank < 2)
        return false;
    if (tfr__q_is_op(view, "MatMul")) {
        out->channel_axis = rank - 1;
        out->sum_axis = rank - 2;
    }
    *why = "it takes no rows of a table";
    if (tfr__q_is_op(view, "Gather") && (rank != 2 || tfr__q_int_attr(view, "axis", 0) != 0))
        return false;
    *why = "its weights have no elements";
    if (!tfr_tensor_elements(out->tensor))
        return false;
    *why = "its weights have NaN or infinities";
    return tfr__q_is_finite(out->tensor);
}

/* ---- the new graph --------------------------------------------------------------------------- */

const char *tfr__q_name(const tfr__quantizer *q, const char *base, const char *end, char *text)
{
    uint32_t n = 0;
    if (base[0] == '%')
        base++;
    snprintf(text, TFR__Q_NAME, "%.*s%s", TFR__Q_NAME - 64, base, end);
    while (tfr_graph_find_value(q->copy.to, text) != TFR_VALUE_NONE ||
           tfr_graph_find_value(q->from, text) != TFR_VALUE_NONE)
        snprintf(text, TFR__Q_NAME, "%.*s%s_%u", TFR__Q_NAME - 64, base, end, ++n);
    return text;
}

tfr_status tfr__q_add(tfr__quantizer *q, const char *base, const char *end, tfr_tensor *tensor,
                      tfr_value *out, tfr_err *err)
{
    char name[TFR__Q_NAME];
    return tfr_graph_add_constant(q->copy.to, tfr__q_name(q, base, end, name), tensor, out, err);
}

tfr_status tfr__q_linear(tfr__quantizer *q, const char *op, const char *base, const char *end,
                         tfr_value x, tfr_value scale, tfr_value zero, int32_t axis, int64_t block,
                         tfr_value *out, tfr_err *err)
{
    char name[TFR__Q_NAME], node[TFR__Q_NAME];
    const char *names[] = {tfr__q_name(q, base, end, name)};
    const tfr_value inputs[] = {x, scale, zero};
    const tfr_attr attrs[] = {TFR_SET_INT("axis", axis), TFR_SET_INT("block_size", block)};
    const tfr_node_desc desc = {.size = sizeof desc,
                                .op = op,
                                .name = node,
                                .inputs = inputs,
                                .n_inputs = zero == TFR_VALUE_NONE ? 2 : 3,
                                .output_names = names,
                                .n_outputs = 1,
                                .attrs = attrs,
                                .n_attrs = axis < 0 ? 0
                                           : block  ? 2
                                                    : 1};
    snprintf(node, sizeof node, "%.*s_%s", TFR__Q_NAME - 64, base + (base[0] == '%'), op);
    return tfr_graph_add_node(q->copy.to, &desc, out, err);
}

tfr_status tfr__q_copy(tfr__quantizer *q, const tfr_node_view *view, const tfr_value *instead,
                       tfr_err *err)
{
    tfr_value *saved = malloc(((size_t)view->n_inputs + 1) * sizeof *saved);
    tfr_status status;
    if (!saved)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for node \"%s\"", view->name);
    for (uint32_t i = 0; i < view->n_inputs; i++) {
        if (view->inputs[i] == TFR_VALUE_NONE || instead[i] == TFR_VALUE_NONE)
            continue;
        saved[i] = q->copy.map[view->inputs[i]];
        q->copy.map[view->inputs[i]] = instead[i];
    }
    status = tfr__copy_plain(&q->copy, view, view->n_outputs, err);
    for (uint32_t i = view->n_inputs; i-- > 0;)
        if (view->inputs[i] != TFR_VALUE_NONE && instead[i] != TFR_VALUE_NONE)
            q->copy.map[view->inputs[i]] = saved[i];
    free(saved);
    return status;
}
