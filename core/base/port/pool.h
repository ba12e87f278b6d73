/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h: threads for loops whose rounds are independent. It is behind the host's parallel_for; it
 * has no queue of tasks.
 */
#ifndef TFR_CORE_PORT_POOL_H
#define TFR_CORE_PORT_POOL_H

#include <stdbool.h>
#include <stdint.h>
#include <tfrun/plugin.h>

typedef struct tfr__pool tfr__pool;

/*
 * The pool of the process, tfr__cpus_width wide. It lives for ever and starts its threads when a
 * loop first needs them. In a child of fork it starts new ones.
 */
tfr__pool *tfr__pool_get(void);

/*
 * Whether threads of that pool that start from now on may be pinned, each to a processor of its
 * own; they are if the pool has a thread for each processor of the affinity mask. The default is
 * yes.
 */
void tfr__pool_may_pin(bool may);

/* The number of the calling thread in the loop that it runs a range of; 0 outside of loops. */
uint32_t tfr__pool_lane(void);

/* A pool of its own of n_threads, the caller's among them. NULL if memory is out. */
__attribute__((cold)) tfr__pool *tfr__pool_create(uint32_t n_threads);
/* Joins the threads. No loop is running. NULL is fine. */
__attribute__((cold)) void tfr__pool_destroy(tfr__pool *pool);

/* Threads that a loop can run on, the caller's among them. */
uint32_t tfr__pool_threads(const tfr__pool *pool);

/*
 * for (i = 0; i < n; i += grain) fn(user, i, min(i + grain, n)), in any order on at most
 * max_threads threads (0 = all of the pool's), the caller's among them; returns when all have run,
 * and their writes are visible then. grain 0 or less = chosen here.
 *
 * Any thread may call it. A call from inside fn, and one that finds the pool at work for another
 * thread, runs on the calling thread alone. fn must not fork and go on to use tfrun in the child.
 */
void tfr__pool_run(tfr__pool *pool, uint32_t max_threads, tfr_range_fn fn, void *user, int64_t n,
                   int64_t grain);

#endif
