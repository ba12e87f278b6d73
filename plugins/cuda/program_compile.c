/* SPDX-License-Identifier: Apache-2.0 */
/* program_compile.c: launches of the chains of a group, and of the product in front of one. */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct compiler {
    tfr_plugin_device *device;
    const tfr_program_graph *graph;
    cuda_chains chains;
    uint32_t n; /* chains, in the order of their last nodes */
    cuda_chain *list;
    int32_t *product; /* of each, or -1 */
    int32_t *number;  /* of each among the chains of the graph; -1 = it has no nodes */
    bool *done;       /* whether each has its launch */
    int32_t *arg;     /* by value: the number of the argument of launch; -1 = none */
    cuda_step *steps;
    cuda_plan *plan; /* of one product, or room for one step */
    uint32_t n_steps, most_steps;
    cuda_engine *engine; /* in front of the steps */
    bool uses_math_mode; /* some steps are less exact than strict */
    bool is_image;       /* the one node is of program_image.c, and the plan its */
    uint64_t workspace_bytes;
    tfr_program *program;
} compiler;

static void compiler_free(compiler *c)
{
    cuda_chains_free(&c->chains);
    free(c->list);
    free(c->product);
    free(c->number);
    free(c->done);
    free(c->arg);
    free(c->steps);
    free(c->plan);
}

static int32_t compiler_init(compiler *c, tfr_plugin_device *device, const tfr_program_graph *graph,
                             tfr_err *err)
{
    const size_t n = graph->n_nodes + 1;
    int32_t status;

    memset(c, 0, sizeof *c);
    c->device = device;
    c->graph = graph;
    status = cuda_chains_find(graph, &c->chains, err);
    if (status != TFR_OK)
        return status;
    c->most_steps = (uint32_t)n + CUDA_PLAN_STEPS;
    c->list = calloc(n, sizeof *c->list);
    c->product = calloc(n, sizeof *c->product);
    c->number = calloc(n, sizeof *c->number);
    c->done = calloc(n, sizeof *c->done);
    c->arg = malloc((graph->n_values + 1) * sizeof *c->arg);
    c->steps = calloc(c->most_steps, sizeof *c->steps);
    c->plan = calloc(1, sizeof *c->plan);
    c->program = calloc(1, sizeof *c->program + CUDA_PROGRAM_CONSTANTS * sizeof(cuda_constant *));
    if (!c->list || !c->product || !c->number || !c->done || !c->arg || !c->steps || !c->plan ||
        !c->program)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a program of %u nodes", graph->n_nodes);
    for (uint32_t i = 0; i < graph->n_values; i++)
        c->arg[i] = -1;
    for (uint32_t i = 0; i < graph->n_inputs; i++)
        c->arg[graph->inputs[i]] = (int32_t)i;
    for (uint32_t i = 0; i < graph->n_outputs; i++)
        c->arg[graph->outputs[i]] = (int32_t)(graph->n_inputs + i);
    c->program->n_args = graph->n_inputs + graph->n_outputs;
    return TFR_OK;
}

/* An input that is known gets a copy on the device. False: it is no argument and not known. */
static bool find_argument(compiler *c, int32_t value, int32_t *status, tfr_err *err)
{
    const tfr_operand *o = value < 0 ? NULL : cuda_value_at(c->graph, value)->operand;
    tfr_program *p = c->program;

    if (!o || c->arg[value] >= 0)
        return true;
    if (!o->data)
        return false;
    if (p->n_constants == CUDA_PROGRAM_CONSTANTS ||
        p->n_args + CUDA_PROGRAM_CONSTANTS > CUDA_PROGRAM_ARGS)
        *status = tfr_fail(err, TFR_EUNSUPPORTED, "a program reads too many constants");
    else
        *status = cuda_constant_hold(c->device, o, &p->constants[p->n_constants], err);
    if (*status == TFR_OK)
        c->arg[value] = (int32_t)(p->n_args + p->n_constants++);
    return true;
}

/* What the kernels of the plan read. */
static int32_t find_image_arguments(compiler *c, tfr_err *err)
{
    const tfr_program_node *node = cuda_node_at(c->graph, 0);
    int32_t status = TFR_OK;

    for (uint32_t i = 0; i < c->plan->n_steps; i++)
        for (uint32_t k = 0; k < c->plan->steps[i].n_params && status == TFR_OK; k++) {
            const cuda_param *p = &c->plan->steps[i].params[k];
            if (p->kind == CUDA_PARAM_OPERAND && p->number < node->call->n_inputs)
                (void)find_argument(c, node->inputs[p->number], &status, err);
        }
    return status;
}

