/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attr.c: AttributeProto to tfr_attr. Values live in the import's scratch memory, tensors are
 * held until the node is done. Sparse tensors become dense; a type becomes [kind, element type],
 * as the op table has it.
 */
#include <stdlib.h>
#include <string.h>
#include <tfrun/onnx.h>

#include "onnx/import.h"
#include "onnx/type.h"
#include "prefix.h"

tfr_status tfr__onnx_hold(tfr__onnx_import *import, tfr_tensor *tensor, const tfr_operand *operand,
                          tfr_err *err)
{
    if (import->n_held == import->held_capacity) {
        uint32_t capacity = import->held_capacity ? 2 * import->held_capacity : 16;
        tfr__onnx_held *held = realloc(import->held, capacity * sizeof *held);
        if (!held) {
            tfr_tensor_release(tensor);
            return tfr_fail(err, TFR_ENOMEM, "out of memory for %u tensors", capacity);
        }
        import->held = held;
        import->held_capacity = capacity;
    }
    import->held[import->n_held].tensor = tensor;
    import->held[import->n_held++].operand = operand;
    return TFR_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

static tfr_status set_tensor(tfr__onnx_import *import, tfr_tensor *tensor, tfr_attr *out,
                             tfr_err *err)
{
    const tfr_shape *shape = tfr_tensor_shape(tensor);
    tfr_operand *operand = tfr__scratch_take(&import->scratch, 1, sizeof *operand);
    int64_t *dims = tfr__scratch_take(&import->scratch, TFR_MAX_RANK, sizeof *dims);
    tfr_status status = tfr__onnx_hold(import, tensor, operand, err);

    if (status)
        return status;
    if (!operand || !dims)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for an attribute");
    memcpy(dims, shape->dims, (size_t)shape->rank * sizeof *dims);
    operand->size = sizeof *operand;
    operand->dtype = (int32_t)tfr_tensor_dtype(tensor);
    operand->rank = shape->rank;
    operand->dims = dims;
    operand->data = tfr_tensor_data(tensor);
    out->type = TFR_ATTR_TENSOR;
    out->tensor = operand;
    out->n = 1;
    return TFR_OK;
}

static tfr_status read_message(tfr__onnx_import *import, const tfr__wire *wire,
                               const tfr__wire_field *field, tfr_attr *out, tfr_err *err)
{
    tfr_value_type type;
    tfr_tensor *tensor = NULL;
    int64_t *ints;
    tfr__wire inner;
    tfr_status status;

    if (field->number == TFR__ATTR_TP) {
        status = tfr__wire_enter(wire, field, &tfr__onnx_type_message, &inner, err);
        if (!status)
            status = tfr__onnx_read_type(inner, NULL, &type, err);
        if (status)
            return status;
        ints = tfr__scratch_take(&import->scratch, 2, sizeof *ints);
        if (!ints)
            return tfr_fail(err, TFR_ENOMEM, "out of memory for an attribute");
        ints[0] = type.kind;
        ints[1] = type.dtype;
        out->type = TFR_ATTR_INTS;
        out->ints = ints;
        out->n = 2;
        return TFR_OK;
    }
    if (field->number == TFR__ATTR_T) {
        status = tfr__wire_enter(wire, field, &tfr__onnx_tensor_message, &inner, err);
        if (!status)
            status = tfr__onnx_read_tensor(import->source, inner, NULL, &tensor, err);
    } else {
        status = tfr__wire_enter(wire, field, &tfr__onnx_sparse_message, &inner, err);
        if (!status)
            status = tfr__onnx_read_sparse(import->source, inner, NULL, &tensor, err);
    }
    return status ? status : set_tensor(import, tensor, out, err);
}

/* Room for the values of an attribute, all of which are written while it is read. */
typedef struct values {
    int64_t *ints;
    float *floats;
    tfr_string *strings;
    uint32_t n;
} values;

static tfr_status read_values(tfr__onnx_import *import, const tfr__wire *wire,
                              tfr__wire_field *field, const tfr__onnx_attr *attr, values *v,
                              tfr_err *err)
{
    uint64_t number;
    bool more, single = attr->type < TFR_ATTR_FLOATS;
    tfr_status status;

    if (v->strings) {
        tfr_string *out = &v->strings[single ? 0 : v->n++];
        out->data = tfr__scratch_text(&import->scratch, field->text);
        out->bytes = field->text.bytes;
        return out->data ? TFR_OK : tfr_fail(err, TFR_ENOMEM, "out of memory for a string");
    }
    for (;;) {
        if (single) {
            number = field->value;
        } else {
            status = tfr__wire_take(wire, field, &number, &more, err);
            if (status || !more)
                return status;
        }
        if (v->ints) {
            v->ints[single ? 0 : v->n++] = (int64_t)number;
        } else {
            uint32_t bits = (uint32_t)number;
            memcpy(&v->floats[single ? 0 : v->n++], &bits, sizeof bits);
        }
        if (single)
            return TFR_OK;
    }
}

tfr_status tfr__onnx_import_attr(tfr__onnx_import *import, const tfr__onnx_attr *attr,
                                 tfr_attr *out, tfr_err *err)
{
    static const uint32_t fields[TFR__ONNX_ATTR_TYPES + 1] = {
        [TFR_ATTR_FLOAT] = TFR__ATTR_F,         [TFR_ATTR_INT] = TFR__ATTR_I,
        [TFR_ATTR_STRING] = TFR__ATTR_S,        [TFR_ATTR_TENSOR] = TFR__ATTR_T,
        [TFR_ATTR_FLOATS] = TFR__ATTR_FLOATS,   [TFR_ATTR_INTS] = TFR__ATTR_INTS,
        [TFR_ATTR_STRINGS] = TFR__ATTR_STRINGS, [TFR__ONNX_ATTR_SPARSE] = TFR__ATTR_SPARSE_TENSOR,
        [TFR__ONNX_ATTR_TYPE] = TFR__ATTR_TP,
    };
    uint32_t number = fields[attr->type];
    /* protobuf leaves out a zero, so a scalar without its field is 0, 0.0 or "". */
    bool single = attr->type <= TFR_ATTR_STRING;
    uint32_t capacity = attr->n ? attr->n : 1;
    tfr__scratch *scratch = &import->scratch;
    tfr__wire wire = attr->wire;
    tfr__wire_field field;
    values v = {NULL, NULL, NULL, 0};
    bool met = false;
    tfr_status status;

    if (!number)
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "attribute type %d (a list of tensors, graphs or types) is in no op that "
                        "tfrun knows",
                        attr->type);
    memset(out, 0, sizeof *out);
    out->size = sizeof *out;
    out->type = attr->type;
    out->name = tfr__scratch_text(scratch, attr->name);
    if (attr->type == TFR_ATTR_INT || attr->type == TFR_ATTR_INTS)
        out->ints = v.ints = tfr__scratch_take(scratch, capacity, sizeof *v.ints);
    else if (attr->type == TFR_ATTR_FLOAT || attr->type == TFR_ATTR_FLOATS)
        out->floats = v.floats = tfr__scratch_take(scratch, capacity, sizeof *v.floats);
    else if (attr->type == TFR_ATTR_STRING || attr->type == TFR_ATTR_STRINGS)
        out->strings = v.strings = tfr__scratch_take(scratch, capacity, sizeof *v.strings);
    if (!out->name || (number != TFR__ATTR_T && number != TFR__ATTR_SPARSE_TENSOR &&
                       number != TFR__ATTR_TP && !v.ints && !v.floats && !v.strings))
        return tfr_fail(err, TFR_ENOMEM, "out of memory for %u values of an attribute", capacity);
    if (v.strings)
        v.strings[0].data = "";
    while (!(status = tfr__wire_next(&wire, &field, err)) && field.number) {
        if (field.number != number)
            continue;
        if (v.ints || v.floats || v.strings)
            status = read_values(import, &wire, &field, attr, &v, err);
        else if (!met)
            status = read_message(import, &wire, &field, out, err);
        if (status)
            return status;
        met = true;
    }
    if (status)
        return status;
    if (v.ints || v.floats || v.strings)
        out->n = single ? 1 : v.n;
    else if (!met)
        return tfr_fail(err, TFR_EMODEL, "AttributeProto has no value of its type %d", attr->type);
    return TFR_OK;
}

