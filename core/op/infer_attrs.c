/* SPDX-License-Identifier: Apache-2.0 */
/* infer_attrs.c: the attributes of a node against its row of the op table, and their defaults. */
#include <string.h>

#include "op/infer_kit.h"

static bool is_named(const tfr__attr_formal *formal, const char *name)
{
    return strlen(name) == formal->name_bytes &&
           memcmp(name, formal->name, formal->name_bytes) == 0;
}

static const char *attr_type_text(int32_t type)
{
    static const char *const names[] = {"nothing",  "a float",        "an int",
                                        "a string", "a tensor",       "a graph",
                                        "floats",   "a list of ints", "strings"};
    return type > 0 && type <= TFR_ATTR_STRINGS ? names[type] : "of an unknown type";
}

static tfr_status check_attr(const tfr__infer *in, tfr_err *err, const tfr_attr *attr,
                             const tfr__attr_formal *formal)
{
    bool list = attr->type >= TFR_ATTR_FLOATS;
    if (attr->type != formal->type)
        return tfr__infer_fail(in, err, TFR_EMODEL, "attribute %s is %s, the op takes %s",
                               attr->name, attr_type_text(attr->type),
                               attr_type_text(formal->type));
    if (!list && attr->n != 1)
        return tfr__infer_fail(in, err, TFR_EMODEL, "attribute %s has %llu values, not one",
                               attr->name, (unsigned long long)attr->n);
    if (formal->choices && attr->type == TFR_ATTR_STRING &&
        !tfr__op_in_list(formal->choices, formal->choices_bytes, attr->strings[0].data,
                         attr->strings[0].bytes))
        return tfr__infer_fail(in, err, TFR_EMODEL, "attribute %s is \"%.64s\", not one of %.*s",
                               attr->name, attr->strings[0].data, (int)formal->choices_bytes,
                               formal->choices);
    return TFR_OK;
}

/* A decimal number of ops.def, as C writes it; strtod would follow the locale. */
static double parse_number(const char *text, const char *end)
{
    bool minus = text < end && *text == '-', e_minus = false;
    double mantissa = 0, scale = 1;
    int exponent = 0, e = 0;
    const char *p = text + minus;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        mantissa = mantissa * 10 + (*p - '0');
    if (p < end && *p == '.')
        for (p++; p < end && *p >= '0' && *p <= '9'; p++, exponent--)
            mantissa = mantissa * 10 + (*p - '0');
    if (p < end && *p == 'e') {
        p++;
        e_minus = p < end && *p == '-';
        for (p += e_minus; p < end && *p >= '0' && *p <= '9'; p++)
            e = e * 10 + (*p - '0');
    }
    exponent += e_minus ? -e : e;
    /* Both operands are exact, so the result is rounded once. */
    for (int i = exponent < 0 ? -exponent : exponent; i > 0; i--)
        scale *= 10;
    mantissa = exponent < 0 ? mantissa / scale : mantissa * scale;
    return minus ? -mantissa : mantissa;
}

enum { MOST_DEFAULTS = 8 };

static tfr_status set_default(const tfr__infer *in, const char *name, const tfr__attr_formal *f,
                              tfr_err *err)
{
    int64_t ints[MOST_DEFAULTS];
    float floats[MOST_DEFAULTS];
    tfr_string strings[MOST_DEFAULTS];
    const char *end = f->value + f->value_bytes, *p = f->value;
    uint64_t n = 0;
    for (; p < end && n < MOST_DEFAULTS; n++) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        const char *stop = comma ? comma : end;
        strings[n] = (tfr_string){p, (uint64_t)(stop - p)};
        if (f->type == TFR_ATTR_INT || f->type == TFR_ATTR_INTS)
            ints[n] = (int64_t)parse_number(p, stop);
        else if (f->type == TFR_ATTR_FLOAT || f->type == TFR_ATTR_FLOATS)
            floats[n] = (float)parse_number(p, stop);
        p = comma ? comma + 1 : end;
    }
    tfr_attr attr = {.size = (uint32_t)sizeof(attr),
                     .type = f->type,
                     .name = name,
                     .n = n,
                     .ints = ints,
                     .floats = floats,
                     .strings = strings};
    return tfr__attr_set(in->attrs, &attr, NULL, err);
}

tfr_status tfr__infer_attrs(const tfr__infer *in, tfr_err *err)
{
    tfr__attr_formal formal;
    char name[64];
    for (uint32_t i = 0; i < in->attrs->n && !in->again; i++) {
        const tfr_attr *attr = &in->attrs->items[i].pub;
        const char *cursor = in->op->attrs;
        bool found = false;
        while (!found && tfr__op_next_attr(&cursor, &formal))
            found = is_named(&formal, attr->name);
        if (!found)
            return tfr__infer_fail(in, err, TFR_EMODEL, "the op has no attribute \"%.64s\"",
                                   attr->name);
        TFR__TRY(check_attr(in, err, attr, &formal));
    }
    for (const char *cursor = in->op->attrs; tfr__op_next_attr(&cursor, &formal);) {
        const size_t n = formal.name_bytes < sizeof name ? formal.name_bytes : sizeof name - 1;
        memcpy(name, formal.name, n);
        name[n] = '\0';
        if (tfr__attr_find(in->attrs, name))
            continue;
        if (formal.required)
            return tfr__infer_fail(in, err, TFR_EMODEL, "attribute %s is missing", name);
        if (formal.value)
            TFR__TRY(set_default(in, name, &formal, err));
    }
    return TFR_OK;
}
