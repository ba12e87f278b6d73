/* SPDX-License-Identifier: Apache-2.0 */
/* program_ir.c: the lists of items and values that program_ir.h describes, and how they grow. */
#include "program.h"

#include <stdlib.h>
#include <string.h>

const tfr_program_node *native_graph_node(const tfr_program_graph *graph, int i)
{
    return (const tfr_program_node *)(const void *)((const char *)graph->nodes +
                                                    (size_t)i * graph->node_stride);
}

const tfr_program_value *native_graph_value(const tfr_program_graph *graph, int i)
{
    return (const tfr_program_value *)(const void *)((const char *)graph->values +
                                                     (size_t)i * graph->value_stride);
}

/* first: how many there is room for at first. */
static bool grow(void **list, int n, int *room, int first, size_t size)
{
    int more = *room ? *room * 2 : first;
    void *p;

    if (n < *room)
        return true;
    p = realloc(*list, (size_t)more * size);
    if (!p)
        return false;
    *list = p;
    *room = more;
    return true;
}

/* Passes add few: a group is compiled for each length of a cache, mostly of some ten nodes. */
static int room_for(uint32_t n)
{
    return (int)(n + n / 4) + 8;
}

int native_new_value(native_ir *ir, const native_value *like)
{
    native_value copy = *like;

    if (!grow((void **)(void *)&ir->values, ir->n_values, &ir->room_values,
              room_for(ir->graph ? ir->graph->n_values : 0), sizeof *ir->values)) {
        ir->failed = true;
        return 0;
    }
    copy.root = ir->n_values;
    copy.arg = -1;
    copy.reduced = false;
    copy.output = false;
    copy.readers = 0;
    copy.maker = copy.reader = 0;
    copy.known = copy.unaligned = NULL;
    ir->values[ir->n_values] = copy;
    return ir->n_values++;
}

native_item *native_new_item(native_ir *ir, native_item_kind kind)
{
    static native_item nowhere; /* for writes after a failure; never read */
    native_item *item;

    if (!grow((void **)(void *)&ir->items, ir->n_items, &ir->room_items,
              room_for(ir->graph ? ir->graph->n_nodes : 0), sizeof *ir->items)) {
        ir->failed = true;
        return &nowhere;
    }
    item = &ir->items[ir->n_items++];
    memset(item, 0, sizeof *item);
    item->kind = kind;
    item->node = item->residual = item->codes = item->strided = item->integer = -1;
    memset(item->more, -1, sizeof item->more);
    item->alpha = item->beta = 1.0f;
    item->stride[0] = item->stride[1] = item->dilation[0] = item->dilation[1] = 1;
    item->kernel[0] = item->kernel[1] = 1;
    return item;
}

int native_new_strided(native_ir *ir, int n)
{
    int i;

    for (i = 0; i < n; i++) {
        if (!grow((void **)(void *)&ir->strided, ir->n_strided, &ir->room_strided, room_for(0),
                  sizeof *ir->strided)) {
            ir->failed = true;
            return -1;
        }
        memset(&ir->strided[ir->n_strided++], 0, sizeof *ir->strided);
    }
    return ir->n_strided - n;
}

int64_t native_elements(const native_value *v)
{
    int64_t n = 1;
    int i;

    for (i = 0; i < v->rank; i++)
        n *= v->dims[i];
    return n;
}

/* Counts the readers of each value; an output of the program is read, too. Notes who they are. */
void native_count_readers(native_ir *ir)
{
    int i, k;

    for (i = 0; i < ir->n_values; i++)
        ir->values[i].readers = ir->values[i].output;
    for (i = 0; i < ir->n_items; i++) {
        const native_item *item = &ir->items[i];
        if (item->kind == NATIVE_ITEM_NONE)
            continue;
        if (item->output >= 0)
            ir->values[item->output].maker = i;
        for (k = 0; k < item->n_inputs; k++) {
            if (item->inputs[k] < 0)
                continue;
            ir->values[item->inputs[k]].readers++;
            ir->values[item->inputs[k]].reader = i;
        }
        if (item->residual >= 0)
            ir->values[item->residual].readers++;
    }
}

void native_ir_end(native_ir *ir)
{
    int i;

    for (i = 0; i < ir->n_items; i++) {
        free(ir->items[i].chain);
        free(ir->items[i].front);
    }
    free(ir->values);
    free(ir->twins);
    free(ir->strided);
    free(ir->integers);
    free(ir->items);
}
