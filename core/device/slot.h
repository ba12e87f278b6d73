/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot.h: every call of a plugin's slot is announced here, so that tfrun/slot.h can tell which
 * plugin a thread is in, and checked here when it returns: it must leave the floating-point mode as
 * it was. TFR__SLOT does both around one call. The walk of a plan, which may make millions of calls
 * a second, does the same by hand: one store a call.
 *
 * The texts of an announced call belong to graphs and runtimes, and somebody may be reading them
 * when the call ends: tfr__threads_settle waits for that. TFR__SLOT does so after each call, a plan
 * before it is destroyed, for its announcements stay as long as it does.
 */
#ifndef TFR_CORE_SLOT_H
#define TFR_CORE_SLOT_H

#include <tfrun/slot.h>

#include "base/port/fpmode.h"
#include "base/thread.h"

struct tfr__plugin;

/* Is the floating-point mode of this thread, and of those that helped it, still this one? */
static inline bool tfr__mode_is(const tfr__thread *thread, uint64_t mode)
{
    return tfr__fp_mode() == mode &&
           !atomic_load_explicit(&thread->mode_changed, memory_order_relaxed);
}

/*
 * The same for the walk of a plan, which may take 10 ns in all: what begin gave, 0 in the usual
 * mode, is what stays wants. In the usual mode they see rounding and subnormal numbers alone.
 */
extern __attribute__((tls_model("initial-exec"))) _Thread_local bool tfr__mode_silent;
uint64_t tfr__mode_read(void);

static inline uint64_t tfr__mode_begin(void)
{
    return __builtin_expect(tfr__mode_silent && tfr__fp_usual(), 1) ? 0 : tfr__mode_read();
}

static inline bool tfr__mode_stays(const tfr__thread *thread, uint64_t mode)
{
    return (__builtin_expect(!mode, 1) ? tfr__fp_usual() : tfr__mode_read() == mode) &&
           !atomic_load_explicit(&thread->mode_changed, memory_order_relaxed);
}

/* Sets the mode back, 0 = to the usual one. Returns what was changed, in words. */
const char *tfr__mode_restore(tfr__thread *thread, uint64_t mode);
/* Tells, once for each plugin, that it changed the mode in a call. plugin may be NULL. */
void tfr__mode_tell(struct tfr__plugin *plugin, const tfr__where *where, const char *what);

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
