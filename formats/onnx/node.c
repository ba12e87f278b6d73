/* SPDX-License-Identifier: Apache-2.0 */
/* node.c: the first reading of NodeProto and AttributeProto. */
#include <string.h>
#include <tfrun/fail.h>

#include "onnx/model.h"

const char *tfr__onnx_node_title(const tfr__onnx_node *node, char *out)
{
    char name[TFR__QUOTE_BYTES], op[TFR__QUOTE_BYTES];
    size_t n;

    tfr__text_quote(node->op, op, sizeof op);
    n = strlen(op);
    op[n - 1] = 0; /* an op goes without quotes */
    if (node->name.bytes)
        snprintf(out, TFR__TITLE_BYTES, "node %s (%s)",
                 tfr__text_quote(node->name, name, sizeof name), op + 1);
    else
        snprintf(out, TFR__TITLE_BYTES, "node %u (%s)", node->index, op + 1);
    return out;
}

/* Names become C strings later, so a zero byte inside would make two names one. */
static tfr_status check_text(const tfr__wire *wire, const tfr__wire_field *field, tfr_err *err)
{
    if (field->text.bytes && memchr(field->text.data, 0, field->text.bytes))
        return tfr_fail(err, TFR_EMODEL, "byte %zu: %s.%s has a zero byte", field->offset,
                        wire->message->name, field->name);
    return TFR_OK;
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* The type that a field with a value stands for; 0 = not a value. */
static int32_t type_of_field(uint32_t number)
{
    static const int32_t types[TFR__ATTR_END] = {
        [TFR__ATTR_F] = TFR_ATTR_FLOAT,
        [TFR__ATTR_I] = TFR_ATTR_INT,
        [TFR__ATTR_S] = TFR_ATTR_STRING,
        [TFR__ATTR_T] = TFR_ATTR_TENSOR,
        [TFR__ATTR_G] = TFR_ATTR_GRAPH,
        [TFR__ATTR_FLOATS] = TFR_ATTR_FLOATS,
        [TFR__ATTR_INTS] = TFR_ATTR_INTS,
        [TFR__ATTR_STRINGS] = TFR_ATTR_STRINGS,
        [TFR__ATTR_TENSORS] = TFR__ONNX_ATTR_TENSORS,
        [TFR__ATTR_GRAPHS] = TFR__ONNX_ATTR_GRAPHS,
        [TFR__ATTR_TP] = TFR__ONNX_ATTR_TYPE,
        [TFR__ATTR_TYPE_PROTOS] = TFR__ONNX_ATTR_TYPES,
        [TFR__ATTR_SPARSE_TENSOR] = TFR__ONNX_ATTR_SPARSE,
        [TFR__ATTR_SPARSE_TENSORS] = TFR__ONNX_ATTR_SPARSES,
    };
    return number < TFR__ATTR_END ? types[number] : 0;
}

static bool is_single(int32_t type)
{
    return type <= TFR_ATTR_GRAPH || type == TFR__ONNX_ATTR_TYPE || type == TFR__ONNX_ATTR_SPARSE;
}

static tfr_status count_values(const tfr__wire *wire, const tfr__wire_field *field, uint32_t *n,
                               tfr_err *err)
{
    size_t more = 1;
    if (field->number == TFR__ATTR_FLOATS || field->number == TFR__ATTR_INTS) {
        tfr_status status = tfr__wire_count(wire, field, &more, err);
        if (status)
            return status;
    }
    if (more > UINT32_MAX / 2 - *n)
        return tfr_fail(err, TFR_EMODEL, "byte %zu: AttributeProto.%s has more than %u values",
                        field->offset, field->name, UINT32_MAX / 2);
    *n += (uint32_t)more;
    return TFR_OK;
}

tfr_status tfr__onnx_read_attr(tfr__onnx_model *model, tfr__wire wire, tfr__onnx_attr *out,
                               tfr_err *err)
{
    uint32_t counts[TFR__ATTR_END] = {0};
    int32_t guess = 0, type;
    tfr__wire_field field, graph = {0};
    tfr__wire inner;
    tfr_status status;

    out->wire = wire;
    out->name.data = out->ref.data = "";
    while (!(status = tfr__wire_next(&wire, &field, err)) && field.number) {
        if (field.number == TFR__ATTR_NAME || field.number == TFR__ATTR_REF_ATTR_NAME) {
            *(field.number == TFR__ATTR_NAME ? &out->name : &out->ref) = field.text;
            status = check_text(&wire, &field, err);
        } else if (field.number == TFR__ATTR_TYPE) {
            out->type = field.value <= TFR__ONNX_ATTR_TYPES ? (int32_t)field.value : -1;
        } else if ((type = type_of_field(field.number)) != 0) {
            guess = guess ? guess : type;
            graph = field.number == TFR__ATTR_G ? field : graph;
            status = count_values(&wire, &field, &counts[field.number], err);
        }
        if (status)
            return status;
    }
    if (status)
        return status;
    if (!out->name.bytes)
        return tfr_fail(err, TFR_EMODEL, "byte %zu: AttributeProto.name is missing",
                        tfr__wire_offset(&wire, out->wire.at));
    if (out->type == 0)
        out->type = guess; /* files of IR version 1 have no type */
    for (uint32_t i = 0; i < TFR__ATTR_END; i++)
        if (type_of_field(i) == out->type)
            out->n = counts[i];
    if (out->type <= 0 && !out->ref.bytes) {
        char quoted[TFR__QUOTE_BYTES];
        return tfr_fail(err, TFR_EMODEL, "byte %zu: attribute %s has no value of a known type",
                        tfr__wire_offset(&wire, out->wire.at),
                        tfr__text_quote(out->name, quoted, sizeof quoted));
    }
    if (is_single(out->type) && out->n > 1 && out->type != TFR_ATTR_GRAPH)
        out->n = 1; /* protobuf: the last one counts */
    if (out->type != TFR_ATTR_GRAPH || out->ref.bytes)
        return TFR_OK;
    if (out->n != 1)
        return tfr_fail(err, TFR_EMODEL, "byte %zu: an attribute of type GRAPH has %u graphs",
                        tfr__wire_offset(&wire, out->wire.at), out->n);
    status = tfr__wire_enter(&wire, &graph, &tfr__onnx_graph_message, &inner, err);
    return status ? status : tfr__onnx_read_graph(model, inner, &out->graph, err);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static tfr_status read_node_field(tfr__onnx_model *model, const tfr__wire *wire,
                                  const tfr__wire_field *field, tfr__onnx_node *node, tfr_err *err)
{
    tfr__wire inner;
    tfr_status status;

    switch (field->number) {
    case TFR__NODE_INPUT:
        node->inputs[node->n_inputs++] = field->text;
        break;
    case TFR__NODE_OUTPUT:
        node->outputs[node->n_outputs++] = field->text;
        break;
    case TFR__NODE_NAME:
        node->name = field->text;
        break;
    case TFR__NODE_OP_TYPE:
        node->op = field->text;
        break;
    case TFR__NODE_DOMAIN:
        node->domain = field->text;
        if (tfr__text_equal(field->text, "ai.onnx"))
            node->domain.bytes = 0;
        break;
    case TFR__NODE_OVERLOAD:
        node->overload = field->text;
        break;
    case TFR__NODE_ATTRIBUTE:
        status = tfr__wire_enter(wire, field, &tfr__onnx_attr_message, &inner, err);
        return status ? status
                      : tfr__onnx_read_attr(model, inner, &node->attrs[node->n_attrs++], err);
    default:
        return TFR_OK;
    }
    return check_text(wire, field, err);
}

/* Compares each attribute with all others: no op has many, and a limit keeps it so. */
static tfr_status check_attr_names(const tfr__onnx_node *node, tfr_err *err)
{
    char title[TFR__TITLE_BYTES], quoted[TFR__QUOTE_BYTES];

    if (node->n_attrs > 256)
        return tfr_fail(err, TFR_EMODEL, "%s has %u attributes, the limit is 256",
                        tfr__onnx_node_title(node, title), node->n_attrs);
    for (uint32_t i = 0; i < node->n_attrs; i++)
        for (uint32_t k = 0; k < i; k++)
            if (node->attrs[i].name.bytes == node->attrs[k].name.bytes &&
                memcmp(node->attrs[i].name.data, node->attrs[k].name.data,
                       node->attrs[i].name.bytes) == 0)
                return tfr_fail(err, TFR_EMODEL, "%s has attribute %s twice",
                                tfr__onnx_node_title(node, title),
                                tfr__text_quote(node->attrs[i].name, quoted, sizeof quoted));
    return TFR_OK;
}

tfr_status tfr__onnx_read_node(tfr__onnx_model *model, tfr__wire wire, tfr__onnx_node *node,
                               tfr_err *err)
{
    size_t counts[TFR__NODE_END] = {0}, offset = tfr__wire_offset(&wire, wire.at);
    tfr__wire again = wire;
    tfr__wire_field field;
    tfr_status status;

    node->op.data = node->domain.data = node->name.data = node->overload.data = "";
    while (!(status = tfr__wire_next(&wire, &field, err)) && field.number)
        if (field.number < TFR__NODE_END)
            counts[field.number]++;
    if (status)
        return status;
    node->inputs =
        tfr__scratch_take(&model->scratch, counts[TFR__NODE_INPUT], sizeof *node->inputs);
    node->outputs =
        tfr__scratch_take(&model->scratch, counts[TFR__NODE_OUTPUT], sizeof *node->outputs);
    node->attrs =
        tfr__scratch_take(&model->scratch, counts[TFR__NODE_ATTRIBUTE], sizeof *node->attrs);
    if (!node->inputs || !node->outputs || !node->attrs)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for node %u", node->index);
    while (!(status = tfr__wire_next(&again, &field, err)) && field.number)
        if ((status = read_node_field(model, &again, &field, node, err)))
            return status;
    if (!node->op.bytes)
        return tfr_fail(err, TFR_EMODEL, "byte %zu: NodeProto.op_type of node %u is missing",
                        offset, node->index);
    return check_attr_names(node, err);
}
