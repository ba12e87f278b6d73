/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npy.c: reads NumPy's .npy files; npy_save.c writes them. The format is numpy/lib/format.py's: a
 * magic, a version, the header's size, and the header, a Python dictionary literal with exactly the
 * keys descr, fortran_order and shape, read here by a small scanner and never evaluated.
 */
#include <stdlib.h>
#include <string.h>
#include <tfrun/npy.h>

#include "file.h"
#include "foreign.h"
#include "npy_types.h"
#include "prefix.h"
#include "wire.h"

enum { MAGIC_BYTES = TFR__NPY_MAGIC_BYTES, HEADER_BYTES_MAX = 1 << 16 };

/* Smaller arrays are copied: a mapping that stays for a scalar is a bad bargain. */
enum { WRAP_BYTES_MIN = 4096 };

static const struct {
    tfr_dtype dtype;
    const char *descr;
} types[] = {
#define NPY_TYPE_ROW(name, descr) {TFR_DTYPE_##name, descr},
    TFR__NPY_TYPES(NPY_TYPE_ROW)
#undef NPY_TYPE_ROW
};
enum { N_TYPES = sizeof types / sizeof *types };

/* ---- the header ------------------------------------------------------------------------------ */

typedef struct header {
    tfr_dtype dtype;
    size_t width; /* bytes of an element in the file */
    bool unicode; /* strings of 4-byte code points, else of bytes */
    bool fortran;
    tfr_shape shape;
} header;

typedef struct scanner {
    const char *begin, *at, *end;
} scanner;

static tfr_status fail_at(const scanner *s, const char *wanted, tfr_err *err)
{
    return tfr_fail(err, TFR_EMODEL, "npy header: byte %zu: %s is expected",
                    (size_t)(s->at - s->begin), wanted);
}

static void skip_blanks(scanner *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
        s->at++;
}

static bool take(scanner *s, const char *token)
{
    size_t n = strlen(token);
    skip_blanks(s);
    if ((size_t)(s->end - s->at) < n || memcmp(s->at, token, n) != 0)
        return false;
    s->at += n;
    return true;
}

static bool take_string(scanner *s, tfr__text *out)
{
    char quote;
    const char *close;
    skip_blanks(s);
    if (s->at == s->end || (*s->at != '\'' && *s->at != '"'))
        return false;
    quote = *s->at;
    close = memchr(s->at + 1, quote, (size_t)(s->end - s->at - 1));
    if (!close)
        return false;
    out->data = s->at + 1;
    out->bytes = (size_t)(close - out->data);
    s->at = close + 1;
    return true;
}

