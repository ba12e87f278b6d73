/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_save_kit.h: graphs that are written into memory and read again, and what makes them. */
#ifndef TFR_ONNX_SAVE_KIT_H
#define TFR_ONNX_SAVE_KIT_H

#include <tfrun/onnx.h>

#include "graph_equal.h"
#include "graph_text.h"
#include "onnx/model.h"
#include "value/tensor.h"

static tfr_err err = TFR_ERR_INIT;

/* ---- writing into memory --------------------------------------------------------------------- */

typedef struct bytes {
    char *data;
    size_t n;
    int calls_left; /* -1 = any number */
} bytes;

static inline tfr_status append(void *user, const void *data, size_t n, tfr_err *e)
{
    bytes *b = user;
    if (b->calls_left >= 0 && b->calls_left-- == 0)
        return tfr_fail(e, TFR_EIO, "no more");
    b->data = realloc(b->data, b->n + n + 1);
    REQUIRE(b->data != NULL);
    memcpy(b->data + b->n, data, n);
    b->n += n;
    return TFR_OK;
}

static inline bytes write_graph(const tfr_graph *graph)
{
    bytes b = {NULL, 0, -1};
    REQUIRE_OK(tfr_onnx_write(graph, append, &b, &err), &err);
    return b;
}

/* What a graph becomes by writing and reading; the graph is released. */
static inline tfr_graph *again(tfr_graph *graph)
{
    bytes b = write_graph(graph);
    tfr_graph *out = NULL;
    REQUIRE_OK(tfr_onnx_parse(b.data, b.n, &out, &err), &err);
    free(b.data);
    tfr_graph_release(graph);
    return out;
}

/* Writing and reading makes the same graph of it, which is released. */
static inline void check_same(tfr_graph *graph)
{
    bytes b = write_graph(graph);
    tfr_graph *out = NULL;
    REQUIRE_OK(tfr_onnx_parse(b.data, b.n, &out, &err), &err);
    if (!graphs_equal(graph, out, &err))
        fprintf(stderr, "%s\n", err.text);
    CHECK(graphs_equal(graph, out, &err));
    free(b.data);
    tfr_graph_release(out);
    tfr_graph_release(graph);
}

static inline void check_refused(tfr_graph *graph, tfr_status status, const char *part)
{
    bytes b = {NULL, 0, -1};
    CHECK_STATUS(status, tfr_onnx_write(graph, append, &b, &err), &err);
    CHECK_CONTAINS(part, err.text);
    CHECK_UINT(0, b.n);
    free(b.data);
    tfr_graph_release(graph);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static inline tfr_graph *new_graph(const char *input, int32_t dtype, tfr_value *x)
{
    tfr_value_type type = {.size = sizeof type, .dtype = dtype};
    tfr_graph *graph = NULL;
    REQUIRE_OK(tfr_graph_create("g", &graph, &err), &err);
    REQUIRE_OK(tfr_graph_add_input(graph, input, &type, x, &err), &err);
    return graph;
}

static inline tfr_value add(tfr_graph *graph, const char *op, const char *name, const tfr_value *in,
                            uint32_t n, const tfr_attr *attr)
{
    tfr_value out = TFR_VALUE_NONE;
    tfr_node_desc node = {.size = sizeof node,
                          .op = op,
                          .inputs = in,
                          .n_inputs = n,
                          .output_names = &name,
                          .n_outputs = 1,
                          .attrs = attr,
                          .n_attrs = attr != NULL};
    REQUIRE_OK(tfr_graph_add_node(graph, &node, &out, &err), &err);
    return out;
}

static inline void output(tfr_graph *graph, tfr_value v, const char *name)
{
    REQUIRE_OK(tfr_graph_add_output(graph, v, name, &err), &err);
}

static inline tfr_tensor *new_tensor(tfr_dtype dtype, int32_t rank, const int64_t *dims)
{
    tfr_shape shape = {0, {0}};
    tfr_tensor *t = NULL;
    REQUIRE_OK(tfr_shape_make(rank, dims, &shape, &err), &err);
    REQUIRE_OK(tfr_tensor_create(dtype, &shape, &t, &err), &err);
    return t;
}

/* Takes the tensor over. */
static inline tfr_value constant(tfr_graph *graph, const char *name, tfr_tensor *t)
{
    tfr_value v;
    REQUIRE_OK(tfr_graph_add_constant(graph, name, t, &v, &err), &err);
    tfr_tensor_release(t);
    return v;
}

#endif
