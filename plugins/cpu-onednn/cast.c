/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cast.c: Cast between float32 and types of 16 bits, as one reorder of oneDNN: where every number
 * fits, and where both sides round alike.
 */
#include <tfrun/fail.h>

#include "families.h"

static bool cast_is_exact(int32_t from, int32_t to)
{
    switch (from) {
    case TFR_DTYPE_BF16:
    case TFR_DTYPE_F16:
        return to == TFR_DTYPE_F32;
    case TFR_DTYPE_F32:
        return to == TFR_DTYPE_BF16 || to == TFR_DTYPE_F16;
    default:
        return false;
    }
}

void onednn_cast_supports(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer)
{
    int32_t from = tfr_call_input(call, 0)->dtype, to = tfr_call_output(call, 0)->dtype;

    if (!cast_is_exact(from, to))
        tfr_decline(answer, TFR_REASON_DTYPE,
                    "a cast of type %d to type %d is not done here or rounds differently",
                    (int)from, (int)to);
    else if ((from == TFR_DTYPE_BF16 || to == TFR_DTYPE_BF16) && !device->bf16)
        tfr_decline(answer, TFR_REASON_DEVICE_FEATURE,
                    "bfloat16 needs a processor with avx512_bf16");
    else if ((from == TFR_DTYPE_F16 || to == TFR_DTYPE_F16) && !device->f16)
        tfr_decline(answer, TFR_REASON_DEVICE_FEATURE,
                    "float16 needs oneDNN 3 (this is %d) and a processor with avx512_fp16",
                    DNNL_VERSION_MAJOR);
}

void onednn_cast_prepare(onednn_build *b, const tfr_call *call)
{
    int from = onednn_input(b, 0, onednn_flat(b, tfr_call_input(call, 0)));
    int to = onednn_output(b, 0, onednn_flat(b, tfr_call_output(call, 0)));

    onednn_add_reorder(b, from, to);
}
