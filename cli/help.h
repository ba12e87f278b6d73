/* SPDX-License-Identifier: Apache-2.0 */
/* help.h: the text of --help, made from a command's row and its option table (cmd_help.c). */
#ifndef TFR_CLI_HELP_H
#define TFR_CLI_HELP_H

#include "cli.h"

void cli_print_help(const cli_command *command);

#endif
