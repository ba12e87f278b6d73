/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import.c: builds a tfr_graph from the parsed graphs, node by node. Initializers are
 * constants, also those that are inputs as well (before IR version 4 all had to be; since then they
 * are defaults): such an input is not one of the graph's.
 */
#include <stdlib.h>
#include <string.h>
#include <tfrun/op.h>

#include "onnx/import.h"
#include "onnx/type.h"
#include "prefix.h"

/* ---- nodes ----------------------------------------------------------------------------------- */

/* For errors and logs: the file's name, or the op and its number; inside functions, the caller's
 * name before it. */
static const char *node_name(const tfr__onnx_scope *scope, const tfr__onnx_node *node)
{
    const char *front = scope->frame ? scope->frame->name : "";
    size_t n = strlen(front) + node->name.bytes + node->op.bytes + 16;
    char *name = tfr__scratch_take(&scope->import->scratch, n, 1);

    if (!name)
        return NULL;
    if (node->name.bytes)
        snprintf(name, n, "%s%s%.*s", front, *front ? "/" : "", (int)node->name.bytes,
                 node->name.data);
    else
        snprintf(name, n, "%s%s%.*s_%u", front, *front ? "/" : "", (int)node->op.bytes,
                 node->op.data, node->index);
    return name;
}

/* The newest opset of a domain; those of others are not numbered against the op table. */
static int64_t newest_opset(tfr__text domain)
{
    static const char ml[] = "ai.onnx.ml";

    if (!domain.bytes)
        return TFR__ONNX_NEWEST_OPSET;
    if (domain.bytes == sizeof ml - 1 && memcmp(domain.data, ml, sizeof ml - 1) == 0)
        return TFR__ONNX_NEWEST_ML;
    return INT32_MAX;
}

static tfr_status find_version(const tfr__onnx_scope *scope, const tfr__onnx_node *node,
                               int32_t *out, tfr_err *err)
{
    int64_t version = tfr__onnx_opset_of(scope->opsets, node->domain), newest;
    char quoted[TFR__QUOTE_BYTES];

    /* Files of IR versions 1 and 2 may go without, and mean the first opset. */
    if (!version && !node->domain.bytes && scope->import->model->ir_version < 3)
        version = 1;
    if (!version)
        return tfr_fail(err, TFR_EMODEL, "its domain %s is not in opset_import",
                        tfr__text_quote(node->domain, quoted, sizeof quoted));
    newest = newest_opset(node->domain);
    if (version > newest)
        return tfr_fail(err, TFR_EMODEL,
                        "the model is of opset %lld%s, the newest that tfrun knows is %lld; "
                        "convert it to an older one",
                        (long long)version, node->domain.bytes ? " of ai.onnx.ml" : "",
                        (long long)newest);
    *out = (int32_t)version;
    return TFR_OK;
}

static tfr_status start_call(tfr__onnx_scope *scope, const tfr__onnx_node *node,
                             tfr__onnx_call *call, tfr_err *err)
{
    tfr__scratch *scratch = &scope->import->scratch;
    uint32_t n_inputs = node->n_inputs;
    tfr_status status = TFR_OK;

    memset(call, 0, sizeof *call);
    call->import = scope->import;
    call->builder = scope->builder;
    call->op = tfr__scratch_text(scratch, node->op);
    call->domain = tfr__scratch_text(scratch, node->domain);
    call->name = node_name(scope, node);
    call->inputs_capacity = node->n_inputs + 8; /* upgrades add some */
    call->inputs = tfr__scratch_take(scratch, call->inputs_capacity, sizeof *call->inputs);
    call->outputs = tfr__scratch_take(scratch, node->n_outputs, sizeof *call->outputs);
    call->results = tfr__scratch_take(scratch, node->n_outputs, sizeof *call->results);
    if (!call->op || !call->domain || !call->name || !call->inputs || !call->outputs ||
        !call->results)
        return tfr_fail(err, TFR_ENOMEM, "out of memory");
    /* Absent operands at the end are as good as none. */
    while (n_inputs && !node->inputs[n_inputs - 1].bytes)
        n_inputs--;
    for (uint32_t i = 0; !status && i < n_inputs; i++) {
        call->inputs[i] = TFR_VALUE_NONE;
        if (node->inputs[i].bytes &&
            (status = tfr__onnx_resolve(scope, node->inputs[i], &call->inputs[i], err)))
            (void)tfr__prefix(err, status, "input %u: ", i);
    }
    while (n_inputs && !status && call->inputs[n_inputs - 1] == TFR_VALUE_NONE)
        n_inputs--;
    call->n_inputs = n_inputs;
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        /* Names inside a function may be those of the caller, so they are made up. */
        call->outputs[i] = tfr__onnx_is_inlined(scope) && node->outputs[i].bytes
                               ? NULL
                               : tfr__scratch_text(scratch, node->outputs[i]);
        if (!call->outputs[i] && !scope->frame)
            return tfr_fail(err, TFR_ENOMEM, "out of memory");
    }
    call->n_outputs = node->n_outputs;
    return status;
}

