/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/graph.h: builds a graph of ops. A graph has values (edges), nodes (ops), inputs, outputs,
 * constants, and variables, whose state a session keeps between runs. Ops and attributes are
 * ONNX's, in the newest form that the op table knows (tfrun/op.h); formats/onnx rewrites older
 * models.
 *
 * A graph is built by one thread; once a session uses it, it is frozen and can be shared. Nodes
 * must be added after the nodes whose values they use, so a graph cannot have a cycle. Shapes are
 * checked when the shapes of the inputs are known, by the session.
 */
#ifndef TFRUN_GRAPH_H
#define TFRUN_GRAPH_H

#include <tfrun/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tfr_graph tfr_graph;

/* A value of a graph, by number. */
typedef int32_t tfr_value;
#define TFR_VALUE_NONE (-1) /* an optional operand that is not given */

/* What is known of a value before a run. Zero = anything. */
typedef struct tfr_value_type {
    uint32_t size;
    int32_t kind;       /* tfr_kind; TFR_KIND_NONE = tensor */
    int32_t dtype;      /* tfr_dtype; of a sequence or optional its elements' */
    int32_t rank_known; /* 0 = the shape is not known at all, and rank and dims do not count */
    int32_t rank;
    int64_t dims[TFR_MAX_RANK]; /* -1 = not known before the run; less = a symbol, see below */
    int32_t element_kind; /* tfr_kind of a sequence's or optional's elements; TFR_KIND_NONE = any */
} tfr_value_type;

/* name may be NULL. The caller owns the graph. */
TFR_API TFR_MUST_CHECK tfr_status tfr_graph_create(const char *name, tfr_graph **out, tfr_err *err);
/* A subgraph for a node of parent (If, Loop, Scan). It must go into a node of parent or be
 * released. */
TFR_API TFR_MUST_CHECK tfr_status tfr_graph_create_child(tfr_graph *parent, const char *name,
                                                         tfr_graph **out, tfr_err *err);
/* Counted; sessions hold a reference. NULL is fine in release. */
TFR_API tfr_graph *tfr_graph_retain(tfr_graph *graph);
TFR_API void tfr_graph_release(tfr_graph *graph);

/*
 * Names of values are unique in a graph; NULL makes one up, "%7", which becomes another one when a
 * later value is given that name. TFR_EMODEL names a duplicate.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_graph_add_input(tfr_graph *graph, const char *name,
                                                      const tfr_value_type *type, tfr_value *out,
                                                      tfr_err *err);
/*
 * Fixes the shape of input i, and dims of the same name in other inputs and declared outputs. A
 * negative dim that is as it is declared stays open.
 * TFR_ESHAPE if the declared shape is another one, or the input is no tensor.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_graph_set_input_shape(tfr_graph *graph, uint32_t i,
                                                            const tfr_shape *shape, tfr_err *err);
/* The tensor is retained and must not change any more. */
TFR_API TFR_MUST_CHECK tfr_status tfr_graph_add_constant(tfr_graph *graph, const char *name,
                                                         tfr_tensor *tensor, tfr_value *out,
                                                         tfr_err *err);
/* State of a session, starting as a copy of initial (retained). */
TFR_API TFR_MUST_CHECK tfr_status tfr_graph_add_variable(tfr_graph *graph, const char *name,
                                                         tfr_tensor *initial, tfr_value *out,
                                                         tfr_err *err);
/* After each run the variable becomes `update`, a value of the same type and shape. */
TFR_API TFR_MUST_CHECK tfr_status tfr_graph_set_update(tfr_graph *graph, tfr_value variable,
                                                       tfr_value update, tfr_err *err);
/* In a child graph: a value of its own that stands for a value of the parent. */
TFR_API TFR_MUST_CHECK tfr_status tfr_graph_add_capture(tfr_graph *child, tfr_value of_parent,
                                                        tfr_value *out, tfr_err *err);

