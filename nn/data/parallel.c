/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.c: see parallel.h. */
#include "parallel.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

enum { MOST_THREADS = 64, MOST_BLOCK = 1024 };

typedef struct work {
    void (*part)(void *user, int64_t begin, int64_t end);
    void *user;
    int64_t n, block;
    _Atomic int64_t next;
} work;

static void *take_blocks(void *user)
{
    work *w = user;
    for (;;) {
        const int64_t begin = atomic_fetch_add(&w->next, w->block);
        if (begin >= w->n)
            return NULL;
        w->part(w->user, begin, begin + w->block < w->n ? begin + w->block : w->n);
    }
}

static int processors(void)
{
    cpu_set_t set;
    const int n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return n < 1 ? 1 : n > MOST_THREADS ? MOST_THREADS : n;
}

bool tfr__data_thread(pthread_t *thread, void *(*run)(void *user), void *user)
{
    /* Signals of the program are for its own threads, those of faults for whoever makes them. */
    static const int faults[] = {SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t all, before;
    bool started;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    started = pthread_create(thread, NULL, run, user) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

void tfr__data_parallel(int64_t n, void (*part)(void *user, int64_t begin, int64_t end), void *user)
{
    pthread_t threads[MOST_THREADS];
    int n_threads = 0;
    const int wanted = processors();
    work w = {.part = part, .user = user, .n = n, .block = n / (8 * wanted) + 1};

    w.block = w.block > MOST_BLOCK ? MOST_BLOCK : w.block;
    while (n_threads + 1 < wanted && (n_threads + 1) * w.block < n &&
           tfr__data_thread(&threads[n_threads], take_blocks, &w))
        n_threads++;
    take_blocks(&w);
    while (n_threads)
        pthread_join(threads[--n_threads], NULL);
}
