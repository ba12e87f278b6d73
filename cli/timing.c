/* SPDX-License-Identifier: Apache-2.0 */
/* timing.c: see timing.h. */
#include "timing.h"

#include <stdlib.h>
#include <time.h>

double cli_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

cli_times cli_times_of(double *seconds, uint64_t n)
{
    cli_times t;
    qsort(seconds, n, sizeof *seconds, by_size);
    t.least = seconds[0];
    t.most = seconds[n - 1];
    t.median = n % 2 ? seconds[n / 2] : (seconds[n / 2 - 1] + seconds[n / 2]) / 2;
    return t;
}
