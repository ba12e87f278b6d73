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
#ifndef ONEDNN_API_H
#define ONEDNN_API_H

#include <stdint.h>

#include "library.h"

/* A memory descriptor that we own, and one that we only read. */
#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t onednn_md;
typedef const_dnnl_memory_desc_t onednn_cmd;
#else
typedef dnnl_memory_desc_t *onednn_md;
typedef const dnnl_memory_desc_t *onednn_cmd;
#endif

/* strides in elements; NULL = the library chooses the layout. */
dnnl_status_t onednn_md_create(onednn_md *out, dnnl_data_type_t type, int rank, const int64_t *dims,
                               const int64_t *strides);
/* The same dims and type, in a layout that the library chooses. */
dnnl_status_t onednn_md_create_any(onednn_md *out, onednn_cmd like);
/* A box of a parent with strides: its dims and where it begins. */
dnnl_status_t onednn_md_create_part(onednn_md *out, onednn_cmd parent, const int64_t *dims,
                                    const int64_t *offsets);
/* The same dims and strides in another type; like has strides. */
dnnl_status_t onednn_md_create_as(onednn_md *out, onednn_cmd like, dnnl_data_type_t type);
dnnl_data_type_t onednn_md_type(onednn_cmd md);
void onednn_md_destroy(onednn_md md);

dnnl_status_t onednn_post_eltwise(dnnl_post_ops_t ops, dnnl_alg_kind_t alg, float alpha,
                                  float beta);

/* Makes attr say: strict f32 arithmetic. */
dnnl_status_t onednn_strict(dnnl_primitive_attr_t attr);

/* Makes attr say: the argument DNNL_ARG_... has one zero point, given at execution as int32. */
dnnl_status_t onednn_zero_point(dnnl_primitive_attr_t attr, int arg);
/*
 * Makes attr say: the sum is multiplied by n scales, by one (masks 0) or along a dim. oneDNN 2
 * keeps them in attr as scales of the output, with dst_mask, and multiplies the bias too; oneDNN 3
 * takes them at execution as scales of the weights, with weights_mask, and adds the bias later.
 */
#if DNNL_VERSION_MAJOR >= 3
#define ONEDNN_SCALES_ARG  (DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS)
#define ONEDNN_SCALES_BIAS 0
#else
#define ONEDNN_SCALES_ARG  0 /* no argument */
#define ONEDNN_SCALES_BIAS 1
#endif
dnnl_status_t onednn_scales(dnnl_primitive_attr_t attr, int64_t n, int dst_mask, int weights_mask,
                            const float *scales);

/* What the makers below have in common. */
typedef struct onednn_make {
    dnnl_engine_t engine; /* the library's */
    dnnl_primitive_attr_t attr;
    dnnl_primitive_desc_t pd; /* what the maker made; onednn_add takes it over */
} onednn_make;

/* Convolution and deconvolution; dilation counts from 0 as oneDNN does. bias may be NULL. */
typedef struct onednn_window {
    dnnl_dims_t kernel, stride, dilation, pad_begin, pad_end;
} onednn_window;

dnnl_status_t onednn_convolution(onednn_make *make, onednn_cmd src, onednn_cmd weights,
                                 onednn_cmd bias, onednn_cmd dst, const onednn_window *window);
dnnl_status_t onednn_deconvolution(onednn_make *make, onednn_cmd src, onednn_cmd weights,
                                   onednn_cmd bias, onednn_cmd dst, const onednn_window *window);
/* The gradient of a convolution's weights. */
dnnl_status_t onednn_convolution_weights(onednn_make *make, onednn_cmd src, onednn_cmd diff_weights,
                                         onednn_cmd diff_dst, const onednn_window *window);
dnnl_status_t onednn_pooling(onednn_make *make, dnnl_alg_kind_t alg, onednn_cmd src, onednn_cmd dst,
                             const onednn_window *window);
dnnl_status_t onednn_matmul(onednn_make *make, onednn_cmd src, onednn_cmd weights, onednn_cmd bias,
                            onednn_cmd dst);
dnnl_status_t onednn_eltwise(onednn_make *make, dnnl_alg_kind_t alg, onednn_cmd data, float alpha,
                             float beta);
dnnl_status_t onednn_binary(onednn_make *make, dnnl_alg_kind_t alg, onednn_cmd a, onednn_cmd b,
                            onednn_cmd dst);
/* Over the given axis; log = logsoftmax. */
dnnl_status_t onednn_softmax(onednn_make *make, int log, onednn_cmd data, int axis);
dnnl_status_t onednn_reduction(onednn_make *make, dnnl_alg_kind_t alg, onednn_cmd src,
                               onednn_cmd dst);
/* Inference with given statistics, scale and shift. */
dnnl_status_t onednn_batch_norm(onednn_make *make, onednn_cmd data, float epsilon);
/* Over the last dimension; flags from dnnl_normalization_flags_t. */
dnnl_status_t onednn_layer_norm(onednn_make *make, onednn_cmd data, float epsilon, unsigned flags);
/* The descriptors of a recurrent layer; c_in and c_out for LSTM only. */
typedef struct onednn_recurrent {
    dnnl_alg_kind_t cell;       /* dnnl_vanilla_rnn, _lstm, _gru, _lbr_gru */
    dnnl_alg_kind_t activation; /* of dnnl_vanilla_rnn */
    dnnl_rnn_direction_t direction;
    onednn_cmd src, h_in, c_in, weights, recurrence, bias, dst, h_out, c_out;
} onednn_recurrent;

dnnl_status_t onednn_recurrent_layer(onednn_make *make, const onednn_recurrent *r);
dnnl_status_t onednn_lrn(onednn_make *make, onednn_cmd data, int64_t size, float alpha, float beta,
                         float k);
dnnl_status_t onednn_prelu(onednn_make *make, onednn_cmd data, onednn_cmd weights);
dnnl_status_t onednn_resampling(onednn_make *make, dnnl_alg_kind_t alg, onednn_cmd src,
                                onednn_cmd dst);
dnnl_status_t onednn_concat(onednn_make *make, onednn_cmd dst, int n, int axis,
                            const onednn_md *srcs);
dnnl_status_t onednn_sum(onednn_make *make, onednn_cmd dst, int n, const float *scales,
                         const onednn_md *srcs);
dnnl_status_t onednn_reorder(onednn_make *make, onednn_cmd src, onednn_cmd dst);

#endif
