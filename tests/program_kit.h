/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_kit.h: a compiler for tests. The reference backend of a runtime gets the facets
 * tfr.program/1 and tfr.layout/1 in this process; a program runs the backend's own kernels one
 * after the other, so every graph can be compared with its run without programs. It also checks
 * what the core promises. Layout 7 is 16 bytes of mark and then the plain bytes from the last to
 * the first, so whoever takes it for the plain one reads nonsense. Included once per test program.
 */
#ifndef TFR_PROGRAM_KIT_H
#define TFR_PROGRAM_KIT_H

#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>
#include <tfrun/tfrun.h>

#include "device/runtime.h"
#include "tfr_test.h"

#define KIT_LAYOUT  7u
#define KIT_MARK    0xa5
#define KIT_ONE_SET 4000 /* most nodes */

/* What the compiler does; tests set it. */
static struct {
    int32_t group[KIT_ONE_SET]; /* wanted for node i, cut to what the core allows; see all */
    bool all;                   /* everything into group 0, whatever group says */
    bool layouts;               /* give outputs a layout where that is allowed */
    bool workspace;             /* keep inner values in the launch's workspace */
    bool large;                 /* do not look whether group 0 is convex: that takes n * n * n */
    int32_t propose_status, compile_status, launch_status, bytes_status;
    const char *fail_op; /* compile_status for groups with a node of this op; NULL = all */
    uint32_t fail_nth;   /* only the n-th of these from now on; 0 = all */
    /* defects */
    int32_t bad_group;
    bool bad_foreign, bad_layout, no_program;
    tfr_program_info bad_info;
    /* What was seen. */
    bool convex; /* the nodes of group 0 are, and one of them is a kernel */
    uint32_t n_proposes, n_compiles, n_launches, n_live, n_reorders, n_laid, n_nodes, n_mine;
    char blob[16];        /* that the last compile was given; "" = none */
    const void *constant; /* address of the last known input of 4 elements or more */
} kit;

static tfr__backend *kit_backend;

typedef struct kit_node {
    bool view;
    tfr_kernel *kernel;
    uint32_t n_inputs, n_outputs;
    int32_t *operands;
    void *workspace;
    tfr_arg *args;
} kit_node;

typedef struct kit_value {
    uint64_t bytes, layout;
    int32_t arg; /* -1 = none */
    const void *data;
    void *own;  /* plain form, unless data */
    void *copy; /* of data, which stay as they are until the program is dropped */
    uint64_t offset;
} kit_value;

struct tfr_program {
    kit_node *nodes;
    kit_value *values;
    uint32_t n_nodes, n_values, n_inputs, n_args;
};

static uint64_t kit_bytes(const tfr_operand *o)
{
    return ((uint64_t)tfr_operand_elements(o) * tfr_dtype_bits(o->dtype) + 7) / 8;
}

static const tfr_program_node *kit_node_at(const tfr_program_graph *g, uint32_t i)
{
    return (const void *)((const char *)g->nodes + (size_t)i * g->node_stride);
}

static const tfr_program_value *kit_value_at(const tfr_program_graph *g, uint32_t i)
{
    return (const void *)((const char *)g->values + (size_t)i * g->value_stride);
}

