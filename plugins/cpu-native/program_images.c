/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_images.c: what converters leave around convolutions of models that had the channels last.
 *
 * Transposes. What works element by element on a transposed image works on the image as well; the
 * transposition then follows it, and ends at one that turns back. All of a group is turned or
 * nothing, as fewer elements are transposed then or not.
 *
 * Zeros. A Pad with zeros in front of a convolution is its padding.
 */
#include "program.h"

#include <stdlib.h>
#include <string.h>

/* ---- transposes ---- */

typedef struct turns {
    native_ir *ir;
    const native_item *old; /* all items as they were */
    int n_old;
    int *first; /* of each value: the same image with the channels first, or -1 */
    int *alias; /* of each value: the one to read instead, itself or an image that is there already
                 */
} turns;

bool native_turns_channels(const native_ir *ir, const native_item *item, bool to_last)
{
    const int rank = ir->values[item->output].rank;
    int i;

    if (item->kind != NATIVE_ITEM_TRANSPOSE || rank < 3 || item->perm[0] != 0)
        return false;
    for (i = 1; i < rank; i++) {
        const int from = to_last ? i % (rank - 1) + 1 : (i + rank - 3) % (rank - 1) + 1;
        if (item->perm[i] != from)
            return false;
    }
    return true;
}

static void set_perm_to_last(native_item *item, int rank)
{
    int i;

    item->perm[0] = 0;
    for (i = 1; i < rank; i++)
        item->perm[i] = i % (rank - 1) + 1;
}

/* The axis of an image with the channels first that axis i of one with them last is. */
static int axis_of_first(int i, int rank)
{
    return i == 0 ? 0 : i % (rank - 1) + 1;
}

static int add_value(turns *t, const native_value *like)
{
    const int v = native_new_value(t->ir, like);

    if (!t->ir->failed) {
        t->first[v] = -1;
        t->alias[v] = v;
    }
    return v;
}

/* Numbers of one element, and constants for each channel, which lie as they do. */
static bool spreads(const native_value *v, int rank)
{
    const int64_t n = native_elements(v);

    return v->known && v->rank <= rank && n > 0 &&
           (n == 1 || (v->rank > 0 && v->dims[v->rank - 1] == n));
}

static int with_channels_first(turns *t, int value, int rank)
{
    const native_value old = t->ir->values[value];
    native_value v = old;
    int twin, i;

    if (t->first[value] >= 0)
        return t->first[value];
    if (native_elements(&old) == 1)
        return value;
    v.rank = rank - 1;
    v.dims[0] = native_elements(&old);
    for (i = 1; i < v.rank; i++)
        v.dims[i] = 1;
    twin = add_value(t, &v);
    t->ir->values[twin].known = old.known;
    t->ir->values[twin].unaligned = old.unaligned;
    return twin;
}

/* The operands that are images; 0 = the item does not work pixel by pixel. */
static int n_images(const native_ir *ir, const native_item *item)
{
    const int rank = ir->values[item->output].rank;

    switch (item->kind) {
    case NATIVE_ITEM_ACT:
    case NATIVE_ITEM_PADDED:
        return 1;
    case NATIVE_ITEM_REDUCE: /* of all pixels */
        return ir->values[item->inputs[0]].rank == rank && item->axes == (1u << (rank - 1)) - 2 ? 1
                                                                                                : 0;
    case NATIVE_ITEM_BINARY:
    case NATIVE_ITEM_CONCAT:
        return item->n_inputs;
    default:
        return 0;
    }
}

static bool can_turn(const turns *t, const native_item *item)
{
    const native_ir *ir = t->ir;
    const native_value *y = &ir->values[item->output];
    const int n = n_images(ir, item);
    bool any = false;
    int i;

    if (y->rank < 3 || y->dtype != TFR_DTYPE_F32)
        return false;
    for (i = 0; i < n; i++) {
        const native_value *x = &ir->values[item->inputs[i]];
        const bool image = t->first[item->inputs[i]] >= 0 && x->rank == y->rank;
        any = any || image;
        if (!image && (item->kind != NATIVE_ITEM_BINARY || !spreads(x, y->rank)))
            return false;
    }
    return any;
}

