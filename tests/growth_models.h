/* SPDX-License-Identifier: Apache-2.0 */
/*
 * growth_models.h: ONNX models of any size, each of one shape: a chain, a fan, n functions. They
 * are written into memory that grows (onnx_build.h has messages of a fixed size, for small ones).
 * Included once, by test_growth.c.
 */
#ifndef TFR_GROWTH_MODELS_H
#define TFR_GROWTH_MODELS_H

#include <stdarg.h>
#include <stdlib.h>

#include "tfr_test.h"

/* ---- protobuf -------------------------------------------------------------------------------- */

typedef struct bytes {
    unsigned char *data;
    size_t n, capacity;
} bytes;

static void put_raw(bytes *m, const void *data, size_t n)
{
    if (n > m->capacity - m->n) {
        m->capacity = 2 * (m->capacity + n);
        m->data = realloc(m->data, m->capacity);
        REQUIRE(m->data != NULL);
    }
    if (n)
        memcpy(m->data + m->n, data, n);
    m->n += n;
}

static void put_varint(bytes *m, uint64_t value)
{
    do {
        unsigned char byte = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
        put_raw(m, &byte, 1);
    } while (value);
}

static void put_int(bytes *m, unsigned field, int64_t value)
{
    put_varint(m, (uint64_t)field << 3);
    put_varint(m, (uint64_t)value);
}

static void put_text(bytes *m, unsigned field, const void *text, size_t n)
{
    put_varint(m, (uint64_t)field << 3 | 2);
    put_varint(m, n);
    put_raw(m, text, n);
}

static void put_string(bytes *m, unsigned field, const char *text)
{
    put_text(m, field, text, strlen(text));
}

/* The message becomes a field of another one, and is gone. */
static void put_message(bytes *m, unsigned field, bytes *inner)
{
    put_text(m, field, inner->data, inner->n);
    free(inner->data);
    *inner = (bytes){NULL, 0, 0};
}

