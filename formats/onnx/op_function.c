/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_function.c: functions of ops that plugins bring (tfrun/plugin_ops.h). A FunctionProto is put
 * into a model that has nothing else, and is inlined as the functions of models are.
 */
#include <stdlib.h>
#include <string.h>
#include <tfrun/op.h>

#include "onnx/gradient.h"
#include "onnx/import.h"
#include "prefix.h"

/* ir_version 10, an empty graph, and functions[0] of n bytes. The caller frees. */
static unsigned char *wrap(const void *bytes, uint64_t n, size_t *whole)
{
    static const unsigned char front[] = {0x08, 10, 0x3a, 0x00, 0xca, 0x01};
    unsigned char *model = malloc(sizeof front + 10 + (size_t)n);
    size_t at = sizeof front;
    if (!model)
        return NULL;
    memcpy(model, front, sizeof front);
    for (uint64_t rest = n; rest || at == sizeof front; rest >>= 7)
        model[at++] = (unsigned char)((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
    memcpy(model + at, bytes, (size_t)n);
    *whole = at + (size_t)n;
    return model;
}

static tfr_status inline_function(tfr__onnx_model *model, tfr_graph *graph,
                                  const tfr_node_view *node, const tfr_value *inputs,
                                  uint32_t n_inputs, tfr_value *outputs, uint32_t n_outputs,
                                  tfr_err *err)
{
    tfr__onnx_source source = {.dense_bytes = TFR__DENSE_BYTES_MAX};
    tfr__onnx_import import = {
        .model = model, .source = &source, .subgraph = tfr__onnx_import_subgraph};
    tfr__onnx_builder builder = {.graph = graph};
    tfr__onnx_scope scope = {
        .import = &import, .builder = &builder, .graph = model->graph, .opsets = &model->opsets};
    tfr__onnx_function *function = &model->functions[0];
    tfr__onnx_call call = {.import = &import,
                           .builder = &builder,
                           .domain = node->domain,
                           .op = node->op,
                           .name = node->name,
                           .n_inputs = n_inputs,
                           .n_outputs = n_outputs,
                           .n_attrs = node->n_attrs,
                           .inputs = (tfr_value *)inputs,
                           .results = outputs};
    tfr_status status = TFR_OK;
    for (; call.n_outputs > function->body->n_outputs; call.n_outputs--) /* it says less */
        outputs[call.n_outputs - 1] = TFR_VALUE_NONE;
    call.attrs = tfr__scratch_take(&import.scratch, node->n_attrs, sizeof *call.attrs);
    if (!call.attrs)
        status = tfr_fail(err, TFR_ENOMEM, "out of memory for attributes");
    for (uint32_t i = 0; !status && i < node->n_attrs; i++)
        memcpy(&call.attrs[i], (const char *)node->attrs + (size_t)i * node->attr_stride,
               sizeof *call.attrs);
    if (!status)
        status = tfr__onnx_inline(&scope, function, &call, err);
    while (import.n_held)
        tfr_tensor_release(import.held[--import.n_held].tensor);
    free(import.held);
    tfr__onnx_builder_finish(&builder);
    tfr__scratch_finish(&import.scratch);
    return status;
}

/* The function as a model; *copy holds its bytes as long as it lives. */
static tfr_status read_function(const void *bytes, uint64_t n, const char *op,
                                tfr__onnx_model *model, unsigned char **copy, tfr_err *err)
{
    size_t whole;
    *model = (tfr__onnx_model){.n_functions = 0};
    *copy = wrap(bytes, n, &whole);
    return *copy ? tfr__onnx_read_model(*copy, whole, model, err)
                 : tfr_fail(err, TFR_ENOMEM, "out of memory for a function of %s", op);
}

tfr_status tfr__onnx_call_function(tfr_graph *graph, const void *bytes, uint64_t n,
                                   const tfr_node_view *node, const tfr_value *inputs,
                                   uint32_t n_inputs, tfr_value *outputs, uint32_t n_outputs,
                                   tfr_err *err)
{
    tfr__onnx_model model;
    unsigned char *copy;
    tfr_status status = read_function(bytes, n, node->op, &model, &copy, err);
    if (!status)
        status = inline_function(&model, graph, node, inputs, n_inputs, outputs, n_outputs, err);
    tfr__onnx_model_finish(&model);
    free(copy);
    if (status)
        (void)tfr__prefix(err, status, "the function of %s of domain %s: ", node->op, node->domain);
    return status;
}

/* Into the caller's graph and types; what it counts goes on in the caller. */
static tfr_status inline_call(tfr__onnx_model *model, tfr__onnx_call *outer, tfr_err *err)
{
    tfr__onnx_source source = {.dense_bytes = TFR__DENSE_BYTES_MAX};
    tfr__onnx_import import = {.model = model,
                               .source = &source,
                               .subgraph = tfr__onnx_import_subgraph,
                               .n_inlined = outer->import->n_inlined,
                               .n_open = outer->import->n_open};
    tfr__onnx_scope scope = {.import = &import,
                             .builder = outer->builder,
                             .graph = model->graph,
                             .opsets = &model->opsets};
    tfr__onnx_call call = *outer;
    tfr_status status;
    call.import = &import;
    call.n_attrs = 0;
    status = tfr__onnx_inline(&scope, &model->functions[0], &call, err);
    outer->import->n_inlined = import.n_inlined;
    outer->done = call.done;
    while (import.n_held)
        tfr_tensor_release(import.held[--import.n_held].tensor);
    free(import.held);
    tfr__scratch_finish(&import.scratch);
    return status;
}

tfr_status tfr__onnx_inline_bytes(tfr__onnx_call *call, const void *bytes, uint64_t n, tfr_err *err)
{
    tfr__onnx_model model;
    unsigned char *copy;
    tfr_status status = read_function(bytes, n, call->op, &model, &copy, err);
    if (!status)
        status = inline_call(&model, call, err);
    tfr__onnx_model_finish(&model);
    free(copy);
    if (status)
        (void)tfr__prefix(err, status, "written out: ");
    return status;
}

/* The core, which reads no ONNX, writes ops out with it. */
__attribute__((constructor)) static void give_to_core(void)
{
    tfr_op_set_function_reader(tfr__onnx_call_function);
}
