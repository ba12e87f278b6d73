/* SPDX-License-Identifier: Apache-2.0 */
/* bench/child.h: child processes with a pipe to their standard input and one from their output. */
#ifndef TFR_BENCH_CHILD_H
#define TFR_BENCH_CHILD_H

#include <stdio.h>
#include <sys/types.h>

#include "bench.h"

typedef struct bench_process {
    pid_t pid;
    int to, from;
    int signal; /* that ended it, where bench_process_finish has waited for it; else 0 */
} bench_process;

/* Starts argv[0], found on PATH, with more variables "NAME=VALUE" (NULL at the end) in front of the
 * environment. Standard error goes nowhere. */
TFR_MUST_CHECK tfr_status bench_process_start(bench_process *process, const char *const *argv,
                                              const char *const *variables, tfr_err *err);
TFR_MUST_CHECK tfr_status bench_process_write(bench_process *process, const char *text,
                                              tfr_err *err);
/* One line without its end. TFR_EIO at the end of the output, TFR_ETIMEOUT after so many seconds.
 */
TFR_MUST_CHECK tfr_status bench_process_read(bench_process *process, char *line, size_t capacity,
                                             int seconds, tfr_err *err);
/* Peak resident bytes of a process since its exec, 0 = this one; getrusage would count its
 * parent's, too. 0 = not known. */
uint64_t bench_process_peak(pid_t pid);
/* Closes the pipes, which ends a child that waits for a word, and waits for it. */
void bench_process_finish(bench_process *process);

#endif
