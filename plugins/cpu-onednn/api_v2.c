/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_v2.c: api.h over oneDNN 2.6 and later 2.x: fill an operation descriptor, then make the
 * primitive descriptor from it. Empty when compiled against oneDNN 3.
 */
#include "api.h"

#if DNNL_VERSION_MAJOR < 3

#include <stdlib.h>
#include <string.h>

/* Ends every maker: status of the descriptor's init, then the primitive descriptor. */
static dnnl_status_t make_pd(onednn_make *make, dnnl_status_t status, const_dnnl_op_desc_t d)
{
    if (status != dnnl_success)
        return status;
    return dnnl_primitive_desc_create(&make->pd, d, make->attr, make->engine, NULL);
}

dnnl_status_t onednn_md_create(onednn_md *out, dnnl_data_type_t type, int rank, const int64_t *dims,
                               const int64_t *strides)
{
    dnnl_memory_desc_t *md = calloc(1, sizeof *md);
    dnnl_status_t status;

    if (!md)
        return dnnl_out_of_memory;
    status = strides ? dnnl_memory_desc_init_by_strides(md, rank, dims, type, strides)
                     : dnnl_memory_desc_init_by_tag(md, rank, dims, type, dnnl_format_tag_any);
    if (status != dnnl_success)
        free(md);
    else
        *out = md;
    return status;
}

dnnl_status_t onednn_md_create_any(onednn_md *out, onednn_cmd like)
{
    return onednn_md_create(out, like->data_type, like->ndims, like->dims, NULL);
}

dnnl_status_t onednn_md_create_part(onednn_md *out, onednn_cmd parent, const int64_t *dims,
                                    const int64_t *offsets)
{
    dnnl_memory_desc_t *md = calloc(1, sizeof *md);
    dnnl_status_t status;

    if (!md)
        return dnnl_out_of_memory;
    status = dnnl_memory_desc_init_submemory(md, parent, dims, offsets);
    if (status != dnnl_success)
        free(md);
    else
        *out = md;
    return status;
}

dnnl_status_t onednn_md_create_as(onednn_md *out, onednn_cmd like, dnnl_data_type_t type)
{
    return onednn_md_create(out, type, like->ndims, like->dims, like->format_desc.blocking.strides);
}

dnnl_data_type_t onednn_md_type(onednn_cmd md)
{
    return md->data_type;
}

void onednn_md_destroy(onednn_md md)
{
    free(md);
}

dnnl_status_t onednn_post_eltwise(dnnl_post_ops_t ops, dnnl_alg_kind_t alg, float alpha, float beta)
{
    return dnnl_post_ops_append_eltwise(ops, 1.0f, alg, alpha, beta);
}

dnnl_status_t onednn_strict(dnnl_primitive_attr_t attr)
{
    return dnnl_primitive_attr_set_fpmath_mode(attr, dnnl_fpmath_mode_strict);
}

dnnl_status_t onednn_zero_point(dnnl_primitive_attr_t attr, int arg)
{
    const int32_t later = DNNL_RUNTIME_S32_VAL;
    return dnnl_primitive_attr_set_zero_points(attr, arg, 1, 0, &later);
}

dnnl_status_t onednn_scales(dnnl_primitive_attr_t attr, int64_t n, int dst_mask, int weights_mask,
                            const float *scales)
{
    (void)weights_mask;
    return dnnl_primitive_attr_set_output_scales(attr, n, dst_mask, scales);
}

dnnl_status_t onednn_convolution(onednn_make *make, onednn_cmd src, onednn_cmd weights,
                                 onednn_cmd bias, onednn_cmd dst, const onednn_window *window)
{
    dnnl_convolution_desc_t d;
    return make_pd(make,
                   dnnl_dilated_convolution_forward_desc_init(
                       &d, dnnl_forward_inference, dnnl_convolution_direct, src, weights, bias, dst,
                       window->stride, window->dilation, window->pad_begin, window->pad_end),
                   &d);
}

