/* SPDX-License-Identifier: Apache-2.0 */
/* park.c: sleeping on a word. See park.h. */
#include "park.h"

#ifdef __linux__

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A failure (the word has changed, a signal came) is a wake-up, too. */
void tfr__park(tfr__word *word, uint32_t value)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void tfr__unpark(tfr__word *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

#else

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void tfr__park(tfr__word *word, uint32_t value)
{
    pthread_mutex_lock(&lock);
    if (atomic_load(word) == value)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

void tfr__unpark(tfr__word *word)
{
    (void)word;
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

#endif
