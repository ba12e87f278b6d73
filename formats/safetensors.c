/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safetensors.c: reads files of named tensors, see tfrun/safetensors.h. The rules are those of the
 * format's description (github.com/huggingface/safetensors, README): a header of at most 100 MB
 * that begins with '{', offsets that cover the rest of the file without gaps, keys once each.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/safetensors.h>

#include "file.h"
#include "prefix.h"
#include "safetensors_types.h"

typedef struct entry {
    char *name;
    uint64_t begin, end; /* of the elements, behind the header */
    tfr_tensor *tensor;
} entry;

struct tfr_safetensors {
    uint32_t n;
    entry *entries;
    json_t *header;
    json_t *metadata; /* part of the header, or NULL */
};

static tfr_status bad(tfr_err *err, const char *name, const char *text)
{
    return tfr_fail(err, TFR_EMODEL, "tensor \"%.200s\": %s", name, text);
}

/* ---- the header ------------------------------------------------------------------------------ */

static tfr_status read_dtype(const json_t *row, const char *name, tfr_dtype *out, tfr_err *err)
{
    const char *word = json_string_value(json_object_get(row, "dtype"));
    *out = word ? tfr__safetensors_dtype(word) : TFR_DTYPE_NONE;
    if (!word)
        return bad(err, name, "it has no dtype");
    if (*out == TFR_DTYPE_NONE)
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "tensor \"%.200s\" has dtype \"%.40s\", which is none "
                        "of tfrun's",
                        name, word);
    return TFR_OK;
}

static tfr_status read_shape(const json_t *row, const char *name, tfr_dtype dtype, tfr_shape *out,
                             uint64_t *bytes, tfr_err *err)
{
    const json_t *dims = json_object_get(row, "shape");
    const size_t rank = json_array_size(dims);
    uint64_t n = tfr_dtype_bits(dtype) / 8;
    bool empty = false;
    if (!json_is_array(dims) || rank > TFR_MAX_RANK)
        return bad(err, name, "its shape is no list of at most 16 dims");
    out->rank = (int32_t)rank;
    for (size_t i = 0; i < rank; i++) {
        const json_t *dim = json_array_get(dims, i);
        const json_int_t value = json_integer_value(dim);
        if (!json_is_integer(dim) || value < 0)
            return bad(err, name, "a dim of its shape is no number from 0 on");
        out->dims[i] = value;
        empty = empty || !value;
        if (value && n > (uint64_t)INT64_MAX / (uint64_t)value)
            return bad(err, name, "its shape is too large");
        n *= value ? (uint64_t)value : 1;
    }
    *bytes = empty ? 0 : n;
    return TFR_OK;
}

static tfr_status read_offsets(const json_t *row, const char *name, uint64_t bytes,
                               uint64_t available, entry *out, tfr_err *err)
{
    const json_t *pair = json_object_get(row, "data_offsets");
    const json_t *begin = json_array_get(pair, 0), *end = json_array_get(pair, 1);
    if (json_array_size(pair) != 2 || !json_is_integer(begin) || !json_is_integer(end) ||
        json_integer_value(begin) < 0 || json_integer_value(end) < json_integer_value(begin))
        return bad(err, name, "its data_offsets are no pair of places in order");
    out->begin = (uint64_t)json_integer_value(begin);
    out->end = (uint64_t)json_integer_value(end);
    if (out->end > available)
        return tfr_fail(err, TFR_EMODEL,
                        "tensor \"%.200s\" ends at byte %" PRIu64 " of the data, of which there "
                        "are %" PRIu64 "; the file is cut short",
                        name, out->end, available);
    if (out->end - out->begin != bytes)
        return tfr_fail(err, TFR_EMODEL,
                        "tensor \"%.200s\" has %" PRIu64 " bytes, its type and shape take %" PRIu64,
                        name, out->end - out->begin, bytes);
    return TFR_OK;
}

static int by_place(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end ? 1 : strcmp(x->name, y->name);
}

/* One after the other, from the first byte to the last. */
static tfr_status check_places(const tfr_safetensors *f, uint64_t available, tfr_err *err)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        if (f->entries[i].begin != at)
            return bad(err, f->entries[i].name,
                       f->entries[i].begin < at ? "it overlaps the one before it"
                                                : "there is a gap before it");
        at = f->entries[i].end;
    }
    if (at != available)
        return tfr_fail(err, TFR_EMODEL, "%" PRIu64 " bytes behind the last tensor",
                        available - at);
    return TFR_OK;
}

/* ---- tensors --------------------------------------------------------------------------------- */

typedef struct source {
    const char *data; /* behind the header */
    uint64_t bytes;
    tfr__mapping *mapping; /* which data lies in, or NULL: copy */
} source;

static tfr_status make_tensor(const source *s, tfr_dtype dtype, const tfr_shape *shape, entry *e,
                              tfr_err *err)
{
    const char *from = s->data + e->begin;
    tfr_status status;
    if (s->mapping && e->end > e->begin) {
        status = tfr_tensor_wrap_bytes(dtype, shape, from, tfr__mapping_rest, tfr__mapping_release,
                                       tfr__mapping_retain(s->mapping), &e->tensor, err);
        if (status)
            tfr__mapping_release(s->mapping);
        return status;
    }
    status = tfr_tensor_create(dtype, shape, &e->tensor, err);
    if (!status && e->end > e->begin)
        memcpy(tfr_tensor_data(e->tensor), from, (size_t)(e->end - e->begin));
    return status;
}

