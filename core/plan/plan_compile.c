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
#include "plan/plan_build.h"

/* A tfr_program_graph with all that it points to. */
typedef struct view {
    tfr_program_graph pub;
    tfr_program_node *nodes;
    tfr__call *calls;
    uint32_t *which;   /* node of the section, by number here */
    int32_t *operands; /* numbers of the values of all nodes' inputs and outputs */
    tfr_program_value *values;
    tfr_operand *types;  /* by value here */
    tfr_value *value_of; /* by value here */
    int32_t *number;     /* by value of the graph: its number here, or -1; the build's */
    int32_t *args;       /* inputs, then outputs of launches */
} view;

static void view_finish(view *w)
{
    for (uint32_t i = 0; w->calls && i < w->pub.n_nodes; i++)
        tfr__call_finish(&w->calls[i]);
    tfr__free(w->nodes);
    tfr__free(w->calls);
    tfr__free(w->which);
    tfr__free(w->operands);
    tfr__free(w->values);
    tfr__free(w->types);
    for (uint32_t v = 0; v < w->pub.n_values; v++)
        w->number[w->value_of[v]] = -1;
    tfr__free(w->value_of);
    tfr__free(w->args);
}

/* What the core knows of v goes along; known without elements is known, too. */
static void view_value(view *w, const tfr__build *b, const tfr__backend *backend, tfr_value v)
{
    static const char nothing[16];
    uint32_t n = w->pub.n_values++;
    tfr_program_value *value = &w->values[n];
    int64_t maker = tfr__build_maker(b, v);
    const tfr_tensor *known = b->known[v];
    bool unaligned = known && !tfr__tensor_is_aligned(known) &&
                     (backend->kernel.flags & TFR_KERNEL_TAKES_UNALIGNED);
    const void *data = unaligned ? known->data : known ? tfr__tensor_data(known) : NULL;
    tfr__operand_set(&w->types[n], &b->types[v], NULL, known && !data ? nothing : data);
    if (unaligned)
        w->types[n].flags |= TFR_OPERAND_UNALIGNED;
    w->number[v] = (int32_t)n;
    w->value_of[n] = v;
    value->size = sizeof *value;
    value->operand = &w->types[n];
    value->node = value->variable = -1;
    value->flags = TFR_VALUE_INPUT;
    if (maker >= 0 && b->nodes[maker].group >= 0 && b->layouts[v].layout &&
        b->groups[b->nodes[maker].group].backend == backend) {
        value->layout = b->layouts[v].layout;
        value->flags |= TFR_VALUE_ANY_LAYOUT;
    }
}

/* Numbers the values of a node; inputs counts each reader once. */
static void view_operands(view *w, tfr__build *b, const tfr__backend *backend, uint32_t i,
                          int32_t **next)
{
    const tfr__node *node = tfr__build_node_at(b, w->which[i]);
    tfr_program_node *out = &w->nodes[i];
    out->size = sizeof *out;
    out->name = node->name;
    out->call = &w->calls[i].call;
    out->inputs = *next;
    out->outputs = *next + node->n_inputs;
    tfr__build_look(b);
    for (uint32_t k = 0; k < node->n_inputs + node->n_outputs; k++) {
        bool made = k >= node->n_inputs;
        tfr_value v = made ? node->outputs[k - node->n_inputs] : node->inputs[k];
        *(*next) = -1;
        if (v != TFR_VALUE_NONE) {
            if (w->number[v] < 0)
                view_value(w, b, backend, v);
            *(*next) = w->number[v];
            w->values[w->number[v]].n_readers += !made && tfr__build_meet(b, v);
            if (made && !b->known[v]) {
                w->values[w->number[v]].node = (int32_t)i;
                w->values[w->number[v]].flags = 0;
            }
        }
        ++*next;
    }
}

