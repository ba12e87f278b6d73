/* SPDX-License-Identifier: Apache-2.0 */
/* product.c: see product.h. */
#include "product.h"

#include <stdio.h>
#include <string.h>

static tfr_status build(bench_ours *o, bool constant, tfr_err *err)
{
    tfr_value_type type = {.size = sizeof type, .dtype = TFR_DTYPE_F32, .rank_known = 1, .rank = 2};
    tfr_value in[2], out;
    tfr_node_desc matmul = {.size = sizeof matmul,
                            .op = "MatMul",
                            .name = "product",
                            .n_inputs = 2,
                            .n_outputs = 1,
                            .inputs = in};
    tfr_status status = tfr_graph_create("product", &o->graph, err);
    memcpy(type.dims, tfr_tensor_shape(o->a)->dims, 2 * sizeof *type.dims);
    if (!status)
        status = tfr_graph_add_input(o->graph, "a", &type, &in[0], err);
    memcpy(type.dims, tfr_tensor_shape(o->b)->dims, 2 * sizeof *type.dims);
    if (!status)
        status = constant ? tfr_graph_add_constant(o->graph, "b", o->b, &in[1], err)
                          : tfr_graph_add_input(o->graph, "b", &type, &in[1], err);
    if (!status)
        status = tfr_graph_add_node(o->graph, &matmul, &out, err);
    return status ? status : tfr_graph_add_output(o->graph, out, "c", err);
}

bool bench_on_host(const tfr_runtime *runtime, const char *device)
{
    tfr_device_desc desc = {.size = sizeof desc};
    uint32_t number = 0;
    int32_t backend;
    if (device && tfr_runtime_find(runtime, device, &number, &backend, NULL))
        return false;
    return !tfr_runtime_device(runtime, number, &desc, NULL) && !strcmp(desc.type, "CPU");
}

tfr_status bench_ours_init(bench_ours *o, tfr_runtime *runtime, const char *device,
                           const char *math_mode, const bench_product *product, tfr_err *err)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_shape a = {2, {product->m, product->k}}, b = {2, {product->k, product->n}},
              c = {2, {product->m, product->n}};
    tfr_status status;
    *o = (bench_ours){0};
    options.device = device;
    options.math_mode = math_mode;
    status = tfr_tensor_wrap(TFR_DTYPE_F32, &a, NULL, (void *)(uintptr_t)product->a, NULL, NULL,
                             &o->a, err);
    if (!status)
        status = tfr_tensor_wrap(TFR_DTYPE_F32, &b, NULL, (void *)(uintptr_t)product->b, NULL, NULL,
                                 &o->b, err);
    if (!status)
        status = tfr_tensor_create(TFR_DTYPE_F32, &c, &o->c, err);
    if (!status)
        status = build(o, product->constant, err);
    if (!status)
        status = tfr_session_create(runtime, o->graph, &options, &o->session, err);
    if (!status) {
        tfr_tensor *inputs[] = {o->a, o->b};
        uint32_t n = product->constant ? 1 : 2;
        /* For bench_ours_note: a binding alone does not say where its nodes run. */
        status = tfr_session_prepare(o->session, inputs, n, err);
        if (!status)
            status = tfr_binding_create(o->session, inputs, n, &o->c, 1, &o->binding, err);
    }
    return status;
}

void bench_ours_finish(bench_ours *o)
{
    tfr_binding_destroy(o->binding);
    tfr_session_destroy(o->session);
    tfr_graph_release(o->graph);
    tfr_tensor_release(o->a);
    tfr_tensor_release(o->b);
    tfr_tensor_release(o->c);
    *o = (bench_ours){0};
}

const char *bench_ours_name(const char *math_mode, char *text, size_t capacity)
{
    snprintf(text, capacity, "tfrun%s%s", math_mode ? " " : "", math_mode ? math_mode : "");
    return text;
}

void bench_ours_note(const bench_ours *o, char *text, size_t capacity)
{
    tfr_placement p = {.size = sizeof p};
    *text = 0;
    for (uint32_t i = 0; i < tfr_session_n_placements(o->session); i++)
        if (!tfr_session_placement(o->session, i, &p, NULL) && p.backend)
            snprintf(text, capacity, "%s on %s%s%s", p.backend, p.device, *p.note ? ", " : "",
                     p.note);
}
