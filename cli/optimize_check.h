/* SPDX-License-Identifier: Apache-2.0 */
/* optimize_check.h: does an optimized model compute what the model did? */
#ifndef TFR_CLI_OPTIMIZE_CHECK_H
#define TFR_CLI_OPTIMIZE_CHECK_H

#include "model.h"

typedef struct cli_comparison {
    bool differs;
    uint32_t n_outputs; /* that were compared */
    double max_abs_error;
    char text[400]; /* what differs, or what could not be compared; one sentence */
} cli_comparison;

/*
 * Runs the model and the result, as it is after writing and reading, on the model's inputs, and
 * compares with --rtol and --atol, which is relative to the greatest element unless it is given.
 * Outputs of a model that draws random numbers are compared by type and shape.
 */
TFR_MUST_CHECK tfr_status cli_optimize_check(const cli_args *args, tfr_runtime *runtime,
                                             const cli_model *model, const tfr_graph *result,
                                             cli_comparison *out, tfr_err *err);

#endif
