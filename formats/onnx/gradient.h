/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gradient.h: what the reader of models asks of nn/, which lies above it. nn/ defines the
 * function; a program that is linked without nn/ has the one of gradient.c, which refuses. And what
 * nn/ asks of the reader.
 */
#ifndef TFR_FORMATS_ONNX_GRADIENT_H
#define TFR_FORMATS_ONNX_GRADIENT_H

#include <tfrun/op.h>

/* tfr_graph_gradient of tfrun/autodiff.h. */
TFR_MUST_CHECK tfr_status tfr__onnx_differentiate(tfr_graph *graph, tfr_value y,
                                                  const tfr_value *xs, uint32_t n_xs,
                                                  tfr_value *out_gradients, tfr_err *err);

/* A tfr_function_reader (op_function.c). */
TFR_MUST_CHECK tfr_status tfr__onnx_call_function(tfr_graph *graph, const void *bytes, uint64_t n,
                                                  const tfr_node_view *node,
                                                  const tfr_value *inputs, uint32_t n_inputs,
                                                  tfr_value *outputs, uint32_t n_outputs,
                                                  tfr_err *err);

#endif
