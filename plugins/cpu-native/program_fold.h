/* SPDX-License-Identifier: Apache-2.0 */
/* program_fold.h: steps of reductions and of what else goes along an axis. */
#ifndef NATIVE_PROGRAM_FOLD_H
#define NATIVE_PROGRAM_FOLD_H

#include "program.h"

typedef struct native_reduction {
    const char *name;
    native_fold_kind fold;
    bool root, logarithm, mean;
} native_reduction;

/* NULL = it is none. */
const native_reduction *native_reduction_of(const tfr_call *call);
/* -1 = reductions do not know it. */
int native_fold_type_of(int32_t dtype);
/* Whether results are elements: the greatest, the least. */
bool native_fold_keeps(native_fold_kind kind);
/* The type of results so far. */
native_fold_type native_fold_sums(native_fold_kind kind, native_fold_type type);

/* Rows that are short are turned to columns, so many at a time. */
enum { NATIVE_SHORT = 32, NATIVE_SHORT_ROWS = 64 };
/* to[i][row] = from[row][i], whose rows lie step elements apart; elements of 1, 4, 8 bytes. */
void native_turn_rows(const native_isa *isa, const void *from, int64_t step, int64_t rows,
                      int64_t n, int64_t bytes, void *to);

#endif
