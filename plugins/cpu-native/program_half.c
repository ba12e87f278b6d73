/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_half.c: float16 and bfloat16 in programs. Values are stored in half where a group begins
 * and ends, and where the model casts; between its nodes arithmetic and values are float32. The
 * group becomes another one, in which each value of half has a wide twin of float32, nodes read and
 * write twins, and casts stand where one is made of the other. Nothing behind knows of half.
 *
 * A value is rounded where it leaves the group or goes through a Cast, not after each node: what a
 * node reads is nearer to the exact value than in the model's own arithmetic.
 *
 * Constants are widened once for a device. Tables that Gather reads stay as they are: its result
 * is widened.
 */
#include "program_half.h"

#include <stdlib.h>
#include <string.h>

#include "cast.h"

static bool is_half(const tfr_operand *o)
{
    return o && (o->dtype == TFR_DTYPE_F16 || o->dtype == TFR_DTYPE_BF16);
}

bool native_has_half(const tfr_call *call)
{
    uint32_t i;

    for (i = 0; i < call->n_inputs; i++) {
        if (is_half(tfr_call_input(call, i)))
            return true;
    }
    for (i = 0; i < call->n_outputs; i++) {
        if (is_half(tfr_call_output(call, i)))
            return true;
    }
    return false;
}

/* The node sees values of half as they are. */
static bool keeps_half(const tfr_call *call)
{
    if (strcmp(call->name, "Gather") == 0)
        return tfr_call_input(call, 0)->data && native_find_form(call);
    return strcmp(call->name, "Cast") == 0 || strcmp(call->name, "CastLike") == 0;
}

/* ---- numbers ---- */

/* n elements, which may lie at any address. */
static void widen(const native_isa *isa, const tfr_operand *o, float *to, int64_t n)
{
    native_span s = {.n_in = 1};
    const native_span_fn cast = native_find_cast(isa, o->dtype, TFR_DTYPE_F32);
    const char *from = o->data;
    uint16_t block[512];
    int64_t i, some;

    for (i = 0; i < n; i += some) {
        some = n - i < 512 ? n - i : 512;
        memcpy(block, from + i * 2, (size_t)some * 2);
        s.in[0] = block;
        s.step[0] = 1;
        s.to = to + i;
        s.n = some;
        cast(&s);
    }
}

/* ---- calls ---- */

static tfr_operand widened(const tfr_operand *o)
{
    tfr_operand wide = *o;

    if (is_half(o)) {
        wide.dtype = TFR_DTYPE_F32;
        wide.flags &= ~(uint32_t)TFR_OPERAND_UNALIGNED;
    }
    return wide;
}

/* *number: a known operand of one element. */
static tfr_operand absent_or_widened(const tfr_operand *o, float *number)
{
    tfr_operand wide = {.size = sizeof wide, .dtype = TFR_DTYPE_NONE};

    if (!o)
        return wide;
    wide = widened(o);
    if (is_half(o) && o->data && tfr_operand_elements(o) == 1) {
        widen(&native_portable, o, number, 1);
        wide.data = number;
    }
    return wide;
}

bool native_widen_call(const tfr_call *call, native_wide_call *wide)
{
    uint32_t i;

    if (call->n_inputs > NATIVE_ITEM_INPUTS || call->n_outputs > NATIVE_ITEM_OUTPUTS)
        return false;
    wide->call = *call;
    wide->call.inputs = wide->inputs;
    wide->call.outputs = wide->outputs;
    wide->call.input_stride = wide->call.output_stride = sizeof(tfr_operand);
    for (i = 0; i < call->n_inputs; i++)
        wide->inputs[i] = absent_or_widened(tfr_call_input(call, i), &wide->numbers[i]);
    for (i = 0; i < call->n_outputs; i++)
        wide->outputs[i] = absent_or_widened(tfr_call_output(call, i), NULL);
    return true;
}

const native_form *native_find_any_form(const tfr_call *call)
{
    native_wide_call wide;

    if (native_has_half(call) && (call->name[0] == 'Q' || strstr(call->name, "quantizeLinear")))
        return NULL; /* it rounds in half */
    if (!native_has_half(call) || keeps_half(call) || strcmp(call->domain, "tfrun") == 0)
        return native_find_form(call);
    return native_widen_call(call, &wide) ? native_find_form(&wide.call) : NULL;
}

/* ---- the other group ---- */

/* Values [0, n) are those of the group, n + i is the wide twin of value i. */
typedef struct maker {
    native_half *h;
    const tfr_program_graph *from;
    tfr_plugin_device *device;
    bool *there; /* of each value: it has been made */
    uint64_t bytes;
    tfr_operand *next_operand;
    int32_t *next_edge;
} maker;

static int32_t wide_of(const maker *m, int32_t value)
{
    return value >= 0 && is_half(native_graph_value(m->from, value)->operand)
               ? value + (int32_t)m->from->n_values
               : value;
}

