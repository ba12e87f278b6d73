/* SPDX-License-Identifier: Apache-2.0 */
/* message.c: see message.h. */
#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct part {
    fuzz_type of;
    uint32_t number;
    fuzz_type type;
} parts[] = {
    {FUZZ_MODEL, FUZZ_MODEL_GRAPH, FUZZ_GRAPH},
    {FUZZ_MODEL, FUZZ_MODEL_OPSET, FUZZ_OPSET},
    {FUZZ_MODEL, 14, FUZZ_PAIR},
    {FUZZ_MODEL, FUZZ_MODEL_FUNCTION, FUZZ_FUNCTION},
    {FUZZ_MODEL, FUZZ_MODEL_RUN_INPUT, FUZZ_TENSOR},
    {FUZZ_GRAPH, FUZZ_GRAPH_NODE, FUZZ_NODE},
    {FUZZ_GRAPH, FUZZ_GRAPH_INITIALIZER, FUZZ_TENSOR},
    {FUZZ_GRAPH, FUZZ_GRAPH_INPUT, FUZZ_VALUE},
    {FUZZ_GRAPH, FUZZ_GRAPH_OUTPUT, FUZZ_VALUE},
    {FUZZ_GRAPH, FUZZ_GRAPH_VALUE_INFO, FUZZ_VALUE},
    {FUZZ_GRAPH, 15, FUZZ_SPARSE},
    {FUZZ_NODE, FUZZ_NODE_ATTR, FUZZ_ATTR},
    {FUZZ_ATTR, FUZZ_ATTR_TENSOR, FUZZ_TENSOR},
    {FUZZ_ATTR, FUZZ_ATTR_GRAPH, FUZZ_GRAPH},
    {FUZZ_ATTR, 14, FUZZ_TYPE},
    {FUZZ_ATTR, 22, FUZZ_SPARSE},
    {FUZZ_TENSOR, 13, FUZZ_PAIR},
    {FUZZ_SPARSE, 1, FUZZ_TENSOR},
    {FUZZ_SPARSE, 2, FUZZ_TENSOR},
    {FUZZ_VALUE, FUZZ_VALUE_TYPE, FUZZ_TYPE},
    {FUZZ_TYPE, 1, FUZZ_TENSOR_TYPE},
    {FUZZ_TYPE, 4, FUZZ_LIST_TYPE},
    {FUZZ_TYPE, 9, FUZZ_LIST_TYPE},
    {FUZZ_LIST_TYPE, 1, FUZZ_TYPE},
    {FUZZ_TENSOR_TYPE, 2, FUZZ_SHAPE},
    {FUZZ_SHAPE, 1, FUZZ_DIM},
    {FUZZ_FUNCTION, 7, FUZZ_NODE},
    {FUZZ_FUNCTION, 9, FUZZ_OPSET},
    {FUZZ_FUNCTION, 11, FUZZ_ATTR},
};

static fuzz_type type_of(fuzz_type of, uint32_t number)
{
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i].of == of && parts[i].number == number)
            return parts[i].type;
    return FUZZ_LEAF;
}

