/* SPDX-License-Identifier: Apache-2.0 */
/* cpus.h: how many processors this process may use, which is often fewer than there are. */
#ifndef TFR_CORE_PORT_CPUS_H
#define TFR_CORE_PORT_CPUS_H

#include <pthread.h>
#include <stdint.h>

/*
 * The processors of the affinity mask, or the time quota of the control groups, rounded up, if that
 * is less. At least 1. Asks the system at each call.
 */
uint32_t tfr__cpus_usable(void);

/* What that said at the first call, without another look at a dozen files of the system. */
uint32_t tfr__cpus_width(void);

/* The processors of the affinity mask alone. At least 1. */
uint32_t tfr__cpus_allowed(void);

/* The number of the nth processor (from 0) of the mask, `except` left out; -1 if there is none. */
int tfr__cpus_nth(uint32_t n, int except);

/* The thread stays on this processor, if the system agrees; -1 = where it is. */
void tfr__cpus_pin(pthread_t thread, int cpu);

/*
 * The quota of this process's control groups alone, version 1 or 2, rounded up; 0 = there is none.
 * root is put in front of every path that is read; "" but in tests.
 */
uint32_t tfr__cpus_quota(const char *root);

#endif
