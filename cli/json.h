/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h: one object on standard output. A function that makes a value gives NULL when memory is
 * short; cli_json_set and cli_json_append take it, remember it in the object's place, and
 * cli_json_print then fails, so that callers check once.
 */
#ifndef TFR_CLI_JSON_H
#define TFR_CLI_JSON_H

#include <jansson.h>

#include <tfrun/graph.h>

/* An object with "schema": "tfrun.NAME/1". */
json_t *cli_json_start(const char *name);

/* Adds a value, taking it over. */
void cli_json_set(json_t *object, const char *key, json_t *value);
void cli_json_append(json_t *array, json_t *value);

/* Text that may not be UTF-8: wrong bytes become '?'. NULL becomes null. */
json_t *cli_json_text(const char *text);
json_t *cli_json_int(uint64_t value);
/* NaN and infinities, which JSON does not have, become "nan", "inf", "-inf". */
json_t *cli_json_real(double value);
/* "dtype" and "shape" into the object; open dims are null, an unknown rank is a null shape. */
void cli_json_set_type(json_t *object, const tfr_value_type *type);
void cli_json_set_tensor(json_t *object, const tfr_tensor *tensor);

/* Prints and releases it. TFR_ENOMEM if a value was lost. */
TFR_MUST_CHECK tfr_status cli_json_print(json_t *object, tfr_err *err);
/* The same as one line, which readers get at once: for events. */
TFR_MUST_CHECK tfr_status cli_json_print_line(json_t *object, tfr_err *err);

#endif
