/* SPDX-License-Identifier: Apache-2.0 */
/* wire.c: the bounded reader of wire.h. The format is protobuf's "Encoding" document. */
#include <stdio.h>
#include <string.h>
#include <tfrun/fail.h>

#include "wire.h"

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_RUN = 2, WIRE_32 = 5 };

static uint64_t load_little(const char *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)(unsigned char)at[i] << (8 * i);
    return value;
}

size_t tfr__wire_offset(const tfr__wire *wire, const void *byte)
{
    return (size_t)((const char *)byte - wire->base);
}

/* At most 10 bytes; the tenth may only carry the last of 64 bits. NULL = bad, at is unchanged. */
static const char *read_varint(const char *at, const char *end, uint64_t *value)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && at < end; shift += 7) {
        unsigned char byte = (unsigned char)*at++;
        if (shift == 63 && byte > 1)
            return NULL;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *value = v;
            return at;
        }
    }
    return NULL;
}

static tfr_status fail_varint(const tfr__wire *wire, const char *at, const char *end,
                              const char *name, tfr_err *err)
{
    size_t offset = tfr__wire_offset(wire, at);
    if (end - at < 10)
        return tfr_fail(err, TFR_EMODEL,
                        "byte %zu: %s.%s has a number that goes on past the end of its message; "
                        "the file may be cut short",
                        offset, wire->message->name, name);
    return tfr_fail(err, TFR_EMODEL, "byte %zu: %s.%s has a number of more than 64 bits", offset,
                    wire->message->name, name);
}

void tfr__wire_open(tfr__wire *wire, const tfr__wire_message *message, const void *bytes, size_t n)
{
    wire->base = bytes;
    wire->message = message;
    wire->at = bytes;
    wire->end = wire->at + n;
    wire->depth = 1;
}

/* Is this wire type what the table says of the field? */
static bool kind_admits(tfr__wire_kind kind, unsigned type)
{
    switch (kind) {
    case TFR__WIRE_UNKNOWN:
        return true;
    case TFR__WIRE_VARINT:
        return type == WIRE_VARINT;
    case TFR__WIRE_FIXED32:
        return type == WIRE_32;
    case TFR__WIRE_FIXED64:
        return type == WIRE_64;
    case TFR__WIRE_BYTES:
    case TFR__WIRE_MESSAGE:
        return type == WIRE_RUN;
    case TFR__WIRE_VARINTS:
        return type == WIRE_VARINT || type == WIRE_RUN;
    case TFR__WIRE_FIXED32S:
        return type == WIRE_32 || type == WIRE_RUN;
    case TFR__WIRE_FIXED64S:
        return type == WIRE_64 || type == WIRE_RUN;
    }
    return false;
}

static tfr_status read_content(tfr__wire *wire, tfr__wire_field *field, unsigned type, tfr_err *err)
{
    size_t left = (size_t)(wire->end - wire->at), fixed = type == WIRE_32 ? 4 : 8;
    const char *after;

    if (type == WIRE_32 || type == WIRE_64) {
        if (left < fixed)
            return tfr_fail(err, TFR_EMODEL,
                            "byte %zu: %s.%s needs %zu bytes, its message has %zu left; the file "
                            "may be cut short",
                            field->offset, wire->message->name, field->name, fixed, left);
        field->value = load_little(wire->at, (unsigned)fixed);
        wire->at += fixed;
        return TFR_OK;
    }
    after = read_varint(wire->at, wire->end, &field->value);
    if (!after)
        return fail_varint(wire, wire->at, wire->end, field->name, err);
    wire->at = after;
    if (type == WIRE_VARINT)
        return TFR_OK;
    left = (size_t)(wire->end - wire->at);
    if (field->value > left)
        return tfr_fail(err, TFR_EMODEL,
                        "byte %zu: %s.%s claims %llu bytes, its message has %zu left; the file "
                        "may be cut short",
                        field->offset, wire->message->name, field->name,
                        (unsigned long long)field->value, left);
    field->run = true;
    field->text.data = wire->at;
    field->text.bytes = (size_t)field->value;
    wire->at += field->text.bytes;
    return TFR_OK;
}

