/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accelerator_program.c: the fake accelerator's compiler. A program is a chain of its kernels, with
 * constants and inner values in the workspace. What passes between two programs has the layout
 * FAKE_LAYOUT: FAKE_ALIGNMENT bytes of FAKE_FILLER, then the plain bytes; whoever reads it as the
 * plain one reads nonsense.
 */
#include "accelerator.h"

#include <stdlib.h>
#include <string.h>

#define FAKE_LAYOUT 0xfa4e
#define FAKE_FILLER 0xee

typedef struct program_node {
    tfr_kernel *kernel;
    int32_t values[5]; /* inputs, then outputs; -1 = none, or consumed by the kernel */
    uint32_t n_values;
    int64_t scratch; /* offset of the kernel's own workspace, or -1 */
} program_node;

typedef struct program_value {
    uint64_t bytes, layout;
    int64_t offset; /* in the workspace, or -1: an argument */
    uint32_t arg;
    const void *data;
} program_value;

struct tfr_program {
    program_node *nodes;
    program_value *values;
    uint32_t n_nodes, n_run, n_values, n_args, n_inputs;
};

static const tfr_program_node *node_at(const tfr_program_graph *g, uint32_t i)
{
    return (const void *)((const char *)g->nodes + (size_t)i * g->node_stride);
}

static const tfr_program_value *value_at(const tfr_program_graph *g, int32_t i)
{
    return (const void *)((const char *)g->values + (size_t)i * g->value_stride);
}

static int32_t fake_propose(tfr_plugin_device *device, const tfr_program_graph *graph,
                            tfr_proposal *out, uint32_t stride, tfr_err *err)
{
    int32_t status = fake_check_device(device, err);
    for (uint32_t i = 0; !status && i < graph->n_nodes; i++) {
        tfr_proposal *row = (void *)((char *)out + (size_t)i * stride);
        if (!(node_at(graph, i)->flags & TFR_NODE_MINE))
            continue;
        if (device->programs)
            row->group = device->programs == 1 ? 0 : (int32_t)i;
        else
            snprintf(row->text, sizeof row->text, "the option programs is 0");
    }
    return status;
}

static void fake_program_drop(tfr_plugin_device *device, tfr_program *program)
{
    if (!program)
        return;
    for (uint32_t i = 0; program->nodes && i < program->n_nodes; i++)
        fake_kernel_facet.drop(device, program->nodes[i].kernel);
    free(program->nodes);
    free(program->values);
    free(program);
}

static int64_t reserve(tfr_program_info *info, uint64_t bytes)
{
    const uint64_t at = info->workspace_bytes;
    info->workspace_bytes += (bytes + FAKE_ALIGNMENT - 1) / FAKE_ALIGNMENT * FAKE_ALIGNMENT;
    return (int64_t)at;
}

static int32_t compile_node(tfr_plugin_device *device, const tfr_program_node *from,
                            program_node *to, tfr_program_info *info, tfr_err *err)
{
    tfr_answer answer = {.size = sizeof answer};
    tfr_kernel_info kernel_info = {.size = sizeof kernel_info};
    int32_t status = fake_kernel_facet.supports(device, from->call, &answer, err);
    if (!status)
        status =
            fake_kernel_facet.prepare(device, from->call, NULL, &to->kernel, &kernel_info, err);
    if (status)
        return status;
    info->flags &= answer.flags;
    to->n_values = from->call->n_inputs + from->call->n_outputs;
    memcpy(to->values, from->inputs, from->call->n_inputs * sizeof *to->values);
    memcpy(to->values + from->call->n_inputs, from->outputs,
           from->call->n_outputs * sizeof *to->values);
    for (uint32_t k = 0; k < from->call->n_inputs; k++)
        if (kernel_info.consumed_inputs >> k & 1)
            to->values[k] = -1;
    to->scratch = answer.workspace_bytes ? reserve(info, answer.workspace_bytes) : -1;
    return TFR_OK;
}

/* May the maker of value v, an update, write over the old state? Whoever reads that comes before.
 */
static bool may_overwrite(const tfr_program *p, const tfr_program_value *v)
{
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        uint32_t times = 0, last = 0;
        for (uint32_t k = 0; k < p->nodes[i].kernel->n_inputs; k++)
            if (p->nodes[i].values[k] == v->variable) {
                times++;
                last = k;
            }
        if (times &&
            ((int32_t)i > v->node ||
             ((int32_t)i == v->node && (times > 1 || !(p->nodes[i].kernel->in_place >> last & 1)))))
            return false;
    }
    return true;
}

/* What save gives: how many nodes a launch runs. */
typedef struct program_blob {
    uint64_t n_nodes, inverse;
} program_blob;