/* ---- all of a node --------------------------------------------------------------------------- */

static tfr_status import_one(tfr__onnx_scope *scope, const tfr__onnx_attr *attr,
                             tfr__onnx_call *call, tfr_err *err)
{
    const tfr__onnx_frame *frame = scope->frame;
    char *name = tfr__scratch_text(&call->import->scratch, attr->name);

    if (!name)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for an attribute");
    if (attr->ref.bytes) {
        if (!frame)
            return tfr_fail(err, TFR_EMODEL, "ref_attr_name is valid inside functions only");
        for (uint32_t i = 0; i < frame->n_attrs; i++)
            if (tfr__text_equal(attr->ref, frame->attrs[i].name)) {
                call->attrs[call->n_attrs] = frame->attrs[i];
                call->attrs[call->n_attrs++].name = name;
                return TFR_OK;
            }
        return TFR_OK; /* the caller left it out, so the node goes without it, too */
    }
    if (attr->graph) {
        tfr_subgraph *sub = &call->subgraphs[call->n_subgraphs];
        tfr_status status = call->import->subgraph(scope, attr->graph, &sub->graph, err);
        sub->name = name;
        call->n_subgraphs += status == TFR_OK;
        return status;
    }
    return tfr__onnx_import_attr(call->import, attr, &call->attrs[call->n_attrs++], err);
}

