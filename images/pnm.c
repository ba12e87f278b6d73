/* SPDX-License-Identifier: Apache-2.0 */
/* pnm.c: PBM, PGM and PPM of Netpbm, as text (P1 to P3) and as bytes (P4 to P6). */
#include "codec.h"

#include <string.h>
#include <tfrun/fail.h>

typedef struct pnm {
    const uint8_t *at, *end;
    uint32_t kind; /* 1...6 */
    uint32_t width, height, most;
} pnm;

static bool is_pnm(const void *bytes, size_t n)
{
    const uint8_t *at = bytes;
    return n >= 3 && at[0] == 'P' && at[1] >= '1' && at[1] <= '6' &&
           (at[2] == ' ' || (at[2] >= '\t' && at[2] <= '\r'));
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The next number of text; -1 = there is none, or it is above 65536. */
static int32_t next_number(pnm *p)
{
    int32_t number = 0;
    const uint8_t *start;
    while (p->at < p->end && (is_blank(*p->at) || *p->at == '#')) {
        if (*p->at == '#')
            while (p->at < p->end && *p->at != '\n')
                p->at++;
        else
            p->at++;
    }
    for (start = p->at; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++)
        if ((number = number * 10 + (*p->at - '0')) > TFR__IMAGE_SIDE)
            return -1;
    return p->at > start ? number : -1;
}

static tfr_status read_header(const void *bytes, size_t n, pnm *out, tfr_err *err)
{
    const uint8_t *at = bytes;
    int32_t width, height, most = 1;
    *out = (pnm){.at = at + 2, .end = at + n, .kind = (uint32_t)(at[1] - '0')};
    width = next_number(out);
    height = next_number(out);
    if (out->kind != 1 && out->kind != 4)
        most = next_number(out);
    if (width < 1 || height < 1 || most < 1 || most > 65535 || out->at == out->end)
        return tfr_fail(err, TFR_EMODEL, "the PNM image is damaged: its header");
    out->at++; /* one blank */
    out->width = (uint32_t)width;
    out->height = (uint32_t)height;
    out->most = (uint32_t)most;
    return TFR_OK;
}

static tfr_status look(const void *bytes, size_t n, tfr__image_size *out, tfr_err *err)
{
    pnm p;
    tfr_status status = read_header(bytes, n, &p, err);
    if (!status)
        *out = (tfr__image_size){p.kind % 3 ? 1 : 3, p.height, p.width};
    return status;
}

/* Sample i of a row that begins at p->at; -1 = the image is over. */
static int32_t next_sample(pnm *p, const uint8_t *row, size_t i)
{
    const size_t bytes = p->most > 255 ? 2 : 1;
    if (p->kind == 1) { /* digits that need no blank between them */
        while (p->at < p->end && is_blank(*p->at))
            p->at++;
        return p->at < p->end ? *p->at++ != '1' : -1;
    }
    if (p->kind < 4)
        return next_number(p);
    if (p->kind == 4)
        return row + i / 8 < p->end ? !(row[i / 8] >> (7 - i % 8) & 1) : -1;
    row += i * bytes;
    if ((size_t)(p->end - row) < bytes || row >= p->end)
        return -1;
    return bytes == 2 ? row[0] << 8 | row[1] : row[0];
}

static size_t row_bytes(const pnm *p, size_t samples)
{
    return p->kind < 4 ? 0 : p->kind == 4 ? (samples + 7) / 8 : samples * (p->most > 255 ? 2 : 1);
}

static tfr_status decode(const void *bytes, size_t n, const tfr__image_size *size, uint8_t *out,
                         tfr_err *err)
{
    pnm p;
    tfr_status status = read_header(bytes, n, &p, err);
    const uint32_t channels = status || p.kind % 3 ? 1 : 3, copies = size->channels / channels;
    const size_t samples = (size_t)size->width * channels;
    for (uint32_t y = 0; !status && y < size->height; y++) {
        const uint8_t *row = p.at;
        if ((size_t)(p.end - p.at) < row_bytes(&p, samples))
            return tfr_fail(err, TFR_EMODEL, "the PNM image ends in row %u of %u", y, size->height);
        for (size_t i = 0; i < samples; i++) {
            int32_t sample = next_sample(&p, row, i);
            if (sample < 0 || sample > (int32_t)p.most)
                return tfr_fail(err, TFR_EMODEL, "the PNM image is damaged in row %u", y);
            memset(out, (int)((uint32_t)sample * 255 / p.most), copies);
            out += copies;
        }
        p.at += row_bytes(&p, samples);
    }
    return status;
}

const tfr__codec tfr__pnm = {"PNM", is_pnm, look, decode};
