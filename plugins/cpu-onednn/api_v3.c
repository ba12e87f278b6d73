/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_v3.c: api.h over oneDNN 3.x, where a primitive descriptor is made in one call. Empty when
 * compiled against oneDNN 2.
 */
#include "api.h"

#include <stdbool.h>

#if DNNL_VERSION_MAJOR >= 3

dnnl_status_t onednn_md_create(onednn_md *out, dnnl_data_type_t type, int rank, const int64_t *dims,
                               const int64_t *strides)
{
    if (strides)
        return dnnl_memory_desc_create_with_strides(out, rank, dims, type, strides);
    return dnnl_memory_desc_create_with_tag(out, rank, dims, type, dnnl_format_tag_any);
}

/* strided: with the strides of like, else in a layout that the library chooses. */
static dnnl_status_t create_like(onednn_md *out, onednn_cmd like, dnnl_data_type_t type,
                                 bool strided)
{
    const dnnl_dims_t *dims, *strides = NULL;
    int32_t rank;
    dnnl_status_t status = dnnl_memory_desc_query(like, dnnl_query_dims, &dims);

    if (status == dnnl_success)
        status = dnnl_memory_desc_query(like, dnnl_query_ndims_s32, &rank);
    if (status == dnnl_success && strided)
        status = dnnl_memory_desc_query(like, dnnl_query_strides, &strides);
    if (status != dnnl_success)
        return status;
    return onednn_md_create(out, type, rank, *dims, strides ? *strides : NULL);
}

dnnl_status_t onednn_md_create_any(onednn_md *out, onednn_cmd like)
{
    return create_like(out, like, onednn_md_type(like), false);
}

dnnl_status_t onednn_md_create_as(onednn_md *out, onednn_cmd like, dnnl_data_type_t type)
{
    return create_like(out, like, type, true);
}

dnnl_data_type_t onednn_md_type(onednn_cmd md)
{
    dnnl_data_type_t type = dnnl_data_type_undef;

    dnnl_memory_desc_query(md, dnnl_query_data_type, &type);
    return type;
}

dnnl_status_t onednn_md_create_part(onednn_md *out, onednn_cmd parent, const int64_t *dims,
                                    const int64_t *offsets)
{
    return dnnl_memory_desc_create_submemory(out, parent, dims, offsets);
}

void onednn_md_destroy(onednn_md md)
{
    if (md)
        dnnl_memory_desc_destroy(md);
}

dnnl_status_t onednn_post_eltwise(dnnl_post_ops_t ops, dnnl_alg_kind_t alg, float alpha, float beta)
{
    return dnnl_post_ops_append_eltwise(ops, alg, alpha, beta);
}

dnnl_status_t onednn_strict(dnnl_primitive_attr_t attr)
{
    return dnnl_primitive_attr_set_fpmath_mode(attr, dnnl_fpmath_mode_strict);
}

dnnl_status_t onednn_zero_point(dnnl_primitive_attr_t attr, int arg)
{
    return dnnl_primitive_attr_set_zero_points_mask(attr, arg, 0);
}

dnnl_status_t onednn_scales(dnnl_primitive_attr_t attr, int64_t n, int dst_mask, int weights_mask,
                            const float *scales)
{
    (void)n;
    (void)dst_mask;
    (void)scales;
    return dnnl_primitive_attr_set_scales_mask(attr, DNNL_ARG_WEIGHTS, weights_mask);
}

dnnl_status_t onednn_convolution(onednn_make *make, onednn_cmd src, onednn_cmd weights,
                                 onednn_cmd bias, onednn_cmd dst, const onednn_window *window)
{
    return dnnl_convolution_forward_primitive_desc_create(
        &make->pd, make->engine, dnnl_forward_inference, dnnl_convolution_direct, src, weights,
        bias, dst, window->stride, window->dilation, window->pad_begin, window->pad_end,
        make->attr);
}

dnnl_status_t onednn_convolution_weights(onednn_make *make, onednn_cmd src, onednn_cmd diff_weights,
                                         onednn_cmd diff_dst, const onednn_window *w)
{
    dnnl_primitive_desc_t hint = NULL;
    dnnl_status_t status = dnnl_convolution_forward_primitive_desc_create(
        &hint, make->engine, dnnl_forward_training, dnnl_convolution_direct, src, diff_weights,
        NULL, diff_dst, w->stride, w->dilation, w->pad_begin, w->pad_end, make->attr);
    if (status == dnnl_success)
        status = dnnl_convolution_backward_weights_primitive_desc_create(
            &make->pd, make->engine, dnnl_convolution_direct, src, diff_weights, NULL, diff_dst,
            w->stride, w->dilation, w->pad_begin, w->pad_end, hint, make->attr);
    if (hint)
        dnnl_primitive_desc_destroy(hint);
    return status;
}

dnnl_status_t onednn_deconvolution(onednn_make *make, onednn_cmd src, onednn_cmd weights,
                                   onednn_cmd bias, onednn_cmd dst, const onednn_window *window)
{
    return dnnl_deconvolution_forward_primitive_desc_create(
        &make->pd, make->engine, dnnl_forward_inference, dnnl_deconvolution_direct, src, weights,
        bias, dst, window->stride, window->dilation, window->pad_begin, window->pad_end,
        make->attr);
}

dnnl_status_t onednn_pooling(onednn_make *make, dnnl_alg_kind_t alg, onednn_cmd src, onednn_cmd dst,
                             const onednn_window *window)
{
    return dnnl_pooling_forward_primitive_desc_create(
        &make->pd, make->engine, dnnl_forward_inference, alg, src, dst, window->stride,
        window->kernel, window->dilation, window->pad_begin, window->pad_end, make->attr);
}

