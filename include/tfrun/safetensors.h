/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/safetensors.h (libtfrun-nn): files of named tensors, as the library safetensors writes
 * them: 8 bytes with the size of a header, which is JSON with types, shapes and places of the
 * tensors and pairs of strings as metadata, and the elements, plain and little endian.
 */
#ifndef TFRUN_SAFETENSORS_H
#define TFRUN_SAFETENSORS_H

#include <tfrun/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tfr_safetensors tfr_safetensors;

/*
 * The caller owns the result; tensors that it has retained outlive it. Elements stay in the mapped
 * file, which must not be written meanwhile, unless it is small. TFR_EIO if the file cannot be
 * read; TFR_EMODEL, with place and cause, for one that is cut short, is something else, or has
 * tensors that overlap, leave gaps or do not fit; TFR_EUNSUPPORTED for element types that tfrun
 * does not have.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_safetensors_load(const char *path, tfr_safetensors **out,
                                                       tfr_err *err);
/* The same of bytes, which are copied. */
TFR_API TFR_MUST_CHECK tfr_status tfr_safetensors_parse(const void *bytes, size_t n,
                                                        tfr_safetensors **out, tfr_err *err);
/* NULL is fine. */
TFR_API void tfr_safetensors_release(tfr_safetensors *file);

/* Tensors in the order of their elements. Borrowed: names and tensors live as long as the file. */
TFR_API uint32_t tfr_safetensors_n(const tfr_safetensors *file);
TFR_API const char *tfr_safetensors_name(const tfr_safetensors *file, uint32_t i);
TFR_API tfr_tensor *tfr_safetensors_tensor(const tfr_safetensors *file, uint32_t i);
/* NULL if there is none of this name. */
TFR_API tfr_tensor *tfr_safetensors_find(const tfr_safetensors *file, const char *name);
/* The text of this key, or NULL. */
TFR_API const char *tfr_safetensors_metadata(const tfr_safetensors *file, const char *key);

/* What goes into a file. */
typedef struct tfr_safetensors_content {
    uint32_t size;
    uint32_t n, n_metadata;
    const char *const *names; /* UTF-8, each once, not "__metadata__" */
    tfr_tensor *const *tensors;
    const char *const *keys; /* of the metadata, UTF-8 */
    const char *const *texts;
} tfr_safetensors_content;

/*
 * Replaces the file when the new one is whole and on the disk, so that after an error the old one
 * is there. TFR_EUNSUPPORTED for types that such files do not have, TFR_EIO.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_safetensors_save(const char *path,
                                                       const tfr_safetensors_content *content,
                                                       tfr_err *err);
/* The same bytes to anywhere, in order. */
TFR_API TFR_MUST_CHECK tfr_status tfr_safetensors_write(const tfr_safetensors_content *content,
                                                        tfr_write_fn write, void *user,
                                                        tfr_err *err);

#ifdef __cplusplus
}
#endif

#endif
