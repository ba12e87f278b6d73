/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot.h: every call of a plugin's slot is announced here, so that tfrun/slot.h can tell which
 * plugin a thread is in, and checked here when it returns: it must leave the floating-point mode as
 * it was. TFR__SLOT does both around one call. The walk of a plan, which may make millions of calls
 * a second, does the same by hand: two stores a call.
 *
 * The texts of an announced call belong to graphs and runtimes, and somebody may be reading them
 * when the call ends: tfr__slots_settle waits for that. TFR__SLOT does so after each call, a plan
 * before it is destroyed, for its announcements stay as long as it does.
 */
#ifndef TFR_CORE_SLOT_H
#define TFR_CORE_SLOT_H

#include <stdatomic.h>
#include <tfrun/slot.h>

#include "port/fpmode.h"

struct tfr__plugin;

typedef _Atomic(const char *) tfr__text;

/* A call of a slot; plugin NULL = of none. */
typedef struct tfr__where {
    tfr__text plugin, slot, node, op;
} tfr__where;

/* What is known of a thread; only the thread itself writes it, and the pool for its helpers. */
typedef struct tfr__thread {
    _Alignas(128) _Atomic(const tfr__where *) where; /* NULL = in no plugin */
    _Atomic uint64_t calls;                          /* begun so far */
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

/* where lives until a tfr__slots_settle after the call. */
static inline void tfr__slot_announce(tfr__thread *thread, const tfr__where *where)
{
    const uint64_t calls = atomic_load_explicit(&thread->calls, memory_order_relaxed);
    atomic_store_explicit(&thread->calls, calls + 1, memory_order_relaxed);
    atomic_store_explicit(&thread->where, where, memory_order_release);
}

/* The call is over; was is what the thread was in before, mostly nothing. */
static inline void tfr__slot_over(tfr__thread *thread, const tfr__where *was)
{
    atomic_store_explicit(&thread->where, was, memory_order_release);
}

static inline const tfr__where *tfr__slot_where(const tfr__thread *thread)
{
    return atomic_load_explicit(&thread->where, memory_order_relaxed);
}

/* Is the floating-point mode of this thread, and of those that helped it, still this one? */
static inline bool tfr__mode_is(const tfr__thread *thread, uint64_t mode)
{
    return tfr__fp_mode() == mode &&
           !atomic_load_explicit(&thread->mode_changed, memory_order_relaxed);
}

/* Sets the mode back. Returns what was changed, in words. */
const char *tfr__mode_restore(tfr__thread *thread, uint64_t mode);
/* Tells, once for each plugin, that it changed the mode in a call. plugin may be NULL. */
void tfr__mode_tell(struct tfr__plugin *plugin, const tfr__where *where, const char *what);

void tfr__slots_settle(void);

typedef struct tfr__visit {
    tfr__thread *thread;
    const tfr__where *was;
    uint64_t mode;
} tfr__visit;

/* node and op may be NULL. In a call that is announced already, that one stays. */
tfr__visit tfr__slot_enter(const char *plugin, const char *slot, const char *node, const char *op);
void tfr__slot_leave(const tfr__visit *visit, struct tfr__plugin *plugin);

/* The statement calls this slot of the backend. */
#define TFR__SLOT(backend, slot, node, op, statement)                                              \
    do {                                                                                           \
        const tfr__visit visit_ = tfr__slot_enter((backend)->plugin_name, slot, node, op);         \
        statement;                                                                                 \
        tfr__slot_leave(&visit_, (backend)->plugin);                                               \
    } while (0)

#endif
