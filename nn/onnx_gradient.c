/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_gradient.c: differentiates for the reader of ONNX models, which meets Gradient nodes. */
#include <formats/onnx/gradient.h>
#include <tfrun/autodiff.h>

tfr_status tfr__onnx_differentiate(tfr_graph *graph, tfr_value y, const tfr_value *xs,
                                   uint32_t n_xs, tfr_value *out_gradients, tfr_err *err)
{
    return tfr_graph_gradient(graph, y, xs, n_xs, out_gradients, err);
}
