/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gradient.h: what the reader of models asks of nn/, which lies above it. nn/ defines the
 * function; a program that is linked without nn/ has the one of gradient.c, which refuses.
 */
#ifndef TFR_FORMATS_ONNX_GRADIENT_H
#define TFR_FORMATS_ONNX_GRADIENT_H

#include <tfrun/graph.h>

/* tfr_graph_gradient of tfrun/autodiff.h. */
TFR_MUST_CHECK tfr_status tfr__onnx_differentiate(tfr_graph *graph, tfr_value y,
                                                  const tfr_value *xs, uint32_t n_xs,
                                                  tfr_value *out_gradients, tfr_err *err);

#endif
