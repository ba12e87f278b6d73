/* SPDX-License-Identifier: Apache-2.0 */
/* fetch.c: runs of a session, with all outputs or some. */
#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "run/session.h"

tfr_status tfr__fetch_set(const tfr_graph *g, const uint32_t *fetch, uint32_t n, bool *wanted,
                          tfr_err *err)
{
    for (uint32_t i = 0; i < g->n_outputs; i++)
        wanted[g->outputs[i]] = wanted[g->n_values + i] = false;
    for (uint32_t i = 0; i < n; i++) {
        if (fetch[i] >= g->n_outputs)
            return tfr_fail(err, TFR_EINVAL, "output %u is wanted, the graph has %u outputs",
                            fetch[i], g->n_outputs);
        if (wanted[g->n_values + fetch[i]])
            return tfr_fail(err, TFR_EINVAL, "output %u, \"%s\", is wanted twice", fetch[i],
                            tfr_graph_output_name(g, fetch[i]));
        wanted[g->outputs[fetch[i]]] = wanted[g->n_values + fetch[i]] = true;
    }
    return TFR_OK;
}

tfr_status tfr_session_run(tfr_session *session, tfr_tensor *const *inputs, uint32_t n_inputs,
                           tfr_tensor **outputs, uint32_t n_outputs, tfr_err *err)
{
    tfr_status status;
    if (n_outputs != session->graph->n_outputs)
        return tfr_fail(err, TFR_EINVAL, "the graph has %u outputs, room was given for %u",
                        session->graph->n_outputs, n_outputs);
    memset(outputs, 0, n_outputs * sizeof *outputs);
    pthread_mutex_lock(&session->lock);
    status = tfr__session_run(session, inputs, n_inputs, outputs, true, err);
    pthread_mutex_unlock(&session->lock);
    return status;
}

/* What a run with some outputs needs, once for all of them. */
static tfr_status places_make(tfr_session *session, tfr_err *err)
{
    const tfr_graph *g = session->graph;
    if (!session->fetch_room)
        session->fetch_room = tfr__calloc((size_t)g->n_values + g->n_outputs + 1, sizeof(bool));
    if (!session->fetch_places)
        session->fetch_places = tfr__calloc((size_t)g->n_outputs + 1, sizeof(tfr_tensor *));
    return session->fetch_room && session->fetch_places ? TFR_OK : tfr__no_memory(err);
}

/* Up to *n runs, and takes those that were made from it. */
static tfr_status run_some(tfr_session *session, tfr_tensor *const *inputs, uint32_t n_inputs,
                           const uint32_t *fetch, uint32_t n_fetch, tfr_tensor **outputs,
                           uint32_t *n, tfr_err *err)
{
    tfr_status status;
    for (uint32_t i = 0; i < n_fetch; i++)
        outputs[i] = NULL;
    pthread_mutex_lock(&session->lock);
    session->most_repeats = *n;
    status = places_make(session, err);
    if (!status)
        status = tfr__fetch_set(session->graph, fetch, n_fetch, session->fetch_room, err);
    if (!status) {
        session->fetch = session->fetch_room;
        status = tfr__session_run(session, inputs, n_inputs, session->fetch_places, true, err);
        session->fetch = NULL;
    }
    for (uint32_t i = 0; !status && i < n_fetch; i++) {
        outputs[i] = session->fetch_places[fetch[i]];
        session->fetch_places[fetch[i]] = NULL;
    }
    session->most_repeats = 1;
    *n -= session->repeats;
    pthread_mutex_unlock(&session->lock);
    return status;
}

tfr_status tfr_session_run_fetch(tfr_session *session, tfr_tensor *const *inputs, uint32_t n_inputs,
                                 const uint32_t *fetch, uint32_t n_fetch, tfr_tensor **outputs,
                                 tfr_err *err)
{
    uint32_t n = 1;
    return run_some(session, inputs, n_inputs, fetch, n_fetch, outputs, &n, err);
}

tfr_status tfr_session_repeat(tfr_session *session, tfr_tensor *const *inputs, uint32_t n_inputs,
                              uint32_t n, tfr_err *err)
{
    tfr_status status = TFR_OK;
    while (!status && n)
        status = run_some(session, inputs, n_inputs, NULL, 0, NULL, &n, err);
    return status;
}
