/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgrade_resize.c: Upsample, which became Resize in opset 10, and the older forms of Resize.
 * Up to opset 10 both take the source at floor(x / scale): "asymmetric" and "floor" of today.
 */
#include <string.h>

#include "onnx/upgrade.h"
#include "prefix.h"

static tfr_status set_old_rule(tfr__onnx_call *call, tfr_err *err)
{
    const tfr_attr *mode = tfr__call_attr(call, "mode", TFR_ATTR_STRING);
    tfr_status status = TFR_OK;

    if (mode && strcmp(mode->strings[0].data, "bilinear") == 0)
        status = tfr__call_set_string(call, "mode", "linear", err);
    if (!status)
        status = tfr__call_set_string(call, "coordinate_transformation_mode", "asymmetric", err);
    if (!status)
        status = tfr__call_set_string(call, "nearest_mode", "floor", err);
    return status;
}

/* X and scales become X, (no roi) and scales. */
tfr_status tfr__upgrade_resize_10(tfr__onnx_call *call, tfr_err *err)
{
    tfr_value x = tfr__call_input(call, 0), scales = tfr__call_input(call, 1);

    call->n_inputs = 0;
    tfr__call_set_input(call, 0, x);
    tfr__call_set_input(call, 2, scales);
    return set_old_rule(call, err);
}

tfr_status tfr__upgrade_upsample_9(tfr__onnx_call *call, tfr_err *err)
{
    call->op = "Resize";
    return tfr__upgrade_resize_10(call, err);
}

/* Scales as a constant input. */
static tfr_status set_scales(tfr__onnx_call *call, const float *scales, uint64_t n, tfr_err *err)
{
    tfr_shape shape = {1, {(int64_t)n}};
    tfr_tensor *tensor;
    tfr_value value;
    tfr_status status = tfr_tensor_create(TFR_DTYPE_F32, &shape, &tensor, err);

    if (status)
        return status;
    if (n)
        memcpy(tfr_tensor_data(tensor), scales, n * sizeof *scales);
    status = tfr_graph_add_constant(call->builder->graph, NULL, tensor, &value, err);
    tfr_tensor_release(tensor);
    if (!status)
        tfr__call_set_input(call, 1, value);
    return status;
}

/* Upsample-7: the scales were an attribute. */
tfr_status tfr__upgrade_upsample_7(tfr__onnx_call *call, tfr_err *err)
{
    tfr_attr scales;

    if (!tfr__call_take(call, "scales", &scales))
        return TFR_OK; /* of Upsample-1, which has made an input of them */
    if (scales.type != TFR_ATTR_FLOATS)
        return tfr_fail(err, TFR_EMODEL, "attribute \"scales\" is not of type FLOATS");
    return set_scales(call, scales.floats, scales.n, err);
}

/* Upsample-1 is for images [N,C,H,W] alone. */
tfr_status tfr__upgrade_upsample_1(tfr__onnx_call *call, tfr_err *err)
{
    float scales[4] = {1, 1, 1, 1};
    tfr_attr attr;

    for (uint32_t i = 2; i < 4; i++) {
        const char *name = i == 2 ? "height_scale" : "width_scale";
        if (!tfr__call_take(call, name, &attr) || attr.type != TFR_ATTR_FLOAT)
            return tfr_fail(err, TFR_EMODEL, "attribute \"%s\" is missing or not a FLOAT", name);
        scales[i] = attr.floats[0];
    }
    return set_scales(call, scales, 4, err);
}

/*
 * Up to opset 12 there was "tf_half_pixel_for_nn": (x + 1/2) / scale, which is half_pixel + 1/2. So
 * rounding it down is rounding half_pixel, and rounding it is rounding half_pixel up.
 */
tfr_status tfr__upgrade_resize_12(tfr__onnx_call *call, tfr_err *err)
{
    const tfr_attr *rule = tfr__call_attr(call, "coordinate_transformation_mode", TFR_ATTR_STRING);
    const tfr_attr *mode = tfr__call_attr(call, "nearest_mode", TFR_ATTR_STRING);
    const char *old = mode ? mode->strings[0].data : "round_prefer_floor", *today = NULL;
    tfr_status status;

    if (!rule || strcmp(rule->strings[0].data, "tf_half_pixel_for_nn") != 0)
        return TFR_OK;
    if (strcmp(old, "floor") == 0)
        today = "round_prefer_ceil";
    else if (strcmp(old, "round_prefer_floor") == 0)
        today = "ceil";
    else
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "Resize with tf_half_pixel_for_nn and nearest_mode \"%.32s\"", old);
    status = tfr__call_set_string(call, "coordinate_transformation_mode", "half_pixel", err);
    return status ? status : tfr__call_set_string(call, "nearest_mode", today, err);
}

/*
 * Since opset 11 roi, scales and sizes are there side by side. Exporters write an empty constant
 * for one that is not meant; today it is left out.
 */
tfr_status tfr__upgrade_resize_empty(tfr__onnx_call *call, tfr_err *err)
{
    (void)err;
    for (uint32_t i = 1; i < call->n_inputs; i++) {
        tfr_tensor *tensor = tfr__onnx_known_tensor(call->builder, call->inputs[i]);
        if (tensor && tfr_tensor_elements(tensor) == 0)
            call->inputs[i] = TFR_VALUE_NONE;
    }
    while (call->n_inputs && call->inputs[call->n_inputs - 1] == TFR_VALUE_NONE)
        call->n_inputs--;
    return TFR_OK;
}