/* What every graph must be. */
static void kit_check_graph(const tfr_program_graph *g)
{
    uint32_t *readers = calloc(g->n_values + 1, sizeof *readers);
    char *made = calloc(g->n_values + 1, 1);
    REQUIRE(readers && made && g->size >= sizeof *g);
    for (uint32_t v = 0; v < g->n_values; v++) {
        const tfr_program_value *value = kit_value_at(g, v);
        made[v] = (value->flags & TFR_VALUE_INPUT) != 0;
        CHECK_INT(made[v] ? -1 : 0, value->node < 0 ? -1 : 0);
        if (value->operand->data)
            CHECK(value->flags & TFR_VALUE_INPUT);
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const tfr_program_node *n = kit_node_at(g, i);
        for (uint32_t k = 0; k < n->call->n_inputs; k++) {
            bool again = false;
            const tfr_operand *o = tfr_call_input(n->call, k);
            CHECK((n->inputs[k] < 0) == (o == NULL));
            if (n->inputs[k] < 0)
                continue;
            REQUIRE((uint32_t)n->inputs[k] < g->n_values);
            CHECK(made[n->inputs[k]]);
            CHECK(o->strides == NULL);
            CHECK(o->data == kit_value_at(g, (uint32_t)n->inputs[k])->operand->data ||
                  tfr_operand_elements(o) == 0);
            for (uint32_t x = 0; x < k; x++)
                again = again || n->inputs[x] == n->inputs[k];
            readers[n->inputs[k]] += !again;
        }
        for (uint32_t k = 0; k < n->call->n_outputs; k++) {
            if (n->outputs[k] < 0)
                continue;
            CHECK_INT((int64_t)i, kit_value_at(g, (uint32_t)n->outputs[k])->node);
            made[n->outputs[k]] = 1;
        }
    }
    for (uint32_t v = 0; v < g->n_values; v++)
        CHECK_UINT(readers[v], kit_value_at(g, v)->n_readers);
    free(readers);
    free(made);
}

/* Brute force: does no path leave the nodes of group 0 and come back? */
static bool kit_is_convex(const tfr_program_graph *g)
{
    const uint32_t n = g->n_nodes;
    char *reach = calloc((size_t)n * n + 1, 1); /* [to][from] */
    bool convex = true, kernel = false;
    REQUIRE(reach != NULL && n <= KIT_ONE_SET);
    for (uint32_t i = 0; i < n; i++) {
        const tfr_program_node *node = kit_node_at(g, i);
        for (uint32_t k = 0; k < node->call->n_inputs; k++) {
            const int32_t from =
                node->inputs[k] < 0 ? -1 : kit_value_at(g, (uint32_t)node->inputs[k])->node;
            for (uint32_t x = 0; from >= 0 && x < n; x++)
                reach[(size_t)i * n + x] |= x == (uint32_t)from || reach[(size_t)from * n + x];
        }
    }
    for (uint32_t a = 0; a < n; a++) {
        kernel = kernel || (kit.group[a] == 0 && (kit_node_at(g, a)->flags & TFR_NODE_MINE));
        for (uint32_t b = 0; b < n; b++)
            for (uint32_t c = 0; c < n; c++)
                if (kit.group[a] == 0 && kit.group[c] == 0 && kit.group[b] != 0 &&
                    reach[(size_t)b * n + a] && reach[(size_t)c * n + b])
                    convex = false;
    }
    free(reach);
    return convex && kernel;
}

static int32_t kit_propose(tfr_plugin_device *device, const tfr_program_graph *graph,
                           tfr_proposal *out, uint32_t stride, tfr_err *err)
{
    (void)device;
    kit.n_proposes++;
    kit_check_graph(graph);
    CHECK_UINT(0, graph->n_inputs);
    kit.n_nodes = graph->n_nodes;
    kit.n_mine = 0;
    kit.convex = !kit.large && kit_is_convex(graph);
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        tfr_proposal *row = (void *)((char *)out + (size_t)i * stride);
        const uint32_t flags = kit_node_at(graph, i)->flags;
        CHECK_INT(-1, row->group);
        kit.n_mine += flags & TFR_NODE_MINE;
        if (flags)
            row->group = kit.all ? 0 : kit.group[i];
        else if (kit.bad_foreign)
            row->group = 0;
        if (kit.bad_group < -1)
            row->group = kit.bad_group;
        if (row->group < 0)
            snprintf(row->text, sizeof row->text, "node %u is not for me", i);
    }
    return kit.propose_status ? tfr_fail(err, kit.propose_status, "no idea today") : TFR_OK;
}

static void kit_drop(tfr_plugin_device *device, tfr_program *p)
{
    if (!p)
        return;
    for (uint32_t i = 0; p->nodes && i < p->n_nodes; i++) {
        if (p->nodes[i].kernel)
            kit_backend->kernel.drop(device, p->nodes[i].kernel);
        free(p->nodes[i].workspace);
        free(p->nodes[i].operands);
        free(p->nodes[i].args);
    }
    for (uint32_t v = 0; p->values && v < p->n_values; v++) {
        CHECK(!p->values[v].copy ||
              memcmp(p->values[v].copy, p->values[v].data, (size_t)p->values[v].bytes) == 0);
        free(p->values[v].copy);
        free(p->values[v].own);
    }
    free(p->nodes);
    free(p->values);
    free(p);
    kit.n_live--;
}