tfr_status tfr__onnx_import_attrs(tfr__onnx_scope *scope, const tfr__onnx_node *node,
                                  tfr__onnx_call *call, tfr_err *err)
{
    tfr__scratch *scratch = &call->import->scratch;
    char quoted[TFR__QUOTE_BYTES];

    call->attrs_capacity = node->n_attrs + 8; /* upgrades add some */
    call->attrs = tfr__scratch_take(scratch, call->attrs_capacity, sizeof *call->attrs);
    call->subgraphs = tfr__scratch_take(scratch, node->n_attrs, sizeof *call->subgraphs);
    if (!call->attrs || !call->subgraphs)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for %u attributes", node->n_attrs);
    for (uint32_t i = 0; i < node->n_attrs; i++) {
        tfr_status status = import_one(scope, &node->attrs[i], call, err);
        if (status)
            return tfr__prefix(err, status, "attribute %s: ",
                               tfr__text_quote(node->attrs[i].name, quoted, sizeof quoted));
    }
    return TFR_OK;
}

/* ---- Constant nodes -------------------------------------------------------------------------- */

static tfr_status from_tensor_attr(const tfr__onnx_call *call, const tfr_attr *attr,
                                   tfr_tensor **out)
{
    for (uint32_t i = call->import->n_held; i > 0; i--)
        if (call->import->held[i - 1].operand == attr->tensor) {
            *out = tfr_tensor_retain(call->import->held[i - 1].tensor);
            return TFR_OK;
        }
    return TFR_EINTERNAL;
}

tfr_status tfr__onnx_constant_value(const tfr__onnx_call *call, tfr_tensor **out, tfr_err *err)
{
    static const struct {
        const char *name;
        int32_t type;
        tfr_dtype dtype;
        int32_t rank;
    } forms[] = {
        {"value", TFR_ATTR_TENSOR, TFR_DTYPE_NONE, 0},
        {"sparse_value", TFR_ATTR_TENSOR, TFR_DTYPE_NONE, 0},
        {"value_int", TFR_ATTR_INT, TFR_DTYPE_I64, 0},
        {"value_ints", TFR_ATTR_INTS, TFR_DTYPE_I64, 1},
        {"value_float", TFR_ATTR_FLOAT, TFR_DTYPE_F32, 0},
        {"value_floats", TFR_ATTR_FLOATS, TFR_DTYPE_F32, 1},
        {"value_string", TFR_ATTR_STRING, TFR_DTYPE_STRING, 0},
        {"value_strings", TFR_ATTR_STRINGS, TFR_DTYPE_STRING, 1},
    };
    const tfr_attr *attr = call->attrs;
    tfr_shape shape = {1, {0}};
    tfr_status status;

    if (call->n_attrs != 1)
        return tfr_fail(err, TFR_EMODEL, "it has %u values, a constant has one", call->n_attrs);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (strcmp(attr->name, forms[i].name) != 0 || attr->type != forms[i].type)
            continue;
        if (attr->type == TFR_ATTR_TENSOR) {
            status = from_tensor_attr(call, attr, out);
            return status ? tfr_fail(err, status, "the tensor of its value was not kept") : status;
        }
        shape.rank = forms[i].rank;
        shape.dims[0] = (int64_t)attr->n;
        status = tfr_tensor_create(forms[i].dtype, &shape, out, err);
        if (status)
            return status;
        if (forms[i].dtype == TFR_DTYPE_I64 && attr->n)
            memcpy(tfr_tensor_data(*out), attr->ints, attr->n * sizeof *attr->ints);
        if (forms[i].dtype == TFR_DTYPE_F32 && attr->n)
            memcpy(tfr_tensor_data(*out), attr->floats, attr->n * sizeof *attr->floats);
        for (uint64_t k = 0; !status && attr->strings && k < attr->n; k++)
            status = tfr_tensor_set_string(*out, (int64_t)k, attr->strings[k].data,
                                           attr->strings[k].bytes, err);
        if (status)
            tfr_tensor_release(*out);
        return status;
    }
    return tfr_fail(err, TFR_EMODEL, "attribute \"%.64s\" is no form of value that a Constant has",
                    attr->name);
}
