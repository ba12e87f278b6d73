/* SPDX-License-Identifier: Apache-2.0 */
/* binding.c: makes and destroys bindings. */
#include "run/binding.h"

#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"

static tfr_status binding_refuse(const tfr_session *session, const char *why, tfr_err *err)
{
    return tfr_fail(err, TFR_EUNSUPPORTED,
                    "graph \"%s\" cannot be bound: %s; run it by its session", session->graph->name,
                    why);
}

/* Nodes on whole values are the core's own, which no plan holds. */
static tfr_status nodes_check(const tfr_session *session, tfr_err *err)
{
    for (uint32_t i = 0; i < session->graph->n_nodes; i++) {
        const tfr__node *node = &session->graph->nodes[i];
        if (node->op->kind == TFR__OP_CONTROL || node->op->kind == TFR__OP_SEQUENCE)
            return tfr_fail(err, TFR_EUNSUPPORTED,
                            "graph \"%s\" cannot be bound: node \"%s\" (%s) is control flow, or "
                            "works on sequences; run it by its session",
                            session->graph->name, node->name, node->op->name);
    }
    return TFR_OK;
}

/* The plan must be the whole graph, and all it gives must be of fixed size. */
static tfr_status binding_check(const tfr_binding *b, tfr_err *err)
{
    const tfr_graph *g = b->session->graph;
    if (b->plan->end != g->n_nodes)
        return binding_refuse(b->session, "a shape depends on a value that only a run can tell",
                              err);
    for (uint32_t i = 0; i < g->n_variables; i++)
        if (g->values[g->variables[i]].update != TFR_VALUE_NONE)
            return binding_refuse(b->session, "it updates variables", err);
    for (uint32_t i = 0; i < b->plan->n_live_outs; i++)
        if (b->plan->live_outs[i].dims)
            return binding_refuse(b->session, "the size of an output depends on its values", err);
    return TFR_OK;
}

static const tfr__live_out *find_live_out(const tfr__plan *plan, tfr_value v)
{
    for (uint32_t i = 0; i < plan->n_live_outs; i++)
        if (plan->live_outs[i].value == v)
            return &plan->live_outs[i];
    return NULL;
}

static tfr_status output_check(const tfr_binding *b, uint32_t i, int32_t dtype,
                               const tfr_shape *shape, tfr_err *err)
{
    const tfr_tensor *t = b->outputs[i];
    char want[160], got[160];
    if (t && t->kind == TFR_KIND_TENSOR && t->plain && t->dtype == dtype &&
        tfr_shape_equal(&t->shape, shape)) {
        if (tfr_tensor_is_read_only(t))
            return tfr_fail(err, TFR_EPERM,
                            "output \"%s\" is a tensor that must not be written; give it another",
                            tfr_graph_output_name(b->session->graph, i));
        if (dtype != TFR_DTYPE_STRING || t->n_elements == 0 || (t->base ? t->base : t)->owns)
            return TFR_OK;
        return tfr_fail(err, TFR_EPERM,
                        "output \"%s\" has its strings in the caller's memory, where no run can "
                        "replace them; give it a tensor that owns its strings",
                        tfr_graph_output_name(b->session->graph, i));
    }
    return tfr_fail(err, TFR_ESHAPE, "output \"%s\" must be a plain tensor of %s%s, not %s%s",
                    tfr_graph_output_name(b->session->graph, i), tfr_dtype_name((tfr_dtype)dtype),
                    tfr_shape_format(shape, want, sizeof want),
                    t ? tfr_dtype_name((tfr_dtype)t->dtype) : "nothing",
                    t ? tfr_shape_format(&t->shape, got, sizeof got) : "");
}

/* Kernels write outputs while others still read inputs. */
static tfr_status sharing_check(const tfr_binding *b, uint32_t i, tfr_tensor *const *inputs,
                                uint32_t n_inputs, tfr_err *err)
{
    const tfr_graph *g = b->session->graph;
    const char *kind = NULL, *name = "";
    for (uint32_t k = 0; !kind && k < n_inputs; k++)
        if (tfr__tensors_share(b->outputs[i], inputs[k])) {
            kind = "input";
            name = g->values[g->inputs[k]].name;
        }
    for (uint32_t k = 0; !kind && k < i; k++)
        if (tfr__tensors_share(b->outputs[i], b->outputs[k])) {
            kind = "output";
            name = tfr_graph_output_name(g, k);
        }
    if (!kind)
        return TFR_OK;
    return tfr_fail(err, TFR_EINVAL,
                    "output \"%s\" shares memory with %s \"%s\"; give it a tensor of its own",
                    tfr_graph_output_name(g, i), kind, name);
}

static void copy_add(tfr_binding *b, uint32_t i, const tfr_tensor *src, uint32_t buffer)
{
    b->copies[b->n_copies++] =
        (tfr__late_copy){b->outputs[i], src, buffer, b->session->graph->n_values + i};
}