static void kit_compile_node(tfr_plugin_device *device, const tfr_program_node *from, kit_node *to)
{
    const uint32_t n = from->call->n_inputs + from->call->n_outputs;
    tfr_answer answer = {.size = sizeof answer};
    tfr_err err = TFR_ERR_INIT;
    to->view = from->flags & TFR_NODE_VIEW;
    to->n_inputs = from->call->n_inputs;
    to->n_outputs = from->call->n_outputs;
    to->operands = calloc(n + 1, sizeof *to->operands);
    to->args = calloc(n + 1, sizeof *to->args);
    REQUIRE(to->operands && to->args);
    for (uint32_t k = 0; k < n; k++)
        to->operands[k] = k < to->n_inputs ? from->inputs[k] : from->outputs[k - to->n_inputs];
    if (to->view)
        return;
    CHECK_OK(kit_backend->kernel.supports(device, from->call, &answer, &err), &err);
    CHECK(answer.verdict == TFR_VERDICT_YES || answer.verdict == TFR_VERDICT_SLOW);
    to->workspace = answer.workspace_bytes ? malloc(answer.workspace_bytes) : NULL;
    tfr_kernel_info info = {.size = sizeof info, .workspace_bytes = answer.workspace_bytes};
    REQUIRE_OK(kit_backend->kernel.prepare(device, from->call, NULL, &to->kernel, &info, &err),
               &err);
}

/* The arguments are the known inputs' complement and what is read outside, in this order. */
static void kit_check_border(const tfr_program_graph *g)
{
    uint32_t n_inputs = 0, n_outputs = 0;
    for (uint32_t v = 0; v < g->n_values; v++) {
        const tfr_program_value *value = kit_value_at(g, v);
        n_inputs += (value->flags & TFR_VALUE_INPUT) && !value->operand->data;
        n_outputs += (value->flags & TFR_VALUE_OUTPUT) != 0;
        if (value->layout)
            CHECK_UINT(KIT_LAYOUT, value->layout);
    }
    CHECK_UINT(n_inputs, g->n_inputs);
    CHECK_UINT(n_outputs, g->n_outputs);
    for (uint32_t k = 0; k < g->n_inputs; k++)
        CHECK(kit_value_at(g, (uint32_t)g->inputs[k])->flags & TFR_VALUE_INPUT);
    for (uint32_t k = 0; k < g->n_outputs; k++)
        CHECK(kit_value_at(g, (uint32_t)g->outputs[k])->flags & TFR_VALUE_OUTPUT);
}

static bool kit_fails(const tfr_program_graph *graph)
{
    if (!kit.fail_op)
        return true;
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        if (strcmp(kit_node_at(graph, i)->call->name, kit.fail_op) == 0)
            return true;
    return false;
}

