/* SPDX-License-Identifier: Apache-2.0 */
/* options.h: from words to cli_args, by the option tables; and what a table says about itself. */
#ifndef TFR_CLI_OPTIONS_H
#define TFR_CLI_OPTIONS_H

#include "cli.h"

/* Options of every command. */
extern const cli_option cli_shared_options[];

/* Longest value a choice's list or a did-you-mean may take in a message. */
#define CLI_MAX_OPTIONS 64

/*
 * Takes the command line apart. Returns 0 and sets args->command (which is `help` for --help
 * without a command), or has told of the mistake and returns the exit status. cli_args_finish in
 * any case.
 */
int cli_args_parse(int argc, char **argv, cli_args *args);
void cli_args_finish(cli_args *args);

/* All options of a command: its own and the shared ones. Returns how many. */
uint32_t cli_options_of(const cli_command *command, const cli_option **out);

#endif
