/* SPDX-License-Identifier: Apache-2.0 */
/* model.h: a model with a value for each input, from --input, --shape and --random-inputs. */
#ifndef TFR_CLI_MODEL_H
#define TFR_CLI_MODEL_H

#include "cli.h"

typedef struct cli_model {
    const char *path;
    char *path_in_folder; /* what path is then */
    tfr_graph *graph;
    tfr_tensor **inputs; /* in the graph's order */
    bool *is_random;     /* of each input: made up */
    uint32_t n_inputs;
} cli_model;

/*
 * Loads the model and its inputs. A folder is taken as ONNX has its test data: its model.onnx, and
 * test_data_set_0/input_K.pb for inputs that --input does not give. If `fill`, inputs without a
 * value are made up even without
 * --random-inputs. Errors name the input that is wrong or missing, and the inputs there are.
 * cli_model_finish in any case; model is zeroed first.
 */
TFR_MUST_CHECK tfr_status cli_model_load(const cli_args *args, const char *path, bool fill,
                                         cli_model *model, tfr_err *err);
/* The same in two steps: the graph, and a value for each of its inputs. */
TFR_MUST_CHECK tfr_status cli_model_open(const cli_args *args, const char *path, cli_model *model,
                                         tfr_err *err);
/* tfr_onnx_load, with the ops of the plugins that the user has, and the dims of --dim fixed. */
TFR_MUST_CHECK tfr_status cli_graph_load(const cli_args *args, const char *path, tfr_graph **out,
                                         tfr_err *err);
TFR_MUST_CHECK tfr_status cli_model_fill(const cli_args *args, bool fill, cli_model *model,
                                         tfr_err *err);
void cli_model_finish(cli_model *model);

/* "1,3,224,224", also with x between; "" is a scalar. option and name are for the error. */
TFR_MUST_CHECK tfr_status cli_parse_dims(const char *option, const char *name, const char *text,
                                         tfr_shape *out, tfr_err *err);

/*
 * Splits "NAME=FILE" into the number of an input or output and the rest. A word without '=' means
 * the only one there is. what is "input" or "output", for the error.
 */
TFR_MUST_CHECK tfr_status cli_model_split(const tfr_graph *graph, bool output, const char *word,
                                          uint32_t *number, const char **rest, tfr_err *err);

/* The name of input i. */
const char *cli_model_input_name(const tfr_graph *graph, uint32_t i);

#endif