dnnl_status_t onednn_convolution_weights(onednn_make *make, onednn_cmd src, onednn_cmd diff_weights,
                                         onednn_cmd diff_dst, const onednn_window *w)
{
    dnnl_convolution_desc_t forward, d;
    dnnl_primitive_desc_t hint = NULL;
    dnnl_status_t status = dnnl_dilated_convolution_forward_desc_init(
        &forward, dnnl_forward_training, dnnl_convolution_direct, src, diff_weights, NULL, diff_dst,
        w->stride, w->dilation, w->pad_begin, w->pad_end);
    if (status == dnnl_success)
        status = dnnl_primitive_desc_create(&hint, &forward, make->attr, make->engine, NULL);
    if (status == dnnl_success)
        status = dnnl_dilated_convolution_backward_weights_desc_init(
            &d, dnnl_convolution_direct, src, diff_weights, NULL, diff_dst, w->stride, w->dilation,
            w->pad_begin, w->pad_end);
    if (status == dnnl_success)
        status = dnnl_primitive_desc_create(&make->pd, &d, make->attr, make->engine, hint);
    if (hint)
        dnnl_primitive_desc_destroy(hint);
    return status;
}

dnnl_status_t onednn_deconvolution(onednn_make *make, onednn_cmd src, onednn_cmd weights,
                                   onednn_cmd bias, onednn_cmd dst, const onednn_window *window)
{
    dnnl_deconvolution_desc_t d;
    return make_pd(make,
                   dnnl_dilated_deconvolution_forward_desc_init(
                       &d, dnnl_forward_inference, dnnl_deconvolution_direct, src, weights, bias,
                       dst, window->stride, window->dilation, window->pad_begin, window->pad_end),
                   &d);
}

dnnl_status_t onednn_pooling(onednn_make *make, dnnl_alg_kind_t alg, onednn_cmd src, onednn_cmd dst,
                             const onednn_window *window)
{
    dnnl_pooling_v2_desc_t d;
    return make_pd(make,
                   dnnl_pooling_v2_forward_desc_init(
                       &d, dnnl_forward_inference, alg, src, dst, window->stride, window->kernel,
                       window->dilation, window->pad_begin, window->pad_end),
                   &d);
}

dnnl_status_t onednn_matmul(onednn_make *make, onednn_cmd src, onednn_cmd weights, onednn_cmd bias,
                            onednn_cmd dst)
{
    dnnl_matmul_desc_t d;
    return make_pd(make, dnnl_matmul_desc_init(&d, src, weights, bias, dst), &d);
}

dnnl_status_t onednn_eltwise(onednn_make *make, dnnl_alg_kind_t alg, onednn_cmd data, float alpha,
                             float beta)
{
    dnnl_eltwise_desc_t d;
    return make_pd(
        make, dnnl_eltwise_forward_desc_init(&d, dnnl_forward_inference, alg, data, alpha, beta),
        &d);
}

dnnl_status_t onednn_binary(onednn_make *make, dnnl_alg_kind_t alg, onednn_cmd a, onednn_cmd b,
                            onednn_cmd dst)
{
    dnnl_binary_desc_t d;
    return make_pd(make, dnnl_binary_desc_init(&d, alg, a, b, dst), &d);
}

dnnl_status_t onednn_softmax(onednn_make *make, int log, onednn_cmd data, int axis)
{
    dnnl_softmax_v2_desc_t d;
    dnnl_alg_kind_t alg = log ? dnnl_softmax_log : dnnl_softmax_accurate;
    return make_pd(
        make, dnnl_softmax_v2_forward_desc_init(&d, dnnl_forward_inference, alg, data, data, axis),
        &d);
}

dnnl_status_t onednn_reduction(onednn_make *make, dnnl_alg_kind_t alg, onednn_cmd src,
                               onednn_cmd dst)
{
    dnnl_reduction_desc_t d;
    return make_pd(make, dnnl_reduction_desc_init(&d, alg, src, dst, 0.0f, 0.0f), &d);
}

dnnl_status_t onednn_batch_norm(onednn_make *make, onednn_cmd data, float epsilon)
{
    dnnl_batch_normalization_desc_t d;
    return make_pd(make,
                   dnnl_batch_normalization_forward_desc_init(
                       &d, dnnl_forward_inference, data, epsilon,
                       dnnl_use_global_stats | dnnl_use_scale | dnnl_use_shift),
                   &d);
}

dnnl_status_t onednn_layer_norm(onednn_make *make, onednn_cmd data, float epsilon, unsigned flags)
{
    dnnl_layer_normalization_desc_t d;
    return make_pd(make,
                   dnnl_layer_normalization_forward_desc_init(&d, dnnl_forward_inference, data,
                                                              NULL, epsilon, flags),
                   &d);
}