/* An attribute whose value is a subgraph. */
typedef struct tfr_subgraph {
    const char *name; /* "then_branch", "body" */
    tfr_graph *graph; /* made by tfr_graph_create_child; the node takes it over on success */
} tfr_subgraph;

/* A node to add. Arrays are copied; the attributes' tensors too. Zero is the default everywhere. */
typedef struct tfr_node_desc {
    uint32_t size;
    uint32_t n_inputs, n_outputs, n_attrs, n_subgraphs;
    const char *domain; /* NULL or "" = ONNX */
    const char *op;     /* "Conv" */
    const char *name;   /* NULL = made up; only for messages */
    const char *device; /* pins the node to a device or backend; NULL = the scope's, else free */
    const tfr_value *inputs;         /* TFR_VALUE_NONE = absent */
    const char *const *output_names; /* NULL = made up; an entry "" = this output is not wanted */
    const tfr_attr *attrs;           /* TFR_SET_... below make them */
    const tfr_subgraph *subgraphs;
} tfr_node_desc;

/*
 * Adds a node; outputs gets n_outputs values. TFR_EMODEL for an op, count, attribute name or
 * attribute type that the op table does not have, naming the node and what there is instead.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_graph_add_node(tfr_graph *graph, const tfr_node_desc *node,
                                                     tfr_value *outputs, tfr_err *err);

/* Nodes added between push and pop are pinned to this device. */
TFR_API TFR_MUST_CHECK tfr_status tfr_graph_push_device(tfr_graph *graph, const char *device,
                                                        tfr_err *err);
TFR_API void tfr_graph_pop_device(tfr_graph *graph);

/* Makes the value the graph's next output, under its own name or `name`. */
TFR_API TFR_MUST_CHECK tfr_status tfr_graph_add_output(tfr_graph *graph, tfr_value value,
                                                       const char *name, tfr_err *err);
/*
 * Says of what type output i will be. Only one thing is taken from that: a Loop or Scan that makes
 * no iteration gives, for what it would stack, an empty tensor of the type that its body declares.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_graph_declare_output(tfr_graph *graph, uint32_t i,
                                                           const tfr_value_type *type,
                                                           tfr_err *err);

/*
 * For constants in memory that others may change, such as a mapped file: sessions of the graph ask
 * check(user, err) before and after each run, and what is not TFR_OK fails it with that error. It
 * may be called from several threads at a time, and costs each run what it takes. release(user) is
 * called with the graph's end or at the next call, NULL = nothing to do. Before any session.
 */
TFR_API void tfr_graph_set_check(tfr_graph *graph, tfr_status (*check)(void *user, tfr_err *err),
                                 void (*release)(void *user), void *user);

/* ---- looking --------------------------------------------------------------------------------- */

/* As it was given, or "". */
TFR_API const char *tfr_graph_name(const tfr_graph *graph);
TFR_API uint32_t tfr_graph_n_inputs(const tfr_graph *graph);
TFR_API uint32_t tfr_graph_n_outputs(const tfr_graph *graph);
TFR_API uint32_t tfr_graph_n_nodes(const tfr_graph *graph);
TFR_API tfr_value tfr_graph_input(const tfr_graph *graph, uint32_t i);
TFR_API tfr_value tfr_graph_output(const tfr_graph *graph, uint32_t i);
/* The name of output i, which may differ from its value's. */
TFR_API const char *tfr_graph_output_name(const tfr_graph *graph, uint32_t i);
/* Lives as long as the graph. */
TFR_API const char *tfr_graph_value_name(const tfr_graph *graph, tfr_value value);
/* As given for inputs; dtype 0 and rank_known 0 for what only a run knows. */
TFR_API const tfr_value_type *tfr_graph_value_type(const tfr_graph *graph, tfr_value value);
/* The value of this name, or TFR_VALUE_NONE. */
TFR_API tfr_value tfr_graph_find_value(const tfr_graph *graph, const char *name);
/* Values have the numbers 0...n-1. */
TFR_API uint32_t tfr_graph_n_values(const tfr_graph *graph);
/* As tfr_graph_declare_output was told, or NULL. */
TFR_API const tfr_value_type *tfr_graph_output_type(const tfr_graph *graph, uint32_t i);

