/* SPDX-License-Identifier: Apache-2.0 */
/* binding_run.c: runs of a binding. */
#include "run/binding.h"
#include "run/trace.h"

static tfr_status copy_run(const tfr_binding *b, const tfr__late_copy *c, tfr_err *err)
{
    const void *from = c->src ? c->src->data : b->plan->buffers[c->buffer].address;
    return tfr__strided_copy((tfr_dtype)c->dst->dtype, &c->dst->shape, c->dst->data, NULL, from,
                             c->src ? c->src->strides : NULL, err);
}

/* Lets the kernel write into the caller's tensor where it can, and notes a copy where not. */
static void binding_hold(tfr_binding *b)
{
    tfr__plan_hold(b->plan, &b->frame);
    for (uint32_t i = 0; i < b->n_outputs; i++)
        tfr__plan_keep(b->plan, b->outputs[i]);
}

static tfr_status binding_run(tfr_binding *b, const bool *fetched, tfr_err *err)
{
    uint64_t traced = tfr__trace_begin(b->session);
    tfr_status status;
    if (b->plan->random)
        *b->plan->random = b->random;
    b->random.step++;
    if (fetched || b->plan->n_skipped)
        tfr__plan_fetch(b->plan, fetched);
    b->plan->deadline = b->session->timeout_ns ? tfr__session_deadline(b->session) : 0;
    status = tfr__plan_walk(b->session, b->plan, b->n_runs++, err);
    for (uint32_t i = 0; !status && i < b->n_copies; i++)
        if (!fetched || fetched[b->copies[i].wanted])
            status = copy_run(b, &b->copies[i], err);
    if (traced) {
        tfr__trace_add(b->session, TFR_TRACE_RUN, traced, b->n_runs - 1, b->session->graph, -1);
        tfr__trace_drain(b->session);
    }
    return status;
}

__attribute__((cold)) static tfr_status run_with(tfr_binding *b, const bool *fetched, tfr_err *err)
{
    tfr_status status;
    if (!b->has_queue && !tfr__is_traced(b->session))
        return binding_run(b, fetched, err);
    pthread_mutex_lock(&b->session->lock); /* the session's queues and its trace are shared */
    status = tfr__session_begin(b->session, err);
    if (!status)
        status = binding_run(b, fetched, err);
    if (status && b->session->streams.n_stuck)
        binding_hold(b);
    b->session->streams.deadline = 0;
    pthread_mutex_unlock(&b->session->lock);
    return status;
}

tfr_status tfr_binding_run(tfr_binding *b, tfr_err *err)
{
    tfr_status status = tfr__graph_check(b->session->source, err);
    if (status)
        return status;
    if (__builtin_expect(!b->only_walks || tfr__is_traced(b->session), 0))
        return run_with(b, NULL, err);
    b->random.step++;
    return tfr__plan_walk(b->session, b->plan, b->n_runs++, err);
}

tfr_status tfr_binding_run_fetch(tfr_binding *b, const uint32_t *fetch, uint32_t n_fetch,
                                 tfr_err *err)
{
    tfr_status status = tfr__fetch_set(b->session->graph, fetch, n_fetch, b->fetched, err);
    if (!status)
        status = tfr__graph_check(b->session->source, err);
    b->only_walks = false; /* the next run computes again what this one leaves out */
    return status ? status : run_with(b, b->fetched, err);
}
