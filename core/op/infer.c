/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer.c: the frame of shape inference: a node is checked against its row of the op table, its
 * attributes get their defaults, the row's function runs, and what it said is checked. The rows'
 * functions are in infer_*.c.
 */
#include <stdlib.h>
#include <string.h>

#include "op/infer_kit.h"

/* ---- operands against the signature ---- */

/* What a set of types, "T", is for this node. */
typedef struct binding {
    const char *type;
    uint32_t type_bytes, input;
    int32_t kind, dtype;
} binding;

enum { MOST_BINDINGS = 16 };

static tfr_status check_tensor(const tfr__infer *in, tfr_err *err, const char *name,
                               const tfr__type *t)
{
    tfr__text text;
    if (t->rank < 0 || t->rank > TFR_MAX_RANK)
        return tfr__infer_fail(in, err, TFR_ELIMIT, "%s has rank %d, the limit is %d", name,
                               (int)t->rank, TFR_MAX_RANK);
    for (int32_t i = 0; i < t->rank; i++)
        if (t->dims[i] < 0)
            return tfr__infer_fail(in, err, TFR_ESHAPE, "%s has the negative dim %lld on axis %d",
                                   name, (long long)t->dims[i], (int)i);
    if (tfr__type_elements(t) < 0)
        return tfr__infer_fail(in, err, TFR_ELIMIT, "%s of %s elements %s is beyond 2^63 bits",
                               name, tfr__dtype_short(t->dtype),
                               tfr__dims_text(t->dims, t->rank, &text));
    return TFR_OK;
}

/* All operands of one set have one type. */
static tfr_status bind(const tfr__infer *in, tfr_err *err, const tfr__formal *formal,
                       uint32_t input, binding *bound, uint32_t *n_bound)
{
    const tfr__type *t = &in->inputs[input];
    tfr__text a, b;
    for (uint32_t i = 0; i < *n_bound; i++) {
        if (bound[i].type_bytes != formal->type_bytes ||
            memcmp(bound[i].type, formal->type, formal->type_bytes) != 0)
            continue;
        if (bound[i].dtype == t->dtype && bound[i].kind == t->kind)
            return TFR_OK;
        return tfr__infer_fail(
            in, err, TFR_EDTYPE, "input %s is %s and input %s is %s, but they have to be the same",
            tfr__in_name(in, bound[i].input, &a), tfr__dtype_short(bound[i].dtype),
            tfr__in_name(in, input, &b), tfr__dtype_short(t->dtype));
    }
    if (*n_bound < MOST_BINDINGS)
        bound[(*n_bound)++] = (binding){formal->type, formal->type_bytes, input, t->kind, t->dtype};
    return TFR_OK;
}

static const char *kind_text(int32_t kind)
{
    return kind == TFR_KIND_TENSOR     ? "a tensor"
           : kind == TFR_KIND_SEQUENCE ? "a sequence"
           : kind == TFR_KIND_OPTIONAL ? "an optional"
                                       : "nothing known";
}

static tfr_status check_input(const tfr__infer *in, tfr_err *err, const tfr__formal *formal,
                              uint32_t i)
{
    const tfr__type *t = &in->inputs[i];
    tfr__text name, full;
    uint32_t bytes;
    tfr__in_name(in, i, &name);
    if (t->kind < TFR_KIND_TENSOR || t->kind > TFR_KIND_OPTIONAL || !tfr_dtype_bits(t->dtype))
        return tfr__infer_fail(in, err, TFR_EDTYPE, "input %s is %s of element type %d", name.text,
                               kind_text(t->kind), (int)t->dtype);
    if (!tfr__op_admits(in->op, formal->type, formal->type_bytes, t->kind, t->dtype)) {
        const char *set = tfr__op_types(in->op, formal->type, formal->type_bytes, &bytes);
        return tfr__infer_fail(in, err, TFR_EDTYPE, "input %s is %s of %s, the op takes %.*s",
                               name.text, kind_text(t->kind), tfr__dtype_short(t->dtype),
                               (int)bytes, set);
    }
    if (t->kind != TFR_KIND_TENSOR)
        return TFR_OK;
    if (!t->shape_known) {
        if (in->op->kind == TFR__OP_SEQUENCE || in->op->kind == TFR__OP_CONTROL)
            return TFR_OK;
        return tfr__infer_fail(in, err, TFR_EUNSUPPORTED,
                               "the shape of input %s is known at run time only", name.text);
    }
    snprintf(full.text, sizeof full.text, "input %.200s", name.text);
    return check_tensor(in, err, full.text, t);
}