static tfr_program_node *add_node(maker *m, const tfr_call *call, int origin)
{
    native_half *h = m->h;
    tfr_program_node *node = &h->nodes[h->graph.n_nodes];
    tfr_call *copy = &h->calls[h->graph.n_nodes];

    h->origin[h->graph.n_nodes++] = origin;
    *copy = *call;
    copy->inputs = m->next_operand;
    copy->outputs = m->next_operand + call->n_inputs;
    copy->input_stride = copy->output_stride = sizeof(tfr_operand);
    m->next_operand += call->n_inputs + call->n_outputs;
    node->size = sizeof *node;
    node->call = copy;
    node->inputs = m->next_edge;
    node->outputs = m->next_edge + call->n_inputs;
    m->next_edge += call->n_inputs + call->n_outputs;
    return node;
}

static void set_operand(const maker *m, const tfr_program_node *node, uint32_t i, int32_t value)
{
    tfr_operand *o = (tfr_operand *)(uintptr_t)node->call->inputs + i;
    int32_t *edge = (int32_t *)(uintptr_t)node->inputs + i;

    *edge = value;
    if (value >= 0)
        *o = *m->h->values[value].operand;
    else
        *o = (tfr_operand){.size = sizeof *o, .dtype = TFR_DTYPE_NONE};
}

/* Makes a value of its twin. */
static void add_cast(maker *m, int32_t value, int origin)
{
    const int32_t n = (int32_t)m->from->n_values, twin = value < n ? value + n : value - n;
    const tfr_call call = {.size = sizeof call,
                           .since_version = 13,
                           .domain = "",
                           .name = "Cast",
                           .attr_stride = sizeof(tfr_attr),
                           .n_inputs = 1,
                           .n_outputs = 1};
    const tfr_program_node *node;

    if (m->there[value] || m->h->values[value].operand->data)
        return;
    node = add_node(m, &call, origin);
    set_operand(m, node, 0, twin);
    set_operand(m, node, 1, value);
    m->there[value] = true;
}

static void add_group_node(maker *m, int i)
{
    const tfr_program_node *from = native_graph_node(m->from, i);
    const tfr_call *call = from->call;
    const bool keeps = !(from->flags & TFR_NODE_VIEW) && keeps_half(call);
    tfr_program_node *node;
    uint32_t k;

    for (k = 0; k < call->n_inputs; k++) {
        if (from->inputs[k] >= 0 && wide_of(m, from->inputs[k]) != from->inputs[k])
            add_cast(m, keeps ? from->inputs[k] : wide_of(m, from->inputs[k]), i);
    }
    node = add_node(m, call, i);
    node->flags = from->flags;
    node->name = from->name;
    for (k = 0; k < call->n_inputs + call->n_outputs; k++) {
        const bool input = k < call->n_inputs;
        const tfr_operand *o =
            input ? tfr_call_input(call, k) : tfr_call_output(call, k - call->n_inputs);
        int32_t value = !o ? -1 : input ? from->inputs[k] : from->outputs[k - call->n_inputs];
        value = keeps ? value : wide_of(m, value);
        set_operand(m, node, k, value);
        if (!input && value >= 0)
            m->there[value] = true;
    }
}

/* ---- values ---- */

static const float *wide_constant(maker *m, const tfr_operand *o, tfr_err *err)
{
    const int64_t n = tfr_operand_elements(o);
    const native_constant_key key = {{o->data}, {-1, o->dtype, n}};
    native_half *h = m->h;
    bool made = false;
    float *to;

    h->constants[h->n_constants] =
        native_take_constant(m->device, &key, (uint64_t)n * sizeof(float), &made);
    if (!h->constants[h->n_constants]) {
        tfr_fail(err, TFR_ENOMEM, "no memory for %lld constants of half as float32", (long long)n);
        return NULL;
    }
    to = native_constant_data(h->constants[h->n_constants]);
    h->widened[h->n_constants++] = (native_widened){to, o->data, o->dtype};
    if (made) {
        widen(m->device->isa, o, to, n);
        m->bytes += (uint64_t)n * sizeof(float);
    }
    return to;
}

/* Whether somebody reads the value wide. */
static bool is_read_wide(const tfr_program_graph *g, int32_t value)
{
    uint32_t i, k;

    for (i = 0; i < g->n_nodes; i++) {
        const tfr_program_node *node = native_graph_node(g, (int)i);
        for (k = 0; k < node->call->n_inputs; k++) {
            if (node->inputs[k] == value &&
                ((node->flags & TFR_NODE_VIEW) || !keeps_half(node->call)))
                return true;
        }
    }
    return false;
}

