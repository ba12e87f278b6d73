/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fields.h: the messages of ONNX (onnx.proto of ONNX 1.23) as tables for wire.h, and an enum
 * constant for each field: TFR__MODEL_GRAPH = 7. Fields that are of no use here are in the tables
 * too when a wrong wire type would hint at a broken file.
 */
#ifndef TFR_FORMATS_ONNX_FIELDS_H
#define TFR_FORMATS_ONNX_FIELDS_H

#include "wire.h"

/* X(PREFIX, FIELD, number, kind, name) */
#define TFR__MODEL_FIELDS(X)                                                                       \
    X(MODEL, IR_VERSION, 1, VARINT, "ir_version")                                                  \
    X(MODEL, PRODUCER_NAME, 2, BYTES, "producer_name")                                             \
    X(MODEL, PRODUCER_VERSION, 3, BYTES, "producer_version")                                       \
    X(MODEL, DOMAIN, 4, BYTES, "domain")                                                           \
    X(MODEL, MODEL_VERSION, 5, VARINT, "model_version")                                            \
    X(MODEL, DOC_STRING, 6, BYTES, "doc_string")                                                   \
    X(MODEL, GRAPH, 7, MESSAGE, "graph")                                                           \
    X(MODEL, OPSET_IMPORT, 8, MESSAGE, "opset_import")                                             \
    X(MODEL, METADATA_PROPS, 14, MESSAGE, "metadata_props")                                        \
    X(MODEL, TRAINING_INFO, 20, MESSAGE, "training_info")                                          \
    X(MODEL, FUNCTIONS, 25, MESSAGE, "functions")

#define TFR__OPSET_FIELDS(X)                                                                       \
    X(OPSET, DOMAIN, 1, BYTES, "domain")                                                           \
    X(OPSET, VERSION, 2, VARINT, "version")

#define TFR__GRAPH_FIELDS(X)                                                                       \
    X(GRAPH, NODE, 1, MESSAGE, "node")                                                             \
    X(GRAPH, NAME, 2, BYTES, "name")                                                               \
    X(GRAPH, INITIALIZER, 5, MESSAGE, "initializer")                                               \
    X(GRAPH, DOC_STRING, 10, BYTES, "doc_string")                                                  \
    X(GRAPH, INPUT, 11, MESSAGE, "input")                                                          \
    X(GRAPH, OUTPUT, 12, MESSAGE, "output")                                                        \
    X(GRAPH, VALUE_INFO, 13, MESSAGE, "value_info")                                                \
    X(GRAPH, QUANTIZATION_ANNOTATION, 14, MESSAGE, "quantization_annotation")                      \
    X(GRAPH, SPARSE_INITIALIZER, 15, MESSAGE, "sparse_initializer")                                \
    X(GRAPH, METADATA_PROPS, 16, MESSAGE, "metadata_props")

#define TFR__NODE_FIELDS(X)                                                                        \
    X(NODE, INPUT, 1, BYTES, "input")                                                              \
    X(NODE, OUTPUT, 2, BYTES, "output")                                                            \
    X(NODE, NAME, 3, BYTES, "name")                                                                \
    X(NODE, OP_TYPE, 4, BYTES, "op_type")                                                          \
    X(NODE, ATTRIBUTE, 5, MESSAGE, "attribute")                                                    \
    X(NODE, DOC_STRING, 6, BYTES, "doc_string")                                                    \
    X(NODE, DOMAIN, 7, BYTES, "domain")                                                            \
    X(NODE, OVERLOAD, 8, BYTES, "overload")                                                        \
    X(NODE, METADATA_PROPS, 9, MESSAGE, "metadata_props")

#define TFR__ATTR_FIELDS(X)                                                                        \
    X(ATTR, NAME, 1, BYTES, "name")                                                                \
    X(ATTR, F, 2, FIXED32, "f")                                                                    \
    X(ATTR, I, 3, VARINT, "i")                                                                     \
    X(ATTR, S, 4, BYTES, "s")                                                                      \
    X(ATTR, T, 5, MESSAGE, "t")                                                                    \
    X(ATTR, G, 6, MESSAGE, "g")                                                                    \
    X(ATTR, FLOATS, 7, FIXED32S, "floats")                                                         \
    X(ATTR, INTS, 8, VARINTS, "ints")                                                              \
    X(ATTR, STRINGS, 9, BYTES, "strings")                                                          \
    X(ATTR, TENSORS, 10, MESSAGE, "tensors")                                                       \
    X(ATTR, GRAPHS, 11, MESSAGE, "graphs")                                                         \
    X(ATTR, DOC_STRING, 13, BYTES, "doc_string")                                                   \
    X(ATTR, TP, 14, MESSAGE, "tp")                                                                 \
    X(ATTR, TYPE_PROTOS, 15, MESSAGE, "type_protos")                                               \
    X(ATTR, TYPE, 20, VARINT, "type")                                                              \
    X(ATTR, REF_ATTR_NAME, 21, BYTES, "ref_attr_name")                                             \
    X(ATTR, SPARSE_TENSOR, 22, MESSAGE, "sparse_tensor")                                           \
    X(ATTR, SPARSE_TENSORS, 23, MESSAGE, "sparse_tensors")

