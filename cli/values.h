/* SPDX-License-Identifier: Apache-2.0 */
/* values.h: the first elements of a value, for people and for programs. */
#ifndef TFR_CLI_VALUES_H
#define TFR_CLI_VALUES_H

#include <tfrun/tensor.h>

#include "json.h"

/* "0.25, -1, 3, ..."; up to n elements. Returns text. */
const char *cli_format_values(const tfr_tensor *tensor, int64_t n, char *text, size_t capacity);
/* The same as an array; null for a sequence or optional. */
json_t *cli_json_values(const tfr_tensor *tensor, int64_t n);

#endif
