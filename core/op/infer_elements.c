/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer_elements.c: the elements of small lists of integers in symbolic inference: what exporters
 * put between Shape and Reshape. A list has rank 0 or 1. An element is known, a symbol, or neither;
 * where an op has no rule here, nothing is known of what it makes.
 */
#include <string.h>

#include "base/checked.h"
#include "op/infer_kit.h"

typedef struct list {
    uint32_t n;
    tfr__number v[TFR__MAX_ELEMENTS];
} list;

static const tfr__number unknown = {TFR__UNKNOWN, 0};

static bool is_integer(int32_t dtype)
{
    return dtype == TFR_DTYPE_I64 || dtype == TFR_DTYPE_I32 || dtype == TFR_DTYPE_BOOL;
}

/* Input i as a list; false if it is none or nobody knows how long it is. */
static bool read_list(tfr__infer *in, uint32_t i, list *out)
{
    const tfr__type *t = tfr__in(in, i);
    return t && t->kind == TFR_KIND_TENSOR && is_integer(t->dtype) &&
           !tfr__value_numbers(in, NULL, i, out->v, TFR__MAX_ELEMENTS, &out->n);
}

/* Element i of a list that broadcasts to n. */
static tfr__number at(const list *l, uint32_t i)
{
    return l->n == 1 ? l->v[0] : i < l->n ? l->v[i] : unknown;
}

static bool is_known(tfr__number a)
{
    return a.what == TFR__KNOWN;
}

/* ---- ops of one input ---- */

static void fill_shape(tfr__infer *in, list *out)
{
    const tfr__type *x = tfr__in(in, 0);
    int64_t start = tfr__attr_int(in->attrs, "start", 0);
    for (uint32_t i = 0; x->shape_known && i < out->n && start + i < x->rank; i++)
        out->v[i] = tfr__number_of_dim(x->dims[start + i]);
}

static void fill_size(tfr__infer *in, list *out)
{
    const tfr__type *x = tfr__in(in, 0);
    if (x->shape_known)
        out->v[0] = tfr__dims_product(in, x->dims, x->rank);
}

/* The value attribute of Constant, or of ConstantOfShape, which has one element. */
static void fill_constant(tfr__infer *in, list *out)
{
    const tfr__attr *a = tfr__attr_find(in->attrs, "value");
    const tfr_operand *t = a ? a->pub.tensor : NULL;
    int64_t n = t ? tfr_operand_elements(t) : 0;
    if (!t || t->dtype == TFR_DTYPE_BOOL || (n != 1 && n != out->n))
        return;
    for (uint32_t i = 0; i < out->n; i++) {
        int64_t v;
        if (t->dtype == TFR_DTYPE_I64)
            memcpy(&v, (const char *)t->data + (n == 1 ? 0 : i) * sizeof v, sizeof v);
        else
            v = (int64_t)tfr__element_double(t->data, t->dtype, n == 1 ? 0 : i);
        out->v[i] = tfr__number_of(v);
    }
}

/* The same elements under another shape. */
static void fill_same(tfr__infer *in, list *out)
{
    list x;
    if (read_list(in, 0, &x) && (x.n == out->n || x.n == 1))
        for (uint32_t i = 0; i < out->n; i++)
            out->v[i] = at(&x, i);
}

/* A dim that does not fit i32 would be another number; no model that runs has one there. */
static void fill_cast(tfr__infer *in, list *out)
{
    int32_t from = tfr__in(in, 0)->dtype, to = in->outputs[0].dtype;
    if (from == TFR_DTYPE_BOOL || to == TFR_DTYPE_BOOL)
        return;
    fill_same(in, out);
    for (uint32_t i = 0; to == TFR_DTYPE_I32 && i < out->n; i++)
        if (is_known(out->v[i]) && (out->v[i].v < INT32_MIN || out->v[i].v > INT32_MAX))
            out->v[i] = unknown;
}

static void fill_product(tfr__infer *in, list *out)
{
    list x;
    uint64_t n_axes;
    tfr__attr_ints(in->attrs, "axes", &n_axes);
    if (!read_list(in, 0, &x) || out->n != 1 || n_axes != 1)
        return;
    out->v[0] = tfr__number_of(1);
    for (uint32_t i = 0; i < x.n; i++)
        out->v[0] = tfr__number_mul(in->symbols, out->v[0], x.v[i]);
}

/* ---- ops that choose ---- */

static void fill_gather(tfr__infer *in, list *out)
{
    list x, indices;
    if (!read_list(in, 0, &x) || !read_list(in, 1, &indices) || tfr__in(in, 0)->rank != 1)
        return;
    for (uint32_t i = 0; i < out->n && i < indices.n; i++) {
        int64_t k = is_known(indices.v[i]) ? indices.v[i].v : INT64_MAX;
        k += k < 0 ? x.n : 0;
        if (k >= 0 && k < x.n)
            out->v[i] = x.v[k];
    }
}

static void fill_slice(tfr__infer *in, list *out)
{
    list x, given;
    uint64_t n;
    if (!read_list(in, 0, &x))
        return;
    for (uint32_t k = 1; k < 5; k++)
        if (tfr__in(in, k) && (!read_list(in, k, &given) || given.n != 1 || !is_known(given.v[0])))
            return;
    const int64_t *start = tfr__attr_ints(in->attrs, "starts", &n);
    const int64_t *step = tfr__attr_ints(in->attrs, "steps", &n);
    for (uint32_t i = 0; n == 1 && i < out->n; i++) {
        int64_t k;
        if (tfr__mul64(step[0], i, &k) && tfr__add64(start[0], k, &k) && k >= 0 && k < x.n)
            out->v[i] = x.v[k];
    }
}

