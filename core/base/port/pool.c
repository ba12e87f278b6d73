/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.c: the caller gives a loop to some workers, takes part itself, and at the end takes the loop
 * back from those that have not begun, so that it never waits for a thread to wake up for nothing.
 * Each thread has its first range by its number, so that it meets the same data in loop after loop;
 * the others are handed out by one counter.
 *
 * Each worker has one word that says what it does; every change of hands is a change of this word:
 *
 *   IDLE -> PARKED          worker: has looked at its word for long enough and goes to sleep
 *   IDLE, PARKED -> GIVEN   caller: there is a loop; wakes a sleeper
 *   GIVEN -> RUNNING        worker: begins; from now on it reads the pool's loop
 *   GIVEN -> IDLE           caller: takes it back
 *   RUNNING -> AWAITED      caller: has nothing left to do and goes to sleep
 *   RUNNING, AWAITED -> IDLE worker: is done; wakes the caller
 *   any -> STOP             tfr__pool_destroy, between loops
 *
 * The fields of the loop are written by a caller that holds the pool while all workers are IDLE or
 * PARKED, and read by RUNNING workers only: GIVEN is stored with release and taken with acquire,
 * IDLE the same in the other direction.
 */
#include "pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>

#include "base/alloc.h"
#include "clock.h"
#include "cpus.h"
#include "fpmode.h"
#include "park.h"
#include "base/thread.h"

enum { IDLE, PARKED, GIVEN, RUNNING, AWAITED, STOP };

/*
 * How long a worker looks at its word before it sleeps, in ns. The gaps between the loops of one
 * run take some tens of us, a sleep and a wake-up together about 20. It begins with FIRST, doubles
 * when a sleep turned out to be shorter than MOST, and halves when it did not.
 */
#define SPIN_LEAST 20000
#define SPIN_FIRST 50000
#define SPIN_MOST  200000
/*
 * How long a caller that is done looks at a worker that is not: as long as the loop has taken so
 * far, so that waiting at most doubles what it costs, within bounds. Processors of unequal speed
 * are the rule on shared hosts, and to sleep for the last part of a loop of 200 us, which each time
 * costs 60 us in a virtual machine, is as long as that part.
 */
#define PATIENCE_LEAST SPIN_FIRST
#define PATIENCE_MOST  1000000
/* Looks between two looks at the clock. */
#define LOOKS 16
/* Ranges per thread when the caller leaves the choice: evens out threads of unequal speed. */
#define RANGES_PER_THREAD 4
#define MAX_THREADS       1024

/* As far apart as the lines that processors fetch in pairs, so that spinning disturbs nobody. */
typedef struct worker {
    _Alignas(128) tfr__word state;
    pthread_t thread;
    tfr__pool *pool;
    uint32_t number; /* from 1; the caller is 0 */
    int cpu;         /* that it is pinned to, or -1; changed by the holder of the pool only */
} worker;

struct tfr__pool {
    uint32_t n_threads; /* the caller's among them */
    bool pins;
    /* Held by the caller whose loop is running: 2 * generation of the process, + 1 = held. */
    tfr__word holder;
    uint32_t n_workers; /* started ones; changed by the holder only */
    worker *workers;    /* n_threads - 1 of them */
    int home;           /* the processor without a pinned worker, or -1 */
    /* The loop. */
    tfr_range_fn fn;
    void *user;
    const tfr__where *where;  /* the call that the loop belongs to */
    atomic_bool mode_changed; /* by a range, on a worker */
    int64_t n;
    int64_t grain;
    uint64_t n_ranges;
    _Alignas(128) _Atomic uint64_t next_range;
};

static atomic_bool may_pin = true;

/* Counts forks on the way to this process; a pool of an older generation has lost its threads. */
static _Atomic uint32_t generation;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
/* Does this thread run a range just now? */
static _Thread_local bool is_inside;
/* Its number in the loop: a worker's own, 0 for all other threads. */
static _Thread_local uint32_t lane;

