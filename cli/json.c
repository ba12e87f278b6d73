/* SPDX-License-Identifier: Apache-2.0 */
/* json.c: see json.h. */
#include "json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tfrun/fail.h>

static bool json_lost; /* a value was lost since the last print */

json_t *cli_json_start(const char *name)
{
    json_t *object = json_object();
    char schema[64];
    snprintf(schema, sizeof schema, "tfrun.%s/1", name);
    cli_json_set(object, "schema", json_string(schema));
    return object;
}

void cli_json_set(json_t *object, const char *key, json_t *value)
{
    /* jansson takes NULLs and says -1. */
    if (json_object_set_new(object, key, value))
        json_lost = true;
}

void cli_json_append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value))
        json_lost = true;
}

json_t *cli_json_text(const char *text)
{
    json_t *value;
    char *copy;
    if (!text)
        return json_null();
    value = json_string(text);
    if (value)
        return value;
    /* Not UTF-8: replace every byte that is no ASCII. */
    copy = strdup(text);
    for (char *c = copy; c && *c; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    value = copy ? json_string(copy) : NULL;
    free(copy);
    return value;
}

json_t *cli_json_int(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

json_t *cli_json_real(double value)
{
    if (isnan(value))
        return json_string("nan");
    if (isinf(value))
        return json_string(value < 0 ? "-inf" : "inf");
    return json_real(value);
}

static const char *kind_name(int32_t kind)
{
    return kind == TFR_KIND_SEQUENCE   ? "sequence"
           : kind == TFR_KIND_OPTIONAL ? "optional"
                                       : "tensor";
}

void cli_json_set_type(json_t *object, const tfr_value_type *type)
{
    cli_json_set(object, "kind", json_string(kind_name(type->kind)));
    cli_json_set(object, "dtype",
                 type->dtype ? json_string(tfr_dtype_name((tfr_dtype)type->dtype)) : json_null());
    if (!type->rank_known) {
        cli_json_set(object, "shape", json_null());
        return;
    }
    json_t *shape = json_array();
    for (int32_t i = 0; i < type->rank; i++)
        cli_json_append(shape, type->dims[i] < 0 ? json_null() : json_integer(type->dims[i]));
    cli_json_set(object, "shape", shape);
}

void cli_json_set_tensor(json_t *object, const tfr_tensor *tensor)
{
    tfr_value_type type = {.size = sizeof type};
    const tfr_shape *shape = tfr_tensor_shape(tensor);
    type.kind = (int32_t)tfr_tensor_kind(tensor);
    type.dtype = (int32_t)tfr_tensor_dtype(tensor);
    type.rank_known = type.kind == TFR_KIND_TENSOR;
    type.rank = shape->rank;
    memcpy(type.dims, shape->dims, sizeof type.dims);
    cli_json_set_type(object, &type);
    cli_json_set(object, "elements",
                 json_integer(type.rank_known ? tfr_tensor_elements(tensor)
                                              : (int64_t)tfr_sequence_length(tensor)));
}

static tfr_status print(json_t *object, size_t flags, tfr_err *err)
{
    /* Escaped: a name in a model may hold what a terminal obeys. */
    int failed = json_lost || !object ||
                 json_dumpf(object, stdout, flags | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15));
    json_decref(object);
    json_lost = false;
    /* A full disk is seen at the end of main, like for every other output. */
    if (failed && !ferror(stdout))
        return tfr_fail(err, TFR_ENOMEM, "no memory for the JSON output");
    putchar('\n');
    return TFR_OK;
}

tfr_status cli_json_print(json_t *object, tfr_err *err)
{
    return print(object, JSON_INDENT(2), err);
}

tfr_status cli_json_print_line(json_t *object, tfr_err *err)
{
    tfr_status status = print(object, JSON_COMPACT, err);
    fflush(stdout);
    return status;
}
