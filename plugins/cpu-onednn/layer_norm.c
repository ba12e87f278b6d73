/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer_norm.c: LayerNormalization, InstanceNormalization, GroupNormalization. The last two are a
 * layer normalization of rows without scale and shift, and then a multiplication and an addition
 * for each channel.
 */
#include "families.h"

/* ---- rows ---- */

/* scale and shift are tensors or -1. */
static void add_rows(onednn_build *b, int from, int to, int scale, int shift, float epsilon)
{
    const onednn_use uses[] = {
        {DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}, {DNNL_ARG_SCALE, scale}, {DNNL_ARG_SHIFT, shift}};
    unsigned flags =
        (scale >= 0 ? (unsigned)dnnl_use_scale : 0u) | (shift >= 0 ? (unsigned)dnnl_use_shift : 0u);
    onednn_make make = onednn_maker(b);

    if (b->status == TFR_OK)
        onednn_add(b, onednn_layer_norm(&make, onednn_md_of(b, from), epsilon, flags), &make,
                   "layer normalization", uses, 4);
}

void onednn_layer_norm_supports(const tfr_plugin_device *device, const tfr_call *call,
                                tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    int64_t n;
    uint32_t i;

    if (!onednn_want_float(device, call, answer, 0, true) ||
        !onednn_want_rank(call, answer, 0, 1, DNNL_MAX_NDIMS) ||
        !onednn_want_one_output(call, answer))
        return;
    n = tfr_operand_span(x, (int)tfr_call_int(call, "axis", x->rank - 1), x->rank);
    for (i = 1; i <= 2; i++) {
        const tfr_operand *o = tfr_call_input(call, i);
        if (o && tfr_operand_elements(o) != n) {
            tfr_decline(answer, TFR_REASON_LAYOUT, "input %u has %lld elements, a row has %lld", i,
                        (long long)tfr_operand_elements(o), (long long)n);
            return;
        }
    }
}

void onednn_layer_norm_prepare(onednn_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    int axis = (int)tfr_call_int(call, "axis", x->rank - 1);
    const int64_t dims[2] = {tfr_operand_span(x, 0, axis), tfr_operand_span(x, axis, x->rank)};
    onednn_cmd rows = onednn_plain(b, dnnl_f32, 2, dims);
    onednn_cmd row = onednn_plain(b, dnnl_f32, 1, &dims[1]);

    add_rows(b, onednn_input(b, 0, rows), onednn_output(b, 0, rows), onednn_input(b, 1, row),
             tfr_call_input(call, 2) ? onednn_input(b, 2, row) : -1,
             tfr_call_float(call, "epsilon", 1e-5f));
}

/* ---- InstanceNormalization and GroupNormalization: x, scale, bias, both of C elements ---- */

static int64_t count_groups(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    return tfr_call_int(call, "num_groups", x->dims[1]);
}

void onednn_group_norm_supports(const tfr_plugin_device *device, const tfr_call *call,
                                tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    int64_t groups;

    if (!onednn_want_float(device, call, answer, 0, true) ||
        !onednn_want_rank(call, answer, 0, 2, DNNL_MAX_NDIMS))
        return;
    groups = count_groups(call);
    if (groups < 1 || x->dims[1] % groups != 0)
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "%lld channels do not divide into %lld groups",
                    (long long)x->dims[1], (long long)groups);
}

void onednn_group_norm_prepare(onednn_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    int64_t n = x->dims[0], c = x->dims[1], s = tfr_operand_span(x, 2, x->rank);
    int64_t groups = count_groups(call);
    const int64_t rows[2] = {n * groups, c / groups * s}, whole[3] = {n, c, s};
    const int64_t channel[3] = {1, c, 1};
    onednn_cmd rows_md = onednn_plain(b, dnnl_f32, 2, rows);
    onednn_cmd whole_md = onednn_plain(b, dnnl_f32, 3, whole);
    onednn_cmd channel_md = onednn_plain(b, dnnl_f32, 3, channel);
    int y;

    add_rows(b, onednn_input(b, 0, rows_md), onednn_output(b, 0, rows_md), -1, -1,
             tfr_call_float(call, "epsilon", 1e-5f));
    y = onednn_output(b, 0, whole_md);
    onednn_add_binary(b, dnnl_binary_mul, y, onednn_input(b, 1, channel_md), y);
    onednn_add_binary(b, dnnl_binary_add, y, onednn_input(b, 2, channel_md), y);
}
