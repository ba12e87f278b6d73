/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_layout.c: which values are blocked. Convolutions (program_layout_conv.c) and pools are,
 * what works element by element follows its inputs, all else is plain; a value that is wanted both
 * ways gets a twin, made once by an item REORDER.
 */
#include "program_layout.h"

#include <stdlib.h>
#include <string.h>

int native_add_value(native_ir *ir, int like)
{
    const native_value copy = ir->values[like];
    int v = native_new_value(ir, &copy);
    int *more = ir->failed ? NULL : realloc(ir->twins, (size_t)ir->n_values * sizeof *more);

    if (!more) {
        ir->failed = true;
        return 0;
    }
    ir->twins = more;
    ir->twins[v] = -1;
    return v;
}

/* The value in the layout that is wanted. Outputs leave plain: a plain twin takes the argument over
 * at once, before a view of it may want to write its own there. */
int native_as(native_ir *ir, int value, bool blocked)
{
    native_item *item;
    int twin;

    if (value < 0 || ir->failed || ir->values[value].blocked == blocked)
        return value;
    if (ir->twins[value] >= 0)
        return ir->twins[value];
    twin = native_add_value(ir, value);
    if (ir->failed)
        return value;
    ir->values[twin].blocked = blocked;
    ir->twins[value] = twin;
    ir->twins[twin] = value;
    if (!blocked && ir->values[value].output) {
        ir->values[twin].arg = ir->values[value].arg;
        ir->values[twin].output = true;
        ir->values[value].arg = -1;
        ir->values[value].output = false;
    }
    item = native_new_item(ir, NATIVE_ITEM_REORDER);
    item->n_inputs = 1;
    item->inputs[0] = value;
    item->output = twin;
    ir->n_reorders++;
    return twin;
}

/* ---- items ---- */

/* A constant for each channel of y, or for all. */
static bool is_by_channel(const native_value *v, const native_value *y)
{
    int64_t n = native_elements(v);

    return v->known && (n == 1 || (n == y->dims[1] && v->rank >= 3 && v->dims[v->rank - 3] == n));
}

static bool is_full(const native_ir *ir, int value, const native_value *y)
{
    const native_value *v = &ir->values[value];
    return v->rank == y->rank && memcmp(v->dims, y->dims, sizeof(int64_t) * (size_t)y->rank) == 0;
}

/* A number for each channel of every sample, or of all: what squeeze and excitation multiplies by.
 */
static bool is_pixel(const native_value *v, const native_value *y)
{
    return !v->known && v->rank == 4 && y->rank == 4 && v->dims[1] == y->dims[1] &&
           v->dims[2] == 1 && v->dims[3] == 1 && (v->dims[0] == y->dims[0] || v->dims[0] == 1);
}

static void lay_flat(native_ir *ir, native_item *item)
{
    const native_value y = ir->values[item->output]; /* they move when there are more */
    bool blocked = false, can = y.rank == 4;
    int i;

    for (i = 0; i < item->n_inputs; i++) {
        const native_value *v = &ir->values[item->inputs[i]];
        const bool full = is_full(ir, item->inputs[i], &y);
        blocked = blocked || (full && v->blocked);
        can = can && (full || is_by_channel(v, &y) || is_pixel(v, &y));
    }
    /* 0 / 0 in the lanes of no channel would be NaN, which products with 0 keep. */
    if (item->kind == NATIVE_ITEM_BINARY && item->binary == NATIVE_DIV)
        can = false;
    blocked = blocked && can;
    for (i = 0; i < item->n_inputs; i++) {
        if (!blocked || is_full(ir, item->inputs[i], &y) ||
            is_pixel(&ir->values[item->inputs[i]], &y))
            item->inputs[i] = native_as(ir, item->inputs[i], blocked);
    }
    ir->values[item->output].blocked = blocked;
}

/* Of 8 bits: all alike. */
static void lay_bytes(native_ir *ir, native_item *item)
{
    bool blocked = false;
    int i;

    for (i = 0; i < item->n_inputs; i++)
        blocked = blocked || ir->values[item->inputs[i]].blocked;
    for (i = 0; i < item->n_inputs; i++)
        item->inputs[i] = native_as(ir, item->inputs[i], blocked);
    if (!ir->failed)
        ir->values[item->output].blocked = blocked;
}

