/* SPDX-License-Identifier: Apache-2.0 */
/* train.h: the parts of `tfrun train`: the trainer, what is shown on the way, and the files. */
#ifndef TFR_CLI_TRAIN_H
#define TFR_CLI_TRAIN_H

#include <tfrun/curves.h>
#include <tfrun/fit.h>

#include "cli.h"

typedef struct cli_train_job {
    const cli_args *args;
    tfr_runtime *runtime;
    tfr_graph *graph;
    tfr_trainer *trainer;
    tfr_dataset *data, *test; /* test NULL = the source has none */
    const char *name;         /* of what is trained */
    int64_t batch, epochs;
    bool has_accuracy;
    char conditions[800]; /* what decides the bits, of the options */

    tfr_curves *curves; /* NULL = none are wanted */
    tfr_status failed;  /* of a callback, which stops the training */
    tfr_err failure;
    bool curves_told; /* that they cannot be written */

    /* the screen */
    bool has_bar, bar_is_shown;
    double began, epoch_began, drawn; /* times; drawn is also of lines between epochs */
    int64_t steps_before, begun_at;   /* steps and samples that an earlier process has done */
    tfr_train_metrics last;           /* of the epoch so far, for the bar */
} cli_train_job;

/* ---- train_model.c --------------------------------------------------------------------------- */

/* Checks the options against each other; returns 0 or an exit status, having told. */
int cli_train_check(const cli_args *args);
/* Opens the data and makes the trainer; what has been made is the job's, errors or not. */
TFR_MUST_CHECK tfr_status cli_train_prepare(cli_train_job *job, tfr_err *err);

/* ---- train_screen.c -------------------------------------------------------------------------- */

/* The callback of a training, whose user is a cli_train_job. */
int32_t cli_train_event(void *user, const tfr_fit_event *event);
/* The last words, but for failures. */
TFR_MUST_CHECK tfr_status cli_train_show_end(cli_train_job *job, const tfr_fit_result *result,
                                             tfr_err *err);

#endif