static void after_fork_in_child(void)
{
    atomic_fetch_add(&generation, 1);
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, after_fork_in_child);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static void run_range(const tfr__pool *pool, uint64_t i)
{
    const int64_t begin = (int64_t)i * pool->grain;
    const int64_t left = pool->n - begin;
    pool->fn(pool->user, begin, begin + (left < pool->grain ? left : pool->grain));
}

/* The thread's own first range, then what is left for all. */
static void run_ranges(tfr__pool *pool, uint32_t number)
{
    for (uint64_t i = number; i < pool->n_ranges;
         i = atomic_fetch_add_explicit(&pool->next_range, 1, memory_order_relaxed))
        run_range(pool, i);
}

static void run_serially(tfr_range_fn fn, void *user, int64_t n, int64_t grain)
{
    const bool was_inside = is_inside;
    is_inside = true;
    for (int64_t begin = 0; begin < n;) {
        const int64_t end = n - begin < grain ? n : begin + grain;
        fn(user, begin, end);
        begin = end;
    }
    is_inside = was_inside;
}

/* ---- workers --------------------------------------------------------------------------------- */

/* Looks at the word for a time while it is one of two states; returns what it is at the end. */
static uint32_t spin(const tfr__word *word, uint32_t one, uint32_t other, uint64_t ns)
{
    uint64_t end = 0;
    for (;;) {
        for (int i = 0; i < LOOKS; i++) {
            const uint32_t state = atomic_load_explicit(word, memory_order_acquire);
            if (state != one && state != other)
                return state;
            tfr__spin_pause();
        }
        const uint64_t now = tfr__now_ns();
        if (end == 0)
            end = now + ns;
        else if (now >= end)
            return one;
    }
}

/* Returns when the word is GIVEN or STOP. */
static uint32_t await_loop(worker *self, uint64_t *spin_ns)
{
    for (;;) {
        uint32_t state = spin(&self->state, IDLE, IDLE, *spin_ns);
        if (state != IDLE)
            return state;
        if (!atomic_compare_exchange_strong(&self->state, &state, PARKED))
            continue;
        const uint64_t began = tfr__now_ns();
        while (atomic_load_explicit(&self->state, memory_order_acquire) == PARKED)
            tfr__park(&self->state, PARKED);
        if (tfr__now_ns() - began < SPIN_MOST)
            *spin_ns = *spin_ns * 2 < SPIN_MOST ? *spin_ns * 2 : SPIN_MOST;
        else
            *spin_ns = *spin_ns / 2 > SPIN_LEAST ? *spin_ns / 2 : SPIN_LEAST;
    }
}

/* The worker's share of a loop, which is announced as the caller's call. */
static void help(const worker *self, tfr__thread *thread, uint64_t mode)
{
    tfr__pool *pool = self->pool;
    tfr__thread_begin(thread);
    tfr__thread_enter(thread, pool->where);
    run_ranges(pool, self->number);
    tfr__thread_leave(thread, NULL);
    if (__builtin_expect(tfr__fp_mode() != mode, 0)) {
        tfr__fp_set(mode);
        atomic_store_explicit(&pool->mode_changed, true, memory_order_relaxed);
    }
}

static void *worker_main(void *argument)
{
    worker *self = argument;
    uint64_t spin_ns = SPIN_FIRST;
    char name[16];
    snprintf(name, sizeof name, "tfr-pool-%u", self->number % 100000);
    pthread_setname_np(pthread_self(), name);
    is_inside = true;
    lane = self->number;
    tfr__thread *thread = tfr__thread_self();
    atomic_store(&thread->helps, true);
    const uint64_t mode = tfr__fp_mode();
    while (await_loop(self, &spin_ns) != STOP) {
        uint32_t state = GIVEN;
        /* The caller may have taken it back. */
        if (!atomic_compare_exchange_strong(&self->state, &state, RUNNING))
            continue;
        help(self, thread, mode);
        if (atomic_exchange(&self->state, IDLE) == AWAITED)
            tfr__unpark(&self->state);
    }
    return NULL;
}

/*
 * Workers have processors of their own if the pool of the process has a thread for each that there
 * is and the loop may have all: then nobody has to choose. The caller's threads are never pinned,
 * so a worker takes another processor than the one that starts it. A quota makes the pool narrower
 * than the mask.
 */
