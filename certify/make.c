/* SPDX-License-Identifier: Apache-2.0 */
/* make.c: reads a description's shapes, attributes and operands into one call. Values are filled by
 * fill.c. */
#include "make.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fill.h"

void ops_must(tfr_status status, const tfr_err *err, const char *who)
{
    if (!status)
        return;
    fprintf(stderr, "%s: %s: %s\n", who, tfr_status_name(status), err->text);
    exit(99);
}

static _Noreturn void bad(const ops_case *description, const char *text, const char *what)
{
    fprintf(stderr, "%s: \"%s\": %s\n", description->name, text, what);
    exit(99);
}

/* ---- types ----------------------------------------------------------------------------------- */

int ops_n_types(const ops_case *description)
{
    const char *types = description->in[0].types;
    int n = types ? 1 : 0;
    for (; types && *types; types++)
        n += *types == '|';
    return n;
}

static void copy_word(const char *types, int which, char *text, size_t n)
{
    while (which > 0 && *types)
        which -= *types++ == '|';
    size_t length = strcspn(types, "|");
    snprintf(text, n, "%.*s", (int)length, types);
}

void ops_type_name(const ops_case *description, int type, char *text, size_t n)
{
    copy_word(description->in[0].types ? description->in[0].types : "-", type, text, n);
}

