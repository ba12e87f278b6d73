/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.h: a graph inside the core. Nodes stand in an order in which each comes after the ones
 * whose values it uses. A frozen graph is never changed, so sessions read it without a lock.
 */
#ifndef TFR_CORE_GRAPH_H
#define TFR_CORE_GRAPH_H

#include <stdatomic.h>
#include <tfrun/graph.h>

#include "op/attr.h"
#include "graph/captures.h"
#include "base/region.h"
#include "base/names.h"
#include "op/op.h"

typedef enum tfr__role {
    TFR__ROLE_INPUT,
    TFR__ROLE_CONSTANT, /* tensor */
    TFR__ROLE_VARIABLE, /* tensor is the initial state */
    TFR__ROLE_CAPTURE,  /* outer is the parent's value */
    TFR__ROLE_NODE      /* output of node */
} tfr__role;

typedef struct tfr__value {
    char *name;
    bool made_up;        /* the name: another value may come to need it */
    int32_t role;        /* tfr__role */
    int32_t node;        /* ROLE_NODE: its producer */
    tfr_value outer;     /* ROLE_CAPTURE */
    tfr_value update;    /* ROLE_VARIABLE: the value it becomes, or TFR_VALUE_NONE */
    tfr_tensor *tensor;  /* ROLE_CONSTANT, ROLE_VARIABLE */
    tfr_value_type type; /* what is known without running */
} tfr__value;

typedef struct tfr__node {
    const tfr__op *op;
    char *name;
    char *device;        /* pin, or NULL */
    const char *instead; /* why it stands here for a node of another op; NULL = it does not */
    uint32_t n_inputs, n_outputs, n_subgraphs, n_captures;
    tfr_value *inputs;  /* TFR_VALUE_NONE = absent */
    tfr_value *outputs; /* TFR_VALUE_NONE = not wanted */
    tfr__attr_list attrs;
    tfr_graph **subgraphs; /* owned; attrs refer to them by name */
    tfr_value *captures;   /* values of this graph that subgraphs use */
} tfr__node;

struct tfr_graph {
    atomic_uint refs;
    atomic_bool frozen;
    bool adopted; /* a child that a node has taken over */
    char *name;
    tfr_graph *parent;   /* borrowed: a parent owns its children */
    uint32_t number;     /* of a child, which no other child of the parent ever has */
    uint32_t n_children; /* that were made, also those that are gone */
    tfr__value *values;
    tfr__node *nodes;
    tfr_value *inputs, *outputs, *variables;
    char **output_names;          /* NULL entry = the value's own */
    tfr_value_type *output_types; /* n_declared, as declared; dtype 0 = not */
    char **scopes;                /* device scopes, innermost last */
    uint32_t n_values, n_nodes, n_inputs, n_outputs, n_variables, n_scopes, n_declared;
    uint32_t values_capacity, nodes_capacity, inputs_capacity, outputs_capacity, names_capacity,
        variables_capacity, scopes_capacity, declared_capacity;
    tfr__names names;   /* value name → number */
    uint32_t next_name; /* of those that are made up */
    char **symbols;     /* of an outermost graph: names of dims that vary */
    uint32_t n_symbols;
    tfr__names symbol_names; /* name → number in symbols */
    tfr__captures captures;  /* the parent's value → the one here that captures it */
    /* tfr_graph_set_check; NULL = none */
    tfr_status (*check)(void *user, tfr_err *err);
    void (*release_check)(void *user);
    void *check_user;
    /* A copy that passes changed (rewrite.h): whose names it borrows, and what it adds to them. */
    tfr_graph *source;
    tfr__region region;
};

/* Whose constants graph has: its own, or those of what it is a copy of. */
static inline const tfr_graph *tfr__graph_source(const tfr_graph *graph)
{
    while (graph->source)
        graph = graph->source;
    return graph;
}

/* Whether the constants of a source are still what they were, as far as somebody can tell. */
static inline tfr_status tfr__graph_check(const tfr_graph *source, tfr_err *err)
{
    return source->check ? source->check(source->check_user, err) : TFR_OK;
}

/* A copy of graph to be changed; parent is the copy that it is for, NULL for an outermost graph.
 * graph_copy.c */
tfr_status tfr__graph_copy(tfr_graph *graph, tfr_graph *parent, tfr_graph **out, tfr_err *err);
/* What is special about releasing a node of a copy. */
void tfr__node_copy_finish(tfr__node *node);

/* ---- graph.c, for graph_nodes.c ---- */

/* TFR_EBUSY once a session uses the graph. */
tfr_status tfr__graph_can_change(const tfr_graph *graph, tfr_err *err);
/* Makes room for one more item in an array; *capacity counts items. */
tfr_status tfr__graph_reserve(void *array_pointer, uint32_t n, uint32_t *capacity, size_t size,
                              tfr_err *err);
/* Whether a node can use the value; `what` begins the error's text. */
tfr_status tfr__value_check(const tfr_graph *graph, tfr_value value, const char *what,
                            tfr_err *err);
/* Adds a value with a copy of name, or with a made-up one. */
tfr_status tfr__value_add(tfr_graph *graph, const char *name, tfr__role role, tfr_value *out,
                          tfr_err *err);
/* Frees what the node owns. graph_nodes.c */
void tfr__node_finish(tfr__node *node);

/* No more changes. [any] */
void tfr__graph_freeze(tfr_graph *graph);

#endif
