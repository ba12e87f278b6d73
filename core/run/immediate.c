/* SPDX-License-Identifier: Apache-2.0 */
/*
 * immediate.c: tfr_op_run: an op becomes a graph of one node with a session, which the runtime
 * keeps by op, attributes, device and operand count; the session's plans are found by types and
 * shapes as always.
 */
#include <stdio.h>
#include <string.h>
#include <tfrun/fail.h>
#include <tfrun/op.h>

#include "base/alloc.h"
#include "run/session.h"

/* More different calls than this start the cache anew. */
#define MAX_CALLS 256

typedef struct tfr__call_entry {
    struct tfr__call_entry *next;
    const tfr__op *op;
    char *device; /* NULL = the best */
    tfr__attr_list attrs;
    uint64_t present; /* bit i: input i is given */
    uint32_t n_inputs, n_outputs, users;
    tfr_session *session;
} tfr__call_entry;

struct tfr__call_cache {
    tfr__call_entry *first;
    uint32_t n;
    uint64_t n_runs; /* each draws other random numbers, whichever session it is */
};

static bool entry_fits(const tfr__call_entry *e, const tfr__op *op, const char *device,
                       const tfr_node_desc *node, uint64_t present, uint32_t n_inputs)
{
    if (e->op != op || e->n_inputs != n_inputs || e->present != present ||
        e->n_outputs != node->n_outputs || e->attrs.n != node->n_attrs || (!device != !e->device) ||
        (device && strcmp(device, e->device) != 0))
        return false;
    for (uint32_t i = 0; i < node->n_attrs; i++)
        if (!tfr__attr_same(&e->attrs.items[i].pub, &node->attrs[i]))
            return false;
    return true;
}

static void entry_destroy(tfr__call_entry *e)
{
    if (!e)
        return;
    if (e->session)
        tfr__session_destroy(e->session);
    tfr__attr_free(&e->attrs);
    tfr__free(e->device);
    tfr__free(e);
}

static void call_cache_destroy(struct tfr__call_cache *cache)
{
    while (cache && cache->first) {
        tfr__call_entry *next = cache->first->next;
        entry_destroy(cache->first);
        cache->first = next;
    }
    tfr__free(cache);
}

/* A graph of the one node, with inputs of any type and shape. */
static tfr_status entry_graph(const tfr_node_desc *given, uint32_t n_inputs, uint64_t present,
                              tfr_graph **out, tfr_err *err)
{
    tfr_value *values = tfr__calloc((size_t)n_inputs + given->n_outputs + 1, sizeof *values);
    tfr_value *outputs = values ? values + n_inputs : NULL;
    tfr_node_desc node = *given;
    tfr_graph *graph = NULL;
    tfr_status status = tfr_graph_create(given->op, &graph, err);
    if (!values)
        status = tfr__no_memory(err);
    for (uint32_t i = 0; !status && i < n_inputs; i++) {
        char name[32];
        values[i] = TFR_VALUE_NONE;
        snprintf(name, sizeof name, "input %u", i);
        if (present >> i & 1)
            status = tfr_graph_add_input(graph, name, NULL, &values[i], err);
    }
    node.size = sizeof node;
    node.name = given->op;
    node.inputs = values;
    node.n_inputs = n_inputs;
    node.output_names = NULL;
    node.subgraphs = NULL;
    node.n_subgraphs = 0;
    if (!status)
        status = tfr_graph_add_node(graph, &node, outputs, err);
    for (uint32_t i = 0; !status && i < node.n_outputs; i++)
        status = tfr_graph_add_output(graph, outputs[i], NULL, err);
    tfr__free(values);
    if (status)
        tfr_graph_release(graph);
    else
        *out = graph;
    return status;
}

static tfr_status entry_create(tfr_runtime *runtime, const tfr__op *op, const char *device,
                               const tfr_node_desc *node, uint64_t present, uint32_t n_inputs,
                               tfr__call_entry **out, tfr_err *err)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr__call_entry *e = tfr__calloc(1, sizeof *e);
    tfr_graph *graph = NULL;
    tfr_status status = TFR_OK;
    if (e && device)
        e->device = tfr__strdup(device);
    if (!e || (device && !e->device)) {
        entry_destroy(e);
        return tfr__no_memory(err);
    }
    e->op = op;
    e->present = present;
    e->n_inputs = n_inputs;
    e->n_outputs = node->n_outputs;
    for (uint32_t i = 0; !status && i < node->n_attrs; i++)
        status = tfr__attr_set(&e->attrs, &node->attrs[i], NULL, err);
    if (!status)
        status = entry_graph(node, n_inputs, present, &graph, err);
    options.device = device;
    options.passes = "none"; /* for one node */
    options.timeout_ns = runtime->op_timeout_ns;
    if (!status)
        status = tfr__session_create(runtime, graph, &options, &e->session, err);
    tfr_graph_release(graph);
    if (status)
        entry_destroy(e);
    else
        *out = e;
    return status;
}

