/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_fuse.c: chains of elementwise nodes of float32 or float64. A node joins the chains that
 * make its inputs, if these have its dims and all together are not too long; its other inputs have
 * one element. So all values of a chain are there for an element before the next one is looked at.
 * What a comparison gives, for Where, stays in its chain.
 */
#include "program.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 16 }; /* of a chain; the steps that remain are for constants */

/* ---- which nodes ----------------------------------------------------------------------------- */

static bool is_single(const tfr_operand *o)
{
    return tfr_operand_elements(o) == 1;
}

/* The type that a node is computed in. */
static int32_t type_of(const tfr_program_node *node)
{
    return tfr_call_input(node->call, node->call->n_inputs - 1)->dtype;
}

/* What the kernel can read: one number, or elements that launch gets. */
static bool is_readable(const tfr_operand *in, int32_t dtype, const tfr_operand *out)
{
    if (!in || in->dtype != dtype || !tfr_operand_is_plain(in))
        return false;
    return is_single(in) || (tfr_operand_same_dims(in, out) && !in->data);
}

static bool may_fuse(const tfr_program_node *node)
{
    const tfr_call *call = node->call;
    const tfr_operand *out, *last;
    tfr_fused_step step;

    if (!(node->flags & TFR_NODE_MINE) || call->n_outputs != 1 || !cuda_fused_step(call, &step))
        return false;
    out = tfr_call_output(call, 0);
    last = tfr_call_input(call, call->n_inputs - 1);
    if (!out || out->flags & TFR_OPERAND_DYNAMIC || !tfr_operand_is_plain(out) ||
        tfr_operand_elements(out) < 1 || !last ||
        (last->dtype != TFR_DTYPE_F32 && last->dtype != TFR_DTYPE_F64))
        return false;
    for (uint32_t i = 0; i < call->n_inputs; i++) {
        const bool is_condition = step.kind == TFR_FUSED_WHERE && i == 0;
        if (!is_readable(tfr_call_input(call, i), is_condition ? TFR_DTYPE_BOOL : last->dtype, out))
            return false;
    }
    return true;
}

/* ---- chains ---------------------------------------------------------------------------------- */

static int32_t chain_of(const cuda_chains *chains, int32_t node)
{
    while (node >= 0 && chains->of[node] != node)
        node = chains->of[node];
    return node;
}

/* The maker of input i of a node, if it may be in one chain with it; else -1. */
static int32_t maker_of(const tfr_program_graph *graph, const cuda_chains *chains,
                        const tfr_program_node *node, uint32_t i)
{
    const int32_t value = node->inputs[i];
    const int32_t maker = value < 0 ? -1 : cuda_value_at(graph, value)->node;

    if (maker < 0 || chains->of[maker] < 0 ||
        type_of(cuda_node_at(graph, (uint32_t)maker)) != type_of(node) ||
        !tfr_operand_same_dims(tfr_call_input(node->call, i), tfr_call_output(node->call, 0)))
        return -1;
    return chain_of(chains, maker);
}

static void join(const tfr_program_graph *graph, cuda_chains *chains, int32_t i)
{
    const tfr_program_node *node = cuda_node_at(graph, (uint32_t)i);

    if (node->call->n_inputs == 3) { /* Where without its comparison would keep all from fusing */
        const int32_t to = maker_of(graph, chains, node, 0);
        if (to < 0 || chains->n_nodes[to] == MOST_NODES)
            return;
    }
    chains->of[i] = i;
    chains->n_nodes[i] = 1;
    for (uint32_t k = 0; k < node->call->n_inputs; k++) {
        const int32_t to = maker_of(graph, chains, node, k), own = chain_of(chains, i);
        if (to < 0 || to == own || chains->n_nodes[to] + chains->n_nodes[own] > MOST_NODES)
            continue;
        chains->of[own] = to;
        chains->n_nodes[to] += chains->n_nodes[own];
    }
}

/* Each value's readers that are not in its maker's chain. */
static void count_readers(const tfr_program_graph *graph, cuda_chains *chains)
{
    for (uint32_t v = 0; v < graph->n_values; v++) {
        const tfr_program_value *value = cuda_value_at(graph, (int32_t)v);
        if (value->node >= 0 && chains->of[value->node] >= 0)
            chains->n_beside[chains->of[value->node]] += (int32_t)value->n_readers;
    }
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const tfr_program_node *node = cuda_node_at(graph, i);
        for (uint32_t k = 0; k < node->call->n_inputs && chains->of[i] >= 0; k++) {
            const int32_t value = node->inputs[k];
            const int32_t maker = value < 0 ? -1 : cuda_value_at(graph, value)->node;
            bool is_first = true;
            for (uint32_t j = 0; j < k; j++)
                is_first = is_first && node->inputs[j] != value;
            if (is_first && maker >= 0 && chains->of[maker] == chains->of[i])
                chains->n_beside[chains->of[i]]--;
        }
    }
}

int32_t cuda_chains_find(const tfr_program_graph *graph, cuda_chains *out, tfr_err *err)
{
    const size_t n = graph->n_nodes;
    int32_t *of = malloc((3 * n + 1) * sizeof *of);

    if (!of)
        return tfr_fail(err, TFR_ENOMEM, "no memory for the chains of %zu nodes", n);
    *out = (cuda_chains){of, of + n, of + 2 * n};
    for (size_t i = 0; i < n; i++)
        of[i] = -1;
    memset(of + n, 0, 2 * n * sizeof *of);
    for (size_t i = 0; i < n; i++)
        if (may_fuse(cuda_node_at(graph, (uint32_t)i)))
            join(graph, out, (int32_t)i);
    for (size_t i = 0; i < n; i++)
        of[i] = chain_of(out, of[i]);
    count_readers(graph, out);
    return TFR_OK;
}

