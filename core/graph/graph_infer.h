/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_infer.h: types of a graph's values before any run: inference node by node with what is
 * known (op/infer.h, "symbolic"). A tfr_graph_types has a scope for the graph and each graph inside
 * it; the graph may still grow. Passes infer nodes of a graph that they change with
 * tfr__node_infer alone.
 */
#ifndef TFR_CORE_GRAPH_INFER_H
#define TFR_CORE_GRAPH_INFER_H

#include "graph/graph.h"
#include "op/infer.h"

/* ---- one node -------------------------------------------------------------------------------- */

/* Of input k: its type, with data if it is a constant, or elements. */
typedef void tfr__input_type(void *user, const tfr__node *node, uint32_t k, tfr__type *out);

typedef struct tfr__node_types {
    tfr__type *inputs, *outputs;
    tfr__attr_list attrs; /* in normal form only if everything was known */
    tfr__elements elements;
    bool has_elements; /* of output 0 */
} tfr__node_types;

/* Symbols NULL: all inputs are known. Also without an error out has to be finished. */
tfr_status tfr__node_infer(const tfr__node *node, tfr__symbols *symbols, tfr__input_type *type_of,
                           void *user, tfr__node_types *out, tfr_err *err);
void tfr__node_types_finish(tfr__node_types *types);

/* The plain value of a constant in memory, NULL for what inference cannot read. */
const void *tfr__constant_data(const tfr_tensor *tensor);
/* A negative dim of a public type becomes -1. */
void tfr__type_of_public(const tfr_value_type *type, tfr__type *out);
void tfr__type_to_public(const tfr__type *type, tfr_value_type *out);

/* ---- all of a graph -------------------------------------------------------------------------- */

typedef struct tfr__scope {
    const tfr_graph *graph;
    struct tfr__scope *outer;   /* NULL for the whole */
    tfr__type *types;           /* by value; kind TFR_KIND_NONE = not looked at */
    tfr__elements **elements;   /* by value, NULL = nothing is known */
    uint32_t n_values, n_nodes; /* that were looked at */
    uint32_t capacity;
    struct tfr__scope **inner; /* of subgraphs, by their number; NULL = not asked for */
    uint32_t n_inner, depth;
} tfr__scope;

struct tfr_graph_types {
    tfr_graph *graph;
    tfr__symbols symbols;
    int64_t *named;     /* by number of a name: its symbol, 0 = not used */
    uint32_t *names_of; /* by symbol from -1: number of the name + 1, 0 = none */
    uint32_t n_named, symbols_capacity;
    bool lenient; /* a node that is wrong says nothing */
    tfr__scope top;
};

/* Room for the types of all values. */
tfr_status tfr__scope_start(tfr__scope *scope, tfr_err *err);
/* Infers what was added since; types of a subgraph's inputs have to be there. */
tfr_status tfr__scope_infer(tfr_graph_types *types, tfr__scope *scope, tfr_err *err);
/* Forgets what was found, but for subgraphs' scopes. */
void tfr__scope_reset(tfr__scope *scope);
/* The scope of a subgraph, made if need be; NULL without memory. */
tfr__scope *tfr__scope_inner(tfr__scope *scope, const tfr_graph *graph);
/* The scope of the graph, NULL meaning the whole, or of one inside it; NULL if it is another's. */
const tfr__scope *tfr__scope_of(const tfr_graph_types *types, const tfr_graph *graph);
/* If, Loop and the others with graphs inside; outputs is filled. graph_infer_control.c */
tfr_status tfr__control_infer(tfr_graph_types *types, tfr__scope *scope, const tfr__node *node,
                              tfr__type *outputs, tfr_err *err);

#endif