#define TFR__TENSOR_FIELDS(X)                                                                      \
    X(TENSOR, DIMS, 1, VARINTS, "dims")                                                            \
    X(TENSOR, DATA_TYPE, 2, VARINT, "data_type")                                                   \
    X(TENSOR, SEGMENT, 3, MESSAGE, "segment")                                                      \
    X(TENSOR, FLOAT_DATA, 4, FIXED32S, "float_data")                                               \
    X(TENSOR, INT32_DATA, 5, VARINTS, "int32_data")                                                \
    X(TENSOR, STRING_DATA, 6, BYTES, "string_data")                                                \
    X(TENSOR, INT64_DATA, 7, VARINTS, "int64_data")                                                \
    X(TENSOR, NAME, 8, BYTES, "name")                                                              \
    X(TENSOR, RAW_DATA, 9, BYTES, "raw_data")                                                      \
    X(TENSOR, DOUBLE_DATA, 10, FIXED64S, "double_data")                                            \
    X(TENSOR, UINT64_DATA, 11, VARINTS, "uint64_data")                                             \
    X(TENSOR, DOC_STRING, 12, BYTES, "doc_string")                                                 \
    X(TENSOR, EXTERNAL_DATA, 13, MESSAGE, "external_data")                                         \
    X(TENSOR, DATA_LOCATION, 14, VARINT, "data_location")                                          \
    X(TENSOR, METADATA_PROPS, 16, MESSAGE, "metadata_props")

#define TFR__ENTRY_FIELDS(X)                                                                       \
    X(ENTRY, KEY, 1, BYTES, "key")                                                                 \
    X(ENTRY, VALUE, 2, BYTES, "value")

#define TFR__SPARSE_FIELDS(X)                                                                      \
    X(SPARSE, VALUES, 1, MESSAGE, "values")                                                        \
    X(SPARSE, INDICES, 2, MESSAGE, "indices")                                                      \
    X(SPARSE, DIMS, 3, VARINTS, "dims")

#define TFR__SEQUENCE_FIELDS(X)                                                                    \
    X(SEQUENCE, NAME, 1, BYTES, "name")                                                            \
    X(SEQUENCE, ELEM_TYPE, 2, VARINT, "elem_type")                                                 \
    X(SEQUENCE, TENSOR_VALUES, 3, MESSAGE, "tensor_values")                                        \
    X(SEQUENCE, SPARSE_TENSOR_VALUES, 4, MESSAGE, "sparse_tensor_values")                          \
    X(SEQUENCE, SEQUENCE_VALUES, 5, MESSAGE, "sequence_values")                                    \
    X(SEQUENCE, MAP_VALUES, 6, MESSAGE, "map_values")                                              \
    X(SEQUENCE, OPTIONAL_VALUES, 7, MESSAGE, "optional_values")

#define TFR__MAP_FIELDS(X)                                                                         \
    X(MAP, NAME, 1, BYTES, "name")                                                                 \
    X(MAP, KEY_TYPE, 2, VARINT, "key_type")                                                        \
    X(MAP, KEYS, 3, VARINTS, "keys")                                                               \
    X(MAP, STRING_KEYS, 4, BYTES, "string_keys")                                                   \
    X(MAP, VALUES, 5, MESSAGE, "values")

#define TFR__OPTIONAL_FIELDS(X)                                                                    \
    X(OPTIONAL, NAME, 1, BYTES, "name")                                                            \
    X(OPTIONAL, ELEM_TYPE, 2, VARINT, "elem_type")                                                 \
    X(OPTIONAL, TENSOR_VALUE, 3, MESSAGE, "tensor_value")                                          \
    X(OPTIONAL, SPARSE_TENSOR_VALUE, 4, MESSAGE, "sparse_tensor_value")                            \
    X(OPTIONAL, SEQUENCE_VALUE, 5, MESSAGE, "sequence_value")                                      \
    X(OPTIONAL, MAP_VALUE, 6, MESSAGE, "map_value")                                                \
    X(OPTIONAL, OPTIONAL_VALUE, 7, MESSAGE, "optional_value")

#define TFR__VALUE_INFO_FIELDS(X)                                                                  \
    X(VALUE_INFO, NAME, 1, BYTES, "name")                                                          \
    X(VALUE_INFO, TYPE, 2, MESSAGE, "type")                                                        \
    X(VALUE_INFO, DOC_STRING, 3, BYTES, "doc_string")

#define TFR__TYPE_FIELDS(X)                                                                        \
    X(TYPE, TENSOR, 1, MESSAGE, "tensor_type")                                                     \
    X(TYPE, SEQUENCE, 4, MESSAGE, "sequence_type")                                                 \
    X(TYPE, MAP, 5, MESSAGE, "map_type")                                                           \
    X(TYPE, DENOTATION, 6, BYTES, "denotation")                                                    \
    X(TYPE, OPAQUE, 7, MESSAGE, "opaque_type")                                                     \
    X(TYPE, SPARSE, 8, MESSAGE, "sparse_tensor_type")                                              \
    X(TYPE, OPTIONAL, 9, MESSAGE, "optional_type")

