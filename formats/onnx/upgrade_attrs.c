/* SPDX-License-Identifier: Apache-2.0 */
/* upgrade_attrs.c: attributes whose form, name or default changed. */
#include <math.h>
#include <string.h>

#include "onnx/upgrade.h"
#include "prefix.h"

/* Cast up to opset 5 names the type as TensorProto.DataType does: "FLOAT". */
tfr_status tfr__upgrade_cast(tfr__onnx_call *call, tfr_err *err)
{
    static const char *const names[] = {
        "UNDEFINED", "FLOAT", "UINT8",   "INT8",   "UINT16", "INT16",  "INT32",     "INT64",
        "STRING",    "BOOL",  "FLOAT16", "DOUBLE", "UINT32", "UINT64", "COMPLEX64", "COMPLEX128",
    };
    const tfr_attr *to = tfr__call_attr(call, "to", TFR_ATTR_STRING);
    tfr__text name;
    char quoted[TFR__QUOTE_BYTES];

    if (!to)
        return TFR_OK;
    name.data = to->strings[0].data;
    name.bytes = (size_t)to->strings[0].bytes;
    for (size_t i = 1; i < sizeof names / sizeof *names; i++)
        if (tfr__text_equal(name, names[i]))
            return tfr__call_set_int(call, "to", (int64_t)i, err);
    return tfr_fail(err, TFR_EMODEL, "attribute \"to\" %s is not a type of ONNX",
                    tfr__text_quote(name, quoted, sizeof quoted));
}

/* Concat up to opset 3: the axis was optional. */
tfr_status tfr__upgrade_concat(tfr__onnx_call *call, tfr_err *err)
{
    int64_t axis;
    tfr_status status = tfr__call_take_int(call, "axis", 1, &axis, err);
    return status ? status : tfr__call_set_int(call, "axis", axis, err);
}

/* Gemm up to opset 6: C may be broadcast today without saying so. */
tfr_status tfr__upgrade_drop_broadcast(tfr__onnx_call *call, tfr_err *err)
{
    (void)err;
    tfr__call_drop(call, "broadcast");
    return TFR_OK;
}

/* LpPool-1 and GlobalLpPool-1: p was a FLOAT. */
tfr_status tfr__upgrade_integer_p(tfr__onnx_call *call, tfr_err *err)
{
    const tfr_attr *p = tfr__call_attr(call, "p", TFR_ATTR_FLOAT);
    if (!p)
        return TFR_OK;
    if (!(p->floats[0] >= 1 && p->floats[0] <= 1e6f) || p->floats[0] != floorf(p->floats[0]))
        return tfr_fail(err, TFR_EUNSUPPORTED, "p %g is not a whole number from 1 to 1e6",
                        (double)p->floats[0]);
    return tfr__call_set_int(call, "p", (int64_t)p->floats[0], err);
}

/* Selu-1 had its constants rounded to four digits. */
tfr_status tfr__upgrade_selu(tfr__onnx_call *call, tfr_err *err)
{
    tfr_status status = TFR_OK;
    if (!tfr__call_attr(call, "alpha", TFR_ATTR_FLOAT))
        status = tfr__call_set_float(call, "alpha", 1.6732f, err);
    if (!status && !tfr__call_attr(call, "gamma", TFR_ATTR_FLOAT))
        status = tfr__call_set_float(call, "gamma", 1.0507f, err);
    return status;
}

/*
 * RNN, GRU and LSTM up to opset 6: output_sequence said whether Y is made; today its name does.
 * GRU-1 misspelled its default direction.
 */
tfr_status tfr__upgrade_recurrent(tfr__onnx_call *call, tfr_err *err)
{
    const tfr_attr *direction = tfr__call_attr(call, "direction", TFR_ATTR_STRING);

    (void)err;
    tfr__call_drop(call, "output_sequence");
    if (direction && strcmp(direction->strings[0].data, "foward") == 0)
        tfr__call_drop(call, "direction");
    return TFR_OK;
}

/* RoiAlign up to opset 15 did not shift coordinates by half a pixel. */
tfr_status tfr__upgrade_roi_align(tfr__onnx_call *call, tfr_err *err)
{
    return tfr__call_set_string(call, "coordinate_transformation_mode", "output_half_pixel", err);
}

/* GridSample up to opset 19: "bilinear" and "bicubic" lost their first syllable. */
tfr_status tfr__upgrade_grid_sample(tfr__onnx_call *call, tfr_err *err)
{
    const tfr_attr *mode = tfr__call_attr(call, "mode", TFR_ATTR_STRING);

    if (mode && strcmp(mode->strings[0].data, "bilinear") == 0)
        return tfr__call_set_string(call, "mode", "linear", err);
    if (mode && strcmp(mode->strings[0].data, "bicubic") == 0)
        return tfr__call_set_string(call, "mode", "cubic", err);
    return TFR_OK;
}

/* Scatter has been called ScatterElements since opset 11. */
tfr_status tfr__upgrade_scatter(tfr__onnx_call *call, tfr_err *err)
{
    (void)err;
    call->op = "ScatterElements";
    return TFR_OK;
}
