/* SPDX-License-Identifier: Apache-2.0 */
/*
 * features_encoders.c: LabelEncoder, CategoryMapper and OneHotEncoder, what
 * plugins/naive/encoders.c says of them: elements are looked up in a dictionary of the keys. The
 * values of LabelEncoder and CategoryMapper stand behind each other as the output has them, the
 * default first.
 */
#include <string.h>

#include "dictionary.h"
#include "ml_features.h"

enum { LOOKUPS = 2048 /* of a thread, at least */, ONES = 4096 };

/* ---- lists of attributes ---- */

/* Elements of a list attribute or of a tensor. */
typedef struct list {
    int32_t dtype;
    const void *data;
    int64_t n;
} list;

static list list_of(const tfr_attr *a)
{
    if (!a)
        return (list){TFR_DTYPE_NONE, NULL, 0};
    if (a->tensor)
        return (list){a->tensor->dtype, a->tensor->data, tfr_operand_elements(a->tensor)};
    if (a->type == TFR_ATTR_STRINGS)
        return (list){TFR_DTYPE_STRING, a->strings, (int64_t)a->n};
    return a->type == TFR_ATTR_INTS ? (list){TFR_DTYPE_I64, a->ints, (int64_t)a->n}
                                    : (list){TFR_DTYPE_F32, a->floats, (int64_t)a->n};
}

/* The one of four attributes that the call has. */
static list one_of(const tfr_call *call, const char *const *names)
{
    int i = 0;

    while (i < 3 && !tfr_call_attr(call, names[i]))
        i++;
    return list_of(tfr_call_attr(call, names[i]));
}

static list keys_of(const tfr_call *call)
{
    static const char *const names[] = {"keys_tensor", "keys_strings", "keys_int64s",
                                        "keys_floats"};
    const bool text = tfr_call_input(call, 0)->dtype == TFR_DTYPE_STRING;

    if (call->name[0] == 'L')
        return one_of(call, names);
    return list_of(tfr_call_attr(call, text ? "cats_strings" : "cats_int64s"));
}

static list values_of(const tfr_call *call)
{
    static const char *const names[] = {"values_tensor", "values_strings", "values_int64s",
                                        "values_floats"};
    const bool text = tfr_call_input(call, 0)->dtype == TFR_DTYPE_STRING;

    if (call->name[0] == 'L')
        return one_of(call, names);
    return list_of(tfr_call_attr(call, text ? "cats_int64s" : "cats_strings"));
}

/* ---- keys ---- */

/* The key of a number at any address. */
static uint64_t key_at(int32_t dtype, const void *data, int64_t i)
{
    int64_t wide;
    int32_t narrow;
    double d;
    float f;

    switch (dtype) {
    case TFR_DTYPE_F32:
        memcpy(&f, (const char *)data + (size_t)i * sizeof f, sizeof f);
        return native_key_of((double)f);
    case TFR_DTYPE_F64:
        memcpy(&d, (const char *)data + (size_t)i * sizeof d, sizeof d);
        return native_key_of(d);
    case TFR_DTYPE_I32:
        memcpy(&narrow, (const char *)data + (size_t)i * sizeof narrow, sizeof narrow);
        return (uint64_t)(int64_t)narrow;
    default: /* int64 */
        memcpy(&wide, (const char *)data + (size_t)i * sizeof wide, sizeof wide);
        return (uint64_t)wide;
    }
}

/* Categories are integers: floats lose their fraction, and NaN and what is out of range saturate.
 */
static uint64_t category_at(int32_t dtype, const void *data, int64_t i)
{
    const double limit = 9223372036854775808.0;
    double v;

    if (dtype != TFR_DTYPE_F32 && dtype != TFR_DTYPE_F64)
        return key_at(dtype, data, i);
    native_read_doubles(dtype, data, i, 1, &v);
    if (isnan(v))
        return 0;
    return (uint64_t)(v >= limit ? INT64_MAX : v < -limit ? INT64_MIN : (int64_t)v);
}

static void make_dictionary(native_build *b, native_dictionary *d)
{
    const list keys = keys_of(b->call);
    const tfr_string *words = keys.dtype == TFR_DTYPE_STRING ? keys.data : NULL;
    /* numbers are behind the dictionary until they are copied */
    const size_t bytes = native_dictionary_bytes(words, keys.n);
    char *block = native_add_block(b, bytes + (words ? 0 : (size_t)keys.n * sizeof(uint64_t)));
    uint64_t *numbers = (uint64_t *)(void *)(block ? block + bytes : NULL);
    int64_t i;

    if (!block)
        return;
    for (i = 0; !words && i < keys.n; i++)
        numbers[i] = key_at(keys.dtype, keys.data, i);
    native_dictionary_make(d, words, numbers, keys.n, block);
}

