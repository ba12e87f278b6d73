/* SPDX-License-Identifier: Apache-2.0 */
/* png.c: PNG by libpng's simplified interface, which takes a whole image in memory. What is
 * transparent lies on black. */
#include "codec.h"

#include <string.h>
#include <tfrun/fail.h>

#include "library.h"

/* png.h's png_image, of version 1 since libpng 1.6.0. */
typedef struct png_image {
    void *opaque;
    uint32_t version, width, height, format, flags, colormap_entries, warning_or_error;
    char message[64];
} png_image;
enum { PNG_VERSION = 1, PNG_GRAY = 0, PNG_COLOR = 2, PNG_WARNING = 1 };

static const char *const png_names[] = {"png_image_begin_read_from_memory", "png_image_finish_read",
                                        "png_image_free", NULL};
static struct {
    int (*begin)(png_image *image, const void *bytes, size_t n);
    int (*finish)(png_image *image, const uint8_t *background, void *out, int32_t row_stride,
                  void *colormap);
    void (*free)(png_image *image);
} png;
#define PNG_SONAME "libpng16.so.16"
TFR_PLUGIN_MAY_OPEN(PNG_SONAME);
static tfr__library libpng = {.soname = PNG_SONAME,
                              .package = "libpng16-16 (libpng16-16t64 in Debian 13)",
                              .names = png_names,
                              .functions = &png};

static tfr_status fail_png(png_image *image, const char *doing, tfr_err *err)
{
    tfr_status status =
        tfr_fail(err, TFR_EMODEL, "the PNG image is damaged: its %s: %.64s", doing, image->message);
    png.free(image);
    return status;
}

static tfr_status begin_png(const void *bytes, size_t n, png_image *image, tfr_err *err)
{
    tfr_status status = tfr__library_need(&libpng, "a PNG image", err);
    if (status)
        return status;
    *image = (png_image){.version = PNG_VERSION};
    if (!png.begin(image, bytes, n) || image->warning_or_error > PNG_WARNING)
        return fail_png(image, "header", err);
    return TFR_OK;
}

static tfr_status look(const void *bytes, size_t n, tfr__image_size *out, tfr_err *err)
{
    png_image image;
    tfr_status status = begin_png(bytes, n, &image, err);
    if (status)
        return status;
    *out = (tfr__image_size){image.format & PNG_COLOR ? 3 : 1, image.height, image.width};
    png.free(&image);
    return TFR_OK;
}

static tfr_status decode(const void *bytes, size_t n, const tfr__image_size *size, uint8_t *out,
                         tfr_err *err)
{
    static const uint8_t black[3] = {0, 0, 0};
    png_image image;
    tfr_status status = begin_png(bytes, n, &image, err);
    if (status)
        return status;
    image.format = size->channels == 3 ? PNG_COLOR : PNG_GRAY;
    if (!png.finish(&image, black, out, (int32_t)(size->width * size->channels), NULL) ||
        image.warning_or_error > PNG_WARNING)
        return fail_png(&image, "pixels", err);
    return TFR_OK; /* finish has freed it */
}

static bool is_png(const void *bytes, size_t n)
{
    return n >= 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0;
}

const tfr__codec tfr__png = {"PNG", is_png, look, decode};
