/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_lift.c: convolutions, pools, normalizations, resized images and means of one or three
 * spatial axes as those of two, in the same memory: [N, C, L] is read as [N, C, 1, L], and [N, C,
 * D, H, W] as [N, C, D H, W], whose windows know their depth. A pool over three axes is one inside
 * of frames, then one over frames: the greatest of the greatest, and the mean of the means, as all
 * windows of a frame have as many elements. What goes element by element behind them is lifted,
 * too, and so are channels that are cut out or put together on the way to the next one, so that
 * values stay blocked from one to the next; what was dequantized is dequantized with its new dims,
 * so that program_integer.c finds the integers; views lead to what has other dims, and go where
 * nobody is left to read them.
 */
#include "program.h"

#include <stdlib.h>
#include <string.h>
#include <string.h>

typedef struct lift {
    native_ir *ir;
    int *twins;  /* of each value: itself with four dims, or -1 */
    int *makers; /* of each value there was: the DEQUANTIZE of the items so far, or -1 */
    int n_makers;
} lift;

static bool is_window(const native_ir *ir, const native_item *item)
{
    const int rank = item->n_inputs > 0 ? ir->values[item->inputs[0]].rank : 0;

    switch (item->kind) {
    case NATIVE_ITEM_CONV:
    case NATIVE_ITEM_POOL:
    case NATIVE_ITEM_BATCH_NORM:
    case NATIVE_ITEM_DEPTHWISE:
        return rank == 3 || rank == 5;
    case NATIVE_ITEM_CONV_GRAD_INPUT:
        return rank == 3 || rank == 5;
    case NATIVE_ITEM_MEAN:
    case NATIVE_ITEM_RESIZE:
        return rank == 5;
    default:
        return false;
    }
}

/* Between three dims and four a dim of 1 before the last one; between five and four rows of all
 * frames, which what spreads over five may have, too. */
static void lift_dims(native_value *v, int rank)
{
    if (rank == 3) {
        v->dims[v->rank] = v->dims[v->rank - 1];
        v->dims[v->rank - 1] = 1;
        v->rank++;
    } else if (v->rank > 2) {
        v->rank--;
        v->dims[v->rank - 2] *= v->dims[v->rank - 1];
        v->dims[v->rank - 1] = v->dims[v->rank];
    }
}

/* A value of its own with four dims, in place of one for items of so many. */
static int new_twin(lift *l, int value, int rank)
{
    native_ir *ir = l->ir;
    native_value v = ir->values[value];
    int *more, twin;

    lift_dims(&v, rank);
    twin = native_new_value(ir, &v);
    more = ir->failed ? NULL : realloc(l->twins, (size_t)ir->n_values * sizeof *more);
    if (!more) {
        ir->failed = true;
        return value;
    }
    l->twins = more;
    ir->values[twin].known = v.known;
    ir->values[twin].unaligned = v.unaligned;
    l->twins[twin] = -1;
    if (!v.known) /* constants may spread over values of three dims and of five */
        l->twins[value] = twin;
    return twin;
}

static void add_view(lift *l, const native_item *of, int from, int to)
{
    native_item *item = native_new_item(l->ir, NATIVE_ITEM_VIEW);

    item->node = of->node;
    item->call = of->call;
    item->n_inputs = 1;
    item->inputs[0] = from;
    item->output = to;
}

/* One scale, or those of an axis that stays where it is. */
static bool keeps_scales(const native_item *item)
{
    return item->quant.n == 1 || item->quant.axis < 2;
}

/* What dequantized the value and can do so with other dims, or NULL. */
static const native_item *dequantizer(const lift *l, int value)
{
    const native_item *maker =
        value < l->n_makers && l->makers[value] >= 0 ? &l->ir->items[l->makers[value]] : NULL;

    return maker && keeps_scales(maker) ? maker : NULL;
}

static int lifted(lift *l, const native_item *of, int value, int rank);

/* The same numbers of a DEQUANTIZE that reads its integers lifted. */
static int dequantized(lift *l, const native_item *maker, int rank)
{
    native_item item = *maker;

    item.inputs[0] = lifted(l, &item, item.inputs[0], rank);
    item.output = new_twin(l, item.output, rank);
    if (!l->ir->failed)
        *native_new_item(l->ir, item.kind) = item;
    return item.output;
}

/* What an item reads, lifted. */
static int lifted(lift *l, const native_item *of, int value, int rank)
{
    const native_item *maker;
    int twin;

    if (value < 0 || l->ir->failed)
        return value;
    if (l->twins[value] >= 0)
        return l->twins[value];
    maker = dequantizer(l, value);
    if (maker && l->ir->values[value].rank == rank)
        return dequantized(l, maker, rank);
    twin = new_twin(l, value, rank);
    if (!l->ir->failed && !l->ir->values[twin].known)
        add_view(l, of, value, twin);
    return twin;
}

