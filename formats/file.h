/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h: files as the formats need them: a whole file mapped into memory, counted so that tensors
 * can keep it, and bytes that go into a file. Text of errors starts with the file's name.
 */
#ifndef TFR_FORMATS_FILE_H
#define TFR_FORMATS_FILE_H

#include <stdatomic.h>
#include <stdint.h>
#include <tfrun/tensor.h>
#include <time.h>

/*
 * The bytes of a regular file. Private and writable: a tensor over them may be changed in memory
 * and the file stays as it is. Files up to TFR__COPIED_BYTES are copied, so that nothing that
 * happens to them matters. Larger ones are mapped, and if somebody truncates one, reading ends the
 * process with SIGBUS: tfr__mapping_check tells beforehand where it can be told.
 */
enum { TFR__COPIED_BYTES = 1 << 20 };

typedef struct tfr__mapping {
    atomic_uint refs;
    char *data; /* never NULL */
    size_t bytes;
    int fd; /* -1 = copied */
    struct timespec changed;
    uint32_t slot; /* where tfr_onnx_file_at finds it, TFR__MAPPING_SLOTS = nowhere */
    char name[];
} tfr__mapping;

/* TFR_EIO: not there, not readable, not a regular file. */
TFR_MUST_CHECK tfr_status tfr__mapping_open(const char *path, tfr__mapping **out, tfr_err *err);
/* Maps an open file, which stays open; name is for errors. */
TFR_MUST_CHECK tfr_status tfr__mapping_of(int fd, const char *name, tfr__mapping **out,
                                          tfr_err *err);
tfr__mapping *tfr__mapping_retain(tfr__mapping *mapping);
/* TFR_EIO: the file has another size, or was written, since it was mapped. */
TFR_MUST_CHECK tfr_status tfr__mapping_check(const tfr__mapping *mapping, tfr_err *err);
/* NULL is fine. The type suits tfr_tensor_wrap. */
void tfr__mapping_release(void *mapping);
/*
 * Lets pages that nobody has written leave memory until they are read again. The type suits
 * tfr_tensor_wrap_bytes.
 */
void tfr__mapping_rest(void *mapping, const void *at, size_t bytes);
/*
 * memcpy out of a mapping, without keeping the pages in memory behind it, so that copying a large
 * file does not take twice its size. mapping NULL = a plain memcpy.
 */
void tfr__mapping_copy(const tfr__mapping *mapping, void *dst, const void *src, size_t bytes);

/* Where the bytes of a file that is written go; after the first error nowhere. */
typedef struct tfr__sink {
    tfr_write_fn write;
    void *user;
    tfr_status status;
    tfr_err *err;
} tfr__sink;

void tfr__sink_put(tfr__sink *sink, const void *data, size_t bytes);

/* Writes a file by core/base/writer.h; produce gets what. Its errors start with the path. */
TFR_MUST_CHECK tfr_status tfr__file_save(const char *path,
                                         tfr_status (*produce)(tfr__sink *sink, const void *what),
                                         const void *what, tfr_err *err);

#endif