/* As the input lies, but by one scale plain float32 becomes bytes with the channels last. */
static void lay_quantized(native_ir *ir, native_item *item)
{
    const int x = item->inputs[0];
    const bool blocked = ir->values[x].blocked && (item->quant.n == 1 || item->quant.axis == 1);

    item->inputs[0] = native_as(ir, x, blocked);
    if (!ir->failed)
        ir->values[item->output].blocked =
            blocked || (ir->values[item->output].wants_last && item->quant.n == 1);
}

static void find_wishes(native_ir *ir, const native_item *items, int n)
{
    int i;

    for (i = 0; i < n; i++) {
        if (items[i].integer >= 0 &&
            (items[i].kind == NATIVE_ITEM_CONV || items[i].kind == NATIVE_ITEM_DEPTHWISE))
            ir->values[items[i].inputs[0]].wants_last = true;
    }
}

/* Blocked channels beside each other, if one input is so, and who reads them, too, or all have
 * whole blocks. later: the n items that follow. */
static void lay_concat(native_ir *ir, native_item *item, const native_item *later, int n)
{
    const native_value *y = &ir->values[item->output];
    const int axis = item->axis < 0 ? item->axis + y->rank : item->axis;
    bool blocked = false, whole = y->rank == 4 && axis == 1;
    int i;

    for (i = 0; i < item->n_inputs; i++) {
        const native_value *x = &ir->values[item->inputs[i]];
        blocked = blocked || x->blocked;
        whole = whole && (x->dtype != TFR_DTYPE_F32 || x->dims[1] % ir->device->isa->lanes == 0);
    }
    blocked = blocked && y->rank == 4 && axis == 1 &&
              (whole || native_is_read_blocked(ir, later, n, item->output));
    for (i = 0; i < item->n_inputs; i++)
        item->inputs[i] = native_as(ir, item->inputs[i], blocked);
    if (!ir->failed)
        ir->values[item->output].blocked = blocked;
}

/* An output that is a view takes the memory of the program's argument for its root, or a copy. */
static void lay_view_as_it_is(native_ir *ir, native_item *item)
{
    const int root = ir->values[item->inputs[0]].root;
    native_value *y = &ir->values[item->output];

    if (y->output && ir->values[root].arg < 0 && !ir->values[root].known) {
        ir->values[root].arg = y->arg;
        ir->values[root].output = true;
    } else if (y->output) {
        item->kind = NATIVE_ITEM_COPY;
        return;
    }
    y->root = root;
    if (ir->values[root].known)
        y->known = ir->values[root].known;
}

static void lay_view(native_ir *ir, native_item *item)
{
    item->inputs[0] = native_as(ir, item->inputs[0], false);
    lay_view_as_it_is(ir, item);
}

static bool wants_last(const native_item *later, int n, int value)
{
    int i;

    for (i = 0; i < n; i++) {
        if (native_reads(&later[i], value) &&
            (later[i].kind == NATIVE_ITEM_POOL || later[i].kind == NATIVE_ITEM_CONV ||
             later[i].kind == NATIVE_ITEM_DEPTHWISE ||
             (later[i].kind == NATIVE_ITEM_RESIZE && later[i].integer >= 0)))
            return true;
    }
    return false;
}

/*
 * Images of bytes whose channels a Transpose makes the last ones, or that have them so: blocked
 * ones lie like that. False: it is something else, or nobody wants it so.
 */
static bool lay_turn_of_bytes(native_ir *ir, native_item *item, const native_item *later, int n)
{
    static const int image[] = {0, 3, 1, 2}, rows[] = {0, 2, 3, 1};
    const native_value *x = &ir->values[item->inputs[0]], *y = &ir->values[item->output];
    const bool to_image = memcmp(item->perm, image, sizeof image) == 0;

    if (item->kind != NATIVE_ITEM_TRANSPOSE || y->rank != 4 || x->known ||
        (y->dtype != TFR_DTYPE_U8 && y->dtype != TFR_DTYPE_I8) ||
        (!to_image && memcmp(item->perm, rows, sizeof rows) != 0) || x->blocked == to_image ||
        (to_image && (y->output || !wants_last(later, n, item->output))))
        return false;
    item->kind = y->output ? NATIVE_ITEM_COPY : NATIVE_ITEM_VIEW;
    ir->values[item->output].blocked = to_image;
    if (!y->output)
        lay_view_as_it_is(ir, item);
    return true;
}

