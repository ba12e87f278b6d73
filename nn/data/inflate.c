/* SPDX-License-Identifier: Apache-2.0 */
/* inflate.c: see inflate.h. */
#include "inflate.h"

#include <stdlib.h>
#include <tfrun/fail.h>

#include <images/library.h>

/* ---- what is used of zlib -------------------------------------------------------------------- */

enum { Z_OK = 0, Z_STREAM_END = 1, Z_NO_FLUSH = 0, Z_MEM_ERROR = -4, Z_BUF_ERROR = -5 };

/* zlib.h's z_stream, the same since 1.0; inflateInit2_ gets its size and says no to another one. */
typedef struct z_stream {
    const unsigned char *next_in;
    unsigned avail_in;
    unsigned long total_in;
    unsigned char *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *msg;
    void *state;
    void *(*zalloc)(void *opaque, unsigned n, unsigned size);
    void (*zfree)(void *opaque, void *address);
    void *opaque;
    int data_type;
    unsigned long adler;
    unsigned long reserved;
} z_stream;

static const char *const names[] = {"inflateInit2_", "inflate", "inflateEnd", "crc32", NULL};
static struct {
    int (*init)(z_stream *stream, int window_bits, const char *version, int stream_size);
    int (*inflate)(z_stream *stream, int flush);
    int (*end)(z_stream *stream);
    unsigned long (*crc32)(unsigned long crc, const unsigned char *bytes, unsigned n);
} zlib;
#define SONAME "libz.so.1"
TFR_PLUGIN_MAY_OPEN(SONAME);
static tfr__library library = {
    .soname = SONAME, .package = "zlib1g", .names = names, .functions = &zlib};

/* ---- reading --------------------------------------------------------------------------------- */

enum { PIECE = 1 << 30 }; /* zlib counts in unsigned */

struct tfr__inflater {
    z_stream z;
    size_t left; /* of the source, behind what z has */
    uint64_t done;
    bool at_end;
};

tfr_status tfr__inflate_open(tfr__deflate_form form, const void *bytes, size_t n,
                             tfr__inflater **out, tfr_err *err)
{
    tfr__inflater *i;
    tfr_status status = tfr__library_need(&library, "unpacking", err);
    if (status)
        return status;
    i = calloc(1, sizeof *i);
    if (!i)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for unpacking");
    i->z.next_in = bytes;
    i->left = n;
    switch (zlib.init(&i->z, (int)form, "1", (int)sizeof i->z)) {
    case Z_OK:
        *out = i;
        return TFR_OK;
    case Z_MEM_ERROR:
        status = tfr_fail(err, TFR_ENOMEM, "out of memory for unpacking");
        break;
    default:
        status = tfr_fail(err, TFR_EUNSUPPORTED, "%s has another interface than version 1",
                          library.soname);
    }
    free(i);
    return status;
}

/* One call of zlib with room for up to n bytes; *n is what came. */
static tfr_status inflate_some(tfr__inflater *i, unsigned char *out, size_t *n, tfr_err *err)
{
    const unsigned room = *n > PIECE ? PIECE : (unsigned)*n;
    int code;
    if (!i->z.avail_in) {
        i->z.avail_in = i->left > PIECE ? PIECE : (unsigned)i->left;
        i->left -= i->z.avail_in;
    }
    i->z.next_out = out;
    i->z.avail_out = room;
    code = zlib.inflate(&i->z, Z_NO_FLUSH);
    *n = room - i->z.avail_out;
    i->done += *n;
    i->at_end = code == Z_STREAM_END;
    if (code == Z_OK || code == Z_STREAM_END)
        return TFR_OK;
    if (code == Z_MEM_ERROR)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for unpacking");
    if (code == Z_BUF_ERROR && !i->z.avail_in && !i->left)
        return tfr_fail(err, TFR_EMODEL,
                        "the compressed data end after %llu unpacked bytes, without their end "
                        "mark; the file may be cut short",
                        (unsigned long long)i->done);
    return tfr_fail(err, TFR_EMODEL,
                    "the compressed data are damaged behind %llu unpacked bytes: %s",
                    (unsigned long long)i->done, i->z.msg ? i->z.msg : "zlib cannot go on");
}

tfr_status tfr__inflate_read(tfr__inflater *i, void *out, size_t n, tfr_err *err)
{
    for (size_t done = 0, more; done < n; done += more) {
        tfr_status status;
        if (i->at_end)
            return tfr_fail(err, TFR_EMODEL, "it unpacks to %llu bytes, %llu are needed",
                            (unsigned long long)i->done, (unsigned long long)(i->done + n - done));
        more = n - done;
        status = inflate_some(i, (unsigned char *)out + done, &more, err);
        if (status)
            return status;
    }
    return TFR_OK;
}

tfr_status tfr__inflate_end(tfr__inflater *i, tfr_err *err)
{
    while (!i->at_end) {
        unsigned char byte;
        size_t n = 1;
        tfr_status status = inflate_some(i, &byte, &n, err);
        if (status)
            return status;
        if (n)
            return tfr_fail(err, TFR_EMODEL, "it unpacks to more than the %llu bytes it should",
                            (unsigned long long)(i->done - 1));
    }
    if (i->z.avail_in || i->left)
        return tfr_fail(err, TFR_EMODEL, "%zu bytes follow the compressed data",
                        (size_t)i->z.avail_in + i->left);
    return TFR_OK;
}

void tfr__inflate_close(tfr__inflater *i)
{
    if (!i)
        return;
    zlib.end(&i->z);
    free(i);
}

tfr_status tfr__crc32(const void *bytes, size_t n, uint32_t *crc, tfr_err *err)
{
    unsigned long sum = 0;
    tfr_status status = tfr__library_need(&library, "checking a checksum", err);
    for (size_t done = 0, more; !status && done < n; done += more) {
        more = n - done > PIECE ? PIECE : n - done;
        sum = zlib.crc32(sum, (const unsigned char *)bytes + done, (unsigned)more);
    }
    *crc = (uint32_t)sum;
    return status;
}
