/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api.h: the forward primitives of oneDNN as one flat C API, the same over oneDNN 2 and 3.
 *
 * api_v2.c and api_v3.c implement it, each compiled empty for the other version. oneDNN 2 fills an
 * operation descriptor first and passes memory descriptors as structs; oneDNN 3 makes primitive
 * descriptors at once and its memory descriptors are handles. Everything that reads the same in
 * both versions (memory, primitives, execution, attributes) is used directly elsewhere.
 *
 * All functions return oneDNN's status. Outputs are written only on success.
 */
#ifndef TFR_DNN_API_H
#define TFR_DNN_API_H

#include <stdint.h>

#include "library.h"

/* A memory descriptor that we own, and one that we only read. */
#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t tfr_dnn_md;
typedef const_dnnl_memory_desc_t tfr_dnn_cmd;
#else
typedef dnnl_memory_desc_t *tfr_dnn_md;
typedef const dnnl_memory_desc_t *tfr_dnn_cmd;
#endif

/* strides in elements; NULL = the library chooses the layout. */
dnnl_status_t tfr_dnn_md_create(tfr_dnn_md *out, dnnl_data_type_t type, int rank,
                                const int64_t *dims, const int64_t *strides);
/* The same dims and type, in a layout that the library chooses. */
dnnl_status_t tfr_dnn_md_create_any(tfr_dnn_md *out, tfr_dnn_cmd like);
/* A box of a parent with strides: its dims and where it begins. */
dnnl_status_t tfr_dnn_md_create_part(tfr_dnn_md *out, tfr_dnn_cmd parent, const int64_t *dims,
                                     const int64_t *offsets);
/* The same dims and strides in another type; like has strides. */
dnnl_status_t tfr_dnn_md_create_as(tfr_dnn_md *out, tfr_dnn_cmd like, dnnl_data_type_t type);
dnnl_data_type_t tfr_dnn_md_type(tfr_dnn_cmd md);
void tfr_dnn_md_destroy(tfr_dnn_md md);

dnnl_status_t tfr_dnn_post_eltwise(dnnl_post_ops_t ops, dnnl_alg_kind_t alg, float alpha,
                                   float beta);

/* Makes attr say: strict f32 arithmetic. */
dnnl_status_t tfr_dnn_strict(dnnl_primitive_attr_t attr);

/* Makes attr say: the argument DNNL_ARG_... has one zero point, given at execution as int32. */
dnnl_status_t tfr_dnn_zero_point(dnnl_primitive_attr_t attr, int arg);
/*
 * Makes attr say: the sum is multiplied by n scales, by one (masks 0) or along a dim. oneDNN 2
 * keeps them in attr as scales of the output, with dst_mask, and multiplies the bias too; oneDNN 3
 * takes them at execution as scales of the weights, with weights_mask, and adds the bias later.
 */
#if DNNL_VERSION_MAJOR >= 3
#define TFR_DNN_SCALES_ARG  (DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS)
#define TFR_DNN_SCALES_BIAS 0
#else
#define TFR_DNN_SCALES_ARG  0 /* no argument */
#define TFR_DNN_SCALES_BIAS 1
#endif
dnnl_status_t tfr_dnn_scales(dnnl_primitive_attr_t attr, int64_t n, int dst_mask, int weights_mask,
                             const float *scales);

/* What the makers below have in common. */
typedef struct tfr_dnn_make {
    dnnl_engine_t engine; /* the library's */
    dnnl_primitive_attr_t attr;
    dnnl_primitive_desc_t pd; /* what the maker made; tfr_dnn_add takes it over */
} tfr_dnn_make;

/* Convolution and deconvolution; dilation counts from 0 as oneDNN does. bias may be NULL. */
typedef struct tfr_dnn_window {
    dnnl_dims_t kernel, stride, dilation, pad_begin, pad_end;
} tfr_dnn_window;

