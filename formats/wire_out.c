/* SPDX-License-Identifier: Apache-2.0 */
/* wire_out.c: see wire_out.h. */
#include "wire_out.h"

#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

enum { VARINT = 0, RUN = 2, FIXED32 = 5 };

static size_t varint_bytes(uint64_t value)
{
    size_t n = 1;
    while (value >>= 7)
        n++;
    return n;
}

static void put_raw(tfr__wire_out *out, const void *data, size_t n)
{
    out->bytes += n;
    if (!out->sink || out->status)
        return;
    tfr__sink_put(out->sink, data, n);
    out->status = out->sink->status;
}

static void put_number(tfr__wire_out *out, uint64_t value)
{
    char bytes[10];
    size_t n = 0;
    while (value > 0x7f) {
        bytes[n++] = (char)(value | 0x80);
        value >>= 7;
    }
    bytes[n++] = (char)value;
    put_raw(out, bytes, n);
}

/* ---- fields ----------------------------------------------------------------------------------
 */

void tfr__put_varint(tfr__wire_out *out, unsigned field, uint64_t value)
{
    put_number(out, (uint64_t)field << 3 | VARINT);
    put_number(out, value);
}

void tfr__put_float(tfr__wire_out *out, unsigned field, float value)
{
    put_number(out, (uint64_t)field << 3 | FIXED32);
    put_raw(out, &value, sizeof value); /* little endian, as onnx/tensor.c demands */
}

void tfr__put_bytes(tfr__wire_out *out, unsigned field, const void *data, size_t n)
{
    put_number(out, (uint64_t)field << 3 | RUN);
    put_number(out, n);
    put_raw(out, data, n);
}

void tfr__put_text(tfr__wire_out *out, unsigned field, const char *text)
{
    tfr__put_bytes(out, field, text, strlen(text));
}

void tfr__put_elements(tfr__wire_out *out, unsigned field, const tfr_tensor *tensor)
{
    put_number(out, (uint64_t)field << 3 | RUN);
    put_number(out, tfr_tensor_bytes(tensor));
    out->bytes += tfr_tensor_bytes(tensor);
    if (out->sink && !out->status)
        out->status = tfr_tensor_write(tensor, out->sink->write, out->sink->user, out->err);
}

/* ---- messages --------------------------------------------------------------------------------
 */

/* The number of a message whose size will be known at its end. */
static size_t reserve(tfr__wire_out *out)
{
    if (out->n == out->capacity) {
        size_t capacity = out->capacity ? 2 * out->capacity : 256;
        uint64_t *sizes = realloc(out->sizes, capacity * sizeof *sizes);
        if (!sizes) {
            if (!out->status)
                out->status = tfr_fail(out->err, TFR_ENOMEM,
                                       "out of memory for the sizes of %zu messages", capacity);
            return 0;
        }
        out->sizes = sizes;
        out->capacity = capacity;
    }
    return out->n++;
}

tfr__wire_part tfr__put_begin(tfr__wire_out *out, unsigned field)
{
    tfr__wire_part part = {field, out->next, out->bytes};
    if (!out->sink) {
        part.number = reserve(out);
    } else if (part.number < out->n) {
        put_number(out, (uint64_t)field << 3 | RUN);
        put_number(out, out->sizes[out->next++]);
    }
    return part;
}

void tfr__put_end(tfr__wire_out *out, tfr__wire_part part)
{
    uint64_t size = out->bytes - part.start;
    if (out->sink || out->status)
        return;
    out->sizes[part.number] = size;
    out->bytes += varint_bytes((uint64_t)part.field << 3) + varint_bytes(size);
}

/* ---- the two runs ----------------------------------------------------------------------------
 */

tfr_status tfr__wire_out_measure(tfr__wire_out *out,
                                 void (*produce)(tfr__wire_out *out, void *what), void *what,
                                 tfr_err *err)
{
    out->sink = NULL;
    out->bytes = 0;
    out->n = out->next = 0;
    out->status = TFR_OK;
    out->err = err;
    produce(out, what);
    return out->status;
}

tfr_status tfr__wire_out_write(tfr__wire_out *out, tfr__sink *sink,
                               void (*produce)(tfr__wire_out *out, void *what), void *what)
{
    uint64_t measured = out->bytes;
    out->sink = sink;
    out->bytes = 0;
    out->next = 0;
    out->status = sink->status;
    out->err = sink->err;
    produce(out, what);
    if (!out->status && (out->bytes != measured || out->next != out->n))
        return tfr_fail(out->err, TFR_EINTERNAL,
                        "%llu bytes were written and %llu measured, of %zu and %zu messages",
                        (unsigned long long)out->bytes, (unsigned long long)measured, out->next,
                        out->n);
    return out->status;
}

void tfr__wire_out_finish(tfr__wire_out *out)
{
    free(out->sizes);
    out->sizes = NULL;
    out->n = out->capacity = 0;
}
