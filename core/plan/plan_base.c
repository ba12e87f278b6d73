/* SPDX-License-Identifier: Apache-2.0 */
/* plan_base.c: what all that makes and ends plans calls, and what calls none of it. */
#include "base/alloc.h"
#include "plan/plan_build.h"

void tfr__kernel_drop(const tfr__streams *streams, tfr__backend *backend, tfr_kernel *kernel)
{
    if (tfr__stream_is_stuck(streams, backend))
        return;
    pthread_mutex_lock(&backend->lock);
    TFR__SLOT(backend, "drop", NULL, NULL, backend->kernel.drop(backend->device, kernel));
    pthread_mutex_unlock(&backend->lock);
}

void tfr__plan_keep(tfr__plan *p, tfr_tensor *t)
{
    tfr_tensor **more = t ? tfr__grow(p->known, p->n_known, sizeof *more) : NULL;
    if (more) {
        p->known = more;
        p->known[p->n_known++] = tfr_tensor_retain(t);
    } else if (t) {
        tfr_tensor_retain(t); /* for ever, then */
    }
}