static void lay_plain(native_ir *ir, native_item *item)
{
    int i;

    for (i = 0; i < item->n_inputs; i++)
        item->inputs[i] = native_as(ir, item->inputs[i], false);
    item->residual = native_as(ir, item->residual, false);
}

/* later: the n items that follow. */
static void lay_move(native_ir *ir, native_item *item, const native_item *later, int n)
{
    const native_turn turn = native_turn_of(ir, item, later, n);
    int64_t times;

    if (lay_turn_of_bytes(ir, item, later, n))
        return;

    if (ir->values[item->inputs[0]].blocked &&
        (native_cuts_channels(ir, item) || native_repeats_channels(ir, item, &times)) &&
        native_is_read_blocked(ir, later, n, item->output)) {
        ir->values[item->output].blocked = true;
        return;
    }
    if (turn == NATIVE_TURN_NONE) {
        lay_plain(ir, item);
        return;
    }
    item->strided = -1;
    if (turn == NATIVE_TURN_VIEW) {
        item->kind = NATIVE_ITEM_VIEW;
        lay_view(ir, item);
        return;
    }
    item->kind = NATIVE_ITEM_REORDER;
    item->transposed = true;
    if (!ir->values[item->inputs[0]].blocked)
        ir->values[item->output].blocked = true;
    ir->n_reorders++;
}

/* Means over all pixels of a blocked image are made as they lie. */
static void lay_reduce(native_ir *ir, native_item *item)
{
    const native_value *x = &ir->values[item->inputs[0]];

    if (item->mean && x->blocked && x->rank == 4 && x->dtype == TFR_DTYPE_F32 && item->axes == 12)
        item->kind = NATIVE_ITEM_MEAN;
    else
        lay_plain(ir, item);
}

/* One with given moments, of what lies plain for those who read the result, too. */
static bool is_plain_norm(const native_ir *ir, const native_item *item, const native_item *later,
                          int n)
{
    return item->of_variance && item->integer < 0 && !ir->values[item->inputs[0]].blocked &&
           (item->residual < 0 || !ir->values[item->residual].blocked) &&
           !native_is_read_blocked(ir, later, n, item->output);
}

