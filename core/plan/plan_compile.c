/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_compile.c: what passes between the core and tfr.program/1: the section, or one group of it,
 * as a tfr_program_graph; a backend's proposal; the compiled program. All answers are a
 * stranger's: a backend that breaks the contract compiles nothing more in this process.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "kernel/call.h"
#include "plan/plan_view.h"

/* ---- proposals ------------------------------------------------------------------------------- */

/* May a program of the backend hold the node? Strings and shapes that only a launch tells stay with
 * kernels; so does what the host has to read or write during the launch. */
static bool is_mine(const tfr__build *b, uint32_t i, const tfr__backend *backend, bool on_host)
{
    const tfr__build_node *state = &b->nodes[i];
    const tfr__node *node = tfr__build_node_at(b, i);
    if (state->choice.backend != backend)
        return false;
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        tfr_value v = node->inputs[k];
        if (v != TFR_VALUE_NONE &&
            (b->types[v].dtype == TFR_DTYPE_STRING ||
             (k < 64 && (state->choice.answer.host_inputs >> k & 1) && !on_host && !b->known[v])))
            return false;
    }
    for (uint32_t k = 0; k < node->n_outputs; k++) {
        tfr_value v = node->outputs[k];
        if (v != TFR_VALUE_NONE && (b->types[v].dtype == TFR_DTYPE_STRING || b->dynamic[v] ||
                                    b->known[v] || (tfr__build_on_host(state, k) && !on_host)))
            return false;
    }
    return true;
}

static void breach(tfr__build *b, tfr__backend *backend, const char *text)
{
    tfr__log(b->streams->runtime, TFR_LOG_WARNING, backend->plugin_name,
             "its compiler failed: %s; %s compiles no programs any more in this process", text,
             backend->name);
    tfr__backend_quarantine(backend, TFR__PROGRAMS, text);
}

/* Takes over what the backend wants, or, if one row is wrong, nothing. */
static tfr_status proposals_read(tfr__build *b, const tfr__view *w, tfr__backend *backend,
                                 tfr_proposal *rows, tfr_err *err)
{
    char text[96];
    for (uint32_t i = 0; i < w->pub.n_nodes; i++) {
        if (rows[i].group >= -1 && (rows[i].group < 0 || w->nodes[i].flags))
            continue;
        snprintf(text, sizeof text, "it put node %u, which it may not have, into group %d", i,
                 (int)rows[i].group);
        breach(b, backend, text);
        return TFR_OK;
    }
    for (uint32_t i = 0; i < w->pub.n_nodes; i++) {
        tfr__build_node *state = &b->nodes[w->which[i]];
        rows[i].text[sizeof rows[i].text - 1] = '\0';
        if (rows[i].group >= 0 && !state->claim) {
            state->claim = backend;
            state->label = rows[i].group;
        } else if ((w->nodes[i].flags & TFR_NODE_MINE) && rows[i].text[0]) {
            state->alone = tfr__strdup(rows[i].text);
            if (!state->alone)
                return tfr__no_memory(err);
        }
    }
    return TFR_OK;
}

tfr_status tfr__group_propose(tfr__build *b, tfr__backend *backend, tfr_err *err)
{
    tfr_err own = TFR_ERR_INIT;
    tfr_proposal *rows = NULL;
    const tfr__device *device = NULL;
    tfr_status status;
    uint32_t n = 0;
    tfr__view w;
    for (uint32_t i = 0; i < b->end - b->first; i++)
        if (b->nodes[i].choice.backend == backend)
            device = b->nodes[i].choice.device;
    if (!device)
        return TFR_OK;
    status = tfr__view_init(&w, b, -1, backend, err);
    for (uint32_t i = 0; !status && i < w.pub.n_nodes; i++) {
        const tfr__node *node = tfr__build_node_at(b, w.which[i]);
        if (node->op->kind == TFR__OP_KERNEL)
            w.nodes[i].flags = is_mine(b, w.which[i], backend, device->is_host) ? TFR_NODE_MINE : 0;
        else if (w.types[w.nodes[i].outputs[0]].dtype != TFR_DTYPE_STRING)
            w.nodes[i].flags = TFR_NODE_VIEW;
        n += w.nodes[i].flags & TFR_NODE_MINE;
    }
    if (!status && n) {
        for (uint32_t v = 0; v < w.pub.n_values; v++)
            if (tfr__build_remains(b, w.value_of[v]))
                w.values[v].flags |= TFR_VALUE_OUTPUT;
        rows = tfr__calloc(w.pub.n_nodes, sizeof *rows);
        if (!rows)
            status = tfr__no_memory(err);
        for (uint32_t i = 0; rows && i < w.pub.n_nodes; i++) {
            rows[i].size = sizeof rows[i];
            rows[i].group = -1;
        }
        if (rows) {
            TFR__SLOT(backend, "propose", NULL, NULL,
                      status = (tfr_status)backend->program.propose(backend->device, &w.pub, rows,
                                                                    sizeof *rows, &own));
            if (status == TFR_ENOMEM) {
                tfr_fail(err, status, "%s: %.400s", backend->name, tfr__said(&own));
            } else if (status) {
                breach(b, backend, tfr__said(&own));
                status = TFR_OK;
            } else {
                status = proposals_read(b, &w, backend, rows, err);
            }
        }
    }
    tfr__free(rows);
    tfr__view_finish(&w);
    return status;
}

