/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weights.c: constants as integers behind a DequantizeLinear, while activations stay float32: a
 * smaller file, and less memory to read where a runtime multiplies with the integers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

#include "quantize/quantize.h"

static bool same_form(const tfr__q_form *a, const tfr__q_form *b)
{
    return a->dtype == b->dtype && a->axis == b->axis && a->block == b->block;
}

static tfr_status keep_made(tfr__quantizer *q, const tfr__q_made *made, tfr_err *err)
{
    if (q->n_made == q->made_capacity) {
        const uint32_t capacity = q->made_capacity ? 2 * q->made_capacity : 64;
        tfr__q_made *more = realloc(q->made, capacity * sizeof *more);
        if (!more)
            return tfr_fail(err, TFR_ENOMEM, "out of memory for %u constants", capacity);
        q->made = more;
        q->made_capacity = capacity;
    }
    q->made[q->n_made] = *made;
    q->made[q->n_made].before = q->last_made[made->constant];
    q->last_made[made->constant] = ++q->n_made;
    return TFR_OK;
}

static const tfr__q_made *find_made(const tfr__quantizer *q, tfr_value constant,
                                    const tfr__q_form *form)
{
    for (uint32_t i = q->last_made[constant]; i; i = q->made[i - 1].before)
        if (!form || same_form(&q->made[i - 1].form, form))
            return &q->made[i - 1];
    return NULL;
}

/* The constants and the node. */
static tfr_status add_dequantized(tfr__quantizer *q, const char *base, tfr__q_form form,
                                  tfr_tensor *integers, tfr_tensor *scales, tfr_tensor *zeros,
                                  tfr_value *out, tfr_err *err)
{
    tfr_value x, scale, zero = TFR_VALUE_NONE;
    tfr_status status = tfr__q_add(q, base, "_quantized", integers, &x, err);
    if (!status)
        status = tfr__q_add(q, base, "_scale", scales, &scale, err);
    if (!status && zeros)
        status = tfr__q_add(q, base, "_zero_point", zeros, &zero, err);
    return status ? status
                  : tfr__q_linear(q, "DequantizeLinear", base, "_DequantizeLinear_Output", x, scale,
                                  zero, form.axis, form.block, out, err);
}

static float *copy_scales(const tfr_tensor *scales)
{
    const size_t bytes = tfr_tensor_bytes(scales);
    float *copy = malloc(bytes + 1);
    if (copy)
        memcpy(copy, tfr_tensor_data(scales), bytes);
    return copy;
}

tfr_status tfr__q_constant_as(tfr__quantizer *q, tfr_value constant, tfr__q_form form,
                              const float *least, const tfr__q_made **out, tfr_err *err)
{
    const char *base = tfr_graph_value_name(q->from, constant);
    tfr_tensor *integers, *scales, *zeros;
    tfr__q_made made = {.constant = constant, .form = form};
    tfr_status status;
    *out = find_made(q, constant, &form);
    if (*out)
        return TFR_OK;
    status = tfr__q_integers(tfr__q_constant(q, constant), form, q->options->reduce_range != 0,
                             least, &integers, &scales, &zeros, err);
    if (status)
        return status;
    status = add_dequantized(q, base, form, integers, scales, zeros, &made.dequantized, err);
    if (!status && !form.block) {
        made.n_scales = tfr_tensor_elements(scales);
        made.scales = copy_scales(scales);
        if (!made.scales)
            status = tfr_fail(err, TFR_ENOMEM, "out of memory for the scales of \"%s\"", base);
    }
    if (!status)
        status = keep_made(q, &made, err);
    if (!status)
        *out = &q->made[q->n_made - 1];
    else
        free(made.scales);
    tfr_tensor_release(integers);
    tfr_tensor_release(scales);
    tfr_tensor_release(zeros);
    return status;
}

tfr__q_form tfr__q_weights_form(const tfr__quantizer *q, const tfr__q_weights *weights)
{
    const tfr_quantize_options *o = q->options;
    if (o->form == TFR_QUANTIZE_INT4)
        return (tfr__q_form){o->asymmetric ? TFR_DTYPE_U4 : TFR_DTYPE_I4, weights->sum_axis,
                             o->block_size ? o->block_size : TFR__Q_DEFAULT_BLOCK};
    return (tfr__q_form){TFR_DTYPE_I8, o->per_tensor ? TFR__Q_TENSOR : weights->channel_axis, 0};
}

