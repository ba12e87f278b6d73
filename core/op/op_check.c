/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_check.c: is the row of a stranger one that signature.c and inference can rely on? The readers
 * of signatures take ops.def as it is, so all that they do not look at is looked at here.
 */
#include <string.h>
#include <tfrun/fail.h>

#include "op/op_foreign.h"

enum { MOST_OPERANDS = 32, MOST_SETS = 16, MOST_ATTRS = 32, MOST_VALUES = 8 };

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The bytes of a name that text begins with. */
static size_t word(const char *text)
{
    size_t n = 0;
    while (is_letter(text[n]) || (n && is_digit(text[n])))
        n++;
    return n <= TFR__OP_NAME_BYTES ? n : 0;
}

/* An item ends: with the text, or with one blank and another item. */
static bool steps(const char **p)
{
    if (**p == ' ' && (*p)[1] && (*p)[1] != ' ')
        ++*p;
    else if (**p)
        return false;
    return true;
}

static bool is_dtype(const char *name, size_t n)
{
    for (int32_t d = 1; d < TFR_DTYPE_END; d++)
        if (strlen(tfr__dtype_short(d)) == n && !memcmp(tfr__dtype_short(d), name, n))
            return true;
    return false;
}

/* "T=f16|f32 I=i64" */
static const char *check_types(const char *p)
{
    for (uint32_t k = 0; *p; k++) {
        size_t n = word(p);
        if (!n || p[n] != '=' || k == MOST_SETS || is_dtype(p, n))
            return p;
        for (p += n; *p == '=' || *p == '|'; p += n) {
            p++;
            n = word(p);
            if (!n || !is_dtype(p, n))
                return p;
        }
        if (!steps(&p))
            return p;
    }
    return NULL;
}

/* "X:T B?:T rest...0*:V" */
static const char *check_operands(const tfr__op *op, const char *p)
{
    for (uint32_t k = 0; *p; k++) {
        const char *item = p;
        size_t n = word(p);
        uint32_t bytes;
        bool variadic;
        p += n;
        variadic = !strncmp(p, "...", 3);
        p += variadic ? 3 : *p == '?';
        p += variadic && *p == '0';
        p += variadic && *p == '*';
        if (!n || *p++ != ':' || k == MOST_OPERANDS || !(n = word(p)))
            return item;
        const char *set = tfr__op_types(op, p, (uint32_t)n, &bytes);
        if (set == p && !is_dtype(p, n)) /* neither a set nor a type */
            return item;
        p += n;
        if ((variadic && *p) || !steps(&p))
            return item;
    }
    return NULL;
}

/* A decimal that fits; *end is behind it. */
static bool is_number(const char *p, bool fraction, const char **end)
{
    uint32_t digits = 0;
    p += *p == '-';
    for (; is_digit(*p) || (fraction && *p == '.'); p++) {
        digits += is_digit(*p) != 0;
        fraction = fraction && *p != '.';
    }
    *end = p;
    return digits && digits <= 15;
}

/* What stands after "=" or "!". */
static const char *check_value(char type, bool list, bool required, const char *p)
{
    for (uint32_t k = 0;; k++, p++) {
        const char *begin = p;
        if (type == 's')
            for (; is_letter(*p) || is_digit(*p) || *p == '-' || *p == '.'; p++)
                ;
        else if (type == 't' || required || !is_number(p, type == 'f', &p))
            return NULL;
        if (p == begin || (list && (required || k == MOST_VALUES)))
            return NULL;
        if (*p != (list ? ',' : type == 's' ? '|' : 0) || !*p)
            return p;
    }
}