static bool take_number(scanner *s, uint64_t *out)
{
    const char *start;
    uint64_t value = 0;
    skip_blanks(s);
    start = s->at;
    for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++) {
        unsigned digit = (unsigned)(*s->at - '0');
        if (value > ((uint64_t)INT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return s->at > start;
}

static tfr_status read_shape(scanner *s, tfr_shape *shape, tfr_err *err)
{
    uint64_t dim;
    if (!take(s, "("))
        return fail_at(s, "a tuple like (2, 3) as shape", err);
    while (!take(s, ")")) {
        if (shape->rank == TFR_MAX_RANK)
            return tfr_fail(err, TFR_EMODEL, "npy header: shape has more than %d dims",
                            TFR_MAX_RANK);
        if (!take_number(s, &dim))
            return fail_at(s, "a dim from 0 to 2^63-1", err);
        shape->dims[shape->rank++] = (int64_t)dim;
        take(s, "L"); /* Python 2 wrote long integers so */
        if (!take(s, ",") && !take(s, ")"))
            return fail_at(s, "a comma or the end of the shape", err);
        else if (s->at[-1] == ')')
            return TFR_OK;
    }
    return TFR_OK;
}

static tfr_status read_descr(scanner *s, header *h, tfr_err *err)
{
    tfr__text descr, digits;
    scanner number;
    uint64_t n;
    char quoted[TFR__QUOTE_BYTES];

    skip_blanks(s);
    if (s->at < s->end && (*s->at == '[' || *s->at == '('))
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "npy header: descr is a structured type; tfrun reads arrays of numbers, "
                        "bools and strings");
    if (!take_string(s, &descr))
        return fail_at(s, "a type like '<f4' as descr", err);
    for (int i = 0; i < N_TYPES; i++) {
        const char *known = types[i].descr;
        /* One byte has no order, whatever mark stands before it; '=' is not valid in a file. */
        if (tfr__text_equal(descr, known) ||
            (known[0] == '|' && descr.bytes == 3 && memcmp(descr.data + 1, known + 1, 2) == 0)) {
            h->dtype = types[i].dtype;
            h->width = tfr_dtype_bits(h->dtype) / 8;
            return TFR_OK;
        }
    }
    if (descr.bytes >= 3 && (descr.data[1] == 'U' || descr.data[1] == 'S') &&
        descr.data[0] != '>') {
        digits.data = descr.data + 2;
        digits.bytes = descr.bytes - 2;
        number = (scanner){digits.data, digits.data, digits.data + digits.bytes};
        if (take_number(&number, &n) && number.at == number.end && n <= UINT32_MAX / 4) {
            h->dtype = TFR_DTYPE_STRING;
            h->unicode = descr.data[1] == 'U';
            h->width = (size_t)n * (h->unicode ? 4 : 1);
            return TFR_OK;
        }
    }
    tfr__text_quote(descr, quoted, sizeof quoted);
    if (descr.bytes && descr.data[0] == '>')
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "npy header: descr %s is big endian; write it with "
                        "a.astype(a.dtype.newbyteorder('<'))",
                        quoted);
    return tfr_fail(err, TFR_EUNSUPPORTED,
                    "npy header: descr %s is no type that tfrun has; it reads b1, i1 to i8, u1 to "
                    "u8, f2, f4, f8, c8, c16, S and U",
                    quoted);
}

static tfr_status read_dictionary(scanner *s, header *h, tfr_err *err)
{
    bool has_descr = false, has_order = false, has_shape = false, *has;
    tfr__text key;
    char quoted[TFR__QUOTE_BYTES];

    if (!take(s, "{"))
        return fail_at(s, "a dictionary", err);
    while (!take(s, "}")) {
        tfr_status status = TFR_OK;
        if (!take_string(s, &key))
            return fail_at(s, "a key in quotes", err);
        has = tfr__text_equal(key, "descr")           ? &has_descr
              : tfr__text_equal(key, "fortran_order") ? &has_order
              : tfr__text_equal(key, "shape")         ? &has_shape
                                                      : NULL;
        if (!has || *has)
            return tfr_fail(err, TFR_EMODEL, "npy header: key %s is %s",
                            tfr__text_quote(key, quoted, sizeof quoted),
                            has ? "there twice" : "not descr, fortran_order or shape");
        *has = true;
        if (!take(s, ":"))
            return fail_at(s, "a colon", err);
        if (has == &has_descr)
            status = read_descr(s, h, err);
        else if (has == &has_shape)
            status = read_shape(s, &h->shape, err);
        else if (!(h->fortran = take(s, "True")) && !take(s, "False"))
            status = fail_at(s, "True or False", err);
        if (status)
            return status;
        if (!take(s, ",") && (s->at == s->end || *s->at != '}'))
            return fail_at(s, "a comma or the end of the dictionary", err);
    }
    if (!has_descr || !has_order || !has_shape)
        return tfr_fail(err, TFR_EMODEL, "npy header: key \"%s\" is missing",
                        !has_descr   ? "descr"
                        : !has_order ? "fortran_order"
                                     : "shape");
    return TFR_OK;
}

