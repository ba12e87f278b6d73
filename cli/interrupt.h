/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interrupt.h: SIGINT and SIGTERM for commands that end in their own time: the first one asks for
 * the end, and the second one is as without all this, so that nobody waits for a kernel that hangs.
 */
#ifndef TFR_CLI_INTERRUPT_H
#define TFR_CLI_INTERRUPT_H

#include <stdbool.h>

/* `told` is a line, of static text, that the handler prints. A signal that is ignored stays so, as
 * nohup and shells want it. */
void cli_interrupt_install(const char *told);
bool cli_interrupt_came(void);

/*
 * The words of this process's command line, as a shell takes them, with one more behind if it is
 * not among them. Returns text; "" if they are not known or do not fit.
 */
const char *cli_command_line(const char *word, char *text, unsigned n);

#endif