static int32_t find_arguments(compiler *c, const cuda_chain *chain, int32_t product, tfr_err *err)
{
    const tfr_program_node *node = product < 0 ? NULL : cuda_node_at(c->graph, (uint32_t)product);
    int32_t status = TFR_OK;

    for (uint32_t k = 0; node && k < node->call->n_inputs && status == TFR_OK; k++)
        if (!cuda_is_shape(node->call, k) && !find_argument(c, node->inputs[k], &status, err))
            status = tfr_fail(err, TFR_EUNSUPPORTED, "a product reads what its program makes");
    for (int32_t k = 0; k < chain->code.n_inputs && status == TFR_OK; k++) {
        const int32_t value = chain->inputs[k];
        if (node && value == node->outputs[0])
            c->arg[value] = c->arg[chain->outputs[0]]; /* it lies where the chain's output will */
        else if (cuda_value_at(c->graph, value)->node >= 0 ||
                 !find_argument(c, value, &status, err))
            status = tfr_fail(err, TFR_EUNSUPPORTED, "a chain reads what another one makes");
    }
    return status;
}

static bool is_product(const compiler *c, uint32_t i)
{
    for (uint32_t k = 0; k < c->graph->n_nodes; k++)
        if (c->chains.of[k] == (int32_t)k && c->chains.product[k] == (int32_t)i)
            return true;
    return false;
}

/* The core may give parts of what was proposed: each has to be whole for itself. */
static int32_t make_chains(compiler *c, tfr_err *err)
{
    const tfr_program_graph *graph = c->graph;
    int32_t status = TFR_OK;

    if (graph->n_nodes == 1 && c->chains.of[0] < 0 && !cuda_is_convolution(graph->nodes->call)) {
        c->is_image = true;
        status = cuda_image_plan(c->device, graph, c->plan, &c->workspace_bytes, err);
        return status == TFR_OK ? find_image_arguments(c, err) : status;
    }
    if (graph->n_nodes == 1 && c->chains.of[0] < 0) {
        cuda_no_end(graph, 0, &c->list[0]);
        c->number[0] = -1;
        c->n = 1;
        return find_arguments(c, &c->list[0], 0, err);
    }
    for (uint32_t i = 0; i < graph->n_nodes && status == TFR_OK; i++) {
        cuda_chain *chain = &c->list[c->n];
        if (c->chains.of[i] < 0 && !is_product(c, i))
            return tfr_fail(err, TFR_EUNSUPPORTED, "\"%s\" is not elementwise",
                            cuda_node_at(graph, i)->name);
        if (c->chains.of[i] != (int32_t)i)
            continue;
        if (!cuda_chain_make(graph, &c->chains, (int32_t)i, false, chain))
            return tfr_fail(err, TFR_EUNSUPPORTED, "a chain has too many inputs or outputs");
        c->product[c->n] = c->chains.product[i];
        c->number[c->n] = (int32_t)i;
        status = find_arguments(c, chain, c->product[c->n], err);
        c->n++;
    }
    return status;
}

/* Whether chain i is to be in a launch of chain `first`. */
static bool is_alike(const compiler *c, uint32_t first, uint32_t i)
{
    const cuda_chain *a = &c->list[first], *b = &c->list[i];

    return i == first || (!c->done[i] && c->product[i] < 0 && a->dtype == b->dtype &&
                          memcmp(&a->code, &b->code, sizeof a->code) == 0);
}

static int32_t addresses_of(const tfr_fused *code)
{
    return code->n_inputs + code->n_outputs;
}

/* Chain `first` and those with its code behind it, as many as a launch takes. Returns what they
 * have of elements. */
static int64_t find_alike(const compiler *c, uint32_t first, uint32_t *list, int32_t *n)
{
    const int32_t most = TFR_FUSED_ADDRESSES / addresses_of(&c->list[first].code);
    int64_t elements = 0;

    *n = 0;
    for (uint32_t i = first; i < c->n && *n < TFR_FUSED_TENSORS && *n < most; i++)
        if (is_alike(c, first, i)) {
            list[(*n)++] = i;
            elements += c->list[i].n;
        }
    return elements;
}

/* The addresses of one more chain in a launch. */
static void add_tensor(const compiler *c, const cuda_chain *chain, int64_t part,
                       tfr_fused_tensors *all, cuda_step *step, int32_t *blocks)
{
    const int32_t t = all->count++, n_inputs = chain->code.n_inputs;
    const int32_t first = t * addresses_of(&chain->code);

    all->n[t] = (int32_t)chain->n;
    all->blocks[t] = *blocks;
    *blocks += (int32_t)((chain->n + part - 1) / part);
    for (int32_t k = 0; k < addresses_of(&chain->code); k++) {
        const int32_t value = k < n_inputs ? chain->inputs[k] : chain->outputs[k - n_inputs];
        cuda_step_address(c->plan, step, (uint32_t)offsetof(tfr_fused_tensors, at[first + k]),
                          (uint32_t)c->arg[value]);
    }
}

