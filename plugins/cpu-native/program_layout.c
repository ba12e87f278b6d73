/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_layout.c: which values are blocked. Convolutions and pools are, what works element by
 * element follows its inputs, all else is plain; a value that is wanted both ways gets a twin, made
 * once by an item REORDER. Then: which values hold one sample after the other.
 */
#include "program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* So many vectors of outputs are computed in one pass, or nearly, over what it reads. */
enum { FEW_BLOCKS = 8 };

static int add_value(native_ir *ir, int like)
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
static int as(native_ir *ir, int value, bool blocked)
{
    native_item *item;
    int twin;

    if (value < 0 || ir->failed || ir->values[value].blocked == blocked)
        return value;
    if (ir->twins[value] >= 0)
        return ir->twins[value];
    twin = add_value(ir, value);
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

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Outputs of the convolution along an axis for each that is written. */
static int64_t window_of(const native_item *conv, int axis)
{
    return conv->codes >= 0 ? conv->pool[axis] : conv->pooled ? 2 : 1;
}

/* Rows or columns of a plane, or of a frame. */
static int64_t side_of(const native_value *v, int axis, int64_t frames)
{
    return axis == 0 ? native_frame_rows(v->dims[2], frames) : v->dims[3];
}

/* Frames that windows reach, or 0. */
static int64_t frames_of(const native_depth *d)
{
    return d->kernel ? max64((d->outs - 1) * d->stride + (d->kernel - 1) * d->dilation + 1,
                             d->size + d->pad)
                     : 0;
}

/* The last item, a PAD, reads an image with the channels last itself if a Transpose in front turns
 * that for it alone. */
static void take_turn(native_ir *ir)
{
    native_item *pad = &ir->items[ir->n_items - 1], *turn = native_only_maker(ir, pad->inputs[0]);

    if (!turn || !native_turns_channels(ir, turn, false) || pad->depth.kernel ||
        ir->values[turn->inputs[0]].last)
        return;
    pad->inputs[0] = turn->inputs[0];
    pad->transposed = true;
    memmove(turn, turn + 1, (size_t)(pad - turn) * sizeof *turn);
    ir->n_items--;
}

/* The image with zeros around it, as far as windows reach. */
static int padded(native_ir *ir, const native_item *conv)
{
    const native_value *y = &ir->values[conv->output];
    const int64_t frames = frames_of(&conv->depth);
    int64_t dims[2];
    native_item *item;
    int v, i;

    for (i = 0; i < 2; i++) {
        int64_t out = side_of(y, i, conv->depth.outs) * window_of(conv, i);
        dims[i] = max64((out - 1) * conv->stride[i] + (conv->kernel[i] - 1) * conv->dilation[i] + 1,
                        side_of(&ir->values[conv->inputs[0]], i, conv->depth.size) + conv->pad[i]);
    }
    v = add_value(ir, conv->inputs[0]);
    if (ir->failed)
        return 0;
    ir->values[v].dims[2] = dims[0] * (frames ? frames : 1);
    ir->values[v].dims[3] = dims[1];
    item = native_new_item(ir, NATIVE_ITEM_PAD);
    item->n_inputs = 1;
    item->inputs[0] = conv->inputs[0];
    item->output = v;
    item->pad[0] = conv->pad[0];
    item->pad[1] = conv->pad[1];
    item->depth = conv->depth;
    item->depth.outs = frames;
    take_turn(ir);
    return v;
}

static void lay_conv(native_ir *ir, native_item *item)
{
    /* copies: the values move when there are more */
    const native_value x = ir->values[item->inputs[0]], y = ir->values[item->output];
    bool pads = item->pad[0] || item->pad[1] || item->depth.pad ||
                frames_of(&item->depth) > item->depth.size;
    int i;

    item->plain_source = item->kind == NATIVE_ITEM_CONV && item->integer < 0 && item->groups <= 1 &&
                         x.dims[1] <= NATIVE_PLAIN_CHANNELS;
    if (!x.last)
        item->inputs[0] = as(ir, item->inputs[0], !item->plain_source);
    for (i = 0; i < 2; i++) {
        int64_t out = side_of(&y, i, item->depth.outs) * window_of(item, i);
        pads = pads || (out - 1) * item->stride[i] + (item->kernel[i] - 1) * item->dilation[i] >=
                           side_of(&x, i, item->depth.size);
    }
    if (item->plain_source && pads) {
        item->inputs[0] = padded(ir, item);
        item->depth.size = frames_of(&item->depth);
        item->pad[0] = item->pad[1] = item->depth.pad = 0;
    }
    item->residual = as(ir, item->residual, true);
    if (ir->failed)
        return;
    ir->values[item->output].blocked = !y.last;
    if (item->codes >= 0)
        ir->values[item->codes].blocked = true;
}

/*
 * A convolution of 1 x 1 with steps reads the pixels between them into the caches, too, once for
 * each group of its outputs: those that it needs are put together first, as means of one pixel, and
 * it has no steps then.
 */
static void take_steps(native_ir *ir, native_item *conv)
{
    const native_value *y = &ir->values[conv->output];
    const int64_t rows = y->dims[2], columns = y->dims[3];
    native_item *item;
    int v;

    if (conv->kernel[0] * conv->kernel[1] != 1 || conv->stride[0] * conv->stride[1] == 1 ||
        conv->pad[0] || conv->pad[1] || conv->depth.kernel || conv->groups > 1 || conv->pooled ||
        conv->codes >= 0 || conv->integer >= 0 || conv->plain_source ||
        ir->values[conv->inputs[0]].last || y->dims[1] < FEW_BLOCKS * ir->device->isa->lanes ||
        !ir->values[conv->inputs[1]].known)
        return;
    v = add_value(ir, conv->inputs[0]);
    if (ir->failed)
        return;
    ir->values[v].dims[2] = rows;
    ir->values[v].dims[3] = columns;
    item = native_new_item(ir, NATIVE_ITEM_POOL);
    item->node = conv->node;
    item->n_inputs = 1;
    item->inputs[0] = conv->inputs[0];
    item->output = v;
    memcpy(item->stride, conv->stride, sizeof item->stride);
    item->average = item->count_padding = true;
    item->count = 1.0f;
    conv->inputs[0] = v;
    conv->stride[0] = conv->stride[1] = 1;
}

/* dY and X of a convolution, X as that reads it. */
static void lay_conv_grad_filter(native_ir *ir, native_item *item)
{
    native_item conv = *item; /* forward */
    int dw = item->output;

    conv.kind = NATIVE_ITEM_CONV;
    conv.inputs[0] = item->inputs[1];
    conv.output = item->inputs[0] = as(ir, item->inputs[0], true);
    if (ir->failed)
        return;
    lay_conv(ir, &conv);
    item->inputs[1] = conv.inputs[0];
    item->plain_source = conv.plain_source;
    item->pad[0] = conv.pad[0];
    item->pad[1] = conv.pad[1];
    item->output = dw;
}

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
            item->inputs[i] = as(ir, item->inputs[i], blocked);
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
        item->inputs[i] = as(ir, item->inputs[i], blocked);
    if (!ir->failed)
        ir->values[item->output].blocked = blocked;
}

