/* SPDX-License-Identifier: Apache-2.0 */
/* webp.c: WebP by libwebp, the first picture of a file. */
#include "codec.h"

#include <string.h>
#include <tfrun/fail.h>

#include "library.h"

static const char *const names[] = {"WebPGetInfo", "WebPDecodeRGBInto", NULL};
static struct {
    int (*info)(const uint8_t *bytes, size_t n, int *width, int *height);
    uint8_t *(*decode)(const uint8_t *bytes, size_t n, uint8_t *out, size_t capacity, int stride);
} webp;
#define SONAME "libwebp.so.7"
TFR_PLUGIN_MAY_OPEN(SONAME);
static tfr__library library = {
    .soname = SONAME, .package = "libwebp7", .names = names, .functions = &webp};

static bool is_webp(const void *bytes, size_t n)
{
    return n >= 16 && memcmp(bytes, "RIFF", 4) == 0 &&
           memcmp((const char *)bytes + 8, "WEBP", 4) == 0;
}

static tfr_status look(const void *bytes, size_t n, tfr__image_size *out, tfr_err *err)
{
    int width = 0, height = 0;
    tfr_status status = tfr__library_need(&library, "a WebP image", err);
    if (status)
        return status;
    if (!webp.info(bytes, n, &width, &height) || width < 0 || height < 0)
        return tfr_fail(err, TFR_EMODEL, "the WebP image is damaged: its header");
    *out = (tfr__image_size){3, (uint32_t)height, (uint32_t)width};
    return TFR_OK;
}

static tfr_status decode(const void *bytes, size_t n, const tfr__image_size *size, uint8_t *out,
                         tfr_err *err)
{
    const size_t row = (size_t)size->width * 3;
    tfr_status status = tfr__library_need(&library, "a WebP image", err);
    if (status)
        return status;
    if (!webp.decode(bytes, n, out, row * size->height, (int)row))
        return tfr_fail(err, TFR_EMODEL, "the WebP image is damaged: its pixels");
    return TFR_OK;
}

const tfr__codec tfr__webp = {"WebP", is_webp, look, decode};
