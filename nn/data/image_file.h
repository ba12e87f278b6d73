/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_file.h: PNG and JPEG images in memory, by libpng and libjpeg-turbo. Errors are sentences
 * about the image, without its name.
 */
#ifndef TFR_NN_DATA_IMAGE_FILE_H
#define TFR_NN_DATA_IMAGE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <tfrun/status.h>

typedef struct tfr__image_size {
    uint32_t channels, height, width; /* 1 = grey, 3 = red, green, blue */
} tfr__image_size;

/*
 * Reads the header. TFR_EMODEL: it is neither, or damaged; TFR_EUNSUPPORTED: its library is not
 * there.
 */
TFR_MUST_CHECK tfr_status tfr__image_look(const void *bytes, size_t n, tfr__image_size *out,
                                          tfr_err *err);
/*
 * Its pixels as [channels, height, width], which are those of tfr__image_look, but for 3 channels
 * of a grey image. What is transparent lies on black.
 */
TFR_MUST_CHECK tfr_status tfr__image_decode(const void *bytes, size_t n,
                                            const tfr__image_size *size, uint8_t *out,
                                            tfr_err *err);

#endif
