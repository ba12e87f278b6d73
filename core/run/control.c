/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.c: the ops with graphs inside: If, Loop, Scan, SequenceMap (ONNX operators If-25,
 * Loop-25, Scan-25, SequenceMap-17). A subgraph has plans of its own; each iteration gives it a
 * frame with its inputs and what it captures. Values are passed by reference.
 */
#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "run/host_ops.h"
#include "value/join.h"
#include "run/session.h"

typedef struct control {
    tfr_session *session;
    tfr__frame *frame;
    const tfr__node *node;
    tfr__subgraph *body; /* of the subgraph at hand */
    tfr_tensor *const *in;
    tfr_tensor **out;
    tfr_err *err;
    uint64_t n_bytes; /* collected from pass to pass */
} control;

static tfr_status control_fail(const control *c, const char *text)
{
    return tfr_fail(c->err, TFR_EMODEL, "node \"%s\" (%s): %s", c->node->name, c->node->op->name,
                    text);
}

static tfr_status choose_body(control *c, uint32_t node, const char *attr)
{
    const tfr_graph *graph = tfr__attr_graph(&c->node->attrs, attr);
    for (uint32_t i = 0; i < c->node->n_subgraphs; i++) {
        if (c->node->subgraphs[i] == graph) {
            c->body = c->frame->subgraph->children[node][i];
            return TFR_OK;
        }
    }
    return tfr_fail(c->err, TFR_EMODEL, "node \"%s\" (%s) has no graph \"%s\"", c->node->name,
                    c->node->op->name, attr);
}

/* One pass through the subgraph. outputs: room for all of its outputs, set to retained tensors. */
static tfr_status pass(control *c, tfr_tensor *const *inputs, uint32_t n_inputs,
                       tfr_tensor **outputs)
{
    const tfr_graph *g = c->body->graph, *outer = c->frame->subgraph->graph;
    const uint32_t outer_pass = c->session->plans.kernel.random.pass;
    tfr__frame frame = {0};
    tfr_status status;
    if (g->n_inputs != n_inputs)
        return tfr_fail(c->err, TFR_EMODEL,
                        "node \"%s\" (%s): its graph takes %u inputs, it is given %u",
                        c->node->name, c->node->op->name, g->n_inputs, n_inputs);
    status = tfr__frame_init(c->body, &frame, c->err);
    for (uint32_t i = 0; !status && i < n_inputs; i++)
        tfr__frame_put(&frame, g->inputs[i], tfr_tensor_retain(inputs[i]));
    for (uint32_t v = 0; !status && v < g->n_values; v++) {
        tfr_value from = g->values[v].outer;
        tfr_tensor *t;
        if (g->values[v].role != TFR__ROLE_CAPTURE)
            continue;
        t = outer->values[from].role == TFR__ROLE_CONSTANT ? outer->values[from].tensor
                                                           : c->frame->values[from];
        if (t && t->unaligned) /* else each run of the body would align it */
            status = tfr_tensor_view(t, 0, &t->shape, NULL, &t, c->err);
        else
            tfr_tensor_retain(t);
        if (t && !status)
            tfr__frame_put(&frame, v, t);
    }
    c->session->plans.kernel.random.pass = ++c->session->n_passes_run;
    if (!status)
        status = tfr__subgraph_run(c->session, &frame, outputs, true, c->err);
    c->session->plans.kernel.random.pass = outer_pass;
    tfr__frame_finish(&frame);
    return status;
}

static tfr_status read_bool(const control *c, const tfr_tensor *t, bool *out)
{
    if (!t || t->kind != TFR_KIND_TENSOR || t->dtype != TFR_DTYPE_BOOL || t->n_elements != 1)
        return control_fail(c, "the condition must be one bool");
    *out = *(const uint8_t *)t->data != 0;
    return TFR_OK;
}

static tfr_status make_scalar(tfr_dtype dtype, int64_t value, tfr_tensor **out, tfr_err *err)
{
    tfr_shape scalar = {0};
    tfr_status status = tfr_tensor_create(dtype, &scalar, out, err);
    if (!status && dtype == TFR_DTYPE_I64)
        *(int64_t *)(*out)->data = value;
    else if (!status)
        *(uint8_t *)(*out)->data = value != 0;
    return status;
}

