/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare.c: is one value as good as another? Elements are looked at in plain order, chunk by chunk
 * in their wide form (double, or 64-bit integers, which doubles do not hold), so that it needs no
 * memory and cannot fail.
 */
#include <tfrun/compare.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A multiple of the elements in a byte of any packed type. */
#define CHUNK 256
/* Room for the text of any shape. */
#define SHAPE_TEXT (TFR_MAX_RANK * 21 + 3)

typedef struct comparison {
    double rtol;
    double atol;
    tfr_compare_report report;
    const tfr_shape *shape; /* of the tensor that is being compared */
    char where[48];         /* "value 3 of the sequence: " */
} comparison;

/* One element of a chunk: what differs, as numbers and as text. */
typedef struct difference {
    double expected;
    double obtained;
    double error;
    char text[96];
} difference;

/* A walk over a tensor's elements in plain order. */
typedef struct walk {
    const tfr_tensor *tensor;
    int64_t index[TFR_MAX_RANK];
    int64_t offset;
} walk;

static void walk_on(walk *w)
{
    const tfr_tensor *t = w->tensor;
    const tfr_shape *shape = tfr_tensor_shape(t);
    const int64_t *strides = tfr_tensor_strides(t);
    for (int32_t d = shape->rank - 1; d >= 0; d--) {
        if (++w->index[d] < shape->dims[d]) {
            w->offset += strides[d];
            return;
        }
        w->offset -= strides[d] * (shape->dims[d] - 1);
        w->index[d] = 0;
    }
}

/* The next n elements as plain memory: the tensor's own, or gathered in room. */
static const void *walk_fetch(walk *w, int64_t first, int64_t n, unsigned char *capacity)
{
    const int64_t bits = tfr_dtype_bits(tfr_tensor_dtype(w->tensor));
    const char *data = tfr_tensor_data(w->tensor);
    if (tfr_tensor_is_plain(w->tensor))
        return data + first / 8 * bits + first % 8 * bits / 8;
    for (int64_t i = 0; i < n; i++) {
        memcpy(capacity + i * (bits / 8), data + w->offset * (bits / 8), (size_t)bits / 8);
        walk_on(w);
    }
    return capacity;
}

static void note_difference(comparison *c, int64_t i, const difference *d)
{
    tfr_compare_report *r = &c->report;
    char index[SHAPE_TEXT];
    tfr_shape at = {.rank = c->shape->rank};
    if (r->n_different++ > 0)
        return;
    r->first_index = i;
    r->first_expected = d->expected;
    r->first_obtained = d->obtained;
    for (int32_t k = at.rank - 1; k >= 0; k--) {
        at.dims[k] = i % c->shape->dims[k];
        i /= c->shape->dims[k];
    }
    snprintf(r->text, sizeof r->text, "%selement %s: %s", c->where,
             tfr_shape_format(&at, index, sizeof index), d->text);
}

static void note_error(comparison *c, double error)
{
    if (error > c->report.max_abs_error)
        c->report.max_abs_error = error;
}

/* A NaN on one side only counts as infinitely far away. */
static double distance(double expected, double obtained)
{
    if (expected == obtained || (expected != expected && obtained != obtained))
        return 0;
    const double error = fabs(obtained - expected);
    return error != error ? INFINITY : error;
}

/* An infinity allows nothing but itself, however large rtol times it is. */
static bool within(const comparison *c, double error, double expected)
{
    return error == 0 || (error <= c->atol + c->rtol * fabs(expected) && isfinite(error));
}

static void compare_reals(comparison *c, int64_t first, const double *expected,
                          const double *obtained, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        difference d = {expected[i], obtained[i], distance(expected[i], obtained[i]), ""};
        note_error(c, d.error);
        if (within(c, d.error, d.expected))
            continue;
        if (c->report.n_different == 0)
            snprintf(d.text, sizeof d.text, "expected %.9g, obtained %.9g, error %.3g", d.expected,
                     d.obtained, d.error);
        note_difference(c, first + i, &d);
    }
}

