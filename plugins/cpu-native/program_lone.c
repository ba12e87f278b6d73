/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_lone.c: moves of half that no program needs. A program widens half to float32 and back,
 * which is most of the time of what only moves elements. So moves that give their elements to each
 * other and to views alone, never to or from what counts with them, are kernels of their own.
 */
#include "program.h"

#include <stdlib.h>
#include <string.h>

static tfr_proposal *row_of(tfr_proposal *rows, uint32_t stride, uint32_t i)
{
    return (tfr_proposal *)(void *)((char *)rows + (size_t)i * stride);
}

static bool is_half(const tfr_program_graph *graph, int32_t value)
{
    const int32_t dtype = value < 0 ? -1 : native_graph_value(graph, value)->operand->dtype;

    return dtype == TFR_DTYPE_F16 || dtype == TFR_DTYPE_BF16;
}

/* One that has a kernel for elements of 2 bytes. */
static bool is_move(const tfr_call *call)
{
    static const char *const names[] = {"Transpose", "Concat", "Expand",
                                        "Split",     "Slice",  "Gather"};
    size_t i;

    for (i = 0; i < sizeof names / sizeof names[0] && call->domain[0] == '\0'; i++) {
        if (strcmp(call->name, names[i]) == 0)
            return true;
    }
    return false;
}

/* What one of two that share elements of half counts with, the other one belongs to. */
static bool spread(const tfr_program_graph *graph, const bool *taken, bool *counts, uint32_t i)
{
    const tfr_program_node *node = native_graph_node(graph, (int)i);
    bool changed = false;
    uint32_t k;

    for (k = 0; k < node->call->n_inputs; k++) {
        const int maker =
            is_half(graph, node->inputs[k]) ? native_graph_value(graph, node->inputs[k])->node : -1;
        if (maker < 0 || !taken[i] || !taken[maker] || counts[i] == counts[maker])
            continue;
        counts[i] = counts[maker] = changed = true;
    }
    return changed;
}

static void leave(tfr_proposal *row)
{
    static const char text[] = "it moves elements of half that nothing counts with";

    row->group = -1;
    row->reason = TFR_REASON_NONE;
    memcpy(row->text, text, sizeof text);
}

void native_leave_lone_moves(const tfr_program_graph *graph, tfr_proposal *rows, uint32_t stride)
{
    const uint32_t n = graph->n_nodes;
    bool *taken = calloc(2 * (size_t)n + 1, sizeof *taken), *counts = taken + n;
    bool changed = taken != NULL;
    uint32_t i;

    for (i = 0; i < n && taken; i++) {
        const tfr_program_node *node = native_graph_node(graph, (int)i);
        taken[i] = row_of(rows, stride, i)->group >= 0;
        counts[i] = taken[i] && !(node->flags & TFR_NODE_VIEW) && !is_move(node->call);
    }
    while (changed) { /* once in each direction is enough for most */
        changed = false;
        for (i = 0; i < n; i++)
            changed = spread(graph, taken, counts, i) || changed;
        for (i = n; i-- > 0;)
            changed = spread(graph, taken, counts, i) || changed;
    }
    for (i = 0; i < n && taken; i++) {
        const tfr_program_node *node = native_graph_node(graph, (int)i);
        if (taken[i] && !counts[i] && !(node->flags & TFR_NODE_VIEW) &&
            is_half(graph, node->inputs[0]))
            leave(row_of(rows, stride, i));
    }
    free(taken);
}
