/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.h: work that may crash, hang or take all memory, in a process of its own. What it printed
 * on standard error is kept, because sanitizers say there what they found.
 */
#ifndef TFR_FUZZ_CHILD_H
#define TFR_FUZZ_CHILD_H

#include "way.h"

/* How a child ended: with FUZZ_WELL, or with a finding in the report. FUZZ_LONG: a run took its
 * time, and the model asks for much work, by its sizes or by a loop. */
enum { FUZZ_WELL = 0, FUZZ_FOUND = 3, FUZZ_LONG = 4, FUZZ_CANNOT = 77 };

/* Runs work(user) and ends with its result; a crash becomes a finding in the report. */
int fuzz_child_run(fuzz_report *report, int (*work)(void *user), void *user);
/* Shared with children. Ends the program without memory. */
fuzz_report *fuzz_report_create(void);

/* In the child, before each case and each stage of it: time begins anew. */
void fuzz_child_begin_case(void);
/* The library has warned of the memory that this case takes. */
void fuzz_child_warned(void);
/* After each case: FUZZ_FOUND with a finding if the process has become too large, FUZZ_LONG if that
 * had been announced, else FUZZ_WELL. */
int fuzz_child_end_case(fuzz_context *context);

#endif
