/* SPDX-License-Identifier: Apache-2.0 */
/* chain.c: see chain.h. */
#include "chain.h"

#include <math.h>

#include <tfrun/fail.h>

enum { COLUMNS = 8 }; /* of the first row, which are copied to the host */

static tfr_status add_drawn(tfr_graph *graph, const char *name, int64_t n, float most,
                            tfr_value *out, tfr_err *err)
{
    const tfr_attr attrs[] = {TFR_SET_INTS("shape", n, n), TFR_SET_FLOAT("low", -most),
                              TFR_SET_FLOAT("high", most)};
    const tfr_node_desc node = {.size = sizeof node,
                                .op = "RandomUniform",
                                .name = name,
                                .n_outputs = 1,
                                .n_attrs = 3,
                                .attrs = attrs};
    return tfr_graph_add_node(graph, &node, out, err);
}

static tfr_status add_place(tfr_graph *graph, const char *name, int64_t row, int64_t column,
                            tfr_value *out, tfr_err *err)
{
    const tfr_shape shape = {1, {2}};
    tfr_tensor *tensor = NULL;
    tfr_status status = tfr_tensor_create(TFR_DTYPE_I64, &shape, &tensor, err);
    if (!status) {
        ((int64_t *)tfr_tensor_data(tensor))[0] = row;
        ((int64_t *)tfr_tensor_data(tensor))[1] = column;
        status = tfr_graph_add_constant(graph, name, tensor, out, err);
    }
    tfr_tensor_release(tensor);
    return status;
}

/* Factors of the variance 1 / n leave values as large as they are. */
static tfr_status build(bench_chain *c, int64_t n, tfr_err *err)
{
    tfr_value pair[2], slice[3];
    const tfr_node_desc matmul = {
        .size = sizeof matmul, .op = "MatMul", .n_inputs = 2, .n_outputs = 1, .inputs = pair};
    const tfr_node_desc first = {
        .size = sizeof first, .op = "Slice", .n_inputs = 3, .n_outputs = 1, .inputs = slice};
    tfr_status status = tfr_graph_create("chain", &c->graph, err);
    if (!status)
        status = add_drawn(c->graph, "x", n, 1, &pair[0], err);
    if (!status)
        status = add_drawn(c->graph, "b", n, (float)sqrt(3.0 / (double)n), &pair[1], err);
    for (uint32_t i = 0; !status && i < c->n_products; i++)
        status = tfr_graph_add_node(c->graph, &matmul, &pair[0], err);
    slice[0] = pair[0];
    if (!status)
        status = add_place(c->graph, "starts", 0, 0, &slice[1], err);
    if (!status)
        status = add_place(c->graph, "ends", 1, COLUMNS, &slice[2], err);
    if (!status)
        status = tfr_graph_add_node(c->graph, &first, &slice[0], err);
    return status ? status : tfr_graph_add_output(c->graph, slice[0], "y", err);
}

/* As many as take some milliseconds on a large GPU. */
static uint32_t products_of(int64_t n)
{
    const double many = 4e11 / ((double)n * (double)n * (double)n);
    return many > 200 ? 200 : many < 4 ? 4 : (uint32_t)many;
}

tfr_status bench_chain_init(bench_chain *c, tfr_runtime *runtime, const char *device,
                            const char *math_mode, int64_t n, tfr_err *err)
{
    const tfr_shape shape = {2, {1, COLUMNS}};
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_status status;
    *c = (bench_chain){.n_products = products_of(n)};
    options.device = device;
    options.math_mode = math_mode;
    status = build(c, n, err);
    if (!status)
        status = tfr_session_create(runtime, c->graph, &options, &c->session, err);
    if (!status)
        status = tfr_tensor_create(TFR_DTYPE_F32, &shape, &c->y, err);
    if (!status)
        status = tfr_binding_create(c->session, NULL, 0, &c->y, 1, &c->binding, err);
    return status ? status : tfr_binding_run(c->binding, err);
}

void bench_chain_finish(bench_chain *c)
{
    tfr_binding_destroy(c->binding);
    tfr_session_destroy(c->session);
    tfr_graph_release(c->graph);
    tfr_tensor_release(c->y);
    *c = (bench_chain){0};
}
