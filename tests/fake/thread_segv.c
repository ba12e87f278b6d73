/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a thread that reads memory that it may not read, and waits for it, in launch. */
#include <pthread.h>
#include <sys/mman.h>

static void *thread_main(void *closed)
{
    (void)*(volatile char *)closed;
    return NULL;
}

#define FAKE_NAME "thread-segv"
#define FAKE_ON_LAUNCH                                                                             \
    pthread_t thread;                                                                              \
    pthread_create(&thread, NULL, thread_main,                                                     \
                   mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));               \
    pthread_join(thread, NULL);
#include "fake.h"
