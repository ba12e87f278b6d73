/* SPDX-License-Identifier: Apache-2.0 */
/* values.c: the messages made of TensorProto: sparse tensors, sequences and optionals. */
#include <stdlib.h>
#include <string.h>

#include "onnx/tensor.h"
#include "prefix.h"

/* ---- sparse tensors -------------------------------------------------------------------------- */

typedef struct sparse {
    tfr_shape shape;
    tfr_tensor *values, *indices;
    tfr__text name;
} sparse;

static tfr_status read_sparse_field(tfr__onnx_source *source, const tfr__wire *wire,
                                    tfr__wire_field *field, sparse *s, tfr_err *err)
{
    bool is_values = field->number == TFR__SPARSE_VALUES;
    tfr_tensor **part = is_values ? &s->values : &s->indices;
    tfr__wire inner;
    uint64_t value;
    bool more;
    tfr_status status;

    if (field->number == TFR__SPARSE_DIMS) {
        while (!(status = tfr__wire_take(wire, field, &value, &more, err)) && more) {
            if (s->shape.rank == TFR_MAX_RANK || (int64_t)value < 0)
                return tfr_fail(err, TFR_EMODEL,
                                "byte %zu: SparseTensorProto.dims has dim %lld as number %d; dims "
                                "are not negative and at most %d",
                                field->offset, (long long)value, s->shape.rank, TFR_MAX_RANK);
            s->shape.dims[s->shape.rank++] = (int64_t)value;
        }
        return status;
    }
    if (!is_values && field->number != TFR__SPARSE_INDICES)
        return TFR_OK;
    if (*part)
        return tfr_fail(err, TFR_EMODEL, "byte %zu: SparseTensorProto.%s is there twice",
                        field->offset, field->name);
    status = tfr__wire_enter(wire, field, &tfr__onnx_tensor_message, &inner, err);
    return status ? status
                  : tfr__onnx_read_tensor(source, inner, is_values ? &s->name : NULL, part, err);
}

/* Place of entry i, which has one index, or one per dim. */
static tfr_status entry_place(const sparse *s, int64_t i, int64_t elements, int64_t *place,
                              tfr_err *err)
{
    const tfr_shape *shape = tfr_tensor_shape(s->indices);
    const int64_t *index = tfr_tensor_data(s->indices);
    int64_t at = 0;

    if (shape->rank == 1) {
        at = index[i];
        if (at < 0 || at >= elements)
            return tfr_fail(err, TFR_EMODEL,
                            "SparseTensorProto.indices has %lld as number %lld, the tensor has "
                            "%lld elements",
                            (long long)at, (long long)i, (long long)elements);
    } else {
        for (int32_t d = 0; d < s->shape.rank; d++) {
            int64_t v = index[i * s->shape.rank + d];
            if (v < 0 || v >= s->shape.dims[d])
                return tfr_fail(err, TFR_EMODEL,
                                "SparseTensorProto.indices has %lld for dim %d of entry %lld, the "
                                "dim is %lld",
                                (long long)v, d, (long long)i, (long long)s->shape.dims[d]);
            at = at * s->shape.dims[d] + v;
        }
    }
    *place = at;
    return TFR_OK;
}

static tfr_status unfold(tfr__onnx_source *source, const sparse *s, tfr_tensor **out, tfr_err *err)
{
    tfr_dtype dtype = tfr_tensor_dtype(s->values);
    size_t width = tfr_dtype_bits(dtype) / 8, bytes;
    const tfr_shape *ishape = tfr_tensor_shape(s->indices);
    int64_t n = tfr_tensor_elements(s->values), elements, place = 0, before = -1;
    tfr_status status;

    if (tfr_tensor_shape(s->values)->rank != 1 || tfr_tensor_dtype(s->indices) != TFR_DTYPE_I64 ||
        !(ishape->rank == 1 || (ishape->rank == 2 && ishape->dims[1] == s->shape.rank)) ||
        ishape->dims[0] != n)
        return tfr_fail(err, TFR_EMODEL,
                        "SparseTensorProto: values must be [n] and indices int64[n] or "
                        "int64[n,%d]; there are %lld values and %lld indices",
                        s->shape.rank, (long long)n, (long long)tfr_tensor_elements(s->indices));
    if (!width || dtype == TFR_DTYPE_STRING)
        return tfr_fail(err, TFR_EUNSUPPORTED, "SparseTensorProto with values of type %s",
                        tfr_dtype_name(dtype));
    if ((status = tfr_shape_elements(&s->shape, &elements, err)) ||
        (status = tfr_shape_bytes(&s->shape, dtype, &bytes, err)))
        return status;
    if (bytes > source->dense_bytes)
        return tfr_fail(err, TFR_EMODEL,
                        "SparseTensorProto unfolds to %zu bytes, all of a file may unfold to %llu",
                        bytes, (unsigned long long)TFR__DENSE_BYTES_MAX);
    source->dense_bytes -= bytes;
    status = tfr_tensor_create(dtype, &s->shape, out, err);
    for (int64_t i = 0; !status && i < n; i++) {
        status = entry_place(s, i, elements, &place, err);
        if (!status && place <= before)
            status =
                tfr_fail(err, TFR_EMODEL,
                         "SparseTensorProto.indices is not ascending at entry %lld", (long long)i);
        if (status) {
            tfr_tensor_release(*out);
            return status;
        }
        memcpy((char *)tfr_tensor_data(*out) + (size_t)place * width,
               (const char *)tfr_tensor_data(s->values) + (size_t)i * width, width);
        before = place;
    }
    return status;
}

