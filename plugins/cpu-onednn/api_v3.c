/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_v3.c: api.h over oneDNN 3.x, where a primitive descriptor is made in one call. Empty when
 * compiled against oneDNN 2.
 */
#include "api.h"

#include <stdbool.h>

#if DNNL_VERSION_MAJOR >= 3

dnnl_status_t tfr_dnn_md_create(tfr_dnn_md *out, dnnl_data_type_t type, int rank,
                                const int64_t *dims, const int64_t *strides)
{
    if (strides)
        return dnnl_memory_desc_create_with_strides(out, rank, dims, type, strides);
    return dnnl_memory_desc_create_with_tag(out, rank, dims, type, dnnl_format_tag_any);
}

/* strided: with the strides of like, else in a layout that the library chooses. */
static dnnl_status_t create_like(tfr_dnn_md *out, tfr_dnn_cmd like, dnnl_data_type_t type,
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
    return tfr_dnn_md_create(out, type, rank, *dims, strides ? *strides : NULL);
}

dnnl_status_t tfr_dnn_md_create_any(tfr_dnn_md *out, tfr_dnn_cmd like)
{
    return create_like(out, like, tfr_dnn_md_type(like), false);
}

dnnl_status_t tfr_dnn_md_create_as(tfr_dnn_md *out, tfr_dnn_cmd like, dnnl_data_type_t type)
{
    return create_like(out, like, type, true);
}

dnnl_data_type_t tfr_dnn_md_type(tfr_dnn_cmd md)
{
    dnnl_data_type_t type = dnnl_data_type_undef;

    dnnl_memory_desc_query(md, dnnl_query_data_type, &type);
    return type;
}

dnnl_status_t tfr_dnn_md_create_part(tfr_dnn_md *out, tfr_dnn_cmd parent, const int64_t *dims,
                                     const int64_t *offsets)
{
    return dnnl_memory_desc_create_submemory(out, parent, dims, offsets);
}

void tfr_dnn_md_destroy(tfr_dnn_md md)
{
    if (md)
        dnnl_memory_desc_destroy(md);
}

dnnl_status_t tfr_dnn_post_eltwise(dnnl_post_ops_t ops, dnnl_alg_kind_t alg, float alpha,
                                   float beta)
{
    return dnnl_post_ops_append_eltwise(ops, alg, alpha, beta);
}

dnnl_status_t tfr_dnn_strict(dnnl_primitive_attr_t attr)
{
    return dnnl_primitive_attr_set_fpmath_mode(attr, dnnl_fpmath_mode_strict);
}

dnnl_status_t tfr_dnn_zero_point(dnnl_primitive_attr_t attr, int arg)
{
    return dnnl_primitive_attr_set_zero_points_mask(attr, arg, 0);
}

dnnl_status_t tfr_dnn_scales(dnnl_primitive_attr_t attr, int64_t n, int dst_mask, int weights_mask,
                             const float *scales)
{
    (void)n;
    (void)dst_mask;
    (void)scales;
    return dnnl_primitive_attr_set_scales_mask(attr, DNNL_ARG_WEIGHTS, weights_mask);
}

dnnl_status_t tfr_dnn_convolution(tfr_dnn_make *make, tfr_dnn_cmd src, tfr_dnn_cmd weights,
                                  tfr_dnn_cmd bias, tfr_dnn_cmd dst, const tfr_dnn_window *window)
{
    return dnnl_convolution_forward_primitive_desc_create(
        &make->pd, make->engine, dnnl_forward_inference, dnnl_convolution_direct, src, weights,
        bias, dst, window->stride, window->dilation, window->pad_begin, window->pad_end,
        make->attr);
}

dnnl_status_t tfr_dnn_deconvolution(tfr_dnn_make *make, tfr_dnn_cmd src, tfr_dnn_cmd weights,
                                    tfr_dnn_cmd bias, tfr_dnn_cmd dst, const tfr_dnn_window *window)
{
    return dnnl_deconvolution_forward_primitive_desc_create(
        &make->pd, make->engine, dnnl_forward_inference, dnnl_deconvolution_direct, src, weights,
        bias, dst, window->stride, window->dilation, window->pad_begin, window->pad_end,
        make->attr);
}

dnnl_status_t tfr_dnn_pooling(tfr_dnn_make *make, dnnl_alg_kind_t alg, tfr_dnn_cmd src,
                              tfr_dnn_cmd dst, const tfr_dnn_window *window)
{
    return dnnl_pooling_forward_primitive_desc_create(
        &make->pd, make->engine, dnnl_forward_inference, alg, src, dst, window->stride,
        window->kernel, window->dilation, window->pad_begin, window->pad_end, make->attr);
}