static tfr_status check_inputs(const tfr__infer *in, tfr_err *err)
{
    uint32_t least, most, n_bound = 0;
    binding bound[MOST_BINDINGS];
    tfr__formal formal;
    tfr__op_arity(in->op->inputs, &least, &most);
    if (in->n_inputs > most)
        return tfr__infer_fail(in, err, TFR_EMODEL, "%u inputs, the op takes at most %u",
                               in->n_inputs, most);
    for (uint32_t i = 0; i < in->n_inputs || i < least; i++) {
        if (!tfr__op_formal(in->op->inputs, i, &formal))
            break;
        if (i >= in->n_inputs || in->inputs[i].kind == TFR_KIND_NONE) {
            if (formal.optional || (formal.variadic && !formal.min))
                continue;
            return tfr__infer_fail(in, err, TFR_EMODEL, "input %.*s is missing (%u are given)",
                                   (int)formal.name_bytes, formal.name, in->n_inputs);
        }
        TFR__TRY(check_input(in, err, &formal, i));
        if (!formal.mixed)
            TFR__TRY(bind(in, err, &formal, i, bound, &n_bound));
    }
    return TFR_OK;
}

/* ---- attributes against the signature ---- */

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

static tfr_status check_attrs(const tfr__infer *in, tfr_err *err)
{
    tfr__attr_formal formal;
    char name[64];
    for (uint32_t i = 0; i < in->attrs->n; i++) {
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
        snprintf(name, sizeof name, "%.*s", (int)formal.name_bytes, formal.name);
        if (tfr__attr_find(in->attrs, name))
            continue;
        if (formal.required)
            return tfr__infer_fail(in, err, TFR_EMODEL, "attribute %s is missing", name);
        if (formal.value)
            TFR__TRY(set_default(in, name, &formal, err));
    }
    return TFR_OK;
}

/* ---- outputs ---- */

static tfr_status check_output_count(const tfr__infer *in, tfr_err *err)
{
    uint32_t least, most;
    tfr__op_arity(in->op->outputs, &least, &most);
    if (in->n_outputs > most)
        return tfr__infer_fail(in, err, TFR_EMODEL, "%u outputs, the op has at most %u",
                               in->n_outputs, most);
    if (in->n_outputs < least)
        return tfr__infer_fail(in, err, TFR_EMODEL, "%u outputs, the op has at least %u",
                               in->n_outputs, least);
    return TFR_OK;
}

static tfr_status check_outputs(const tfr__infer *in, tfr_err *err)
{
    tfr__formal formal;
    for (uint32_t i = 0; i < in->n_outputs; i++) {
        const tfr__type *t = &in->outputs[i];
        char name[96];
        if (t->kind == TFR_KIND_NONE || !tfr__op_formal(in->op->outputs, i, &formal))
            continue;
        snprintf(name, sizeof name, "output %.*s", (int)formal.name_bytes, formal.name);
        if (!tfr_dtype_bits(t->dtype))
            return tfr__infer_fail(in, err, TFR_EINTERNAL, "%s got no element type", name);
        if (!tfr__op_admits(in->op, formal.type, formal.type_bytes, t->kind, t->dtype))
            return tfr__infer_fail(in, err, TFR_EDTYPE, "%s would be %s of %s, the op has none",
                                   name, kind_text(t->kind), tfr__dtype_short(t->dtype));
        if (t->kind == TFR_KIND_TENSOR && t->shape_known)
            TFR__TRY(check_tensor(in, err, name, t));
    }
    return TFR_OK;
}

tfr_status tfr__infer_node(tfr__infer *in, tfr_err *err)
{
    TFR__TRY(check_inputs(in, err));
    TFR__TRY(check_output_count(in, err));
    TFR__TRY(check_attrs(in, err));
    if (!in->op->infer)
        return TFR_OK;
    TFR__TRY(in->op->infer(in, err));
    return check_outputs(in, err);
}
