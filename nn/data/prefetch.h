/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prefetch.h: a thread that does numbered pieces of work in order, a few ahead of who takes them.
 * A piece has a place of its own among `ahead` + 1, number % (ahead + 1): the one that was taken
 * last stays untouched until the next is taken.
 */
#ifndef TFR_NN_DATA_PREFETCH_H
#define TFR_NN_DATA_PREFETCH_H

#include <stdbool.h>
#include <stdint.h>
#include <tfrun/status.h>

typedef struct tfr__prefetch tfr__prefetch;
typedef tfr_status tfr__prefetch_fn(void *user, int64_t number, tfr_err *err);

/* NULL: no memory, or no thread to be had; the work can be done without. */
tfr__prefetch *tfr__prefetch_create(uint32_t ahead, tfr__prefetch_fn *work, void *user);
/* Waits for the piece that is being made. NULL is fine. */
void tfr__prefetch_destroy(tfr__prefetch *prefetch);

/*
 * Forgets what was made and waits for the piece that is being made: after this, nothing runs until
 * tfr__prefetch_begin.
 */
void tfr__prefetch_stop(tfr__prefetch *prefetch);
/* Pieces 0 to n - 1 from now on. */
void tfr__prefetch_begin(tfr__prefetch *prefetch, int64_t n);
/*
 * Waits for the next piece, which is there then. After an error, which is that of this piece, the
 * thread tries it again.
 */
TFR_MUST_CHECK tfr_status tfr__prefetch_take(tfr__prefetch *prefetch, tfr_err *err);

#endif
