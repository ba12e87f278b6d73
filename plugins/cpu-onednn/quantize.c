/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize.c: QuantizeLinear from float32 to int8 and uint8, DequantizeLinear back, by tensor or by
 * axis.
 *
 * Each is one binary primitive over [outer, axis, inner] with post-operations in float32:
 *   quantize    x / scale, rounded to even, + zero, saturated by the store
 *   dequantize  x - zero, * scale: the difference is exact, so the product is the only rounding
 */
#include <string.h>

#include "families.h"

enum { X, SCALE, ZERO };

static bool is_quantize(const tfr_call *call)
{
    return call->name[0] == 'Q';
}

void onednn_quantize_supports(const tfr_plugin_device *device, const tfr_call *call,
                              tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, X), *y = tfr_call_output(call, 0);
    const tfr_operand *scale = tfr_call_input(call, SCALE);
    int32_t wide = is_quantize(call) ? x->dtype : y->dtype;
    int32_t narrow = is_quantize(call) ? y->dtype : x->dtype;
    int64_t precision = tfr_call_int(call, "precision", 0);

    (void)device;
    if (wide != TFR_DTYPE_F32 || scale->dtype != TFR_DTYPE_F32)
        tfr_decline(answer, TFR_REASON_DTYPE,
                    "the real numbers are of type %d and the scale of %d, only float32 is done",
                    (int)wide, (int)scale->dtype);
    else if (narrow != TFR_DTYPE_I8 && narrow != TFR_DTYPE_U8)
        tfr_decline(answer, TFR_REASON_DTYPE,
                    "the quantized numbers are of type %d, only int8 and uint8 are done",
                    (int)narrow);
    else if (precision != 0 && precision != TFR_DTYPE_F32)
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "precision is type %d, only float32 is done here",
                    (int)precision);
    else if (tfr_operand_elements(scale) != 1 && scale->rank != 1)
        tfr_decline(answer, TFR_REASON_LAYOUT,
                    "the scale has rank %d, only one by tensor or by axis is done here",
                    (int)scale->rank);
    else if (tfr_operand_elements(scale) != 1 && tfr_call_int(call, "block_size", 0) != 0)
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "a scale for each %lld elements is not done here",
                    (long long)tfr_call_int(call, "block_size", 0));
}

/* A scale or zero point as [1, n, 1], n = 1 or the axis' length. */
static int add_parameter(onednn_build *b, uint32_t i)
{
    const tfr_operand *o = tfr_call_input(b->call, i);
    const int64_t dims[3] = {1, tfr_operand_elements(o), 1};

    return onednn_input(b, i, onednn_plain(b, onednn_type(o->dtype), 3, dims));
}

typedef struct post {
    dnnl_post_ops_t ops;
    onednn_use uses[5];
    int n, n_uses;
    dnnl_status_t status;
} post;

static void post_round(post *p)
{
    if (p->status == dnnl_success)
        p->status = onednn_post_eltwise(p->ops, dnnl_eltwise_round, 0.0f, 0.0f);
    p->n++;
}

static void post_binary(onednn_build *b, post *p, dnnl_alg_kind_t alg, int tensor)
{
    if (b->status == TFR_OK && p->status == dnnl_success)
        p->status = dnnl_post_ops_append_binary(p->ops, alg, onednn_md_of(b, tensor));
    p->uses[p->n_uses++] =
        (onednn_use){DNNL_ARG_ATTR_MULTIPLE_POST_OP(p->n++) | DNNL_ARG_SRC_1, tensor};
}

/* y = alg(x, other), then what p says. */
static void add_step(onednn_build *b, dnnl_alg_kind_t alg, int x, int other, int y, post *p)
{
    onednn_make make = onednn_maker(b);
    dnnl_primitive_attr_t attr = NULL;

    p->uses[p->n_uses++] = (onednn_use){DNNL_ARG_SRC_0, x};
    p->uses[p->n_uses++] = (onednn_use){DNNL_ARG_SRC_1, other};
    p->uses[p->n_uses++] = (onednn_use){DNNL_ARG_DST, y};
    if (b->status != TFR_OK)
        return;
    if (p->status == dnnl_success)
        p->status = dnnl_primitive_attr_clone(&attr, b->attr);
    if (p->status == dnnl_success)
        p->status = dnnl_primitive_attr_set_post_ops(attr, p->ops);
    make.attr = attr;
    if (p->status == dnnl_success)
        p->status = onednn_binary(&make, alg, onednn_md_of(b, x), onednn_md_of(b, other),
                                  onednn_md_of(b, y));
    onednn_add(b, p->status, &make, b->call->name, p->uses, p->n_uses);
    if (attr)
        dnnl_primitive_attr_destroy(attr);
}

void onednn_quantize_prepare(onednn_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, X), *y = tfr_call_output(call, 0);
    bool by_axis = tfr_operand_elements(tfr_call_input(call, SCALE)) > 1;
    bool zero = tfr_call_input(call, ZERO) != NULL;
    int axis = by_axis ? (int)tfr_call_int(call, "axis", 1) : 0;
    int64_t n = by_axis ? x->dims[axis] : 1;
    const int64_t outer = by_axis ? tfr_operand_span(x, 0, axis) : 1;
    const int64_t dims[3] = {outer, n, tfr_operand_elements(x) / outer / n};
    int from = onednn_input(b, X, onednn_plain(b, onednn_type(x->dtype), 3, dims));
    int to = onednn_output(b, 0, onednn_plain(b, onednn_type(y->dtype), 3, dims));
    int scale = add_parameter(b, SCALE);
    post p = {0};

    p.status = dnnl_post_ops_create(&p.ops);
    if (is_quantize(call)) {
        /* A post-operation along the last dim reads the wrong places if the result has 8 bits. */
        bool apart = zero && by_axis && dims[2] == 1;
        int t = apart ? onednn_temporary(b, onednn_plain(b, dnnl_f32, 3, dims)) : to;
        post_round(&p);
        if (zero && !apart)
            post_binary(b, &p, dnnl_binary_add, add_parameter(b, ZERO));
        add_step(b, dnnl_binary_div, from, scale, t, &p);
        if (apart)
            onednn_add_binary(b, dnnl_binary_add, t, add_parameter(b, ZERO), to);
    } else if (zero) {
        post_binary(b, &p, dnnl_binary_mul, scale);
        add_step(b, dnnl_binary_sub, from, add_parameter(b, ZERO), to, &p);
    } else {
        add_step(b, dnnl_binary_mul, from, scale, to, &p);
    }
    if (p.ops)
        dnnl_post_ops_destroy(p.ops);
}