/* ---- compiling ------------------------------------------------------------------------------- */

/* The answer of compile: layouts where they are allowed, sizes that can be. */
static tfr_status answer_check(tfr__build *b, const tfr__view *w, tfr__group *g,
                               const tfr_program_output *outputs, tfr_err *err)
{
    tfr_program_info *info = &g->program.info;
    info->text[sizeof info->text - 1] = '\0';
    if (info->workspace_bytes > INT64_MAX / 4)
        return tfr_fail(err, TFR_EPLUGIN, "it wants a workspace of %" PRIu64 " bytes",
                        info->workspace_bytes);
    if (tfr__is_unsteady(b->env->call_flags, info->flags))
        return tfr_fail(err, TFR_EPLUGIN, "%s", TFR__UNSTEADY);
    if (!info->lower_bound || info->lower_bound > info->workspace_bytes)
        info->lower_bound = info->workspace_bytes;
    for (uint32_t k = 0; k < w->pub.n_outputs; k++) {
        uint32_t v = (uint32_t)w->pub.outputs[k];
        tfr__value_layout *stored = &b->layouts[w->value_of[v]];
        const bool update = w->values[v].flags & TFR_VALUE_UPDATE;
        const bool appends = outputs[k].flags & TFR_OUTPUT_APPENDS;
        tfr_status status;
        b->n_append_changes += stored->appends != appends;
        stored->appends = appends;
        if ((outputs[k].flags & TFR_OUTPUT_IN_PLACE && w->values[v].variable < 0) ||
            (stored->appends && !(w->values[v].flags & TFR_VALUE_APPEND)))
            return tfr_fail(err, TFR_EPLUGIN,
                            "it writes output %u over or behind an input, which it may not", k);
        for (uint32_t i = 0; i < w->pub.n_inputs; i++)
            g->in_place[(size_t)k * w->pub.n_inputs + i] =
                outputs[k].flags & TFR_OUTPUT_IN_PLACE && w->pub.inputs[i] == w->values[v].variable;
        if (outputs[k].layout == TFR_LAYOUT_PLAIN)
            continue;
        if (!(w->values[v].flags & TFR_VALUE_ANY_LAYOUT) && !(update && g->backend->has_layout))
            return tfr_fail(err, TFR_EPLUGIN, "it gave output %u a layout, which must be plain", k);
        TFR__SLOT(g->backend, "bytes", NULL, NULL,
                  status = (tfr_status)g->backend->layout.bytes(
                      g->backend->device, &w->types[v], outputs[k].layout, &stored->bytes, err));
        if (status)
            return status;
        if (stored->bytes > INT64_MAX / 4)
            return tfr_fail(err, TFR_EPLUGIN,
                            "layout %" PRIu64 " of output %u has %" PRIu64 " bytes",
                            outputs[k].layout, k, stored->bytes);
    }
    for (uint32_t k = 0; k < w->pub.n_outputs; k++)
        b->layouts[w->value_of[w->pub.outputs[k]]].layout = outputs[k].layout;
    return TFR_OK;
}

/* What all that have a program share; its first field is their count of references. */
typedef struct shared {
    uint32_t refs, n_given;
    tfr_tensor *given[]; /* made by nodes, for the shapes that it was compiled for */
} shared;

static void shared_free(uint32_t *refs)
{
    shared *s = (shared *)(void *)refs;
    while (s && s->n_given)
        tfr_tensor_release(s->given[--s->n_given]);
    tfr__free(s);
}

