/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resize.c: Resize of 1 to 3 spatial axes, nearest and linear.
 *
 * oneDNN knows one coordinate rule: (o + 0.5) * I / O - 0.5, the nearest one rounded half away from
 * 0, the linear one clamped to the edge. ONNX has many rules, and several give the same numbers for
 * the same sizes (nearest, asymmetric, floor, scale 2, for one). So supports compares, output index
 * by output index, the source that ONNX asks for with the one that oneDNN takes.
 */
#include <math.h>
#include <string.h>

#include "families.h"

enum { MAX_AXIS = 65536 }; /* supports must stay fast */

static bool is_linear(const tfr_call *call)
{
    return strcmp(tfr_call_string(call, "mode", "nearest"), "linear") == 0;
}

static bool has_sizes(const tfr_call *call)
{
    const tfr_operand *sizes = tfr_call_input(call, 3);

    return sizes && tfr_operand_elements(sizes) > 0;
}

/* The scale of an axis. What sizes say is a quotient, which attribute scales has rounded to a
 * float: that is enough to cross a tie. */
static double axis_scale(const tfr_call *call, int axis)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const tfr_attr *scales = tfr_call_attr(call, "scales");

    if (!has_sizes(call) && scales && scales->n == (uint64_t)x->rank)
        return (double)scales->floats[axis];
    return (double)y->dims[axis] / (double)x->dims[axis];
}

/* The source coordinate by ONNX's rule; false = a rule that is not looked at here. */
static bool onnx_coordinate(const char *rule, int64_t o, int64_t in, int64_t out, double scale,
                            double *at)
{
    double length = scale * (double)in; /* of the output, before it was rounded down */

    if (strcmp(rule, "half_pixel") == 0)
        *at = ((double)o + 0.5) / scale - 0.5;
    else if (strcmp(rule, "half_pixel_symmetric") == 0)
        *at = (double)in / 2.0 * (1.0 - (double)out / length) + ((double)o + 0.5) / scale - 0.5;
    else if (strcmp(rule, "pytorch_half_pixel") == 0)
        *at = out > 1 ? ((double)o + 0.5) / scale - 0.5 : 0.0;
    else if (strcmp(rule, "asymmetric") == 0)
        *at = (double)o / scale;
    else if (strcmp(rule, "align_corners") == 0)
        *at = length != 1.0 ? (double)o * (double)(in - 1) / (length - 1.0) : 0.0;
    else
        return false;
    return true;
}

static double onnx_nearest(const char *rule, double at)
{
    if (strcmp(rule, "floor") == 0)
        return floor(at);
    if (strcmp(rule, "ceil") == 0)
        return ceil(at);
    if (strcmp(rule, "round_prefer_ceil") == 0)
        return floor(at + 0.5);
    return ceil(at - 0.5); /* round_prefer_floor */
}

static double clamp(double at, int64_t in)
{
    return at < 0.0 ? 0.0 : at > (double)(in - 1) ? (double)(in - 1) : at;
}

static bool axis_agrees(const tfr_call *call, int axis, tfr_answer *answer)
{
    const char *rule = tfr_call_string(call, "coordinate_transformation_mode", "half_pixel");
    const char *nearest = tfr_call_string(call, "nearest_mode", "round_prefer_floor");
    int64_t in = tfr_call_input(call, 0)->dims[axis], out = tfr_call_output(call, 0)->dims[axis], o;
    double scale = axis_scale(call, axis), theirs, ours;

    for (o = 0; o < out; o++) {
        if (!onnx_coordinate(rule, o, in, out, scale, &theirs)) {
            tfr_decline(answer, TFR_REASON_ATTRIBUTE,
                        "coordinate_transformation_mode %s is not done here", rule);
            return false;
        }
        ours = (double)(((float)o + 0.5f) * (float)in / (float)out - 0.5f);
        if (!is_linear(call)) {
            theirs = onnx_nearest(nearest, theirs);
            ours = round(ours);
        }
        theirs = clamp(theirs, in);
        ours = clamp(ours, in);
        if (fabs(theirs - ours) > (is_linear(call) ? 1e-4 : 0.5)) {
            tfr_decline(answer, TFR_REASON_ATTRIBUTE,
                        "output %lld of axis %d comes from %g, and from %g in oneDNN", (long long)o,
                        axis, theirs, ours);
            return false;
        }
    }
    return true;
}

void onednn_resize_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const char *mode = tfr_call_string(call, "mode", "nearest");
    int i;

    if (!onednn_want_float(device, call, answer, 14, true) ||
        !onednn_want_rank(call, answer, 0, 3, 5))
        return;
    if (strcmp(mode, "nearest") != 0 && strcmp(mode, "linear") != 0) {
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "mode %s, only nearest and linear are done here",
                    mode);
        return;
    }
    if (tfr_call_int(call, "antialias", 0) != 0) {
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "antialias is not done here");
        return;
    }
    if (has_sizes(call) &&
        strcmp(tfr_call_string(call, "keep_aspect_ratio_policy", "stretch"), "stretch") != 0) {
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "keep_aspect_ratio_policy is not done here");
        return;
    }
    for (i = 0; i < x->rank; i++) {
        if (i < 2 && x->dims[i] != y->dims[i]) {
            tfr_decline(answer, TFR_REASON_LAYOUT, "axis %d changes, only axes from 2 are done", i);
            return;
        }
        if (y->dims[i] > MAX_AXIS) {
            tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "axis %d has %lld outputs, the limit is %d",
                        i, (long long)y->dims[i], MAX_AXIS);
            return;
        }
        if (i >= 2 && !axis_agrees(call, i, answer))
            return;
    }
}

void onednn_resize_prepare(onednn_build *b, const tfr_call *call)
{
    onednn_cmd src = onednn_wide(b, tfr_call_input(call, 0));
    onednn_cmd dst = onednn_wide(b, tfr_call_output(call, 0));
    const onednn_use uses[] = {{DNNL_ARG_SRC, onednn_input(b, 0, src)},
                               {DNNL_ARG_DST, onednn_output(b, 0, dst)}};
    dnnl_alg_kind_t alg = is_linear(call) ? dnnl_resampling_linear : dnnl_resampling_nearest;
    onednn_make make = onednn_maker(b);

    if (b->status == TFR_OK)
        onednn_add(b, onednn_resampling(&make, alg, src, dst), &make, "resampling", uses, 2);
}
