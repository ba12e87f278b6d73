/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h: the one clock for waiting and measuring. It never goes back and has no date. */
#ifndef TFR_CORE_PORT_CLOCK_H
#define TFR_CORE_PORT_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t tfr__now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

#endif
