/* SPDX-License-Identifier: Apache-2.0 */
/* image_input.h: images as inputs of models: decoded, resized, normalized and laid out. */
#ifndef TFR_CLI_IMAGE_INPUT_H
#define TFR_CLI_IMAGE_INPUT_H

#include "cli.h"

/* By the ending of its name: .png, .jpg, .webp and the other formats of images/codec.h. */
bool cli_input_is_image(const char *path);

/*
 * An image file as the input `name` of this type, with a batch of 1: [1,C,H,W], [1,H,W,C] or the
 * same without the 1, of 1 or 3 channels, in red, green, blue. Open dims are those of the image,
 * others what it is resized to. Bytes stay as they are; other elements are
 * (byte / 255 - --image-mean) / --image-std.
 */
TFR_MUST_CHECK tfr_status cli_image_load(const cli_args *args, const char *name, const char *path,
                                         const tfr_value_type *type, tfr_tensor **out,
                                         tfr_err *err);

#endif
