/* SPDX-License-Identifier: Apache-2.0 */
/*
 * norm.c: LRN, local response normalization across channels.
 *
 * ONNX gives a window of even size one channel more on the right, oneDNN drops that channel and
 * still divides by the size: only odd sizes are done. An infinite exponent asks whether the sum is
 * above 1 or just 1, which is not to be had in single precision.
 */
#include "families.h"

#include <math.h>

void onednn_lrn_supports(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer)
{
    int64_t size = tfr_call_int(call, "size", 0);

    if (!onednn_want_float(device, call, answer, 0, true) ||
        !onednn_want_rank(call, answer, 0, 3, DNNL_MAX_NDIMS))
        return;
    if (size < 1 || size % 2 == 0)
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "size %lld is even, only odd sizes are done here",
                    (long long)size);
    else if (!isfinite(tfr_call_float(call, "alpha", 1e-4f)) ||
             !isfinite(tfr_call_float(call, "beta", 0.75f)) ||
             !isfinite(tfr_call_float(call, "bias", 1.0f)))
        tfr_decline(answer, TFR_REASON_ATTRIBUTE,
                    "alpha, beta or bias is not finite, only finite ones are done here");
}

void onednn_lrn_prepare(onednn_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const int64_t spread[4] = {x->dims[0], x->dims[1], 1, tfr_operand_span(x, 2, x->rank)};
    onednn_cmd md = x->rank == 4 ? onednn_wide(b, x) : onednn_plain(b, dnnl_f32, 4, spread);
    const onednn_use uses[] = {{DNNL_ARG_SRC, onednn_input(b, 0, md)},
                               {DNNL_ARG_DST, onednn_output(b, 0, md)}};
    onednn_make make = onednn_maker(b);

    if (b->status == TFR_OK)
        onednn_add(b,
                   onednn_lrn(&make, md, tfr_call_int(call, "size", 1),
                              tfr_call_float(call, "alpha", 1e-4f),
                              tfr_call_float(call, "beta", 0.75f),
                              tfr_call_float(call, "bias", 1.0f)),
                   &make, "lrn", uses, 2);
}