static tfr_dtype draw_type(const ops_call *call, const char *types, int type, ops_random *random)
{
    char word[16];
    if (types[0] == '=') {
        tfr_tensor *other = call->plain[types[1] - '0'];
        return other ? tfr_tensor_dtype(other) : TFR_DTYPE_F32;
    }
    if (type < 0) {
        int n = 1;
        for (const char *at = types; *at; at++)
            n += *at == '|';
        type = (int)ops_random_below(random, (uint64_t)n);
    }
    copy_word(types, type, word, sizeof word);
    tfr_dtype dtype = tfr_dtype_parse(word);
    if (dtype == TFR_DTYPE_NONE)
        bad(call->description, types, "not a list of element types");
    return dtype;
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* "x|y|z": one of them. */
static void draw_string(ops_call *call, uint32_t k, const char *text, ops_random *random)
{
    size_t length = strcspn(text, " "), n = 1;
    for (size_t i = 0; i < length; i++)
        n += text[i] == '|';
    for (uint64_t skip = ops_random_below(random, n); skip > 0; text++)
        skip -= *text == '|';
    call->strings[k][0].data = text;
    call->strings[k][0].bytes = strcspn(text, " |");
    call->attrs[k].n = 1;
}

/* "a,b,c": all of them. */
static void list_strings(ops_call *call, uint32_t k, const char *text)
{
    uint64_t n = 0;
    while (*text && *text != ' ' && n < 8) {
        call->strings[k][n].data = text;
        call->strings[k][n].bytes = strcspn(text, " ,");
        text += call->strings[k][n++].bytes;
        text += *text == ',';
    }
    call->attrs[k].n = n;
}

static int32_t attr_type(const char *type)
{
    if (type[0] == 't')
        return TFR_ATTR_TENSOR;
    if (type[0] == 'i')
        return type[1] == 's' ? TFR_ATTR_INTS : TFR_ATTR_INT;
    if (type[0] == 'f')
        return type[1] == 's' ? TFR_ATTR_FLOATS : TFR_ATTR_FLOAT;
    return type[1] == 's' ? TFR_ATTR_STRINGS : TFR_ATTR_STRING;
}

static void set_numbers(ops_letters *letters, ops_call *call, uint32_t k, const char *value)
{
    tfr_attr *a = &call->attrs[k];
    bool whole = a->type == TFR_ATTR_INT || a->type == TFR_ATTR_INTS;
    if (a->type == TFR_ATTR_INTS || a->type == TFR_ATTR_FLOATS) {
        a->n = (uint64_t)ops_list(letters, value, 0, call->numbers[k]);
    } else {
        call->numbers[k][0] = ops_draw(letters, value, 0, 0, whole);
        a->n = 1;
    }
    for (uint64_t i = 0; i < a->n; i++) {
        call->ints[k][i] = ops_to_int(call->numbers[k][i]);
        call->floats[k][i] = (float)call->numbers[k][i];
    }
}

/* "t": float32, "tb": uint8; of one dim. */
static void set_tensor(ops_letters *letters, ops_call *call, uint32_t k, bool bytes,
                       const char *value)
{
    tfr_operand *o = &call->tensors[k];
    call->lengths[k] = ops_list(letters, value, 0, call->numbers[k]);
    for (int64_t i = 0; i < call->lengths[k]; i++) {
        call->floats[k][i] = (float)call->numbers[k][i];
        call->bytes[k][i] = (uint8_t)ops_to_int(call->numbers[k][i]);
    }
    *o = (tfr_operand){.size = sizeof *o,
                       .dtype = bytes ? TFR_DTYPE_U8 : TFR_DTYPE_F32,
                       .rank = 1,
                       .dims = &call->lengths[k]};
    o->data = bytes ? (const void *)call->bytes[k] : call->floats[k];
    call->attrs[k].tensor = o;
    call->attrs[k].n = 1;
}

/* One item of attrs, "name:type=value", "name?:..." or "name?EXPR:...". */
static void make_attr(ops_letters *letters, ops_call *call, const char *item)
{
    uint32_t k = call->n_attrs;
    size_t name = strcspn(item, "?:");
    const char *at = item + name;
    if (k == OPS_MAX_ATTRS || name >= sizeof call->names[k])
        bad(call->description, item, "too many attributes, or too long a name");
    if (*at == '?') {
        bool given = at[1] == ':' ? ops_random_below(letters->random, 2) != 0
                                  : ops_eval(letters, at + 1, 0, 0) != 0;
        if (!given)
            return;
        at += strcspn(at, ":");
    }
    const char *value = strchr(at, '=');
    if (*at != ':' || !value)
        bad(call->description, item, "an attribute is written name:type=value");
    snprintf(call->names[k], sizeof call->names[k], "%.*s", (int)name, item);
    tfr_attr *a = &call->attrs[k];
    *a = (tfr_attr){.size = sizeof *a, .type = attr_type(at + 1), .name = call->names[k]};
    a->ints = call->ints[k];
    a->floats = call->floats[k];
    a->strings = call->strings[k];
    if (a->type == TFR_ATTR_STRING)
        draw_string(call, k, value + 1, letters->random);
    else if (a->type == TFR_ATTR_STRINGS)
        list_strings(call, k, value + 1);
    else if (a->type == TFR_ATTR_TENSOR)
        set_tensor(letters, call, k, at[2] == 'b', value + 1);
    else
        set_numbers(letters, call, k, value + 1);
    call->n_attrs++;
}

static void make_attrs(ops_letters *letters, ops_call *call)
{
    const char *at = call->description->attrs;
    while (at && *at) {
        make_attr(letters, call, at);
        at += strcspn(at, " ");
        at += *at == ' ';
    }
}

/* ---- operands -------------------------------------------------------------------------------- */

/* Dims become 1 and leading ones fall away, each at times. */
static void shrink(tfr_shape *shape, ops_random *random)
{
    int32_t dropped = 0;
    for (int32_t d = 0; d < shape->rank; d++)
        if (ops_random_below(random, 4) == 0)
            shape->dims[d] = 1;
    if (shape->rank > 0 && ops_random_below(random, 3) == 0)
        dropped = (int32_t)ops_random_below(random, (uint64_t)shape->rank + 1);
    shape->rank -= dropped;
    memmove(shape->dims, shape->dims + dropped, (size_t)shape->rank * sizeof *shape->dims);
}

static void make_shape(ops_letters *letters, const ops_operand *operand, int j, tfr_shape *out)
{
    double dims[OPS_MAX_LIST];
    const char *text = operand->shape ? operand->shape : "";
    bool may_shrink = text[0] == '~';
    int n = ops_list(letters, text + may_shrink, j, dims);
    out->rank = n;
    if (n > TFR_MAX_RANK) {
        fprintf(stderr, "%s: \"%s\" has rank %d\n", letters->name, text, n);
        exit(99);
    }
    for (int d = 0; d < n; d++)
        out->dims[d] = ops_to_int(dims[d]);
    if (may_shrink)
        shrink(out, letters->random);
}

static void make_operand(ops_letters *letters, ops_call *call, const ops_operand *operand, int j,
                         int type)
{
    uint32_t k = call->n_inputs;
    tfr_shape shape = {0};
    tfr_err err = TFR_ERR_INIT;
    if (k == OPS_MAX_OPERANDS)
        bad(call->description, operand->types, "too many operands");
    make_shape(letters, operand, j, &shape);
    tfr_dtype dtype = draw_type(call, operand->types, type, letters->random);
    ops_must(tfr_tensor_create(dtype, &shape, &call->plain[k], &err), &err, letters->name);
    bool exact = operand->values && operand->values[0] == '=';
    bool sprinkle = operand->special && call->seed % 3 == 1;
    ops_fill(letters, call->plain[k], operand->values, j, sprinkle ? operand->special : "");
    call->views[k] = ops_view_of(&call->plain[k], letters->random, exact);
    call->n_inputs++;
}

static void make_operands(ops_letters *letters, ops_call *call, int type)
{
    const ops_operand *in = call->description->in;
    for (int o = 0; o < OPS_MAX_INPUTS && in[o].types; o++) {
        int n = in[o].count ? (int)ops_draw(letters, in[o].count, 0, 0, true) : 1;
        for (int j = 0; j < n; j++)
            make_operand(letters, call, &in[o], j, o == 0 && j == 0 ? type : -1);
        if (n == 0)
            call->n_inputs++;
    }
    while (call->n_inputs > 0 && !call->plain[call->n_inputs - 1])
        call->n_inputs--;
}

uint64_t ops_hash(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

void ops_make(const ops_case *description, uint64_t seed, int type, const char *overrides,
              ops_call *out)
{
    ops_random random = {ops_hash(description->name) + seed * 0x2545f4914f6cdd1du};
    ops_letters letters;
    memset(out, 0, sizeof *out);
    out->description = description;
    out->seed = seed;
    out->domain = description->domain ? description->domain : "";
    snprintf(out->op, sizeof out->op, "%.*s", (int)strcspn(description->name, "/"),
             description->name);
    ops_letters_init(&letters, description->name, description->vars, overrides, &random);
    /* The first type is the one that most backends know; half of the calls have it. */
    if (type < 0 && seed % 2 == 0)
        type = 0;
    make_operands(&letters, out, type);
    make_attrs(&letters, out);
    out->n_outputs =
        description->outputs ? (uint32_t)ops_draw(&letters, description->outputs, 0, 0, true) : 1;
}

void ops_call_finish(ops_call *call)
{
    for (uint32_t i = 0; i < call->n_inputs; i++) {
        tfr_tensor_release(call->plain[i]);
        tfr_tensor_release(call->views[i]);
    }
}

/* ---- printing -------------------------------------------------------------------------------- */

static void print_attr(FILE *out, const tfr_attr *a)
{
    fprintf(out, " %s=", a->name);
    if (a->type == TFR_ATTR_TENSOR) {
        fprintf(out, "a tensor of %lld", (long long)tfr_operand_elements(a->tensor));
        return;
    }
    for (uint64_t i = 0; i < a->n; i++) {
        fprintf(out, "%s", i ? "," : "");
        if (a->type == TFR_ATTR_INT || a->type == TFR_ATTR_INTS)
            fprintf(out, "%lld", (long long)a->ints[i]);
        else if (a->type == TFR_ATTR_FLOAT || a->type == TFR_ATTR_FLOATS)
            fprintf(out, "%g", (double)a->floats[i]);
        else
            fprintf(out, "%.*s", (int)a->strings[i].bytes, a->strings[i].data);
    }
}

static void print_tensor(FILE *out, const char *what, tfr_tensor *t)
{
    char text[256];
    if (!t) {
        fprintf(out, " absent");
        return;
    }
    fprintf(out, "%s %s%s", what, tfr_dtype_name(tfr_tensor_dtype(t)),
            tfr_shape_format(tfr_tensor_shape(t), text, sizeof text));
    if (!tfr_tensor_is_plain(t)) {
        fprintf(out, " strides ");
        for (int32_t d = 0; d < tfr_tensor_shape(t)->rank; d++)
            fprintf(out, "%s%lld", d ? "," : "", (long long)tfr_tensor_strides(t)[d]);
    }
    if (tfr_tensor_is_plain(t) && tfr_tensor_dtype(t) == TFR_DTYPE_I64 &&
        tfr_tensor_elements(t) <= 12) {
        fprintf(out, "={");
        for (int64_t i = 0; i < tfr_tensor_elements(t); i++)
            fprintf(out, "%s%lld", i ? "," : "", (long long)((int64_t *)tfr_tensor_data(t))[i]);
        fprintf(out, "}");
    }
}

void ops_print_call(FILE *out, const ops_call *call)
{
    fprintf(out, "    %s", call->op);
    for (uint32_t k = 0; k < call->n_attrs; k++)
        print_attr(out, &call->attrs[k]);
    fprintf(out, "\n");
    for (uint32_t k = 0; k < call->n_inputs; k++) {
        fprintf(out, "    input %u:", (unsigned)k);
        print_tensor(out, "", call->plain[k]);
        if (call->views[k] && call->views[k] != call->plain[k])
            print_tensor(out, ", view", call->views[k]);
        fprintf(out, "\n");
    }
}