void tfr__program_drop(tfr__program *p)
{
    if (p->program && --*p->refs == 0) {
        pthread_mutex_lock(&p->backend->lock);
        TFR__SLOT(p->backend, "drop", NULL, NULL,
                  p->backend->program.drop(p->backend->device, p->program));
        pthread_mutex_unlock(&p->backend->lock);
        shared_free(p->refs);
    }
    p->program = NULL;
}

void tfr__program_take(tfr__program *p, const tfr__program *from)
{
    tfr__program_drop(p);
    p->info = from->info;
    p->program = from->program;
    p->refs = from->refs;
    ++*p->refs;
}

/* What a program of the view shares, with one reference; NULL: no memory. */
static uint32_t *share(const tfr__build *b, const tfr__view *w)
{
    shared *s = tfr__alloc(sizeof *s + w->pub.n_values * sizeof *s->given);
    if (!s)
        return NULL;
    *s = (shared){.refs = 1};
    for (uint32_t v = 0; v < w->pub.n_values; v++) {
        tfr_tensor *known = b->known[w->value_of[v]];
        if (known && b->graph->values[w->value_of[v]].role == TFR__ROLE_NODE)
            s->given[s->n_given++] = tfr_tensor_retain(known);
    }
    return &s->refs;
}

void tfr__group_dissolve(tfr__build *b, uint32_t group, const char *why)
{
    tfr__group *g = &b->groups[group];
    for (uint32_t i = g->first; i <= g->last; i++) {
        if (b->nodes[i].group != (int32_t)group)
            continue;
        b->nodes[i].group = -1;
        if (why && !b->nodes[i].alone)
            b->nodes[i].alone = tfr__strdup(why);
    }
    g->program.n_nodes = 0;
}

typedef struct rest {
    const tfr__build *b;
    const tfr__view *w;
} rest;

static void advise_unused(void *user, const void *data)
{
    const rest *r = user;
    for (uint32_t v = 0; data && v < r->w->pub.n_values; v++) {
        const tfr_tensor *known = r->b->known[r->w->value_of[v]];
        if (known && known->data == data) {
            tfr__tensor_rest(known);
            return;
        }
    }
}

/* Calls compile and checks what it gives. */
static tfr_status compile(tfr__build *b, const tfr__view *w, tfr__group *g, tfr_err *err)
{
    rest r = {b, w};
    tfr_compile_options options = {
        .size = sizeof options, .advise_unused = advise_unused, .user = &r};
    tfr__backend *backend = g->backend;
    const bool is_any = backend->program.flags & TFR_PROGRAM_COMPILE_ANY;
    const bool quick = b->section->unsampled;
    tfr__blob blob = {0};
    tfr_status status;
    tfr_program_output *outputs = tfr__calloc((size_t)w->pub.n_outputs + 1, sizeof *outputs);
    uint32_t *refs = share(b, w);
    if (!outputs || !refs) {
        tfr__free(outputs);
        shared_free(refs);
        return tfr__no_memory(err);
    }
    for (uint32_t k = 0; k < w->pub.n_outputs; k++)
        outputs[k].size = sizeof outputs[k];
    g->program.backend = backend;
    memset(&g->program.info, 0, sizeof g->program.info);
    g->program.info.size = sizeof g->program.info;
    if (quick)
        options.flags = TFR_COMPILE_QUICK;
    else
        tfr__blob_get(b->streams->runtime, backend, &w->pub, &blob);
    options.blob = blob.bytes ? blob.data : NULL;
    options.blob_bytes = blob.bytes;
    tfr__lock_unless(backend, is_any);
    TFR__SLOT(backend, "compile", b->graph->nodes[g->program.node].name, NULL,
              status = (tfr_status)backend->program.compile(
                  backend->device, &w->pub, &options, &g->program.program, outputs, sizeof *outputs,
                  &g->program.info, err));
    tfr__unlock_unless(backend, is_any);
    tfr__blob_put(b->streams->runtime, backend, status ? NULL : g->program.program, &blob);
    if (status || !g->program.program) { /* outputs are written only on success */
        g->program.program = NULL;
        shared_free(refs);
        if (!status)
            status = tfr_fail(err, TFR_EPLUGIN, "it gave no program");
    } else {
        g->program.refs = refs;
        status = answer_check(b, w, g, outputs, err);
        if (status == TFR_EUNSUPPORTED)
            status = TFR_EPLUGIN;
        if (status)
            tfr__program_drop(&g->program);
    }
    tfr__free(outputs);
    return status;
}

