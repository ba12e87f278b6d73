/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec.h: images in memory, as models and data sets meet them. Libraries are opened when the first
 * image needs them (library.h). Everything in an image is hostile until checked; errors are
 * sentences about the image, without its name: TFR_EMODEL, it is damaged; TFR_EUNSUPPORTED, its
 * library is not there, in words that end with what to install; TFR_ELIMIT, it is too large.
 */
#ifndef TFR_IMAGES_CODEC_H
#define TFR_IMAGES_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tfrun/fail.h>

enum { TFR__IMAGE_SIDE = 1 << 16, TFR__IMAGE_PIXELS = 1 << 28 };

typedef struct tfr__image_size {
    uint32_t channels, height, width; /* 1 = grey, 3 = red, green, blue */
} tfr__image_size;

typedef struct tfr__codec {
    const char *name;
    bool (*is)(const void *bytes, size_t n);
    tfr_status (*look)(const void *bytes, size_t n, tfr__image_size *out, tfr_err *err);
    /* rows of pixels of size->channels bytes; size is what look gave, or has 3 channels */
    tfr_status (*decode)(const void *bytes, size_t n, const tfr__image_size *size, uint8_t *out,
                         tfr_err *err);
} tfr__codec;

extern const tfr__codec tfr__bmp, tfr__jpeg, tfr__jpeg2000, tfr__png, tfr__pnm, tfr__tiff,
    tfr__webp;

/* NULL: it is none that is known. */
const tfr__codec *tfr__codec_of(const void *bytes, size_t n);

/* Reads the header, and holds the size to the limits above. */
tfr_status tfr__image_look(const void *bytes, size_t n, tfr__image_size *out, tfr_err *err);
/* The pixels, [height, width, channels]; channels are those of tfr__image_look, or 3. */
tfr_status tfr__image_rows(const void *bytes, size_t n, const tfr__image_size *size, uint8_t *out,
                           tfr_err *err);

#endif