/* Strings deeply: each tensor frees its own. */
static tfr_status output_bind(tfr_binding *b, uint32_t i, tfr_err *err)
{
    const tfr_graph *g = b->session->graph;
    tfr_value v = g->outputs[i];
    const tfr__live_out *out = find_live_out(b->plan, v);
    const tfr_tensor *outside = b->frame.values[v] ? b->frame.values[v] : g->values[v].tensor;
    tfr__buffer *buffer;
    tfr_shape shape;
    tfr_status status;
    if (!out && (!outside || outside->kind != TFR_KIND_TENSOR))
        return binding_refuse(b->session, "an output is a sequence or an optional", err);
    if (!out) {
        status = output_check(b, i, outside->dtype, &outside->shape, err);
        if (!status)
            copy_add(b, i, outside, 0);
        return status;
    }
    status = tfr_shape_make(out->type.rank, out->type.dims, &shape, err);
    if (!status)
        status = output_check(b, i, out->type.dtype, &shape, err);
    if (status)
        return status;
    buffer = out->known ? NULL : &b->plan->buffers[out->buffer];
    if (out->known)
        copy_add(b, i, out->known, 0);
    else if (out->copy || buffer->address)
        copy_add(b, i, NULL, out->buffer);
    else
        buffer->address = b->outputs[i]->data;
    return TFR_OK;
}

static tfr_status make_plan(tfr_binding *b, tfr_err *err)
{
    const tfr__subgraph *subgraph = b->session->main;
    const tfr__section section = {.graph = subgraph->graph,
                                  .last_use = subgraph->last_use,
                                  .pins = subgraph->pins,
                                  .values = b->frame.values};
    tfr_status status = tfr__plan_create(&b->session->plans, &section, NULL, &b->plan, err);
    if (!status)
        b->session->n_plans++;
    return status;
}

static tfr_status binding_fill(tfr_binding *b, tfr_tensor *const *inputs, uint32_t n_inputs,
                               tfr_tensor *const *outputs, tfr_err *err)
{
    const tfr_graph *g = b->session->graph;
    tfr_status status = nodes_check(b->session, err);
    if (!status)
        status = tfr__frame_init(b->session->main, &b->frame, err);
    if (!status)
        status = tfr__session_bind_inputs(b->session, &b->frame, inputs, n_inputs, true, err);
    if (!status)
        status = make_plan(b, err);
    b->outputs = tfr__calloc((size_t)g->n_outputs + 1, sizeof *b->outputs);
    b->copies = tfr__calloc((size_t)g->n_outputs + 1, sizeof *b->copies);
    b->fetched = tfr__calloc((size_t)g->n_values + g->n_outputs + 1, sizeof *b->fetched);
    if (!status && (!b->outputs || !b->copies || !b->fetched))
        status = tfr__no_memory(err);
    if (!status)
        status = binding_check(b, err);
    for (uint32_t i = 0; !status && i < g->n_outputs; i++) {
        b->outputs[i] = outputs[i] ? tfr_tensor_retain(outputs[i]) : NULL;
        b->n_outputs = i + 1;
        status = output_bind(b, i, err);
        if (!status)
            status = sharing_check(b, i, inputs, n_inputs, err);
    }
    for (uint32_t i = 0; !status && i < b->plan->n_buffers; i++) {
        tfr__buffer *buffer = &b->plan->buffers[i];
        if (buffer->kind == TFR__BUFFER_LIVE_IN) {
            buffer->address = b->frame.values[buffer->value]->data;
        } else if (buffer->kind == TFR__BUFFER_TENSOR && !buffer->address) {
            status =
                tfr_tensor_create((tfr_dtype)buffer->dtype, &buffer->shape, &buffer->tensor, err);
            if (!status)
                buffer->address = buffer->tensor->data;
        }
    }
    b->n_runs = b->session->plans.kernel.run;
    b->random = b->session->plans.kernel.random;
    for (uint32_t i = 0; i < b->session->streams.n; i++)
        b->has_queue = b->has_queue || b->session->streams.items[i].queue;
    if (b->session->timeout_ns)
        b->plan->watch |= TFR__WATCH_DEADLINE;
    if (!status)
        tfr__plan_patch(b->plan);
    b->only_walks =
        !status && !b->has_queue && !b->n_copies && !b->session->timeout_ns && !b->plan->random;
    return status;
}

/* Kernels may be at work on all that it has. */
tfr_status tfr_binding_create(tfr_session *session, tfr_tensor *const *inputs, uint32_t n_inputs,
                              tfr_tensor *const *outputs, uint32_t n_outputs, tfr_binding **out,
                              tfr_err *err)
{
    tfr_binding *b;
    tfr_status status;
    if (n_outputs != session->graph->n_outputs)
        return tfr_fail(err, TFR_EINVAL, "the graph has %u outputs, %u were given",
                        session->graph->n_outputs, n_outputs);
    b = tfr__calloc(1, sizeof *b);
    if (!b)
        return tfr__no_memory(err);
    b->session = session;
    pthread_mutex_lock(&session->lock);
    status = tfr__session_begin(session, err);
    if (!status)
        status = binding_fill(b, inputs, n_inputs, outputs, err);
    session->streams.deadline = 0;
    pthread_mutex_unlock(&session->lock);
    if (status)
        tfr_binding_destroy(b);
    else
        *out = b;
    return status;
}

void tfr_binding_destroy(tfr_binding *b)
{
    if (!b)
        return;
    pthread_mutex_lock(&b->session->lock);
    (void)tfr__streams_recover(&b->session->streams, NULL);
    tfr__plan_destroy(b->plan);
    pthread_mutex_unlock(&b->session->lock);
    for (uint32_t i = 0; i < b->n_outputs; i++)
        tfr_tensor_release(b->outputs[i]);
    tfr__frame_finish(&b->frame);
    tfr__free(b->outputs);
    tfr__free(b->copies);
    tfr__free(b->fetched);
    tfr__free(b);
}
