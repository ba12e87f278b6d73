/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_place.c: the second pass: which nodes have to run at all (nobody launches what is known or
 * unread), and a backend with a prepared kernel for each of them. A backend that fails to prepare
 * what it said yes to loses that op for this process and the node is placed again.
 */
#include <string.h>
#include <tfrun/fail.h>

#include "alloc.h"
#include "call.h"
#include "plan_build.h"

/* Inputs beyond the bits of a mask are always made plain. */
static bool input_plain(const tfr__build_node *state, uint32_t i)
{
    return i >= 64 || (state->plain >> i & 1);
}

const int64_t *tfr__build_strides(const tfr__build *b, const tfr__build_node *state, tfr_value v,
                                  uint32_t i)
{
    tfr_tensor *t = tfr__build_live_in(b, v);
    if (!t || t->plain || b->known[v] || input_plain(state, i) || !tfr__build_aligned(t))
        return NULL;
    return t->strides;
}

static tfr_status call_make(tfr__build *b, uint32_t i, tfr__call *call, tfr_err *err)
{
    const tfr__node *node = tfr__build_node_at(b, i);
    const tfr__build_node *state = &b->nodes[i];
    tfr_status status = tfr__call_init(call, node, &state->attrs, err);
    if (status)
        return status;
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        tfr_value v = node->inputs[k];
        if (v != TFR_VALUE_NONE)
            tfr__operand_set(&call->operands[k], &b->types[v], tfr__build_strides(b, state, v, k),
                             b->known[v] ? b->known[v]->data : NULL);
    }
    for (uint32_t k = 0; k < node->n_outputs; k++)
        if (node->outputs[k] != TFR_VALUE_NONE)
            tfr__operand_set(&call->operands[node->n_inputs + k], &b->types[node->outputs[k]], NULL,
                             NULL);
    return TFR_OK;
}

static bool any_strided(const tfr__build *b, uint32_t i)
{
    const tfr__node *node = tfr__build_node_at(b, i);
    for (uint32_t k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] != TFR_VALUE_NONE &&
            tfr__build_strides(b, &b->nodes[i], node->inputs[k], k))
            return true;
    return false;
}

/* A kernel may read the bytes of known inputs until it is dropped. */
static tfr_status keep_inputs(tfr__build *b, const tfr__node *node, tfr_err *err)
{
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        tfr_value v = node->inputs[k];
        tfr_status status =
            v != TFR_VALUE_NONE && b->known[v] ? tfr__build_keep(b, b->known[v], err) : TFR_OK;
        if (status)
            return status;
    }
    return TFR_OK;
}

tfr_status tfr__build_keep(tfr__build *b, tfr_tensor *tensor, tfr_err *err)
{
    tfr__plan *p = b->plan;
    tfr_tensor **more = tfr__realloc(p->known, (p->n_known + 1) * sizeof *more);
    if (!more)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for a plan's constants");
    p->known = more;
    p->known[p->n_known++] = tfr_tensor_retain(tensor);
    return TFR_OK;
}

static void quarantine(tfr__build *b, const tfr__node *node, tfr__backend *backend,
                       const char *text)
{
    tfr__log(b->session->runtime, TFR_LOG_WARNING, backend->plugin_name,
             "said yes to node \"%s\" (%s), then could not prepare it: %s; %s is not asked about "
             "%s again in this process",
             node->name, node->op->name, text, backend->name, node->op->name);
    tfr__backend_quarantine(backend, (int32_t)tfr__op_number(node->op), text);
}

/* One try: a yes, then prepare. *again = the backend broke its word, so ask anew. */
static tfr_status place_try(tfr__build *b, uint32_t i, bool *again, tfr_err *err)
{
    const tfr__node *node = tfr__build_node_at(b, i);
    tfr__build_node *state = &b->nodes[i];
    tfr_err prepare_err = TFR_ERR_INIT;
    tfr__backend *backend;
    tfr__call call;
    tfr_status status = call_make(b, i, &call, err);
    *again = false;
    if (status)
        return status;
    tfr__free(state->choice.text);
    memset(&state->choice, 0, sizeof state->choice);
    status =
        tfr__place(b->session, node, b->body->pins[b->first + i],
                   b->session->fallback == TFR_FALLBACK_ERROR, &call.call, &state->choice, err);
    backend = state->choice.backend;
    if (!status && state->choice.answer.verdict == TFR_VERDICT_REORDER) {
        if (state->plain == UINT64_MAX) {
            quarantine(b, node, backend, "it wants plain operands where all are plain");
        } else {
            state->plain = UINT64_MAX;
        }
        *again = true;
    } else if (!status && !state->choice.device->is_host && any_strided(b, i)) {
        state->plain = UINT64_MAX; /* copies between memories are plain */
        *again = true;
    } else if (!status) {
        status = tfr__engine_get(b->session, state->choice.device, backend, &state->engine, err);
        if (!status) {
            pthread_mutex_lock(&backend->lock);
            status = (tfr_status)backend->kernel.prepare(backend->device, &call.call,
                                                         &state->kernel, &prepare_err);
            pthread_mutex_unlock(&backend->lock);
            if (!status && !state->kernel)
                status = tfr_fail(&prepare_err, TFR_EPLUGIN, "it gave no kernel");
            if (status == TFR_ENOMEM) {
                tfr_fail(err, TFR_ENOMEM, "node \"%s\" (%s) on %s: %s", node->name, node->op->name,
                         backend->name, prepare_err.text);
            } else if (status) {
                quarantine(b, node, backend, prepare_err.text);
                *again = backend->op_quarantined != NULL;
                state->kernel = NULL;
                if (*again)
                    status = TFR_OK;
                else
                    tfr_fail(err, TFR_EPLUGIN, "node \"%s\" (%s) on %s: %s", node->name,
                             node->op->name, backend->name, prepare_err.text);
            }
        }
    }
    tfr__call_finish(&call);
    return status;
}