tfr_status tfr__wire_next(tfr__wire *wire, tfr__wire_field *field, tfr_err *err)
{
    uint64_t tag;
    unsigned type;
    const char *after;
    const tfr__wire_rule *rule = NULL;

    memset(field, 0, sizeof *field);
    field->text.data = ""; /* so that nobody computes with NULL */
    if (wire->at == wire->end)
        return TFR_OK;
    field->offset = tfr__wire_offset(wire, wire->at);
    after = read_varint(wire->at, wire->end, &tag);
    if (!after)
        return fail_varint(wire, wire->at, wire->end, "(tag)", err);
    type = (unsigned)(tag & 7);
    if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
        return tfr_fail(err, TFR_EMODEL,
                        "byte %zu: %s has a field of number %llu, valid are 1 to "
                        "536870911",
                        field->offset, wire->message->name, (unsigned long long)(tag >> 3));
    if (tag >> 3 < wire->message->n_fields)
        rule = &wire->message->fields[tag >> 3];
    field->name = rule && rule->name ? rule->name : "(unknown field)";
    if (type != WIRE_VARINT && type != WIRE_64 && type != WIRE_RUN && type != WIRE_32)
        return tfr_fail(err, TFR_EMODEL,
                        "byte %zu: %s.%s (field %llu) has wire type %u, which is "
                        "not in use",
                        field->offset, wire->message->name, field->name,
                        (unsigned long long)(tag >> 3), type);
    if (rule && !kind_admits(rule->kind, type))
        return tfr_fail(
            err, TFR_EMODEL, "byte %zu: %s.%s (field %llu) has wire type %u, which is not its own",
            field->offset, wire->message->name, field->name, (unsigned long long)(tag >> 3), type);
    wire->at = after;
    if (read_content(wire, field, type, err))
        return TFR_EMODEL;
    field->number = (uint32_t)(tag >> 3);
    return TFR_OK;
}

tfr_status tfr__wire_enter(const tfr__wire *wire, const tfr__wire_field *field,
                           const tfr__wire_message *message, tfr__wire *out, tfr_err *err)
{
    if (wire->depth >= TFR__WIRE_MAX_DEPTH)
        return tfr_fail(err, TFR_EMODEL, "byte %zu: %s.%s is nested deeper than %d messages",
                        field->offset, wire->message->name, field->name, TFR__WIRE_MAX_DEPTH);
    out->base = wire->base;
    out->message = message;
    out->at = field->text.data;
    out->end = field->text.data + field->text.bytes;
    out->depth = wire->depth + 1;
    return TFR_OK;
}

/* Bytes of one number in a packed run; 0 = a varint. */
static unsigned packed_width(const tfr__wire *wire, const tfr__wire_field *field)
{
    tfr__wire_kind kind = wire->message->fields[field->number].kind;
    return kind == TFR__WIRE_FIXED32S ? 4 : kind == TFR__WIRE_FIXED64S ? 8 : 0;
}

tfr_status tfr__wire_take(const tfr__wire *wire, tfr__wire_field *field, uint64_t *value,
                          bool *more, tfr_err *err)
{
    unsigned width;
    const char *after, *end;

    if (!field->run) { /* one number, and no text to point into */
        *more = !field->taken;
        *value = field->value;
        field->taken = true;
        return TFR_OK;
    }
    *more = field->text.bytes > 0;
    if (!*more)
        return TFR_OK;
    end = field->text.data + field->text.bytes;
    width = packed_width(wire, field);
    if (!width) {
        after = read_varint(field->text.data, end, value);
        if (!after)
            return fail_varint(wire, field->text.data, end, field->name, err);
    } else {
        if (field->text.bytes < width)
            return tfr_fail(err, TFR_EMODEL,
                            "byte %zu: the packed numbers of %s.%s take %u bytes each, the last "
                            "has %zu",
                            tfr__wire_offset(wire, field->text.data), wire->message->name,
                            field->name, width, field->text.bytes);
        *value = load_little(field->text.data, width);
        after = field->text.data + width;
    }
    field->text.bytes = (size_t)(end - after);
    field->text.data = after;
    return TFR_OK;
}

tfr_status tfr__wire_count(const tfr__wire *wire, const tfr__wire_field *field, size_t *n,
                           tfr_err *err)
{
    unsigned width;
    size_t count = 0;

    if (!field->run) {
        *n = 1;
        return TFR_OK;
    }
    width = packed_width(wire, field);
    if (width) {
        if (field->text.bytes % width)
            return tfr_fail(err, TFR_EMODEL,
                            "byte %zu: the packed numbers of %s.%s take %u bytes each, and there "
                            "are %zu bytes",
                            field->offset, wire->message->name, field->name, width,
                            field->text.bytes);
        *n = field->text.bytes / width;
        return TFR_OK;
    }
    /* Every number ends with the one byte that has its high bit clear. */
    for (size_t i = 0; i < field->text.bytes; i++)
        count += !(field->text.data[i] & 0x80);
    *n = count;
    return TFR_OK;
}

bool tfr__text_equal(tfr__text a, const char *b)
{
    size_t n = strlen(b);
    return a.bytes == n && (n == 0 || memcmp(a.data, b, n) == 0);
}

const char *tfr__text_quote(tfr__text text, char *out, size_t n)
{
    size_t capacity = n - 3, head = text.bytes, tail = 0, used = 0;
    if (text.bytes > capacity) {
        head = capacity / 2 - 2;
        tail = capacity - head - 3;
    }
    out[used++] = '"';
    for (size_t i = 0; i < head; i++)
        out[used++] = text.data[i];
    if (tail) {
        memcpy(out + used, "...", 3);
        used += 3;
        memcpy(out + used, text.data + text.bytes - tail, tail);
        used += tail;
    }
    for (size_t i = 1; i < used; i++)
        if ((unsigned char)out[i] < 0x20 || out[i] == 0x7f)
            out[i] = '?';
    out[used++] = '"';
    out[used] = 0;
    return out;
}
