/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.c: elementwise nodes as programs, each chain (program_fuse.c) read and written once. What
 * no node of the graph reads, as the new states of variables, is one program: chains with equal
 * code and other tensors share launches, so that the updates of all weights are a few. Other chains
 * are a program each, so that the core can order them among the rest.
 */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void leave(tfr_proposal *p, tfr_reason reason, const char *text)
{
    p->reason = (int32_t)reason;
    snprintf(p->text, sizeof p->text, "%s", text);
}

static int32_t cuda_propose(tfr_plugin_device *device, const tfr_program_graph *graph,
                            tfr_proposal *out, uint32_t stride, tfr_err *err)
{
    cuda_chains chains;
    cuda_chain *chain = malloc(sizeof *chain);
    int32_t status = chain ? cuda_chains_find(graph, &chains, err)
                           : tfr_fail(err, TFR_ENOMEM, "no memory for a chain");

    (void)device;
    for (uint32_t i = 0; i < graph->n_nodes && status == TFR_OK; i++) {
        tfr_proposal *p = (void *)((char *)out + (size_t)i * stride);
        const int32_t number = chains.of[i];
        if (!(cuda_node_at(graph, i)->flags & TFR_NODE_MINE))
            continue;
        if (number < 0 || chains.n_nodes[number] < 2)
            leave(p, TFR_REASON_POLICY, "there is nothing to fuse it with");
        else if (!cuda_chain_make(graph, &chains, number, chain))
            leave(p, TFR_REASON_SIZE_LIMIT,
                  "the chain of elementwise nodes around it has too many inputs or outputs");
        else
            p->group = chains.n_beside[number] ? 1 + number : 0;
    }
    if (status == TFR_OK)
        cuda_chains_free(&chains);
    free(chain);
    return status;
}

/* ---- compiling ------------------------------------------------------------------------------- */

typedef struct compiler {
    const tfr_program_graph *graph;
    cuda_chains chains;
    uint32_t n; /* chains, in the order of their first nodes */
    cuda_chain *list;
    int32_t *arg; /* by value: the number of the argument of launch; -1 = none */
    cuda_step *steps;
    cuda_plan *plan; /* room for one step */
    uint32_t n_steps;
} compiler;

static void compiler_free(compiler *c)
{
    cuda_chains_free(&c->chains);
    free(c->list);
    free(c->arg);
    free(c->steps);
    free(c->plan);
}

static int32_t compiler_init(compiler *c, const tfr_program_graph *graph, tfr_err *err)
{
    int32_t status;

    memset(c, 0, sizeof *c);
    c->graph = graph;
    status = cuda_chains_find(graph, &c->chains, err);
    if (status != TFR_OK)
        return status;
    c->list = calloc(graph->n_nodes + 1, sizeof *c->list);
    c->arg = malloc((graph->n_values + 1) * sizeof *c->arg);
    c->steps = calloc(graph->n_nodes + 1, sizeof *c->steps);
    c->plan = calloc(1, sizeof *c->plan);
    if (!c->list || !c->arg || !c->steps || !c->plan)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a program of %u nodes", graph->n_nodes);
    for (uint32_t i = 0; i < graph->n_values; i++)
        c->arg[i] = -1;
    for (uint32_t i = 0; i < graph->n_inputs; i++)
        c->arg[graph->inputs[i]] = (int32_t)i;
    for (uint32_t i = 0; i < graph->n_outputs; i++)
        c->arg[graph->outputs[i]] = (int32_t)(graph->n_inputs + i);
    return TFR_OK;
}

/* The core may give parts of what was proposed: each has to be whole for itself. */
static int32_t make_chains(compiler *c, tfr_err *err)
{
    const tfr_program_graph *graph = c->graph;

    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        cuda_chain *chain = &c->list[c->n];
        if (c->chains.of[i] < 0)
            return tfr_fail(err, TFR_EUNSUPPORTED, "\"%s\" is not elementwise",
                            cuda_node_at(graph, i)->name);
        if (c->chains.of[i] != (int32_t)i)
            continue;
        if (!cuda_chain_make(graph, &c->chains, (int32_t)i, chain))
            return tfr_fail(err, TFR_EUNSUPPORTED, "a chain has too many inputs or outputs");
        for (int32_t k = 0; k < chain->code.n_inputs; k++)
            if (c->arg[chain->inputs[k]] < 0 || cuda_value_at(graph, chain->inputs[k])->node >= 0)
                return tfr_fail(err, TFR_EUNSUPPORTED, "a chain reads what another one makes");
        c->n++;
    }
    return TFR_OK;
}

/* The addresses of one more chain in a launch, as its tensor t. */
static void add_tensor(const compiler *c, const cuda_chain *chain, tfr_fused_tensors *all,
                       cuda_step *step, int32_t *blocks)
{
    const int32_t t = all->count++;
    const uint32_t at = (uint32_t)((size_t)t * sizeof(uint64_t));

    all->n[t] = (int32_t)chain->n;
    all->blocks[t] = *blocks;
    *blocks += (int32_t)((chain->n + TFR_FUSED_PART - 1) / TFR_FUSED_PART);
    for (int32_t k = 0; k < chain->code.n_inputs; k++)
        cuda_step_address(c->plan, step, (uint32_t)offsetof(tfr_fused_tensors, x[k]) + at,
                          (uint32_t)c->arg[chain->inputs[k]]);
    for (int32_t k = 0; k < chain->code.n_outputs; k++)
        cuda_step_address(c->plan, step, (uint32_t)offsetof(tfr_fused_tensors, y[k]) + at,
                          (uint32_t)c->arg[chain->outputs[k]]);
}