/* "axis:i=-1 perm:is mode:s=a|b to:i!" */
static const char *check_attrs(const char *p)
{
    for (uint32_t k = 0; *p; k++) {
        const char *item = p;
        size_t n = word(p);
        char type;
        bool list, required;
        p += n;
        if (!n || *p++ != ':' || k == MOST_ATTRS || !*p || !strchr("ifst", type = *p++))
            return item;
        list = *p == 's';
        p += list;
        if (list && type == 't')
            return item;
        required = *p == '!';
        if (required && (p[1] == ' ' || !p[1]))
            p++;
        else if ((*p == '=' || required) && !(p = check_value(type, list, required, p + 1)))
            return item;
        if (!steps(&p))
            return item;
    }
    return NULL;
}

/* Of an author: with a dot, and of nobody who is here already. */
static bool is_own_domain(const char *domain)
{
    static const char *const taken[] = {"ai.onnx", "tfrun"};
    size_t n = strspn(domain, "abcdefghijklmnopqrstuvwxyz0123456789.-_");
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        const size_t bytes = strlen(taken[i]);
        if (!strncmp(domain, taken[i], bytes) && (!domain[bytes] || domain[bytes] == '.'))
            return false;
    }
    return !domain[n] && n <= TFR__OP_NAME_BYTES && strchr(domain, '.') && is_letter(*domain);
}

/* Do two items have one name? */
static bool has_twins(const char *text)
{
    for (const char *a = text; a; a = strchr(a, ' ')) {
        a += *a == ' ';
        for (const char *b = strchr(a, ' '); b; b = strchr(b, ' ')) {
            const size_t n = word(++b);
            if (n == word(a) && !memcmp(a, b, n))
                return true;
        }
    }
    return false;
}

static tfr_status check_texts(const tfr__op *op, tfr_err *err)
{
    const struct {
        const char *what, *text, *wrong;
    } rows[] = {
        {"types", op->types, check_types(op->types)}, /* first: operands refer to them */
        {"inputs", op->inputs, check_operands(op, op->inputs)},
        {"outputs", op->outputs, check_operands(op, op->outputs)},
        {"attributes", op->attrs, check_attrs(op->attrs)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *wrong = rows[i].wrong ? rows[i].wrong : rows[i].text;
        if (rows[i].wrong || has_twins(rows[i].text))
            return tfr_fail(err, TFR_EPLUGIN, "its %s \"%.200s\" cannot be read from \"%.40s\" on",
                            rows[i].what, rows[i].text, wrong);
    }
    return TFR_OK;
}

tfr_status tfr__op_check(const tfr__op *op, tfr_err *err)
{
    uint32_t least, most;
    tfr_status status;
    if (!is_own_domain(op->domain))
        return tfr_fail(err, TFR_EPLUGIN,
                        "its domain \"%.64s\" is not one of its own, such as \"org.example\"",
                        op->domain);
    if (!*op->name || word(op->name) != strlen(op->name))
        return tfr_fail(err, TFR_EPLUGIN, "its name \"%.64s\" is not letters, digits and _",
                        op->name);
    if (op->since_version < 1 || op->compat_version < 1 || op->compat_version > op->since_version)
        return tfr_fail(err, TFR_EPLUGIN, "its versions are %d and, of equal meaning, %d",
                        (int)op->since_version, (int)op->compat_version);
    if (strlen(op->inputs) > TFR__OP_TEXT_BYTES || strlen(op->outputs) > TFR__OP_TEXT_BYTES ||
        strlen(op->attrs) > TFR__OP_TEXT_BYTES || strlen(op->types) > TFR__OP_TEXT_BYTES)
        return tfr_fail(err, TFR_EPLUGIN, "a text of it has more than %d bytes",
                        TFR__OP_TEXT_BYTES);
    status = check_texts(op, err);
    if (status)
        return status;
    tfr__op_arity(op->inputs, &least, &most);
    if (most < 32 && op->shape_args >> most)
        return tfr_fail(err, TFR_EPLUGIN, "shape arguments 0x%x are beyond its %u inputs",
                        (unsigned)op->shape_args, (unsigned)most);
    return *op->outputs ? TFR_OK : tfr_fail(err, TFR_EPLUGIN, "it has no outputs");
}