static tfr_status read_entry(const source *s, const char *name, const json_t *row, entry *e,
                             tfr_err *err)
{
    tfr_shape shape;
    tfr_dtype dtype;
    uint64_t bytes = 0;
    tfr_status status;
    if (!json_is_object(row))
        return bad(err, name, "its row of the header is no object");
    e->name = strdup(name);
    if (!e->name)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for the name of a tensor");
    status = read_dtype(row, name, &dtype, err);
    if (!status)
        status = read_shape(row, name, dtype, &shape, &bytes, err);
    if (!status)
        status = read_offsets(row, name, bytes, s->bytes, e, err);
    if (!status)
        status = tfr__model_status(err, make_tensor(s, dtype, &shape, e, err));
    return status;
}

static tfr_status read_metadata(tfr_safetensors *f, json_t *value, tfr_err *err)
{
    const char *key;
    json_t *text;
    if (!json_is_object(value))
        return tfr_fail(err, TFR_EMODEL, "__metadata__ is no object");
    json_object_foreach(value, key, text)
    {
        if (!json_is_string(text))
            return tfr_fail(err, TFR_EMODEL, "\"%.200s\" of __metadata__ is no text", key);
    }
    f->metadata = value;
    return TFR_OK;
}

static tfr_status read_rows(tfr_safetensors *f, const source *s, tfr_err *err)
{
    const char *name;
    json_t *row;
    tfr_status status = TFR_OK;
    f->entries = calloc(json_object_size(f->header) + 1, sizeof *f->entries);
    if (!f->entries)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for %zu tensors",
                        json_object_size(f->header));
    json_object_foreach(f->header, name, row)
    {
        if (strcmp(name, "__metadata__") == 0)
            status = read_metadata(f, row, err);
        else
            status = read_entry(s, name, row, &f->entries[f->n++], err);
        if (status)
            return status;
    }
    qsort(f->entries, f->n, sizeof *f->entries, by_place);
    return check_places(f, s->bytes, err);
}

/* ---- the file -------------------------------------------------------------------------------- */

static tfr_status read_header(const char *bytes, size_t n, uint64_t *header_bytes, json_t **out,
                              tfr_err *err)
{
    json_error_t why;
    *header_bytes = 0;
    if (n < 8)
        return tfr_fail(err, TFR_EMODEL, "%zu bytes are no safetensors file, which begins with 8",
                        n);
    for (int i = 8; i-- > 0;)
        *header_bytes = *header_bytes << 8 | (uint8_t)bytes[i];
    if (*header_bytes > TFR__SAFETENSORS_HEADER)
        return tfr_fail(err, TFR_EMODEL,
                        "no safetensors file: its header would have %" PRIu64
                        " bytes, more than %d",
                        *header_bytes, TFR__SAFETENSORS_HEADER);
    if (*header_bytes > n - 8)
        return tfr_fail(err, TFR_EMODEL,
                        "the file is cut short: a header of %" PRIu64 " bytes, and %zu follow",
                        *header_bytes, n - 8);
    if (!*header_bytes || bytes[8] != '{')
        return tfr_fail(err, TFR_EMODEL, "no safetensors file: its header does not begin with {");
    *out = json_loadb(bytes + 8, (size_t)*header_bytes, JSON_REJECT_DUPLICATES, &why);
    if (!*out)
        return tfr_fail(err, TFR_EMODEL, "the header is no JSON: %s at byte %d", why.text,
                        why.position + 8);
    return TFR_OK;
}

static tfr_status parse(const char *bytes, size_t n, tfr__mapping *mapping, tfr_safetensors **out,
                        tfr_err *err)
{
    tfr_safetensors *f = calloc(1, sizeof *f);
    uint64_t header_bytes = 0;
    source s = {.mapping = mapping};
    tfr_status status;
    if (!f)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for a safetensors file");
    status = read_header(bytes, n, &header_bytes, &f->header, err);
    if (!status) {
        s.data = bytes + 8 + header_bytes;
        s.bytes = n - 8 - header_bytes;
        status = read_rows(f, &s, err);
    }
    if (status)
        tfr_safetensors_release(f);
    else
        *out = f;
    return status;
}

tfr_status tfr_safetensors_parse(const void *bytes, size_t n, tfr_safetensors **out, tfr_err *err)
{
    return parse(bytes, n, NULL, out, err);
}

tfr_status tfr_safetensors_load(const char *path, tfr_safetensors **out, tfr_err *err)
{
    tfr__mapping *mapping = NULL;
    tfr_status status = tfr__mapping_open(path, &mapping, err);
    if (status)
        return status;
    status = parse(mapping->data, mapping->bytes, mapping, out, err);
    tfr__mapping_release(mapping);
    return status ? tfr__prefix(err, status, "%s: ", path) : TFR_OK;
}

void tfr_safetensors_release(tfr_safetensors *f)
{
    if (!f)
        return;
    for (uint32_t i = 0; i < f->n; i++) {
        free(f->entries[i].name);
        tfr_tensor_release(f->entries[i].tensor);
    }
    free(f->entries);
    json_decref(f->header);
    free(f);
}

/* ---- looking --------------------------------------------------------------------------------- */

uint32_t tfr_safetensors_n(const tfr_safetensors *f)
{
    return f->n;
}

const char *tfr_safetensors_name(const tfr_safetensors *f, uint32_t i)
{
    return i < f->n ? f->entries[i].name : NULL;
}

tfr_tensor *tfr_safetensors_tensor(const tfr_safetensors *f, uint32_t i)
{
    return i < f->n ? f->entries[i].tensor : NULL;
}

tfr_tensor *tfr_safetensors_find(const tfr_safetensors *f, const char *name)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (strcmp(f->entries[i].name, name) == 0)
            return f->entries[i].tensor;
    return NULL;
}

const char *tfr_safetensors_metadata(const tfr_safetensors *f, const char *key)
{
    return json_string_value(json_object_get(f->metadata, key));
}
