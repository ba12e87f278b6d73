/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.h: plugins run in the command's own process. What the command does when one crashes
 * (crash.c), ends the process (exit_guard.c) or takes long (watch.c): it says which it was, and in
 * what. All of it stands on tfrun/slot.h.
 */
#ifndef TFR_CLI_GUARD_H
#define TFR_CLI_GUARD_H

#include "cli.h"

/* ---- one line of talk, made and written in a signal handler (note.c) ---- */

typedef struct cli_note {
    size_t n;
    char text[1200]; /* what does not fit is cut */
} cli_note;

void cli_note_add(cli_note *note, const char *text);
void cli_note_add_hex(cli_note *note, uint64_t number);
/* Ends the line and writes it to standard error at once. */
void cli_note_write(cli_note *note);

/* ---- installing ---- */

/* For the whole process, before anything else. Leaves alone what somebody else has installed, as
 * sanitizers do. */
void cli_crash_install(void);

/*
 * From now on, an end of this process inside of a plugin is told of, with CLI_EXIT_DEVICE. To be
 * called again after a fork, for children that a plugin makes may end as they like.
 */
void cli_exit_guard_install(void);
/* Ends the process, plugins or not, without running handlers. */
_Noreturn void cli_exit_now(int status);

/*
 * A thread that says what is waited for, if a plugin's slot takes after_ms or more; 0 = none is
 * started. Without memory for a thread nothing is printed. There is one at a time.
 */
void cli_watch_start(int64_t after_ms);
void cli_watch_stop(void);
/*
 * A run begins, or many do, that may take args->time_limit each, if that is not 0; NULL = the last
 * one has ended. The core ends it itself but where a slot of a plugin does not return: some seconds
 * later the process ends then, with the words and the status of a time-out.
 */
void cli_watch_limit(const cli_args *args, bool one_run);

#endif