/* As the input lies, but by one scale plain float32 becomes bytes with the channels last. */
static void lay_quantized(native_ir *ir, native_item *item)
{
    const int x = item->inputs[0];
    const bool blocked = ir->values[x].blocked && (item->quant.n == 1 || item->quant.axis == 1);

    item->inputs[0] = as(ir, x, blocked);
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
        item->inputs[i] = as(ir, item->inputs[i], blocked);
    if (!ir->failed)
        ir->values[item->output].blocked = blocked;
}

/* An output that is a view takes the memory of the program's argument for its root, or a copy. */
static void lay_view(native_ir *ir, native_item *item)
{
    int from = as(ir, item->inputs[0], false), root = ir->values[from].root;
    native_value *y = &ir->values[item->output];

    item->inputs[0] = from;
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

static void lay_plain(native_ir *ir, native_item *item)
{
    int i;

    for (i = 0; i < item->n_inputs; i++)
        item->inputs[i] = as(ir, item->inputs[i], false);
    item->residual = as(ir, item->residual, false);
}

/* later: the n items that follow. */
static void lay_move(native_ir *ir, native_item *item, const native_item *later, int n)
{
    const native_turn turn = native_turn_of(ir, item, later, n);
    int64_t first;

    if (ir->values[item->inputs[0]].blocked &&
        (native_cuts_channels(ir, item, &first) || native_repeats_channels(ir, item, &first)) &&
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

/* later: the n items that follow. */
static void lay_item(native_ir *ir, const native_item *old, const native_item *later, int n)
{
    native_item item = *old;

    switch (item.kind) {
    case NATIVE_ITEM_NONE:
        return;
    case NATIVE_ITEM_CONV:
    case NATIVE_ITEM_DEPTHWISE:
        lay_conv(ir, &item);
        if (item.kind == NATIVE_ITEM_CONV && !ir->failed)
            take_steps(ir, &item);
        break;
    case NATIVE_ITEM_POOL:
        item.inputs[0] = as(ir, item.inputs[0], true);
        ir->values[item.output].blocked = true;
        break;
    case NATIVE_ITEM_RESIZE: /* as its image lies, if it is read so */
        if (ir->values[item.inputs[0]].blocked && native_is_read_blocked(ir, later, n, item.output))
            ir->values[item.output].blocked = true;
        else
            lay_plain(ir, &item);
        break;
    case NATIVE_ITEM_REDUCE:
        lay_reduce(ir, &item);
        break;
    case NATIVE_ITEM_MEAN:
    case NATIVE_ITEM_MOMENTS:
        item.inputs[0] = as(ir, item.inputs[0], true);
        break;
    case NATIVE_ITEM_BATCH_NORM_SUMS:
        item.inputs[0] = as(ir, item.inputs[0], true);
        item.inputs[1] = as(ir, item.inputs[1], true);
        break;
    case NATIVE_ITEM_BATCH_NORM:
    case NATIVE_ITEM_BATCH_NORM_GRAD:
    case NATIVE_ITEM_POOL_GRAD:
    case NATIVE_ITEM_CONV_GRAD_INPUT:
        item.inputs[0] = as(ir, item.inputs[0], true);
        if (item.kind == NATIVE_ITEM_POOL_GRAD || item.kind == NATIVE_ITEM_BATCH_NORM_GRAD)
            item.inputs[1] = as(ir, item.inputs[1], true);
        item.residual = as(ir, item.residual, true);
        ir->values[item.output].blocked = true;
        break;
    case NATIVE_ITEM_CONV_GRAD_FILTER:
        lay_conv_grad_filter(ir, &item);
        break;
    case NATIVE_ITEM_SUM:
        if (!(ir->values[item.inputs[0]].rank == 4 && item.axes == 13))
            item.inputs[0] = as(ir, item.inputs[0], false);
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
            as(ir, i, false);
}

/* ---- samples ---- */

static bool batched(const native_ir *ir, int value)
{
    return value >= 0 && ir->values[value].batched;
}

/* Samples with room behind each do not lie one after the other. */
static bool has_room(const native_ir *ir, int value)
{
    return ir->values[value].appended && ir->values[value].dims[0] > 1;
}

/* Only the first operand goes by samples: the others may have as many rows by chance. */
static bool first_alone(const native_ir *ir, const native_item *item)
{
    int i;
    for (i = 1; i < item->n_inputs; i++)
        if (batched(ir, item->inputs[i]))
            return false;
    return item->n_inputs > 0 && batched(ir, item->inputs[0]);
}

/* Each sample of the output comes from those of the inputs. */
static bool moves_samples(const native_ir *ir, const native_item *item)
{
    const native_value *y = &ir->values[item->output];
    int i;

    for (i = 0; i < item->n_inputs; i++) {
        const native_strided *s = &ir->strided[item->strided + i];
        if (!batched(ir, item->inputs[i]) || s->dims[0] != y->dims[0] ||
            s->to_steps[0] != native_elements(y) / y->dims[0] ||
            !native_keeps_samples(&ir->values[item->inputs[i]], s))
            return false;
    }
    return true;
}

bool native_is_separable(const native_ir *ir, const native_item *item)
{
    const native_value *y = &ir->values[item->output];
    bool ok = y->rank > 0 && y->dims[0] % ir->samples == 0;
    int i;

    switch (item->kind) {
    case NATIVE_ITEM_SOFTMAX:
    case NATIVE_ITEM_LOG_SOFTMAX:
    case NATIVE_ITEM_LAYER_NORM:
        return ok && y->rank > 1 && first_alone(ir, item);
    case NATIVE_ITEM_PRODUCT: /* integers that units would read again from memory */
        return ok && first_alone(ir, item) && !item->quantized;
    case NATIVE_ITEM_QUANTIZE:
    case NATIVE_ITEM_DEQUANTIZE:
        return ok && first_alone(ir, item) && (item->quant.n == 1 || item->quant.axis > 0);
    case NATIVE_ITEM_TRANSPOSE:
        return ok && item->perm[0] == 0;
    case NATIVE_ITEM_GATHER: /* rows of a constant by indices of samples, or inside of samples */
        return ok &&
               (batched(ir, item->inputs[1]) ? item->axis == 0 && !batched(ir, item->inputs[0])
                                             : item->axis > 0);
    case NATIVE_ITEM_CONCAT:
        for (i = 0; i < item->n_inputs; i++)
            ok = ok && batched(ir, item->inputs[i]);
        return ok && item->axis > 0;
    case NATIVE_ITEM_BATCHED_PRODUCT:
        for (i = 0; i < item->n_inputs; i++)
            ok = ok && batched(ir, item->inputs[i]);
        return ok && y->rank > 2;
    case NATIVE_ITEM_ATTENTION:
        for (i = 0; i < 3; i++)
            ok = ok && batched(ir, item->inputs[i]) && !has_room(ir, item->inputs[i]);
        return ok &&
               (item->inputs[3] < 0 || batched(ir, item->inputs[3]) == (item->heads.mask[0] != 0));
    case NATIVE_ITEM_TOP_K:
    case NATIVE_ITEM_DYNAMIC_QUANTIZE:
    case NATIVE_ITEM_INDICES: /* which count elements of all samples */
    case NATIVE_ITEM_SCATTER:
    case NATIVE_ITEM_CONV_GRAD_FILTER:
    case NATIVE_ITEM_PRODUCT_GRAD:
    case NATIVE_ITEM_LAYER_NORM_SUMS:
    case NATIVE_ITEM_LOSS:
    case NATIVE_ITEM_MOMENTS:
    case NATIVE_ITEM_BATCH_NORM_SUMS:
        return false;
    case NATIVE_ITEM_ARG:
        ok = ok && !(item->axes & 1);
        for (i = 0; i < item->n_inputs; i++)
            ok = ok && (batched(ir, item->inputs[i])
                            ? ir->values[item->inputs[i]].dims[0] == y->dims[0]
                            : native_elements(&ir->values[item->inputs[i]]) == 1);
        return ok;
    case NATIVE_ITEM_PADDED:
        return ok && first_alone(ir, item) && !native_pads_samples(item);
    case NATIVE_ITEM_STRIDED:
        return ok && y->dims[0] > 0 && !has_room(ir, item->output) && moves_samples(ir, item);
    case NATIVE_ITEM_SOFTMAX_GRAD:
        return ok && y->rank > 1 && batched(ir, item->inputs[0]) && batched(ir, item->inputs[1]);
    case NATIVE_ITEM_LAYER_NORM_GRAD:
        return ok && y->rank > 1 && batched(ir, item->inputs[0]) && batched(ir, item->inputs[1]) &&
               !batched(ir, item->inputs[2]);
    case NATIVE_ITEM_REDUCE:
    case NATIVE_ITEM_FOLD:
    case NATIVE_ITEM_SUM:
    case NATIVE_ITEM_COLUMN_SOFTMAX:
        return ok && first_alone(ir, item) && !(item->axes & 1);
    case NATIVE_ITEM_LOSS_GRAD:
        return ok && !batched(ir, item->inputs[0]) && batched(ir, item->inputs[1]) &&
               batched(ir, item->inputs[2]);
    case NATIVE_ITEM_BATCH_NORM_GRAD:
        for (i = 2; i < item->n_inputs; i++)
            ok = ok && !batched(ir, item->inputs[i]);
        return ok && batched(ir, item->inputs[0]) && batched(ir, item->inputs[1]);
    case NATIVE_ITEM_POOL_GRAD:
        return ok && batched(ir, item->inputs[0]) && batched(ir, item->inputs[1]);
    case NATIVE_ITEM_COMPARE:
    case NATIVE_ITEM_SELECT:
    case NATIVE_ITEM_ELEMENTWISE:
    case NATIVE_ITEM_BINARY:
        for (i = 0; i < item->n_inputs; i++) {
            const native_value *v = &ir->values[item->inputs[i] < 0 ? 0 : item->inputs[i]];
            if (item->inputs[i] < 0)
                continue;
            if (v->batched ? v->rank != y->rank : v->rank == y->rank && v->dims[0] != 1)
                ok = false;
        }
        return ok;
    default:
        return ok && first_alone(ir, item) && (item->residual < 0 || batched(ir, item->residual));
    }
}

static void find_samples(native_ir *ir)
{
    int i, k;

    ir->samples = 0;
    for (i = 0; i < ir->n_values; i++) {
        native_value *v = &ir->values[i];
        if (v->arg < 0 || v->output || v->known || v->rank == 0)
            continue;
        if (ir->samples == 0)
            ir->samples = v->dims[0];
        v->batched = v->dims[0] == ir->samples;
    }
    ir->separable = ir->samples > 1;
    for (i = 0; i < ir->n_items && ir->separable; i++) {
        const native_item *item = &ir->items[i];
        bool any = batched(ir, item->residual);
        for (k = 0; k < item->n_inputs; k++)
            any = any || batched(ir, item->inputs[k]);
        if (!any || !native_is_separable(ir, item))
            ir->separable = false;
        ir->values[item->output].batched = any;
    }
    if (!ir->separable)
        ir->samples = 1;
    for (i = 0; i < ir->n_values && !ir->separable; i++)
        ir->values[i].batched = false;
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
        find_samples(ir);
    else if (!native_find_stages(ir))
        return tfr_fail(err, TFR_ENOMEM, "no memory for a program of %u nodes", ir->graph->n_nodes);
    return TFR_OK;
}