static tfr_status place_node(tfr__build *b, uint32_t i, tfr_err *err)
{
    const tfr__node *node = tfr__build_node_at(b, i);
    tfr_status status = keep_inputs(b, node, err);
    bool again = true;
    while (!status && again)
        status = place_try(b, i, &again, err);
    return status;
}

/* ---- what is needed -------------------------------------------------------------------------- */

static bool leaves_section(const tfr__build *b, tfr_value v)
{
    return b->body->last_use[v] >= (int32_t)b->end;
}

/* Follows views to the value that owns the bytes. A value that is known has its own. */
static void find_roots(tfr__build *b)
{
    for (uint32_t v = 0; v < b->graph->n_values; v++) {
        b->root[v] = (tfr_value)v;
        b->live_out[v] = TFR_VALUE_NONE;
    }
    for (uint32_t i = 0; i < b->end - b->first; i++) {
        const tfr__node *node = tfr__build_node_at(b, i);
        tfr_value out = node->n_outputs ? node->outputs[0] : TFR_VALUE_NONE;
        if (node->op->kind == TFR__OP_VIEW && out != TFR_VALUE_NONE && !b->known[out])
            b->root[out] = b->root[node->inputs[0]];
    }
}

/* Backwards from what leaves the section: nodes whose values somebody reads and nobody knows. */
static void find_needed(tfr__build *b)
{
    for (uint32_t i = b->end - b->first; i-- > 0;) {
        const tfr__node *node = tfr__build_node_at(b, i);
        tfr__build_node *state = &b->nodes[i];
        for (uint32_t k = 0; k < node->n_outputs; k++) {
            tfr_value v = node->outputs[k];
            if (v == TFR_VALUE_NONE || b->known[v])
                continue;
            if (leaves_section(b, v)) {
                b->uses[b->root[v]]++;
                if (b->live_out[b->root[v]] == TFR_VALUE_NONE)
                    b->live_out[b->root[v]] = v;
                state->needed = true;
            }
            if (b->wanted[v])
                state->needed = true;
        }
        if (!state->needed)
            continue;
        for (uint32_t k = 0; k < node->n_inputs; k++) {
            tfr_value v = node->inputs[k];
            if (v == TFR_VALUE_NONE || b->known[v])
                continue;
            b->wanted[v] = true;
            if (node->op->kind == TFR__OP_KERNEL)
                b->uses[b->root[v]]++;
        }
    }
}

static tfr_status report(tfr__build *b, uint32_t i, tfr__placed *out, tfr_err *err)
{
    tfr__build_node *state = &b->nodes[i];
    out->node = (int32_t)(b->first + i);
    out->device = "";
    out->backend = "core";
    out->wanted = "";
    (void)err;
    if (!state->kernel)
        return TFR_OK;
    out->device = state->choice.device->name;
    out->backend = state->choice.backend->name;
    out->wanted = state->choice.wanted;
    out->reason = state->choice.reason;
    out->fallback = state->choice.fallback;
    out->random = (state->choice.answer.flags & TFR_ANSWER_RANDOM) != 0;
    out->text = state->choice.text; /* moves */
    state->choice.text = NULL;
    b->plan->n_fallbacks += state->choice.fallback;
    return TFR_OK;
}

tfr_status tfr__build_place(tfr__build *b, tfr_err *err)
{
    uint32_t n = b->end - b->first;
    b->plan->placed = tfr__calloc((size_t)n + 1, sizeof *b->plan->placed);
    if (!b->plan->placed)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for the placement of %u nodes", n);
    find_roots(b);
    find_needed(b);
    for (uint32_t i = 0; i < n; i++) {
        tfr_status status = TFR_OK;
        if (b->nodes[i].needed && tfr__build_node_at(b, i)->op->kind == TFR__OP_KERNEL)
            status = place_node(b, i, err);
        if (status)
            return status;
        report(b, i, &b->plan->placed[b->plan->n_placed++], err);
    }
    return TFR_OK;
}
