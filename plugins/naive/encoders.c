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
 * The look-up is a plain search: keys are few, and this is the specification.
 */
#include "ml.h"

#include <math.h>

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

/* Where x[i] is in the keys, which have its type; the last of equals, -1 = nowhere. */
static int64_t find(const list *keys, const naive_tensor *x, int64_t i)
{
    int64_t k = keys->n - 1, whole;
    double v;

    if (x->dtype == TFR_DTYPE_STRING) {
        while (k >= 0 && !naive_same_string(string_at(keys, k), (const tfr_string *)x->in + i))
            k--;
    } else if (is_integer(keys)) {
        whole = naive_read_int(x, i);
        while (k >= 0 && int_at(keys, k) != whole)
            k--;
    } else {
        v = naive_read(x, i);
        while (k >= 0 && float_at(keys, k) != v && !(isnan(v) && isnan(float_at(keys, k))))
            k--;
    }
    return k;
}

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
static int32_t map(const list *keys, const list *values, const list *other, const naive_tensor *x,
                   const naive_tensor *y, tfr_err *err)
{
    int32_t status = TFR_OK;
    int64_t i;

    for (i = 0; i < x->n && !status; i++) {
        int64_t at = find(keys, x, i);
        status = write_value(y, i, at < 0 ? other : values, at < 0 ? 0 : at, err);
    }
    return status;
}

static int32_t run_label_encoder(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    static const char *const key_names[] = {"keys_tensor", "keys_strings", "keys_int64s",
                                            "keys_floats"};
    static const char *const value_names[] = {"values_tensor", "values_strings", "values_int64s",
                                              "values_floats"};
    static const char *const integer[] = {"default_tensor", "default_int64"};
    naive_tensor x = naive_input(k, launch, 0), y = naive_output(k, launch, 0);
    list keys = one_of(&k->call, key_names, 4), values = one_of(&k->call, value_names, 4);
    const char *named[2] = {integer[0], y.dtype == TFR_DTYPE_STRING ? "default_string"
                                        : naive_is_integer(y.dtype) ? integer[1]
                                                                    : "default_float"};
    list other = values.attr ? list_of(&k->call, named[1]) : one_of(&k->call, named, 2);

    return map(&keys, &values, &other, &x, &y, err);
}

static int32_t run_category_mapper(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), y = naive_output(k, launch, 0);
    bool text = x.dtype == TFR_DTYPE_STRING;
    list strings = list_of(&k->call, "cats_strings"), ints = list_of(&k->call, "cats_int64s");
    list other = list_of(&k->call, text ? "default_int64" : "default_string");

    return map(text ? &strings : &ints, text ? &ints : &strings, &other, &x, &y, err);
}

static int32_t run_one_hot_encoder(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), y = naive_output(k, launch, 0);
    bool zeros = tfr_call_int(&k->call, "zeros", 1) != 0;
    list cats = list_of(&k->call, x.dtype == TFR_DTYPE_STRING ? "cats_strings" : "cats_int64s");
    int64_t i, c;

    for (i = 0; i < x.n; i++) {
        int64_t at = find(&cats, &x, i);
        if (at < 0 && !zeros)
            return tfr_fail(err, TFR_EINVAL,
                            "element %lld of X is none of the %lld categories and zeros is 0",
                            (long long)i, (long long)cats.n);
        for (c = 0; c < cats.n; c++)
            naive_write(&y, i * cats.n + c, c == at ? 1 : 0);
    }
    return TFR_OK;
}

const naive_op naive_encoders_ops[] = {
    {.domain = "ai.onnx.ml",
     .name = "CategoryMapper",
     .since_version = 1,
     .run = run_category_mapper},
    {.domain = "ai.onnx.ml", .name = "LabelEncoder", .since_version = 4, .run = run_label_encoder},
    {.domain = "ai.onnx.ml",
     .name = "OneHotEncoder",
     .since_version = 1,
     .run = run_one_hot_encoder},
    {.name = NULL},
};
