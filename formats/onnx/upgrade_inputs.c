/* SPDX-License-Identifier: Apache-2.0 */
/* upgrade_inputs.c: forms in which what is an input today was an attribute. */
#include <string.h>

#include "onnx/upgrade.h"
#include "prefix.h"

/* Squeeze and Unsqueeze up to opset 12. */
tfr_status tfr__upgrade_axes(tfr__onnx_call *call, tfr_err *err)
{
    return tfr__call_ints_to_input(call, "axes", 1, err);
}

/* ReduceSum up to opset 12, its family up to 17. No axes, or an empty list of them, meant all. */
tfr_status tfr__upgrade_reduce(tfr__onnx_call *call, tfr_err *err)
{
    const tfr_attr *axes = tfr__call_attr(call, "axes", TFR_ATTR_INTS);
    if (axes && axes->n == 0) {
        tfr__call_drop(call, "axes");
        return TFR_OK;
    }
    return tfr__call_ints_to_input(call, "axes", 1, err);
}

/* Reshape up to opset 4. */
tfr_status tfr__upgrade_reshape(tfr__onnx_call *call, tfr_err *err)
{
    return tfr__call_ints_to_input(call, "shape", 1, err);
}

/* Slice up to opset 9. */
tfr_status tfr__upgrade_slice(tfr__onnx_call *call, tfr_err *err)
{
    tfr_status status = tfr__call_ints_to_input(call, "starts", 1, err);
    if (!status)
        status = tfr__call_ints_to_input(call, "ends", 2, err);
    return status ? status : tfr__call_ints_to_input(call, "axes", 3, err);
}

/* Split up to opset 12; in opset 1 the lengths could be an input as well. */
tfr_status tfr__upgrade_split_11(tfr__onnx_call *call, tfr_err *err)
{
    return tfr__call_ints_to_input(call, "split", 1, err);
}

/* Split up to opset 17: without lengths it divides by the number of outputs. */
tfr_status tfr__upgrade_split_13(tfr__onnx_call *call, tfr_err *err)
{
    if (tfr__call_input(call, 1) != TFR_VALUE_NONE)
        return TFR_OK;
    return tfr__call_set_int(call, "num_outputs", call->n_outputs, err);
}

/* TopK up to opset 9. */
tfr_status tfr__upgrade_top_k(tfr__onnx_call *call, tfr_err *err)
{
    tfr_attr k;
    tfr_value value;
    tfr_status status;

    if (!tfr__call_take(call, "k", &k))
        return TFR_OK; /* opset 10: an input already; the graph refuses a call without both */
    if (k.type != TFR_ATTR_INT)
        return tfr_fail(err, TFR_EMODEL, "attribute \"k\" is not an INT");
    status = tfr__call_ints(call, 1, k.ints, 1, &value, err);
    if (!status)
        tfr__call_set_input(call, 1, value);
    return status;
}

/* A FLOAT attribute becomes the constant input i, of the type of input 0. */
static tfr_status float_to_input(tfr__onnx_call *call, const char *name, uint32_t i, tfr_err *err)
{
    tfr_attr attr;
    tfr_value value;
    tfr_status status;

    if (!tfr__call_take(call, name, &attr))
        return TFR_OK;
    if (attr.type != TFR_ATTR_FLOAT)
        return tfr_fail(err, TFR_EMODEL, "attribute \"%s\" is not a FLOAT", name);
    status = tfr__call_scalar_like(call, attr.floats[0], tfr__call_input(call, 0), &value, err);
    if (!status)
        tfr__call_set_input(call, i, value);
    return status;
}

/* Clip up to opset 10. The defaults of opset 6, the largest floats, limit nothing. */
tfr_status tfr__upgrade_clip(tfr__onnx_call *call, tfr_err *err)
{
    tfr_status status = float_to_input(call, "min", 1, err);
    return status ? status : float_to_input(call, "max", 2, err);
}

/* Pad up to opset 10. */
tfr_status tfr__upgrade_pad_2(tfr__onnx_call *call, tfr_err *err)
{
    tfr_status status = tfr__call_ints_to_input(call, "pads", 1, err);
    return status ? status : float_to_input(call, "value", 2, err);
}

/* Pad-1 called the pads "paddings". */
tfr_status tfr__upgrade_pad_1(tfr__onnx_call *call, tfr_err *err)
{
    return tfr__call_ints_to_input(call, "paddings", 1, err);
}

/* DFT-17: the axis was an attribute, 1 by default. */
tfr_status tfr__upgrade_dft(tfr__onnx_call *call, tfr_err *err)
{
    int64_t axis;
    tfr_value value;
    tfr_status status = tfr__call_take_int(call, "axis", 1, &axis, err);

    if (!status)
        status = tfr__call_ints(call, 0, &axis, 1, &value, err);
    if (!status)
        tfr__call_set_input(call, 2, value);
    return status;
}

/* The one number of a constant input, whatever its type; Tile-1 has floats where ints are meant. */
static bool constant_number(const tfr__onnx_call *call, uint32_t i, int64_t *out)
{
    tfr_tensor *tensor = tfr__onnx_known_tensor(call->builder, tfr__call_input(call, i));
    return tensor && tfr_tensor_elements(tensor) == 1 && tfr_tensor_is_plain(tensor) &&
           tfr_dtype_convert(TFR_DTYPE_I64, out, tfr_tensor_dtype(tensor), tfr_tensor_data(tensor),
                             1, NULL) == TFR_OK;
}

/* Tile-1 repeats along one axis; inputs 1 and 2 are how often and which. */
tfr_status tfr__upgrade_tile(tfr__onnx_call *call, tfr_err *err)
{
    int64_t repeats[TFR_MAX_RANK], tiles, axis;
    int32_t rank = tfr__onnx_known_rank(call->builder, tfr__call_input(call, 0));
    tfr_value inputs[2] = {tfr__call_input(call, 0), TFR_VALUE_NONE};
    tfr_status status;

    if (rank < 0 || !constant_number(call, 1, &tiles) || !constant_number(call, 2, &axis))
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "Tile of opset 1 needs constant tiles and axis and an input of known rank");
    if (axis < 0 || axis >= rank || rank > TFR_MAX_RANK)
        return tfr_fail(err, TFR_EMODEL, "axis %lld is not in 0...%d", (long long)axis, rank - 1);
    for (int32_t i = 0; i < rank; i++)
        repeats[i] = i == axis ? tiles : 1;
    status = tfr__call_ints(call, 1, repeats, (uint64_t)rank, &inputs[1], err);
    if (!status)
        tfr__call_become(call, "Tile", inputs, 2);
    return status;
}
