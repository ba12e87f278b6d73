/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convolution_integer.c: ConvInteger and QLinearConv, convolutions of int8 and uint8 with constant
 * weights, which are packed as int8 less their zero points. Padding counts as the zero point of x,
 * so it adds nothing, in ONNX and here.
 *
 * Rounding is after the addition of the output's zero point in oneDNN, before it in ONNX: where
 * that zero point is odd, ties differ by one.
 */
#include <stdlib.h>

#include "convolution.h"
#include "families.h"

/* Where the inputs are. */
typedef struct places {
    uint32_t zero, w, w_zero;
    bool quantized;
} places;

enum { X_SCALE = 1, W_SCALE = 4, Y_SCALE = 6, Y_ZERO = 7, BIAS = 8 }; /* of QLinearConv */

static places find_places(const tfr_call *call)
{
    const places integer = {2, 1, 3, false}, quantized = {2, 3, 5, true};
    return call->name[0] == 'Q' ? quantized : integer;
}

void tfr_dnn_conv_integer_supports(const tfr_plugin_device *device, const tfr_call *call,
                                   tfr_answer *answer)
{
    const places at = find_places(call);
    const tfr_operand *w = tfr_call_input(call, at.w);
    int64_t n = w->dims[0];

    if (!tfr_dnn_want_int8(device, call, answer, 0) ||
        !tfr_dnn_want_int8(device, call, answer, at.w) || !tfr_dnn_want_window(call, answer, w) ||
        !tfr_dnn_want_one(call, answer, at.zero))
        return;
    if (at.quantized && !(tfr_dnn_want_constant(call, answer, X_SCALE, 1, true) &&
                          tfr_dnn_want_constant(call, answer, W_SCALE, n, true) &&
                          tfr_dnn_want_constant(call, answer, Y_SCALE, 1, true) &&
                          tfr_dnn_want_one(call, answer, Y_ZERO) &&
                          tfr_dnn_want_constant(call, answer, BIAS, n, false)))
        return;
    tfr_dnn_want_weights(call, answer, at.w, at.w_zero, n, tfr_dnn_product(w, 1, w->rank));
}

/* Scales of the sums, one or one per channel; NULL = no memory. */
static float *make_scales(tfr_dnn_build *b, int64_t n)
{
    const tfr_operand *scale = tfr_call_input(b->call, W_SCALE);
    double factor = (double)tfr_dnn_known(tfr_call_input(b->call, X_SCALE), 0) /
                    (double)tfr_dnn_known(tfr_call_input(b->call, Y_SCALE), 0);
    float *scales = malloc((size_t)n * sizeof *scales);
    int64_t i;

    for (i = 0; scales && i < n; i++)
        scales[i] = (float)((double)tfr_dnn_known(scale, i) * factor);
    if (!scales)
        tfr_dnn_build_fail(b, TFR_ENOMEM, "no memory for its scales");
    return scales;
}

/* The bias, scaled where the library does not do it. */
static int add_bias(tfr_dnn_build *b, const float *scales, int64_t n_scales)
{
    const tfr_operand *bias = tfr_call_input(b->call, BIAS);
    int64_t n, i;
    void *data;
    int tensor;

    if (!bias)
        return -1;
    n = tfr_operand_elements(bias);
    tensor = tfr_dnn_constant(b, tfr_dnn_plain(b, TFR_DNN_SCALES_BIAS ? dnnl_s32 : dnnl_f32, 1, &n),
                              &data);
    for (i = 0; data && i < n; i++) {
        int32_t value = tfr_dnn_known_int(bias, i);
        if (TFR_DNN_SCALES_BIAS)
            ((int32_t *)data)[i] = value;
        else
            ((float *)data)[i] = (float)((double)value * (double)scales[n_scales > 1 ? i : 0]);
    }
    return tensor;
}

void tfr_dnn_conv_integer_prepare(tfr_dnn_build *b, const tfr_call *call)
{
    const places at = find_places(call);
    const tfr_operand *x = tfr_call_input(call, 0), *w = tfr_call_input(call, at.w);
    int64_t n = at.quantized ? tfr_operand_elements(tfr_call_input(call, W_SCALE)) : 0;
    float *scales = at.quantized ? make_scales(b, n) : NULL;
    tfr_dnn_quant q;
    tfr_dnn_conv c;
    void *data;

    c.blocked = true;
    tfr_dnn_read_window(call, w, &c.window);
    c.src = tfr_dnn_input(b, 0, tfr_dnn_of(b, x));
    c.weight = tfr_dnn_constant(b, tfr_dnn_weights_md(b, call, w, dnnl_s8), &data);
    if (data)
        tfr_dnn_weights_data(data, w, tfr_call_input(call, at.w_zero), w->dims[0],
                             tfr_dnn_product(w, 1, w->rank));
    c.dst = tfr_dnn_output(b, 0, tfr_dnn_of(b, tfr_call_output(call, 0)));
    c.shift = scales ? add_bias(b, scales, n) : -1;
    tfr_dnn_quant_begin(b, &q);
    tfr_dnn_quant_zero(b, &q, DNNL_ARG_SRC, at.zero, 0);
    if (scales) {
        tfr_dnn_quant_scales(b, &q, n, 1 << 1, tfr_call_int(call, "group", 1) > 1 ? 3 : 1, scales);
        tfr_dnn_quant_zero(b, &q, DNNL_ARG_DST, Y_ZERO, 0);
    }
    tfr_dnn_add_convolution(b, &c, &q);
    tfr_dnn_quant_end(&q);
    free(scales);
}