typedef enum tfr_role {
    TFR_ROLE_NONE = 0, /* nothing makes it any more, and nothing may use it */
    TFR_ROLE_INPUT = 1,
    TFR_ROLE_CONSTANT = 2,
    TFR_ROLE_VARIABLE = 3,
    TFR_ROLE_CAPTURE = 4,
    TFR_ROLE_NODE = 5
} tfr_role;

/* Where a value comes from. What it points to lives as long as the graph. */
typedef struct tfr_value_view {
    uint32_t size;
    int32_t role;        /* tfr_role */
    tfr_tensor *tensor;  /* of a constant; of a variable how it starts; else NULL */
    tfr_value update;    /* of a variable what it becomes, or TFR_VALUE_NONE */
    tfr_value of_parent; /* of a capture the parent's value, else TFR_VALUE_NONE */
} tfr_value_view;

/* TFR_EINVAL for no value. */
TFR_API TFR_MUST_CHECK tfr_status tfr_graph_value(const tfr_graph *graph, tfr_value value,
                                                  tfr_value_view *out, tfr_err *err);
/*
 * What tfr_graph_set_check was given: are the constants still what they were? For what reads them
 * outside of a session, before and after. TFR_OK without such a check.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_graph_check(const tfr_graph *graph, tfr_err *err);

/* ---- types before a run -------------------------------------------------------------------------
 */

/*
 * A dim that is not known may have a name, such as "batch". *out is its number, less than -1, for
 * the dims of inputs of this graph and of all graphs inside the outermost one; the same name gives
 * the same number. Names are what a model says: a session checks known dims of inputs, and not that
 * dims of one name are equal.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_graph_add_symbol(tfr_graph *graph, const char *name,
                                                       int64_t *out, tfr_err *err);
/* The name, which lives as long as the graph, or NULL for any other dim. */
TFR_API const char *tfr_graph_symbol_name(const tfr_graph *graph, int64_t dim);

/* What is known of all values of a graph without running it. */
typedef struct tfr_graph_types tfr_graph_types;

/*
 * Infers the types of all values from those of the inputs, subgraphs included. A dim that only a
 * run knows is a negative number: equal numbers are equal dims in each run whose inputs are as the
 * graph declares them, dims of one name being equal; in a body of a loop, in each pass. (Of a
 * tensor without elements that Reshape made, dims may be others.) What does not follow is not
 * known: kind TFR_KIND_NONE, dtype 0, rank_known 0. A node that is wrong for all inputs is an
 * error, TFR_ESHAPE, TFR_EDTYPE, TFR_EMODEL or TFR_ELIMIT, but inside subgraphs, which may never
 * run. The caller owns the result, which holds a reference to the graph, and the graph is only
 * read.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_graph_infer(tfr_graph *graph, tfr_graph_types **out,
                                                  tfr_err *err);
/* The same for a graph that is being built: nothing is known before an update, which looks at what
 * was added since the last one. A node that is wrong is no error here: its outputs are not known.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_graph_types_create(tfr_graph *graph, tfr_graph_types **out,
                                                         tfr_err *err);
TFR_API TFR_MUST_CHECK tfr_status tfr_graph_types_update(tfr_graph_types *types, tfr_err *err);
/* What somebody knows of a value that no update has looked at; it counts where inference finds
 * nothing. */
TFR_API TFR_MUST_CHECK tfr_status tfr_graph_types_set(tfr_graph_types *types, tfr_value value,
                                                      const tfr_value_type *type, tfr_err *err);
