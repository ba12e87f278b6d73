/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_integer.c: ConvInteger and QLinearConv, convolutions of int8 and uint8 with constant
 * weights, which are packed as int8 less their zero points.
 *
 * The zero point of x is no attribute here, for oneDNN 2.6 to 3.7 get it wrong with groups, in
 * three dims and with padding. Instead x is copied into the middle of a block of that zero point,
 * in the layout that the convolution wants anyway, and zero * (sum of the weights) is taken off in
 * the bias. The library adds a bias in float32, so ConvInteger is done only where that is exact.
 *
 * Rounding is after the addition of the output's zero point in oneDNN, before it in ONNX: where
 * that zero point is odd, ties differ by one.
 */
#include <stdlib.h>
#include <string.h>

#include "conv.h"
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

static int64_t taps(const tfr_operand *w)
{
    return tfr_operand_span(w, 1, w->rank);
}

/* The sum of channel m's weights less their zero points, or of their absolute values. */
static int64_t channel_sum(const tfr_call *call, int64_t m, bool absolute)
{
    const places at = find_places(call);
    const tfr_operand *w = tfr_call_input(call, at.w), *z = tfr_call_input(call, at.w_zero);
    int32_t zero = onednn_known_int(z, z && tfr_operand_elements(z) > 1 ? m : 0);
    int64_t n = taps(w), sum = 0, i;

    for (i = 0; i < n; i++) {
        int32_t value = onednn_known_int(w, m * n + i) - zero;
        sum += absolute && value < 0 ? -value : value;
    }
    return sum;
}

/* Sums must fit the library's 32 bits, and those of ConvInteger a float32. */
static bool want_exact(const tfr_call *call, tfr_answer *answer)
{
    const places at = find_places(call);
    const tfr_operand *w = tfr_call_input(call, at.w);
    const int64_t limit = at.quantized ? INT32_MAX / 4 : 1 << 24;
    int64_t m;

    for (m = 0; m < w->dims[0]; m++) {
        int64_t reach = channel_sum(call, m, true) * 255;
        if (reach <= limit)
            continue;
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT,
                    "sums of channel %lld may reach %lld, they are exact up to %lld here",
                    (long long)m, (long long)reach, (long long)limit);
        return false;
    }
    return true;
}

void onednn_conv_integer_supports(const tfr_plugin_device *device, const tfr_call *call,
                                  tfr_answer *answer)
{
    const places at = find_places(call);
    const tfr_operand *w = tfr_call_input(call, at.w);
    int64_t n = w->dims[0];

    if (!onednn_want_int8(device, call, answer, 0) ||
        !onednn_want_int8(device, call, answer, at.w) || !onednn_want_window(call, answer, w) ||
        !onednn_want_constant(call, answer, at.zero, 1, false))
        return;
    if (w->rank > 4) {
        tfr_decline(answer, TFR_REASON_RANK,
                    "%d spatial dims, of which oneDNN gets some 8-bit ones wrong; 2 are done here",
                    (int)w->rank - 2);
        return;
    }
    if (at.quantized && !(onednn_want_constant(call, answer, X_SCALE, 1, true) &&
                          onednn_want_constant(call, answer, W_SCALE, n, true) &&
                          onednn_want_constant(call, answer, Y_SCALE, 1, true) &&
                          onednn_want_one(call, answer, Y_ZERO) &&
                          onednn_want_constant(call, answer, BIAS, n, false)))
        return;
    if (onednn_want_weights(call, answer, at.w, at.w_zero, n, taps(w)))
        want_exact(call, answer);
}

/* Scales of the sums, one or one per channel; NULL = no memory. */
static float *make_scales(onednn_build *b, int64_t n)
{
    const tfr_operand *scale = tfr_call_input(b->call, W_SCALE);
    double factor = (double)onednn_known(tfr_call_input(b->call, X_SCALE), 0) /
                    (double)onednn_known(tfr_call_input(b->call, Y_SCALE), 0);
    float *scales = malloc((size_t)n * sizeof *scales);
    int64_t i;

    for (i = 0; scales && i < n; i++)
        scales[i] = (float)((double)onednn_known(scale, i) * factor);
    if (!scales)
        onednn_build_fail(b, TFR_ENOMEM, "no memory for its scales");
    return scales;
}

/*
 * The bias less what the zero point of x adds, scaled where the library does not do it; -1 = none.
 * scales = NULL: none.
 */
