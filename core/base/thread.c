/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.c: the table of threads that have called a plugin. Its rows are never freed, so that a
 * signal handler may read them at any time; a thread gives its row back when it ends. There is one
 * lock, held while somebody reads texts of other threads; nobody waits for it but those who are
 * about to free such texts.
 */
#include "base/thread.h"

#include <pthread.h>
#include <sched.h>

/* Threads that have called a plugin and live; of more it is not known what they do. */
enum { MOST_THREADS = 1024 };

_Thread_local tfr__thread *tfr__thread_known;

static tfr__thread threads[MOST_THREADS];
static _Atomic uint32_t n_threads; /* rows that were ever taken */
static tfr__thread nobody;         /* shared by all that found no row */
static atomic_flag is_read = ATOMIC_FLAG_INIT;

static pthread_key_t row_key;
static bool has_key;
static pthread_once_t row_once = PTHREAD_ONCE_INIT;

static void row_clear(tfr__thread *thread)
{
    tfr__thread_leave(thread, NULL);
    atomic_store(&thread->helps, false);
    atomic_store(&thread->mode_changed, false);
    atomic_store(&thread->is_taken, false);
}

static void row_give_back(void *row)
{
    tfr__thread_known = NULL;
    row_clear(row);
}

/* Whatever the other threads were in, they are not there in a child of fork. */
static void rows_after_fork(void)
{
    for (uint32_t i = 0; i < atomic_load(&n_threads); i++)
        if (&threads[i] != tfr__thread_known)
            row_clear(&threads[i]);
    atomic_flag_clear(&is_read);
}

static void rows_init(void)
{
    has_key = pthread_key_create(&row_key, row_give_back) == 0;
    (void)pthread_atfork(NULL, NULL, rows_after_fork);
}

tfr__thread *tfr__thread_enlist(void)
{
    pthread_once(&row_once, rows_init);
    tfr__thread_known = &nobody;
    for (uint32_t i = 0; has_key && i < MOST_THREADS; i++) {
        tfr__thread *row = &threads[i];
        uint32_t n = atomic_load(&n_threads);
        if (atomic_load(&row->is_taken) || atomic_exchange(&row->is_taken, true))
            continue;
        while (n <= i && !atomic_compare_exchange_weak(&n_threads, &n, i + 1))
            ;
        if (pthread_setspecific(row_key, row) == 0)
            tfr__thread_known = row;
        else
            atomic_store(&row->is_taken, false);
        break;
    }
    return tfr__thread_known;
}

/* ---- looking --------------------------------------------------------------------------------- */

bool tfr__threads_look(void)
{
    return !atomic_flag_test_and_set_explicit(&is_read, memory_order_acquire);
}

void tfr__threads_looked(void)
{
    atomic_flag_clear_explicit(&is_read, memory_order_release);
}

const tfr__thread *tfr__thread_at(uint32_t number)
{
    return number < atomic_load(&n_threads) ? &threads[number] : NULL;
}

uint32_t tfr__thread_number(const tfr__thread *thread)
{
    return thread == &nobody ? UINT32_MAX : (uint32_t)(thread - threads);
}

void tfr__threads_settle(void)
{
    while (atomic_flag_test_and_set_explicit(&is_read, memory_order_acquire))
        sched_yield();
    atomic_flag_clear_explicit(&is_read, memory_order_release);
}