static tfr_status import_constant(tfr__onnx_call *call, tfr_err *err)
{
    tfr_tensor *tensor;
    tfr_status status;

    if (call->n_inputs || call->n_outputs != 1)
        return tfr_fail(err, TFR_EMODEL, "it has %u inputs and %u outputs, a constant has 0 and 1",
                        call->n_inputs, call->n_outputs);
    status = tfr__onnx_constant_value(call, &tensor, err);
    if (status)
        return status;
    status = tfr_graph_add_constant(call->builder->graph, call->outputs[0], tensor,
                                    &call->results[0], err);
    tfr_tensor_release(tensor);
    call->done = true;
    return status;
}

static tfr_status finish_call(tfr__onnx_scope *scope, const tfr__onnx_node *node,
                              tfr__onnx_call *call, tfr_err *err)
{
    tfr__onnx_function *function =
        tfr__onnx_find_function(call->import->model, node->domain, node->op, node->overload);
    tfr_status status;

    if (function)
        return tfr__onnx_inline(scope, function, call, err);
    status = find_version(scope, node, &call->version, err);
    if (status)
        return status;
    if (!*call->domain && strcmp(call->op, "Constant") == 0)
        return import_constant(call, err);
    if (strcmp(call->op, "Gradient") == 0 && strcmp(call->domain, "ai.onnx.preview.training") == 0)
        return tfr__onnx_import_gradient(scope, call, err);
    if (strcmp(call->op, "FlexAttention") == 0 && strcmp(call->domain, "ai.onnx.preview") == 0)
        return tfr__onnx_import_flex_attention(scope, node, call, err);
    status = tfr__onnx_upgrade(call, err);
    if (!status && !call->done)
        status = tfr__onnx_write_out(call, err);
    /* Types that are missing for want of memory would make another graph. */
    for (const tfr__onnx_builder *b = call->builder; b; b = b->outer)
        if (b->out_of_memory)
            return tfr_fail(err, TFR_ENOMEM, "out of memory for the types of values");
    return status || call->done ? status : tfr__onnx_emit(call, err);
}

static tfr_status import_node(tfr__onnx_scope *scope, const tfr__onnx_node *node, tfr_err *err)
{
    tfr__onnx_import *import = scope->import;
    tfr__scratch_mark mark = tfr__scratch_now(&import->scratch);
    uint32_t held = import->n_held;
    tfr__onnx_call call;
    char title[TFR__TITLE_BYTES];
    tfr_status status = start_call(scope, node, &call, err);

    if (!status && tfr__onnx_is_old_scan(scope, node))
        status = tfr__onnx_import_old_scan(scope, node, &call, err);
    else if (!status)
        status = tfr__onnx_import_attrs(scope, node, &call, err);
    if (!status)
        status = finish_call(scope, node, &call, err);
    for (uint32_t i = 0; !status && i < node->n_outputs; i++)
        if (node->outputs[i].bytes)
            status = tfr__onnx_define(scope, node->outputs[i], call.results[i], err);
    if (status)
        (void)tfr__prefix(err, status, "%s: ", tfr__onnx_node_title(node, title));
    /* Those that no node has taken over. */
    for (uint32_t i = 0; i < call.n_subgraphs; i++)
        tfr_graph_release(call.subgraphs[i].graph);
    while (import->n_held > held)
        tfr_tensor_release(import->held[--import->n_held].tensor);
    tfr__scratch_back_to(&import->scratch, mark);
    return status;
}

tfr_status tfr__onnx_import_nodes(tfr__onnx_scope *scope, tfr_err *err)
{
    const tfr__onnx_graph *graph = scope->graph;
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < graph->n_nodes; i++)
        status = import_node(scope, &graph->nodes[graph->order ? graph->order[i] : i], err);
    return status;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static tfr_status import_input(tfr__onnx_scope *scope, const tfr__onnx_value *input, tfr_err *err)
{
    uint32_t label = tfr__labels_find(&scope->graph->labels, input->name);
    tfr__scratch_mark mark = tfr__scratch_now(&scope->import->scratch);
    tfr_value_type type = {.size = sizeof type};
    tfr_value value;
    char *name, quoted[TFR__QUOTE_BYTES];
    tfr_status status = TFR_OK;

    if (scope->graph->makers[label].origin == TFR__ONNX_INITIALIZER)
        return TFR_OK;
    if (input->has_type)
        status = tfr__onnx_read_type(input->type, scope->builder->graph, &type, err);
    name = tfr__scratch_text(&scope->import->scratch, input->name);
    if (!status && !name)
        status = tfr_fail(err, TFR_ENOMEM, "out of memory");
    if (!status)
        status = tfr_graph_add_input(scope->builder->graph, name, &type, &value, err);
    if (!status)
        status = tfr__onnx_define(scope, input->name, value, err);
    if (status)
        (void)tfr__prefix(err, status,
                          "input %s: ", tfr__text_quote(input->name, quoted, sizeof quoted));
    tfr__scratch_back_to(&scope->import->scratch, mark);
    return status;
}

