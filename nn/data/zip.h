/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zip.h: members of a zip archive in memory, stored or deflated, up to 4 GiB each. Errors are
 * sentences about the archive, without its name.
 */
#ifndef TFR_NN_DATA_ZIP_H
#define TFR_NN_DATA_ZIP_H

#include <stddef.h>
#include <stdint.h>
#include <tfrun/status.h>

typedef struct tfr__zip {
    const uint8_t *data;
    size_t n; /* of the archive */
    size_t directory, directory_end;
    uint32_t n_members;
} tfr__zip;

typedef struct tfr__zip_member {
    char name[256];
    uint32_t method, crc, packed, bytes;
    size_t at; /* its local header */
} tfr__zip_member;

/* Borrows the bytes. TFR_EMODEL: they are no archive, or cut short. */
TFR_MUST_CHECK tfr_status tfr__zip_open(const void *data, size_t n, tfr__zip *out, tfr_err *err);
/* TFR_ENOTFOUND: no member has that name; the text lists some that there are. */
TFR_MUST_CHECK tfr_status tfr__zip_find(const tfr__zip *zip, const char *name, tfr__zip_member *out,
                                        tfr_err *err);
/* Its bytes, malloc'ed, with the checksum right. */
TFR_MUST_CHECK tfr_status tfr__zip_read(const tfr__zip *zip, const tfr__zip_member *member,
                                        void **out, tfr_err *err);

#endif
