/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.h: oneDNN, opened when the first kernel needs it. Loading it takes some milliseconds (40
 * MB with 36000 relocations, and the C++ and OpenMP runtimes), and models that other backends
 * compute do without it. The names of its functions lead to a table of pointers, so callers read as
 * usual.
 *
 * Include this instead of oneDNN's own headers.
 */
#ifndef ONEDNN_LIBRARY_H
#define ONEDNN_LIBRARY_H

#include <dnnl_debug.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdbool.h>
#include <tfrun/plugin.h>

/* ONEDNN_SONAME, the file that this backend was built for, is given by configure. */

/* Valid after onednn_library_open; before, all is NULL. */
typedef struct onednn_library_table {
#define FUNCTION(name) __typeof__(name) *fn_##name;
#include "library.def"
#undef FUNCTION
    dnnl_engine_t engine; /* of the CPU; lives as long as the process */
    /* of the OpenMP runtime that oneDNN brought; NULL = it brought none */
    int (*omp_get_max_threads)(void);
    void (*omp_set_num_threads)(int n);
} onednn_library_table;
extern onednn_library_table onednn_library;

/*
 * [any]. Opens the library if nobody has done so, and sets it up: its talk, the most that it may
 * use of the processor, the engine. It is never closed: its threads may live. TFR_EUNSUPPORTED if
 * it is not there, or not the version that this backend was built for.
 */
int32_t onednn_library_open(const tfr_host *host, tfr_err *err);

/*
 * [any]. Whether the library adds products of 8 bits in 32 bits at the level it really runs at: its
 * own environment, or whoever opened it before, may hold it below what the processor has. Without
 * a dot product of four bytes (VNNI) it adds pairs of products in 16 bits, which saturates. Opens
 * the library; false if that fails.
 */
bool onednn_library_adds_int8(const tfr_host *host);

#define ONEDNN(name) onednn_library.fn_##name

#define dnnl_concat_primitive_desc_create       ONEDNN(dnnl_concat_primitive_desc_create)
#define dnnl_engine_create                      ONEDNN(dnnl_engine_create)
#define dnnl_get_effective_cpu_isa              ONEDNN(dnnl_get_effective_cpu_isa)
#define dnnl_memory_create                      ONEDNN(dnnl_memory_create)
#define dnnl_memory_desc_equal                  ONEDNN(dnnl_memory_desc_equal)
#define dnnl_memory_desc_get_size               ONEDNN(dnnl_memory_desc_get_size)
#define dnnl_memory_destroy                     ONEDNN(dnnl_memory_destroy)
#define dnnl_memory_get_data_handle             ONEDNN(dnnl_memory_get_data_handle)
#define dnnl_memory_get_memory_desc             ONEDNN(dnnl_memory_get_memory_desc)
#define dnnl_memory_set_data_handle             ONEDNN(dnnl_memory_set_data_handle)
#define dnnl_post_ops_append_binary             ONEDNN(dnnl_post_ops_append_binary)
#define dnnl_post_ops_append_eltwise            ONEDNN(dnnl_post_ops_append_eltwise)
#define dnnl_post_ops_create                    ONEDNN(dnnl_post_ops_create)
#define dnnl_post_ops_destroy                   ONEDNN(dnnl_post_ops_destroy)
#define dnnl_prim_kind2str                      ONEDNN(dnnl_prim_kind2str)
#define dnnl_primitive_attr_clone               ONEDNN(dnnl_primitive_attr_clone)
#define dnnl_primitive_attr_create              ONEDNN(dnnl_primitive_attr_create)
#define dnnl_primitive_attr_destroy             ONEDNN(dnnl_primitive_attr_destroy)
#define dnnl_primitive_attr_set_fpmath_mode     ONEDNN(dnnl_primitive_attr_set_fpmath_mode)
#define dnnl_primitive_attr_set_post_ops        ONEDNN(dnnl_primitive_attr_set_post_ops)
#define dnnl_primitive_attr_set_scratchpad_mode ONEDNN(dnnl_primitive_attr_set_scratchpad_mode)
#define dnnl_primitive_create                   ONEDNN(dnnl_primitive_create)
#define dnnl_primitive_desc_destroy             ONEDNN(dnnl_primitive_desc_destroy)
#define dnnl_primitive_desc_query               ONEDNN(dnnl_primitive_desc_query)
#define dnnl_primitive_desc_query_md            ONEDNN(dnnl_primitive_desc_query_md)
#define dnnl_primitive_destroy                  ONEDNN(dnnl_primitive_destroy)
#define dnnl_primitive_execute                  ONEDNN(dnnl_primitive_execute)
#define dnnl_primitive_get_primitive_desc       ONEDNN(dnnl_primitive_get_primitive_desc)
#define dnnl_reorder_primitive_desc_create      ONEDNN(dnnl_reorder_primitive_desc_create)
#define dnnl_set_max_cpu_isa                    ONEDNN(dnnl_set_max_cpu_isa)
#define dnnl_set_verbose                        ONEDNN(dnnl_set_verbose)
#define dnnl_stream_create                      ONEDNN(dnnl_stream_create)
#define dnnl_stream_destroy                     ONEDNN(dnnl_stream_destroy)
#define dnnl_stream_wait                        ONEDNN(dnnl_stream_wait)
#define dnnl_sum_primitive_desc_create          ONEDNN(dnnl_sum_primitive_desc_create)
#define dnnl_version                            ONEDNN(dnnl_version)
#if DNNL_VERSION_MAJOR >= 3
#define dnnl_batch_normalization_forward_primitive_desc_create                                     \
    ONEDNN(dnnl_batch_normalization_forward_primitive_desc_create)