static int add_bias(onednn_build *b, const float *scales, int64_t n_scales)
{
    const places at = find_places(b->call);
    const tfr_operand *bias = at.quantized ? tfr_call_input(b->call, BIAS) : NULL;
    int32_t zero = onednn_known_int(tfr_call_input(b->call, at.zero), 0);
    bool real = scales && !ONEDNN_SCALES_BIAS;
    int64_t n = tfr_call_input(b->call, at.w)->dims[0], i;
    void *data;
    int tensor;

    if (!bias && zero == 0)
        return -1;
    tensor = onednn_constant(b, onednn_plain(b, real ? dnnl_f32 : dnnl_s32, 1, &n), &data);
    for (i = 0; data && i < n; i++) {
        int64_t value =
            onednn_known_int(bias, i) - (zero ? zero * channel_sum(b->call, i, false) : 0);
        if (real)
            ((float *)data)[i] = (float)((double)value * (double)scales[n_scales > 1 ? i : 0]);
        else
            ((int32_t *)data)[i] = (int32_t)(value < INT32_MIN   ? INT32_MIN
                                             : value > INT32_MAX ? INT32_MAX
                                                                 : value);
    }
    return tensor;
}

/* x itself, or in the middle of a block of its zero point; then the window has no padding. */
static int add_padded(onednn_build *b, onednn_window *window, const int64_t *src_dims)
{
    const tfr_operand *x = tfr_call_input(b->call, 0);
    const tfr_operand *zero = tfr_call_input(b->call, find_places(b->call).zero);
    int64_t dims[TFR_MAX_RANK], strides[TFR_MAX_RANK], begin[TFR_MAX_RANK] = {0}, n;
    bool padded = false;
    onednn_cmd block, given = onednn_cut(b, x, onednn_type(x->dtype), src_dims);
    void *data = NULL;
    int to, i;

    for (i = 0; i < x->rank; i++) {
        dims[i] = src_dims[i];
        if (i < 2)
            continue;
        begin[i] = window->pad_begin[i - 2];
        dims[i] += begin[i] + window->pad_end[i - 2];
        padded = padded || dims[i] != src_dims[i];
        window->pad_begin[i - 2] = window->pad_end[i - 2] = 0;
    }
    if (!padded)
        return onednn_input(b, 0, given);
    strides[1] = 1; /* channels last */
    n = dims[1];
    for (i = x->rank - 1; i >= 2; i--) {
        strides[i] = n;
        n *= dims[i];
    }
    strides[0] = n;
    block = onednn_strided(b, onednn_type(x->dtype), x->rank, dims, strides);
    to = onednn_temporary(b, block);
    if (b->status == TFR_OK &&
        dnnl_memory_get_data_handle(b->tensors[to].memory, &data) == dnnl_success && data)
        memset(data, onednn_known_int(zero, 0) & 255, (size_t)(n * dims[0]));
    onednn_add_reorder(b, onednn_input(b, 0, given),
                       onednn_view(b, to, onednn_part(b, block, src_dims, begin)));
    return to;
}

void onednn_conv_integer_prepare(onednn_build *b, const tfr_call *call)
{
    const places at = find_places(call);
    const tfr_operand *w = tfr_call_input(call, at.w);
    int64_t n = at.quantized ? tfr_operand_elements(tfr_call_input(call, W_SCALE)) : 0;
    float *scales = at.quantized ? make_scales(b, n) : NULL;
    onednn_quant q;
    int64_t dims[TFR_MAX_RANK];
    onednn_conv c;
    void *data;

    c.blocked = true;
    onednn_read_window(call, w, &c.window, dims);
    c.src = add_padded(b, &c.window, dims);
    c.weight = onednn_constant(b, onednn_weights_md(b, call, w, dnnl_s8), &data);
    if (data)
        onednn_weights_data(data, w, tfr_call_input(call, at.w_zero), w->dims[0], taps(w));
    c.dst = onednn_output(b, 0, onednn_of(b, tfr_call_output(call, 0)));
    c.shift = add_bias(b, scales, n);
    onednn_quant_begin(b, &q);
    if (scales) {
        onednn_quant_scales(b, &q, n, 1 << 1, tfr_call_int(call, "group", 1) > 1 ? 3 : 1, scales);
        onednn_quant_zero(b, &q, DNNL_ARG_DST, Y_ZERO, 0);
    }
    onednn_add_convolution(b, &c, &q);
    onednn_quant_end(&q);
    free(scales);
}
