/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgrade_resize.c: Upsample, which became Resize in opset 10, and the older forms of Resize.
 * Up to opset 10 both take the source at x / scale, "asymmetric" of today, rounded down, or up
 * where an image shrinks: so is the test of opset 10 (1 and 3 of 1, 2, 3, 4 at scale 0.6), which
 * peers follow.
 */
#include <string.h>

#include "onnx/upgrade.h"
#include "prefix.h"

/* Known scales in `out`; their number, 0 = they are not known. */
static uint32_t known_scales(const tfr__onnx_call *call, float out[TFR_MAX_RANK])
{
    tfr_tensor *tensor = tfr__onnx_known_tensor(call->builder, tfr__call_input(call, 2));
    uint64_t n = tensor ? tfr_tensor_elements(tensor) : 0;

    if (n == 0 || n > TFR_MAX_RANK || tfr_tensor_dtype(tensor) != TFR_DTYPE_F32)
        return 0;
    memcpy(out, tfr_tensor_data(tensor), n * sizeof *out);
    return (uint32_t)n;
}

/* Scales as a constant. */
static tfr_status add_scales(tfr__onnx_call *call, const float *scales, uint64_t n,
                             tfr_value *value, tfr_err *err)
{
    tfr_shape shape = {1, {(int64_t)n}};
    tfr_tensor *tensor;
    tfr_status status = tfr_tensor_create(TFR_DTYPE_F32, &shape, &tensor, err);

    if (status)
        return status;
    if (n)
        memcpy(tfr_tensor_data(tensor), scales, n * sizeof *scales);
    status = tfr_graph_add_constant(call->builder->graph, NULL, tensor, value, err);
    tfr_tensor_release(tensor);
    return status;
}

/* Axes that grow are left to the call, those that shrink go to a node before it. */
static tfr_status shrink_first(tfr__onnx_call *call, const float *scales, uint32_t n, tfr_err *err)
{
    const tfr_attr rules[] = {TFR_SET_STRING("mode", "nearest"),
                              TFR_SET_STRING("coordinate_transformation_mode", "asymmetric"),
                              TFR_SET_STRING("nearest_mode", "ceil")};
    tfr_value inputs[3] = {tfr__call_input(call, 0), TFR_VALUE_NONE, TFR_VALUE_NONE}, x, rest;
    float less[TFR_MAX_RANK], more[TFR_MAX_RANK];
    tfr_status status;

    for (uint32_t i = 0; i < n; i++) {
        less[i] = scales[i] < 1 ? scales[i] : 1;
        more[i] = scales[i] < 1 ? 1 : scales[i];
    }
    status = add_scales(call, less, n, &inputs[2], err);
    if (!status)
        status = tfr__call_node(call, "Resize", inputs, 3, rules, 3, &x, err);
    if (!status)
        status = add_scales(call, more, n, &rest, err);
    if (status)
        return status;
    tfr__call_set_input(call, 0, x);
    tfr__call_set_input(call, 2, rest);
    return TFR_OK;
}

static tfr_status set_rounding(tfr__onnx_call *call, tfr_err *err)
{
    const tfr_attr *mode = tfr__call_attr(call, "mode", TFR_ATTR_STRING);
    float scales[TFR_MAX_RANK];
    uint32_t n = known_scales(call, scales);
    bool less = false, more = false;
    tfr_status status = TFR_OK;

    for (uint32_t i = 0; i < n; i++) {
        less |= scales[i] < 1;
        more |= scales[i] > 1;
    }
    if (mode && strcmp(mode->strings[0].data, "nearest") != 0)
        less = false;
    if (less && more)
        status = shrink_first(call, scales, n, err);
    return status
               ? status
               : tfr__call_set_string(call, "nearest_mode", less && !more ? "ceil" : "floor", err);
}

static tfr_status set_old_rule(tfr__onnx_call *call, tfr_err *err)
{
    const tfr_attr *mode = tfr__call_attr(call, "mode", TFR_ATTR_STRING);
    tfr_status status = TFR_OK;

    if (mode && strcmp(mode->strings[0].data, "bilinear") == 0)
        status = tfr__call_set_string(call, "mode", "linear", err);
    if (!status)
        status = tfr__call_set_string(call, "coordinate_transformation_mode", "asymmetric", err);
    return status ? status : set_rounding(call, err);
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

static tfr_status set_scales(tfr__onnx_call *call, const float *scales, uint64_t n, tfr_err *err)
{
    tfr_value value;
    tfr_status status = add_scales(call, scales, n, &value, err);

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
 * Up to opset 12 there was "tf_half_pixel_for_nn", which tf2onnx still writes: (x + 1/2) / scale,
 * which is half_pixel + 1/2. So rounding it down is rounding half_pixel, and rounding it is
 * rounding half_pixel up.
 */
tfr_status tfr__upgrade_resize_half_pixel(tfr__onnx_call *call, tfr_err *err)
{
    const tfr_attr *rule = tfr__call_attr(call, "coordinate_transformation_mode", TFR_ATTR_STRING);
    const tfr_attr *mode = tfr__call_attr(call, "mode", TFR_ATTR_STRING);
    const tfr_attr *rounding = tfr__call_attr(call, "nearest_mode", TFR_ATTR_STRING);
    const char *old = rounding ? rounding->strings[0].data : "round_prefer_floor", *today = NULL;
    tfr_status status;

    if (!rule || strcmp(rule->strings[0].data, "tf_half_pixel_for_nn") != 0)
        return TFR_OK;
    if (mode && strcmp(mode->strings[0].data, "nearest") != 0)
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "Resize with tf_half_pixel_for_nn and mode \"%.32s\", which is for nearest",
                        mode->strings[0].data);
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