static void fill_concat(tfr__infer *in, list *out)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < in->n_inputs; k++) {
        list x;
        if (!read_list(in, k, &x))
            return;
        for (uint32_t i = 0; i < x.n && n < out->n; i++)
            out->v[n++] = x.v[i];
    }
}

static void fill_range(tfr__infer *in, list *out)
{
    list start, step;
    if (!read_list(in, 0, &start) || !read_list(in, 2, &step) || start.n != 1 || step.n != 1)
        return;
    for (uint32_t i = 0; i < out->n; i++)
        out->v[i] = tfr__number_add(in->symbols, start.v[0],
                                    tfr__number_mul(in->symbols, step.v[0], tfr__number_of(i)));
}

/* ---- arithmetic ---- */

static tfr__number equal(const tfr__symbols *table, tfr__number a, tfr__number b)
{
    if (is_known(a) && is_known(b))
        return tfr__number_of(a.v == b.v);
    if (a.what == TFR__SYMBOL && b.what == TFR__SYMBOL && a.v == b.v)
        return tfr__number_of(1);
    if (is_known(a)) {
        tfr__number swap = a;
        a = b;
        b = swap;
    }
    const tfr__expression *e = tfr__symbol_at(table, a.v);
    if (a.what == TFR__SYMBOL && is_known(b) && b.v < 0 && !(e && e->negative))
        return tfr__number_of(0);
    return unknown;
}

static tfr__number compute(tfr__infer *in, tfr__number a, tfr__number b)
{
    const char *op = in->op->name;
    bool known = is_known(a) && is_known(b);
    switch (op[0]) {
    case 'A':
        return tfr__number_add(in->symbols, a, b);
    case 'S':
        return tfr__number_sub(in->symbols, a, b);
    case 'D':
        return tfr__number_div(in->symbols, a, b);
    case 'E':
        return equal(in->symbols, a, b);
    default:
        if (op[1] == 'u')
            return tfr__number_mul(in->symbols, a, b);
        if (!known)
            return unknown;
        return (op[1] == 'a') == (a.v > b.v) ? a : b; /* Max, Min */
    }
}

static void fill_binary(tfr__infer *in, list *out)
{
    list a, b;
    if (in->n_inputs != 2 || !read_list(in, 0, &a) || !read_list(in, 1, &b))
        return;
    for (uint32_t i = 0; i < out->n; i++)
        out->v[i] = compute(in, at(&a, i), at(&b, i));
}

static void fill_where(tfr__infer *in, list *out)
{
    list condition, a, b;
    if (!read_list(in, 0, &condition) || !read_list(in, 1, &a) || !read_list(in, 2, &b))
        return;
    for (uint32_t i = 0; i < out->n; i++) {
        tfr__number c = at(&condition, i);
        if (is_known(c))
            out->v[i] = at(c.v ? &a : &b, i);
    }
}

/* ---- the rules ---- */

static const struct rule {
    const char *op;
    void (*fill)(tfr__infer *in, list *out);
} rules[] = {
    {"Add", fill_binary},
    {"Cast", fill_cast},
    {"Concat", fill_concat},
    {"Constant", fill_constant},
    {"ConstantOfShape", fill_constant},
    {"Div", fill_binary},
    {"Equal", fill_binary},
    {"Expand", fill_same},
    {"Gather", fill_gather},
    {"Identity", fill_same},
    {"Max", fill_binary},
    {"Min", fill_binary},
    {"Mul", fill_binary},
    {"Range", fill_range},
    {"ReduceProd", fill_product},
    {"Reshape", fill_same},
    {"Shape", fill_shape},
    {"Size", fill_size},
    {"Slice", fill_slice},
    {"Squeeze", fill_same},
    {"Sub", fill_binary},
    {"Unsqueeze", fill_same},
    {"Where", fill_where},
};

bool tfr__infer_elements(const tfr__infer *in, tfr__elements *out)
{
    tfr__infer run = *in; /* whose note of what is pending may change */
    const tfr__type *y = in->n_outputs ? &in->outputs[0] : NULL;
    const struct rule *rule = NULL;
    list l = {0, {{TFR__UNKNOWN, 0}}};
    bool any = false;
    if (!y || y->kind != TFR_KIND_TENSOR || !is_integer(y->dtype) || !y->shape_known ||
        y->rank > 1 || *in->op->domain)
        return false;
    if (y->rank && (y->dims[0] < 0 || y->dims[0] > TFR__MAX_ELEMENTS))
        return false;
    for (size_t i = 0; !rule && i < sizeof rules / sizeof rules[0]; i++)
        if (*rules[i].op == *in->op->name && strcmp(rules[i].op, in->op->name) == 0)
            rule = &rules[i];
    if (!rule)
        return false;
    l.n = y->rank ? (uint32_t)y->dims[0] : 1;
    rule->fill(&run, &l);
    out->n = l.n;
    memcpy(out->v, l.v, sizeof l.v);
    for (uint32_t i = 0; i < l.n; i++)
        any = any || l.v[i].what;
    return any || !l.n;
}