static void *need(void *memory)
{
    if (!memory) {
        fprintf(stderr, "out of memory for a model's messages\n");
        exit(99);
    }
    return memory;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

void fuzz_bytes_add(fuzz_bytes *bytes, const void *data, size_t n)
{
    if (bytes->capacity - bytes->n < n) {
        bytes->capacity = (bytes->n + n) * 2;
        bytes->data = need(realloc(bytes->data, bytes->capacity));
    }
    if (n)
        memcpy(bytes->data + bytes->n, data, n);
    bytes->n += n;
}

static void add_varint(fuzz_bytes *out, uint64_t value)
{
    unsigned char text[10];
    size_t n = 0;
    for (; value > 127; value >>= 7)
        text[n++] = (unsigned char)(value | 128);
    text[n++] = (unsigned char)value;
    fuzz_bytes_add(out, text, n);
}

static void add_fixed(fuzz_bytes *out, uint64_t value, int n)
{
    unsigned char text[8];
    for (int i = 0; i < n; i++)
        text[i] = (unsigned char)(value >> 8 * i);
    fuzz_bytes_add(out, text, (size_t)n);
}

static void write_field(const fuzz_field *f, fuzz_bytes *out)
{
    add_varint(out, (uint64_t)f->number << 3 | f->wire);
    if (f->wire == 0) {
        add_varint(out, f->value);
    } else if (f->wire == 1 || f->wire == 5) {
        add_fixed(out, f->value, f->wire == 1 ? 8 : 4);
    } else if (f->msg) {
        fuzz_bytes inner = {0};
        fuzz_msg_write(f->msg, &inner);
        add_varint(out, inner.n);
        fuzz_bytes_add(out, inner.data, inner.n);
        free(inner.data);
    } else if (f->wire == 2) {
        add_varint(out, f->n);
        fuzz_bytes_add(out, f->data, f->n);
    }
}

void fuzz_msg_write(const fuzz_msg *msg, fuzz_bytes *out)
{
    for (size_t i = 0; i < msg->n; i++)
        write_field(&msg->fields[i], out);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool take_varint(const unsigned char **at, const unsigned char *end, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
        unsigned char byte = *(*at)++;
        *out |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

static bool take_fixed(const unsigned char **at, const unsigned char *end, int n, uint64_t *out)
{
    *out = 0;
    if (end - *at < n)
        return false;
    for (int i = 0; i < n; i++)
        *out |= (uint64_t) * (*at)++ << 8 * i;
    return true;
}

static fuzz_field *new_field(fuzz_msg *msg, uint32_t number, uint32_t wire)
{
    if (msg->n == msg->capacity) {
        msg->capacity = msg->capacity * 2 + 4;
        msg->fields = need(realloc(msg->fields, msg->capacity * sizeof *msg->fields));
    }
    fuzz_field *f = &msg->fields[msg->n++];
    *f = (fuzz_field){.number = number, .wire = wire};
    return f;
}

static void set_bytes(fuzz_field *f, const void *data, size_t n)
{
    unsigned char *copy = need(malloc(n + 1));
    if (n)
        memcpy(copy, data, n);
    copy[n] = 0;
    free(f->data);
    f->data = copy;
    f->n = n;
}

static bool read_field(fuzz_msg *msg, const unsigned char **at, const unsigned char *end)
{
    uint64_t key, value = 0;
    if (!take_varint(at, end, &key) || key >> 3 == 0 || key >> 3 > UINT32_MAX)
        return false;
    uint32_t wire = (uint32_t)(key & 7);
    if (wire == 3 || wire == 4 || wire > 5)
        return false;
    if ((wire == 0 || wire == 2) && !take_varint(at, end, &value))
        return false;
    if ((wire == 1 || wire == 5) && !take_fixed(at, end, wire == 1 ? 8 : 4, &value))
        return false;
    if (wire == 2 && value > (uint64_t)(end - *at))
        return false;
    fuzz_field *f = new_field(msg, (uint32_t)(key >> 3), wire);
    f->value = wire == 2 ? 0 : value;
    if (wire != 2)
        return true;
    fuzz_type type = type_of(msg->type, f->number);
    if (type)
        f->msg = fuzz_msg_read(*at, (size_t)value, type);
    if (!f->msg)
        set_bytes(f, *at, (size_t)value);
    *at += value;
    return true;
}

fuzz_msg *fuzz_msg_read(const void *bytes, size_t n, fuzz_type type)
{
    const unsigned char *at = bytes, *end = at + n;
    fuzz_msg *msg = fuzz_msg_create(type);
    while (at < end)
        if (!read_field(msg, &at, end)) {
            fuzz_msg_destroy(msg);
            return NULL;
        }
    return msg;
}

/* ---- trees ----------------------------------------------------------------------------------- */

fuzz_msg *fuzz_msg_create(fuzz_type type)
{
    fuzz_msg *msg = need(calloc(1, sizeof *msg));
    msg->type = type;
    return msg;
}

static void finish_field(fuzz_field *f)
{
    free(f->data);
    fuzz_msg_destroy(f->msg);
}

void fuzz_msg_destroy(fuzz_msg *msg)
{
    for (size_t i = 0; msg && i < msg->n; i++)
        finish_field(&msg->fields[i]);
    if (msg)
        free(msg->fields);
    free(msg);
}

static void copy_field(const fuzz_field *from, fuzz_field *to)
{
    *to = *from;
    to->data = NULL;
    if (from->msg)
        to->msg = fuzz_msg_copy(from->msg);
    else if (from->data)
        set_bytes(to, from->data, from->n);
}

fuzz_msg *fuzz_msg_copy(const fuzz_msg *msg)
{
    fuzz_msg *copy = fuzz_msg_create(msg->type);
    for (size_t i = 0; i < msg->n; i++)
        copy_field(&msg->fields[i], new_field(copy, 1, 0));
    return copy;
}

fuzz_msg *fuzz_add_msg(fuzz_msg *msg, uint32_t number, fuzz_type type)
{
    fuzz_msg *child = fuzz_msg_create(type);
    fuzz_add_child(msg, number, child);
    return child;
}

void fuzz_add_child(fuzz_msg *msg, uint32_t number, fuzz_msg *child)
{
    new_field(msg, number, 2)->msg = child;
}

void fuzz_add_int(fuzz_msg *msg, uint32_t number, int64_t value)
{
    new_field(msg, number, 0)->value = (uint64_t)value;
}

void fuzz_add_float(fuzz_msg *msg, uint32_t number, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    new_field(msg, number, 5)->value = bits;
}

void fuzz_add_bytes(fuzz_msg *msg, uint32_t number, const void *data, size_t n)
{
    set_bytes(new_field(msg, number, 2), data, n);
}

void fuzz_add_text(fuzz_msg *msg, uint32_t number, const char *text)
{
    fuzz_add_bytes(msg, number, text, strlen(text));
}

fuzz_field *fuzz_find(const fuzz_msg *msg, uint32_t number, size_t nth)
{
    for (size_t i = 0; i < msg->n; i++)
        if (msg->fields[i].number == number && nth-- == 0)
            return &msg->fields[i];
    return NULL;
}

size_t fuzz_count(const fuzz_msg *msg, uint32_t number)
{
    size_t n = 0;
    for (size_t i = 0; i < msg->n; i++)
        n += msg->fields[i].number == number;
    return n;
}

fuzz_msg *fuzz_child(const fuzz_msg *msg, uint32_t number)
{
    fuzz_field *f = fuzz_find(msg, number, 0);
    return f ? f->msg : NULL;
}

const char *fuzz_text(const fuzz_msg *msg, uint32_t number)
{
    fuzz_field *f = fuzz_find(msg, number, 0);
    return f && f->data ? (const char *)f->data : "";
}

void fuzz_set_text(fuzz_field *field, const char *text)
{
    set_bytes(field, text, strlen(text));
}

void fuzz_remove(fuzz_msg *msg, size_t i)
{
    finish_field(&msg->fields[i]);
    msg->n--;
    memmove(&msg->fields[i], &msg->fields[i + 1], (msg->n - i) * sizeof *msg->fields);
}

void fuzz_duplicate(fuzz_msg *msg, size_t i, size_t at)
{
    fuzz_field copy;
    copy_field(&msg->fields[i], &copy);
    new_field(msg, 1, 0);
    memmove(&msg->fields[at + 1], &msg->fields[at], (msg->n - 1 - at) * sizeof *msg->fields);
    msg->fields[at] = copy;
}

fuzz_msg *fuzz_attr(const fuzz_msg *node, const char *name)
{
    for (size_t i = 0; i < node->n; i++) {
        const fuzz_field *f = &node->fields[i];
        if (f->number == FUZZ_NODE_ATTR && f->msg &&
            strcmp(fuzz_text(f->msg, FUZZ_ATTR_NAME), name) == 0)
            return f->msg;
    }
    return NULL;
}
