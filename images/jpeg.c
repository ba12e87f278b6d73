/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg.c: JPEG by TurboJPEG, which neither longjmps nor ends the process. */
#include "codec.h"

#include <string.h>
#include <tfrun/fail.h>

#include "library.h"

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

static tfr_status look(const void *bytes, size_t n, tfr__image_size *out, tfr_err *err)
{
    return read_jpeg(bytes, n, NULL, NULL, out, err);
}

static tfr_status decode(const void *bytes, size_t n, const tfr__image_size *size, uint8_t *out,
                         tfr_err *err)
{
    return read_jpeg(bytes, n, size, out, NULL, err);
}

static bool is_jpeg(const void *bytes, size_t n)
{
    return n >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0;
}

const tfr__codec tfr__jpeg = {"JPEG", is_jpeg, look, decode};
