/* SPDX-License-Identifier: Apache-2.0 */
/*
 * save_model.c: ModelProto and what is in it. Everything here runs twice, measuring and writing
 * (wire_out.h), and must do the same both times.
 */
#include <stdio.h>
#include <string.h>

#include "onnx/model.h"
#include "onnx/save.h"
#include "onnx/type.h"
#include "utf8.h"

static const char *text_or(const char *text, const char *other)
{
    size_t n;
    return text && *text && tfr__utf8_decode(text, strlen(text), NULL, &n) ? text : other;
}

static void put_graph(tfr__wire_out *out, tfr__onnx_save *save);

/* ---- attributes -------------------------------------------------------------------------------
 */

static void put_operand(tfr__wire_out *out, const tfr_operand *operand)
{
    tfr_shape shape = {operand->rank, {0}};
    tfr_tensor *tensor = NULL;

    for (int32_t i = 0; i < operand->rank; i++)
        shape.dims[i] = operand->dims[i];
    if (!out->status)
        out->status =
            tfr_tensor_wrap((tfr_dtype)operand->dtype, &shape, NULL,
                            (void *)(uintptr_t)operand->data, NULL, NULL, &tensor, out->err);
    if (!out->status)
        tfr__onnx_put_tensor(out, NULL, tensor);
    tfr_tensor_release(tensor);
}

/* As the op table has it, [kind, element type] (attr.c); returns the number of its own type. */
static unsigned put_type_attr(tfr__wire_out *out, const tfr_attr *attr)
{
    tfr_value_type type = {.size = sizeof type};
    tfr__wire_part part = tfr__put_begin(out, TFR__ATTR_TP);

    type.kind = (int32_t)attr->ints[0];
    type.dtype = (int32_t)attr->ints[1];
    tfr__onnx_put_type(out, NULL, &type);
    tfr__put_end(out, part);
    return TFR__ONNX_ATTR_TYPE;
}

static void put_list(tfr__wire_out *out, const tfr_attr *attr)
{
    for (uint64_t i = 0; i < attr->n; i++)
        switch ((tfr_attr_type)attr->type) {
        case TFR_ATTR_INT:
            tfr__put_varint(out, TFR__ATTR_I, (uint64_t)attr->ints[i]);
            break;
        case TFR_ATTR_INTS:
            tfr__put_varint(out, TFR__ATTR_INTS, (uint64_t)attr->ints[i]);
            break;
        case TFR_ATTR_FLOAT:
            tfr__put_float(out, TFR__ATTR_F, attr->floats[i]);
            break;
        case TFR_ATTR_FLOATS:
            tfr__put_float(out, TFR__ATTR_FLOATS, attr->floats[i]);
            break;
        case TFR_ATTR_STRING:
        case TFR_ATTR_STRINGS:
            tfr__put_bytes(out, attr->type == TFR_ATTR_STRING ? TFR__ATTR_S : TFR__ATTR_STRINGS,
                           attr->strings[i].data, (size_t)attr->strings[i].bytes);
            break;
        case TFR_ATTR_TENSOR:
        case TFR_ATTR_GRAPH:
            break;
        }
}

static void put_attr(tfr__wire_out *out, tfr__onnx_save *save, const tfr_node_view *node,
                     const tfr_attr *attr)
{
    tfr__wire_part part = tfr__put_begin(out, TFR__NODE_ATTRIBUTE), inner;
    unsigned type = (unsigned)attr->type;

    tfr__put_text(out, TFR__ATTR_NAME, attr->name);
    if (attr->type == TFR_ATTR_TENSOR) {
        inner = tfr__put_begin(out, TFR__ATTR_T);
        put_operand(out, attr->tensor);
        tfr__put_end(out, inner);
    } else if (attr->type == TFR_ATTR_GRAPH) {
        inner = tfr__put_begin(out, TFR__ATTR_G);
        put_graph(out, save);
        tfr__put_end(out, inner);
    } else if (attr->type == TFR_ATTR_INTS && attr->n == 2 && strcmp(node->op, "Optional") == 0) {
        type = put_type_attr(out, attr);
    } else {
        put_list(out, attr);
    }
    tfr__put_varint(out, TFR__ATTR_TYPE, type);
    tfr__put_end(out, part);
}

/* ---- nodes ------------------------------------------------------------------------------------
 */

