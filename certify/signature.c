/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signature.c: a call made up from an op's row in the op table alone: operands of allowed and, at
 * times, other types, small shapes, attributes of the right type with good and bad values.
 */
#include <stdlib.h>
#include <string.h>

#include "hostile.h"

/* The alternatives of "T=a|b" in types, or type itself: one of them, or at times anything. */
static tfr_dtype draw_dtype(const char *types, const char *type, size_t n, ops_random *random)
{
    char word[16];
    if (ops_random_below(random, 6) == 0)
        return ops_any_dtype(random);
    for (const char *at = types; *at; at += strcspn(at, " "), at += *at == ' ') {
        if (strncmp(at, type, n) != 0 || at[n] != '=')
            continue;
        const char *list = at + n + 1;
        size_t length = strcspn(list, " "), count = 1;
        for (size_t i = 0; i < length; i++)
            count += list[i] == '|';
        for (uint64_t skip = ops_random_below(random, count); skip > 0; list++)
            skip -= *list == '|';
        snprintf(word, sizeof word, "%.*s", (int)strcspn(list, "| "), list);
        tfr_dtype dtype = tfr_dtype_parse(word); /* NONE for seq and opt */
        return dtype ? dtype : TFR_DTYPE_F32;
    }
    snprintf(word, sizeof word, "%.*s", (int)n, type);
    tfr_dtype dtype = tfr_dtype_parse(word);
    return dtype ? dtype : TFR_DTYPE_F32;
}

static void draw_shape(tfr_shape *shape, ops_random *random)
{
    static const int64_t dims[] = {0, 1, 2, 2, 3, 3, 4};
    shape->rank = (int32_t)ops_random_below(random, 6);
    if (ops_random_below(random, 20) == 0)
        shape->rank = TFR_MAX_RANK;
    for (int32_t d = 0; d < shape->rank; d++)
        shape->dims[d] = shape->rank > 5 ? 1 : dims[ops_random_below(random, 7)];
}

/* "X:T B?:T data...:T" */
static void draw_operands(const tfr_op_desc *desc, ops_call *call, ops_random *random)
{
    tfr_dtype of_set[26] = {TFR_DTYPE_NONE};
    tfr_shape shape = {0};
    draw_shape(&shape, random);
    for (const char *at = desc->inputs; *at; at += strcspn(at, " "), at += *at == ' ') {
        size_t n = strcspn(at, " "), name = strcspn(at, "?:.*");
        const char *type = memchr(at, ':', n);
        bool variadic = at[name] == '.', optional = at[name] == '?';
        uint32_t copies = variadic ? (uint32_t)ops_random_below(random, 4) : 1;
        if (!type)
            continue;
        type++;
        size_t type_bytes = strcspn(type, " ");
        for (uint32_t j = 0; j < copies && call->n_inputs < OPS_MAX_OPERANDS; j++) {
            uint32_t i = call->n_inputs++;
            tfr_dtype *known = *type >= 'A' && *type <= 'Z' ? &of_set[*type - 'A'] : NULL;
            if (ops_random_below(random, 12) == 0 || (optional && ops_random_below(random, 2)))
                continue;
            tfr_dtype dtype =
                known && *known ? *known : draw_dtype(desc->types, type, type_bytes, random);
            if (known)
                *known = dtype;
            if (ops_random_below(random, 2))
                draw_shape(&shape, random);
            call->plain[i] =
                ops_any_tensor(dtype, &shape, ops_random_below(random, 2) != 0, random);
            call->views[i] = ops_view_of(&call->plain[i], random, false);
        }
    }
}

static int64_t any_int(ops_random *random)
{
    return ops_random_below(random, 3) ? (int64_t)ops_random_below(random, 5) - 1
                                       : ops_bad_int(random);
}

/* One of the strings of "s=a|b", or another. */
static void draw_strings(ops_call *call, uint32_t k, const char *value, ops_random *random)
{
    static const char other[] = "SURPRISE";
    for (uint64_t i = 0; i < call->attrs[k].n; i++) {
        tfr_string *s = &call->strings[k][i];
        *s = (tfr_string){other, ops_random_below(random, sizeof other)};
        if ((*value != '=' && *value != '!') || ops_random_below(random, 4) == 0)
            continue;
        const char *at = value + 1;
        for (uint64_t skip = ops_random_below(random, 4); skip > 0; skip--) {
            size_t n = strcspn(at, "| ,");
            at += at[n] == '|' ? n + 1 : 0;
        }
        *s = (tfr_string){at, strcspn(at, "| ,")};
    }
}

/* "axis:i=0 mode:s=a|b to:i!" */
static void draw_attrs(const tfr_op_desc *desc, ops_call *call, ops_random *random)
{
    for (const char *at = desc->attrs; *at; at += strcspn(at, " "), at += *at == ' ') {
        size_t name = strcspn(at, ":"), type = strcspn(at + name + 1, "=! ");
        const char *kind = at + name + 1;
        bool required = kind[type] == '!', list = type == 2;
        uint32_t k = call->n_attrs;
        if (k == OPS_MAX_ATTRS || *kind == 't' || *kind == 'g' ||
            ops_random_below(random, 10) < (required ? 1 : 5))
            continue;
        tfr_attr *a = &call->attrs[k];
        snprintf(call->names[k], sizeof call->names[k], "%.*s", (int)name, at);
        *a = (tfr_attr){.size = sizeof *a, .name = call->names[k]};
        a->type = *kind == 'i'   ? (list ? TFR_ATTR_INTS : TFR_ATTR_INT)
                  : *kind == 'f' ? (list ? TFR_ATTR_FLOATS : TFR_ATTR_FLOAT)
                                 : (list ? TFR_ATTR_STRINGS : TFR_ATTR_STRING);
        a->n = list ? ops_random_below(random, 5) : 1;
        a->ints = call->ints[k];
        a->floats = call->floats[k];
        a->strings = call->strings[k];
        for (uint64_t i = 0; i < a->n; i++) {
            call->ints[k][i] = any_int(random);
            call->floats[k][i] = ops_bad_float(random);
        }
        draw_strings(call, k, kind + type, random);
        call->n_attrs++;
    }
}

static uint32_t draw_n_outputs(const tfr_op_desc *desc, ops_random *random)
{
    uint32_t n = 1;
    for (const char *at = desc->outputs; *at; at++)
        n += *at == ' ';
    if (strstr(desc->outputs, "..."))
        n = 1 + (uint32_t)ops_random_below(random, 4);
    if (ops_random_below(random, 10) == 0)
        n = (uint32_t)ops_random_below(random, OPS_MAX_OUTPUTS + 1);
    return n < OPS_MAX_OUTPUTS ? n : OPS_MAX_OUTPUTS;
}

void ops_call_of_signature(const tfr_op_desc *desc, uint64_t seed, ops_call *out)
{
    ops_random random = {seed};
    memset(out, 0, sizeof *out);
    snprintf(out->op, sizeof out->op, "%s", desc->name);
    out->domain = desc->domain;
    out->seed = seed;
    draw_operands(desc, out, &random);
    draw_attrs(desc, out, &random);
    out->n_outputs = draw_n_outputs(desc, &random);
}
