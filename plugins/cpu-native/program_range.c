/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_range.c: Range of int64 whose first number and step are known, where it is compared with
 * what is known: the mask of a decoder. A program of the next length of a cache is compiled with
 * others, while a kernel is asked about and prepared for each alone.
 */
#include "program_forms.h"

#include <string.h>

enum {
    BLOCK = 4096,   /* numbers of a unit */
    DEPTH = 4,      /* nodes between a comparison and what is known, or the Range, */
    MOST_INPUTS = 3 /* each with so many inputs */
};

typedef struct range {
    native_ref to;
    uint64_t first, step; /* sums of integers wrap */
    int64_t n;
} range;

static void run_range(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const range *r = params;
    uint64_t *to = (uint64_t *)(void *)native_at(bases, &r->to);
    int64_t i = begin * BLOCK;
    const int64_t stop = end * BLOCK < r->n ? end * BLOCK : r->n;

    for (; i < stop; i++)
        to[i] = r->first + (uint64_t)i * r->step;
}

void native_plan_range(native_planner *p, const native_item *item)
{
    range *r = native_keep(p, sizeof *r);

    if (!r)
        return;
    r->to = native_ref_of(p, item->output);
    r->n = native_elements(&p->ir->values[item->output]);
    memcpy(&r->first, tfr_call_input(item->call, 0)->data, sizeof r->first);
    memcpy(&r->step, tfr_call_input(item->call, 2)->data, sizeof r->step);
    native_add_run(p, run_range, r, (r->n + BLOCK - 1) / BLOCK, (double)r->n * 0.5);
}

bool native_range_form(const tfr_call *call)
{
    const tfr_operand *y = tfr_call_output(call, 0);
    uint32_t i;

    for (i = 0; i < 3; i++) {
        const tfr_operand *x = tfr_call_input(call, i);
        if (!x || !x->data || x->dtype != TFR_DTYPE_I64)
            return false;
    }
    return y->dtype == TFR_DTYPE_I64 && tfr_operand_elements(y) > 0;
}

/* Is the value known, or made of known ones by a few nodes? */
static bool is_fixed(const tfr_program_graph *graph, int32_t value, int depth)
{
    const tfr_program_value *v = value < 0 ? NULL : native_graph_value(graph, value);
    const tfr_program_node *maker = v && v->node >= 0 ? native_graph_node(graph, v->node) : NULL;
    bool is = maker && depth > 0 && maker->call->n_inputs <= MOST_INPUTS;
    uint32_t k;

    if (!v || v->operand->data)
        return true;
    for (k = 0; is && k < maker->call->n_inputs; k++)
        is = is_fixed(graph, maker->inputs[k], depth - 1);
    return is;
}

/* Is the value, or a view of it, read by comparisons with such values alone? */
static bool is_compared(const tfr_program_graph *graph, int32_t value, int from, int depth)
{
    bool is = !(native_graph_value(graph, value)->flags & TFR_VALUE_OUTPUT);
    uint32_t k, left = native_graph_value(graph, value)->n_readers;
    int i;

    for (i = from; i < (int)graph->n_nodes && is && left; i++) {
        const tfr_program_node *node = native_graph_node(graph, i);
        const tfr_operand *y = tfr_call_output(node->call, 0);
        bool reads = false;
        for (k = 0; k < node->call->n_inputs && is; k++) {
            if (node->inputs[k] != value)
                continue;
            reads = true;
            is = node->flags & TFR_NODE_VIEW
                     ? depth > 0 && is_compared(graph, node->outputs[0], i + 1, depth - 1)
                     : node->call->n_inputs == 2 && y && y->dtype == TFR_DTYPE_BOOL &&
                           is_fixed(graph, node->inputs[!k], DEPTH);
        }
        left -= reads;
    }
    return is;
}

bool native_is_range_compared(const tfr_program_graph *graph, int node)
{
    return is_compared(graph, native_graph_node(graph, node)->outputs[0], node + 1, DEPTH);
}
