/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.c: the program facet: which nodes form groups, and the life of a program. How a group is
 * compiled is told in program.h.
 */
#include "program_half.h"
#include "program_integer.h"
#include "program_segments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tfr_program {
    native_plan plan;
    native_half half;
    native_unpacked unpacked;
    native_sharing launch;
    int64_t unit_bytes[]; /* of each argument */
};

/* ---- propose ---- */

static tfr_proposal *row_of(tfr_proposal *out, uint32_t stride, int i)
{
    return (tfr_proposal *)(void *)((char *)out + (size_t)i * stride);
}

static void leave(tfr_proposal *row, tfr_reason reason, const char *text)
{
    row->group = -1;
    row->reason = (int32_t)reason;
    snprintf(row->text, sizeof row->text, "%s", text);
}

static void propose_node(const tfr_plugin_device *device, const tfr_program_graph *graph, int i,
                         tfr_proposal *row)
{
    const tfr_program_node *node = native_graph_node(graph, i);
    const char *why = "";

    row->group = 0;
    if (node->flags & TFR_NODE_VIEW)
        return;
    if (!(node->flags & TFR_NODE_MINE))
        leave(row, TFR_REASON_POLICY, "it was placed elsewhere");
    else if (!native_can_hold(node->call, &why))
        leave(row, TFR_REASON_DYNAMIC_SHAPE, why);
    else if (!native_is_native(device, node->call))
        leave(row, TFR_REASON_NONE, "programs do not know this form of it");
    else if (native_form_of(node->call) && native_form_of(node->call)->kind == NATIVE_ITEM_BLOCKS &&
             !native_feeds_products(graph, i))
        leave(row, TFR_REASON_NONE, "programs know it for weights of products alone");
    else if (native_form_of(node->call) && native_form_of(node->call)->kind == NATIVE_ITEM_RANGE &&
             !native_is_range_compared(graph, i))
        leave(row, TFR_REASON_NONE, "programs know it for comparisons with known values alone");
}

/* Views stay only between what is taken: elsewhere the core does them for nothing. */
static void propose_views(const tfr_program_graph *graph, tfr_proposal *out, uint32_t stride)
{
    int n = (int)graph->n_nodes, i, j;
    uint32_t k;

    for (i = 0; i < n; i++) {
        const tfr_program_node *node = native_graph_node(graph, i);
        int maker =
            node->flags & TFR_NODE_VIEW ? native_graph_value(graph, node->inputs[0])->node : i;
        if (maker < 0 || row_of(out, stride, maker)->group < 0)
            leave(row_of(out, stride, i), TFR_REASON_NONE, "a view of what is made elsewhere");
    }
    for (i = n - 1; i >= 0; i--) {
        bool read = false;
        const tfr_program_node *node = native_graph_node(graph, i);
        if (!(node->flags & TFR_NODE_VIEW) || row_of(out, stride, i)->group < 0)
            continue;
        for (j = i + 1; j < n && !read; j++) {
            const tfr_program_node *reader = native_graph_node(graph, j);
            for (k = 0; k < reader->call->n_inputs; k++)
                read = read || (reader->inputs[k] == node->outputs[0] &&
                                row_of(out, stride, j)->group >= 0);
        }
        if (!read)
            leave(row_of(out, stride, i), TFR_REASON_NONE, "a view that is read elsewhere");
    }
}

static int32_t propose(tfr_plugin_device *device, const tfr_program_graph *graph, tfr_proposal *out,
                       uint32_t stride, tfr_err *err)
{
    int i;

    (void)err;
    for (i = 0; i < (int)graph->n_nodes; i++)
        propose_node(device, graph, i, row_of(out, stride, i));
    native_leave_lone_moves(graph, out, stride);
    propose_views(graph, out, stride);
    native_level_groups(graph, out, stride);
    return TFR_OK;
}

/* ---- compile ---- */

