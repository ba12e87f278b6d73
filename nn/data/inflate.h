/* SPDX-License-Identifier: Apache-2.0 */
/* inflate.h: compressed bytes, by zlib. Errors are sentences about the bytes, without the file. */
#ifndef TFR_NN_DATA_INFLATE_H
#define TFR_NN_DATA_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tfrun/status.h>

typedef enum tfr__deflate_form {
    TFR__DEFLATE_GZIP = 31, /* with CRC and length at the end, which are checked */
    TFR__DEFLATE_RAW = -15  /* as in zip archives, with neither */
} tfr__deflate_form;

/* More than this for a byte there cannot be: a length of 258 takes two bits. */
#define TFR__DEFLATE_MOST 1032

typedef struct tfr__inflater tfr__inflater;

/* Borrows the bytes. TFR_EUNSUPPORTED: zlib is not there. */
TFR_MUST_CHECK tfr_status tfr__inflate_open(tfr__deflate_form form, const void *bytes, size_t n,
                                            tfr__inflater **out, tfr_err *err);
/* The next n bytes; TFR_EMODEL if there are fewer, or damaged ones. */
TFR_MUST_CHECK tfr_status tfr__inflate_read(tfr__inflater *inflater, void *out, size_t n,
                                            tfr_err *err);
/* TFR_EMODEL unless all was read, and nothing is behind it. */
TFR_MUST_CHECK tfr_status tfr__inflate_end(tfr__inflater *inflater, tfr_err *err);
/* NULL is fine. */
void tfr__inflate_close(tfr__inflater *inflater);

/* As zip has it. TFR_EUNSUPPORTED: zlib is not there. */
TFR_MUST_CHECK tfr_status tfr__crc32(const void *bytes, size_t n, uint32_t *crc, tfr_err *err);

#endif
