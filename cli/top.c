/* SPDX-License-Identifier: Apache-2.0 */
/* top.c: see top.h. */
#include "top.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tfrun/fail.h>
#include <tfrun/onnx.h>

#include "table.h"
#include "text.h"

#define MOST_ROWS   16
#define MOST_DIGITS 20
#define MOST_LABELS (1 << 24) /* bytes of their file */

/* ---- labels ---------------------------------------------------------------------------------- */

static tfr_status read_labels(FILE *file, const char *path, cli_labels *out, tfr_err *err)
{
    size_t n;
    out->bytes = malloc(MOST_LABELS + 1);
    if (!out->bytes)
        return tfr_fail(err, TFR_ENOMEM, "no memory for the labels of %s", path);
    n = fread(out->bytes, 1, MOST_LABELS, file);
    if (ferror(file))
        return tfr_fail(err, TFR_EIO, "%s cannot be read: %s", path, strerror(errno));
    if (n == MOST_LABELS)
        return tfr_fail(err, TFR_ELIMIT,
                        "%s has %d bytes or more, which are no labels; give a file with a label a "
                        "line",
                        path, MOST_LABELS);
    out->bytes[n] = 0;
    for (size_t i = 0; i < n; i++)
        out->n += out->bytes[i] == '\n' || i + 1 == n;
    out->items = calloc((size_t)out->n + 1, sizeof *out->items);
    if (!out->items)
        return tfr_fail(err, TFR_ENOMEM, "no memory for the labels of %s", path);
    char *at = out->bytes;
    for (int64_t i = 0; i < out->n; i++) {
        size_t bytes = strcspn(at, "\n");
        out->items[i] = at;
        at += bytes;
        if (bytes && at[-1] == '\r')
            at[-1] = 0;
        if (*at)
            *at++ = 0;
    }
    return TFR_OK;
}

tfr_status cli_labels_load(const cli_args *args, cli_labels *out, tfr_err *err)
{
    FILE *file;
    tfr_status status;
    *out = (cli_labels){0};
    if (!args->labels)
        return TFR_OK;
    file = fopen(args->labels, "r");
    if (!file)
        return tfr_fail(err, TFR_EIO, "%s cannot be opened: %s", args->labels, strerror(errno));
    status = read_labels(file, args->labels, out, err);
    fclose(file);
    return status;
}

static tfr_status take_keys(const tfr_tensor *keys, cli_labels *out, tfr_err *err)
{
    const int64_t n = tfr_tensor_elements(keys);
    const bool texts = tfr_tensor_dtype(keys) == TFR_DTYPE_STRING;
    size_t bytes = 0, at = 0;
    for (int64_t k = 0; k < n; k++) {
        size_t length = MOST_DIGITS;
        if (texts)
            (void)tfr_tensor_get_string(keys, k, &length);
        bytes += length + 1;
    }
    out->bytes = malloc(bytes + 1);
    out->items = calloc((size_t)n + 1, sizeof *out->items);
    if (!out->bytes || !out->items)
        return tfr_fail(err, TFR_ENOMEM, "no memory for %lld keys", (long long)n);
    for (int64_t k = 0; k < n; k++) {
        char *text = out->bytes + at;
        out->items[k] = text;
        if (texts)
            at +=
                (size_t)snprintf(text, bytes - at, "%s", tfr_tensor_get_string(keys, k, NULL)) + 1;
        else
            at += (size_t)snprintf(text, bytes - at, "%lld",
                                   (long long)((const int64_t *)tfr_tensor_data(keys))[k]) +
                  1;
    }
    out->n = n;
    return TFR_OK;
}

tfr_status cli_labels_of_output(const tfr_graph *graph, uint32_t i, cli_labels *out, tfr_err *err)
{
    tfr_tensor *keys;
    tfr_status status = tfr_onnx_output_keys(graph, i, &keys, err);
    *out = (cli_labels){0};
    if (!status && keys)
        status = take_keys(keys, out, err);
    tfr_tensor_release(keys);
    return status;
}

const char *cli_format_map(const cli_labels *keys, const tfr_tensor *table, int64_t n, char *text,
                           size_t capacity)
{
    const float *values = tfr_tensor_data(table);
    const int64_t all = tfr_tensor_elements(table);
    size_t used = 0;
    text[0] = 0;
    for (int64_t i = 0; i < all && i < n && i < keys->n && used < capacity; i++)
        used += (size_t)snprintf(text + used, capacity - used, "%s%.40s: %.7g", i ? ", " : "",
                                 keys->items[i], (double)values[i]);
    if ((n < all || keys->n < all) && used < capacity)
        snprintf(text + used, capacity - used, ", ...");
    return text;
}

