/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subgraph.c: a graph with its plans, and the walk over its sections (plan.h). control.c runs
 * the graphs inside of nodes through the same walk.
 */
#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "op/infer_rows.h"
#include "run/exec.h"
#include "run/host_ops.h"
#include "run/trace.h"

/* A graph that is planned more often than this meets ever new shapes: the times of its nodes would
 * help no later plan, and drive those of other models out of the tuning file. */
enum { SAMPLED_PLANS = 8 };

/* ---- making ---------------------------------------------------------------------------------- */

static void use(tfr__subgraph *subgraph, tfr_value v, uint32_t at)
{
    if (v != TFR_VALUE_NONE && subgraph->last_use[v] < (int32_t)at)
        subgraph->last_use[v] = (int32_t)at;
}

static void find_last_uses(tfr__subgraph *subgraph)
{
    const tfr_graph *g = subgraph->graph;
    for (uint32_t v = 0; v < g->n_values; v++)
        subgraph->last_use[v] = -1;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        for (uint32_t k = 0; k < g->nodes[i].n_inputs; k++)
            use(subgraph, g->nodes[i].inputs[k], i);
        for (uint32_t k = 0; k < g->nodes[i].n_captures; k++)
            use(subgraph, g->nodes[i].captures[k], i);
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        use(subgraph, g->outputs[i], g->n_nodes);
}

static tfr_status find_pins(tfr_session *session, tfr__subgraph *subgraph, tfr_err *err)
{
    for (uint32_t i = 0; i < subgraph->graph->n_nodes; i++) {
        const tfr__node *node = &subgraph->graph->nodes[i];
        uint32_t device;
        tfr_status status;
        subgraph->pins[i] = (tfr__pin){-1, -1};
        if (!node->device)
            continue;
        status = tfr_runtime_find(session->runtime, node->device, &device,
                                  &subgraph->pins[i].backend, err);
        if (status)
            return status;
        subgraph->pins[i].device = (int32_t)device;
    }
    return TFR_OK;
}

tfr_status tfr__subgraph_create(tfr_session *session, tfr_graph *graph, tfr__subgraph **out,
                                tfr_err *err)
{
    const size_t n = graph->n_nodes;
    tfr__subgraph *subgraph =
        tfr__calloc(1, sizeof *subgraph +
                           n * (sizeof *subgraph->plans + sizeof *subgraph->children +
                                sizeof *subgraph->pins + sizeof *subgraph->checked) +
                           graph->n_values * sizeof *subgraph->last_use);
    tfr_status status;
    if (!subgraph)
        return tfr__no_memory(err);
    subgraph->graph = graph;
    subgraph->plans = (tfr__plan **)(subgraph + 1);
    subgraph->children = (tfr__subgraph ***)(subgraph->plans + n);
    subgraph->checked = (uint64_t *)(subgraph->children + n);
    subgraph->pins = (tfr__pin *)(subgraph->checked + n);
    subgraph->last_use = (int32_t *)(subgraph->pins + n);
    find_last_uses(subgraph);
    status = find_pins(session, subgraph, err);
    for (uint32_t i = 0; !status && i < graph->n_nodes; i++) {
        const tfr__node *node = &graph->nodes[i];
        if (!node->n_subgraphs)
            continue;
        subgraph->children[i] = tfr__calloc(node->n_subgraphs, sizeof *subgraph->children[i]);
        if (!subgraph->children[i])
            status = tfr__no_memory(err);
        for (uint32_t k = 0; !status && k < node->n_subgraphs; k++)
            status =
                tfr__subgraph_create(session, node->subgraphs[k], &subgraph->children[i][k], err);
    }
    if (status)
        tfr__subgraph_destroy(session, subgraph);
    else
        *out = subgraph;
    return status;
}

void tfr__subgraph_destroy(tfr_session *session, tfr__subgraph *subgraph)
{
    if (!subgraph)
        return;
    for (uint32_t i = 0; i < subgraph->graph->n_nodes; i++) {
        for (tfr__plan *p = subgraph->plans[i], *next; p; p = next) {
            next = p->next;
            tfr__plan_destroy(p);
        }
        for (uint32_t k = 0; subgraph->children[i] && k < subgraph->graph->nodes[i].n_subgraphs;
             k++)
            tfr__subgraph_destroy(session, subgraph->children[i][k]);
        tfr__free(subgraph->children[i]);
    }
    tfr__free(subgraph);
}

/* ---- host sections --------------------------------------------------------------------------- */

/*
 * A plan is one for the bounds of its slices. Where these are other ones in each iteration, as in
 * loops over the rows of a table, nearly all of them would be planned anew; so in a subgraph that
 * has been planned that often the core makes the slices, and plans only see what shape they have.
 */
