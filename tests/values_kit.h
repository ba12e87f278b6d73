/* SPDX-License-Identifier: Apache-2.0 */
/*
 * values_kit.h: single calls of ops as text, with the values that must come out, worked out by
 * hand.
 *
 *   call     the op and its attributes: "Einsum equation:s=ij,jk->ki", "TopK axis:i=-1"; lists as
 *            "pads:is=0,1", "scales:fs=1,2", "names:ss=a,b"
 *   in, out  tensors, separated by semicolons: "f32[2,2] 1 2 3 nan; i64[] 5; s[2] a b"; "-" is an
 *            operand left out, "c128[1] 2:-1" is 2 - i. An out that starts with "!" is a part of
 *            the error's text.
 *
 * Numbers may differ by 1e-6 of their size, so that hand-written decimals do.
 */
#ifndef TFR_VALUES_KIT_H
#define TFR_VALUES_KIT_H

#include <inttypes.h>
#include <stdlib.h>
#include <tfrun/tfrun.h>

#include "base/alloc.h"
#include "tfr_test.h"

typedef struct values_case {
    const char *call, *in, *out;
} values_case;

enum { VALUES_MOST = 8, VALUES_ATTRS = 12, VALUES_LIST = 64 };

static tfr_err values_err = TFR_ERR_INIT;

/* Copies the next word, up to one of the bytes of ends, and steps behind blanks. */
static inline const char *values_word(const char *at, const char *ends, char *word, size_t capacity)
{
    size_t n = strcspn(at, ends);
    snprintf(word, capacity, "%.*s", (int)n, at);
    return at + n;
}

static inline void values_store(tfr_tensor *t, int64_t i, const char *word)
{
    void *data = tfr_tensor_data(t);
    char *end;
    switch (tfr_tensor_dtype(t)) {
    case TFR_DTYPE_F32:
        ((float *)data)[i] = strtof(word, NULL);
        break;
    case TFR_DTYPE_F64:
        ((double *)data)[i] = strtod(word, NULL);
        break;
    case TFR_DTYPE_C64:
        ((float *)data)[2 * i] = strtof(word, &end);
        ((float *)data)[2 * i + 1] = strtof(end + 1, NULL);
        break;
    case TFR_DTYPE_C128:
        ((double *)data)[2 * i] = strtod(word, &end);
        ((double *)data)[2 * i + 1] = strtod(end + 1, NULL);
        break;
    case TFR_DTYPE_I64:
        ((int64_t *)data)[i] = strtoll(word, NULL, 10);
        break;
    case TFR_DTYPE_U64:
        ((uint64_t *)data)[i] = strtoull(word, NULL, 10);
        break;
    case TFR_DTYPE_I32:
        ((int32_t *)data)[i] = (int32_t)strtol(word, NULL, 10);
        break;
    case TFR_DTYPE_STRING:
        REQUIRE_OK(tfr_tensor_set_string(t, i, word, strlen(word), &values_err), &values_err);
        break;
    default: /* the types of one byte */
        ((char *)data)[i] = (char)strtol(word, NULL, 10);
    }
}

/* "f32[2,3] 1 2 3 4 5 6" up to a semicolon; NULL for "-". */
static inline const char *values_tensor(const char *at, tfr_tensor **out)
{
    static const char *const shorts[][2] = {
        {"f32", "float32"}, {"f64", "float64"},   {"i64", "int64"},      {"i32", "int32"},
        {"u64", "uint64"},  {"u8", "uint8"},      {"i8", "int8"},        {"bool", "bool"},
        {"s", "string"},    {"c64", "complex64"}, {"c128", "complex128"}};
    tfr_shape shape = {0};
    char word[64];
    const char *name = "";
    *out = NULL;
    at += strspn(at, " ");
    if (*at == '-') {
        at++;
    } else {
        at = values_word(at, "[", word, sizeof word);
        for (size_t i = 0; i < sizeof shorts / sizeof shorts[0]; i++)
            name = strcmp(shorts[i][0], word) == 0 ? shorts[i][1] : name;
        REQUIRE(*name && *at == '[');
        while (*at++ != ']' && *at != ']') {
            char *end;
            shape.dims[shape.rank++] = strtoll(at, &end, 10);
            REQUIRE(end != at);
            at = end;
        }
        at += *at == ']';
        REQUIRE_OK(tfr_tensor_create(tfr_dtype_parse(name), &shape, out, &values_err), &values_err);
        for (int64_t i = 0; i < tfr_tensor_elements(*out); i++) {
            at += strspn(at, " ");
            at = values_word(at, " ;", word, sizeof word);
            REQUIRE(*word);
            values_store(*out, i, word);
        }
    }
    at += strspn(at, " ");
    REQUIRE(!*at || *at == ';');
    return at + (*at == ';');
}

