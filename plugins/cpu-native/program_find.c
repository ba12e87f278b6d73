/* SPDX-License-Identifier: Apache-2.0 */
/* program_find.c: who makes a value and who reads it, for those who fuse items. */
#include "program.h"

static bool makes(const native_ir *ir, int item, int value)
{
    return item < ir->n_items && ir->items[item].kind != NATIVE_ITEM_NONE &&
           ir->items[item].output == value;
}

/* Items may have gone, moved or come since readers were counted: what was noted then is tried, and
 * else all are looked at. */
native_item *native_maker(const native_ir *ir, int value)
{
    int i;

    if (value >= 0 && makes(ir, ir->values[value].maker, value))
        return &ir->items[ir->values[value].maker];

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

static bool has_input(const native_item *item, int value)
{
    int k;

    for (k = 0; item->kind != NATIVE_ITEM_NONE && k < item->n_inputs; k++) {
        if (item->inputs[k] == value)
            return true;
    }
    return false;
}

native_item *native_only_reader(const native_ir *ir, int value)
{
    int i;

    if (!is_read_once(ir, value))
        return NULL;
    i = ir->values[value].reader;
    if (i < ir->n_items && has_input(&ir->items[i], value))
        return &ir->items[i];
    for (i = 0; i < ir->n_items; i++) {
        if (has_input(&ir->items[i], value))
            return &ir->items[i];
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
