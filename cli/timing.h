/* SPDX-License-Identifier: Apache-2.0 */
/* timing.h: how long runs take: the clock, and the median of several. */
#ifndef TFR_CLI_TIMING_H
#define TFR_CLI_TIMING_H

#include <stdint.h>

/* Seconds since some moment, of a clock that never jumps. */
double cli_now(void);

typedef struct cli_times {
    double least, median, most; /* seconds */
} cli_times;

/* Sorts seconds[0...n); n is at least 1. */
cli_times cli_times_of(double *seconds, uint64_t n);

#endif
