/* SPDX-License-Identifier: Apache-2.0 */
/* npy_save.c: writes NumPy's .npy files, version 1.0. */
#include <stdlib.h>
#include <string.h>
#include <tfrun/npy.h>

#include "file.h"
#include "npy_types.h"
#include "prefix.h"
#include "utf8.h"

static const struct {
    tfr_dtype dtype;
    const char *descr;
} types[] = {
#define NPY_TYPE_ROW(name, descr) {TFR_DTYPE_##name, descr},
    TFR__NPY_TYPES(NPY_TYPE_ROW)
#undef NPY_TYPE_ROW
};
enum { N_TYPES = sizeof types / sizeof *types };

/* How strings are written: all have the width of the longest. */
typedef struct facts {
    size_t width; /* characters or bytes */
    bool unicode;
} facts;

/* '<U5' when all strings are UTF-8, else '|S5'. */
static void measure_strings(const tfr_tensor *tensor, facts *f)
{
    size_t longest = 0, longest_codes = 0, n, codes = 0;
    f->unicode = true;
    for (int64_t i = 0; i < tfr_tensor_elements(tensor); i++) {
        const char *text = tfr_tensor_get_string(tensor, i, &n);
        longest = n > longest ? n : longest;
        f->unicode = f->unicode && tfr__utf8_decode(text, n, NULL, &codes);
        longest_codes = codes > longest_codes ? codes : longest_codes;
    }
    f->width = f->unicode ? longest_codes : longest;
    if (!f->width)
        f->width = 1; /* NumPy has no strings of no bytes */
}

static tfr_status put_strings(tfr__sink *sink, const tfr_tensor *tensor, const facts *f,
                              tfr_err *err)
{
    size_t width = f->unicode ? 4 * f->width : f->width, n, codes;
    char *cell = malloc(width);
    if (!cell)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for a string of %zu bytes", width);
    for (int64_t i = 0; i < tfr_tensor_elements(tensor); i++) {
        const char *text = tfr_tensor_get_string(tensor, i, &n);
        memset(cell, 0, width);
        if (f->unicode)
            (void)tfr__utf8_decode(text, n, (uint32_t *)(void *)cell, &codes);
        else
            memcpy(cell, text, n);
        tfr__sink_put(sink, cell, width);
    }
    free(cell);
    return TFR_OK;
}

static tfr_status find_descr(const tfr_tensor *tensor, facts *f, char *descr, size_t n,
                             tfr_err *err)
{
    if (tfr_tensor_kind(tensor) != TFR_KIND_TENSOR)
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "an npy file holds a tensor, not a sequence or optional; write it as .pb");
    if (tfr_tensor_dtype(tensor) == TFR_DTYPE_STRING) {
        measure_strings(tensor, f);
        snprintf(descr, n, "%s%zu", f->unicode ? "<U" : "|S", f->width);
        return TFR_OK;
    }
    for (int i = 0; i < N_TYPES; i++)
        if (types[i].dtype == tfr_tensor_dtype(tensor)) {
            snprintf(descr, n, "%s", types[i].descr);
            return TFR_OK;
        }
    return tfr_fail(err, TFR_EUNSUPPORTED,
                    "the npy format has no type %s; write it as .pb, or cast it first",
                    tfr_dtype_name(tfr_tensor_dtype(tensor)));
}

static void put_header(tfr__sink *sink, const tfr_shape *shape, const char *descr)
{
    char text[1024];
    int n = snprintf(text, sizeof text,
                     TFR__NPY_MAGIC "\1%cxx{'descr': '%s', 'fortran_order': False, "
                                    "'shape': (",
                     0, descr);
    size_t total;

    for (int32_t i = 0; i < shape->rank; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, i ? " %lld," : "%lld,",
                      (long long)shape->dims[i]);
    if (shape->rank > 1)
        n--; /* only a tuple of one ends with a comma */
    n += snprintf(text + n, sizeof text - (size_t)n, "), }");
    /* Blanks and a line end, so that the elements start at a multiple of 64. */
    total = ((size_t)n + 1 + TFR__NPY_ALIGN - 1) / TFR__NPY_ALIGN * TFR__NPY_ALIGN;
    memset(text + n, ' ', total - (size_t)n - 1);
    text[total - 1] = '\n';
    text[8] = (char)((total - 10) & 0xff);
    text[9] = (char)((total - 10) >> 8);
    tfr__sink_put(sink, text, total);
}

static tfr_status put_elements(tfr__sink *sink, const tfr_tensor *tensor, const facts *f,
                               tfr_err *err)
{
    if (tfr_tensor_dtype(tensor) == TFR_DTYPE_STRING)
        return put_strings(sink, tensor, f, err);
    return sink->status ? sink->status : tfr_tensor_write(tensor, sink->write, sink->user, err);
}

static tfr_status put_tensor(tfr__sink *sink, const void *what)
{
    const tfr_tensor *tensor = what;
    facts f = {0, false};
    char descr[32];
    tfr_status status = find_descr(tensor, &f, descr, sizeof descr, sink->err);
    if (status)
        return status;
    put_header(sink, tfr_tensor_shape(tensor), descr);
    status = put_elements(sink, tensor, &f, sink->err);
    return status ? status : sink->status;
}

tfr_status tfr_npy_write(const tfr_tensor *tensor, tfr_write_fn write, void *user, tfr_err *err)
{
    tfr__sink sink = {.write = write, .user = user, .err = err};
    return put_tensor(&sink, tensor);
}

tfr_status tfr_npy_save(const char *path, const tfr_tensor *tensor, tfr_err *err)
{
    return tfr__file_save(path, put_tensor, tensor, err);
}