/* A launch of chain `first` and of those with its code behind it; done has those that are made. */
static void add_launch(compiler *c, uint32_t first, bool *done)
{
    const tfr_fused *code = &c->list[first].code;
    const int32_t dtype = c->list[first].dtype;
    tfr_fused_tensors all;
    cuda_step *step;
    int32_t blocks = 0;

    memset(&all, 0, sizeof all);
    c->plan->n_steps = 0;
    step = cuda_plan_add(c->plan, dtype == TFR_DTYPE_F64 ? "fuse_f64" : "fuse_f32", 1,
                         TFR_FUSED_THREADS);
    cuda_step_bytes(c->plan, step, code, sizeof *code);
    for (uint32_t i = first; i < c->n && all.count < TFR_FUSED_TENSORS; i++)
        if (!done[i] && c->list[i].dtype == dtype &&
            memcmp(&c->list[i].code, code, sizeof *code) == 0) {
            add_tensor(c, &c->list[i], &all, step, &blocks);
            done[i] = true;
        }
    cuda_step_bytes(c->plan, step, &all, sizeof all);
    step->grid[0] = (uint32_t)blocks;
    c->steps[c->n_steps++] = *step;
}

static int32_t make_launches(compiler *c, tfr_err *err)
{
    bool *done = calloc(c->n + 1, sizeof *done);

    if (!done)
        return tfr_fail(err, TFR_ENOMEM, "no memory for %u chains", c->n);
    for (uint32_t i = 0; i < c->n && !c->plan->is_full; i++)
        if (!done[i])
            add_launch(c, i, done);
    free(done);
    return c->plan->is_full ? tfr_fail(err, TFR_EINTERNAL, "a chain does not fit a launch")
                            : TFR_OK;
}

/* Whether a state may be written over the one before: only its own chain, element by element, reads
 * that. */
static bool may_overwrite(const compiler *c, int32_t output)
{
    const tfr_program_value *value = cuda_value_at(c->graph, output);
    bool overwrites = false;

    if (value->variable < 0)
        return false;
    for (uint32_t i = 0; i < c->n; i++) {
        const cuda_chain *chain = &c->list[i];
        bool is_own = false;
        for (int32_t k = 0; k < chain->code.n_outputs; k++)
            is_own = is_own || chain->outputs[k] == output;
        for (int32_t k = 0; k < chain->code.n_inputs; k++)
            if (chain->inputs[k] == value->variable) {
                if (!is_own || (chain->code.single >> k & 1 && chain->n > 1))
                    return false;
                overwrites = true;
            }
    }
    return overwrites;
}

static void tell(const compiler *c, tfr_program_output *outputs, uint32_t stride,
                 tfr_program_info *info)
{
    for (uint32_t i = 0; i < c->graph->n_outputs; i++) {
        tfr_program_output *out = (void *)((char *)outputs + (size_t)i * stride);
        if (may_overwrite(c, c->graph->outputs[i]))
            out->flags |= TFR_OUTPUT_IN_PLACE;
    }
    info->flags = TFR_ANSWER_CAPTURABLE;
    info->n_kernels = c->n_steps;
    snprintf(info->text, sizeof info->text, "%u elementwise nodes in %u chains", c->graph->n_nodes,
             c->n);
}

static int32_t cuda_compile(tfr_plugin_device *device, const tfr_program_graph *graph,
                            const tfr_compile_options *options, tfr_program **out,
                            tfr_program_output *outputs, uint32_t stride, tfr_program_info *info,
                            tfr_err *err)
{
    tfr_kernel *kernel = NULL;
    compiler c;
    int32_t status = compiler_init(&c, graph, err);

    (void)options;
    if (status == TFR_OK)
        status = make_chains(&c, err);
    if (status == TFR_OK)
        status = make_launches(&c, err);
    if (status == TFR_OK)
        status = cuda_enter(device, err);
    if (status == TFR_OK) {
        status = cuda_kernel_make(device, c.steps, c.n_steps, NULL, &kernel, err);
        cuda_leave(device);
    }
    if (status == TFR_OK) {
        tell(&c, outputs, stride, info);
        *out = (tfr_program *)(void *)kernel;
    }
    compiler_free(&c);
    return status;
}

static int32_t cuda_program_launch(tfr_plugin_device *device, tfr_queue *queue,
                                   tfr_program *program, const tfr_launch *launch, tfr_err *err)
{
    return cuda_launch(device, queue, (tfr_kernel *)(void *)program, launch, err);
}

static void cuda_program_drop(tfr_plugin_device *device, tfr_program *program)
{
    cuda_kernel_drop(device, (tfr_kernel *)(void *)program);
}

const tfr_program_facet cuda_program_facet = {
    .size = sizeof cuda_program_facet,
    .flags = TFR_PROGRAM_COMPILE_ANY,
    .propose = cuda_propose,
    .compile = cuda_compile,
    .launch = cuda_program_launch,
    .drop = cuda_program_drop,
};
