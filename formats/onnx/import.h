/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import.h: what the parts of the importer share while a model becomes a tfr_graph.
 *
 *   import   one load of a model
 *   builder  one tfr_graph under construction, with the types of its values
 *   scope    one set of names: a graph of the file, or a function's body that is being inlined
 *            (which has names of its own but goes into the caller's builder)
 *   call     one node, ready to become a node of the graph; the upgrades work on it
 */
#ifndef TFR_FORMATS_ONNX_IMPORT_H
#define TFR_FORMATS_ONNX_IMPORT_H

#include <tfrun/graph.h>

#include "onnx/model.h"
#include "onnx/tensor.h"

/* The newest opset of domain "" whose ops the op table holds. */
#define TFR__ONNX_NEWEST_OPSET 28
/* The same of domain "ai.onnx.ml". */
#define TFR__ONNX_NEWEST_ML 5
/* The newest ModelProto.ir_version that this reader was written for. */
#define TFR__ONNX_NEWEST_IR 14

typedef struct tfr__onnx_builder {
    tfr_graph *graph;
    struct tfr__onnx_builder *outer; /* of the graph that this one is inside */
    tfr_graph_types *types;          /* NULL = nobody has asked yet */
    tfr_value n_learned;             /* values whose captured types are in there */
    bool out_of_memory;              /* types may be missing for that */
} tfr__onnx_builder;

/* A tensor that the node at hand keeps alive, and the attribute that shows it. */
typedef struct tfr__onnx_held {
    tfr_tensor *tensor;
    const tfr_operand *operand;
} tfr__onnx_held;

typedef struct tfr__onnx_scope tfr__onnx_scope;

typedef struct tfr__onnx_import {
    tfr__onnx_model *model;
    tfr__onnx_source *source;
    /* tfr__onnx_import_subgraph: attributes hold graphs, whose nodes have attributes. */
    tfr_status (*subgraph)(tfr__onnx_scope *scope, const tfr__onnx_graph *graph, tfr_graph **out,
                           tfr_err *err);
    tfr__scratch scratch; /* of the node at hand */
    tfr__onnx_held *held;
    uint32_t n_held, held_capacity;
    uint32_t n_inlined;        /* nodes that came out of functions */
    uint64_t n_differentiated; /* nodes that gradients may have made */
    uint32_t n_open;           /* functions inside each other */
} tfr__onnx_import;

/* The attributes that a function was called with. */
typedef struct tfr__onnx_frame {
    const tfr_attr *attrs;
    uint32_t n_attrs;
    const char *name; /* of the calling node */
} tfr__onnx_frame;

struct tfr__onnx_scope {
    tfr__onnx_import *import;
    tfr__onnx_builder *builder;
    const tfr__onnx_graph *graph;
    tfr__onnx_scope
        *outer; /* NULL for the model's graph and for functions; may share the builder */
    const tfr__onnx_opsets *opsets;
    const tfr__onnx_frame *frame; /* NULL outside functions */
    tfr_value *values;            /* by label; TFR_VALUE_NONE = not made yet, or absent */
    uint32_t *infos;              /* by label: number of its value_info + 1, 0 = none */
    tfr__labels captured;         /* names of outer scopes that were used here */
    tfr_value *captures;          /* by label in captured */
    uint32_t captures_capacity;
};

typedef struct tfr__onnx_call {
    tfr__onnx_import *import;
    tfr__onnx_builder *builder;
    int32_t version; /* of the opset that the node was written for */
    const char *domain, *op, *name;
    uint32_t n_inputs, n_outputs, n_attrs, n_subgraphs;
    uint32_t inputs_capacity, attrs_capacity;
    tfr_value *inputs;
    const char **outputs; /* names; "" = not wanted, NULL = made up */
    tfr_value *results;   /* of the outputs, once the node is in the graph */
    tfr_attr *attrs;
    tfr_subgraph *subgraphs;
    bool done; /* an upgrade has filled results itself */
} tfr__onnx_call;

/* ---- scope.c --------------------------------------------------------------------------------- */

/* graph, builder, outer... are set; the rest is zero. Needs a finish after an error, too. */
TFR_MUST_CHECK tfr_status tfr__onnx_scope_start(tfr__onnx_scope *scope, tfr_err *err);
void tfr__onnx_scope_finish(tfr__onnx_scope *scope);
/* Do its nodes go into the graph of a caller, which may have the same names? */
bool tfr__onnx_is_inlined(const tfr__onnx_scope *scope);
/* What a name of the scope's own graph stands for, with what value_info says of it. */
TFR_MUST_CHECK tfr_status tfr__onnx_define(tfr__onnx_scope *scope, tfr__text name, tfr_value value,
                                           tfr_err *err);
/* The value of a name, captured from outer graphs if need be. */
TFR_MUST_CHECK tfr_status tfr__onnx_resolve(tfr__onnx_scope *scope, tfr__text name, tfr_value *out,
                                            tfr_err *err);

/* ---- import.c -------------------------------------------------------------------------------- */

/* The graph of the file into builder. scope->graph, outer... are set; the rest is zero. */
TFR_MUST_CHECK tfr_status tfr__onnx_import_graph(tfr__onnx_scope *scope, tfr_err *err);
TFR_MUST_CHECK tfr_status tfr__onnx_import_nodes(tfr__onnx_scope *scope, tfr_err *err);
TFR_MUST_CHECK tfr_status tfr__onnx_import_initializer(tfr__onnx_scope *scope,
                                                       const tfr__onnx_initializer *init,
                                                       tfr_err *err);
/* A child graph of the scope's, for an attribute of a node. */
TFR_MUST_CHECK tfr_status tfr__onnx_import_subgraph(tfr__onnx_scope *scope,
                                                    const tfr__onnx_graph *graph, tfr_graph **out,
                                                    tfr_err *err);

/* ---- attr.c ---------------------------------------------------------------------------------- */

/* Fills call->attrs and subgraphs from those of the node. */
TFR_MUST_CHECK tfr_status tfr__onnx_import_attrs(tfr__onnx_scope *scope, const tfr__onnx_node *node,
                                                 tfr__onnx_call *call, tfr_err *err);
/* One attribute that is not a graph. Memory comes from the import's scratch. */
TFR_MUST_CHECK tfr_status tfr__onnx_import_attr(tfr__onnx_import *import,
                                                const tfr__onnx_attr *attr, tfr_attr *out,
                                                tfr_err *err);
/* Keeps a tensor until the node at hand is done; takes over the reference, also when it fails. */
TFR_MUST_CHECK tfr_status tfr__onnx_hold(tfr__onnx_import *import, tfr_tensor *tensor,
                                         const tfr_operand *operand, tfr_err *err);
/* The value of a Constant node, a new reference. */
TFR_MUST_CHECK tfr_status tfr__onnx_constant_value(const tfr__onnx_call *call, tfr_tensor **out,
                                                   tfr_err *err);

/* ---- function.c ------------------------------------------------------------------------------ */

/* Puts the body of a function in place of the call, whose inputs and attrs are filled. */
TFR_MUST_CHECK tfr_status tfr__onnx_inline(tfr__onnx_scope *scope, tfr__onnx_function *function,
                                           tfr__onnx_call *call, tfr_err *err);

/*
 * Puts the nodes of a graph with one input and one output, an attribute of a node of the scope's,
 * among those of the scope; *value is its input, then its output. name: of the calling node.
 */
TFR_MUST_CHECK tfr_status tfr__onnx_inline_graph(tfr__onnx_scope *scope,
                                                 const tfr__onnx_graph *graph, const char *name,
                                                 tfr_value *value, tfr_err *err);

/* ---- facts.c --------------------------------------------------------------------------------- */

/* The type of a tensor as far as it is known; kind TFR_KIND_NONE for anything else. */
tfr_value_type tfr__onnx_known_type(tfr__onnx_builder *builder, tfr_value value);
/* rank or -1 */
int32_t tfr__onnx_known_rank(tfr__onnx_builder *builder, tfr_value value);
/* The tensor of a constant, borrowed from the graph, or NULL. */
tfr_tensor *tfr__onnx_known_tensor(const tfr__onnx_builder *builder, tfr_value value);
/* What counts where inference finds nothing. */
TFR_MUST_CHECK tfr_status tfr__onnx_set_type(tfr__onnx_builder *builder, tfr_value value,
                                             const tfr_value_type *type, tfr_err *err);
/* The graph is not released. */
void tfr__onnx_builder_finish(tfr__onnx_builder *builder);

/* ---- call.c ---------------------------------------------------------------------------------- */

/* The call becomes a node of the graph; fills results. */
TFR_MUST_CHECK tfr_status tfr__onnx_emit(tfr__onnx_call *call, tfr_err *err);

/* ---- upgrade_scan.c -------------------------------------------------------------------------- */

/* Scan of opset 8, whose body is read into a graph between. */
bool tfr__onnx_is_old_scan(const tfr__onnx_scope *scope, const tfr__onnx_node *node);
/* Instead of tfr__onnx_import_attrs: the call becomes a Scan of today. */
TFR_MUST_CHECK tfr_status tfr__onnx_import_old_scan(tfr__onnx_scope *scope,
                                                    const tfr__onnx_node *node,
                                                    tfr__onnx_call *call, tfr_err *err);

/* ---- gradient.c ------------------------------------------------------------------------------ */

/* A call of Gradient becomes the nodes that compute it. */
TFR_MUST_CHECK tfr_status tfr__onnx_import_gradient(tfr__onnx_scope *scope, tfr__onnx_call *call,
                                                    tfr_err *err);

/* ---- flex_attention.c ------------------------------------------------------------------------ */

/* A call of FlexAttention becomes the nodes that compute it. */
TFR_MUST_CHECK tfr_status tfr__onnx_import_flex_attention(tfr__onnx_scope *scope,
                                                          const tfr__onnx_node *node,
                                                          tfr__onnx_call *call, tfr_err *err);

/* ---- written.c ------------------------------------------------------------------------------- */

/* A call of an op that a plugin writes out becomes its nodes; nothing happens to others. */
TFR_MUST_CHECK tfr_status tfr__onnx_write_out(tfr__onnx_call *call, tfr_err *err);

/* ---- op_function.c --------------------------------------------------------------------------- */

/* Puts the nodes of a serialized FunctionProto in place of a call, whose attributes it ignores. */
TFR_MUST_CHECK tfr_status tfr__onnx_inline_bytes(tfr__onnx_call *call, const void *bytes,
                                                 uint64_t n, tfr_err *err);

/* ---- upgrade.c ------------------------------------------------------------------------------- */

/* Rewrites a call of an older form into one of the newest form, or says what is wrong with it. */
TFR_MUST_CHECK tfr_status tfr__onnx_upgrade(tfr__onnx_call *call, tfr_err *err);

#endif
