/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crash.c: the note about a crash: which signal, and which plugin was doing what, or which peer of
 * tfrun bench it was. Written by the handler with write alone; then the signal does what it does
 * without a handler, so that exit status and core dump stay what they are.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include <bench/bench.h>
#include <tfrun/onnx.h>
#include <tfrun/slot.h>

#include "guard.h"

static const struct {
    int number;
    const char *name;
} signals[] = {
    {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
    {SIGILL, "SIGILL"},   {SIGABRT, "SIGABRT"},
};
enum { N_SIGNALS = sizeof signals / sizeof *signals };

/* Of the main thread, for a stack that has overflown. */
static char other_stack[64 << 10];
static atomic_flag is_told = ATOMIC_FLAG_INIT;

/* "SIGSEGV at address 0x10". */
static void add_cause(cli_note *note, int number, const siginfo_t *info)
{
    for (size_t i = 0; i < N_SIGNALS; i++)
        if (signals[i].number == number)
            cli_note_add(note, signals[i].name);
    if (info->si_code <= 0 || number == SIGABRT)
        return; /* sent by a process, perhaps this one */
    cli_note_add(note, " at address ");
    cli_note_add_hex(note, (uint64_t)(uintptr_t)info->si_addr);
}

static void add_call(cli_note *note, const tfr_slot_call *call)
{
    char text[300];
    cli_note_add(note, tfr_slot_format(call, text, sizeof text));
}

static void add_next_step(cli_note *note, const tfr_slot_call *call)
{
    cli_note_add(note, "; go on without it by TFRUN_DISABLE=");
    cli_note_add(note, call->plugin);
    cli_note_add(note, ", and report it to its author");
}

/* Reading beyond the end of a mapped file is nobody's fault in this process. */
static bool tell_of_file(cli_note *note, int number, const siginfo_t *info)
{
    const char *file = number == SIGBUS ? tfr_onnx_file_at(info->si_addr) : NULL;
    if (!file)
        return false;
    cli_note_add(note, "tfrun: ");
    cli_note_add(note, file);
    cli_note_add(note, " became shorter while it was in use (SIGBUS); start again, and replace "
                       "files by renaming");
    cli_note_write(note);
    return true;
}

static void tell(int number, const siginfo_t *info)
{
    cli_note note = {0};
    tfr_slot_call call = TFR_SLOT_CALL_INIT;
    const char *peer = bench_peer_at_work();
    uint32_t at = 0;
    if (tell_of_file(&note, number, info))
        return;
    if (tfr_slot_current(&call)) {
        cli_note_add(&note, "tfrun: plugin ");
        cli_note_add(&note, call.plugin);
        cli_note_add(&note, " crashed with ");
        add_cause(&note, number, info);
        cli_note_add(&note, " in ");
        add_call(&note, &call);
        add_next_step(&note, &call);
    } else if (peer) {
        cli_note_add(&note, "tfrun: ");
        cli_note_add(&note, peer);
        cli_note_add(&note, ", which tfrun is measured beside, crashed with ");
        add_cause(&note, number, info);
        cli_note_add(&note, "; leave it out of --peers");
    } else if (tfr_slot_next(&at, &call)) {
        cli_note_add(&note, "tfrun: crashed with ");
        add_cause(&note, number, info);
        cli_note_add(&note, " on a thread that tfrun knows nothing of, while plugin ");
        cli_note_add(&note, call.plugin);
        cli_note_add(&note, " was in ");
        add_call(&note, &call);
        add_next_step(&note, &call);
    } else {
        cli_note_add(&note, "tfrun: crashed with ");
        add_cause(&note, number, info);
        cli_note_add(&note, " while it was in no plugin; report it, with the command line and the "
                            "files that it was given");
    }
    cli_note_write(&note);
}

/* All faults are blocked meanwhile: one in here ends the process at once. */
static void on_crash(int number, siginfo_t *info, void *context)
{
    const int error = errno;
    (void)context;
    if (atomic_flag_test_and_set(&is_told))
        for (;;) /* another thread is telling, and ends the process then */
            pause();
    tell(number, info);
    (void)signal(number, SIG_DFL);
    if (info->si_code <= 0) /* else the instruction that did it is run again */
        (void)raise(number);
    errno = error;
}

void cli_crash_install(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK}, old;
    const stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    if (TFR_SANITIZERS)
        return; /* which tell more than this, and may install their handlers late */
    (void)sigaltstack(&stack, NULL);
    action.sa_sigaction = on_crash;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < N_SIGNALS; i++)
        sigaddset(&action.sa_mask, signals[i].number);
    for (size_t i = 0; i < N_SIGNALS; i++)
        if (sigaction(signals[i].number, NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) &&
            old.sa_handler == SIG_DFL)
            (void)sigaction(signals[i].number, &action, NULL);
}