static dnnl_status_t init_recurrent(dnnl_rnn_desc_t *d, const onednn_recurrent *r)
{
    const dnnl_prop_kind_t kind = dnnl_forward_inference;

    switch (r->cell) {
    case dnnl_vanilla_lstm:
        return dnnl_lstm_forward_desc_init(d, kind, r->direction, r->src, r->h_in, r->c_in,
                                           r->weights, r->recurrence, r->bias, r->dst, r->h_out,
                                           r->c_out, 0);
    case dnnl_vanilla_gru:
        return dnnl_gru_forward_desc_init(d, kind, r->direction, r->src, r->h_in, r->weights,
                                          r->recurrence, r->bias, r->dst, r->h_out, 0);
    case dnnl_lbr_gru:
        return dnnl_lbr_gru_forward_desc_init(d, kind, r->direction, r->src, r->h_in, r->weights,
                                              r->recurrence, r->bias, r->dst, r->h_out, 0);
    default:
        return dnnl_vanilla_rnn_forward_desc_init(d, kind, r->activation, r->direction, r->src,
                                                  r->h_in, r->weights, r->recurrence, r->bias,
                                                  r->dst, r->h_out, 0, 0.0f, 0.0f);
    }
}

dnnl_status_t onednn_recurrent_layer(onednn_make *make, const onednn_recurrent *r)
{
    dnnl_rnn_desc_t d;
    return make_pd(make, init_recurrent(&d, r), &d);
}

dnnl_status_t onednn_lrn(onednn_make *make, onednn_cmd data, int64_t size, float alpha, float beta,
                         float k)
{
    dnnl_lrn_desc_t d;
    return make_pd(make,
                   dnnl_lrn_forward_desc_init(&d, dnnl_forward_inference, dnnl_lrn_across_channels,
                                              data, size, alpha, beta, k),
                   &d);
}

dnnl_status_t onednn_prelu(onednn_make *make, onednn_cmd data, onednn_cmd weights)
{
    dnnl_prelu_desc_t d;
    return make_pd(make, dnnl_prelu_forward_desc_init(&d, dnnl_forward_inference, data, weights),
                   &d);
}

dnnl_status_t onednn_resampling(onednn_make *make, dnnl_alg_kind_t alg, onednn_cmd src,
                                onednn_cmd dst)
{
    dnnl_resampling_desc_t d;
    return make_pd(
        make, dnnl_resampling_forward_desc_init(&d, dnnl_forward_inference, alg, NULL, src, dst),
        &d);
}

/* The descriptors in one array, as oneDNN 2 wants them for concat and sum. */
static dnnl_memory_desc_t *gather(int n, const onednn_md *mds)
{
    dnnl_memory_desc_t *all = calloc((size_t)n, sizeof *all);
    int i;

    for (i = 0; all && i < n; i++)
        memcpy(&all[i], mds[i], sizeof all[i]);
    return all;
}

dnnl_status_t onednn_concat(onednn_make *make, onednn_cmd dst, int n, int axis,
                            const onednn_md *srcs)
{
    dnnl_memory_desc_t *all = gather(n, srcs);
    dnnl_status_t status = dnnl_out_of_memory;

    if (all)
        status = dnnl_concat_primitive_desc_create(&make->pd, dst, n, axis, all, make->attr,
                                                   make->engine);
    free(all);
    return status;
}

dnnl_status_t onednn_sum(onednn_make *make, onednn_cmd dst, int n, const float *scales,
                         const onednn_md *srcs)
{
    dnnl_memory_desc_t *all = gather(n, srcs);
    dnnl_status_t status = dnnl_out_of_memory;

    if (all)
        status = dnnl_sum_primitive_desc_create(&make->pd, dst, n, scales, all, make->attr,
                                                make->engine);
    free(all);
    return status;
}

dnnl_status_t onednn_reorder(onednn_make *make, onednn_cmd src, onednn_cmd dst)
{
    return dnnl_reorder_primitive_desc_create(&make->pd, src, make->engine, dst, make->engine,
                                              make->attr);
}

#else
typedef int onednn_not_v2; /* C wants one declaration in a file */
#endif
