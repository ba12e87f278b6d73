/* SPDX-License-Identifier: Apache-2.0 */
/* signature.c: the reader of signature strings (op.h). */
#include <string.h>

#include "op/op.h"
#include "value/bits.h"

/* The item at *text, which ends at a blank or at the end; steps behind it. False at the end. */
static bool next_item(const char **text, const char **item, uint32_t *bytes)
{
    const char *p = *text;
    while (*p == ' ')
        p++;
    if (!*p)
        return false;
    *item = p;
    while (*p && *p != ' ')
        p++;
    *bytes = (uint32_t)(p - *item);
    *text = p;
    return true;
}

static void read_formal(const char *item, uint32_t bytes, tfr__formal *out)
{
    const char *end = item + bytes, *p = item;
    memset(out, 0, sizeof(*out));
    out->name = item;
    while (p < end && *p != ':' && *p != '?' && *p != '.')
        p++;
    out->name_bytes = (uint32_t)(p - item);
    out->min = 1;
    for (; p < end && *p != ':'; p++) {
        if (*p == '?')
            out->optional = true, out->min = 0;
        else if (*p == '.')
            out->variadic = true;
        else if (*p == '0')
            out->min = 0;
        else if (*p == '*')
            out->mixed = true;
    }
    out->type = p < end ? p + 1 : end;
    out->type_bytes = (uint32_t)(end - out->type);
}

bool tfr__op_formal(const char *operands, uint32_t i, tfr__formal *out)
{
    const char *item;
    uint32_t bytes, at = 0;
    for (; next_item(&operands, &item, &bytes); at++) {
        read_formal(item, bytes, out);
        out->at = at;
        if (at == i || out->variadic)
            return true;
    }
    return false;
}

void tfr__op_arity(const char *operands, uint32_t *least, uint32_t *most)
{
    const char *item;
    uint32_t bytes, at = 0;
    tfr__formal formal;
    *least = *most = 0;
    for (; next_item(&operands, &item, &bytes); at++) {
        read_formal(item, bytes, &formal);
        if (formal.min)
            *least = at + 1;
        *most = formal.variadic ? UINT32_MAX : at + 1;
    }
}

static int32_t attr_type(const char *text, uint32_t bytes)
{
    bool list = bytes > 1 && text[1] == 's';
    switch (*text) {
    case 'f':
        return list ? TFR_ATTR_FLOATS : TFR_ATTR_FLOAT;
    case 'i':
        return list ? TFR_ATTR_INTS : TFR_ATTR_INT;
    case 's':
        return list ? TFR_ATTR_STRINGS : TFR_ATTR_STRING;
    case 't':
        return TFR_ATTR_TENSOR;
    default:
        return TFR_ATTR_GRAPH;
    }
}

bool tfr__op_next_attr(const char **cursor, tfr__attr_formal *out)
{
    const char *item;
    uint32_t bytes;
    memset(out, 0, sizeof(*out));
    if (!next_item(cursor, &item, &bytes))
        return false;
    const char *end = item + bytes, *p = item;
    while (p < end && *p != ':')
        p++;
    out->name = item;
    out->name_bytes = (uint32_t)(p - item);
    const char *type = p < end ? p + 1 : end;
    for (p = type; p < end && *p != '=' && *p != '!';)
        p++;
    out->type = attr_type(type, (uint32_t)(p - type));
    if (p == end)
        return true;
    out->required = *p == '!';
    const char *value = p + 1, *bar = value;
    while (bar < end && *bar != '|')
        bar++;
    if (!out->required) {
        out->value = value;
        out->value_bytes = (uint32_t)(bar - value);
    }
    if (bar < end) {
        out->choices = value;
        out->choices_bytes = (uint32_t)(end - value);
    }
    return true;
}

bool tfr__op_in_list(const char *list, uint32_t list_bytes, const char *word, uint64_t word_bytes)
{
    const char *end = list + list_bytes;
    while (list < end) {
        const char *p = memchr(list, '|', (size_t)(end - list));
        if (!p)
            p = end;
        if ((uint64_t)(p - list) == word_bytes && memcmp(list, word, (size_t)word_bytes) == 0)
            return true;
        list = p < end ? p + 1 : end;
    }
    return false;
}

static const char *const short_names[] = {
    [TFR_DTYPE_F32] = "f32",
    [TFR_DTYPE_U8] = "u8",
    [TFR_DTYPE_I8] = "i8",
    [TFR_DTYPE_U16] = "u16",
    [TFR_DTYPE_I16] = "i16",
    [TFR_DTYPE_I32] = "i32",
    [TFR_DTYPE_I64] = "i64",
    [TFR_DTYPE_STRING] = "string",
    [TFR_DTYPE_BOOL] = "bool",
    [TFR_DTYPE_F16] = "f16",
    [TFR_DTYPE_F64] = "f64",
    [TFR_DTYPE_U32] = "u32",
    [TFR_DTYPE_U64] = "u64",
    [TFR_DTYPE_C64] = "c64",
    [TFR_DTYPE_C128] = "c128",
    [TFR_DTYPE_BF16] = "bf16",
    [TFR_DTYPE_F8E4M3FN] = "f8e4m3fn",
    [TFR_DTYPE_F8E4M3FNUZ] = "f8e4m3fnuz",
    [TFR_DTYPE_F8E5M2] = "f8e5m2",
    [TFR_DTYPE_F8E5M2FNUZ] = "f8e5m2fnuz",
    [TFR_DTYPE_U4] = "u4",
    [TFR_DTYPE_I4] = "i4",
    [TFR_DTYPE_F4E2M1] = "f4e2m1",
    [TFR_DTYPE_F8E8M0] = "f8e8m0",
    [TFR_DTYPE_U2] = "u2",
    [TFR_DTYPE_I2] = "i2",
};

const char *tfr__dtype_short(int32_t dtype)
{
    return tfr__dtype_bits(dtype) ? short_names[dtype] : "?";
}

/* The set behind a type's name, or the name itself if it is the name of one type. */
static const char *type_set(const tfr__op *op, const char *type, uint32_t type_bytes,
                            uint32_t *set_bytes)
{
    const char *types = op->types, *item;
    uint32_t bytes;
    while (next_item(&types, &item, &bytes)) {
        if (bytes > type_bytes && item[type_bytes] == '=' && !memcmp(item, type, type_bytes)) {
            *set_bytes = bytes - type_bytes - 1;
            return item + type_bytes + 1;
        }
    }
    *set_bytes = type_bytes;
    return type;
}

bool tfr__op_admits(const tfr__op *op, const char *type, uint32_t type_bytes, int32_t kind,
                    int32_t dtype)
{
    uint32_t bytes;
    const char *set = type_set(op, type, type_bytes, &bytes);
    const char *word = kind == 2 ? "seq" : kind == 3 ? "opt" : tfr__dtype_short(dtype);
    return tfr__op_in_list(set, bytes, word, strlen(word));
}

const char *tfr__op_types(const tfr__op *op, const char *type, uint32_t type_bytes, uint32_t *bytes)
{
    return type_set(op, type, type_bytes, bytes);
}

int32_t tfr__op_only_dtype(const tfr__op *op, const char *type, uint32_t type_bytes)
{
    uint32_t bytes;
    const char *set = type_set(op, type, type_bytes, &bytes);
    for (int32_t dtype = 1; dtype < TFR_DTYPE_END; dtype++) {
        const char *name = tfr__dtype_short(dtype);
        if (strlen(name) == bytes && memcmp(name, set, bytes) == 0)
            return dtype;
    }
    return 0;
}
