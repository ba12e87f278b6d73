/* SPDX-License-Identifier: Apache-2.0 */
/* model.c: the first reading of ModelProto, GraphProto and FunctionProto. */
#include <string.h>
#include <tfrun/fail.h>
#include <tfrun/onnx.h>

#include "onnx/model.h"
#include "onnx/tensor.h"
#include "prefix.h"

/* ---- names of a graph ------------------------------------------------------------------------ */

static tfr_status fail_twice(const tfr__onnx_graph *graph, tfr__text name, uint32_t label,
                             tfr__onnx_maker second, tfr_err *err)
{
    char quoted[TFR__QUOTE_BYTES], titles[2][TFR__TITLE_BYTES];
    tfr__onnx_maker makers[2] = {graph->makers[label], second};

    for (int i = 0; i < 2; i++) {
        if (makers[i].origin == TFR__ONNX_NODE)
            tfr__onnx_node_title(&graph->nodes[makers[i].index], titles[i]);
        else
            snprintf(titles[i], TFR__TITLE_BYTES, "%s %u",
                     makers[i].origin == TFR__ONNX_INPUT ? "input" : "initializer",
                     makers[i].index);
    }
    return tfr_fail(err, TFR_EMODEL, "value %s is made twice: by %s and by %s",
                    tfr__text_quote(name, quoted, sizeof quoted), titles[0], titles[1]);
}

static tfr_status add_maker(tfr__onnx_graph *graph, tfr__text name, tfr__onnx_origin origin,
                            uint32_t index, tfr_err *err)
{
    tfr__onnx_maker maker = {origin, index};
    uint32_t label;
    bool is_new;
    tfr_status status = tfr__labels_add(&graph->labels, name, &label, &is_new, err);

    if (status)
        return status;
    /* Before IR version 4 every initializer is an input, too; since then it may be a default. */
    if (!is_new &&
        !(origin == TFR__ONNX_INITIALIZER && graph->makers[label].origin == TFR__ONNX_INPUT))
        return fail_twice(graph, name, label, maker, err);
    graph->makers[label] = maker;
    return TFR_OK;
}

