/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_out.h: writes the protobuf wire format. A message inside a message starts with its size, so
 * that what produces one runs twice: without a sink, when only the sizes are noted in the order in
 * which messages begin, and then with one. No message is ever in memory as a whole.
 */
#ifndef TFR_FORMATS_WIRE_OUT_H
#define TFR_FORMATS_WIRE_OUT_H

#include "file.h"

typedef struct tfr__wire_out {
    tfr__sink *sink;    /* NULL = sizes are measured */
    uint64_t bytes;     /* written, or measured */
    uint64_t *sizes;    /* of messages inside messages */
    size_t n, capacity; /* of sizes */
    size_t next;        /* the message that begins next */
    tfr_status status;  /* the first failure */
    tfr_err *err;
} tfr__wire_out;

/* Measures what produce(out, what) writes. Needs a finish, after an error too. */
TFR_MUST_CHECK tfr_status tfr__wire_out_measure(tfr__wire_out *out,
                                                void (*produce)(tfr__wire_out *out, void *what),
                                                void *what, tfr_err *err);
/* Writes it, once it is measured. TFR_EINTERNAL if it is not what was measured. */
TFR_MUST_CHECK tfr_status tfr__wire_out_write(tfr__wire_out *out, tfr__sink *sink,
                                              void (*produce)(tfr__wire_out *out, void *what),
                                              void *what);
void tfr__wire_out_finish(tfr__wire_out *out);

/* ---- fields; after a failure they do nothing ------------------------------------------------- */

void tfr__put_varint(tfr__wire_out *out, unsigned field, uint64_t value);
void tfr__put_float(tfr__wire_out *out, unsigned field, float value);
void tfr__put_bytes(tfr__wire_out *out, unsigned field, const void *data, size_t n);
void tfr__put_text(tfr__wire_out *out, unsigned field, const char *text);
/* The elements of a tensor, which is not one of strings, in plain order. */
void tfr__put_elements(tfr__wire_out *out, unsigned field, const tfr_tensor *tensor);

/* A message is what is put between begin and end. */
typedef struct tfr__wire_part {
    unsigned field;
    size_t number;
    uint64_t start;
} tfr__wire_part;

tfr__wire_part tfr__put_begin(tfr__wire_out *out, unsigned field);
void tfr__put_end(tfr__wire_out *out, tfr__wire_part part);

#endif