static int32_t kit_compile(tfr_plugin_device *device, const tfr_program_graph *graph,
                           const tfr_compile_options *options, tfr_program **out,
                           tfr_program_output *outputs, uint32_t stride, tfr_program_info *info,
                           tfr_err *err)
{
    const bool once = kit.fail_nth > 0;
    uint64_t offset = 0;
    CHECK(options->size >= sizeof *options && info->size >= sizeof *info);
    kit.n_compiles++;
    CHECK(options->blob_bytes < sizeof kit.blob && (!options->blob_bytes == !options->blob));
    memset(kit.blob, 0, sizeof kit.blob);
    if (options->blob)
        memcpy(kit.blob, options->blob, options->blob_bytes);
    kit_check_graph(graph);
    kit_check_border(graph);
    if (kit.compile_status && kit_fails(graph) && (!kit.fail_nth || !--kit.fail_nth)) {
        const int32_t status = kit.compile_status;
        if (once)
            kit.compile_status = TFR_OK;
        return tfr_fail(err, (tfr_status)status, "not these %u nodes", graph->n_nodes);
    }
    if (kit.no_program)
        return TFR_OK;
    tfr_program *p = calloc(1, sizeof *p);
    REQUIRE(p != NULL);
    kit.n_live++;
    p->nodes = calloc(graph->n_nodes, sizeof *p->nodes);
    p->values = calloc(graph->n_values, sizeof *p->values);
    REQUIRE(p->nodes && p->values);
    p->n_nodes = graph->n_nodes;
    p->n_values = graph->n_values;
    p->n_inputs = graph->n_inputs;
    p->n_args = graph->n_inputs + graph->n_outputs;
    for (uint32_t i = 0; i < p->n_nodes; i++)
        kit_compile_node(device, kit_node_at(graph, i), &p->nodes[i]);
    for (uint32_t v = 0; v < p->n_values; v++) {
        const tfr_program_value *value = kit_value_at(graph, v);
        p->values[v].bytes = kit_bytes(value->operand);
        p->values[v].layout = value->layout;
        p->values[v].arg = -1;
        p->values[v].data = value->operand->data;
        p->values[v].offset = offset;
        if (value->operand->data) {
            p->values[v].copy = malloc(p->values[v].bytes + 1);
            REQUIRE(p->values[v].copy != NULL);
            memcpy(p->values[v].copy, value->operand->data, (size_t)p->values[v].bytes);
        }
        if (value->operand->data && tfr_operand_elements(value->operand) >= 4)
            kit.constant = value->operand->data;
        if (!value->operand->data && kit.workspace)
            offset += (p->values[v].bytes + 63) / 64 * 64;
        else if (!value->operand->data)
            p->values[v].own = malloc(p->values[v].bytes + 1);
    }
    for (uint32_t k = 0; k < p->n_args; k++) {
        const int32_t v = k < graph->n_inputs ? graph->inputs[k] : graph->outputs[k - p->n_inputs];
        tfr_program_output *o = (void *)((char *)outputs + (size_t)(k - p->n_inputs) * stride);
        p->values[v].arg = (int32_t)k;
        if (k < p->n_inputs)
            continue;
        CHECK_UINT(TFR_LAYOUT_PLAIN, o->layout);
        if ((kit.layouts && (kit_value_at(graph, (uint32_t)v)->flags & TFR_VALUE_ANY_LAYOUT)) ||
            kit.bad_layout) {
            o->layout = p->values[v].layout = KIT_LAYOUT;
            kit.n_laid++;
        }
    }
    *info = kit.bad_info;
    info->workspace_bytes += offset;
    if (offset)
        info->lower_bound = offset / 2;
    info->n_kernels = p->n_nodes;
    info->constant_bytes = 12;
    snprintf(info->text, sizeof info->text, "one after the other");
    *out = p;
    return TFR_OK;
}

static void kit_reverse(void *dst, const void *src, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        ((unsigned char *)dst)[i] = ((const unsigned char *)src)[n - 1 - i];
}

static void kit_load(const kit_value *value, void *own, const void *address)
{
    if (!value->layout) {
        if (value->bytes)
            memcpy(own, address, value->bytes);
        return;
    }
    CHECK_INT(KIT_MARK, ((const unsigned char *)address)[15]);
    kit_reverse(own, (const char *)address + 16, value->bytes);
}

static void kit_store(const kit_value *value, void *address, const void *own)
{
    if (!value->layout) {
        if (value->bytes)
            memcpy(address, own, value->bytes);
        return;
    }
    memset(address, KIT_MARK, 16);
    kit_reverse((char *)address + 16, own, value->bytes);
}

