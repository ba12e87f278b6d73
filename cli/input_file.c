/* SPDX-License-Identifier: Apache-2.0 */
/* input_file.c: see input_file.h. */
#include "input_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tfrun/fail.h>
#include <tfrun/npy.h>

#include "image_input.h"
#include "tensor_file.h"
#include "text.h"

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), n_end = strlen(end);
    return n > n_end && strcmp(name + n - n_end, end) == 0;
}

bool cli_input_is_npz(const char *path)
{
    return ends_in(path, ".npz");
}

/* ---- element types --------------------------------------------------------------------------- */

/* Replaces the tensor by one of the type. */
static tfr_status convert(tfr_tensor **tensor, tfr_dtype dtype, tfr_err *err)
{
    tfr_tensor *plain = NULL, *made = NULL;
    tfr_status status = tfr_tensor_copy(*tensor, &plain, err);
    if (!status)
        status = tfr_tensor_create(dtype, tfr_tensor_shape(plain), &made, err);
    if (!status)
        status = tfr_dtype_convert(dtype, tfr_tensor_data(made), tfr_tensor_dtype(plain),
                                   tfr_tensor_data(plain), tfr_tensor_elements(plain), err);
    tfr_tensor_release(plain);
    if (status) {
        tfr_tensor_release(made);
        return status;
    }
    tfr_tensor_release(*tensor);
    *tensor = made;
    return TFR_OK;
}