#define dnnl_binary_primitive_desc_create ONEDNN(dnnl_binary_primitive_desc_create)
#define dnnl_convolution_backward_weights_primitive_desc_create                                    \
    ONEDNN(dnnl_convolution_backward_weights_primitive_desc_create)
#define dnnl_convolution_forward_primitive_desc_create                                             \
    ONEDNN(dnnl_convolution_forward_primitive_desc_create)
#define dnnl_deconvolution_forward_primitive_desc_create                                           \
    ONEDNN(dnnl_deconvolution_forward_primitive_desc_create)
#define dnnl_eltwise_forward_primitive_desc_create                                                 \
    ONEDNN(dnnl_eltwise_forward_primitive_desc_create)
#define dnnl_gru_forward_primitive_desc_create ONEDNN(dnnl_gru_forward_primitive_desc_create)
#define dnnl_layer_normalization_forward_primitive_desc_create                                     \
    ONEDNN(dnnl_layer_normalization_forward_primitive_desc_create)
#define dnnl_lbr_gru_forward_primitive_desc_create                                                 \
    ONEDNN(dnnl_lbr_gru_forward_primitive_desc_create)
#define dnnl_lrn_forward_primitive_desc_create  ONEDNN(dnnl_lrn_forward_primitive_desc_create)
#define dnnl_lstm_forward_primitive_desc_create ONEDNN(dnnl_lstm_forward_primitive_desc_create)
#define dnnl_matmul_primitive_desc_create       ONEDNN(dnnl_matmul_primitive_desc_create)
#define dnnl_memory_desc_create_submemory       ONEDNN(dnnl_memory_desc_create_submemory)
#define dnnl_memory_desc_create_with_strides    ONEDNN(dnnl_memory_desc_create_with_strides)
#define dnnl_memory_desc_create_with_tag        ONEDNN(dnnl_memory_desc_create_with_tag)
#define dnnl_memory_desc_destroy                ONEDNN(dnnl_memory_desc_destroy)
#define dnnl_memory_desc_query                  ONEDNN(dnnl_memory_desc_query)
#define dnnl_pooling_forward_primitive_desc_create                                                 \
    ONEDNN(dnnl_pooling_forward_primitive_desc_create)