static int32_t kit_launch(tfr_plugin_device *device, tfr_queue *queue, tfr_program *p,
                          const tfr_launch *launch, tfr_err *err)
{
    kit.n_launches++;
    CHECK_UINT(p->n_args, launch->n_args);
    if (kit.launch_status)
        return tfr_fail(err, kit.launch_status, "the program fell over");
#define KIT_OWN(v)                                                                                 \
    (kit.workspace ? (void *)((char *)launch->workspace + p->values[v].offset) : p->values[v].own)
    for (uint32_t v = 0; v < p->n_values; v++)
        if (p->values[v].arg >= 0 && (uint32_t)p->values[v].arg < p->n_inputs)
            kit_load(&p->values[v], KIT_OWN(v), launch->args[p->values[v].arg].address);
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        kit_node *n = &p->nodes[i];
        tfr_launch one = {.size = sizeof one,
                          .args = n->args,
                          .workspace = n->workspace,
                          .random = launch->random};
        one.n_args = n->n_inputs + n->n_outputs;
        for (uint32_t k = 0; k < one.n_args; k++) {
            const int32_t v = n->operands[k];
            n->args[k] = (tfr_arg){0};
            if (v >= 0)
                n->args[k].address =
                    p->values[v].data ? (void *)(uintptr_t)p->values[v].data : KIT_OWN(v);
        }
        if (n->view) {
            if (p->values[n->operands[n->n_inputs]].bytes)
                memcpy(n->args[n->n_inputs].address, n->args[0].address,
                       p->values[n->operands[n->n_inputs]].bytes);
            continue;
        }
        const int32_t status = kit_backend->kernel.launch(device, queue, n->kernel, &one, err);
        if (status)
            return status;
    }
    for (uint32_t v = 0; v < p->n_values; v++)
        if (p->values[v].arg >= 0 && (uint32_t)p->values[v].arg >= p->n_inputs)
            kit_store(&p->values[v], launch->args[p->values[v].arg].address, KIT_OWN(v));
#undef KIT_OWN
    return TFR_OK;
}

static int32_t kit_layout_bytes(tfr_plugin_device *device, const tfr_operand *tensor,
                                uint64_t layout, uint64_t *out, tfr_err *err)
{
    (void)device;
    CHECK_UINT(KIT_LAYOUT, layout);
    if (kit.bytes_status)
        return tfr_fail(err, kit.bytes_status, "no such layout");
    *out = kit_bytes(tensor) + 16;
    return TFR_OK;
}

static int32_t kit_reorder(tfr_plugin_device *device, tfr_queue *queue, const tfr_operand *tensor,
                           uint64_t from, const tfr_arg *src, uint64_t to, const tfr_arg *dst,
                           tfr_err *err)
{
    const kit_value value = {.bytes = kit_bytes(tensor), .layout = from};
    (void)device, (void)queue, (void)err;
    CHECK_UINT(KIT_LAYOUT, from);
    CHECK_UINT(TFR_LAYOUT_PLAIN, to);
    kit.n_reorders++;
    kit_load(&value, dst->address, src->address);
    return TFR_OK;
}

static int32_t kit_save(tfr_plugin_device *device, tfr_program *program, void *out, uint64_t *n,
                        tfr_err *err)
{
    char text[16];
    const uint32_t bytes = (uint32_t)snprintf(text, sizeof text, "of %u nodes", program->n_nodes);
    (void)device, (void)err;
    CHECK(*n >= bytes);
    memcpy(out, text, bytes);
    *n = bytes;
    return TFR_OK;
}

/* Gives the runtime's reference backend the facets. */
static inline void kit_attach(tfr_runtime *runtime)
{
    static const tfr_program_facet program = {sizeof program, 0,        kit_propose, kit_compile,
                                              kit_launch,     kit_drop, kit_save};
    static const tfr_layout_facet layout = {sizeof layout, 0, kit_layout_bytes, kit_reorder, NULL};
    tfr_err err = TFR_ERR_INIT;
    uint32_t device;
    int32_t backend;
    REQUIRE_OK(tfr_runtime_find(runtime, "naive:0", &device, &backend, &err), &err);
    kit_backend = &runtime->devices[device].backends[backend];
    REQUIRE_OK(tfr__backend_open(runtime, kit_backend, &err), &err);
    kit_backend->program = program;
    kit_backend->layout = layout;
    kit_backend->has_program = kit_backend->has_layout = true;
    memset(&kit, 0, sizeof kit);
    kit.all = true;
}

#endif
