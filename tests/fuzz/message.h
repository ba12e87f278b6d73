/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.h: an ONNX model as a tree of protobuf messages, for programs that make, change and cut
 * models. Every field is kept as it was read, known or not, right or wrong, so that a tree can hold
 * what no protobuf library would write. Running out of memory ends the program.
 */
#ifndef TFR_FUZZ_MESSAGE_H
#define TFR_FUZZ_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Messages of onnx.proto whose fields are looked into. */
typedef enum fuzz_type {
    FUZZ_LEAF = 0,
    FUZZ_MODEL,
    FUZZ_GRAPH,
    FUZZ_NODE,
    FUZZ_ATTR,
    FUZZ_TENSOR,
    FUZZ_SPARSE,
    FUZZ_VALUE,
    FUZZ_TYPE,
    FUZZ_TENSOR_TYPE,
    FUZZ_LIST_TYPE, /* of a sequence or an optional */
    FUZZ_SHAPE,
    FUZZ_DIM,
    FUZZ_OPSET,
    FUZZ_FUNCTION,
    FUZZ_PAIR
} fuzz_type;

/* Field numbers of onnx.proto. FUZZ_MODEL_RUN_INPUT is ours: a TensorProto for each input of the
 * graph, with its name, so that a file holds all that a run needs; other readers skip it. */
enum {
    FUZZ_MODEL_IR = 1,
    FUZZ_MODEL_GRAPH = 7,
    FUZZ_MODEL_OPSET = 8,
    FUZZ_MODEL_FUNCTION = 25,
    FUZZ_MODEL_RUN_INPUT = 1000,
    FUZZ_OPSET_DOMAIN = 1,
    FUZZ_OPSET_VERSION = 2,
    FUZZ_GRAPH_NODE = 1,
    FUZZ_GRAPH_NAME = 2,
    FUZZ_GRAPH_INITIALIZER = 5,
    FUZZ_GRAPH_INPUT = 11,
    FUZZ_GRAPH_OUTPUT = 12,
    FUZZ_GRAPH_VALUE_INFO = 13,
    FUZZ_NODE_INPUT = 1,
    FUZZ_NODE_OUTPUT = 2,
    FUZZ_NODE_NAME = 3,
    FUZZ_NODE_OP = 4,
    FUZZ_NODE_ATTR = 5,
    FUZZ_NODE_DOMAIN = 7,
    FUZZ_ATTR_NAME = 1,
    FUZZ_ATTR_FLOAT = 2,
    FUZZ_ATTR_INT = 3,
    FUZZ_ATTR_STRING = 4,
    FUZZ_ATTR_TENSOR = 5,
    FUZZ_ATTR_GRAPH = 6,
    FUZZ_ATTR_FLOATS = 7,
    FUZZ_ATTR_INTS = 8,
    FUZZ_ATTR_STRINGS = 9,
    FUZZ_ATTR_TYPE = 20,
    FUZZ_TENSOR_DIM = 1,
    FUZZ_TENSOR_DTYPE = 2,
    FUZZ_TENSOR_STRINGS = 6,
    FUZZ_TENSOR_NAME = 8,
    FUZZ_TENSOR_RAW = 9,
    FUZZ_VALUE_NAME = 1,
    FUZZ_VALUE_TYPE = 2
};

typedef struct fuzz_msg fuzz_msg;

typedef struct fuzz_field {
    uint32_t number;
    uint32_t wire;       /* 0 varint, 1 eight bytes, 2 bytes or a message, 5 four bytes */
    uint64_t value;      /* wire 0, 1, 5 */
    unsigned char *data; /* wire 2 without msg; also ended by a zero byte */
    size_t n;
    fuzz_msg *msg;
} fuzz_field;

struct fuzz_msg {
    fuzz_type type;
    fuzz_field *fields;
    size_t n, capacity;
};

/* Growing memory. */
typedef struct fuzz_bytes {
    unsigned char *data;
    size_t n, capacity;
} fuzz_bytes;

void fuzz_bytes_add(fuzz_bytes *bytes, const void *data, size_t n);

fuzz_msg *fuzz_msg_create(fuzz_type type);
fuzz_msg *fuzz_msg_copy(const fuzz_msg *msg);
void fuzz_msg_destroy(fuzz_msg *msg);
/* NULL for bytes that are no message. A part that is none stays a leaf. */
fuzz_msg *fuzz_msg_read(const void *bytes, size_t n, fuzz_type type);
/* Appends to out. */
void fuzz_msg_write(const fuzz_msg *msg, fuzz_bytes *out);

/* Adding at the end. */
fuzz_msg *fuzz_add_msg(fuzz_msg *msg, uint32_t number, fuzz_type type);
void fuzz_add_int(fuzz_msg *msg, uint32_t number, int64_t value);
void fuzz_add_float(fuzz_msg *msg, uint32_t number, float value);
void fuzz_add_bytes(fuzz_msg *msg, uint32_t number, const void *data, size_t n);
void fuzz_add_text(fuzz_msg *msg, uint32_t number, const char *text);
/* Takes child over. */
void fuzz_add_child(fuzz_msg *msg, uint32_t number, fuzz_msg *child);

/* The nth field of this number, or NULL. */
fuzz_field *fuzz_find(const fuzz_msg *msg, uint32_t number, size_t nth);
size_t fuzz_count(const fuzz_msg *msg, uint32_t number);
/* The first one's message or text, or NULL or "". */
fuzz_msg *fuzz_child(const fuzz_msg *msg, uint32_t number);
const char *fuzz_text(const fuzz_msg *msg, uint32_t number);
void fuzz_set_text(fuzz_field *field, const char *text);
void fuzz_remove(fuzz_msg *msg, size_t i);
/* A copy of field i goes before position `at`. */
void fuzz_duplicate(fuzz_msg *msg, size_t i, size_t at);
/* The attribute of a node, or NULL. */
fuzz_msg *fuzz_attr(const fuzz_msg *node, const char *name);

#endif
