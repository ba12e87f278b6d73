/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.c: MaxPool, AveragePool and GlobalMaxPool in 1 to 3 dimensions.
 *
 * The output's dims are the core's, so ceil_mode only shows as more padding at the end: as much as
 * the last window needs. An average that counts padding divides by the whole window in oneDNN,
 * while ONNX leaves out what lies beyond the declared padding: declined where that happens.
 *
 * What a window without elements gives is up to the library, and differs from naive's: declined.
 *
 * ONNX does not say what the maximum of a window with a NaN is; oneDNN takes the greatest number
 * that is there. A window of nothing but -inf gives the lowest finite number, which pool_lowest.c
 * repairs.
 */
#include <string.h>

#include "families.h"

static bool is_global(const tfr_call *call)
{
    return call->name[0] == 'G';
}

static bool is_max(const tfr_call *call)
{
    return strstr(call->name, "Max") != NULL;
}

/* The window as oneDNN wants it; declared_end gets the padding the call asks for at the end. */
static void read_window(const tfr_call *call, onednn_window *w, int64_t *declared_end)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    int n = x->rank - 2, i;
    const int64_t *kernel = tfr_call_ints(call, "kernel_shape", (uint64_t)n);
    const int64_t *strides = tfr_call_ints(call, "strides", (uint64_t)n);
    const int64_t *dilations = tfr_call_ints(call, "dilations", (uint64_t)n);
    const int64_t *pads = tfr_call_ints(call, "pads", (uint64_t)n * 2);

    for (i = 0; i < n; i++) {
        int64_t in = x->dims[i + 2], reach;
        w->kernel[i] = is_global(call) || !kernel ? in : kernel[i];
        w->stride[i] = strides ? strides[i] : 1;
        w->dilation[i] = dilations && w->kernel[i] > 1 ? dilations[i] - 1 : 0;
        w->pad_begin[i] = pads ? pads[i] : 0;
        declared_end[i] = pads ? pads[n + i] : 0;
        reach = (w->kernel[i] - 1) * (w->dilation[i] + 1) + 1;
        w->pad_end[i] = (y->dims[i + 2] - 1) * w->stride[i] + reach - in - w->pad_begin[i];
        if (w->pad_end[i] < declared_end[i])
            w->pad_end[i] = declared_end[i];
    }
}

void onednn_pool_supports(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    bool counts_padding = tfr_call_int(call, "count_include_pad", 0) != 0;
    onednn_window w;
    int64_t end[TFR_MAX_RANK];
    int i;

    if (!onednn_want_float(device, call, answer, 0, true) ||
        !onednn_want_rank(call, answer, 0, 3, 5) || !onednn_want_one_output(call, answer))
        return;
    read_window(call, &w, end);
    if (!onednn_want_window_ints(&w, x->rank - 2, answer))
        return;
    for (i = 0; i < x->rank - 2; i++) {
        int64_t reach = (w.kernel[i] - 1) * (w.dilation[i] + 1) + 1;
        int64_t size = x->dims[i + 2] + w.pad_begin[i] + w.pad_end[i] - reach;
        if (w.pad_begin[i] < 0 || end[i] < 0)
            tfr_decline(answer, TFR_REASON_ATTRIBUTE, "padding of axis %d is negative", i + 2);
        else if (w.pad_begin[i] >= reach || w.pad_end[i] >= reach)
            tfr_decline(answer, TFR_REASON_ATTRIBUTE,
                        "a window of axis %d lies in the padding (%lld and %lld, it reaches %lld)",
                        i + 2, (long long)w.pad_begin[i], (long long)w.pad_end[i],
                        (long long)reach);
        else if (w.kernel[i] > 1 && w.dilation[i] >= x->dims[i + 2])
            tfr_decline(answer, TFR_REASON_ATTRIBUTE,
                        "the %lld elements of axis %d may lie between those of a window of "
                        "dilation %lld",
                        (long long)x->dims[i + 2], i + 2, (long long)w.dilation[i] + 1);
        else if (size < 0 || size / w.stride[i] + 1 != y->dims[i + 2])
            tfr_decline(answer, TFR_REASON_ATTRIBUTE, "axis %d has %lld outputs, %lld are done",
                        i + 2, (long long)y->dims[i + 2],
                        (long long)(size < 0 ? 0 : size / w.stride[i] + 1));
        else if (!is_max(call) && counts_padding && w.pad_end[i] > end[i])
            tfr_decline(answer, TFR_REASON_ATTRIBUTE,
                        "count_include_pad with a window %lld beyond the padding of axis %d",
                        (long long)(w.pad_end[i] - end[i]), i + 2);
        else
            continue;
        return;
    }
}

/* [N, C, W] becomes [N, C, 1, W]: there is no fast code for one spatial dim. */
static onednn_cmd plane_md(onednn_build *b, const tfr_operand *o)
{
    const int64_t dims[4] = {o->dims[0], o->dims[1], 1, o->dims[2]};
    return o->rank == 3 ? onednn_plain(b, onednn_type(o->dtype), 4, dims) : onednn_of(b, o);
}

static void widen_window(onednn_window *w)
{
    w->kernel[1] = w->kernel[0];
    w->stride[1] = w->stride[0];
    w->dilation[1] = w->dilation[0];
    w->pad_begin[1] = w->pad_begin[0];
    w->pad_end[1] = w->pad_end[0];
    w->kernel[0] = w->stride[0] = 1;
    w->dilation[0] = w->pad_begin[0] = w->pad_end[0] = 0;
}

void onednn_pool_prepare(onednn_build *b, const tfr_call *call)
{
    onednn_cmd src = plane_md(b, tfr_call_input(call, 0));
    onednn_cmd dst = plane_md(b, tfr_call_output(call, 0));
    const onednn_use uses[] = {{DNNL_ARG_SRC, onednn_input(b, 0, src)},
                               {DNNL_ARG_DST, onednn_output(b, 0, dst)}};
    onednn_make make = onednn_maker(b);
    dnnl_alg_kind_t alg = is_max(call) ? dnnl_pooling_max
                          : tfr_call_int(call, "count_include_pad", 0)
                              ? dnnl_pooling_avg_include_padding
                              : dnnl_pooling_avg_exclude_padding;
    onednn_window w;
    int64_t end[TFR_MAX_RANK];

    read_window(call, &w, end);
    if (is_max(call) && !(b->kernel.lowest = onednn_lowest_new(call, &w)))
        onednn_build_fail(b, TFR_ENOMEM, "no memory for its window");
    if (tfr_call_input(call, 0)->rank == 3)
        widen_window(&w);
    if (b->status == TFR_OK)
        onednn_add(b, onednn_pooling(&make, alg, src, dst, &w), &make, "pooling", uses, 2);
}