static tfr_status check_dtype(const cli_args *args, const char *name, const char *path,
                              const tfr_value_type *type, tfr_tensor **tensor, tfr_err *err)
{
    const tfr_dtype dtype = tfr_tensor_dtype(*tensor);
    if (type->kind > TFR_KIND_TENSOR || tfr_tensor_kind(*tensor) != TFR_KIND_TENSOR ||
        !type->dtype || dtype == (tfr_dtype)type->dtype)
        return TFR_OK;
    if (!args->cast_inputs)
        return tfr_fail(err, TFR_EDTYPE,
                        "%s has %s, and input \"%s\" is %s; give --cast-inputs to convert it", path,
                        tfr_dtype_name(dtype), name, tfr_dtype_name((tfr_dtype)type->dtype));
    return convert(tensor, (tfr_dtype)type->dtype, err);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* What a file of text holds. */
typedef struct text_file {
    char *bytes; /* ended by zero */
    size_t n;
    double *numbers;
    int64_t n_numbers, n_lines; /* lines that hold something */
} text_file;

static void text_finish(text_file *t)
{
    free(t->bytes);
    free(t->numbers);
}

static tfr_status text_read(const char *path, text_file *t, tfr_err *err)
{
    FILE *file = fopen(path, "r");
    size_t capacity = 0, got = 1;
    if (!file)
        return tfr_fail(err, TFR_EIO, "%s cannot be opened: %s", path, strerror(errno));
    while (got && !ferror(file)) {
        if (t->n + 1 >= capacity) {
            size_t more = capacity ? 2 * capacity : 1 << 14;
            char *bytes = realloc(t->bytes, more);
            if (!bytes) {
                fclose(file);
                return tfr_fail(err, TFR_ENOMEM, "no memory for the text of %s", path);
            }
            t->bytes = bytes;
            capacity = more;
        }
        got = fread(t->bytes + t->n, 1, capacity - 1 - t->n, file);
        t->n += got;
    }
    if (ferror(file)) {
        fclose(file);
        return tfr_fail(err, TFR_EIO, "%s cannot be read: %s", path, strerror(errno));
    }
    fclose(file);
    t->bytes[t->n] = 0;
    return TFR_OK;
}

static bool separates(char c)
{
    return c == ',' || c == ';' || c == ' ' || c == '\t' || c == '\r';
}

/* All numbers; a first line that starts with none has titles and is left out. */
static tfr_status text_numbers(const char *path, text_file *t, tfr_err *err)
{
    char *at = t->bytes, *end;
    int64_t line = 1, in_line = 0, columns = -1;
    /* Each number but the last has a separator behind it. */
    t->numbers = calloc(t->n / 2 + 2, sizeof *t->numbers);
    if (!t->numbers)
        return tfr_fail(err, TFR_ENOMEM, "no memory for the numbers of %s", path);
    for (;; at++) {
        while (separates(*at))
            at++;
        if (*at && *at != '\n') {
            double value = strtod(at, &end);
            bool good = end != at && (!*end || *end == '\n' || separates(*end));
            if (!good && line == 1 && !in_line) {
                at += strcspn(at, "\n");
            } else if (!good) {
                return tfr_fail(err, TFR_EMODEL, "%s: line %lld: \"%.*s\" is no number", path,
                                (long long)line, (int)strcspn(at, ",; \t\r\n"), at);
            } else {
                t->numbers[t->n_numbers++] = value;
                in_line++;
                at = end;
            }
        }
        if (*at && *at != '\n')
            continue;
        if (in_line && columns >= 0 && in_line != columns && ends_in(path, ".csv"))
            return tfr_fail(err, TFR_EMODEL, "%s: line %lld has %lld numbers, those before %lld",
                            path, (long long)line, (long long)in_line, (long long)columns);
        if (in_line) {
            columns = in_line;
            t->n_lines++;
        }
        in_line = 0;
        line++;
        if (!*at)
            return TFR_OK;
    }
}

/* The declared shape with the numbers' count in its one open dim; a matrix has a row a line. */
static bool text_shape(const tfr_value_type *type, const text_file *t, tfr_shape *out)
{
    int64_t known = 1;
    int32_t n_open = 0, open = 0;
    *out = (tfr_shape){2, {t->n_lines, t->n_lines ? t->n_numbers / t->n_lines : 0}};
    if (!type->rank_known)
        return t->n_lines * out->dims[1] == t->n_numbers;
    for (int32_t k = 0; k < type->rank; k++) {
        open = type->dims[k] < 0 ? k : open;
        n_open += type->dims[k] < 0;
        if (type->dims[k] > 0 && known > t->n_numbers / type->dims[k])
            return false;
        known *= type->dims[k] < 0 ? 1 : type->dims[k];
    }
    if (n_open > 1)
        return type->rank == 2 && t->n_lines * out->dims[1] == t->n_numbers;
    out->rank = type->rank;
    memcpy(out->dims, type->dims, (size_t)type->rank * sizeof *out->dims);
    if (!n_open)
        return known == t->n_numbers;
    out->dims[open] = known ? t->n_numbers / known : 0;
    return known && t->n_numbers % known == 0;
}

static tfr_status from_numbers(const char *name, const char *path, const tfr_value_type *type,
                               text_file *t, tfr_tensor **out, tfr_err *err)
{
    char text[200];
    tfr_shape shape;
    tfr_tensor *tensor;
    tfr_status status = text_numbers(path, t, err);
    if (status)
        return status;
    if (!text_shape(type, t, &shape))
        return tfr_fail(err, TFR_ESHAPE,
                        "%s has %lld numbers in %lld lines, which make no %s of input \"%s\"; fix "
                        "its dims with --dim, or give a .npy file",
                        path, (long long)t->n_numbers, (long long)t->n_lines,
                        cli_format_type(type, text, sizeof text), name);
    status = tfr_tensor_create(TFR_DTYPE_F64, &shape, &tensor, err);
    if (status)
        return status;
    memcpy(tfr_tensor_data(tensor), t->numbers, (size_t)t->n_numbers * sizeof *t->numbers);
    if (type->dtype && type->dtype != TFR_DTYPE_F64)
        status = convert(&tensor, (tfr_dtype)type->dtype, err);
    if (status)
        tfr_tensor_release(tensor);
    else
        *out = tensor;
    return status;
}

/* A string a line. */
static tfr_status from_lines(const char *name, const char *path, const tfr_value_type *type,
                             text_file *t, tfr_tensor **out, tfr_err *err)
{
    char text[200];
    tfr_shape shape;
    tfr_tensor *tensor;
    const char *at = t->bytes;
    tfr_status status;
    for (size_t i = 0; i < t->n; i++)
        t->n_lines += t->bytes[i] == '\n' || i + 1 == t->n;
    t->n_numbers = t->n_lines;
    if (!text_shape(type, t, &shape))
        return tfr_fail(err, TFR_ESHAPE, "%s has %lld lines, which make no %s of input \"%s\"",
                        path, (long long)t->n_lines, cli_format_type(type, text, sizeof text),
                        name);
    status = tfr_tensor_create(TFR_DTYPE_STRING, &shape, &tensor, err);
    if (status)
        return status;
    for (int64_t i = 0; !status && i < t->n_lines; i++) {
        size_t n = strcspn(at, "\n");
        status = tfr_tensor_set_string(tensor, i, at, n && at[n - 1] == '\r' ? n - 1 : n, err);
        at += n + (at[n] != 0);
    }
    if (status)
        tfr_tensor_release(tensor);
    else
        *out = tensor;
    return status;
}

static tfr_status load_text(const char *name, const char *path, const tfr_value_type *type,
                            tfr_tensor **out, tfr_err *err)
{
    text_file t = {0};
    tfr_status status = text_read(path, &t, err);
    if (!status)
        status = type->dtype == TFR_DTYPE_STRING ? from_lines(name, path, type, &t, out, err)
                                                 : from_numbers(name, path, type, &t, out, err);
    text_finish(&t);
    return status;
}

/* ---- either ---------------------------------------------------------------------------------- */

tfr_status cli_input_load(const cli_args *args, const tfr_graph *graph, uint32_t i,
                          const char *path, tfr_tensor **out, tfr_err *err)
{
    const char *name = cli_model_input_name(graph, i);
    const tfr_value_type *type = tfr_graph_value_type(graph, tfr_graph_input(graph, i));
    tfr_tensor *tensor = NULL;
    tfr_status status;
    if (ends_in(path, ".csv") || ends_in(path, ".txt"))
        return load_text(name, path, type, out, err);
    if (cli_input_is_image(path))
        return cli_image_load(args, name, path, type, out, err);
    status = cli_input_is_npz(path) ? tfr_npz_load(path, name, &tensor, err)
                                    : cli_tensor_load(path, (tfr_kind)type->kind, &tensor, err);
    if (!status)
        status = check_dtype(args, name, path, type, &tensor, err);
    if (status)
        tfr_tensor_release(tensor);
    else
        *out = tensor;
    return status;
}
