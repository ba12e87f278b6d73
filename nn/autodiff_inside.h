/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autodiff_inside.h: graphs inside the nodes that a gradient adds. Each is a copy of a graph inside
 * the node at hand, which computes again what backward needs, followed by its gradients. Failures
 * are kept in the state of the graph outside, as by the helpers of rules.
 */
#ifndef TFR_NN_AUTODIFF_INSIDE_H
#define TFR_NN_AUTODIFF_INSIDE_H

#include "autodiff.h"
#include "graph_copy.h"

typedef struct tfr__inside {
    tfr__diff *outer;
    const tfr_graph *from; /* the graph of the node at hand */
    tfr_graph *graph;
    tfr__copy copy; /* from there into graph */
    tfr__diff diff; /* of graph, from nodes on */
} tfr__inside;

/* The graph of the node at hand that is called so, copied but for inputs and nodes. close in any
 * case. */
void tfr__inside_open(tfr__inside *in, tfr__diff *d, const char *name);
/* Releases the graph unless a node took it. */
void tfr__inside_close(tfr__inside *in);

/* An input with the type of a value of this graph, `from` or the outer one. */
tfr_value tfr__inside_input(tfr__inside *in, const tfr_graph *of, tfr_value like);
/* A value of the outer graph. */
tfr_value tfr__inside_capture(tfr__inside *in, tfr_value v);
/* The copy of a value of `from`; sets it for an input. */
tfr_value tfr__inside_map(const tfr__inside *in, tfr_value v);
void tfr__inside_set(tfr__inside *in, tfr_value v, tfr_value copy);
/* Copies the nodes, once the inputs are set. */
void tfr__inside_nodes(tfr__inside *in);
/* Makes gs[i] the gradient of ys[i] and gives those of xs, TFR_VALUE_NONE where there is none. */
void tfr__inside_gradients(tfr__inside *in, const tfr_value *ys, const tfr_value *gs, uint32_t n,
                           const tfr_value *xs, uint32_t n_xs, tfr_value *out);
/* v becomes an output, of the type of a value of a graph as tfr__inside_input says it. */
void tfr__inside_output(tfr__inside *in, tfr_value v, const tfr_graph *of, tfr_value like);

/* A node of the outer graph with n graphs inside, called so. */
void tfr__inside_node(tfr__diff *d, const char *op, const tfr_value *inputs, uint32_t n_inputs,
                      const tfr_attr *attrs, uint32_t n_attrs, tfr__inside *const *graphs,
                      const char *const *names, uint32_t n, tfr_value *outputs, uint32_t n_outputs);

/*
 * Which values of the graph inside node that is called so depend on what flows outside; all passes
 * through a loop are looked at. *out is to be freed in any case.
 */
TFR_MUST_CHECK tfr_status tfr__inside_flows(const tfr__diff *d, const tfr_node_view *node,
                                            const char *name, const bool *flows, bool **out);

/* What belongs together in a Loop or Scan: inputs of the node, inputs and outputs of the body. */
typedef struct tfr__loop_form {
    bool is_scan;
    uint32_t n_state, n_scan_in, n_scan_out;
    uint32_t first_in;  /* of the node and of the body: the first state */
    uint32_t first_out; /* of the body: the first state */
} tfr__loop_form;
/* false = its numbers of operands do not fit. */
bool tfr__loop_form_of(const tfr_node_view *node, tfr__loop_form *out);

#endif