/* A launch of chain `first` and of those with its code behind it. */
static void add_launch(compiler *c, uint32_t first)
{
    uint32_t list[TFR_FUSED_TENSORS];
    int32_t n, blocks = 0;
    const int64_t elements = find_alike(c, first, list, &n);
    cuda_fused_launch launch;
    tfr_fused_tensors all;
    cuda_step *step;

    cuda_fused_arrange(&c->device->facts.chip, &c->list[first].code, c->list[first].dtype, elements,
                       &launch);
    memset(&all, 0, sizeof all);
    c->plan->n_steps = 0;
    step = cuda_plan_add(c->plan, launch.kernel, 1, launch.threads);
    cuda_step_bytes(c->plan, step, &launch.code, sizeof launch.code);
    for (int32_t k = 0; k < n; k++) {
        add_tensor(c, &c->list[list[k]], launch.part, &all, step, &blocks);
        c->done[list[k]] = true;
    }
    cuda_step_bytes(c->plan, step, &all, sizeof all);
    step->grid[0] = (uint32_t)blocks;
    c->steps[c->n_steps++] = *step;
}

/* The product of chain i, and the chain behind it where that is left. The context is current. */
static int32_t add_product(compiler *c, uint32_t i, tfr_err *err)
{
    const cuda_numbering numbers = {c->graph, c->arg};
    const int32_t number = c->number[i];
    cuda_chain last;
    const bool can_last = number >= 0 && cuda_chain_make(c->graph, &c->chains, number, true, &last);
    cuda_end end;
    int32_t status = cuda_end_make(c->device, &numbers, c->product[i], &c->list[i], can_last,
                                   c->plan, &end, err);

    if (status != TFR_OK)
        return status;
    if (end.has_chain && end.y_last)
        c->list[i] = last;
    if (end.engine && (c->engine || c->n_steps)) { /* there is room for one, in front of all */
        end.engine->drop(c->device, end.engine);
        return tfr_fail(err, TFR_EUNSUPPORTED, "a second product in a program");
    }
    if (!end.engine && c->n_steps + c->plan->n_steps > c->most_steps - c->n)
        return tfr_fail(err, TFR_EUNSUPPORTED, "too many products in a program");
    if (!end.engine && c->workspace_bytes && end.workspace_bytes)
        return tfr_fail(err, TFR_EUNSUPPORTED, "two products with workspaces in a program");
    c->engine = end.engine ? end.engine : c->engine;
    c->list[i].is_last = end.y_last;
    c->workspace_bytes += end.workspace_bytes;
    c->uses_math_mode = c->uses_math_mode || (!end.engine && c->plan->uses_math_mode);
    for (uint32_t k = 0; !end.engine && k < c->plan->n_steps; k++)
        c->steps[c->n_steps++] = c->plan->steps[k];
    c->plan->is_full = false;
    if (end.has_chain)
        add_launch(c, i);
    c->done[i] = true;
    return TFR_OK;
}

/* The context is current. */
static int32_t make_launches(compiler *c, tfr_err *err)
{
    int32_t status = TFR_OK;

    if (c->is_image)
        return cuda_image_number(&(cuda_numbering){c->graph, c->arg}, c->plan, c->steps,
                                 &c->n_steps, err);
    for (uint32_t i = 0; i < c->n && !c->plan->is_full && status == TFR_OK; i++) {
        if (c->done[i])
            continue;
        if (c->product[i] >= 0)
            status = add_product(c, i, err);
        else
            add_launch(c, i);
    }
    if (status == TFR_OK && c->plan->is_full)
        return tfr_fail(err, TFR_EINTERNAL, "a chain does not fit a launch");
    return status;
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
        const uint32_t elsewhere = chain->code.repeated | (chain->n > 1 ? chain->code.single : 0);
        bool is_own = false;
        if (c->product[i] >= 0) /* which writes before the chain reads */
            return false;
        for (int32_t k = 0; k < chain->code.n_outputs; k++)
            is_own = is_own || chain->outputs[k] == output;
        for (int32_t k = 0; k < chain->code.n_inputs; k++)
            if (chain->inputs[k] == value->variable) {
                if (!is_own || elsewhere >> k & 1)
                    return false;
                overwrites = true;
            }
    }
    return overwrites;
}

