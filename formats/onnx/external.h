/* SPDX-License-Identifier: Apache-2.0 */
/*
 * external.h: tensor data that lie in files beside the model. Only regular files inside the
 * model's folder are read, without following any link, and never outside offset + length.
 */
#ifndef TFR_FORMATS_ONNX_EXTERNAL_H
#define TFR_FORMATS_ONNX_EXTERNAL_H

#include "file.h"
#include "wire.h"

typedef struct tfr__external_file {
    tfr__text location;
    tfr__mapping *mapping;
} tfr__external_file;

/* The folder of a model and the files of it that were mapped. {.fd = -1} = no folder: refuse. */
typedef struct tfr__external {
    int fd;
    tfr__external_file *files;
    uint32_t n_files, capacity;
} tfr__external;

/* Opens the folder that the file of this path is in. */
TFR_MUST_CHECK tfr_status tfr__external_open(const char *path, tfr__external *out, tfr_err *err);
void tfr__external_close(tfr__external *external);

/*
 * The bytes of a tensor: file `location`, from offset, length of them (has_length false: exactly
 * `needed` of them). *mapping is borrowed. The location must live as long as external.
 */
TFR_MUST_CHECK tfr_status tfr__external_bytes(tfr__external *external, tfr__text location,
                                              uint64_t offset, bool has_length, uint64_t length,
                                              uint64_t needed, tfr__mapping **mapping,
                                              tfr__text *out, tfr_err *err);

#endif
