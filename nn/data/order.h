/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.h: in which order an epoch takes its samples: a pure function of (seed, epoch), so that a
 * training that goes on from a checkpoint needs these two and a position.
 */
#ifndef TFR_NN_DATA_ORDER_H
#define TFR_NN_DATA_ORDER_H

#include <stdint.h>

/*
 * Writes a permutation of 0 to n - 1 into order. All are equally likely, but for n / 2^32 at each
 * exchange; n is less than 2^32. Only the lower 48 bits of epoch count.
 */
void tfr__data_order(uint64_t seed, uint64_t epoch, int64_t n, int64_t *order);

#endif
