/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/autodiff.h (libtfrun-nn): differentiates a graph in reverse mode. The gradients are nodes
 * of the same graph, made of ordinary ops and of those of domain "tfrun" that gradients need; most
 * can be differentiated again. At a kink there is one answer: Relu and Abs have 0 at 0, Clip lets
 * through what is at its bounds, equals of Max and Min share alike, MaxPool takes the first.
 */
#ifndef TFRUN_AUTODIFF_H
#define TFRUN_AUTODIFF_H

#include <tfrun/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Adds what computes the gradients of y, or of the sum of its elements, with respect to n_xs values
 * of the graph; out_gradients gets one value for each, of its shape and type, 0 where y does not
 * depend on it. A value of xs may be the result of a node, and y may depend on one of them through
 * another. New nodes take the device of those that they differentiate.
 *
 * Expected errors: TFR_EUNSUPPORTED names a node between xs and y whose op has no rule; TFR_EBUSY,
 * a session uses the graph already; TFR_ENOMEM. What was added before an error stays and is not
 * used.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_graph_gradient(tfr_graph *graph, tfr_value y,
                                                     const tfr_value *xs, uint32_t n_xs,
                                                     tfr_value *out_gradients, tfr_err *err);

/* What tfr_graph_gradient knows of an op, for any of its calls; docs/ops.md lists it. */
typedef enum tfr_gradient_kind {
    TFR_GRADIENT_NONE = 0, /* refused, if y depends on xs through it */
    TFR_GRADIENT_RULE = 1, /* most or all calls can be differentiated */
    TFR_GRADIENT_ZERO = 2  /* its value is constant almost everywhere, or no float */
} tfr_gradient_kind;

/* Of ops of tfrun's own table; a plugin brings gradients of its ops with them. *why is a static
 * text that says why there is none, or NULL; why may be NULL. Domain NULL, "" and "ai.onnx" are the
 * same. */
TFR_API tfr_gradient_kind tfr_op_gradient(const char *domain, const char *name, const char **why);

#ifdef __cplusplus
}
#endif

#endif