/* The nodes of a group, or, with group -1, all that are needed, for a backend. */
static tfr_status view_init(view *w, tfr__build *b, int32_t group, const tfr__backend *backend,
                            tfr_err *err)
{
    uint32_t first = group < 0 ? 0 : b->groups[group].first, n = 0;
    uint32_t last = group < 0 ? b->end - b->first - 1 : b->groups[group].last;
    size_t n_operands = 1;
    int32_t *next;
    memset(w, 0, sizeof *w);
    w->which = tfr__calloc((size_t)(last - first) + 2, sizeof *w->which);
    for (uint32_t i = first; w->which && i <= last; i++) {
        if (!b->nodes[i].needed || (group >= 0 && b->nodes[i].group != group))
            continue;
        w->which[n++] = i;
        n_operands += tfr__build_node_at(b, i)->n_inputs + tfr__build_node_at(b, i)->n_outputs;
    }
    w->nodes = tfr__calloc((size_t)n + 1, sizeof *w->nodes);
    w->calls = tfr__calloc((size_t)n + 1, sizeof *w->calls);
    w->operands = next = tfr__calloc(n_operands, sizeof *w->operands);
    w->values = tfr__calloc(n_operands, sizeof *w->values);
    w->types = tfr__calloc(n_operands, sizeof *w->types);
    w->value_of = tfr__calloc(n_operands, sizeof *w->value_of);
    w->args = tfr__calloc(n_operands, sizeof *w->args);
    w->number = b->number;
    if (!w->which || !w->nodes || !w->calls || !w->operands || !w->values || !w->types ||
        !w->value_of || !w->args)
        return tfr_fail(err, TFR_ENOMEM, "out of memory to show %u nodes to a compiler", n);
    for (uint32_t i = 0; i < n; i++) {
        tfr_status status = tfr__build_call(b, w->which[i], true, &w->calls[i], err);
        if (status)
            return status;
        w->pub.n_nodes = i + 1;
        if (!(backend->kernel.flags & TFR_KERNEL_TAKES_UNALIGNED))
            status = tfr__call_align(&w->calls[i], err);
        if (status)
            return status;
        view_operands(w, b, backend, i, &next);
    }
    w->pub.size = sizeof w->pub;
    w->pub.node_stride = sizeof *w->nodes;
    w->pub.value_stride = sizeof *w->values;
    w->pub.nodes = w->nodes;
    w->pub.values = w->values;
    w->pub.inputs = w->args;
    return TFR_OK;
}

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
static tfr_status proposals_read(tfr__build *b, const view *w, tfr__backend *backend,
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
                return tfr_fail(err, TFR_ENOMEM, "out of memory for a reason");
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
    view w;
    for (uint32_t i = 0; i < b->end - b->first; i++)
        if (b->nodes[i].choice.backend == backend)
            device = b->nodes[i].choice.device;
    if (!device)
        return TFR_OK;
    status = view_init(&w, b, -1, backend, err);
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
            status = tfr_fail(err, TFR_ENOMEM, "out of memory for a proposal");
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
    view_finish(&w);
    return status;
}

/* ---- compiling ------------------------------------------------------------------------------- */

/* May v leave the program in a layout of the backend, and does a program of it read v? */
static bool any_layout(const tfr__build *b, const tfr__backend *backend, tfr_value v)
{
    if (!backend->has_layout || tfr__build_remains(b, v))
        return false;
    for (uint32_t i = 0; i < b->end - b->first; i++) {
        const tfr__node *node = tfr__build_node_at(b, i);
        int32_t group = b->nodes[i].group, maker = b->graph->values[v].node - (int32_t)b->first;
        if (!b->nodes[i].needed || group < 0 || b->groups[group].backend != backend ||
            group == b->nodes[maker].group)
            continue;
        for (uint32_t k = 0; k < node->n_inputs; k++)
            if (node->inputs[k] == v)
                return true;
    }
    return false;
}

/* Value v is the new state of a variable: is the old one here, and does nobody else read it? */
static void mark_update(view *w, const tfr__build *b, uint32_t v)
{
    const tfr_value old = b->graph->variables[tfr__build_update_of(b, w->value_of[v])];
    const int32_t n = w->number[old];
    if (n < 0 || w->types[n].data)
        return;
    w->values[v].variable = n;
    if (b->readers[old] == w->values[n].n_readers)
        w->values[v].flags |= TFR_VALUE_UPDATE;
}

