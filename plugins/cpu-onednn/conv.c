/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv.c: Conv, ConvTranspose and ConvGradInput in 1 to 3 dimensions, with groups, dilation and
 * padding of any kind. ConvGradInput is a ConvTranspose whose output has the dims that are wanted.
 *
 * N C H W are the input's dims, OC IC KH KW the weights', G the groups. Operands are plain outside;
 * inside, the library may choose blocked layouts, which pays when the arithmetic outweighs the
 * copies there and back. Constant weights are packed once.
 */
#include <string.h>

#include "conv.h"
#include "families.h"

static bool is_transposed(const tfr_call *call)
{
    return strcmp(call->name, "ConvTranspose") == 0 || strcmp(call->name, "ConvGradInput") == 0;
}

/*
 * A last axis with one output needs no stride, and oneDNN 3.7 computes such a one wrongly in its
 * code for AMX if the stride is more than 1: it gets stride 1, and what its window does not reach
 * is cut off.
 */
static void cut_single_output(onednn_window *w, int64_t *in, int i)
{
    int64_t reach = (w->kernel[i] - 1) * (w->dilation[i] + 1) + 1;

    w->stride[i] = 1;
    w->pad_end[i] = reach - *in - w->pad_begin[i];
    if (w->pad_end[i] < 0) {
        *in += w->pad_end[i];
        w->pad_end[i] = 0;
    }
}

void onednn_read_window(const tfr_call *call, const tfr_operand *k, onednn_window *w,
                        int64_t *src_dims)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    int n = x->rank - 2, i;
    const int64_t *strides = tfr_call_ints(call, "strides", (uint64_t)n);
    const int64_t *dilations = tfr_call_ints(call, "dilations", (uint64_t)n);
    const int64_t *pads = tfr_call_ints(call, "pads", (uint64_t)n * 2);

    memcpy(src_dims, x->dims, (size_t)x->rank * sizeof *src_dims);
    for (i = 0; i < n; i++) {
        int64_t reach;
        w->kernel[i] = k->dims[i + 2];
        w->stride[i] = strides ? strides[i] : 1;
        w->dilation[i] = dilations && w->kernel[i] > 1 ? dilations[i] - 1 : 0;
        w->pad_begin[i] = pads ? pads[i] : 0;
        w->pad_end[i] = pads ? pads[n + i] : 0;
        reach = (w->kernel[i] - 1) * (w->dilation[i] + 1) + 1;
        /* output_padding is less padding at the end */
        if (is_transposed(call))
            w->pad_end[i] =
                (x->dims[i + 2] - 1) * w->stride[i] + reach - w->pad_begin[i] - y->dims[i + 2];
        else if (i == n - 1 && y->dims[i + 2] == 1 && w->stride[i] > 1 && w->pad_begin[i] >= 0 &&
                 w->pad_begin[i] < reach)
            cut_single_output(w, &src_dims[i + 2], i);
    }
}

bool onednn_want_window(const tfr_call *call, tfr_answer *answer, const tfr_operand *k)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    int64_t dims[TFR_MAX_RANK];
    onednn_window w;
    int i;

    if (!onednn_want_rank(call, answer, 0, 3, 5))
        return false;
    onednn_read_window(call, k, &w, dims);
    if (!onednn_want_window_ints(&w, x->rank - 2, answer))
        return false;
    for (i = 0; i < x->rank - 2; i++) {
        int64_t least = is_transposed(call) ? 1 - w.stride[i] : 0;
        int64_t reach = (w.kernel[i] - 1) * (w.dilation[i] + 1) + 1;
        int64_t last = (tfr_call_output(call, 0)->dims[i + 2] - 1) * w.stride[i] - w.pad_begin[i];
        if (w.pad_begin[i] < 0 || w.pad_end[i] < least)
            tfr_decline(answer, TFR_REASON_ATTRIBUTE,
                        "padding of axis %d is %lld and %lld, not from 0", i + 2,
                        (long long)w.pad_begin[i], (long long)w.pad_end[i]);
        else if (!is_transposed(call) && (w.pad_begin[i] >= reach || last >= dims[i + 2]))
            /* oneDNN 2.6 crashes */
            tfr_decline(answer, TFR_REASON_ATTRIBUTE,
                        "a window of axis %d lies in the padding (%lld and %lld, it reaches %lld)",
                        i + 2, (long long)w.pad_begin[i], (long long)w.pad_end[i],
                        (long long)reach);
        else
            continue;
        return false;
    }
    return true;
}

void onednn_conv_supports(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer)
{
    if (onednn_want_float(device, call, answer, call->domain[0] ? 1u << 2 : 0, true))
        onednn_want_window(call, answer, tfr_call_input(call, 1));
}

