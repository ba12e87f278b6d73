/* SPDX-License-Identifier: Apache-2.0 */
/* text.c: see text.h. Field numbers are those of onnx.proto. */
#include "text.h"

#include <stdlib.h>
#include <string.h>

enum { OPSET = 25, NAME_BYTES = 32, MOST_ARGS = 32, NODE_BYTES = 2048 };

/* ---- protobuf -------------------------------------------------------------------------------- */

static void put(contrib_bytes *b, const void *data, size_t n)
{
    if (n > b->room - b->n) {
        b->full = true;
        return;
    }
    if (n)
        memcpy(b->data + b->n, data, n);
    b->n += n;
}

static void put_varint(contrib_bytes *b, uint64_t value)
{
    uint8_t byte;
    do {
        byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        put(b, &byte, 1);
        value >>= 7;
    } while (value);
}

static void put_int(contrib_bytes *b, uint32_t field, int64_t value)
{
    put_varint(b, (uint64_t)field << 3);
    put_varint(b, (uint64_t)value);
}

static void put_block(contrib_bytes *b, uint32_t field, const void *data, size_t n)
{
    put_varint(b, (uint64_t)field << 3 | 2);
    put_varint(b, n);
    put(b, data, n);
}

static void put_text(contrib_bytes *b, uint32_t field, const char *text)
{
    put_block(b, field, text, strlen(text));
}

static void put_float(contrib_bytes *b, uint32_t field, float value)
{
    put_varint(b, (uint64_t)field << 3 | 5);
    put(b, &value, sizeof(value)); /* a big-endian host would have to turn it */
}

