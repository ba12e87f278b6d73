/* SPDX-License-Identifier: Apache-2.0 */
/* program.h: between program_fuse.c, which finds chains of elementwise nodes, and program.c, which
 * makes launches of them. */
#ifndef CUDA_PROGRAM_H
#define CUDA_PROGRAM_H

#include "kernel.h"
#include "plan_kit.h"

/* Which chain each node of a graph is in: a chain has the number of one of its nodes. */
typedef struct cuda_chains {
    int32_t *of;       /* by node; -1 = none */
    int32_t *n_nodes;  /* by the number of a chain */
    int32_t *n_beside; /* by that, too: reads of its values by nodes that are not in it */
} cuda_chains;

/* TFR_ENOMEM is the one failure. */
int32_t cuda_chains_find(const tfr_program_graph *graph, cuda_chains *out, tfr_err *err);
void cuda_chains_free(cuda_chains *chains);

/* A chain as the kernel takes it, and the numbers of its values. Equal codes are equal bytes. */
typedef struct cuda_chain {
    int64_t n; /* elements of each value that is not single */
    int32_t dtype;
    tfr_fused code;
    int32_t inputs[TFR_FUSED_INPUTS], outputs[TFR_FUSED_OUTPUTS];
} cuda_chain;

/* False: it is too long, or has too many inputs or outputs. */
bool cuda_chain_make(const tfr_program_graph *graph, const cuda_chains *chains, int32_t number,
                     cuda_chain *out);

static inline const tfr_program_node *cuda_node_at(const tfr_program_graph *graph, uint32_t i)
{
    return (const void *)((const char *)graph->nodes + (size_t)i * graph->node_stride);
}

static inline const tfr_program_value *cuda_value_at(const tfr_program_graph *graph, int32_t i)
{
    return (const void *)((const char *)graph->values + (size_t)i * graph->value_stride);
}

#endif
