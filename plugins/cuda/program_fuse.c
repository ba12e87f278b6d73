/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_fuse.c: chains of elementwise nodes of one type of floats. A node joins the chains that
 * make its inputs, if these have its dims and all together are not too long; its other inputs have
 * one element, or are repeated along dims in front of them and behind them, as a bias of channels
 * is. So all values of a chain are there for an element before the next one is looked at.
 * program_code.c writes chains as the kernel takes them.
 */
#include "program.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 16 }; /* of a chain; the steps that remain are for constants */

/* ---- which nodes ----------------------------------------------------------------------------- */

/* Whether input i of the node is a condition. */
static bool is_condition(const tfr_fused_step *step, uint32_t i)
{
    return step->kind == TFR_FUSED_WHERE && i == 0;
}

/* What the kernel can read. */
static bool is_readable(const tfr_operand *in, int32_t dtype, const tfr_operand *out)
{
    int64_t inner, dim;

    if (!in || in->dtype != dtype || !tfr_operand_is_plain(in))
        return false;
    return cuda_is_single(in) || tfr_operand_same_dims(in, out) ||
           cuda_find_repeat(in, out, &inner, &dim);
}

static bool is_float(int32_t dtype)
{
    return dtype == TFR_DTYPE_F32 || dtype == TFR_DTYPE_F64 || dtype == TFR_DTYPE_F16 ||
           dtype == TFR_DTYPE_BF16;
}

/* The type that input i of the node has to have. */
static int32_t input_type(const tfr_program_node *node, const tfr_fused_step *step, uint32_t i)
{
    if (strcmp(node->call->name, "Cast") == 0) /* as cuda_fused_step has seen */
        return tfr_call_input(node->call, 0)->dtype;
    return is_condition(step, i) ? TFR_DTYPE_BOOL : cuda_type_of(node);
}

