/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zip.c: see zip.h; the format is PKWARE's APPNOTE.TXT. Only the directory at the end is believed:
 * who writes an archive in one go leaves the sizes out of the headers before the members.
 */
#include "zip.h"

#include <stdbool.h>
#include <stdlib.h>
#include <tfrun/fail.h>

#include "inflate.h"

enum { END_BYTES = 22, ENTRY_BYTES = 46, LOCAL_BYTES = 30, COMMENT_MOST = 65535 };
enum { STORED = 0, DEFLATED = 8 };

static uint32_t two(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8;
}

static uint32_t four(const uint8_t *at)
{
    return two(at) | two(at + 2) << 16;
}

tfr_status tfr__zip_open(const void *data, size_t n, tfr__zip *out, tfr_err *err)
{
    const uint8_t *bytes = data;
    const size_t least = n > END_BYTES + COMMENT_MOST ? n - END_BYTES - COMMENT_MOST : 0;
    size_t at, size;

    if (n < 4 || four(bytes) != 0x04034b50)
        return tfr_fail(err, TFR_EMODEL, "it is no zip archive: it does not start with PK\\3\\4");
    for (at = n < END_BYTES ? 0 : n - END_BYTES; at > least; at--)
        if (four(bytes + at) == 0x06054b50)
            break;
    if (at == least)
        return tfr_fail(err, TFR_EMODEL,
                        "the zip archive has no directory at its end; it was cut short, get it "
                        "again");
    out->data = bytes;
    out->n = n;
    out->n_members = two(bytes + at + 10);
    size = four(bytes + at + 12);
    out->directory = four(bytes + at + 16);
    if (out->directory == UINT32_MAX || out->n_members == 65535)
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "the zip archive is one of more than 4 GiB or 65534 members, which tfrun "
                        "does not read; make smaller ones");
    if (out->directory > at || size > at - out->directory)
        return tfr_fail(err, TFR_EMODEL,
                        "the directory of the zip archive is %zu bytes at %zu, outside of the %zu "
                        "bytes before its end",
                        size, out->directory, at);
    out->directory_end = out->directory + size;
    return TFR_OK;
}

/* The entry at *at, which goes behind it. */
static tfr_status next_entry(const tfr__zip *zip, size_t *at, tfr__zip_member *out, tfr_err *err)
{
    const uint8_t *e = zip->data + *at;
    const size_t left = zip->directory_end - *at;
    size_t name, all;

    if (left < ENTRY_BYTES || four(e) != 0x02014b50)
        return tfr_fail(err, TFR_EMODEL, "the zip archive's directory is damaged at byte %zu", *at);
    name = two(e + 28);
    all = ENTRY_BYTES + name + two(e + 30) + two(e + 32);
    if (all > left)
        return tfr_fail(err, TFR_EMODEL,
                        "the zip archive's directory ends within the entry at byte %zu", *at);
    *at += all;
    if (name >= sizeof out->name)
        name = sizeof out->name - 1; /* nobody asks for such a name */
    memcpy(out->name, e + ENTRY_BYTES, name);
    out->name[name] = 0;
    /* An encrypted member has a method that there is not. */
    out->method = two(e + 8) & 1 ? UINT32_MAX : two(e + 10);
    out->crc = four(e + 16);
    out->packed = four(e + 20);
    out->bytes = four(e + 24);
    out->at = four(e + 42);
    return TFR_OK;
}

tfr_status tfr__zip_find(const tfr__zip *zip, const char *name, tfr__zip_member *out, tfr_err *err)
{
    size_t at = zip->directory, used = 0;
    char names[128] = "";
    for (uint32_t i = 0; i < zip->n_members; i++) {
        tfr_status status = next_entry(zip, &at, out, err);
        if (status)
            return status;
        if (strcmp(out->name, name) == 0)
            return TFR_OK;
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s\"%s\"",
                                     used ? ", " : "", out->name);
    }
    return tfr_fail(err, TFR_ENOTFOUND, "it has no member \"%s\", but %s%s", name,
                    *names ? names : "none", used >= sizeof names ? "..." : "");
}

/* Where the member's bytes are, after a look at its sizes. */
static tfr_status locate(const tfr__zip *zip, const tfr__zip_member *m, const uint8_t **out,
                         tfr_err *err)
{
    const size_t left = m->at < zip->directory ? zip->directory - m->at : 0;
    size_t head;
    if (m->method != STORED && m->method != DEFLATED)
        return tfr_fail(
            err, TFR_EUNSUPPORTED,
            "member \"%s\" is %s; write it with numpy.savez or savez_compressed", m->name,
            m->method == UINT32_MAX ? "encrypted" : "packed neither plain nor by deflate");
    if (m->bytes == UINT32_MAX || m->packed == UINT32_MAX || m->at == UINT32_MAX)
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "member \"%s\" has 4 GiB or more, which tfrun does not read", m->name);
    if (left < LOCAL_BYTES || four(zip->data + m->at) != 0x04034b50)
        return tfr_fail(err, TFR_EMODEL,
                        "member \"%s\" should be at byte %zu, where none is; the archive is "
                        "damaged",
                        m->name, m->at);
    head = LOCAL_BYTES + (size_t)two(zip->data + m->at + 26) + two(zip->data + m->at + 28);
    if (head > left || m->packed > left - head)
        return tfr_fail(err, TFR_EMODEL,
                        "member \"%s\" has %u bytes at %zu, beyond the archive's directory at %zu",
                        m->name, m->packed, m->at, zip->directory);
    if (m->method == STORED ? m->bytes != m->packed : m->bytes / TFR__DEFLATE_MOST > m->packed)
        return tfr_fail(err, TFR_EMODEL, "member \"%s\" claims %u bytes, which its %u cannot be",
                        m->name, m->bytes, m->packed);
    *out = zip->data + m->at + head;
    return TFR_OK;
}

static tfr_status unpack(const tfr__zip_member *m, const uint8_t *from, void *to, tfr_err *err)
{
    tfr__inflater *inflater;
    tfr_status status;
    if (m->method == STORED) {
        memcpy(to, from, m->bytes);
        return TFR_OK;
    }
    status = tfr__inflate_open(TFR__DEFLATE_RAW, from, m->packed, &inflater, err);
    if (status)
        return status;
    status = tfr__inflate_read(inflater, to, m->bytes, err);
    if (!status)
        status = tfr__inflate_end(inflater, err);
    tfr__inflate_close(inflater);
    return status;
}

tfr_status tfr__zip_read(const tfr__zip *zip, const tfr__zip_member *member, void **out,
                         tfr_err *err)
{
    const uint8_t *from = NULL;
    uint32_t crc = 0;
    void *to;
    tfr_status status = locate(zip, member, &from, err);
    if (status)
        return status;
    to = malloc(member->bytes ? member->bytes : 1);
    if (!to)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for the %u bytes of \"%s\"", member->bytes,
                        member->name);
    status = unpack(member, from, to, err);
    if (!status)
        status = tfr__crc32(to, member->bytes, &crc, err);
    if (!status && crc != member->crc)
        status =
            tfr_fail(err, TFR_EMODEL,
                     "member \"%s\" has checksum %08x, and the archive says %08x; get it again",
                     member->name, crc, member->crc);
    if (status)
        free(to);
    else
        *out = to;
    return status;
}
