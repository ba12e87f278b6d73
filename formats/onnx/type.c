/* SPDX-License-Identifier: Apache-2.0 */
/* type.c: TypeProto to tfr_value_type and back. */
#include <string.h>
#include <tfrun/fail.h>

#include "onnx/fields.h"
#include "onnx/type.h"
#include "utf8.h"

#define MOST_NAME 200 /* bytes */

/* The symbol for a dim's name. Names are for people: one that is too long or broken is dropped. */
static tfr_status read_name(tfr_graph *graph, tfr__text name, int64_t *dim, tfr_err *err)
{
    char text[MOST_NAME + 1];
    if (!graph || !name.bytes || name.bytes > MOST_NAME || memchr(name.data, 0, name.bytes))
        return TFR_OK;
    memcpy(text, name.data, name.bytes);
    text[name.bytes] = 0;
    return tfr_graph_add_symbol(graph, text, dim, err);
}

static tfr_status read_dim(const tfr__wire *shape, const tfr__wire_field *field, tfr_graph *graph,
                           tfr_value_type *out, tfr_err *err)
{
    int64_t dim = -1;
    tfr__wire wire;
    tfr__wire_field inside;
    tfr_status status = tfr__wire_enter(shape, field, &tfr__onnx_dim_message, &wire, err);

    while (!status && !(status = tfr__wire_next(&wire, &inside, err)) && inside.number) {
        if (inside.number == TFR__DIM_PARAM)
            status = read_name(graph, inside.text, &dim, err);
        if (inside.number == TFR__DIM_VALUE)
            dim = (int64_t)inside.value;
        /* Some exporters write -1 for a dim that varies. */
        if (inside.number == TFR__DIM_VALUE && dim < -1)
            status = tfr_fail(err, TFR_EMODEL,
                              "byte %zu: TensorShapeProto.dim has the negative "
                              "dim %lld",
                              inside.offset, (long long)dim);
    }
    if (!status && out->rank == TFR_MAX_RANK)
        status = tfr_fail(err, TFR_EMODEL, "byte %zu: TensorShapeProto.dim has more than %d dims",
                          field->offset, TFR_MAX_RANK);
    if (!status)
        out->dims[out->rank++] = dim;
    return status;
}

static tfr_status read_shape(const tfr__wire *type, const tfr__wire_field *field, tfr_graph *graph,
                             tfr_value_type *out, tfr_err *err)
{
    tfr__wire wire;
    tfr__wire_field inside;
    tfr_status status = tfr__wire_enter(type, field, &tfr__onnx_shape_message, &wire, err);

    out->rank_known = 1;
    out->rank = 0;
    while (!status && !(status = tfr__wire_next(&wire, &inside, err)) && inside.number)
        if (inside.number == TFR__SHAPE_DIM)
            status = read_dim(&wire, &inside, graph, out, err);
    return status;
}

static tfr_status read_tensor(const tfr__wire *type, const tfr__wire_field *field, tfr_graph *graph,
                              tfr_value_type *out, tfr_err *err)
{
    tfr__wire wire;
    tfr__wire_field inside;
    tfr_status status = tfr__wire_enter(type, field, &tfr__onnx_tensor_type_message, &wire, err);

    while (!status && !(status = tfr__wire_next(&wire, &inside, err)) && inside.number) {
        if (inside.number == TFR__TENSOR_TYPE_SHAPE) {
            status = read_shape(&wire, &inside, graph, out, err);
        } else if (inside.number == TFR__TENSOR_TYPE_ELEM_TYPE) {
            if (inside.value >= TFR_DTYPE_END)
                return tfr_fail(err, TFR_EMODEL,
                                "byte %zu: TypeProto.Tensor.elem_type %llu is not a known type, "
                                "those are 1 to %d",
                                inside.offset, (unsigned long long)inside.value, TFR_DTYPE_END - 1);
            out->dtype = (int32_t)inside.value;
        }
    }
    return status;
}