static void put_node(tfr__wire_out *out, tfr__onnx_save *save, const tfr__onnx_part *part,
                     const tfr_node_view *node, const char *name)
{
    tfr__wire_part message = tfr__put_begin(out, TFR__GRAPH_NODE);
    const char *domain = tfr__onnx_saved_domain(node);

    for (uint32_t i = 0; i < node->n_inputs; i++)
        tfr__put_text(out, TFR__NODE_INPUT,
                      node->inputs[i] == TFR_VALUE_NONE ? "" : part->names[node->inputs[i]]);
    for (uint32_t i = 0; i < node->n_outputs; i++)
        tfr__put_text(out, TFR__NODE_OUTPUT,
                      node->outputs[i] == TFR_VALUE_NONE ? "" : part->names[node->outputs[i]]);
    if (name)
        tfr__put_text(out, TFR__NODE_NAME, name);
    tfr__put_text(out, TFR__NODE_OP_TYPE, node->op);
    for (uint32_t i = 0; i < node->n_attrs; i++) {
        const void *item = (const char *)node->attrs + (size_t)i * node->attr_stride;
        put_attr(out, save, node, item);
    }
    if (*domain)
        tfr__put_text(out, TFR__NODE_DOMAIN, domain);
    tfr__put_end(out, message);
}

static void put_identity(tfr__wire_out *out, const char *from, const char *to)
{
    tfr__wire_part message = tfr__put_begin(out, TFR__GRAPH_NODE);
    tfr__put_text(out, TFR__NODE_INPUT, from);
    tfr__put_text(out, TFR__NODE_OUTPUT, to);
    tfr__put_text(out, TFR__NODE_NAME, to);
    tfr__put_text(out, TFR__NODE_OP_TYPE, "Identity");
    tfr__put_end(out, message);
}

static void put_nodes(tfr__wire_out *out, tfr__onnx_save *save, const tfr__onnx_part *part)
{
    tfr_node_view node = {.size = sizeof node};

    for (uint32_t i = 0; i < tfr_graph_n_nodes(part->graph) && !out->status; i++) {
        out->status = tfr_graph_node(part->graph, i, &node, out->err);
        if (!out->status)
            put_node(out, save, part, &node, part->node_names[i]);
    }
    for (uint32_t i = 0; i < tfr_graph_n_outputs(part->graph); i++)
        if (part->results[i].is_identity)
            put_identity(out, part->names[tfr_graph_output(part->graph, i)], part->results[i].name);
}

/* ---- values -----------------------------------------------------------------------------------
 */

static void put_entry(tfr__wire_out *out, unsigned field, const char *key, const char *value)
{
    tfr__wire_part entry = tfr__put_begin(out, field);
    tfr__put_text(out, TFR__ENTRY_KEY, key);
    tfr__put_text(out, TFR__ENTRY_VALUE, value);
    tfr__put_end(out, entry);
}

/* A tensor whose elements are in the data file. */
static void put_external(tfr__wire_out *out, const tfr__onnx_save *save, const char *name,
                         const tfr_tensor *tensor, uint64_t offset)
{
    const tfr_shape *shape = tfr_tensor_shape(tensor);
    char number[24];

    for (int32_t i = 0; i < shape->rank; i++)
        tfr__put_varint(out, TFR__TENSOR_DIMS, (uint64_t)shape->dims[i]);
    tfr__put_varint(out, TFR__TENSOR_DATA_TYPE, (uint64_t)tfr_tensor_dtype(tensor));
    tfr__put_text(out, TFR__TENSOR_NAME, name);
    put_entry(out, TFR__TENSOR_EXTERNAL_DATA, "location", save->location);
    snprintf(number, sizeof number, "%llu", (unsigned long long)offset);
    put_entry(out, TFR__TENSOR_EXTERNAL_DATA, "offset", number);
    snprintf(number, sizeof number, "%zu", tfr_tensor_bytes(tensor));
    put_entry(out, TFR__TENSOR_EXTERNAL_DATA, "length", number);
    tfr__put_varint(out, TFR__TENSOR_DATA_LOCATION, 1);
}

static void put_constants(tfr__wire_out *out, const tfr__onnx_save *save,
                          const tfr__onnx_part *part)
{
    tfr_value_view value = {.size = sizeof value};

    for (uint32_t v = 0; v < tfr_graph_n_values(part->graph) && !out->status; v++) {
        tfr__wire_part message;
        out->status = tfr_graph_value(part->graph, (tfr_value)v, &value, out->err);
        if (out->status || !value.tensor || !part->used[v] || part->shared[v])
            continue;
        message = tfr__put_begin(out, TFR__GRAPH_INITIALIZER);
        if (save->location && part->offsets[v])
            put_external(out, save, part->names[v], value.tensor, part->offsets[v] - 1);
        else
            tfr__onnx_put_tensor(out, part->names[v], value.tensor);
        tfr__put_end(out, message);
    }
}

static bool says_something(const tfr_value_type *type)
{
    return type && (type->dtype || type->rank_known || type->kind > TFR_KIND_TENSOR);
}