#define TFR__TENSOR_TYPE_FIELDS(X)                                                                 \
    X(TENSOR_TYPE, ELEM_TYPE, 1, VARINT, "elem_type")                                              \
    X(TENSOR_TYPE, SHAPE, 2, MESSAGE, "shape")

/* Sequence and Optional inside TypeProto. */
#define TFR__INNER_TYPE_FIELDS(X) X(INNER_TYPE, ELEM_TYPE, 1, MESSAGE, "elem_type")

#define TFR__MAP_TYPE_FIELDS(X)                                                                    \
    X(MAP_TYPE, KEY_TYPE, 1, VARINT, "key_type")                                                   \
    X(MAP_TYPE, VALUE_TYPE, 2, MESSAGE, "value_type")

#define TFR__SHAPE_FIELDS(X) X(SHAPE, DIM, 1, MESSAGE, "dim")

#define TFR__DIM_FIELDS(X)                                                                         \
    X(DIM, VALUE, 1, VARINT, "dim_value")                                                          \
    X(DIM, PARAM, 2, BYTES, "dim_param")                                                           \
    X(DIM, DENOTATION, 3, BYTES, "denotation")

#define TFR__FUNCTION_FIELDS(X)                                                                    \
    X(FUNCTION, NAME, 1, BYTES, "name")                                                            \
    X(FUNCTION, INPUT, 4, BYTES, "input")                                                          \
    X(FUNCTION, OUTPUT, 5, BYTES, "output")                                                        \
    X(FUNCTION, ATTRIBUTE, 6, BYTES, "attribute")                                                  \
    X(FUNCTION, NODE, 7, MESSAGE, "node")                                                          \
    X(FUNCTION, DOC_STRING, 8, BYTES, "doc_string")                                                \
    X(FUNCTION, OPSET_IMPORT, 9, MESSAGE, "opset_import")                                          \
    X(FUNCTION, DOMAIN, 10, BYTES, "domain")                                                       \
    X(FUNCTION, ATTRIBUTE_PROTO, 11, MESSAGE, "attribute_proto")                                   \
    X(FUNCTION, VALUE_INFO, 12, MESSAGE, "value_info")                                             \
    X(FUNCTION, OVERLOAD, 13, BYTES, "overload")

/* M(PREFIX, FIELDS, variable, name) */
#define TFR__ONNX_MESSAGES(M)                                                                      \
    M(MODEL, TFR__MODEL_FIELDS, model, "ModelProto")                                               \
    M(OPSET, TFR__OPSET_FIELDS, opset, "OperatorSetIdProto")                                       \
    M(GRAPH, TFR__GRAPH_FIELDS, graph, "GraphProto")                                               \
    M(NODE, TFR__NODE_FIELDS, node, "NodeProto")                                                   \
    M(ATTR, TFR__ATTR_FIELDS, attr, "AttributeProto")                                              \
    M(TENSOR, TFR__TENSOR_FIELDS, tensor, "TensorProto")                                           \
    M(ENTRY, TFR__ENTRY_FIELDS, entry, "StringStringEntryProto")                                   \
    M(SPARSE, TFR__SPARSE_FIELDS, sparse, "SparseTensorProto")                                     \
    M(SEQUENCE, TFR__SEQUENCE_FIELDS, sequence, "SequenceProto")                                   \
    M(MAP, TFR__MAP_FIELDS, map, "MapProto")                                                       \
    M(OPTIONAL, TFR__OPTIONAL_FIELDS, optional, "OptionalProto")                                   \
    M(VALUE_INFO, TFR__VALUE_INFO_FIELDS, value_info, "ValueInfoProto")                            \
    M(TYPE, TFR__TYPE_FIELDS, type, "TypeProto")                                                   \
    M(TENSOR_TYPE, TFR__TENSOR_TYPE_FIELDS, tensor_type, "TypeProto.Tensor")                       \
    M(INNER_TYPE, TFR__INNER_TYPE_FIELDS, inner_type, "TypeProto.Sequence")                        \
    M(MAP_TYPE, TFR__MAP_TYPE_FIELDS, map_type, "TypeProto.Map")                                   \
    M(SHAPE, TFR__SHAPE_FIELDS, shape, "TensorShapeProto")                                         \
    M(DIM, TFR__DIM_FIELDS, dim, "TensorShapeProto.Dimension")                                     \
    M(FUNCTION, TFR__FUNCTION_FIELDS, function, "FunctionProto")

#define TFR__FIELD_ENUM(prefix, field, number, kind, name) TFR__##prefix##_##field = number,
#define TFR__MESSAGE_ENUM(prefix, fields, variable, name)                                          \
    enum { fields(TFR__FIELD_ENUM) TFR__##prefix##_END };                                          \
    extern const tfr__wire_message tfr__onnx_##variable##_message;
TFR__ONNX_MESSAGES(TFR__MESSAGE_ENUM)
#undef TFR__MESSAGE_ENUM
#undef TFR__FIELD_ENUM

#endif