static bool is_key_type(const tfr_call *call, tfr_answer *answer)
{
    return tfr_call_input(call, 0)->dtype == TFR_DTYPE_STRING ||
           native_numbers_supports(call, answer);
}

/* ---- LabelEncoder and CategoryMapper ---- */

typedef struct mapper {
    native_dictionary keys;
    int64_t n;
    int32_t dtype;
    size_t bytes; /* of a value; 0: a string */
    char *values; /* the default, then those of the keys */
    const tfr_string *words;
    const void *known_x;
} mapper;

typedef struct mapping {
    const mapper *s;
    const void *x;
    char *y;
} mapping;

static int64_t place_of(const mapping *w, int64_t i)
{
    const mapper *s = w->s;

    return s->dtype == TFR_DTYPE_STRING
               ? native_dictionary_word(&s->keys, (const tfr_string *)w->x + i)
               : native_dictionary_number(&s->keys, key_at(s->dtype, w->x, i));
}

static void map(void *user, int64_t i, int64_t end)
{
    const mapping *w = user;
    const mapper *s = w->s;

    for (; s->bytes == 8 && i < end; i++)
        memcpy(w->y + i * 8, s->values + (place_of(w, i) + 1) * 8, 8);
    for (; s->bytes == 4 && i < end; i++)
        memcpy(w->y + i * 4, s->values + (place_of(w, i) + 1) * 4, 4);
}

static int32_t run_mapper(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                          tfr_err *err)
{
    const mapper *s = user;
    mapping w = {s, native_argument(launch, 0, s->known_x), launch->args[1].address};
    int32_t status = TFR_OK;
    int64_t i;

    if (s->bytes && s->n <= 2 * LOOKUPS)
        map(&w, 0, s->n);
    else if (s->bytes)
        device->host->parallel_for(map, &w, s->n, LOOKUPS);
    else
        for (i = 0; i < s->n && !status; i++)
            status = native_set_string(device, (tfr_string *)(void *)w.y + i,
                                       &s->words[place_of(&w, i) + 1], err);
    return status;
}

void native_mapper_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer)
{
    const list keys = keys_of(call), values = values_of(call);
    const int32_t dtype = tfr_call_output(call, 0)->dtype;

    (void)device;
    if (!is_key_type(call, answer))
        return;
    if (dtype != TFR_DTYPE_STRING && dtype != TFR_DTYPE_F32 && dtype != TFR_DTYPE_F64 &&
        dtype != TFR_DTYPE_I32 && dtype != TFR_DTYPE_I64)
        tfr_decline(answer, TFR_REASON_DTYPE,
                    "only values of float32, float64, int32, int64 and string are done here");
    else if (keys.dtype != tfr_call_input(call, 0)->dtype || values.dtype != dtype ||
             values.n < keys.n || keys.n > INT32_MAX / 2)
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "keys and values do not fit");
}

static void put_strings(native_build *b, mapper *s, const list *values)
{
    const tfr_attr *given = tfr_call_attr(b->call, "default_string");
    const tfr_operand *tensor =
        tfr_call_attr(b->call, "values_tensor") && tfr_call_attr(b->call, "default_tensor")
            ? tfr_call_attr(b->call, "default_tensor")->tensor
            : NULL;
    const tfr_string *other = tensor ? tensor->data : given && given->n ? given->strings : NULL;
    const tfr_string *from = values->data;
    const tfr_string none = {"_Unused", 7};
    tfr_string *words;
    char *at;

    other = other ? other : &none;
    words = native_add_block(b, sizeof *words + native_strings_bytes(from, values->n) +
                                    (size_t)other->bytes);
    if (!words)
        return;
    at = native_strings_copy(from, values->n, words + 1);
    words[0] = (tfr_string){at, other->bytes};
    if (other->bytes)
        memcpy(at, other->data, (size_t)other->bytes);
    s->words = words;
}