/* The item on images with the channels first, and its result transposed. */
static void add_turned(turns *t, native_item item)
{
    native_ir *ir = t->ir;
    const int last = item.output, n = n_images(ir, &item), rank = ir->values[last].rank;
    native_value y = ir->values[last];
    native_item *turn;
    int i;

    for (i = 0; i < rank; i++)
        y.dims[axis_of_first(i, rank)] = ir->values[last].dims[i];
    for (i = 0; i < n && !ir->failed; i++)
        item.inputs[i] = with_channels_first(t, item.inputs[i], rank);
    item.output = add_value(t, &y);
    if (item.kind == NATIVE_ITEM_CONCAT)
        item.axis = axis_of_first(item.axis < 0 ? item.axis + rank : item.axis, rank);
    if (item.kind == NATIVE_ITEM_REDUCE)
        item.axes <<= 1;
    if (item.kind == NATIVE_ITEM_PADDED) {
        for (i = 0; i < rank; i++)
            item.perm[axis_of_first(i, rank)] = i;
    }
    if (ir->failed)
        return;
    t->first[last] = item.output;
    *native_new_item(ir, item.kind) = item;
    turn = native_new_item(ir, NATIVE_ITEM_TRANSPOSE);
    turn->node = item.node;
    turn->call = item.call;
    turn->n_inputs = 1;
    turn->inputs[0] = item.output;
    turn->output = last;
    set_perm_to_last(turn, rank);
}

/* Do only transpositions to channels first read the value? */
static bool is_turned_always(const turns *t, int value)
{
    bool any = false;
    int i, k;

    for (i = 0; i < t->n_old && !t->ir->values[value].output; i++) {
        for (k = 0; k < t->old[i].n_inputs; k++) {
            if (t->old[i].inputs[k] != value)
                continue;
            any = true;
            if (!native_turns_channels(t->ir, &t->old[i], false))
                return false;
        }
    }
    return any;
}

/* What a Pad reads is transposed, not what it makes. */
static void turn_before(turns *t, const native_item *pad)
{
    native_ir *ir = t->ir;
    const int value = pad->inputs[0], rank = ir->values[value].rank;
    native_value v = ir->values[value];
    native_item *turn;
    int first, i;

    for (i = 0; i < rank; i++)
        v.dims[axis_of_first(i, rank)] = ir->values[value].dims[i];
    first = add_value(t, &v);
    turn = native_new_item(ir, NATIVE_ITEM_TRANSPOSE);
    if (ir->failed)
        return;
    turn->node = pad->node;
    turn->call = pad->call;
    turn->n_inputs = 1;
    turn->inputs[0] = value;
    turn->output = first;
    for (i = 0; i < rank; i++)
        turn->perm[axis_of_first(i, rank)] = i;
    t->first[value] = first;
}

static void turn_item(turns *t, const native_item *old)
{
    native_ir *ir = t->ir;
    native_item item = *old;
    int i;

    for (i = 0; i < item.n_inputs; i++) {
        if (item.inputs[i] >= 0)
            item.inputs[i] = t->alias[item.inputs[i]];
    }
    if (item.kind == NATIVE_ITEM_PADDED && t->first[item.inputs[0]] < 0 &&
        !ir->values[item.inputs[0]].known && ir->values[item.output].rank > 2 &&
        is_turned_always(t, old->output))
        turn_before(t, &item);
    if (can_turn(t, &item)) {
        add_turned(t, item);
        return;
    }
    if (native_turns_channels(ir, &item, true)) {
        t->first[item.output] = item.inputs[0];
    } else if (native_turns_channels(ir, &item, false) && t->first[item.inputs[0]] >= 0) {
        t->alias[item.output] = item.inputs[0] = t->first[item.inputs[0]];
        item.kind = NATIVE_ITEM_VIEW; /* unread, but for an output */
    }
    *native_new_item(ir, item.kind) = item;
}

/* What nobody reads goes; how many elements are transposed. */
static int64_t clean(native_ir *ir)
{
    int64_t moved = 0;
    int i, k;

    native_count_readers(ir);
    for (i = ir->n_items - 1; i >= 0; i--) {
        native_item *item = &ir->items[i];
        if ((item->kind == NATIVE_ITEM_TRANSPOSE || item->kind == NATIVE_ITEM_VIEW ||
             item->kind == NATIVE_ITEM_PADDED) &&
            ir->values[item->output].readers == 0) {
            for (k = 0; k < item->n_inputs; k++) {
                if (item->inputs[k] >= 0)
                    ir->values[item->inputs[k]].readers--;
            }
            item->kind = NATIVE_ITEM_NONE;
        }
        if (item->kind == NATIVE_ITEM_TRANSPOSE)
            moved += native_elements(&ir->values[item->output]);
    }
    return moved;
}