static inline uint32_t values_tensors(const char *text, tfr_tensor **out)
{
    uint32_t n = 0;
    while (*text) {
        REQUIRE(n < VALUES_MOST);
        text = values_tensor(text, &out[n++]);
    }
    return n;
}

typedef struct values_attrs {
    tfr_attr attrs[VALUES_ATTRS];
    char names[VALUES_ATTRS][40], texts[VALUES_LIST][40];
    int64_t ints[VALUES_LIST];
    float floats[VALUES_LIST];
    tfr_string strings[VALUES_LIST];
    uint32_t n, used;
} values_attrs;

/* " name:type=a,b" and more of them. */
static inline void values_read_attrs(const char *at, values_attrs *a)
{
    while (*at) {
        tfr_attr *attr = &a->attrs[a->n];
        char type[4];
        bool list;
        REQUIRE(a->n < VALUES_ATTRS);
        at = values_word(at + strspn(at, " "), ":", a->names[a->n], sizeof a->names[0]);
        at = values_word(at + 1, "=", type, sizeof type);
        list = type[1] == 's';
        *attr = (tfr_attr){.size = sizeof *attr, .name = a->names[a->n++]};
        attr->ints = type[0] == 'i' ? &a->ints[a->used] : NULL;
        attr->floats = type[0] == 'f' ? &a->floats[a->used] : NULL;
        attr->strings = type[0] == 's' ? &a->strings[a->used] : NULL;
        attr->type = type[0] == 'i'   ? (list ? TFR_ATTR_INTS : TFR_ATTR_INT)
                     : type[0] == 'f' ? (list ? TFR_ATTR_FLOATS : TFR_ATTR_FLOAT)
                                      : (list ? TFR_ATTR_STRINGS : TFR_ATTR_STRING);
        do {
            char *text = a->texts[a->used];
            REQUIRE(a->used < VALUES_LIST);
            at = values_word(at + 1, list ? ", " : " ", text, sizeof a->texts[0]);
            a->ints[a->used] = strtoll(text, NULL, 10);
            a->floats[a->used] = strtof(text, NULL);
            a->strings[a->used++] = (tfr_string){text, strlen(text)};
            attr->n++;
        } while (*at == ',');
    }
}

static inline bool values_are_near(double a, double b)
{
    double size = fabs(a) > 1 ? fabs(a) : 1;
    return isnan(a) ? isnan(b) : a == b || fabs(a - b) <= 1e-6 * size;
}

static inline void values_print(const tfr_tensor *t, int64_t i, char *text, size_t capacity)
{
    const void *data = tfr_tensor_data((tfr_tensor *)(uintptr_t)t);
    switch (tfr_tensor_dtype(t)) {
    case TFR_DTYPE_F32:
        snprintf(text, capacity, "%.9g", (double)((const float *)data)[i]);
        break;
    case TFR_DTYPE_F64:
        snprintf(text, capacity, "%.17g", ((const double *)data)[i]);
        break;
    case TFR_DTYPE_I64:
        snprintf(text, capacity, "%" PRId64, ((const int64_t *)data)[i]);
        break;
    case TFR_DTYPE_U64:
        snprintf(text, capacity, "%" PRIu64, ((const uint64_t *)data)[i]);
        break;
    case TFR_DTYPE_U8:
        snprintf(text, capacity, "%d", ((const unsigned char *)data)[i]);
        break;
    case TFR_DTYPE_I32:
        snprintf(text, capacity, "%" PRId32, ((const int32_t *)data)[i]);
        break;
    case TFR_DTYPE_STRING:
        snprintf(text, capacity, "%.*s", (int)((const tfr_string *)data)[i].bytes,
                 ((const tfr_string *)data)[i].data);
        break;
    default:
        snprintf(text, capacity, "%d", ((const signed char *)data)[i]);
    }
}