static bool is_last(const compiler *c, int32_t output)
{
    const tfr_program_node *node = cuda_node_at(c->graph, 0);

    for (uint32_t k = 0; c->is_image && k < node->call->n_outputs; k++)
        if (node->outputs[k] == output)
            return cuda_is_last(c->plan, node->call->n_inputs + k);
    for (uint32_t i = 0; i < c->n; i++)
        for (int32_t k = 0; k < c->list[i].code.n_outputs; k++)
            if (c->list[i].outputs[k] == output)
                return c->list[i].is_last;
    return false;
}

static void tell(const compiler *c, tfr_program_output *outputs, uint32_t stride,
                 tfr_program_info *info)
{
    uint32_t n_products = 0;

    for (uint32_t i = 0; i < c->graph->n_outputs; i++) {
        tfr_program_output *out = (void *)((char *)outputs + (size_t)i * stride);
        if (may_overwrite(c, c->graph->outputs[i]))
            out->flags |= TFR_OUTPUT_IN_PLACE;
        if (is_last(c, c->graph->outputs[i]))
            out->layout = CUDA_LAYOUT_LAST;
    }
    info->flags = TFR_ANSWER_CAPTURABLE;
    if (c->uses_math_mode || (c->engine && c->engine->uses_math_mode))
        info->flags |= TFR_ANSWER_MATH_MODE;
    info->workspace_bytes = c->workspace_bytes;
    info->n_kernels = c->n_steps + (c->engine != NULL);
    for (uint32_t i = 0; i < c->program->n_constants; i++)
        info->constant_bytes += cuda_constant_bytes(c->program->constants[i]);
    for (uint32_t i = 0; i < c->n; i++)
        n_products += c->product[i] >= 0;
    snprintf(info->text, sizeof info->text, "%u elementwise nodes in %u chains",
             c->graph->n_nodes - n_products, c->n);
    if (c->is_image)
        snprintf(info->text, sizeof info->text, "%s of images in any order",
                 cuda_node_at(c->graph, 0)->call->name);
    if (n_products)
        snprintf(info->text, sizeof info->text, "%s with its end of %u nodes, by %s",
                 cuda_node_at(c->graph, (uint32_t)c->product[0])->call->name,
                 c->graph->n_nodes - n_products,
                 c->engine && !c->n_steps ? "a library"
                 : c->engine              ? "a library and a kernel"
                                          : "kernels");
}

void cuda_program_drop(tfr_plugin_device *device, tfr_program *program)
{
    if (!program)
        return;
    cuda_kernel_drop(device, program->kernel);
    for (uint32_t i = 0; i < program->n_constants; i++)
        cuda_constant_drop(device, program->constants[i]);
    free(program);
}

/* Arguments of a launch are the graph's inputs, then its outputs. */
static cuda_extents *extents_of(const compiler *c)
{
    const tfr_program_graph *graph = c->graph;
    cuda_extents *extents = cuda_extents_new(graph->n_inputs, graph->n_outputs, c->workspace_bytes);

    for (uint32_t i = 0; extents && i < graph->n_inputs + graph->n_outputs; i++) {
        const int32_t value =
            i < graph->n_inputs ? graph->inputs[i] : graph->outputs[i - graph->n_inputs];
        extents->bytes[i] = cuda_operand_bytes(cuda_value_at(graph, value)->operand);
    }
    return extents;
}

/* All that needs the context. */
static int32_t make_kernel(compiler *c, tfr_err *err)
{
    int32_t status = make_chains(c, err);

    if (status == TFR_OK)
        status = cuda_enter(c->device, err);
    if (status != TFR_OK)
        return status;
    status = make_launches(c, err);
    if (status == TFR_OK)
        status =
            cuda_kernel_make(c->device, c->steps, c->n_steps, c->engine, &c->program->kernel, err);
    if (status != TFR_OK && c->engine)
        c->engine->drop(c->device, c->engine);
    if (status == TFR_OK)
        c->program->kernel->extents = extents_of(c);
    cuda_leave(c->device);
    return status;
}

int32_t cuda_compile(tfr_plugin_device *device, const tfr_program_graph *graph,
                     const tfr_compile_options *options, tfr_program **out,
                     tfr_program_output *outputs, uint32_t stride, tfr_program_info *info,
                     tfr_err *err)
{
    compiler c;
    int32_t status = compiler_init(&c, device, graph, err);

    (void)options;
    if (status == TFR_OK)
        status = make_kernel(&c, err);
    if (status == TFR_OK) {
        tell(&c, outputs, stride, info);
        *out = c.program;
    } else {
        cuda_program_drop(device, c.program);
    }
    compiler_free(&c);
    return status;
}
