/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function.c: functions that a model defines itself. A call is replaced by the function's
 * nodes while the model is read, so that neither the graph nor a backend knows functions. How deep
 * calls may go and how many nodes may come out is limited, for doubling is easy to write.
 */
#include <string.h>
#include <tfrun/fail.h>

#include "onnx/import.h"
#include "prefix.h"

enum { DEPTH_MAX = 32, NODES_MAX = 1 << 18 };

/* The attributes of the call, and the defaults for those that it leaves out. */
static tfr_status fill_frame(const tfr__onnx_function *function, const tfr__onnx_call *call,
                             tfr__onnx_frame *frame, tfr_err *err)
{
    uint32_t n = call->n_attrs;
    tfr_attr *attrs =
        tfr__scratch_take(&call->import->scratch, (size_t)n + function->n_defaults, sizeof *attrs);

    if (!attrs)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for attributes");
    if (n)
        memcpy(attrs, call->attrs, n * sizeof *attrs);
    for (uint32_t i = 0; i < function->n_defaults; i++) {
        const tfr__onnx_attr *value = &function->defaults[i];
        bool given = false;
        tfr_status status;
        for (uint32_t k = 0; k < call->n_attrs; k++)
            given = given || tfr__text_equal(value->name, call->attrs[k].name);
        if (given)
            continue;
        if (value->graph)
            return tfr_fail(err, TFR_EUNSUPPORTED, "a graph as a function's default attribute");
        status = tfr__onnx_import_attr(call->import, value, &attrs[n], err);
        if (status)
            return status;
        n++;
    }
    frame->attrs = attrs;
    frame->n_attrs = n;
    frame->name = call->name;
    return TFR_OK;
}

static tfr_status check_call(const tfr__onnx_function *function, const tfr__onnx_call *call,
                             tfr_err *err)
{
    const tfr__onnx_import *import = call->import;

    if (function->open)
        return tfr_fail(err, TFR_EMODEL, "function \"%.80s\" calls itself", call->op);
    if (import->n_open == DEPTH_MAX)
        return tfr_fail(err, TFR_EMODEL, "functions call each other more than %d deep", DEPTH_MAX);
    if (import->n_inlined + function->body->n_nodes > NODES_MAX)
        return tfr_fail(err, TFR_EMODEL, "the functions of the model unfold to more than %d nodes",
                        NODES_MAX);
    if (call->n_inputs > function->body->n_inputs || call->n_outputs > function->body->n_outputs)
        return tfr_fail(
            err, TFR_EMODEL, "it has %u inputs and %u outputs, the function has %u and %u",
            call->n_inputs, call->n_outputs, function->body->n_inputs, function->body->n_outputs);
    if (call->n_subgraphs)
        return tfr_fail(err, TFR_EUNSUPPORTED, "a graph as an attribute of a function call");
    return TFR_OK;
}

static tfr_status inline_body(tfr__onnx_scope *body, const tfr__onnx_call *call, tfr_err *err)
{
    const tfr__onnx_graph *graph = body->graph;
    tfr_status status = tfr__onnx_scope_start(body, err);

    for (uint32_t i = 0; !status && i < call->n_inputs; i++)
        body->values[tfr__labels_find(&graph->labels, graph->inputs[i].name)] = call->inputs[i];
    if (!status)
        status = tfr__onnx_import_nodes(body, err);
    for (uint32_t i = 0; !status && i < call->n_outputs; i++) {
        status = tfr__onnx_resolve(body, graph->outputs[i].name, &call->results[i], err);
        if (!status && call->results[i] == TFR_VALUE_NONE)
            status = tfr_fail(err, TFR_EMODEL, "output %u is an input that was not given", i);
    }
    return status;
}

tfr_status tfr__onnx_inline(tfr__onnx_scope *scope, tfr__onnx_function *function,
                            tfr__onnx_call *call, tfr_err *err)
{
    tfr__onnx_import *import = scope->import;
    tfr__onnx_frame frame;
    tfr__onnx_scope body = {.import = import,
                            .builder = scope->builder,
                            .graph = function->body,
                            .opsets = &function->opsets,
                            .frame = &frame};
    tfr_status status = check_call(function, call, err);

    if (!status)
        status = fill_frame(function, call, &frame, err);
    if (status)
        return status;
    function->open = true;
    import->n_open++;
    import->n_inlined += function->body->n_nodes;
    status = inline_body(&body, call, err);
    import->n_open--;
    function->open = false;
    tfr__onnx_scope_finish(&body);
    call->done = true;
    return status;
}

tfr_status tfr__onnx_inline_graph(tfr__onnx_scope *scope, const tfr__onnx_graph *graph,
                                  const char *name, tfr_value *value, tfr_err *err)
{
    tfr__onnx_import *import = scope->import;
    const tfr__onnx_frame frame = {.attrs = scope->frame ? scope->frame->attrs : NULL,
                                   .n_attrs = scope->frame ? scope->frame->n_attrs : 0,
                                   .name = name};
    tfr__onnx_scope body = {.import = import,
                            .builder = scope->builder,
                            .graph = graph,
                            .outer = scope,
                            .opsets = scope->opsets,
                            .frame = &frame};
    tfr_status status;

    if (graph->n_inputs != 1 || graph->n_outputs != 1)
        return tfr_fail(err, TFR_EMODEL, "its graph has %u inputs and %u outputs, want one each",
                        graph->n_inputs, graph->n_outputs);
    if (import->n_inlined + graph->n_nodes > NODES_MAX)
        return tfr_fail(err, TFR_EMODEL, "the functions of the model unfold to more than %d nodes",
                        NODES_MAX);
    import->n_inlined += graph->n_nodes;
    status = tfr__onnx_scope_start(&body, err);
    if (!status)
        status = tfr__onnx_define(&body, graph->inputs[0].name, *value, err);
    for (uint32_t i = 0; !status && i < graph->n_initializers; i++)
        status = tfr__onnx_import_initializer(&body, &graph->initializers[i], err);
    if (!status)
        status = tfr__onnx_import_nodes(&body, err);
    if (!status)
        status = tfr__onnx_resolve(&body, graph->outputs[0].name, value, err);
    tfr__onnx_scope_finish(&body);
    if (!status && *value == TFR_VALUE_NONE)
        status = tfr_fail(err, TFR_EMODEL, "its output is a value that was not given");
    return status;
}
