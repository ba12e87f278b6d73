/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_build.h: writes small ONNX files for tests, valid ones and hostile ones, byte by byte: no
 * protobuf library is needed, and what a test wants to be wrong can be wrong. Messages are plain
 * values of a fixed size; a part that does not fit is left out and ok becomes false.
 */
#ifndef TFR_ONNX_BUILD_H
#define TFR_ONNX_BUILD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct pb {
    size_t n;
    bool full;
    unsigned char data[16384];
} pb;

static inline void pb_raw(pb *m, const void *data, size_t n)
{
    if (n > sizeof m->data - m->n) {
        m->full = true;
        return;
    }
    if (n)
        memcpy(m->data + m->n, data, n);
    m->n += n;
}

static inline void pb_varint(pb *m, uint64_t value)
{
    do {
        unsigned char byte = (unsigned char)(value & 0x7f);
        value >>= 7;
        if (value)
            byte |= 0x80;
        pb_raw(m, &byte, 1);
    } while (value);
}

static inline void pb_int(pb *m, unsigned field, int64_t value)
{
    pb_varint(m, (uint64_t)field << 3);
    pb_varint(m, (uint64_t)value);
}

static inline void pb_bytes(pb *m, unsigned field, const void *data, size_t n)
{
    pb_varint(m, (uint64_t)field << 3 | 2);
    pb_varint(m, n);
    pb_raw(m, data, n);
}

static inline void pb_text(pb *m, unsigned field, const char *text)
{
    pb_bytes(m, field, text, strlen(text));
}

static inline void pb_msg(pb *m, unsigned field, const pb *inner)
{
    m->full = m->full || inner->full;
    pb_bytes(m, field, inner->data, inner->n);
}

static inline void pb_float(pb *m, unsigned field, float value)
{
    pb_varint(m, (uint64_t)field << 3 | 5);
    pb_raw(m, &value, sizeof value);
}

/* "a b - c" as repeated texts; "-" is the empty one. */
static inline void pb_words(pb *m, unsigned field, const char *words)
{
    while (*words) {
        size_t n = strcspn(words, " ");
        pb_bytes(m, field, words, n == 1 && *words == '-' ? 0 : n);
        words += n;
        words += *words == ' ';
    }
}

/* ---- attributes (AttributeProto) ------------------------------------------------------------- */

static inline pb attr_int(const char *name, int64_t value)
{
    pb m = {.n = 0};
    pb_text(&m, 1, name);
    pb_int(&m, 3, value);
    pb_int(&m, 20, 2);
    return m;
}

static inline pb attr_float(const char *name, float value)
{
    pb m = {.n = 0};
    pb_text(&m, 1, name);
    pb_float(&m, 2, value);
    pb_int(&m, 20, 1);
    return m;
}

static inline pb attr_text(const char *name, const char *value)
{
    pb m = {.n = 0};
    pb_text(&m, 1, name);
    pb_text(&m, 4, value);
    pb_int(&m, 20, 3);
    return m;
}

/* Texts without blanks, with a blank between them. */
static inline pb attr_texts(const char *name, const char *words)
{
    pb m = {.n = 0};
    pb_text(&m, 1, name);
    pb_words(&m, 9, words);
    pb_int(&m, 20, 8);
    return m;
}

static inline pb attr_ints(const char *name, const int64_t *values, size_t n)
{
    pb m = {.n = 0};
    pb_text(&m, 1, name);
    for (size_t i = 0; i < n; i++)
        pb_int(&m, 8, values[i]);
    pb_int(&m, 20, 7);
    return m;
}

static inline pb attr_floats(const char *name, const float *values, size_t n)
{
    pb m = {.n = 0};
    pb_text(&m, 1, name);
    for (size_t i = 0; i < n; i++)
        pb_float(&m, 7, values[i]);
    pb_int(&m, 20, 6);
    return m;
}

/* field 5 with type 4 is a tensor, field 6 with type 5 a graph. */
static inline pb attr_msg(const char *name, unsigned field, int64_t type, const pb *value)
{
    pb m = {.n = 0};
    pb_text(&m, 1, name);
    pb_msg(&m, field, value);
    pb_int(&m, 20, type);
    return m;
}

/* ---- nodes, values, tensors, graphs ---------------------------------------------------------- */

static inline pb node(const char *op, const char *inputs, const char *outputs)
{
    pb m = {.n = 0};
    pb_words(&m, 1, inputs);
    pb_words(&m, 2, outputs);
    pb_text(&m, 4, op);
    return m;
}

static inline void add_attr(pb *n, pb attr)
{
    pb_msg(n, 5, &attr);
}

static inline void add_node(pb *graph, pb n)
{
    pb_msg(graph, 1, &n);
}

/* A tensor's ValueInfoProto into field (11 input, 12 output, 13 value_info); rank -1 = unknown. */
static inline void add_value(pb *graph, unsigned field, const char *name, int dtype, int rank,
                             const int64_t *dims)
{
    pb shape = {.n = 0}, tensor = {.n = 0}, type = {.n = 0}, value = {.n = 0};
    for (int i = 0; i < rank; i++) {
        pb dim = {.n = 0};
        if (dims[i] < -1 || dims[i] >= 0)
            pb_int(&dim, 1, dims[i]);
        else
            pb_text(&dim, 2, "N");
        pb_msg(&shape, 1, &dim);
    }
    if (dtype)
        pb_int(&tensor, 1, dtype);
    if (rank >= 0)
        pb_msg(&tensor, 2, &shape);
    pb_msg(&type, 1, &tensor);
    pb_text(&value, 1, name);
    pb_msg(&value, 2, &type);
    pb_msg(graph, field, &value);
}

static inline pb tensor_raw(const char *name, int dtype, int rank, const int64_t *dims,
                            const void *data, size_t n)
{
    pb m = {.n = 0};
    for (int i = 0; i < rank; i++)
        pb_int(&m, 1, dims[i]);
    pb_int(&m, 2, dtype);
    if (name)
        pb_text(&m, 8, name);
    if (data)
        pb_bytes(&m, 9, data, n);
    return m;
}

/* A model around a graph; opset 0 = no opset_import. */
static inline pb model(const pb *graph, int opset)
{
    pb m = {.n = 0};
    pb_int(&m, 1, 8);
    if (opset) {
        pb set = {.n = 0};
        pb_int(&set, 2, opset);
        pb_msg(&m, 8, &set);
    }
    pb_msg(&m, 7, graph);
    return m;
}

/* A subgraph, and old forms of ops: an If of c that reads a and w, and nodes of x. */
static inline void add_variety(pb *graph)
{
    static const int64_t two_dims[1] = {2}, axes[1] = {0};
    pb body = {.n = 0}, n = node("If", "c", "y");
    add_node(&body, node("Add", "a w", "s"));
    add_value(&body, 12, "s", TFR_DTYPE_F32, 1, two_dims);
    add_attr(&n, attr_msg("then_branch", 6, 5, &body));
    add_attr(&n, attr_msg("else_branch", 6, 5, &body));
    add_node(graph, n);
    n = node("Squeeze", "x", "q");
    add_attr(&n, attr_ints("axes", axes, 1));
    add_node(graph, n);
    n = node("Softmax", "x", "p");
    add_attr(&n, attr_int("axis", 0));
    add_node(graph, n);
}

#endif
