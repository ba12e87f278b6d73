/* SPDX-License-Identifier: Apache-2.0 */
/* bench/ort_library.h: finding ONNX Runtime's library, and its functions. */
#ifndef TFR_BENCH_ORT_LIBRARY_H
#define TFR_BENCH_ORT_LIBRARY_H

#include <stdbool.h>

#include "ort_api.h"

/* Names by which the dynamic linker may know it, ended by NULL. */
extern const char *const bench_ort_names[];

/* The first file that matches the pattern inside of a package of Python's, or "". Returns path. */
const char *bench_file_in_python(const char *package, const char *pattern, char *path,
                                 size_t capacity);
/* The library inside of ONNX Runtime's package, in the same way. */
const char *bench_ort_in_python(char *path, size_t capacity);

/* Fills the table from a library that dlopen gave; false if it has no interface of our version. */
bool bench_ort_take(void *library, ort_api *api, const char **version);

#endif