static int32_t make_values(maker *m, tfr_err *err)
{
    const uint32_t n = m->from->n_values;
    native_half *h = m->h;
    uint32_t i;

    for (i = 0; i < n; i++) {
        const tfr_program_value *v = native_graph_value(m->from, (int)i);
        tfr_operand *twin = m->next_operand++;
        h->values[i] = h->values[n + i] = *v;
        *twin = widened(v->operand);
        h->values[n + i].operand = twin;
        m->there[i] = v->flags & TFR_VALUE_INPUT || v->operand->data;
        if (!is_half(v->operand) || !v->operand->data)
            continue;
        twin->data = NULL;
        if (is_read_wide(m->from, (int32_t)i)) {
            twin->data = wide_constant(m, v->operand, err);
            if (!twin->data)
                return TFR_ENOMEM;
        }
    }
    for (i = 0; i < m->from->n_inputs; i++)
        m->there[m->from->inputs[i]] = true;
    return TFR_OK;
}

/* ---- memory ---- */

static bool has_memory(maker *m)
{
    const tfr_program_graph *g = m->from;
    native_half *h = m->h;
    size_t operands = 3 * (size_t)g->n_values, nodes = g->n_nodes + (size_t)g->n_values;
    uint32_t i;

    for (i = 0; i < g->n_nodes; i++) {
        const tfr_call *call = native_graph_node(g, (int)i)->call;
        operands += (size_t)call->n_inputs + call->n_outputs;
    }
    h->nodes = calloc(nodes, sizeof *h->nodes);
    h->calls = calloc(nodes, sizeof *h->calls);
    h->origin = calloc(nodes, sizeof *h->origin);
    h->values = calloc(2 * (size_t)g->n_values, sizeof *h->values);
    h->operands = calloc(operands, sizeof *h->operands);
    h->edges = calloc(operands, sizeof *h->edges);
    h->constants = calloc(g->n_values, sizeof(void *));
    h->widened = calloc(g->n_values, sizeof *h->widened);
    m->there = calloc(2 * (size_t)g->n_values, sizeof *m->there);
    m->next_operand = h->operands;
    m->next_edge = h->edges;
    return h->nodes && h->calls && h->origin && h->values && h->operands && h->edges &&
           h->constants && h->widened && m->there;
}

static bool any_half(const tfr_program_graph *g)
{
    uint32_t i;

    for (i = 0; i < g->n_values; i++) {
        if (is_half(native_graph_value(g, (int)i)->operand))
            return true;
    }
    return false;
}

static int32_t make_group(maker *m, tfr_err *err)
{
    tfr_program_graph *g = &m->h->graph;
    uint32_t i;

    if (!has_memory(m))
        return tfr_fail(err, TFR_ENOMEM, "no memory for a program of %u nodes", m->from->n_nodes);
    *g = *m->from;
    g->n_nodes = 0;
    g->node_stride = sizeof *m->h->nodes;
    g->value_stride = sizeof *m->h->values;
    g->nodes = m->h->nodes;
    g->values = m->h->values;
    g->n_values = 2 * m->from->n_values;
    if (make_values(m, err) != TFR_OK)
        return TFR_ENOMEM;
    for (i = 0; i < m->from->n_nodes; i++)
        add_group_node(m, (int)i);
    for (i = 0; i < m->from->n_outputs; i++) {
        const int32_t output = m->from->outputs[i];
        if (wide_of(m, output) != output)
            add_cast(m, output, native_graph_value(m->from, output)->node);
    }
    return TFR_OK;
}

int32_t native_widen_graph(tfr_plugin_device *device, const tfr_program_graph *graph,
                           native_half *half, native_ir *ir, uint64_t *constant_bytes, tfr_err *err)
{
    maker m = {.h = half, .from = graph, .device = device};
    int32_t status;

    ir->graph = graph;
    if (!any_half(graph))
        return TFR_OK;
    status = make_group(&m, err);
    free(m.there);
    *constant_bytes += m.bytes;
    ir->graph = &half->graph;
    ir->origin = half->origin;
    ir->half = half;
    return status;
}

const native_widened *native_find_widened(const native_ir *ir, const void *wide)
{
    int i;

    for (i = 0; ir->half && wide && i < ir->half->n_constants; i++) {
        if (ir->half->widened[i].wide == wide)
            return &ir->half->widened[i];
    }
    return NULL;
}

void native_end_half_graph(native_half *half)
{
    free(half->nodes);
    free(half->calls);
    free(half->origin);
    free(half->values);
    free(half->operands);
    free(half->edges);
    half->nodes = NULL;
    half->calls = NULL;
    half->origin = NULL;
    half->values = NULL;
    half->operands = NULL;
    half->edges = NULL;
}

void native_drop_half(tfr_plugin_device *device, native_half *half)
{
    int i;

    native_end_half_graph(half);
    for (i = 0; i < half->n_constants; i++)
        native_leave_constant(device, half->constants[i]);
    free(half->constants);
    free(half->widened);
    half->widened = NULL;
    half->constants = NULL;
    half->n_constants = 0;
}
