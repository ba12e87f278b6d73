/* SPDX-License-Identifier: Apache-2.0 */
/* batch_norm.c: BatchNormalization for inference: x, scale, b, mean, var. */
#include "families.h"

void onednn_batch_norm_supports(const tfr_plugin_device *device, const tfr_call *call,
                                tfr_answer *answer)
{
    if (!onednn_want_float(device, call, answer, 0, true) ||
        !onednn_want_rank(call, answer, 0, 2, DNNL_MAX_NDIMS) ||
        !onednn_want_one_output(call, answer))
        return;
    if (tfr_call_int(call, "training_mode", 0) != 0)
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "training_mode is 1, only 0 is done here");
}

void onednn_batch_norm_prepare(onednn_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const int64_t dims[4] = {x->dims[0], x->dims[1], 1, tfr_operand_span(x, 2, x->rank)};
    const int64_t c = dims[1], channels_last[4] = {c * dims[3], 1, c, c};
    /* Without a plane the channels are the last dim, and oneDNN is faster if it knows. */
    onednn_cmd data = dims[3] == 1 ? onednn_strided(b, dnnl_f32, 4, dims, channels_last)
                                   : onednn_plain(b, dnnl_f32, 4, dims);
    onednn_cmd channel = onednn_plain(b, dnnl_f32, 1, &x->dims[1]);
    const onednn_use uses[] = {
        {DNNL_ARG_SRC, onednn_input(b, 0, data)},
        {DNNL_ARG_SCALE, onednn_input(b, 1, channel)},
        {DNNL_ARG_SHIFT, onednn_input(b, 2, channel)},
        {DNNL_ARG_MEAN, onednn_input(b, 3, channel)},
        {DNNL_ARG_VARIANCE, onednn_input(b, 4, channel)},
        {DNNL_ARG_DST, onednn_output(b, 0, data)},
    };
    onednn_make make = onednn_maker(b);

    if (b->status == TFR_OK)
        onednn_add(b, onednn_batch_norm(&make, data, tfr_call_float(call, "epsilon", 1e-5f)), &make,
                   "batch normalization", uses, 6);
}