static void end_program(tfr_plugin_device *device, tfr_program *program)
{
    if (program) {
        native_drop_plan(device, &program->plan);
        native_drop_half(device, &program->half);
        native_drop_unpacked(device, &program->unpacked);
    }
    free(program);
}

/* The number and what follows it, at `at`; where they end. */
static char *put(char *at, int number, const char *text)
{
    char digits[12], *digit = digits;
    size_t n = strlen(text);

    do
        *digit++ = (char)('0' + number % 10);
    while (number /= 10);
    while (digit > digits)
        *at++ = *--digit;
    memcpy(at, text, n + 1);
    return at + n;
}

/* Each program of a cache that grows is described, mostly in these few words: printf's code would
 * come from memory each time. */
static void describe_shared(const tfr_program *program, const native_ir *ir, char *text)
{
    text = put(text, program->plan.n_runs, " kernels, ");
    text = put(text, ir->n_fused, " fused, ");
    text = stpcpy(text, ir->device->isa->name);
    text = stpcpy(text, ", each shared by ");
    put(text, ir->device->threads, " threads");
}

static void describe(const tfr_program *program, const native_ir *ir, uint64_t constant_bytes,
                     tfr_program_info *info)
{
    const native_sharing *l = &program->launch;
    uint64_t lanes = (uint64_t)ir->device->lanes;

    info->workspace_bytes = l->workspace_bytes;
    info->lower_bound = l->by_units ? lanes * program->plan.lower_bound : program->plan.lower_bound;
    info->constant_bytes = constant_bytes;
    info->n_kernels = (uint32_t)program->plan.n_runs;
    info->n_reorders = (uint32_t)ir->n_reorders;
    info->time_ns = l->time_ns;
    if (program->plan.stages)
        snprintf(info->text, sizeof info->text,
                 "%d kernels, %d fused, %s, %d stages, units of %lld of %lld samples in %d shards",
                 program->plan.n_runs, ir->n_fused, ir->device->isa->name,
                 program->plan.stages->n_stages, (long long)program->plan.samples,
                 (long long)ir->samples, program->plan.stages->shards);
    else if (program->plan.segments)
        snprintf(
            info->text, sizeof info->text,
            "%d kernels, %d fused, %s, units of %lld of %lld samples in %d segments on %d threads",
            program->plan.n_runs, ir->n_fused, ir->device->isa->name,
            (long long)program->plan.samples, (long long)ir->samples, program->plan.segments->n,
            ir->device->threads);
    else if (l->by_units)
        snprintf(info->text, sizeof info->text,
                 "%d kernels, %d fused, %s, units of %lld of %lld samples on %d threads",
                 program->plan.n_runs, ir->n_fused, ir->device->isa->name,
                 (long long)program->plan.samples, (long long)ir->samples, ir->device->threads);
    else
        describe_shared(program, ir, info->text);
}

/* Behind the text, which ends in a number of threads. */
static void describe_integers(const native_ir *ir, tfr_program_info *info)
{
    const size_t n = strlen(info->text);

    if (ir->n_integers > 0)
        snprintf(info->text + n, sizeof info->text - n, ", %d in integers", ir->n_integers);
}

