/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_file.c: see image_file.h. Of both libraries the interfaces are used that take a whole image
 * in memory: libpng's simplified one, and TurboJPEG, which neither longjmps nor ends the process.
 */
#include "image_file.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

#include <formats/foreign.h>

#include "library.h"

enum { MOST_SIDE = 1 << 16, MOST_PIXELS = 1 << 28 };

/* ---- PNG ------------------------------------------------------------------------------------- */

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

static tfr_status look_png(const void *bytes, size_t n, tfr__image_size *out, tfr_err *err)
{
    png_image image;
    tfr_status status = begin_png(bytes, n, &image, err);
    if (status)
        return status;
    *out = (tfr__image_size){image.format & PNG_COLOR ? 3 : 1, image.height, image.width};
    png.free(&image);
    return TFR_OK;
}

static tfr_status decode_png(const void *bytes, size_t n, const tfr__image_size *size, uint8_t *out,
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

/* ---- JPEG ------------------------------------------------------------------------------------ */

enum { TJPF_RGB = 0, TJPF_GRAY = 6, TJCS_GRAY = 2, TJFLAG_ACCURATEDCT = 4096 };

static const char *const jpeg_names[] = {"tjInitDecompress", "tjDecompressHeader3", "tjDecompress2",
                                         "tjGetErrorStr2",   "tjDestroy",           NULL};
static struct {
    void *(*init)(void);
    int (*header)(void *handle, const unsigned char *bytes, unsigned long n, int *width,
                  int *height, int *subsampling, int *colorspace);
    int (*decompress)(void *handle, const unsigned char *bytes, unsigned long n, unsigned char *out,
                      int width, int pitch, int height, int format, int flags);
    char *(*error)(void *handle);
    int (*destroy)(void *handle);
} jpeg;
#define JPEG_SONAME "libturbojpeg.so.0"
TFR_PLUGIN_MAY_OPEN(JPEG_SONAME);
static tfr__library turbojpeg = {
    .soname = JPEG_SONAME, .package = "libturbojpeg0", .names = jpeg_names, .functions = &jpeg};

/* The header, and with pixels where out is not NULL. */
static tfr_status read_jpeg(const void *bytes, size_t n, const tfr__image_size *size, uint8_t *out,
                            tfr__image_size *found, tfr_err *err)
{
    int width, height, subsampling, colorspace, wrong;
    void *handle;
    tfr_status status = tfr__library_need(&turbojpeg, "a JPEG image", err);
    if (status)
        return status;
    handle = jpeg.init();
    if (!handle)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for a JPEG image");
    wrong = jpeg.header(handle, bytes, n, &width, &height, &subsampling, &colorspace);
    if (!wrong && out)
        wrong = jpeg.decompress(handle, bytes, n, out, (int)size->width, 0, (int)size->height,
                                size->channels == 3 ? TJPF_RGB : TJPF_GRAY, TJFLAG_ACCURATEDCT);
    if (wrong)
        status = tfr_fail(err, TFR_EMODEL, "the JPEG image is damaged: %s", jpeg.error(handle));
    else if (found)
        *found =
            (tfr__image_size){colorspace == TJCS_GRAY ? 1 : 3, (uint32_t)height, (uint32_t)width};
    jpeg.destroy(handle);
    return status;
}

/* ---- either ---------------------------------------------------------------------------------- */

static bool is_jpeg(const void *bytes, size_t n)
{
    return n >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0;
}

tfr_status tfr__image_look(const void *bytes, size_t n, tfr__image_size *out, tfr_err *err)
{
    tfr__image_size size = {0};
    tfr_status status;
    if (is_jpeg(bytes, n)) {
        status = read_jpeg(bytes, n, NULL, NULL, &size, err);
    } else if (n >= 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0) {
        status = look_png(bytes, n, &size, err);
    } else {
        const char *foreign = tfr__foreign_name(bytes, n);
        status = tfr_fail(err, TFR_EMODEL, "neither a PNG nor a JPEG image%s%s",
                          foreign ? " but " : "", foreign ? foreign : "");
    }
    if (!status && (size.width > MOST_SIDE || size.height > MOST_SIDE ||
                    (uint64_t)size.width * size.height > MOST_PIXELS))
        status = tfr_fail(err, TFR_ELIMIT, "the image has %u x %u pixels, at most %d are taken",
                          size.width, size.height, MOST_PIXELS);
    if (!status)
        *out = size;
    return status;
}

tfr_status tfr__image_decode(const void *bytes, size_t n, const tfr__image_size *size, uint8_t *out,
                             tfr_err *err)
{
    const size_t pixels = (size_t)size->width * size->height;
    uint8_t *rows = out;
    tfr_status status;

    if (size->channels == 3)
        rows = malloc(pixels * 3);
    if (!rows)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for an image of %u x %u", size->width,
                        size->height);
    status = is_jpeg(bytes, n) ? read_jpeg(bytes, n, size, rows, NULL, err)
                               : decode_png(bytes, n, size, rows, err);
    for (size_t c = 0; !status && rows != out && c < 3; c++)
        for (size_t i = 0; i < pixels; i++)
            out[c * pixels + i] = rows[i * 3 + c];
    if (rows != out)
        free(rows);
    return status;
}
