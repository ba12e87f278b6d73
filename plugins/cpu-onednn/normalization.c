/* SPDX-License-Identifier: Apache-2.0 */
/*
 * normalization.c: BatchNormalization for inference, LayerNormalization, InstanceNormalization,
 * GroupNormalization.
 *
 * The last two are a layer normalization of rows without scale and shift, and then a multiplication
 * and an addition for each channel.
 */
#include <string.h>

#include "families.h"

/* ---- BatchNormalization: x, scale, b, mean, var ---- */

void tfr_dnn_batch_norm_supports(const tfr_plugin_device *device, const tfr_call *call,
                                 tfr_answer *answer)
{
    if (!tfr_dnn_want_float(device, call, answer, 0, true) ||
        !tfr_dnn_want_rank(call, answer, 0, 2, DNNL_MAX_NDIMS) ||
        !tfr_dnn_want_one_output(call, answer))
        return;
    if (tfr_call_int(call, "training_mode", 0) != 0)
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "training_mode is 1, only 0 is done here");
}

void tfr_dnn_batch_norm_prepare(tfr_dnn_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const int64_t dims[4] = {x->dims[0], x->dims[1], 1, tfr_operand_span(x, 2, x->rank)};
    const int64_t c = dims[1], channels_last[4] = {c * dims[3], 1, c, c};
    /* Without a plane the channels are the last dim, and oneDNN is faster if it knows. */
    tfr_dnn_cmd data = dims[3] == 1 ? tfr_dnn_strided(b, dnnl_f32, 4, dims, channels_last)
                                    : tfr_dnn_plain(b, dnnl_f32, 4, dims);
    tfr_dnn_cmd channel = tfr_dnn_plain(b, dnnl_f32, 1, &x->dims[1]);
    const tfr_dnn_use uses[] = {
        {DNNL_ARG_SRC, tfr_dnn_input(b, 0, data)},
        {DNNL_ARG_SCALE, tfr_dnn_input(b, 1, channel)},
        {DNNL_ARG_SHIFT, tfr_dnn_input(b, 2, channel)},
        {DNNL_ARG_MEAN, tfr_dnn_input(b, 3, channel)},
        {DNNL_ARG_VARIANCE, tfr_dnn_input(b, 4, channel)},
        {DNNL_ARG_DST, tfr_dnn_output(b, 0, data)},
    };
    tfr_dnn_make make = tfr_dnn_maker(b);

    if (b->status == TFR_OK)
        tfr_dnn_add(b, tfr_dnn_batch_norm(&make, data, tfr_call_float(call, "epsilon", 1e-5f)),
                    &make, "batch normalization", uses, 6);
}

/* ---- rows ---- */

/* scale and shift are tensors or -1. */
static void add_rows(tfr_dnn_build *b, int from, int to, int scale, int shift, float epsilon)
{
    const tfr_dnn_use uses[] = {
        {DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}, {DNNL_ARG_SCALE, scale}, {DNNL_ARG_SHIFT, shift}};
    unsigned flags =
        (scale >= 0 ? (unsigned)dnnl_use_scale : 0u) | (shift >= 0 ? (unsigned)dnnl_use_shift : 0u);
    tfr_dnn_make make = tfr_dnn_maker(b);

    if (b->status == TFR_OK)
        tfr_dnn_add(b, tfr_dnn_layer_norm(&make, tfr_dnn_md_of(b, from), epsilon, flags), &make,
                    "layer normalization", uses, 4);
}

void tfr_dnn_layer_norm_supports(const tfr_plugin_device *device, const tfr_call *call,
                                 tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    int64_t n;
    uint32_t i;

    if (!tfr_dnn_want_float(device, call, answer, 0, true) ||
        !tfr_dnn_want_rank(call, answer, 0, 1, DNNL_MAX_NDIMS) ||
        !tfr_dnn_want_one_output(call, answer))
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

void tfr_dnn_layer_norm_prepare(tfr_dnn_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    int axis = (int)tfr_call_int(call, "axis", x->rank - 1);
    const int64_t dims[2] = {tfr_operand_span(x, 0, axis), tfr_operand_span(x, axis, x->rank)};
    tfr_dnn_cmd rows = tfr_dnn_plain(b, dnnl_f32, 2, dims);
    tfr_dnn_cmd row = tfr_dnn_plain(b, dnnl_f32, 1, &dims[1]);

    add_rows(b, tfr_dnn_input(b, 0, rows), tfr_dnn_output(b, 0, rows), tfr_dnn_input(b, 1, row),
             tfr_call_input(call, 2) ? tfr_dnn_input(b, 2, row) : -1,
             tfr_call_float(call, "epsilon", 1e-5f));
}

/* ---- InstanceNormalization and GroupNormalization: x, scale, bias, both of C elements ---- */

static int64_t count_groups(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    return tfr_call_int(call, "num_groups", x->dims[1]);
}

void tfr_dnn_group_norm_supports(const tfr_plugin_device *device, const tfr_call *call,
                                 tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    int64_t groups;

    if (!tfr_dnn_want_float(device, call, answer, 0, true) ||
        !tfr_dnn_want_rank(call, answer, 0, 2, DNNL_MAX_NDIMS))
        return;
    groups = count_groups(call);
    if (groups < 1 || x->dims[1] % groups != 0)
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "%lld channels do not divide into %lld groups",
                    (long long)x->dims[1], (long long)groups);
}

void tfr_dnn_group_norm_prepare(tfr_dnn_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    int64_t n = x->dims[0], c = x->dims[1], s = tfr_operand_span(x, 2, x->rank);
    int64_t groups = count_groups(call);
    const int64_t rows[2] = {n * groups, c / groups * s}, whole[3] = {n, c, s};
    const int64_t channel[3] = {1, c, 1};
    tfr_dnn_cmd rows_md = tfr_dnn_plain(b, dnnl_f32, 2, rows);
    tfr_dnn_cmd whole_md = tfr_dnn_plain(b, dnnl_f32, 3, whole);
    tfr_dnn_cmd channel_md = tfr_dnn_plain(b, dnnl_f32, 3, channel);
    int y;

    add_rows(b, tfr_dnn_input(b, 0, rows_md), tfr_dnn_output(b, 0, rows_md), -1, -1,
             tfr_call_float(call, "epsilon", 1e-5f));
    y = tfr_dnn_output(b, 0, whole_md);
    tfr_dnn_add_binary(b, dnnl_binary_mul, y, tfr_dnn_input(b, 1, channel_md), y);
    tfr_dnn_add_binary(b, dnnl_binary_add, y, tfr_dnn_input(b, 2, channel_md), y);
}