void cuda_chains_free(cuda_chains *chains)
{
    free(chains->of);
}

/* ---- code ------------------------------------------------------------------------------------ */

/* While a chain is written: which value lies in which register. */
typedef struct writer {
    const tfr_program_graph *graph;
    cuda_chain *chain;
    int32_t values[TFR_FUSED_INPUTS + TFR_FUSED_STEPS]; /* by register; -1 = none */
    bool is_full;
} writer;

static uint8_t add_step(writer *w, const tfr_fused_step *step, int32_t value)
{
    tfr_fused *code = &w->chain->code;
    const int32_t number = TFR_FUSED_INPUTS + code->n_steps;

    if (code->n_steps == TFR_FUSED_STEPS) {
        w->is_full = true;
        return 0;
    }
    code->steps[code->n_steps++] = *step;
    w->values[number] = value;
    return (uint8_t)number;
}

static uint8_t add_input(writer *w, int32_t value, const tfr_operand *o)
{
    tfr_fused *code = &w->chain->code;
    const int32_t number = code->n_inputs;

    if (number == TFR_FUSED_INPUTS || o->dtype != w->chain->dtype) {
        w->is_full = true;
        return 0;
    }
    code->single |= (uint32_t)is_single(o) << number;
    code->n_inputs++;
    w->chain->inputs[number] = value;
    w->values[number] = value;
    return (uint8_t)number;
}

/* A number that is known, of the chain's type. */
static uint8_t add_constant(writer *w, int32_t value, const tfr_operand *o)
{
    tfr_fused_step step;
    float f = 0;

    memset(&step, 0, sizeof step);
    step.kind = TFR_FUSED_CONSTANT;
    w->is_full = w->is_full || o->dtype != w->chain->dtype;
    if (o->dtype == TFR_DTYPE_F64) {
        memcpy(&step.value, o->data, sizeof step.value);
    } else if (o->dtype == TFR_DTYPE_F32) {
        memcpy(&f, o->data, sizeof f);
        step.value = (double)f;
    }
    return add_step(w, &step, value);
}

/* Where the value lies; a number that is known becomes part of the code. */
static uint8_t find_register(writer *w, int32_t value)
{
    const tfr_operand *o = cuda_value_at(w->graph, value)->operand;

    for (int32_t i = 0; i < TFR_FUSED_INPUTS + w->chain->code.n_steps; i++)
        if (w->values[i] == value)
            return (uint8_t)i;
    return o->data ? add_constant(w, value, o) : add_input(w, value, o);
}

static void write_node(writer *w, const tfr_program_node *node)
{
    tfr_fused_step step;

    memset(&step, 0, sizeof step); /* codes are compared as bytes */
    (void)cuda_fused_step(node->call, &step);
    step.a = step.b = step.c = find_register(w, node->inputs[0]);
    if (node->call->n_inputs > 1)
        step.b = find_register(w, node->inputs[1]);
    if (node->call->n_inputs > 2)
        step.c = find_register(w, node->inputs[2]);
    (void)add_step(w, &step, node->outputs[0]);
}

/* Does a node that is not in the chain read the value? */
static bool is_read_beside(const tfr_program_graph *graph, const cuda_chains *chains,
                           int32_t number, int32_t value)
{
    uint32_t left = cuda_value_at(graph, value)->n_readers;

    for (uint32_t i = 0; i < graph->n_nodes && left; i++) {
        const tfr_program_node *node = cuda_node_at(graph, i);
        bool reads = false;
        for (uint32_t k = 0; k < node->call->n_inputs; k++)
            reads = reads || node->inputs[k] == value;
        if (reads && chains->of[i] != number)
            return true;
        left -= reads;
    }
    return false;
}

static void write_output(writer *w, int32_t value)
{
    tfr_fused *code = &w->chain->code;

    if (code->n_outputs == TFR_FUSED_OUTPUTS ||
        cuda_value_at(w->graph, value)->operand->dtype != w->chain->dtype) {
        w->is_full = true;
        return;
    }
    w->chain->outputs[code->n_outputs] = value;
    code->outputs[code->n_outputs++] = find_register(w, value);
}

bool cuda_chain_make(const tfr_program_graph *graph, const cuda_chains *chains, int32_t number,
                     cuda_chain *out)
{
    writer w = {.graph = graph, .chain = out};

    memset(out, 0, sizeof *out);
    memset(w.values, 0xff, sizeof w.values);
    out->dtype = type_of(cuda_node_at(graph, (uint32_t)number));
    for (uint32_t i = 0; i < graph->n_nodes && !w.is_full; i++)
        if (chains->of[i] == number)
            write_node(&w, cuda_node_at(graph, i));
    for (uint32_t i = 0; i < graph->n_nodes && !w.is_full; i++) {
        const tfr_program_node *node = cuda_node_at(graph, i);
        const int32_t value = node->outputs[0];
        if (chains->of[i] != number)
            continue;
        out->n = tfr_operand_elements(tfr_call_output(node->call, 0));
        if (cuda_value_at(graph, value)->flags & TFR_VALUE_OUTPUT ||
            is_read_beside(graph, chains, number, value))
            write_output(&w, value);
    }
    return !w.is_full && out->code.n_outputs > 0;
}