/* Words with blanks between. */
static void put_words(bytes *m, unsigned field, const char *words)
{
    while (*words) {
        size_t n = strcspn(words, " ");
        put_text(m, field, words, n);
        words += n;
        words += *words == ' ';
    }
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* The text lives until the next but 7 calls. */
static __attribute__((format(printf, 1, 2))) const char *text(const char *format, ...)
{
    static char capacity[8][256];
    static unsigned at;
    char *out = capacity[at++ % 8];
    va_list args;
    va_start(args, format);
    vsnprintf(out, sizeof *capacity, format, args);
    va_end(args);
    return out;
}

/* "x0 x1 ... ", of n words that differ, or n times the same; the caller frees. */
static char *words(const char *name, uint32_t n, bool same)
{
    bytes all = {NULL, 0, 0};
    for (uint32_t i = 0; i < n; i++) {
        const char *word = same ? text("%s ", name) : text("%s%u ", name, i);
        put_raw(&all, word, strlen(word));
    }
    put_raw(&all, "", 1);
    return (char *)all.data;
}

enum { GRAPH_INPUT = 11, GRAPH_OUTPUT = 12, FLOAT = 1, INT64 = 7, BOOL = 9 };

/* dims: "4", "2 3", "" is a scalar; NULL = not said. */
static void add_value(bytes *graph, unsigned field, const char *name, int dtype, const char *dims)
{
    bytes value = {NULL, 0, 0}, type = value, tensor = value, shape = value, dim = value;
    put_int(&tensor, 1, dtype);
    while (dims && *dims) {
        put_int(&dim, 1, strtol(dims, (char **)(void *)&dims, 10));
        put_message(&shape, 1, &dim);
    }
    if (dims)
        put_message(&tensor, 2, &shape);
    put_message(&type, 1, &tensor);
    put_string(&value, 1, name);
    put_message(&value, 2, &type);
    put_message(graph, field, &value);
}

/* Of n elements of the number, a float or an int64; n 0 is a scalar. */
static void add_constant(bytes *graph, const char *name, int dtype, uint32_t n, double number)
{
    bytes tensor = {NULL, 0, 0}, data = tensor;
    for (uint32_t i = 0; i < (n ? n : 1); i++) {
        float f = (float)number;
        int64_t k = (int64_t)number;
        put_raw(&data, dtype == FLOAT ? (void *)&f : (void *)&k, dtype == FLOAT ? 4 : 8);
    }
    if (n)
        put_int(&tensor, 1, n);
    put_int(&tensor, 2, dtype);
    put_string(&tensor, 8, name);
    put_message(&tensor, 9, &data);
    put_message(graph, 5, &tensor);
}

static bytes node_of(const char *op, const char *in, const char *out)
{
    bytes node = {NULL, 0, 0};
    put_words(&node, 1, in);
    put_words(&node, 2, out);
    put_string(&node, 4, op);
    return node;
}

static void add_node(bytes *graph, const char *op, const char *in, const char *out)
{
    bytes node = node_of(op, in, out);
    put_message(graph, 1, &node);
}

static void set_int(bytes *node, const char *name, int64_t value)
{
    bytes attr = {NULL, 0, 0};
    put_string(&attr, 1, name);
    put_int(&attr, 3, value);
    put_int(&attr, 20, 2);
    put_message(node, 5, &attr);
}

static void set_graph(bytes *node, const char *name, bytes *graph)
{
    bytes attr = {NULL, 0, 0};
    put_string(&attr, 1, name);
    put_message(&attr, 6, graph);
    put_int(&attr, 20, 5);
    put_message(node, 5, &attr);
}

/* A graph of one node, whose output is the graph's. */
static bytes branch(const char *op, const char *in, const char *out)
{
    bytes graph = {NULL, 0, 0};
    add_node(&graph, op, in, out);
    add_value(&graph, GRAPH_OUTPUT, out, FLOAT, "4");
    return graph;
}

static void add_if(bytes *graph, const char *out, bytes *then_branch, bytes *else_branch)
{
    bytes node = node_of("If", "cond", out);
    set_graph(&node, "then_branch", then_branch);
    set_graph(&node, "else_branch", else_branch);
    put_message(graph, 1, &node);
}

/* ---- models ---------------------------------------------------------------------------------- */

/* Parts of a model, which become one at the end. */
typedef struct model {
    bytes graph, functions, opsets;
} model;

static void add_opset(bytes *to, unsigned field, const char *domain, int64_t version)
{
    bytes opset = {NULL, 0, 0};
    put_string(&opset, 1, domain);
    put_int(&opset, 2, version);
    put_message(to, field, &opset);
}

/* A function of the domain "my" with the nodes that body has. */
static void add_function(model *m, const char *name, const char *in, const char *out, bytes *body)
{
    bytes function = {NULL, 0, 0};
    put_string(&function, 1, name);
    put_words(&function, 4, in);
    put_words(&function, 5, out);
    put_raw(&function, body->data, body->n);
    add_opset(&function, 9, "", 17);
    put_string(&function, 10, "my");
    free(body->data);
    put_message(&m->functions, 25, &function);
}

static void add_call(bytes *graph, const char *function, const char *in, const char *out)
{
    bytes node = node_of(function, in, out);
    put_string(&node, 7, "my");
    put_message(graph, 1, &node);
}

static bytes finish_model(model *m)
{
    bytes all = {NULL, 0, 0};
    put_int(&all, 1, 8);
    put_message(&all, 7, &m->graph);
    put_raw(&all, m->functions.data, m->functions.n);
    put_raw(&all, m->opsets.data, m->opsets.n);
    add_opset(&all, 8, "", 20);
    add_opset(&all, 8, "my", 1);
    free(m->functions.data);
    free(m->opsets.data);
    return all;
}

static void in_out(model *m, const char *out)
{
    add_value(&m->graph, GRAPH_INPUT, "v0", FLOAT, "4");
    add_value(&m->graph, GRAPH_OUTPUT, out, FLOAT, NULL);
}

static void many_values(model *m, unsigned field, const char *name, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        add_value(&m->graph, field, text("%s%u", name, i), FLOAT, "4");
}

/* ---- shapes of models ------------------------------------------------------------------------ */

/* Node i reads v(i) and makes v(i + 1); %u in `more` is i. */
static void chain_of(model *m, uint32_t n, const char *op, const char *other, const char *more)
{
    for (uint32_t i = 0; i < n; i++)
        add_node(&m->graph, i % 2 ? other : op, text("v%u %s", i, more), text("v%u", i + 1));
    in_out(m, text("v%u", n));
}

static void chain(model *m, uint32_t n)
{
    chain_of(m, n, "Neg", "Sigmoid", "");
}

static void chain_with_a_constant(model *m, uint32_t n)
{
    add_constant(&m->graph, "c", FLOAT, 4, 2);
    chain_of(m, n, "Add", "Mul", "c");
}

static void chain_of_skips(model *m, uint32_t n)
{
    chain_of(m, n, "Add", "Mul", "v0");
}

static void chain_of_reshapes(model *m, uint32_t n)
{
    add_constant(&m->graph, "c", INT64, 1, 4);
    chain_of(m, n, "Reshape", "Reshape", "c");
}

static void chain_of_transposes(model *m, uint32_t n)
{
    chain_of(m, n, "Transpose", "Relu", "");
}

/* Each second Transpose undoes the one before, with work between and a way around all of it. */
static void chain_of_undone_transposes(model *m, uint32_t n)
{
    static const char *const ops[] = {"Transpose", "Relu", "Transpose", "Add"};
    for (uint32_t i = 0; i < n; i++)
        add_node(&m->graph, ops[i % 4], i % 4 == 3 ? text("v%u v%u", i, i - 3) : text("v%u", i),
                 text("v%u", i + 1));
    in_out(m, text("v%u", n));
}

/* Nine nodes for a device's program, then one that it does not have. */
static void chain_with_gaps(model *m, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        add_node(&m->graph, i % 10 < 9 ? "Relu" : "Neg", text("v%u", i), text("v%u", i + 1));
    in_out(m, text("v%u", n));
}

static void chain_of_composites(model *m, uint32_t n)
{
    chain_of(m, n, "Gelu", "Softmax", "");
}

static void chain_backwards(model *m, uint32_t n)
{
    for (uint32_t i = n; i-- > 0;)
        add_node(&m->graph, i % 2 ? "Neg" : "Sigmoid", text("v%u", i), text("v%u", i + 1));
    in_out(m, text("v%u", n));
}

static void chain_that_is_known(model *m, uint32_t n)
{
    add_constant(&m->graph, "k0", FLOAT, 4, 0);
    add_constant(&m->graph, "c", FLOAT, 4, 1);
    for (uint32_t i = 0; i < n; i++)
        add_node(&m->graph, "Add", text("k%u c", i), text("k%u", i + 1));
    add_node(&m->graph, "Add", text("v0 k%u", n), "y");
    in_out(m, "y");
}

static void dead_chain(model *m, uint32_t n)
{
    chain_of(m, n, "Neg", "Sigmoid", "");
    m->graph.n = 0; /* the same, but with another output */
    for (uint32_t i = 0; i < n; i++)
        add_node(&m->graph, "Neg", text("v%u", i), text("v%u", i + 1));
    in_out(m, "v1");
}

static void shapes_at_run_time(model *m, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        add_node(&m->graph, "Shape", text("v%u", i), text("s%u", i));
        add_node(&m->graph, "Expand", text("v%u s%u", i, i), text("e%u", i));
        add_node(&m->graph, "Neg", text("e%u", i), text("v%u", i + 1));
    }
    in_out(m, text("v%u", n));
}

