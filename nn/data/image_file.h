/* SPDX-License-Identifier: Apache-2.0 */
/* image_file.h: images in memory as networks want them. */
#ifndef TFR_NN_DATA_IMAGE_FILE_H
#define TFR_NN_DATA_IMAGE_FILE_H

#include <images/codec.h>

/*
 * The pixels as [channels, height, width], which are those of tfr__image_look, but for 3 channels
 * of a grey image. What is transparent lies on black.
 */
tfr_status tfr__image_decode(const void *bytes, size_t n, const tfr__image_size *size, uint8_t *out,
                             tfr_err *err);

#endif
