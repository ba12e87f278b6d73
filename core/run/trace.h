/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.h: how the core notes what it does while a session is traced (tfrun/trace.h). The walk of a
 * traced plan is a function of its own, chosen once per walk, so that the usual one knows nothing
 * of it.
 */
#ifndef TFR_CORE_TRACE_H
#define TFR_CORE_TRACE_H

#include <tfrun/trace.h>

#include "run/session.h"
#include "base/port/clock.h"

static inline bool tfr__is_traced(const tfr_session *session)
{
    return atomic_load_explicit(&session->is_traced, memory_order_relaxed);
}

/* The time if the session is traced, else 0: tfr__trace_add then does nothing. */
static inline uint64_t tfr__trace_begin(const tfr_session *session)
{
    return tfr__is_traced(session) ? tfr__now_ns() : 0;
}

/* An event of the calling thread, from began to now, about a node, or, with -1, about the graph. */
void tfr__trace_add(tfr_session *session, tfr_trace_kind kind, uint64_t began, uint64_t run,
                    const tfr_graph *graph, int32_t node);
/* As tfr__plan_walk. */
tfr_status tfr__trace_walk(tfr_session *session, tfr__plan *plan, uint64_t run, tfr_err *err);
/* Takes the plugins' records, if the session is traced; nothing may be under way. */
void tfr__trace_drain(tfr_session *session);
/* With the session. */
void tfr__trace_free(tfr_session *session);

#endif