onednn_cmd onednn_weights_md(onednn_build *b, const tfr_call *call, const tfr_operand *k,
                             dnnl_data_type_t type)
{
    int64_t g = tfr_call_int(call, "group", 1), taps = tfr_operand_span(k, 2, k->rank);
    bool swap = is_transposed(call);
    int at = g > 1, i;
    int64_t first = k->dims[0] / g, second = k->dims[1];
    int64_t dims[TFR_MAX_RANK], strides[TFR_MAX_RANK];

    if (at) {
        dims[0] = g;
        strides[0] = first * second * taps;
    }
    dims[at] = swap ? second : first;
    strides[at] = swap ? taps : second * taps;
    dims[at + 1] = swap ? first : second;
    strides[at + 1] = swap ? second * taps : taps;
    for (i = k->rank - 1; i >= 2; i--) {
        dims[at + i] = k->dims[i];
        strides[at + i] = i == k->rank - 1 ? 1 : strides[at + i + 1] * k->dims[i + 1];
    }
    return onednn_strided(b, type, k->rank + at, dims, strides);
}

/*
 * Whether blocked layouts inside are worth two copies. Measured on ResNet's, MobileNet's and small
 * layers: a factor of 1.3 to 9 in favour, but for products without a window (1 x 1), which oneDNN
 * does in place, and sums over few taps. Depthwise layers gain most.
 */
static bool blocked_pays(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *k = tfr_call_input(call, 1);
    int64_t groups = tfr_call_int(call, "group", 1), taps = tfr_operand_span(k, 2, k->rank);
    int64_t channels = x->dims[1] / groups;

    if (taps == 1)
        return channels == 1;
    return groups > 1 || channels * taps >= 16;
}

onednn_cmd onednn_cut(onednn_build *b, const tfr_operand *x, dnnl_data_type_t type,
                      const int64_t *dims)
{
    int64_t strides[TFR_MAX_RANK], n = 1;
    int i;

    for (i = x->rank - 1; i >= 0; i--) {
        strides[i] = n;
        n *= x->dims[i];
    }
    return onednn_strided(b, type, x->rank, dims, strides);
}

void onednn_add_convolution(onednn_build *b, const onednn_conv *c, onednn_quant *q)
{
    onednn_make make = onednn_maker(b);
    onednn_cmd src, weight, dst, shift;
    dnnl_status_t status;
    int to = c->dst;

    src = c->blocked ? onednn_any_like(b, c->src) : onednn_md_of(b, c->src);
    weight = onednn_any_like(b, c->weight);
    dst = c->blocked ? onednn_any_like(b, c->dst) : onednn_md_of(b, c->dst);
    shift = c->shift < 0 ? NULL : onednn_md_of(b, c->shift);
    if (b->status != TFR_OK)
        return;
    make.attr = q->attr;
    status = (is_transposed(b->call) ? onednn_deconvolution : onednn_convolution)(
        &make, src, weight, shift, dst, &c->window);
    if (status == dnnl_success) {
        const const_dnnl_primitive_desc_t pd = make.pd;
        onednn_quant_use(
            q, DNNL_ARG_SRC,
            onednn_as(b, c->src, dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0)));
        onednn_quant_use(
            q, DNNL_ARG_WEIGHTS,
            onednn_as(b, c->weight, dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0)));
        to = onednn_target(b, c->dst, dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0));
        onednn_quant_use(q, DNNL_ARG_BIAS, c->shift);
        onednn_quant_use(q, DNNL_ARG_DST, to);
    }
    onednn_add(b, status, &make, b->call->name, q->uses, q->n_uses);
    if (to != c->dst)
        onednn_add_reorder(b, to, c->dst);
}

void onednn_conv_prepare(onednn_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *k = tfr_call_input(call, 1);
    /* Input 2 of ConvGradInput is the shape. */
    const tfr_operand *bias = call->domain[0] ? NULL : tfr_call_input(call, 2);
    const tfr_operand *y = tfr_call_output(call, 0);
    /* oneDNN 2 has no fast transposed code for 16 bits. */
    dnnl_data_type_t type = is_transposed(call) ? dnnl_f32 : onednn_type(x->dtype);
    onednn_quant q;
    int64_t dims[TFR_MAX_RANK];
    onednn_conv c;

    onednn_read_window(call, k, &c.window, dims);
    c.blocked = blocked_pays(call) || memcmp(dims, x->dims, (size_t)x->rank * sizeof *dims) != 0;
    c.src = onednn_input(b, 0, onednn_cut(b, x, type, dims));
    c.weight = onednn_input(b, 1, onednn_weights_md(b, call, k, type));
    c.shift = bias ? onednn_input(b, 2, onednn_plain(b, type, 1, bias->dims)) : -1;
    c.dst = onednn_output(b, 0, onednn_plain(b, type, y->rank, y->dims));
    onednn_quant_begin(b, &q);
    onednn_add_convolution(b, &c, &q);
    onednn_quant_end(&q);
}
