/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_kernel.c: the kernel of a single node is a program of one item, whose steps all threads
 * share. It has its own memory: a kernel is launched by one thread at a time.
 */
#include "program_bf16.h"
#include "program_half.h"

#include <stdio.h>

enum { ITEM_ARGS = NATIVE_ITEM_INPUTS + NATIVE_ITEM_OUTPUTS };

typedef struct item_kernel {
    tfr_plugin_device *device;
    native_plan plan;
    native_half half;
    native_sharing sharing;
    int64_t unit_bytes[ITEM_ARGS];
    uint32_t from[ITEM_ARGS]; /* of each argument of the program: that of launch */
    void *workspace;
} item_kernel;

/* The kinds whose steps read an element before they write it. */
static bool works_in_place(native_item_kind kind)
{
    return kind == NATIVE_ITEM_ACT || kind == NATIVE_ITEM_BINARY || kind == NATIVE_ITEM_SOFTMAX ||
           kind == NATIVE_ITEM_LAYER_NORM;
}

static void set_in_place(const tfr_call *call, tfr_answer *answer)
{
    const tfr_operand *y = tfr_call_output(call, 0);
    uint32_t i;

    for (i = 0; i < 2 && answer->n_in_place == 0; i++) {
        const tfr_operand *x = tfr_call_input(call, i);
        if (x && tfr_operand_same_dims(x, y)) {
            answer->in_place[0].input = (int16_t)i;
            answer->in_place[0].output = 0;
            answer->n_in_place = 1;
        }
    }
}

static bool is_conv(native_item_kind kind)
{
    return kind == NATIVE_ITEM_CONV || kind == NATIVE_ITEM_CONV_GRAD_INPUT ||
           kind == NATIVE_ITEM_CONV_GRAD_FILTER;
}

static void set_math_mode(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer)
{
    const char *why = native_bf16_no_mode(device, call);

    if (why)
        snprintf(answer->text, sizeof answer->text, "%s", why);
    else
        answer->flags |= TFR_ANSWER_MATH_MODE;
}

void native_item_supports(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer)
{
    const native_form *form = native_find_any_form(call), *row = native_form_of(call);

    if (form && works_in_place(form->kind) && !native_has_half(call))
        set_in_place(call, answer);
    else if (form && is_conv(form->kind) && !native_has_half(call) && call->name[0] != 'Q' &&
             call->math_mode != TFR_MATH_STRICT)
        set_math_mode(device, call, answer);
    else if (!form && tfr_call_input(call, 0)->dtype != TFR_DTYPE_F32)
        tfr_decline(answer, TFR_REASON_DTYPE, "not done here for these types or operands");
    else if (!form)
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "only %s",
                    row && row->what ? row->what : "float32 and one output are done here");
}

/* ---- a graph of one node ---- */

typedef struct lone_graph {
    tfr_program_graph graph;
    tfr_program_node node;
    tfr_program_value values[ITEM_ARGS];
    int32_t inputs[NATIVE_ITEM_INPUTS], outputs[NATIVE_ITEM_OUTPUTS], args[ITEM_ARGS];
} lone_graph;

static int32_t add_value(lone_graph *g, const tfr_operand *o)
{
    const int32_t number = (int32_t)g->graph.n_values++;

    g->values[number].size = sizeof *g->values;
    g->values[number].operand = o;
    return number;
}

/* What is known is no argument. */
static void make_graph(lone_graph *g, item_kernel *k, const tfr_call *call)
{
    uint32_t i;

    for (i = 0; i < call->n_inputs; i++) {
        const tfr_operand *o = tfr_call_input(call, i);
        g->inputs[i] = o ? add_value(g, o) : -1;
        if (!o || o->data)
            continue;
        k->from[g->graph.n_inputs] = i;
        g->args[g->graph.n_inputs++] = g->inputs[i];
    }
    for (i = 0; i < NATIVE_ITEM_OUTPUTS; i++) {
        const tfr_operand *o = tfr_call_output(call, i);
        g->outputs[i] = o ? add_value(g, o) : -1;
        if (!o)
            continue;
        k->from[g->graph.n_inputs + g->graph.n_outputs] = call->n_inputs + i;
        g->args[g->graph.n_inputs + g->graph.n_outputs++] = g->outputs[i];
    }
    g->node.size = sizeof g->node;
    g->node.call = call;
    g->node.inputs = g->inputs;
    g->node.outputs = g->outputs;
    g->graph.size = sizeof g->graph;
    g->graph.node_stride = sizeof g->node;
    g->graph.value_stride = sizeof *g->values;
    g->graph.n_nodes = 1;
    g->graph.nodes = &g->node;
    g->graph.values = g->values;
    g->graph.inputs = g->args;
    g->graph.outputs = g->args + g->graph.n_inputs;
}

/* ---- the kernel ---- */

static int32_t run_item(const tfr_plugin_device *device, void *state, const tfr_launch *launch,
                        tfr_err *err)
{
    const item_kernel *k = state;
    char *args[ITEM_ARGS];
    int i;

    (void)device;
    for (i = 0; i < k->sharing.n_args; i++)
        args[i] = launch->args[k->from[i]].address;
    return native_run_program(&k->sharing, k->workspace, args, 0, err);
}

static void release_item(void *state)
{
    item_kernel *k = state;

    if (!k->device)
        return;
    native_drop_plan(k->device, &k->plan);
    native_drop_half(k->device, &k->half);
}

static int32_t make_program(item_kernel *k, const tfr_call *call, tfr_err *err)
{
    lone_graph g = {.graph.n_nodes = 0};
    native_ir ir = {.graph = &g.graph, .device = k->device};
    uint64_t constant_bytes = 0;
    int32_t status;

    make_graph(&g, k, call);
    status = native_widen_graph(k->device, &g.graph, &k->half, &ir, &constant_bytes, err);
    if (status == TFR_OK)
        status = native_read(&ir, err);
    if (status == TFR_OK)
        status = native_layout(&ir, err);
    if (status == TFR_OK)
        status = native_share_plan(&ir, &k->plan, &k->sharing, k->unit_bytes, &constant_bytes, err);
    native_ir_end(&ir);
    native_end_half_graph(&k->half);
    return status;
}

void native_item_prepare(native_build *b, const tfr_call *call)
{
    item_kernel *k = native_set_function(b, run_item, release_item, sizeof *k,
                                         native_item_names[native_find_any_form(call)->kind]);

    if (!k)
        return;
    k->device = b->device;
    b->status = make_program(k, call, b->err);
    if (b->status != TFR_OK || k->sharing.workspace_bytes == 0)
        return;
    k->workspace = native_add_block(b, (size_t)k->sharing.workspace_bytes);
}
