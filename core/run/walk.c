/* SPDX-License-Identifier: Apache-2.0 */
/* walk.c: walks a plan. Compiled for speed: nothing else is between the kernels of a run. */
#include <tfrun/fail.h>

#include "run/exec.h"
#include "base/port/clock.h"
#include "run/trace.h"

/* Some launch of the walk did it. Whose it was is found out by the next walk, if it does it again.
 */
__attribute__((cold, noinline)) static void modes_changed(tfr_session *session, tfr__plan *p,
                                                          tfr__thread *thread, uint64_t mode)
{
    const char *what = tfr__mode_restore(thread, mode);
    p->watch |= TFR__WATCH_MODES;
    tfr__log(session->runtime, TFR_LOG_WARNING, "floating-point",
             "a kernel changed %s, which it must not; it was set back, but results of this run may "
             "be wrong; the next run looks for the plugin, and so does TFRUN_CHECK_LAUNCHES=1",
             what);
}

/* Only what a run needs: all else is bound, and what failed is found out elsewhere. */
TFR__ANY_OBJECT
tfr_status tfr__plan_walk(tfr_session *session, tfr__plan *p, uint64_t run, tfr_err *err)
{
    int32_t status = TFR_OK;
    tfr_status special;
    if (err && err->size > offsetof(tfr_err, text)) {
        err->native = 0; /* what is said of a failure is said by who failed */
        err->text[0] = '\0';
        tfr_err_set_launch(err, 0);
    }
    if (__builtin_expect(p->watch || tfr__is_traced(session), 0) &&
        tfr__plan_walk_special(session, p, run, err, &special))
        return special;
    tfr__thread *const thread = tfr__thread_self();
    const tfr__where *const was = tfr__thread_where(thread);
    const uint64_t mode = tfr__mode_begin();
    tfr__bound *b = p->bound, *const end = b + p->n_steps;
    const tfr__where *where = p->where;
    tfr__thread_begin(thread);
    for (; b < end; b++, where++) {
        tfr__thread_enter(thread, where);
        status = b->call(b->device, b->queue, b->object, &b->launch, err);
        if (__builtin_expect(status, 0))
            break;
    }
    tfr__thread_leave(thread, was);
    if (__builtin_expect(!tfr__mode_stays(thread, mode), 0))
        modes_changed(session, p, thread, mode);
    return __builtin_expect(!status, 1)
               ? TFR_OK
               : tfr__plan_failed(session, p, (uint32_t)(b - p->bound), status, err);
}