static bool slices_apart(const tfr_session *session, const tfr__subgraph *subgraph)
{
    return subgraph != session->main && subgraph->n_made >= session->max_plans;
}

static bool is_bound_outside(const tfr_graph *g, const tfr__node *node)
{
    for (uint32_t k = 1; k < node->n_inputs; k++)
        if (node->inputs[k] != TFR_VALUE_NONE &&
            g->values[node->inputs[k]].role != TFR__ROLE_CONSTANT)
            return true;
    return false;
}

/* Does the core do this node itself, on whole values? */
static bool is_host_node(const tfr_session *session, const tfr__frame *frame, const tfr__node *node)
{
    if (node->op->kind == TFR__OP_CONTROL || node->op->kind == TFR__OP_SEQUENCE)
        return true;
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        tfr_tensor *t =
            node->inputs[k] == TFR_VALUE_NONE ? NULL : tfr__frame_get(frame, node->inputs[k]);
        if (t && t->kind != TFR_KIND_TENSOR)
            return true;
    }
    if (node->op->infer != tfr__infer_slice || !slices_apart(session, frame->subgraph) ||
        !is_bound_outside(frame->subgraph->graph, node))
        return false;
    const tfr_tensor *t = tfr__frame_get(frame, node->inputs[0]);
    return t && tfr__may_slice(node, t->dtype);
}

/* Kinds and element types of up to five inputs as a number, 0 of more: what the op's row says hangs
 * on them, and to look it up takes longer than most of these nodes do. */
static uint64_t kinds_of(tfr_tensor *const *inputs, uint32_t n)
{
    uint64_t kinds = 1;
    for (uint32_t k = 0; k < n; k++) {
        const tfr_tensor *t = inputs[k];
        const int32_t inside = t && t->n_values ? t->values[0]->kind : 0;
        kinds = kinds << 12;
        if (t)
            kinds |= (uint64_t)(t->dtype << 5 | inside << 3 | t->kind << 1 | 1);
    }
    return n <= 5 ? kinds : 0;
}

static tfr_status host_node_run(tfr_session *session, tfr__frame *frame, uint32_t i, tfr_err *err)
{
    const tfr__node *node = &frame->subgraph->graph->nodes[i];
    tfr_tensor **inputs = tfr__calloc((size_t)node->n_inputs + 1, sizeof *inputs);
    tfr_tensor **outputs = tfr__calloc((size_t)node->n_outputs + 1, sizeof *outputs);
    tfr_status status = TFR_OK;
    uint64_t kinds = 0;
    bool again = false;
    if (!inputs || !outputs)
        status = tfr__no_memory(err);
    for (uint32_t k = 0; !status && k < node->n_inputs; k++) {
        if (node->inputs[k] == TFR_VALUE_NONE)
            continue;
        inputs[k] = tfr__frame_get(frame, node->inputs[k]);
        if (!inputs[k])
            status = tfr_fail(err, TFR_EMODEL,
                              "node \"%s\" (%s) reads value \"%s\", which has none", node->name,
                              node->op->name, frame->subgraph->graph->values[node->inputs[k]].name);
    }
    if (!status) {
        kinds = kinds_of(inputs, node->n_inputs);
        again = kinds && frame->subgraph->checked[i] == kinds;
        if (node->op->kind == TFR__OP_SEQUENCE || (node->op->kind == TFR__OP_CONTROL && !again))
            status = tfr__infer_values(node, inputs, again, err);
    }
    if (!status && node->op->kind == TFR__OP_CONTROL)
        status = tfr__control_run(session, frame, i, inputs, outputs, err);
    else if (!status)
        status = tfr__sequence_run(node, inputs, again, outputs, err);
    if (!status)
        frame->subgraph->checked[i] = kinds;
    for (uint32_t k = 0; outputs && k < node->n_outputs; k++) {
        if (!status && node->outputs[k] != TFR_VALUE_NONE) {
            tfr__frame_put(frame, node->outputs[k], outputs[k]);
        } else {
            tfr_tensor_release(outputs[k]);
        }
    }
    tfr__free(inputs);
    tfr__free(outputs);
    return status;
}

/* ---- the walk -------------------------------------------------------------------------------- */

/*
 * The plan of the section at node `first` that was not used for longest; none if it has none, so
 * that each section of a graph keeps one, however many there are. No plan is under way when one is
 * made. If it is of this run, as in a loop whose shapes grow, the run's report does without it.
 */
static void forget_oldest(tfr_session *session, tfr__subgraph *subgraph, uint32_t first)
{
    tfr__plan **at = &subgraph->plans[first], *p;
    uint32_t n = 0;
    if (!*at)
        return;
    while ((*at)->next)
        at = &(*at)->next;
    p = *at;
    if (p->used) {
        for (uint32_t i = 0; i < session->n_used; i++)
            if (session->used[i] != p)
                session->used[n++] = session->used[i];
        session->n_used = n;
        tfr__trace_drain(session); /* records name nodes by their plan */
    }
    tfr__plan_destroy(p);
    *at = NULL;
    subgraph->n_plans--;
}

