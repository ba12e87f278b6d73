/* SPDX-License-Identifier: Apache-2.0 */
/* input_file.h: values of a model's inputs from files of any kind, with the type that it wants. */
#ifndef TFR_CLI_INPUT_FILE_H
#define TFR_CLI_INPUT_FILE_H

#include "model.h"

/*
 * Input i from a .npy or .pb file, from the array of the input's name in an .npz file, from the
 * numbers of a .csv or .txt file, or for strings from the lines of a .txt file. Another element
 * type than the model's is TFR_EDTYPE without --cast-inputs; numbers of text have none.
 */
TFR_MUST_CHECK tfr_status cli_input_load(const cli_args *args, const tfr_graph *graph, uint32_t i,
                                         const char *path, tfr_tensor **out, tfr_err *err);
/* Is it an archive, which may have values of several inputs? */
bool cli_input_is_npz(const char *path);

#endif