tfr_status tfr__onnx_import_initializer(tfr__onnx_scope *scope, const tfr__onnx_initializer *init,
                                        tfr_err *err)
{
    tfr__scratch_mark mark = tfr__scratch_now(&scope->import->scratch);
    char *name = tfr__scratch_text(&scope->import->scratch, init->name);
    char quoted[TFR__QUOTE_BYTES];
    tfr_tensor *tensor = NULL;
    tfr_value value;
    tfr_status status;

    if (!name)
        status = tfr_fail(err, TFR_ENOMEM, "out of memory");
    else if (init->sparse)
        status = tfr__onnx_read_sparse(scope->import->source, init->wire, NULL, &tensor, err);
    else
        status = tfr__onnx_read_tensor(scope->import->source, init->wire, NULL, &tensor, err);
    if (!status)
        status = tfr_graph_add_constant(
            scope->builder->graph, tfr__onnx_is_inlined(scope) ? NULL : name, tensor, &value, err);
    if (!status)
        status = tfr__onnx_define(scope, init->name, value, err);
    if (status)
        (void)tfr__prefix(err, status,
                          "initializer %s: ", tfr__text_quote(init->name, quoted, sizeof quoted));
    tfr_tensor_release(tensor);
    tfr__scratch_back_to(&scope->import->scratch, mark);
    return status;
}

static tfr_status import_output(tfr__onnx_scope *scope, const tfr__onnx_value *output, tfr_err *err)
{
    tfr__scratch_mark mark = tfr__scratch_now(&scope->import->scratch);
    char *name = tfr__scratch_text(&scope->import->scratch, output->name);
    tfr_graph *graph = scope->builder->graph;
    tfr_value_type type = {.size = sizeof type};
    char quoted[TFR__QUOTE_BYTES];
    tfr_value value;
    tfr_status status = tfr__onnx_resolve(scope, output->name, &value, err);

    if (!status && !name)
        status = tfr_fail(err, TFR_ENOMEM, "out of memory");
    if (!status)
        status = tfr_graph_add_output(graph, value, name, err);
    /* Advice, too: a run finds the types by itself, but for loops that make no pass. */
    if (!status && output->has_type && !tfr__onnx_read_type(output->type, graph, &type, NULL))
        status = tfr_graph_declare_output(graph, tfr_graph_n_outputs(graph) - 1, &type, err);
    if (status)
        (void)tfr__prefix(err, status,
                          "output %s: ", tfr__text_quote(output->name, quoted, sizeof quoted));
    tfr__scratch_back_to(&scope->import->scratch, mark);
    return status;
}

tfr_status tfr__onnx_import_graph(tfr__onnx_scope *scope, tfr_err *err)
{
    const tfr__onnx_graph *graph = scope->graph;
    tfr_status status = tfr__onnx_scope_start(scope, err);

    for (uint32_t i = 0; !status && i < graph->n_inputs; i++)
        status = import_input(scope, &graph->inputs[i], err);
    for (uint32_t i = 0; !status && i < graph->n_initializers; i++)
        status = tfr__onnx_import_initializer(scope, &graph->initializers[i], err);
    if (!status)
        status = tfr__onnx_import_nodes(scope, err);
    for (uint32_t i = 0; !status && i < graph->n_outputs; i++)
        status = import_output(scope, &graph->outputs[i], err);
    return tfr__model_status(err, status);
}

tfr_status tfr__onnx_import_subgraph(tfr__onnx_scope *scope, const tfr__onnx_graph *graph,
                                     tfr_graph **out, tfr_err *err)
{
    tfr__onnx_builder builder = {.outer = scope->builder};
    tfr__onnx_scope child = {.import = scope->import,
                             .builder = &builder,
                             .graph = graph,
                             .outer = scope,
                             .opsets = scope->opsets,
                             .frame = scope->frame};
    char *name = tfr__scratch_text(&scope->import->scratch, graph->name);
    tfr_status status =
        name ? tfr_graph_create_child(scope->builder->graph, name, &builder.graph, err)
             : tfr_fail(err, TFR_ENOMEM, "out of memory");

    if (!status)
        status = tfr__onnx_import_graph(&child, err);
    tfr__onnx_scope_finish(&child);
    tfr__onnx_builder_finish(&builder);
    if (status)
        tfr_graph_release(builder.graph);
    else
        *out = builder.graph;
    return status;
}