static void all_values_alive(model *m, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        add_node(&m->graph, i % 2 ? "Neg" : "Sigmoid", text("v%u", i), text("v%u", i + 1));
    for (uint32_t i = n; i > 0; i--)
        add_node(&m->graph, "Add", text(i == n ? "v%u v%u" : "w%u v%u", i == n ? i : i + 1, i),
                 text("w%u", i));
    in_out(m, "w1");
}

static void joined(model *m, const char *op, uint32_t n, bool same)
{
    char *in = words(same ? "v0" : "x", n, same);
    bytes node = node_of(op, in, "y");
    if (strcmp(op, "Concat") == 0)
        set_int(&node, "axis", 0);
    put_message(&m->graph, 1, &node);
    if (!same)
        many_values(m, GRAPH_INPUT, "x", n);
    in_out(m, "y");
    free(in);
}

static void sum_of_inputs(model *m, uint32_t n)
{
    joined(m, "Sum", n, false);
}

static void concat_of_inputs(model *m, uint32_t n)
{
    joined(m, "Concat", n, false);
}

static void concat_of_the_same(model *m, uint32_t n)
{
    joined(m, "Concat", n, true);
}

static void sum_of_nodes(model *m, uint32_t n)
{
    char *in = words("y", n, false);
    for (uint32_t i = 0; i < n; i++) {
        add_constant(&m->graph, text("c%u", i), FLOAT, 4, i);
        add_node(&m->graph, "Add", text("v0 c%u", i), text("y%u", i));
    }
    add_node(&m->graph, "Sum", in, "z");
    in_out(m, "z");
    free(in);
}

static void sum_of_equal_nodes(model *m, uint32_t n)
{
    char *in = words("y", n, false);
    for (uint32_t i = 0; i < n; i++)
        add_node(&m->graph, "Neg", "v0", text("y%u", i));
    add_node(&m->graph, "Sum", in, "z");
    in_out(m, "z");
    free(in);
}

static void outputs(model *m, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        add_constant(&m->graph, text("c%u", i), FLOAT, 4, i);
        add_node(&m->graph, "Add", text("v0 c%u", i), text("y%u", i));
    }
    many_values(m, GRAPH_OUTPUT, "y", n);
    in_out(m, "v0");
}

static void unused_constants(model *m, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        add_constant(&m->graph, text("c%u", i), FLOAT, 4, i);
    chain_of(m, 1, "Neg", "Neg", "");
}

