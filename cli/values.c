/* SPDX-License-Identifier: Apache-2.0 */
/* values.c: see values.h. */
#include "values.h"

#include <stdio.h>

#define MOST_VALUES 16

/* The first elements as doubles; returns how many. The tensor must be plain. */
static int64_t first_doubles(const tfr_tensor *tensor, int64_t n, double *out)
{
    tfr_dtype dtype = tfr_tensor_dtype(tensor);
    int64_t elements = tfr_tensor_elements(tensor);
    n = n < elements ? n : elements;
    n = n < MOST_VALUES ? n : MOST_VALUES;
    if (n <= 0 || !tfr_tensor_is_plain(tensor) || dtype == TFR_DTYPE_STRING ||
        tfr_dtype_convert(TFR_DTYPE_F64, out, dtype, tfr_tensor_data(tensor), n, NULL))
        return 0;
    return n;
}

/* Writes element i; 64-bit integers do not all fit a double, so they are read as they are. */
static size_t format_one(const tfr_tensor *tensor, int64_t i, const double *doubles, char *text,
                         size_t capacity)
{
    tfr_dtype dtype = tfr_tensor_dtype(tensor);
    const void *data = tfr_tensor_data(tensor);
    size_t bytes;
    if (dtype == TFR_DTYPE_STRING) {
        const char *string = tfr_tensor_get_string(tensor, i, &bytes);
        return (size_t)snprintf(text, capacity, "\"%.*s\"", bytes < 40 ? (int)bytes : 40, string);
    }
    if (dtype == TFR_DTYPE_I64)
        return (size_t)snprintf(text, capacity, "%lld", (long long)((const int64_t *)data)[i]);
    if (dtype == TFR_DTYPE_U64)
        return (size_t)snprintf(text, capacity, "%llu",
                                (unsigned long long)((const uint64_t *)data)[i]);
    if (dtype == TFR_DTYPE_BOOL)
        return (size_t)snprintf(text, capacity, "%s", doubles[i] != 0 ? "true" : "false");
    return (size_t)snprintf(text, capacity, dtype == TFR_DTYPE_F64 ? "%.17g" : "%.7g", doubles[i]);
}

static int64_t shown(const tfr_tensor *tensor, int64_t n, double *doubles)
{
    int64_t elements = tfr_tensor_elements(tensor);
    if (tfr_tensor_dtype(tensor) == TFR_DTYPE_STRING)
        return n < elements ? n : elements;
    return first_doubles(tensor, n, doubles);
}

const char *cli_format_values(const tfr_tensor *tensor, int64_t n, char *text, size_t capacity)
{
    double doubles[MOST_VALUES];
    size_t used = 0;
    text[0] = 0;
    if (tfr_tensor_kind(tensor) != TFR_KIND_TENSOR)
        return text;
    n = shown(tensor, n, doubles);
    for (int64_t i = 0; i < n && used < capacity; i++) {
        used += (size_t)snprintf(text + used, capacity - used, "%s", i ? ", " : "");
        if (used < capacity)
            used += format_one(tensor, i, doubles, text + used, capacity - used);
    }
    if (n < tfr_tensor_elements(tensor) && used < capacity)
        snprintf(text + used, capacity - used, "%s...", n ? ", " : "");
    return text;
}

json_t *cli_json_values(const tfr_tensor *tensor, int64_t n)
{
    double doubles[MOST_VALUES];
    json_t *array;
    if (tfr_tensor_kind(tensor) != TFR_KIND_TENSOR)
        return json_null();
    array = json_array();
    n = shown(tensor, n, doubles);
    for (int64_t i = 0; i < n; i++) {
        const void *data = tfr_tensor_data(tensor);
        switch (tfr_tensor_dtype(tensor)) {
        case TFR_DTYPE_STRING:
            cli_json_append(array, cli_json_text(tfr_tensor_get_string(tensor, i, NULL)));
            break;
        case TFR_DTYPE_I64:
            cli_json_append(array, json_integer(((const int64_t *)data)[i]));
            break;
        case TFR_DTYPE_U64:
            cli_json_append(array, cli_json_int(((const uint64_t *)data)[i]));
            break;
        case TFR_DTYPE_BOOL:
            cli_json_append(array, json_boolean(doubles[i] != 0));
            break;
        default:
            cli_json_append(array, cli_json_real(doubles[i]));
        }
    }
    return array;
}