static int32_t fake_save(tfr_plugin_device *device, tfr_program *program, void *out, uint64_t *n,
                         tfr_err *err)
{
    const program_blob blob = {program->n_nodes, ~(uint64_t)program->n_nodes};
    const uint64_t room = *n;
    *n = device->saves ? sizeof blob : 0;
    if (*n && room >= sizeof blob) {
        memcpy(out, &blob, sizeof blob);
        if (device->saves == 3)
            ((char *)out)[room] = 0;
    }
    return fake_check_device(device, err);
}

/* A wrong plugin runs as many nodes as the blob says. */
static void read_blob(const tfr_plugin_device *device, const tfr_compile_options *options,
                      tfr_program *p)
{
    program_blob blob;
    if (!options->blob || options->blob_bytes != sizeof blob)
        return;
    memcpy(&blob, options->blob, sizeof blob);
    if (device->saves == 2 && blob.n_nodes != p->n_nodes)
        p->n_run = (uint32_t)(blob.n_nodes % p->n_nodes);
}

static int32_t fake_compile(tfr_plugin_device *device, const tfr_program_graph *graph,
                            const tfr_compile_options *options, tfr_program **out,
                            tfr_program_output *outputs, uint32_t stride, tfr_program_info *info,
                            tfr_err *err)
{
    int32_t status = TFR_OK;
    tfr_program_info own = {.size = info->size,
                            .flags = device->capture ? TFR_ANSWER_CAPTURABLE : 0};
    tfr_program *p = calloc(1, sizeof *p);
    if (p) {
        p->nodes = calloc(graph->n_nodes, sizeof *p->nodes);
        p->values = calloc(graph->n_values, sizeof *p->values);
    }
    if (!p || !p->nodes || !p->values || options->size < sizeof options->size) {
        fake_program_drop(device, p);
        return tfr_fail(err, TFR_ENOMEM, "no host memory for a program");
    }
    p->n_values = graph->n_values;
    p->n_inputs = graph->n_inputs;
    p->n_args = graph->n_inputs + graph->n_outputs;
    for (uint32_t v = 0; v < p->n_values; v++) {
        const tfr_program_value *value = value_at(graph, (int32_t)v);
        p->values[v].bytes = (uint64_t)tfr_operand_elements(value->operand) * sizeof(float);
        p->values[v].layout = value->layout;
        p->values[v].data = value->operand->data;
        if (value->operand->dtype != TFR_DTYPE_F32) { /* Dropout's mode, which prepare consumes */
            p->values[v].bytes = 0;
            p->values[v].data = NULL;
        }
        p->values[v].offset = -1;
    }
    for (uint32_t k = 0; k < p->n_args; k++) {
        const bool is_output = k >= p->n_inputs;
        const int32_t v = is_output ? graph->outputs[k - p->n_inputs] : graph->inputs[k];
        p->values[v].arg = k + 1;
        if (!is_output || !(value_at(graph, v)->flags & (TFR_VALUE_ANY_LAYOUT | TFR_VALUE_UPDATE)))
            continue;
        tfr_program_output *o = (void *)((char *)outputs + (size_t)(k - p->n_inputs) * stride);
        o->layout = p->values[v].layout = FAKE_LAYOUT;
        if (value_at(graph, v)->flags & TFR_VALUE_UPDATE)
            p->values[value_at(graph, v)->variable].layout = FAKE_LAYOUT;
    }
    for (uint32_t v = 0; v < p->n_values; v++)
        if (!p->values[v].arg)
            p->values[v].offset = reserve(&own, p->values[v].bytes);
    for (uint32_t i = 0; !status && i < graph->n_nodes; i++) {
        p->n_nodes = i + 1;
        status = compile_node(device, node_at(graph, i), &p->nodes[i], &own, err);
    }
    if (status) {
        fake_program_drop(device, p);
        return status;
    }
    p->n_run = p->n_nodes;
    read_blob(device, options, p);
    for (uint32_t k = 0; k < graph->n_outputs; k++) {
        const tfr_program_value *value = value_at(graph, graph->outputs[k]);
        tfr_program_output *o = (void *)((char *)outputs + (size_t)k * stride);
        if (value->variable >= 0 && may_overwrite(p, value))
            o->flags = TFR_OUTPUT_IN_PLACE;
    }
    if (device->unsteady == 3)
        own.flags |= TFR_ANSWER_NONDETERMINISTIC;
    own.n_kernels = p->n_nodes;
    snprintf(own.text, sizeof own.text, "%u kernels in a chain", p->n_nodes);
    memcpy(info, &own, info->size < sizeof own ? info->size : sizeof own);
    *out = p;
    return TFR_OK;
}

/* So many bytes behind a place; handles have their offset apart. */
static tfr_arg behind(const tfr_plugin_device *device, void *address, uint64_t offset,
                      uint64_t more)
{
    if (device->handles)
        return (tfr_arg){.address = address, .offset = offset + more};
    return (tfr_arg){.address = (char *)address + more, .offset = offset};
}

