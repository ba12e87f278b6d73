/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h: a pull reader for the protobuf wire format over bytes that stay where they are. It knows
 * messages by small tables of their fields, so that it can check the wire type of a field and name
 * it in an error. It never allocates, never reads past the message it is in, and refuses nesting
 * deeper than TFR__WIRE_MAX_DEPTH. It does not know ONNX; onnx/fields.h does.
 *
 * Errors are TFR_EMODEL and start with the byte's offset in the source; callers put the file's name
 * in front.
 */
#ifndef TFR_FORMATS_WIRE_H
#define TFR_FORMATS_WIRE_H

#include <stdbool.h>
#include <tfrun/status.h>

#define TFR__WIRE_MAX_DEPTH 64

/* Bytes of the source: a string, a name, a message. Never ended by a zero. */
typedef struct tfr__text {
    const char *data;
    size_t bytes;
} tfr__text;

/* What a field may look like on the wire. */
typedef enum tfr__wire_kind {
    TFR__WIRE_UNKNOWN = 0, /* not in the table: skipped */
    TFR__WIRE_VARINT,
    TFR__WIRE_FIXED32,
    TFR__WIRE_FIXED64,
    TFR__WIRE_BYTES,
    TFR__WIRE_MESSAGE,
    TFR__WIRE_VARINTS, /* repeated: one, or a packed run */
    TFR__WIRE_FIXED32S,
    TFR__WIRE_FIXED64S
} tfr__wire_kind;

typedef struct tfr__wire_rule {
    tfr__wire_kind kind;
    const char *name;
} tfr__wire_rule;

/* A message type: its fields by number. */
typedef struct tfr__wire_message {
    const char *name;
    uint32_t n_fields;
    const tfr__wire_rule *fields;
} tfr__wire_message;

/* Where a reader stands. Plain data, may be copied to read something twice. */
typedef struct tfr__wire {
    const char *base; /* offset 0 of the source */
    const tfr__wire_message *message;
    const char *at, *end;
    uint32_t depth;
} tfr__wire;

/* One field as it was met. */
typedef struct tfr__wire_field {
    uint32_t number; /* 0 = the message is over */
    bool run;        /* length-delimited: text is its content; else value is */
    bool taken;      /* tfr__wire_take has given the single value */
    uint64_t value;
    tfr__text text;
    size_t offset; /* of the field's tag */
    const char *name;
} tfr__wire_field;

/* Starts to read a message that fills n bytes. */
void tfr__wire_open(tfr__wire *wire, const tfr__wire_message *message, const void *bytes, size_t n);

/* Steps to the next field; number 0 at the end. Unknown fields are checked and given, too. */
TFR_MUST_CHECK tfr_status tfr__wire_next(tfr__wire *wire, tfr__wire_field *field, tfr_err *err);

/* Opens a field that is a message. TFR_EMODEL beyond the depth limit. */
TFR_MUST_CHECK tfr_status tfr__wire_enter(const tfr__wire *wire, const tfr__wire_field *field,
                                          const tfr__wire_message *message, tfr__wire *out,
                                          tfr_err *err);

/*
 * Takes the next number of a field, a packed run or a single one; *more is false when there is
 * none left. Fixed32 come as their bits.
 */
TFR_MUST_CHECK tfr_status tfr__wire_take(const tfr__wire *wire, tfr__wire_field *field,
                                         uint64_t *value, bool *more, tfr_err *err);

/* How many numbers tfr__wire_take will give, without checking varints. */
TFR_MUST_CHECK tfr_status tfr__wire_count(const tfr__wire *wire, const tfr__wire_field *field,
                                          size_t *n, tfr_err *err);

/* Offset of a byte of the source, for messages. */
size_t tfr__wire_offset(const tfr__wire *wire, const void *byte);

bool tfr__text_equal(tfr__text a, const char *b);

/*
 * "name" in double quotes for a message: at most n - 1 bytes, the middle left out when it is long,
 * bytes that could move a terminal replaced. Returns out.
 */
const char *tfr__text_quote(tfr__text text, char *out, size_t n);
#define TFR__QUOTE_BYTES 96

#endif