/* The border of the group: what goes in and out. */
static void find_border(view *w, const tfr__build *b, const tfr__backend *backend)
{
    int32_t *args = w->args;
    for (uint32_t v = 0; v < w->pub.n_values; v++)
        if ((w->values[v].flags & TFR_VALUE_INPUT) && !w->types[v].data)
            args[w->pub.n_inputs++] = (int32_t)v;
    args += w->pub.n_inputs;
    w->pub.outputs = args;
    for (uint32_t v = 0; v < w->pub.n_values; v++) {
        tfr_value value = w->value_of[v];
        if ((w->values[v].flags & TFR_VALUE_INPUT) ||
            (!tfr__build_remains(b, value) && b->readers[value] == w->values[v].n_readers))
            continue;
        w->values[v].flags |= TFR_VALUE_OUTPUT;
        if (any_layout(b, backend, value))
            w->values[v].flags |= TFR_VALUE_ANY_LAYOUT;
        if (b->updates[value])
            mark_update(w, b, v);
        args[w->pub.n_outputs++] = (int32_t)v;
    }
}

/* The answer of compile: layouts where they are allowed, sizes that can be. */
static tfr_status answer_check(tfr__build *b, const view *w, tfr__group *g,
                               const tfr_program_output *outputs, tfr_err *err)
{
    tfr_program_info *info = &g->program.info;
    if (!g->program.program)
        return tfr_fail(err, TFR_EPLUGIN, "it gave no program");
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
        tfr_status status;
        if (outputs[k].flags & TFR_OUTPUT_IN_PLACE && w->values[v].variable < 0)
            return tfr_fail(err, TFR_EPLUGIN,
                            "it writes output %u, which is no update of a variable, in place", k);
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

void tfr__program_drop(tfr__program *p)
{
    if (!p->program)
        return;
    pthread_mutex_lock(&p->backend->lock);
    TFR__SLOT(p->backend, "drop", NULL, NULL,
              p->backend->program.drop(p->backend->device, p->program));
    pthread_mutex_unlock(&p->backend->lock);
    p->program = NULL;
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
    const view *w;
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
static tfr_status compile(tfr__build *b, const view *w, tfr__group *g, tfr_err *err)
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
    if (!outputs)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for %u outputs", w->pub.n_outputs);
    for (uint32_t k = 0; k < w->pub.n_outputs; k++)
        outputs[k].size = sizeof outputs[k];
    g->program.backend = backend;
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
    if (status) {
        g->program.program = NULL; /* outputs are written only on success */
    } else {
        status = answer_check(b, w, g, outputs, err);
        if (status == TFR_EUNSUPPORTED)
            status = TFR_EPLUGIN;
        if (status)
            tfr__program_drop(&g->program);
    }
    tfr__free(outputs);
    return status;
}

tfr_status tfr__group_compile(tfr__build *b, uint32_t group, tfr_err *err)
{
    tfr__group *g = &b->groups[group];
    tfr__build_node *state = &b->nodes[g->first];
    tfr_err own = TFR_ERR_INIT;
    tfr_status status;
    view w;
    if (atomic_load(&g->backend->program_off)) {
        tfr__group_dissolve(b, group, "its compiler failed earlier in this process");
        return TFR_OK;
    }
    while (state->choice.backend != g->backend)
        state++; /* views have none */
    status = tfr__stream_get(b->streams, state->choice.device, g->backend, &g->stream, err);
    if (status)
        return status;
    status = view_init(&w, b, (int32_t)group, g->backend, err);
    if (!status) {
        for (uint32_t i = 0; i < w.pub.n_nodes; i++)
            w.nodes[i].flags = tfr__build_node_at(b, w.which[i])->op->kind == TFR__OP_KERNEL
                                   ? TFR_NODE_MINE
                                   : TFR_NODE_VIEW;
        find_border(&w, b, g->backend);
        g->n_inputs = w.pub.n_inputs;
        g->n_outputs = w.pub.n_outputs;
        g->args = tfr__calloc((size_t)g->n_inputs + g->n_outputs + 1, sizeof *g->args);
        g->in_place = tfr__calloc((size_t)g->n_inputs * g->n_outputs + 1, sizeof *g->in_place);
        if (!g->args || !g->in_place)
            status = tfr_fail(err, TFR_ENOMEM, "out of memory for the arguments of a program");
        for (uint32_t k = 0; g->args && k < g->n_inputs + g->n_outputs; k++)
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
    view_finish(&w);
    return status;
}