static bool may_fuse(const tfr_program_node *node, tfr_fused_step *step)
{
    const tfr_call *call = node->call;
    const tfr_operand *out;

    memset(step, 0, sizeof *step); /* codes are compared as bytes */
    if (!(node->flags & TFR_NODE_MINE) || call->n_outputs != 1 || !cuda_fused_step(call, step))
        return false;
    out = tfr_call_output(call, 0);
    if (!out || out->flags & TFR_OPERAND_DYNAMIC || !tfr_operand_is_plain(out) ||
        tfr_operand_elements(out) < 1 || !is_float(cuda_type_of(node)))
        return false;
    for (uint32_t i = 0; i < call->n_inputs; i++) {
        const tfr_operand *in = tfr_call_input(call, i);
        const bool is_bound = step->kind == TFR_FUSED_CLIP && i > 0;
        if (!(is_bound && !in) &&
            (!is_readable(in, input_type(node, step, i), out) || (is_bound && !cuda_is_single(in))))
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

static int32_t maker_of(const tfr_program_graph *graph, const tfr_program_node *node, uint32_t i)
{
    return node->inputs[i] < 0 ? -1 : cuda_value_at(graph, node->inputs[i])->node;
}

/* The chain of the maker of input i, if the node may be in it; else -1. */
static int32_t chain_before(const tfr_program_graph *graph, const cuda_chains *chains,
                            const tfr_program_node *node, const tfr_fused_step *step, uint32_t i)
{
    const int32_t maker = maker_of(graph, node, i);
    int32_t chain;

    if (maker < 0 || chains->of[maker] < 0 ||
        cuda_type_of(cuda_node_at(graph, (uint32_t)maker)) != cuda_type_of(node) ||
        !tfr_operand_same_dims(tfr_call_input(node->call, i), tfr_call_output(node->call, 0)))
        return -1;
    chain = chain_of(chains, maker);
    /* A comparison belongs to those that read it, rather than to what many read. */
    return step->kind == TFR_FUSED_COMPARE && chains->is_read[chain] ? -1 : chain;
}

/* The chains that a node may join, and the least rank that it has without them. */
typedef struct joining {
    int32_t chains[3]; /* -1 = not any more */
    int32_t n, rank;
} joining;

static void find_joining(const tfr_program_graph *graph, const cuda_chains *chains,
                         const tfr_program_node *node, const tfr_fused_step *step, joining *j)
{
    *j = (joining){.n = 0, .rank = 0};
    for (uint32_t k = 0; k < node->call->n_inputs; k++) {
        const int32_t maker = maker_of(graph, node, k);
        const int32_t to = step ? chain_before(graph, chains, node, step, k) : -1;
        bool is_new = to >= 0;
        if (maker >= 0 && to < 0) {
            const int32_t unit = chains->of[maker] < 0 ? maker : chain_of(chains, maker);
            j->rank = j->rank > chains->rank[unit] ? j->rank : chains->rank[unit] + 1;
        }
        for (int32_t i = 0; i < j->n; i++)
            is_new = is_new && j->chains[i] != to;
        if (is_new)
            j->chains[j->n++] = to;
    }
}

/* Leaves out chains until the others can be one with the node. */
static void choose_joining(const cuda_chains *chains, joining *j)
{
    for (bool again = true; again;) {
        int32_t size = 1;
        again = false;
        for (int32_t i = 0; i < j->n; i++)
            if (j->chains[i] >= 0 && chains->rank[j->chains[i]] > j->rank)
                j->rank = chains->rank[j->chains[i]];
        for (int32_t i = 0; i < j->n; i++) {
            const int32_t chain = j->chains[i];
            if (chain < 0)
                continue;
            if ((chains->rank[chain] == j->rank || !chains->is_read[chain]) &&
                size + chains->n_nodes[chain] <= MOST_NODES) {
                size += chains->n_nodes[chain];
                continue;
            }
            if (j->rank <= chains->rank[chain])
                j->rank = chains->rank[chain] + 1;
            j->chains[i] = -1;
            again = true;
        }
    }
}

/*
 * No path leads from a chain through other nodes back to it: each chain and each other node has a
 * rank, over those of all that it reads. A node joins chains of its own rank, and lower ones that
 * nobody else has read, which rise to it: what reads them later is of a higher rank yet.
 */
static void join(const tfr_program_graph *graph, cuda_chains *chains, int32_t i)
{
    const tfr_program_node *node = cuda_node_at(graph, (uint32_t)i);
    tfr_fused_step step;
    const bool fuses = may_fuse(node, &step);
    joining j;

    find_joining(graph, chains, node, fuses ? &step : NULL, &j);
    choose_joining(chains, &j);
    chains->rank[i] = j.rank;
    if (fuses) {
        chains->of[i] = i;
        chains->n_nodes[i] = 1;
    }
    for (int32_t k = 0; k < j.n; k++)
        if (j.chains[k] >= 0) {
            chains->of[j.chains[k]] = i;
            chains->n_nodes[i] += chains->n_nodes[j.chains[k]];
            chains->is_read[i] = chains->is_read[i] || chains->is_read[j.chains[k]];
        }
    for (uint32_t k = 0; k < node->call->n_inputs; k++) {
        const int32_t maker = maker_of(graph, node, k);
        const int32_t chain = maker < 0 || chains->of[maker] < 0 ? -1 : chain_of(chains, maker);
        if (chain >= 0 && chain != i)
            chains->is_read[chain] = true;
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
    int32_t *of = calloc(5 * n + 1, sizeof *of);

    *out =
        (cuda_chains){of, of + n, of + 2 * n, of + 3 * n, of + 4 * n, calloc(n + 1, sizeof(bool))};
    if (!of || !out->is_read) {
        cuda_chains_free(out);
        return tfr_fail(err, TFR_ENOMEM, "no memory for the chains of %zu nodes", n);
    }
    for (size_t i = 0; i < n; i++)
        of[i] = out->product[i] = -1;
    for (size_t i = 0; i < n; i++)
        join(graph, out, (int32_t)i);
    for (size_t i = 0; i < n; i++)
        of[i] = chain_of(out, of[i]);
    count_readers(graph, out);
    if (cuda_ends_find(graph, out, err) == TFR_OK)
        return TFR_OK;
    cuda_chains_free(out);
    return TFR_ENOMEM;
}

void cuda_chains_free(cuda_chains *chains)
{
    free(chains->of);
    free(chains->is_read);
    *chains = (cuda_chains){.of = NULL};
}
