/* SPDX-License-Identifier: Apache-2.0 */
/* program.h: between program_fuse.c, which finds chains of elementwise nodes, program_product.c,
 * which finds products and convolutions that end with one, and program.c, which makes launches of
 * them. */
#ifndef CUDA_PROGRAM_H
#define CUDA_PROGRAM_H

#include "kernel.h"
#include "plan_kit.h"

#include <string.h>

/* Which chain each node of a graph is in: a chain has the number of one of its nodes. */
typedef struct cuda_chains {
    int32_t *of;       /* by node; -1 = none */
    int32_t *n_nodes;  /* by the number of a chain */
    int32_t *n_beside; /* by that, too: reads of its values by nodes that are not in it */
    int32_t *product;  /* by that, too: the node whose end the chain is (cuda_ends_find), or -1 */
    int32_t *rank;     /* by that, or by a node in none: see join() */
    bool *is_read;     /* by that: another node has read a value of it so far */
} cuda_chains;

/* TFR_ENOMEM is the one failure. */
int32_t cuda_chains_find(const tfr_program_graph *graph, cuda_chains *out, tfr_err *err);
void cuda_chains_free(cuda_chains *chains);

/* A chain as the kernel takes it, and the numbers of its values. Equal codes are equal bytes. */
typedef struct cuda_chain {
    int64_t n; /* elements of each value that is not single */
    int32_t dtype;
    bool is_last; /* outputs lie with the channels last */
    tfr_fused code;
    int32_t inputs[TFR_FUSED_INPUTS], outputs[TFR_FUSED_OUTPUTS];
} cuda_chain;

/* ---- program_code.c ---- */

/* The dims of `in` are those of `out` in a row of dims, and 1 in front of and behind it: element i
 * of out goes with element i / inner % dim. */
bool cuda_find_repeat(const tfr_operand *in, const tfr_operand *out, int64_t *inner, int64_t *dim);

/* False: it is too long, or has too many inputs or outputs. In the graph of a group it says how
 * outputs are to lie; behind a product they lie as the sums do, with the channels last if is_last.
 */
bool cuda_chain_make(const tfr_program_graph *graph, const cuda_chains *chains, int32_t number,
                     bool is_last, cuda_chain *out);

/* ---- program_slots.c ---- */

/* The code as a launch takes it; elements: of all its tensors together. */
typedef struct cuda_fused_launch {
    tfr_fused code;
    const char *kernel;
    uint32_t threads; /* of a block */
    int64_t part;     /* elements of a block */
} cuda_fused_launch;
void cuda_fused_arrange(const cuda_chip *chip, const tfr_fused *code, int32_t dtype,
                        int64_t elements, cuda_fused_launch *out);

/* ---- program_product.c ---- */

/* Finds the products and convolutions that have one of the chains for an end. */
int32_t cuda_ends_find(const tfr_program_graph *graph, cuda_chains *chains, tfr_err *err);

/* ---- program_compile.c ---- */

struct tfr_program {
    tfr_kernel *kernel;
    uint32_t n_args, n_constants; /* of launch; constants are numbered behind them */
    cuda_constant *constants[];
};

enum { CUDA_PROGRAM_CONSTANTS = 32, CUDA_PROGRAM_ARGS = CUDA_STEP_ADDRESSES + 32 };

int32_t cuda_compile(tfr_plugin_device *device, const tfr_program_graph *graph,
                     const tfr_compile_options *options, tfr_program **out,
                     tfr_program_output *outputs, uint32_t stride, tfr_program_info *info,
                     tfr_err *err);
void cuda_program_drop(tfr_plugin_device *device, tfr_program *program);

/* ---- program_last.c ---- */

static inline bool cuda_is_convolution(const tfr_call *call)
{
    return strcmp(call->name, "Conv") == 0 || strcmp(call->name, "ConvGradInput") == 0 ||
           strcmp(call->name, "ConvGradFilter") == 0;
}