tfr_status tfr__onnx_read_sparse(tfr__onnx_source *source, tfr__wire wire, tfr__text *name,
                                 tfr_tensor **out, tfr_err *err)
{
    sparse s = {.name = {"", 0}};
    tfr__wire_field field;
    tfr_tensor *dense = NULL;
    tfr_status status;

    while (!(status = tfr__wire_next(&wire, &field, err)) && field.number)
        if ((status = read_sparse_field(source, &wire, &field, &s, err)))
            break;
    if (!status && (!s.values || !s.indices))
        status = tfr_fail(err, TFR_EMODEL, "SparseTensorProto.%s is missing",
                          s.values ? "indices" : "values");
    if (!status)
        status = tfr__model_status(err, unfold(source, &s, &dense, err));
    tfr_tensor_release(s.values);
    tfr_tensor_release(s.indices);
    if (name)
        *name = s.name;
    if (!status)
        *out = dense;
    return status;
}

/* ---- sequences and optionals ----------------------------------------------------------------- */

/* Reads a field of SequenceProto or OptionalProto that is a value; *out NULL = it is none. */
static tfr_status read_value(tfr__onnx_source *source, const tfr__wire *wire,
                             const tfr__wire_field *field, tfr_tensor **out, tfr_err *err)
{
    static const tfr__wire_message *const messages[] = {
        [TFR__SEQUENCE_TENSOR_VALUES] = &tfr__onnx_tensor_message,
        [TFR__SEQUENCE_SPARSE_TENSOR_VALUES] = &tfr__onnx_sparse_message,
        [TFR__SEQUENCE_SEQUENCE_VALUES] = &tfr__onnx_sequence_message,
        [TFR__SEQUENCE_OPTIONAL_VALUES] = &tfr__onnx_optional_message,
    };
    tfr__wire inner;
    tfr_status status;

    *out = NULL;
    if (field->number == TFR__SEQUENCE_MAP_VALUES)
        return tfr_fail(err, TFR_EUNSUPPORTED, "byte %zu: %s.%s: maps are not read", field->offset,
                        wire->message->name, field->name);
    if (field->number >= sizeof messages / sizeof *messages || !messages[field->number])
        return TFR_OK;
    status = tfr__wire_enter(wire, field, messages[field->number], &inner, err);
    if (status)
        return status;
    switch (field->number) {
    case TFR__SEQUENCE_TENSOR_VALUES:
        return tfr__onnx_read_tensor(source, inner, NULL, out, err);
    case TFR__SEQUENCE_SPARSE_TENSOR_VALUES:
        return tfr__onnx_read_sparse(source, inner, NULL, out, err);
    case TFR__SEQUENCE_SEQUENCE_VALUES:
        return tfr__onnx_read_sequence(source, inner, out, err);
    default:
        return tfr__onnx_read_optional(source, inner, out, err);
    }
}

tfr_status tfr__onnx_read_sequence(tfr__onnx_source *source, tfr__wire wire, tfr_tensor **out,
                                   tfr_err *err)
{
    tfr_tensor **values = NULL, *value;
    size_t n = 0, capacity = 0;
    tfr__wire_field field;
    tfr_status status;

    while (!(status = tfr__wire_next(&wire, &field, err)) && field.number) {
        if (n == capacity) {
            size_t larger = capacity ? 2 * capacity : 8;
            tfr_tensor **grown = realloc(values, larger * sizeof(tfr_tensor *));
            if (!grown) {
                status = tfr_fail(err, TFR_ENOMEM, "out of memory for %zu values", larger);
                break;
            }
            values = grown;
            capacity = larger;
        }
        status = read_value(source, &wire, &field, &value, err);
        if (status) {
            if (wire.depth == 1) /* deeper ones would only repeat it */
                (void)tfr__prefix(err, status, "value %zu: ", n);
            break;
        }
        if (value)
            values[n++] = value;
    }
    if (!status)
        status = tfr__model_status(
            err, tfr_sequence_create(n ? tfr_tensor_dtype(values[0]) : TFR_DTYPE_NONE, values, n,
                                     out, err));
    for (size_t i = 0; i < n; i++)
        tfr_tensor_release(values[i]);
    free(values);
    return status;
}

tfr_status tfr__onnx_read_optional(tfr__onnx_source *source, tfr__wire wire, tfr_tensor **out,
                                   tfr_err *err)
{
    tfr_tensor *value = NULL, *found;
    tfr__wire_field field;
    tfr_status status;

    while (!(status = tfr__wire_next(&wire, &field, err)) && field.number) {
        status = read_value(source, &wire, &field, &found, err);
        if (status)
            break;
        if (found && value) {
            tfr_tensor_release(found);
            status = tfr_fail(err, TFR_EMODEL, "byte %zu: OptionalProto has a second value",
                              field.offset);
            break;
        }
        if (found)
            value = found;
    }
    if (!status)
        status = tfr__model_status(
            err,
            tfr_optional_create(value ? tfr_tensor_dtype(value) : TFR_DTYPE_NONE, value, out, err));
    tfr_tensor_release(value);
    return status;
}
