/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map.c: lists of maps, which ZipMap makes and no op of a network reads. In a graph they are
 * tables: a map a row, a key a column. In files they are a SequenceProto of MapProto.
 */
#include <string.h>
#include <tfrun/onnx.h>

#include "onnx/save.h"
#include "onnx/tensor.h"
#include "prefix.h"

/* ---- keys ------------------------------------------------------------------------------------ */

/* The attribute of the ZipMap that makes a value; NULL: it is another value. */
static tfr_status find_keys(const tfr_graph *graph, tfr_value value, const tfr_attr **out,
                            tfr_err *err)
{
    tfr_node_view node = {.size = sizeof node};

    *out = NULL;
    for (uint32_t k = tfr_graph_n_nodes(graph); k-- > 0;) {
        tfr_status status = tfr_graph_node(graph, k, &node, err);
        if (status)
            return status;
        if (node.n_outputs != 1 || node.outputs[0] != value)
            continue;
        if (strcmp(node.op, "ZipMap") != 0 || strcmp(node.domain, "ai.onnx.ml") != 0)
            return TFR_OK;
        *out = tfr_node_attr(&node, "classlabels_int64s");
        if (!*out || !(*out)->n)
            *out = tfr_node_attr(&node, "classlabels_strings");
        return TFR_OK;
    }
    return TFR_OK;
}

tfr_dtype tfr__onnx_key_type(const tfr_graph *graph, tfr_value value)
{
    const tfr_attr *attr;
    if (find_keys(graph, value, &attr, NULL) || !attr)
        return TFR_DTYPE_NONE;
    return attr->type == TFR_ATTR_STRINGS ? TFR_DTYPE_STRING : TFR_DTYPE_I64;
}

static tfr_status copy_keys(const tfr_attr *attr, tfr_tensor **keys, tfr_err *err)
{
    const tfr_shape shape = {1, {(int64_t)attr->n}};
    const bool texts = attr->type == TFR_ATTR_STRINGS;
    tfr_status status =
        tfr_tensor_create(texts ? TFR_DTYPE_STRING : TFR_DTYPE_I64, &shape, keys, err);

    if (!status && !texts)
        memcpy(tfr_tensor_data(*keys), attr->ints, attr->n * sizeof *attr->ints);
    for (uint64_t k = 0; !status && texts && k < attr->n; k++)
        status = tfr_tensor_set_string(*keys, (int64_t)k, attr->strings[k].data,
                                       attr->strings[k].bytes, err);
    if (status) {
        tfr_tensor_release(*keys);
        *keys = NULL;
    }
    return status;
}

tfr_status tfr_onnx_output_keys(const tfr_graph *graph, uint32_t i, tfr_tensor **keys, tfr_err *err)
{
    const tfr_attr *attr;
    tfr_status status = find_keys(graph, tfr_graph_output(graph, i), &attr, err);

    *keys = NULL;
    return status || !attr ? status : copy_keys(attr, keys, err);
}

static int64_t find_int(const tfr_tensor *keys, int64_t key)
{
    const int64_t *all = tfr_tensor_data(keys);
    for (int64_t k = 0; k < tfr_tensor_elements(keys); k++)
        if (all[k] == key)
            return k;
    return -1;
}