/* The error of a complex number is the length of the difference; its numbers are the real parts. */
static void compare_complex(comparison *c, int64_t first, const double *expected,
                            const double *obtained, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double *e = expected + 2 * i;
        const double *o = obtained + 2 * i;
        difference d = {e[0], o[0], hypot(distance(e[0], o[0]), distance(e[1], o[1])), ""};
        note_error(c, d.error);
        if (within(c, d.error, hypot(e[0], e[1])))
            continue;
        if (c->report.n_different == 0)
            snprintf(d.text, sizeof d.text, "expected %.7g%+.7gi, obtained %.7g%+.7gi, error %.3g",
                     e[0], e[1], o[0], o[1], d.error);
        note_difference(c, first + i, &d);
    }
}

/* Exact when both tolerances are under one, for 1 is the least that integers can differ by. */
static void compare_integers(comparison *c, bool has_sign, int64_t first, const uint64_t *expected,
                             const uint64_t *obtained, int64_t n)
{
    const bool exact = c->rtol < 1 && c->atol < 1;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t e = expected[i];
        const uint64_t o = obtained[i];
        if (e == o)
            continue;
        const bool less = has_sign ? (int64_t)o < (int64_t)e : o < e;
        difference d = {has_sign ? (double)(int64_t)e : (double)e,
                        has_sign ? (double)(int64_t)o : (double)o, (double)(less ? e - o : o - e),
                        ""};
        note_error(c, d.error);
        if (!exact && within(c, d.error, d.expected))
            continue;
        if (c->report.n_different == 0 && has_sign)
            snprintf(d.text, sizeof d.text, "expected %" PRId64 ", obtained %" PRId64, (int64_t)e,
                     (int64_t)o);
        else if (c->report.n_different == 0)
            snprintf(d.text, sizeof d.text, "expected %" PRIu64 ", obtained %" PRIu64, e, o);
        note_difference(c, first + i, &d);
    }
}

static void compare_strings(comparison *c, int64_t first, const tfr_string *expected,
                            const tfr_string *obtained, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const tfr_string *e = &expected[i];
        const tfr_string *o = &obtained[i];
        if (e->bytes == o->bytes &&
            (e->bytes == 0 || memcmp(e->data, o->data, (size_t)e->bytes) == 0))
            continue;
        difference d = {0};
        snprintf(d.text, sizeof d.text, "expected \"%.*s\", obtained \"%.*s\"",
                 (int)(e->bytes > 24 ? 24 : e->bytes), e->data ? e->data : "",
                 (int)(o->bytes > 24 ? 24 : o->bytes), o->data ? o->data : "");
        note_difference(c, first + i, &d);
    }
}

static void compare_elements(comparison *c, const tfr_tensor *expected, const tfr_tensor *obtained)
{
    const tfr_dtype dtype = tfr_tensor_dtype(expected);
    const int64_t n_elements = tfr_tensor_elements(expected);
    const bool is_complex = dtype == TFR_DTYPE_C64 || dtype == TFR_DTYPE_C128;
    /* Everything unsigned goes through u64, so that sign says how to read the 64 bits. */
    const bool has_sign = dtype == TFR_DTYPE_I64 || dtype == TFR_DTYPE_I32 ||
                          dtype == TFR_DTYPE_I16 || dtype == TFR_DTYPE_I8 ||
                          dtype == TFR_DTYPE_I4 || dtype == TFR_DTYPE_I2;
    const tfr_dtype wide = is_complex                  ? TFR_DTYPE_C128
                           : tfr_dtype_is_float(dtype) ? TFR_DTYPE_F64
                           : has_sign                  ? TFR_DTYPE_I64
                                                       : TFR_DTYPE_U64;
    _Alignas(16) unsigned char rooms[2][CHUNK * 16];
    union {
        double reals[2 * CHUNK];
        uint64_t integers[CHUNK];
    } wides[2];
    walk walks[2] = {{.tensor = expected}, {.tensor = obtained}};

    c->shape = tfr_tensor_shape(expected);
    c->report.n_elements += n_elements;
    for (int64_t first = 0; first < n_elements; first += CHUNK) {
        const int64_t left = n_elements - first;
        const int64_t n = left < CHUNK ? left : CHUNK;
        const void *e = walk_fetch(&walks[0], first, n, rooms[0]);
        const void *o = walk_fetch(&walks[1], first, n, rooms[1]);
        if (dtype == TFR_DTYPE_STRING) {
            compare_strings(c, first, e, o, n);
            continue;
        }
        /* These pairs of types always convert. */
        tfr_status status = tfr_dtype_convert(wide, &wides[0], dtype, e, n, NULL);
        if (!status)
            status = tfr_dtype_convert(wide, &wides[1], dtype, o, n, NULL);
        if (status)
            return;
        if (is_complex)
            compare_complex(c, first, wides[0].reals, wides[1].reals, n);
        else if (wide == TFR_DTYPE_F64)
            compare_reals(c, first, wides[0].reals, wides[1].reals, n);
        else
            compare_integers(c, has_sign, first, wides[0].integers, wides[1].integers, n);
    }
}