static int32_t compile_ir(native_ir *ir, const tfr_compile_options *options, tfr_program *program,
                          tfr_program_info *info, tfr_err *err)
{
    uint64_t constant_bytes = 0;
    int32_t status =
        native_widen_graph(ir->device, ir->graph, &program->half, ir, &constant_bytes, err);

    if (status == TFR_OK)
        status = native_read(ir, err);
    if (status == TFR_OK && ir->device->qdq)
        native_find_integers(ir);
    if (status == TFR_OK)
        status = native_unpack_known(ir, &program->unpacked, &constant_bytes, err);
    if (status != TFR_OK)
        return status;
    if (!native_fuse_nbits(ir))
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "programs know DequantizeLinear for weights of products alone");
    native_compute_known(ir, &program->unpacked, &constant_bytes);
    native_pick_rows(ir, &program->unpacked, &constant_bytes);
    native_fold_factors(ir, &program->unpacked, &constant_bytes);
    if (native_merge_branches(ir, &program->unpacked, &constant_bytes)) /* sums are gone */
        native_fold_factors(ir, &program->unpacked, &constant_bytes);
    native_free_products(ir);
    native_fuse_gradients(ir);
    native_fuse(ir);
    native_multiply_pixels(ir, &program->unpacked, &constant_bytes);
    native_fuse_integers(ir);
    if (native_wants_stages(ir))
        native_fuse_rows(ir);
    native_fuse_strided(ir);
    native_append(ir);
    native_fuse_pooled(ir);
    status = native_layout(ir, err);
    if (status == TFR_OK)
        status = native_fuse_fronts(ir, err);
    if (status != TFR_OK)
        return status;
    status = native_choose_plan(ir, options, &program->plan, &program->launch, program->unit_bytes,
                                &constant_bytes, err);
    if (status == TFR_OK)
        describe(program, ir, constant_bytes, info);
    if (status == TFR_OK)
        describe_integers(ir, info);
    return status;
}

static tfr_program_output *output_at(tfr_program_output *outputs, uint32_t stride, uint32_t i)
{
    return (tfr_program_output *)(void *)((char *)outputs + (size_t)i * stride);
}

static int32_t compile(tfr_plugin_device *device, const tfr_program_graph *graph,
                       const tfr_compile_options *options, tfr_program **out,
                       tfr_program_output *outputs, uint32_t stride, tfr_program_info *info,
                       tfr_err *err)
{
    native_ir ir = {0};
    tfr_program *program;
    int32_t status;
    uint32_t i;

    if (graph->n_inputs + graph->n_outputs > NATIVE_PROGRAM_ARGS)
        return tfr_fail(err, TFR_EUNSUPPORTED, "a program of %u arguments, %d are done here",
                        graph->n_inputs + graph->n_outputs, NATIVE_PROGRAM_ARGS);
    program = native_zeroed(sizeof *program + ((size_t)graph->n_inputs + graph->n_outputs) *
                                                  sizeof *program->unit_bytes);
    if (!program)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a program");
    ir.graph = graph;
    ir.device = device;
    ir.options = options;
    status = compile_ir(&ir, options, program, info, err);
    for (i = 0; i < graph->n_outputs && status == TFR_OK; i++) {
        if (ir.values[graph->outputs[i]].appended)
            output_at(outputs, stride, i)->flags |= TFR_OUTPUT_APPENDS;
    }
    native_ir_end(&ir);
    native_end_half_graph(&program->half);
    if (status != TFR_OK) {
        end_program(device, program);
        return status;
    }
    *out = program;
    return TFR_OK;
}

/* ---- launch, drop, save ---- */

static int32_t launch(tfr_plugin_device *device, tfr_queue *queue, tfr_program *program,
                      const tfr_launch *l, tfr_err *err)
{
    char *args[NATIVE_PROGRAM_ARGS];
    uint32_t i;

    (void)device;
    (void)queue;
    for (i = 0; i < l->n_args; i++)
        args[i] = l->args[i].address;
    return native_run_program(&program->launch, l->workspace, args, l->id, err);
}

static void drop(tfr_plugin_device *device, tfr_program *program)
{
    end_program(device, program);
}

/* What compile has measured: samples of a unit. */
static int32_t save(tfr_plugin_device *device, tfr_program *program, void *out, uint64_t *n,
                    tfr_err *err)
{
    native_choice choice = native_choice_of(&program->launch);

    (void)device;
    (void)err;
    if (out && *n >= sizeof choice)
        memcpy(out, &choice, sizeof choice);
    *n = sizeof choice;
    return TFR_OK;
}

const tfr_program_facet native_program_facet = {
    .size = sizeof native_program_facet,
    .flags = TFR_PROGRAM_ANY_DIMS,
    .propose = propose,
    .compile = compile,
    .launch = launch,
    .drop = drop,
    .save = save,
};
