/* SPDX-License-Identifier: Apache-2.0 */
/* Reads memory that it may not read, in a loop, on another thread of the pool if there is one. */
#include <pthread.h>
#include <sys/mman.h>
#include <tfrun/plugin.h>
#include <unistd.h>

static const tfr_host *loop_host;
static pthread_t loop_caller;

static void loop_range(void *user, int64_t begin, int64_t end)
{
    volatile char *closed = user;
    (void)begin, (void)end;
    if (!pthread_equal(pthread_self(), loop_caller))
        (void)*closed;
    usleep(100000);
}

#define FAKE_NAME     "loop-segv"
#define FAKE_ON_ENTRY loop_host = host;
#define FAKE_ON_LAUNCH                                                                             \
    void *closed = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);                \
    loop_caller = pthread_self();                                                                  \
    loop_host->parallel_for(loop_range, closed, 64, 1);                                            \
    (void)*(volatile char *)closed;
#include "fake.h"
