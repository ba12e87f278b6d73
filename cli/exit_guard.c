/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exit_guard.c: a plugin that ends the process would end it with a status of its own, perhaps 0,
 * and without results. exit and quick_exit are met by handlers; _exit and _Exit have none, so they
 * are defined here, and the dynamic linker gives the program's definition to every library. The
 * system call itself cannot be met.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <tfrun/slot.h>

#include "guard.h"

static pid_t guarded; /* 0 = nobody is */

_Noreturn void cli_exit_now(int status)
{
    for (;;)
        (void)syscall(SYS_exit_group, status);
}

/* Returns if no thread is in a plugin. */
static void check(const char *how)
{
    cli_note note = {0};
    tfr_slot_call call = TFR_SLOT_CALL_INIT;
    char text[300];
    uint32_t at = 0;
    if (guarded != getpid() || (!tfr_slot_current(&call) && !tfr_slot_next(&at, &call)))
        return;
    cli_note_add(&note, "tfrun: plugin ");
    cli_note_add(&note, call.plugin);
    cli_note_add(&note, " ended the process with ");
    cli_note_add(&note, how);
    cli_note_add(&note, " in ");
    cli_note_add(&note, tfr_slot_format(&call, text, sizeof text));
    cli_note_add(&note, ", which a plugin must not; go on without it by TFRUN_DISABLE=");
    cli_note_add(&note, call.plugin);
    cli_note_add(&note, ", and report it to its author");
    cli_note_write(&note);
    cli_exit_now(CLI_EXIT_DEVICE);
}

static void on_exit_handler(void)
{
    check("exit");
}

static void on_quick_exit(void)
{
    check("quick_exit");
}

__attribute__((visibility("default"))) void _exit(int status)
{
    check("_exit");
    cli_exit_now(status);
}

__attribute__((visibility("default"))) void _Exit(int status)
{
    check("_Exit");
    cli_exit_now(status);
}

void cli_exit_guard_install(void)
{
    if (!guarded) {
        (void)atexit(on_exit_handler);
        (void)at_quick_exit(on_quick_exit);
    }
    guarded = getpid();
}
