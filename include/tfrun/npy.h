/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/npy.h (libtfrun-nn): NumPy's .npy files (format versions 1 to 3), little endian. bfloat16
 * and the smaller types have no npy type and are refused when writing.
 */
#ifndef TFRUN_NPY_H
#define TFRUN_NPY_H

#include <tfrun/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Fortran order becomes a strided tensor. TFR_EMODEL for a bad file, TFR_EIO if it cannot be read.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_npy_load(const char *path, tfr_tensor **out, tfr_err *err);
TFR_API TFR_MUST_CHECK tfr_status tfr_npy_parse(const void *bytes, size_t n, tfr_tensor **out,
                                                tfr_err *err);
/*
 * The array of this name in an .npz file, plain or deflated. TFR_ENOTFOUND: it has none of that
 * name, and the text lists what it has; TFR_EUNSUPPORTED: zlib, which unpacks it, is not there.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_npz_load(const char *path, const char *name, tfr_tensor **out,
                                               tfr_err *err);
/*
 * Replaces the file when the new one is whole, so that after an error the old one is there; links
 * are followed, and what is no regular file, such as a pipe, is written as it is.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_npy_save(const char *path, const tfr_tensor *tensor,
                                               tfr_err *err);
/* The same bytes to anywhere, in order. */
TFR_API TFR_MUST_CHECK tfr_status tfr_npy_write(const tfr_tensor *tensor, tfr_write_fn write,
                                                void *user, tfr_err *err);

#ifdef __cplusplus
}
#endif

#endif