static tfr_status number_names(tfr__onnx_model *model, tfr__onnx_graph *graph, tfr_err *err)
{
    size_t most = (size_t)graph->n_inputs + graph->n_initializers;
    tfr_status status = TFR_OK;

    for (uint32_t i = 0; i < graph->n_nodes; i++)
        most += graph->nodes[i].n_outputs;
    graph->makers = tfr__scratch_take(&model->scratch, most, sizeof *graph->makers);
    if (!graph->makers)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for %zu names", most);
    for (uint32_t i = 0; !status && i < graph->n_inputs; i++)
        status = add_maker(graph, graph->inputs[i].name, TFR__ONNX_INPUT, i, err);
    for (uint32_t i = 0; !status && i < graph->n_initializers; i++)
        status = add_maker(graph, graph->initializers[i].name, TFR__ONNX_INITIALIZER, i, err);
    for (uint32_t i = 0; !status && i < graph->n_nodes; i++)
        for (uint32_t k = 0; !status && k < graph->nodes[i].n_outputs; k++)
            if (graph->nodes[i].outputs[k].bytes)
                status = add_maker(graph, graph->nodes[i].outputs[k], TFR__ONNX_NODE, i, err);
    return status;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static tfr_status fail_name(const tfr__wire *wire, const tfr__wire_field *field, tfr_err *err)
{
    return tfr_fail(err, TFR_EMODEL, "byte %zu: the name in %s.%s is missing or has a zero byte",
                    field->offset, wire->message->name, field->name);
}

static bool is_name(tfr__text text)
{
    return text.bytes && !memchr(text.data, 0, text.bytes);
}

static tfr_status read_value(const tfr__wire *wire, const tfr__wire_field *field,
                             tfr__onnx_value *out, tfr_err *err)
{
    tfr__wire inner;
    tfr__wire_field inside;
    tfr_status status = tfr__wire_enter(wire, field, &tfr__onnx_value_info_message, &inner, err);

    out->name.data = "";
    while (!status && !(status = tfr__wire_next(&inner, &inside, err)) && inside.number) {
        if (inside.number == TFR__VALUE_INFO_NAME)
            out->name = inside.text;
        if (inside.number == TFR__VALUE_INFO_TYPE) {
            out->has_type = true;
            status = tfr__wire_enter(&inner, &inside, &tfr__onnx_type_message, &out->type, err);
        }
    }
    if (!status && !is_name(out->name))
        status = fail_name(wire, field, err);
    return status;
}

/* The name of a SparseTensorProto is that of its values. */
static tfr_status read_initializer(const tfr__wire *wire, const tfr__wire_field *field,
                                   tfr__onnx_initializer *out, tfr_err *err)
{
    tfr__wire_field inside;
    tfr__wire sparse, values;
    tfr_status status;

    out->sparse = field->number == TFR__GRAPH_SPARSE_INITIALIZER;
    status = tfr__wire_enter(wire, field,
                             out->sparse ? &tfr__onnx_sparse_message : &tfr__onnx_tensor_message,
                             &out->wire, err);
    if (status)
        return status;
    values = sparse = out->wire;
    if (out->sparse)
        values.end = values.at; /* no values, no name */
    while (out->sparse && !(status = tfr__wire_next(&sparse, &inside, err)) && inside.number)
        if (inside.number == TFR__SPARSE_VALUES &&
            (status = tfr__wire_enter(&sparse, &inside, &tfr__onnx_tensor_message, &values, err)))
            break;
    if (status)
        return status;
    out->name = tfr__onnx_tensor_name(values);
    return is_name(out->name) ? TFR_OK : fail_name(wire, field, err);
}

static tfr_status read_graph_node(tfr__onnx_model *model, tfr__onnx_graph *graph,
                                  const tfr__wire *wire, const tfr__wire_field *field, tfr_err *err)
{
    tfr__onnx_node *node = &graph->nodes[graph->n_nodes];
    tfr__wire inner;
    tfr_status status = tfr__wire_enter(wire, field, &tfr__onnx_node_message, &inner, err);

    node->index = graph->n_nodes++;
    return status ? status : tfr__onnx_read_node(model, inner, node, err);
}

static tfr_status read_graph_field(tfr__onnx_model *model, tfr__onnx_graph *graph,
                                   const tfr__wire *wire, const tfr__wire_field *field,
                                   tfr_err *err)
{
    switch (field->number) {
    case TFR__GRAPH_NAME:
        graph->name = field->text;
        return TFR_OK;
    case TFR__GRAPH_NODE:
        return read_graph_node(model, graph, wire, field, err);
    case TFR__GRAPH_INPUT:
        return read_value(wire, field, &graph->inputs[graph->n_inputs++], err);
    case TFR__GRAPH_OUTPUT:
        return read_value(wire, field, &graph->outputs[graph->n_outputs++], err);
    case TFR__GRAPH_VALUE_INFO:
        return read_value(wire, field, &graph->infos[graph->n_infos++], err);
    case TFR__GRAPH_INITIALIZER:
    case TFR__GRAPH_SPARSE_INITIALIZER:
        return read_initializer(wire, field, &graph->initializers[graph->n_initializers++], err);
    default:
        return TFR_OK;
    }
}

/* The same for FunctionProto, whose inputs and outputs are plain names. */
static tfr_status read_body_field(tfr__onnx_model *model, tfr__onnx_graph *graph,
                                  const tfr__wire *wire, const tfr__wire_field *field, tfr_err *err)
{
    switch (field->number) {
    case TFR__FUNCTION_NAME:
        graph->name = field->text;
        return TFR_OK;
    case TFR__FUNCTION_NODE:
        return read_graph_node(model, graph, wire, field, err);
    case TFR__FUNCTION_INPUT:
        graph->inputs[graph->n_inputs++].name = field->text;
        return is_name(field->text) ? TFR_OK : fail_name(wire, field, err);
    case TFR__FUNCTION_OUTPUT:
        graph->outputs[graph->n_outputs++].name = field->text;
        return is_name(field->text) ? TFR_OK : fail_name(wire, field, err);
    case TFR__FUNCTION_VALUE_INFO:
        return read_value(wire, field, &graph->infos[graph->n_infos++], err);
    default:
        return TFR_OK;
    }
}

tfr_status tfr__onnx_read_graph(tfr__onnx_model *model, tfr__wire wire, tfr__onnx_graph **out,
                                tfr_err *err)
{
    bool is_function = wire.message == &tfr__onnx_function_message;
    size_t counts[(int)TFR__FUNCTION_END + (int)TFR__GRAPH_END] = {0}; /* room for both */
    tfr__scratch *scratch = &model->scratch;
    tfr__onnx_graph *graph = tfr__scratch_take(scratch, 1, sizeof *graph);
    tfr__wire again = wire;
    tfr__wire_field field;
    tfr_status status;

    if (!graph)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for a graph");
    graph->name.data = "";
    graph->next = model->graphs;
    model->graphs = graph;
    while (!(status = tfr__wire_next(&wire, &field, err)) && field.number)
        if (field.number < wire.message->n_fields)
            counts[field.number]++;
    if (status)
        return status;
    graph->nodes = tfr__scratch_take(
        scratch, counts[is_function ? TFR__FUNCTION_NODE : TFR__GRAPH_NODE], sizeof *graph->nodes);
    graph->inputs =
        tfr__scratch_take(scratch, counts[is_function ? TFR__FUNCTION_INPUT : TFR__GRAPH_INPUT],
                          sizeof *graph->inputs);
    graph->outputs =
        tfr__scratch_take(scratch, counts[is_function ? TFR__FUNCTION_OUTPUT : TFR__GRAPH_OUTPUT],
                          sizeof *graph->outputs);
    graph->infos = tfr__scratch_take(
        scratch, counts[is_function ? TFR__FUNCTION_VALUE_INFO : TFR__GRAPH_VALUE_INFO],
        sizeof *graph->infos);
    graph->initializers = tfr__scratch_take(
        scratch,
        is_function ? 0 : counts[TFR__GRAPH_INITIALIZER] + counts[TFR__GRAPH_SPARSE_INITIALIZER],
        sizeof *graph->initializers);
    if (!graph->nodes || !graph->inputs || !graph->outputs || !graph->infos || !graph->initializers)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for the nodes of a graph");
    while (!(status = tfr__wire_next(&again, &field, err)) && field.number) {
        status = is_function ? read_body_field(model, graph, &again, &field, err)
                             : read_graph_field(model, graph, &again, &field, err);
        if (status)
            return status;
    }
    if (!status)
        status = number_names(model, graph, err);
    if (!status)
        status = tfr__onnx_order(graph, scratch, err);
    if (!status)
        *out = graph;
    return status;
}

/* ---- functions ------------------------------------------------------------------------------- */

static tfr_status read_opset(const tfr__wire *wire, const tfr__wire_field *field,
                             tfr__onnx_opset *out, tfr_err *err)
{
    tfr__wire inner;
    tfr__wire_field inside;
    tfr_status status = tfr__wire_enter(wire, field, &tfr__onnx_opset_message, &inner, err);
    char quoted[TFR__QUOTE_BYTES];

    out->domain.data = "";
    while (!status && !(status = tfr__wire_next(&inner, &inside, err)) && inside.number) {
        if (inside.number == TFR__OPSET_DOMAIN && !tfr__text_equal(inside.text, "ai.onnx"))
            out->domain = inside.text;
        if (inside.number == TFR__OPSET_VERSION)
            out->version = (int64_t)inside.value;
    }
    if (!status && (out->version < 1 || out->version > INT32_MAX))
        status = tfr_fail(err, TFR_EMODEL,
                          "byte %zu: opset_import of domain %s has version %lld, it must be 1 or "
                          "more",
                          field->offset, tfr__text_quote(out->domain, quoted, sizeof quoted),
                          (long long)out->version);
    return status;
}

/* One text out of the three that name a function; a zero byte parts them, for no name has one. */
static tfr__text function_key(tfr__scratch *scratch, tfr__text domain, tfr__text name,
                              tfr__text overload)
{
    tfr__text key = {NULL, domain.bytes + name.bytes + overload.bytes + 2};
    char *data = tfr__scratch_take(scratch, key.bytes, 1);
    if (!data)
        return key;
    memcpy(data, domain.data, domain.bytes);
    memcpy(data + domain.bytes + 1, name.data, name.bytes);
    memcpy(data + domain.bytes + name.bytes + 2, overload.data, overload.bytes);
    key.data = data;
    return key;
}

static tfr_status read_function_field(tfr__onnx_model *model, tfr__onnx_function *function,
                                      const tfr__wire *wire, const tfr__wire_field *field,
                                      tfr_err *err)
{
    tfr__wire inner;
    tfr_status status = TFR_OK;

    switch (field->number) {
    case TFR__FUNCTION_NAME:
        function->name = field->text;
        break;
    case TFR__FUNCTION_DOMAIN:
        function->domain = field->text;
        if (tfr__text_equal(field->text, "ai.onnx"))
            function->domain.bytes = 0;
        break;
    case TFR__FUNCTION_OVERLOAD:
        function->overload = field->text;
        break;
    case TFR__FUNCTION_OPSET_IMPORT:
        status = read_opset(wire, field, &function->opsets.items[function->opsets.n++], err);
        break;
    case TFR__FUNCTION_ATTRIBUTE_PROTO:
        status = tfr__wire_enter(wire, field, &tfr__onnx_attr_message, &inner, err);
        if (!status)
            status =
                tfr__onnx_read_attr(model, inner, &function->defaults[function->n_defaults++], err);
        break;
    default:
        break;
    }
    return status;
}

static tfr_status read_function(tfr__onnx_model *model, tfr__wire wire, tfr_err *err)
{
    tfr__onnx_function *function = &model->functions[model->n_functions++];
    size_t counts[TFR__FUNCTION_END] = {0};
    tfr__wire again = wire, whole = wire;
    char quoted[TFR__QUOTE_BYTES];
    tfr__wire_field field;
    tfr__text key;
    uint32_t number;
    bool is_new;
    tfr_status status;

    function->name.data = function->domain.data = function->overload.data = "";
    while (!(status = tfr__wire_next(&wire, &field, err)) && field.number)
        if (field.number < TFR__FUNCTION_END)
            counts[field.number]++;
    if (status)
        return status;
    function->opsets.items = tfr__scratch_take(&model->scratch, counts[TFR__FUNCTION_OPSET_IMPORT],
                                               sizeof *function->opsets.items);
    function->defaults = tfr__scratch_take(&model->scratch, counts[TFR__FUNCTION_ATTRIBUTE_PROTO],
                                           sizeof *function->defaults);
    if (!function->opsets.items || !function->defaults)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for a function");
    while (!(status = tfr__wire_next(&again, &field, err)) && field.number)
        if ((status = read_function_field(model, function, &again, &field, err)))
            return status;
    if (!is_name(function->name))
        return tfr_fail(err, TFR_EMODEL, "function %u has no name", model->n_functions - 1);
    tfr__text_quote(function->name, quoted, sizeof quoted);
    key = function_key(&model->scratch, function->domain, function->name, function->overload);
    if (!key.data)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for function %s", quoted);
    status = tfr__labels_add(&model->function_keys, key, &number, &is_new, err);
    if (!status && !is_new)
        status = tfr_fail(err, TFR_EMODEL, "function %s is there twice", quoted);
    if (!status && (status = tfr__onnx_read_graph(model, whole, &function->body, err)))
        (void)tfr__prefix(err, status, "function %s: ", quoted);
    return status;
}

tfr__onnx_function *tfr__onnx_find_function(const tfr__onnx_model *model, tfr__text domain,
                                            tfr__text name, tfr__text overload)
{
    tfr__scratch scratch = {NULL};
    tfr__text key;
    uint32_t number = TFR__LABEL_NONE;

    if (!model->n_functions)
        return NULL;
    key = function_key(&scratch, domain, name, overload);
    if (key.data)
        number = tfr__labels_find(&model->function_keys, key);
    tfr__scratch_finish(&scratch);
    return number == TFR__LABEL_NONE ? NULL : &model->functions[number];
}

/* ---- the model ------------------------------------------------------------------------------- */

int64_t tfr__onnx_opset_of(const tfr__onnx_opsets *opsets, tfr__text domain)
{
    for (uint32_t i = 0; i < opsets->n; i++)
        if (opsets->items[i].domain.bytes == domain.bytes &&
            memcmp(opsets->items[i].domain.data, domain.data, domain.bytes) == 0)
            return opsets->items[i].version;
    return 0;
}

static tfr_status read_model_field(tfr__onnx_model *model, const tfr__wire *wire,
                                   const tfr__wire_field *field, tfr_err *err)
{
    tfr__wire inner;
    tfr_status status;

    switch (field->number) {
    case TFR__MODEL_IR_VERSION:
        model->ir_version = (int64_t)field->value;
        return TFR_OK;
    case TFR__MODEL_OPSET_IMPORT:
        return read_opset(wire, field, &model->opsets.items[model->opsets.n++], err);
    case TFR__MODEL_GRAPH:
        if (model->graph)
            return tfr_fail(err, TFR_EMODEL, "byte %zu: ModelProto.graph is there twice",
                            field->offset);
        status = tfr__wire_enter(wire, field, &tfr__onnx_graph_message, &inner, err);
        return status ? status : tfr__onnx_read_graph(model, inner, &model->graph, err);
    case TFR__MODEL_FUNCTIONS:
        status = tfr__wire_enter(wire, field, &tfr__onnx_function_message, &inner, err);
        return status ? status : read_function(model, inner, err);
    default:
        return TFR_OK;
    }
}

/* Room for what the model lists. */
static tfr_status start_model(const void *bytes, size_t n, tfr__onnx_model *model, tfr_err *err)
{
    size_t counts[TFR__MODEL_END] = {0};
    tfr__wire wire;
    tfr__wire_field field;
    tfr_status status;

    memset(model, 0, sizeof *model);
    tfr__wire_open(&wire, &tfr__onnx_model_message, bytes, n);
    while (!(status = tfr__wire_next(&wire, &field, err)) && field.number)
        if (field.number < TFR__MODEL_END)
            counts[field.number]++;
    if (status)
        return status;
    /* Domains are looked up by walking the list. */
    if (counts[TFR__MODEL_OPSET_IMPORT] > TFR_ONNX_MAX_OPSETS)
        return tfr_fail(err, TFR_EMODEL, "ModelProto.opset_import has %zu domains, the limit is %d",
                        counts[TFR__MODEL_OPSET_IMPORT], TFR_ONNX_MAX_OPSETS);
    model->opsets.items = tfr__scratch_take(&model->scratch, counts[TFR__MODEL_OPSET_IMPORT],
                                            sizeof *model->opsets.items);
    model->functions =
        tfr__scratch_take(&model->scratch, counts[TFR__MODEL_FUNCTIONS], sizeof *model->functions);
    if (!model->opsets.items || !model->functions)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for the model");
    return TFR_OK;
}

/* What is not of the header: graphs. */
static bool holds_graph(uint32_t field)
{
    return field == TFR__MODEL_GRAPH || field == TFR__MODEL_FUNCTIONS;
}

static tfr_status read_fields(const void *bytes, size_t n, bool header_only, tfr__onnx_model *model,
                              tfr_err *err)
{
    tfr__wire wire;
    tfr__wire_field field;
    tfr_status status = start_model(bytes, n, model, err);

    if (status)
        return status;
    tfr__wire_open(&wire, &tfr__onnx_model_message, bytes, n);
    while (!(status = tfr__wire_next(&wire, &field, err)) && field.number)
        if (!(header_only && holds_graph(field.number)) &&
            (status = read_model_field(model, &wire, &field, err)))
            return status;
    return status;
}

tfr_status tfr__onnx_read_header(const void *bytes, size_t n, tfr__onnx_model *model, tfr_err *err)
{
    return read_fields(bytes, n, true, model, err);
}

tfr_status tfr__onnx_read_model(const void *bytes, size_t n, tfr__onnx_model *model, tfr_err *err)
{
    tfr_status status = read_fields(bytes, n, false, model, err);
    if (!status && !model->graph)
        status = tfr_fail(err, TFR_EMODEL, "ModelProto.graph is missing");
    return status;
}

void tfr__onnx_model_finish(tfr__onnx_model *model)
{
    for (tfr__onnx_graph *graph = model->graphs; graph; graph = graph->next)
        tfr__labels_finish(&graph->labels);
    tfr__labels_finish(&model->function_keys);
    tfr__scratch_finish(&model->scratch);
}