/* ---- weights alone --------------------------------------------------------------------------- */

static void describe(const tfr__q_form *form, char *text, size_t n)
{
    if (form->block)
        snprintf(text, n, "weights %s in blocks of %lld", tfr_dtype_name(form->dtype),
                 (long long)form->block);
    else
        snprintf(text, n, "weights int8, %s", form->axis < 0 ? "one scale" : "a scale a channel");
}

/* Whether the node has weights to stand behind a DequantizeLinear; notes what becomes of it. */
static bool take_node(const tfr__quantizer *q, const tfr_node_view *view, tfr__q_weights *weights)
{
    const char *why;
    char text[100];
    tfr__q_form form;
    const bool found = tfr__q_find_weights(q, view, weights, &why);
    if (view->n_subgraphs) {
        tfr__q_note(q, view, TFR_QUANTIZE_LEFT, TFR__Q_SUBGRAPHS);
        return false;
    }
    if (!found && !why) {
        tfr__q_note(q, view, TFR_QUANTIZE_OTHER, "its op has no weights of this form");
        return false;
    }
    if (found && !tfr__q_is_wanted(q, view)) {
        tfr__q_note(q, view, TFR_QUANTIZE_LEFT, "its name or op was left out");
        return false;
    }
    if (!found) {
        tfr__q_note(q, view, TFR_QUANTIZE_LEFT, why);
        return false;
    }
    form = tfr__q_weights_form(q, weights);
    describe(&form, text, sizeof text);
    if (tfr__q_is_dynamic(q, view, weights))
        snprintf(text, sizeof text, "weights int8, activations uint8 in each run");
    tfr__q_note(q, view, TFR_QUANTIZE_DONE, text);
    return !tfr__q_is_dynamic(q, view, weights);
}

/* All constants come first, so that nodes before the one that they are quantized for find them. */
static tfr_status make_constants(tfr__quantizer *q, tfr_err *err)
{
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < tfr_graph_n_nodes(q->from); i++) {
        tfr_node_view view = {.size = sizeof view};
        tfr__q_weights weights;
        const tfr__q_made *made;
        status = tfr_graph_node(q->from, i, &view, err);
        if (!status && take_node(q, &view, &weights))
            status = tfr__q_constant_as(q, view.inputs[weights.input],
                                        tfr__q_weights_form(q, &weights), NULL, &made, err);
    }
    return status;
}

/* Its own weights in their form; other constants as they were made for others, so that they are
 * not in the file twice. */
static tfr_status copy_node(tfr__copy *copy, uint32_t i, const tfr_node_view *view, bool *done,
                            tfr_err *err)
{
    tfr__quantizer *q = copy->user;
    tfr_value *instead;
    tfr__q_weights weights;
    const char *why;
    tfr_status status;
    (void)i;
    if (view->n_subgraphs || !tfr__q_is_wanted(q, view))
        return TFR_OK;
    if (!tfr__q_find_weights(q, view, &weights, &why)) {
        weights.tensor = NULL;
    } else if (tfr__q_is_dynamic(q, view, &weights)) {
        status = tfr__q_add_dynamic(q, view, &weights, err);
        *done = !status;
        return status;
    }
    instead = malloc(((size_t)view->n_inputs + 1) * sizeof *instead);
    if (!instead)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for node \"%s\"", view->name);
    for (uint32_t k = 0; k < view->n_inputs; k++) {
        const tfr__q_form form = tfr__q_weights_form(q, &weights);
        const bool own = weights.tensor && k == weights.input;
        const tfr__q_made *made = view->inputs[k] == TFR_VALUE_NONE
                                      ? NULL
                                      : find_made(q, view->inputs[k], own ? &form : NULL);
        instead[k] = made ? made->dequantized : TFR_VALUE_NONE;
    }
    status = tfr__q_copy(q, view, instead, err);
    *done = !status;
    free(instead);
    return status;
}

tfr_status tfr__q_weights_only(tfr__quantizer *q, tfr_err *err)
{
    tfr_status status = make_constants(q, err);
    q->copy.node = copy_node;
    return status ? status : tfr__copy_nodes(&q->copy, err);
}