static int choose_cpu(tfr__pool *pool, uint32_t number, bool is_widest)
{
    if (pool->n_workers == 0)
        pool->home = -1;
    if (!is_widest || !pool->pins || !atomic_load_explicit(&may_pin, memory_order_relaxed) ||
        pool->n_threads != tfr__cpus_allowed())
        return -1;
    if (pool->home < 0)
        pool->home = sched_getcpu();
    return tfr__cpus_nth(number - 1, pool->home);
}

/* A caller that has moved to the processor of a worker changes places with it: else both would be
 * there, for the worker cannot go elsewhere. */
static void make_way(tfr__pool *pool)
{
    const int here = pool->home < 0 ? -1 : sched_getcpu();
    if (here == pool->home)
        return;
    for (uint32_t i = 0; i < pool->n_workers; i++) {
        worker *w = &pool->workers[i];
        if (w->cpu != here)
            continue;
        w->cpu = pool->home;
        pool->home = here;
        tfr__cpus_pin(w->thread, w->cpu);
    }
}

/* At least `wanted` workers, or as many as the system gives. The caller holds the pool. */
static uint32_t start_workers(tfr__pool *pool, uint32_t wanted, bool is_widest)
{
    static const int faults[] = {SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t all;
    sigset_t before;
    if (pool->n_workers >= wanted)
        return wanted;
    /* The signals of the program are for its own threads, but those of faults belong to whoever
     * makes them: a program that handles them is to hear of them. */
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool->n_workers < wanted) {
        worker *w = &pool->workers[pool->n_workers];
        atomic_store(&w->state, IDLE);
        w->pool = pool;
        w->number = pool->n_workers + 1;
        w->cpu = choose_cpu(pool, w->number, is_widest);
        if (pthread_create(&w->thread, NULL, worker_main, w) != 0)
            break;
        tfr__cpus_pin(w->thread, w->cpu);
        pool->n_workers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pool->n_workers;
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* False if another thread's loop is running. In a child of fork it forgets the parent's threads. */
static bool pool_hold(tfr__pool *pool)
{
    const uint32_t now = atomic_load(&generation) * 2;
    uint32_t seen = atomic_load_explicit(&pool->holder, memory_order_relaxed);
    if (seen == now + 1)
        return false;
    if (!atomic_compare_exchange_strong(&pool->holder, &seen, now + 1))
        return false;
    if (seen != now)
        pool->n_workers = 0;
    return true;
}

static void pool_let_go(tfr__pool *pool)
{
    atomic_store(&pool->holder, atomic_load(&generation) * 2);
}

static void give(worker *w)
{
    if (atomic_exchange(&w->state, GIVEN) == PARKED)
        tfr__unpark(&w->state);
}

/* Takes the loop back and does the worker's share, or waits until it is done with its last range.
 */
static void take_back(worker *w, uint64_t began)
{
    uint32_t state = GIVEN;
    if (atomic_compare_exchange_strong(&w->state, &state, IDLE)) {
        run_range(w->pool, w->number);
        return;
    }
    uint64_t ns = tfr__now_ns() - began;
    ns = ns < PATIENCE_LEAST ? PATIENCE_LEAST : ns > PATIENCE_MOST ? PATIENCE_MOST : ns;
    if (spin(&w->state, RUNNING, RUNNING, ns) != RUNNING)
        return;
    state = RUNNING;
    if (!atomic_compare_exchange_strong(&w->state, &state, AWAITED))
        return;
    while (atomic_load_explicit(&w->state, memory_order_acquire) == AWAITED)
        tfr__park(&w->state, AWAITED);
}

void tfr__pool_run(tfr__pool *pool, uint32_t max_threads, tfr_range_fn fn, void *user, int64_t n,
                   int64_t grain)
{
    uint32_t n_threads = pool->n_threads;
    if (n <= 0)
        return;
    const bool is_widest = max_threads == 0 || max_threads >= n_threads;
    if (!is_widest)
        n_threads = max_threads;
    if (grain <= 0) {
        const int64_t ranges = n_threads > 1 ? (int64_t)n_threads * RANGES_PER_THREAD : 1;
        grain = n / ranges + (n % ranges != 0);
    }
    const uint64_t n_ranges = (uint64_t)(n / grain) + (n % grain != 0);
    if (n_ranges < n_threads)
        n_threads = (uint32_t)n_ranges;
    if (n_threads == 1 || is_inside || !pool_hold(pool)) {
        run_serially(fn, user, n, grain);
        return;
    }
    const uint32_t n_workers = start_workers(pool, n_threads - 1, is_widest);
    pool->fn = fn;
    pool->user = user;
    pool->where = tfr__thread_known ? tfr__thread_where(tfr__thread_known) : NULL;
    pool->n = n;
    pool->grain = grain;
    pool->n_ranges = n_ranges;
    atomic_store_explicit(&pool->next_range, n_workers + 1, memory_order_relaxed);
    make_way(pool);
    const uint64_t began = tfr__now_ns();
    for (uint32_t i = 0; i < n_workers; i++)
        give(&pool->workers[i]);
    is_inside = true;
    run_ranges(pool, 0);
    for (uint32_t i = 0; i < n_workers; i++)
        take_back(&pool->workers[i], began);
    is_inside = false;
    if (atomic_load_explicit(&pool->mode_changed, memory_order_relaxed)) {
        atomic_store_explicit(&pool->mode_changed, false, memory_order_relaxed);
        atomic_store_explicit(&tfr__thread_self()->mode_changed, true, memory_order_relaxed);
    }
    pool_let_go(pool);
}

/* ---- life ------------------------------------------------------------------------------------ */

tfr__pool *tfr__pool_create(uint32_t n_threads)
{
    pthread_once(&fork_once, watch_forks);
    n_threads = n_threads < 1 ? 1 : n_threads > MAX_THREADS ? MAX_THREADS : n_threads;
    tfr__pool *pool = tfr__alloc_aligned(sizeof *pool, _Alignof(tfr__pool));
    worker *workers = tfr__alloc_aligned(n_threads * sizeof *workers, _Alignof(worker));
    if (!pool || !workers) {
        tfr__free(pool);
        tfr__free(workers);
        return NULL;
    }
    *pool = (tfr__pool){.n_threads = n_threads, .workers = workers};
    atomic_init(&pool->holder, atomic_load(&generation) * 2);
    atomic_init(&pool->next_range, 0);
    for (uint32_t i = 0; i < n_threads; i++)
        atomic_init(&workers[i].state, IDLE);
    return pool;
}

void tfr__pool_destroy(tfr__pool *pool)
{
    if (!pool)
        return;
    /* In a child of fork there are no threads to stop. */
    if (atomic_load(&pool->holder) / 2 != atomic_load(&generation))
        pool->n_workers = 0;
    for (uint32_t i = 0; i < pool->n_workers; i++) {
        if (atomic_exchange(&pool->workers[i].state, STOP) == PARKED)
            tfr__unpark(&pool->workers[i].state);
        pthread_join(pool->workers[i].thread, NULL);
    }
    tfr__free(pool->workers);
    tfr__free(pool);
}

uint32_t tfr__pool_threads(const tfr__pool *pool)
{
    return pool->n_threads;
}

static tfr__pool *process_pool;
static pthread_once_t process_once = PTHREAD_ONCE_INIT;
/* Without memory for more, loops still run, on the caller's thread. */
static tfr__pool serial_pool = {.n_threads = 1};

static void make_process_pool(void)
{
    tfr__pool *pool = tfr__pool_create(tfr__cpus_width());
    if (pool)
        pool->pins = true;
    process_pool = pool ? pool : &serial_pool;
}

void tfr__pool_may_pin(bool may)
{
    atomic_store(&may_pin, may);
}

uint32_t tfr__pool_lane(void)
{
    return lane;
}

tfr__pool *tfr__pool_get(void)
{
    pthread_once(&process_once, make_process_pool);
    return process_pool;
}