static void put_value(tfr__wire_out *out, unsigned field, const char *name, const tfr_graph *graph,
                      const tfr_value_type *type)
{
    tfr__wire_part info = tfr__put_begin(out, field), inner;

    tfr__put_text(out, TFR__VALUE_INFO_NAME, name);
    if (says_something(type)) {
        inner = tfr__put_begin(out, TFR__VALUE_INFO_TYPE);
        tfr__onnx_put_type(out, graph, type);
        tfr__put_end(out, inner);
    }
    tfr__put_end(out, info);
}

/* An output that is a list of maps to float32. */
static void put_maps(tfr__wire_out *out, const char *name, tfr_dtype keys)
{
    const tfr_value_type number = {.size = sizeof number, .dtype = TFR_DTYPE_F32};
    tfr__wire_part info = tfr__put_begin(out, TFR__GRAPH_OUTPUT), type, list, element, map, value;

    tfr__put_text(out, TFR__VALUE_INFO_NAME, name);
    type = tfr__put_begin(out, TFR__VALUE_INFO_TYPE);
    list = tfr__put_begin(out, TFR__TYPE_SEQUENCE);
    element = tfr__put_begin(out, TFR__INNER_TYPE_ELEM_TYPE);
    map = tfr__put_begin(out, TFR__TYPE_MAP);
    tfr__put_varint(out, TFR__MAP_TYPE_KEY_TYPE, (uint64_t)keys);
    value = tfr__put_begin(out, TFR__MAP_TYPE_VALUE_TYPE);
    tfr__onnx_put_type(out, NULL, &number);
    tfr__put_end(out, value);
    tfr__put_end(out, map);
    tfr__put_end(out, element);
    tfr__put_end(out, list);
    tfr__put_end(out, type);
    tfr__put_end(out, info);
}

/* ---- graphs -----------------------------------------------------------------------------------
 */

static void put_graph(tfr__wire_out *out, tfr__onnx_save *save)
{
    const tfr__onnx_part *part = save->parts[save->next++];
    const tfr_graph *graph = part->graph;

    put_nodes(out, save, part);
    tfr__put_text(out, TFR__GRAPH_NAME, text_or(tfr_graph_name(graph), "graph"));
    put_constants(out, save, part);
    for (uint32_t i = 0; i < tfr_graph_n_inputs(graph); i++) {
        tfr_value v = tfr_graph_input(graph, i);
        put_value(out, TFR__GRAPH_INPUT, part->names[v], graph, tfr_graph_value_type(graph, v));
    }
    for (uint32_t i = 0; i < tfr_graph_n_outputs(graph); i++) {
        const tfr_value_type *declared = tfr_graph_output_type(graph, i);
        tfr_value_type type =
            declared ? *declared : tfr__onnx_type_of(save, part, tfr_graph_output(graph, i));
        const tfr_dtype keys = tfr__onnx_key_type(graph, tfr_graph_output(graph, i));
        if (keys)
            put_maps(out, part->results[i].name, keys);
        else
            put_value(out, TFR__GRAPH_OUTPUT, part->results[i].name, graph, &type);
    }
}

static void put_opset(tfr__wire_out *out, const char *domain, int32_t version)
{
    tfr__wire_part opset;

    if (!version)
        return;
    opset = tfr__put_begin(out, TFR__MODEL_OPSET_IMPORT);
    if (*domain)
        tfr__put_text(out, TFR__OPSET_DOMAIN, domain);
    tfr__put_varint(out, TFR__OPSET_VERSION, (uint64_t)version);
    tfr__put_end(out, opset);
}

void tfr__onnx_put_model(tfr__wire_out *out, void *what)
{
    tfr__onnx_save *save = what;
    tfr__wire_part graph;

    save->next = 0;
    tfr__put_varint(out, TFR__MODEL_IR_VERSION, (uint64_t)save->versions.ir);
    tfr__put_text(out, TFR__MODEL_PRODUCER_NAME, "tfrun");
    tfr__put_text(out, TFR__MODEL_PRODUCER_VERSION, tfr_version());
    graph = tfr__put_begin(out, TFR__MODEL_GRAPH);
    put_graph(out, save);
    tfr__put_end(out, graph);
    put_opset(out, "", save->versions.onnx);
    put_opset(out, "ai.onnx.ml", save->versions.ml);
    put_opset(out, "ai.onnx.preview.training", save->versions.training);
    put_opset(out, "tfrun", save->versions.tfrun);
    for (uint32_t i = 0; i < save->versions.n_others; i++)
        put_opset(out, save->versions.others[i].domain, save->versions.others[i].version);
}
