/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dynamic.c: products whose activations become integers in each run, by the range that they have
 * there, so that no samples are needed:
 *
 *   xq, xs, xz = DynamicQuantizeLinear(x)
 *   y = Cast(MatMulInteger(xq, wq, xz)) * (xs * ws) + b
 *
 * The sum of integers is exact, and ws may be one number or one a column.
 */
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

#include "graph_kit.h"
#include "quantize/quantize.h"

bool tfr__q_is_dynamic(const tfr__quantizer *q, const tfr_node_view *view,
                       const tfr__q_weights *weights)
{
    if (!q->options->dynamic || weights->input != 1 || tfr_tensor_shape(weights->tensor)->rank != 2)
        return false;
    return tfr__q_is_op(view, "MatMul") ||
           (tfr__q_is_op(view, "Gemm") && !tfr__q_int_attr(view, "transA", 0) &&
            tfr__q_float_attr(view, "alpha", 1) == 1 && tfr__q_float_attr(view, "beta", 1) == 1);
}

/* [n,k] as [k,n]. */
static tfr_status transpose(tfr_tensor **tensor, tfr_err *err)
{
    const tfr_shape *from = tfr_tensor_shape(*tensor);
    const tfr_shape to = {2, {from->dims[1], from->dims[0]}};
    const int8_t *x = tfr_tensor_data(*tensor);
    tfr_tensor *made;
    tfr_status status = tfr_tensor_create(TFR_DTYPE_I8, &to, &made, err);
    if (status)
        return status;
    for (int64_t i = 0; i < from->dims[0]; i++)
        for (int64_t k = 0; k < from->dims[1]; k++)
            ((int8_t *)tfr_tensor_data(made))[k * from->dims[0] + i] = x[i * from->dims[1] + k];
    tfr_tensor_release(*tensor);
    *tensor = made;
    return TFR_OK;
}

/* Constants that MatMulInteger takes, with the columns last. */
static tfr_status add_weights(tfr__quantizer *q, tfr_value v, const tfr__q_weights *weights,
                              tfr__q_dynamic *d, tfr_err *err)
{
    const char *base = tfr_graph_value_name(q->from, v);
    const tfr__q_form form = tfr__q_weights_form(q, weights);
    const bool transposed = weights->channel_axis == 0;
    tfr_tensor *integers, *scales, *zeros;
    tfr_status status;
    if (d->weights != TFR_VALUE_NONE && d->transposed == transposed)
        return TFR_OK;
    status = tfr__q_integers(weights->tensor, form, q->options->reduce_range != 0, NULL, &integers,
                             &scales, &zeros, err);
    if (status)
        return status;
    d->transposed = transposed;
    if (transposed)
        status = transpose(&integers, err);
    if (!status)
        status = tfr__q_add(q, base, "_quantized", integers, &d->weights, err);
    if (!status)
        status = tfr__q_add(q, base, "_scale", scales, &d->scale, err);
    tfr_tensor_release(integers);
    tfr_tensor_release(scales);
    tfr_tensor_release(zeros);
    return status;
}

tfr_status tfr__q_add_dynamic(tfr__quantizer *q, const tfr_node_view *view,
                              const tfr__q_weights *weights, tfr_err *err)
{
    tfr__kit kit = {.graph = q->copy.to, .err = err, .scope = view->name, .device = view->device};
    const tfr_value *map = q->copy.map;
    tfr__q_dynamic *x = &q->dynamic[view->inputs[0]], *w = &q->dynamic[view->inputs[1]];
    const bool biased = view->n_inputs > 2 && view->inputs[2] != TFR_VALUE_NONE;
    tfr_value sum, scale, y;
    tfr_status status = add_weights(q, view->inputs[1], weights, w, err);
    if (status)
        return status;
    if (x->x[0] == TFR_VALUE_NONE) /* once for all products of a value */
        tfr__kit_nodes(&kit, "DynamicQuantizeLinear", &map[view->inputs[0]], 1, NULL, 0, x->x, 3);
    sum = tfr__kit_op3(&kit, "MatMulInteger", x->x[0], w->weights, x->x[2]);
    sum = tfr__kit_cast(&kit, sum, TFR_DTYPE_F32);
    scale = tfr__kit_op2(&kit, "Mul", x->x[1], w->scale);
    y = tfr__kit_op2(&kit, "Mul", sum, scale);
    if (biased)
        y = tfr__kit_op2(&kit, "Add", y, map[view->inputs[2]]);
    q->copy.map[view->outputs[0]] = y;
    return kit.status;
}

tfr_status tfr__q_begin_dynamic(tfr__quantizer *q, tfr_err *err)
{
    const size_t n = tfr_graph_n_values(q->from);
    q->dynamic = q->options->dynamic ? malloc((n + 1) * sizeof *q->dynamic) : NULL;
    if (!q->dynamic)
        return q->options->dynamic ? tfr_fail(err, TFR_ENOMEM, "out of memory for %zu values", n)
                                   : TFR_OK;
    for (size_t i = 0; i < n; i++)
        q->dynamic[i] = (tfr__q_dynamic){.x = {TFR_VALUE_NONE, TFR_VALUE_NONE, TFR_VALUE_NONE},
                                         .weights = TFR_VALUE_NONE,
                                         .scale = TFR_VALUE_NONE};
    return TFR_OK;
}
