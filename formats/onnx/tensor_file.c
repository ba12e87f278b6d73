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
 */

void tfr__onnx_put_tensor(tfr__wire_out *out, const char *name, const tfr_tensor *tensor)
{
    const tfr_shape *shape = tfr_tensor_shape(tensor);

    for (int32_t i = 0; i < shape->rank; i++)
        tfr__put_varint(out, TFR__TENSOR_DIMS, (uint64_t)shape->dims[i]);
    tfr__put_varint(out, TFR__TENSOR_DATA_TYPE, (uint64_t)tfr_tensor_dtype(tensor));
    if (tfr_tensor_dtype(tensor) == TFR_DTYPE_STRING)
        for (int64_t i = 0; i < tfr_tensor_elements(tensor); i++) {
            size_t n;
            const char *text = tfr_tensor_get_string(tensor, i, &n);
            tfr__put_bytes(out, TFR__TENSOR_STRING_DATA, text, n);
        }
    if (name)
        tfr__put_text(out, TFR__TENSOR_NAME, name);
    if (tfr_tensor_dtype(tensor) != TFR_DTYPE_STRING)
        tfr__put_elements(out, TFR__TENSOR_RAW_DATA, tensor);
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

static void put_value(tfr__wire_out *out, const char *name, const tfr_tensor *value)
{
    if (tfr_tensor_kind(value) == TFR_KIND_TENSOR) {
        tfr__onnx_put_tensor(out, name, value);
        return;
    }
    if (name)
        tfr__put_text(out, TFR__SEQUENCE_NAME, name);
    tfr__put_varint(out, TFR__SEQUENCE_ELEM_TYPE, elem_type(tfr_sequence_at(value, 0)));
    for (size_t i = 0; i < tfr_sequence_length(value); i++) {
        const tfr_tensor *inner = tfr_sequence_at(value, i);
        tfr__wire_part part = tfr__put_begin(out, elem_type(inner) + 2);
        put_value(out, NULL, inner);
        tfr__put_end(out, part);
    }
}

typedef struct named {
    const char *name;
    const tfr_tensor *tensor;
} named;

static void put_named(tfr__wire_out *out, void *what)
{
    const named *n = what;
    put_value(out, n->name, n->tensor);
}

static tfr_status write_named(tfr__sink *sink, const void *what)
{
    named n = *(const named *)what;
    tfr__wire_out out = {.sink = NULL};
    tfr_status status = tfr__wire_out_measure(&out, put_named, &n, sink->err);
    if (!status)
        status = tfr__wire_out_write(&out, sink, put_named, &n);
    tfr__wire_out_finish(&out);
    return status;
}

tfr_status tfr_onnx_write_tensor(const char *name, const tfr_tensor *tensor, tfr_write_fn write,
                                 void *user, tfr_err *err)
{
    tfr__sink sink = {.write = write, .user = user, .err = err};
    return write_named(&sink, &(named){name, tensor});
}

tfr_status tfr_onnx_save_tensor(const char *path, const char *name, const tfr_tensor *tensor,
                                tfr_err *err)
{
    return tfr__file_save(path, write_named, &(named){name, tensor}, err);
}