static void to_function(contrib_text *t, uint32_t field, const void *data, size_t n)
{
    contrib_bytes b = {t->out, (size_t)t->room, (size_t)t->n, t->full};
    put_block(&b, field, data, n);
    t->n = b.n;
    t->full = b.full;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

typedef struct node {
    contrib_bytes bytes;
    uint8_t data[NODE_BYTES];
} node;

static void node_begin(node *n)
{
    n->bytes = (contrib_bytes){n->data, sizeof(n->data), 0, false};
}

static void node_end(contrib_text *t, node *n)
{
    t->full = t->full || n->bytes.full;
    to_function(t, 7, n->data, n->bytes.n);
}

/* A new name: value 7 is "#7", which no text can say. */
static void make_name(contrib_text *t, char *name)
{
    snprintf(name, NAME_BYTES, "#%u", t->n_made++);
}

static void constant(contrib_text *t, int32_t dtype, bool list, const void *data, size_t n,
                     size_t bytes, char *name)
{
    uint8_t tensor_data[512], attr_data[640];
    contrib_bytes tensor = {tensor_data, sizeof(tensor_data), 0, false};
    contrib_bytes attr = {attr_data, sizeof(attr_data), 0, false};
    node made;
    if (list)
        put_int(&tensor, 1, (int64_t)n);
    put_int(&tensor, 2, dtype);
    put_block(&tensor, 9, data, bytes);
    put_text(&attr, 1, "value");
    put_block(&attr, 5, tensor.data, tensor.n);
    put_int(&attr, 20, TFR_ATTR_TENSOR);
    make_name(t, name);
    node_begin(&made);
    put_text(&made.bytes, 2, name);
    put_text(&made.bytes, 4, "Constant");
    put_block(&made.bytes, 5, attr.data, attr.n);
    made.bytes.full = made.bytes.full || tensor.full || attr.full;
    node_end(t, &made);
}

static void float_constant(contrib_text *t, double value, char *name)
{
    const bool narrow = t->dtype == TFR_DTYPE_F16 || t->dtype == TFR_DTYPE_BF16;
    const float single = (float)value;
    uint16_t half;
    if (t->dtype == TFR_DTYPE_F64) {
        constant(t, TFR_DTYPE_F64, false, &value, 1, sizeof(value), name);
    } else if (narrow) {
        contrib_store(&half, t->dtype, 0, value);
        constant(t, t->dtype, false, &half, 1, sizeof(half), name);
    } else {
        constant(t, TFR_DTYPE_F32, false, &single, 1, sizeof(single), name);
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

static void blanks(contrib_text *t)
{
    while (*t->at == ' ' || *t->at == '\n' || *t->at == ';')
        t->at++;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

static void complain(contrib_text *t)
{
    if (!*t->wrong)
        snprintf(t->wrong, sizeof(t->wrong), "%s", *t->at ? t->at : "its end");
    t->at += strlen(t->at); /* nothing after it is read */
}

static bool take(contrib_text *t, char c)
{
    blanks(t);
    if (*t->at != c)
        return false;
    t->at++;
    return true;
}

static void want(contrib_text *t, char c)
{
    if (!take(t, c))
        complain(t);
}

static void word(contrib_text *t, char *name)
{
    size_t n = 0;
    blanks(t);
    while (is_word(t->at[n]))
        n++;
    if (!n || n >= NAME_BYTES)
        complain(t), n = 0;
    memcpy(name, t->at, n);
    name[n] = 0;
    t->at += n;
}

/* {1,2} */
static uint32_t ints(contrib_text *t, int64_t *out)
{
    uint32_t n = 0;
    char *end;
    want(t, '{');
    while (!take(t, '}') && !*t->wrong) {
        blanks(t);
        out[n] = strtoll(t->at, &end, 10);
        if (end == t->at || n == MOST_ARGS - 1)
            complain(t);
        else
            t->at = end, n++;
        take(t, ',');
    }
    return n;
}

static bool at_number(const contrib_text *t)
{
    return (*t->at >= '0' && *t->at <= '9') || *t->at == '-' ||
           (*t->at == 'i' && !strncmp(t->at, "inf", 3) && !is_word(t->at[3]));
}

/* A number; is it a float? */
static bool number(contrib_text *t, double *value, int64_t *integer)
{
    char *end, *end_of_integer;
    *value = strtod(t->at, &end);
    *integer = strtoll(t->at, &end_of_integer, 10);
    if (end == t->at)
        complain(t);
    t->at = end;
    return end != end_of_integer;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static void attribute(contrib_text *t, node *to)
{
    uint8_t data[512];
    contrib_bytes b = {data, sizeof(data), 0, false};
    char name[NAME_BYTES];
    int64_t list[MOST_ARGS], integer;
    double value;
    word(t, name);
    want(t, '=');
    put_text(&b, 1, name);
    blanks(t);
    if (*t->at == '{') {
        const uint32_t n = ints(t, list);
        for (uint32_t i = 0; i < n; i++)
            put_int(&b, 8, list[i]);
        put_int(&b, 20, TFR_ATTR_INTS);
    } else if (*t->at == '"') {
        const char *end = strchr(++t->at, '"');
        if (!end) {
            complain(t);
            return;
        }
        put_block(&b, 4, t->at, (size_t)(end - t->at));
        put_int(&b, 20, TFR_ATTR_STRING);
        t->at = end + 1;
    } else if (number(t, &value, &integer)) {
        put_float(&b, 2, (float)value);
        put_int(&b, 20, TFR_ATTR_FLOAT);
    } else {
        put_int(&b, 3, integer);
        put_int(&b, 20, TFR_ATTR_INT);
    }
    to->bytes.full = to->bytes.full || b.full;
    put_block(&to->bytes, 5, b.data, b.n);
}

/* ---- expressions ----------------------------------------------------------------------------- */

static void expression(contrib_text *t, uint32_t depth, char *name);

/* [attributes](arguments) of a node whose outputs are in it already. */
static void finish_node(contrib_text *t, uint32_t depth, const char *op, node *made)
{
    char args[MOST_ARGS][NAME_BYTES];
    const char *dot = strchr(op, '.');
    uint32_t n = 0;
    put_text(&made->bytes, 4, dot ? dot + 1 : op);
    if (dot)
        put_block(&made->bytes, 7, op, (size_t)(dot - op));
    if (take(t, '['))
        while (!take(t, ']') && !*t->wrong) {
            attribute(t, made);
            take(t, ',');
        }
    want(t, '(');
    while (!take(t, ')') && !*t->wrong) {
        if (n == MOST_ARGS || depth == 16) {
            complain(t);
            return;
        }
        expression(t, depth + 1, args[n++]);
        take(t, ',');
    }
    for (uint32_t i = 0; i < n; i++)
        put_text(&made->bytes, 1, args[i]);
    node_end(t, made);
}

/* The name of what an argument is. */
static void expression(contrib_text *t, uint32_t depth, char *name)
{
    int64_t list[MOST_ARGS], integer;
    double value;
    char op[NAME_BYTES];
    *name = 0;
    blanks(t);
    if (*t->at == '{') {
        const uint32_t n = ints(t, list);
        constant(t, TFR_DTYPE_I64, true, list, n, n * sizeof(*list), name);
    } else if (at_number(t)) {
        if (number(t, &value, &integer))
            float_constant(t, value, name);
        else
            constant(t, TFR_DTYPE_I64, false, &integer, 1, sizeof(integer), name);
    } else {
        word(t, op);
        blanks(t);
        if (*t->at == '[' || *t->at == '(') {
            node made;
            node_begin(&made);
            make_name(t, name);
            put_text(&made.bytes, 2, name);
            finish_node(t, depth, op, &made);
        } else if (strcmp(op, "_") != 0) {
            memcpy(name, op, sizeof(op));
        }
    }
}

/* a, b = Op(...) */
static void line(contrib_text *t)
{
    char name[NAME_BYTES], op[NAME_BYTES];
    node made;
    node_begin(&made);
    do {
        word(t, name);
        put_text(&made.bytes, 2, strcmp(name, "_") ? name : "");
    } while (take(t, ','));
    want(t, '=');
    word(t, op);
    finish_node(t, 0, op, &made);
}

void contrib_write(contrib_text *t, const char *format, ...)
{
    char text[2048];
    va_list args;
    int n;
    va_start(args, format);
    n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    t->full = t->full || n < 0 || (size_t)n >= sizeof(text);
    t->at = text;
    for (blanks(t); *t->at && !*t->wrong && !t->full; blanks(t))
        line(t);
    t->at = "";
}

/* ---- the function ---------------------------------------------------------------------------- */

/* The names of a signature's operands, as many as there are in the call. */
static void operands(contrib_text *t, uint32_t field, const char *signature, uint32_t n)
{
    char name[NAME_BYTES], first[NAME_BYTES];
    const char *variadic = NULL;
    size_t bytes = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!variadic) {
            signature += strspn(signature, " ");
            bytes = strcspn(signature, "?.: ");
            variadic = signature[bytes] == '.' ? signature : NULL;
        }
        if (variadic)
            snprintf(name, sizeof(name), "%.*s%u", (int)bytes, variadic, i);
        else
            snprintf(name, sizeof(name), "%.*s", (int)bytes, signature);
        if (!i)
            memcpy(first, name, sizeof(first));
        /* An output that nobody wants is the first one. */
        if (field == 5 && !contrib_wants(t, i))
            to_function(t, field, first, strlen(first));
        else
            to_function(t, field, name, strlen(name));
        if (!variadic)
            signature += strcspn(signature, " ");
    }
}

static void import_domain(contrib_text *t, const char *domain, int64_t version)
{
    uint8_t data[64];
    contrib_bytes b = {data, sizeof(data), 0, false};
    put_text(&b, 1, domain);
    put_int(&b, 2, version);
    to_function(t, 9, b.data, b.n);
}

void contrib_begin(contrib_text *t, const tfr_op_schema *row, const tfr_call *call, void *out,
                   uint64_t room)
{
    *t = (contrib_text){.call = call, .out = out, .room = room, .dtype = TFR_DTYPE_F32};
    contrib_type(t, 0);
    to_function(t, 1, row->name, strlen(row->name));
    to_function(t, 10, row->domain, strlen(row->domain)); /* ONNX has ops of such names, too */
    operands(t, 4, row->inputs, call->n_inputs);
    operands(t, 5, row->outputs, call->n_outputs);
    import_domain(t, "", OPSET);
    import_domain(t, "tfrun", 1);
    import_domain(t, CONTRIB_DOMAIN, 1);
}

void contrib_type(contrib_text *t, uint32_t input)
{
    const tfr_operand *o = tfr_call_input(t->call, input);
    t->dtype = o && o->dtype > 0 ? o->dtype : TFR_DTYPE_F32;
}

int32_t contrib_end(contrib_text *t, uint64_t *n, tfr_err *err)
{
    if (*t->wrong)
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "what %s is made of cannot be read from \"%s\" on, a defect of plugin "
                        "com-microsoft",
                        t->call->name, t->wrong);
    if (t->full)
        return tfr_fail(err, TFR_EUNSUPPORTED, "%s becomes more nodes than there is room for",
                        t->call->name);
    *n = t->n;
    return TFR_OK;
}
