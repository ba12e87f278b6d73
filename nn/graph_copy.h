/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_copy.h: copies a graph value by value and node by node into a new one that is still open,
 * where the caller may take other things in their place: a variable for a constant, a node in
 * training mode for one that is not. In this order: begin, nodes, what the caller adds, finish.
 *
 * Or its nodes are copied into a graph that the caller makes: enter in place of begin.
 */
#ifndef TFR_NN_GRAPH_COPY_H
#define TFR_NN_GRAPH_COPY_H

#include <stdbool.h>
#include <tfrun/graph.h>

typedef struct tfr__copy tfr__copy;
struct tfr__copy {
    const tfr_graph *from;
    /*
     * Where it is given: takes a constant or variable of `from`, TFR_VALUE_NONE in *out = copy it
     * as it is.
     */
    tfr_status (*value)(tfr__copy *copy, tfr_value v, const tfr_value_view *view, tfr_value *out,
                        tfr_err *err);
    /*
     * Where it is given: adds node i, whose inputs and outputs are still those of `from`, itself,
     * and sets the map of its outputs, if *done is set to true.
     */
    tfr_status (*node)(tfr__copy *copy, uint32_t i, const tfr_node_view *view, bool *done,
                       tfr_err *err);
    void *user;
    bool unnamed;           /* values get made-up names */
    bool all_names;         /* else names that were made up stay, too */
    const tfr_value *outer; /* by value of from's parent: of to's parent; NULL = the same */
    /* From begin on: */
    tfr_graph *to;
    tfr_value *map; /* by value of `from`; TFR_VALUE_NONE = not there yet */
};

/* Inputs, constants and variables. finish in any case, once this was called. */
TFR_MUST_CHECK tfr_status tfr__copy_begin(tfr__copy *copy, tfr_err *err);
/* Into copy->to, which stays the caller's: constants, variables and captures. The caller then sets
 * what stands for the inputs in the map. */
TFR_MUST_CHECK tfr_status tfr__copy_enter(tfr__copy *copy, tfr_err *err);
/* A type for the new graph: a dim with a name is the symbol of that name there. */
TFR_MUST_CHECK tfr_status tfr__copy_type(const tfr__copy *copy, const tfr_value_type *from,
                                         tfr_value_type *to, tfr_err *err);
/* All nodes, with the graphs inside them, in which `value` and `node` are not asked. */
TFR_MUST_CHECK tfr_status tfr__copy_nodes(tfr__copy *copy, tfr_err *err);
/* The node as it is, with n_outputs >= view->n_outputs; sets the map of its outputs. */
TFR_MUST_CHECK tfr_status tfr__copy_plain(tfr__copy *copy, const tfr_node_view *view,
                                          uint32_t n_outputs, tfr_err *err);
/* One node, with inputs of `to` (n of them as the view says), attributes and more outputs than it
 * had; outputs_wanted >= view->n_outputs. */
TFR_MUST_CHECK tfr_status tfr__copy_node(tfr__copy *copy, const tfr_node_view *view,
                                         const tfr_value *inputs, uint32_t n_inputs,
                                         const tfr_attr *attrs, uint32_t n_attrs,
                                         tfr_value *outputs, uint32_t n_outputs, tfr_err *err);
/* out NULL = the new graph is dropped. After enter, leave takes its place. */
void tfr__copy_finish(tfr__copy *copy, tfr_graph **out);
void tfr__copy_leave(tfr__copy *copy);

#endif