dnnl_status_t tfr_dnn_matmul(tfr_dnn_make *make, tfr_dnn_cmd src, tfr_dnn_cmd weights,
                             tfr_dnn_cmd bias, tfr_dnn_cmd dst)
{
    return dnnl_matmul_primitive_desc_create(&make->pd, make->engine, src, weights, bias, dst,
                                             make->attr);
}

dnnl_status_t tfr_dnn_eltwise(tfr_dnn_make *make, dnnl_alg_kind_t alg, tfr_dnn_cmd data,
                              float alpha, float beta)
{
    return dnnl_eltwise_forward_primitive_desc_create(
        &make->pd, make->engine, dnnl_forward_inference, alg, data, data, alpha, beta, make->attr);
}

dnnl_status_t tfr_dnn_binary(tfr_dnn_make *make, dnnl_alg_kind_t alg, tfr_dnn_cmd a, tfr_dnn_cmd b,
                             tfr_dnn_cmd dst)
{
    return dnnl_binary_primitive_desc_create(&make->pd, make->engine, alg, a, b, dst, make->attr);
}

dnnl_status_t tfr_dnn_softmax(tfr_dnn_make *make, int log, tfr_dnn_cmd data, int axis)
{
    dnnl_alg_kind_t alg = log ? dnnl_softmax_log : dnnl_softmax_accurate;
    return dnnl_softmax_forward_primitive_desc_create(
        &make->pd, make->engine, dnnl_forward_inference, alg, data, data, axis, make->attr);
}

dnnl_status_t tfr_dnn_reduction(tfr_dnn_make *make, dnnl_alg_kind_t alg, tfr_dnn_cmd src,
                                tfr_dnn_cmd dst)
{
    return dnnl_reduction_primitive_desc_create(&make->pd, make->engine, alg, src, dst, 0.0f, 0.0f,
                                                make->attr);
}

dnnl_status_t tfr_dnn_batch_norm(tfr_dnn_make *make, tfr_dnn_cmd data, float epsilon)
{
    return dnnl_batch_normalization_forward_primitive_desc_create(
        &make->pd, make->engine, dnnl_forward_inference, data, data, epsilon,
        dnnl_use_global_stats | dnnl_use_scale | dnnl_use_shift, make->attr);
}

dnnl_status_t tfr_dnn_layer_norm(tfr_dnn_make *make, tfr_dnn_cmd data, float epsilon,
                                 unsigned flags)
{
    return dnnl_layer_normalization_forward_primitive_desc_create(
        &make->pd, make->engine, dnnl_forward_inference, data, data, NULL, epsilon, flags,
        make->attr);
}

dnnl_status_t tfr_dnn_recurrent_layer(tfr_dnn_make *make, const tfr_dnn_recurrent *r)
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

dnnl_status_t tfr_dnn_lrn(tfr_dnn_make *make, tfr_dnn_cmd data, int64_t size, float alpha,
                          float beta, float k)
{
    return dnnl_lrn_forward_primitive_desc_create(&make->pd, make->engine, dnnl_forward_inference,
                                                  dnnl_lrn_across_channels, data, data, size, alpha,
                                                  beta, k, make->attr);
}

dnnl_status_t tfr_dnn_prelu(tfr_dnn_make *make, tfr_dnn_cmd data, tfr_dnn_cmd weights)
{
    return dnnl_prelu_forward_primitive_desc_create(&make->pd, make->engine, dnnl_forward_inference,
                                                    data, weights, data, make->attr);
}

dnnl_status_t tfr_dnn_resampling(tfr_dnn_make *make, dnnl_alg_kind_t alg, tfr_dnn_cmd src,
                                 tfr_dnn_cmd dst)
{
    return dnnl_resampling_forward_primitive_desc_create(
        &make->pd, make->engine, dnnl_forward_inference, alg, NULL, src, dst, make->attr);
}

dnnl_status_t tfr_dnn_concat(tfr_dnn_make *make, tfr_dnn_cmd dst, int n, int axis,
                             const tfr_dnn_md *srcs)
{
    return dnnl_concat_primitive_desc_create(&make->pd, make->engine, dst, n, axis,
                                             (const tfr_dnn_cmd *)srcs, make->attr);
}

dnnl_status_t tfr_dnn_sum(tfr_dnn_make *make, tfr_dnn_cmd dst, int n, const float *scales,
                          const tfr_dnn_md *srcs)
{
    return dnnl_sum_primitive_desc_create(&make->pd, make->engine, dst, n, scales,
                                          (const tfr_dnn_cmd *)srcs, make->attr);
}

dnnl_status_t tfr_dnn_reorder(tfr_dnn_make *make, tfr_dnn_cmd src, tfr_dnn_cmd dst)
{
    return dnnl_reorder_primitive_desc_create(&make->pd, src, make->engine, dst, make->engine,
                                              make->attr);
}

#else
typedef int tfr_dnn_not_v3; /* C wants one declaration in a file */
#endif
