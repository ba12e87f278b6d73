/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgrade_broadcast.c: ONNX's own rules for shapes before it took NumPy's. Where ranks are
 * known, dims of 1 are added to an operand with Unsqueeze; where not, nodes compute the shape.
 */
#include "onnx/upgrade.h"
#include "prefix.h"

/* value with n dims of 1 after its own; its rank is known. */
static tfr_status append_ones(tfr__onnx_call *call, tfr_value value, int32_t n, tfr_value *out,
                              tfr_err *err)
{
    int32_t rank = tfr__onnx_known_rank(call->builder, value);
    int64_t axes[TFR_MAX_RANK];
    tfr_value inputs[2] = {value, TFR_VALUE_NONE};
    tfr_status status;

    for (int32_t i = 0; i < n; i++)
        axes[i] = rank + i;
    status = tfr__call_ints(call, 1, axes, (uint64_t)n, &inputs[1], err);
    return status ? status : tfr__call_node(call, "Unsqueeze", inputs, 2, NULL, 0, out, err);
}

/*
 * The same when the number of ones follows from a shape that only a run knows: as many as `like`
 * has dims from axis `start` on. Reshape(value, Concat(Shape(value), ones)).
 */
static tfr_status append_ones_like(tfr__onnx_call *call, tfr_value value, tfr_value like,
                                   int64_t start, tfr_value *out, tfr_err *err)
{
    const tfr_attr from = TFR_SET_INT("start", start), first = TFR_SET_INT("axis", 0);
    int64_t one = 1, dim = 1;
    const tfr_operand one_operand = {
        .size = sizeof one_operand, .dtype = TFR_DTYPE_I64, .rank = 1, .dims = &dim, .data = &one};
    const tfr_attr fill = {.size = sizeof fill,
                           .type = TFR_ATTR_TENSOR,
                           .name = "value",
                           .n = 1,
                           .tensor = &one_operand};
    tfr_value rest, n, shapes[2], inputs[2];
    tfr_status status;

    inputs[0] = value;
    if ((status = tfr__call_node(call, "Shape", &like, 1, &from, 1, &rest, err)) ||
        (status = tfr__call_node(call, "Shape", &rest, 1, NULL, 0, &n, err)) ||
        (status = tfr__call_node(call, "ConstantOfShape", &n, 1, &fill, 1, &shapes[1], err)) ||
        (status = tfr__call_node(call, "Shape", &value, 1, NULL, 0, &shapes[0], err)) ||
        (status = tfr__call_node(call, "Concat", shapes, 2, &first, 1, &inputs[1], err)))
        return status;
    return tfr__call_node(call, "Reshape", inputs, 2, NULL, 0, out, err);
}

/* Input 1 is to meet the dims of input 0 from `axis` on. */
static tfr_status align(tfr__onnx_call *call, int64_t axis, tfr_err *err)
{
    tfr_value a = tfr__call_input(call, 0), b = tfr__call_input(call, 1), aligned;
    int32_t rank_a = tfr__onnx_known_rank(call->builder, a);
    int32_t rank_b = tfr__onnx_known_rank(call->builder, b);
    int64_t n;
    tfr_status status;

    if (a == TFR_VALUE_NONE || b == TFR_VALUE_NONE || rank_b == 0)
        return TFR_OK; /* the graph refuses the first two; a scalar fits anywhere */
    if (rank_b < 0)
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "broadcasting from axis %lld, as ONNX did it up to opset 6, needs a second "
                        "input of known rank",
                        (long long)axis);
    if (axis < -TFR_MAX_RANK || axis > TFR_MAX_RANK)
        return tfr_fail(err, TFR_EMODEL, "axis %lld is beyond the limit of %d dims",
                        (long long)axis, TFR_MAX_RANK);
    if (rank_a < 0 && axis < 0 && axis + rank_b >= 0)
        return TFR_OK; /* the last axes are NumPy's, too */
    if (rank_a < 0) {
        status = append_ones_like(call, b, a, axis + rank_b, &aligned, err);
    } else {
        n = rank_a - (axis < 0 ? axis + rank_a : axis) - rank_b;
        if (n < 0 || n > rank_a - rank_b) /* beyond the last axis, or before the first */
            return tfr_fail(err, TFR_EMODEL,
                            "an input of %d dims does not fit into one of %d dims from axis %lld "
                            "on",
                            rank_b, rank_a, (long long)axis);
        if (n == 0)
            return TFR_OK;
        status = append_ones(call, b, (int32_t)n, &aligned, err);
    }
    if (!status)
        tfr__call_set_input(call, 1, aligned);
    return status;
}

/* Add, And, Div, Equal... up to opset 6: broadcast = 1 and an axis. */
tfr_status tfr__upgrade_binary(tfr__onnx_call *call, tfr_err *err)
{
    int64_t broadcast, axis;
    bool has_axis = tfr__call_attr(call, "axis", TFR_ATTR_INT) != NULL;
    tfr_status status = tfr__call_take_int(call, "broadcast", 0, &broadcast, err);

    if (!status)
        status = tfr__call_take_int(call, "axis", 0, &axis, err);
    if (status || !broadcast || !has_axis)
        return status;
    return align(call, axis, err);
}

/* PRelu up to opset 6: a slope of one dim belongs to the channels, axis 1. */
tfr_status tfr__upgrade_prelu(tfr__onnx_call *call, tfr_err *err)
{
    tfr_value slope = tfr__call_input(call, 1);
    tfr_tensor *tensor = tfr__onnx_known_tensor(call->builder, slope);

    if (tfr__onnx_known_rank(call->builder, slope) != 1 ||
        tfr__onnx_known_rank(call->builder, tfr__call_input(call, 0)) == 1 ||
        (tensor && tfr_tensor_elements(tensor) == 1))
        return TFR_OK;
    return align(call, 1, err);
}

/*
 * Softmax, LogSoftmax and Hardmax up to opset 12 work on a matrix: the dims before axis (1 by
 * default) make its rows, the others its columns.
 */
tfr_status tfr__upgrade_softmax(tfr__onnx_call *call, tfr_err *err)
{
    tfr_value x = tfr__call_input(call, 0), matrix, inputs[2];
    int32_t rank = tfr__onnx_known_rank(call->builder, x);
    int64_t axis;
    const tfr_attr last = TFR_SET_INT("axis", -1);
    tfr_status status = tfr__call_take_int(call, "axis", 1, &axis, err);

    if (status || x == TFR_VALUE_NONE)
        return status;
    if (axis == -1 || (rank >= 0 && axis == rank - 1))
        return tfr__call_set_int(call, "axis", -1, err);
    {
        const tfr_attr from = TFR_SET_INT("axis", axis);
        status = tfr__call_node(call, "Flatten", &x, 1, &from, 1, &matrix, err);
    }
    if (!status)
        status = tfr__call_node(call, call->op, &matrix, 1, &last, 1, &inputs[0], err);
    if (!status)
        status = tfr__call_node(call, "Shape", &x, 1, NULL, 0, &inputs[1], err);
    if (!status)
        tfr__call_become(call, "Reshape", inputs, 2);
    return status;
}
