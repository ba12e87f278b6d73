/* SPDX-License-Identifier: Apache-2.0 */
/* quantize_check.h: how far the outputs of a quantized model are from those of the model. */
#ifndef TFR_CLI_QUANTIZE_CHECK_H
#define TFR_CLI_QUANTIZE_CHECK_H

#include <tfrun/quantize.h>

#include "json.h"
#include "model.h"
#include "samples.h"

/* Of one output. */
typedef struct cli_accuracy {
    tfr_accuracy numbers;
    bool is_classifier; /* its rows are scores of classes */
    bool is_none;       /* it was not compared: strings, sequences */
} cli_accuracy;

/* The samples' values: those of the folder, or the model's own inputs, as one. */
TFR_MUST_CHECK tfr_status cli_sample_inputs(const cli_args *args, const cli_model *model,
                                            const cli_samples *samples, uint32_t i,
                                            tfr_tensor **inputs, tfr_err *err);
/* Runs both models on all samples; rows has one for each output. */
TFR_MUST_CHECK tfr_status cli_quantize_check(const cli_args *args, tfr_runtime *runtime,
                                             const cli_model *model, tfr_graph *result,
                                             const cli_samples *samples, cli_accuracy *rows,
                                             tfr_err *err);

TFR_MUST_CHECK tfr_status cli_print_accuracy(const tfr_graph *graph, const cli_accuracy *rows,
                                             tfr_err *err);
json_t *cli_json_accuracy(const tfr_graph *graph, const cli_accuracy *rows);

#endif
