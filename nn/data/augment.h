/* SPDX-License-Identifier: Apache-2.0 */
/* augment.h: images that are a little elsewhere in each epoch, so that a network sees more. */
#ifndef TFR_NN_DATA_AUGMENT_H
#define TFR_NN_DATA_AUGMENT_H

#include <stdint.h>

enum { TFR__AUGMENT_SIDE = 1 << 15 };

/*
 * Rotates an image [C, H, W] by up to 10 degrees around its middle and shifts it by up to 7 % of
 * height and width, by (seed, epoch, index) alone; what comes from outside is 0. scratch has room
 * for H * W, and both are at most TFR__AUGMENT_SIDE.
 */
void tfr__augment(uint64_t seed, uint64_t epoch, uint64_t index, int64_t channels, int64_t height,
                  int64_t width, float *image, float *scratch);

#endif