static void swap_items(native_ir *ir, native_ir *other)
{
    const native_ir copy = *ir;

    ir->items = other->items;
    ir->n_items = other->n_items;
    ir->room_items = other->room_items;
    other->items = copy.items;
    other->n_items = copy.n_items;
    other->room_items = copy.room_items;
}

static void turn_all(native_ir *ir, int64_t moved)
{
    const int n_values = ir->n_values;
    const size_t most = (size_t)n_values + 3 * (size_t)ir->n_items;
    turns t = {
        .ir = ir, .first = malloc(most * sizeof *t.first), .alias = malloc(most * sizeof *t.alias)};
    native_ir old = {0};
    int i;

    if (t.first && t.alias) {
        for (i = 0; i < n_values; i++) {
            t.first[i] = -1;
            t.alias[i] = i;
        }
        swap_items(ir, &old);
        t.old = old.items;
        t.n_old = old.n_items;
        for (i = 0; i < old.n_items && !ir->failed; i++)
            turn_item(&t, &old.items[i]);
        if (!ir->failed && clean(ir) >= moved) {
            swap_items(ir, &old);
            ir->n_values = n_values;
        }
        free(old.items);
    } else {
        ir->failed = true;
    }
    free(t.first);
    free(t.alias);
}

/* ---- zeros around images ---- */

/*
 * What the windows of convolutions are held to (program_forms_window.c): each has some of the
 * image. A window over one axis is the second of two.
 */
static bool fits_windows(const native_ir *ir, const native_item *item, const native_value *x,
                         const int64_t *more)
{
    const native_value *y = &ir->values[item->output];
    int i;

    for (i = 0; i < x->rank - 2; i++) {
        const int k = 4 - x->rank + i;
        const int64_t size = x->dims[2 + i], pad = item->pad[k] + more[i];
        const int64_t reach = (item->kernel[k] - 1) * item->dilation[k] + 1;
        const int64_t last = (y->dims[2 + i] - 1) * item->stride[k] - pad;
        if (pad >= reach || last >= size || (item->kernel[k] > 1 && item->dilation[k] > size))
            return false;
    }
    return true;
}

/* Zeros around the pixels that a convolution reads are those that its windows see anyway. */
static void take_zeros_of(native_ir *ir, native_item *conv, const native_item *pad)
{
    const native_value *x = &ir->values[pad->inputs[0]];
    int64_t before[2];
    int i;

    if (conv->whole[0] || !native_pads_pixels(ir, pad, before) ||
        !fits_windows(ir, conv, x, before))
        return;
    for (i = 0; i < x->rank - 2; i++)
        conv->pad[4 - x->rank + i] += before[i];
    conv->inputs[0] = pad->inputs[0];
    ir->n_fused++;
}

static void take_zeros(native_ir *ir)
{
    int i;

    for (i = 0; i < ir->n_items; i++) {
        native_item *item = &ir->items[i];
        const native_item *pad =
            item->kind == NATIVE_ITEM_CONV || item->kind == NATIVE_ITEM_DEPTHWISE
                ? native_maker(ir, item->inputs[0])
                : NULL;
        if (pad && pad->kind == NATIVE_ITEM_PADDED)
            take_zeros_of(ir, item, pad);
    }
}

/* Does what can be turned read what is transposed? If nothing does, turning changes nothing. */
static bool leads_on(const native_ir *ir)
{
    int i, j, k;

    for (i = 0; i < ir->n_items; i++) {
        if (!native_turns_channels(ir, &ir->items[i], true))
            continue;
        for (j = i + 1; j < ir->n_items; j++) {
            const native_item *item = &ir->items[j];
            for (k = 0; k < item->n_inputs; k++) {
                if (item->inputs[k] == ir->items[i].output &&
                    (n_images(ir, item) > 0 || native_turns_channels(ir, item, false)))
                    return true;
            }
        }
    }
    return false;
}

void native_clean_images(native_ir *ir)
{
    bool turned = false, pads = false;
    int i;

    for (i = 0; i < ir->n_items; i++) {
        turned = turned || native_turns_channels(ir, &ir->items[i], false);
        pads = pads || ir->items[i].kind == NATIVE_ITEM_PADDED;
    }
    if ((!turned && !pads) || native_wants_stages(ir))
        return;
    if (turned && (pads || leads_on(ir)))
        turn_all(ir, clean(ir));
    if (pads && !ir->failed)
        take_zeros(ir);
    if (!ir->failed)
        clean(ir);
}
