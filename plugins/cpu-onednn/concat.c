/* SPDX-License-Identifier: Apache-2.0 */
/*
 * concat.c: Concat of any type of whole bytes.
 *
 * It moves bits and looks at none of them: everything is [outer, axis * inner] of 4-byte units, or
 * of bytes. Inputs without elements are left out.
 */
#include "families.h"

enum { MAX_PARTS = 32 };

void onednn_concat_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_output(call, 0);
    uint32_t bits = tfr_dtype_bits(x->dtype);

    (void)device;
    if (x->dtype == TFR_DTYPE_STRING || bits % 8 != 0)
        tfr_decline(answer, TFR_REASON_DTYPE, "elements of %u bits or strings are not done here",
                    bits);
    else if (call->n_inputs < 2 || call->n_inputs > MAX_PARTS)
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "%u inputs, 2 to %d are done here",
                    call->n_inputs, MAX_PARTS);
}

void onednn_concat_prepare(onednn_build *b, const tfr_call *call)
{
    const tfr_operand *y = tfr_call_output(call, 0);
    int axis = (int)tfr_call_int(call, "axis", 0), n = 0;
    int64_t outer = tfr_operand_span(y, 0, axis), row[2] = {outer, 0};
    int64_t bytes = tfr_dtype_bits(y->dtype) / 8, unit = bytes % 4 == 0 ? 4 : 1;
    dnnl_data_type_t type = unit == 4 ? dnnl_f32 : dnnl_u8;
    onednn_md parts[MAX_PARTS];
    onednn_use uses[MAX_PARTS + 1];
    onednn_cmd whole;
    onednn_make make;
    uint32_t i;

    for (i = 0; i < call->n_inputs; i++) {
        const tfr_operand *x = tfr_call_input(call, i);
        onednn_cmd part;
        row[1] = tfr_operand_elements(x) / outer * bytes / unit;
        if (row[1] == 0)
            continue;
        part = onednn_plain(b, type, 2, row);
        uses[n] = (onednn_use){DNNL_ARG_MULTIPLE_SRC + n, onednn_input(b, i, part)};
        parts[n++] = (onednn_md)(uintptr_t)part; /* only read */
    }
    row[1] = tfr_operand_elements(y) / outer * bytes / unit;
    whole = onednn_plain(b, type, 2, row);
    uses[n] = (onednn_use){DNNL_ARG_DST, onednn_output(b, 0, whole)};
    make = onednn_maker(b);
    if (b->status == TFR_OK)
        onednn_add(b, onednn_concat(&make, whole, n, 1, parts), &make, "concat", uses, n + 1);
}
