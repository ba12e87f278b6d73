/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_file.c: TensorProto, SequenceProto and OptionalProto as files of their own. */
#include <stdlib.h>
#include <string.h>
#include <tfrun/onnx.h>

#include "foreign.h"
#include "onnx/tensor.h"
#include "prefix.h"

/* ---- reading --------------------------------------------------------------------------------- */

static tfr_status read_value(tfr__onnx_source *source, const void *bytes, size_t n, tfr_kind kind,
                             tfr_tensor **out, tfr_err *err)
{
    const tfr__wire_message *message = kind == TFR_KIND_SEQUENCE   ? &tfr__onnx_sequence_message
                                       : kind == TFR_KIND_OPTIONAL ? &tfr__onnx_optional_message
                                                                   : &tfr__onnx_tensor_message;
    const char *foreign;
    tfr__wire wire;
    tfr_status status;

    tfr__wire_open(&wire, message, bytes, n);
    if (kind == TFR_KIND_SEQUENCE)
        status = tfr__onnx_read_sequence(source, wire, out, err);
    else if (kind == TFR_KIND_OPTIONAL)
        status = tfr__onnx_read_optional(source, wire, out, err);
    else
        status = tfr__onnx_read_tensor(source, wire, NULL, out, err);
    foreign = status == TFR_EMODEL ? tfr__foreign_name(bytes, n) : NULL;
    if (foreign)
        return tfr__prefix(err, status, "not a %s but %s: ", message->name, foreign);
    return status;
}

tfr_status tfr_onnx_parse_tensor(const void *bytes, size_t n, tfr_kind kind, tfr_tensor **out,
                                 tfr_err *err)
{
    tfr__onnx_source source = {.dense_bytes = TFR__DENSE_BYTES_MAX};
    return read_value(&source, n ? bytes : "", n, kind, out, err);
}

tfr_status tfr_onnx_load_tensor(const char *path, tfr_kind kind, tfr_tensor **out, tfr_err *err)
{
    tfr__onnx_source source = {.dense_bytes = TFR__DENSE_BYTES_MAX};
    tfr__external external = {.fd = -1};
    tfr_status status = tfr__mapping_open(path, &source.mapping, err);

    if (status)
        return status;
    status = tfr__external_open(path, &external, err);
    source.external = &external;
    if (!status)
        status = read_value(&source, source.mapping->data, source.mapping->bytes, kind, out, err);
    if (status)
        (void)tfr__prefix(err, status, "%s: ", path);
    tfr__external_close(&external);
    tfr__mapping_release(source.mapping);
    return status;
}

/* ---- writing ----------------------------------------------------------------------------------
 * A message inside a message starts with its size, so sizes are computed first, from the inside.
 */

static size_t varint_bytes(uint64_t value)
{
    size_t n = 1;
    while (value >>= 7)
        n++;
    return n;
}

static size_t run_bytes(size_t n)
{
    return 1 + varint_bytes(n) + n;
}

static void put_varint(tfr__sink *sink, uint64_t value)
{
    char bytes[10];
    size_t n = 0;
    while (value > 0x7f) {
        bytes[n++] = (char)(value | 0x80);
        value >>= 7;
    }
    bytes[n++] = (char)value;
    tfr__sink_put(sink, bytes, n);
}

/* Fields up to 15 only: their tag is one byte. */
static void put_number(tfr__sink *sink, unsigned field, uint64_t value)
{
    put_varint(sink, field << 3);
    put_varint(sink, value);
}

static void put_run(tfr__sink *sink, unsigned field, size_t n)
{
    put_varint(sink, field << 3 | 2);
    put_varint(sink, n);
}

static void put_text(tfr__sink *sink, unsigned field, const char *data, size_t n)
{
    put_run(sink, field, n);
    tfr__sink_put(sink, data, n);
}

static size_t tensor_bytes(const tfr_tensor *tensor, const char *name)
{
    const tfr_shape *shape = tfr_tensor_shape(tensor);
    size_t total = 1 + varint_bytes((uint64_t)tfr_tensor_dtype(tensor));

    for (int32_t i = 0; i < shape->rank; i++)
        total += 1 + varint_bytes((uint64_t)shape->dims[i]);
    if (name)
        total += run_bytes(strlen(name));
    if (tfr_tensor_dtype(tensor) != TFR_DTYPE_STRING)
        return total + run_bytes(tfr_tensor_bytes(tensor));
    for (int64_t i = 0; i < tfr_tensor_elements(tensor); i++) {
        size_t n;
        (void)tfr_tensor_get_string(tensor, i, &n);
        total += run_bytes(n);
    }
    return total;
}

