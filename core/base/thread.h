/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.h: the threads that have called a plugin, and which call each of them is in. A signal
 * handler may look at any of them at any time: the rows are never freed and nothing here that reads
 * them allocates. What the calls mean is said in slot.h.
 */
#ifndef TFR_CORE_THREAD_H
#define TFR_CORE_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text that somebody else may be reading while it is replaced. */
typedef _Atomic(const char *) tfr__shared_text;

/* A call of a slot; plugin NULL = of none. */
typedef struct tfr__where {
    tfr__shared_text plugin, slot, node, op;
} tfr__where;

/* What is known of a thread; only the thread itself writes it, and the pool for its helpers. */
typedef struct tfr__thread {
    _Alignas(128) _Atomic(const tfr__where *) where; /* NULL = in no plugin */
    _Atomic uint64_t calls;                          /* begun so far, a walk of a plan as one */
    tfr__where own;                                  /* the call, if it is in no plan */
    atomic_bool is_taken, helps;
    /* A thread of the pool found the mode changed after a loop that this thread had asked for. */
    atomic_bool mode_changed;
} tfr__thread;

/*
 * NULL until the thread calls a plugin. Of the initial-exec model, since a signal handler must find
 * it without allocating, and a walk without a call.
 */
extern __attribute__((tls_model("initial-exec"))) _Thread_local tfr__thread *tfr__thread_known;
tfr__thread *tfr__thread_enlist(void);

static inline tfr__thread *tfr__thread_self(void)
{
    return __builtin_expect(tfr__thread_known != NULL, 1) ? tfr__thread_known
                                                          : tfr__thread_enlist();
}

/*
 * A call begins, or a row of calls of which no two have the same where: the number and where tell
 * calls apart, so that a walk, which makes each call once, stores where alone.
 */
static inline void tfr__thread_begin(tfr__thread *thread)
{
    const uint64_t calls = atomic_load_explicit(&thread->calls, memory_order_relaxed);
    atomic_store_explicit(&thread->calls, calls + 1, memory_order_relaxed);
}

/* where lives until a tfr__threads_settle after the call. */
static inline void tfr__thread_enter(tfr__thread *thread, const tfr__where *where)
{
    atomic_store_explicit(&thread->where, where, memory_order_release);
}

/* The call is over; was is what the thread was in before, mostly nothing. */
static inline void tfr__thread_leave(tfr__thread *thread, const tfr__where *was)
{
    atomic_store_explicit(&thread->where, was, memory_order_release);
}

static inline const tfr__where *tfr__thread_where(const tfr__thread *thread)
{
    return atomic_load_explicit(&thread->where, memory_order_relaxed);
}

/* ---- looking at the threads of others; nothing here waits or allocates ----------------------- */

/* False if somebody else is looking. */
bool tfr__threads_look(void);
void tfr__threads_looked(void);
/* The row of a number, NULL behind the last one. */
const tfr__thread *tfr__thread_at(uint32_t number);
/* UINT32_MAX: there were too many threads for this one to get a row. */
uint32_t tfr__thread_number(const tfr__thread *thread);

/* Waits until nobody looks: texts of calls that are over may be freed then. */
void tfr__threads_settle(void);

#endif