/* The shape that a gradient is to have: no launch reads it. */
static inline bool cuda_is_shape(const tfr_call *call, uint32_t k)
{
    return k == 2 && cuda_is_convolution(call) && call->name[4] == 'G';
}

/* Whether what the convolution writes is better with the channels last. */
bool cuda_likes_last(const cuda_chip *chip, const cuda_convolution *convolution,
                     const tfr_call *call);

/*
 * Which nodes are better programs of their own, so that images keep the channels last. in_group: by
 * node, whether it is in a program anyway; chosen: by node. TFR_ENOMEM is the one failure.
 */
int32_t cuda_last_find(tfr_plugin_device *device, const tfr_program_graph *graph,
                       const cuda_chains *chains, const bool *in_group, bool *chosen, tfr_err *err);

/* ---- of program_product.c, too ---- */

/* The end of a product that has none. */
void cuda_no_end(const tfr_program_graph *graph, int32_t number, cuda_chain *out);

/* How arguments of launch are numbered: by value of the graph; -1 = none. */
typedef struct cuda_numbering {
    const tfr_program_graph *graph;
    const int32_t *arg;
} cuda_numbering;

static inline uint16_t cuda_argument(const cuda_numbering *numbers, int32_t value)
{
    return value < 0 || numbers->arg[value] < 0 ? CUDA_NO_OPERAND : (uint16_t)numbers->arg[value];
}

/* A product or convolution with its end, ready to be launched. */
typedef struct cuda_end {
    cuda_engine *engine; /* or NULL: the steps of the plan */
    bool y_last;         /* the output lies with the channels last */
    bool has_chain;      /* the chain is left to do */
    uint64_t workspace_bytes;
} cuda_end;

/*
 * How node `number` and the chain behind it are computed: by a library as a whole, or without the
 * chain, or by our kernels: plan is theirs. What the node makes lies where output 0 of the chain
 * does. can_last: the chain can be computed with the channels last. TFR_EUNSUPPORTED: not in a
 * program. The context is current.
 */
int32_t cuda_end_make(tfr_plugin_device *device, const cuda_numbering *numbers, int32_t number,
                      const cuda_chain *chain, bool can_last, cuda_plan *plan, cuda_end *out,
                      tfr_err *err);

/* ---- program_image.c: a node that our kernels compute, with images in any order ---- */

/* plan: of the node alone, with its operands as it numbers them; their order as the graph says, and
 * the channels last in outputs that may lie so. TFR_EUNSUPPORTED: there is no such program. */
int32_t cuda_image_plan(tfr_plugin_device *device, const tfr_program_graph *graph, cuda_plan *plan,
                        uint64_t *workspace, tfr_err *err);
/* The steps of the plan, from operands of the node to arguments of launch. */
int32_t cuda_image_number(const cuda_numbering *numbers, const cuda_plan *plan, cuda_step *steps,
                          uint32_t *n, tfr_err *err);

static inline bool cuda_is_single(const tfr_operand *o)
{
    return tfr_operand_elements(o) == 1;
}

/* The type that a node of a chain is computed in: of a cast that of the result, unless it rounds
 * to float32. */
static inline int32_t cuda_type_of(const tfr_program_node *node)
{
    if (strcmp(node->call->name, "Cast") == 0 &&
        tfr_call_input(node->call, 0)->dtype != TFR_DTYPE_F64)
        return tfr_call_output(node->call, 0)->dtype;
    return tfr_call_input(node->call, strcmp(node->call->name, "Where") == 0)->dtype;
}

static inline const tfr_program_node *cuda_node_at(const tfr_program_graph *graph, uint32_t i)
{
    return (const void *)((const char *)graph->nodes + (size_t)i * graph->node_stride);
}

static inline const tfr_program_value *cuda_value_at(const tfr_program_graph *graph, int32_t i)
{
    return (const void *)((const char *)graph->values + (size_t)i * graph->value_stride);
}

#endif