static void put_numbers(native_build *b, mapper *s, const list *values, int32_t dtype)
{
    const tfr_attr *tensor = tfr_call_attr(b->call, "default_tensor");
    const int64_t wide = tfr_call_int(b->call, "default_int64", -1);
    const int32_t narrow = (int32_t)wide;
    const float f = tfr_call_float(b->call, "default_float", -0.0f);
    const double d = (double)f;
    const void *other = dtype == TFR_DTYPE_F32   ? (const void *)&f
                        : dtype == TFR_DTYPE_F64 ? (const void *)&d
                        : dtype == TFR_DTYPE_I32 ? (const void *)&narrow
                                                 : (const void *)&wide;

    s->bytes = dtype == TFR_DTYPE_F32 || dtype == TFR_DTYPE_I32 ? 4 : 8;
    s->values = native_add_block(b, s->bytes * (size_t)(values->n + 1));
    if (!s->values)
        return;
    if (tensor && tensor->tensor && tfr_call_attr(b->call, "values_tensor"))
        other = tensor->tensor->data;
    memcpy(s->values, other, s->bytes);
    if (values->n)
        memcpy(s->values + s->bytes, values->data, s->bytes * (size_t)values->n);
}

void native_mapper_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const int32_t dtype = tfr_call_output(call, 0)->dtype;
    const list values = values_of(call);
    mapper *s = native_set_function(b, run_mapper, NULL, sizeof *s, "label encoder");

    if (!s)
        return;
    s->n = tfr_operand_elements(x);
    s->dtype = x->dtype;
    s->known_x = x->data;
    make_dictionary(b, &s->keys);
    if (dtype == TFR_DTYPE_STRING)
        put_strings(b, s, &values);
    else
        put_numbers(b, s, &values, dtype);
}

/* ---- OneHotEncoder ---- */

typedef struct encoder {
    native_dictionary keys;
    int64_t n, columns;
    int32_t dtype;
    bool zeros;
    const void *known_x;
} encoder;

typedef struct encoding {
    const encoder *s;
    const void *x;
    float *y;
    int missing; /* a number without a column was met */
} encoding;

static int64_t column_of(const encoder *s, const void *x, int64_t i)
{
    return s->dtype == TFR_DTYPE_STRING
               ? native_dictionary_word(&s->keys, (const tfr_string *)x + i)
               : native_dictionary_number(&s->keys, category_at(s->dtype, x, i));
}

static void mark(encoding *w, int64_t i, int64_t at)
{
    if (at >= 0)
        w->y[i * w->s->columns + at] = 1.0f;
    else
        __atomic_store_n(&w->missing, 1, __ATOMIC_RELAXED);
}

static void encode(void *user, int64_t i, int64_t end)
{
    encoding *w = user;
    const encoder *s = w->s;

    memset(w->y + i * s->columns, 0, (size_t)((end - i) * s->columns) * sizeof *w->y);
    for (; s->dtype == TFR_DTYPE_I64 && i < end; i++) /* the usual ones, without a switch */
        mark(w, i, native_dictionary_number(&s->keys, (uint64_t)((const int64_t *)w->x)[i]));
    for (; i < end; i++)
        mark(w, i, column_of(s, w->x, i));
}

static int32_t run_encoder(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                           tfr_err *err)
{
    const encoder *s = user;
    encoding w = {s, native_argument(launch, 0, s->known_x), launch->args[1].address, 0};
    int64_t i = 0;

    if (s->n * s->columns <= 2 * ONES)
        encode(&w, 0, s->n);
    else
        device->host->parallel_for(encode, &w, s->n, ONES / s->columns + 1);
    if (!w.missing || s->zeros)
        return TFR_OK;
    while (column_of(s, w.x, i) >= 0)
        i++;
    return tfr_fail(err, TFR_EINVAL,
                    "element %lld of X is none of the %lld categories and zeros is 0", (long long)i,
                    (long long)s->columns);
}

void native_encoder_supports(const tfr_plugin_device *device, const tfr_call *call,
                             tfr_answer *answer)
{
    const list keys = keys_of(call);

    (void)device;
    if (is_key_type(call, answer) && (keys.n == 0 || keys.n > INT32_MAX / 2))
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "no or too many categories are not done");
}

void native_encoder_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    encoder *s = native_set_function(b, run_encoder, NULL, sizeof *s, "one-hot encoder");

    if (!s)
        return;
    s->n = tfr_operand_elements(x);
    s->dtype = x->dtype;
    s->known_x = x->data;
    s->zeros = tfr_call_int(call, "zeros", 1) != 0;
    make_dictionary(b, &s->keys);
    s->columns = s->keys.n;
}
