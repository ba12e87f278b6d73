/* SPDX-License-Identifier: Apache-2.0 */
/* commands.h: the rows that main.c lists, one for each cmd_X.c. */
#ifndef TFR_CLI_COMMANDS_H
#define TFR_CLI_COMMANDS_H

#include "cli.h"

extern const cli_command cli_bench;
extern const cli_command cli_bench_child;
extern const cli_command cli_certify;
extern const cli_command cli_complete;
extern const cli_command cli_devices;
extern const cli_command cli_doctor;
extern const cli_command cli_explain;
extern const cli_command cli_inspect;
extern const cli_command cli_help;
extern const cli_command cli_matmul;
extern const cli_command cli_ops;
extern const cli_command cli_optimize;
extern const cli_command cli_plugins;
extern const cli_command cli_profile_command;
extern const cli_command cli_quantize;
extern const cli_command cli_run;
extern const cli_command cli_train;
extern const cli_command cli_verify;
extern const cli_command cli_version;

/* A runtime whose plugins were asked anew and have opened all of their libraries (cmd_doctor.c). */
tfr_status cli_open_all(const cli_args *args, tfr_runtime **out, tfr_err *err);

#endif
