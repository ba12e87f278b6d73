/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples.h: a folder of samples, each with a value of every input of a model. A sample is
 *
 *   a folder with input_K.pb or input_K.npy (or another kind of file that --input takes), K being
 *     the number of an input, or with NAME.npy for its name, such as test_data_set_0
 *   an .npz file with an array of each input's name
 *   for a model with one input, a .npy or .pb file or an image
 *
 * or the folder itself, if it has a file for input 0.
 */
#ifndef TFR_CLI_SAMPLES_H
#define TFR_CLI_SAMPLES_H

#include "cli.h"

typedef struct cli_samples {
    char **paths; /* sorted as people do: 2 before 10 */
    uint32_t n;
} cli_samples;

/* The first `most` samples of the folder. cli_samples_finish in any case. */
TFR_MUST_CHECK tfr_status cli_samples_find(const tfr_graph *graph, const char *folder,
                                           uint32_t most, cli_samples *out, tfr_err *err);
/* The values of sample i, in the order of the graph's inputs; to be released. */
TFR_MUST_CHECK tfr_status cli_samples_load(const cli_args *args, const cli_samples *samples,
                                           uint32_t i, const tfr_graph *graph, tfr_tensor **inputs,
                                           tfr_err *err);
void cli_samples_finish(cli_samples *samples);

#endif