void tfr__group_free(tfr__group *g)
{
    tfr__program_drop(&g->program);
    tfr__free(g->args);
    g->args = NULL;
    g->n_inputs = g->n_outputs = 0;
}

bool tfr__group_arguments(tfr__group *g, uint32_t n_inputs, uint32_t n_outputs)
{
    const size_t n = (size_t)n_inputs + n_outputs;
    g->args = tfr__calloc(1, n * sizeof *g->args + (size_t)n_inputs * n_outputs + 1);
    if (!g->args)
        return false;
    g->in_place = (bool *)(g->args + n);
    g->n_inputs = n_inputs;
    g->n_outputs = n_outputs;
    return true;
}

/* The group as its compiler sees it. */
static tfr_status view_group(tfr__view *w, tfr__build *b, uint32_t group, tfr_err *err)
{
    const tfr__group *g = &b->groups[group];
    tfr_status status = tfr__view_init(w, b, (int32_t)group, g->backend, err);
    for (uint32_t i = 0; !status && i < w->pub.n_nodes; i++)
        w->nodes[i].flags = tfr__build_node_at(b, w->which[i])->op->kind == TFR__OP_KERNEL
                                ? TFR_NODE_MINE
                                : TFR_NODE_VIEW;
    if (!status)
        tfr__view_border(w, b, g->backend, b->streams->items[g->stream].memory == TFR__MEMORY_HOST);
    return status;
}

/* What fails here fails once more when its time has come, and is told then. */
bool tfr__group_compile_ahead(tfr__build *b, uint32_t group, tfr__program *out)
{
    tfr__group g = b->groups[group];
    const uint32_t n_append_changes = b->n_append_changes;
    tfr_err own = TFR_ERR_INIT;
    tfr__view w;
    g.program.program = NULL;
    if (!view_group(&w, b, group, &own) && !compile(b, &w, &g, &own) &&
        b->n_append_changes != n_append_changes)
        tfr__program_drop(&g.program);
    tfr__view_finish(&w);
    *out = g.program;
    return out->program != NULL;
}

tfr_status tfr__group_compile(tfr__build *b, uint32_t group, tfr__views *seen, tfr_err *err)
{
    tfr__group *g = &b->groups[group];
    tfr__build_node *state = &b->nodes[g->first];
    tfr_err own = TFR_ERR_INIT;
    tfr_status status;
    tfr__view w;
    if (atomic_load(&g->backend->program_off)) {
        tfr__group_dissolve(b, group, "its compiler failed earlier in this process");
        return TFR_OK;
    }
    tfr__group_free(g);
    if (seen && tfr__views_share(seen, b, group))
        return TFR_OK;
    while (state->choice.backend != g->backend)
        state++; /* views have none */
    status = tfr__stream_get(b->streams, state->choice.device, g->backend, &g->stream, err);
    if (status)
        return status;
    status = view_group(&w, b, group, err);
    if (!status) {
        if (!tfr__group_arguments(g, w.pub.n_inputs, w.pub.n_outputs))
            status = tfr__no_memory(err);
        for (uint32_t k = 0; k < g->n_inputs + g->n_outputs; k++)
            g->args[k] = w.value_of[w.args[k]];
        g->program.node = (int32_t)(b->first + g->first);
        if (!status) {
            status = compile(b, &w, g, &own);
            if (status == TFR_ENOMEM) {
                tfr_fail(err, status, "a program of %u nodes on %s: %.400s", g->program.n_nodes,
                         g->backend->name, tfr__said(&own));
            } else if (status) {
                if (status == TFR_ELOST)
                    tfr__backend_quarantine(g->backend, -1, tfr__said(&own));
                else if (status != TFR_EUNSUPPORTED)
                    breach(b, g->backend, tfr__said(&own));
                tfr__group_dissolve(b, group, tfr__said(&own));
                status = TFR_OK;
            } else if (atomic_load(&g->backend->quarantined)) { /* another session has lost it */
                tfr__program_drop(&g->program);
                tfr__group_dissolve(b, group, "the backend failed while it was compiled");
            }
        }
    }
    if (seen && !status && g->program.program)
        tfr__views_add(seen, &w, group);
    else
        tfr__view_finish(&w);
    return status;
}