/* Drops all entries that nobody is using. The lock is held. */
static void cache_trim(struct tfr__call_cache *cache)
{
    tfr__call_entry **at = &cache->first;
    while (*at) {
        tfr__call_entry *e = *at;
        if (e->users) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        entry_destroy(e);
        cache->n--;
    }
}

static tfr_status entry_get(tfr_runtime *runtime, const tfr__op *op, const char *device,
                            const tfr_node_desc *node, uint64_t present, uint32_t n_inputs,
                            tfr__call_entry **out, uint64_t *step, tfr_err *err)
{
    struct tfr__call_cache *cache = runtime->calls;
    tfr_status status;
    if (!cache) {
        cache = runtime->calls = tfr__calloc(1, sizeof *cache);
        if (!cache)
            return tfr__no_memory(err);
        runtime->calls_destroy = call_cache_destroy;
    }
    for (*out = cache->first; *out; *out = (*out)->next)
        if (entry_fits(*out, op, device, node, present, n_inputs))
            break;
    if (!*out) {
        if (cache->n >= MAX_CALLS)
            cache_trim(cache);
        status = entry_create(runtime, op, device, node, present, n_inputs, out, err);
        if (status)
            return status;
        (*out)->next = cache->first;
        cache->first = *out;
        cache->n++;
    }
    (*out)->users++;
    *step = cache->n_runs++;
    return TFR_OK;
}

/* The inputs that are there, in order, as the session wants them. Its queues go back: there may be
 * more such calls than a driver has queues. */
static tfr_status run_entry(tfr__call_entry *e, tfr_tensor *const *inputs, uint32_t n_inputs,
                            tfr_tensor **outputs, uint32_t n_outputs, tfr_err *err)
{
    tfr_tensor *given[64];
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_inputs; i++)
        if (inputs[i])
            given[n++] = inputs[i];
    tfr_status status = tfr_session_run(e->session, given, n, outputs, n_outputs, err);
    if (e->session->streams.n) {
        pthread_mutex_lock(&e->session->lock);
        tfr__streams_rest(&e->session->streams);
        pthread_mutex_unlock(&e->session->lock);
    }
    return status;
}

tfr_status tfr_op_run(tfr_runtime *runtime, const char *device, const tfr_node_desc *given,
                      tfr_tensor *const *inputs, uint32_t n_inputs, tfr_tensor **outputs,
                      uint32_t n_outputs, tfr_err *err)
{
    tfr_node_desc node = {.size = sizeof node};
    const tfr__op *op;
    tfr__call_entry *e = NULL;
    uint64_t present = 0, step = 0;
    tfr_status status;
    memcpy(&node, given, given->size < sizeof node ? given->size : sizeof node);
    op = node.op ? tfr__op_find(node.domain ? node.domain : "", node.op) : NULL;
    if (!op)
        return tfr_fail(err, TFR_ENOTFOUND,
                        "there is no op \"%s\" in domain \"%s\"; `tfrun ops` lists them",
                        node.op ? node.op : "", node.domain ? node.domain : "");
    if (n_inputs > 64)
        return tfr_fail(err, TFR_ELIMIT, "an immediate call takes up to 64 inputs, not %u",
                        n_inputs);
    if (node.n_outputs != n_outputs)
        return tfr_fail(err, TFR_EINVAL, "%s: room for %u outputs, the node has %u", op->name,
                        n_outputs, node.n_outputs);
    for (uint32_t i = 0; i < n_inputs; i++)
        present |= inputs[i] ? (uint64_t)1 << i : 0;
    pthread_mutex_lock(&runtime->calls_lock);
    status = entry_get(runtime, op, device, &node, present, n_inputs, &e, &step, err);
    pthread_mutex_unlock(&runtime->calls_lock);
    if (status)
        return status;
    tfr_session_set_random(e->session, 0, step);
    status = run_entry(e, inputs, n_inputs, outputs, n_outputs, err);
    pthread_mutex_lock(&runtime->calls_lock);
    e->users--;
    pthread_mutex_unlock(&runtime->calls_lock);
    return status;
}
