/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors_save.c: writes files of named tensors, and knows the names of types. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/safetensors.h>

#include "file.h"
#include "prefix.h"
#include "safetensors_types.h"

static const struct {
    tfr_dtype dtype;
    const char *name;
} types[] = {
    {TFR_DTYPE_BF16, "BF16"},      {TFR_DTYPE_BOOL, "BOOL"}, {TFR_DTYPE_F16, "F16"},
    {TFR_DTYPE_F32, "F32"},        {TFR_DTYPE_F64, "F64"},   {TFR_DTYPE_F8E4M3FN, "F8_E4M3"},
    {TFR_DTYPE_F8E5M2, "F8_E5M2"}, {TFR_DTYPE_I16, "I16"},   {TFR_DTYPE_I32, "I32"},
    {TFR_DTYPE_I64, "I64"},        {TFR_DTYPE_I8, "I8"},     {TFR_DTYPE_U16, "U16"},
    {TFR_DTYPE_U32, "U32"},        {TFR_DTYPE_U64, "U64"},   {TFR_DTYPE_U8, "U8"},
};
enum { N_TYPES = sizeof types / sizeof *types };

tfr_dtype tfr__safetensors_dtype(const char *name)
{
    for (int i = 0; i < N_TYPES; i++)
        if (strcmp(types[i].name, name) == 0)
            return types[i].dtype;
    return TFR_DTYPE_NONE;
}

const char *tfr__safetensors_name(tfr_dtype dtype)
{
    for (int i = 0; i < N_TYPES; i++)
        if (types[i].dtype == dtype)
            return types[i].name;
    return NULL;
}

/* {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}; NULL without memory. */
static json_t *make_row(const tfr_tensor *t, uint64_t at)
{
    const tfr_shape *shape = tfr_tensor_shape(t);
    json_t *dims = json_array();
    for (int32_t i = 0; i < shape->rank; i++)
        json_array_append_new(dims, json_integer(shape->dims[i]));
    return json_pack("{s:s, s:o, s:[I,I]}", "dtype", tfr__safetensors_name(tfr_tensor_dtype(t)),
                     "shape", dims, "data_offsets", (json_int_t)at,
                     (json_int_t)(at + tfr_tensor_bytes(t)));
}

static tfr_status add(json_t *to, const char *name, json_t *value, tfr_err *err)
{
    if (!value || json_object_get(to, name) || json_object_set_new(to, name, value))
        return tfr_fail(err, TFR_EINVAL,
                        "\"%.200s\" is no UTF-8, or there twice, or there is no memory for it",
                        name);
    return TFR_OK;
}

static tfr_status make_header(const tfr_safetensors_content *c, json_t *header, tfr_err *err)
{
    json_t *metadata = json_object();
    tfr_status status = TFR_OK;
    uint64_t at = 0;
    for (uint32_t i = 0; !status && i < c->n_metadata; i++)
        status = add(metadata, c->keys[i], json_string(c->texts[i]), err);
    if (!status && c->n_metadata)
        status = add(header, "__metadata__", json_incref(metadata), err);
    json_decref(metadata);
    for (uint32_t i = 0; !status && i < c->n; i++) {
        const tfr_tensor *t = c->tensors[i];
        if (tfr_tensor_kind(t) != TFR_KIND_TENSOR || !tfr__safetensors_name(tfr_tensor_dtype(t)))
            return tfr_fail(err, TFR_EUNSUPPORTED,
                            "tensor \"%.200s\": a safetensors file has no %s; cast it first",
                            c->names[i], tfr_dtype_name(tfr_tensor_dtype(t)));
        if (strcmp(c->names[i], "__metadata__") == 0)
            return tfr_fail(err, TFR_EINVAL, "no tensor can be called __metadata__");
        status = add(header, c->names[i], make_row(t, at), err);
        at += tfr_tensor_bytes(t);
    }
    return status;
}

/* The size, the text, and blanks up to a multiple of 8. */
static tfr_status put_header(tfr__sink *sink, const json_t *header)
{
    char *text = json_dumps(header, JSON_COMPACT);
    size_t n = text ? strlen(text) : 0, padded = (n + 7) / 8 * 8;
    uint8_t size[8];
    if (!text)
        return tfr_fail(sink->err, TFR_ENOMEM, "out of memory for a header");
    if (padded > TFR__SAFETENSORS_HEADER) {
        free(text);
        return tfr_fail(sink->err, TFR_ELIMIT, "a header of %zu bytes, at most %d", padded,
                        TFR__SAFETENSORS_HEADER);
    }
    for (int i = 0; i < 8; i++)
        size[i] = (uint8_t)((uint64_t)padded >> 8 * i);
    tfr__sink_put(sink, size, sizeof size);
    tfr__sink_put(sink, text, n);
    tfr__sink_put(sink, "        ", padded - n);
    free(text);
    return sink->status;
}

static tfr_status put_file(tfr__sink *sink, const void *what)
{
    const tfr_safetensors_content *c = what;
    json_t *header = json_object();
    tfr_status status = make_header(c, header, sink->err);
    if (!status)
        status = put_header(sink, header);
    json_decref(header);
    for (uint32_t i = 0; !status && i < c->n; i++)
        status = tfr_tensor_write(c->tensors[i], sink->write, sink->user, sink->err);
    return status;
}

tfr_status tfr_safetensors_write(const tfr_safetensors_content *content, tfr_write_fn write,
                                 void *user, tfr_err *err)
{
    tfr__sink sink = {.write = write, .user = user, .err = err};
    return put_file(&sink, content);
}

tfr_status tfr_safetensors_save(const char *path, const tfr_safetensors_content *content,
                                tfr_err *err)
{
    return tfr__file_save(path, put_file, content, err);
}