static int64_t find_text(const tfr_tensor *keys, tfr__text key)
{
    for (int64_t k = 0; k < tfr_tensor_elements(keys); k++) {
        size_t n;
        const char *text = tfr_tensor_get_string(keys, k, &n);
        if (n == key.bytes && (!n || memcmp(text, key.data, n) == 0))
            return k;
    }
    return -1;
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct table {
    const tfr_tensor *keys;
    int64_t n_keys, n_rows;
    tfr_tensor *tensor; /* room for n_rows */
    int64_t *columns;   /* of the keys of a map, in its order */
} table;

static tfr_status add_key(table *t, const tfr__wire_field *field, int64_t column, int64_t *n,
                          tfr_err *err)
{
    if (column < 0 || *n == t->n_keys)
        return tfr_fail(err, TFR_EMODEL, "byte %zu: MapProto.%s: %s", field->offset, field->name,
                        column < 0 ? "a key that the model does not have" : "too many keys");
    t->columns[(*n)++] = column;
    return TFR_OK;
}

static tfr_status read_keys(table *t, const tfr__wire *wire, tfr__wire_field *field, int64_t *n,
                            tfr_err *err)
{
    const bool texts = tfr_tensor_dtype(t->keys) == TFR_DTYPE_STRING;
    uint64_t key;
    bool more;
    tfr_status status;

    if (texts != (field->number == TFR__MAP_STRING_KEYS))
        return tfr_fail(err, TFR_EMODEL, "byte %zu: MapProto.%s: the model's keys are %s",
                        field->offset, field->name, texts ? "strings" : "integers");
    if (texts)
        return add_key(t, field, find_text(t->keys, field->text), n, err);
    while (!(status = tfr__wire_take(wire, field, &key, &more, err)) && more)
        if ((status = add_key(t, field, find_int(t->keys, (int64_t)key), n, err)))
            break;
    return status;
}

static tfr_status put_values(table *t, const tfr_tensor *values, int64_t n, int64_t row,
                             tfr_err *err)
{
    float *to = (float *)tfr_tensor_data(t->tensor) + row * t->n_keys;

    if (n != t->n_keys || (int64_t)tfr_sequence_length(values) != n)
        return tfr_fail(err, TFR_EMODEL,
                        "map %lld has %lld keys and %zu values, the model has %lld", (long long)row,
                        (long long)n, tfr_sequence_length(values), (long long)t->n_keys);
    for (int64_t k = 0; k < n; k++) {
        const tfr_tensor *value = tfr_sequence_at(values, (size_t)k);
        if (tfr_tensor_kind(value) != TFR_KIND_TENSOR || tfr_tensor_elements(value) != 1 ||
            tfr_tensor_dtype(value) != TFR_DTYPE_F32)
            return tfr_fail(err, TFR_EMODEL, "map %lld: value %lld is no single float32",
                            (long long)row, (long long)k);
        memcpy(&to[t->columns[k]], tfr_tensor_data(value), sizeof *to);
    }
    return TFR_OK;
}

static tfr_status read_map(tfr__onnx_source *source, table *t, tfr__wire wire, int64_t row,
                           tfr_err *err)
{
    tfr_tensor *values = NULL;
    tfr__wire_field field;
    tfr__wire inner;
    int64_t n = 0;
    tfr_status status;

    while (!(status = tfr__wire_next(&wire, &field, err)) && field.number) {
        if (field.number == TFR__MAP_KEYS || field.number == TFR__MAP_STRING_KEYS)
            status = read_keys(t, &wire, &field, &n, err);
        else if (field.number == TFR__MAP_VALUES && !values &&
                 !(status =
                       tfr__wire_enter(&wire, &field, &tfr__onnx_sequence_message, &inner, err)))
            status = tfr__onnx_read_sequence(source, inner, &values, err);
        if (status)
            break;
    }
    if (!status && !values)
        status = tfr_fail(err, TFR_EMODEL, "map %lld has no values", (long long)row);
    if (!status)
        status = put_values(t, values, n, row, err);
    tfr_tensor_release(values);
    return status;
}

/* Counts the maps, and with room for them reads them, too. */
static tfr_status walk_maps(tfr__onnx_source *source, table *t, tfr__wire wire, tfr_err *err)
{
    tfr__wire_field field;
    tfr__wire inner;
    int64_t row = 0;
    tfr_status status;

    while (!(status = tfr__wire_next(&wire, &field, err)) && field.number) {
        if (field.number != TFR__SEQUENCE_MAP_VALUES)
            continue;
        if (t->tensor &&
            ((status = tfr__wire_enter(&wire, &field, &tfr__onnx_map_message, &inner, err)) ||
             (status = read_map(source, t, inner, row, err))))
            break;
        row++;
    }
    t->n_rows = row;
    return status;
}

static tfr_status read_maps(tfr__onnx_source *source, table *t, tfr_err *err)
{
    const size_t bytes = (size_t)t->n_keys * sizeof *t->columns + sizeof *t->columns;
    const tfr_shape room = {1, {(int64_t)bytes}};
    tfr_tensor *columns = NULL;
    tfr_shape shape = {2, {0, t->n_keys}};
    tfr__wire wire;
    tfr_status status = tfr_tensor_create(TFR_DTYPE_U8, &room, &columns, err);

    tfr__wire_open(&wire, &tfr__onnx_sequence_message, source->mapping->data,
                   source->mapping->bytes);
    if (!status) {
        t->columns = tfr_tensor_data(columns);
        status = walk_maps(source, t, wire, err);
    }
    shape.dims[0] = t->n_rows;
    if (!status)
        status = tfr_tensor_create(TFR_DTYPE_F32, &shape, &t->tensor, err);
    if (!status)
        status = walk_maps(source, t, wire, err);
    tfr_tensor_release(columns);
    return tfr__model_status(err, status);
}

tfr_status tfr_onnx_load_maps(const char *path, const tfr_tensor *keys, tfr_tensor **out,
                              tfr_err *err)
{
    tfr__onnx_source source = {.dense_bytes = TFR__DENSE_BYTES_MAX};
    table t = {.keys = keys, .n_keys = tfr_tensor_elements(keys)};
    tfr_status status = tfr__mapping_open(path, &source.mapping, err);

    if (status)
        return status;
    status = read_maps(&source, &t, err);
    if (status)
        tfr_tensor_release(t.tensor);
    else
        *out = t.tensor;
    tfr__mapping_release(source.mapping);
    return status ? tfr__prefix(err, status, "%s: ", path) : TFR_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct maps {
    const char *name;
    const tfr_tensor *keys, *values;
} maps;

enum { ELEM_TENSOR = 1, ELEM_MAP = 4 };

static void put_map(tfr__wire_out *out, const maps *m, int64_t row)
{
    const int64_t n = tfr_tensor_elements(m->keys);
    const bool texts = tfr_tensor_dtype(m->keys) == TFR_DTYPE_STRING;
    const float *values = (const float *)tfr_tensor_data(m->values) + row * n;
    tfr__wire_part list;

    tfr__put_varint(out, TFR__MAP_KEY_TYPE, (uint64_t)tfr_tensor_dtype(m->keys));
    for (int64_t k = 0; k < n; k++) {
        size_t bytes;
        if (texts) {
            const char *text = tfr_tensor_get_string(m->keys, k, &bytes);
            tfr__put_bytes(out, TFR__MAP_STRING_KEYS, text, bytes);
        } else {
            tfr__put_varint(out, TFR__MAP_KEYS,
                            (uint64_t)((const int64_t *)tfr_tensor_data(m->keys))[k]);
        }
    }
    list = tfr__put_begin(out, TFR__MAP_VALUES);
    tfr__put_varint(out, TFR__SEQUENCE_ELEM_TYPE, ELEM_TENSOR);
    for (int64_t k = 0; k < n; k++) {
        tfr__wire_part value = tfr__put_begin(out, TFR__SEQUENCE_TENSOR_VALUES);
        tfr__put_varint(out, TFR__TENSOR_DATA_TYPE, TFR_DTYPE_F32);
        tfr__put_bytes(out, TFR__TENSOR_RAW_DATA, &values[k], sizeof values[k]);
        tfr__put_end(out, value);
    }
    tfr__put_end(out, list);
}

static void put_maps(tfr__wire_out *out, void *what)
{
    const maps *m = what;
    const int64_t n = tfr_tensor_elements(m->keys);

    if (m->name)
        tfr__put_text(out, TFR__SEQUENCE_NAME, m->name);
    tfr__put_varint(out, TFR__SEQUENCE_ELEM_TYPE, ELEM_MAP);
    for (int64_t row = 0; n && row < tfr_tensor_elements(m->values) / n; row++) {
        tfr__wire_part map = tfr__put_begin(out, TFR__SEQUENCE_MAP_VALUES);
        put_map(out, m, row);
        tfr__put_end(out, map);
    }
}

tfr_status tfr_onnx_write_maps(const char *name, const tfr_tensor *keys, const tfr_tensor *values,
                               tfr_write_fn write, void *user, tfr_err *err)
{
    const tfr_shape *shape = tfr_tensor_shape(values);
    maps m = {name, keys, values};
    tfr__sink sink = {.write = write, .user = user, .err = err};
    tfr__wire_out out = {.sink = NULL};
    tfr_status status;

    if (tfr_tensor_dtype(values) != TFR_DTYPE_F32 || !tfr_tensor_is_plain(values) || !shape->rank ||
        shape->dims[shape->rank - 1] != tfr_tensor_elements(keys))
        return tfr_fail(err, TFR_EINVAL,
                        "maps are written of a plain float32 table with a column "
                        "for each key");
    status = tfr__wire_out_measure(&out, put_maps, &m, err);
    if (!status)
        status = tfr__wire_out_write(&out, &sink, put_maps, &m);
    tfr__wire_out_finish(&out);
    return status;
}