static tfr_arg place_of(const tfr_plugin_device *device, const program_value *value,
                        const tfr_launch *launch)
{
    const tfr_arg *arg = &launch->args[value->arg - 1];
    if (value->offset >= 0)
        return behind(device, launch->workspace, launch->workspace_offset, (uint64_t)value->offset);
    return behind(device, arg->address, arg->offset, value->layout ? FAKE_ALIGNMENT : 0);
}

static int32_t fake_program_launch(tfr_plugin_device *device, tfr_queue *queue,
                                   tfr_program *program, const tfr_launch *launch, tfr_err *err)
{
    int32_t status = TFR_OK;
    if (launch->n_args != program->n_args)
        return fake_breach(err, "launch of a program with %u args, it has %u", launch->n_args,
                           program->n_args);
    queue->id = launch->id; /* of all that follows */
    queue->node = -1;
    for (uint32_t v = 0; !status && v < program->n_values; v++) {
        const program_value *value = &program->values[v];
        tfr_copy copy = {.size = sizeof copy,
                         .src_space = TFR_SPACE_HOST,
                         .src = value->data,
                         .bytes = value->bytes};
        if (value->data && value->bytes) {
            const tfr_arg to = place_of(device, value, launch);
            copy.dst = to.address;
            copy.dst_offset = to.offset;
            status = fake_enqueue_copy(device, queue, &copy, err);
        } else if (value->arg > program->n_inputs && value->layout) {
            const tfr_arg *to = &launch->args[value->arg - 1];
            status =
                fake_fill(device, queue, to->address, to->offset, FAKE_FILLER, FAKE_ALIGNMENT, err);
        }
    }
    for (uint32_t i = 0; !status && i < program->n_run; i++) {
        const program_node *node = &program->nodes[i];
        tfr_arg args[5] = {{0}};
        tfr_launch one = {.size = sizeof one,
                          .n_args = node->n_values,
                          .args = args,
                          .random = launch->random,
                          .random_offset = launch->random_offset};
        for (uint32_t k = 0; k < node->n_values; k++)
            if (node->values[k] >= 0)
                args[k] = place_of(device, &program->values[node->values[k]], launch);
        queue->node = (int32_t)i;
        if (node->scratch >= 0) {
            const tfr_arg scratch = behind(device, launch->workspace, launch->workspace_offset,
                                           (uint64_t)node->scratch);
            one.workspace = scratch.address;
            one.workspace_offset = scratch.offset;
        }
        status = fake_kernel_facet.launch(device, queue, node->kernel, &one, err);
    }
    queue->id = 0;
    return status;
}

const tfr_program_facet fake_program_facet = {
    .size = sizeof fake_program_facet,
    .propose = fake_propose,
    .compile = fake_compile,
    .launch = fake_program_launch,
    .drop = fake_program_drop,
    .save = fake_save,
};

/* ---- the layout ------------------------------------------------------------------------------ */

static int32_t fake_layout_bytes(tfr_plugin_device *device, const tfr_operand *tensor,
                                 uint64_t layout, uint64_t *out, tfr_err *err)
{
    if (layout != FAKE_LAYOUT)
        return fake_breach(err, "layout %llu, which nobody gave", (unsigned long long)layout);
    *out = (uint64_t)tfr_operand_elements(tensor) * sizeof(float) + FAKE_ALIGNMENT;
    return fake_check_device(device, err);
}

static int32_t fake_reorder(tfr_plugin_device *device, tfr_queue *queue, const tfr_operand *tensor,
                            uint64_t from, const tfr_arg *src, uint64_t to, const tfr_arg *dst,
                            tfr_err *err)
{
    const bool in = to == FAKE_LAYOUT;
    const tfr_arg data = in ? *src : behind(device, src->address, src->offset, FAKE_ALIGNMENT);
    const tfr_arg into = in ? behind(device, dst->address, dst->offset, FAKE_ALIGNMENT) : *dst;
    tfr_copy copy = {.size = sizeof copy,
                     .dst = into.address,
                     .dst_offset = into.offset,
                     .src = data.address,
                     .src_offset = data.offset};
    if (from != (in ? TFR_LAYOUT_PLAIN : FAKE_LAYOUT) || (!in && to != TFR_LAYOUT_PLAIN))
        return fake_breach(err, "reorder from %llu to %llu", (unsigned long long)from,
                           (unsigned long long)to);
    copy.bytes = (uint64_t)tfr_operand_elements(tensor) * sizeof(float);
    return copy.bytes ? fake_enqueue_copy(device, queue, &copy, err) : TFR_OK;
}

static void fake_describe(tfr_plugin_device *device, uint64_t layout, char *out, uint32_t n)
{
    (void)device;
    snprintf(out, n, "%s", layout == FAKE_LAYOUT ? "late" : "?");
}

const tfr_layout_facet fake_layout_facet = {
    .size = sizeof fake_layout_facet,
    .bytes = fake_layout_bytes,
    .reorder = fake_reorder,
    .describe = fake_describe,
};
