/* SPDX-License-Identifier: Apache-2.0 */
/* session.h: a session, and what keeps one without holding its runtime (immediate.c). */
#ifndef TFR_CORE_SESSION_H
#define TFR_CORE_SESSION_H

#include <tfrun/session.h>

#include "base/port/clock.h"
#include "run/frame.h"

struct tfr_session {
    tfr_runtime *runtime;
    tfr_graph *graph;
    const tfr_graph *source; /* whose constants it has */
    tfr__subgraph *main;
    int32_t fallback; /* tfr_fallback, never DEFAULT */
    bool log_placement, warned, loose_shapes, mode_warned;
    uint32_t max_plans;
    uint64_t timeout_ns; /* that a run may take, 0 = any */
    /* What the run at hand gives out: by value, and behind that by output; NULL = all. fetch.c */
    const bool *fetch;
    bool *fetch_room;          /* what that points to when it is not NULL */
    tfr_tensor **fetch_places; /* of all outputs, when some are given out */
    tfr__plan **used;          /* plans of the last run, in order */
    uint32_t n_used, used_capacity;
    uint32_t n_passes_run;           /* of this run, through bodies of control flow */
    uint32_t n_rows, n_program_rows; /* of the report on the last run */
    uint64_t n_plans, n_plans_dropped, plan_ns;
    uint32_t most_repeats, repeats; /* runs that the one at hand may stand for, and does */
    bool plan_runs;                 /* none of those that the run has used may go */
    uint64_t n_finds;               /* of plans, so that the one not used for longest can be told */
    struct tfr__pass_row *passes;   /* one per pass, or NULL: none ran */
    tfr_value *appends; /* by value: the input that tfr_session_append was told; NULL = none */
    atomic_bool is_traced;
    struct tfr__trace *trace; /* trace.c; stays when is_traced ends */
    tfr__plan_env plans;
    pthread_mutex_t lock; /* one run at a time */
    tfr__variables variables;
    tfr__frame frame;     /* of the run that holds the lock; empty between runs */
    tfr__streams streams; /* a binding without the lock uses its own */
};

/* As tfr_session_create, but the runtime must outlive the session. */
tfr_status tfr__session_create(tfr_runtime *runtime, tfr_graph *graph,
                               const tfr_session_options *options, tfr_session **out, tfr_err *err);
void tfr__session_destroy(tfr_session *session);

/* When a run that begins now has to end, by tfr__now_ns. */
static inline uint64_t tfr__session_deadline(const tfr_session *session)
{
    const uint64_t now = tfr__now_ns();
    return session->timeout_ns < UINT64_MAX - now ? now + session->timeout_ns : UINT64_MAX;
}

/* A run or planning begins, with the lock held: sets the deadline; TFR_EDEVICE: a queue is stuck.
 */
tfr_status tfr__session_begin(tfr_session *session, tfr_err *err);

/* A run, or planning alone, with the lock held. outputs has room for all, and is NULL there. */
tfr_status tfr__session_run(tfr_session *session, tfr_tensor *const *inputs, uint32_t n_inputs,
                            tfr_tensor **outputs, bool run, tfr_err *err);
/* Sets which outputs of the graph are wanted, as session.fetch has it: n, each once. fetch.c */
tfr_status tfr__fetch_set(const tfr_graph *graph, const uint32_t *fetch, uint32_t n, bool *wanted,
                          tfr_err *err);

/* Checks inputs against the graph and puts them, and the variables, into frame; with tensors these
 * hold their states, else only those of host_only do. */
tfr_status tfr__session_bind_inputs(tfr_session *session, tfr__frame *frame,
                                    tfr_tensor *const *inputs, uint32_t n_inputs, bool tensors,
                                    tfr_err *err);

#endif