dnnl_status_t tfr_dnn_convolution(tfr_dnn_make *make, tfr_dnn_cmd src, tfr_dnn_cmd weights,
                                  tfr_dnn_cmd bias, tfr_dnn_cmd dst, const tfr_dnn_window *window);
dnnl_status_t tfr_dnn_deconvolution(tfr_dnn_make *make, tfr_dnn_cmd src, tfr_dnn_cmd weights,
                                    tfr_dnn_cmd bias, tfr_dnn_cmd dst,
                                    const tfr_dnn_window *window);
dnnl_status_t tfr_dnn_pooling(tfr_dnn_make *make, dnnl_alg_kind_t alg, tfr_dnn_cmd src,
                              tfr_dnn_cmd dst, const tfr_dnn_window *window);
dnnl_status_t tfr_dnn_matmul(tfr_dnn_make *make, tfr_dnn_cmd src, tfr_dnn_cmd weights,
                             tfr_dnn_cmd bias, tfr_dnn_cmd dst);
dnnl_status_t tfr_dnn_eltwise(tfr_dnn_make *make, dnnl_alg_kind_t alg, tfr_dnn_cmd data,
                              float alpha, float beta);
dnnl_status_t tfr_dnn_binary(tfr_dnn_make *make, dnnl_alg_kind_t alg, tfr_dnn_cmd a, tfr_dnn_cmd b,
                             tfr_dnn_cmd dst);
/* Over the given axis; log = logsoftmax. */
dnnl_status_t tfr_dnn_softmax(tfr_dnn_make *make, int log, tfr_dnn_cmd data, int axis);
dnnl_status_t tfr_dnn_reduction(tfr_dnn_make *make, dnnl_alg_kind_t alg, tfr_dnn_cmd src,
                                tfr_dnn_cmd dst);
/* Inference with given statistics, scale and shift. */
dnnl_status_t tfr_dnn_batch_norm(tfr_dnn_make *make, tfr_dnn_cmd data, float epsilon);
/* Over the last dimension; flags from dnnl_normalization_flags_t. */
dnnl_status_t tfr_dnn_layer_norm(tfr_dnn_make *make, tfr_dnn_cmd data, float epsilon,
                                 unsigned flags);
/* The descriptors of a recurrent layer; c_in and c_out for LSTM only. */
typedef struct tfr_dnn_recurrent {
    dnnl_alg_kind_t cell;       /* dnnl_vanilla_rnn, _lstm, _gru, _lbr_gru */
    dnnl_alg_kind_t activation; /* of dnnl_vanilla_rnn */
    dnnl_rnn_direction_t direction;
    tfr_dnn_cmd src, h_in, c_in, weights, recurrence, bias, dst, h_out, c_out;
} tfr_dnn_recurrent;

dnnl_status_t tfr_dnn_recurrent_layer(tfr_dnn_make *make, const tfr_dnn_recurrent *r);
dnnl_status_t tfr_dnn_lrn(tfr_dnn_make *make, tfr_dnn_cmd data, int64_t size, float alpha,
                          float beta, float k);
dnnl_status_t tfr_dnn_prelu(tfr_dnn_make *make, tfr_dnn_cmd data, tfr_dnn_cmd weights);
dnnl_status_t tfr_dnn_resampling(tfr_dnn_make *make, dnnl_alg_kind_t alg, tfr_dnn_cmd src,
                                 tfr_dnn_cmd dst);
dnnl_status_t tfr_dnn_concat(tfr_dnn_make *make, tfr_dnn_cmd dst, int n, int axis,
                             const tfr_dnn_md *srcs);
dnnl_status_t tfr_dnn_sum(tfr_dnn_make *make, tfr_dnn_cmd dst, int n, const float *scales,
                          const tfr_dnn_md *srcs);
dnnl_status_t tfr_dnn_reorder(tfr_dnn_make *make, tfr_dnn_cmd src, tfr_dnn_cmd dst);

#endif
