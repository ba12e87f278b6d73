/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor_file.h: tensors in files, the format chosen by the file's name: .npy (NumPy) or .pb (ONNX
 * TensorProto); and tensors made up from a seed.
 */
#ifndef TFR_CLI_TENSOR_FILE_H
#define TFR_CLI_TENSOR_FILE_H

#include <tfrun/tensor.h>

/* TFR_EINVAL if the file's name ends in neither. */
TFR_MUST_CHECK tfr_status cli_tensor_check_name(const char *path, tfr_err *err);

/* kind guides the reader of .pb files. */
TFR_MUST_CHECK tfr_status cli_tensor_load(const char *path, tfr_kind kind, tfr_tensor **out,
                                          tfr_err *err);

/*
 * Writes the format that path ends in; name is the tensor's in a .pb file, which has a list of maps
 * for a table with keys (NULL = it is none).
 */
TFR_MUST_CHECK tfr_status cli_tensor_write(const char *path, const char *name,
                                           const tfr_tensor *keys, const tfr_tensor *tensor,
                                           tfr_write_fn write, void *user, tfr_err *err);

/*
 * Floats uniform in [0,1), integers and bools in [least, least + n_values), which is within 2^24,
 * strings "a" or "b". The same on every machine.
 */
TFR_MUST_CHECK tfr_status cli_tensor_random(tfr_dtype dtype, const tfr_shape *shape, uint64_t seed,
                                            int64_t least, int64_t n_values, tfr_tensor **out,
                                            tfr_err *err);

#endif
