/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_files.h: the files that --output asks for: all of them or none. What can be known to go
 * wrong is found before the model runs.
 */
#ifndef TFR_CLI_OUTPUT_FILES_H
#define TFR_CLI_OUTPUT_FILES_H

#include "cli.h"

typedef struct cli_output_file {
    uint32_t output;  /* of the graph */
    const char *path; /* as the user wrote it */
    bool is_direct;   /* a device or a pipe, which is not replaced */
} cli_output_file;

typedef struct cli_output_files {
    cli_output_file *items;
    uint32_t n;
} cli_output_files;

/* Takes --output apart and tries that each place can be written. cli_output_files_finish in any
 * case. */
TFR_MUST_CHECK tfr_status cli_output_files_init(const cli_args *args, const tfr_graph *graph,
                                                cli_output_files *files, tfr_err *err);
/* Writes all beside their places, then puts all there; devices and pipes are written last. outputs
 * are in the graph's order. */
TFR_MUST_CHECK tfr_status cli_output_files_save(const cli_output_files *files,
                                                const tfr_graph *graph, tfr_tensor *const *outputs,
                                                tfr_err *err);
void cli_output_files_finish(cli_output_files *files);

/* The path that output i goes to, or NULL. */
const char *cli_output_files_path(const cli_output_files *files, uint32_t i);

#endif
