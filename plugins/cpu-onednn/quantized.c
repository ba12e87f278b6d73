/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized.c: what quantized.h says. Where the library saturates between products of 8 bits, all
 * ops of this kind are declined.
 */
#include "quantized.h"

/* ---- checks ---- */

static bool is_int8(const tfr_operand *o)
{
    return o->dtype == TFR_DTYPE_I8 || o->dtype == TFR_DTYPE_U8;
}

bool onednn_want_int8(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer,
                      uint32_t i)
{
    const tfr_operand *o = tfr_call_input(call, i);

    if (!device->int8)
        tfr_decline(answer, TFR_REASON_DEVICE_FEATURE,
                    "sums of 8-bit products saturate at 16 bits on a processor without avx512_vnni "
                    "or avx_vnni");
    else if (!onednn_library_adds_int8(device->host))
        tfr_decline(answer, TFR_REASON_DEVICE_FEATURE,
                    "oneDNN is held to instructions without VNNI, with which sums of 8-bit "
                    "products saturate at 16 bits");
    else if (!is_int8(o))
        tfr_decline(answer, TFR_REASON_DTYPE,
                    "input %u is of type %d, only int8 and uint8 are done here", i, (int)o->dtype);
    else
        return true;
    return false;
}

bool onednn_want_constant(const tfr_call *call, tfr_answer *answer, uint32_t i, int64_t n,
                          bool scale)
{
    const tfr_operand *o = tfr_call_input(call, i);
    int64_t have = o ? tfr_operand_elements(o) : 1;

    if (o && !o->data)
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "input %u is not a constant", i);
    else if (o && scale && o->dtype != TFR_DTYPE_F32)
        tfr_decline(answer, TFR_REASON_DTYPE, "scale %u is of type %d, only float32 is done here",
                    i, (int)o->dtype);
    else if (have != 1 && have != n)
        tfr_decline(answer, TFR_REASON_LAYOUT,
                    "input %u has %lld elements, only 1 or %lld are done", i, (long long)have,
                    (long long)n);
    else
        return true;
    return false;
}

bool onednn_want_one(const tfr_call *call, tfr_answer *answer, uint32_t i)
{
    const tfr_operand *o = tfr_call_input(call, i);
    int64_t have = o ? tfr_operand_elements(o) : 1;

    if (have == 1)
        return true;
    tfr_decline(answer, TFR_REASON_LAYOUT, "input %u has %lld elements, only 1 is done here", i,
                (long long)have);
    return false;
}

static int32_t zero_of(const tfr_operand *zero, int64_t i, int64_t n, int64_t inner)
{
    if (!zero)
        return 0;
    return onednn_known_int(zero, tfr_operand_elements(zero) == 1 ? 0 : i / inner % n);
}

bool onednn_want_weights(const tfr_call *call, tfr_answer *answer, uint32_t w, uint32_t zero,
                         int64_t n, int64_t inner)
{
    const tfr_operand *o = tfr_call_input(call, w), *z = tfr_call_input(call, zero);
    int64_t elements = tfr_operand_elements(o), i;

    if (!onednn_want_constant(call, answer, w, elements, false) ||
        !onednn_want_constant(call, answer, zero, n, false))
        return false;
    for (i = 0; i < elements; i++) {
        int32_t value = onednn_known_int(o, i) - zero_of(z, i, n, inner);
        if (value >= INT8_MIN && value <= INT8_MAX)
            continue;
        tfr_decline(answer, TFR_REASON_ATTRIBUTE,
                    "weight %lld less its zero point is %d, only %d to %d is done here",
                    (long long)i, (int)value, INT8_MIN, INT8_MAX);
        return false;
    }
    return true;
}

/* ---- values ---- */

int32_t onednn_known_int(const tfr_operand *o, int64_t i)
{
    if (!o)
        return 0;
    switch (o->dtype) {
    case TFR_DTYPE_I8:
        return ((const int8_t *)o->data)[i];
    case TFR_DTYPE_I32:
        return ((const int32_t *)o->data)[i];
    default:
        return ((const uint8_t *)o->data)[i];
    }
}

void onednn_weights_data(int8_t *out, const tfr_operand *w, const tfr_operand *zero, int64_t n,
                         int64_t inner)
{
    int64_t elements = tfr_operand_elements(w), i;

    for (i = 0; i < elements; i++)
        out[i] = (int8_t)(onednn_known_int(w, i) - zero_of(zero, i, n, inner));
}

/* ---- attributes ---- */

void onednn_quant_begin(onednn_build *b, onednn_quant *q)
{
    q->attr = NULL;
    q->n_uses = 0;
    if (b->status == TFR_OK && dnnl_primitive_attr_clone(&q->attr, b->attr) != dnnl_success)
        onednn_build_fail(b, TFR_ENOMEM, "no memory for its attributes");
}

void onednn_quant_end(onednn_quant *q)
{
    if (q->attr)
        dnnl_primitive_attr_destroy(q->attr);
}

void onednn_quant_use(onednn_quant *q, int arg, int tensor)
{
    q->uses[q->n_uses++] = (onednn_use){arg, tensor};
}

static void use_zero(onednn_build *b, onednn_quant *q, int arg, int tensor)
{
    if (b->status == TFR_OK && onednn_zero_point(q->attr, arg) != dnnl_success)
        onednn_build_fail(b, TFR_EPLUGIN, "the library refuses a zero point");
    onednn_quant_use(q, DNNL_ARG_ATTR_ZERO_POINTS | arg, tensor);
}

void onednn_quant_number(onednn_build *b, onednn_quant *q, int arg, int32_t zero)
{
    const int64_t one = 1;
    void *data;
    int tensor;

    if (zero == 0)
        return;
    tensor = onednn_constant(b, onednn_plain(b, dnnl_s32, 1, &one), &data);
    if (data)
        *(int32_t *)data = zero;
    use_zero(b, q, arg, tensor);
}

void onednn_quant_zero(onednn_build *b, onednn_quant *q, int arg, uint32_t i, int32_t less)
{
    const tfr_operand *o = tfr_call_input(b->call, i);
    const int64_t one = 1;
    int tensor;

    if (!o || o->data) {
        onednn_quant_number(b, q, arg, onednn_known_int(o, 0) - less);
        return;
    }
    tensor = onednn_temporary(b, onednn_plain(b, dnnl_s32, 1, &one));
    onednn_add_reorder(b, onednn_input(b, i, onednn_flat(b, o)), tensor);
    use_zero(b, q, arg, tensor);
}

void onednn_quant_scales(onednn_build *b, onednn_quant *q, int64_t n, int dst_mask,
                         int weights_mask, const float *scales)
{
    void *data;
    int tensor;
    int64_t i;

    if (b->status == TFR_OK && onednn_scales(q->attr, n, n > 1 ? dst_mask : 0,
                                             n > 1 ? weights_mask : 0, scales) != dnnl_success)
        onednn_build_fail(b, TFR_EPLUGIN, "the library refuses its scales");
    if (ONEDNN_SCALES_ARG == 0)
        return;
    tensor = onednn_constant(b, onednn_plain(b, dnnl_f32, 1, &n), &data);
    for (i = 0; data && i < n; i++)
        ((float *)data)[i] = scales[i];
    onednn_quant_use(q, ONEDNN_SCALES_ARG, tensor);
}
