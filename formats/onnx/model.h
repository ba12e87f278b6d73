/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h: a ModelProto after its first reading: graphs, nodes and functions as arrays of
 * texts and readers that point into the file. Structure and names have been checked (nothing is
 * defined twice); tensors, types and attribute values are read later, when they are used.
 */
#ifndef TFR_FORMATS_ONNX_MODEL_H
#define TFR_FORMATS_ONNX_MODEL_H

#include "onnx/fields.h"
#include "onnx/labels.h"
#include "onnx/scratch.h"

typedef struct tfr__onnx_graph tfr__onnx_graph;

/* AttributeProto.type */
enum {
    TFR__ONNX_ATTR_SPARSE = 11,
    TFR__ONNX_ATTR_TENSORS = 9,
    TFR__ONNX_ATTR_GRAPHS = 10,
    TFR__ONNX_ATTR_SPARSES = 12,
    TFR__ONNX_ATTR_TYPE = 13,
    TFR__ONNX_ATTR_TYPES = 14
};

typedef struct tfr__onnx_attr {
    tfr__text name;
    tfr__text ref;          /* of a function: take this attribute of the caller; empty = none */
    int32_t type;           /* tfr_attr_type, or one of the above */
    uint32_t n;             /* values that it has */
    tfr__wire wire;         /* at the start of the AttributeProto */
    tfr__onnx_graph *graph; /* of type GRAPH */
} tfr__onnx_attr;

typedef struct tfr__onnx_node {
    tfr__text op, domain, name, overload; /* domain "ai.onnx" has become "" */
    uint32_t index;                       /* in its graph */
    uint32_t n_inputs, n_outputs, n_attrs;
    tfr__text *inputs, *outputs; /* empty = absent */
    tfr__onnx_attr *attrs;
} tfr__onnx_node;

/* An input, output or value_info. */
typedef struct tfr__onnx_value {
    tfr__text name;
    bool has_type;
    tfr__wire type; /* at the start of the TypeProto */
} tfr__onnx_value;

typedef enum tfr__onnx_origin {
    TFR__ONNX_INPUT,
    TFR__ONNX_INITIALIZER,
    TFR__ONNX_NODE
} tfr__onnx_origin;

/* Who makes a name. */
typedef struct tfr__onnx_maker {
    tfr__onnx_origin origin;
    uint32_t index; /* in inputs, initializers or nodes */
} tfr__onnx_maker;

typedef struct tfr__onnx_initializer {
    tfr__text name;
    bool sparse;
    tfr__wire wire;
} tfr__onnx_initializer;

struct tfr__onnx_graph {
    tfr__onnx_graph *next; /* all graphs of the model, for finish */
    tfr__text name;
    uint32_t n_nodes, n_inputs, n_outputs, n_initializers, n_infos;
    tfr__onnx_node *nodes;
    tfr__onnx_value *inputs, *outputs, *infos;
    tfr__onnx_initializer *initializers;
    tfr__labels labels; /* names that are made here */
    tfr__onnx_maker *makers;
    uint32_t *order; /* nodes so that each comes after those it uses; NULL = as in the file */
};

typedef struct tfr__onnx_opset {
    tfr__text domain;
    int64_t version;
} tfr__onnx_opset;

typedef struct tfr__onnx_opsets {
    uint32_t n;
    tfr__onnx_opset *items;
} tfr__onnx_opsets;

typedef struct tfr__onnx_function {
    tfr__text domain, name, overload;
    tfr__onnx_opsets opsets;
    tfr__onnx_graph *body; /* without initializers */
    uint32_t n_defaults;
    tfr__onnx_attr *defaults;
    bool open; /* being inlined */
} tfr__onnx_function;

typedef struct tfr__onnx_model {
    tfr__scratch scratch;
    int64_t ir_version;
    tfr__onnx_opsets opsets;
    tfr__onnx_graph *graph, *graphs;
    uint32_t n_functions;
    tfr__onnx_function *functions;
    tfr__labels function_keys;
} tfr__onnx_model;

/* Also sorts the nodes. Errors are TFR_EMODEL, without the file's name. Finish it in any case. */
TFR_MUST_CHECK tfr_status tfr__onnx_read_model(const void *bytes, size_t n, tfr__onnx_model *out,
                                               tfr_err *err);
/* The same without graphs and functions, which are skipped. */
TFR_MUST_CHECK tfr_status tfr__onnx_read_header(const void *bytes, size_t n, tfr__onnx_model *out,
                                                tfr_err *err);
void tfr__onnx_model_finish(tfr__onnx_model *model);

/* The function that a node calls, or NULL. */
tfr__onnx_function *tfr__onnx_find_function(const tfr__onnx_model *model, tfr__text domain,
                                            tfr__text name, tfr__text overload);

/* The version of a domain, or 0 if the model does not import it. */
int64_t tfr__onnx_opset_of(const tfr__onnx_opsets *opsets, tfr__text domain);

/* "node \"conv1\" (Conv)", or "node 3 (Conv)" for one without a name; out has TITLE_BYTES. */
const char *tfr__onnx_node_title(const tfr__onnx_node *node, char *out);
#define TFR__TITLE_BYTES 224

/* order.c: fills graph->order. TFR_EMODEL names the nodes on a cycle. */
TFR_MUST_CHECK tfr_status tfr__onnx_order(tfr__onnx_graph *graph, tfr__scratch *scratch,
                                          tfr_err *err);

/* Internal to the model's readers: a graph, and a GraphProto or FunctionProto into it. */
TFR_MUST_CHECK tfr_status tfr__onnx_read_graph(tfr__onnx_model *model, tfr__wire wire,
                                               tfr__onnx_graph **out, tfr_err *err);
TFR_MUST_CHECK tfr_status tfr__onnx_read_node(tfr__onnx_model *model, tfr__wire wire,
                                              tfr__onnx_node *out, tfr_err *err);
TFR_MUST_CHECK tfr_status tfr__onnx_read_attr(tfr__onnx_model *model, tfr__wire wire,
                                              tfr__onnx_attr *out, tfr_err *err);

#endif