void cli_labels_finish(cli_labels *labels)
{
    free(labels->bytes);
    free(labels->items);
}

static const char *label_of(const cli_labels *labels, int64_t i)
{
    return i < labels->n ? labels->items[i] : "-";
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The first rows of a tensor as doubles. */
typedef struct rows {
    double *values;
    int64_t n, width, all; /* all rows there are */
} rows;

/* False if the tensor has no rows of numbers, or there is no memory. */
static bool rows_of(const tfr_tensor *tensor, rows *out)
{
    const tfr_shape *shape;
    *out = (rows){0};
    if (tfr_tensor_kind(tensor) != TFR_KIND_TENSOR || !tfr_tensor_is_plain(tensor) ||
        tfr_tensor_dtype(tensor) == TFR_DTYPE_STRING)
        return false;
    shape = tfr_tensor_shape(tensor);
    if (!shape->rank || !tfr_tensor_elements(tensor))
        return false;
    out->width = shape->dims[shape->rank - 1];
    out->all = tfr_tensor_elements(tensor) / out->width;
    out->n = out->all < MOST_ROWS ? out->all : MOST_ROWS;
    out->values = malloc((size_t)(out->n * out->width) * sizeof *out->values);
    if (!out->values)
        return false;
    if (tfr_dtype_convert(TFR_DTYPE_F64, out->values, tfr_tensor_dtype(tensor),
                          tfr_tensor_data(tensor), out->n * out->width, NULL)) {
        free(out->values);
        return false;
    }
    return true;
}

/* The largest that is left, the first of equals; it is no more there afterwards. -1 = none is. */
static int64_t take_largest(double *row, int64_t n, double *value)
{
    int64_t best = -1;
    for (int64_t i = 0; i < n; i++)
        if (!isnan(row[i]) && (best < 0 || row[i] > row[best]))
            best = i;
    if (best < 0)
        return -1;
    *value = row[best];
    row[best] = NAN;
    return best;
}

tfr_status cli_top_print(const cli_args *args, const cli_labels *labels, const char *name,
                         const tfr_tensor *tensor, tfr_err *err)
{
    static const char *const titles[] = {"TOP OF", "ROW", "INDEX", "VALUE", "LABEL"};
    static const uint32_t flags[] = {0, CLI_RIGHT, CLI_RIGHT, CLI_RIGHT, 0};
    cli_table *table;
    tfr_status status;
    rows r;
    if (!rows_of(tensor, &r))
        return TFR_OK;
    table = cli_table_create(labels->n ? 5 : 4, titles, flags);
    for (int64_t i = 0; i < r.n; i++)
        for (int64_t k = 0; k < args->top; k++) {
            double value = 0;
            int64_t at = take_largest(r.values + i * r.width, r.width, &value);
            if (at < 0)
                break;
            cli_table_add(table, "%s", name);
            cli_table_add(table, "%lld", (long long)i);
            cli_table_add(table, "%lld", (long long)at);
            cli_table_add(table, "%.6g", value);
            if (labels->n)
                cli_table_add(table, "%s", label_of(labels, at));
        }
    printf("\n");
    status = cli_table_print(table, err);
    if (!status && r.n < r.all)
        printf("the first %lld rows of %lld\n", (long long)r.n, (long long)r.all);
    free(r.values);
    return status;
}

json_t *cli_top_json(const cli_args *args, const cli_labels *labels, const tfr_tensor *tensor)
{
    json_t *lists;
    rows r;
    if (!rows_of(tensor, &r))
        return json_null();
    lists = json_array();
    for (int64_t i = 0; i < r.n; i++) {
        json_t *list = json_array();
        for (int64_t k = 0; k < args->top; k++) {
            double value = 0;
            int64_t at = take_largest(r.values + i * r.width, r.width, &value);
            json_t *row = at < 0 ? NULL : json_object();
            if (at < 0)
                break;
            cli_json_set(row, "index", json_integer(at));
            cli_json_set(row, "value", cli_json_real(value));
            cli_json_set(row, "label", cli_json_text(at < labels->n ? labels->items[at] : NULL));
            cli_json_append(list, row);
        }
        cli_json_append(lists, list);
    }
    free(r.values);
    return lists;
}
