/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_levels.c: which of the nodes that programs take go together. A node that depends on one
 * of another backend, which depends on a program, is of the next level, and can be in no program of
 * the level before. What reads constants alone could be in any: by itself it would be in the first
 * one, computed in each run, and its readers would not see that it is constant. It goes with the
 * first level that reads it.
 */
#include "program.h"

#include <limits.h>
#include <stdlib.h>

typedef struct levels {
    const tfr_program_graph *graph;
    tfr_proposal *rows;
    uint32_t stride;
    int *level; /* of what is taken; of another node that of what it depends on, or -1 */
    bool *constant;
} levels;

static tfr_proposal *row_of(const levels *l, int i)
{
    return (tfr_proposal *)(void *)((char *)l->rows + (size_t)i * l->stride);
}

static bool is_taken(const levels *l, int i)
{
    return row_of(l, i)->group >= 0;
}

static void find_level(levels *l, int i)
{
    const tfr_program_node *node = native_graph_node(l->graph, i);
    bool constant = is_taken(l, i);
    int most = constant ? 0 : -1;
    uint32_t k;

    for (k = 0; k < node->call->n_inputs; k++) {
        const tfr_program_value *v =
            node->inputs[k] < 0 ? NULL : native_graph_value(l->graph, node->inputs[k]);
        int level;
        if (!v || (v->node < 0 ? v->operand->data != NULL : l->constant[v->node]))
            continue;
        constant = false;
        if (v->node < 0)
            continue;
        level = l->level[v->node];
        if (level >= 0 && is_taken(l, i) && !is_taken(l, v->node))
            level++;
        most = level > most ? level : most;
    }
    l->level[i] = constant ? INT_MAX : most;
    l->constant[i] = constant;
}

/* What reads constants alone goes with its readers, which come later. */
static void lower_constants(levels *l, int i)
{
    const tfr_program_node *node = native_graph_node(l->graph, i);
    uint32_t k;

    for (k = 0; k < node->call->n_inputs && is_taken(l, i); k++) {
        const int maker =
            node->inputs[k] < 0 ? -1 : native_graph_value(l->graph, node->inputs[k])->node;
        if (maker >= 0 && l->constant[maker] && l->level[i] < l->level[maker])
            l->level[maker] = l->level[i];
    }
}

void native_level_groups(const tfr_program_graph *graph, tfr_proposal *rows, uint32_t stride)
{
    const int n = (int)graph->n_nodes;
    levels l = {graph, rows, stride, malloc(((size_t)n + 1) * sizeof *l.level),
                malloc(((size_t)n + 1) * sizeof *l.constant)};
    int i;

    for (i = 0; i < n && l.level && l.constant; i++)
        find_level(&l, i);
    for (i = n - 1; i >= 0 && l.level && l.constant; i--)
        lower_constants(&l, i);
    for (i = 0; i < n && l.level && l.constant; i++)
        if (is_taken(&l, i))
            row_of(&l, i)->group = l.level[i] == INT_MAX ? 0 : l.level[i];
    free(l.level);
    free(l.constant);
}
