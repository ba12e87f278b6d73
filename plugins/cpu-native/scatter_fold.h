/* SPDX-License-Identifier: Apache-2.0 */
/* scatter_fold.h: the reductions of ScatterElements and ScatterND. */
#ifndef NATIVE_SCATTER_FOLD_H
#define NATIVE_SCATTER_FOLD_H

#include "kernel.h"

/* to[places[i]] = to[places[i]] r from[i], in order; without places to[i] = to[i] r from[i]. */
typedef void (*native_scatter_fold)(void *to, const void *from, const int64_t *places, int64_t n);

/* The call's; NULL = its reduction is none, or there is none for its type. */
native_scatter_fold native_scatter_fold_of(const tfr_call *call);
/* Whether the call has no reduction, or one with a fold; else it declines. */
bool native_scatter_folds(const tfr_call *call, tfr_answer *answer);

#endif
