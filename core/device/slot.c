/* SPDX-License-Identifier: Apache-2.0 */
/* slot.c: calls of plugins' slots: announced, checked, and told (thread.c has the threads). */
#include "device/slot.h"

#include <float.h>
#include <string.h>

#include "device/loader.h"

/* ---- calls ----------------------------------------------------------------------------------- */

tfr__visit tfr__slot_enter(const char *plugin, const char *slot, const char *node, const char *op)
{
    tfr__thread *thread = tfr__thread_self();
    tfr__visit visit = {thread, tfr__thread_where(thread), tfr__mode_read()};
    if (visit.was)
        return visit;
    atomic_store_explicit(&thread->own.plugin, plugin, memory_order_relaxed);
    atomic_store_explicit(&thread->own.slot, slot, memory_order_relaxed);
    atomic_store_explicit(&thread->own.node, node, memory_order_relaxed);
    atomic_store_explicit(&thread->own.op, op, memory_order_relaxed);
    tfr__thread_begin(thread);
    tfr__thread_enter(thread, &thread->own);
    return visit;
}

void tfr__slot_leave(const tfr__visit *visit, tfr__plugin *plugin)
{
    tfr__thread *thread = visit->thread;
    const tfr__where *where = tfr__thread_where(thread);
    tfr__thread_leave(thread, visit->was);
    if (!visit->was)
        tfr__threads_settle();
    if (!tfr__mode_is(thread, visit->mode))
        tfr__mode_tell(plugin, where, tfr__mode_restore(thread, visit->mode));
}

/* ---- the floating-point mode ----------------------------------------------------------------- */

#ifdef TFR__FP_PROBE
const tfr__fp_sums tfr__fp_probe = TFR__FP_PROBE;
#endif
_Thread_local bool tfr__mode_silent; /* as far as is known: no exception traps in this thread */

uint64_t tfr__mode_read(void)
{
    const uint64_t mode = tfr__fp_mode();
    tfr__mode_silent = (mode & TFR__FP_SILENT) == TFR__FP_SILENT;
    return mode;
}

const char *tfr__mode_restore(tfr__thread *thread, uint64_t mode)
{
    const uint64_t now = tfr__fp_mode();
    if (!mode)
        mode = now & ~TFR__FP_UNUSUAL;
    tfr__fp_set(mode);
    /* The pool set back what its threads had; they do not say what it was. */
    return atomic_exchange(&thread->mode_changed, false) && now == mode
               ? "the floating-point mode of threads of the pool"
               : tfr__fp_difference(mode, now);
}

static void where_copy(const tfr__where *where, tfr_slot_call *out);

void tfr__mode_tell(tfr__plugin *plugin, const tfr__where *where, const char *what)
{
    tfr_slot_call call = TFR_SLOT_CALL_INIT;
    char text[256];
    if (!plugin || atomic_exchange(&plugin->mode_told, true))
        return;
    where_copy(where, &call);
    tfr_slot_format(&call, text, sizeof text);
    tfr__log(plugin->loader->runtime, TFR_LOG_WARNING, plugin->name,
             "changed %s in %s, which a plugin must not; it was set back, but what was computed "
             "meanwhile may be wrong",
             what, text);
    tfr__plugin_note(plugin, "changed %s in %s", what, text);
}

/* ---- the public face ------------------------------------------------------------------------- */

/* Copies what fits; names of nodes may hold anything. */
static void text_copy(const tfr__shared_text *from, char *to, size_t n)
{
    const char *text = atomic_load_explicit(from, memory_order_relaxed);
    size_t i = 0;
    for (; text && text[i] && i + 1 < n; i++)
        to[i] = (unsigned char)text[i] < ' ' || text[i] == 127 ? '?' : text[i];
    to[i] = 0;
}

static void where_copy(const tfr__where *where, tfr_slot_call *out)
{
    text_copy(&where->plugin, out->plugin, sizeof out->plugin);
    text_copy(&where->slot, out->slot, sizeof out->slot);
    text_copy(&where->node, out->node, sizeof out->node);
    text_copy(&where->op, out->op, sizeof out->op);
}

/* False if the thread is in no plugin. Allocates nothing and takes no lock. */
static bool row_copy(const tfr__thread *thread, tfr_slot_call *out)
{
    const uint64_t calls = atomic_load_explicit(&thread->calls, memory_order_acquire);
    const tfr__where *where = atomic_load_explicit(&thread->where, memory_order_acquire);
    tfr_slot_call copy = TFR_SLOT_CALL_INIT;
    if (!where || !atomic_load_explicit(&where->plugin, memory_order_relaxed))
        return false;
    where_copy(where, &copy);
    copy.flags = atomic_load_explicit(&thread->helps, memory_order_relaxed) ? TFR_SLOT_HELPS : 0;
    copy.thread = tfr__thread_number(thread);
    copy.call = calls * UINT64_C(0x9e3779b97f4a7c15) + (uintptr_t)where; /* odd: see thread.h */
    copy.size = out->size;
    memcpy(out, &copy, out->size < sizeof copy ? out->size : sizeof copy);
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&thread->calls, memory_order_relaxed) == calls &&
           atomic_load_explicit(&thread->where, memory_order_relaxed) == where;
}

bool tfr_slot_current(tfr_slot_call *out)
{
    const tfr__thread *thread = tfr__thread_known;
    return thread && tfr__thread_number(thread) != UINT32_MAX && row_copy(thread, out);
}

bool tfr_slot_next(uint32_t *at, tfr_slot_call *out)
{
    const tfr__thread *thread;
    bool found = false;
    if (!tfr__threads_look())
        return false;
    while (!found && (thread = tfr__thread_at(*at)) != NULL) {
        found = row_copy(thread, out);
        ++*at;
    }
    tfr__threads_looked();
    return found;
}

static void text_add(char *text, size_t n, size_t *used, const char *more)
{
    while (*more && *used + 1 < n)
        text[(*used)++] = *more++;
}

const char *tfr_slot_format(const tfr_slot_call *call, char *text, size_t n)
{
    size_t used = 0;
    if (!n)
        return text;
    text_add(text, n, &used, call->slot);
    if (call->node[0]) {
        text_add(text, n, &used, call->op[0] ? " of node \"" : " of the program from node \"");
        text_add(text, n, &used, call->node);
        text_add(text, n, &used, call->op[0] ? "\" (" : "\"");
        text_add(text, n, &used, call->op);
        text_add(text, n, &used, call->op[0] ? ")" : "");
    } else if (call->op[0]) {
        text_add(text, n, &used, " of ");
        text_add(text, n, &used, call->op);
    }
    text[used] = 0;
    return text;
}
