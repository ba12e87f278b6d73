/* SPDX-License-Identifier: Apache-2.0 */
/* order.c: see order.h. */
#include "order.h"

#include "random.h"

/* Fisher and Yates, from the end: order[i] is one of those that are left. */
void tfr__data_order(uint64_t seed, uint64_t epoch, int64_t n, int64_t *order)
{
    tfr__draw d = tfr__draw_begin(seed, TFR__DRAW_ORDER, 0, epoch);
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = tfr__draw_below(&d, (uint32_t)(i + 1));
        const int64_t moved = order[i];
        order[i] = order[j];
        order[j] = moved;
    }
}
