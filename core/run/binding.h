/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binding.h: a run with fixed tensors. binding.c makes one, binding_run.c, which is compiled for
 * speed, runs it. A binding owns a plan of its own, so the session's cache neither finds nor drops
 * it. What a plan writes into a new tensor at each run is written into the caller's here.
 */
#ifndef TFR__BINDING_H
#define TFR__BINDING_H

#include "run/exec.h"
#include "run/session.h"

/* An output that is not where a kernel writes it: a known value, or what something else holds. */
typedef struct tfr__late_copy {
    const tfr_tensor *dst;
    const tfr_tensor *src; /* with its own strides; or NULL: */
    uint32_t buffer;
    uint32_t wanted; /* place in fetched */
} tfr__late_copy;

struct tfr_binding {
    tfr_session *session;
    tfr__frame frame;
    tfr__plan *plan;
    tfr_tensor **outputs; /* retained */
    uint32_t n_outputs;
    tfr__late_copy *copies;
    uint32_t n_copies;
    bool *fetched; /* as the session's fetch, for runs that write some outputs */
    bool has_queue;
    bool only_walks;         /* a run is the walk of the plan alone */
    uint64_t n_runs;         /* goes on from the session's */
    tfr_random_state random; /* so does this */
};

#endif