static void release_all(tfr_tensor **tensors, size_t n)
{
    for (size_t i = 0; tensors && i < n; i++) {
        tfr_tensor_release(tensors[i]);
        tensors[i] = NULL;
    }
}

/* ---- what is collected from pass to pass ----------------------------------------------------- */

typedef struct collected {
    tfr_tensor **values;
    size_t n, capacity;
} collected;

/* Nobody can plan how much that will be, so it is told when it has become much. */
static void count_bytes(control *c, const collected *list, const tfr_tensor *taken)
{
    const uint64_t much = UINT64_C(512) << 20, before = c->n_bytes;
    c->n_bytes += sizeof *taken + taken->bytes;
    if (before < much && c->n_bytes >= much)
        tfr__log(c->session->runtime, TFR_LOG_WARNING, "session",
                 "node \"%s\" (%s) has collected %llu MiB of memory in %zu iterations, and goes on",
                 c->node->name, c->node->op->name, (unsigned long long)(c->n_bytes >> 20), list->n);
}

static tfr_status collect(control *c, collected *list, tfr_tensor *taken)
{
    count_bytes(c, list, taken);
    if (list->n == list->capacity) {
        size_t more = list->capacity ? list->capacity * 2 : 16;
        tfr_tensor **p = tfr__realloc(list->values, more * sizeof *p);
        if (!p)
            return tfr__no_memory(c->err);
        list->values = p;
        list->capacity = more;
    }
    list->values[list->n++] = taken;
    return TFR_OK;
}

static void collected_finish(collected *lists, size_t n)
{
    for (size_t i = 0; lists && i < n; i++) {
        release_all(lists[i].values, lists[i].n);
        tfr__free(lists[i].values);
    }
    tfr__free(lists);
}

/* What is declared of an output of the body, else known of the value; a copy that passes changed
 * says what it was before. */
static const tfr_value_type *declared(const control *c, uint32_t output)
{
    const tfr_graph *graph = c->body->graph;
    return graph->source || (output < graph->n_declared && graph->output_types[output].dtype)
               ? &graph->output_types[output]
               : &graph->values[graph->outputs[output]].type;
}

/* All passes stacked; after no pass at all an empty tensor of what is declared of the output. */
static tfr_status stack(control *c, const collected *list, uint32_t output, int64_t axis,
                        tfr_tensor **out)
{
    const tfr_value_type *type = declared(c, output);
    tfr_shape empty = {1, {0}};
    if (list->n)
        return tfr__tensors_join(list->values, list->n, axis, true, out, c->err);
    if (type->rank_known && type->rank < TFR_MAX_RANK) {
        empty.rank = type->rank + 1;
        axis += axis < 0 ? empty.rank : 0;
        for (int32_t i = 0; i < type->rank; i++)
            empty.dims[i + (i >= axis)] = type->dims[i] < 0 ? 0 : type->dims[i];
        if (axis >= 0 && axis < empty.rank)
            empty.dims[axis] = 0;
    }
    return tfr_tensor_create(type->dtype ? (tfr_dtype)type->dtype : TFR_DTYPE_F32, &empty, out,
                             c->err);
}

/* ---- If and Loop ----------------------------------------------------------------------------- */

static tfr_status run_if(control *c, uint32_t node)
{
    tfr_tensor **results;
    bool condition = false;
    tfr_status status = read_bool(c, c->in[0], &condition);
    if (!status)
        status = choose_body(c, node, condition ? "then_branch" : "else_branch");
    if (status)
        return status;
    if (c->body->graph->n_outputs != c->node->n_outputs)
        return control_fail(c, "its graph and the node have different numbers of outputs");
    results = tfr__calloc((size_t)c->node->n_outputs + 1, sizeof *results);
    if (!results)
        return tfr__no_memory(c->err);
    status = pass(c, NULL, 0, results);
    memcpy(c->out, results, c->node->n_outputs * sizeof *results);
    tfr__free(results);
    return status;
}

/* State of a Loop: [0] iteration, [1] condition, then what is carried; results has one less. */
typedef struct loop {
    uint32_t n_carried, n_scanned;
    tfr_tensor **state, **results;
    collected *scanned;
} loop;

