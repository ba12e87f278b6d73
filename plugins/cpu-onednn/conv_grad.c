/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_grad.c: ConvGradFilter, the gradient of Conv's weights, in 1 to 3 dimensions with groups and
 * dilation. (ConvGradInput is what the library calls a deconvolution: conv.c.) The layouts of all
 * three operands are the library's choice: the sums over batch and positions outweigh the copies.
 *
 * dY [N OC OH OW], X [N IC IH IW], dW [OC IC/G KH KW].
 */
#include "conv.h"
#include "families.h"

static void read_window(const tfr_call *call, onednn_window *w)
{
    const tfr_operand *k = tfr_call_output(call, 0);
    int n = k->rank - 2, i;
    const int64_t *strides = tfr_call_ints(call, "strides", (uint64_t)n);
    const int64_t *dilations = tfr_call_ints(call, "dilations", (uint64_t)n);
    const int64_t *pads = tfr_call_ints(call, "pads", (uint64_t)n * 2);

    for (i = 0; i < n; i++) {
        w->kernel[i] = k->dims[i + 2];
        w->stride[i] = strides ? strides[i] : 1;
        w->dilation[i] = dilations && w->kernel[i] > 1 ? dilations[i] - 1 : 0;
        w->pad_begin[i] = pads ? pads[i] : 0;
        w->pad_end[i] = pads ? pads[n + i] : 0;
    }
}

void onednn_conv_grad_supports(const tfr_plugin_device *device, const tfr_call *call,
                               tfr_answer *answer)
{
    const tfr_operand *dy = tfr_call_input(call, 0), *x = tfr_call_input(call, 1);
    onednn_window w;
    int i;

    /* oneDNN 2.6 finds no code for many of bfloat16. */
    if (!onednn_want_float(device, call, answer, 1u << 2, false) ||
        !onednn_want_rank(call, answer, 0, 3, 5))
        return;
    read_window(call, &w);
    if (!onednn_want_window_ints(&w, dy->rank - 2, answer))
        return;
    for (i = 0; i < dy->rank - 2; i++) {
        int64_t reach = (w.kernel[i] - 1) * (w.dilation[i] + 1) + 1;
        int64_t last = (dy->dims[i + 2] - 1) * w.stride[i] - w.pad_begin[i];
        if (w.pad_begin[i] >= 0 && w.pad_end[i] >= 0 && w.pad_begin[i] < reach &&
            w.pad_end[i] < reach && last < x->dims[i + 2])
            continue;
        tfr_decline(answer, TFR_REASON_ATTRIBUTE,
                    "a window of axis %d lies in the padding (%lld and %lld, it reaches %lld)",
                    i + 2, (long long)w.pad_begin[i], (long long)w.pad_end[i], (long long)reach);
        return;
    }
}

void onednn_conv_grad_prepare(onednn_build *b, const tfr_call *call)
{
    int dy = onednn_input(b, 0, onednn_of(b, tfr_call_input(call, 0)));
    int x = onednn_input(b, 1, onednn_of(b, tfr_call_input(call, 1)));
    int dw = onednn_output(b, 0, onednn_weights_md(b, call, tfr_call_output(call, 0), dnnl_f32));
    onednn_cmd dy_md = onednn_any_like(b, dy), x_md = onednn_any_like(b, x),
               dw_md = onednn_any_like(b, dw);
    onednn_make make = onednn_maker(b);
    dnnl_status_t status;
    onednn_window w;
    int to = dw;

    read_window(call, &w);
    if (b->status != TFR_OK)
        return;
    status = onednn_convolution_weights(&make, x_md, dw_md, dy_md, &w);
    if (status == dnnl_success) {
        const const_dnnl_primitive_desc_t pd = make.pd;
        dy = onednn_as(b, dy, dnnl_primitive_desc_query_md(pd, dnnl_query_diff_dst_md, 0));
        x = onednn_as(b, x, dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0));
        to = onednn_target(b, dw, dnnl_primitive_desc_query_md(pd, dnnl_query_diff_weights_md, 0));
    }
    onednn_add(b, status, &make, call->name,
               (const onednn_use[]){
                   {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_WEIGHTS, to}},
               3);
    if (to != dw)
        onednn_add_reorder(b, to, dw);
}
