/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_help.h: threads of one product that help each other. Processors of a shared host differ by
 * 20 % and some of them do other things, too, so that equal shares end at different times; and
 * smaller units would each pack A or B again. So a thread that finds no more units takes panels of
 * rows of a unit that another one has begun: with the block of B that is packed there, and one
 * after the other, so that nobody waits for more than a panel.
 */
#ifndef NATIVE_GEMM_HELP_H
#define NATIVE_GEMM_HELP_H

#include <stdatomic.h>

#include "gemm.h"

/* The panels of rows of the block of K that a thread works on. Zeros: there is none. */
typedef struct native_gemm_help {
    _Alignas(128) _Atomic int64_t next; /* panel that nobody has taken */
    atomic_bool open;
    atomic_int helpers; /* who look at `unit`, which stays as it is until there are none */
    const void *unit;
} native_gemm_help;

/* native_gemm_run, while others may call native_gemm_run_help. */
void native_gemm_run_helped(const native_gemm *gemm, const native_gemm_args *args, void *scratch,
                            int64_t begin, int64_t end, native_gemm_help *help);
/* What can be taken there just now; scratch is the caller's. False: nothing. */
bool native_gemm_run_help(native_gemm_help *help, void *scratch);

#endif
