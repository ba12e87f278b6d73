/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgrade_scan.c: Scan of opset 8 has a batch dim in front of everything and scans along the
 * second. Today's Scan has no batch, so one Scan walks over the batch, and inside it another one
 * over the sequence: every input of the old node is scanned by the outer one, every output stacked.
 */
#include <stdlib.h>
#include <string.h>

#include "onnx/call.h"
#include "prefix.h"

bool tfr__onnx_is_old_scan(const tfr__onnx_scope *scope, const tfr__onnx_node *node)
{
    return !node->domain.bytes && tfr__text_equal(node->op, "Scan") &&
           tfr__onnx_opset_of(scope->opsets, node->domain) == 8;
}

/* The inner Scan in a graph whose inputs and outputs are those of the old node for one batch. */
static tfr_status fill_middle(tfr__onnx_call *call, tfr_graph *middle, uint32_t n, tfr_err *err)
{
    tfr__scratch *scratch = &call->import->scratch;
    tfr_value_type any = {.size = sizeof any};
    tfr_value *inputs = tfr__scratch_take(scratch, n, sizeof *inputs);
    tfr_value *outputs = tfr__scratch_take(scratch, call->n_outputs, sizeof *outputs);
    tfr_node_desc inner = {.size = sizeof inner,
                           .n_inputs = n,
                           .n_outputs = call->n_outputs,
                           .n_attrs = call->n_attrs,
                           .n_subgraphs = call->n_subgraphs,
                           .op = "Scan",
                           .name = call->name,
                           .inputs = inputs,
                           .attrs = call->attrs,
                           .subgraphs = call->subgraphs};
    tfr_status status = TFR_OK;

    if (!inputs || !outputs)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for %u inputs", n);
    for (uint32_t i = 0; !status && i < n; i++)
        status = tfr_graph_add_input(middle, NULL, &any, &inputs[i], err);
    if (!status)
        status = tfr_graph_add_node(middle, &inner, outputs, err);
    if (status)
        return status;
    call->n_subgraphs = 0; /* the inner node has them */
    for (uint32_t i = 0; !status && i < call->n_outputs; i++)
        status = tfr_graph_add_output(middle, outputs[i], NULL, err);
    return status;
}

static tfr_status rewrite(tfr__onnx_call *call, tfr_graph *middle, tfr_err *err)
{
    tfr_attr directions;
    uint32_t n = call->n_inputs - 1; /* without sequence_lens */
    tfr_status status;

    if (call->n_inputs < 2)
        return tfr_fail(err, TFR_EMODEL, "Scan has %u inputs, it takes at least 2", call->n_inputs);
    if (call->inputs[0] != TFR_VALUE_NONE)
        return tfr_fail(err, TFR_EUNSUPPORTED, "input sequence_lens of Scan (opset 8)");
    if (tfr__call_take(call, "directions", &directions)) {
        directions.name = "scan_input_directions";
        call->attrs[call->n_attrs++] = directions;
    }
    status = fill_middle(call, middle, n, err);
    if (status)
        return status;
    memmove(call->inputs, call->inputs + 1, n * sizeof *call->inputs);
    call->n_inputs = n;
    call->n_attrs = 0;
    return tfr__call_set_int(call, "num_scan_inputs", n, err);
}

tfr_status tfr__onnx_import_old_scan(tfr__onnx_scope *scope, const tfr__onnx_node *node,
                                     tfr__onnx_call *call, tfr_err *err)
{
    const tfr__onnx_graph no_names = {.name = {"", 0}};
    tfr__onnx_builder builder = {.outer = scope->builder};
    tfr__onnx_scope middle = {.import = scope->import,
                              .builder = &builder,
                              .graph = &no_names,
                              .outer = scope,
                              .opsets = scope->opsets,
                              .frame = scope->frame};
    tfr_status status = tfr_graph_create_child(scope->builder->graph, "batch", &builder.graph, err);

    if (!status)
        status = tfr__onnx_import_attrs(&middle, node, call, err);
    if (!status)
        status = rewrite(call, builder.graph, err);
    /* The body of the old node is a child of the middle graph and goes before it. */
    while (call->n_subgraphs)
        tfr_graph_release(call->subgraphs[--call->n_subgraphs].graph);
    tfr__onnx_scope_finish(&middle);
    tfr__onnx_builder_finish(&builder);
    if (status) {
        tfr_graph_release(builder.graph);
        return status;
    }
    call->subgraphs[0].name = "body";
    call->subgraphs[0].graph = builder.graph;
    call->n_subgraphs = 1;
    return TFR_OK;
}
