/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bmp.c: BMP, the forms without compression: palettes of up to 256 colours, 24 and 32 bits. The
 * layout is that of BITMAPFILEHEADER and BITMAPINFOHEADER, little endian.
 */
#include "codec.h"

#include <string.h>
#include <tfrun/fail.h>

typedef struct bmp {
    const uint8_t *palette, *pixels; /* blue, green, red, and one more byte a colour */
    uint32_t width, height, bits, n_colours, row;
    bool from_top;
} bmp;

enum { FILE_HEADER = 14, LEAST_HEADER = 40, RGB = 0, BITFIELDS = 3 };

static uint32_t u16(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8;
}

static uint32_t u32(const uint8_t *at)
{
    return u16(at) | u16(at + 2) << 16;
}

static bool is_bmp(const void *bytes, size_t n)
{
    return n >= FILE_HEADER + 4 && memcmp(bytes, "BM", 2) == 0;
}

/* Only the masks of the plain order of 32 bits: blue, green, red. */
static bool has_plain_masks(const uint8_t *at, uint32_t header, size_t n)
{
    (void)header;
    return n >= FILE_HEADER + LEAST_HEADER + 12 && u32(at + 54) == 0xff0000 &&
           u32(at + 58) == 0xff00 && u32(at + 62) == 0xff;
}

static tfr_status read_header(const void *bytes, size_t n, bmp *out, tfr_err *err)
{
    const uint8_t *at = bytes;
    const uint32_t header = u32(at + FILE_HEADER), start = u32(at + 10);
    uint32_t compression;
    int64_t height;
    if (header < LEAST_HEADER || n < FILE_HEADER + LEAST_HEADER || header > n - FILE_HEADER)
        return tfr_fail(err, TFR_EMODEL, "the BMP image has a header of %u bytes, %d are the least",
                        header, LEAST_HEADER);
    *out = (bmp){.width = u32(at + 18), .bits = u16(at + 28), .n_colours = u32(at + 46)};
    height = (int32_t)u32(at + 22);
    out->from_top = height < 0;
    out->height = (uint32_t)(height < 0 ? -height : height);
    compression = u32(at + 30);
    if (compression != RGB &&
        !(compression == BITFIELDS && out->bits == 32 && has_plain_masks(at, header, n)))
        return tfr_fail(err, TFR_EUNSUPPORTED, "the BMP image has compression %u, only 0 is read",
                        compression);
    if (out->bits != 1 && out->bits != 4 && out->bits != 8 && out->bits != 24 && out->bits != 32)
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "the BMP image has %u bits a pixel, 1, 4, 8, 24 and 32 are read",
                        out->bits);
    if (out->width > TFR__IMAGE_SIDE || out->height > TFR__IMAGE_SIDE)
        return TFR_OK; /* the caller says so */
    out->row = (uint32_t)(((uint64_t)out->width * out->bits + 31) / 32 * 4);
    if (out->bits <= 8) {
        if (!out->n_colours || out->n_colours > 1u << out->bits)
            out->n_colours = 1u << out->bits;
        out->palette = at + FILE_HEADER + header;
        if ((n - FILE_HEADER - header) / 4 < out->n_colours)
            return tfr_fail(err, TFR_EMODEL, "the BMP image ends in its palette");
    }
    if (start > n || (n - start) / (out->row ? out->row : 1) < out->height)
        return tfr_fail(err, TFR_EMODEL, "the BMP image has %zu bytes, too few for %u x %u pixels",
                        n, out->width, out->height);
    out->pixels = at + start;
    return TFR_OK;
}

static tfr_status look(const void *bytes, size_t n, tfr__image_size *out, tfr_err *err)
{
    bmp b;
    tfr_status status = read_header(bytes, n, &b, err);
    if (!status)
        *out = (tfr__image_size){3, b.height, b.width};
    return status;
}

/* The four bytes of pixel x. */
static const uint8_t *pixel_at(const bmp *b, const uint8_t *row, uint32_t x)
{
    uint32_t index;
    if (b->bits >= 24)
        return row + (size_t)x * (b->bits / 8);
    index = row[(size_t)x * b->bits / 8] >> (8 - b->bits - x * b->bits % 8) & ((1u << b->bits) - 1);
    return b->palette + (size_t)(index < b->n_colours ? index : 0) * 4;
}

static tfr_status decode(const void *bytes, size_t n, const tfr__image_size *size, uint8_t *out,
                         tfr_err *err)
{
    bmp b;
    tfr_status status = read_header(bytes, n, &b, err);
    if (status)
        return status;
    for (uint32_t y = 0; y < size->height; y++) {
        const uint8_t *row = b.pixels + (size_t)b.row * (b.from_top ? y : b.height - 1 - y);
        for (uint32_t x = 0; x < size->width; x++, out += 3) {
            const uint8_t *p = pixel_at(&b, row, x);
            out[0] = p[2], out[1] = p[1], out[2] = p[0];
        }
    }
    return TFR_OK;
}

const tfr__codec tfr__bmp = {"BMP", is_bmp, look, decode};