/* Reads all before the elements; *start is where they begin. */
static tfr_status read_header(const char *data, size_t n, header *h, size_t *start, tfr_err *err)
{
    size_t fixed, length = 0, size_bytes;
    const char *foreign;
    scanner s;
    tfr_status status;

    if (n < MAGIC_BYTES || memcmp(data, TFR__NPY_MAGIC, MAGIC_BYTES) != 0) {
        foreign = tfr__foreign_name(data, n);
        return tfr_fail(err, TFR_EMODEL, "not an npy file%s%s: it does not start with \\x93NUMPY",
                        foreign ? " but " : "", foreign ? foreign : "");
    }
    if (n < MAGIC_BYTES + 2 || data[6] < 1 || data[6] > 3)
        return tfr_fail(err, TFR_EMODEL, "npy version %d is not 1, 2 or 3",
                        n > MAGIC_BYTES ? (int)(unsigned char)data[6] : 0);
    size_bytes = data[6] == 1 ? 2 : 4;
    fixed = MAGIC_BYTES + 2 + size_bytes;
    for (size_t i = 0; i < size_bytes && MAGIC_BYTES + 2 + i < n; i++)
        length |= (size_t)(unsigned char)data[MAGIC_BYTES + 2 + i] << (8 * i);
    if (length > HEADER_BYTES_MAX)
        return tfr_fail(err, TFR_EMODEL, "npy header claims %zu bytes, the limit is %d", length,
                        HEADER_BYTES_MAX);
    if (n < fixed || length > n - fixed)
        return tfr_fail(err, TFR_EMODEL,
                        "npy header claims %zu bytes, the file has %zu left; it may be cut short",
                        length, n < fixed ? 0 : n - fixed);
    memset(h, 0, sizeof *h);
    s = (scanner){data, data + fixed, data + fixed + length};
    status = read_dictionary(&s, h, err);
    if (status)
        return status;
    skip_blanks(&s);
    if (s.at != s.end)
        return fail_at(&s, "the end of the header", err);
    *start = fixed + length;
    return TFR_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

static size_t put_utf8(uint32_t code, char *out)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* Strings are padded with zeros to their width. */
static tfr_status read_string(const header *h, const char *at, char *scratch, size_t *bytes,
                              int64_t i, tfr_err *err)
{
    size_t used = 0, n = h->width;
    if (!h->unicode) {
        while (n && !at[n - 1])
            n--;
        memcpy(scratch, at, n);
        *bytes = n;
        return TFR_OK;
    }
    while (n && !at[n - 1] && !at[n - 2] && !at[n - 3] && !at[n - 4])
        n -= 4;
    for (size_t k = 0; k < n; k += 4) {
        uint32_t code;
        memcpy(&code, at + k, 4);
        if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
            return tfr_fail(err, TFR_EMODEL, "string %lld has 0x%x, which is no Unicode character",
                            (long long)i, code);
        used += put_utf8(code, scratch + used);
    }
    *bytes = used;
    return TFR_OK;
}

static tfr_status read_strings(const header *h, const char *data, tfr_tensor *tensor, tfr_err *err)
{
    char *scratch = malloc(h->width + 1);
    tfr_status status = TFR_OK;
    size_t bytes = 0;

    if (!scratch)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for a string of %zu bytes", h->width);
    for (int64_t i = 0; !status && i < tfr_tensor_elements(tensor); i++) {
        status = read_string(h, data + (size_t)i * h->width, scratch, &bytes, i, err);
        if (!status)
            status = tfr_tensor_set_string(tensor, i, scratch, bytes, err);
    }
    free(scratch);
    return status;
}

/* The tensor as it lies in the file: for Fortran order that is the one with its dims reversed. */
static tfr_status read_plain(const header *h, const tfr_shape *shape, tfr__mapping *mapping,
                             const char *data, size_t n, tfr_tensor **out, tfr_err *err)
{
    size_t align = h->width > 8 ? 8 : h->width;
    tfr_status status;

    if (h->dtype == TFR_DTYPE_BOOL)
        for (size_t i = 0; i < n; i++)
            if ((unsigned char)data[i] > 1)
                return tfr_fail(err, TFR_EMODEL, "element %zu of type bool is %u, neither 0 nor 1",
                                i, (unsigned)(unsigned char)data[i]);
    if (mapping && n >= WRAP_BYTES_MIN && h->dtype != TFR_DTYPE_STRING &&
        (uintptr_t)data % align == 0) {
        /* The mapping is private, so that the cast lets nobody change the file. */
        status = tfr_tensor_wrap(h->dtype, shape, NULL, (void *)(uintptr_t)data,
                                 tfr__mapping_release, tfr__mapping_retain(mapping), out, err);
        if (status)
            tfr__mapping_release(mapping);
        return status;
    }
    status = tfr_tensor_create(h->dtype, shape, out, err);
    if (status)
        return status;
    if (h->dtype == TFR_DTYPE_STRING) {
        status = read_strings(h, data, *out, err);
        if (status)
            tfr_tensor_release(*out);
    } else if (n) {
        tfr__mapping_copy(mapping, tfr_tensor_data(*out), data, n);
    }
    return status;
}

static tfr_status read_elements(const header *h, tfr__mapping *mapping, const char *data, size_t n,
                                tfr_tensor **out, tfr_err *err)
{
    tfr_shape stored = h->shape;
    int64_t strides[TFR_MAX_RANK], step = 1;
    tfr_tensor *plain;
    tfr_status status;

    if (!h->fortran || h->shape.rank < 2)
        return read_plain(h, &h->shape, mapping, data, n, out, err);
    for (int32_t i = 0; i < stored.rank; i++) {
        stored.dims[i] = h->shape.dims[stored.rank - 1 - i];
        strides[i] = step;
        step *= h->shape.dims[i]; /* their product is known to fit */
    }
    status = read_plain(h, &stored, mapping, data, n, &plain, err);
    if (status)
        return status;
    if (tfr_tensor_elements(plain) == 0)
        tfr_shape_strides(&h->shape, strides);
    status = tfr_tensor_view(plain, 0, &h->shape, strides, out, err);
    tfr_tensor_release(plain);
    return status;
}

static tfr_status parse(const char *data, size_t n, tfr__mapping *mapping, tfr_tensor **out,
                        tfr_err *err)
{
    header h;
    size_t start = 0, needed;
    int64_t elements;
    char shape[128];
    tfr_status status = read_header(data, n, &h, &start, err);

    if (status)
        return status;
    if ((status = tfr_shape_elements(&h.shape, &elements, err)) ||
        (status = tfr_shape_bytes(&h.shape, h.dtype, &needed, err)))
        return tfr__prefix(err, tfr__model_status(err, status), "npy header: shape: ");
    if (h.width && (uint64_t)elements > SIZE_MAX / h.width)
        return tfr_fail(err, TFR_EMODEL, "npy header: %lld strings of %zu bytes are too many",
                        (long long)elements, h.width);
    needed = (size_t)elements * h.width;
    /* Strings of no bytes would be elements that nothing in the file stands for. */
    if (!h.width && elements > (int64_t)n)
        return tfr_fail(err, TFR_EMODEL, "npy header: %lld empty strings in a file of %zu bytes",
                        (long long)elements, n);
    if (needed != n - start)
        return tfr_fail(err, TFR_EMODEL, "%s%s needs %zu bytes, the file has %zu after its header",
                        tfr_dtype_name(h.dtype), tfr_shape_format(&h.shape, shape, sizeof shape),
                        needed, n - start);
    return tfr__model_status(err, read_elements(&h, mapping, data + start, needed, out, err));
}

tfr_status tfr_npy_parse(const void *bytes, size_t n, tfr_tensor **out, tfr_err *err)
{
    return parse(n ? bytes : "", n, NULL, out, err);
}

tfr_status tfr_npy_load(const char *path, tfr_tensor **out, tfr_err *err)
{
    tfr__mapping *mapping;
    tfr_status status = tfr__mapping_open(path, &mapping, err);
    if (status)
        return status;
    status = parse(mapping->data, mapping->bytes, mapping, out, err);
    if (status)
        (void)tfr__prefix(err, status, "%s: ", path);
    tfr__mapping_release(mapping);
    return status;
}