static inline void values_compare(const char *call, uint32_t k, const tfr_tensor *want,
                                  const tfr_tensor *got)
{
    char shapes[2][128], what[256];
    tfr_shape_format(tfr_tensor_shape(want), shapes[0], sizeof shapes[0]);
    tfr_shape_format(tfr_tensor_shape(got), shapes[1], sizeof shapes[1]);
    CHECK_STR(shapes[0], shapes[1]);
    CHECK_INT(tfr_tensor_dtype(want), tfr_tensor_dtype(got));
    if (strcmp(shapes[0], shapes[1]) != 0 || tfr_tensor_dtype(want) != tfr_tensor_dtype(got))
        return;
    for (int64_t i = 0; i < tfr_tensor_elements(want); i++) {
        tfr_dtype type = tfr_tensor_dtype(want);
        char a[64], b[64];
        bool same;
        values_print(want, i, a, sizeof a);
        values_print(got, i, b, sizeof b);
        same = type == TFR_DTYPE_F32 || type == TFR_DTYPE_F64
                   ? values_are_near(strtod(a, NULL), strtod(b, NULL))
                   : strcmp(a, b) == 0;
        snprintf(what, sizeof what, "%s: output %u, element %" PRId64 ": expected %s, obtained %s",
                 call, (unsigned)k, i, a, b);
        test_report(same, what, __FILE__, __LINE__, false);
    }
}

/* The n-th request for memory of a call fails, if not 0; then it may be refused for that. */
static uint64_t values_fail_at, values_requests;

static inline void values_check(tfr_runtime *runtime, const char *device, const values_case *c)
{
    static values_attrs attrs;
    tfr_tensor *in[VALUES_MOST] = {0}, *want[VALUES_MOST] = {0}, *out[VALUES_MOST] = {0};
    tfr_node_desc node = {.size = sizeof node};
    tfr_status status;
    uint32_t n_in = values_tensors(c->in, in), n_out = 1;
    char op[64], domain[64] = "";
    const char *rest = values_word(c->call, " ", op, sizeof op), *dot = strrchr(op, '.');
    memset(&attrs, 0, sizeof attrs);
    values_read_attrs(rest, &attrs);
    if (dot)
        snprintf(domain, sizeof domain, "%.*s", (int)(dot - op), op);
    if (c->out[0] != '!')
        n_out = values_tensors(c->out, want);
    node.domain = domain;
    node.op = dot ? dot + 1 : op;
    node.attrs = attrs.attrs;
    node.n_attrs = attrs.n;
    node.n_outputs = n_out;
    values_requests = tfr__alloc_count();
    tfr__alloc_fail_at(values_fail_at);
    status = tfr_op_run(runtime, device, &node, in, n_in, out, n_out, &values_err);
    tfr__alloc_fail_at(0);
    values_requests = tfr__alloc_count() - values_requests;
    if (c->out[0] == '!') {
        CHECK(status != TFR_OK);
        CHECK_CONTAINS(c->out + 1, values_err.text);
    } else {
        if (!values_fail_at || status != TFR_ENOMEM)
            CHECK_OK(status, &values_err);
        for (uint32_t k = 0; k < n_out && !status; k++)
            if (want[k])
                values_compare(c->call, k, want[k], out[k]);
    }
    for (uint32_t k = 0; k < VALUES_MOST; k++) {
        tfr_tensor_release(in[k]);
        tfr_tensor_release(want[k]);
        tfr_tensor_release(out[k]);
    }
}

static inline void values_check_all(const char *device, const values_case *cases, size_t n)
{
    tfr_runtime *runtime = NULL;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &values_err), &values_err);
    for (size_t i = 0; i < n; i++)
        values_check(runtime, device, &cases[i]);
    tfr_runtime_release(runtime);
}

/* Every request for memory of each call fails once: the values are right, or it is refused. */
static inline void values_check_without_memory(const char *device, const values_case *cases,
                                               size_t n)
{
    tfr_runtime *runtime = NULL;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &values_err), &values_err);
    for (size_t i = 0; i < n; i++) {
        values_check(runtime, device, &cases[i]);
        values_fail_at = 0;
        do {
            values_fail_at++;
            values_check(runtime, device, &cases[i]);
        } while (values_requests >= values_fail_at);
        values_fail_at = 0;
    }
    tfr_runtime_release(runtime);
}

#endif
