/* SPDX-License-Identifier: Apache-2.0 */
/* codec.c: see codec.h. */
#include "codec.h"

#include <tfrun/fail.h>

const tfr__codec *tfr__codec_of(const void *bytes, size_t n)
{
    static const tfr__codec *const all[] = {&tfr__jpeg, &tfr__png,      &tfr__webp, &tfr__tiff,
                                            &tfr__bmp,  &tfr__jpeg2000, &tfr__pnm};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]->is(bytes, n))
            return all[i];
    return NULL;
}

tfr_status tfr__image_look(const void *bytes, size_t n, tfr__image_size *out, tfr_err *err)
{
    const tfr__codec *codec = tfr__codec_of(bytes, n);
    tfr__image_size size = {0};
    tfr_status status;
    if (!codec)
        return tfr_fail(
            err, TFR_EMODEL,
            "the %zu bytes are no image in PNG, JPEG, JPEG 2000, WebP, TIFF, BMP or PNM", n);
    status = codec->look(bytes, n, &size, err);
    if (status)
        return status;
    if (!size.width || !size.height)
        return tfr_fail(err, TFR_EMODEL, "the %s image has no pixels", codec->name);
    if (size.width > TFR__IMAGE_SIDE || size.height > TFR__IMAGE_SIDE ||
        (uint64_t)size.width * size.height > TFR__IMAGE_PIXELS)
        return tfr_fail(err, TFR_ELIMIT, "the image has %u x %u pixels, at most %d are taken",
                        size.width, size.height, TFR__IMAGE_PIXELS);
    *out = size;
    return TFR_OK;
}

tfr_status tfr__image_rows(const void *bytes, size_t n, const tfr__image_size *size, uint8_t *out,
                           tfr_err *err)
{
    const tfr__codec *codec = tfr__codec_of(bytes, n);
    return codec ? codec->decode(bytes, n, size, out, err)
                 : tfr_fail(err, TFR_EMODEL, "the %zu bytes are no image", n);
}
