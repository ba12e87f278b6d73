/* SPDX-License-Identifier: Apache-2.0 */
/* image_file.c: see image_file.h. */
#include "image_file.h"

#include <stdlib.h>
#include <tfrun/fail.h>

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
    status = tfr__image_rows(bytes, n, size, rows, err);
    for (size_t c = 0; !status && rows != out && c < 3; c++)
        for (size_t i = 0; i < pixels; i++)
            out[c * pixels + i] = rows[i * 3 + c];
    if (rows != out)
        free(rows);
    return status;
}