static void long_names(model *m, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        add_node(&m->graph, "Neg", text("v%u%s%0200d", i, i ? "_" : "", 0),
                 text("v%u_%0200d", i + 1, 0));
    add_value(&m->graph, GRAPH_INPUT, text("v0%0200d", 0), FLOAT, "4");
    in_out(m, text("v%u_%0200d", n, 0));
}

static void domains(model *m, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        add_opset(&m->opsets, 8, text("domain%u", i), 1);
    chain_of(m, 1, "Neg", "Neg", "");
}

static void functions(model *m, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        bytes body = {NULL, 0, 0}, node = node_of("Neg", "a", "b");
        put_message(&body, 7, &node);
        add_function(m, text("F%u", i), "a", "b", &body);
        add_call(&m->graph, text("F%u", i), text("v%u", i), text("v%u", i + 1));
    }
    in_out(m, text("v%u", n));
}

static void calls_of_a_function(model *m, uint32_t n)
{
    bytes body = {NULL, 0, 0}, node = node_of("Neg", "a", "b");
    put_message(&body, 7, &node);
    add_function(m, "F", "a", "b", &body);
    for (uint32_t i = 0; i < n; i++)
        add_call(&m->graph, "F", text("v%u", i), text("v%u", i + 1));
    in_out(m, text("v%u", n));
}

static void large_function(model *m, uint32_t n)
{
    bytes body = {NULL, 0, 0};
    for (uint32_t i = 0; i < n; i++) {
        bytes node = node_of("Neg", text("a%u", i), text("a%u", i + 1));
        put_message(&body, 7, &node);
    }
    add_function(m, "F", "a0", text("a%u", n), &body);
    add_call(&m->graph, "F", "v0", "y");
    in_out(m, "y");
}

static void branches(model *m, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        bytes then_branch = branch("Neg", text("v%u", i), text("t%u", i));
        bytes else_branch = branch("Sigmoid", text("v%u", i), text("e%u", i));
        add_if(&m->graph, text("v%u", i + 1), &then_branch, &else_branch);
    }
    add_value(&m->graph, GRAPH_INPUT, "cond", BOOL, "");
    in_out(m, text("v%u", n));
}

static void branch_that_captures(model *m, uint32_t n)
{
    char *in = words("x", n, false);
    bytes then_branch = branch("Sum", in, "t"), else_branch = branch("Neg", "x0", "e");
    add_if(&m->graph, "y", &then_branch, &else_branch);
    add_value(&m->graph, GRAPH_INPUT, "cond", BOOL, "");
    many_values(m, GRAPH_INPUT, "x", n);
    in_out(m, "y");
    free(in);
}

static bytes loop_body(uint32_t n)
{
    bytes body = {NULL, 0, 0};
    add_node(&body, "Identity", "go", "go_on");
    add_value(&body, GRAPH_INPUT, "i", INT64, "");
    add_value(&body, GRAPH_INPUT, "go", BOOL, "");
    add_value(&body, GRAPH_OUTPUT, "go_on", BOOL, "");
    for (uint32_t i = 0; i < n; i++) {
        add_node(&body, "Neg", text("a%u", i), text("b%u", i));
        add_value(&body, GRAPH_INPUT, text("a%u", i), FLOAT, "4");
        add_value(&body, GRAPH_OUTPUT, text("b%u", i), FLOAT, "4");
    }
    return body;
}

static void loop(model *m, uint32_t n_carried, uint32_t trips)
{
    char *in = words("v0", n_carried, true), *out = words("y", n_carried, false);
    bytes all = {NULL, 0, 0}, body = loop_body(n_carried), node;
    put_string(&all, 1, "trips");
    put_string(&all, 1, "true");
    put_words(&all, 1, in);
    node = node_of("Loop", "", out);
    put_raw(&node, all.data, all.n);
    set_graph(&node, "body", &body);
    put_message(&m->graph, 1, &node);
    add_constant(&m->graph, "trips", INT64, 0, trips);
    add_value(&m->graph, GRAPH_INPUT, "true", BOOL, "");
    in_out(m, "y0");
    free(all.data);
    free(in);
    free(out);
}

static void carried_values(model *m, uint32_t n)
{
    loop(m, n, 2);
}

static void trips_of_a_loop(model *m, uint32_t n)
{
    loop(m, 1, n);
}

static void sequence(model *m, uint32_t n)
{
    char *in = words("v0", n, true);
    bytes node;
    add_node(&m->graph, "SequenceConstruct", in, "s");
    node = node_of("ConcatFromSequence", "s", "y");
    set_int(&node, "axis", 0);
    put_message(&m->graph, 1, &node);
    in_out(m, "y");
    free(in);
}

#endif
