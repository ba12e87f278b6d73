/* SPDX-License-Identifier: Apache-2.0 */
/* program_find.c: who makes a value and who reads it, for those who fuse items. */
#include "program.h"

native_item *native_maker(const native_ir *ir, int value)
{
    int i;

    for (i = 0; i < ir->n_items; i++) {
        if (ir->items[i].kind != NATIVE_ITEM_NONE && ir->items[i].output == value)
            return &ir->items[i];
    }
    return NULL;
}

static bool is_read_once(const native_ir *ir, int value)
{
    return value >= 0 && ir->values[value].readers == 1 && !ir->values[value].output;
}

native_item *native_only_maker(const native_ir *ir, int value)
{
    return is_read_once(ir, value) ? native_maker(ir, value) : NULL;
}

native_item *native_only_reader(const native_ir *ir, int value)
{
    int i, k;

    for (i = 0; is_read_once(ir, value) && i < ir->n_items; i++) {
        native_item *item = &ir->items[i];
        for (k = 0; item->kind != NATIVE_ITEM_NONE && k < item->n_inputs; k++) {
            if (item->inputs[k] == value)
                return item;
        }
    }
    return NULL;
}

bool native_reads(const native_item *item, int value)
{
    bool does = item->residual == value;
    int k;

    for (k = 0; k < item->n_inputs; k++)
        does = does || item->inputs[k] == value;
    return does && item->kind != NATIVE_ITEM_NONE;
}
