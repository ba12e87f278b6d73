/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify.h: the parts of `tfrun verify`: finding models (cmd_verify.c), trying one
 * (verify_model.c), judging random numbers (verify_random.c), and the worker processes that keep a
 * crash apart (verify_workers.c).
 */
#ifndef TFR_CLI_VERIFY_H
#define TFR_CLI_VERIFY_H

#include "cli.h"

typedef enum cli_result { CLI_PASSED, CLI_DIFFERENT, CLI_PASSED_OVER } cli_result;

/* What became of a model; plain bytes, for it travels from a worker to its parent. */
typedef struct cli_verdict {
    int32_t result;     /* cli_result */
    int32_t code;       /* tfr_status; TFR_OK if results differ or the worker died */
    int32_t fatal_exit; /* not 0: no model can be tried, and this is the exit status */
    uint32_t n_sets;    /* test data sets that were compared */
    uint32_t n_fallbacks;
    uint32_t n_broken; /* nodes that a backend failed at, or could not be asked about */
    double seconds;
    char broken[500]; /* the first of them, with the words of the plugin */
    char text[700];   /* why not, one sentence; the model's op is in it when one is not supported */
} cli_verdict;

/* Runs the model in folder dir on its test data sets and compares. Always fills out. */
void cli_verify_model(const cli_args *args, tfr_runtime *runtime, const char *dir,
                      cli_verdict *out);

/* Called in the order of the models. */
typedef void (*cli_verdict_fn)(void *user, uint32_t model, const cli_verdict *verdict);

/*
 * Tries all models in worker processes. A worker that crashes or takes too long is a failed model
 * and a new worker. Returns 0, or the exit status of a failure that has been told of.
 */
int cli_verify_all(const cli_args *args, char *const *dirs, uint32_t n_dirs, cli_verdict_fn report,
                   void *user);

/* ---- random numbers (verify_random.c) -------------------------------------------------------- */

#define CLI_SIGNIFICANCE 1e-6 /* a result that is less likely is reported as wrong */

/* Expected values, and those of n_rows runs; the judge sorts both. */
typedef struct cli_sample {
    double *expected, *rows;
    size_t n, n_rows; /* n values a row */
    double rtol, atol;
} cli_sample;

/* Can the expected values be draws of what the runs draw from? False with a sentence in text. */
bool cli_random_judge(cli_sample *sample, char *text, size_t capacity);

#endif