static tfr_status loop_pass(control *c, loop *l, int64_t iteration, bool *go_on)
{
    tfr_status status;
    tfr_tensor_release(l->state[0]);
    l->state[0] = NULL;
    status = make_scalar(TFR_DTYPE_I64, iteration, &l->state[0], c->err);
    if (!status)
        status = pass(c, l->state, 2 + l->n_carried, l->results);
    if (!status)
        status = read_bool(c, l->results[0], go_on);
    for (uint32_t i = 0; !status && i < l->n_scanned; i++) {
        status = collect(c, &l->scanned[i], l->results[1 + l->n_carried + i]);
        if (!status)
            l->results[1 + l->n_carried + i] = NULL;
    }
    for (uint32_t i = 0; !status && i <= l->n_carried; i++) {
        tfr_tensor_release(l->state[1 + i]);
        l->state[1 + i] = l->results[i];
        l->results[i] = NULL;
    }
    release_all(l->results, (size_t)1 + l->n_carried + l->n_scanned);
    return status;
}

static tfr_status loop_start(control *c, loop *l, int64_t *trips, bool *go_on)
{
    tfr_status status = TFR_OK;
    if (c->node->n_inputs < 2 || c->body->graph->n_inputs != c->node->n_inputs ||
        c->body->graph->n_outputs < c->node->n_inputs - 1 ||
        c->body->graph->n_outputs - 1 != c->node->n_outputs)
        return control_fail(c, "its graph and the node have different numbers of values");
    l->n_carried = c->node->n_inputs - 2;
    l->n_scanned = c->body->graph->n_outputs - 1 - l->n_carried;
    l->state = tfr__calloc((size_t)l->n_carried + 2, sizeof *l->state);
    l->results = tfr__calloc((size_t)c->body->graph->n_outputs + 1, sizeof *l->results);
    l->scanned = tfr__calloc((size_t)l->n_scanned + 1, sizeof *l->scanned);
    if (!l->state || !l->results || !l->scanned)
        return tfr__no_memory(c->err);
    if (c->in[0]) {
        if (c->in[0]->dtype != TFR_DTYPE_I64 || c->in[0]->n_elements != 1)
            return control_fail(c, "the trip count must be one int64");
        memcpy(trips, c->in[0]->data, sizeof *trips); /* which may lie anywhere */
    }
    if (c->in[1])
        status = read_bool(c, c->in[1], go_on);
    if (!status)
        status = make_scalar(TFR_DTYPE_BOOL, *go_on, &l->state[1], c->err);
    for (uint32_t i = 0; !status && i < l->n_carried; i++) {
        if (!c->in[2 + i])
            return control_fail(c, "a carried value is missing");
        /* A weight of a file at an odd address would be copied in each trip that hands it on. */
        if (tfr__tensor_is_aligned(c->in[2 + i]))
            l->state[2 + i] = tfr_tensor_retain(c->in[2 + i]);
        else
            status = tfr_tensor_copy(c->in[2 + i], &l->state[2 + i], c->err);
    }
    return status;
}

static tfr_status run_loop(control *c, uint32_t node)
{
    loop l = {0};
    int64_t trips = INT64_MAX;
    bool go_on = true;
    tfr_status status = choose_body(c, node, "body");
    if (!status)
        status = loop_start(c, &l, &trips, &go_on);
    for (int64_t i = 0; !status && go_on && i < trips; i++)
        status = loop_pass(c, &l, i, &go_on);
    for (uint32_t i = 0; !status && i < l.n_carried; i++)
        c->out[i] = tfr_tensor_retain(l.state[2 + i]);
    for (uint32_t i = 0; !status && i < l.n_scanned; i++)
        status = stack(c, &l.scanned[i], 1 + l.n_carried + i, 0, &c->out[l.n_carried + i]);
    release_all(l.state, l.state ? (size_t)l.n_carried + 2 : 0);
    tfr__free(l.state);
    tfr__free(l.results);
    collected_finish(l.scanned, l.n_scanned);
    return status;
}

/* ---- Scan and SequenceMap -------------------------------------------------------------------- */

