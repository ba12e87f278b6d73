/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot.c: the table of threads that have called a plugin. Its rows are never freed, so that a
 * signal handler may read them at any time; a thread gives its row back when it ends. There is one
 * lock, held while somebody reads texts of other threads; nobody waits for it but those who are
 * about to free such texts.
 */
#include "slot.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "loader.h"

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

/* ---- rows ------------------------------------------------------------------------------------ */

static void row_clear(tfr__thread *thread)
{
    tfr__slot_over(thread, NULL);
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

/* ---- calls ----------------------------------------------------------------------------------- */

tfr__visit tfr__slot_enter(const char *plugin, const char *slot, const char *node, const char *op)
{
    tfr__thread *thread = tfr__thread_self();
    tfr__visit visit = {thread, tfr__slot_where(thread), tfr__fp_mode()};
    if (visit.was)
        return visit;
    atomic_store_explicit(&thread->own.plugin, plugin, memory_order_relaxed);
    atomic_store_explicit(&thread->own.slot, slot, memory_order_relaxed);
    atomic_store_explicit(&thread->own.node, node, memory_order_relaxed);
    atomic_store_explicit(&thread->own.op, op, memory_order_relaxed);
    tfr__slot_announce(thread, &thread->own);
    return visit;
}

void tfr__slot_leave(const tfr__visit *visit, tfr__plugin *plugin)
{
    tfr__thread *thread = visit->thread;
    const tfr__where *where = tfr__slot_where(thread);
    tfr__slot_over(thread, visit->was);
    if (!visit->was)
        tfr__slots_settle();
    if (!tfr__mode_is(thread, visit->mode))
        tfr__mode_tell(plugin, where, tfr__mode_restore(thread, visit->mode));
}

void tfr__slots_settle(void)
{
    while (atomic_flag_test_and_set_explicit(&is_read, memory_order_acquire))
        sched_yield();
    atomic_flag_clear_explicit(&is_read, memory_order_release);
}

/* ---- the floating-point mode ----------------------------------------------------------------- */

const char *tfr__mode_restore(tfr__thread *thread, uint64_t mode)
{
    const uint64_t now = tfr__fp_mode();
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
static void text_copy(const tfr__text *from, char *to, size_t n)
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
    const uint64_t call = atomic_load_explicit(&thread->calls, memory_order_acquire);
    const tfr__where *where = atomic_load_explicit(&thread->where, memory_order_acquire);
    tfr_slot_call copy = TFR_SLOT_CALL_INIT;
    if (!where || !atomic_load_explicit(&where->plugin, memory_order_relaxed))
        return false;
    where_copy(where, &copy);
    copy.flags = atomic_load_explicit(&thread->helps, memory_order_relaxed) ? TFR_SLOT_HELPS : 0;
    copy.thread = (uint32_t)(thread - threads);
    copy.call = call;
    copy.size = out->size;
    memcpy(out, &copy, out->size < sizeof copy ? out->size : sizeof copy);
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&thread->calls, memory_order_relaxed) == call;
}

bool tfr_slot_current(tfr_slot_call *out)
{
    const tfr__thread *thread = tfr__thread_known;
    return thread && thread != &nobody && row_copy(thread, out);
}

bool tfr_slot_next(uint32_t *at, tfr_slot_call *out)
{
    bool found = false;
    if (atomic_flag_test_and_set_explicit(&is_read, memory_order_acquire))
        return false;
    while (!found && *at < atomic_load(&n_threads))
        found = row_copy(&threads[(*at)++], out);
    atomic_flag_clear_explicit(&is_read, memory_order_release);
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