static const char *kind_name(const tfr_tensor *value)
{
    switch (tfr_tensor_kind(value)) {
    case TFR_KIND_TENSOR:
        return "a tensor";
    case TFR_KIND_SEQUENCE:
        return "a sequence";
    case TFR_KIND_OPTIONAL:
        return "an optional";
    default:
        return "nothing";
    }
}

/* False ends the comparison: the values are not of one form. Recursion ends: values nest little. */
static bool compare_values(comparison *c, const tfr_tensor *expected, const tfr_tensor *obtained)
{
    const size_t n_values = expected ? tfr_sequence_length(expected) : 0;
    tfr_compare_report *r = &c->report;
    char text_e[SHAPE_TEXT];
    char text_o[SHAPE_TEXT];
    char why[200] = "";
    if (tfr_tensor_kind(expected) != tfr_tensor_kind(obtained))
        snprintf(why, sizeof why, "expected %s, obtained %s", kind_name(expected),
                 kind_name(obtained));
    else if (!expected)
        return true;
    else if (tfr_tensor_dtype(expected) != tfr_tensor_dtype(obtained))
        snprintf(why, sizeof why, "expected %s, obtained %s",
                 tfr_dtype_name(tfr_tensor_dtype(expected)),
                 tfr_dtype_name(tfr_tensor_dtype(obtained)));
    else if (n_values != tfr_sequence_length(obtained))
        snprintf(why, sizeof why, "expected %zu values, obtained %zu", n_values,
                 tfr_sequence_length(obtained));
    else if (!tfr_shape_equal(tfr_tensor_shape(expected), tfr_tensor_shape(obtained)))
        snprintf(why, sizeof why, "expected shape %.80s, obtained shape %.80s",
                 tfr_shape_format(tfr_tensor_shape(expected), text_e, sizeof text_e),
                 tfr_shape_format(tfr_tensor_shape(obtained), text_o, sizeof text_o));
    if (why[0]) {
        r->n_different = -1;
        r->first_index = -1;
        r->first_expected = r->first_obtained = 0;
        snprintf(r->text, sizeof r->text, "%s%s", c->where, why);
        return false;
    }
    if (tfr_tensor_kind(expected) == TFR_KIND_TENSOR)
        compare_elements(c, expected, obtained);
    for (size_t i = 0; i < n_values; i++) {
        if (tfr_tensor_kind(expected) == TFR_KIND_SEQUENCE)
            snprintf(c->where, sizeof c->where, "value %zu of the sequence: ", i);
        if (!compare_values(c, tfr_sequence_at(expected, i), tfr_sequence_at(obtained, i)))
            return false;
    }
    return true;
}

bool tfr_tensor_compare(const tfr_tensor *expected, const tfr_tensor *obtained, double rtol,
                        double atol, tfr_compare_report *report)
{
    comparison c = {.rtol = rtol, .atol = atol, .report = {.first_index = -1}};
    (void)compare_values(&c, expected, obtained);
    if (report) {
        const uint32_t size = report->size;
        c.report.size = size;
        memcpy(report, &c.report, size < sizeof c.report ? size : sizeof c.report);
    }
    return c.report.n_different == 0;
}