dnnl_status_t onednn_matmul(onednn_make *make, onednn_cmd src, onednn_cmd weights, onednn_cmd bias,
                            onednn_cmd dst)
{
    return dnnl_matmul_primitive_desc_create(&make->pd, make->engine, src, weights, bias, dst,
                                             make->attr);
}

dnnl_status_t onednn_eltwise(onednn_make *make, dnnl_alg_kind_t alg, onednn_cmd data, float alpha,
                             float beta)
{
    return dnnl_eltwise_forward_primitive_desc_create(
        &make->pd, make->engine, dnnl_forward_inference, alg, data, data, alpha, beta, make->attr);
}

dnnl_status_t onednn_binary(onednn_make *make, dnnl_alg_kind_t alg, onednn_cmd a, onednn_cmd b,
                            onednn_cmd dst)
{
    return dnnl_binary_primitive_desc_create(&make->pd, make->engine, alg, a, b, dst, make->attr);
}

dnnl_status_t onednn_softmax(onednn_make *make, int log, onednn_cmd data, int axis)
{
    dnnl_alg_kind_t alg = log ? dnnl_softmax_log : dnnl_softmax_accurate;
    return dnnl_softmax_forward_primitive_desc_create(
        &make->pd, make->engine, dnnl_forward_inference, alg, data, data, axis, make->attr);
}

dnnl_status_t onednn_reduction(onednn_make *make, dnnl_alg_kind_t alg, onednn_cmd src,
                               onednn_cmd dst)
{
    return dnnl_reduction_primitive_desc_create(&make->pd, make->engine, alg, src, dst, 0.0f, 0.0f,
                                                make->attr);
}

dnnl_status_t onednn_batch_norm(onednn_make *make, onednn_cmd data, float epsilon)
{
    return dnnl_batch_normalization_forward_primitive_desc_create(
        &make->pd, make->engine, dnnl_forward_inference, data, data, epsilon,
        dnnl_use_global_stats | dnnl_use_scale | dnnl_use_shift, make->attr);
}

dnnl_status_t onednn_layer_norm(onednn_make *make, onednn_cmd data, float epsilon, unsigned flags)
{
    return dnnl_layer_normalization_forward_primitive_desc_create(
        &make->pd, make->engine, dnnl_forward_inference, data, data, NULL, epsilon, flags,
        make->attr);
}

dnnl_status_t onednn_recurrent_layer(onednn_make *make, const onednn_recurrent *r)
{
    const dnnl_prop_kind_t kind = dnnl_forward_inference;

    switch (r->cell) {
    case dnnl_vanilla_lstm:
        return dnnl_lstm_forward_primitive_desc_create(
            &make->pd, make->engine, kind, r->direction, r->src, r->h_in, r->c_in, r->weights,
            r->recurrence, NULL, NULL, r->bias, r->dst, r->h_out, r->c_out, 0, make->attr);
    case dnnl_vanilla_gru:
        return dnnl_gru_forward_primitive_desc_create(&make->pd, make->engine, kind, r->direction,
                                                      r->src, r->h_in, r->weights, r->recurrence,
                                                      r->bias, r->dst, r->h_out, 0, make->attr);
    case dnnl_lbr_gru:
        return dnnl_lbr_gru_forward_primitive_desc_create(
            &make->pd, make->engine, kind, r->direction, r->src, r->h_in, r->weights, r->recurrence,
            r->bias, r->dst, r->h_out, 0, make->attr);
    default:
        return dnnl_vanilla_rnn_forward_primitive_desc_create(
            &make->pd, make->engine, kind, r->activation, r->direction, r->src, r->h_in, r->weights,
            r->recurrence, r->bias, r->dst, r->h_out, 0, 0.0f, 0.0f, make->attr);
    }
}

dnnl_status_t onednn_lrn(onednn_make *make, onednn_cmd data, int64_t size, float alpha, float beta,
                         float k)
{
    return dnnl_lrn_forward_primitive_desc_create(&make->pd, make->engine, dnnl_forward_inference,
                                                  dnnl_lrn_across_channels, data, data, size, alpha,
                                                  beta, k, make->attr);
}

dnnl_status_t onednn_prelu(onednn_make *make, onednn_cmd data, onednn_cmd weights)
{
    return dnnl_prelu_forward_primitive_desc_create(&make->pd, make->engine, dnnl_forward_inference,
                                                    data, weights, data, make->attr);
}

dnnl_status_t onednn_resampling(onednn_make *make, dnnl_alg_kind_t alg, onednn_cmd src,
                                onednn_cmd dst)
{
    return dnnl_resampling_forward_primitive_desc_create(
        &make->pd, make->engine, dnnl_forward_inference, alg, NULL, src, dst, make->attr);
}

dnnl_status_t onednn_concat(onednn_make *make, onednn_cmd dst, int n, int axis,
                            const onednn_md *srcs)
{
    return dnnl_concat_primitive_desc_create(&make->pd, make->engine, dst, n, axis,
                                             (const onednn_cmd *)srcs, make->attr);
}

dnnl_status_t onednn_sum(onednn_make *make, onednn_cmd dst, int n, const float *scales,
                         const onednn_md *srcs)
{
    return dnnl_sum_primitive_desc_create(&make->pd, make->engine, dst, n, scales,
                                          (const onednn_cmd *)srcs, make->attr);
}

dnnl_status_t onednn_reorder(onednn_make *make, onednn_cmd src, onednn_cmd dst)
{
    return dnnl_reorder_primitive_desc_create(&make->pd, src, make->engine, dst, make->engine,
                                              make->attr);
}

#else
typedef int onednn_not_v3; /* C wants one declaration in a file */
#endif