void tfr__subgraph_forget_used(tfr_session *session)
{
    for (uint32_t i = 0; i < session->n_used; i++)
        session->used[i]->used = false;
    session->n_used = 0;
}

/* Has the plan something in a memory? */
static bool uses_memory(const tfr__plan *p, uint32_t memory)
{
    bool uses = memory < p->n_arenas && p->arenas[memory].bytes;
    for (uint32_t i = 0; !uses && i < p->n_buffers; i++)
        uses = p->buffers[i].memory == memory && p->buffers[i].kind == TFR__BUFFER_CONSTANT;
    return uses;
}

/* Where the plan with something in a memory hangs that this run does not use, nor any for longest.
 */
static tfr__plan **find_oldest(tfr__subgraph *subgraph, uint32_t memory, tfr__plan **oldest,
                               tfr__subgraph **whose)
{
    for (uint32_t i = 0; i < subgraph->graph->n_nodes; i++) {
        for (tfr__plan **at = &subgraph->plans[i]; *at; at = &(*at)->next)
            if (!(*at)->used && (!oldest || (*at)->used_at < (*oldest)->used_at) &&
                uses_memory(*at, memory)) {
                oldest = at;
                *whose = subgraph;
            }
        for (uint32_t k = 0; subgraph->children[i] && k < subgraph->graph->nodes[i].n_subgraphs;
             k++)
            oldest = find_oldest(subgraph->children[i][k], memory, oldest, whose);
    }
    return oldest;
}

bool tfr__session_make_room(void *user, uint32_t memory)
{
    tfr_session *session = user;
    tfr__subgraph *whose = NULL;
    tfr__plan **at = find_oldest(session->main, memory, NULL, &whose), *p;
    if (!at && session->n_used &&
        !session->plan_runs) { /* those of this run have done their work, too */
        tfr__trace_drain(session);
        tfr__subgraph_forget_used(session);
        session->n_rows = session->n_program_rows = 0;
        at = find_oldest(session->main, memory, NULL, &whose);
    }
    if (!at)
        return false;
    p = *at;
    *at = p->next;
    whose->n_plans--;
    session->n_plans_dropped++;
    tfr__plan_destroy(p);
    return true;
}

/* Drops all plans but those of this run, to give their memory back. */
static bool forget_unused(tfr_session *session, tfr__subgraph *subgraph)
{
    bool any = false;
    for (uint32_t i = 0; i < subgraph->graph->n_nodes; i++) {
        for (tfr__plan **at = &subgraph->plans[i]; *at;) {
            tfr__plan *p = *at;
            if (p->used) {
                at = &p->next;
                continue;
            }
            *at = p->next;
            tfr__plan_destroy(p);
            subgraph->n_plans--;
            session->n_plans_dropped++;
            any = true;
        }
        for (uint32_t k = 0; subgraph->children[i] && k < subgraph->graph->nodes[i].n_subgraphs;
             k++)
            any = forget_unused(session, subgraph->children[i][k]) || any;
    }
    return any;
}

static tfr_status make_plan(tfr_session *session, const tfr__frame *frame, uint32_t first,
                            tfr__plan **out, tfr_err *err)
{
    const tfr__subgraph *subgraph = frame->subgraph;
    const tfr__section section = {.graph = subgraph->graph,
                                  .last_use = subgraph->last_use,
                                  .pins = subgraph->pins,
                                  .values = frame->values,
                                  .first = first,
                                  .variables =
                                      subgraph == session->main ? &session->variables : NULL,
                                  .appends = subgraph == session->main ? session->appends : NULL,
                                  .unsampled = subgraph->n_made >= SAMPLED_PLANS,
                                  .slices_apart = slices_apart(session, subgraph)};
    tfr__plan *like = subgraph->plans[first];
    tfr_status status;
    while (like && (!like->build || like->slices_apart != section.slices_apart))
        like = like->next;
    status = tfr__plan_create(&session->plans, &section, like, out, err);
    if (!status)
        (*out)->slices_apart = section.slices_apart;
    return status;
}

