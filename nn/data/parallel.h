/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.h: reading data with all processors, before anything else runs. */
#ifndef TFR_NN_DATA_PARALLEL_H
#define TFR_NN_DATA_PARALLEL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Calls part(user, begin, end) for ranges that cover 0 to n - 1, on the calling thread and on
 * others, and waits for all of them.
 */
void tfr__data_parallel(int64_t n, void (*part)(void *user, int64_t begin, int64_t end),
                        void *user);

/* A thread that takes no signals of the program; false if the system gives none. */
bool tfr__data_thread(pthread_t *thread, void *(*run)(void *user), void *user);

#endif