TFR_API void tfr_graph_types_release(tfr_graph_types *types);

/* The type of a value of the graph, or of one inside it; NULL = the graph itself. Negative dims are
 * for tfr_graph_types_dim, and not those of tfr_graph_add_symbol. TFR_EINVAL for no such value. */
TFR_API TFR_MUST_CHECK tfr_status tfr_graph_types_get(const tfr_graph_types *types,
                                                      const tfr_graph *graph, tfr_value value,
                                                      tfr_value_type *out, tfr_err *err);
/* A dim as text: "64", "batch", "2*batch", "?7" for one that has no name. Returns text. */
TFR_API const char *tfr_graph_types_dim(const tfr_graph_types *types, int64_t dim, char *text,
                                        size_t n);

/* The additions and multiplications of node i by its op's formula, dims that are not known being
 * counted as 1; -1 if there are operands of which not even the rank is known. graph NULL = the
 * whole. TFR_EINVAL for no such node. */
TFR_API TFR_MUST_CHECK tfr_status tfr_graph_types_work(const tfr_graph_types *types,
                                                       const tfr_graph *graph, uint32_t i,
                                                       double *flops, tfr_err *err);

/* A node of a graph. Texts and arrays live as long as the graph. */
typedef struct tfr_node_view {
    uint32_t size;
    uint32_t n_inputs, n_outputs, n_attrs, n_subgraphs;
    uint32_t attr_stride;
    const char *domain; /* "" = ONNX */
    const char *op;
    const char *name;
    const char *device;       /* its pin, NULL = free */
    const tfr_value *inputs;  /* TFR_VALUE_NONE = absent */
    const tfr_value *outputs; /* TFR_VALUE_NONE = not wanted */
    const tfr_attr *attrs;    /* as given, attr_stride bytes apart; tfr_node_attr finds one */
    uint32_t n_captures;
    const tfr_value *captures; /* values of this graph that the node's subgraphs use */
} tfr_node_view;

/* Node i, in an order in which each comes after those whose values it uses. TFR_EINVAL for no i. */
TFR_API TFR_MUST_CHECK tfr_status tfr_graph_node(const tfr_graph *graph, uint32_t i,
                                                 tfr_node_view *out, tfr_err *err);
/* An attribute that the node was given, or NULL; defaults are not there. */
TFR_API const tfr_attr *tfr_node_attr(const tfr_node_view *node, const char *name);
/* The graph of an attribute of type TFR_ATTR_GRAPH, or NULL. */
TFR_API const tfr_graph *tfr_node_subgraph(const tfr_node_view *node, const char *name);

/* ---- attributes, as compound literals (C only) ----------------------------------------------- */

#define TFR_SET_INT(name, value)                                                                   \
    {                                                                                              \
        (uint32_t)sizeof(tfr_attr), TFR_ATTR_INT, name, 1, (const int64_t[]){value}, NULL, NULL,   \
            NULL                                                                                   \
    }
#define TFR_SET_FLOAT(name, value)                                                                 \
    {                                                                                              \
        (uint32_t)sizeof(tfr_attr), TFR_ATTR_FLOAT, name, 1, NULL, (const float[]){value}, NULL,   \
            NULL                                                                                   \
    }
#define TFR_SET_STRING(name, value)                                                                \
    {                                                                                              \
        (uint32_t)sizeof(tfr_attr), TFR_ATTR_STRING, name, 1, NULL, NULL,                          \
            (const tfr_string[]){{value, sizeof(value) - 1}}, NULL                                 \
    }
#define TFR_SET_INTS(name, ...)                                                                    \
    {                                                                                              \
        (uint32_t)sizeof(tfr_attr), TFR_ATTR_INTS, name,                                           \
            sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t),                              \
            (const int64_t[]){__VA_ARGS__}, NULL, NULL, NULL                                       \
    }

#ifdef __cplusplus
}
#endif

#endif