/* The plan of the section at node `first`, moved to the front of its list. */
static tfr_status find_plan(tfr_session *session, tfr__frame *frame, uint32_t first,
                            tfr__plan **out, tfr_err *err)
{
    tfr__subgraph *subgraph = frame->subgraph;
    tfr_status status;
    uint64_t traced;
    for (tfr__plan **at = &subgraph->plans[first]; *at; at = &(*at)->next) {
        tfr__plan *p = *at;
        if (!tfr__plan_fits(p, frame->values))
            continue;
        *at = p->next;
        p->next = subgraph->plans[first];
        p->used_at = ++session->n_finds;
        *out = subgraph->plans[first] = p;
        return TFR_OK;
    }
    traced = tfr__trace_begin(session);
    status = make_plan(session, frame, first, out, err);
    if (status == TFR_ENOMEM && forget_unused(session, session->main))
        status = make_plan(session, frame, first, out, err); /* once more, with more room */
    if (status == TFR_ENOMEM && session->n_used) { /* those of this run have done their work, too */
        tfr__trace_drain(session);
        tfr__subgraph_forget_used(session);
        if (forget_unused(session, session->main))
            status = make_plan(session, frame, first, out, err);
    }
    tfr__trace_add(session, TFR_TRACE_PLAN, traced, session->plans.kernel.run, subgraph->graph, -1);
    if (status)
        return status;
    if ((*out)->used_at) { /* one that was here */
        tfr__plan **at = &subgraph->plans[first];
        while (*at != *out)
            at = &(*at)->next;
        *at = (*out)->next;
    } else {
        if (subgraph->n_plans >= session->max_plans)
            forget_oldest(session, subgraph, first);
        subgraph->n_plans++;
    }
    (*out)->next = subgraph->plans[first];
    (*out)->used_at = ++session->n_finds;
    subgraph->plans[first] = *out;
    subgraph->n_made++;
    session->n_plans++;
    session->plan_ns += (*out)->plan_ns;
    return TFR_OK;
}

static tfr_status note_used(tfr_session *session, tfr__plan *plan, tfr_err *err)
{
    if (plan->used)
        return TFR_OK;
    if (session->n_used == session->used_capacity) {
        uint32_t more = session->used_capacity ? session->used_capacity * 2 : 4;
        tfr__plan **p = tfr__realloc(session->used, more * sizeof *p);
        if (!p)
            return tfr__no_memory(err);
        session->used = p;
        session->used_capacity = more;
    }
    session->used[session->n_used++] = plan;
    plan->used = true;
    return TFR_OK;
}

/* Has the run, which failed, written over a state that the plan would read once more? */
static bool overwrote(const tfr_session *session, const tfr__plan *plan)
{
    for (uint32_t i = 0; i < plan->n_variables; i++)
        if (session->variables.items[plan->variables[i].variable].written == TFR__WRITTEN_OVER)
            return true;
    return false;
}

/* One section by a plan. A backend that fails after a yes has lost the op: plan and run it again.
 */
static tfr_status plan_section(tfr_session *session, tfr__frame *frame, uint32_t *at, bool run,
                               tfr_err *err)
{
    tfr__plan *plan;
    tfr_status status;
    do {
        status = find_plan(session, frame, *at, &plan, err);
        if (!status)
            status = note_used(session, plan, err);
        if (status || !run)
            break;
        status = tfr__plan_run(session, plan, frame, err);
        if (status && plan->stale && session->used[session->n_used - 1] == plan)
            session->used[--session->n_used]->used = false; /* the one that replaces it is told */
    } while (status && plan->stale && status != TFR_ELOST && !overwrote(session, plan));
    if (!status)
        *at = plan->end;
    return status;
}

tfr_status tfr__subgraph_run(tfr_session *session, tfr__frame *frame, tfr_tensor **outputs,
                             bool run, tfr_err *err)
{
    const tfr_graph *g = frame->subgraph->graph;
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < g->n_nodes;) {
        if (session->streams.deadline && tfr__now_ns() > session->streams.deadline) {
            status = tfr__run_timed_out(session, session->streams.deadline, "it was before",
                                        &g->nodes[i], NULL, err);
        } else if (!is_host_node(session, frame, &g->nodes[i])) {
            status = plan_section(session, frame, &i, run, err);
            if (!run)
                return status;
        } else if (!run) {
            return TFR_OK;
        } else {
            uint64_t traced = tfr__trace_begin(session);
            status = host_node_run(session, frame, i, err);
            tfr__trace_add(session, TFR_TRACE_NODE, traced, session->plans.kernel.run, g,
                           (int32_t)i++);
        }
    }
    if (!run)
        return status;
    for (uint32_t i = 0; !status && i < g->n_outputs; i++) {
        tfr_value v = g->outputs[i];
        tfr_tensor *t = tfr__frame_get(frame, v);
        if (frame->subgraph == session->main && session->fetch && !session->fetch[g->n_values + i])
            continue;
        if (!t)
            status = tfr_fail(err, TFR_EMODEL, "output \"%s\" of graph \"%s\" has no value",
                              g->values[v].name, g->name);
        else
            outputs[i] = tfr_tensor_retain(t);
    }
    for (uint32_t i = 0; status && i < g->n_outputs; i++) {
        tfr_tensor_release(outputs[i]);
        outputs[i] = NULL;
    }
    return status;
}
