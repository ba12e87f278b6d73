/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_field.h: `tfrun bench field`: a folder of models, each benched by `tfrun bench model` in a
 * process of its own, so that neither its memory nor a crash of it or of a peer reaches the others.
 */
#ifndef TFR_CLI_BENCH_FIELD_H
#define TFR_CLI_BENCH_FIELD_H

#include <bench/bench.h>

#include "cli.h"

/* Benches the models in the folder args->words[1], telling of each as it is done unless the output
 * is for programs. A row a model; one that cannot be benched is a skip of the report. */
TFR_MUST_CHECK tfr_status cli_bench_field(const cli_args *args, bench_report *report, tfr_err *err);

/* The table of models, and the figures. */
TFR_MUST_CHECK tfr_status cli_bench_field_print(const bench_report *report, tfr_err *err);

#endif
