/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops of ai.onnx.ml that look elements up. Nothing is computed; shapes stay, but for the classes.
 *
 *   LabelEncoder    y = the value of the last key that equals x, else the default; NaN equals NaN
 *   CategoryMapper  the same between cats_strings and cats_int64s, whichever x is
 *   OneHotEncoder   y[...,c] = 1 where category c, the last of equals, is x (floats without their
 *                   fraction), else 0; an x that is none of them gives zeros, or with zeros = 0
 *                   TFR_EINVAL
 *
 * Keys are sorted once, when a call is prepared, and then searched.
 */
#include "ml.h"
#include "sort.h"

/* A list of elements: of an attribute with ints, floats, strings or a tensor, or an operand. */
typedef struct list {
    const tfr_attr *attr; /* NULL: read tensor */
    naive_tensor tensor;
    int64_t n;
} list;

static list list_of(const tfr_call *call, const char *name)
{
    list l = {tfr_call_attr(call, name), naive_tensor_of(NULL, NULL, NULL), 0};

    if (l.attr && l.attr->tensor) {
        l.tensor = naive_tensor_of(l.attr->tensor, l.attr->tensor->data, NULL);
        l.n = l.tensor.n;
        l.attr = NULL;
    } else if (l.attr) {
        l.n = (int64_t)l.attr->n;
    }
    return l;
}

/* The one of these attributes that the call has. */
static list one_of(const tfr_call *call, const char *const *names, int n)
{
    int i = 0;

    while (i < n - 1 && !tfr_call_attr(call, names[i]))
        i++;
    return list_of(call, names[i]);
}

static const tfr_string *string_at(const list *l, int64_t i)
{
    return l->attr ? &l->attr->strings[i] : (const tfr_string *)l->tensor.in + i;
}

static bool is_integer(const list *l)
{
    return l->attr ? l->attr->ints != NULL : naive_is_integer(l->tensor.dtype);
}

static int64_t int_at(const list *l, int64_t i)
{
    return l->attr ? l->attr->ints[i] : naive_read_int(&l->tensor, i);
}

static double float_at(const list *l, int64_t i)
{
    return l->attr ? (double)l->attr->floats[i] : naive_read(&l->tensor, i);
}

/* ---- the keys in order ---- */

/* What a prepared call has. */
typedef struct keys {
    list list;
    int64_t *order; /* sorted, equal ones by their places */
} keys;

/* Where x[i], whose type the keys have, is among them. */
typedef struct key_search {
    const keys *keys;
    const naive_tensor *x;
    int64_t i;
} key_search;

static int compare_keys(const void *context, int64_t a, int64_t b)
{
    const list *l = &((const keys *)context)->list;

    if (l->attr ? l->attr->strings != NULL : l->tensor.dtype == TFR_DTYPE_STRING)
        return naive_compare_strings(string_at(l, a), string_at(l, b));
    if (is_integer(l))
        return (int_at(l, a) > int_at(l, b)) - (int_at(l, a) < int_at(l, b));
    return naive_compare_floats(float_at(l, a), float_at(l, b));
}

static int match_key(const void *context, int64_t item)
{
    const key_search *s = context;
    const list *l = &s->keys->list;

    if (s->x->dtype == TFR_DTYPE_STRING)
        return naive_compare_strings((const tfr_string *)s->x->in + s->i, string_at(l, item));
    if (is_integer(l)) {
        int64_t v = naive_read_int(s->x, s->i);
        return (v > int_at(l, item)) - (v < int_at(l, item));
    }
    return naive_compare_floats(naive_read(s->x, s->i), float_at(l, item));
}

static int32_t prepare_keys(naive_kernel *k, const list *l, tfr_err *err)
{
    keys *sorted = naive_keep(k, sizeof(*sorted));
    int64_t *scratch = naive_keep(k, 2 * (size_t)l->n * sizeof(*scratch));

    if (!sorted || !scratch)
        return tfr_fail(err, TFR_ENOMEM, "no memory to sort %lld keys", (long long)l->n);
    sorted->list = *l;
    sorted->order = naive_sort(l->n, scratch, compare_keys, sorted);
    k->state = sorted;
    return TFR_OK;
}