/* later: the n items that follow. */
static void lay_item(native_ir *ir, const native_item *old, const native_item *later, int n)
{
    native_item item = *old;

    switch (item.kind) {
    case NATIVE_ITEM_NONE:
        return;
    case NATIVE_ITEM_CONV:
    case NATIVE_ITEM_DEPTHWISE:
        native_lay_conv(ir, &item);
        if (item.kind == NATIVE_ITEM_CONV && !ir->failed)
            native_take_steps(ir, &item);
        break;
    case NATIVE_ITEM_POOL:
        if (native_pools_frames(ir, &item)) {
            lay_plain(ir, &item);
            break;
        }
        if (native_pools_rows(ir, &item, later, n))
            break;
        item.inputs[0] = native_as(ir, item.inputs[0], true);
        ir->values[item.output].blocked = true;
        if (!ir->failed)
            native_part_pool(ir, &item);
        break;
    case NATIVE_ITEM_RESIZE: /* as its image lies, if it is read so */
        if (item.integer >= 0)
            item.inputs[0] = native_as(ir, item.inputs[0], true);
        if (item.integer >= 0 || (ir->values[item.inputs[0]].blocked &&
                                  native_is_read_blocked(ir, later, n, item.output)))
            ir->values[item.output].blocked = true;
        else
            lay_plain(ir, &item);
        break;
    case NATIVE_ITEM_REDUCE:
        lay_reduce(ir, &item);
        break;
    case NATIVE_ITEM_MEAN:
    case NATIVE_ITEM_MOMENTS:
        item.inputs[0] = native_as(ir, item.inputs[0], true);
        break;
    case NATIVE_ITEM_BATCH_NORM_SUMS:
        item.inputs[0] = native_as(ir, item.inputs[0], true);
        item.inputs[1] = native_as(ir, item.inputs[1], true);
        break;
    case NATIVE_ITEM_BATCH_NORM:
        if (is_plain_norm(ir, &item, later, n)) {
            lay_plain(ir, &item);
            break;
        } /* fall through */
    case NATIVE_ITEM_BATCH_NORM_GRAD:
    case NATIVE_ITEM_POOL_GRAD:
        item.inputs[0] = native_as(ir, item.inputs[0], true);
        if (item.kind == NATIVE_ITEM_POOL_GRAD || item.kind == NATIVE_ITEM_BATCH_NORM_GRAD)
            item.inputs[1] = native_as(ir, item.inputs[1], true);
        item.residual = native_as(ir, item.residual, true);
        ir->values[item.output].blocked = true;
        break;
    case NATIVE_ITEM_CONV_GRAD_INPUT:
        item.inputs[0] = native_as(ir, item.inputs[0], true);
        item.few_outs = native_has_few_outs(ir, &item);
        item.residual = native_as(ir, item.residual, !item.few_outs);
        ir->values[item.output].blocked = !item.few_outs;
        break;
    case NATIVE_ITEM_CONV_GRAD_FILTER:
        native_lay_conv_grad_filter(ir, &item);
        break;
    case NATIVE_ITEM_SUM:
        if (!(ir->values[item.inputs[0]].rank == 4 && item.axes == 13))
            item.inputs[0] = native_as(ir, item.inputs[0], false);
        break;
    case NATIVE_ITEM_ACT:
    case NATIVE_ITEM_BINARY:
        if (item.integer >= 0)
            lay_bytes(ir, &item);
        else
            lay_flat(ir, &item);
        break;
    case NATIVE_ITEM_QUANTIZE:
    case NATIVE_ITEM_DEQUANTIZE:
    case NATIVE_ITEM_DYNAMIC_QUANTIZE:
        lay_quantized(ir, &item);
        break;
    case NATIVE_ITEM_CONCAT:
        lay_concat(ir, &item, later, n);
        break;
    case NATIVE_ITEM_VIEW:
        lay_view(ir, &item);
        break;
    case NATIVE_ITEM_PADDED:
        if (ir->values[item.inputs[0]].blocked && native_pads_images(ir, &item))
            ir->values[item.output].blocked = true;
        else
            lay_plain(ir, &item);
        break;
    case NATIVE_ITEM_TRANSPOSE:
    case NATIVE_ITEM_STRIDED:
        lay_move(ir, &item, later, n);
        break;
    default:
        lay_plain(ir, &item);
        break;
    }
    if (!ir->failed)
        *native_new_item(ir, item.kind) = item;
}

static void lay_outputs(native_ir *ir)
{
    int i, n = ir->n_values;

    for (i = 0; i < n && !ir->failed; i++)
        if (ir->values[i].output)
            native_as(ir, i, false);
}

int32_t native_layout(native_ir *ir, tfr_err *err)
{
    native_item *old = ir->items;
    int n = ir->n_items, i;

    native_count_readers(ir);
    native_find_last(ir, old, n);
    ir->items = NULL;
    ir->n_items = ir->room_items = 0;
    ir->twins = malloc((size_t)(ir->n_values + 1) * sizeof *ir->twins);
    ir->failed = ir->failed || !ir->twins;
    for (i = 0; i < ir->n_values && !ir->failed; i++)
        ir->twins[i] = -1;
    find_wishes(ir, old, n);
    for (i = 0; i < n && !ir->failed; i++)
        lay_item(ir, &old[i], &old[i + 1], n - i - 1);
    free(old);
    lay_outputs(ir);
    if (ir->failed)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a program of %u nodes", ir->graph->n_nodes);
    ir->staged = native_wants_stages(ir);
    if (!ir->staged)
        native_find_samples(ir);
    else if (!native_find_stages(ir))
        return tfr_fail(err, TFR_ENOMEM, "no memory for a program of %u nodes", ir->graph->n_nodes);
    return TFR_OK;
}