/* Entry i of an attribute with one number per scanned value; 0 if it is absent. */
static int64_t entry(const control *c, const char *name, uint32_t i)
{
    uint64_t n;
    const int64_t *list = tfr__attr_ints(&c->node->attrs, name, &n);
    return list && i < n ? list[i] : 0;
}

/* Slice t along the scan axis of input i, without that axis. */
static tfr_status scan_slice(control *c, uint32_t i, tfr_tensor *t, int64_t at, tfr_tensor **out)
{
    int64_t axis = entry(c, "scan_input_axes", i), strides[TFR_MAX_RANK];
    tfr_shape shape = {0};
    axis += axis < 0 ? t->shape.rank : 0;
    if (entry(c, "scan_input_directions", i))
        at = t->shape.dims[axis] - 1 - at;
    for (int32_t d = 0; d < t->shape.rank; d++) {
        if (d == axis)
            continue;
        strides[shape.rank] = t->strides[d];
        shape.dims[shape.rank++] = t->shape.dims[d];
    }
    return tfr_tensor_view(t, t->n_elements ? at * t->strides[axis] : 0, &shape, strides, out,
                           c->err);
}

/* How many passes: the length of all scanned inputs along their axes. */
static tfr_status scan_length(control *c, uint32_t n_state, uint32_t n_scan, int64_t *out)
{
    for (uint32_t i = 0; i < n_scan; i++) {
        tfr_tensor *t = c->in[n_state + i];
        int64_t axis = entry(c, "scan_input_axes", i);
        if (!t || t->kind != TFR_KIND_TENSOR || axis < -t->shape.rank || axis >= t->shape.rank)
            return control_fail(c, "a scan axis is outside its input's rank");
        axis += axis < 0 ? t->shape.rank : 0;
        if (i && t->shape.dims[axis] != *out)
            return control_fail(c, "the scanned inputs have different lengths");
        *out = t->shape.dims[axis];
    }
    return TFR_OK;
}

static void reverse(collected *list)
{
    for (size_t i = 0; i < list->n / 2; i++) {
        tfr_tensor *t = list->values[i];
        list->values[i] = list->values[list->n - 1 - i];
        list->values[list->n - 1 - i] = t;
    }
}

/* One pass: state and slices in, state and results out; state is exchanged. */
static tfr_status scan_pass(control *c, tfr_tensor **state, uint32_t n_state, uint32_t n_scan,
                            int64_t at, tfr_tensor **results, collected *lists)
{
    uint32_t n_out = c->body->graph->n_outputs;
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < n_scan; i++)
        status = scan_slice(c, i, c->in[n_state + i], at, &state[n_state + i]);
    if (!status)
        status = pass(c, state, n_state + n_scan, results);
    release_all(state + n_state, n_scan);
    for (uint32_t i = 0; !status && i < n_out; i++) {
        if (i < n_state) {
            tfr_tensor_release(state[i]);
            state[i] = results[i];
        } else {
            status = collect(c, &lists[i - n_state], results[i]);
        }
        if (!status)
            results[i] = NULL;
    }
    release_all(results, n_out);
    return status;
}

static tfr_status run_scan(control *c, uint32_t node)
{
    int64_t n_scan = tfr__attr_int(&c->node->attrs, "num_scan_inputs", 0), length = 0;
    uint32_t n_state, n_out = c->node->n_outputs;
    tfr_tensor **state, **results;
    collected *lists;
    tfr_status status = choose_body(c, node, "body");
    if (status)
        return status;
    if (n_scan < 1 || n_scan > c->node->n_inputs || c->body->graph->n_outputs != n_out ||
        n_out < c->node->n_inputs - (uint32_t)n_scan)
        return control_fail(c, "its graph and the node have different numbers of values");
    n_state = c->node->n_inputs - (uint32_t)n_scan;
    state = tfr__calloc((size_t)c->node->n_inputs + 1, sizeof *state);
    results = tfr__calloc((size_t)n_out + 1, sizeof *results);
    lists = tfr__calloc((size_t)n_out + 1, sizeof *lists);
    if (!state || !results || !lists)
        status = tfr__no_memory(c->err);
    if (!status)
        status = scan_length(c, n_state, (uint32_t)n_scan, &length);
    for (uint32_t i = 0; !status && i < n_state; i++)
        state[i] = tfr_tensor_retain(c->in[i]);
    for (int64_t at = 0; !status && at < length; at++)
        status = scan_pass(c, state, n_state, (uint32_t)n_scan, at, results, lists);
    for (uint32_t i = 0; !status && i < n_state; i++)
        c->out[i] = tfr_tensor_retain(state[i]);
    for (uint32_t i = n_state; !status && i < n_out; i++) {
        if (entry(c, "scan_output_directions", i - n_state))
            reverse(&lists[i - n_state]);
        status =
            stack(c, &lists[i - n_state], i, entry(c, "scan_output_axes", i - n_state), &c->out[i]);
    }
    release_all(state, n_state);
    tfr__free(state);
    tfr__free(results);
    collected_finish(lists, n_out);
    return status;
}