/* It writes the twin, and a view of that is the value. */
static void add_lifted(lift *l, native_item *item)
{
    const int output = item->output;

    item->output = new_twin(l, output, l->ir->values[output].rank);
    if (l->ir->failed)
        return;
    *native_new_item(l->ir, item->kind) = *item;
    add_view(l, item, item->output, output);
}

/* [N, C, D, H, W] inside of frames, where that is anything, then over them. */
static void lift_cubes(lift *l, native_item *item)
{
    native_ir *ir = l->ir;
    native_item frames = *item;
    native_value between = ir->values[item->output];
    const int64_t *whole = ir->values[item->inputs[0]].dims;
    bool flat = true;
    int i;

    for (i = 0; i < 2; i++)
        flat = flat && item->kernel[i] == 1 && item->pad[i] == 0 &&
               whole[3 + i] == between.dims[3 + i];
    between.dims[2] = item->depth.size;
    item->inputs[0] = lifted(l, item, item->inputs[0], 5);
    if (!flat && !ir->failed) {
        lift_dims(&between, 5);
        frames.inputs[0] = item->inputs[0];
        item->inputs[0] = frames.output = native_new_value(ir, &between);
        frames.depth.kernel = 0;
        frames.depth.outs = frames.depth.size;
        if (!ir->failed)
            *native_new_item(ir, frames.kind) = frames;
    }
    item->count = (float)item->depth.kernel;
    if (!ir->failed)
        add_lifted(l, item);
}

/* Whether it still spreads over a value of five dims when frames and rows are one of four. */
static bool spreads_lifted(const native_value *x, const native_value *y)
{
    const int64_t frames = x->rank > 2 ? x->dims[x->rank - 3] : 1;
    const int64_t rows = x->rank > 1 ? x->dims[x->rank - 2] : 1;

    return (frames == 1 && rows == 1) || (frames == y->dims[2] && rows == y->dims[3]);
}

/* Itself, or the integers that it was dequantized from. */
static bool has_twin(const lift *l, int value)
{
    const native_item *maker = dequantizer(l, value);

    return l->twins[value] >= 0 || (maker && l->twins[maker->inputs[0]] >= 0);
}

/* Element by element, of what has been lifted, of numbers, and of constants that spread over it. */
static bool follows(const lift *l, const native_item *item)
{
    const native_value *y = &l->ir->values[item->output];
    bool any = false;
    int i;

    if ((item->kind != NATIVE_ITEM_ACT && item->kind != NATIVE_ITEM_BINARY &&
         !(item->kind == NATIVE_ITEM_QUANTIZE && keeps_scales(item))) ||
        (y->rank != 3 && y->rank != 5))
        return false;
    for (i = 0; i < item->n_inputs; i++) {
        const native_value *x = &l->ir->values[item->inputs[i]];
        const bool twin = has_twin(l, item->inputs[i]) && !x->known && x->rank == y->rank;
        any = any || twin;
        if ((!twin && !x->known) || (y->rank == 5 && !spreads_lifted(x, y)))
            return false;
    }
    return any;
}

/* ---- channels ---- */

static bool has_twins(const lift *l, const native_item *item)
{
    int i;

    for (i = 0; i < item->n_inputs; i++) {
        if (item->inputs[i] < 0 || !has_twin(l, item->inputs[i]))
            return false;
    }
    return item->n_inputs > 0;
}

static bool can_be_blocked(const native_value *v)
{
    return v->dtype == TFR_DTYPE_F32 || v->dtype == TFR_DTYPE_U8 || v->dtype == TFR_DTYPE_I8;
}

/* Channels that are cut out of what has been lifted (Slice, Split), with pixels that are so with
 * four dims, too, or put together (Concat). */
static bool moves_channels(const lift *l, const native_item *item)
{
    const native_value *y = item->output < 0 ? NULL : &l->ir->values[item->output];
    int64_t at[TFR_MAX_RANK];

    if (!y || (y->rank != 3 && y->rank != 5) || !can_be_blocked(y) || !has_twins(l, item))
        return false;
    if (item->kind == NATIVE_ITEM_CONCAT)
        return (item->axis + y->rank) % y->rank == 1;
    return native_cuts_block(l->ir, item, at) &&
           (y->rank == 3 || y->dims[3] == l->ir->values[item->inputs[0]].dims[3]);
}

/* How many items on the way are looked behind, but for those that change how numbers are written.
 */
enum { FAR = 4 };

static bool is_grid(const native_item *item)
{
    return (item->kind == NATIVE_ITEM_QUANTIZE || item->kind == NATIVE_ITEM_DEQUANTIZE) &&
           keeps_scales(item);
}

/* Whether a window reads the value, itself or what follows from it element by element. Where none
 * does, moves are left to who reads in steps. */
