/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.c: elementwise nodes as programs, each chain (program_fuse.c) read and written once. What
 * no node of the graph reads, as the new states of variables, is one program: chains with equal
 * code and other tensors share launches, so that the updates of all weights are a few. Other chains
 * are a program each, so that the core can order them among the rest, with the product or
 * convolution whose end they are (program_product.c). Pools and their like are programs where
 * images keep the channels last by that (program_last.c).
 */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- proposing ------------------------------------------------------------------------------- */

static void leave(tfr_proposal *p, tfr_reason reason, const char *text)
{
    p->reason = (int32_t)reason;
    snprintf(p->text, sizeof p->text, "%s", text);
}

static tfr_proposal *row(tfr_proposal *out, uint32_t stride, int32_t i)
{
    return (void *)((char *)out + (size_t)i * stride);
}

static void propose_node(const tfr_program_graph *graph, const cuda_chains *chains, int32_t i,
                         cuda_chain *chain, tfr_proposal *out, uint32_t stride)
{
    const int32_t number = chains->of[i];
    tfr_proposal *p = row(out, stride, i);

    if (!(cuda_node_at(graph, (uint32_t)i)->flags & TFR_NODE_MINE) || p->group >= 0)
        return;
    if (number < 0 || (chains->n_nodes[number] < 2 && chains->product[number] < 0)) {
        leave(p, TFR_REASON_POLICY, "there is nothing to fuse it with");
    } else if (!cuda_chain_make(graph, chains, number, false, chain)) {
        leave(p, TFR_REASON_SIZE_LIMIT,
              "the chain of elementwise nodes around it has too many inputs or outputs");
    } else if (chains->product[number] >= 0) {
        p->group = 1 + number;
        row(out, stride, chains->product[number])->group = 1 + number;
    } else {
        p->group = chains->n_beside[number] ? 1 + number : 0;
    }
}

/* Nodes beside chains that are programs for the sake of images between them. */
static int32_t propose_images(tfr_plugin_device *device, const tfr_program_graph *graph,
                              const cuda_chains *chains, tfr_proposal *out, uint32_t stride,
                              tfr_err *err)
{
    bool *in_group = calloc(2 * (size_t)graph->n_nodes + 1, sizeof *in_group);
    bool *chosen = in_group + graph->n_nodes;
    int32_t status = in_group ? TFR_OK : tfr_fail(err, TFR_ENOMEM, "no memory for a proposal");

    for (uint32_t i = 0; i < graph->n_nodes && status == TFR_OK; i++)
        in_group[i] = row(out, stride, (int32_t)i)->group >= 0;
    if (status == TFR_OK)
        status = cuda_last_find(device, graph, chains, in_group, chosen, err);
    for (uint32_t i = 0; i < graph->n_nodes && status == TFR_OK; i++)
        if (chosen[i])
            row(out, stride, (int32_t)i)->group = 1 + (int32_t)i;
    free(in_group);
    return status;
}

static int32_t cuda_propose(tfr_plugin_device *device, const tfr_program_graph *graph,
                            tfr_proposal *out, uint32_t stride, tfr_err *err)
{
    cuda_chains chains;
    cuda_chain *chain = malloc(sizeof *chain);
    int32_t status = chain ? cuda_chains_find(graph, &chains, err)
                           : tfr_fail(err, TFR_ENOMEM, "no memory for a chain");

    if (status != TFR_OK) {
        free(chain);
        return status;
    }
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        propose_node(graph, &chains, (int32_t)i, chain, out, stride);
    status = propose_images(device, graph, &chains, out, stride, err);
    for (uint32_t i = 0; i < graph->n_nodes && status == TFR_OK; i++)
        if (row(out, stride, (int32_t)i)->group >= 0) /* maybe after it was left alone */
            row(out, stride, (int32_t)i)->text[0] = '\0';
    cuda_chains_free(&chains);
    free(chain);
    return status;
}

/* ---- running --------------------------------------------------------------------------------- */

static int32_t cuda_program_launch(tfr_plugin_device *device, tfr_queue *queue,
                                   tfr_program *program, const tfr_launch *launch, tfr_err *err)
{
    tfr_launch own = *launch;
    tfr_arg args[CUDA_PROGRAM_ARGS];

    if (!program->n_constants)
        return cuda_launch(device, queue, program->kernel, launch, err);
    memcpy(args, launch->args, launch->n_args * sizeof *args);
    for (uint32_t i = 0; i < program->n_constants; i++)
        args[launch->n_args + i] =
            (tfr_arg){.address = cuda_constant_address(program->constants[i])};
    own.args = args;
    own.n_args += program->n_constants;
    return cuda_launch(device, queue, program->kernel, &own, err);
}

const tfr_program_facet cuda_program_facet = {
    .size = sizeof cuda_program_facet,
    .flags = TFR_PROGRAM_COMPILE_ANY,
    .propose = cuda_propose,
    .compile = cuda_compile,
    .launch = cuda_program_launch,
    .drop = cuda_program_drop,
};