#define dnnl_prelu_forward_primitive_desc_create ONEDNN(dnnl_prelu_forward_primitive_desc_create)
#define dnnl_primitive_attr_set_scales_mask      ONEDNN(dnnl_primitive_attr_set_scales_mask)
#define dnnl_primitive_attr_set_zero_points_mask ONEDNN(dnnl_primitive_attr_set_zero_points_mask)
#define dnnl_reduction_primitive_desc_create     ONEDNN(dnnl_reduction_primitive_desc_create)
#define dnnl_resampling_forward_primitive_desc_create                                              \
    ONEDNN(dnnl_resampling_forward_primitive_desc_create)
#define dnnl_softmax_forward_primitive_desc_create                                                 \
    ONEDNN(dnnl_softmax_forward_primitive_desc_create)
#define dnnl_vanilla_rnn_forward_primitive_desc_create                                             \
    ONEDNN(dnnl_vanilla_rnn_forward_primitive_desc_create)
#else
#define dnnl_batch_normalization_forward_desc_init                                                 \
    ONEDNN(dnnl_batch_normalization_forward_desc_init)
#define dnnl_binary_desc_init ONEDNN(dnnl_binary_desc_init)
#define dnnl_dilated_convolution_backward_weights_desc_init                                        \
    ONEDNN(dnnl_dilated_convolution_backward_weights_desc_init)
#define dnnl_dilated_convolution_forward_desc_init                                                 \
    ONEDNN(dnnl_dilated_convolution_forward_desc_init)
#define dnnl_dilated_deconvolution_forward_desc_init                                               \
    ONEDNN(dnnl_dilated_deconvolution_forward_desc_init)
#define dnnl_eltwise_forward_desc_init ONEDNN(dnnl_eltwise_forward_desc_init)
#define dnnl_gru_forward_desc_init     ONEDNN(dnnl_gru_forward_desc_init)
#define dnnl_layer_normalization_forward_desc_init                                                 \
    ONEDNN(dnnl_layer_normalization_forward_desc_init)
#define dnnl_lbr_gru_forward_desc_init        ONEDNN(dnnl_lbr_gru_forward_desc_init)
#define dnnl_lrn_forward_desc_init            ONEDNN(dnnl_lrn_forward_desc_init)
#define dnnl_lstm_forward_desc_init           ONEDNN(dnnl_lstm_forward_desc_init)
#define dnnl_matmul_desc_init                 ONEDNN(dnnl_matmul_desc_init)
#define dnnl_memory_desc_init_by_strides      ONEDNN(dnnl_memory_desc_init_by_strides)
#define dnnl_memory_desc_init_by_tag          ONEDNN(dnnl_memory_desc_init_by_tag)
#define dnnl_memory_desc_init_submemory       ONEDNN(dnnl_memory_desc_init_submemory)
#define dnnl_pooling_v2_forward_desc_init     ONEDNN(dnnl_pooling_v2_forward_desc_init)
#define dnnl_prelu_forward_desc_init          ONEDNN(dnnl_prelu_forward_desc_init)
#define dnnl_primitive_attr_set_output_scales ONEDNN(dnnl_primitive_attr_set_output_scales)
#define dnnl_primitive_attr_set_zero_points   ONEDNN(dnnl_primitive_attr_set_zero_points)
#define dnnl_primitive_desc_create            ONEDNN(dnnl_primitive_desc_create)
#define dnnl_reduction_desc_init              ONEDNN(dnnl_reduction_desc_init)
#define dnnl_resampling_forward_desc_init     ONEDNN(dnnl_resampling_forward_desc_init)
#define dnnl_softmax_v2_forward_desc_init     ONEDNN(dnnl_softmax_v2_forward_desc_init)
#define dnnl_vanilla_rnn_forward_desc_init    ONEDNN(dnnl_vanilla_rnn_forward_desc_init)
#endif

#endif