/* Where x[i] is in the keys: the last of equals, -1 = nowhere. */
static int64_t find(const naive_kernel *k, const naive_tensor *x, int64_t i)
{
    key_search s = {k->state, x, i};
    int64_t place = naive_search(s.keys->order, s.keys->list.n, match_key, &s);

    return place < 0 ? -1 : s.keys->order[place];
}

/* ---- the ops ---- */

/* y[i] = values[at]. */
static int32_t write_value(const naive_tensor *y, int64_t i, const list *values, int64_t at,
                           tfr_err *err)
{
    if (y->dtype == TFR_DTYPE_STRING)
        return naive_set_string((tfr_string *)y->out + i, string_at(values, at)->data,
                                string_at(values, at)->bytes, err);
    if (naive_is_integer(y->dtype))
        naive_write_int(y, i, int_at(values, at));
    else
        naive_write(y, i, float_at(values, at));
    return TFR_OK;
}

/* Maps x to y; `other` has the default as its element 0. */
static int32_t map(const naive_kernel *k, const list *values, const list *other,
                   const naive_tensor *x, const naive_tensor *y, tfr_err *err)
{
    int32_t status = TFR_OK;
    int64_t i;

    for (i = 0; i < x->n && !status; i++) {
        int64_t at = find(k, x, i);
        status = write_value(y, i, at < 0 ? other : values, at < 0 ? 0 : at, err);
    }
    return status;
}

static int32_t prepare_label_encoder(naive_kernel *k, tfr_err *err)
{
    static const char *const names[] = {"keys_tensor", "keys_strings", "keys_int64s",
                                        "keys_floats"};
    list l = one_of(&k->call, names, 4);

    return prepare_keys(k, &l, err);
}

static int32_t run_label_encoder(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    static const char *const value_names[] = {"values_tensor", "values_strings", "values_int64s",
                                              "values_floats"};
    static const char *const integer[] = {"default_tensor", "default_int64"};
    naive_tensor x = naive_input(k, launch, 0), y = naive_output(k, launch, 0);
    list values = one_of(&k->call, value_names, 4);
    const char *named[2] = {integer[0], y.dtype == TFR_DTYPE_STRING ? "default_string"
                                        : naive_is_integer(y.dtype) ? integer[1]
                                                                    : "default_float"};
    list other = values.attr ? list_of(&k->call, named[1]) : one_of(&k->call, named, 2);

    return map(k, &values, &other, &x, &y, err);
}

/* The categories that X is compared with. */
static int32_t prepare_categories(naive_kernel *k, tfr_err *err)
{
    bool text = tfr_call_input(&k->call, 0)->dtype == TFR_DTYPE_STRING;
    list l = list_of(&k->call, text ? "cats_strings" : "cats_int64s");

    return prepare_keys(k, &l, err);
}

static int32_t run_category_mapper(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), y = naive_output(k, launch, 0);
    bool text = x.dtype == TFR_DTYPE_STRING;
    list values = list_of(&k->call, text ? "cats_int64s" : "cats_strings");
    list other = list_of(&k->call, text ? "default_int64" : "default_string");

    return map(k, &values, &other, &x, &y, err);
}

static int32_t run_one_hot_encoder(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), y = naive_output(k, launch, 0);
    bool zeros = tfr_call_int(&k->call, "zeros", 1) != 0;
    int64_t n = ((const keys *)k->state)->list.n, i, c;

    for (i = 0; i < x.n; i++) {
        int64_t at = find(k, &x, i);
        if (at < 0 && !zeros)
            return tfr_fail(err, TFR_EINVAL,
                            "element %lld of X is none of the %lld categories and zeros is 0",
                            (long long)i, (long long)n);
        for (c = 0; c < n; c++)
            naive_write(&y, i * n + c, c == at ? 1 : 0);
    }
    return TFR_OK;
}

const naive_op naive_encoders_ops[] = {
    {.domain = "ai.onnx.ml",
     .name = "CategoryMapper",
     .since_version = 1,
     .run = run_category_mapper,
     .prepare = prepare_categories},
    {.domain = "ai.onnx.ml",
     .name = "LabelEncoder",
     .since_version = 4,
     .run = run_label_encoder,
     .prepare = prepare_label_encoder},
    {.domain = "ai.onnx.ml",
     .name = "OneHotEncoder",
     .since_version = 1,
     .run = run_one_hot_encoder,
     .prepare = prepare_categories},
    {.name = NULL},
};