static bool reaches_window(const native_ir *ir, const native_item *later, int n, int value, int far)
{
    int i;

    for (i = 0; i < n; i++) {
        const native_item *item = &later[i];
        if (!native_reads(item, value))
            continue;
        if (is_window(ir, item) ||
            (is_grid(item) && reaches_window(ir, item + 1, n - i - 1, item->output, far)))
            return true;
        if (far > 0 &&
            (item->kind == NATIVE_ITEM_ACT || item->kind == NATIVE_ITEM_BINARY ||
             item->kind == NATIVE_ITEM_CONCAT || item->kind == NATIVE_ITEM_STRIDED) &&
            reaches_window(ir, item + 1, n - i - 1, item->output, far - 1))
            return true;
    }
    return false;
}

static void lift_moved(lift *l, native_item *item)
{
    native_ir *ir = l->ir;
    const int rank = ir->values[item->output].rank;
    const int64_t offset =
        item->kind == NATIVE_ITEM_STRIDED ? ir->strided[item->strided].offset : 0;
    native_strided *s, to;
    int i;

    for (i = 0; i < item->n_inputs; i++)
        item->inputs[i] = lifted(l, item, item->inputs[i], rank);
    if (item->kind == NATIVE_ITEM_CONCAT)
        item->axis = 1;
    else
        item->strided = native_new_strided(ir, 1);
    add_lifted(l, item);
    if (ir->failed || item->kind == NATIVE_ITEM_CONCAT)
        return;
    s = &ir->strided[item->strided];
    native_lies_plain(&ir->values[item->inputs[0]], s);
    native_lies_plain(&ir->values[item->output], &to);
    memcpy(s->dims, to.dims, sizeof s->dims);
    memcpy(s->to_steps, to.steps, sizeof s->to_steps);
    s->offset = offset;
}

/* later: the n items that follow. */
static void lift_item(lift *l, const native_item *old, const native_item *later, int n)
{
    native_item item = *old;
    const int rank = item.output < 0 ? 0 : l->ir->values[item.output].rank;
    int i;

    if (is_window(l->ir, &item) && item.kind == NATIVE_ITEM_POOL && rank == 5) {
        lift_cubes(l, &item);
        return;
    }
    if (is_window(l->ir, &item)) {
        item.inputs[0] = lifted(l, old, item.inputs[0], rank);
        if (item.kind != NATIVE_ITEM_BATCH_NORM && item.kind != NATIVE_ITEM_MEAN &&
            item.kind != NATIVE_ITEM_POOL && item.kind != NATIVE_ITEM_RESIZE)
            item.inputs[1] = lifted(l, old, item.inputs[1], rank);
        add_lifted(l, &item);
        return;
    }
    if (moves_channels(l, &item) && reaches_window(l->ir, later, n, item.output, FAR)) {
        lift_moved(l, &item);
        return;
    }
    if (!follows(l, &item)) {
        if (item.kind == NATIVE_ITEM_DEQUANTIZE)
            l->makers[item.output] = l->ir->n_items;
        *native_new_item(l->ir, item.kind) = item;
        return;
    }
    for (i = 0; i < item.n_inputs; i++) {
        if (l->ir->values[item.inputs[i]].rank > 1)
            item.inputs[i] = lifted(l, old, item.inputs[i], rank);
    }
    add_lifted(l, &item);
}

static void remove_unread(native_ir *ir)
{
    int i;

    native_count_readers(ir);
    for (i = ir->n_items - 1; i >= 0; i--) {
        native_item *item = &ir->items[i];
        if ((item->kind != NATIVE_ITEM_VIEW && item->kind != NATIVE_ITEM_DEQUANTIZE) ||
            ir->values[item->output].readers > 0)
            continue;
        ir->values[item->inputs[0]].readers--;
        item->kind = NATIVE_ITEM_NONE;
    }
}

static bool begin(lift *l)
{
    const size_t bytes = (size_t)l->ir->n_values * sizeof *l->twins;
    int i;

    l->twins = malloc(bytes);
    l->makers = malloc(bytes);
    l->n_makers = l->ir->n_values;
    for (i = 0; l->twins && l->makers && i < l->ir->n_values; i++)
        l->twins[i] = l->makers[i] = -1;
    return l->twins && l->makers;
}

void native_lift(native_ir *ir)
{
    lift l = {.ir = ir};
    native_item *old = ir->items;
    const int n = ir->n_items;
    bool any = false;
    int i;

    for (i = 0; i < n; i++)
        any = any || is_window(ir, &old[i]);
    if (!any)
        return;
    ir->items = NULL;
    ir->n_items = ir->room_items = 0;
    ir->failed = !begin(&l) || ir->failed;
    for (i = 0; i < n && !ir->failed; i++)
        lift_item(&l, &old[i], &old[i + 1], n - i - 1);
    free(l.twins);
    free(l.makers);
    free(old);
    if (!ir->failed)
        remove_unread(ir);
}