static tfr_status map_pass(control *c, size_t at, tfr_tensor **inputs, tfr_tensor **results,
                           collected *lists)
{
    uint32_t n_out = c->node->n_outputs;
    tfr_status status;
    for (uint32_t i = 0; i < c->node->n_inputs; i++) {
        inputs[i] = c->in[i];
        if (inputs[i] && inputs[i]->kind == TFR_KIND_SEQUENCE)
            inputs[i] = tfr_sequence_at(inputs[i], at);
        if (!inputs[i])
            return control_fail(c, "the sequences have different lengths");
    }
    status = pass(c, inputs, c->node->n_inputs, results);
    for (uint32_t i = 0; !status && i < n_out; i++) {
        status = collect(c, &lists[i], results[i]);
        if (!status)
            results[i] = NULL;
    }
    release_all(results, n_out);
    return status;
}

static tfr_status run_sequence_map(control *c, uint32_t node)
{
    uint32_t n_out = c->node->n_outputs;
    tfr_tensor **inputs, **results;
    collected *lists;
    tfr_status status = choose_body(c, node, "body");
    if (status)
        return status;
    if (c->body->graph->n_outputs != n_out || !c->in[0] || c->in[0]->kind != TFR_KIND_SEQUENCE)
        return control_fail(c,
                            "the first input must be a sequence, and its graph and the node must "
                            "have as many outputs");
    inputs = tfr__calloc((size_t)c->node->n_inputs + 1, sizeof *inputs);
    results = tfr__calloc((size_t)n_out + 1, sizeof *results);
    lists = tfr__calloc((size_t)n_out + 1, sizeof *lists);
    if (!inputs || !results || !lists)
        status = tfr__no_memory(c->err);
    for (size_t at = 0; !status && at < c->in[0]->n_values; at++)
        status = map_pass(c, at, inputs, results, lists);
    for (uint32_t i = 0; !status && i < n_out; i++) {
        tfr_value v = c->body->graph->outputs[i];
        tfr_dtype dtype = lists[i].n ? tfr_tensor_dtype(lists[i].values[0])
                                     : (tfr_dtype)c->body->graph->values[v].type.dtype;
        status = tfr_sequence_create(dtype, lists[i].values, lists[i].n, &c->out[i], c->err);
    }
    tfr__free(inputs);
    tfr__free(results);
    collected_finish(lists, n_out);
    return status;
}

tfr_status tfr__control_run(tfr_session *session, tfr__frame *frame, uint32_t node,
                            tfr_tensor *const *inputs, tfr_tensor **outputs, tfr_err *err)
{
    control c = {session, frame, &frame->subgraph->graph->nodes[node], NULL, inputs, outputs,
                 err,     0};
    const char *name = c.node->op->name;
    if (strcmp(name, "If") == 0)
        return run_if(&c, node);
    if (strcmp(name, "Loop") == 0)
        return run_loop(&c, node);
    if (strcmp(name, "Scan") == 0)
        return run_scan(&c, node);
    if (strcmp(name, "SequenceMap") == 0)
        return run_sequence_map(&c, node);
    return tfr_fail(err, TFR_EUNSUPPORTED, "node \"%s\" (%s): this op is not supported yet",
                    c.node->name, name);
}