static size_t value_bytes(const tfr_tensor *value, const char *name)
{
    size_t total;
    if (tfr_tensor_kind(value) == TFR_KIND_TENSOR)
        return tensor_bytes(value, name);
    total = 2 + (name ? run_bytes(strlen(name)) : 0);
    for (size_t i = 0; i < tfr_sequence_length(value); i++)
        total += run_bytes(value_bytes(tfr_sequence_at(value, i), NULL));
    return total;
}

static tfr_status put_tensor(tfr__sink *sink, const tfr_tensor *tensor, const char *name,
                             tfr_err *err)
{
    const tfr_shape *shape = tfr_tensor_shape(tensor);
    tfr_tensor *plain = NULL;

    for (int32_t i = 0; i < shape->rank; i++)
        put_number(sink, TFR__TENSOR_DIMS, (uint64_t)shape->dims[i]);
    put_number(sink, TFR__TENSOR_DATA_TYPE, (uint64_t)tfr_tensor_dtype(tensor));
    if (tfr_tensor_dtype(tensor) == TFR_DTYPE_STRING) {
        for (int64_t i = 0; i < tfr_tensor_elements(tensor); i++) {
            size_t n;
            const char *text = tfr_tensor_get_string(tensor, i, &n);
            put_text(sink, TFR__TENSOR_STRING_DATA, text, n);
        }
        if (name)
            put_text(sink, TFR__TENSOR_NAME, name, strlen(name));
        return TFR_OK;
    }
    if (name)
        put_text(sink, TFR__TENSOR_NAME, name, strlen(name));
    if (!tfr_tensor_is_plain(tensor)) {
        tfr_status status = tfr_tensor_copy(tensor, &plain, err);
        if (status)
            return status;
        tensor = plain;
    }
    put_text(sink, TFR__TENSOR_RAW_DATA, tfr_tensor_data(tensor), tfr_tensor_bytes(tensor));
    tfr_tensor_release(plain);
    return TFR_OK;
}

/* SequenceProto and OptionalProto number their values by kind, and elem_type in the same way. */
static unsigned elem_type(const tfr_tensor *value)
{
    switch (value ? tfr_tensor_kind(value) : TFR_KIND_TENSOR) {
    case TFR_KIND_SEQUENCE:
        return 3;
    case TFR_KIND_OPTIONAL:
        return 5;
    default:
        return 1;
    }
}

static tfr_status put_value(tfr__sink *sink, const tfr_tensor *value, const char *name,
                            tfr_err *err)
{
    tfr_status status = TFR_OK;
    if (tfr_tensor_kind(value) == TFR_KIND_TENSOR)
        return put_tensor(sink, value, name, err);
    if (name)
        put_text(sink, TFR__SEQUENCE_NAME, name, strlen(name));
    put_number(sink, TFR__SEQUENCE_ELEM_TYPE, elem_type(tfr_sequence_at(value, 0)));
    for (size_t i = 0; !status && i < tfr_sequence_length(value); i++) {
        const tfr_tensor *inner = tfr_sequence_at(value, i);
        put_run(sink, elem_type(inner) + 2, value_bytes(inner, NULL));
        status = put_value(sink, inner, NULL, err);
    }
    return status;
}

typedef struct named {
    const char *name;
    const tfr_tensor *tensor;
} named;

static tfr_status put_named(tfr__sink *sink, const void *what)
{
    const named *n = what;
    tfr_status status = put_value(sink, n->tensor, n->name, sink->err);
    return status ? status : sink->status;
}

tfr_status tfr_onnx_write_tensor(const char *name, const tfr_tensor *tensor, tfr_write_fn write,
                                 void *user, tfr_err *err)
{
    tfr__sink sink = {.write = write, .user = user, .err = err};
    return put_named(&sink, &(named){name, tensor});
}

tfr_status tfr_onnx_save_tensor(const char *path, const char *name, const tfr_tensor *tensor,
                                tfr_err *err)
{
    return tfr__file_save(path, put_named, &(named){name, tensor}, err);
}