/* A sequence or optional: its elements' type counts, their shape does not. */
static tfr_status read_inner(const tfr__wire *type, const tfr__wire_field *field, tfr_kind kind,
                             tfr_value_type *out, tfr_err *err)
{
    tfr_value_type element = {.size = sizeof element};
    tfr__wire wire, inner;
    tfr__wire_field inside;
    tfr_status status = tfr__wire_enter(type, field, &tfr__onnx_inner_type_message, &wire, err);

    while (!status && !(status = tfr__wire_next(&wire, &inside, err)) && inside.number)
        if (inside.number == TFR__INNER_TYPE_ELEM_TYPE &&
            !(status = tfr__wire_enter(&wire, &inside, &tfr__onnx_type_message, &inner, err)))
            status = tfr__onnx_read_type(inner, NULL, &element, err);
    out->kind = kind;
    out->dtype = element.dtype;
    out->element_kind = element.kind;
    return status;
}

tfr_status tfr__onnx_read_type(tfr__wire wire, tfr_graph *graph, tfr_value_type *out, tfr_err *err)
{
    tfr__wire_field field;
    tfr_status status;

    memset(out, 0, sizeof *out);
    out->size = sizeof *out;
    while (!(status = tfr__wire_next(&wire, &field, err)) && field.number) {
        if (field.number == TFR__TYPE_TENSOR) {
            out->kind = TFR_KIND_TENSOR;
            status = read_tensor(&wire, &field, graph, out, err);
        } else if (field.number == TFR__TYPE_SEQUENCE) {
            status = read_inner(&wire, &field, TFR_KIND_SEQUENCE, out, err);
        } else if (field.number == TFR__TYPE_OPTIONAL) {
            status = read_inner(&wire, &field, TFR_KIND_OPTIONAL, out, err);
        } else if (field.number == TFR__TYPE_MAP || field.number == TFR__TYPE_OPAQUE ||
                   field.number == TFR__TYPE_SPARSE) {
            status = tfr_fail(err, TFR_EUNSUPPORTED,
                              "byte %zu: TypeProto.%s: values are tensors, sequences or optionals "
                              "in tfrun",
                              field.offset, field.name);
        }
        if (status)
            return status;
    }
    return status;
}

/* ---- writing ----------------------------------------------------------------------------------
 */

static void put_tensor_type(tfr__wire_out *out, const tfr_graph *graph, const tfr_value_type *type)
{
    tfr__wire_part tensor = tfr__put_begin(out, TFR__TYPE_TENSOR), shape, dim;
    size_t n;

    if (type->dtype)
        tfr__put_varint(out, TFR__TENSOR_TYPE_ELEM_TYPE, (uint64_t)type->dtype);
    if (type->rank_known) {
        shape = tfr__put_begin(out, TFR__TENSOR_TYPE_SHAPE);
        for (int32_t i = 0; i < type->rank; i++) {
            const char *name = graph ? tfr_graph_symbol_name(graph, type->dims[i]) : NULL;
            dim = tfr__put_begin(out, TFR__SHAPE_DIM);
            if (type->dims[i] >= 0)
                tfr__put_varint(out, TFR__DIM_VALUE, (uint64_t)type->dims[i]);
            else if (name && tfr__utf8_decode(name, strlen(name), NULL, &n))
                tfr__put_text(out, TFR__DIM_PARAM, name);
            tfr__put_end(out, dim);
        }
        tfr__put_end(out, shape);
    }
    tfr__put_end(out, tensor);
}

void tfr__onnx_put_type(tfr__wire_out *out, const tfr_graph *graph, const tfr_value_type *type)
{
    const tfr_value_type element = {
        .size = sizeof element, .kind = type->element_kind, .dtype = type->dtype};
    tfr__wire_part outer, inner;

    if (type->kind != TFR_KIND_SEQUENCE && type->kind != TFR_KIND_OPTIONAL) {
        put_tensor_type(out, graph, type);
        return;
    }
    outer = tfr__put_begin(out, type->kind == TFR_KIND_SEQUENCE ? TFR__TYPE_SEQUENCE
                                                                : TFR__TYPE_OPTIONAL);
    inner = tfr__put_begin(out, TFR__INNER_TYPE_ELEM_TYPE);
    tfr__onnx_put_type(out, graph, &element);
    tfr__put_end(out, inner);
    tfr__put_end(out, outer);
}
